/* photos.c - sets of photos: what all formats have in common. */
#include <math.h>

#include <egret/data/image.h>

#include "data/photos/photos.h"
#include "lib/core/counted.h"
#include "lib/core/device.h"
#include "lib/core/memory.h"
#include "lib/io/file.h"

/* ---- filled ---------------------------------------------------------------------------------------- */

eg__photos *eg__photos_new(const eg__dataset_class *is, const eg_photos_options *options)
{
    eg_photos_options o;
    eg__options(&o, sizeof o, options);
    if (o.classes_count < 0 || (o.classes_count && !o.classes)) {
        return eg__fail_null(EG_EINVAL, is->name, "%d classes, and %s names", o.classes_count,
                             o.classes ? "their" : "no");
    }
    eg__photos *p = (eg__photos *)eg__dataset_new(is, sizeof *p, NULL);
    if (!p) {
        return NULL;
    }
    p->o = o;
    for (int i = 0; i < o.classes_count; i++) {
        if (!o.classes[i] || !eg__names_add(&p->classes, o.classes[i], strlen(o.classes[i]))) {
            o.classes[i] ? eg__no_memory(is->name, o.classes_count)
                         : eg__fail(EG_EINVAL, is->name, "class %d has no name", i);
            eg_dataset_free(&p->d);
            return NULL;
        }
    }
    return p;
}

eg_status eg__photos_add(eg__photos *p, const char *file, int64_t number, int64_t height, int64_t width)
{
    if ((p->files.n == p->shots && !eg__counted_grow(&p->shot, &p->shots, sizeof *p->shot)) ||
        !eg__names_add(&p->files, file, strlen(file))) {
        return eg__no_memory(p->d.is->name, (int64_t)p->files.n * (int64_t)sizeof *p->shot);
    }
    p->shot[p->files.n - 1] = (eg__shot){.number = number, .first = p->objects, .height = height, .width = width};
    return EG_OK;
}

/* Cut to the photo; whether something is left. */
static bool cut(const eg__shot *s, float *box)
{
    const float sides[2] = {s->width ? (float)s->width : INFINITY, s->height ? (float)s->height : INFINITY};
    for (int i = 0; i < 4; i++) {
        box[i] = fminf(fmaxf(box[i], 0), sides[i % 2]);
    }
    return box[2] > box[0] && box[3] > box[1];
}

eg_status eg__photos_add_object(eg__photos *p, const eg__object *o)
{
    eg__shot *s = &p->shot[p->files.n - 1];
    eg__object own = *o;
    if (!p->shares && !cut(s, own.box) && !p->o.keep_empty) {
        return EG_OK;
    }
    if (p->objects == p->object_room && !eg__counted_grow(&p->object, &p->object_room, sizeof *p->object)) {
        return eg__no_memory(p->d.is->name, (int64_t)p->objects * (int64_t)sizeof *p->object);
    }
    own.area = own.area < 0 ? (own.box[2] - own.box[0]) * (own.box[3] - own.box[1]) : own.area;
    p->object[p->objects++] = own;
    s->count++;
    return EG_OK;
}

eg_status eg__photos_class(eg__photos *p, const char *name, size_t bytes, int32_t *label)
{
    for (uint32_t i = 0; i < p->classes.n; i++) {
        if (strlen(p->classes.name[i]) == bytes && !memcmp(p->classes.name[i], name, bytes)) {
            *label = (int32_t)i;
            return EG_OK;
        }
    }
    *label = p->o.classes_count ? -1 : (int32_t)p->classes.n;
    return p->o.classes_count || eg__names_add(&p->classes, name, bytes) ? EG_OK
                                                                         : eg__no_memory(p->d.is->name, (int64_t)bytes);
}

void eg__photos_sort_classes(eg__photos *p)
{
    eg__names sorted = {0};
    for (uint32_t i = 0; i < p->objects; i++) { /* by where its name comes among all */
        int32_t before = 0;
        for (uint32_t k = 0; k < p->classes.n; k++) {
            before += strcmp(p->classes.name[k], p->classes.name[p->object[i].label]) < 0;
        }
        p->object[i].label = before;
    }
    sorted = p->classes;
    eg__names_sort(&sorted);
    p->classes = sorted;
}

/* ---- walked ---------------------------------------------------------------------------------------- */

static eg_tensor *masks_of(const eg__photos *p, const eg__shot *s)
{
    const char *op = p->d.is->name;
    const int64_t pixels = s->height * s->width;
    if (pixels && s->count > INT64_MAX / pixels / 2) {
        return eg__fail_null(EG_EFORMAT, op, "%u masks of %lld pixels", s->count, (long long)pixels);
    }
    eg_tensor *t = eg__full_on(0, EG_SHAPE(s->count, s->height, s->width), 0, EG_U8);
    for (uint32_t i = 0; t && i < s->count; i++) {
        const eg_json *outline = p->object[s->first + i].outline;
        if (eg__mask_add(op, outline, s->height, s->width, (uint8_t *)eg__ptr(t) + i * pixels)) {
            return NULL;
        }
    }
    return t;
}

/* Its objects in pixels, those that are left, where they come in shares of the sides; NULL: words. */
static eg__object *in_pixels(const eg__photos *p, eg__shot *s, const eg_tensor *bytes)
{
    eg__object *all = eg__counted_alloc((s->count + (size_t)1) * sizeof *all);
    if (!all) {
        eg__no_memory(p->d.is->name, s->count);
    } else if (s->count &&
               eg_image_size(eg__ptr(bytes), (size_t)bytes->n, &s->height, &s->width, .other_formats = true)) {
        eg__counted_free(all);
        all = NULL;
    }
    uint32_t left = 0;
    for (uint32_t i = 0; all && i < s->count; i++) {
        eg__object o = p->object[s->first + i];
        for (int k = 0; k < 4; k++) {
            o.box[k] *= (float)(k % 2 ? s->height : s->width);
        }
        if (cut(s, o.box) || p->o.keep_empty) {
            o.area = (o.box[2] - o.box[0]) * (o.box[3] - o.box[1]);
            all[left++] = o;
        }
    }
    s->count = left;
    return all;
}

/* Its tensors behind the file's bytes. */
static bool describe(const eg__photos *p, const eg__shot *s, const eg__object *object, eg_tensor **t)
{
    const int64_t n = s->count;
    t[1] = eg__empty_on(0, EG_SHAPE(n, 4), EG_F32);
    t[2] = eg__empty_on(0, EG_SHAPE(n), EG_I64);
    t[3] = eg__empty_on(0, EG_SHAPE(n), EG_U8);
    t[4] = eg__empty_on(0, EG_SHAPE(n), EG_F32);
    t[5] = eg__from_on(0, (eg_shape){0}, EG_I64, &s->number);
    if (!t[1] || !t[2] || !t[3] || !t[4] || !t[5]) {
        return false;
    }
    for (int64_t i = 0; i < n; i++) {
        const eg__object *o = &object[i];
        memcpy((float *)eg__ptr(t[1]) + 4 * i, o->box, sizeof o->box);
        ((int64_t *)eg__ptr(t[2]))[i] = o->label;
        ((uint8_t *)eg__ptr(t[3]))[i] = o->flags;
        ((float *)eg__ptr(t[4]))[i] = o->area;
    }
    return !p->o.masks || (t[6] = masks_of(p, s));
}

eg_status eg__photos_next(eg_dataset *d, eg__sample *s)
{
    eg__photos *p = (eg__photos *)d;
    eg_tensor *t[7];
    if (p->at == p->files.n) {
        return EG_OK;
    }
    const int64_t i = p->at++;
    s->file = p->files.name[i];
    s->at = 0;
    eg_scope scope = eg_scope_push();
    t[0] = scope.depth ? eg__file_bytes(d->is->name, s->file) : NULL;
    eg__shot shot = p->shot[i];
    eg__object *scaled = t[0] && p->shares ? in_pixels(p, &shot, t[0]) : NULL;
    const bool ready = t[0] && (scaled || !p->shares);
    const eg__object *objects = scaled ? scaled : p->object + shot.first;
    eg_status st =
        ready && describe(p, &shot, objects, t) ? eg__sample_keep(d->is->name, s, t, p->o.masks ? 7 : 6) : eg__why();
    eg__counted_free(scaled);
    eg_scope_pop(scope, NULL);
    return st;
}

eg_status eg__photos_start(eg_dataset *d, uint64_t epoch)
{
    (void)epoch;
    ((eg__photos *)d)->at = 0;
    return EG_OK;
}

eg_status eg__photos_skip(eg_dataset *d, int64_t n, int64_t *done)
{
    eg__photos *p = (eg__photos *)d;
    *done = eg__min(n, p->files.n - p->at);
    p->at += *done;
    return EG_OK;
}

int64_t eg__photos_count(const eg_dataset *d)
{
    return ((const eg__photos *)d)->files.n;
}

void eg__photos_free(eg_dataset *d)
{
    eg__photos *p = (eg__photos *)d;
    eg__names_free(&p->files);
    eg__names_free(&p->classes);
    eg__counted_free(p->shot);
    eg__counted_free(p->object);
    eg_json_free(p->json);
}

const char *const *eg_photo_classes(const eg_dataset *d, int64_t *n)
{
    static const char op[] = "eg_photo_classes";
    if (!d || !n) {
        return eg__null_argument(op, d ? "n" : "d"), NULL;
    }
    while (d && d->is->free != eg__photos_free) {
        d = d->from;
    }
    if (!d) {
        return eg__fail_null(EG_EINVAL, op, "no set of photos stands at the chain's beginning");
    }
    *n = ((const eg__photos *)d)->classes.n;
    return (const char *const *)((const eg__photos *)d)->classes.name;
}
