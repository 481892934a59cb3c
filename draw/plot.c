/* plot.c - see plot.h. */
#include "plot.h"

#include <math.h>
#include <stdlib.h>

static const rgb paper = {255, 255, 255}, dark = {38, 42, 48}, dim = {104, 110, 120}, grid = {230, 232, 236},
                 minor_grid = {243, 244, 247}, base = {150, 156, 166};

typedef struct sheet {
    const plot *p;
    const font *f;
    canvas *c;
    double em; /* the height of the letters, and the measure of everything else */
    int left, top, right, bottom;
    axis x, y;
} sheet;

/* ---- axes ---- */

static double label_size(const sheet *s)
{
    return s->em * 0.9;
}

/* Makes the axis longer on which a unit takes more room than on the other. */
static void make_equal(sheet *s)
{
    const double x = (s->x.most - s->x.least) / (s->right - s->left),
                 y = (s->y.most - s->y.least) / (s->bottom - s->top);
    axis *a = x < y ? &s->x : &s->y;
    const double more = (fmax(x, y) / fmin(x, y) - 1) * (a->most - a->least) / 2;
    a->least -= more;
    a->most += more;
}

/* The plotted field: what is left beside the words. */
static void lay_out(sheet *s)
{
    double em = s->em, widest = 0;
    s->top = (int)(em * (1 + (s->p->title ? 1.9 : 0) + (s->p->y_label ? 1.5 : 0.4)));
    s->bottom = s->c->height - (int)(em * (s->p->x_label ? 3.6 : 2.3));
    const int rows = (int)((s->bottom - s->top) / (em * 3.5));
    axis_make_ticks(&s->y, rows);
    for (int i = 0; i < s->y.count; i++) {
        widest = fmax(widest, font_width(s->f, label_size(s), s->y.label[i]));
    }
    s->left = (int)(em * 1.8 + widest);
    s->right = s->c->width - (int)(em * 1.8);
    if (s->p->equal && s->right > s->left && s->bottom > s->top) {
        make_equal(s);
        axis_make_ticks(&s->y, rows);
    }
    axis_make_ticks(&s->x, (int)((s->right - s->left) / (em * 5)));
}

static double place_x(const sheet *s, double x)
{
    return s->left + axis_place(&s->x, x) * (s->right - s->left);
}

static double place_y(const sheet *s, double y)
{
    return s->bottom - axis_place(&s->y, y) * (s->bottom - s->top);
}

/* A line of the grid, sharp because it lies on whole pixels. */
static void rule(const sheet *s, bool upright, double at, rgb colour)
{
    int thin = (int)fmax(1, s->em / 14), middle = (int)floor(at - thin / 2.0 + 0.5);
    if (upright) {
        canvas_rectangle(s->c, middle, s->top, thin, s->bottom - s->top, colour);
    } else {
        canvas_rectangle(s->c, s->left, middle, s->right - s->left, thin, colour);
    }
}

/* Between powers of ten: 2 to 9 times them, paler. */
static void draw_minor_grid(const sheet *s, const axis *a, bool upright)
{
    if (!a->log || a->most / a->least > 1e6) {
        return;
    }
    for (int power = (int)floor(log10(a->least)); pow(10, power) < a->most; power++) {
        for (int i = 2; i <= 9; i++) {
            double value = i * pow(10, power);
            if (value > a->least && value < a->most) {
                rule(s, upright, upright ? place_x(s, value) : place_y(s, value), minor_grid);
            }
        }
    }
}

static void draw_axes(const sheet *s)
{
    double size = label_size(s), middle = font_capital_height(s->f, size) / 2;
    draw_minor_grid(s, &s->x, true);
    draw_minor_grid(s, &s->y, false);
    for (int i = 0; i < s->x.count; i++) {
        double x = place_x(s, s->x.at[i]);
        rule(s, true, x, grid);
        canvas_text(s->c, s->f, size, x, s->bottom + s->em * 1.35, CANVAS_CENTRE, dim, s->x.label[i]);
    }
    for (int i = 0; i < s->y.count; i++) {
        double y = place_y(s, s->y.at[i]);
        rule(s, false, y, grid);
        canvas_text(s->c, s->f, size, s->left - s->em * 0.5, y + middle, CANVAS_RIGHT, dim, s->y.label[i]);
    }
    rule(s, false, s->bottom, base);
}

static void draw_words(const sheet *s)
{
    double em = s->em, y = em * 1.8;
    if (s->p->title) {
        canvas_text(s->c, s->f, em * 1.35, em, y, CANVAS_LEFT, dark, s->p->title);
        y += em * 1.7;
    }
    canvas_text(s->c, s->f, em, em, y, CANVAS_LEFT, dim, s->p->y_label);
    canvas_text(s->c, s->f, em, (s->left + s->right) / 2.0, s->c->height - em, CANVAS_CENTRE, dim, s->p->x_label);
}

/* ---- curves ---- */

/* Places of all points; NAN where there is a gap. */
static void place_points(const sheet *s, const plot_series *line, const double *values, double *xs, double *ys)
{
    for (int i = 0; i < line->count; i++) {
        bool shown = plot_shows(s->p, plot_x(line, i), values[i]);
        xs[i] = shown ? place_x(s, plot_x(line, i)) : NAN;
        ys[i] = shown ? place_y(s, values[i]) : NAN;
    }
}

static eg_status draw_series(const sheet *s, const plot_series *line, rgb colour)
{
    enum { DOTS_MOST = 40 };
    size_t count = (size_t)(line->count > 0 ? line->count : 0);
    double *buffer = malloc((4 * count + 1) * sizeof *buffer);
    if (!buffer) {
        return eg_failf(EG_ENOMEM, "plot_draw", "out of memory for a curve of %d points", line->count);
    }
    double *xs = buffer, *ys = xs + count, *smoothed = ys + count, thick = s->em * 0.15;
    place_points(s, line, line->y, xs, ys);
    if (line->smooth > 0) {
        canvas_polyline(s->c, xs, ys, line->count, thick * 0.6, colour, 0.28);
        plot_smooth(s->p, line, smoothed, smoothed + count);
        place_points(s, line, smoothed, xs, ys);
    }
    canvas_polyline(s->c, xs, ys, line->count, thick, colour, 1);
    for (int i = 0; i < line->count && line->count <= DOTS_MOST; i++) {
        canvas_line(s->c, xs[i], ys[i], xs[i], ys[i], thick * 2.6, colour);
    }
    free(buffer);
    return EG_OK;
}

/* ---- legend ---- */

/* How many pixels of a rectangle are coloured, as only curves are. */
static int count_colour(const canvas *c, int x, int y, int width, int height)
{
    int count = 0;
    for (int row = y; row < y + height && row < c->height; row++) {
        const uint8_t *pixel = c->pixels + 3 * ((size_t)row * (size_t)c->width + (size_t)x);
        for (int column = x; column < x + width && column < c->width; column++, pixel += 3) {
            count += abs(pixel[0] - pixel[1]) + abs(pixel[1] - pixel[2]) > 24;
        }
    }
    return count;
}

/* Chooses the emptiest corner of the field for a legend of that size. */
static void choose_corner(const sheet *s, int width, int height, int *x, int *y)
{
    int gap = (int)(s->em * 0.6), least = -1;
    int xs[2] = {s->right - width - gap, s->left + gap};
    int ys[2] = {s->top + gap, s->bottom - height - gap};
    for (int corner = 0; corner < 4; corner++) {
        int cx = xs[corner == 1 || corner == 3], cy = ys[corner >= 2];
        int coloured = count_colour(s->c, cx, cy, width, height);
        if (least < 0 || coloured < least) {
            least = coloured;
            *x = cx;
            *y = cy;
        }
    }
}

static void draw_legend(const sheet *s)
{
    double em = s->em, widest = 0;
    int rows = 0;
    for (int k = 0; k < s->p->count; k++) {
        if (s->p->series[k].name) {
            widest = fmax(widest, font_width(s->f, em, s->p->series[k].name));
            rows++;
        }
    }
    int width = (int)(widest + em * 3.6), height = (int)(em * (1.5 * rows + 0.7));
    int x = s->left, y = s->top;
    if (!s->f || rows == 0 || width > s->right - s->left || height > s->bottom - s->top) {
        return;
    }
    choose_corner(s, width, height, &x, &y);
    canvas_tint(s->c, x, y, width, height, paper, 0.85);
    canvas_frame(s->c, x, y, width, height, (int)fmax(1, em / 14), grid);
    for (int k = 0, row = 0; k < s->p->count; k++) {
        if (s->p->series[k].name) {
            double middle = y + em * (1.1 + 1.5 * row++);
            canvas_line(s->c, x + em * 0.7, middle, x + em * 2.1, middle, em * 0.18, plot_colours[k]);
            canvas_text(s->c, s->f, em, x + em * 2.7, middle + font_capital_height(s->f, em) / 2, CANVAS_LEFT, dark,
                        s->p->series[k].name);
        }
    }
}

canvas *plot_draw(const plot *p, const font *f)
{
    sheet s = {.p = p, .f = f};
    if (plot_find_axes(p, &s.x, &s.y)) {
        return NULL;
    }
    s.c = canvas_new(p->width ? p->width : 1200, p->height ? p->height : 720, paper);
    if (!s.c) {
        return NULL;
    }
    s.em = s.c->height / 36.0;
    lay_out(&s);
    draw_axes(&s);
    draw_words(&s);
    for (int k = 0; k < p->count; k++) {
        if (draw_series(&s, &p->series[k], plot_colours[k])) {
            canvas_free(s.c);
            return NULL;
        }
    }
    draw_legend(&s);
    return s.c;
}
