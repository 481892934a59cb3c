/* photos.c - see photos.h. */
#define _POSIX_C_SOURCE 200809L
#include "photos.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void photo_free(photo *p)
{
    for (int k = 0; k < p->count; k++) {
        free(p->captions[k]);
    }
    free(p->captions);
    free(p->name);
    free(p->path);
}

void photos_free(photos *p)
{
    for (int64_t i = 0; i < p->count; i++) {
        photo_free(&p->at[i]);
    }
    free(p->at);
    *p = (photos){.at = NULL};
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

static eg_status no_memory(void)
{
    return eg_fail(EG_ENOMEM, "caption", "out of memory for the captions");
}

/* ---- a list that grows --------------------------------------------------------------------------- */

typedef struct list {
    photos *to;
    const char *folder; /* of the images */
    int64_t room, most;
} list;

static photo *add_photo(list *l, const char *name, size_t length)
{
    photos *p = l->to;
    if (p->count == l->room) {
        const int64_t room = 2 * l->room + 64;
        photo *grown = realloc(p->at, (size_t)room * sizeof *grown);
        if (!grown) {
            return NULL;
        }
        p->at = grown;
        l->room = room;
    }
    photo *made = &p->at[p->count];
    *made = (photo){.name = strndup(name, length)};
    eg_path path = made->name ? eg_path_in(l->folder, made->name) : (eg_path){""};
    made->path = *path.text ? strdup(path.text) : NULL;
    p->count++;
    return made->path ? made : NULL;
}

static eg_status add_caption(photo *p, const char *text, size_t length)
{
    char **grown = realloc(p->captions, (size_t)(p->count + 1) * sizeof *grown);
    if (!grown) {
        return no_memory();
    }
    p->captions = grown;
    p->captions[p->count] = strndup(text, length);
    return p->captions[p->count] ? (p->count++, EG_OK) : no_memory();
}

/* ---- Flickr8k ------------------------------------------------------------------------------------ */

/* Captions of a photo stand one behind the other. */
static eg_status read_row(list *l, const eg_tensor *name, const eg_tensor *caption)
{
    photos *p = l->to;
    const size_t length = (size_t)eg_numel(name);
    const char *text = length ? eg_data(name) : "";
    photo *last = p->count ? &p->at[p->count - 1] : NULL;
    if (!last || strlen(last->name) != length || memcmp(last->name, text, length) != 0) {
        if (l->most && p->count == l->most) {
            return EG_OK;
        }
        last = add_photo(l, text, length);
    }
    const size_t bytes = (size_t)eg_numel(caption);
    return last ? add_caption(last, bytes ? eg_data(caption) : "", bytes) : no_memory();
}

static eg_status read_csv(photos *p, const char *folder, const char *path, int64_t most)
{
    const eg_column columns[] = {{.name = "image", .dtype = EG_U8}, {.name = "caption", .dtype = EG_U8}};
    eg_path small = eg_path_in(folder, "images"), large = eg_path_in(folder, "Images");
    list l = {.to = p,
              .most = most,
              .folder = is_there(small.text)   ? small.text
                        : is_there(large.text) ? large.text
                                               : folder};
    eg_dataset *rows = eg_csv_new(path, columns, 2, .header = true);
    eg_status st = rows ? EG_OK : eg_last_error()->code;
    if (st) {
        return st;
    }
    EG_FOR_EACH(row, rows) {
        st = read_row(&l, row[0], row[1]);
        if (st) {
            break;
        }
    }
    st = st ? st : eg_dataset_status(rows);
    eg_dataset_free(rows);
    return st;
}

/* ---- COCO ---------------------------------------------------------------------------------------- */

typedef struct known {
    int64_t id, at;
} known;

static int by_id(const void *a, const void *b)
{
    const known *p = a, *q = b;
    return (p->id > q->id) - (p->id < q->id);
}

static eg_status read_images(list *l, const eg_json *images, known *ids)
{
    const int64_t count = eg_json_count(images);
    for (int64_t i = 0; i < count; i++) {
        const eg_json *image = eg_json_at(images, i);
        size_t length = 0;
        const char *name = eg_json_text(eg_json_get(image, "file_name"), &length);
        if (!name || eg_json_integer(eg_json_get(image, "id"), &ids[i].id)) {
            return eg_last_error()->code;
        }
        ids[i].at = i;
        if (!add_photo(l, name, length)) {
            return no_memory();
        }
    }
    qsort(ids, (size_t)count, sizeof *ids, by_id);
    return EG_OK;
}

static eg_status read_annotations(list *l, const eg_json *annotations, const known *ids)
{
    eg_status st = EG_OK;
    for (int64_t i = 0; i < eg_json_count(annotations) && !st; i++) {
        const eg_json *one = eg_json_at(annotations, i);
        known wanted = {0, 0};
        size_t length = 0;
        st = eg_json_integer(eg_json_get(one, "image_id"), &wanted.id);
        const char *text = st ? NULL : eg_json_text(eg_json_get(one, "caption"), &length);
        st = text ? EG_OK : eg_last_error()->code;
        const known *found = st ? NULL : bsearch(&wanted, ids, (size_t)l->to->count, sizeof *ids, by_id);
        if (!st && !found) {
            st =
                eg_failf(EG_EFORMAT, "caption", "a caption is of image %lld, which is not there", (long long)wanted.id);
        }
        st = st ? st : add_caption(&l->to->at[found->at], text, length);
    }
    return st;
}

/* Photos without a caption, and those beyond the most, are left out. */
static void thin_out(photos *p, int64_t most)
{
    photos kept = {.at = p->at};
    for (int64_t i = 0; i < p->count; i++) {
        if (p->at[i].count && (!most || kept.count < most)) {
            photo given = p->at[i];
            p->at[i] = p->at[kept.count];
            p->at[kept.count++] = given;
        }
    }
    for (int64_t i = kept.count; i < p->count; i++) {
        photo_free(&p->at[i]);
    }
    p->count = kept.count;
}

static eg_status read_lists(list *l, const eg_json *images, const eg_json *annotations)
{
    known *ids = calloc((size_t)eg_json_count(images) + 1, sizeof *ids);
    eg_status st = ids ? read_images(l, images, ids) : no_memory();
    st = st ? st : read_annotations(l, annotations, ids);
    free(ids);
    return st;
}

static eg_status read_coco(photos *p, const char *folder, const char *path, int64_t most)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    char part[64] = ""; /* captions_train2014.json: train2014 */
    sscanf(name, "captions_%63[^.]", part);
    eg_path of_part = eg_path_in(folder, part), images = eg_path_in(folder, "images");
    list l = {.to = p, .folder = *part && is_there(of_part.text) ? of_part.text : images.text};
    eg_json *all = eg_json_load(path);
    if (!all) {
        return eg_last_error()->code;
    }
    const eg_json *pictures = eg_json_get(all, "images"), *annotations = eg_json_get(all, "annotations");
    eg_status st = pictures && annotations
                       ? read_lists(&l, pictures, annotations)
                       : eg_failf(EG_EFORMAT, "caption", "%.200s has no \"images\" or no \"annotations\"", path);
    eg_json_free(all);
    if (!st) {
        thin_out(p, most);
    }
    return st;
}

eg_status photos_read(photos *p, const char *folder, int64_t most)
{
    eg_path csv = eg_path_in(folder, "captions.txt"), pattern = eg_path_in(folder, "annotations/captions_*.json");
    *p = (photos){.at = NULL};
    if (is_there(csv.text)) {
        return read_csv(p, folder, csv.text, most);
    }
    glob_t found;
    if (glob(pattern.text, 0, NULL, &found) != 0) {
        return eg_failf(EG_EIO, "caption", "%.200s has neither captions.txt nor annotations/captions_*.json", folder);
    }
    eg_status st = read_coco(p, folder, found.gl_pathv[0], most);
    globfree(&found);
    return st;
}
