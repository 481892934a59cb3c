/* ink.c - see ink.h. */
#include "ink.h"

#include <egret/egret.h>
#include <math.h>

eg_tensor *ink_of(eg_tensor *strokes)
{
    int64_t n = eg_size(strokes, 0);
    if (n < 2) {
        return strokes ? (eg_fail(EG_ESHAPE, "quickdraw", "a drawing of fewer than two points"), NULL) : NULL;
    }
    eg_tensor *at = eg_slice(strokes, 1, 0, 2, 1), *last = eg_slice(strokes, 1, 2, 3, 1);
    eg_tensor *low = eg_min(at, .axes = EG_AXES(0)), *range = eg_sub(eg_max(at, .axes = EG_AXES(0)), low);
    range = eg_where(eg_eq_scalar(range, 0), eg_ones_like(range), range);
    at = eg_div(eg_sub(at, low), range);
    at = eg_sub(eg_slice(at, 0, 1, n, 1), eg_slice(at, 0, 0, n - 1, 1));
    return eg_concat((eg_tensor *[]){at, eg_slice(last, 0, 1, n, 1)}, 2, 1);
}

/* Darkens the pixels near the line from (x0, y0) to (x1, y1). */
static void line(float *pixel, int64_t side, double x0, double y0, double x1, double y1)
{
    double dx = x1 - x0, dy = y1 - y0, length = dx * dx + dy * dy;
    int64_t left = (int64_t)fmax(0, floor(fmin(x0, x1)) - 1),
            right = (int64_t)fmin((double)side - 1, ceil(fmax(x0, x1)) + 1);
    int64_t top = (int64_t)fmax(0, floor(fmin(y0, y1)) - 1),
            bottom = (int64_t)fmin((double)side - 1, ceil(fmax(y0, y1)) + 1);
    for (int64_t y = top; y <= bottom; y++) {
        for (int64_t x = left; x <= right; x++) {
            double px = (double)x + 0.5 - x0, py = (double)y + 0.5 - y0;
            double t = length > 0 ? fmin(1, fmax(0, (px * dx + py * dy) / length)) : 0;
            double ink = fmin(1, fmax(0, 1.4 - hypot(px - t * dx, py - t * dy)));
            float *p = &pixel[y * side + x];
            *p = (float)fmax(*p, ink);
        }
    }
}

eg_tensor *ink_image(eg_tensor *ink, int64_t n, int64_t side)
{
    eg_tensor *here = eg_contiguous(eg_cast(eg_to(ink, eg_cpu()), EG_F32));
    eg_tensor *made = eg_to(eg_zeros(EG_SHAPE(1, side, side), EG_F32), eg_cpu());
    const float *d = eg_data(here);
    float *pixel = eg_data_mut(made);
    double x = 0, y = 0, low[2] = {0, 0};
    for (int64_t i = 0; d && i < n; i++) { /* where it begins is not said: as far inside as it takes */
        x += d[3 * i];
        y += d[3 * i + 1];
        low[0] = fmin(low[0], x);
        low[1] = fmin(low[1], y);
    }
    double margin = (double)side / 16, scale = (double)side - 2 * margin;
    bool lifted = false; /* where the pen goes on its way to the next stroke there is no line */
    x = -low[0];
    y = -low[1];
    for (int64_t i = 0; d && pixel && i < n; i++) {
        double to_x = x + d[3 * i], to_y = y + d[3 * i + 1];
        if (!lifted) {
            line(pixel, side, margin + scale * x, margin + scale * y, margin + scale * to_x, margin + scale * to_y);
        }
        lifted = d[3 * i + 2] > 0.5f;
        x = to_x;
        y = to_y;
    }
    return d && pixel ? made : NULL;
}
