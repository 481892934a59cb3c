/* matmul_int.cu - matrix products of integers, which wrap, and of bools, or over and: a thread for each element. */
#include "lib/cuda/common/grid.cuh"
#include "lib/cuda/matrix/matmul_int.h"

namespace
{

/* Elements are of type T, a sum of S. */
template <class T, class S, bool LOGIC> __global__ void __launch_bounds__(EG__BLOCK) product(const eg__int_product p)
{
    const int64_t i = eg__self();
    if (i >= p.elements) {
        return;
    }
    int64_t rest = eg__divide(i, p.n), row = rest;
    rest = eg__divide(rest, p.m);
    const T *a = (const T *)p.a + (row - rest * p.m.d) * p.ra;
    const T *b = (const T *)p.b + (i - row * p.n.d) * p.cb;
    for (int d = 0; d < p.nbatch; d++) {
        const int64_t next = eg__divide(rest, p.batch[d]), at = rest - next * p.batch[d].d;
        a += at * p.sa[d];
        b += at * p.sb[d];
        rest = next;
    }
    S sum = 0;
    for (int64_t l = 0; l < p.k; l++) {
        const S x = a[l * p.ca], y = b[l * p.rb];
        sum = LOGIC ? (S)(sum | (x && y)) : (S)(sum + x * y);
    }
    ((T *)p.y)[i] = (T)sum;
}

} // namespace

cudaError_t eg__launch_matmul_int(const eg__int_product *k, cudaStream_t s)
{
    const unsigned grid = eg__blocks(k->elements);
    switch (k->dtype) {
    case EG_I64:
        return EG__LAUNCH((product<uint64_t, uint64_t, false>), grid, EG__BLOCK, 0, s, *k);
    case EG_I32:
        return EG__LAUNCH((product<uint32_t, uint32_t, false>), grid, EG__BLOCK, 0, s, *k);
    case EG_U8:
        return EG__LAUNCH((product<uint8_t, uint32_t, false>), grid, EG__BLOCK, 0, s, *k);
    default:
        return EG__LAUNCH((product<uint8_t, uint32_t, true>), grid, EG__BLOCK, 0, s, *k);
    }
}
