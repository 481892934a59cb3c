/* test_emulator.c - kernels run on the CPU as on a GPU, and mistakes in them are found. */
#include "tests/cuda/test_emulator.h"

#include "tests/cuda/check.h"
#include "tests/cuda/child.h"

enum { ROOM = 1 << 20 };

/* One stream and one block of device memory for all tests. */
static struct {
    cudaStream_t stream;
    char *memory;
} gpu;

static void begin(void)
{
    if (!gpu.stream) {
        CU(cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking));
        CU(cudaMalloc((void **)&gpu.memory, ROOM));
    }
}

static void *upload(const void *host, size_t bytes)
{
    CU(cudaMemcpyAsync(gpu.memory, host, bytes, cudaMemcpyHostToDevice, gpu.stream));
    return gpu.memory;
}

static void download(void *host, const void *device, size_t bytes)
{
    CU(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, gpu.stream));
}

EGT(geometry)
{
    static int64_t at[ROOM / 8];
    const struct {
        dim3 grid, block;
    } shapes[] = {{{1, 1, 1}, {1, 1, 1}},  {{7, 1, 1}, {33, 1, 1}},   {{3, 4, 5}, {2, 3, 4}},
                  {{2, 1, 3}, {1, 5, 64}}, {{1, 9, 1}, {1024, 1, 1}}, {{100, 1, 1}, {128, 1, 1}}};
    begin();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        dim3 g = shapes[i].grid, b = shapes[i].block;
        size_t n = (size_t)g.x * g.y * g.z * b.x * b.y * b.z;
        CU(cudaMemsetAsync(gpu.memory, 0xff, n * 8, gpu.stream));
        CU(launch_number((int64_t *)gpu.memory, g, b, gpu.stream));
        download(at, gpu.memory, n * 8);
        for (size_t k = 0; k < n; k++) {
            EGT_EQ(at[k], k);
        }
    }
}

EGT(configurations_a_gpu_refuses)
{
    const struct {
        dim3 grid, block;
    } wrong[] = {{{1, 1, 1}, {1025, 1, 1}},  {{1, 1, 1}, {32, 33, 1}},        {{1, 1, 1}, {1, 1, 65}},
                 {{0, 1, 1}, {1, 1, 1}},     {{1, 1, 1}, {0, 1, 1}},          {{1, 65536, 1}, {1, 1, 1}},
                 {{1, 1, 65536}, {1, 1, 1}}, {{0x80000000u, 1, 1}, {1, 1, 1}}};
    begin();
    int64_t *at = (int64_t *)gpu.memory;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        EGT_EQ(launch_number(at, wrong[i].grid, wrong[i].block, gpu.stream), cudaErrorInvalidConfiguration);
        EGT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
    }
    EGT_EQ(launch_number(at, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL), cudaErrorInvalidResourceHandle);
    float *x = (float *)gpu.memory;
    EGT_EQ(launch_scale(x, 10, 1, 1, 32, 49153, gpu.stream), cudaErrorInvalidValue);
    EGT_EQ(allow_shared(232449), cudaErrorInvalidValue);
    CU(allow_shared(100000));
    CU(launch_scale(x, 10, 1, 1, 32, 49153, gpu.stream));
    EGT_EQ(launch_scale(x, 10, 1, 1, 32, 100001, gpu.stream), cudaErrorInvalidValue);
    CU(allow_shared(0));
    CU(cudaStreamSynchronize(gpu.stream));
    cudaGetLastError();
}

/* Sums of 20 blocks each way; how many are wrong. */
static int wrong_sums(enum sum_way way, int block)
{
    static float x[20 * 1024], y[20];
    int wrong = 0;
    begin();
    for (int i = 0; i < 20 * block; i++) {
        x[i] = (float)(i % 13 + i / block);
    }
    float *on_device = upload(x, sizeof x);
    float *sums = on_device + 20 * 1024;
    CU(launch_sums(way, on_device, sums, 20, block, gpu.stream));
    download(y, sums, sizeof y);
    for (int b = 0; b < 20; b++) {
        float sum = 0;
        for (int i = 0; i < block; i++) {
            sum += x[b * block + i];
        }
        wrong += !(y[b] == sum);
    }
    return wrong;
}

EGT(block_sums)
{
    for (int block = 32; block <= 1024; block *= 2) {
        EGT_EQ(wrong_sums(SUM_SHUFFLES, block), 0);
        EGT_EQ(wrong_sums(SUM_TREE, block), 0);
        EGT_EQ(wrong_sums(SUM_ATOMIC, block), 0);
    }
}

/* These two races come out right where threads run from the last to the first. */
EGT(missing_barriers_are_seen)
{
    const char *order = getenv("EG_EMU_ORDER");
    if (order && !strcmp(order, "reverse")) {
        egt_skip("this order hides them");
    }
    EGT_CHECK(wrong_sums(SUM_NO_TREE_BARRIER, 256) > 10);
    EGT_CHECK(wrong_sums(SUM_NO_WARP_BARRIER, 256) > 10);
}

static int expected_in_warp(enum warp_way way, int t)
{
    int lane = t % 32;
    switch (way) {
    case WARP_DOWN:
        return lane % 8 + 3 < 8 ? t + 3 : t;
    case WARP_UP:
        return lane % 8 >= 3 ? t - 3 : t;
    case WARP_XOR:
        return t ^ 5;
    case WARP_FROM:
        return t / 16 * 16 + 9;
    case WARP_BALLOT:
        return 0x49249249 + 1 + 0;
    case WARP_MATCH:
        return (int)(0xfu << lane / 4 * 4);
    default:
        return lane < 16 ? t ^ 3 : t / 32 * 32 + 20;
    }
}

EGT(functions_of_a_warp)
{
    int y[96];
    begin();
    for (int way = WARP_DOWN; way <= WARP_GROUPS; way++) {
        CU(launch_warp((enum warp_way)way, (int *)gpu.memory, 96, gpu.stream));
        download(y, gpu.memory, sizeof y);
        for (int t = 0; t < 96; t++) {
            EGT_EQ(y[t], expected_in_warp((enum warp_way)way, t));
        }
    }
    /* A warp that is not full has the lanes it has. */
    CU(launch_warp(WARP_XOR, (int *)gpu.memory, 40, gpu.stream));
    download(y, gpu.memory, sizeof y);
    EGT_EQ(y[33], 36);
}

EGT(votes_of_a_block)
{
    const int below[] = {0, 1, 77, 100};
    int y[3];
    begin();
    for (int i = 0; i < 4; i++) {
        CU(launch_votes((int *)gpu.memory, 100, below[i], gpu.stream));
        download(y, gpu.memory, sizeof y);
        EGT_EQ(y[0], below[i]);
        EGT_EQ(y[1], below[i] > 0);
        EGT_EQ(y[2], below[i] == 100);
    }
}

EGT(atomics)
{
    unsigned long long y[9] = {0, 0, ~0ull, 0, 0, 0, 0, 0, ~0ull};
    double half;
    begin();
    launch_atomics(upload(y, sizeof y), 10, 100, gpu.stream);
    download(y, gpu.memory, sizeof y);
    memcpy(&half, &y[5], sizeof half);
    EGT_EQ(y[0], 1000);
    EGT_EQ(y[1], 999);
    EGT_EQ(y[2], 0);
    EGT_CHECK(y[3] == ~0ull);
    EGT_EQ(y[4], 2000);
    EGT_EQ(half, 500);
    EGT_EQ((int)y[6], -1000);
    EGT_EQ(y[7], 7);
    EGT_EQ(y[8], 0);
}

EGT(device_functions)
{
    enum { N = 50 };
    static float x[N], y[16 * N];
    begin();
    for (int i = 0; i < N; i++) {
        x[i] = (float)(2 * i - N + 1) / N;
    }
    char *out = (char *)upload(x, sizeof x) + 1024;
    CU(launch_functions((float *)gpu.memory, (float *)out, N, gpu.stream));
    download(y, out, sizeof y);
    for (int i = 0; i < N; i++) {
        float *g = y + 16 * i, v = x[i];
        EGT_NEAR(g[0], 1 / sqrt(1 + v * v), 1e-6);
        EGT_NEAR(erf(g[1]), v, 1e-6);
        EGT_NEAR(g[2], sin(3.141592653589793 * v), 1e-6);
        EGT_NEAR(g[3], cos(3.141592653589793 * v), 1e-6);
        EGT_EQ(g[4], fminf(fmaxf(2 * v, 0), 1));
        EGT_EQ(g[5], fminf(v, 0.25f));
        EGT_NEAR(g[6], exp(v), 1e-6);
        EGT_EQ(g[7], v / 2);
        EGT_EQ(g[8], rintf(10 * v));
        EGT_EQ(g[9], v);
        EGT_EQ(g[10], __builtin_clz((unsigned)i + 1));
        EGT_EQ(g[11], __builtin_popcount((unsigned)i) + __builtin_ffs(i));
        EGT_EQ(g[12], 1);
        EGT_EQ(g[13], 3);
        EGT_NEAR(g[14], 0.5 * erfc(-v / sqrt(2)), 1e-6);
        EGT_EQ(g[15], i > 3 ? i : 3);
    }
}

static void run_fault(int way)
{
    launch_fault((enum fault_way)way, (float *)gpu.memory, gpu.stream);
    cudaStreamSynchronize(gpu.stream);
}

EGT(wrong_kernels_are_named)
{
    begin();
    CU(cudaStreamSynchronize(gpu.stream));
    EGT_CHECK(dies_saying(run_fault, FAULT_BARRIER_IN_BRANCH, "kernel wrong, block"));
    EGT_CHECK(dies_saying(run_fault, FAULT_BARRIER_IN_BRANCH, "ended without coming to the barrier"));
    EGT_CHECK(dies_saying(run_fault, FAULT_TWO_BARRIERS, "others at that in line"));
    EGT_CHECK(dies_saying(run_fault, FAULT_ENDED_LANE, "names lane 7, which has ended"));
    EGT_CHECK(dies_saying(run_fault, FAULT_DIVERGED_LANE, "names lane 7, which waits at a barrier"));
    EGT_CHECK(dies_saying(run_fault, FAULT_NOT_IN_MASK, "leaves it out"));
    EGT_CHECK(dies_saying(run_fault, FAULT_TRAP, "trapped"));
#ifdef __SANITIZE_ADDRESS__
    EGT_CHECK(dies_saying(run_fault, FAULT_SHARED_PAST_END, "AddressSanitizer"));
#else
    EGT_CHECK(dies_saying(run_fault, FAULT_SHARED_PAST_END, "past the 256 bytes"));
#endif
}

/* A bound one too high writes past the end of its memory. */
static void run_past(int more)
{
    float *x;
    cudaMalloc((void **)&x, 100 * sizeof *x);
    launch_scale_past(x, 100, more, gpu.stream);
    cudaStreamSynchronize(gpu.stream);
    cudaFree(x);
}

EGT(writes_past_an_end)
{
    begin();
    run_past(0);
#ifdef __SANITIZE_ADDRESS__
    EGT_CHECK(dies_saying(run_past, 1, "AddressSanitizer"));
#else
    EGT_CHECK(dies_saying(run_past, 1, "written past its end"));
#endif
}
