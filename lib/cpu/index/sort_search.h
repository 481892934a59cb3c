/* sort_search.h - places of elements T in sorted lines; sort.c includes it per type, with FN to
 * name the function. */

static void FN(search)(void *ctx, int64_t begin, int64_t end)
{
    const search *s = ctx;
    const bool right = s->right;
    for (int64_t i = begin; i < end; i++) {
        const T v = ((const T *)s->values)[i];
        const T *start = (const T *)s->line + i / s->each * s->n, *p = start;
        int64_t left = s->n;
        while (left > 0) {
            int64_t half = (left + 1) / 2;
            const T at = p[half - 1];
            /* NaN: always further; multiplied, for a branch would be taken at random */
            p += half * (right ? !(v < at) : !(v <= at));
            left -= half;
        }
        s->y[i] = p - start;
    }
}
