/* regions.c - boxes of a batch that are looked at again, each on the level of features that fits its size. */
#include "nn/models/detection/detection.h"

enum { LEVELS = 4, STRIDE = 4, POINTS = 2 };

/* Of each box: 0 for sides of up to 112, then one more for each doubling (Lin et al. 2017, eq. 1). */
static eg_tensor *level_of(eg_tensor *boxes)
{
    eg_tensor *side = eg_mul_scalar(eg_sqrt(eg_box_area(boxes)), 1.0 / 224);
    eg_tensor *level = eg_floor(eg_add_scalar(eg_log2(side), 2 + 1e-6));
    level = level ? eg_clamp(level, 0, LEVELS - 1) : NULL;
    return level ? eg_cast(level, EG_I64) : NULL;
}

eg__regions eg__regions_of(eg_tensor *boxes, eg_tensor *photo)
{
    const eg__regions failed = {.boxes = NULL};
    eg__regions r = failed;
    eg_tensor *level = boxes ? level_of(boxes) : NULL;
    eg_tensor *counts = level ? eg_bincount(level, NULL, LEVELS) : NULL;
    double count[LEVELS];
    if (!counts || eg_to_values(counts, count)) {
        return failed;
    }
    for (int k = 0; k < LEVELS; k++) {
        r.counts[k] = (int64_t)count[k];
    }
    r.order = eg_argsort(level, 0, false);
    r.photo = eg_index_select(photo, 0, r.order);
    r.boxes = r.photo ? eg_index_select(boxes, 0, r.order) : NULL;
    return r;
}

eg_tensor *eg__regions_cells(const eg__regions *r, const eg__levels *l, int64_t side)
{
    eg_tensor *cells[LEVELS];
    int n = 0;
    int64_t first = 0;
    for (int k = 0; k < LEVELS; k++) {
        int64_t count = r->counts[k];
        if (count || (k == LEVELS - 1 && !n)) {
            cells[n] = eg_roi_align(l->x[k], eg_slice(r->boxes, 0, first, first + count, 1),
                                    eg_slice(r->photo, 0, first, first + count, 1), side, side,
                                    .spatial_scale = 1.0 / (STRIDE << k), .sampling_ratio = POINTS);
            if (!cells[n++]) {
                return NULL;
            }
        }
        first += count;
    }
    return n == 1 ? cells[0] : eg_concat(cells, n, 0);
}
