/* scan_loops.h - running sums and products of elements T, accumulated as A and written as Y; scan.c
 * includes it per element type, with FN to name the functions and LOAD(element), its value. */

/* `width` lines side by side, of elements sx and sy bytes apart; times: a constant, products in
 * place of sums. */
static EG__INLINE void FN(scan_lines)(const eg__lines *l, bool times, int64_t width, const char *x, int64_t sx, char *y,
                                      int64_t sy, A *acc)
{
    for (int64_t i = 0; i < l->n; i++, x += l->step[1], y += l->step[0]) {
        for (int64_t k = 0; k < width; k++) {
            const A v = (A)LOAD(*(const T *)(x + k * sx));
            acc[k] = times ? acc[k] * v : acc[k] + v;
            *(Y *)(y + k * sy) = (Y)acc[k];
        }
    }
}

static EG__INLINE void FN(scan)(const eg__lines *l, bool times, int64_t cols, char *const *ptr, const int64_t *across)
{
    const int64_t sx = across[1], sy = across[0];
    const bool dense = sx == sizeof(T) && sy == sizeof(Y);
    const int64_t most = dense ? COLS : CHAINS;
    _Alignas(64) A acc[COLS];
    for (int64_t c = 0; c < cols; c += most) {
        const int64_t n = eg__min(most, cols - c);
        const char *x = ptr[1] + c * sx;
        char *y = ptr[0] + c * sy;
        for (int64_t k = 0; k < n; k++) {
            acc[k] = times ? 1 : 0;
        }
        if (dense) {
            FN(scan_lines)(l, times, n, x, sizeof(T), y, sizeof(Y), acc);
        } else if (n == CHAINS) { /* known counts keep the chains in registers */
            FN(scan_lines)(l, times, CHAINS, x, sx, y, sy, acc);
        } else if (n == 1) {
            FN(scan_lines)(l, times, 1, x, sx, y, sy, acc);
        } else {
            FN(scan_lines)(l, times, n, x, sx, y, sy, acc);
        }
    }
}

static void FN(sum)(const eg__lines *l, int64_t cols, char *const *ptr, const int64_t *across)
{
    FN(scan)(l, false, cols, ptr, across);
}

static void FN(prod)(const eg__lines *l, int64_t cols, char *const *ptr, const int64_t *across)
{
    FN(scan)(l, true, cols, ptr, across);
}
