/* source.c - see source.h. */
#include "source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/download.h"
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
    static const struct {
        const char *name, *sha256;
    } files[] = {
        {"train-images-idx3-ubyte.gz", "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
        {"train-labels-idx1-ubyte.gz", "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
        {"t10k-images-idx3-ubyte.gz", "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
        {"t10k-labels-idx1-ubyte.gz", "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"},
    };
    char url[1024];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *base = from ? from : "https://storage.googleapis.com/cvdf-datasets/mnist";
        if (snprintf(url, sizeof url, "%s/%s", base, files[i].name) >= (int)sizeof url) {
            return eg_failf(EG_EINVAL, "digits_get", "the address %.60s... is too long", base);
        }
        eg_status st = download_get(&(download){.url = url, .sha256 = files[i].sha256}, folder);
        if (st) {
            return st;
        }
    }
    return EG_OK;
}
