/* boxes.c - non-maximum suppression, every box against all that stay. */
#include <math.h>

#include "lib/ops/options.h"
#include "lib/ref/ref.h"

static double length(const eg_tensor *b, int64_t i, int64_t k, int axis)
{
    double low = fmax(eg__get_at(b, 4 * i + axis), eg__get_at(b, 4 * k + axis));
    double high = fmin(eg__get_at(b, 4 * i + axis + 2), eg__get_at(b, 4 * k + axis + 2));
    return high > low ? high - low : 0;
}

static double area(const eg_tensor *b, int64_t i)
{
    return (eg__get_at(b, 4 * i + 2) - eg__get_at(b, 4 * i)) * (eg__get_at(b, 4 * i + 3) - eg__get_at(b, 4 * i + 1));
}

eg_status eg__ref_nms(const eg__call *c)
{
    const eg__nms_opts *o = c->opts;
    const eg_tensor *boxes = c->in[0], *order = c->in[1], *candidate = c->in[2], *keep = c->out[0];
    const eg_tensor *classes = c->nin > 3 ? c->in[3] : NULL;
    int64_t kept = 0;
    for (int64_t i = 0; i < keep->n; i++) {
        int64_t a = eg__get_int_at(order, i);
        bool stays = eg__get_int_at(candidate, i) && kept < o->most;
        for (int64_t k = 0; stays && k < i; k++) {
            int64_t b = eg__get_int_at(order, k);
            if (!eg__get_int_at(keep, k) || (classes && eg__get_int_at(classes, a) != eg__get_int_at(classes, b))) {
                continue;
            }
            double both = length(boxes, a, b, 0) * length(boxes, a, b, 1);
            stays = !(both > o->threshold * (area(boxes, a) + area(boxes, b) - both));
        }
        eg__set_int_at(keep, i, stays);
        kept += stays;
    }
    return EG_OK;
}
