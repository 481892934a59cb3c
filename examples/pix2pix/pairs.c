/* pairs.c - see pairs.h. */
#define _XOPEN_SOURCE 700
#include "pairs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "drawn.h"

enum { PATH_SIZE = 4096, RESIZED = 286, TEST_FROM = 1000000000 };

struct pairs {
    char folder[PATH_SIZE];
    struct dirent **names; /* of files, sorted; NULL: they are drawn */
    uint64_t seed;
    int64_t first, count; /* first: number of the first drawn one */
};

/* ---- where they come from ---------------------------------------------------------------- */

static int is_picture(const struct dirent *e)
{
    const char *dot = strrchr(e->d_name, '.');
    return *e->d_name != '.' && dot &&
           (!strcasecmp(dot, ".jpg") || !strcasecmp(dot, ".jpeg") || !strcasecmp(dot, ".png"));
}

static eg_status list(pairs *p, const char *folder, const char *part)
{
    int length = snprintf(p->folder, sizeof p->folder, "%s/%s", folder, part);
    if (length >= PATH_SIZE - 300) {
        return eg_failf(EG_EINVAL, "pairs_open", "the name of the folder is longer than %d bytes", PATH_SIZE - 300);
    }
    int n = scandir(p->folder, &p->names, is_picture, alphasort);
    if (n < 0) {
        return eg_failf(EG_EIO, "pairs_open", "cannot read the folder %s: %s", p->folder, strerror(errno));
    }
    p->count = n;
    return n > 0 ? EG_OK : eg_failf(EG_EIO, "pairs_open", "there is no .jpg, .jpeg or .png file in %s", p->folder);
}

pairs *pairs_open(const char *folder, eg_split_name split, uint64_t seed, int64_t drawn)
{
    pairs *p = malloc(sizeof *p);
    if (!p) {
        eg_fail(EG_ENOMEM, "pairs_open", "out of memory");
        return NULL;
    }
    *p = (pairs){.seed = seed, .first = split == EG_TEST ? TEST_FROM : 0, .count = drawn};
    eg_status st = folder ? list(p, folder, split == EG_TRAIN ? "train" : "test") : EG_OK;
    if (st && split == EG_TEST && access(p->folder, F_OK) != 0) {
        eg_clear_error();
        st = list(p, folder, "val");
    }
    if (st) {
        pairs_free(p);
        return NULL;
    }
    return p;
}

void pairs_free(pairs *p)
{
    for (int64_t i = 0; p && p->names && i < p->count; i++) {
        free(p->names[i]);
    }
    if (p) {
        free(p->names);
    }
    free(p);
}

int64_t pairs_count(const pairs *p)
{
    return p ? p->count : 0;
}

/* ---- one of them ------------------------------------------------------------------------- */

static eg_status number(int64_t index, eg_tensor **sample, int *n, void *user)
{
    (void)user;
    sample[0] = eg_from(EG_SCALAR, EG_I64, &index);
    *n = 1;
    return sample[0] ? EG_OK : eg_last_error()->code;
}

eg_dataset *pairs_numbers(pairs *p)
{
    return eg_dataset_from(number, pairs_count(p), p, NULL);
}

static eg_tensor *drawn_pair(uint64_t seed, int64_t index)
{
    eg_tensor *rows = eg_empty(EG_SHAPE(DRAWN_SIDE, 2 * DRAWN_SIDE, 3), EG_U8);
    uint8_t *pixels = eg_data_mut(rows);
    if (pixels) {
        drawn_facade(seed, index, pixels);
    }
    return eg_permute(rows, EG_AXES(2, 0, 1));
}

/* Photo and plan together, u8 [2, 3, H, W]. */
static eg_tensor *both(const pairs *p, int64_t index)
{
    char path[PATH_SIZE + 256];
    if (p->names) {
        snprintf(path, sizeof path, "%s/%s", p->folder, p->names[index]->d_name);
    }
    eg_tensor *image = p->names ? eg_image_load(path, .channels = 3) : drawn_pair(p->seed, p->first + index);
    eg_tensor *halves[2] = {NULL, NULL};
    int64_t half = eg_size(image, 2) / 2, sizes[2] = {half, half};
    return eg_split(image, sizes, 2, 2, halves) == EG_OK ? eg_stack(halves, 2, 0) : NULL;
}

eg_tensor *pairs_resized(eg_tensor *images, int64_t side)
{
    return eg_resize(eg_cast(images, EG_F32), EG_SHAPE(side, side), .mode = EG_RESIZE_CUBIC, .grid = EG_GRID_CORNERS);
}

eg_tensor *pairs_centred(eg_tensor *x)
{
    return eg_sub_scalar(eg_mul_scalar(x, 1 / 127.5), 1);
}

static eg_status give(eg_tensor *x, eg_tensor **out, int *m)
{
    x = pairs_centred(x);
    out[0] = eg_select(x, 0, 1);
    out[1] = eg_select(x, 0, 0);
    *m = 2;
    return out[0] && out[1] ? EG_OK : eg_last_error()->code;
}

eg_status pairs_jittered(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n;
    eg_tensor *x = pairs_resized(both(user, (int64_t)eg_item(in[0])), RESIZED);
    return give(eg_image_random_flip(eg_image_random_crop(x, PAIRS_SIDE, PAIRS_SIDE), 0.5, 0), out, m);
}

eg_status pairs_plain(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n;
    return give(pairs_resized(both(user, (int64_t)eg_item(in[0])), PAIRS_SIDE), out, m);
}
