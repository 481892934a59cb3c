/* fft_loops.h - the loops of Fourier transforms for one element type T; fft.c includes it per type,
 * with FN to name them, V a vector of LANES of T, and the orders of elements that SHUFFLE takes.
 *
 * A block is lines side by side: row 2 j holds the real parts of element j of all lines, row 2 j +
 * 1 the imaginary ones. It is LANES wide, or 1 for a line that is transformed by itself. With real
 * and imaginary parts exchanged before and after, a transform goes the other way: that is `turn`, 0
 * or 1, added to the rows. */

#include "lib/cpu/matrix/fft_passes.h"

/* Where lines lie: element j of line l at j * step + l * lane; im NULL: zeros, or not wanted. */
typedef struct FN(side) {
    T *re, *im;
    int64_t step, lane;
} FN(side);

/* ---- blocks from and to lines -------------------------------------------------------------- */

/* LANES vectors, turned about: every round zips the first half with the second. */
static EG__INLINE void FN(transpose)(V *v)
{
    V t[LANES];
    EG__UNROLLED
    for (int round = 1; round < LANES; round *= 2) {
        EG__UNROLLED
        for (int i = 0; i < LANES / 2; i++) {
            t[2 * i] = SHUFFLE(v[i], v[i + LANES / 2], LOW);
            t[2 * i + 1] = SHUFFLE(v[i], v[i + LANES / 2], HIGH);
        }
        EG__UNROLLED
        for (int i = 0; i < LANES; i++) {
            v[i] = t[i];
        }
    }
}

/* n elements of each of `lines` lines. Lanes without a line repeat the first where that is
 * simplest. */
static void FN(load)(T *x, const FN(side) * f, int64_t n, int lines, int width, int turn)
{
    V *rows = (V *)x;
    bool pairs = f->im == f->re + 1;
    int64_t t = 0;
    if (width == LANES && pairs && f->step == 2) {
        const T *line[LANES];
        for (int l = 0; l < LANES; l++) {
            line[l] = f->re + (l < lines ? l : 0) * f->lane;
        }
        for (; t + LANES <= 2 * n; t += LANES) {
            V v[LANES];
            EG__UNROLLED
            for (int l = 0; l < LANES; l++) {
                v[l] = *(const V *)(line[l] + t);
            }
            FN(transpose)(v);
            EG__UNROLLED
            for (int i = 0; i < LANES; i++) {
                rows[(t + i) ^ turn] = v[i];
            }
        }
    } else if (lines == LANES && pairs && f->lane == 2) {
        for (; t < 2 * n; t += 2) {
            const V *from = (const V *)(f->re + t / 2 * f->step);
            rows[t + turn] = SHUFFLE(from[0], from[1], EVEN);
            rows[(t + 1) ^ turn] = SHUFFLE(from[0], from[1], ODD);
        }
    }
    for (int64_t j = t / 2; j < n; j++) {
        T *re = x + (2 * j + turn) * width, *im = x + ((2 * j + 1) ^ turn) * width;
        const T *from_re = f->re + j * f->step, *from_im = f->im ? f->im + j * f->step : NULL;
        for (int l = 0; l < lines; l++) {
            re[l] = from_re[l * f->lane];
            im[l] = from_im ? from_im[l * f->lane] : 0;
        }
        for (int l = lines; l < width; l++) {
            re[l] = im[l] = 0;
        }
    }
}

static void FN(store)(const T *x, const FN(side) * f, int64_t n, int lines, int width, int turn, T scale)
{
    const V *rows = (const V *)x;
    bool pairs = f->im == f->re + 1;
    int64_t t = 0;
    if (width == LANES && pairs && f->step == 2) {
        for (; t + LANES <= 2 * n; t += LANES) {
            V v[LANES];
            EG__UNROLLED
            for (int i = 0; i < LANES; i++) {
                v[i] = rows[(t + i) ^ turn] * scale;
            }
            FN(transpose)(v);
            for (int l = 0; l < lines; l++) {
                *(V *)(f->re + l * f->lane + t) = v[l];
            }
        }
    } else if (lines == LANES && pairs && f->lane == 2) {
        for (; t < 2 * n; t += 2) {
            V *to = (V *)(f->re + t / 2 * f->step);
            V re = rows[t + turn] * scale, im = rows[(t + 1) ^ turn] * scale;
            to[0] = SHUFFLE(re, im, LOW);
            to[1] = SHUFFLE(re, im, HIGH);
        }
    }
    for (int64_t j = t / 2; j < n; j++) {
        const T *re = x + (2 * j + turn) * width, *im = x + ((2 * j + 1) ^ turn) * width;
        for (int l = 0; l < lines; l++) {
            f->re[j * f->step + l * f->lane] = re[l] * scale;
            if (f->im) {
                f->im[j * f->step + l * f->lane] = im[l] * scale;
            }
        }
    }
}

/* ---- a line in two halves ------------------------------------------------------------------ */

typedef struct FN(halves) {
    const eg__fft_plan *p;
    FN(side) from, to;
    T *between, *blocks; /* n pairs; a thread's block and another */
    int64_t block;       /* elements of a block */
    int turn_from, turn_to, slots;
    T scale;
} FN(halves);

/* Whether all lanes have a pair, side by side. */
static inline bool FN(side_by_side)(const FN(side) * f, int lines)
{
    return lines == LANES && f->im == f->re + 1 && f->lane == 2;
}

/* Lines into a block and through all passes but the last; where it is, x or y. */
static V *FN(enter)(const eg__fft_plan *p, const FN(side) * from, T *x, T *y, int lines, int turn)
{
    if (FN(side_by_side)(from, lines) && FN(joins)(p, 0)) {
        int r = p->radix[0];
        const T *w = (const T *)p->table + 2 * p->table_at[0];
        (r == 4 ? FN(first4) : FN(first8))(from->re, from->step, turn, (V *)x, p->n / r, w);
        return FN(passes)(p, 1, p->passes - 1, (V *)x, (V *)y);
    }
    FN(load)(x, from, p->n, lines, LANES, turn);
    return FN(passes)(p, 0, p->passes - 1, (V *)x, (V *)y);
}

/* Through the last pass to lines, times `scale` or rows of factors. */
static void FN(leave)(const eg__fft_plan *p, V *at, T *x, T *y, const FN(side) * to, int lines, int turn, T scale,
                      const T *w, int64_t wide)
{
    int r = p->radix[p->passes - 1];
    if (FN(side_by_side)(to, lines) && FN(joins)(p, p->passes - 1)) {
        (r == 4 ? FN(last4) : FN(last8))(at, p->n / r, to->re, to->step, turn, scale, w, wide);
        return;
    }
    V *other = (V *)(at == (V *)x ? y : x);
    at = FN(passes)(p, p->passes - 1, p->passes, at, other);
    for (int64_t k = 0; w && k < p->n; k++) {
        const V re = *(const V *)(w + 2 * k * wide), im = *(const V *)(w + 2 * k * wide + wide);
        const V a = at[2 * k], b = at[2 * k + 1];
        at[2 * k] = a * re - b * im;
        at[2 * k + 1] = a * im + b * re;
    }
    FN(store)((const T *)at, to, p->n, lines, LANES, turn, scale);
}

/* Element rows j1 + j2 of the line is in column j2: transforms of columns, times e^(-2 pi i k1 j2 /
 * n). */
static void FN(columns)(void *ctx, int64_t begin, int64_t end)
{
    const FN(halves) *h = ctx;
    const eg__fft_plan *p = h->p;
    const int64_t across = p->columns, wide = (across + EG__FFT_LANES - 1) / EG__FFT_LANES * EG__FFT_LANES;
    const int64_t groups = (across + LANES - 1) / LANES;
    for (int64_t slot = begin; slot < end; slot++) {
        T *x = h->blocks + slot * 2 * h->block;
        for (int64_t g = groups * slot / h->slots; g < groups * (slot + 1) / h->slots; g++) {
            int64_t j = g * LANES;
            int lines = (int)eg__min(LANES, across - j);
            FN(side)
            from = {h->from.re + j * h->from.step, h->from.im ? h->from.im + j * h->from.step : NULL,
                    across * h->from.step, h->from.step};
            FN(side) to = {h->between + 2 * j, h->between + 2 * j + 1, 2 * across, 2};
            const T *w = (const T *)p->table + j;
            V *y = FN(enter)(p->first, &from, x, x + h->block, lines, h->turn_from);
            FN(leave)(p->first, y, x, x + h->block, &to, lines, 0, 1, w, wide);
        }
    }
}

/* Then of rows: result k1 + rows k2. */
static void FN(rows)(void *ctx, int64_t begin, int64_t end)
{
    const FN(halves) *h = ctx;
    const eg__fft_plan *p = h->p;
    const int64_t groups = (p->rows + LANES - 1) / LANES;
    for (int64_t slot = begin; slot < end; slot++) {
        T *x = h->blocks + slot * 2 * h->block;
        for (int64_t g = groups * slot / h->slots; g < groups * (slot + 1) / h->slots; g++) {
            int64_t k = g * LANES;
            int lines = (int)eg__min(LANES, p->rows - k);
            T *start = h->between + 2 * k * p->columns;
            FN(side) from = {start, start + 1, 2, 2 * p->columns};
            FN(side)
            to = {h->to.re + k * h->to.step, h->to.im ? h->to.im + k * h->to.step : NULL, p->rows * h->to.step,
                  h->to.step};
            V *y = FN(enter)(p->then, &from, x, x + h->block, lines, 0);
            FN(leave)(p->then, y, x, x + h->block, &to, lines, h->turn_to, h->scale, NULL, 0);
        }
    }
}

/* ---- a unit of work ------------------------------------------------------------------------ */

/* What a thread has for itself. */
typedef struct FN(space) {
    T *x, *y, *between, *blocks;
} FN(space);

static FN(space) FN(space_of)(const job *j, int64_t slot)
{
    T *at = (T *)j->space + slot * j->slot_size;
    return (FN(space)){at, at + j->unit_size, at + 2 * j->unit_size, at + 2 * j->unit_size + j->between_size};
}

static void FN(split)(const job *j, const eg__fft_plan *p, const FN(space) * s, FN(side) from, FN(side) to,
                      int turn_from, int turn_to, T scale)
{
    FN(halves)
    h = {p, from, to, s->between, s->blocks, j->block_size, turn_from, turn_to, j->threads, scale};
    eg__parallel(j->threads, 1, FN(columns), &h);
    eg__parallel(j->threads, 1, FN(rows), &h);
}

static FN(side) FN(line)(T *x)
{
    return (FN(side)){x, x + 1, 2, 0};
}

/* Rows of pairs times those of w, one row of w for a row of any width; conjugated before or after.
 */
static void FN(times)(T *x, const T *w, int64_t n, int width, bool before, bool after)
{
    for (int64_t j = 0; j < n; j++) {
        const T re = w[2 * j], im = w[2 * j + 1], first = before ? -1 : 1, then = after ? -1 : 1;
        T *a = x + 2 * j * width, *b = a + width;
        EG__EACH_ALONE
        for (int l = 0; l < width; l++) {
            const T v = b[l] * first, r = a[l] * re - v * im;
            b[l] = (a[l] * im + v * re) * then;
            a[l] = r;
        }
    }
}

/* Of the block in s->x; in the end the result is there. p is no chirp. */
static void FN(smooth)(const job *j, const eg__fft_plan *p, FN(space) * s)
{
    T *y = s->y;
    if (p->way == EG__FFT_SPLIT) {
        FN(split)(j, p, s, FN(line)(s->x), FN(line)(y), 0, 0, 1);
    } else {
        y = (T *)FN(direct)(p, (V *)s->x, (V *)y);
    }
    if (y != s->x) {
        s->y = s->x;
        s->x = y;
    }
}

/* With w_j = e^(-pi i j^2 / n), j k = (j^2 + k^2 - (k - j)^2) / 2 makes the sum w_k sum (x_j w_j)
 * conj w_(k - j): a convolution, of which j->chirp holds the transform of conj w over its length.
 */
static void FN(chirp)(const job *j, const eg__fft_plan *p, FN(space) * s)
{
    const int64_t m = p->first->n;
    const int width = j->width;
    FN(times)(s->x, p->table, p->n, width, false, false);
    memset(s->x + 2 * p->n * width, 0, (size_t)(2 * (m - p->n) * width) * sizeof(T));
    FN(smooth)(j, p->first, s);
    FN(times)(s->x, j->chirp, m, width, false, true); /* for the way back */
    FN(smooth)(j, p->first, s);
    FN(times)(s->x, p->table, p->n, width, true, false);
}

static void FN(transform)(const job *j, FN(space) * s)
{
    if (j->p->way == EG__FFT_CHIRP) {
        FN(chirp)(j, j->p, s);
    } else {
        FN(smooth)(j, j->p, s);
    }
}

/* j->chirp of conj w, which stands before and behind 0; divided by the length for the way back. */
static void FN(make_chirp)(const job *j, T *chirp)
{
    const eg__fft_plan *p = j->p;
    const int64_t m = p->first->n;
    const int width = j->width;
    FN(space) s = FN(space_of)(j, 0);
    const T *w = p->table;
    memset(s.x, 0, (size_t)(2 * m * width) * sizeof(T));
    for (int64_t i = 0; i < p->n; i++) {
        for (int l = 0; l < 2 * width; l++) {
            T v = w[2 * i + l / width] * (l < width ? 1 : -1) / (T)m;
            s.x[2 * i * width + l] = v;
            s.x[2 * (i ? m - i : 0) * width + l] = v;
        }
    }
    FN(smooth)(j, p->first, &s);
    for (int64_t i = 0; i < 2 * m; i++) {
        chirp[i] = s.x[i * width];
    }
}

/* Halves of a real line, its even and its odd places, are the parts of h elements z. With E and O
 * the transforms of the two, found in that of z, and w_k = e^(-2 pi i k / n), the bins of the line
 * are E_k + w_k O_k, and conj (E_k - w_k O_k) is bin h - k. Rows are of E: vectors, or single
 * numbers. From bin k on, and from behind up to bin h - k. */
#define TO_BINS_OF(name, E)                                                  \
    static void FN(name)(const E *z, E *y, const T *w, int64_t k, int64_t h) \
    {                                                                        \
        for (; k <= h / 2; k++) {                                            \
            const T re = w[2 * k] / 2, im = w[2 * k + 1] / 2, half = (T)0.5; \
            const E *a = z + 2 * k, *b = z + 2 * (k ? h - k : 0);            \
            const E er = (a[0] + b[0]) * half, ei = (a[1] - b[1]) * half;    \
            const E gr = a[1] + b[1], gi = b[0] - a[0];                      \
            const E tr = gr * re - gi * im, ti = gr * im + gi * re;          \
            E *to = y + 2 * k, *far = y + 2 * (h - k);                       \
            to[0] = er + tr;                                                 \
            to[1] = ei + ti;                                                 \
            far[0] = er - tr;                                                \
            far[1] = ti - ei;                                                \
        }                                                                    \
    }
TO_BINS_OF(to_bins, V)
TO_BINS_OF(to_bins_alone, T)
#undef TO_BINS_OF

/* The same straight to lines that lie behind each other, some bins from both ends at a time; how many of each end it
 * did. */
static int64_t FN(to_lines)(const V *z, const FN(side) * f, const T *w, int64_t h, int lines, T scale)
{
    enum { BINS = LANES / 2 };
    int64_t k = 0;
    if (f->im != f->re + 1 || f->step != 2) {
        return 0;
    }
    for (; k + BINS <= h / 2; k += BINS) {
        V near[LANES], far[LANES];
        EG__UNROLLED
        for (int i = 0; i < BINS; i++) {
            const T re = w[2 * (k + i)] * scale / 2, im = w[2 * (k + i) + 1] * scale / 2, half = scale / 2;
            const V *a = z + 2 * (k + i), *b = z + 2 * (k + i ? h - k - i : 0);
            const V er = (a[0] + b[0]) * half, ei = (a[1] - b[1]) * half;
            const V gr = a[1] + b[1], gi = b[0] - a[0];
            const V tr = gr * re - gi * im, ti = gr * im + gi * re;
            near[2 * i] = er + tr;
            near[2 * i + 1] = ei + ti;
            far[2 * (BINS - 1 - i)] = er - tr;
            far[2 * (BINS - 1 - i) + 1] = ti - ei;
        }
        FN(transpose)(near);
        FN(transpose)(far);
        for (int l = 0; l < lines; l++) {
            T *line = f->re + l * f->lane;
            *(V *)(line + 2 * k) = near[l];
            *(V *)(line + 2 * (h - k - BINS + 1)) = far[l];
        }
    }
    return k;
}

/* The way back, E and O twice as large as they are; parts exchanged in z. Bins 0 and h have no
 * imaginary part, whatever is there. */
#define FROM_BINS_OF(name, E)                                                               \
    static void FN(name)(const E *x, E *z, const T *w, int64_t h)                           \
    {                                                                                       \
        z[0] = x[0] - x[2 * h];                                                             \
        z[1] = x[0] + x[2 * h];                                                             \
        for (int64_t k = 1; k <= h / 2; k++) {                                              \
            const T re = w[2 * k], im = -w[2 * k + 1];                                      \
            const E *a = x + 2 * k, *b = x + 2 * (h - k);                                   \
            const E er = a[0] + b[0], ei = a[1] - b[1], dr = a[0] - b[0], di = a[1] + b[1]; \
            const E gr = dr * re - di * im, gi = dr * im + di * re;                         \
            E *to = z + 2 * k, *far = z + 2 * (h - k);                                      \
            far[0] = gr - ei;                                                               \
            far[1] = er + gi;                                                               \
            to[0] = ei + gr;                                                                \
            to[1] = er - gi;                                                                \
        }                                                                                   \
    }
FROM_BINS_OF(from_bins, V)
FROM_BINS_OF(from_bins_alone, T)
#undef FROM_BINS_OF

/* Bins 0 .. n / 2 of an odd n, and the conjugates behind them; parts exchanged. */
static void FN(mirror)(T *x, int64_t n, int width)
{
    memset(x, 0, (size_t)width * sizeof(T));
    for (int64_t i = 0; i < n / 2 * width; i++) {
        int64_t k = 1 + i / width, l = i % width;
        x[2 * (n - k) * width + l] = -x[2 * k * width + l];
        x[(2 * (n - k) + 1) * width + l] = x[(2 * k + 1) * width + l];
    }
}

/* `lines` neighbouring lines, where they begin. */
static void FN(unit)(const job *j, FN(space) * s, FN(side) from, FN(side) to, int lines)
{
    const eg__fft_plan *p = j->p;
    const int width = j->width, turn = j->turn;
    const T scale = (T)j->scale;
    const bool split = p->way == EG__FFT_SPLIT;
    const int64_t h = j->n / 2;
    if (j->what == COMPLEX && p->way == EG__FFT_DIRECT && p->passes) {
        V *y = FN(enter)(p, &from, s->x, s->y, lines, turn);
        FN(leave)(p, y, s->x, s->y, &to, lines, turn, scale, NULL, 0);
        return;
    }
    if (j->real) { /* even and odd places are the parts */
        FN(side) *line = j->what == TO_BINS ? &from : &to;
        line->im = line->re + line->step;
        line->step *= 2;
    }
    if (split && (j->what == COMPLEX || (j->real && j->what == TO_BINS))) {
        FN(split)(j, p, s, from, j->real ? FN(line)(s->x) : to, turn, turn, j->real ? 1 : scale);
    } else {
        int64_t n = j->what == TO_REAL ? h + 1 : p->n;
        FN(load)(s->x, &from, n, lines, width, j->what == TO_REAL && j->real ? 0 : turn);
        if (j->what == TO_REAL && j->real) {
            if (width == 1) {
                FN(from_bins_alone)(s->x, s->y, j->real->table, h);
            } else {
                FN(from_bins)((V *)s->x, (V *)s->y, j->real->table, h);
            }
            T *x = s->x;
            s->x = s->y;
            s->y = x;
        } else if (j->what == TO_REAL) {
            FN(mirror)(s->x, p->n, width);
        }
        if (split && j->what == TO_REAL && j->real) {
            FN(split)(j, p, s, FN(line)(s->x), to, 0, 1, scale);
        } else {
            FN(transform)(j, s);
        }
    }
    if (j->what == TO_BINS && j->real) {
        int64_t done = width == LANES ? FN(to_lines)((V *)s->x, &to, j->real->table, h, lines, scale) : 0;
        if (width == 1) {
            FN(to_bins_alone)(s->x, s->y, j->real->table, 0, h);
        } else {
            FN(to_bins)((V *)s->x, (V *)s->y, j->real->table, done, h);
        }
        to.re += done * to.step;
        to.im += done * to.step;
        FN(store)(s->y + 2 * done * width, &to, h + 1 - 2 * done, lines, width, 0, scale);
    } else if (!split || (j->what != COMPLEX && !j->real)) {
        FN(store)(s->x, &to, j->what == TO_BINS ? h + 1 : p->n, lines, width, turn, scale);
    }
}

/* Units of the call: `width` of the lines of a group. */
static void FN(units)(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    for (int64_t slot = begin; slot < end; slot++) {
        const FN(space) own = FN(space_of)(j, slot);
        for (int64_t u = j->units * slot / j->slots; u < j->units * (slot + 1) / j->slots; u++) {
            int64_t group = u / j->per_group, first = u % j->per_group * j->width;
            FN(side) side[2];
            for (int i = 0; i < 2; i++) {
                const layout *l = &j->side[i];
                T *at = (T *)l->data + group * l->group + first * l->lane;
                side[i] = (FN(side)){at, l->parts == 2 ? at + 1 : NULL, l->step, l->lane};
            }
            FN(space) s = own;
            FN(unit)(j, &s, side[0], side[1], (int)eg__min(j->width, j->lanes - first));
        }
    }
}
