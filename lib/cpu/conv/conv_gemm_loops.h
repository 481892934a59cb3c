/* conv_gemm_loops.h - between a tensor of elements T and the matrix of its windows; conv_gemm.c
 * includes it per type, with FN to name the functions. */

/* Rows begin..end of the matrix, a few taps side by side so that both sides stay in cache. */
static void FN(gather)(void *ctx, int64_t begin, int64_t end)
{
    const block *b = ctx;
    for (int64_t r = begin; r < end; r++) {
        int64_t p[3], n = window(b, r, p);
        for (int64_t t = 0; t < b->taps; t += TAPS) {
            T *to = (T *)b->col + r * b->each * b->taps + t;
            const T *from[TAPS];
            int count = (int)eg__min(TAPS, b->taps - t);
            for (int i = 0; i < count; i++) {
                int64_t at = under(b, n, p, t + i);
                from[i] = at < 0 ? (const T *)b->zeros : (const T *)b->image + at;
            }
            for (int64_t c = 0; c < b->each; c++, to += b->taps) {
                for (int i = 0; i < count; i++) {
                    to[i] = from[i][c];
                }
            }
        }
    }
}

/* Adds to cells begin..end what the rows hold for them. */
static void FN(scatter)(void *ctx, int64_t begin, int64_t end)
{
    const block *b = ctx;
    for (int64_t i = begin; i < end; i++) {
        int64_t in[3], n = reached(b, i, in);
        T *to = (T *)b->image + cell(b, b->n0 + n, in);
        for (int64_t t = 0; t < b->taps; t++) {
            int64_t row = row_over(b, n, in, t);
            const T *from = (const T *)b->col + (row * b->each * b->taps + t);
            for (int64_t c = 0; row >= 0 && c < b->each; c++) {
                to[c] += from[c * b->taps];
            }
        }
    }
}
