/* net.c - see net.h. */
#include "net.h"

#include <stdlib.h>

#include "drawn.h"

/* A convolution that keeps or halves the sides, normalised. */
static eg_module *layer(int64_t in, int64_t out, int64_t stride)
{
    return eg_sequential_new(
        eg_conv2d_new(in, out, .kernel = 3, .stride = stride, .padding = EG_SAME, .no_bias = true),
        eg_batch_norm_new(out), eg_activation_new(eg_relu));
}

eg_module *digits_net(void)
{
    return eg_sequential_new(layer(1, 32, 1), layer(32, 32, 2), layer(32, 64, 1), layer(64, 64, 2),
                             eg_flatten_new(), eg_dropout_new(0.4), eg_linear_new(64 * 7 * 7, 10));
}

/* ---- drawn digits -------------------------------------------------------------------------- */

typedef struct series {
    drawn_fonts *fonts;
    uint64_t seed;
} series;

static eg_status draw(int64_t index, eg_tensor **sample, int *n, void *user)
{
    const series *s = user;
    uint8_t pixels[DRAWN_PIXELS];
    float image[DRAWN_PIXELS];
    int64_t label = drawn_digit(s->fonts, s->seed, index, pixels);
    for (int i = 0; i < DRAWN_PIXELS; i++) {
        image[i] = (float)pixels[i] / 255;
    }
    sample[0] = eg_from(EG_SHAPE(1, DRAWN_SIDE, DRAWN_SIDE), EG_F32, image);
    sample[1] = eg_from(EG_SCALAR, EG_I64, &label);
    *n = 2;
    return sample[0] && sample[1] ? EG_OK : eg_last_error()->code;
}

static void free_series(void *user)
{
    series *s = user;
    drawn_fonts_free(s->fonts);
    free(s);
}

eg_dataset *digits_drawn(uint64_t seed, int64_t count)
{
    problem why;
    series *s = malloc(sizeof *s);
    drawn_fonts *fonts = s ? drawn_fonts_open(NULL, &why) : NULL;
    if (!fonts) {
        fprintf(stderr, "digits: %s\n", s ? why.text : "out of memory");
        free(s);
        return NULL;
    }
    *s = (series){fonts, seed};
    eg_dataset *d = eg_dataset_from(draw, count, s, free_series);
    if (!d) {
        free_series(s);
    }
    return d;
}

eg_dataset *digits_source(const char *folder, eg_split_name split, uint64_t seed, int64_t drawn)
{
    return folder ? eg_mnist_new(folder, split) : digits_drawn(2 * seed + (split == EG_TEST), drawn);
}
