/* transpose_tiles.h - square tiles of elements T, of which only the size matters; transpose.c
 * includes it per size, with FN to name the functions. */

enum { FN(SIDE) = 64 / sizeof(T) };

/* The tile at (x, y), rows of x being columns of y; rows and columns that are there. */
static void FN(tile)(const char *x, int64_t sx, char *y, int64_t sy, int64_t columns, int64_t rows, bool stream)
{
    T in[FN(SIDE)][FN(SIDE)], out[FN(SIDE)][FN(SIDE)];
    if (columns == FN(SIDE) && rows == FN(SIDE)) {
        for (int j = 0; j < FN(SIDE); j++) {
            memcpy(in[j], x + j * sx, 64);
        }
        for (int i = 0; i < FN(SIDE); i++) {
            for (int j = 0; j < FN(SIDE); j++) {
                out[i][j] = in[j][i];
            }
        }
        for (int i = 0; i < FN(SIDE); i++) {
            if (stream) {
                eg__stream_line(y + i * sy, out[i]);
            } else {
                memcpy(y + i * sy, out[i], 64);
            }
        }
        return;
    }
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            ((T *)(y + i * sy))[j] = ((const T *)(x + j * sx))[i];
        }
    }
}

static void FN(strips)(void *ctx, int64_t begin, int64_t end)
{
    const plan *p = ctx;
    for (int64_t s = begin; s < end; s++) {
        int64_t from = s % p->strips * p->width;
        int64_t rows = eg__min(p->width, p->it->shape[p->along] - from);
        strip(p, s / p->strips, from, rows, FN(SIDE), FN(tile));
    }
    eg__stream_end();
}
