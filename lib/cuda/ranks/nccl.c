/* nccl.c - cards of several processes, or of threads, that reach each other by NCCL. Nothing here waits: communicators
 * are not blocking, and are asked. NCCL itself adds nothing up, for its order would be its own. */
#define _POSIX_C_SOURCE 200809L
#include <nccl.h>
#include <stdlib.h>
#include <time.h>

#include "lib/cuda/ranks/carrier.h"
#include "lib/cuda/runtime/library.h"

#define FUNCTIONS(X)          \
    X(ncclCommAbort)          \
    X(ncclCommDestroy)        \
    X(ncclCommFinalize)       \
    X(ncclCommGetAsyncError)  \
    X(ncclCommInitRankConfig) \
    X(ncclGetErrorString)     \
    X(ncclGetLastError)       \
    X(ncclGetUniqueId)        \
    X(ncclGroupEnd)           \
    X(ncclGroupStart)         \
    X(ncclRecv)               \
    X(ncclSend)

EG__LIBRARY(nccl, FUNCTIONS, .title = "NCCL", .files = {"libnccl.so.2"});

typedef struct group {
    eg__carrier *carrier;
    ncclComm_t comm;
    int rank, ranks;
} group;

static eg_status failed(const char *op, const group *g, ncclResult_t result, const char *what)
{
    if (result == ncclSuccess || result == ncclInProgress) {
        return EG_OK;
    }
    const char *last = nccl.ncclGetLastError(g ? g->comm : NULL);
    return eg__fail(EG_EIO, op, "NCCL, %s: %s%s%s", what, nccl.ncclGetErrorString(result), last && *last ? ": " : "",
                    last ? last : "");
}

static eg_status name_group(const char *op, eg__group_name *name)
{
    ncclUniqueId id;
    _Static_assert(sizeof id == sizeof name->bytes, "a name is NCCL's");
    eg_status st = eg__cuda_library_open(&nccl_library, op);
    st = st || !name ? st : failed(op, NULL, nccl.ncclGetUniqueId(&id), "a name");
    if (!st && name) {
        memcpy(name->bytes, &id, sizeof id);
    }
    return st;
}

static eg_status ready(void *of, bool *yes)
{
    group *g = of;
    ncclResult_t now = ncclSuccess;
    ncclResult_t result = nccl.ncclCommGetAsyncError(g->comm, &now);
    *yes = result == ncclSuccess && now == ncclSuccess;
    return failed("eg_comm", g, result ? result : now, "working");
}

static void leave(void *of, bool orderly)
{
    enum { LOOKS = 1000 };
    group *g = of;
    bool over = false;
    if (g->comm && !eg__cuda_enter(eg__cuda_of(g->carrier->device), "eg_comm_free")) {
        orderly = orderly && !failed("eg_comm_free", g, nccl.ncclCommFinalize(g->comm), "ending");
        for (int i = 0; orderly && !over && i < LOOKS; i++) {
            orderly = !ready(g, &over);
            if (!over) {
                nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
            }
        }
        if (over) {
            nccl.ncclCommDestroy(g->comm);
        } else {
            nccl.ncclCommAbort(g->comm);
        }
    }
    free(g);
}

static void *join(const char *op, eg__carrier *carrier, const eg__group_name *name, int rank, int ranks)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id;
    config.blocking = 0;
    memcpy(&id, name->bytes, sizeof id);
    group *g = eg__cuda_enter(eg__cuda_of(carrier->device), op) ? NULL : eg__malloc(sizeof *g);
    if (!g) {
        return eg__cuda_of(carrier->device)->lost ? NULL : (eg__no_memory(op, (int64_t)sizeof *g), NULL);
    }
    *g = (group){.carrier = carrier, .rank = rank, .ranks = ranks};
    if (failed(op, g, nccl.ncclCommInitRankConfig(&g->comm, ranks, id, rank, &config), "joining")) {
        leave(g, false);
        return NULL;
    }
    return g;
}

static eg_status exchange(void *of, const char *send, const eg__part *sent, char *receive, const eg__part *received)
{
    group *g = of;
    eg_status st = eg__cuda_enter(eg__cuda_of(g->carrier->device), "eg_comm");
    ncclResult_t result = st ? ncclSuccess : nccl.ncclGroupStart();
    if (st || result) {
        return st ? st : failed("eg_comm", g, result, "a group of messages");
    }
    for (int r = 0; r < g->ranks && !result; r++) {
        if (r != g->rank && received[r].bytes) {
            result = nccl.ncclRecv(receive + received[r].at, (size_t)received[r].bytes, ncclUint8, r, g->comm,
                                   g->carrier->stream);
        }
        if (r != g->rank && sent[r].bytes && !result) {
            result = nccl.ncclSend(send + sent[r].at, (size_t)sent[r].bytes, ncclUint8, r, g->comm, g->carrier->stream);
        }
    }
    const ncclResult_t end = nccl.ncclGroupEnd();
    return failed("eg_comm", g, result ? result : end, "a group of messages");
}

const eg__cards eg__cuda_cards = {name_group, join, ready, exchange, leave};
