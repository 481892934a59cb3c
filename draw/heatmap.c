/* heatmap.c - see heatmap.h. */
#include "heatmap.h"

#include <math.h>
#include <stddef.h>

#include <egret/error.h>

#include "ticks.h"

static const rgb paper = {255, 255, 255}, dark = {38, 42, 48}, dim = {104, 110, 120};

enum { MARGIN = 24, GAP = 10, TITLE_SIZE = 24, WORD_SIZE = 18, TICK_SIZE = 14, SCALE_WIDTH = 18, LEGIBLE = 8 };

typedef struct sheet {
    const heatmap *h;
    const font *f;
    canvas *c;
    int cell, left, top, right, bottom;
    double words, least, most; /* words: the size of the letters; 0: there is no room for them */
} sheet;

static double widest(const font *f, double size, const char *const *words, int count)
{
    double most = 0;
    for (int i = 0; words && i < count; i++) {
        most = words[i] ? fmax(most, font_width(f, size, words[i])) : most;
    }
    return most;
}

static void draw_cells(const sheet *s)
{
    const heatmap *h = s->h;
    for (int i = 0; i < h->rows; i++) {
        for (int j = 0; j < h->columns; j++) {
            double v = h->values[i * h->columns + j];
            if (isfinite(v)) {
                canvas_rectangle(s->c, s->left + j * s->cell, s->top + i * s->cell, s->cell, s->cell,
                                 heatmap_colour(heatmap_share(v, s->least, s->most)));
            }
        }
    }
    canvas_frame(s->c, s->left, s->top, s->right - s->left, s->bottom - s->top, 1, dim);
}

static void draw_words(const sheet *s)
{
    const heatmap *h = s->h;
    double half = s->cell / 2.0, middle = font_capital_height(s->f, s->words) / 2;
    for (int i = 0; h->row_words && s->words > 0 && i < h->rows; i++) {
        canvas_text(s->c, s->f, s->words, s->left - GAP, s->top + i * s->cell + half + middle, CANVAS_RIGHT, dark,
                    h->row_words[i]);
    }
    for (int j = 0; h->column_words && s->words > 0 && j < h->columns; j++) {
        canvas_text_up(s->c, s->f, s->words, s->left + j * s->cell + half + middle, s->top - GAP, CANVAS_LEFT, dark,
                       h->column_words[j]);
    }
}

/* The bar of colours with its ticks, as high as the map. */
static void draw_scale(const sheet *s)
{
    int x = s->right + 2 * GAP, height = s->bottom - s->top;
    for (int y = 0; y < height; y++) {
        canvas_rectangle(s->c, x, s->bottom - 1 - y, SCALE_WIDTH, 1, heatmap_colour((y + 0.5) / height));
    }
    canvas_frame(s->c, x, s->top, SCALE_WIDTH, height, 1, dim);
    axis a = {.least = s->least, .most = s->most};
    int room = height / 50;
    axis_make_ticks(&a, room < 2 ? 2 : room > 8 ? 8 : room);
    for (int i = 0; i < a.count; i++) {
        double y = s->bottom - axis_place(&a, a.at[i]) * height;
        canvas_rectangle(s->c, x + SCALE_WIDTH, (int)y, 5, 1, dim);
        canvas_text(s->c, s->f, TICK_SIZE, x + SCALE_WIDTH + 9, y + font_capital_height(s->f, TICK_SIZE) / 2,
                    CANVAS_LEFT, dim, a.label[i]);
    }
}

canvas *heatmap_draw(const heatmap *h, const font *f)
{
    if (h->rows < 1 || h->columns < 1 || h->rows > 4000 || h->columns > 4000) {
        eg_failf(EG_EINVAL, "heatmap_draw", "a map of %d x %d values cannot be drawn", h->rows, h->columns);
        return NULL;
    }
    sheet s = {.h = h, .f = f};
    int longer = h->rows > h->columns ? h->rows : h->columns;
    s.cell = longer <= 20 ? 40 : longer <= 400 ? 800 / longer : 2;
    s.words = s.cell < LEGIBLE ? 0 : fmin(WORD_SIZE, 0.9 * s.cell);
    double aside = widest(f, s.words, h->row_words, h->rows);
    double above = widest(f, s.words, h->column_words, h->columns);
    s.left = MARGIN + (int)ceil(aside) + (aside > 0 ? GAP : 0);
    s.top = MARGIN + (h->title && f ? TITLE_SIZE + GAP : 0) + (int)ceil(above) + (above > 0 ? GAP : 0);
    s.right = s.left + h->columns * s.cell;
    s.bottom = s.top + h->rows * s.cell;
    int width = s.right + 2 * GAP + SCALE_WIDTH + (f ? 52 : 0) + MARGIN;
    double title = h->title ? font_width(f, TITLE_SIZE, h->title) : 0;
    double size = title > 1600 ? TITLE_SIZE * 1600 / title : TITLE_SIZE;
    width = fmax(width, fmin(title, 1600) + 2 * MARGIN);
    s.c = canvas_new(width, s.bottom + MARGIN, paper);
    if (!s.c) {
        return NULL;
    }
    heatmap_range(h, &s.least, &s.most);
    canvas_text(s.c, f, size, MARGIN, MARGIN + TITLE_SIZE * 0.8, CANVAS_LEFT, dark, h->title);
    draw_cells(&s);
    draw_words(&s);
    draw_scale(&s);
    return s.c;
}
