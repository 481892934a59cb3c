/* boxes.c - non-maximum suppression: every box against those that stay, a stretch of them at a time
 * until one overlaps it too much. */
#include "lib/cpu/common/lanes.h"
#include "lib/ops/options.h"

eg__kernel ISA(eg__cpu_nms);

enum { STRETCH = 64 };

#define T        float
#define FN(name) name##_f32
#include "lib/cpu/image/boxes_loops.h"
#undef T
#undef FN
#define T        double
#define FN(name) name##_f64
#include "lib/cpu/image/boxes_loops.h"
#undef T
#undef FN

eg_status ISA(eg__cpu_nms)(const eg__call *c)
{
    const int64_t n = c->out[0]->n;
    const bool classes = c->nin > 3 && c->in[3];
    eg__scratch s;
    eg_status st = n ? eg__scratch_get(c, (size_t)n * (5 * eg__esize(c->in[0]) + sizeof(int64_t)), &s) : EG_OK;
    if (st || !n) {
        return st;
    }
    int64_t *kept_class = classes ? (int64_t *)s.data : NULL;
    void *kept = (int64_t *)s.data + n;
    if (c->in[0]->dtype == EG_F64) {
        nms_f64(c, kept, kept_class);
    } else {
        nms_f32(c, kept, kept_class);
    }
    eg__scratch_put(c, &s);
    return EG_OK;
}
