/* convert_words.h - copies and where for words T, of which only the size matters; convert.c
 * includes it per size, with FN to name the functions. */

/* ctx: whether to stream. */
static void FN(copy_row)(void *ctx, int64_t n, char *const *ptr, const int64_t *s)
{
    const int64_t size = sizeof(T);
    char *y = ptr[0];
    const char *x = ptr[1];
    if (s[0] == size && s[1] == size && ctx) {
        eg__stream(y, x, n * size);
    } else if (s[0] == size && s[1] == size) {
        memcpy(y, x, (size_t)n * sizeof(T));
    } else if (s[0] == size && ctx) {
        T block[STREAMED];
        for (int64_t i = 0; i < n; i += STREAMED) {
            int64_t k = eg__min(STREAMED, n - i);
            char *const part[2] = {(char *)block, (char *)x + i * s[1]};
            FN(copy_row)(NULL, k, part, s);
            eg__stream(y + i * s[0], block, k * s[0]);
        }
    } else if (s[0] == size && s[1] == 2 * size) { /* known, it is a shuffle */
        for (int64_t i = 0; i < n; i++) {
            ((T *)y)[i] = ((const T *)x)[2 * i];
        }
    } else if (s[0] == size && s[1] == 0) {
        const T v = *(const T *)x;
        for (int64_t i = 0; i < n; i++) {
            ((T *)y)[i] = v;
        }
    } else if (s[0] == size && s[1] == -size) {
        for (int64_t i = 0; i < n; i++) {
            ((T *)y)[i] = ((const T *)x)[-i];
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            *(T *)(y + i * s[0]) = *(const T *)(x + i * s[1]);
        }
    }
}

static void FN(where_row)(void *ctx, int64_t n, char *const *ptr, const int64_t *s)
{
    const uint8_t *c = (const uint8_t *)ptr[1];
    const T *a = (const T *)ptr[2], *b = (const T *)ptr[3];
    T *y = (T *)ptr[0];
    const int64_t size = sizeof(T);
    (void)ctx;
    if (s[0] == size && s[1] == 1 && s[2] == size && s[3] == size) {
        for (int64_t i = 0; i < n; i++) {
            const T va = a[i], vb = b[i];
            y[i] = c[i] ? va : vb;
        }
    } else if (s[0] == size && s[1] == 1 && s[2] == 0 && s[3] == size) {
        const T va = *a;
        for (int64_t i = 0; i < n; i++) {
            const T vb = b[i];
            y[i] = c[i] ? va : vb;
        }
    } else if (s[0] == size && s[1] == 1 && s[2] == size && s[3] == 0) {
        const T vb = *b;
        for (int64_t i = 0; i < n; i++) {
            const T va = a[i];
            y[i] = c[i] ? va : vb;
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            const T va = *(const T *)(ptr[2] + i * s[2]);
            const T vb = *(const T *)(ptr[3] + i * s[3]);
            *(T *)(ptr[0] + i * s[0]) = c[i * s[1]] ? va : vb;
        }
    }
}
