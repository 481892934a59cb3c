/* boxes_loops.h - non-maximum suppression of boxes whose corners are of type T; boxes.c includes it
 * per type, with FN to name the functions. */

/* Whether box b, x1 y1 x2 y2 and area, overlaps one of n kept ones too much: their corners and
 * areas are lines of `line` numbers. classed: a constant; only those of b's class count. */
static EG__INLINE bool FN(overlaps)(const T *b, T threshold, const T *kept, int64_t line, int64_t n, bool classed,
                                    const int64_t *classes, int64_t class)
{
    const T x1 = b[0], y1 = b[1], x2 = b[2], y2 = b[3], area = b[4];
    int32_t hit = 0;
    for (int64_t first = 0; first < n && !hit; first += STRETCH) {
        const T *kx1 = kept + first, *ky1 = kx1 + line, *kx2 = ky1 + line, *ky2 = kx2 + line;
        const T *areas = ky2 + line;
        const int64_t *of = classed ? classes + first : NULL, m = eg__min(STRETCH, n - first);
        for (int64_t k = 0; k < m; k++) {
            T w = (x2 < kx2[k] ? x2 : kx2[k]) - (x1 > kx1[k] ? x1 : kx1[k]);
            T h = (y2 < ky2[k] ? y2 : ky2[k]) - (y1 > ky1[k] ? y1 : ky1[k]);
            T both = (w > 0 ? w : 0) * (h > 0 ? h : 0);
            int32_t same = classed ? of[k] == class : 1;
            hit |= (both > threshold * (area + areas[k] - both) ? 1 : 0) & same;
        }
    }
    return hit;
}

static void FN(nms)(const eg__call *c, T *kept, int64_t *kept_class)
{
    const eg__nms_opts *o = c->opts;
    const T *boxes = (const T *)eg__ptr(c->in[0]);
    const int64_t *order = (const int64_t *)eg__ptr(c->in[1]), line = c->in[1]->n;
    const int64_t *classes = kept_class ? (const int64_t *)eg__ptr(c->in[3]) : NULL;
    const uint8_t *candidate = (const uint8_t *)eg__ptr(c->in[2]);
    bool *keep = (bool *)eg__ptr(c->out[0]);
    int64_t n = 0;
    for (int64_t i = 0; i < line; i++) {
        const T *at = boxes + 4 * order[i];
        T b[5] = {at[0], at[1], at[2], at[3], (at[2] - at[0]) * (at[3] - at[1])};
        int64_t class = classes ? classes[order[i]] : 0;
        keep[i] = candidate[i] && n < o->most;
        if (keep[i] && classes) {
            keep[i] = !FN(overlaps)(b, (T)o->threshold, kept, line, n, true, kept_class, class);
        } else if (keep[i]) {
            keep[i] = !FN(overlaps)(b, (T)o->threshold, kept, line, n, false, NULL, 0);
        }
        for (int k = 0; keep[i] && k < 5; k++) {
            kept[k * line + n] = b[k];
        }
        if (keep[i] && classes) {
            kept_class[n] = class;
        }
        n += keep[i];
    }
}
