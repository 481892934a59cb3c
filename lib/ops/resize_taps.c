/* resize_taps.c - weights of resizing along one axis. */
#include <math.h>

#include <egret/ops/resize.h>

#include "lib/ops/resize.h"

static const double pi = 3.14159265358979323846;

/* Where output pixel `at` lies, in input pixels. */
static double place(const eg__resize_opts *o, int axis, int64_t at)
{
    double r = o->ratio[axis], x = (double)at;
    return o->grid == EG_GRID_HALF_PIXEL ? (x + 0.5) * r - 0.5 : x * r;
}

/* ---- filters --------------------------------------------------------------------------------- */

static double cubic(double x, double a)
{
    x = fabs(x);
    return x < 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

static double sinc(double x)
{
    return x == 0 ? 1 : sin(pi * x) / (pi * x);
}

static double filter(const eg__resize_opts *o, double x)
{
    switch (o->mode) {
    case EG_RESIZE_CUBIC:
        return cubic(x, o->cubic);
    case EG_RESIZE_LANCZOS3:
        return fabs(x) < 3 ? sinc(x) * sinc(x / 3) : 0;
    default:
        return fmax(0, 1 - fabs(x));
    }
}

static double radius(int mode)
{
    return mode == EG_RESIZE_CUBIC ? 2 : mode == EG_RESIZE_LANCZOS3 ? 3 : 1;
}

static double widening(const eg__resize_opts *o, int axis)
{
    return o->antialias ? fmax(1, o->ratio[axis]) : 1;
}

/* ---- ways of choosing taps ------------------------------------------------------------------- */

/* The pixels under the filter, normalised; what is past the border is left out. */
static int64_t filtered(const eg__resize_opts *o, int axis, int64_t at, int64_t *first, double *w)
{
    double wide = widening(o, axis), reach = radius(o->mode) * wide, sum = 0;
    double centre = place(o, axis, at) + 0.5;
    int64_t in = o->in[axis];
    int64_t low = (int64_t)fmin(fmax(centre - reach + 0.5, 0), (double)(in - 1));
    int64_t high = (int64_t)fmin(centre + reach + 0.5, (double)in);
    high = high > low ? high : low + 1;
    for (int64_t i = low; i < high; i++) {
        sum += w[i - low] = filter(o, ((double)i + 0.5 - centre) / wide);
    }
    for (int64_t i = 0; i < high - low; i++) {
        w[i] = sum != 0 ? w[i] / sum : 1.0 / (double)(high - low);
    }
    *first = low;
    return high - low;
}

/* Taps at floor(x) - before and the `count - 1` after; those past the border fall on the border
 * pixel. */
static int64_t interpolated(const eg__resize_opts *o, int axis, int64_t at, int before, int count, int64_t *first,
                            double *w)
{
    int64_t last = o->in[axis] - 1;
    double x = place(o, axis, at);
    x = o->mode == EG_RESIZE_LINEAR ? fmin(fmax(x, 0), (double)last) : x;
    double base = floor(x), t = x - base;
    base = fmin(fmax(base, -4), (double)last + 4); /* further out all taps are the border pixel */
    int64_t low = (int64_t)fmin(fmax(base - before, 0), (double)last), n = 0;
    for (int k = 0; k < count; k++) {
        int64_t i = eg__min(eg__max((int64_t)base - before + k, 0), last);
        for (; n <= i - low; n++) {
            w[n] = 0;
        }
        w[i - low] += filter(o, k - before - t);
    }
    *first = low;
    return n;
}

static int64_t nearest(const eg__resize_opts *o, int axis, int64_t at)
{
    int64_t in = o->in[axis], out = o->out[axis];
    bool exact = o->mode == EG_RESIZE_NEAREST_EXACT;
    bool whole = o->ratio[axis] == (double)in / (double)out; /* then in integers, without rounding */
    double r = o->ratio[axis], x = (double)at;
    int64_t i = o->grid == EG_GRID_CORNERS ? (int64_t)floor(x * r + 0.5)
                : whole && exact           ? (2 * at + 1) * in / (2 * out)
                : whole                    ? at * in / out
                                           : (int64_t)fmin((exact ? x + 0.5 : x) * r, (double)in);
    return eg__min(i, in - 1);
}

int64_t eg__resize_most(const eg__resize_opts *o, int axis)
{
    int64_t in = o->in[axis], most = 1;
    if (o->mode == EG_RESIZE_AREA) {
        most = in / o->out[axis] + 2;
    } else if (o->antialias || o->mode == EG_RESIZE_LANCZOS3) {
        most = (int64_t)fmin(2 * radius(o->mode) * widening(o, axis) + 2, (double)in);
    } else if (o->mode == EG_RESIZE_CUBIC || o->mode == EG_RESIZE_LINEAR) {
        most = o->mode == EG_RESIZE_CUBIC ? 4 : 2;
    }
    return eg__min(most, in);
}

int64_t eg__resize_taps(const eg__resize_opts *o, int axis, int64_t at, int64_t *first, double *w)
{
    int64_t in = o->in[axis], out = o->out[axis], n;
    if (o->mode == EG_RESIZE_AREA) {
        *first = at * in / out;
        n = ((at + 1) * in + out - 1) / out - *first;
        for (int64_t k = 0; k < n; k++) {
            w[k] = 1.0 / (double)n;
        }
        return n;
    }
    if (o->mode == EG_RESIZE_NEAREST || o->mode == EG_RESIZE_NEAREST_EXACT) {
        *first = nearest(o, axis, at);
        w[0] = 1;
        return 1;
    }
    if (o->antialias || o->mode == EG_RESIZE_LANCZOS3) {
        return filtered(o, axis, at, first, w);
    }
    bool linear = o->mode == EG_RESIZE_LINEAR;
    return interpolated(o, axis, at, linear ? 0 : 1, linear ? 2 : 4, first, w);
}

/* ---- whole axes ------------------------------------------------------------------------------ */

static eg_status allocate(const eg__call *c, eg__band *b)
{
    size_t bytes = (size_t)(b->n * b->width) * sizeof(double) + (size_t)b->n * sizeof *b->first;
    eg_status st = eg__scratch_get(c, bytes, &b->memory);
    if (!st) {
        b->weight = b->memory.data;
        b->first = (int32_t *)(b->weight + b->n * b->width);
        memset(b->weight, 0, (size_t)(b->n * b->width) * sizeof(double));
    }
    return st;
}

/* Results whose taps would reach past the source begin earlier, with weights of 0. */
static void fit(eg__band *b)
{
    b->identity = b->n == b->source;
    for (int64_t r = 0; r < b->n; r++) {
        double *w = b->weight + r * b->width;
        int64_t over = b->first[r] + b->width - b->source;
        if (over > 0) {
            memmove(w + over, w, (size_t)(b->width - over) * sizeof *w);
            memset(w, 0, (size_t)over * sizeof *w);
            b->first[r] -= (int32_t)over;
        }
        for (int64_t k = 0; k < b->width; k++) {
            b->identity = b->identity && w[k] == (b->first[r] + k == r);
        }
    }
}

/* Transposed: b gives every source pixel of f a row of the results it goes to. */
static eg_status transpose(const eg__call *c, const eg__band *f, eg__band *b)
{
    eg__scratch s;
    int64_t n = f->source;
    eg_status st = eg__scratch_get(c, 2 * (size_t)n * sizeof(int64_t), &s);
    if (st) {
        return st;
    }
    int64_t *low = s.data, *high = low + n;
    for (int64_t i = 0; i < n; i++) {
        low[i] = f->n;
        high[i] = 0;
    }
    for (int64_t r = 0; r < f->n; r++) {
        for (int64_t k = 0; k < f->width; k++) {
            if (f->weight[r * f->width + k] != 0) {
                int64_t i = f->first[r] + k;
                low[i] = eg__min(low[i], r);
                high[i] = eg__max(high[i], r + 1);
            }
        }
    }
    *b = (eg__band){.n = n, .source = f->n, .width = 1};
    for (int64_t i = 0; i < n; i++) {
        b->width = eg__max(b->width, high[i] - low[i]);
    }
    st = allocate(c, b);
    for (int64_t i = 0; i < n && !st; i++) {
        b->first[i] = high[i] > 0 ? (int32_t)low[i] : 0;
        for (int64_t r = low[i]; r < high[i]; r++) {
            int64_t k = i - f->first[r];
            b->weight[i * b->width + r - low[i]] = k >= 0 && k < f->width ? f->weight[r * f->width + k] : 0;
        }
    }
    eg__scratch_put(c, &s);
    return st;
}

eg_status eg__band_make(const eg__call *c, const eg__resize_opts *o, int axis, bool adjoint, eg__band *b)
{
    eg__band f = {.n = o->out[axis], .source = o->in[axis], .width = eg__resize_most(o, axis)};
    eg_status st = allocate(c, &f);
    for (int64_t r = 0; r < f.n && !st; r++) {
        int64_t first;
        eg__resize_taps(o, axis, r, &first, f.weight + r * f.width);
        f.first[r] = (int32_t)first;
    }
    if (st) {
        return st;
    }
    fit(&f);
    if (!adjoint) {
        *b = f;
        return EG_OK;
    }
    st = transpose(c, &f, b);
    eg__scratch_put(c, &f.memory);
    if (!st) {
        fit(b);
    }
    return st;
}
