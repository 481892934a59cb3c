/* mpi.c - opens the module of MPI when somebody asks for it. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "lib/comm/mpi/module.h"
#include "lib/core/device.h"
#include "lib/core/memory.h"
#include "lib/core/module.h"

/* The module, which stays; NULL: words. */
static const eg__mpi_module *opened(const char *op)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const eg__mpi_module *_Atomic module;
    char why[200] = "it is of another build of Egret";
    pthread_mutex_lock(&lock);
    void *file = module ? NULL : eg__module_open("mpi", false, why, sizeof why);
    if (file) {
#define HOST(result, name, parameters, arguments) .name = name,
        static const eg__mpi_host host = {.devices = eg__devices, EG__MPI_HOST_FUNCTIONS(HOST)};
#undef HOST
        eg__mpi_start *start = NULL;
        void *symbol = dlsym(file, "eg__mpi_begin");
        memcpy(&start, &symbol, sizeof start);
        const eg__mpi_module *m = start ? start(&host) : NULL;
        if (m && m->host_size == sizeof host && m->transport_size == sizeof(eg__transport_class) &&
            m->move_size == sizeof(eg__move)) {
            module = m;
        } else {
            dlclose(file);
        }
    }
    const eg__mpi_module *m = module;
    pthread_mutex_unlock(&lock);
    return m ? m : eg__fail_null(EG_ENODEVICE, op, "no module of MPI: %s", why);
}

eg__transport *eg__comm_mpi(const char *op, bool *alone)
{
    const eg__mpi_module *m = opened(op);
    return m ? m->open(op, alone) : NULL;
}
