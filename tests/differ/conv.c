/* conv.c - convolutions and their transposes over one to three axes. */
#include "tests/differ/differ.h"

OPTIONS(eg_conv_options, INT(eg_conv_options, stride, 0, 0, 1, 2, 3), INT(eg_conv_options, dilation, 0, 0, 0, 1, 2),
        INT(eg_conv_options, groups, 0), INT(eg_conv_options, padding, EG_VALID, EG_SAME, 1, 2, 3),
        INT(eg_conv_options, strides, 0, 0, 0, 1, 2, 3), INT(eg_conv_options, dilations, 0, 0, 0, 0, 1, 2),
        INT(eg_conv_options, pads, 0), INT(eg_conv_options, output_padding, 0), FUNCTION(eg_conv_options, activation))

typedef struct sizes {
    int naxes;
    int64_t n, c, o, in[3], kernel[3];
} sizes;

static int64_t channels(draw *d)
{
    return chance(d, 2) ? 0 : chance(d, 70) ? pick(d, 1, 5) : PICK(d, int64_t, 8, 16, 17, 32);
}

/* Sizes and options that mostly go together; the weight and x follow from them. */
static eg_conv_options *draw_conv(draw *d, int naxes, bool transposed, sizes *z)
{
    *z = (sizes){.naxes = naxes, .n = chance(d, 2) ? 0 : pick(d, 1, 3), .c = channels(d), .o = channels(d)};
    eg_conv_options *o = DRAW_OPTIONS(d, eg_conv_options);
    bool depthwise = chance(d, 25), grouped = chance(d, 25);
    o->groups = depthwise ? z->c : grouped ? pick(d, 2, 3) : 0;
    if (depthwise) {
        z->o = z->c * pick(d, 1, 2);
    } else if (grouped) {
        z->c *= o->groups;
        z->o *= o->groups;
    }
    bool pads = chance(d, 25);
    for (int a = 0; a < 3; a++) {
        bool there = a < naxes || chance(d, 1);
        o->strides[a] *= there;
        o->dilations[a] *= there;
        o->pads[a][0] = pads && there ? pick(d, 0, 3) : 0;
        o->pads[a][1] = pads && there ? pick(d, 0, 2) : 0;
        int64_t dilation = o->dilations[a] ? o->dilations[a] : o->dilation ? o->dilation : 1;
        int64_t stride = o->strides[a] ? o->strides[a] : o->stride ? o->stride : 1;
        z->kernel[a] = chance(d, 90) ? pick(d, 1, 3) : pick(d, 4, 6);
        int64_t spread = (z->kernel[a] - 1) * dilation;
        z->in[a] = chance(d, 1) ? 0 : pick(d, 1, naxes == 3 ? 5 : 9) + (transposed || chance(d, 5) ? 0 : spread);
        o->output_padding[a] = transposed && there && chance(d, 20) ? pick(d, 0, stride - 1) : 0;
    }
    o->padding = pads ? 0 : o->padding;
    if (!chance(d, 20) || transposed) {
        return o;
    }
    for (int a = 0; a < naxes && naxes == 2; a++) { /* as networks have them: what fast ways are made for */
        z->kernel[a] = 3;
        z->in[a] = pick(d, 4, 20);
    }
    return o;
}

static eg_shape spatial(eg_shape s, const int64_t *n, int naxes)
{
    for (int a = 0; a < naxes; a++) {
        s = shape_with(s, n[a]);
    }
    return s;
}

static void conv(draw *d, int naxes, bool transposed)
{
    sizes z;
    eg_conv_options *o = draw_conv(d, naxes, transposed, &z);
    int64_t groups = o->groups ? o->groups : 1;
    eg_dtype t = draw_float(d);
    o->activation = chance(d, 50) ? draw_activation(d, t) : NULL;
    operand(d, spatial(EG_SHAPE(z.n, z.c), z.in, naxes), t);
    operand(d, spatial(transposed ? EG_SHAPE(z.c, z.o / groups) : EG_SHAPE(z.o, z.c / groups), z.kernel, naxes),
            chance(d, 92) ? t : draw_float(d));
    if (chance(d, 60)) {
        operand(d, EG_SHAPE(z.o), t);
    } else {
        absent(d);
    }
    without_ties(d, o->activation);
}

#define CONV(n)                                                           \
    static void conv##n(draw *d)                                          \
    {                                                                     \
        conv(d, n, false);                                                \
    }                                                                     \
    static void transposed##n(draw *d)                                    \
    {                                                                     \
        conv(d, n, true);                                                 \
    }                                                                     \
    DIFFER(conv##n##d, conv##n, 0, 8, eg_conv##n##d_with(T0, T1, T2, O0)) \
    DIFFER(conv_transpose##n##d, transposed##n, 0, 8, eg_conv_transpose##n##d_with(T0, T1, T2, O0))
CONV(1)
CONV(2)
CONV(3)

/* The results' sizes, padding as conv.h has it; below 0 if there are none. */
static int64_t out_size(const eg_conv_options *o, int a, int64_t in, int64_t kernel)
{
    int64_t stride = o->strides[a] ? o->strides[a] : o->stride ? o->stride : 1;
    int64_t dilation = o->dilations[a] ? o->dilations[a] : o->dilation ? o->dilation : 1;
    int64_t pad = o->padding > 0 ? 2 * o->padding : o->pads[a][0] + o->pads[a][1];
    int64_t reach = in + pad - (kernel - 1) * dilation - 1;
    return o->padding == EG_SAME ? (in + stride - 1) / stride : in == 0 ? 0 : reach < 0 ? -1 : reach / stride + 1;
}

/* dy, then the other operand and the shape that is asked for. */
static void conv_gradient(draw *d, bool weight)
{
    sizes z;
    int naxes = (int)pick(d, 1, 3);
    eg_conv_options *o = draw_conv(d, naxes, false, &z);
    int64_t groups = o->groups ? o->groups : 1, out[3];
    for (int a = 0; a < naxes; a++) {
        while ((out[a] = out_size(o, a, z.in[a], z.kernel[a])) < 0) {
            z.in[a]++;
        }
        out[a] += chance(d, 1);
    }
    eg_dtype t = draw_float(d);
    eg_shape x = spatial(EG_SHAPE(z.n, z.c), z.in, naxes), dy = spatial(EG_SHAPE(z.n, z.o), out, naxes);
    eg_shape w = spatial(EG_SHAPE(z.o, z.c / groups), z.kernel, naxes);
    operand(d, weight ? x : dy, t);
    operand(d, weight ? dy : w, t);
    d->s[0] = weight ? w : x;
}
static void draw_conv_data(draw *d)
{
    conv_gradient(d, false);
}
static void draw_conv_weight(draw *d)
{
    conv_gradient(d, true);
}
DIFFER(conv_data, draw_conv_data, 0, 8, eg_conv_data_with(T0, T1, S0, O0))
DIFFER(conv_weight, draw_conv_weight, 0, 8, eg_conv_weight_with(T0, T1, S0, O0))
