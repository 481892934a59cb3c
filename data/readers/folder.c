/* folder.c - datasets whose samples are whole files. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "data/chain/dataset.h"
#include "data/readers/stream.h"
#include "lib/core/counted.h"

/* ---- both kinds ----------------------------------------------------------------------------- */

typedef struct folder {
    eg_dataset d;
    eg__names files, classes;
    int32_t *label; /* of each file; NULL: samples begin with the name */
    uint32_t labels;
    int64_t at;
} folder;

static eg_status folder_next(eg_dataset *d, eg__sample *s)
{
    folder *f = (folder *)d;
    if (f->at == f->files.n) {
        return EG_OK;
    }
    s->file = f->files.name[f->at];
    s->at = 0;
    int64_t i = f->at++;
    eg_scope scope = eg_scope_push();
    eg_tensor *bytes = scope.depth ? eg__file_bytes(d->is->name, s->file) : NULL, *other = NULL;
    if (bytes) {
        other = f->label ? eg_scalar(f->label[i], EG_I64) : eg__bytes_tensor(s->file, (int64_t)strlen(s->file));
    }
    eg_tensor *t[2] = {f->label ? bytes : other, f->label ? other : bytes};
    eg_status st = other ? eg__sample_keep(d->is->name, s, t, 2) : eg__why();
    eg_scope_pop(scope, NULL);
    return st;
}

static eg_status folder_start(eg_dataset *d, uint64_t epoch)
{
    (void)epoch;
    ((folder *)d)->at = 0;
    return EG_OK;
}

static eg_status folder_skip(eg_dataset *d, int64_t n, int64_t *done)
{
    folder *f = (folder *)d;
    *done = eg__min(n, f->files.n - f->at);
    f->at += *done;
    return EG_OK;
}

static int64_t folder_count(const eg_dataset *d)
{
    return ((const folder *)d)->files.n;
}

static void folder_free(eg_dataset *d)
{
    folder *f = (folder *)d;
    eg__names_free(&f->files);
    eg__names_free(&f->classes);
    eg__counted_free(f->label);
}

static const eg__dataset_class files_class = {.name = "eg_files_new",
                                              .start = folder_start,
                                              .next = folder_next,
                                              .skip = folder_skip,
                                              .count = folder_count,
                                              .free = folder_free};

eg_dataset *eg_files_new(const char *pattern)
{
    folder *f = (folder *)eg__dataset_new(&files_class, sizeof *f, NULL);
    if (f && eg__names_match(&f->files, files_class.name, pattern)) {
        eg_dataset_free(&f->d);
        return NULL;
    }
    return f ? &f->d : NULL;
}

/* ---- a folder for each class ---------------------------------------------------------------- */

static const eg__dataset_class image_folder_class = {.name = "eg_image_folder_new",
                                                     .start = folder_start,
                                                     .next = folder_next,
                                                     .skip = folder_skip,
                                                     .count = folder_count,
                                                     .free = folder_free};

static bool is_image(const char *name)
{
    static const char *const endings[] = {"jpg", "jpeg", "png", "gif", "bmp", "ppm", "pgm"};
    const char *dot = strrchr(name, '.');
    for (int i = 0; dot && i < EG__COUNT(endings); i++) {
        size_t k = 0;
        while (endings[i][k] && (dot[1 + k] | 32) == endings[i][k]) {
            k++;
        }
        if (!endings[i][k] && !dot[1 + k]) {
            return true;
        }
    }
    return false;
}

static bool is_folder(const char *path)
{
    struct stat about;
    return !stat(path, &about) && S_ISDIR(about.st_mode);
}

/* The names of the sub-folders of a folder, or the images in it with the path in front. */
static eg_status list(const char *path, bool folders, eg__names *names)
{
    const char *op = image_folder_class.name;
    char inside[4096];
    eg_status st = EG_OK;
    DIR *d = opendir(path);
    if (!d) {
        return eg__system_says(op, "open the folder", path, errno);
    }
    errno = 0;
    for (struct dirent *e; !st && (e = readdir(d)); errno = 0) {
        int n = snprintf(inside, sizeof inside, "%s/%s", path, e->d_name);
        if (n >= (int)sizeof inside) {
            st = eg__fail(EG_EIO, op, "a path in \"%.140s\" is too long", path);
        } else if (e->d_name[0] != '.' && (folders ? is_folder(inside) : is_image(e->d_name) && !is_folder(inside))) {
            const char *name = folders ? e->d_name : inside;
            st = eg__names_add(names, name, strlen(name)) ? EG_OK : eg__no_memory(op, n);
        }
    }
    if (!st && errno) { /* some of the images would be missing */
        st = eg__system_says(op, "read the folder", path, errno);
    }
    closedir(d);
    return st;
}

/* The images of class i, which are appended to the files. */
static eg_status add_class(folder *f, const char *path, uint32_t i)
{
    char inside[4096];
    eg__names found = {0};
    snprintf(inside, sizeof inside, "%s/%s", path, f->classes.name[i]);
    eg_status st = list(inside, false, &found);
    eg__names_sort(&found);
    for (uint32_t k = 0; k < found.n && !st; k++) {
        bool room = f->files.n < f->labels || eg__counted_grow(&f->label, &f->labels, sizeof *f->label);
        if (!room || !eg__names_add(&f->files, found.name[k], strlen(found.name[k]))) {
            st = eg__no_memory(image_folder_class.name, f->labels);
        } else {
            f->label[f->files.n - 1] = (int32_t)i;
        }
    }
    eg__names_free(&found);
    return st;
}

static eg_status read_folder(folder *f, const char *path)
{
    eg_status st = path ? list(path, true, &f->classes) : eg__null_argument(image_folder_class.name, "folder");
    eg__names_sort(&f->classes);
    for (uint32_t i = 0; i < f->classes.n && !st; i++) {
        st = add_class(f, path, i);
    }
    if (!st && !f->files.n) {
        st = eg__fail(EG_EIO, image_folder_class.name, "\"%.140s\" has %u folders and no image in them", path,
                      f->classes.n);
    }
    return st;
}

eg_dataset *eg_image_folder_new(const char *path)
{
    folder *f = (folder *)eg__dataset_new(&image_folder_class, sizeof *f, NULL);
    if (f && read_folder(f, path)) {
        eg_dataset_free(&f->d);
        return NULL;
    }
    return f ? &f->d : NULL;
}

const char *const *eg_image_folder_classes(const eg_dataset *d, int64_t *n)
{
    static const char op[] = "eg_image_folder_classes";
    if (!d || !n) {
        return eg__null_argument(op, d ? "n" : "d"), NULL;
    }
    while (d && d->is != &image_folder_class) {
        d = d->from;
    }
    if (!d) {
        return eg__fail_null(EG_EINVAL, op, "no folder of images stands at the chain's beginning");
    }
    *n = ((const folder *)d)->classes.n;
    return (const char *const *)((const folder *)d)->classes.name;
}
