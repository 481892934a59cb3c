/* records.c - see records.h. */
#include "records.h"

#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- folders ------------------------------------------------------------------------------------- */

/* Whether a file of names has this one; *there: whether there is such a file. */
static bool lists(const char *folder, const char *list, const char *name, bool *there)
{
    char line[EG_NAME_MOST + 2];
    bool found = false;
    FILE *f = fopen(eg_path_in(folder, list).text, "r");
    *there = f != NULL;
    while (f && !found && fgets(line, sizeof line, f)) {
        line[strcspn(line, " \t\r\n")] = '\0';
        found = !strcmp(line, name);
    }
    if (f) {
        fclose(f);
    }
    return found;
}

static bool wanted(const char *folder, const char *path, bool train)
{
    char name[EG_NAME_MOST + 1];
    const char *slash = strrchr(path, '/');
    bool there;
    snprintf(name, sizeof name, "%s", slash ? slash + 1 : path);
    name[strlen(name) - strlen(".tfrecord")] = '\0';
    return !lists(folder, "test.txt", name, &there) && lists(folder, "dev.txt", name, &there) == !train;
}

/* One behind the other, or, to be judged by, one of each in turn, so that a batch has many objects. */
static eg_dataset *join(eg_dataset *const *all, int n, bool train)
{
    return train ? eg_dataset_concat(all, n) : eg_dataset_interleave(all, n, 1);
}

eg_dataset *records_open(const char *folder, bool train)
{
    enum { MOST = 4096 };
    glob_t found;
    eg_dataset **all = calloc(MOST, sizeof(eg_dataset *)), *d = NULL;
    int n = 0;
    if (!all) {
        eg_fail(EG_ENOMEM, "keypoints", "out of memory");
        return NULL;
    }
    if (glob(eg_path_in(folder, "*.tfrecord").text, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            if (n == MOST) {
                all[0] = join(all, n, train);
                n = 1;
            }
            if (wanted(folder, found.gl_pathv[i], train)) {
                all[n++] = eg_tfrecord_new(found.gl_pathv[i]);
            }
        }
        globfree(&found);
    }
    if (n) {
        d = join(all, n, train);
    } else {
        eg_failf(EG_EIO, "keypoints", "%.200s has no file NAME.tfrecord with pairs to %s", folder,
                 train ? "learn from" : "be judged by, which dev.txt names");
    }
    free(all);
    return d;
}

eg_status records_focal(const char *folder, double *focal)
{
    bool there;
    lists(folder, "dev.txt", "", &there);
    FILE *f = there ? fopen(eg_path_in(folder, "projection.txt").text, "r") : NULL;
    const bool known = f && fscanf(f, "%lf", focal) == 1 && *focal > 0 && isfinite(*focal);
    if (f) {
        fclose(f);
    }
    return known ? EG_OK
                 : eg_failf(there ? EG_EFORMAT : EG_EIO, "keypoints", "%.200s has no %s", folder,
                            there ? "projection.txt that begins with how large the camera shows things" : "dev.txt");
}

/* ---- reading ------------------------------------------------------------------------------------- */

static const eg_feature features[] = {
    {.name = "img0", .dtype = EG_U8},
    {.name = "img1", .dtype = EG_U8},
    {.name = "mv0", .dtype = EG_F32, .shape = {2, {4, 4}}},
    {.name = "mv1", .dtype = EG_F32, .shape = {2, {4, 4}}},
    {.name = "mvi0", .dtype = EG_F32, .shape = {2, {4, 4}}},
    {.name = "mvi1", .dtype = EG_F32, .shape = {2, {4, 4}}},
};

eg_status records_read(eg_tensor *record, eg_tensor **picture, eg_tensor **into, eg_tensor **back)
{
    eg_tensor *part[6];
    eg_status st = eg_example_read(record, features, 6, part);
    for (int k = 0; k < 2 && !st; k++) {
        picture[k] = eg_image_decode(eg_data(part[k]), (size_t)eg_numel(part[k]), .channels = 4);
        into[k] = part[2 + k];
        back[k] = part[4 + k];
        st = picture[k] ? EG_OK : eg_last_error()->code;
    }
    return st;
}

/* ---- writing ------------------------------------------------------------------------------------- */

static eg_status write_pair(eg_tfrecord_writer *w, const pairs_options *o, int64_t i)
{
    eg_tensor *picture[2];
    view v[2];
    eg_status st = pairs_draw(o, i, picture, v);
    eg_example *e = st ? NULL : eg_example_new();
    st = e ? EG_OK : eg_last_error()->code;
    for (int k = 0; k < 2 && !st; k++) {
        st = eg_example_set(e, features[k].name, eg_png_encode(picture[k]));
        st = st ? st : eg_example_set(e, features[2 + k].name, eg_from_values(EG_SHAPE(16), EG_F32, v[k].into));
        st = st ? st : eg_example_set(e, features[4 + k].name, eg_from_values(EG_SHAPE(16), EG_F32, v[k].back));
    }
    eg_tensor *record = st ? NULL : eg_example_encode(e);
    eg_example_free(e);
    return record ? eg_tfrecord_write(w, eg_data(record), (size_t)eg_numel(record)) : eg_last_error()->code;
}

static void name_of(const pairs_options *o, int64_t shape, const char *ending, char *to, size_t size)
{
    snprintf(to, size, "%s-%06lld%s", o->shape, (long long)shape, ending);
}

static eg_status write_shape(const pairs_options *o, const char *folder, int64_t shape)
{
    char name[64];
    name_of(o, shape, ".tfrecord", name, sizeof name);
    eg_tfrecord_writer *w = eg_tfrecord_writer_new(eg_path_in(folder, name).text);
    eg_status st = w ? EG_OK : eg_last_error()->code;
    for (int64_t i = 0; i < o->each && !st; i++) {
        EG_SCOPE {
            st = write_pair(w, o, shape * o->each + i);
        }
    }
    if (st) {
        eg_tfrecord_writer_free(w);
        return st;
    }
    return eg_tfrecord_writer_close(w);
}

/* What is not learned from, line by line, as dev.txt; and the camera's matrix, OpenGL's. */
static eg_status write_lists(const pairs_options *o, const char *folder)
{
    const double near = RENDER_DISTANCE - 2, far = RENDER_DISTANCE + 2;
    const size_t size = 64 * (size_t)o->others + 1;
    char matrix[256], *names = malloc(size);
    size_t at = 0;
    for (int64_t i = 0; names && i < o->others; i++) {
        name_of(o, o->shapes + i, "\n", names + at, size - at);
        at += strlen(names + at);
    }
    snprintf(matrix, sizeof matrix, "%.17g 0 0 0\n0 %.17g 0 0\n0 0 %.17g %.17g\n0 0 -1 0\n", RENDER_FOCAL, RENDER_FOCAL,
             (near + far) / (near - far), 2 * near * far / (near - far));
    eg_status st = names ? eg_file_write(eg_path_in(folder, "dev.txt").text, names, at)
                         : eg_fail(EG_ENOMEM, "keypoints", "out of memory");
    free(names);
    st = st ? st : eg_file_write(eg_path_in(folder, "test.txt").text, "", 0);
    return st ? st : eg_file_write(eg_path_in(folder, "projection.txt").text, matrix, strlen(matrix));
}

eg_status records_write(const pairs_options *o, const char *folder)
{
    eg_status st = eg_folder_make(folder);
    for (int64_t i = 0; i < o->shapes + o->others && !st; i++) {
        st = write_shape(o, folder, i);
    }
    return st ? st : write_lists(o, folder);
}
