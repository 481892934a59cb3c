/* module.h - where tests of the module run: most on any CUDA device, emulated or real, some on an emulated one
 * alone, whose fake runtime they reach by FAKE(eg_fake_read)(). They skip what is not there. */
#ifndef EGRET_TESTS_CUDA_MODULE_H
#define EGRET_TESTS_CUDA_MODULE_H

#include <dlfcn.h>

#include "tools/emulator/fake.h"
#include "tests/egt.h"

/* Whether devices are emulated. */
static inline bool faked(void)
{
    return getenv("EGRET_CUDA_MODULE") != NULL;
}

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

/* The device with this number: an emulated one, or one of the machine where EGT_DEVICE asks for it. */
static inline eg_device *cuda(int index)
{
    const char *asked = getenv("EGT_DEVICE");
    if (!faked() && !(asked && strstr(asked, "cuda"))) {
        egt_skip("no emulated device here");
    }
    if (index && index >= eg_cuda_count()) {
        egt_skip("only %d devices here", eg_cuda_count());
    }
    eg_device *d = eg_cuda(index);
    if (!d) {
        egt_fail(__FILE__, __LINE__, "no device %d", index);
    }
    return d;
}

/* An emulated one. */
static inline eg_device *emulated(int index)
{
    fake_symbol("eg_fake_read");
    return cuda(index);
}

#endif
