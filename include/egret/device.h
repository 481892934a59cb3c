/* device.h - where tensors live and ops compute: the CPU, CUDA devices, and those of other engines.
 *
 * An op runs where its inputs are. Inputs of one op are on one device; 0-dim CPU tensors may be among inputs of
 * pointwise ops on any device, as numbers. Results of ops without inputs, and of makers like eg_zeros, are on
 * the device eg_use_device chose for the thread: the CPU, unless the environment variable EGRET_DEVICE names
 * another for the whole process ("cuda", "cuda:1"). EGRET_GPU_MEMORY ("15500MB", eg_parse_bytes) is the most memory
 * that the process takes of each other device.
 *
 * Work on a CUDA device is queued: a call returns before its result is computed. What reads values on the host
 * (eg_item, eg_to to the CPU, eg_print, saving) waits for them. An index out of range, or a fault of the device,
 * is found by kernels while they run and reported by the next call that waits, with the name of the op;
 * EG_DEBUG=sync makes every op wait for its own.
 *
 * A child that a process forks cannot use the devices the process looked for before (tensor.h, processes).
 *
 * The CUDA module is a library of its own, loaded when a CUDA device is first asked for. Where it, the driver
 * or a card is missing, eg_cuda says so as an ordinary error and everything else works. Matrix products need
 * cuBLASLt, looked for when the first one runs: in the folder EGRET_CUDA_PATH names, where the loader looks, in
 * /usr/local/cuda/lib64. Without it they are EG_ENOKERNEL. */
#ifndef EGRET_DEVICE_H
#define EGRET_DEVICE_H

#include <egret/base.h>
#include <egret/tensor.h>

EG_BEGIN_DECLS

/* ---- devices ------------------------------------------------------------------------------- */

/* Lives until the process ends; there is nothing to free. Functions taking one pass NULL on as a failure. */
typedef struct eg_device eg_device;

EG_API eg_device *eg_cpu(void);
/* The CUDA device with this number, in the order and choice of CUDA_VISIBLE_DEVICES. EG_ENODEVICE in words:
 * no module, no driver, no card, no such number. The first call takes as long as the driver needs to start. */
EG_API eg_device *eg_cuda(int index);
/* How many CUDA devices there are; 0 without module, driver or card, which is no error. */
EG_API int eg_cuda_count(void);
/* "cpu", or the name of an engine with the number of one of its devices: "cuda" (the same as "cuda:0"), "cuda:1". The
 * engine NAME is a module, libegret-NAME, looked for when it is first asked for (EGRET_NAME_MODULE, beside this
 * library, where the loader looks); docs/engines.md says how to make one. EG_EINVAL: the name is none that an engine
 * can have; EG_ENODEVICE as of eg_cuda. */
EG_API eg_device *eg_device_open(const char *name);

/* A further device on the same hardware with memory of its own, at most `bytes` of it: for programs of several
 * devices to be tried on one. Named like "cuda:0/1". EG_EINVAL for the CPU or bytes < 1. */
EG_API eg_device *eg_device_split(eg_device *device, int64_t bytes);

/* A size as people write it: digits, with a fraction or not, and B, kB, MB, GB or TB (powers of 1000) or KiB, MiB, GiB
 * or TiB (of 1024); nothing is B. EG_EINVAL for what is none, is below 1 or beyond 2^62. */
EG_API eg_status eg_parse_bytes(const char *text, int64_t *bytes);

/* Opens the module libegret-NAME ("cuda", "dnnl", "mpi", ...), as is done when it is first needed: EG_ENODEVICE says
 * why it cannot be. It stays open. */
EG_API eg_status eg_find_module(const char *name);

/* Whether the device runs the op of this name (eg_op_walk): the CPU each of them, others those their engine has a
 * kernel for, and views. Calls of others are EG_ENOKERNEL. False for NULL and for a name no op has. */
EG_API bool eg_device_runs(eg_device *device, const char *op);

/* Where a tensor is; NULL for NULL. */
EG_API eg_device *eg_device_of(const eg_tensor *t);
/* "cpu", "cuda:0", ...; "none" for NULL. */
EG_API const char *eg_device_name(const eg_device *device);

/* Where this thread's makers and ops without inputs put their results from now on; returns the device it was
 * before, NULL for NULL. Before the first call that is the one EGRET_DEVICE names (the CPU, if that is not
 * there). */
EG_API eg_device *eg_use_device(eg_device *device);

typedef struct eg_device_info {
    char name[64];        /* of the hardware */
    int major, minor;     /* CUDA: the compute capability */
    int processors;       /* CPU threads; CUDA: multiprocessors */
    int64_t memory_bytes; /* in all; CPU: 0 */
    int64_t free_bytes;   /* of them free now, for whoever comes; CPU: 0 */
    char pci[16];         /* CUDA: "0000:17:00.0" */
    int driver, runtime;  /* CUDA versions, 13000 for 13.0 */
} eg_device_info;
EG_API eg_status eg_device_describe(eg_device *device, eg_device_info *info);

/* ---- moving -------------------------------------------------------------------------------- */

/* x on the device: x itself if it is there, else a copy, queued behind what computes x. To the CPU: waits.
 * Strides are kept where x has no gaps. Gradient: dy moved to where x is. */
EG_API eg_tensor *eg_to(eg_tensor *x, eg_device *device);

/* The first element's address on the device, for a CUDA program's own kernels; queue them on eg_stream_handle.
 * NULL for NULL or an empty tensor. The second counts as an in-place change, see eg_data_mut. */
EG_API const void *eg_device_data(const eg_tensor *t);
EG_API void *eg_device_data_mut(eg_tensor *t);

/* ---- waiting, streams and events ----------------------------------------------------------- */

/* Waits for all work queued on the device, and reports what went wrong in it. */
EG_API eg_status eg_device_synchronize(eg_device *device);

/* A queue of work, run in order. Every thread has one per device by itself; making more lets copies and
 * computations overlap. A tensor may be used on any stream: work waits for the work that wrote the tensor, on
 * whichever stream that was queued, and its memory is not given away before all are done with it. */
typedef struct eg_stream eg_stream;
/* Free it when no thread uses it; what is queued on it is still done. NULL is fine. */
EG_API eg_stream *eg_stream_new(eg_device *device);
EG_API eg_status eg_stream_free(eg_stream *stream);
/* The stream this thread queues on for its device from now on; returns the one before. To go back, use that
 * or the thread's own, eg_stream_own. */
EG_API eg_stream *eg_use_stream(eg_stream *stream);
EG_API eg_stream *eg_stream_own(eg_device *device);
EG_API eg_status eg_stream_synchronize(eg_stream *stream);
/* The cudaStream_t, for a program's own kernels. */
EG_API void *eg_stream_handle(eg_stream *stream);

/* A place in a stream. */
typedef struct eg_event eg_event;
EG_API eg_event *eg_event_new(eg_device *device);
EG_API eg_status eg_event_free(eg_event *event);
/* Puts it behind what this thread has queued on its current stream of the event's device. */
EG_API eg_status eg_event_record(eg_event *event);
/* Later work of this thread's current stream waits for it; the host does not. */
EG_API eg_status eg_event_wait(eg_event *event);
/* The host waits. */
EG_API eg_status eg_event_synchronize(eg_event *event);
/* Milliseconds of device time between two that have happened. */
EG_API eg_status eg_event_elapsed(eg_event *from, eg_event *to, double *ms);

/* ---- memory of a device -------------------------------------------------------------------- */

/* As eg_memory_stats and its company (tensor.h), of one device; of the CPU they are the same. live_tensors is of
 * all devices. */
EG_API eg_memory eg_device_memory(eg_device *device);
EG_API void eg_device_memory_reset_peak(eg_device *device);
EG_API eg_status eg_device_memory_limit(eg_device *device, int64_t bytes);
EG_API eg_status eg_device_memory_trim(eg_device *device);

EG_END_DECLS

#endif
