/* blas.c - cuBLASLt: its functions, a handle per card, and plans.
 *
 * cuBLASLt's matrices lie column by column, ours row by row, so what it is asked for is the
 * transposed product: d^T = b^T a^T, where its first matrix is our b and its columns are our rows.
 */
#include "lib/cuda/matrix/blas.h"
#include "lib/cuda/runtime/library.h"

/* ---- the library ----------------------------------------------------------------------------- */

#define FUNCTIONS(X)                         \
    X(cublasLtCreate)                        \
    X(cublasLtGetStatusString)               \
    X(cublasLtMatmul)                        \
    X(cublasLtMatmulAlgoGetHeuristic)        \
    X(cublasLtMatmulDescInit_internal)       \
    X(cublasLtMatmulDescSetAttribute)        \
    X(cublasLtMatmulPreferenceInit_internal) \
    X(cublasLtMatmulPreferenceSetAttribute)  \
    X(cublasLtMatrixLayoutInit_internal)     \
    X(cublasLtMatrixLayoutSetAttribute)

EG__LIBRARY(lt, FUNCTIONS, .title = "cuBLASLt", .files = {"libcublasLt.so.13", "libcublasLt.so.12"});

static eg_status failed(const eg__call *c, cublasStatus_t e, const char *what)
{
    eg__cuda *d = eg__cuda_at(c->device);
    eg_status st = eg__cuda_check(d, c->op->name, cudaGetLastError(), what);
    if (st) {
        return st;
    }
    if (e == CUBLAS_STATUS_ALLOC_FAILED) {
        return eg__fail(EG_ENOMEM, c->op->name, "%s has no memory for cuBLASLt (%s)", d->device->name, what);
    }
    return eg__fail(e == CUBLAS_STATUS_NOT_SUPPORTED ? EG_ENOKERNEL : EG_EFAULT, c->op->name, "%s: cuBLASLt: %s: %s",
                    d->device->name, what, lt.cublasLtGetStatusString(e));
}

/* The card's handle. It stays until the process ends: at its end the library may be gone before us.
 */
static eg_status handle_of(const eg__call *c, uint8_t ordinal, cublasLtHandle_t *h)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static cublasLtHandle_t handles[UINT8_MAX + 1];
    eg_status st = eg__cuda_library_open(&lt_library, c->op->name);
    if (st) {
        return st;
    }
    pthread_mutex_lock(&lock);
    cublasStatus_t e = handles[ordinal] ? CUBLAS_STATUS_SUCCESS : lt.cublasLtCreate(&handles[ordinal]);
    if (e) {
        handles[ordinal] = NULL;
        st = failed(c, e, "starting");
    }
    *h = handles[ordinal];
    pthread_mutex_unlock(&lock);
    return st;
}

/* ---- plans kept: a table of sets, in each the plans used last -------------------------------- */

enum { SETS = 256, WAYS = 8, WORDS = sizeof(eg__gemm) / sizeof(uint64_t) };
_Static_assert(sizeof(eg__gemm) == 88, "a key has no padding");

typedef struct kept {
    uint64_t hash; /* 0: empty */
    uint64_t used;
    eg__gemm key;
    eg__gemm_plan plan;
} kept;

static struct {
    pthread_mutex_t lock;
    uint64_t clock;
    kept set[SETS][WAYS];
} plans = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t hash_of(const eg__gemm *g)
{
    uint64_t word[WORDS], h = 0;
    memcpy(word, g, sizeof word);
    for (int i = 0; i < WORDS; i++) {
        h = (h ^ word[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h | 1;
}

static bool holds(const kept *k, uint64_t hash, const eg__gemm *g)
{
    return k->hash == hash && !memcmp(&k->key, g, sizeof *g);
}

/* Its place, or the one to put it in. Under the lock. */
static kept *place_of(uint64_t hash, const eg__gemm *g)
{
    kept *set = plans.set[(hash >> 32) % SETS], *oldest = set;
    for (int i = 0; i < WAYS; i++) {
        if (holds(&set[i], hash, g)) {
            return &set[i];
        }
        oldest = set[i].used < oldest->used ? &set[i] : oldest;
    }
    return oldest;
}

static bool look_up(uint64_t hash, const eg__gemm *g, eg__gemm_plan *p)
{
    pthread_mutex_lock(&plans.lock);
    kept *k = place_of(hash, g);
    bool found = holds(k, hash, g);
    if (found) {
        k->used = ++plans.clock;
        *p = k->plan;
    }
    pthread_mutex_unlock(&plans.lock);
    return found;
}

static void keep(uint64_t hash, const eg__gemm *g, const eg__gemm_plan *p)
{
    pthread_mutex_lock(&plans.lock);
    kept *k = place_of(hash, g);
    *k = (kept){hash, ++plans.clock, *g, *p};
    pthread_mutex_unlock(&plans.lock);
}

/* ---- making a plan --------------------------------------------------------------------------- */

static cudaDataType_t type_of(int dtype)
{
    return dtype == EG_F64 ? CUDA_R_64F : dtype == EG_F32 ? CUDA_R_32F : dtype == EG_F16 ? CUDA_R_16F : CUDA_R_16BF;
}

static cublasComputeType_t compute_of(const eg__gemm *g)
{
    return g->dtype == EG_F64                              ? CUBLAS_COMPUTE_64F
           : g->dtype == EG_F32 && g->math == EG_MATH_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                           : CUBLAS_COMPUTE_32F;
}

/* The first failure of several calls. */
#define TRY(call) e = e ? e : (call)

/* Algorithms are chosen for the alignment of the bias too, by an address that is not read. */
static cublasStatus_t describe(const eg__gemm *g, cublasLtMatmulDescOpaque_t *desc)
{
    const uintptr_t bias = g->bias ? (uintptr_t)1 << g->align_d : 0;
    const int32_t first = g->b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const int32_t second = g->a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const uint32_t epilogue = g->bias   ? g->relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS
                              : g->relu ? CUBLASLT_EPILOGUE_RELU
                                        : CUBLASLT_EPILOGUE_DEFAULT;
    cublasStatus_t e = lt.cublasLtMatmulDescInit_internal(desc, sizeof *desc, compute_of(g),
                                                          g->dtype == EG_F64 ? CUDA_R_64F : CUDA_R_32F);
    TRY(lt.cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first));
    TRY(lt.cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second));
    TRY(lt.cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    TRY(lt.cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
    return e;
}

/* Of our rows x columns that lie row by row, or column by column. */
static cublasStatus_t lay_out(const eg__gemm *g, int dtype, cublasLtMatrixLayoutOpaque_t *l, bool transposed,
                              int64_t rows, int64_t columns, int64_t ld, int64_t step)
{
    cublasStatus_t e =
        lt.cublasLtMatrixLayoutInit_internal(l, sizeof *l, type_of(dtype), (uint64_t)(transposed ? rows : columns),
                                             (uint64_t)(transposed ? columns : rows), ld);
    if (g->batch > 1) {
        TRY(lt.cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &g->batch, sizeof g->batch));
        TRY(lt.cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step));
    }
    return e;
}

/* As NVIDIA recommends: more on Hopper. */
static eg_status most_workspace(const eg__call *c, uint64_t *bytes)
{
    eg__cuda *d = eg__cuda_at(c->device);
    int major = 0;
    eg_status st =
        eg__cuda_check(d, c->op->name, cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, d->ordinal),
                       "its capability");
    *bytes = (uint64_t)(major == 9 ? 32 : 4) << 20;
    return st;
}

/* Partial sums of a split product are added in the type they were computed in, in one order:
 * results do not depend on which came first, and halves are not rounded in between. */
static cublasStatus_t prefer(const eg__gemm *g, uint64_t workspace, cublasLtMatmulPreferenceOpaque_t *p)
{
    static const cublasLtMatmulPreferenceAttributes_t align[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    const uint32_t bytes[] = {1u << g->align_b, 1u << g->align_a, 1u << g->align_d, 1u << g->align_d};
    const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    cublasStatus_t e = lt.cublasLtMatmulPreferenceInit_internal(p, sizeof *p);
    TRY(lt.cublasLtMatmulPreferenceSetAttribute(p, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                                sizeof workspace));
    TRY(lt.cublasLtMatmulPreferenceSetAttribute(p, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions,
                                                sizeof reductions));
    for (int i = 0; i < EG__COUNT(align); i++) {
        TRY(lt.cublasLtMatmulPreferenceSetAttribute(p, align[i], &bytes[i], sizeof bytes[i]));
    }
    return e;
}

static eg_status make(const eg__call *c, const eg__gemm *g, eg__gemm_plan *p)
{
    enum { ASKED = 8 };
    cublasLtMatmulPreferenceOpaque_t preference;
    cublasLtMatmulHeuristicResult_t result[ASKED];
    uint64_t workspace;
    int results = 0;
    memset(p, 0, sizeof *p);
    eg_status st = handle_of(c, g->ordinal, &p->handle);
    st = st ? st : most_workspace(c, &workspace);
    if (st) {
        return st;
    }
    p->add = g->add;
    p->wide = g->dtype == EG_F64;
    p->bias = g->bias;
    cublasStatus_t e = describe(g, &p->desc);
    TRY(lay_out(g, g->dtype, &p->a, g->a_transposed, g->m, g->k, g->lda, g->step_a));
    TRY(lay_out(g, g->dtype, &p->b, g->b_transposed, g->k, g->n, g->ldb, g->step_b));
    TRY(lay_out(g, g->f32 ? EG_F32 : g->dtype, &p->d, false, g->m, g->n, g->ldd, g->step_d));
    TRY(prefer(g, workspace, &preference));
    if (e) {
        return failed(c, e, "describing a product");
    }
    e = lt.cublasLtMatmulAlgoGetHeuristic(p->handle, &p->desc, &p->b, &p->a, &p->d, &p->d, &preference, ASKED, result,
                                          &results);
    if (e && e != CUBLAS_STATUS_NOT_SUPPORTED && e != CUBLAS_STATUS_INVALID_VALUE) {
        return failed(c, e, "choosing an algorithm");
    }
    for (int i = 0; !e && i < results && !p->found; i++) {
        p->found = result[i].state == CUBLAS_STATUS_SUCCESS;
        p->algo = result[i].algo;
        p->workspace = result[i].workspaceSize;
    }
    return EG_OK;
}

eg_status eg__gemm_find(const eg__call *c, const eg__gemm *g, eg__gemm_plan *p)
{
    uint64_t hash = hash_of(g);
    if (likely(look_up(hash, g, p))) {
        return EG_OK;
    }
    eg_status st = make(c, g, p);
    if (!st) {
        keep(hash, g, p);
    }
    return st;
}

void eg__gemm_forget(const eg__gemm *g)
{
    keep(hash_of(g), g, &(eg__gemm_plan){.found = false});
}

eg_status eg__gemm_none(const eg__call *c, const eg__gemm *g)
{
    return eg__fail(EG_ENOKERNEL, c->op->name, "cuBLASLt has no algorithm for %s [%d, %lld, %lld] x [%d, %lld, %lld]",
                    eg_dtype_name((eg_dtype)g->dtype), g->batch, (long long)g->m, (long long)g->k, g->batch,
                    (long long)g->k, (long long)g->n);
}

/* ---- running it ------------------------------------------------------------------------------ */

eg_status eg__gemm_run(const eg__call *c, eg__gemm_plan *p, const void *a, const void *b, void *d, const void *bias,
                       void *workspace)
{
    static const float narrow[] = {0, 1};
    static const double wide[] = {0, 1};
    const void *zero = p->wide ? (const void *)&wide[0] : &narrow[0];
    const void *one = p->wide ? (const void *)&wide[1] : &narrow[1];
    cublasStatus_t e = CUBLAS_STATUS_SUCCESS;
    if (p->bias) {
        TRY(lt.cublasLtMatmulDescSetAttribute(&p->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
    }
    TRY(lt.cublasLtMatmul(p->handle, &p->desc, one, b, &p->b, a, &p->a, p->add ? one : zero, d, &p->d, d, &p->d,
                          &p->algo, workspace, p->workspace, eg__stream_of(c)));
    return likely(!e) ? EG_OK : failed(c, e, "a product");
}
