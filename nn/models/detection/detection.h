/* detection.h - what detectors are made of. Functions that make tensors leave them in the caller's scope, and pass a
 * NULL on. */
#ifndef EGRET_NN_MODELS_DETECTION_DETECTION_H
#define EGRET_NN_MODELS_DETECTION_DETECTION_H

#include "nn/models/parts.h"

enum { EG__LEVELS_MOST = 5, EG__PHOTOS_MOST = 256, EG__MASK_SIDE = 28 };

/* ---- features ----------------------------------------------------------------------------------- */

/* Of a batch, the finest first. count 0: a failure. */
typedef struct eg__levels {
    eg_tensor *x[EG__LEVELS_MOST];
    int count;
} eg__levels;

/* A residual net and a pyramid over the stages that it has from `first` on (1: stride 4), and above them one level by a
 * pool, or two by convolutions. */
eg_module *eg__pyramid_new(const eg_detector_options *o, int first, bool convs);
eg__levels eg__pyramid_run(eg_module *m, eg_tensor *images);

/* ---- a batch ------------------------------------------------------------------------------------ */

/* What a photo holds: boxes [k, 4], labels [k] i64, masks [k, H, W] or NULL. */
typedef struct eg__objects {
    eg_tensor *boxes, *labels, *masks;
} eg__objects;

typedef struct eg__batch {
    eg_tensor *images; /* padded */
    eg_dtype dtype;    /* of places and losses: the images' own, but never a half */
    int64_t count;
    double size[EG__PHOTOS_MOST][2]; /* of each photo, down and across */
    eg__objects of[EG__PHOTOS_MOST]; /* where there is something to learn */
} eg__batch;

/* Checks and pads; labels are below `classes`. */
eg_status eg__batch_begin(const char *op, eg_tensor *images, eg_tensor *sizes, eg__batch *b);
eg_status eg__batch_objects(const char *op, eg_tensor *boxes, eg_tensor *labels, eg_tensor *masks, int64_t classes,
                            eg__batch *b);

/* ---- anchors and heads over levels -------------------------------------------------------------- */

/* What heads make of all levels, and what they make it of. */
typedef struct eg__dense {
    eg_tensor *logits;               /* [N, A, of one anchor] */
    eg_tensor *codes;                /* [N, A, 4] */
    eg_tensor *anchors;              /* [A, 4] */
    int64_t counts[EG__LEVELS_MOST]; /* of anchors of each level */
    int levels;
} eg__dense;

/* sizes anchors of `each` sizes, growing by 2^(1 / each), and three shapes per place; strides are whole numbers of
 * pixels of the images. */
eg_tensor *eg__anchors(const eg__levels *l, const eg__batch *b, double smallest, int each, int64_t *counts);
/* What a head makes of a level, [N, anchors * last, H, W], as rows [N, H * W * anchors, last]. */
eg_tensor *eg__rows_of(eg_tensor *x, int64_t last, eg_dtype dtype);
/* Rows of all levels, behind each other. */
eg_tensor *eg__rows_joined(eg_tensor *const *rows, int count);

/* ---- first stage -------------------------------------------------------------------------------- */

eg_module *eg__rpn_new(int64_t width, int64_t anchors);
bool eg__rpn_run(eg_module *m, const eg__levels *l, eg_dtype dtype, eg__dense *made);
/* The boxes of photo i that may hold an object, [P, 4], cut to it. */
eg_tensor *eg__propose(const eg__dense *made, const eg__batch *b, int64_t i, int64_t most);
/* Adds what there is to learn to the losses; the sum is not its matter. */
bool eg__rpn_losses(const eg__dense *made, const eg__batch *b, const eg_detector_options *o, eg_detector_losses *l);

/* ---- second stage ------------------------------------------------------------------------------- */

/* Boxes of a batch in the order of their levels. */
typedef struct eg__regions {
    eg_tensor *boxes, *photo;        /* [R, 4]; [R] i64 */
    int64_t counts[EG__LEVELS_MOST]; /* of each level */
    eg_tensor *order;                /* where they were before: [R] i64 */
} eg__regions;

/* boxes NULL: a failure. */
eg__regions eg__regions_of(eg_tensor *boxes, eg_tensor *photo);
/* Cells of the first four levels: [R, width, side, side]. */
eg_tensor *eg__regions_cells(const eg__regions *r, const eg__levels *l, int64_t side);

/* Rows of [R * classes, ...] that are those of a label each, [R, ...]. */
eg_tensor *eg__rows_of_labels(eg_tensor *x, eg_tensor *labels, int64_t classes);

eg_module *eg__mask_head_new(int64_t width, int64_t classes);
/* Of regions, which hold objects of these classes, masks [R, 28, 28] as logits. */
eg_tensor *eg__mask_logits(eg_module *m, const eg__regions *r, const eg__levels *l, eg_tensor *labels, int64_t classes);
/* Against what is in masks [M, H, W], of each region one. */
eg_tensor *eg__mask_loss(eg_tensor *logits, const eg__regions *r, eg_tensor *masks, eg_tensor *which);

/* ---- what was found ----------------------------------------------------------------------------- */

/* Of a photo, as many as there are; boxes NULL: a failure. `from` are rows of what they were chosen from. */
typedef struct eg__found {
    eg_tensor *boxes, *scores, *labels, *masks, *from;
} eg__found;

/* Of boxes [n, 4], scores [n], classes [n] those above the threshold that are boxes, suppressed by class. */
eg__found eg__choose(eg_tensor *boxes, eg_tensor *scores, eg_tensor *labels, const double *size,
                     const eg_detector_options *o);

/* ---- kinds of nets ------------------------------------------------------------------------------ */

/* Known by .members, as kinds of lists are. */
typedef struct eg__detector_kind {
    eg_module_kind base;
    const char *names; /* map of torchvision's */
    bool (*losses)(eg_module *m, const eg__batch *b, eg_detector_losses *l);
    bool (*find)(eg_module *m, const eg__batch *b, eg__found *each);
} eg__detector_kind;

/* The first members of all of them. */
typedef struct eg__detector {
    eg_module base;
    eg_detector_options o; /* filled in */
    int64_t classes;
    eg_module *features;
} eg__detector;

extern const eg__detector_kind eg__rcnn_kind, eg__mask_rcnn_kind, eg__retinanet_kind;

/* Options of any of them, filled in; false after a failure. */
bool eg__detector_options(const char *op, int64_t classes, const eg_detector_options *given, bool two_stages,
                          eg_detector_options *o);

#endif
