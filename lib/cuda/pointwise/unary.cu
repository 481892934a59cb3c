/* unary.cu - the formulas of unary.def as kernels. */
#include "lib/cuda/common/formula.cuh"
#include "lib/cuda/common/math.cuh"
#include "lib/cuda/pointwise/pointwise.h"
#include "lib/ops/prefix.h"

#define EG_UNARY(name, params, kind, cast, f, df, saves, low, high) \
    template <class T> struct unary_##name {                        \
        enum { inputs = 1 };                                        \
        static EG__FN T at(const T *v, T p, T q)                    \
        {                                                           \
            const T x = v[0];                                       \
            (void)p, (void)q;                                       \
            return (T)(f);                                          \
        }                                                           \
    };
#include "lib/ops/unary.def"
#undef EG_UNARY

/* A bool has one bit: ~1 is false. */
template <class F> struct low_bit {
    enum { inputs = 1 };
    static EG__FN int64_t at(const int64_t *v, int64_t p, int64_t q)
    {
        return F::at(v, p, q) & 1;
    }
};

#define FLOAT(name)                                                                          \
    {                                                                                        \
        eg__start_f32<unary_##name<float>>, eg__start<unary_##name<double>, double>, nullptr \
    }
#define NUMBER(name)                                                                 \
    {                                                                                \
        eg__start_f32<unary_##name<float>>, eg__start<unary_##name<double>, double>, \
            eg__start<unary_##name<int64_t>, int64_t>                                \
    }
#define LIMIT(name) NUMBER(name)
#define TEST(name)  NUMBER(name)
#define BITS(name)                                                  \
    {                                                               \
        nullptr, nullptr, eg__start<unary_##name<int64_t>, int64_t> \
    }
static eg__starter *const starters[EG__UNARY_COUNT][EG__CLASSES] = {
#define EG_UNARY(name, params, kind, cast, f, df, saves, low, high) kind(name),
#include "lib/ops/unary.def"
#undef EG_UNARY
};

cudaError_t eg__launch_unary(int row, int in, const eg__elements *e, const eg__numbers *o, cudaStream_t s)
{
    if (row == EG__UNARY_bitwise_not && e->at[0].dtype == EG_BOOL) {
        return eg__start<low_bit<unary_bitwise_not<int64_t>>, int64_t>(*e, *o, s);
    }
    return starters[row][in](*e, *o, s);
}
