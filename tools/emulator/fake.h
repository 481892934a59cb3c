/* fake.h - what tests can ask of the fake CUDA runtime beside what a real one does. It has as many
 * devices as they say, each with memory of its own that the host cannot touch, and streams whose
 * work waits until somebody synchronises and then runs in an order drawn at random, as far as
 * events leave a choice.
 *
 * First values come from the environment: EG_FAKE_DEVICES (1; 0: no device, -1: no driver),
 * EG_FAKE_MEMORY (bytes per device, 1 GiB), EG_FAKE_DEFER (1; 0: work runs when it is queued),
 * EG_FAKE_SEED (1), EG_FAKE_WITHOUT (the file of a library that is not there), EG_FAKE_CUDNN_VERSION. */
#ifndef EGRET_EMULATOR_FAKE_H
#define EGRET_EMULATOR_FAKE_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EG_FAKE_API __attribute__((visibility("default")))

enum { EG_FAKE_MAX_DEVICES = 16 };

typedef struct eg_fake_counts {
    int64_t launches;                        /* of kernels, and eg_fake_enqueue; a captured one counts once */
    int64_t graph_launches;                  /* their kernels are not counted again */
    int64_t mallocs, frees;                  /* cudaMalloc, cudaFree */
    int64_t creates, releases, maps, unmaps; /* cuMemCreate, ... */
    int64_t host_allocs;                     /* pinned memory */
    int64_t syncs;                           /* calls that wait: of streams, events, devices, and copies that do */
    int64_t queries;                         /* cudaStreamQuery, cudaEventQuery */
    int64_t copies_in, bytes_in;             /* from the host to a device */
    int64_t copies_out, bytes_out;           /* from a device to the host */
    int64_t copies_within, bytes_within;     /* on one device */
    int64_t copies_across, bytes_across;     /* from one device to another */
    int64_t memsets;
    int64_t streams, events; /* made */
    int64_t records, waits;  /* of events */
    int64_t host_functions;
    int64_t heuristics, products;             /* cuBLASLt and cuDNN: algorithms asked for; products queued */
    int64_t dnn_plans, dnn_read, dnn_runs;    /* cuDNN: plans made, of them from text, and queued */
    int64_t dnn_parts;                        /* descriptors alive */
    int64_t fft_plans, fft_plans_ended, ffts; /* cuFFT: plans made and ended, transforms queued */
    /* NCCL: groups ended, messages in them, bytes sent. */
    int64_t nccl_groups, nccl_sends, nccl_receives, nccl_bytes;
} eg_fake_counts;

/* Since the program began or the last eg_fake_zero. */
EG_FAKE_API eg_fake_counts eg_fake_read(void);
EG_FAKE_API void eg_fake_zero(void);
/* What is in use of a device's memory, and the most that was since eg_fake_zero. */
EG_FAKE_API int64_t eg_fake_used(int device);
EG_FAKE_API int64_t eg_fake_peak(int device);
/* Streams, events, graphs, pinned blocks, blocks of device memory and ranges of addresses that are
 * alive. */
EG_FAKE_API int64_t eg_fake_alive(void);

/* Before anything was made on devices. */
EG_FAKE_API void eg_fake_devices(int count);
EG_FAKE_API void eg_fake_memory(int64_t bytes_per_device);
EG_FAKE_API void eg_fake_defer(int on);
EG_FAKE_API void eg_fake_seed(uint64_t seed);
/* The clocks of devices, by which events are timed, show rate * the host's + offset, in seconds. */
EG_FAKE_API void eg_fake_clock(double rate, double offset);
/* The driver has no virtual memory calls. */
EG_FAKE_API void eg_fake_no_virtual_memory(int none);

/* The n-th call (1: the next) of a function, cuda..., cu..., cublasLt..., cufft..., cudnn... or nccl..., from now on
 * gives this error, a cudaError_t, CUresult, cublasStatus_t, cufftResult, cudnnStatus_t or ncclResult_t, once. Of
 * cudnnBackendFinalize those for one kind of descriptor are "cudnnBackendFinalize/tensor", "/graph", "/heuristics",
 * "/plan", "/pack" and "/other". */
EG_FAKE_API void eg_fake_fail(const char *function, int64_t nth, int error);
/* The n-th launch of a kernel from now on breaks its device when it runs: from then on every call
 * on it gives cudaErrorIllegalAddress. */
EG_FAKE_API void eg_fake_fault(int64_t nth);
/* Takes back eg_fake_fail and eg_fake_fault, and mends broken devices. */
EG_FAKE_API void eg_fake_mend(void);

/* Queues a function as if it were a kernel: it may touch the memory of the stream's device. It is
 * given a copy of the `bytes` at `arguments`, made now. This is how a CPU's function stands in for
 * a library's. */
EG_FAKE_API cudaError_t eg_fake_enqueue(cudaStream_t stream, void (*run)(void *arguments), const void *arguments,
                                        size_t bytes);

/* NVIDIA's libraries by the names of their files: whether the loader finds one
 * ("libcublasLt.so.13", "libcufft.so.12": yes at first), and opening it as dlopen would. */
EG_FAKE_API void eg_fake_has_library(const char *file, int has);
EG_FAKE_API void *eg_fake_library(const char *file);

#ifdef __cplusplus
}
#endif
#endif
