/* pool.c - windows over one to three axes. */
#include "tests/differ/differ.h"

OPTIONS(eg_pool_options, INT(eg_pool_options, kernel, 1, 2, 2, 3, 3, 4), INT(eg_pool_options, stride, 0, 0, 1, 2, 3),
        INT(eg_pool_options, dilation, 0, 0, 0, 1, 2), INT(eg_pool_options, padding, EG_VALID, EG_SAME, 0, 1, 2),
        INT(eg_pool_options, kernels, 0, 0, 0, 1, 2, 3), INT(eg_pool_options, strides, 0, 0, 0, 1, 2),
        INT(eg_pool_options, dilations, 0, 0, 0, 0, 1, 2), INT(eg_pool_options, pads, 0),
        BOOL(eg_pool_options, ceil_mode), BOOL(eg_pool_options, exclude_pad), RESULT(eg_pool_options, indices))

static eg_shape image(draw *d, int naxes, int64_t most)
{
    eg_shape s = EG_SHAPE(chance(d, 2) ? 0 : pick(d, 1, 3), chance(d, 2)    ? 0
                                                            : chance(d, 70) ? pick(d, 1, 4)
                                                                            : PICK(d, int64_t, 8, 16, 19));
    for (int a = 0; a < naxes; a++) {
        s = shape_with(s, chance(d, 2) ? 0 : pick(d, 1, most));
    }
    return s;
}

/* Padding stays below the window's reach, most of the time. */
static void pool(draw *d, int naxes, bool max)
{
    eg_pool_options *o = DRAW_OPTIONS(d, eg_pool_options);
    bool pads = chance(d, 30);
    o->kernel = o->kernel ? o->kernel : !chance(d, 5);
    o->exclude_pad = max ? false : o->exclude_pad;
    o->dilation = max ? o->dilation : 0;
    d->no_options = false;
    for (int a = 0; a < 3; a++) {
        bool there = a < naxes;
        o->kernels[a] *= there;
        o->strides[a] *= there;
        o->dilations[a] *= there && max;
        int64_t kernel = o->kernels[a] ? o->kernels[a] : o->kernel;
        int64_t dilation = o->dilations[a] ? o->dilations[a] : o->dilation ? o->dilation : 1;
        int64_t most = kernel ? (kernel - 1) * dilation : 0;
        o->pads[a][0] = pads && there ? pick(d, 0, most) : 0;
        o->pads[a][1] = pads && there ? pick(d, 0, most) : 0;
        o->padding = there && o->padding > most ? most : o->padding;
    }
    o->padding = pads ? 0 : o->padding;
    o->indices = max && chance(d, 40) ? place(1) : NULL;
    operand(d, image(d, naxes, naxes == 3 ? 8 : 20), draw_float(d));
}

#define POOL(n)                                                                 \
    static void max##n(draw *d)                                                 \
    {                                                                           \
        pool(d, n, true);                                                       \
    }                                                                           \
    static void avg##n(draw *d)                                                 \
    {                                                                           \
        pool(d, n, false);                                                      \
    }                                                                           \
    DIFFER(max_pool##n##d, max##n, SPECIALS, 1, eg_max_pool##n##d_with(T0, O0)) \
    DIFFER(avg_pool##n##d, avg##n, 0, 3, eg_avg_pool##n##d_with(T0, O0))
POOL(1)
POOL(2)
POOL(3)

static void adaptive(draw *d)
{
    int naxes = (int)pick(d, 1, 3);
    eg_shape s = image(d, naxes, naxes == 3 ? 8 : 20);
    operand(d, s, draw_float(d));
    for (int a = 0; a < naxes; a++) {
        d->s[0] = shape_with(d->s[0], chance(d, 1) ? 0 : pick(d, 1, 7));
    }
}
DIFFER(adaptive_max_pool, adaptive, 0, 1, eg_adaptive_max_pool(T0, S0))
DIFFER(adaptive_avg_pool, adaptive, 0, 3, eg_adaptive_avg_pool(T0, S0))

static void draw_unpool(draw *d)
{
    int naxes = (int)pick(d, 1, 3);
    eg_shape s = image(d, naxes, 5);
    int64_t cells = 1;
    operand(d, s, draw_float(d));
    for (int a = 0; a < naxes; a++) {
        d->s[0] = shape_with(d->s[0], s.dim[a + 2] * pick(d, 1, 2));
        cells *= d->s[0].dim[a];
    }
    int k = indices(d, s, cells, false);
    d->t[k].dtype = chance(d, 97) ? EG_I64 : d->t[k].dtype;
}
DIFFER(max_unpool, draw_unpool, 0, 3, eg_max_unpool(T0, T1, S0))
