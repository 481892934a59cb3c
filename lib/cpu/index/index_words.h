/* index_words.h - picking elements T, of which only the size matters; index.c includes it per size,
 * with FN to name the functions. */

/* Elements index[i] up to index[end] of x, into y. */
static void FN(select)(const selection *s, const char *x, char *y, int64_t i, int64_t end)
{
    for (; i < end; i++) {
        *(T *)y = ((const T *)x)[s->index[i]];
        y += sizeof(T);
    }
}

/* ptr: y, index, x's element 0 of the axis; ctx: bytes between elements of the axis */
static void FN(gather_row)(void *ctx, int64_t n, char *const *ptr, const int64_t *s)
{
    const int64_t step = *(const int64_t *)ctx;
    if (s[0] == sizeof(T) && s[1] == 8 && s[2] == 0 && step == sizeof(T)) {
        const int64_t *index = (const int64_t *)ptr[1];
        for (int64_t i = 0; i < n; i++) {
            ((T *)ptr[0])[i] = ((const T *)ptr[2])[index[i]];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t k = *(const int64_t *)(ptr[1] + i * s[1]);
        *(T *)(ptr[0] + i * s[0]) = *(const T *)(ptr[2] + i * s[2] + k * step);
    }
}
