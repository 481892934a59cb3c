/* ranks.h - tests on several ranks: threads, or with EGT_MPI in the environment the processes that mpirun has started;
 * then only what is for so many of them is run. With EGT_NCCL threads have a CUDA device each, cuda:0 and so on, and go
 * by NCCL: "over" their communicator, or "alone". Include it first, with _DEFAULT_SOURCE. */
#ifndef EGRET_TESTS_RANKS_H
#define EGRET_TESTS_RANKS_H

#include <math.h>
#include <pthread.h>
#include <unistd.h>

#include "tests/egt.h"

enum { MOST = 8 };

typedef struct rank {
    pthread_t thread;
    eg_comm *comm;
    void (*run)(struct rank *r);
    int i, n;
    bool failed;
    char why[512];
    double value[8], timeout;
    char file[64]; /* by which they find each other */
} rank;

/* Fails the rank, not the program: checks of the harness belong to its own thread. */
#define RANK_CHECK(condition)                                                                            \
    do {                                                                                                 \
        if (!(condition) && !r->failed) {                                                                \
            r->failed = true;                                                                            \
            snprintf(r->why, sizeof r->why, "rank %d, line %d: %s (%s: %s)", r->i, __LINE__, #condition, \
                     eg_last_error()->op, eg_last_error()->message);                                     \
        }                                                                                                \
    } while (0)

static bool by_nccl(const char *how)
{
    const char *nccl = getenv("EGT_NCCL");
    return nccl && !strcmp(nccl, how);
}

/* On a device of its own. */
static void join_cards(rank *r)
{
    char name[32];
    snprintf(name, sizeof name, "cuda:%d", r->i);
    eg_device *device = eg_device_open(name);
    RANK_CHECK(device);
    if (device && by_nccl("alone") && r->n > 1) {
        r->comm = eg_comm_nccl_new(device, r->i, r->n, .timeout = r->timeout, .file = r->file);
        RANK_CHECK(r->comm);
    } else if (device) {
        RANK_CHECK(!eg_comm_use_nccl(r->comm, device));
    }
    eg_use_device(device);
}

static void *begin_rank(void *user)
{
    rank *r = user;
    if (getenv("EGT_NCCL")) {
        join_cards(r);
    }
    if (!r->failed) {
        r->run(r);
    }
    eg_comm_free(r->comm);
    eg_thread_end();
    return NULL;
}

static void on_processes(int n, double timeout, void (*run)(rank *r))
{
    const bool lost = !strcmp(getenv("EGT_MPI"), "lost"); /* a rank will be: MPI keeps memory, and cannot be ended */
    rank r = {.comm = eg_comm_mpi_new(.timeout = timeout), .n = n};
    EGT_CHECK(r.comm);
    r.i = eg_comm_rank(r.comm);
    const bool for_us = eg_comm_size(r.comm) == n;
    if (for_us) {
        run(&r);
    }
    eg_comm_free(r.comm);
    eg_clear_error();
    if (lost) {
        printf("%s\n", r.failed ? r.why : "as expected");
        fflush(stdout);
        sleep(2); /* mpirun ends the others with the first */
        _exit(r.failed);
    }
    if (r.failed) {
        egt_fail(__FILE__, __LINE__, "%s", r.why);
    }
}

/* Runs it on n ranks, whose communicators are freed. */
static void on_ranks(int n, double timeout, void (*run)(rank *r))
{
    static rank ranks[MOST];
    if (getenv("EGT_MPI")) {
        on_processes(n, timeout, run);
        return;
    }
    memset(ranks, 0, sizeof ranks);
    for (int i = 0; i < n; i++) {
        if (!by_nccl("alone") || n == 1) {
            ranks[i].comm = i ? eg_comm_other(ranks[0].comm, i) : eg_comm_threads_new(n, .timeout = timeout);
            EGT_CHECK(ranks[i].comm);
        }
        snprintf(ranks[i].file, sizeof ranks[i].file, "/tmp/egt-ranks-%d", (int)getpid());
        ranks[i].timeout = timeout;
        ranks[i].run = run;
        ranks[i].i = i;
        ranks[i].n = n;
    }
    for (int i = 0; i < n; i++) {
        EGT_EQ(pthread_create(&ranks[i].thread, NULL, begin_rank, &ranks[i]), 0);
    }
    for (int i = 0; i < n; i++) {
        pthread_join(ranks[i].thread, NULL);
    }
    for (int i = 0; i < n; i++) {
        if (ranks[i].failed) {
            egt_fail(__FILE__, __LINE__, "%s", ranks[i].why);
        }
    }
}

/* Up to 256 numbers of a shape. */
static inline eg_tensor *numbers(eg_shape shape, eg_dtype dtype, double from)
{
    double v[256];
    int64_t n = 1;
    for (int d = 0; d < shape.ndim; d++) {
        n *= shape.dim[d];
    }
    for (int64_t i = 0; i < n; i++) {
        v[i] = sin(from + 1.7 * (double)i);
    }
    return eg_from_values(shape, dtype, v);
}

/* How far apart the worst of n numbers are, of large ones relatively. */
static inline double apart(const double *a, const double *b, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++) {
        const double d = fabs(a[i] - b[i]) / (1 + fabs(b[i]));
        most = d > most || isnan(d) ? d : most;
    }
    return most;
}

#endif
