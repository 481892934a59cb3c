/* driver.c - a libcuda.so.1 without a card, for building cuDNN's plans: nothing can be begun with
 * it, but code that was compiled at run time can be "loaded" and kernels be found in it. Only a
 * program that never runs anything may find this. */
#include <stddef.h>

#define DRIVER __attribute__((visibility("default")))

enum { SUCCESS, STUB = 34 };

static long something[64]; /* what handles point to */

/* ---- what there is nothing to do for --------------------------------------------------------- */

#define NONE(X)                           \
    X(cuInit)                             \
    X(cuCtxGetCurrent)                    \
    X(cuCtxGetDevice)                     \
    X(cuCtxGetLimit)                      \
    X(cuCtxPopCurrent)                    \
    X(cuCtxPushCurrent)                   \
    X(cuDeviceGet)                        \
    X(cuDeviceGetAttribute)               \
    X(cuDeviceGetCount)                   \
    X(cuDevicePrimaryCtxRelease)          \
    X(cuDevicePrimaryCtxReset)            \
    X(cuDevicePrimaryCtxRetain)           \
    X(cuGetExportTable)                   \
    X(cuGetProcAddress)                   \
    X(cuGetProcAddress_v2)                \
    X(cuLaunchCooperativeKernel)          \
    X(cuLaunchKernel)                     \
    X(cuLaunchKernelEx)                   \
    X(cuLibraryLoadFromFile)              \
    X(cuLinkAddData)                      \
    X(cuLinkComplete)                     \
    X(cuLinkCreate)                       \
    X(cuLinkDestroy)                      \
    X(cuMemcpyDtoH_v2)                    \
    X(cuModuleGetGlobal_v2)               \
    X(cuModuleLoadFatBinary)              \
    X(cuOccupancyMaxPotentialClusterSize) \
    X(cuStreamGetCtx)                     \
    X(cuStreamSynchronize)
#define ANSWER(name)       \
    DRIVER int name(void); \
    int name(void)         \
    {                      \
        return STUB;       \
    }
NONE(ANSWER)

/* ---- loading code ---------------------------------------------------------------------------- */

#define FUNCTION(name, ...)       \
    DRIVER int name(__VA_ARGS__); \
    int name(__VA_ARGS__)

FUNCTION(cuDriverGetVersion, int *version)
{
    *version = 13000;
    return SUCCESS;
}

FUNCTION(cuGetErrorName, int error, const char **words)
{
    *words = error ? "CUDA_ERROR_STUB_LIBRARY" : "CUDA_SUCCESS";
    return SUCCESS;
}

FUNCTION(cuGetErrorString, int error, const char **words)
{
    return cuGetErrorName(error, words);
}

#define GIVES(name, ...)                       \
    FUNCTION(name, void **handle, __VA_ARGS__) \
    {                                          \
        *handle = something;                   \
        return SUCCESS;                        \
    }
GIVES(cuLibraryLoadData, const void *code, void *options, void *values, unsigned n, void *more, void *more_values,
      unsigned m)
GIVES(cuLibraryGetKernel, void *library, const char *name)
GIVES(cuLibraryGetModule, void *library)
GIVES(cuKernelGetFunction, void *kernel)
GIVES(cuModuleLoadData, const void *code)
GIVES(cuModuleGetFunction, void *module, const char *name)

#define TAKES(name, ...)        \
    FUNCTION(name, __VA_ARGS__) \
    {                           \
        return SUCCESS;         \
    }
TAKES(cuLibraryUnload, void *library)
TAKES(cuModuleUnload, void *module)
TAKES(cuFuncSetAttribute, void *function, int attribute, int value)
TAKES(cuKernelSetAttribute, int attribute, int value, void *kernel, int device)

FUNCTION(cuFuncGetAttribute, int *value, int attribute, void *function)
{
    *value = 0;
    return SUCCESS;
}

FUNCTION(cuKernelGetAttribute, int *value, int attribute, void *kernel, int device)
{
    *value = 0;
    return SUCCESS;
}
