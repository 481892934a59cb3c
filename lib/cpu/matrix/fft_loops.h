/* fft_loops.h - the loops of Fourier transforms for one element type T; fft.c includes it per type,
 * with FN to name them, V a vector of LANES of T, and the orders of elements that SHUFFLE takes.
 *
 * A block is lines side by side: row 2 j holds the real parts of element j of all lines, row 2 j +
 * 1 the imaginary ones. It is LANES wide, or 1 for a line that is transformed by itself. With real
 * and imaginary parts exchanged before and after, a transform goes the other way: that is `turn`, 0
 * or 1, added to the rows. */

#include "lib/cpu/matrix/fft_passes.h"

/* Where lines lie: element j of line l at j * step + l * lane; im NULL: zeros, or not wanted. Before `end` all can be
 * read. */
typedef struct FN(side) {
    T *re, *im;
    int64_t step, lane;
    const T *end;
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
    } else if (width == LANES && pairs && f->lane == 2) {
        for (; t < 2 * n && f->re + t / 2 * f->step + 2 * LANES <= f->end; t += 2) {
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
    } else if (width == LANES && pairs && f->lane == 2 && (lines == LANES || f->step == 2 * lines)) {
        const int64_t all = (n - 1) * f->step + 2 * lines; /* what is too much is overwritten by the next */
        for (; t < 2 * n && t / 2 * f->step + 2 * LANES <= all; t += 2) {
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
    const FN(side) * from, *to;
    T *between, *blocks; /* rows of parts; a thread's block and another */
    int64_t block, wide; /* elements of a block; of a row of parts */
    int turn_from, turn_to, slots;
    T scale;
} FN(halves);

/* Whether the first pass of n elements can take lines as they lie: side by side, with all lanes' there to be read. */
static inline bool FN(takes)(const eg__fft_plan *p, const FN(side) * f)
{
    return FN(joins)(p, 0) && f->im == f->re + 1 && f->lane == 2 && f->re + (p->n - 1) * f->step + 2 * LANES <= f->end;
}

/* How the last one leaves them. */
static inline FN(form) FN(leaves)(const eg__fft_plan *p, const FN(side) * f, int lines)
{
    if (lines < LANES || !FN(joins)(p, p->passes - 1)) {
        return FN(BARE);
    }
    return f->lane == 1 ? FN(APART) : f->lane == 2 && f->im == f->re + 1 ? FN(PAIRS) : FN(BARE);
}

/* A block of lines, from where they lie to where their transforms shall. */
static void FN(block)(const eg__fft_plan *p, T *x, T *y, const FN(side) * from, const FN(side) * to, int lines,
                      int turn, T scale)
{
    const FN(end) begin = {from->re, from->step, 1, turn, 1, NULL}, end = {to->re, to->step, 1, turn, scale, NULL};
    const bool takes = FN(takes)(p, from);
    const FN(form) form = FN(leaves)(p, to, lines);
    if (!takes) {
        FN(load)(x, from, p->n, lines, LANES, turn);
    }
    const V *at = FN(passes)(p, (V *)x, (V *)y, takes ? &begin : NULL, &end, form);
    if (form == FN(BARE)) {
        FN(store)((const T *)at, to, p->n, lines, LANES, turn, scale);
    }
}

/* Element rows j1 + j2 of a line is in column j2: transforms of columns j .., times e^(-2 pi i k1 j2 / n), in parts. */
static void FN(columns)(const FN(halves) * h, int64_t j, T *x)
{
    const eg__fft_plan *p = h->p, *first = p->first;
    const int64_t at = j * h->from->step;
    const FN(side) from = {h->from->re + at, h->from->im ? h->from->im + at : NULL, p->columns * h->from->step,
                           h->from->step, h->from->end};
    const FN(end) begin = {from.re, from.step, 1, h->turn_from, 1, NULL};
    const FN(end) end = {h->between + j, 2 * h->wide, h->wide, 0, 1, (const T *)p->table + j};
    const bool takes = FN(takes)(first, &from), gives = FN(joins)(first, first->passes - 1);
    if (!takes) {
        FN(load)(x, &from, first->n, (int)eg__min(LANES, p->columns - j), LANES, h->turn_from);
    }
    const V *y =
        FN(passes)(first, (V *)x, (V *)(x + h->block), takes ? &begin : NULL, &end, gives ? FN(FACTORS) : FN(BARE));
    for (int64_t k = 0; !gives && k < first->n; k++) {
        FN(give)((FN(pair)){y[2 * k], y[2 * k + 1]}, NULL, &end, k, FN(FACTORS), false);
    }
}

/* Rows of what columns left become lanes. Those without a row repeat the first. */
static void FN(turn_rows)(const T *from, int64_t wide, int64_t columns, int rows, V *x)
{
    const T *line[LANES];
    for (int l = 0; l < LANES; l++) {
        line[l] = from + (l < rows ? l : 0) * 2 * wide;
    }
    for (int part = 0; part < 2; part++) {
        for (int64_t j = 0; j < columns; j += LANES) {
            V v[LANES];
            EG__UNROLLED
            for (int l = 0; l < LANES; l++) {
                v[l] = *(const V *)(line[l] + part * wide + j);
            }
            FN(transpose)(v);
            EG__UNROLLED
            for (int i = 0; i < LANES; i++) {
                x[2 * (j + i) + part] = v[i];
            }
        }
    }
}

/* Then of rows k ..: result k1 + rows k2. */
static void FN(rows)(const FN(halves) * h, int64_t k, T *x)
{
    const eg__fft_plan *p = h->p, *then = p->then;
    const int64_t at = k * h->to->step;
    const int lines = (int)eg__min(LANES, p->rows - k);
    const FN(side) to = {h->to->re + at, h->to->im ? h->to->im + at : NULL, p->rows * h->to->step, h->to->step, NULL};
    const FN(end) end = {to.re, to.step, to.im - to.re, h->turn_to, h->scale, NULL};
    const FN(form) form = FN(leaves)(then, &to, lines);
    FN(turn_rows)(h->between + 2 * k * h->wide, h->wide, p->columns, lines, (V *)x);
    const V *y = FN(passes)(then, (V *)x, (V *)(x + h->block), NULL, &end, form);
    if (form == FN(BARE)) {
        FN(store)((const T *)y, &to, then->n, lines, LANES, h->turn_to, h->scale);
    }
}

#define HALF_OF(name, each, count)                                                                            \
    static void FN(name)(void *ctx, int64_t begin, int64_t end)                                               \
    {                                                                                                         \
        const FN(halves) *h = ctx;                                                                            \
        const int64_t groups = (h->p->count + LANES - 1) / LANES;                                             \
        for (int64_t slot = begin; slot < end; slot++) {                                                      \
            for (int64_t g = part_of(groups, slot, h->slots); g < part_of(groups, slot + 1, h->slots); g++) { \
                FN(each)(h, g * LANES, h->blocks + slot * 2 * h->block);                                      \
            }                                                                                                 \
        }                                                                                                     \
    }
HALF_OF(all_columns, columns, columns)
HALF_OF(all_rows, rows, rows)
#undef HALF_OF

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

static void FN(split)(const job *j, const eg__fft_plan *p, const FN(space) * s, const FN(side) * from,
                      const FN(side) * to, int turn_from, int turn_to, T scale)
{
    FN(halves)
    h = {p, from, to, s->between, s->blocks, j->block_size, eg__fft_wide(p), turn_from, turn_to, j->threads, scale};
    eg__parallel(j->threads, 1, FN(all_columns), &h);
    eg__parallel(j->threads, 1, FN(all_rows), &h);
}

/* n pairs behind each other. */
static FN(side) FN(line)(T *x, int64_t n)
{
    return (FN(side)){x, x + 1, 2, 0, x + 2 * n};
}

/* Rows of pairs times those of w, one row of w for a row of any width; conjugated before or after.
 */
static void FN(times_rows)(T *x, const T *w, int64_t n, int width, bool before, bool after)
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
        const FN(side) from = FN(line)(s->x, p->n), to = FN(line)(y, p->n);
        FN(split)(j, p, s, &from, &to, 0, 0, 1);
    } else {
        y = (T *)FN(passes)(p, (V *)s->x, (V *)y, NULL, NULL, FN(BARE));
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
    FN(times_rows)(s->x, p->table, p->n, width, false, false);
    memset(s->x + 2 * p->n * width, 0, (size_t)(2 * (m - p->n) * width) * sizeof(T));
    FN(smooth)(j, p->first, s);
    FN(times_rows)(s->x, j->chirp, m, width, false, true); /* for the way back */
    FN(smooth)(j, p->first, s);
    FN(times_rows)(s->x, p->table, p->n, width, true, false);
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

#include "lib/cpu/matrix/fft_bins.h"

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

/* The bins of real lines whose halves' transform is in s->x. */
static void FN(bins)(const job *j, const FN(space) * s, const FN(side) * to, int lines)
{
    const int64_t h = j->n / 2;
    const T *w = j->real->table, scale = (T)j->scale;
    if (j->width > 1) {
        int64_t done = FN(to_lines)((V *)s->x, to, w, h, lines, scale);
        FN(side) rest = *to;
        rest.re += done * to->step;
        rest.im += done * to->step;
        FN(to_bins)((V *)s->x, (V *)s->y, w, done, h / 2, h, scale);
        FN(store)(s->y + 2 * done * j->width, &rest, h + 1 - 2 * done, lines, j->width, 0, 1);
        return;
    }
    const bool straight = to->im == to->re + 1 && to->step == 2;
    T *y = straight ? to->re : s->y;
    if (j->p->way == EG__FFT_SPLIT) {
        FN(to_bins_split)(s->x, s->x + h, y, w, h);
    } else {
        FN(to_bins_singly)(s->x, y, w, 0, h / 2, h, scale);
    }
    if (!straight) {
        FN(store)(y, to, h + 1, 1, 1, 0, 1);
    }
}

/* `lines` neighbouring lines, where they begin. */
static void FN(unit)(const job *j, FN(space) * s, FN(side) * from, FN(side) * to, int lines)
{
    const eg__fft_plan *p = j->p;
    const int width = j->width, turn = j->turn;
    const T scale = (T)j->scale;
    const bool split = p->way == EG__FFT_SPLIT;
    const int64_t h = j->n / 2;
    if (j->what == COMPLEX && p->way == EG__FFT_DIRECT && p->passes) {
        FN(block)(p, s->x, s->y, from, to, lines, turn, scale);
        return;
    }
    if (j->real) { /* even and odd places are the parts */
        FN(side) *line = j->what == TO_BINS ? from : to;
        line->im = line->re + line->step;
        line->step *= 2;
    }
    if (split && (j->what == COMPLEX || (j->real && j->what == TO_BINS))) {
        const FN(side) x = {s->x, s->x + h, 1, 0, NULL};
        FN(split)(j, p, s, from, j->real ? &x : to, turn, turn, j->real ? scale / 2 : scale);
    } else {
        int64_t n = j->what == TO_REAL ? h + 1 : p->n;
        FN(load)(s->x, from, n, lines, width, j->what == TO_REAL && j->real ? 0 : turn);
        if (j->what == TO_REAL && j->real) {
            if (width == 1) {
                FN(from_bins_alone)(s->x, s->y, j->real->table, h);
            } else {
                FN(from_bins)((V *)s->x, (V *)s->y, j->real->table, h / 2, h);
            }
            T *x = s->x;
            s->x = s->y;
            s->y = x;
        } else if (j->what == TO_REAL) {
            FN(mirror)(s->x, p->n, width);
        }
        if (split && j->what == TO_REAL && j->real) {
            const FN(side) x = FN(line)(s->x, p->n);
            FN(split)(j, p, s, &x, to, 0, 1, scale);
        } else {
            FN(transform)(j, s);
        }
    }
    if (j->what == TO_BINS && j->real) {
        FN(bins)(j, s, to, lines);
    } else if (!split || (j->what != COMPLEX && !j->real)) {
        FN(store)(s->x, to, j->what == TO_BINS ? h + 1 : p->n, lines, width, turn, scale);
    }
}

/* Asks for what the next line is read from and this one written to, which it would wait for else. */
static void FN(ahead)(const FN(side) side[2])
{
    const int64_t cache_line = 64 / (int64_t)sizeof(T);
    const FN(side) *from = &side[0], *to = &side[1];
    for (int64_t k = 0; k < from->lane && from->re + from->lane + k < from->end; k += cache_line) {
        __builtin_prefetch(from->re + from->lane + k, 0);
    }
    for (int64_t k = 0; k < to->lane; k += cache_line) {
        __builtin_prefetch(to->re + k, 1);
    }
}

/* Units of the call: `width` of the lines of a group. */
static void FN(units)(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    for (int64_t slot = begin; slot < end; slot++) {
        const FN(space) own = FN(space_of)(j, slot);
        int64_t u = part_of(j->units, slot, j->slots), group = u / j->per_group, first = u % j->per_group * j->width;
        for (; u < part_of(j->units, slot + 1, j->slots); u++) {
            FN(side) side[2];
            for (int i = 0; i < 2; i++) {
                const layout *l = &j->side[i];
                T *at = (T *)l->data + group * l->group + first * l->lane;
                side[i] = (FN(side)){at, l->parts == 2 ? at + 1 : NULL, l->step, l->lane, (T *)l->end};
            }
            FN(space) s = own;
            if (j->ahead) {
                FN(ahead)(side);
            }
            FN(unit)(j, &s, &side[0], &side[1], (int)eg__min(j->width, j->lanes - first));
            first += j->width;
            if (first >= j->lanes) {
                first = 0;
                group++;
            }
        }
    }
}
