/* intrinsics.h - device functions that the host does not have: atomics, loads and stores with
 * hints, bits, and mathematics. Fast versions of functions are the exact ones. */
#ifndef EGRET_EMULATOR_INTRINSICS_H
#define EGRET_EMULATOR_INTRINSICS_H

/* Atomics: threads change places at barriers only, so that plain arithmetic is atomic. */

#define EG__EMU_ATOMIC(name, T, result)          \
    static inline T name(T *at, T value)         \
    {                                            \
        T old = *at;                             \
        *at = (T)(result);                       \
        return old;                              \
    }                                            \
    static inline T name##_block(T *at, T value) \
    {                                            \
        return name(at, value);                  \
    }
#define EG__EMU_ATOMIC_INTEGER(T)                           \
    EG__EMU_ATOMIC(atomicMax, T, value > old ? value : old) \
    EG__EMU_ATOMIC(atomicMin, T, value < old ? value : old) \
    EG__EMU_ATOMIC(atomicAnd, T, old &value)                \
    EG__EMU_ATOMIC(atomicOr, T, old | value)                \
    EG__EMU_ATOMIC(atomicXor, T, old ^ value)               \
    EG__EMU_ATOMIC(atomicExch, T, value)
/* clang-format off */
EG__EMU_ATOMIC_INTEGER(int)
EG__EMU_ATOMIC_INTEGER(unsigned)
EG__EMU_ATOMIC_INTEGER(unsigned long long)
EG__EMU_ATOMIC(atomicMax, long long, value > old ? value : old)
EG__EMU_ATOMIC(atomicMin, long long, value < old ? value : old)
EG__EMU_ATOMIC(atomicExch, float, value)
EG__EMU_ATOMIC(atomicAdd, int, unsigned(old) + unsigned(value))
EG__EMU_ATOMIC(atomicAdd, unsigned, old + value)
EG__EMU_ATOMIC(atomicAdd, unsigned long long, old + value)
EG__EMU_ATOMIC(atomicAdd, float, old + value)
EG__EMU_ATOMIC(atomicAdd, double, old + value)
EG__EMU_ATOMIC(atomicSub, int, unsigned(old) - unsigned(value))
EG__EMU_ATOMIC(atomicSub, unsigned, old - value)
EG__EMU_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
/* clang-format on */

#define EG__EMU_ATOMIC_CAS(T)                             \
    static inline T atomicCAS(T *at, T expected, T value) \
    {                                                     \
        T old = *at;                                      \
        *at = old == expected ? value : old;              \
        return old;                                       \
    }
EG__EMU_ATOMIC_CAS(int)
EG__EMU_ATOMIC_CAS(unsigned)
EG__EMU_ATOMIC_CAS(unsigned short)
EG__EMU_ATOMIC_CAS(unsigned long long)

static inline void __threadfence(void) {}
static inline void __threadfence_block(void) {}
static inline void __threadfence_system(void) {}
static inline void __nanosleep(unsigned) {}

/* Loads and stores with hints for the caches. */

#define EG__EMU_LOAD(name)                                  \
    template <typename T> static inline T name(const T *at) \
    {                                                       \
        return *at;                                         \
    }
#define EG__EMU_STORE(name)                                                           \
    template <typename T> static inline void name(T *at, std::common_type_t<T> value) \
    {                                                                                 \
        *at = value;                                                                  \
    }
EG__EMU_LOAD(__ldg)
EG__EMU_LOAD(__ldca)
EG__EMU_LOAD(__ldcg)
EG__EMU_LOAD(__ldcs)
EG__EMU_LOAD(__ldcv)
EG__EMU_LOAD(__ldlu)
EG__EMU_STORE(__stcg)
EG__EMU_STORE(__stcs)
EG__EMU_STORE(__stwb)
EG__EMU_STORE(__stwt)

/* Bits. */

template <typename To, typename From> static inline To eg__emu_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "of equal size");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

/* clang-format off */
static inline unsigned __float_as_uint(float x) { return eg__emu_bits<unsigned>(x); }
static inline int __float_as_int(float x) { return eg__emu_bits<int>(x); }
static inline float __uint_as_float(unsigned x) { return eg__emu_bits<float>(x); }
static inline float __int_as_float(int x) { return eg__emu_bits<float>(x); }
static inline long long __double_as_longlong(double x) { return eg__emu_bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return eg__emu_bits<double>(x); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
/* clang-format on */

static inline unsigned __brev(unsigned x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}

static inline unsigned long long __brevll(unsigned long long x)
{
    return (unsigned long long)__brev(unsigned(x)) << 32 | __brev(unsigned(x >> 32));
}

static inline unsigned __umulhi(unsigned a, unsigned b)
{
    return unsigned(uint64_t(a) * b >> 32);
}

static inline int __mulhi(int a, int b)
{
    return int(int64_t(a) * b >> 32);
}

static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}

static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift)
{
    return unsigned((uint64_t(high) << 32 | low) << (shift & 31) >> 32);
}

static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
    return unsigned((uint64_t(high) << 32 | low) >> (shift & 31));
}

static inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector)
{
    uint64_t bytes = uint64_t(high) << 32 | low;
    unsigned result = 0;
    for (int i = 0; i < 4; i++) {
        unsigned pick = selector >> (4 * i) & 15;
        unsigned byte = unsigned(bytes >> (8 * (pick & 7))) & 255;
        result |= (pick & 8 ? (byte & 128 ? 255u : 0u) : byte) << (8 * i);
    }
    return result;
}

/* Arithmetic. Device code calls min and max of mixed types without a namespace. */

template <typename A, typename B> static inline std::common_type_t<A, B> min(A a, B b)
{
    if constexpr (std::is_floating_point_v<std::common_type_t<A, B>>) {
        return fmin(a, b);
    } else {
        std::common_type_t<A, B> x = a, y = b;
        return y < x ? y : x;
    }
}

template <typename A, typename B> static inline std::common_type_t<A, B> max(A a, B b)
{
    if constexpr (std::is_floating_point_v<std::common_type_t<A, B>>) {
        return fmax(a, b);
    } else {
        std::common_type_t<A, B> x = a, y = b;
        return x < y ? y : x;
    }
}

/* clang-format off */
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline float __frcp_rn(float a) { return 1 / a; }
static inline float __fsqrt_rn(float a) { return sqrtf(a); }
static inline float __frsqrt_rn(float a) { return float(1 / sqrt(double(a))); }
static inline float __fdividef(float a, float b) { return a / b; }
static inline float __saturatef(float a) { return a > 0 ? (a < 1 ? a : 1) : 0; }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
/* clang-format on */

/* A device's conversions saturate and make 0 of NaN, where a cast on the host is undefined. */
template <typename I> static inline I eg__emu_saturate(double x)
{
    constexpr I low = std::numeric_limits<I>::min(), high = std::numeric_limits<I>::max();
    return isnan(x) ? 0 : x <= double(low) ? low : x >= double(high) ? high : I(x);
}

/* clang-format off */
static inline int __float2int_rn(float x) { return eg__emu_saturate<int>(rint(x)); }
static inline int __float2int_rz(float x) { return eg__emu_saturate<int>(trunc(x)); }
static inline int __float2int_rd(float x) { return eg__emu_saturate<int>(floor(x)); }
static inline int __float2int_ru(float x) { return eg__emu_saturate<int>(ceil(x)); }
static inline unsigned __float2uint_rn(float x) { return eg__emu_saturate<unsigned>(rint(x)); }
static inline unsigned __float2uint_rz(float x) { return eg__emu_saturate<unsigned>(trunc(x)); }
static inline int __double2int_rn(double x) { return eg__emu_saturate<int>(rint(x)); }
static inline int __double2int_rz(double x) { return eg__emu_saturate<int>(trunc(x)); }
static inline long long __float2ll_rn(float x) { return eg__emu_saturate<long long>(rint(x)); }
static inline long long __double2ll_rn(double x) { return eg__emu_saturate<long long>(rint(x)); }
static inline float __int2float_rn(int x) { return float(x); }
static inline float __uint2float_rn(unsigned x) { return float(x); }
static inline float __double2float_rn(double x) { return float(x); }
/* clang-format on */

/* Mathematics. Names are macros because a C library may declare or have the same functions. */

static inline float eg__emu_rsqrt(float x)
{
    return float(1 / sqrt(double(x)));
}
static inline double eg__emu_rsqrt(double x)
{
    return 1 / sqrt(x);
}
static inline double eg__emu_sinpi(double x)
{
    double r = fmod(x, 2.0);
    return r == trunc(r) ? copysign(0.0, x) : sin(3.14159265358979323846 * r);
}
static inline double eg__emu_cospi(double x)
{
    double r = fabs(fmod(x, 2.0));
    return r == 0.5 || r == 1.5 ? 0.0 : cos(3.14159265358979323846 * r);
}
static inline double eg__emu_normcdf(double x)
{
    return 0.5 * erfc(-x * 0.70710678118654752440);
}

/* Halley's steps on erfc, whose relative error stays small where erf is close to 1. */
static inline double eg__emu_erfinv(double x)
{
    double a = fabs(x);
    if (!(a < 1)) {
        return a == 1 ? copysign(double(INFINITY), x) : double(NAN);
    }
    double l = log1p(-a * a), b = 4.3307467508 + l / 2;
    double y = sqrt(fmax(0.0, sqrt(b * b - l / 0.147) - b));
    for (int i = 0; i < 4; i++) {
        double error = (y < 0.5 ? erf(y) - a : (1 - a) - erfc(y)) * 0.88622692545275801365 * exp(y * y);
        y -= error / (1 + y * error);
    }
    return copysign(y, x);
}

#define rsqrtf(x)          eg__emu_rsqrt(float(x))
#define rsqrt(x)           eg__emu_rsqrt(x)
#define sinpif(x)          float(eg__emu_sinpi(x))
#define cospif(x)          float(eg__emu_cospi(x))
#define sinpi(x)           eg__emu_sinpi(x)
#define cospi(x)           eg__emu_cospi(x)
#define sincospif(x, s, c) (*(s) = sinpif(x), *(c) = cospif(x))
#define sincospi(x, s, c)  (*(s) = sinpi(x), *(c) = cospi(x))
#define erfinvf(x)         float(eg__emu_erfinv(x))
#define erfinv(x)          eg__emu_erfinv(x)
#define normcdff(x)        float(eg__emu_normcdf(x))
#define normcdf(x)         eg__emu_normcdf(x)
#define fdividef(a, b)     __fdividef(a, b)
#define __expf(x)          expf(x)
#define __exp10f(x)        exp10f(x)
#define __logf(x)          logf(x)
#define __log2f(x)         log2f(x)
#define __log10f(x)        log10f(x)
#define __sinf(x)          sinf(x)
#define __cosf(x)          cosf(x)
#define __tanf(x)          tanf(x)
#define __tanhf(x)         tanhf(x)
#define __powf(x, y)       powf(x, y)
#define __sincosf(x, s, c) sincosf(x, s, c)

#endif
