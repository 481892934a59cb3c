/* scan_recurrence.h - y[i] = a[i] y[i - 1] + b[i] along lines of elements T; scan.c includes it per
 * element type, with FN to name the functions. */

/* The operands of a line from where they begin, and their steps along it. */
typedef struct FN(chains) {
    char *y;
    const char *a, *b;
    int64_t sy, sa, sb;
} FN(chains);

static EG__INLINE void FN(recurrence_lines)(int64_t length, FN(chains) at, int64_t width, int64_t ey, int64_t ea,
                                            int64_t eb, double *acc)
{
    char *y = at.y;
    const char *a = at.a, *b = at.b;
    for (int64_t i = 0; i < length; i++, y += at.sy, a += at.sa, b += at.sb) {
        for (int64_t k = 0; k < width; k++) {
            const T add = *(const T *)(b + k * eb);
            acc[k] = i ? *(const T *)(a + k * ea) * acc[k] + add : add;
            *(T *)(y + k * ey) = (T)acc[k];
        }
    }
}

/* Reversed, all steps are negative, and the factor of a step is the one behind it. */
static void FN(recurrence)(const eg__lines *l, int64_t cols, char *const *ptr, const int64_t *across)
{
    const int64_t turn = l->reverse ? -1 : 1, far = l->reverse ? l->n - 1 : 0;
    const int64_t sy = turn * l->step[0], sa = turn * l->step[1], sb = turn * l->step[2];
    const int64_t ey = across[0], ea = across[1], eb = across[2], es = sizeof(T);
    const bool dense = ey == es && ea == es && eb == es;
    const int64_t most = dense ? COLS : CHAINS;
    _Alignas(64) double acc[COLS];
    for (int64_t c = 0; c < cols; c += most) {
        const int64_t n = eg__min(most, cols - c);
        const FN(chains) at = {
            .y = ptr[0] + c * ey + far * l->step[0],
            .a = ptr[1] + c * ea + far * l->step[1] - (l->reverse ? sa : 0),
            .b = ptr[2] + c * eb + far * l->step[2],
            .sy = sy,
            .sa = sa,
            .sb = sb,
        };
        if (dense) {
            FN(recurrence_lines)(l->n, at, n, es, es, es, acc);
        } else if (n == CHAINS) {
            FN(recurrence_lines)(l->n, at, CHAINS, ey, ea, eb, acc);
        } else {
            FN(recurrence_lines)(l->n, at, n, ey, ea, eb, acc);
        }
    }
}
