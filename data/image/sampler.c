/* sampler.c - taps of both axes, and the loops over them. */
#include "data/image/sampler.h"

#include <math.h>
#include <stdlib.h>

#include <egret/ops.h>

#include "data/image/loops.h"
#include "lib/ops/resize.h"

EG__LOOP(eg__shrink_fn, eg__shrink_run, best_loop)

/* ---- one axis -------------------------------------------------------------------------------------- */

typedef struct axis {
    int64_t start, part, whole; /* so many pixels from there on become `whole` places */
    int64_t from, count;        /* of which these are wanted */
    eg__filter filter;
    bool before, after; /* mirrored */
    eg__resize_opts o;
} axis;

static void choose(axis *x)
{
    static const struct {
        eg_resize_mode mode;
        eg_resize_grid grid;
    } filters[] = {[EG__LINEAR] = {EG_RESIZE_LINEAR, EG_GRID_ORIGIN},
                   [EG__NEAREST] = {EG_RESIZE_NEAREST, EG_GRID_HALF_PIXEL},
                   [EG__CUBIC] = {EG_RESIZE_CUBIC, EG_GRID_ORIGIN},
                   [EG__AREA] = {EG_RESIZE_AREA, EG_GRID_HALF_PIXEL},
                   [EG__SMOOTH] = {EG_RESIZE_LINEAR, EG_GRID_HALF_PIXEL}};
    x->o = (eg__resize_opts){.naxes = 1,
                             .mode = (int)filters[x->filter].mode,
                             .grid = (int)filters[x->filter].grid,
                             .antialias = x->filter == EG__SMOOTH,
                             .ratio = {(double)x->part / (double)x->whole},
                             .in = {x->part},
                             .out = {x->whole}};
}

/* The share that place o has of each pixel. */
static int64_t cover(const axis *x, int64_t o, int64_t *first, double *w)
{
    double low = (double)o * x->o.ratio[0], high = (double)(o + 1) * x->o.ratio[0];
    int64_t n = 0;
    *first = (int64_t)fmin(floor(low), (double)x->part - 1);
    for (int64_t i = *first; i < x->part && (i == *first || (double)i < high - 1e-9); i++) {
        w[n++] = (fmin((double)i + 1, high) - fmax((double)i, low)) / (high - low);
    }
    return n;
}

/* Keys 1981 with a = -3/4, at the nearest of 1024 places between two pixels, of which TensorFlow has a table. */
static int64_t cubic(const axis *x, int64_t o, int64_t *first, double *w)
{
    const double a = -0.75, place = (double)o * x->o.ratio[0], base = floor(place);
    double t = rint((place - base) * 1024) / 1024;
    int64_t last = x->part - 1, n = 0;
    *first = eg__max((int64_t)base - 1, 0);
    *first = eg__min(*first, last);
    for (int k = -1; k < 3; k++) {
        double d = fabs(k - t);
        int64_t i = eg__min(eg__max((int64_t)base + k, 0), last);
        for (; n <= i - *first; n++) {
            w[n] = 0;
        }
        w[i - *first] += d < 1   ? ((a + 2) * d - (a + 3)) * d * d + 1
                         : d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
                                 : 0;
    }
    return n;
}

/* Place o of the result, in pixels of the part; none outside. */
static int64_t taps_of(const axis *x, int64_t o, int64_t *first, double *w)
{
    *first = 0;
    if (o < 0 || o >= x->whole) {
        return 0;
    }
    int64_t n = x->filter == EG__AREA    ? cover(x, o, first, w)
                : x->filter == EG__CUBIC ? cubic(x, o, first, w)
                                         : eg__resize_taps(&x->o, 0, o, first, w);
    for (int64_t i = 0; x->before && i < n / 2; i++) {
        double t = w[i];
        w[i] = w[n - 1 - i];
        w[n - 1 - i] = t;
    }
    *first = x->before ? x->part - *first - n : *first;
    return n;
}

/* All memory is one block, at `first`. */
static eg_status make_taps(eg__taps *t, const char *op, axis x)
{
    choose(&x);
    int64_t many = x.filter == EG__AREA ? eg__min(x.part / x.whole + 2, x.part) : eg__resize_most(&x.o, 0);
    size_t ints = ((size_t)x.count * sizeof(int) + 63) / 64 * 64, floats = (size_t)(x.count * many) * sizeof(float);
    size_t bytes = ints + (floats + 63) / 64 * 64 + (size_t)(many + 1) * sizeof(double);
    char *p = eg__malloc(bytes);
    if (!p) {
        return eg__no_memory(op, (int64_t)bytes);
    }
    int *at = (int *)(void *)p;
    float *weight = memset(p + ints, 0, floats);
    double *w = (double *)(void *)(p + bytes - (size_t)(many + 1) * sizeof(double));
    for (int64_t i = 0; i < x.count; i++) {
        int64_t first, n = taps_of(&x, x.from + (x.after ? x.count - 1 - i : i), &first, w);
        int64_t from = eg__min(first, x.part - many); /* no place reads past the end, not even with weight 0 */
        for (int64_t k = 0; k < n; k++) {
            weight[i * many + first - from + k] = (float)w[k];
        }
        at[i] = (int)(x.start + from);
    }
    *t = (eg__taps){(int)x.count, (int)many, at, weight};
    return EG_OK;
}

/* ---- both ------------------------------------------------------------------------------------------ */

static void range(const eg__taps *t, int64_t *from, int64_t *count)
{
    int64_t low = INT64_MAX, high = 0;
    for (int i = 0; i < t->count; i++) {
        low = eg__min(low, t->first[i]);
        high = eg__max(high, (int64_t)t->first[i] + t->many);
    }
    *from = low;
    *count = high - low;
}

eg_status eg__sampler_make(eg__sampler *s, const char *op, const eg__view *v)
{
    axis down = {v->box[0], v->box[2], v->rows, v->top, v->height, v->filter, false, false, {0}};
    axis right = {v->box[1], v->box[3], v->columns, v->left, v->width, v->filter, v->before, v->after, {0}};
    *s = (eg__sampler){.top = 0};
    eg_status st = make_taps(&s->down, op, down);
    st = st ? st : make_taps(&s->right, op, right);
    if (st) {
        eg__sampler_free(s);
        return st;
    }
    range(&s->down, &s->top, &s->rows);
    range(&s->right, &s->left, &s->columns);
    return EG_OK;
}

void eg__sampler_free(eg__sampler *s)
{
    free((void *)s->down.first);
    free((void *)s->right.first);
    *s = (eg__sampler){.top = 0};
}

eg_tensor *eg__sampler_run(const eg__sampler *s, const char *op, const eg_tensor *pixels, int64_t top, int64_t left,
                           const float *scale, const float *offset)
{
    int64_t step = pixels->shape[2], channels = eg__min(step, 3), stride = pixels->shape[1] * step;
    eg__shrink k = {.from = (const uint8_t *)eg__ptr(pixels) + (s->top - top) * stride + (s->left - left) * step,
                    .stride = stride,
                    .columns = s->columns,
                    .step = (int)step,
                    .top = s->top,
                    .left = s->left,
                    .down = s->down,
                    .right = s->right};
    memcpy(k.scale, scale, (size_t)channels * sizeof *scale);
    memcpy(k.offset, offset, (size_t)channels * sizeof *offset);
    size_t room = (size_t)(s->columns * step + 4) * sizeof(float);
    size_t line = (size_t)(channels * s->right.count + 4) * sizeof(float);
    k.row = eg__malloc(room + line);
    if (!k.row) {
        return eg__no_memory(op, (int64_t)(room + line)), NULL;
    }
    memset(k.row, 0, room);
    k.last = k.row + room / sizeof(float);
    eg_tensor *to = eg__empty_on(0, EG_SHAPE(s->down.count, s->right.count, channels), EG_F32);
    if (to) {
        k.to = (float *)eg__ptr(to);
        best_loop()(&k);
    }
    free(k.row);
    return to;
}
