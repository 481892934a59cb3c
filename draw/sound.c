/* sound.c - see sound.h. */
#include "sound.h"

#include <math.h>
#include <stddef.h>

#include <egret/error.h>

#include "heatmap.h"
#include "ticks.h"

static const rgb paper = {255, 255, 255}, dark = {38, 42, 48}, dim = {104, 110, 120}, pale = {230, 232, 236},
                 wave = {31, 111, 191};

enum { MARGIN = 16, TITLE_SIZE = 22, TICK_SIZE = 14, BESIDE = 64, BELOW = 44 };

/* Where on the canvas values lie. */
typedef struct panel {
    const sound_sheet *s;
    const font *f;
    canvas *c;
    int left, top, width, height;
} panel;

static canvas *lay_out(panel *p)
{
    const sound_sheet *s = p->s;
    int width = s->width ? s->width : 1200, height = s->height ? s->height : 360;
    if (s->rows < 1 || s->columns < 1 || width < 200 || height < 120 || width > CANVAS_SIDE_MOST ||
        height > CANVAS_SIDE_MOST) {
        eg_failf(EG_EINVAL, "sound_draw", "%d x %d values cannot be drawn on %d x %d pixels", s->rows, s->columns,
                 width, height);
        return NULL;
    }
    p->left = BESIDE;
    p->top = MARGIN + (s->title && p->f ? TITLE_SIZE + 8 : 0);
    p->width = width - BESIDE - MARGIN;
    p->height = height - p->top - BELOW;
    p->c = canvas_new(width, height, paper);
    canvas_text(p->c, p->f, TITLE_SIZE, p->left, MARGIN + TITLE_SIZE * 0.8, CANVAS_LEFT, dark, s->title);
    return p->c;
}

/* Ticks below, of seconds or of values. */
static void draw_time(const panel *p, int count)
{
    axis a = {.least = 0, .most = p->s->seconds > 0 ? p->s->seconds : count};
    axis_make_ticks(&a, p->width / 90 + 2);
    int bottom = p->top + p->height;
    for (int i = 0; i < a.count; i++) {
        double x = p->left + axis_place(&a, a.at[i]) * p->width;
        canvas_rectangle(p->c, (int)x, bottom, 1, 5, dim);
        canvas_text(p->c, p->f, TICK_SIZE, x, bottom + 20, CANVAS_CENTRE, dim, a.label[i]);
    }
    canvas_text(p->c, p->f, TICK_SIZE, p->left + p->width, bottom + 38, CANVAS_RIGHT, dim,
                p->s->seconds > 0 ? "seconds" : "samples");
}

/* Ticks at the left between two heights of the canvas. */
static void draw_side(const panel *p, axis a, int top, int height, const char *unit)
{
    axis_make_ticks(&a, height / 40 < 3 ? 3 : height / 40);
    for (int i = 0; i < a.count; i++) {
        double y = top + (1 - axis_place(&a, a.at[i])) * height;
        canvas_rectangle(p->c, p->left - 5, (int)y, 5, 1, dim);
        canvas_text(p->c, p->f, TICK_SIZE, p->left - 9, y + font_capital_height(p->f, TICK_SIZE) / 2, CANVAS_RIGHT, dim,
                    a.label[i]);
    }
    canvas_text_up(p->c, p->f, TICK_SIZE, MARGIN, top + height / 2.0, CANVAS_CENTRE, dim, unit);
}

/* ---- waveforms ------------------------------------------------------------------------------- */

/* The values that a column of pixels stands for: from, and to before. */
static int first_of(const panel *p, int count, int x)
{
    return (int)((int64_t)x * count / p->width);
}

static void draw_channel(const panel *p, const double *values, int top, int height, double most)
{
    int n = p->s->columns;
    double middle = top + (height - 1) / 2.0, scale = (height - 1) / 2.0 / most;
    canvas_rectangle(p->c, p->left, (int)middle, p->width, 1, pale);
    for (int x = 0; x < p->width; x++) {
        double high = -INFINITY, low = INFINITY;
        int from = first_of(p, n, x), to = first_of(p, n, x + 1);
        bool joins = x && from > first_of(p, n, x - 1); /* the value before, so that there are no gaps */
        for (int i = joins ? from - 1 : from; i < (to > from ? to : from + 1); i++) {
            if (isfinite(values[i])) {
                high = fmax(high, values[i]);
                low = fmin(low, values[i]);
            }
        }
        if (low <= high) {
            int above = (int)round(middle - high * scale), below = (int)round(middle - low * scale);
            canvas_rectangle(p->c, p->left + x, above, 1, below - above + 1, wave);
        }
    }
}

canvas *waveform_draw(const sound_sheet *s, const font *f)
{
    panel p = {.s = s, .f = f};
    if (!lay_out(&p)) {
        return NULL;
    }
    double most = 0;
    for (int64_t i = 0; i < (int64_t)s->rows * s->columns; i++) {
        most = isfinite(s->values[i]) ? fmax(most, fabs(s->values[i])) : most;
    }
    most = most > 0 && most < 1e100 ? most : 1;
    for (int k = 0; k < s->rows; k++) {
        int top = p.top + (int)((int64_t)p.height * k / s->rows);
        int height = p.top + (int)((int64_t)p.height * (k + 1) / s->rows) - top;
        draw_channel(&p, s->values + (ptrdiff_t)k * s->columns, top, height, most);
        canvas_frame(p.c, p.left, top, p.width, height, 1, dim);
        draw_side(&p, (axis){.least = -most, .most = most}, top, height, NULL);
    }
    draw_time(&p, s->columns);
    return p.c;
}

/* ---- spectrograms ---------------------------------------------------------------------------- */

/* The mean of the finite values of frames a..b-1 and bins c..d-1; NAN: there are none. */
static double mean_of(const sound_sheet *s, int a, int b, int c, int d)
{
    double sum = 0;
    int n = 0;
    for (int i = a; i < b; i++) {
        for (int k = c; k < d; k++) {
            double v = s->values[(int64_t)i * s->columns + k];
            sum += isfinite(v) ? v : 0;
            n += isfinite(v) != 0;
        }
    }
    return n ? sum / n : NAN;
}

static void draw_bins(const panel *p, double least, double most)
{
    const sound_sheet *s = p->s;
    for (int y = 0; y < p->height; y++) {
        int c = (int)((int64_t)(p->height - 1 - y) * s->columns / p->height);
        int d = (int)((int64_t)(p->height - y) * s->columns / p->height);
        for (int x = 0; x < p->width; x++) {
            int a = first_of(p, s->rows, x), b = first_of(p, s->rows, x + 1);
            double v = mean_of(s, a, b > a ? b : a + 1, c, d > c ? d : c + 1);
            if (isfinite(v)) {
                canvas_rectangle(p->c, p->left + x, p->top + y, 1, 1, heatmap_colour(heatmap_share(v, least, most)));
            }
        }
    }
    canvas_frame(p->c, p->left, p->top, p->width, p->height, 1, dim);
}

canvas *spectrogram_draw(const sound_sheet *s, const font *f)
{
    panel p = {.s = s, .f = f};
    if (!lay_out(&p)) {
        return NULL;
    }
    double least, most;
    heatmap_range(
        &(heatmap){.values = s->values, .rows = s->rows, .columns = s->columns, .least = s->least, .most = s->most},
        &least, &most);
    draw_bins(&p, least, most);
    bool bins = !(s->hertz > 0);
    double top = bins ? s->columns : s->hertz >= 2000 ? s->hertz / 1000 : s->hertz;
    draw_side(&p, (axis){.least = 0, .most = top}, p.top, p.height, bins ? "bins" : s->hertz >= 2000 ? "kHz" : "Hz");
    draw_time(&p, s->rows);
    return p.c;
}
