/* boxes.cu - kernels of non-maximum suppression: overlaps as bits, and what stays of them, word after word. */
#include "lib/cuda/common/grid.cuh"

#include "lib/cuda/image/boxes.h"

namespace
{

template <class T> struct box {
    T x1, y1, x2, y2, area;

    __device__ __forceinline__ box(const eg__suppressing &k, int64_t i)
    {
        const T *p = (const T *)k.boxes + 4 * k.order[i];
        x1 = p[0], y1 = p[1], x2 = p[2], y2 = p[3];
        area = (x2 - x1) * (y2 - y1);
    }

    __device__ __forceinline__ bool overlaps(const box &b, T threshold) const
    {
        const T w = (x2 < b.x2 ? x2 : b.x2) - (x1 > b.x1 ? x1 : b.x1);
        const T h = (y2 < b.y2 ? y2 : b.y2) - (y1 > b.y1 ? y1 : b.y1);
        const T both = (w > 0 ? w : 0) * (h > 0 ? h : 0);
        return both > threshold * (area + b.area - both);
    }
};

__global__ void __launch_bounds__(EG__BLOCK) begin(const eg__suppressing k)
{
    const int64_t word = eg__self(), first = word * EG__NMS_WORD;
    if (word >= k.words) {
        return;
    }
    uint64_t removed = 0;
    for (int i = 0; i < EG__NMS_WORD; i++) {
        removed |= (uint64_t)(first + i >= k.n || !k.candidate[first + i]) << i;
    }
    k.removed[word] = removed;
    if (word == 0) {
        *k.kept = 0;
    }
}

/* A word of 64 rows' masks: blockIdx.x is the word, blockIdx.y the rows. */
template <class T> __global__ void __launch_bounds__(EG__NMS_WORD) overlap(const eg__suppressing k)
{
    __shared__ T corner[5][EG__NMS_WORD];
    __shared__ int64_t class_of[EG__NMS_WORD];
    const int64_t rows = k.first + (int64_t)blockIdx.y * EG__NMS_WORD, columns = (int64_t)blockIdx.x * EG__NMS_WORD;
    const int self = threadIdx.x;
    if (columns < rows) {
        return; /* the whole block */
    }
    if (columns + self < k.n) {
        const box<T> b(k, columns + self);
        corner[0][self] = b.x1, corner[1][self] = b.y1, corner[2][self] = b.x2, corner[3][self] = b.y2;
        corner[4][self] = b.area;
        class_of[self] = k.classes ? k.classes[k.order[columns + self]] : 0;
    }
    __syncthreads();
    if (rows + self >= k.n) {
        return;
    }
    const box<T> mine(k, rows + self);
    const int64_t mine_is = k.classes ? k.classes[k.order[rows + self]] : 0;
    uint64_t bits = 0;
    box<T> b = mine;
    for (int j = columns > rows ? 0 : self + 1; j < EG__NMS_WORD && columns + j < k.n; j++) {
        b.x1 = corner[0][j], b.y1 = corner[1][j], b.x2 = corner[2][j], b.y2 = corner[3][j], b.area = corner[4][j];
        bits |= (uint64_t)(class_of[j] == mine_is && mine.overlaps(b, (T)k.threshold)) << j;
    }
    k.mask[(rows - k.first + self) * k.words + blockIdx.x] = bits;
}

/* Which boxes of this stretch stay; one block. A thread decides for 64 boxes, then all of them remove what these
 * overlap. */
__global__ void __launch_bounds__(EG__BLOCK) settle(const eg__suppressing k)
{
    __shared__ uint64_t diagonal[EG__NMS_WORD], stays;
    const int self = threadIdx.x;
    for (int64_t at = 0; at < k.count; at += EG__NMS_WORD) {
        const int64_t word = (k.first + at) / EG__NMS_WORD;
        const uint64_t *rows = k.mask + at * k.words;
        if (self < EG__NMS_WORD && at + self < k.count) {
            diagonal[self] = rows[self * k.words + word];
        }
        __syncthreads();
        if (self == 0) {
            uint64_t removed = k.removed[word], stay = 0;
            int64_t kept = *k.kept;
            for (int i = 0; i < EG__NMS_WORD && at + i < k.count && kept < k.most; i++) {
                if (!(removed >> i & 1)) {
                    stay |= (uint64_t)1 << i;
                    removed |= diagonal[i];
                    kept++;
                }
            }
            *k.kept = kept;
            stays = stay;
        }
        __syncthreads();
        if (self < EG__NMS_WORD && at + self < k.count) {
            k.keep[k.first + at + self] = stays >> self & 1;
        }
        for (int64_t v = word + 1 + self; v < k.words; v += EG__BLOCK) {
            uint64_t removed = k.removed[v];
            for (uint64_t left = stays; left; left &= left - 1) {
                removed |= rows[(__ffsll((long long)left) - 1) * k.words + v];
            }
            k.removed[v] = removed;
        }
        __syncthreads();
    }
}

} // namespace

/* ---- starting -------------------------------------------------------------------------------------- */

cudaError_t eg__launch_nms_begin(const eg__suppressing *k, cudaStream_t s)
{
    return EG__LAUNCH(begin, eg__blocks(k->words), EG__BLOCK, 0, s, *k);
}

cudaError_t eg__launch_nms_rows(const eg__suppressing *k, cudaStream_t s)
{
    const dim3 grid((unsigned)k->words, (unsigned)((k->count + EG__NMS_WORD - 1) / EG__NMS_WORD));
    cudaError_t e = k->f64 ? EG__LAUNCH((overlap<double>), grid, EG__NMS_WORD, 0, s, *k)
                           : EG__LAUNCH((overlap<float>), grid, EG__NMS_WORD, 0, s, *k);
    return e ? e : EG__LAUNCH(settle, 1, EG__BLOCK, 0, s, *k);
}
