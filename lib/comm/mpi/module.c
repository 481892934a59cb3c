/* module.c - the module of MPI: processes as ranks. It moves bytes; what they are is the library's.
 *
 * MPI is asked again and again whether something has happened; nothing in it is waited for. A rank that has failed
 * tells the others by messages of a kind of their own. */
#define _GNU_SOURCE
#include <limits.h>
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/comm/mpi/module.h"

static const eg__mpi_host *host;

/* ---- functions of the library ---------------------------------------------------------------- */

#define FORWARD(result, name, parameters, arguments) \
    result name parameters                           \
    {                                                \
        return host->name arguments;                 \
    }
EG__MPI_HOST_FUNCTIONS(FORWARD)
#undef FORWARD

eg_status eg__fail(eg_status code, const char *op, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    eg_status st = eg__fail_list(code, op, format, args);
    va_end(args);
    return st;
}

/* ---- the end of all processes ---------------------------------------------------------------- */

enum { TAG_ALL = 1, TAG_TWO };
enum { TAG_FAILED = 1, TAG_GONE }; /* of what ranks tell */
enum { WORDS = 256 };

typedef struct processes {
    eg__transport base;
    MPI_Comm comm, news; /* news: of ranks that failed or are gone, and the end of all */
    double hurried;      /* since when somebody waits */
    bool told;           /* that this rank, or another one, has failed */
    char words[WORDS];   /* what is told, while it is on its way */
    double *gone;        /* of each rank, since when it is known to have freed its end; 0: it has not */
} processes;

static bool all_well = true; /* whether every end was orderly: then MPI, if it is ours, is ended with the process */

static eg_status failed(int code, const char *what)
{
    char words[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (code == MPI_SUCCESS) {
        return EG_OK;
    }
    MPI_Error_string(code, words, &length);
    return eg__fail(EG_EIO, "eg_comm", "MPI, %s: %s", what, words);
}

/* ---- moves ----------------------------------------------------------------------------------- */

/* Messages of a move that are under way: of rank r, what is received at 2 r and what is sent at 2 r + 1. */
typedef struct under_way {
    bool odd;      /* what came was not what was waited for: more of it may come */
    int n, *ended; /* ended, status: room for those that MPI says are */
    MPI_Request *request;
    MPI_Status *status;
} under_way;

static eg_status post(processes *p, const eg__move *m, int rank, bool send)
{
    under_way *u = m->state;
    const eg__part part = (send ? m->sent : m->received)[rank];
    const int tag = m->of_two ? TAG_TWO : TAG_ALL, n = (int)part.bytes;
    if (part.bytes > INT_MAX) {
        return eg__fail(EG_EINVAL, "eg_comm", "%lld bytes in one message", (long long)part.bytes);
    }
    if (!n) {
        return EG_OK;
    }
    MPI_Request *at = &u->request[2 * rank + send];
    return send ? failed(MPI_Isend(m->send + part.at, n, MPI_BYTE, rank, tag, p->comm, at), "sending")
                : failed(MPI_Irecv(m->receive + part.at, n, MPI_BYTE, rank, tag, p->comm, at), "receiving");
}

/* What can be taken back is; a message that has begun to arrive, or that somebody may fetch, cannot. */
static bool drop(eg__transport *t, eg__move *m)
{
    (void)t;
    under_way *u = m->state;
    bool free_memory = !u || !u->odd;
    for (int i = 0; u && i < u->n; i++) {
        if (u->request[i] != MPI_REQUEST_NULL) {
            int over = 0, taken_back = 0;
            MPI_Status status;
            MPI_Cancel(&u->request[i]);
            if (MPI_Test(&u->request[i], &over, &status) == MPI_SUCCESS && over) {
                MPI_Test_cancelled(&status, &taken_back);
            }
            free_memory = free_memory && taken_back;
            if (!over) {
                MPI_Request_free(&u->request[i]);
            }
        }
    }
    free(u);
    m->state = NULL;
    return free_memory;
}

/* To and from each rank, in an order that differs from rank to rank, so that not all ask the same one first. */
static eg_status begin(eg__transport *t, eg__move *m)
{
    processes *p = (processes *)t;
    const int me = t->rank, ranks = t->ranks, n = 2 * ranks;
    under_way *u = eg__malloc(sizeof *u + (size_t)n * (sizeof *u->request + sizeof *u->status + sizeof *u->ended));
    if (!u) {
        return eg__no_memory("eg_comm", n * (int64_t)sizeof *u->request);
    }
    u->odd = false;
    u->n = n;
    u->request = (MPI_Request *)(u + 1);
    u->status = (MPI_Status *)(u->request + n);
    u->ended = (int *)(u->status + n);
    m->state = u;
    for (int i = 0; i < n; i++) {
        u->request[i] = MPI_REQUEST_NULL;
    }
    eg_status st = EG_OK;
    for (int i = 1; i < ranks && !st; i++) {
        st = post(p, m, (me + ranks - i) % ranks, false);
    }
    for (int i = 1; i < ranks && !st; i++) {
        st = post(p, m, (me + i) % ranks, true);
    }
    return st;
}

/* What other ranks have told. */
static eg_status hear(processes *p)
{
    int came = 0;
    MPI_Status status;
    char words[WORDS] = "";
    eg_status st = failed(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, p->news, &came, &status), "listening");
    if (st || !came) {
        return st;
    }
    st = failed(MPI_Recv(words, WORDS, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, p->news, MPI_STATUS_IGNORE),
                "listening");
    words[WORDS - 1] = 0;
    if (!st && status.MPI_TAG == TAG_FAILED) {
        p->told = true;
        return eg__fail(EG_EIO, "eg_comm", "rank %d has failed: %s", status.MPI_SOURCE, words);
    }
    p->gone[status.MPI_SOURCE] = eg__seconds();
    return st;
}

/* That ranks which are gone are not waited for. What one had sent before comes first: a moment is left for it. */
static eg_status look_for_gone(const processes *p, const under_way *u)
{
    for (int i = 0; i < u->n; i++) {
        const double since = p->gone[i / 2];
        if (u->request[i] != MPI_REQUEST_NULL && since && eg__seconds() - since > 0.5) {
            return eg__fail(EG_EIO, "eg_comm", "rank %d is gone", i / 2);
        }
    }
    return EG_OK;
}

/* That what has come is what was waited for. */
static eg_status look_at(const under_way *u, const eg__move *m, int ended)
{
    for (int i = 0; i < ended; i++) {
        const int rank = u->ended[i] / 2;
        int bytes = 0;
        if (u->ended[i] % 2 == 0 &&
            (MPI_Get_count(&u->status[i], MPI_BYTE, &bytes) || bytes != m->received[rank].bytes)) {
            return eg__fail(EG_EIO, "eg_comm", "rank %d does something else: %d bytes came of it, not %lld", rank,
                            bytes, (long long)m->received[rank].bytes);
        }
    }
    return EG_OK;
}

static eg_status heard(eg__transport *t)
{
    return hear((processes *)t);
}

/* Memory of a card, where MPI says that it can be told of it. */
static uint8_t home(const eg__transport *t, uint8_t device, bool of_two)
{
    (void)t;
    (void)of_two;
#if defined MPIX_CUDA_AWARE_SUPPORT
    return strncmp(host->devices[device]->name, "cuda", 4) == 0 && MPIX_Query_cuda_support() ? device : 0;
#else
    (void)device;
    return 0;
#endif
}

static eg_status poll(eg__transport *t, eg__move *m, bool *done)
{
    processes *p = (processes *)t;
    under_way *u = m->state;
    int ended = 0;
    bool all = true;
    const int code = MPI_Testsome(u->n, u->request, &ended, u->ended, u->status);
    eg_status st =
        code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS ? look_at(u, m, ended == MPI_UNDEFINED ? 0 : ended) : EG_OK;
    st = st ? st : failed(code, "waiting");
    u->odd = st != EG_OK;
    for (int i = 0; i < u->n; i++) {
        all = all && u->request[i] == MPI_REQUEST_NULL;
    }
    st = st || all ? st : hear(p);
    st = st || all ? st : look_for_gone(p, u);
    if (!st && all) {
        free(u);
        m->state = NULL;
        *done = true;
        p->hurried = 0;
    }
    return st;
}

static int missing(eg__transport *t, const eg__move *m)
{
    const under_way *u = m->state;
    for (int i = 0; i < u->n; i++) {
        if (u->request[i] != MPI_REQUEST_NULL) {
            return i / 2;
        }
    }
    (void)t;
    return -1;
}

static void wait_change(eg__transport *t, bool hurry)
{
    processes *p = (processes *)t;
    p->hurried = eg__comm_pause(p->hurried, hurry);
}

/* Tells all others; the words stay until they have heard them, or for good. */
static void tell_all(processes *p, int tag)
{
    for (int r = 0; r < p->base.ranks; r++) {
        MPI_Request request;
        int sent = 0;
        if (r != p->base.rank && MPI_Isend(p->words, WORDS, MPI_BYTE, r, tag, p->news, &request) == MPI_SUCCESS &&
            (MPI_Test(&request, &sent, MPI_STATUS_IGNORE) != MPI_SUCCESS || !sent)) {
            MPI_Request_free(&request);
        }
    }
}

static void tell(eg__transport *t, const char *why)
{
    processes *p = (processes *)t;
    if (!p->told) {
        p->told = true;
        snprintf(p->words, sizeof p->words, "%s", why);
        tell_all(p, TAG_FAILED);
    }
}

/* ---- made and freed -------------------------------------------------------------------------- */

static void finish(void)
{
    int over = 0;
    MPI_Finalized(&over);
    if (all_well && !over) {
        MPI_Finalize();
    }
}

/* Whether all ranks have come to the end within so many seconds. */
static bool all_come(processes *p, double seconds)
{
    MPI_Request request;
    int done = 0;
    const double until = eg__seconds() + seconds;
    bool well = MPI_Ibarrier(p->news, &request) == MPI_SUCCESS;
    while (well && !done) {
        well = MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && eg__seconds() < until;
        if (well && !done) {
            hear(p); /* that others are gone is what is waited for */
            well = !p->told;
            wait_change(&p->base, true);
        }
    }
    for (int came = 1; well && came;) {
        MPI_Status status;
        well = MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, p->news, &came, &status) == MPI_SUCCESS;
        if (well && came) {
            MPI_Recv(p->words, WORDS, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, p->news, MPI_STATUS_IGNORE);
        }
    }
    return well;
}

static void close_end(eg__transport *t, bool orderly, double seconds)
{
    processes *p = (processes *)t;
    if (orderly) {
        tell_all(p, TAG_GONE);
    }
    if (!orderly || !all_come(p, seconds)) {
        all_well = false; /* what was told may be on its way: the memory stays */
        return;
    }
    MPI_Comm_free(&p->comm);
    MPI_Comm_free(&p->news);
    free(p);
}

static const eg__transport_class mpi_class = {"mpi",   begin, poll,        home, heard,
                                              missing, drop,  wait_change, tell, close_end};

/* MPI begun, by whomever. */
static eg_status begin_mpi(const char *op)
{
    int is = 0, over = 0, level = MPI_THREAD_SINGLE;
    MPI_Finalized(&over);
    MPI_Initialized(&is);
    if (over) {
        return eg__fail(EG_ESTATE, op, "MPI was ended before");
    }
    if (!is) {
        eg_status st = failed(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level), "beginning");
        if (st) {
            return st;
        }
        if (atexit(finish)) {
            all_well = false;
        }
    }
    MPI_Query_thread(&level);
    return level >= MPI_THREAD_MULTIPLE ? EG_OK : eg__fail(EG_ESTATE, op, "MPI was begun without MPI_THREAD_MULTIPLE");
}

static eg__transport *open_all(const char *op, bool *alone)
{
    int rank = 0, ranks = 1;
    MPI_Comm comm = MPI_COMM_NULL, news = MPI_COMM_NULL;
    if (begin_mpi(op)) {
        return NULL;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    *alone = ranks == 1;
    processes *p = *alone ? NULL : eg__malloc(sizeof *p + (size_t)ranks * sizeof *p->gone);
    if (!p) {
        if (!*alone) {
            eg__no_memory(op, sizeof *p);
        }
        return NULL;
    }
    if (failed(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "another communicator") ||
        failed(MPI_Comm_dup(MPI_COMM_WORLD, &news), "another communicator")) {
        free(p);
        return NULL;
    }
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(news, MPI_ERRORS_RETURN);
    *p = (processes){.comm = comm,
                     .news = news,
                     .gone = memset(p + 1, 0, (size_t)ranks * sizeof *p->gone),
                     .base = {&mpi_class, rank, ranks}};
    return &p->base;
}

__attribute__((visibility("default"))) const eg__mpi_module *eg__mpi_begin(const eg__mpi_host *of);
const eg__mpi_module *eg__mpi_begin(const eg__mpi_host *of)
{
    static const eg__mpi_module module = {sizeof(eg__mpi_host), sizeof(eg__transport_class), sizeof(eg__move),
                                          open_all};
    host = of;
    return &module;
}
