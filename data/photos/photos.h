/* photos.h - sets of photos from inside: what the formats fill in, and how masks are made. */
#ifndef EGRET_PHOTOS_H
#define EGRET_PHOTOS_H

#include <egret/data/photos.h>
#include <egret/json.h>

#include "data/chain/dataset.h"
#include "data/readers/stream.h"

typedef struct eg__object {
    float box[4], area;
    int32_t label;
    uint8_t flags;
    const eg_json *outline; /* COCO's segmentation; NULL: none */
} eg__object;

typedef struct eg__shot {
    int64_t number;
    uint32_t first, count; /* of its objects */
    int64_t height, width; /* 0: not known */
} eg__shot;

typedef struct eg__photos {
    eg_dataset d;
    eg_photos_options o; /* classes: not valid behind the constructor */
    eg__names files, classes;
    eg__shot *shot; /* of each file */
    eg__object *object;
    uint32_t shots, objects, object_room; /* shots: room */
    eg_json *json;
    bool shares; /* boxes are in shares of the sides, until a photo is read */
    int64_t at;
} eg__photos;

/* ---- photos.c ---- */

/* An empty set with the options' classes; NULL: words. */
eg__photos *eg__photos_new(const eg__dataset_class *is, const eg_photos_options *options);
/* A further photo, of which objects follow. */
eg_status eg__photos_add(eg__photos *p, const char *file, int64_t number, int64_t height, int64_t width);
/* A further object of the last one; area below 0: that of its box. What it is called is found, or added. */
eg_status eg__photos_add_object(eg__photos *p, const eg__object *o);
/* The number of a class; with own classes -1 if it is none of them. */
eg_status eg__photos_class(eg__photos *p, const char *name, size_t bytes, int32_t *label);
/* Classes in the order of their names. */
void eg__photos_sort_classes(eg__photos *p);

/* The functions of a class of datasets, but for its name. */
#define EG__PHOTOS_CLASS                                                                                    \
    .start = eg__photos_start, .next = eg__photos_next, .skip = eg__photos_skip, .count = eg__photos_count, \
    .free = eg__photos_free
eg_status eg__photos_start(eg_dataset *d, uint64_t epoch);
eg_status eg__photos_next(eg_dataset *d, eg__sample *s);
eg_status eg__photos_skip(eg_dataset *d, int64_t n, int64_t *done);
int64_t eg__photos_count(const eg_dataset *d);
void eg__photos_free(eg_dataset *d);

/* ---- masks.c ---- */

enum { EG__MASK_MOST = 1 << 15 }; /* of a side */

/* Adds what COCO calls a segmentation to a mask of zeros, or of others', row-major; words say what is wrong with it. */
eg_status eg__mask_add(const char *op, const eg_json *outline, int64_t height, int64_t width, uint8_t *mask);

#endif
