/* library.c - opening other people's libraries. */
#define _GNU_SOURCE
#include "lib/core/library.h"

#include <dlfcn.h>
#include <link.h>

#include "lib/core/subsystem.h"

/* Of a library's functions. The loader has locks of its own, and may run anything while it opens one. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void around_fork(eg__fork when)
{
    eg__fork_lock(&lock, when);
}

EG__SUBSYSTEM_OF_CORE(.order = EG__ORDER_LIBRARIES, .fork = around_fork)

/* Of the program, which comes first: whether it names a loader. */
static int names_loader(struct dl_phdr_info *program, size_t size, void *yes)
{
    (void)size;
    for (int i = 0; i < program->dlpi_phnum; i++) {
        *(bool *)yes = *(bool *)yes || program->dlpi_phdr[i].p_type == PT_INTERP;
    }
    return 1;
}

static bool is_static(void)
{
    bool has_loader = false;
    dl_iterate_phdr(names_loader, &has_loader);
    return !has_loader;
}

void *eg__shared_open(const char *file, int flags)
{
    return is_static() ? NULL : dlopen(file, RTLD_NOW | flags);
}

const char *eg__shared_error(void)
{
    const char *words = is_static() ? "a statically linked program cannot load shared libraries" : dlerror();
    return words ? words : "no reason given";
}

static eg_status look_up(eg__library *l, const char *op, void *handle, const char *file)
{
    void *found[EG__LIBRARY_MOST];
    for (int i = 0; i < l->nnames; i++) {
        found[i] = dlsym(handle, l->names[i]);
        if (!found[i]) {
            return eg__fail(EG_ENOKERNEL, op, "%s (%s) has no %s: another version is needed", l->title, file,
                            l->names[i]);
        }
    }
    pthread_mutex_lock(&lock);
    if (!atomic_load(&l->open)) {
        memcpy(l->functions, found, (size_t)l->nnames * sizeof *found);
        atomic_store(&l->open, true);
    }
    pthread_mutex_unlock(&lock);
    return EG_OK;
}

eg_status eg__library_open_by(eg__library *l, const char *op, eg__library_open_file *open_file,
                              eg__library_missing *missing)
{
    void *handle = NULL;
    int i = 0;
    if (likely(atomic_load_explicit(&l->open, memory_order_acquire))) {
        return EG_OK;
    }
    const double start = eg__seconds();
    for (; !handle && i < EG__COUNT(l->files) && l->files[i]; i++) {
        handle = open_file(l->files[i]);
    }
    if (!handle) {
        return missing(l, op);
    }
    eg_status st = look_up(l, op, handle, l->files[i - 1]);
    eg__took(op, l->files[i - 1], eg__seconds() - start);
    if (st) {
        dlclose(handle);
    }
    return st;
}

static void *open_file(const char *file)
{
    return eg__shared_open(file, RTLD_LOCAL);
}

static eg_status missing(const eg__library *l, const char *op)
{
    return eg__fail(EG_ENOKERNEL, op, "needs %s: %s; Debian's package is %s", l->title, eg__shared_error(), l->package);
}

eg_status eg__library_open(eg__library *l, const char *op)
{
    return eg__library_open_by(l, op, open_file, missing);
}
