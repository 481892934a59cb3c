/* fft_bins.h - between the transform of a real line's halves and its bins, for one element type; fft_loops.h includes
 * it. */

/* Halves of a real line, its even and its odd places, are the parts of h elements z. With E and O
 * the transforms of the two, found in that of z, and w_k = e^(-2 pi i k / n), the bins of the line
 * are E_k + w_k O_k, and conj (E_k - w_k O_k) is bin h - k. Of elements a = z_k and b = z_(h - k): e is E_k, t is
 * w_k O_k, where w_k is w / half. */
#define HALVES(E, ar, ai, br, bi, wr, wi, half)           \
    const E er = (ar + br) * half, ei = (ai - bi) * half; \
    const E gr = ai + bi, gi = br - ar;                   \
    const E tr = gr * wr - gi * wi, ti = gr * wi + gi * wr;

/* Rows, or single pairs: bins k .. last, and as many behind. */
#define TO_BINS_OF(name, E)                                                                         \
    static void FN(name)(const E *z, E *y, const T *w, int64_t k, int64_t last, int64_t h, T scale) \
    {                                                                                               \
        const T half = scale / 2;                                                                   \
        for (; k <= last; k++) {                                                                    \
            const T re = w[2 * k] * half, im = w[2 * k + 1] * half;                                 \
            const E *a = z + 2 * k, *b = z + 2 * (k ? h - k : 0);                                   \
            E *to = y + 2 * k, *far = y + 2 * (h - k);                                              \
            HALVES(E, a[0], a[1], b[0], b[1], re, im, half)                                         \
            to[0] = er + tr;                                                                        \
            to[1] = ei + ti;                                                                        \
            far[0] = er - tr;                                                                       \
            far[1] = ti - ei;                                                                       \
        }                                                                                           \
    }
TO_BINS_OF(to_bins, V)
TO_BINS_OF(to_bins_singly, T)
#undef TO_BINS_OF

/* The real and the imaginary parts of pairs, in their order or from behind, and back. */
#define REAL(v)           SHUFFLE((v)[0], (v)[1], EVEN)
#define IMAGINARY(v)      SHUFFLE((v)[0], (v)[1], ODD)
#define REAL_BACK(v)      SHUFFLE((v)[1], (v)[0], EVEN_BACK)
#define IMAGINARY_BACK(v) SHUFFLE((v)[1], (v)[0], ODD_BACK)

static EG__INLINE void FN(put_pairs)(T *to, V re, V im)
{
    ((V *)to)[0] = SHUFFLE(re, im, LOW);
    ((V *)to)[1] = SHUFFLE(re, im, HIGH);
}

static EG__INLINE void FN(put_pairs_back)(T *to, V re, V im)
{
    ((V *)to)[0] = SHUFFLE(re, im, HIGH_BACK);
    ((V *)to)[1] = SHUFFLE(re, im, LOW_BACK);
}

/* Of one line that was split, its parts zr and zi, half as large; some bins from both ends at a time, those in the
 * middle rather twice than singly. */
static void FN(to_bins_split)(const T *zr, const T *zi, T *y, const T *w, int64_t h)
{
    const int64_t most = h / 2 - LANES + 1;
    y[0] = (zr[0] + zi[0]) * 2;
    y[2 * h] = (zr[0] - zi[0]) * 2;
    y[1] = y[2 * h + 1] = 0;
    for (int64_t next = 1; most > 0 && next <= h / 2; next += LANES) {
        const int64_t k = eg__min(next, most), back = h - k - LANES + 1;
        const V ar = *(const V *)(zr + k), br = *(const V *)(zr + back), ai = *(const V *)(zi + k);
        const V bi = *(const V *)(zi + back), *by = (const V *)(w + 2 * k), wr = REAL(by), wi = IMAGINARY(by);
        HALVES(V, ar, ai, SHUFFLE(br, br, BACK), SHUFFLE(bi, bi, BACK), wr, wi, 1)
        FN(put_pairs)(y + 2 * k, er + tr, ei + ti);
        FN(put_pairs_back)(y + 2 * back, er - tr, ti - ei);
    }
    for (int64_t k = 1; most <= 0 && k <= h / 2; k++) {
        T *to = y + 2 * k, *far = y + 2 * (h - k);
        HALVES(T, zr[k], zi[k], zr[h - k], zi[h - k], w[2 * k], w[2 * k + 1], 1)
        to[0] = er + tr;
        to[1] = ei + ti;
        far[0] = er - tr;
        far[1] = ti - ei;
    }
}

/* In rows, but straight to lines that lie behind each other, some bins from both ends at a time; how many of each end
 * it did. */
static int64_t FN(to_lines)(const V *z, const FN(side) * f, const T *w, int64_t h, int lines, T scale)
{
    enum { BINS = LANES / 2 };
    const T half = scale / 2;
    int64_t k = 0;
    if (f->im != f->re + 1 || f->step != 2) {
        return 0;
    }
    for (; k + BINS <= h / 2; k += BINS) {
        V near[LANES], far[LANES];
        EG__UNROLLED
        for (int i = 0; i < BINS; i++) {
            const V *a = z + 2 * (k + i), *b = z + 2 * (k + i ? h - k - i : 0);
            const T re = w[2 * (k + i)] * half, im = w[2 * (k + i) + 1] * half;
            HALVES(V, a[0], a[1], b[0], b[1], re, im, half)
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

/* The way back, E and O twice as large as they are; parts exchanged in z. */
#define WHOLE(E, ar, ai, br, bi, wr, wi)                            \
    const E er = ar + br, ei = ai - bi, dr = ar - br, di = ai + bi; \
    const E gr = dr * wr + di * wi, gi = di * wr - dr * wi;

/* Bins 0 and h have no imaginary part, whatever is there. */
#define FROM_BINS_OF(name, E)                                                   \
    static void FN(name)(const E *x, E *z, const T *w, int64_t last, int64_t h) \
    {                                                                           \
        z[0] = x[0] - x[2 * h];                                                 \
        z[1] = x[0] + x[2 * h];                                                 \
        for (int64_t k = 1; k <= last; k++) {                                   \
            const T re = w[2 * k], im = w[2 * k + 1];                           \
            const E *a = x + 2 * k, *b = x + 2 * (h - k);                       \
            E *to = z + 2 * k, *far = z + 2 * (h - k);                          \
            WHOLE(E, a[0], a[1], b[0], b[1], re, im)                            \
            far[0] = gr - ei;                                                   \
            far[1] = er + gi;                                                   \
            to[0] = ei + gr;                                                    \
            to[1] = er - gi;                                                    \
        }                                                                       \
    }
FROM_BINS_OF(from_bins, V)
FROM_BINS_OF(from_bins_singly, T)
#undef FROM_BINS_OF

static void FN(from_bins_alone)(const T *x, T *z, const T *w, int64_t h)
{
    const int64_t most = h / 2 - LANES + 1;
    FN(from_bins_singly)(x, z, w, most > 0 ? 0 : h / 2, h);
    for (int64_t next = 1; most > 0 && next <= h / 2; next += LANES) {
        const int64_t k = eg__min(next, most), back = h - k - LANES + 1;
        const V *a = (const V *)(x + 2 * k), *b = (const V *)(x + 2 * back), *by = (const V *)(w + 2 * k);
        const V ar = REAL(a), ai = IMAGINARY(a), br = REAL_BACK(b), bi = IMAGINARY_BACK(b);
        const V wr = REAL(by), wi = IMAGINARY(by);
        WHOLE(V, ar, ai, br, bi, wr, wi)
        FN(put_pairs_back)(z + 2 * back, gr - ei, er + gi);
        FN(put_pairs)(z + 2 * k, ei + gr, er - gi);
    }
}
#undef WHOLE
#undef HALVES
#undef REAL
#undef IMAGINARY
#undef REAL_BACK
#undef IMAGINARY_BACK
