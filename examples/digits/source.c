/* source.c - see source.h. */
#include "source.h"

#include <stdlib.h>
#include <string.h>

#include "../common/published.h"
#include "drawn.h"

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
    series *s = malloc(sizeof *s);
    if (!s) {
        eg_fail(EG_ENOMEM, "digits_drawn", "out of memory");
        return NULL;
    }
    *s = (series){drawn_fonts_open(NULL), seed};
    eg_dataset *d = s->fonts ? eg_dataset_from(draw, count, s, free_series) : NULL;
    if (!d) {
        free_series(s);
    }
    return d;
}

eg_dataset *digits_source(const char *folder, eg_split_name split, uint64_t seed, int64_t drawn)
{
    return folder ? eg_mnist_new(folder, split) : digits_drawn(2 * seed + (split == EG_TEST), drawn);
}

/* ---- the real ones ------------------------------------------------------------------------- */

eg_status digits_get(const char *folder, const char *from, void *user)
{
    (void)user;
    return published_mnist(folder, from);
}
