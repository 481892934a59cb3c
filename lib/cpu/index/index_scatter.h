/* index_scatter.h - putting elements T; index.c includes it per type, with FN to name the
 * functions. */

/* What a becomes when b is put there. */
static EG__INLINE T FN(joined)(join j, T a, T b)
{
    switch (j) {
    case ADD:
        return (T)(a + b);
    case MUL:
        return (T)(a * b);
    case MAX: /* NaN if either is: only b can be seen to be one, a stays anyway */
        return b > a || (NAN_IN(b) && !NAN_IN(a)) ? b : a;
    case MIN:
        return b < a || (NAN_IN(b) && !NAN_IN(a)) ? b : a;
    default:
        return b;
    }
}

/* j: a constant; ptr: index, source, y's element 0 of the axis; ctx: bytes between elements of the
 * axis */
static EG__INLINE void FN(scatter)(join j, void *ctx, int64_t n, char *const *ptr, const int64_t *s)
{
    const int64_t step = *(const int64_t *)ctx;
    if (s[0] == 8 && s[1] == sizeof(T) && s[2] == 0 && step == sizeof(T)) {
        const int64_t *index = (const int64_t *)ptr[0];
        for (int64_t i = 0; i < n; i++) {
            T *to = (T *)ptr[2] + index[i];
            const T v = ((const T *)ptr[1])[i];
            *to = FN(joined)(j, *to, v);
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        T *to = (T *)(ptr[2] + i * s[2] + *(const int64_t *)(ptr[0] + i * s[0]) * step);
        const T v = *(const T *)(ptr[1] + i * s[1]);
        *to = FN(joined)(j, *to, v);
    }
}
