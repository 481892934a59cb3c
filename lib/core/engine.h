/* engine.h - what an engine is: how tensors of one kind of device are kept and computed; and what the library and a
 * module that brings an engine agree on. docs/engines.md goes through it.
 *
 * A module is a shared library, libegret-NAME, with one exported function, eg__module: given the host's functions it
 * returns the engine's. Both tables are of one build: abi and sizes are compared before anything is called. */
#ifndef EGRET_CORE_ENGINE_H
#define EGRET_CORE_ENGINE_H

#include <stdarg.h>

#include <egret/comm.h>
#include <egret/device.h>

#include "lib/core/layout.h"
#include "lib/core/library.h"
#include "lib/core/op.h"

typedef struct eg__engine eg__engine;
typedef struct eg__carrier eg__carrier;
typedef struct eg__cards eg__cards;
struct eg__capture;
struct eg__storages;

struct eg_device {
    uint8_t id; /* its place in eg__devices, and what tensors note; 0 is the CPU */
    char name[23];
    const eg__engine *engine;
    void *state; /* the engine's */
    int index;   /* of the hardware, in the engine's count */
};

/* ---- what an engine may have ------------------------------------------------------------------------ */

/* Queues of work, and places in them. */
typedef struct eg__streams {
    eg_stream *(*make)(eg_device *d);
    eg_status (*free)(eg_stream *s);
    eg_stream *(*use)(eg__thread *T, eg_stream *s);
    eg_stream *(*own)(eg__thread *T, eg_device *d);
    eg_status (*synchronize)(eg_stream *s);
    void *(*handle)(eg_stream *s);
    eg_event *(*event_make)(eg_device *d);
    eg_status (*event_free)(eg_event *e);
    eg_status (*event_record)(eg__thread *T, eg_event *e);
    eg_status (*event_wait)(eg__thread *T, eg_event *e);
    eg_status (*event_synchronize)(eg_event *e);
    eg_status (*event_elapsed)(eg_event *from, eg_event *to, double *ms);
} eg__streams;

/* The engine's streams and events begin with their device. */
struct eg_stream_head {
    eg_device *device;
};

/* Two marks on a stream, around work whose time on the device is wanted. */
typedef struct eg__timer {
    struct eg__timer *next, *outer; /* outer: the one it began in, of its thread and device */
    void *note;                     /* next, note, op, backward: the profile's */
    uint16_t op;
    bool backward;
    uint8_t device, stream;
    int64_t inner; /* ns of those that began in it, as far as they were read */
} eg__timer;

/* Times for a profile. None of these fails in words, and a capture that is under way goes on. */
typedef struct eg__timing {
    /* The device's clock now, in ns since it was restarted, waited for but not for work that is queued. */
    bool (*clock)(eg_device *d, bool restart, int64_t *ns);
    /* Marks on the thread's current stream. NULL: it is captured, or there are no marks to be had. */
    eg__timer *(*begin)(eg__thread *T, eg_device *d);
    void (*end)(eg__thread *T, eg__timer *t);
    /* 1: what lies between the marks of a timer that ended, on the device's clock; 0: the device has not come so
     * far; -1: it cannot be known. After 1 and -1 the timer is the engine's again. Calls come one at a time. */
    int (*read)(eg__timer *t, bool wait, int64_t *start, int64_t *time);
    void (*drop)(eg__timer *t);
} eg__timing;

/* Captured steps, lib/core/capture.h. */
typedef struct eg__graphs {
    eg_status (*begin)(eg__thread *T, struct eg__capture *c);
    eg_status (*end)(struct eg__capture *c);
    eg_status (*launch)(eg__thread *T, struct eg__capture *c);
    /* The op that made memory of the capture which somebody holds beside these, or -1. */
    int (*left)(struct eg__capture *c, const struct eg__storages *held);
    void (*free)(struct eg__capture *c);
    void (*pool_free)(eg_device *d, void *pool); /* of c->pool */
} eg__graphs;

/* What lib/comm needs to move memory of a device between ranks, in threads of its own: a carrier is a queue beside the
 * streams of threads. Nothing but `finish` waits for the device: what is queued is asked after. */
typedef struct eg__carriers {
    eg__carrier *(*open)(eg_device *d, const char *op);
    void (*close)(eg__carrier *carrier);
    /* The thread's current stream, as far as it is queued now, leaves the memory of t to others to be read, or written:
     * its events say when. */
    eg_status (*leave)(eg__thread *T, eg_tensor *t, bool written, const char *op);
    eg_status (*happened)(eg_event *e, bool *yes);
    /* From the memory of `of`'s device, which may be another. */
    eg_status (*copy)(eg__carrier *carrier, char *to, const eg__carrier *of, const char *from, int64_t bytes);
    /* As eg__comm_reduce. */
    eg_status (*reduce)(eg__carrier *carrier, eg_dtype dtype, eg_comm_reduction how, int ranks, const char *parts,
                        int64_t apart, int64_t count, char *out);
    /* Whether all that was queued is done. */
    eg_status (*settled)(eg__carrier *carrier, bool *yes);
    void (*finish)(eg__carrier *carrier);
} eg__carriers;

/* The engine's begin with their device. */
struct eg__carrier_head {
    eg_device *device;
};
static inline eg_device *eg__carrier_device(const eg__carrier *carrier)
{
    return ((const struct eg__carrier_head *)carrier)->device;
}

/* Cards of several ranks that reach each other: NCCL. Calls of a group are all ranks', in the same order. */
typedef struct eg__part { /* of memory that goes to a rank or comes from it; 0 bytes: nothing, not even a message */
    int64_t at, bytes;
} eg__part;
typedef struct eg__group_name {
    char bytes[128];
} eg__group_name;
struct eg__cards {
    /* Opens the library; makes a name for a group, if there is to be one. */
    eg_status (*name)(const char *op, eg__group_name *name);
    /* Begins to join: what the carrier's device has joined once `ready` says so. */
    void *(*join)(const char *op, eg__carrier *carrier, const eg__group_name *name, int rank, int ranks);
    /* Whether nothing is being begun. What went wrong on any card so far is a failure. */
    eg_status (*ready)(void *group, bool *yes);
    /* Queues on the carrier: to each rank its part of `send`, from each rank its part of `receive`; not to itself. */
    eg_status (*exchange)(void *group, const char *send, const eg__part *sent, char *receive, const eg__part *received);
    /* Frees this rank's end. orderly: all that was queued is done, on all ranks; else it is given up. */
    void (*leave)(void *group, bool orderly);
};

/* ---- what every engine has --------------------------------------------------------------------------- */

struct eg__engine {
    uint32_t abi, ops, tensor_size, call_size; /* EG__ENGINE_OF_THIS_BUILD */
    eg__kernel *const *kernels;                /* by op id; NULL: not on these devices */
    /* Of the CPU instead: those a thread with this mode runs. */
    eg__kernel *const *(*table)(uint32_t mode);
    /* How many devices there are, or -1 and words. */
    int (*count)(char *why, size_t size);
    /* Makes d->state for hardware d->index; bytes: its share of the memory, 0: no cap. */
    eg_status (*open)(eg_device *d, int64_t bytes);
    void (*close)(eg_device *d);
    eg_status (*describe)(eg_device *d, eg_device_info *info);

    /* Memory for a storage: a handle for `release` and the address; NULL: none left. */
    void *(*reserve)(eg_device *d, eg__thread *T, size_t bytes, uint16_t made_by, char **data);
    void (*release)(eg_device *d, void *block);
    void (*memory)(eg_device *d, eg_memory *m);
    void (*limit)(eg_device *d, int64_t bytes);
    void (*reset_peak)(eg_device *d);
    void (*trim)(eg_device *d);
    void (*holders)(eg_device *d, int64_t *bytes_by_op, int count);

    /* Of an lstm or gru that is being inferred: bytes it leaves for its gradient if the engine has a way of its own
     * with it; 0, or NULL: they are as lib/ops/rnn.h says. */
    int64_t (*rnn_reserve)(const eg__call *c);
    /* Runs one of the kernels: device, streams and faults looked after. */
    eg_status (*run)(const eg__call *c, eg__kernel *k);
    /* Every element becomes the low bits of `bits`; dense tensors. */
    eg_status (*fill)(const char *op, eg__thread *T, eg_tensor *t, uint64_t bits);
    /* Bytes from host memory to t's first element on, which may be reused at once; from t, waiting. */
    eg_status (*upload)(const char *op, eg__thread *T, eg_tensor *t, const void *from, size_t bytes);
    eg_status (*download)(const char *op, eg__thread *T, const eg_tensor *t, void *to, size_t bytes);
    eg_status (*synchronize)(eg_device *d);
    /* What the engine keeps of a thread that ends and used the device; NULL: nothing. */
    void (*thread_end)(eg_device *d, eg__thread *T);

    const eg__streams *streams;   /* NULL: work is done when its call returns */
    const eg__timing *timing;     /* NULL: a profile takes the host's times */
    const eg__graphs *graphs;     /* NULL: steps are not captured */
    const eg__carriers *carriers; /* NULL: ranks move its memory by way of the CPU's */
    const eg__cards *cards;       /* NULL: there is nothing like NCCL */
};

/* That of the CPU, the only one every program has. */
extern const eg__engine eg__cpu_engine;

/* That of devices which the parent of this process opened: it refuses in words, and frees nothing. */
const eg__engine *eg__lost_engine(void);
bool eg__is_lost(const eg_device *d);
eg_status eg__lost(const char *op);

/* ---- what the library gives a module ------------------------------------------------------------------- */

/* X(result, name, parameters, arguments): internal functions under their own names on both sides; procedures
 * give nothing back. */
struct eg__resize_opts;
struct eg__band;
#define EG__HOST_FUNCTIONS(X)                                                                                      \
    X(double, eg__seconds, (void), ())                                                                             \
    X(void *, eg__malloc, (size_t bytes), (bytes))                                                                 \
    X(void *, eg__handle_new, (size_t bytes), (bytes))                                                             \
    X(bool, eg__handle_ends, (void *handle, const char *op), (handle, op))                                         \
    X(bool, eg__fail_injected, (void), ())                                                                         \
    X(eg_status, eg__why, (void), ())                                                                              \
    X(eg_status, eg__no_memory, (const char *op, int64_t bytes), (op, bytes))                                      \
    X(eg_status, eg__no_memory_on, (uint8_t device, const char *op, int64_t bytes), (device, op, bytes))           \
    X(eg_tensor *, eg__new, (const eg__desc *d, const char *op, uint16_t made_by), (d, op, made_by))               \
    X(eg_status, eg__run, (const eg__op *op, eg_tensor *const *in, int nin, const void *opts, eg_tensor *out),     \
      (op, in, nin, opts, out))                                                                                    \
    X(eg_status, eg__band_make,                                                                                    \
      (const eg__call *c, const struct eg__resize_opts *o, int axis, bool adjoint, struct eg__band *b),            \
      (c, o, axis, adjoint, b))                                                                                    \
    X(eg_status, eg__capture_stop, (const char *op, const char *why), (op, why))                                   \
    X(eg_status, eg__capture_uses, (struct eg__capture * c, eg__storage * s, bool written), (c, s, written))       \
    X(bool, eg__capture_draws, (eg__thread * T, eg_random_state from, uint64_t * offset), (T, from, offset))       \
    X(uint8_t, eg__layout_flags, (int ndim, const int64_t *shape, const int64_t *strides), (ndim, shape, strides)) \
    X(eg_status, eg__library_open_by,                                                                              \
      (eg__library * l, const char *op, eg__library_open_file *open_file, eg__library_missing *missing),           \
      (l, op, open_file, missing))                                                                                 \
    X(eg__text, eg__shape_text, (int ndim, const int64_t *shape), (ndim, shape))

#define EG__HOST_PROCEDURES(X)                                                                      \
    X(void, eg__log_words, (uint32_t topic, const char *op, const char *words), (topic, op, words)) \
    X(void, eg__took, (const char *op, const char *what, double seconds), (op, what, seconds))      \
    X(void, eg__iter_init, (eg__iter * it, eg_tensor *const *ops, int nops), (it, ops, nops))       \
    X(void, eg__desc_dense, (eg__desc * d), (d))                                                    \
    X(void, eg__scratch_put, (const eg__call *c, eg__scratch *s), (c, s))                           \
    X(void, eg__desc_like, (eg__desc * d, const eg_tensor *t), (d, t))

typedef struct eg__host {
    uint32_t abi;
    eg_status (*fail)(eg_status code, const char *op, const char *format, va_list args);
    const eg__op *const *ops;
    uint32_t nops;
    eg_device *const *devices;
#define EG__MEMBER(result, name, parameters, arguments) result(*name) parameters;
    EG__HOST_FUNCTIONS(EG__MEMBER) EG__HOST_PROCEDURES(EG__MEMBER)
#undef EG__MEMBER
} eg__host;

/* Beside itself and the engine of the CPU the core knows nothing of what stands on it but what is in here,
 * lib/ops/host.c. */
extern const eg__host eg__host_table;

enum { EG__MODULE_ABI = 8 };
typedef const eg__engine *eg__module_fn(const eg__host *host);

/* The first members of a module's engine; with lib/ops/optable.h. */
#define EG__ENGINE_OF_THIS_BUILD \
    .abi = EG__MODULE_ABI, .ops = EG__OP_COUNT, .tensor_size = sizeof(eg_tensor), .call_size = sizeof(eg__call)

#endif
