/* binary.cu - the formulas of binary.def and lerp as kernels. */
#include "lib/cuda/common/formula.cuh"
#include "lib/cuda/common/math.cuh"
#include "lib/cuda/pointwise/pointwise.h"

#define EG_BINARY(name, kind, cast, f, fi, da, db, sa, sb, al, ah, bl, bh) \
    template <class T> struct binary_##name {                              \
        enum { inputs = 2 };                                               \
        static EG__FN T at(const T *v, T, T)                               \
        {                                                                  \
            const T a = v[0], b = v[1];                                    \
            (void)a, (void)b;                                              \
            return (T)(f);                                                 \
        }                                                                  \
    };                                                                     \
    template <> struct binary_##name<int64_t> {                            \
        enum { inputs = 2 };                                               \
        static EG__FN int64_t at(const int64_t *v, int64_t, int64_t)       \
        {                                                                  \
            typedef int64_t T;                                             \
            const T a = v[0], b = v[1];                                    \
            (void)a, (void)b;                                              \
            return (T)(fi);                                                \
        }                                                                  \
    };
#include "lib/ops/binary.def"
#undef EG_BINARY

#define FLOAT(name)                                                                            \
    {                                                                                          \
        eg__start_f32<binary_##name<float>>, eg__start<binary_##name<double>, double>, nullptr \
    }
#define ARITH(name)                                                                    \
    {                                                                                  \
        eg__start_f32<binary_##name<float>>, eg__start<binary_##name<double>, double>, \
            eg__start<binary_##name<int64_t>, int64_t>                                 \
    }
#define NUMBER(name)  ARITH(name)
#define POWER(name)   ARITH(name)
#define COMPARE(name) ARITH(name)
#define BITS(name)                                                   \
    {                                                                \
        nullptr, nullptr, eg__start<binary_##name<int64_t>, int64_t> \
    }
static eg__starter *const starters[EG__BINARY_COUNT][EG__CLASSES] = {
#define EG_BINARY(name, kind, cast, f, fi, da, db, sa, sb, al, ah, bl, bh) kind(name),
#include "lib/ops/binary.def"
#undef EG_BINARY
};

cudaError_t eg__launch_binary(int row, int in, const eg__elements *e, cudaStream_t s)
{
    return starters[row][in](*e, eg__numbers{0, 0, 0, 0}, s);
}

/* ---- three tensors --------------------------------------------------------------------------------------------- */

template <class T> struct lerp {
    enum { inputs = 3 };
    static EG__FN T at(const T *v, T, T)
    {
        const T far = v[1] - v[0];
        if (!isfinite(far)) { /* that may be past the range, and the result within it */
            return (T)eg__f64_lerp(v[0], v[1], v[2]);
        }
        return v[2] < (T)0.5 ? v[0] + v[2] * far : v[1] - (1 - v[2]) * far;
    }
};

cudaError_t eg__launch_lerp(int in, const eg__elements *e, cudaStream_t s)
{
    const eg__numbers none = {0, 0, 0, 0};
    return in == EG__IN_F64 ? eg__start<lerp<double>, double>(*e, none, s) : eg__start_f32<lerp<float>>(*e, none, s);
}
