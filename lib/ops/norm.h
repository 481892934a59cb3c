/* norm.h - what normalisation ops know of an image's layout, for kernels of every engine. */
#ifndef EGRET_OPS_NORM_INTERNAL_H
#define EGRET_OPS_NORM_INTERNAL_H

#include "lib/core/op.h"

/* Images seen as units of contiguous memory that hold all channels or one: rows of channels if they
 * lie channels-last, planes of one channel if not. Sums are made per unit and channel, in an array
 * [images][per_image][channels]; so results do not depend on the number of threads. */
typedef struct eg__units {
    bool last;
    int64_t images, channels, spatial;
    int64_t rows;      /* of a unit, but for an image's last one */
    int64_t per_image; /* units of all channels in an image; planes: 1 */
    int64_t count;     /* units in all */
} eg__units;

/* x is dense or channels-last. `merged`: a channels-last batch counts as one image. */
static inline eg__units eg__units_of(const eg_tensor *x, bool merged)
{
    enum { ELEMENTS = 65536, LEAST_ROWS = 32 }; /* many channels have sums to be merged, too */
    eg__units u = {.images = x->shape[0], .channels = x->shape[1], .spatial = 1};
    for (int d = 2; d < x->ndim; d++) {
        u.spatial *= x->shape[d];
    }
    u.last = u.spatial == 1 || !(x->flags & EG__DENSE);
    if (u.last && merged) {
        u.spatial *= u.images;
        u.images = 1;
    }
    u.rows = u.last ? eg__max(LEAST_ROWS, ELEMENTS / eg__max(1, u.channels)) : u.spatial;
    u.per_image = u.last ? (u.spatial + u.rows - 1) / u.rows : 1;
    u.count = u.spatial ? u.images * u.per_image * (u.last ? 1 : u.channels) : 0; /* planes of nothing are none */
    return u;
}

/* Where unit i begins, in elements; its rows, and the first of its channels' places in an array
 * [images][per_image][channels]. */
typedef struct eg__unit {
    int64_t at, rows, channels, place, image, channel;
} eg__unit;

static inline eg__unit eg__unit_of(const eg__units *u, int64_t i)
{
    if (!u->last) {
        return (eg__unit){i * u->spatial, u->spatial, 1, i, i / u->channels, i % u->channels};
    }
    int64_t image = i / u->per_image, first = i % u->per_image * u->rows;
    int64_t rows = eg__min(u->rows, u->spatial - first);
    return (eg__unit){(image * u->spatial + first) * u->channels, rows, u->channels, i * u->channels, image, 0};
}

/* Batch norm's inputs 3 and 4, running mean and variance, if they are there, follow its results 1 and 2. */
void eg__norm_follow(const eg__call *c);

/* Returns whether x, of f32, is finite, and the square root of one of its variances and eps is not, or hardly, to be
 * had from f32. x has no gaps. */
bool eg__norm_leaves_f32(const eg_tensor *x, const eg_tensor *var, double eps);
/* Computes c again by the kernel in f64: the values by `forward`; or, unless that is NULL, the gradients by
 * `backward`. */
eg_status eg__norm_in_f64(const eg__call *c, eg__kernel *forward, eg__kernel *backward);

#endif
