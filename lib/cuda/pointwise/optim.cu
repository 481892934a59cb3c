/* optim.cu - optimizers' rules over the parameters of a model in one launch, and the norm of their gradients. */
#include "lib/cuda/common/element.cuh"
#include "lib/cuda/pointwise/optim.h"

enum { THREADS = 256, WARPS = THREADS / 32, STATES = 3 };

/* A group's numbers in T. */
template <class T> struct numbers {
#define NUMBER(name, value) T name;
#define FLAG(name)          bool name;
    EG__UPDATE_NUMBERS(NUMBER) EG__UPDATE_FLAGS(FLAG)
#undef NUMBER
#undef FLAG
};

/* A launch's argument. */
template <class T, int TENSORS, int NUMBERS> struct table {
    eg__update_tensor tensor[TENSORS];
    numbers<T> group[NUMBERS];
    const double *gate;
    const eg__optim_now *now;
    double base;
    int count, groups, sets;
};

template <class T> static __host__ __device__ __forceinline__ numbers<T> numbers_of(const eg__optim_group &group)
{
    const eg__optim_group *o = &group;
    numbers<T> k;
#define NUMBER(name, value) k.name = (T)(value);
#define FLAG(name)          k.name = o->name;
    EG__UPDATE_NUMBERS(NUMBER)
    EG__UPDATE_FLAGS(FLAG)
#undef NUMBER
#undef FLAG
    return k;
}

/* ---- the rules ------------------------------------------------------------------------------------------ */

static __device__ __forceinline__ float fn_sqrt(float x)
{
    return sqrtf(x);
}
static __device__ __forceinline__ double fn_sqrt(double x)
{
    return sqrt(x);
}
static __device__ __forceinline__ float fn_fabs(float x)
{
    return fabsf(x);
}
static __device__ __forceinline__ double fn_fabs(double x)
{
    return fabs(x);
}
static __device__ __forceinline__ float fn_pow(float x, float p)
{
    return powf(x, p);
}
static __device__ __forceinline__ double fn_pow(double x, double p)
{
    return pow(x, p);
}

enum { ONE = 1, MAYBE_ONE = 1, TWO = 2, THREE = 3, ONE_MAYBE_THREE = 3 };
#define FN(name) fn_##name
#define K(name)  k.name
#define EG_UPDATE(rule, most, ...)                                                                       \
    template <class T> struct rule {                                                                     \
        enum { states = most };                                                                          \
        static __device__ __forceinline__ void step(const numbers<T> &k, T &P, T G, T &S0, T &S1, T &S2) \
        {                                                                                                \
            (void)S0, (void)S1, (void)S2;                                                                \
            __VA_ARGS__;                                                                                 \
        }                                                                                                \
    };
#include "lib/ops/updates.def"
#undef EG_UPDATE

/* ---- N elements of a parameter ---------------------------------------------------------------------------- */

static __device__ __forceinline__ int bytes_of(int dtype)
{
    return dtype == EG_F64 ? 8 : dtype == EG_F32 ? 4 : 2;
}

template <int N, class T> static __device__ __forceinline__ void get(const char *p, int dtype, int64_t i, T *v)
{
    p += i * bytes_of(dtype);
    if constexpr (N == EG__GROUP) {
        eg__get_group(p, dtype, v);
    } else {
        *v = eg__get<T>(p, dtype);
    }
}

template <int N, class T> static __device__ __forceinline__ void put(char *p, int dtype, int64_t i, const T *v)
{
    p += i * bytes_of(dtype);
    if constexpr (N == EG__GROUP) {
        eg__put_group(p, dtype, v);
    } else {
        eg__put(p, dtype, *v);
    }
}

/* The master stands for the parameter, unless that is not its rounding any more. */
template <class T> static __device__ __forceinline__ T follow(T master, T now, int dtype)
{
    const float m = (float)master;
    const float was = dtype == EG_F16 ? eg__from_f16(eg__to_f16(m)) : eg__from_bf16(eg__to_bf16(m));
    return was == (float)now ? master : now;
}

template <class R, class T, int N>
static __device__ __forceinline__ void update(const eg__update_tensor &t, const numbers<T> &k, T scale, int64_t i)
{
    constexpr int own = sizeof(T) == 8 ? EG_F64 : EG_F32;
    T x[2 + STATES][N] = {};
    get<N>(t.at[0], t.dtype, i, x[0]);
    get<N>(t.at[1], t.slope, i, x[1]);
#pragma unroll
    for (int s = 0; s < R::states; s++) {
        if (t.at[3 + s]) {
            get<N>(t.at[3 + s], own, i, x[2 + s]);
        }
    }
    if (t.at[2]) {
        T master[N];
        get<N>(t.at[2], own, i, master);
#pragma unroll
        for (int j = 0; j < N; j++) {
            x[0][j] = follow(master[j], x[0][j], t.dtype);
        }
    }
#pragma unroll
    for (int j = 0; j < N; j++) {
        T g = x[1][j] * scale;
        g = g > k.limit ? k.limit : g; /* NaN passes */
        g = g < -k.limit ? -k.limit : g;
        const bool stays = k.keep_zeros && x[0][j] == 0;
        R::step(k, x[0][j], stays ? 0 : g + k.decay * x[0][j], x[2][j], x[3][j], x[4][j]);
        x[0][j] = stays ? 0 : x[0][j];
    }
#pragma unroll
    for (int s = 0; s < R::states; s++) {
        if (t.at[3 + s]) {
            put<N>(t.at[3 + s], own, i, x[2 + s]);
        }
    }
    if (t.at[2]) {
        put<N>(t.at[2], own, i, x[0]);
    }
    put<N>(t.at[0], t.dtype, i, x[0]);
}

/* Elements begin..end by `team` threads, of which this is `me`. */
template <class R, class T>
static __device__ __forceinline__ void stretch(const eg__update_tensor &t, const numbers<T> &k, T scale, int64_t begin,
                                               int64_t end, int me, int team)
{
    if constexpr (sizeof(T) == 4) {
        if (t.grouped) {
            const int64_t whole = begin + (end - begin) / EG__GROUP * EG__GROUP;
            for (int64_t i = begin + me * EG__GROUP; i < whole; i += team * EG__GROUP) {
                update<R, T, EG__GROUP>(t, k, scale, i);
            }
            begin = whole;
        }
    }
#pragma unroll 1
    for (int64_t i = begin + me; i < end; i += team) {
        update<R, T, 1>(t, k, scale, i);
    }
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

/* Whether a row's gradient has something but zeros: asked by a warp, or by the block, together. */
template <bool BLOCK, class T>
static __device__ __forceinline__ bool moves(const eg__update_tensor &t, int64_t begin, int me)
{
    const int team = BLOCK ? THREADS : 32, size = bytes_of(t.slope);
    for (int64_t at = 0; at < t.row; at += 8 * team) {
        bool found = false;
        for (int j = 0; j < 8; j++) {
            const int64_t i = at + j * team + me;
            found |= i < t.row && eg__get<T>(t.at[1] + (begin + i) * size, t.slope) != 0;
        }
        if (BLOCK ? __syncthreads_or(found) : __any_sync(0xffffffffu, found)) {
            return true;
        }
    }
    return false;
}

/* Short rows by a warp each, longer ones by the block. */
template <class R, class T>
static __device__ __forceinline__ void rows(const eg__update_tensor &t, const numbers<T> &k, T scale, unsigned block)
{
    const int64_t most = t.n / t.row, each = t.row < EG__UPDATE_CHUNK ? EG__UPDATE_CHUNK / t.row : 1;
    const int64_t first = block * each, last = first + each < most ? first + each : most;
    const int me = (int)threadIdx.x;
    if (t.row > 1024) {
        for (int64_t r = first; r < last; r++) {
            if (moves<true, T>(t, r * t.row, me)) {
                stretch<R>(t, k, scale, r * t.row, (r + 1) * t.row, me, THREADS);
            }
        }
        return;
    }
    for (int64_t r = first + me / 32; r < last; r += WARPS) {
        if (moves<false, T>(t, r * t.row, me % 32)) {
            stretch<R>(t, k, scale, r * t.row, (r + 1) * t.row, me % 32, 32);
        }
    }
}

/* ---- all parameters ------------------------------------------------------------------------------------------ */

/* The tensor that a block belongs to: the last one that begins there or before. */
template <class A> static __device__ __forceinline__ int find(const A &a, unsigned block)
{
    int low = 0, high = a.count;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (a.tensor[middle].first <= block) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

template <template <class> class R, class T, int TENSORS, int NUMBERS>
__global__ void __launch_bounds__(THREADS, 2) step(const __grid_constant__ table<T, TENSORS, NUMBERS> a)
{
    const eg__update_tensor &t = a.tensor[find(a, blockIdx.x)];
    const unsigned block = blockIdx.x - t.first;
    int set = 0;
    T scale = 1;
    if (a.gate) {
        if (a.gate[EG__GATE_CLOSED] != 0) {
            return;
        }
        const int sets = a.now ? (int)a.now->sets : a.sets;
        set = (int)(a.gate[EG__GATE_SKIPPED] - (a.now ? a.now->base : a.base));
        set = set < sets ? set : sets - 1;
        scale = (T)a.gate[EG__GATE_SCALE];
    }
    const int which = set * a.groups + t.group;
    const numbers<T> k = a.now ? numbers_of<T>(a.now->group[which]) : a.group[which];
    scale *= k.scale;
    if (t.row) {
        rows<R<T>>(t, k, scale, block);
        return;
    }
    const int64_t begin = (int64_t)block * EG__UPDATE_CHUNK, end = begin + EG__UPDATE_CHUNK;
    stretch<R<T>>(t, k, scale, begin, end < t.n ? end : t.n, (int)threadIdx.x, THREADS);
}

template <template <class> class R, class T, int TENSORS, int NUMBERS>
static cudaError_t start(const eg__update &u, cudaStream_t s)
{
    table<T, TENSORS, NUMBERS> a;
    static_assert(sizeof a <= 32764, "arguments of a launch");
    memset(&a, 0, sizeof a);
    memcpy(a.tensor, u.tensors, (size_t)u.count * sizeof *u.tensors);
    for (int i = 0; i < u.ngroups * u.sets && !u.now; i++) {
        a.group[i] = numbers_of<T>(u.groups[i]);
    }
    a.gate = u.gate;
    a.now = u.now;
    a.base = u.base;
    a.count = u.count;
    a.groups = u.ngroups;
    a.sets = u.sets;
    return EG__LAUNCH((step<R, T, TENSORS, NUMBERS>), u.blocks, THREADS, 0, s, a);
}

template <template <class> class R> static cudaError_t start(const eg__update &u, cudaStream_t s)
{
    if (u.wide) {
        return start<R, double, EG__UPDATE_MANY, EG__OPTIM_NUMBERS>(u, s);
    }
    if (u.count <= EG__UPDATE_FEW && (u.now || u.ngroups * u.sets <= EG__UPDATE_NUMBERS_FEW)) {
        return start<R, float, EG__UPDATE_FEW, EG__UPDATE_NUMBERS_FEW>(u, s);
    }
    return start<R, float, EG__UPDATE_MANY, EG__OPTIM_NUMBERS>(u, s);
}

cudaError_t eg__launch_update(const eg__update *u, cudaStream_t s)
{
    static cudaError_t (*const starters[EG__UPDATE_RULES])(const eg__update &u, cudaStream_t s) = {
#define EG_UPDATE(name, ...) start<name>,
#include "lib/ops/updates.def"
#undef EG_UPDATE
    };
    return starters[u->rule](*u, s);
}

/* ---- norms ----------------------------------------------------------------------------------------------------- */

template <int TENSORS> struct norm_table {
    eg__norm_tensor tensor[TENSORS];
    int count;
};

/* Once NaN, the largest stays it: no comparison holds. */
static __device__ __forceinline__ double join(int p, double a, double b)
{
    return p ? a + b : b > a || b != b ? b : a;
}

static __device__ __forceinline__ double part(int p, double v)
{
    return p == 2 ? v * v : fabs(v);
}

/* Of all threads of the block, for the first. */
static __device__ __forceinline__ double join_block(int p, double sum)
{
    __shared__ double warps[WARPS];
    for (int k = 16; k; k /= 2) {
        sum = join(p, sum, __shfl_down_sync(0xffffffffu, sum, k));
    }
    if (threadIdx.x % 32 == 0) {
        warps[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < WARPS; w++) {
            sum = join(p, sum, warps[w]);
        }
    }
    return sum;
}

template <int TENSORS>
__global__ void __launch_bounds__(THREADS)
    norm_parts(const __grid_constant__ norm_table<TENSORS> a, int p, double *parts)
{
    const eg__norm_tensor &t = a.tensor[find(a, blockIdx.x)];
    const int me = (int)threadIdx.x, size = bytes_of(t.dtype);
    int64_t i = (int64_t)(blockIdx.x - t.first) * EG__NORM_CHUNK, end = i + EG__NORM_CHUNK;
    end = end < t.n ? end : t.n;
    double sum[EG__GROUP] = {};
    if (t.grouped) {
        float v[EG__GROUP];
        const int64_t whole = i + (end - i) / EG__GROUP * EG__GROUP;
#pragma unroll 2
        for (int64_t at = i + me * EG__GROUP; at < whole; at += THREADS * EG__GROUP) {
            eg__get_group(t.at + at * size, t.dtype, v);
#pragma unroll
            for (int j = 0; j < EG__GROUP; j++) {
                sum[j] = join(p, sum[j], part(p, (double)v[j]));
            }
        }
        i = whole;
    }
    for (int64_t at = i + me; at < end; at += THREADS) {
        sum[0] = join(p, sum[0], part(p, eg__get<double>(t.at + at * size, t.dtype)));
    }
#pragma unroll
    for (int j = 1; j < EG__GROUP; j++) {
        sum[0] = join(p, sum[0], sum[j]);
    }
    sum[0] = join_block(p, sum[0]);
    if (me == 0) {
        parts[blockIdx.x] = sum[0];
    }
}

template <int TENSORS>
static cudaError_t start_parts(const eg__norm_tensor *tensors, int count, unsigned blocks, int p, double *parts,
                               cudaStream_t s)
{
    norm_table<TENSORS> a;
    static_assert(sizeof a <= 32000, "arguments of a launch");
    memset(&a, 0, sizeof a);
    memcpy(a.tensor, tensors, (size_t)count * sizeof *tensors);
    a.count = count;
    return EG__LAUNCH((norm_parts<TENSORS>), blocks, THREADS, 0, s, a, p, parts);
}

cudaError_t eg__launch_norm_parts(const eg__norm_tensor *tensors, int count, unsigned blocks, int p, double *parts,
                                  cudaStream_t s)
{
    return count <= EG__NORM_FEW ? start_parts<EG__NORM_FEW>(tensors, count, blocks, p, parts, s)
                                 : start_parts<EG__NORM_MANY>(tensors, count, blocks, p, parts, s);
}

__global__ void __launch_bounds__(THREADS)
    norm_of_parts(const double *parts, int64_t n, int p, const eg__gate_rule rule, double *norm, double *gate,
                  double *scaler)
{
    double sum = 0;
#pragma unroll 4
    for (int64_t i = threadIdx.x; i < n; i += THREADS) {
        sum = join(p, sum, parts[i]);
    }
    sum = join_block(p, sum);
    if (threadIdx.x == 0) {
        sum = p == 2 ? sqrt(sum) : sum;
        if (norm) {
            *norm = sum;
        }
        if (gate) {
            eg__judge(&rule, sum, gate, scaler);
        }
    }
}

cudaError_t eg__launch_norm(const double *parts, int64_t n, int p, const eg__gate_rule *rule, double *norm,
                            double *gate, double *scaler, cudaStream_t s)
{
    return EG__LAUNCH(norm_of_parts, 1, THREADS, 0, s, parts, n, p, *rule, norm, gate, scaler);
}
