/* unary_grad.cu - the derivatives of unary.def as kernels: dx = dy times the derivative at what was saved. */
#include "lib/cuda/common/formula.cuh"
#include "lib/cuda/common/math.cuh"
#include "lib/cuda/pointwise/pointwise.h"
#include "lib/ops/prefix.h"

#define EG_UNARY(name, params, kind, cast, f, df, saves, low, high)  \
    template <class T> struct slope_##name {                         \
        enum { inputs = 2 };                                         \
        static EG__FN T at(const T *v, T p, T q)                     \
        {                                                            \
            const T x = v[1], y = v[1]; /* what was saved: x or y */ \
            (void)x, (void)y, (void)p, (void)q;                      \
            return v[0] * (df);                                      \
        }                                                            \
    };
#include "lib/ops/unary.def"
#undef EG_UNARY

static eg__starter *const starters[EG__UNARY_COUNT][2] = {
#define EG_UNARY(name, params, kind, cast, f, df, saves, low, high) \
    {eg__start_f32<slope_##name<float>>, eg__start<slope_##name<double>, double>},
#include "lib/ops/unary.def"
#undef EG_UNARY
};

cudaError_t eg__launch_unary_grad(int row, int in, const eg__elements *e, const eg__numbers *o, cudaStream_t s)
{
    return starters[row][in](*e, *o, s);
}
