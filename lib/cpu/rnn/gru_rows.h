/* gru_rows.h - the fused loops of gru.c for one element type T, with LANE(x) and FN(x) defined. */

/* Both gates and the candidate, the reset gate after the product m with h. b: r, z, n and m's
 * own. */
static inline void LANE(after_row)(int64_t n, int64_t H, T *restrict r, T *restrict z, T *restrict v,
                                   const T *restrict m, const T *restrict b, const T *restrict before, T *restrict met,
                                   T *restrict h)
{
    for (int64_t j = 0; j < n; j++) {
        T vr = FN(sigmoid)(r[j] + m[j] + b[j]), vz = FN(sigmoid)(z[j] + m[H + j] + b[H + j]);
        T q = m[2 * H + j] + b[3 * H + j], vv = FN(tanh)(v[j] + b[2 * H + j] + vr * q);
        r[j] = vr;
        z[j] = vz;
        v[j] = vv;
        met[j] = q;
        h[j] = vv + vz * (before[j] - vv);
    }
}

/* The reset gate before it: first both gates and r h, */
static inline void LANE(gates_row)(int64_t n, int64_t H, T *restrict r, T *restrict z, const T *restrict b,
                                   const T *restrict before, T *restrict met)
{
    for (int64_t j = 0; j < n; j++) {
        T vr = FN(sigmoid)(r[j] + b[j]);
        r[j] = vr;
        z[j] = FN(sigmoid)(z[j] + b[H + j]);
        met[j] = vr * before[j];
    }
}

/* then, its product added to v, the candidate. */
static inline void LANE(candidate_row)(int64_t n, int64_t H, const T *restrict z, T *restrict v, const T *restrict b,
                                       const T *restrict before, T *restrict h)
{
    for (int64_t j = 0; j < n; j++) {
        T vv = FN(tanh)(v[j] + b[2 * H + j] + b[3 * H + j]);
        v[j] = vv;
        h[j] = vv + z[j] * (before[j] - vv);
    }
}

/* Cells begin..end of rows x H. */
static void LANE(forward_cells)(void *ctx, int64_t begin, int64_t end)
{
    const step *s = ctx;
    int64_t H = s->p->width;
    for (int64_t at = begin, stop; at < end; at = stop) {
        int64_t n = at / H, j = at % H, k;
        stop = eg__min(at - j + H, end);
        k = stop - at;
        size_t bytes = (size_t)k * sizeof(T);
        bool takes = eg__rnn_takes(s->p, n, s->t);
        T *r = (T *)s->gates + n * 3 * H + j, *met = (T *)s->met + at, *h = (T *)s->h + at;
        T *y = (T *)s->y + at;
        const T *before = (const T *)s->before + at, *b = (const T *)s->bias + j;
        if (s->part == GATES) {
            if (takes) {
                LANE(gates_row)(k, H, r, r + H, b, before, met);
            } else {
                memset(met, 0, bytes);
            }
            continue;
        }
        if (!takes) {
            memset(met, 0, bytes);
            memcpy(h, before, bytes);
            memset(y, 0, bytes);
            continue;
        }
        if (s->part == CANDIDATE) {
            LANE(candidate_row)(k, H, r + H, r + 2 * H, b, before, h);
        } else {
            LANE(after_row)
            (k, H, r, r + H, r + 2 * H, (const T *)s->product + n * 3 * H + j, b, before, met, h);
        }
        memcpy(y, h, bytes);
    }
}

/* Gradients on x's side and, where the reset gate comes after, on h's; and what goes past the
 * gates. */
static inline void LANE(after_row_back)(int64_t n, int64_t H, const T *restrict g, const T *restrict met,
                                        const T *restrict before, const T *restrict dh, const T *restrict dy,
                                        T *restrict dx, T *restrict dm, T *restrict past)
{
    for (int64_t j = 0; j < n; j++) {
        T r = g[j], z = g[H + j], v = g[2 * H + j], d = dh[j] + dy[j];
        T da = d * (1 - z) * (1 - v * v), dr = da * met[j] * r * (1 - r);
        T dz = d * (before[j] - v) * z * (1 - z);
        dx[j] = dr;
        dx[H + j] = dz;
        dx[2 * H + j] = da;
        dm[j] = dr;
        dm[H + j] = dz;
        dm[2 * H + j] = da * r;
        past[j] = d * z;
    }
}

static inline void LANE(candidate_row_back)(int64_t n, int64_t H, const T *restrict g, const T *restrict before,
                                            const T *restrict dh, const T *restrict dy, T *restrict dx,
                                            T *restrict past)
{
    for (int64_t j = 0; j < n; j++) {
        T z = g[H + j], v = g[2 * H + j], d = dh[j] + dy[j];
        dx[H + j] = d * (before[j] - v) * z * (1 - z);
        dx[2 * H + j] = d * (1 - z) * (1 - v * v);
        past[j] = d * z;
    }
}

/* dm: gradient of r h */
static inline void LANE(gates_row_back)(int64_t n, const T *restrict g, const T *restrict before, const T *restrict dm,
                                        T *restrict dx, T *restrict past)
{
    for (int64_t j = 0; j < n; j++) {
        T r = g[j];
        dx[j] = dm[j] * before[j] * r * (1 - r);
        past[j] += dm[j] * r;
    }
}

static void LANE(backward_cells)(void *ctx, int64_t begin, int64_t end)
{
    const step *s = ctx;
    int64_t H = s->p->width;
    for (int64_t at = begin, stop; at < end; at = stop) {
        int64_t n = at / H, j = at % H, k;
        stop = eg__min(at - j + H, end);
        k = stop - at;
        size_t bytes = (size_t)k * sizeof(T);
        const T *g = (const T *)s->gates + n * 3 * H + j, *before = (const T *)s->before + at;
        const T *dh = (const T *)s->h + at, *dy = s->y ? (const T *)s->y + at : (const T *)s->bias + j;
        T *dx = (T *)s->dx + n * 3 * H + j, *past = (T *)s->past + at;
        T *dm = s->part == WHOLE ? (T *)s->product + n * 3 * H + j : (T *)s->product + at;
        if (!eg__rnn_takes(s->p, n, s->t)) {
            for (int i = 0; i < 3; i++) {
                memset(dx + i * H, 0, bytes);
                if (s->part == WHOLE) {
                    memset(dm + i * H, 0, bytes);
                }
            }
            memcpy(past, dh, bytes);
        } else if (s->part == WHOLE) {
            LANE(after_row_back)(k, H, g, (const T *)s->met + at, before, dh, dy, dx, dm, past);
        } else if (s->part == CANDIDATE) {
            LANE(candidate_row_back)(k, H, g, before, dh, dy, dx, past);
        } else {
            LANE(gates_row_back)(k, g, before, dm, dx, past);
        }
    }
}

/* b_ih + b_hh for the gates, then both apart for the candidate. */
static void LANE(gather_biases)(const eg_tensor *a, const eg_tensor *b, T *to, int64_t H)
{
    const T *ih = a ? (const T *)eg__ptr(a) : NULL, *hh = b ? (const T *)eg__ptr(b) : NULL;
    for (int64_t j = 0; j < 3 * H; j++) {
        to[j] = (ih ? ih[j] : 0) + (hh && j < 2 * H ? hh[j] : 0);
    }
    for (int64_t j = 0; j < H; j++) {
        to[3 * H + j] = hh ? hh[2 * H + j] : 0;
    }
}
