/* emulator.h - what lib/cuda/common/launch.cuh is where there is no GPU: kernels compile with any C++17
 * compiler and run on the CPU. Blocks run one after another; the threads of a block take turns,
 * changing only at barriers and at functions of a warp, in the order that EG_EMU_ORDER names:
 * forward, reverse or random.
 *
 * What a GPU would leave undefined ends the program with one line on stderr that names the kernel:
 * a barrier not reached by all threads, a function of a warp that names a lane which does not come,
 * writing past dynamic shared memory. */
#ifndef EGRET_EMULATOR_EMULATOR_H
#define EGRET_EMULATOR_EMULATOR_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <functional>
#include <limits>
#include <tuple>
#include <type_traits>

#include <cuda_runtime_api.h>
#include <vector_functions.h>

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __launch_bounds__
#undef __grid_constant__
#define __global__ static inline
#define __device__
#define __host__
/* One copy is enough: the fake runtime runs one kernel at a time. */
#define __shared__   static
#define __constant__ static
#define __launch_bounds__(...)
#define __grid_constant__

/* Of the thread that runs. Plain __thread in the fixed part of the thread's storage, since kernels
 * read them all the time. */
#define EG__EMU_PLACE extern __thread __attribute__((tls_model("initial-exec")))
EG__EMU_PLACE uint3 threadIdx, blockIdx;
EG__EMU_PLACE dim3 blockDim, gridDim;
constexpr int warpSize = 32;

enum eg__emu_kind { EG__EMU_SYNC, EG__EMU_SHUFFLE, EG__EMU_BALLOT, EG__EMU_MATCH };

/* Lanes of a warp that `mask` names meet; `value` and `lane` (of which the value is read) are for
 * SHUFFLE, value also for BALLOT (a truth) and MATCH. Line numbers are for messages. */
uint64_t eg__emu_warp(eg__emu_kind kind, unsigned mask, uint64_t value, int lane, int line);
/* All threads of the block meet; the value is how many gave a true one. */
int eg__emu_block(bool value, int line);
/* This thread's lane in its warp. */
int eg__emu_lane(void);
void *eg__emu_shared(void);
[[noreturn]] void eg__emu_trap(int line);

struct eg__emu_launch {
    const char *name;
    const void *entry;
    dim3 grid, block;
    size_t shared;
};

/* Queues a launch; refuses what a device would. The body runs one thread. */
cudaError_t eg__emu_submit(const eg__emu_launch &launch, cudaStream_t stream, std::function<void()> body);
/* Runs it now. */
void eg__emu_run(const eg__emu_launch &launch, const std::function<void()> &body);

/* The kernel's arguments as its parameters' types, which are copied when it is launched. */
template <typename... P> auto eg__emu_arguments(void (*)(P...))
{
    return [](std::common_type_t<P>... p) { return std::tuple<P...>(p...); };
}

template <typename... P> const void *eg__emu_entry(void (*kernel)(P...))
{
    return reinterpret_cast<const void *>(kernel);
}

template <typename Call, typename Arguments>
cudaError_t eg__emu_start(const eg__emu_launch &launch, cudaStream_t stream, Call call, Arguments arguments)
{
    return eg__emu_submit(launch, stream, [call, arguments] { std::apply(call, arguments); });
}

/* The kernel is called by name, not by its address, so that it may be inlined into the loop over
 * threads. */
#define EG__LAUNCH(kernel, grid, block, shared, stream, ...)                               \
    eg__emu_start(                                                                         \
        {#kernel, eg__emu_entry(kernel), dim3(grid), dim3(block), size_t(shared)}, stream, \
        [=](const auto &...eg__a) { kernel(eg__a...); }, eg__emu_arguments(kernel)(__VA_ARGS__))

#define EG__DYN_SHARED(T, name) T *name = static_cast<T *>(eg__emu_shared())

/* What <cuda_runtime.h> adds for kernels to the functions that take a function's address. */
template <typename... P> cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), cudaFuncAttribute attribute, int value)
{
    return cudaFuncSetAttribute(eg__emu_entry(kernel), attribute, value);
}

template <typename... P> cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, void (*kernel)(P...))
{
    return cudaFuncGetAttributes(attributes, eg__emu_entry(kernel));
}

template <typename... P>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void (*kernel)(P...), int threads, size_t shared)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, eg__emu_entry(kernel), threads, shared);
}

/* Barriers. */

static inline void __syncthreads(int line = __builtin_LINE())
{
    eg__emu_block(false, line);
}

static inline int __syncthreads_count(int value, int line = __builtin_LINE())
{
    return eg__emu_block(value, line);
}

static inline int __syncthreads_or(int value, int line = __builtin_LINE())
{
    return eg__emu_block(value, line) != 0;
}

static inline int __syncthreads_and(int value, int line = __builtin_LINE())
{
    return eg__emu_block(!value, line) == 0;
}

static inline void __syncwarp(unsigned mask = 0xffffffffu, int line = __builtin_LINE())
{
    eg__emu_warp(EG__EMU_SYNC, mask, 0, 0, line);
}

/* Functions of a warp. */

template <typename T> static inline T eg__emu_shuffle(unsigned mask, T value, int lane, int line)
{
    static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8, "no GPU has this shuffle");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = eg__emu_warp(EG__EMU_SHUFFLE, mask, bits, lane, line);
    memcpy(&value, &bits, sizeof value);
    return value;
}

template <typename T>
static inline T __shfl_sync(unsigned mask, T value, int lane, int width = warpSize, int line = __builtin_LINE())
{
    int first = eg__emu_lane() & -width;
    return eg__emu_shuffle(mask, value, first + (lane & (width - 1)), line);
}

template <typename T>
static inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize,
                               int line = __builtin_LINE())
{
    int self = eg__emu_lane(), lane = self - int(delta);
    return eg__emu_shuffle(mask, value, lane < (self & -width) ? self : lane, line);
}

template <typename T>
static inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize,
                                 int line = __builtin_LINE())
{
    int self = eg__emu_lane(), lane = self + int(delta);
    return eg__emu_shuffle(mask, value, lane > (self | (width - 1)) ? self : lane, line);
}

/* A lane of a later group of `width` lanes is not read; one of an earlier is. */
template <typename T>
static inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = warpSize, int line = __builtin_LINE())
{
    int self = eg__emu_lane(), lane = self ^ bits;
    return eg__emu_shuffle(mask, value, lane > (self | (width - 1)) ? self : lane, line);
}

static inline unsigned __ballot_sync(unsigned mask, int value, int line = __builtin_LINE())
{
    return unsigned(eg__emu_warp(EG__EMU_BALLOT, mask, value != 0, 0, line));
}

static inline int __any_sync(unsigned mask, int value, int line = __builtin_LINE())
{
    return __ballot_sync(mask, value, line) != 0;
}

static inline int __all_sync(unsigned mask, int value, int line = __builtin_LINE())
{
    return __ballot_sync(mask, !value, line) == 0;
}

template <typename T> static inline unsigned __match_any_sync(unsigned mask, T value, int line = __builtin_LINE())
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return unsigned(eg__emu_warp(EG__EMU_MATCH, mask, bits, 0, line));
}

/* Lanes that happen to run together: never more than this one here. */
static inline unsigned __activemask(void)
{
    return 1u << eg__emu_lane();
}

#define __trap() eg__emu_trap(__LINE__)

#include "tools/emulator/intrinsics.h"

#endif
