/* detection.h - what detectors are made of. Functions that make tensors leave them in the caller's scope, and pass a
 * NULL on. */
#ifndef EGRET_NN_MODELS_DETECTION_DETECTION_H
#define EGRET_NN_MODELS_DETECTION_DETECTION_H

#include "nn/models/parts.h"

enum { EG__LEVELS_MOST = 5, EG__PHOTOS_MOST = 256, EG__MASK_SIDE = 28, EG__C4_MASK_SIDE = 33 };

/* ---- features ----------------------------------------------------------------------------------- */

/* Of a batch, the finest first. count 0: a failure. */
typedef struct eg__levels {
    eg_tensor *x[EG__LEVELS_MOST];
    int count;
} eg__levels;

/* Freezes the first stages of a residual net, or of a part of it, and its norms, as options say. */
eg_status eg__trunk_freeze(eg_module *trunk, const eg_detector_options *o);
/* What it makes, what is frozen in eval mode; and in stage[0..3], unless that is NULL, what its stages make. */
eg_tensor *eg__trunk_run(eg_module *trunk, const eg_detector_options *o, eg_tensor *x, eg_tensor **stage);

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

bool eg__is_floats(const eg_tensor *t);
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

/* Anchors of three shapes per place, each in so many sizes, the larger ones `growth` times the one before; a level's
 * are twice those of the level before. Strides are whole numbers of pixels of the images. rounded: as torchvision's. */
typedef struct eg__anchor_plan {
    double smallest, growth;
    int each;
    bool rounded;
} eg__anchor_plan;
eg_tensor *eg__anchors(const eg__levels *l, const eg__batch *b, const eg__anchor_plan *plan, int64_t *counts);
/* What a head makes of a level, [N, anchors * last, H, W], as rows [N, H * W * anchors, last]. */
eg_tensor *eg__rows_of(eg_tensor *x, int64_t last, eg_dtype dtype);
/* Rows of all levels, behind each other. */
eg_tensor *eg__rows_joined(eg_tensor *const *rows, int count);
/* Numbers of the largest of a row of scores, `each` for an anchor, at most so many of each level; and of which level
 * each is, unless level is NULL. */
bool eg__likeliest(const eg__dense *made, eg_tensor *scores, int64_t each, int64_t most, eg_tensor **which,
                   eg_tensor **level);
/* Convolutions 3 x 3 with a relu behind each, conv1, conv2, ..., and one more, out. */
eg_module *eg__tower_new(int64_t in, int64_t width, int convs, int64_t out);

/* ---- first stage -------------------------------------------------------------------------------- */

/* Numbers in which first stages differ. */
typedef struct eg__first_stage {
    double weights[4]; /* of codes */
    double beta;       /* of smooth L1 */
    bool pairs;        /* two logits of each anchor, of nothing and of something, whose difference counts */
} eg__first_stage;

/* From `in` channels; `width` within. */
eg_module *eg__rpn_new(int64_t in, int64_t width, int64_t anchors, const eg__first_stage *how);
bool eg__rpn_run(eg_module *m, const eg__levels *l, eg_dtype dtype, eg__dense *made);
/* The boxes of photo i that may hold an object, [P, 4], cut to it: at most `before` of each level are looked at. */
eg_tensor *eg__propose(const eg_module *m, const eg__dense *made, const eg__batch *b, int64_t i, int64_t before,
                       int64_t most);
/* Adds what there is to learn to the losses; the sum is not its matter. */
bool eg__rpn_losses(const eg_module *m, const eg__dense *made, const eg__batch *b, int64_t samples,
                    eg_detector_losses *l);

/* ---- what a second stage learns from ------------------------------------------------------------ */

/* Boxes of all photos: of each its photo, its label, 0 for nothing, which box it should be, and the number of that
 * one's mask among those of the batch. */
typedef struct eg__sampled {
    eg_tensor *boxes, *photo, *labels, *wanted, *mask;
} eg__sampled;
/* Of at most `most` proposals a photo and its own objects so many, at most a quarter of them objects. */
bool eg__sample(const eg_module *rpn, const eg__dense *made, const eg__batch *b, int64_t before, int64_t most,
                int64_t samples, eg__sampled *s);
/* Masks of all objects, [M, H, W]. */
eg_tensor *eg__masks_of_batch(const eg__batch *b);
/* The photo's number for each of its boxes. */
eg_tensor *eg__photo_numbers(eg_tensor *boxes, int64_t i);
/* Rows of x [n] that are not 0: [k] i64. */
eg_tensor *eg__rows_with(eg_tensor *x);

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

/* Which boxes [n, 4] are no thinner than this: bool [n]. */
eg_tensor *eg__thick(eg_tensor *boxes, double least);
/* What a second stage says of boxes [n, 4], logits [n, classes + 1], the first of nothing, and codes [n, classes, 4]:
 * of each class what is chosen. */
eg__found eg__choose_classes(eg_tensor *boxes, eg_tensor *logits, eg_tensor *codes, const double *size,
                             const eg_detector_options *o);
/* Of boxes [n, 4], scores [n], classes [n] those above the threshold that are boxes, suppressed by class. */
eg__found eg__choose(eg_tensor *boxes, eg_tensor *scores, eg_tensor *labels, const double *size,
                     const eg_detector_options *o);

/* ---- kinds of nets ------------------------------------------------------------------------------ */

typedef struct eg__detector_kind {
    eg_module_kind base;
    const char *names;            /* map of torchvision's; NULL: none is */
    bool masks;                   /* learns and finds them */
    bool no_hidden, no_proposals; /* has no place for these, and what is sampled of them */
    eg_detector_options usual;    /* what zeros stand for */
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

extern const eg__detector_kind eg__rcnn_kind, eg__mask_rcnn_kind, eg__c4_kind, eg__mask_c4_kind, eg__retinanet_kind;

/* Options of any of them, filled in; false after a failure. */
bool eg__detector_options(const eg__detector_kind *kind, int64_t classes, const eg_detector_options *given,
                          eg_detector_options *o);

#endif
