/* module.h - where the library and the module of MPI meet. */
#ifndef EGRET_COMM_MPI_MODULE_H
#define EGRET_COMM_MPI_MODULE_H

#include <stdarg.h>

#include "lib/comm/comm.h"

/* X(result, name, parameters, arguments): internal functions of the library under their own names on both sides. */
#define EG__MPI_HOST_FUNCTIONS(X)                                                                   \
    X(void *, eg__malloc, (size_t bytes), (bytes))                                                  \
    X(eg_status, eg__fail_list, (eg_status code, const char *op, const char *format, va_list args), \
      (code, op, format, args))                                                                     \
    X(eg_status, eg__no_memory, (const char *op, int64_t bytes), (op, bytes))                       \
    X(double, eg__comm_pause, (double since, bool hurry), (since, hurry))                           \
    X(double, eg__seconds, (void), ())

typedef struct eg__mpi_host {
    eg_device *const *devices;
#define EG__MEMBER(result, name, parameters, arguments) result(*name) parameters;
    EG__MPI_HOST_FUNCTIONS(EG__MEMBER)
#undef EG__MEMBER
} eg__mpi_host;

/* What the module gives; the sizes tell a module of another build. */
typedef struct eg__mpi_module {
    size_t host_size, transport_size, move_size;
    /* An end of all processes; *alone: there is only this one. NULL and not alone: a failure. */
    eg__transport *(*open)(const char *op, bool *alone);
} eg__mpi_module;

typedef const eg__mpi_module *eg__mpi_start(const eg__mpi_host *host);

#endif
