/* libraries.cc - NVIDIA's libraries as far as tests need them: they are part of the emulated
 * module, found under the names of files the loader would find. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/emulator/fake.h"

#include <mutex>
#include <set>
#include <string>

static std::mutex lock;
static std::set<std::string> &there(void)
{
    static std::set<std::string> *all = nullptr;
    if (!all) {
        const char *without = getenv("EG_FAKE_WITHOUT");
        all = new std::set<std::string>{"libcublasLt.so.13", "libcudnn.so.9", "libcufft.so.12", "libnccl.so.2"};
        all->erase(without ? without : "");
    }
    return *all;
}

void eg_fake_has_library(const char *file, int has)
{
    std::lock_guard<std::mutex> guard(lock);
    if (has) {
        there().insert(file);
    } else {
        there().erase(file);
    }
}

void *eg_fake_library(const char *file)
{
    std::lock_guard<std::mutex> guard(lock);
    Dl_info self;
    if (!there().count(file) || !dladdr(reinterpret_cast<void *>(eg_fake_library), &self)) {
        return nullptr;
    }
    return dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
}
