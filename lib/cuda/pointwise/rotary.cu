/* rotary.cu - pairs of columns turned by angles, a thread each. */
#include "lib/cuda/common/element.cuh"
#include "lib/cuda/common/grid.cuh"
#include "lib/cuda/pointwise/pointwise.h"

namespace
{

template <class T>
__global__ void __launch_bounds__(EG__BLOCK) turn(const eg__elements e, int64_t y_step, int64_t x_step)
{
    const unsigned i = (unsigned)eg__self();
    if (i >= e.n) {
        return;
    }
    int64_t at[4];
    eg__offsets<4>(e, i, at);
    char *const y = e.at[0].p + at[0];
    const char *const x = e.at[1].p + at[1];
    const T a = eg__get<T>(x, e.at[1].dtype), b = eg__get<T>(x + x_step, e.at[1].dtype);
    const T cosine = *(const T *)(e.at[2].p + at[2]), sine = *(const T *)(e.at[3].p + at[3]);
    eg__put(y, e.at[0].dtype, a * cosine - b * sine);
    eg__put(y + y_step, e.at[0].dtype, a * sine + b * cosine);
}

} // namespace

cudaError_t eg__launch_rotary(int in, const eg__elements *e, int64_t y_step, int64_t x_step, cudaStream_t s)
{
    return in == EG__IN_F64 ? EG__LAUNCH(turn<double>, eg__blocks(e->n), EG__BLOCK, 0, s, *e, y_step, x_step)
                            : EG__LAUNCH(turn<float>, eg__blocks(e->n), EG__BLOCK, 0, s, *e, y_step, x_step);
}
