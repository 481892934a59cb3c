/* module.h - the fake runtime inside the emulated module, as tests of the module reach it: FAKE(eg_fake_read)(). */
#ifndef EGRET_TESTS_CUDA_MODULE_H
#define EGRET_TESTS_CUDA_MODULE_H

#include <dlfcn.h>

#include "tests/cuda/fake.h"
#include "tests/egt.h"

static inline void *fake_symbol(const char *name)
{
    const char *file = getenv("EGRET_CUDA_MODULE");
    void *module = file ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *symbol = module ? dlsym(module, name) : NULL;
    if (!symbol) {
        egt_skip("no emulated device here");
    }
    return symbol;
}

#define FAKE(name) ((__typeof__(&name))fake_symbol(#name))

/* The emulated device; skips the running test where there is none. */
static inline eg_device *emulated(int index)
{
    fake_symbol("eg_fake_read");
    eg_device *d = eg_cuda(index);
    if (!d) {
        egt_fail(__FILE__, __LINE__, "no device %d", index);
    }
    return d;
}

#endif
