/* transpose.c - copies whose source runs along another axis than their target: in square tiles of a cache
 * line, read whole, turned in a buffer, written whole. */
#include "lib/cpu/pointwise/convert.h"
#include "lib/cpu/common/stream.h"

typedef struct plan {
    const eg__iter *it;
    int along;             /* the source's contiguous axis; the target's is the last */
    int64_t strips, width; /* pieces of the axis `along`; elements in each */
    bool stream;
} plan;

typedef void tile_fn(const char *x, int64_t sx, char *y, int64_t sy, int64_t columns, int64_t rows, bool stream);

/* Tiles from..from+rows of the source's axis along the whole of the target's, at one place of the others:
 * a few tiles wide, as memory likes to be read. */
static void strip(const plan *p, int64_t outer, int64_t from, int64_t rows, int64_t side, tile_fn *tile)
{
    const eg__iter *it = p->it;
    int last = it->ndim - 1;
    char *y = it->ptr[0];
    const char *x = it->ptr[1];
    for (int d = last - 1; d >= 0; d--) {
        if (d != p->along) {
            y += outer % it->shape[d] * it->strides[0][d];
            x += outer % it->shape[d] * it->strides[1][d];
            outer /= it->shape[d];
        }
    }
    int64_t sy = it->strides[0][p->along], sx = it->strides[1][last];
    y += from * sy;
    x += from * it->strides[1][p->along];
    int64_t next = it->strides[1][p->along];
    for (int64_t j = 0; j < it->shape[last]; j += side) {
        for (int64_t i = 0; i < rows; i += side) {
            tile(x + j * sx + i * next, sx, y + j * it->strides[0][last] + i * sy, sy,
                 eg__min(side, it->shape[last] - j), eg__min(side, rows - i), p->stream);
        }
    }
}

/* Whether all lines of a large target begin where lines of the cache do. */
static bool streams(const eg__iter *it, int64_t bytes)
{
    uintptr_t odd = (uintptr_t)it->ptr[0];
    for (int d = 0; d < it->ndim - 1; d++) {
        odd |= (uintptr_t)it->strides[0][d];
    }
    return it->n * bytes > EG__STREAM_BYTES && odd % 64 == 0;
}

#define TEMPLATE "lib/cpu/index/transpose_tiles.h"
#include "lib/cpu/common/by_words.h"

bool ISA(eg__transpose_copy)(const eg__iter *it, int64_t bytes)
{
    static eg__range_fn *const runs[9] = {[1] = strips_8, [2] = strips_16, [4] = strips_32, [8] = strips_64};
    int last = it->ndim - 1;
    plan p = {.it = it, .along = -1, .width = 256 / bytes, .stream = streams(it, bytes)};
    for (int d = 0; d < last; d++) {
        p.along = it->strides[1][d] == bytes ? d : p.along;
    }
    if (p.along < 0 || it->strides[0][last] != bytes || it->strides[1][last] == bytes || it->shape[last] < 4 ||
        it->shape[p.along] < 4) {
        return false;
    }
    int64_t others = it->n / it->shape[last] / it->shape[p.along];
    while (p.width > 64 / bytes && others * it->shape[p.along] < eg_threads() * p.width) {
        p.width /= 2;
    }
    p.strips = (it->shape[p.along] + p.width - 1) / p.width;
    eg__parallel(others * p.strips, eg__max(1, EG__GRAIN / (p.width * it->shape[last])), runs[bytes], &p);
    return true;
}
