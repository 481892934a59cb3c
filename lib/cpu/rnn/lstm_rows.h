/* lstm_rows.h - the fused loops of lstm.c for one element type T, with LANE(x) and FN(x)
 * defined. */

static inline void LANE(forward_row)(int64_t n, T *restrict i, T *restrict f, T *restrict g, T *restrict o,
                                     const T *restrict b, int64_t H, const T *restrict before, T *restrict after,
                                     T *restrict h, T clip)
{
    for (int64_t j = 0; j < n; j++) {
        T vi = FN(sigmoid)(i[j] + b[j]), vf = FN(sigmoid)(f[j] + b[H + j]);
        T vg = FN(tanh)(g[j] + b[2 * H + j]), vo = FN(sigmoid)(o[j] + b[3 * H + j]);
        T c = vf * before[j] + vi * vg;
        c = c > clip ? clip : c;
        c = c < -clip ? -clip : c;
        i[j] = vi;
        f[j] = vf;
        g[j] = vg;
        o[j] = vo;
        after[j] = c;
        h[j] = vo * FN(tanh)(c);
    }
}

/* Cells begin..end of rows x H. */
static void LANE(forward_cells)(void *ctx, int64_t begin, int64_t end)
{
    const step *s = ctx;
    int64_t H = s->p->width;
    for (int64_t at = begin, stop; at < end; at = stop) {
        int64_t n = at / H, j = at % H;
        stop = eg__min(at - j + H, end);
        size_t bytes = (size_t)(stop - at) * sizeof(T);
        T *z = (T *)s->z + n * 4 * H + j, *h = (T *)s->h + at, *y = (T *)s->y + at;
        if (eg__rnn_takes(s->p, n, s->t)) {
            LANE(forward_row)
            (stop - at, z, z + H, z + 2 * H, z + 3 * H, (const T *)s->bias + j, H, (const T *)s->c_before + at,
             (T *)s->c_after + at, h, (T)s->clip);
            if (s->y) {
                memcpy(y, h, bytes);
            }
            continue;
        }
        memcpy((T *)s->c_after + at, (const T *)s->c_before + at, bytes);
        if (s->y) {
            memcpy(h, (const T *)s->h_before + at, bytes);
            memset(y, 0, bytes);
        } else {
            memset(h, 0, bytes); /* goes into the projection */
        }
    }
}

static inline void LANE(backward_row)(int64_t n, int64_t H, const T *restrict z, const T *restrict before,
                                      const T *restrict after, const T *restrict dh, const T *restrict dy,
                                      T *restrict dc, T *restrict di, T *restrict df, T *restrict dg, T *restrict d_o,
                                      T clip)
{
    for (int64_t j = 0; j < n; j++) {
        T i = z[j], f = z[H + j], g = z[2 * H + j], o = z[3 * H + j];
        T tc = FN(tanh)(after[j]), d = dh[j] + dy[j], a = after[j] < 0 ? -after[j] : after[j];
        T da = dc[j] + d * o * (1 - tc * tc);
        da = a >= clip ? 0 : da;
        di[j] = da * g * i * (1 - i);
        df[j] = da * before[j] * f * (1 - f);
        dg[j] = da * i * (1 - g * g);
        d_o[j] = d * tc * o * (1 - o);
        dc[j] = da * f;
    }
}

static void LANE(backward_cells)(void *ctx, int64_t begin, int64_t end)
{
    const step *s = ctx;
    int64_t H = s->p->width;
    for (int64_t at = begin, stop; at < end; at = stop) {
        int64_t n = at / H, j = at % H;
        stop = eg__min(at - j + H, end);
        T *dz = (T *)s->dz + n * 4 * H + j;
        if (eg__rnn_takes(s->p, n, s->t)) {
            const T *dy = s->y ? (const T *)s->y + at : (const T *)s->bias + j; /* the latter zeros */
            LANE(backward_row)
            (stop - at, H, (const T *)s->z + n * 4 * H + j, (const T *)s->c_before + at, (const T *)s->c_after + at,
             (const T *)s->h + at, dy, (T *)s->dc + at, dz, dz + H, dz + 2 * H, dz + 3 * H, (T)s->clip);
        } else {
            for (int k = 0; k < 4; k++) {
                memset(dz + k * H, 0, (size_t)(stop - at) * sizeof(T));
            }
        }
    }
}

/* b_ih + b_hh */
static void LANE(add_biases)(const eg_tensor *a, const eg_tensor *b, T *to, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        to[j] = (a ? ((const T *)eg__ptr(a))[j] : 0) + (b ? ((const T *)eg__ptr(b))[j] : 0);
    }
}

/* Of a projection: to = dh + dy of rows that take the step. */
static void LANE(gather_dh)(const eg__rnn_plan *p, int64_t t, const T *dh, const T *dy, T *to)
{
    for (int64_t n = 0; n < p->rows; n++) {
        bool takes = eg__rnn_takes(p, n, t);
        for (int64_t r = n * p->state; r < (n + 1) * p->state; r++) {
            to[r] = takes ? dh[r] + (dy ? dy[r] : 0) : 0;
        }
    }
}
