/* cuda.h - what the files of the CUDA module's host side know of each other. */
#ifndef EGRET_CUDA_H
#define EGRET_CUDA_H

#include <pthread.h>

#include <cuda_runtime_api.h>

#include "lib/cuda/runtime/fault.h"
#include "lib/cuda/runtime/memory.h"
#include "lib/core/device.h"
#include "lib/ops/optable.h"

enum { EG__MAX_STREAMS = 64 };

/* A ring of pinned host memory through which copies of pageable memory go. */
enum { EG__STAGES = 4, EG__STAGE_BYTES = 4 << 20 };
typedef struct eg__staging {
    char *memory[EG__STAGES];
    cudaEvent_t done[EG__STAGES];
    int next;
} eg__staging;

/* What a profile's times are read on. */
typedef struct eg__cuda_timer eg__cuda_timer;
typedef struct eg__clock {
    cudaStream_t stream;
    cudaEvent_t origin, mark;
    int64_t since;         /* ns on the clock at origin */
    eg__cuda_timer *spare; /* under the device's lock */
} eg__clock;

typedef struct eg__cuda {
    eg_device *device;
    int ordinal;
    eg__heap *heap;
    eg__fault *fault;    /* pinned: what a kernel found wrong */
    eg__fault *fault_at; /* its address on the device */
    int processors;
    pthread_mutex_t lock; /* of what follows, and of what streams know of each other */
    int nstreams;
    eg_stream *streams[EG__MAX_STREAMS];
    eg__clock clock;
    bool lost; /* a fault the driver does not recover from */
    char why[200];
} eg__cuda;

struct eg_stream {
    eg_device *device; /* first, as the library expects */
    cudaStream_t handle;
    eg__pool *pool;
    struct eg__capture *capture; /* what is queued on it goes there; its pool takes the place of the usual one */
    eg__pool *usual;
    cudaEvent_t mark; /* where others wait for it */
    eg__staging staging;
    int id;                        /* among the device's */
    bool taken, thread;            /* in use; as a thread's own */
    void *_Atomic dnn;             /* what cuDNN needs on it, lib/cuda/dnn/dnn_plans.c */
    _Atomic int64_t queued;        /* ops so far */
    int64_t seen[EG__MAX_STREAMS]; /* of other streams: up to where this one waited for them */
};

struct eg_event {
    eg_device *device;
    cudaEvent_t handle;
    bool recorded;
};

static inline eg__cuda *eg__cuda_of(const eg_device *d)
{
    return d->state;
}

/* The library's table of devices. */
extern eg_device *const *eg__host_devices;

static inline eg__cuda *eg__cuda_at(uint8_t device)
{
    return eg__host_devices[device]->state;
}

/* ---- host.c ------------------------------------------------------------------------------------ */

const eg__op *const *eg__host_ops(void);
/* From the library, before anything else. */
void eg__host_given(const eg__host *host);

/* ---- check.c ----------------------------------------------------------------------------------- */

/* EG_OK for cudaSuccess; else words with the op and what was asked of the driver. */
eg_status eg__cuda_check(eg__cuda *d, const char *op, cudaError_t e, const char *what);
/* Makes the device current for this host thread. */
eg_status eg__cuda_enter(eg__cuda *d, const char *op);
/* Whether a kernel reported something since the last look, in words. After waiting only. */
eg_status eg__cuda_faults(eg__cuda *d);
/* The device of this number is, or will be. */
void eg__cuda_in_use(int ordinal);

/* ---- device.c ---------------------------------------------------------------------------------- */

int eg__cuda_count(char *why, size_t size);
eg_status eg__cuda_open(eg_device *device, int64_t bytes);
void eg__cuda_close(eg_device *device);
eg_status eg__cuda_describe(eg_device *device, eg_device_info *info);
eg_status eg__cuda_synchronize(eg_device *device);

/* ---- stream.c ---------------------------------------------------------------------------------- */

/* The thread's current stream on the device; NULL with words. */
eg_stream *eg__cuda_stream(eg__thread *T, eg_device *device, const char *op);
/* Before work on s that reads the storage, or changes it: s waits for who else has to do with it. */
eg_status eg__cuda_reads(eg_stream *s, eg__storage *of, const char *op);
eg_status eg__cuda_writes(eg_stream *s, eg__storage *of, const char *op);
/* After it was queued. */
void eg__cuda_wrote(eg_stream *s, eg__storage *of);
/* The host waits for s; then faults are looked at. */
eg_status eg__cuda_wait(eg_stream *s, const char *op);
eg_status eg__cuda_run(const eg__call *c, eg__kernel *k);
void eg__cuda_thread_end(eg_device *device, eg__thread *T);
void eg__cuda_streams_end(eg__cuda *d);

eg_stream *eg__cuda_stream_new(eg_device *device);
eg_status eg__cuda_stream_free(eg_stream *s);
eg_stream *eg__cuda_use_stream(eg__thread *T, eg_stream *s);
eg_stream *eg__cuda_own_stream(eg__thread *T, eg_device *device);
eg_status eg__cuda_stream_synchronize(eg_stream *s);
void *eg__cuda_stream_handle(eg_stream *s);
eg_event *eg__cuda_event_new(eg_device *device);
eg_status eg__cuda_event_free(eg_event *e);
eg_status eg__cuda_event_record(eg__thread *T, eg_event *e);
eg_status eg__cuda_event_wait(eg__thread *T, eg_event *e);
eg_status eg__cuda_event_synchronize(eg_event *e);
eg_status eg__cuda_event_elapsed(eg_event *from, eg_event *to, double *ms);

/* ---- capture.c --------------------------------------------------------------------------------- */

eg_status eg__cuda_capture_begin(eg__thread *T, struct eg__capture *c);
eg_status eg__cuda_capture_end(struct eg__capture *c);
eg_status eg__cuda_capture_launch(eg__thread *T, struct eg__capture *c);
int eg__cuda_capture_left(struct eg__capture *c, const struct eg__storages *held);
void eg__cuda_capture_free(struct eg__capture *c);
void eg__cuda_pool_free(eg_device *d, void *pool);

/* ---- copy.c ------------------------------------------------------------------------------------ */

eg_status eg__cuda_upload(const char *op, eg__thread *T, eg_tensor *t, const void *from, size_t bytes);
eg_status eg__cuda_download(const char *op, eg__thread *T, const eg_tensor *t, void *to, size_t bytes);
eg_status eg__cuda_fill(const char *op, eg__thread *T, eg_tensor *t, uint64_t bits);
void eg__staging_end(eg__staging *g);

/* ---- timer.c ------------------------------------------------------------------------------------- */

bool eg__cuda_clock(eg_device *device, bool restart, int64_t *ns);
eg__timer *eg__cuda_timer_begin(eg__thread *T, eg_device *device);
/* Its end is here in the stream; what comes until the call is over is only the host's. */
void eg__cuda_timer_mark(eg__thread *T, uint8_t device);
void eg__cuda_timer_end(eg__thread *T, eg__timer *timer);
int eg__cuda_timer_read(eg__timer *timer, bool wait, int64_t *start, int64_t *time);
void eg__cuda_timer_drop(eg__timer *timer);
void eg__cuda_timers_end(eg__cuda *d);

/* ---- what kernels' host sides use ---------------------------------------------------------------- */

/* The stream a running call is on. */
static inline cudaStream_t eg__stream_of(const eg__call *c)
{
    return c->T->lane[c->device].now->handle;
}

static inline eg__fault *eg__fault_of(const eg__call *c)
{
    return eg__cuda_at(c->device)->fault_at;
}

/* What kernels check of an index into `size` places; o: the eg__index_opts of the call. */
#define EG__RAW_INDEX(c, o, places)                                       \
    ((eg__raw_index){.low = (o)->raw == EG__RAW_FROM_END ? -(places) : 0, \
                     .size = (o)->raw ? (places) : 0,                     \
                     .op = (c)->op->id,                                   \
                     .name = (o)->name,                                   \
                     .fault = (o)->name ? eg__fault_of(c) : NULL})

/* The status of a launch. */
static inline eg_status eg__launched(const eg__call *c, cudaError_t e)
{
    return likely(e == cudaSuccess) ? EG_OK : eg__cuda_check(eg__cuda_at(c->device), c->op->name, e, "launch");
}

/* Device memory of a kernel, given back in the order of its stream: right after the last launch that uses it. */
eg_status eg__cuda_scratch(const eg__call *c, size_t bytes, eg__block **block);
void eg__cuda_scratch_end(eg__block *block); /* NULL is fine */

/* What t is in this shape, to which it broadcasts, without gaps; NULL with words. Dies with the call. */
eg_tensor *eg__cuda_dense(const eg__call *c, const eg_tensor *t, int ndim, const int64_t *shape);

/* The kernels. */
#define EG_KERNEL(name) eg__kernel eg__cuda_##name;
#include "lib/cuda/kernels.def"
#undef EG_KERNEL

#endif
