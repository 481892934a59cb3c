/* cublaslt.cc - cuBLASLt on fake devices: the functions lib/cuda/matrix/blas.c calls, with plain loops
 * behind. It holds callers to what the real one may ask for: sizes of attributes, leading
 * dimensions, the alignment that was promised, the shape an algorithm was chosen for, the
 * workspace. */
#include <stdio.h>

#include <algorithm>

#include "lib/math/half.h"
#include "tools/emulator/runtime.h"

#pragma GCC visibility push(default)
#include <cublasLt.h>
#pragma GCC visibility pop

/* ---- what is inside of opaque structs ---- */

enum : uint32_t { DESC = 0xde5c, LAYOUT = 0x1a70, PREFERENCE = 0x94ef, ALGORITHM = 0xa190 };

struct desc {
    uint32_t magic;
    cublasComputeType_t compute;
    cudaDataType_t scale;
    int32_t transposed[2];
    uint32_t epilogue;
    const void *bias;
};

struct layout {
    uint32_t magic;
    cudaDataType_t type;
    int64_t rows, columns, ld, step;
    int32_t batch;
};

struct preference {
    uint32_t magic, reductions;
    uint64_t workspace;
    uint32_t align[4]; /* of A, B, C, D */
};

struct algorithm {
    uint32_t magic, parts; /* the sum is made in that many */
    uint64_t shape, workspace;
    uint8_t align[4]; /* log2 */
    uint8_t align_bias;
};

static_assert(sizeof(desc) <= sizeof(cublasLtMatmulDescOpaque_t), "fits");
static_assert(sizeof(layout) <= sizeof(cublasLtMatrixLayoutOpaque_t), "fits");
static_assert(sizeof(preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t), "fits");
static_assert(sizeof(algorithm) <= sizeof(cublasLtMatmulAlgo_t), "fits");

template <class Inner, class Opaque> static Inner *in(Opaque *p, uint32_t magic)
{
    Inner *inner = reinterpret_cast<Inner *>(p);
    return p && inner->magic == magic ? inner : nullptr;
}

template <class Inner, class Opaque>
static cublasStatus_t begin(Opaque *p, size_t size, uint32_t magic, const Inner &from)
{
    if (size < sizeof(Opaque)) {
        return CUBLAS_STATUS_ALLOC_FAILED;
    }
    memset(p, 0, size);
    Inner inner = from;
    inner.magic = magic;
    memcpy(p, &inner, sizeof inner);
    return CUBLAS_STATUS_SUCCESS;
}

template <class T> static cublasStatus_t set(T *to, const void *from, size_t size)
{
    if (!from || size != sizeof *to) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    memcpy(to, from, sizeof *to);
    return CUBLAS_STATUS_SUCCESS;
}

/* Of the runtime's error a call begins with; injected ones are statuses already. */
static cublasStatus_t status_of(cudaError_t e)
{
    return e == cudaErrorNoDevice || e == cudaErrorInsufficientDriver ? CUBLAS_STATUS_NOT_INITIALIZED
           : int(e) > int(CUBLAS_STATUS_LICENSE_ERROR)                ? CUBLAS_STATUS_EXECUTION_FAILED
                                                                      : cublasStatus_t(e);
}

/* ---- descriptors ---- */

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t p, size_t size, cublasComputeType_t compute,
                                               cudaDataType_t scale)
{
    return begin(p, size, DESC, desc{0, compute, scale, {}, CUBLASLT_EPILOGUE_DEFAULT, nullptr});
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t p, cublasLtMatmulDescAttributes_t attribute,
                                              const void *from, size_t size)
{
    desc *d = in<desc>(p, DESC);
    if (!d) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
        return set(&d->transposed[0], from, size);
    case CUBLASLT_MATMUL_DESC_TRANSB:
        return set(&d->transposed[1], from, size);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
        return set(&d->epilogue, from, size);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
        return set(&d->bias, from, size);
    default:
        return CUBLAS_STATUS_INVALID_VALUE;
    }
}

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t p, size_t size, cudaDataType type,
                                                 uint64_t rows, uint64_t columns, int64_t ld)
{
    return begin(p, size, LAYOUT, layout{0, type, int64_t(rows), int64_t(columns), ld, 0, 1});
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t p, cublasLtMatrixLayoutAttribute_t attribute,
                                                const void *from, size_t size)
{
    layout *l = in<layout>(p, LAYOUT);
    if (!l) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
        return set(&l->batch, from, size);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
        return set(&l->step, from, size);
    default:
        return CUBLAS_STATUS_INVALID_VALUE;
    }
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t p, size_t size)
{
    return begin(p, size, PREFERENCE, preference{0, CUBLASLT_REDUCTION_SCHEME_MASK, 0, {256, 256, 256, 256}});
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void *from,
                                                    size_t size)
{
    preference *f = in<preference>(p, PREFERENCE);
    if (!f) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
        return set(&f->workspace, from, size);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
        return set(&f->reductions, from, size);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
        return set(&f->align[0], from, size);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
        return set(&f->align[1], from, size);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
        return set(&f->align[2], from, size);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
        return set(&f->align[3], from, size);
    default:
        return CUBLAS_STATUS_INVALID_VALUE;
    }
}

/* ---- choosing ---- */

struct product {
    const desc *d;
    const layout *a, *b, *c, *y;
    int64_t m, n, k;
};

static bool covers(const layout *l)
{
    return l->rows > 0 && l->columns > 0 && l->ld >= l->rows && l->batch > 0;
}

static bool epilogue_known(uint32_t e)
{
    return e == CUBLASLT_EPILOGUE_DEFAULT || e == CUBLASLT_EPILOGUE_BIAS || e == CUBLASLT_EPILOGUE_RELU ||
           e == CUBLASLT_EPILOGUE_RELU_BIAS;
}

static bool types_fit(const product &p)
{
    const cudaDataType_t t = p.a->type, y = p.y->type;
    const bool narrow = t == CUDA_R_16F || t == CUDA_R_16BF;
    if (p.b->type != t || p.c->type != y || (y != t && !(narrow && y == CUDA_R_32F))) {
        return false;
    }
    switch (p.d->compute) {
    case CUBLAS_COMPUTE_32F:
        return p.d->scale == CUDA_R_32F && (t == CUDA_R_32F || narrow);
    case CUBLAS_COMPUTE_32F_FAST_TF32:
        return p.d->scale == CUDA_R_32F && t == CUDA_R_32F;
    case CUBLAS_COMPUTE_64F:
        return p.d->scale == CUDA_R_64F && t == CUDA_R_64F;
    default:
        return false;
    }
}

/* As real ones of double precision may not, epilogues are refused where there are more than 64
 * columns: the caller must manage without. */
static bool epilogue_fits(const product &p)
{
    return p.d->epilogue == CUBLASLT_EPILOGUE_DEFAULT || p.y->type != CUDA_R_64F || p.m <= 64;
}

static cublasStatus_t read_product(cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                   cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t y, product *p)
{
    *p = product{in<desc>(d, DESC),
                 in<layout>(a, LAYOUT),
                 in<layout>(b, LAYOUT),
                 in<layout>(c, LAYOUT),
                 in<layout>(y, LAYOUT),
                 0,
                 0,
                 0};
    if (!p->d || !p->a || !p->b || !p->c || !p->y || !epilogue_known(p->d->epilogue)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    bool ta = p->d->transposed[0] != CUBLAS_OP_N, tb = p->d->transposed[1] != CUBLAS_OP_N;
    p->m = p->y->rows;
    p->n = p->y->columns;
    p->k = ta ? p->a->rows : p->a->columns;
    const int32_t batch = p->y->batch;
    if ((ta ? p->a->columns : p->a->rows) != p->m || (tb ? p->b->columns : p->b->rows) != p->k ||
        (tb ? p->b->rows : p->b->columns) != p->n || p->c->rows != p->m || p->c->columns != p->n || !covers(p->a) ||
        !covers(p->b) || !covers(p->c) || !covers(p->y) || p->a->batch != batch || p->b->batch != batch ||
        p->c->batch != batch || (batch > 1 && p->y->step < p->y->ld * (p->n - 1) + p->m)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    return types_fit(*p) && epilogue_fits(*p) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

static uint64_t shape_of(const product &p)
{
    uint64_t h = 1469598103934665603u;
    for (const layout *l : {p.a, p.b, p.c, p.y}) {
        for (int64_t v : {int64_t(l->type), l->rows, l->columns, l->ld, int64_t(l->batch), l->step}) {
            h = (h ^ uint64_t(v)) * 1099511628211u;
        }
    }
    for (int64_t v :
         {int64_t(p.d->compute), int64_t(p.d->transposed[0]), int64_t(p.d->transposed[1]), int64_t(p.d->epilogue)}) {
        h = (h ^ uint64_t(v)) * 1099511628211u;
    }
    return h;
}

/* A handle is nothing but a sign that there was a device. */
static char a_handle;

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    eg__call call("cublasLtCreate", eg__fake_device);
    if (call.error) {
        return status_of(call.error);
    }
    *handle = reinterpret_cast<cublasLtHandle_t>(&a_handle);
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return "the library was not initialized";
    case CUBLAS_STATUS_EXECUTION_FAILED:
        return "the function failed to launch on the GPU";
    default:
        return "an unsupported value or parameter was passed to the function";
    }
}

/* Log2; of an address that is not told the best is expected. */
static uint8_t align_of(const void *bias)
{
    return uint8_t(__builtin_ctz(unsigned(reinterpret_cast<uintptr_t>(bias)) | 16));
}

/* One algorithm; it makes long sums in two parts, if that is allowed. */
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                              cublasLtMatrixLayout_t y, cublasLtMatmulPreference_t preferred, int asked,
                                              cublasLtMatmulHeuristicResult_t result[], int *results)
{
    enum { LONG = 32 };
    eg__call call("cublasLtMatmulAlgoGetHeuristic", eg__fake_device);
    call.fake.counts.heuristics++;
    product p;
    const preference *f = in<preference>(preferred, PREFERENCE);
    *results = 0;
    if (call.error) {
        return status_of(call.error);
    }
    if (handle != reinterpret_cast<cublasLtHandle_t>(&a_handle) || asked < 1 || !f) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    cublasStatus_t e = read_product(d, a, b, c, y, &p);
    if (e) {
        return e;
    }
    algorithm x = {ALGORITHM, 1, shape_of(p), 0, {}, 0};
    for (int i = 0; i < 4; i++) {
        x.align[i] = uint8_t(__builtin_ctz(f->align[i]));
    }
    x.align_bias = align_of(p.d->bias);
    uint64_t part = uint64_t(p.m) * uint64_t(p.n) * uint64_t(p.y->batch) * (p.y->type == CUDA_R_64F ? 8 : 4);
    if (p.k >= LONG && f->reductions & CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE && part <= f->workspace) {
        x.parts = 2;
        x.workspace = part;
    }
    memset(&result[0], 0, sizeof result[0]);
    memcpy(&result[0].algo, &x, sizeof x);
    result[0].workspaceSize = x.workspace;
    *results = 1;
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- computing ---- */

struct work {
    desc d;
    layout a, b, y;
    algorithm x;
    int64_t m, n, k;
    double alpha, beta;
    const char *pa, *pb;
    char *py, *workspace;
};

static double load(const char *p, cudaDataType_t type, int64_t i)
{
    switch (type) {
    case CUDA_R_64F:
        return reinterpret_cast<const double *>(p)[i];
    case CUDA_R_32F:
        return double(reinterpret_cast<const float *>(p)[i]);
    case CUDA_R_16F:
        return double(eg__f16_to_f32(reinterpret_cast<const uint16_t *>(p)[i]));
    default:
        return double(eg__bf16_to_f32(reinterpret_cast<const uint16_t *>(p)[i]));
    }
}

static void store(char *p, cudaDataType_t type, int64_t i, double v)
{
    switch (type) {
    case CUDA_R_64F:
        reinterpret_cast<double *>(p)[i] = v;
        break;
    case CUDA_R_32F:
        reinterpret_cast<float *>(p)[i] = float(v);
        break;
    case CUDA_R_16F:
        reinterpret_cast<uint16_t *>(p)[i] = eg__f32_to_f16(float(v));
        break;
    default:
        reinterpret_cast<uint16_t *>(p)[i] = eg__f32_to_bf16(float(v));
    }
}

static int64_t size_of(cudaDataType_t type)
{
    return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

static float to_tf32(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    if ((bits >> 23 & 255) != 255) {
        bits = (bits + 0x1000) & ~0x1fffu;
    }
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* op(matrix) in the type that is computed in, one column of `rows` after the other. */
template <class T>
static std::vector<T> unpack(const work &w, const layout &l, const char *p, bool transposed, int64_t rows,
                             int64_t columns, int64_t batch)
{
    std::vector<T> to(size_t(rows * columns));
    for (int64_t j = 0; j < columns; j++) {
        for (int64_t i = 0; i < rows; i++) {
            int64_t at = (transposed ? i * l.ld + j : j * l.ld + i) + batch * l.step;
            T v = T(load(p, l.type, at));
            to[size_t(j * rows + i)] = w.d.compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? T(to_tf32(float(v))) : v;
        }
    }
    return to;
}

template <class T>
static void add_up(const work &w, const std::vector<T> &a, const std::vector<T> &b, int64_t from, int64_t to, T *y)
{
    std::fill(y, y + w.m * w.n, T(0));
    for (int64_t j = 0; j < w.n; j++) {
        for (int64_t l = from; l < to; l++) {
            const T v = b[size_t(j * w.k + l)], *column = &a[size_t(l * w.m)];
            for (int64_t i = 0; i < w.m; i++) {
                y[j * w.m + i] += column[i] * v;
            }
        }
    }
}

template <class T> static void compute_batch(const work &w, int64_t batch)
{
    std::vector<T> a = unpack<T>(w, w.a, w.pa, w.d.transposed[0] != CUBLAS_OP_N, w.m, w.k, batch);
    std::vector<T> b = unpack<T>(w, w.b, w.pb, w.d.transposed[1] != CUBLAS_OP_N, w.k, w.n, batch);
    std::vector<T> sum(size_t(w.m * w.n));
    T *first = reinterpret_cast<T *>(w.workspace) + batch * w.m * w.n;
    const int64_t split = w.x.parts == 2 ? w.k / 2 : 0;
    if (split) {
        add_up(w, a, b, 0, split, first);
    }
    add_up(w, a, b, split, w.k, sum.data());
    for (int64_t j = 0; j < w.n; j++) {
        for (int64_t i = 0; i < w.m; i++) {
            int64_t at = j * w.y.ld + i + batch * w.y.step;
            double v = w.alpha * double(sum[size_t(j * w.m + i)] + (split ? first[j * w.m + i] : T(0)));
            v += w.beta != 0 ? w.beta * load(w.py, w.y.type, at) : 0;
            v += w.d.epilogue & CUBLASLT_EPILOGUE_BIAS ? load(static_cast<const char *>(w.d.bias), w.y.type, i) : 0;
            v = w.d.epilogue & CUBLASLT_EPILOGUE_RELU && v < 0 ? 0 : v;
            store(w.py, w.y.type, at, v);
        }
    }
}

static void compute(void *arguments)
{
    const work &w = *static_cast<const work *>(arguments);
    for (int64_t batch = 0; batch < w.y.batch; batch++) {
        if (w.d.compute == CUBLAS_COMPUTE_64F) {
            compute_batch<double>(w, batch);
        } else {
            compute_batch<float>(w, batch);
        }
    }
}

static bool fits(const void *p, const layout *l, uint8_t align)
{
    int64_t last = (l->batch - 1) * (l->step > 0 ? l->step : 0) + l->ld * (l->columns - 1) + l->rows;
    return reinterpret_cast<uintptr_t>(p) % (uint64_t(1) << align) == 0 &&
           eg__place_of(p, size_t(last * size_of(l->type))).kind == EG__DEVICE;
}

/* What the call has to give instead of work. */
static cublasStatus_t refuse(const product &p, const algorithm *x, const void *a, const void *b, const void *c, void *y,
                             const void *workspace, size_t bytes)
{
    if (!x || x->shape != shape_of(p) || !fits(a, p.a, x->align[0]) || !fits(b, p.b, x->align[1]) ||
        !fits(c, p.c, x->align[2]) || !fits(y, p.y, x->align[3])) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    if (p.d->epilogue & CUBLASLT_EPILOGUE_BIAS &&
        eg__place_of(p.d->bias, size_t(p.m * size_of(p.y->type))).kind != EG__DEVICE) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    if (p.d->epilogue & CUBLASLT_EPILOGUE_BIAS && align_of(p.d->bias) < x->align_bias) {
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    if (x->workspace && (bytes < x->workspace || reinterpret_cast<uintptr_t>(workspace) % 256 ||
                         eg__place_of(workspace, x->workspace).kind != EG__DEVICE)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t d, const void *alpha, const void *a,
                              cublasLtMatrixLayout_t la, const void *b, cublasLtMatrixLayout_t lb, const void *beta,
                              const void *c, cublasLtMatrixLayout_t lc, void *y, cublasLtMatrixLayout_t ly,
                              const cublasLtMatmulAlgo_t *chosen, void *workspace, size_t bytes, cudaStream_t stream)
{
    product p;
    work w;
    {
        eg__call call("cublasLtMatmul", eg__fake_device);
        call.fake.counts.products++;
        if (call.error) {
            return status_of(call.error);
        }
        const algorithm *x = in<const algorithm>(chosen, ALGORITHM);
        cublasStatus_t e = handle != reinterpret_cast<cublasLtHandle_t>(&a_handle)
                               ? CUBLAS_STATUS_NOT_INITIALIZED
                               : read_product(d, la, lb, lc, ly, &p);
        e = e ? e : refuse(p, x, a, b, c, y, workspace, bytes);
        if (e) {
            return e;
        }
        w = work{*p.d,
                 *p.a,
                 *p.b,
                 *p.y,
                 *x,
                 p.m,
                 p.n,
                 p.k,
                 0,
                 0,
                 static_cast<const char *>(a),
                 static_cast<const char *>(b),
                 static_cast<char *>(y),
                 static_cast<char *>(workspace)};
    }
    bool wide = p.d->scale == CUDA_R_64F;
    w.alpha = wide ? *static_cast<const double *>(alpha) : double(*static_cast<const float *>(alpha));
    w.beta = wide ? *static_cast<const double *>(beta) : double(*static_cast<const float *>(beta));
    if (w.beta != 0 && c != y) {
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    return eg_fake_enqueue(stream, compute, &w, sizeof w) ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}
