/* test_cublaslt_real.c - NVIDIA's own library takes the descriptors that are made for it, which it
 * does without a device too. Skipped where it is not. */
#include <dlfcn.h>

#include "tests/egt.h"

#include "lib/cuda/matrix/blas.c"

eg_device *const *eg__host_devices;

eg_status eg__cuda_check(eg__cuda *d, const char *op, cudaError_t e, const char *what)
{
    (void)d, (void)op, (void)what;
    return e ? EG_EFAULT : EG_OK;
}

static void need_library(void)
{
    if (eg__cuda_library_open(&lt_library, "test")) {
        egt_skip("%s", eg_last_error()->message);
    }
}

EGT(descriptors)
{
    static const int dtypes[] = {EG_F32, EG_F64, EG_F16, EG_BF16};
    need_library();
    for (unsigned bits = 0; bits < 128; bits++) {
        for (int i = 0; i < 4; i++) {
            eg__gemm g = {.m = 5,
                          .n = 7,
                          .k = 11,
                          .lda = 12,
                          .ldb = 13,
                          .ldd = 14,
                          .step_a = 100,
                          .step_b = 0,
                          .step_d = 200,
                          .batch = bits & 1 ? 3 : 1,
                          .dtype = (uint8_t)dtypes[i],
                          .math = bits >> 1 & 1,
                          .a_transposed = bits >> 2 & 1,
                          .b_transposed = bits >> 3 & 1,
                          .bias = bits >> 4 & 1,
                          .relu = bits >> 5 & 1,
                          .add = bits >> 6 & 1,
                          .align_a = 4,
                          .align_b = 8,
                          .align_d = 1};
            cublasLtMatmulDescOpaque_t desc, copy;
            cublasLtMatrixLayoutOpaque_t layout;
            cublasLtMatmulPreferenceOpaque_t preference;
            const void *bias = &g;
            EGT_EQ(describe(&g, &desc), CUBLAS_STATUS_SUCCESS);
            EGT_EQ(lay_out(&g, g.dtype, &layout, g.a_transposed, g.m, g.k, g.lda, g.step_a), CUBLAS_STATUS_SUCCESS);
            EGT_EQ(prefer(&g, 1 << 20, &preference), CUBLAS_STATUS_SUCCESS);
            copy = desc; /* as a plan is */
            EGT_EQ(lt.cublasLtMatmulDescSetAttribute(&copy, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias),
                   CUBLAS_STATUS_SUCCESS);
        }
    }
}

/* What was set can be read from a copy, and the original is not changed through it. */
EGT(copies_of_descriptors)
{
    need_library();
    void *handle = dlopen(lt_library.files[0], RTLD_NOW);
    void *symbol = handle ? dlsym(handle, "cublasLtMatmulDescGetAttribute") : NULL;
    __typeof__(cublasLtMatmulDescGetAttribute) *get;
    memcpy(&get, &symbol, sizeof get);
    if (!get) {
        egt_skip("another version");
    }
    eg__gemm g = {.m = 1, .n = 1, .k = 1, .batch = 1, .a_transposed = true, .bias = true, .relu = true};
    cublasLtMatmulDescOpaque_t desc, copy;
    const void *bias = &g, *got = NULL;
    uint32_t epilogue = 0;
    int32_t second = -1;
    size_t written = 0;
    EGT_EQ(describe(&g, &desc), CUBLAS_STATUS_SUCCESS);
    copy = desc;
    EGT_EQ(lt.cublasLtMatmulDescSetAttribute(&copy, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias),
           CUBLAS_STATUS_SUCCESS);
    EGT_EQ(get(&copy, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &got, sizeof got, &written), CUBLAS_STATUS_SUCCESS);
    EGT_CHECK(got == bias && written == sizeof got);
    EGT_EQ(get(&copy, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue, &written), 0);
    EGT_EQ(epilogue, CUBLASLT_EPILOGUE_RELU_BIAS);
    EGT_EQ(get(&copy, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second, &written), 0);
    EGT_EQ(second, CUBLAS_OP_T);
    EGT_EQ(get(&desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &got, sizeof got, &written), 0);
    EGT_EQ((int64_t)(intptr_t)got, 1); /* an address aligned as the key says */
}

/* Without a device it says so, in words of its own. */
EGT(handle)
{
    need_library();
    cublasLtHandle_t h;
    cublasStatus_t e = lt.cublasLtCreate(&h);
    EGT_CHECK(!e || strlen(lt.cublasLtGetStatusString(e)) > 4);
}
