/* painter.c - see painter.h. */
#include "painter.h"

#include "pictures.h"

enum { BLOCKS = 5 };

/* ---- edges: as in a mirror, so that none is painted ---------------------------------------------------- */

static eg_tensor *mirrored(eg_tensor *x, int64_t cells)
{
    return eg_pad(x, .before = {0, 0, cells, cells}, .after = {0, 0, cells, cells}, .mode = EG_PAD_REFLECT);
}

static eg_tensor *mirror1(eg_tensor *x)
{
    return mirrored(x, 1);
}

static eg_tensor *mirror4(eg_tensor *x)
{
    return mirrored(x, 4);
}

/* ---- numbers of a size for nets, and of a canvas ------------------------------------------------------- */

static eg_tensor *small(eg_tensor *canvas)
{
    return eg_mul_scalar(canvas, 1 / 128.0);
}

/* What a picture can have, all of it. */
static eg_tensor *painted(eg_tensor *x)
{
    static const double middle[] = {127.5 - CANVAS_BLUE, 127.5 - CANVAS_GREEN, 127.5 - CANVAS_RED};
    return eg_add(eg_mul_scalar(eg_tanh(eg_cast(x, EG_F32)), 127.5), eg_from_values(EG_SHAPE(3, 1, 1), EG_F32, middle));
}

/* What is added to a photo, without an end at which it learned no more. */
static eg_tensor *added(eg_tensor *x)
{
    return eg_mul_scalar(eg_cast(x, EG_F32), 64);
}

/* ---- layers -------------------------------------------------------------------------------------------- */

static eg_module *conv(int64_t in, int64_t out, int64_t kernel, int64_t stride)
{
    return eg_sequential_new(eg_activation_new(kernel == 9 ? mirror4 : mirror1),
                             eg_conv2d_new(in, out, .kernel = kernel, .stride = stride), eg_instance_norm_new(out));
}

static eg_module *block(int64_t channels)
{
    return eg_residual_new(
        eg_sequential_new(conv(channels, channels, 3, 1), eg_activation_new(eg_relu), conv(channels, channels, 3, 1)),
        eg_identity_new());
}

static eg_module *up(int64_t in, int64_t out)
{
    return eg_sequential_new(eg_resize_new(EG_SHAPE(-1, -1), .mode = EG_RESIZE_NEAREST, .scale = {2, 2}),
                             conv(in, out, 3, 1), eg_activation_new(eg_relu));
}

static int64_t channels_of(double width, double published)
{
    return width * published < 1 ? 1 : (int64_t)(width * published);
}

eg_module *painter_new(double width, bool over)
{
    int64_t a = channels_of(width, 32), b = channels_of(width, 64), c = channels_of(width, 128);
    eg_module *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = block(c);
    }
    eg_module *layers = eg_sequential_new(
        eg_activation_new(small), eg_named("in", conv(3, a, 9, 1)), eg_activation_new(eg_relu),
        eg_named("down1", conv(a, b, 3, 2)), eg_activation_new(eg_relu), eg_named("down2", conv(b, c, 3, 2)),
        eg_activation_new(eg_relu), eg_named("blocks", eg_sequential_new_with(blocks, BLOCKS)),
        eg_named("up1", up(c, b)), eg_named("up2", up(b, a)), eg_activation_new(mirror4),
        eg_named("out", eg_conv2d_new(a, 3, .kernel = 9)), eg_activation_new(over ? added : painted));
    return over ? eg_residual_new(layers, eg_identity_new()) : layers;
}
