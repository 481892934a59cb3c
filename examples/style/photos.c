/* photos.c - see photos.h. */
#include "photos.h"

#include <glob.h>
#include <stdlib.h>

#include "pictures.h"

static const char op[] = "fast_style";

typedef struct photos {
    glob_t files;
    int64_t side, drawn;
} photos;

static void free_photos(void *given)
{
    globfree(&((photos *)given)->files);
    free(given);
}

static eg_status find_photos(photos *p, const char *folder)
{
    int found = glob(eg_path_in(folder, "*.jpg").text, 0, NULL, &p->files);
    int deeper = glob(eg_path_in(folder, "*/*.jpg").text, found ? 0 : GLOB_APPEND, NULL, &p->files);
    p->drawn = 0;
    return !found || !deeper ? EG_OK : eg_failf(EG_EIO, op, "%.200s has neither *.jpg nor */*.jpg", folder);
}

/* The run's. */
static photos *open_photos(eg_run *run, int64_t side, int64_t drawn)
{
    const char *folder = eg_run_settings_of(run)->data;
    photos *p = calloc(1, sizeof *p);
    if (!p) {
        eg_fail(EG_ENOMEM, op, "out of memory");
    }
    if (eg_run_own(run, p, free_photos)) {
        return NULL;
    }
    p->side = side;
    p->drawn = drawn;
    return folder && eg_run_heed(run, find_photos(p, folder)) ? NULL : p;
}

/* A square canvas out of the middle. */
static eg_status read_photo(int64_t index, eg_tensor **sample, int *n, void *user)
{
    const photos *p = user;
    eg_tensor *photo =
        p->drawn ? picture_draw_scene(p->side, p->side, index) : eg_image_load(p->files.gl_pathv[index], .channels = 3);
    int64_t h = eg_size(photo, 1), w = eg_size(photo, 2), shorter = h < w ? h : w;
    photo = eg_image_resize(eg_image_center_crop(photo, shorter, shorter), p->side, p->side, .antialias = true);
    sample[0] = eg_select(picture_to_canvas(photo), 0, 0);
    *n = 1;
    return sample[0] ? EG_OK : eg_last_error()->code;
}

eg_dataset *photos_dataset(eg_run *run, int64_t side, int64_t drawn)
{
    const eg_run_settings *s = eg_run_settings_of(run);
    photos *p = open_photos(run, side, drawn);
    if (!p) {
        return NULL;
    }
    int64_t count = p->drawn ? p->drawn : (int64_t)p->files.gl_pathc;
    eg_dataset *d = eg_dataset_from(read_photo, count, p, NULL);
    d = eg_dataset_shuffle(d, count, .seed = (uint64_t)s->seed);
    return eg_dataset_prefetch(eg_dataset_batch(d, s->batch, .drop_last = true), 2);
}
