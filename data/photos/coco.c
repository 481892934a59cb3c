/* coco.c - instances as COCO's annotations have them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "data/photos/photos.h"
#include "lib/core/counted.h"
#include "lib/core/memory.h"
#include "lib/io/file.h"

static const eg__dataset_class coco_class = {.name = "eg_coco_new", EG__PHOTOS_CLASS};

/* While the file is read. */
typedef struct coco {
    eg__photos *p;
    const char *path, *folder;
    const eg_json *images, *annotations, *categories;
    int64_t most; /* pixels of a photo's masks */
} coco;

static eg_status bad(const coco *c, const char *list, int64_t i, const char *what)
{
    const size_t n = strlen(c->path);
    return eg__fail(EG_EFORMAT, coco_class.name, "%s%s: %s[%lld] has no %s", n > 60 ? "..." : "",
                    c->path + (n > 60 ? n - 57 : 0), list, (long long)i, what);
}

static bool whole(const eg_json *j, const char *key, int64_t *v)
{
    const eg_json *at = eg_json_get(j, key);
    return at && eg_json_kind_of(at) == EG_JSON_NUMBER && !eg_json_integer(at, v);
}

/* ---- numbers of things, to be found again ------------------------------------------------------------ */

typedef struct numbered {
    int64_t id, at;
} numbered;

typedef struct index_ {
    numbered *all;
    int64_t n;
} index_;

static int by_id(const void *a, const void *b)
{
    const numbered *x = a, *y = b;
    return x->id != y->id ? (x->id > y->id) - (x->id < y->id) : (x->at > y->at) - (x->at < y->at);
}

static eg_status index_of(const coco *c, const eg_json *list, const char *name, index_ *x)
{
    x->n = eg_json_count(list);
    x->all = eg__counted_alloc(((size_t)x->n + 1) * sizeof *x->all);
    if (!x->all) {
        return eg__no_memory(coco_class.name, x->n * (int64_t)sizeof *x->all);
    }
    for (int64_t i = 0; i < x->n; i++) {
        x->all[i].at = i;
        if (!whole(eg_json_at(list, i), "id", &x->all[i].id)) {
            return bad(c, name, i, "number \"id\"");
        }
    }
    qsort(x->all, (size_t)x->n, sizeof *x->all, by_id);
    for (int64_t i = 1; i < x->n; i++) {
        if (x->all[i].id == x->all[i - 1].id) {
            return bad(c, name, x->all[i].at, "\"id\" of its own");
        }
    }
    return EG_OK;
}

/* Its place in the list, or in the order of ids; -1: there is none. */
static int64_t look_up(const index_ *x, int64_t id, bool rank)
{
    int64_t low = 0, high = x->n;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (x->all[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < x->n && x->all[low].id == id ? rank ? low : x->all[low].at : -1;
}

/* ---- classes, photos, objects -------------------------------------------------------------------------- */

/* The number of each category, in the order of their ids; -1: it is not asked for. */
static eg_status read_classes(const coco *c, const index_ *ids, int32_t *label)
{
    eg_status st = EG_OK;
    for (int64_t i = 0; i < ids->n && !st; i++) {
        const eg_json *name = eg_json_get(eg_json_at(c->categories, ids->all[i].at), "name");
        size_t bytes = 0;
        const char *text = name && eg_json_kind_of(name) == EG_JSON_TEXT ? eg_json_text(name, &bytes) : NULL;
        st = text && bytes ? eg__photos_class(c->p, text, bytes, &label[i])
                           : bad(c, "categories", ids->all[i].at, "text \"name\"");
    }
    return st;
}

static eg_status add_photo(const coco *c, int64_t i, int64_t id)
{
    const eg_json *j = eg_json_at(c->images, i), *file = eg_json_get(j, "file_name");
    char path[4096];
    size_t bytes = 0;
    int64_t height = 0, width = 0;
    const char *name = file && eg_json_kind_of(file) == EG_JSON_TEXT ? eg_json_text(file, &bytes) : NULL;
    if (!name || !bytes || strlen(name) != bytes || *name == '/' || strstr(name, "..")) {
        return bad(c, "images", i, "text \"file_name\" that is within the folder");
    }
    if (!whole(j, "height", &height) || !whole(j, "width", &width) || height < 1 || width < 1 || height > INT32_MAX ||
        width > INT32_MAX) {
        return bad(c, "images", i, "numbers \"height\" and \"width\"");
    }
    const int n = snprintf(path, sizeof path, "%s/%s", c->folder, name);
    return n < (int)sizeof path ? eg__photos_add(c->p, path, id, height, width)
                                : eg__fail(EG_EIO, coco_class.name, "a path in \"%.140s\" is too long", c->folder);
}

/* x, y, width, height. */
static bool read_box(const eg_json *list, float *box)
{
    double v[4];
    if (!list || eg_json_kind_of(list) != EG_JSON_ARRAY || eg_json_count(list) != 4) {
        return false;
    }
    for (int i = 0; i < 4; i++) {
        const eg_json *j = eg_json_at(list, i);
        v[i] = eg_json_kind_of(j) == EG_JSON_NUMBER ? eg_json_number(j) : NAN;
        if (!(fabs(v[i]) < 1e9)) {
            return false;
        }
    }
    box[0] = (float)v[0];
    box[1] = (float)v[1];
    box[2] = (float)(v[0] + v[2]);
    box[3] = (float)(v[1] + v[3]);
    return true;
}

static eg_status add_object(const coco *c, int64_t i, const index_ *categories, const int32_t *label)
{
    const eg_json *j = eg_json_at(c->annotations, i), *area = eg_json_get(j, "area");
    int64_t category = 0, crowd = 0;
    eg__object o = {.area = -1};
    if (!read_box(eg_json_get(j, "bbox"), o.box)) {
        return bad(c, "annotations", i, "four numbers \"bbox\"");
    }
    const int64_t at = whole(j, "category_id", &category) ? look_up(categories, category, true) : -1;
    if (at < 0) {
        return bad(c, "annotations", i, "\"category_id\" of a category");
    }
    if (eg_json_get(j, "iscrowd") && (!whole(j, "iscrowd", &crowd) || crowd >> 1)) {
        return bad(c, "annotations", i, "\"iscrowd\" of 0 or 1");
    }
    if (area && (eg_json_kind_of(area) != EG_JSON_NUMBER || !(eg_json_number(area) >= 0))) {
        return bad(c, "annotations", i, "number \"area\"");
    }
    o.area = area ? (float)eg_json_number(area) : -1;
    o.label = label[at];
    o.flags = crowd ? EG_OBJECT_CROWD : 0;
    o.outline = eg_json_get(j, "segmentation");
    return o.label < 0 ? EG_OK : eg__photos_add_object(c->p, &o);
}

/* Annotations, put in the order of their photos. */
typedef struct placed {
    int64_t photo, at;
} placed;

static int by_photo(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    return x->photo != y->photo ? (x->photo > y->photo) - (x->photo < y->photo) : (x->at > y->at) - (x->at < y->at);
}

static eg_status place(const coco *c, const index_ *images, placed *of)
{
    const int64_t n = eg_json_count(c->annotations);
    for (int64_t i = 0; i < n; i++) {
        int64_t id = 0;
        const bool has = whole(eg_json_at(c->annotations, i), "image_id", &id);
        of[i] = (placed){has ? look_up(images, id, false) : -1, i};
        if (of[i].photo < 0) {
            return bad(c, "annotations", i, "\"image_id\" of an image");
        }
    }
    qsort(of, (size_t)n, sizeof *of, by_photo);
    return EG_OK;
}

static eg_status add_all(const coco *c, const placed *of, const index_ *categories, const int32_t *label)
{
    const int64_t n = eg_json_count(c->annotations);
    eg_status st = EG_OK;
    for (int64_t i = 0, k = 0; i < eg_json_count(c->images) && !st; i++) {
        int64_t id = 0;
        whole(eg_json_at(c->images, i), "id", &id);
        st = add_photo(c, i, id);
        for (; k < n && of[k].photo == i && !st; k++) {
            st = add_object(c, of[k].at, categories, label);
        }
        const eg__shot *s = st ? NULL : &c->p->shot[c->p->files.n - 1];
        if (s && c->p->o.masks && s->count && s->height * s->width > c->most / s->count) {
            st = eg__fail(EG_EFORMAT, coco_class.name,
                          "images[%lld]: masks of %u objects of %lld x %lld pixels, more than "
                          "eg_unpack_limit allows",
                          (long long)i, s->count, (long long)s->height, (long long)s->width);
        }
    }
    return st;
}

/* ---- the file --------------------------------------------------------------------------------------------- */

static eg_status list_of(const coco *c, const char *key, const eg_json **list)
{
    *list = eg_json_get(c->p->json, key);
    return *list && eg_json_kind_of(*list) == EG_JSON_ARRAY
               ? EG_OK
               : eg__fail(EG_EFORMAT, coco_class.name, "%.140s: no list \"%s\"", c->path, key);
}

static eg_status read_lists(const coco *c)
{
    index_ images = {NULL, 0}, categories = {NULL, 0};
    eg_status st = index_of(c, c->images, "images", &images);
    st = st ? st : index_of(c, c->categories, "categories", &categories);
    const size_t n = (size_t)eg_json_count(c->annotations) + 1;
    placed *of = st ? NULL : eg__counted_alloc(n * sizeof *of);
    int32_t *label = of ? eg__counted_alloc(((size_t)categories.n + 1) * sizeof *label) : NULL;
    st = st || label ? st : eg__no_memory(coco_class.name, (int64_t)(n * sizeof *of));
    st = st ? st : read_classes(c, &categories, label);
    st = st ? st : place(c, &images, of);
    st = st ? st : add_all(c, of, &categories, label);
    eg__counted_free(images.all);
    eg__counted_free(categories.all);
    eg__counted_free(of);
    eg__counted_free(label);
    return st;
}

eg_dataset *eg_coco_new_with(const char *annotations, const char *folder, const eg_photos_options *options)
{
    if (!annotations || !folder) {
        return eg__null_argument(coco_class.name, annotations ? "folder" : "annotations"), NULL;
    }
    struct stat about;
    coco c = {.path = annotations, .folder = folder, .p = eg__photos_new(&coco_class, options)};
    if (!c.p) {
        return NULL;
    }
    c.p->json = eg_json_load(annotations);
    c.most = eg__unpack_most(stat(annotations, &about) ? 0 : (int64_t)about.st_size);
    eg_status st = c.p->json ? list_of(&c, "images", &c.images) : eg__why();
    st = st ? st : list_of(&c, "annotations", &c.annotations);
    st = st ? st : list_of(&c, "categories", &c.categories);
    st = st ? st : read_lists(&c);
    if (!st && !c.p->o.masks) { /* all that is asked for has been read */
        eg_json_free(c.p->json);
        c.p->json = NULL;
    }
    if (st) {
        eg_dataset_free(&c.p->d);
        return NULL;
    }
    return &c.p->d;
}
