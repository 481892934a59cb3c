/* comm.h - communicators from inside: works, which a thread of the communicator carries on, and transports, which move
 * bytes between ranks for it. */
#ifndef EGRET_COMM_INTERNAL_H
#define EGRET_COMM_INTERNAL_H

#include <pthread.h>

#include <egret/comm.h>

#include "lib/core/engine.h"

/* ---- transports ------------------------------------------------------------------------------- */

/* Bytes under way: to each rank its part of `send`, from each rank its part of `receive`. That of this rank itself is
 * passed over. */
typedef struct eg__move {
    const char *send;
    char *receive;
    eg__carrier *carrier; /* of the device whose memory it is, on which nothing is queued; NULL: the CPU's */
    const eg__part *sent, *received;
    bool of_two;    /* a message of two ranks, which is beside the others */
    int64_t number; /* of others: the same on all ranks */
    void *state;    /* the transport's, while it is under way */
} eg__move;

/* Calls come from the communicator's thread, but for `close`, which comes when that has ended. Failures are in
 * words. */
typedef struct eg__transport eg__transport;
typedef struct eg__transport_class {
    const char *name;
    eg_status (*begin)(eg__transport *t, eg__move *m);
    /* Carries it on; *done: it is over, and so is what it queued. What other ranks have told is a failure. */
    eg_status (*poll)(eg__transport *t, eg__move *m, bool *done);
    /* Where memory of the device has to lie for it: there, or on another; 0: the CPU. */
    uint8_t (*home)(const eg__transport *t, uint8_t device, bool of_two);
    /* What other ranks have told, as a failure. */
    eg_status (*heard)(eg__transport *t);
    /* A rank that it waits for, -1: it cannot be said. */
    int (*missing)(eg__transport *t, const eg__move *m);
    /* Gives it up, if it began. false: its memory may yet be read or written, and has to stay. */
    bool (*drop)(eg__transport *t, eg__move *m);
    /* Returns when something may have happened; hurry: somebody waits for it. */
    void (*wait)(eg__transport *t, bool hurry);
    /* This rank has failed: the others are told why, in words, if it was not by one of them. */
    void (*tell)(eg__transport *t, const char *why);
    /* Frees it. orderly: nothing has failed, and other ranks may be waited for, so many seconds. */
    void (*close)(eg__transport *t, bool orderly, double seconds);
} eg__transport_class;

static inline const eg__carriers *eg__carriers_of(const eg__carrier *carrier)
{
    return eg__carrier_device(carrier)->engine->carriers;
}

/* A transport's own struct begins with it. */
struct eg__transport {
    const eg__transport_class *is;
    int rank, ranks;
};

enum { EG__COMM_MOST = 1024 }; /* ranks of one process */
/* Ranks of this process: rank 0's, and another one's, which is taken then. */
eg__transport *eg__comm_local(const char *op, int ranks);
eg__transport *eg__comm_local_other(const char *op, eg__transport *t, int rank);

/* All processes that MPI has started; *alone: there is only this one. NULL and not alone: a failure. */
eg__transport *eg__comm_mpi(const char *op, bool *alone);

/* Ranks whose cards have joined a group: memory of the carrier's device goes from card to card, all else by way of
 * `over`, or, if that is NULL, by way of the cards too. Takes over and group; NULL: words, and they are the caller's.
 */
eg__transport *eg__comm_cards(const char *op, eg__transport *over, eg__carrier *carrier, void *group, int rank,
                              int ranks);

/* For whom asks again and again: at once while somebody waits, but not for long, as others may need the processor.
 * since: when that began, 0: nobody waits; gives what it is from now on. */
double eg__comm_pause(double since, bool hurry);

/* ---- works ------------------------------------------------------------------------------------ */

typedef enum eg__work_kind {
    EG__WORK_ALL_REDUCE,
    EG__WORK_BROADCAST,
    EG__WORK_ALL_GATHER,
    EG__WORK_REDUCE_SCATTER,
    EG__WORK_ALL_TO_ALL,
    EG__WORK_BARRIER,
    EG__WORK_SEND,
    EG__WORK_RECEIVE,
} eg__work_kind;

struct eg_work {
    eg_work *next;
    eg_comm *comm;
    const char *op;
    eg__work_kind kind;
    eg_comm_reduction how;
    int peer;
    eg_dtype dtype;
    int64_t count; /* elements of a rank: of a part, where there is one for each */
    /* Elements that go out, and where others come in: the same where it is done in place. NULL: there are none. */
    const char *from;
    char *to;
    eg__carrier *carrier; /* of the device whose memory that is; NULL: the CPU's */
    eg_event *ready;      /* that memory is the work's from then on; NULL: it is */
    eg_tensor *own[2];    /* what of it is a copy */
    eg_tensor *y;         /* kept, as those of x are: a result beside them */
    eg_tensor **x;
    int n;
    bool writes_x;
    /* under way */
    int64_t finished; /* elements of a rank that have come through */
    int64_t piece;    /* and those that are on their way */
    int stage;        /* of the piece */
    eg_tensor *sums;  /* room for all ranks' elements, to be added up */
    char *parts;
    eg__part *sent, *received;
    eg__move move;
    bool seen;          /* by the profile */
    bool planned;       /* the move, which waits for the device */
    bool moving, stays; /* stays: somebody may yet read or write its memory, for as long as the process lives */
    double deadline;
    _Atomic bool done;
    eg_error error; /* code EG_OK: it has succeeded */
};

struct eg_comm {
    eg__transport *transport; /* NULL: alone */
    int rank, ranks;
    double timeout;
    uint32_t forks;
    int64_t moves; /* of all ranks */
    pthread_mutex_t lock;
    pthread_cond_t come, gone; /* a work; the end of one */
    pthread_t thread;
    bool running, ending;
    int waiting;
    double hurried;                           /* since when somebody waits for a device */
    eg_work *first;                           /* under way, in order */
    eg__carrier *carrier[2][EG__MAX_DEVICES]; /* of all ranks; of two, which must not wait behind those */
    eg_error broken;                          /* code EG_OK: it is whole */
};

/* One with this transport, which it takes; NULL: of a single rank. */
eg_comm *eg__comm_made(const char *op, eg__transport *t, double timeout);
/* Seconds that are given, or those of who gives none. */
eg_status eg__comm_timeout(const char *op, double given, double *timeout);
/* Makes memory that is not in anybody's scope, n elements on a device; NULL: words. */
eg_tensor *eg__work_memory(uint8_t device, int64_t n, eg_dtype dtype);
/* The device whose memory a work's is. */
static inline uint8_t eg__work_home(const eg_work *w)
{
    return w->carrier ? eg__carrier_device(w->carrier)->id : 0;
}
/* The communicator's carrier of a device's memory, opened at first use; NULL: words. */
eg__carrier *eg__comm_carrier(eg_comm *c, uint8_t device, bool of_two, const char *op);
/* Begins one whose description is complete: in line for the communicator's thread, or done at once by a rank alone. On
 * failure it is the caller's. */
eg_status eg__work_begin(eg_work *w);
/* Carries it on; *done: it is over. In the communicator's thread. */
eg_status eg__work_step(eg_work *w, bool *done);
/* That nothing has failed, and no fork took the thread. */
eg_status eg__comm_check(const eg_comm *c, const char *op);
eg_status eg__comm_line_up(eg_work *w);
/* Waits for it; its failure is on record. */
eg_status eg__comm_wait(eg_work *w);
static inline bool eg__work_of_two(const eg_work *w)
{
    return w->kind >= EG__WORK_SEND;
}

/* out[i] becomes the sum, mean or maximum of element i at parts, parts + apart bytes, ..., in this order. */
void eg__comm_reduce(eg_dtype dtype, eg_comm_reduction how, int ranks, const char *parts, int64_t apart, int64_t count,
                     char *out);

#endif
