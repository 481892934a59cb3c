/* library.c - opening NVIDIA's libraries. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/cuda/runtime/library.h"
#include "lib/core/environment.h"

#ifdef EG_OPEN_LIBRARY /* what stands in for them has a loader of its own */
void *EG_OPEN_LIBRARY(const char *path);
#define OPEN(path) EG_OPEN_LIBRARY(path)
#else
#define OPEN(path) dlopen(path, RTLD_NOW | RTLD_LOCAL)
#endif

static const char usual[] = "/usr/local/cuda/lib64";

/* A file of the folder or, without one, of the loader's choice. */
static void *open_in(const char *folder, const char *below, const char *file)
{
    char path[4096];
    if (!folder) {
        return OPEN(file);
    }
    int n = snprintf(path, sizeof path, "%s%s/%s", folder, below, file);
    return n > 0 && n < (int)sizeof path ? OPEN(path) : NULL;
}

static void *open_file(const char *file)
{
    const char *given = eg__getenv("EGRET_CUDA_PATH");
    void *handle = NULL;
    if (given && *given) {
        handle = open_in(given, "", file);
        handle = handle ? handle : open_in(given, "/lib64", file);
        handle = handle ? handle : open_in(given, "/lib", file);
    }
    handle = handle ? handle : open_in(NULL, "", file);
    return handle ? handle : open_in(usual, "", file);
}

static eg_status missing(const eg__library *l, const char *op)
{
    const char *given = eg__getenv("EGRET_CUDA_PATH"), *also = l->files[1];
    return eg__fail(EG_ENOKERNEL, op,
                    "needs %s, but there is no %s%s%s where the loader looks, in %s or in the "
                    "folder that EGRET_CUDA_PATH names (%s)",
                    l->title, l->files[0], also ? " or " : "", also ? also : "", usual,
                    given && *given ? given : "not set");
}

eg_status eg__cuda_library_open(eg__library *l, const char *op)
{
    return eg__library_open_by(l, op, open_file, missing);
}
