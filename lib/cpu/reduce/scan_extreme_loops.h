/* scan_extreme_loops.h - running maxima and minima of elements T, compared as A; scan_extreme.c
 * includes it per element type, with FN to name the functions, LOAD(v), the value of one, and
 * STORE(v), its element. */

/* Of equal ones the last, and NaN for good; lowest: a constant, minima. */
static EG__INLINE void FN(extremes)(const eg__lines *l, bool lowest, int64_t cols, char *const *ptr,
                                    const int64_t *across)
{
    const bool dense = across[2] == sizeof(T) && across[0] == sizeof(T);
    const int64_t most = dense ? COLS : CHAINS;
    A best[COLS];
    int64_t place[COLS];
    for (int64_t c = 0; c < cols; c += most) {
        const int64_t n = eg__min(most, cols - c);
        char *y = ptr[0] + c * across[0], *p = ptr[1] + c * across[1];
        const char *x = ptr[2] + c * across[2];
        for (int64_t k = 0; k < n; k++) {
            best[k] = (A)LOAD(*(const T *)(x + k * across[2]));
            place[k] = 0;
        }
        for (int64_t i = 0; i < l->n; i++) {
            for (int64_t k = 0; k < n; k++) {
                const A v = (A)LOAD(*(const T *)(x + k * across[2]));
                const bool beyond = lowest ? v <= best[k] : v >= best[k];
                const bool take = NAN_IN(v) | (!NAN_IN(best[k]) & beyond);
                best[k] = take ? v : best[k];
                place[k] = take ? i : place[k];
                *(T *)(y + k * across[0]) = (T)STORE(best[k]);
                *(int64_t *)(p + k * across[1]) = place[k];
            }
            y += l->step[0];
            p += l->step[1];
            x += l->step[2];
        }
    }
}

static void FN(cummax)(const eg__lines *l, int64_t cols, char *const *ptr, const int64_t *across)
{
    FN(extremes)(l, false, cols, ptr, across);
}

static void FN(cummin)(const eg__lines *l, int64_t cols, char *const *ptr, const int64_t *across)
{
    FN(extremes)(l, true, cols, ptr, across);
}
