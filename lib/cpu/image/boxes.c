/* boxes.c - non-maximum suppression: every box against those that stay, a stretch of them at a time
 * until one overlaps it too much. */
#include "lib/cpu/common/lanes.h"
#include "lib/ops/options.h"

eg__kernel ISA(eg__cpu_nms);

enum { STRETCH = 64 };

/* Whether box b, x1 y1 x2 y2 and area, overlaps one of n kept ones too much: their corners and
 * areas are lines of `line` numbers. classed: a constant; only those of b's class count. */
#define OVERLAPS(name, T)                                                                          \
    EG__INLINE bool overlaps_##name(const T *b, T threshold, const T *kept, int64_t line,          \
                                    int64_t n, bool classed, const int64_t *classes,               \
                                    int64_t class)                                                 \
    {                                                                                              \
        const T x1 = b[0], y1 = b[1], x2 = b[2], y2 = b[3], area = b[4];                           \
        int32_t hit = 0;                                                                           \
        for (int64_t first = 0; first < n && !hit; first += STRETCH) {                             \
            const T *kx1 = kept + first, *ky1 = kx1 + line, *kx2 = ky1 + line, *ky2 = kx2 + line;  \
            const T *areas = ky2 + line;                                                           \
            const int64_t *of = classed ? classes + first : NULL, m = eg__min(STRETCH, n - first); \
            for (int64_t k = 0; k < m; k++) {                                                      \
                T w = (x2 < kx2[k] ? x2 : kx2[k]) - (x1 > kx1[k] ? x1 : kx1[k]);                   \
                T h = (y2 < ky2[k] ? y2 : ky2[k]) - (y1 > ky1[k] ? y1 : ky1[k]);                   \
                T both = (w > 0 ? w : 0) * (h > 0 ? h : 0);                                        \
                int32_t same = classed ? of[k] == class : 1;                                       \
                hit |= (both > threshold * (area + areas[k] - both) ? 1 : 0) & same;               \
            }                                                                                      \
        }                                                                                          \
        return hit;                                                                                \
    }                                                                                              \
    static void nms_##name(const eg__call *c, T *kept, int64_t *kept_class)                        \
    {                                                                                              \
        const eg__nms_opts *o = c->opts;                                                           \
        const T *boxes = (const T *)eg__ptr(c->in[0]);                                             \
        const int64_t *order = (const int64_t *)eg__ptr(c->in[1]), line = c->in[1]->n;             \
        const int64_t *classes = kept_class ? (const int64_t *)eg__ptr(c->in[3]) : NULL;           \
        const uint8_t *candidate = (const uint8_t *)eg__ptr(c->in[2]);                             \
        bool *keep = (bool *)eg__ptr(c->out[0]);                                                   \
        int64_t n = 0;                                                                             \
        for (int64_t i = 0; i < line; i++) {                                                       \
            const T *at = boxes + 4 * order[i];                                                    \
            T b[5] = {at[0], at[1], at[2], at[3], (at[2] - at[0]) * (at[3] - at[1])};              \
            int64_t class = classes ? classes[order[i]] : 0;                                       \
            keep[i] = candidate[i] && n < o->most;                                                 \
            if (keep[i] && classes) {                                                              \
                keep[i] =                                                                          \
                    !overlaps_##name(b, (T)o->threshold, kept, line, n, true, kept_class, class);  \
            } else if (keep[i]) {                                                                  \
                keep[i] = !overlaps_##name(b, (T)o->threshold, kept, line, n, false, NULL, 0);     \
            }                                                                                      \
            for (int k = 0; keep[i] && k < 5; k++) {                                               \
                kept[k * line + n] = b[k];                                                         \
            }                                                                                      \
            if (keep[i] && classes) {                                                              \
                kept_class[n] = class;                                                             \
            }                                                                                      \
            n += keep[i];                                                                          \
        }                                                                                          \
    }
OVERLAPS(f32, float)
OVERLAPS(f64, double)

eg_status ISA(eg__cpu_nms)(const eg__call *c)
{
    const int64_t n = c->out[0]->n;
    const bool classes = c->nin > 3 && c->in[3];
    eg__scratch s;
    eg_status st =
        n ? eg__scratch_get(c, (size_t)n * (5 * eg__esize(c->in[0]) + sizeof(int64_t)), &s) : EG_OK;
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
