/* device.h - devices as the library sees them, and what it and a module that drives some agree on.
 *
 * A module is a shared library with one exported function, eg__module: given the host's functions it returns
 * the engine's. Both tables are of one build: abi and sizes are compared before anything is called. */
#ifndef EGRET_LIB_DEVICE_H
#define EGRET_LIB_DEVICE_H

#include <stdarg.h>

#include <egret/device.h>

#include "lib/core/op.h"
#include "lib/core/layout.h"

typedef struct eg__engine eg__engine;
struct eg__capture;
struct eg__storages;

struct eg_device {
    uint8_t id; /* its place in eg__devices, and what tensors note; 0 is the CPU */
    char name[23];
    const eg__engine *engine;
    void *state;              /* the engine's */
    int index;                /* of the hardware, in the engine's count */
};

extern eg_device *eg__devices[EG__MAX_DEVICES];

static inline eg_device *eg__device(const eg_tensor *t)
{
    return eg__devices[t->device];
}

/* For a profile: two marks on a stream, around work whose time on the device is wanted. */
typedef struct eg__lap {
    struct eg__lap *next, *outer; /* outer: the one it began in, of its thread and device */
    void *note;                    /* next, note, op, backward: the profile's */
    uint16_t op;
    bool backward;
    uint8_t device, stream;
    int64_t inner; /* ns of those that began in it, as far as they were read */
} eg__lap;

/* ---- what a module gives --------------------------------------------------------------------- */

struct eg__engine {
    uint32_t abi, ops, tensor_size, call_size;
    eg__kernel *const *kernels; /* by op id; NULL: not on these devices */
    /* Of the CPU instead: those a thread with this mode runs. */
    eg__kernel *const *(*table)(uint32_t mode);
    /* How many there are, or -1 and words. */
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
    void (*thread_end)(eg_device *d, eg__thread *T);

    /* Streams and events; NULL in an engine that has none. */
    eg_stream *(*stream_new)(eg_device *d);
    eg_status (*stream_free)(eg_stream *s);
    eg_stream *(*use_stream)(eg__thread *T, eg_stream *s);
    eg_stream *(*own_stream)(eg__thread *T, eg_device *d);
    eg_status (*stream_synchronize)(eg_stream *s);
    void *(*stream_handle)(eg_stream *s);
    eg_event *(*event_new)(eg_device *d);
    eg_status (*event_free)(eg_event *e);
    eg_status (*event_record)(eg__thread *T, eg_event *e);
    eg_status (*event_wait)(eg__thread *T, eg_event *e);
    eg_status (*event_synchronize)(eg_event *e);
    eg_status (*event_elapsed)(eg_event *from, eg_event *to, double *ms);

    /* Times for a profile, or NULL. None of these fails in words, and a capture that is under way goes on.
     * The device's clock now, in ns since it was restarted, waited for but not for work that is queued. */
    bool (*clock)(eg_device *d, bool restart, int64_t *ns);
    /* Marks on the thread's current stream. NULL: it is captured, or there are no marks to be had. */
    eg__lap *(*lap_begin)(eg__thread *T, eg_device *d);
    void (*lap_end)(eg__thread *T, eg__lap *s);
    /* 1: what lies between the marks of a lap that ended, on the device's clock; 0: the device has not come so
     * far; -1: it cannot be known. After 1 and -1 the lap is the engine's again. Calls come one at a time. */
    int (*lap_read)(eg__lap *s, bool wait, int64_t *start, int64_t *time);
    void (*lap_drop)(eg__lap *s);

    /* Captured steps, lib/core/capture.h, or NULL; capture_left: the op that made memory of the capture which somebody holds
     * beside these, or -1; pool_free: of c->pool. */
    eg_status (*capture_begin)(eg__thread *T, struct eg__capture *c);
    eg_status (*capture_end)(struct eg__capture *c);
    eg_status (*capture_launch)(eg__thread *T, struct eg__capture *c);
    int (*capture_left)(struct eg__capture *c, const struct eg__storages *held);
    void (*capture_free)(struct eg__capture *c);
    void (*pool_free)(eg_device *d, void *pool);
};

/* The engine's streams and events begin with their device. */
struct eg_stream_head {
    eg_device *device;
};

/* ---- what the library gives a module ----------------------------------------------------------- */

/* X(result, name, parameters, arguments): internal functions under their own names on both sides; procedures
 * give nothing back. */
struct eg__resize_opts;
struct eg__band;
#define EG__HOST_FUNCTIONS(X)                                                                      \
    X(double, eg__seconds, (void), ())                                                             \
    X(void *, eg__malloc, (size_t bytes), (bytes))                                                 \
    X(void *, eg__handle_new, (size_t bytes), (bytes))                                             \
    X(bool, eg__handle_ends, (void *handle, const char *op), (handle, op))                         \
    X(bool, eg__fail_injected, (void), ())                                                         \
    X(eg_status, eg__why, (void), ())                                                              \
    X(eg_status, eg__no_memory, (const char *op, int64_t bytes), (op, bytes))                      \
    X(eg_status, eg__no_memory_on, (uint8_t device, const char *op, int64_t bytes),                \
      (device, op, bytes))                                                                         \
    X(eg_tensor *, eg__new, (const eg__desc *d, const char *op, uint16_t made_by),                 \
      (d, op, made_by))                                                                            \
    X(eg_status, eg__run,                                                                          \
      (const eg__op *op, eg_tensor *const *in, int nin, const void *opts, eg_tensor *out),         \
      (op, in, nin, opts, out))                                                                    \
    X(eg_status, eg__band_make,                                                                    \
      (const eg__call *c, const struct eg__resize_opts *o, int axis, bool adjoint, struct eg__band *b),\
      (c, o, axis, adjoint, b))                                                                    \
    X(eg_status, eg__capture_stop, (const char *op, const char *why), (op, why))                   \
    X(eg_status, eg__capture_uses, (struct eg__capture * c, eg__storage * s, bool written),        \
      (c, s, written))                                                                             \
    X(bool, eg__capture_draws, (eg__thread * T, eg_random_state from, uint64_t * offset),          \
      (T, from, offset))                                                                           \
    X(uint8_t, eg__layout_flags, (int ndim, const int64_t *shape, const int64_t *strides),         \
      (ndim, shape, strides))                                                                      \
    X(eg__text, eg__shape_text, (int ndim, const int64_t *shape), (ndim, shape))

#define EG__HOST_PROCEDURES(X)                                                                     \
    X(void, eg__log_words, (uint32_t topic, const char *op, const char *words), (topic, op, words)) \
    X(void, eg__took, (const char *op, const char *what, double seconds), (op, what, seconds))     \
    X(void, eg__iter_init, (eg__iter *it, eg_tensor *const *ops, int nops), (it, ops, nops))       \
    X(void, eg__desc_dense, (eg__desc *d), (d))                                                    \
    X(void, eg__scratch_put, (const eg__call *c, eg__scratch *s), (c, s))                          \
    X(void, eg__desc_like, (eg__desc *d, const eg_tensor *t), (d, t))

typedef struct eg__host {
    uint32_t abi;
    eg_status (*fail)(eg_status code, const char *op, const char *format, va_list args);
    const eg__op *const *ops;
    eg_device *const *devices;
#define EG__MEMBER(result, name, parameters, arguments) result(*name) parameters;
    EG__HOST_FUNCTIONS(EG__MEMBER) EG__HOST_PROCEDURES(EG__MEMBER)
#undef EG__MEMBER
} eg__host;

enum { EG__MODULE_ABI = 4 };
typedef const eg__engine *eg__module_fn(const eg__host *host);

/* That of the CPU, the only one every program has. */
extern const eg__engine eg__cpu_engine;

/* ---- what other files of the library ask ------------------------------------------------------- */

/* t for reading on the host: itself, or a copy the innermost scope owns. NULL: words are recorded. */
const eg_tensor *eg__on_host(const eg_tensor *t, const char *op);
/* The engine's upload, download and fill for t's device, seen by a profile. */
eg_status eg__upload(const char *op, eg__thread *T, eg_tensor *t, const void *from, size_t bytes);
eg_status eg__download(const char *op, eg__thread *T, const eg_tensor *t, void *to, size_t bytes);
eg_status eg__fill(const char *op, eg__thread *T, eg_tensor *t, uint64_t bits);
/* EG_OK for a tensor of the CPU; else words saying that op needs one. */
eg_status eg__host_only(const eg_tensor *t, const char *op, const char *name);
void eg__device_storage_free(eg__thread *T, eg__storage *s);
/* The device of the thread's makers, or -1 with words: EGRET_DEVICE names none there is. */
int eg__default_device(eg__thread *T, const char *op);
/* What a new thread notes: 0, or EG__MAX_DEVICES if EGRET_DEVICE is to be looked at. */
uint8_t eg__device_of_threads(void);
void eg__devices_thread_end(eg__thread *T);
void eg__devices_end(void);

#endif
