/* test_runtime.c - the fake CUDA runtime does what a real one does, as far as the library can see.
 */
#include <pthread.h>

#include "tests/cuda/check.h"
#include "tests/cuda/child.h"
#include "tools/emulator/fake.h"
#include "tests/cuda/test_emulator.h"

enum { N = 1000, BYTES = N * sizeof(float) };

static cudaStream_t stream(void)
{
    cudaStream_t s = NULL;
    CU(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    return s;
}

static cudaEvent_t event(void)
{
    cudaEvent_t e = NULL;
    CU(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    return e;
}

static float *floats(void)
{
    void *x = NULL;
    CU(cudaMalloc(&x, BYTES));
    return x;
}

static float *pinned_floats(void)
{
    void *x = NULL;
    CU(cudaHostAlloc(&x, BYTES, cudaHostAllocDefault));
    return x;
}

static cudaError_t scale(float *x, float a, float b, cudaStream_t s)
{
    return launch_scale(x, N, a, b, 128, 0, s);
}

static float first_of(const float *x)
{
    float y = -1;
    CU(cudaMemcpy(&y, x, sizeof y, cudaMemcpyDeviceToHost));
    return y;
}

EGT(streams_keep_their_order)
{
    static float host[N];
    for (uint64_t seed = 0; seed < 20; seed++) {
        eg_fake_seed(seed);
        cudaStream_t s = stream(), t = stream();
        float *x = floats(), *y = floats();
        CU(cudaMemsetAsync(x, 0, BYTES, s));
        CU(cudaMemsetAsync(y, 0, BYTES, t));
        for (int i = 0; i < 10; i++) {
            CU(scale(x, 2, 1, s));
            CU(scale(y, 2, 2, t));
        }
        CU(cudaStreamSynchronize(t));
        CU(cudaMemcpyAsync(host, y, BYTES, cudaMemcpyDeviceToHost, t));
        EGT_EQ(host[N - 1], 2046);
        CU(cudaMemcpyAsync(host, x, BYTES, cudaMemcpyDeviceToHost, s));
        EGT_EQ(host[0], 1023);
        CU(cudaStreamDestroy(s));
        CU(cudaStreamDestroy(t));
        CU(cudaFree(x));
        CU(cudaFree(y));
    }
    EGT_EQ(eg_fake_used(0), 0);
}

/* One stream fills, another doubles what it finds. */
static float filled_elsewhere(uint64_t seed, bool ordered)
{
    cudaStream_t s = stream(), t = stream();
    cudaEvent_t e = event();
    float *x = floats();
    CU(cudaMemset(x, 0, BYTES));
    eg_fake_seed(seed);
    CU(scale(x, 0, 3, s));
    if (ordered) {
        CU(cudaEventRecord(e, s));
        CU(cudaStreamWaitEvent(t, e, 0));
    }
    CU(cudaEventDestroy(e)); /* what waits for it still does */
    CU(scale(x, 2, 0, t));
    CU(cudaDeviceSynchronize());
    float y = first_of(x);
    CU(cudaStreamDestroy(s));
    CU(cudaStreamDestroy(t));
    CU(cudaFree(x));
    return y;
}

EGT(missing_events_are_seen)
{
    int wrong = 0;
    for (uint64_t seed = 0; seed < 50; seed++) {
        EGT_EQ(filled_elsewhere(seed, true), 6);
        wrong += filled_elsewhere(seed, false) != 6;
    }
    EGT_CHECK(wrong > 5 && wrong < 45);
}

EGT(work_may_run_at_once)
{
    float *pinned = pinned_floats(), *x = floats();
    cudaStream_t s = stream();
    eg_fake_defer(0);
    pinned[0] = 1;
    CU(cudaMemcpyAsync(x, pinned, BYTES, cudaMemcpyHostToDevice, s));
    pinned[0] = 2;
    CU(scale(x, 2, 1, s));
    CU(cudaMemcpyAsync(pinned, x, BYTES, cudaMemcpyDeviceToHost, s));
    eg_fake_defer(1);
    EGT_EQ(pinned[0], 3);
    CU(cudaStreamDestroy(s));
    CU(cudaFree(x));
    CU(cudaFreeHost(pinned));
}

EGT(host_memory_used_again_too_early)
{
    float *pinned = pinned_floats(), *x = floats(), pageable[4] = {5};
    cudaStream_t s = stream();
    pinned[0] = 1;
    CU(cudaMemcpyAsync(x, pinned, BYTES, cudaMemcpyHostToDevice, s));
    pinned[0] = 2;
    CU(cudaStreamSynchronize(s));
    EGT_EQ(first_of(x), 2);
    CU(cudaMemcpyAsync(x, pageable, sizeof pageable, cudaMemcpyHostToDevice, s));
    pageable[0] = 6;
    CU(cudaStreamSynchronize(s));
    EGT_EQ(first_of(x), 5);
    CU(cudaMemcpyAsync(pinned, x, BYTES, cudaMemcpyDeviceToHost, s));
    EGT_EQ(pinned[0], 2); /* nobody waited for it */
    CU(cudaStreamSynchronize(s));
    EGT_EQ(pinned[0], 5);
    CU(cudaStreamDestroy(s));
    CU(cudaFree(x));
    CU(cudaFreeHost(pinned));
}

EGT(memory_has_an_end)
{
    void *x[3];
    size_t room, total;
    eg_fake_memory(4 << 20);
    CU(cudaMalloc(&x[0], 3 << 20));
    EGT_EQ(cudaMalloc(&x[1], 2 << 20), cudaErrorMemoryAllocation);
    EGT_CHECK(!x[1]);
    EGT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
    EGT_EQ(cudaGetLastError(), cudaSuccess);
    CU(cudaMemGetInfo(&room, &total));
    EGT_EQ(room, 1 << 20);
    EGT_EQ(total, 4 << 20);
    CU(cudaFree(x[0]));
    eg_fake_memory((int64_t)1 << 30);

    eg_fake_fail("cudaMalloc", 2, cudaErrorMemoryAllocation);
    CU(cudaMalloc(&x[0], 100));
    EGT_EQ(cudaMalloc(&x[1], 100), cudaErrorMemoryAllocation);
    CU(cudaMalloc(&x[1], 100));
    EGT_CHECK((uintptr_t)x[1] % 512 == 0 && x[0] != x[1]);
    EGT_EQ(cudaFree((char *)x[0] + 1), cudaErrorInvalidValue);
    EGT_EQ(cudaFree(&room), cudaErrorInvalidValue);
    CU(cudaFree(x[0]));
    EGT_EQ(cudaFree(x[0]), cudaErrorInvalidValue);
    CU(cudaFree(x[1]));
    CU(cudaFree(NULL));
    EGT_EQ(eg_fake_used(0), 0);
    cudaGetLastError();
}

EGT(copies_name_the_right_ends)
{
    float *x = floats(), host[N] = {0};
    cudaStream_t s = stream();
    EGT_EQ(cudaMemcpyAsync(host, x, BYTES, cudaMemcpyHostToDevice, s), cudaErrorInvalidValue);
    EGT_EQ(cudaMemcpyAsync(x, host, BYTES, cudaMemcpyDeviceToHost, s), cudaErrorInvalidValue);
    EGT_EQ(cudaMemcpyAsync(x, host, BYTES, cudaMemcpyDeviceToDevice, s), cudaErrorInvalidValue);
    EGT_EQ(cudaMemcpyAsync(x + 1, host, BYTES, cudaMemcpyHostToDevice, s), cudaErrorInvalidValue);
    EGT_EQ(cudaMemsetAsync(host, 0, BYTES, s), cudaErrorInvalidValue);
    CU(cudaMemcpyAsync(x, host, BYTES, cudaMemcpyDefault, s));
    /* rows of 3 of 5 floats */
    for (int i = 0; i < N; i++) {
        host[i] = (float)i;
    }
    CU(cudaMemcpy2DAsync(x, 3 * sizeof *x, host, 5 * sizeof *x, 3 * sizeof *x, 4, cudaMemcpyHostToDevice, s));
    CU(cudaMemcpyAsync(host, x, 12 * sizeof *x, cudaMemcpyDeviceToHost, s));
    for (int i = 0; i < 12; i++) {
        EGT_EQ(host[i], i / 3 * 5 + i % 3);
    }
    CU(cudaFree(x));
    EGT_EQ(cudaMemcpyAsync(host, x, 4, cudaMemcpyDeviceToHost, s), cudaErrorInvalidValue);
    CU(cudaStreamDestroy(s));
    cudaGetLastError();
}

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
static float *touched;

static void touch(int write)
{
    if (write) {
        *(volatile float *)touched = 1;
    } else {
        (void)*(volatile float *)touched;
    }
}

EGT(the_host_cannot_touch_a_device)
{
    cudaStream_t s = stream();
    touched = floats();
    CU(scale(touched, 0, 1, s));
    CU(cudaStreamSynchronize(s));
    EGT_CHECK(dies_saying(touch, 0, ""));
    EGT_CHECK(dies_saying(touch, 1, ""));
    CU(cudaFree(touched));
    CU(cudaStreamDestroy(s));
}

static void touch_peer(int allowed)
{
    cudaSetDevice(1);
    if (allowed) {
        cudaDeviceEnablePeerAccess(0, 0);
    }
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    launch_scale(touched, 1, 0, 7, 32, 0, s);
    cudaStreamSynchronize(s);
}

EGT(a_device_touches_its_own_memory)
{
    eg_fake_devices(2);
    touched = floats();
    EGT_CHECK(dies_saying(touch_peer, 0, ""));
    EGT_CHECK(!dies_saying(touch_peer, 1, ""));
    CU(cudaFree(touched));
    eg_fake_devices(1);
}
#endif

EGT(devices)
{
    struct cudaDeviceProp p;
    cudaStream_t s[2];
    float *x[2], host[N];
    int can, count, value;
    char id[20];
    eg_fake_devices(2);
    CU(cudaGetDeviceCount(&count));
    EGT_EQ(count, 2);
    CU(cudaGetDeviceProperties(&p, 1));
    EGT_EQ(p.multiProcessorCount, 132);
    CU(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 1));
    EGT_EQ(value, 232448);
    CU(cudaDeviceGetPCIBusId(id, sizeof id, 1));
    EGT_STR(id, "0000:02:00.0");
    CU(cudaDeviceCanAccessPeer(&can, 0, 1));
    EGT_EQ(can, 1);
    EGT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
    for (int i = 1; i >= 0; i--) {
        CU(cudaSetDevice(i));
        s[i] = stream();
        x[i] = floats();
    }
    EGT_EQ(scale(x[1], 0, 1, s[1]), cudaErrorInvalidResourceHandle); /* not the current device's */
    CU(cudaSetDevice(1));
    CU(scale(x[1], 0, 8, s[1]));
    CU(cudaMemcpyPeerAsync(x[0], 0, x[1], 1, BYTES, s[1]));
    EGT_EQ(cudaMemcpyPeerAsync(x[0], 1, x[1], 1, BYTES, s[1]), cudaErrorInvalidValue);
    CU(cudaMemcpyAsync(host, x[0], BYTES, cudaMemcpyDeviceToHost, s[1]));
    EGT_EQ(host[N - 1], 8);
    EGT_CHECK(eg_fake_used(0) > 0 && eg_fake_used(0) == eg_fake_used(1));
    for (int i = 0; i < 2; i++) {
        CU(cudaStreamDestroy(s[i]));
        CU(cudaFree(x[i]));
    }
    CU(cudaSetDevice(0));
    eg_fake_devices(1);
    cudaGetLastError();
}

EGT(no_device_and_no_driver)
{
    int n = 7;
    void *x;
    eg_fake_devices(0);
    EGT_EQ(cudaGetDeviceCount(&n), cudaErrorNoDevice);
    EGT_EQ(n, 0);
    EGT_EQ(cudaMalloc(&x, 1), cudaErrorNoDevice);
    CU(cudaDriverGetVersion(&n));
    EGT_EQ(n, CUDART_VERSION);
    eg_fake_devices(-1);
    EGT_EQ(cudaGetDeviceCount(&n), cudaErrorInsufficientDriver);
    CU(cudaDriverGetVersion(&n));
    EGT_EQ(n, 0);
    eg_fake_devices(1);
    EGT_EQ(cudaGetLastError(), cudaErrorInsufficientDriver);
}

EGT(capture_and_replay)
{
    cudaStream_t s = stream();
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    enum cudaStreamCaptureStatus status;
    size_t nodes;
    float *x = floats();
    CU(cudaMemset(x, 0, BYTES));
    CU(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    CU(cudaStreamIsCapturing(s, &status));
    EGT_EQ(status, cudaStreamCaptureStatusActive);
    CU(scale(x, 2, 1, s));
    CU(scale(x, 2, 0, s));
    CU(cudaStreamEndCapture(s, &graph));
    CU(cudaStreamSynchronize(s));
    EGT_EQ(first_of(x), 0); /* nothing has run */
    CU(cudaGraphGetNodes(graph, NULL, &nodes));
    EGT_EQ(nodes, 2);
    CU(cudaGraphInstantiate(&exec, graph, 0));
    CU(cudaGraphDestroy(graph));
    eg_fake_zero();
    for (int i = 0; i < 3; i++) {
        CU(cudaGraphLaunch(exec, s));
    }
    CU(cudaGraphExecDestroy(exec)); /* what is queued runs */
    CU(cudaStreamSynchronize(s));
    EGT_EQ(first_of(x), 42);
    EGT_EQ(eg_fake_read().graph_launches, 3);
    EGT_EQ(eg_fake_read().launches, 0);
    CU(cudaFree(x));
    CU(cudaStreamDestroy(s));
}

/* Two streams in one capture: t fills while s does nothing, then s doubles. */
static float forked(uint64_t seed, bool joined, cudaError_t *ended)
{
    cudaStream_t s = stream(), t = stream();
    cudaEvent_t e = event(), f = event();
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    float *x = floats(), *y = floats(), got = 0;
    CU(cudaMemset(x, 0, BYTES));
    eg_fake_seed(seed);
    CU(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    CU(cudaEventRecord(e, s));
    CU(cudaStreamWaitEvent(t, e, 0));
    CU(scale(x, 0, 3, t));
    CU(scale(y, 0, 0, s));
    CU(cudaEventRecord(f, t));
    CU(joined ? cudaStreamWaitEvent(s, f, 0) : cudaSuccess);
    CU(scale(x, 2, 0, s));
    *ended = cudaStreamEndCapture(s, &graph);
    if (!*ended) {
        CU(cudaGraphInstantiate(&exec, graph, 0));
        CU(cudaGraphLaunch(exec, s));
        CU(cudaStreamSynchronize(s));
        CU(cudaGraphDestroy(graph));
        CU(cudaGraphExecDestroy(exec));
        got = first_of(x);
    }
    CU(cudaEventDestroy(e));
    CU(cudaEventDestroy(f));
    CU(cudaFree(x));
    CU(cudaFree(y));
    CU(cudaStreamDestroy(s));
    CU(cudaStreamDestroy(t));
    return got;
}

EGT(capture_of_two_streams)
{
    cudaError_t ended;
    for (uint64_t seed = 0; seed < 20; seed++) {
        EGT_EQ(forked(seed, true, &ended), 6);
        EGT_EQ(ended, cudaSuccess);
    }
    forked(0, false, &ended);
    EGT_EQ(ended, cudaErrorStreamCaptureUnjoined);
    cudaGetLastError();
}

static cudaError_t forbidden(int which, cudaStream_t s, float *x)
{
    float y;
    void *more;
    switch (which) {
    case 0:
        return cudaStreamSynchronize(s);
    case 1:
        return cudaDeviceSynchronize();
    case 2:
        return cudaMalloc(&more, 1);
    case 3:
        return cudaFree(x);
    case 4:
        return cudaStreamQuery(s);
    default:
        return cudaMemcpy(&y, x, sizeof y, cudaMemcpyDeviceToHost);
    }
}

EGT(waiting_breaks_a_capture)
{
    float *x = floats();
    cudaStream_t s = stream();
    cudaGraph_t graph;
    for (int which = 0; which < 6; which++) {
        CU(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
        CU(scale(x, 1, 1, s));
        EGT_EQ(forbidden(which, s, x), 900);
        EGT_EQ(scale(x, 1, 1, s), cudaErrorStreamCaptureInvalidated);
        EGT_EQ(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureInvalidated);
        EGT_CHECK(!graph);
        EGT_EQ(cudaGetLastError(), cudaErrorStreamCaptureInvalidated);
    }
    /* a thread may say that it knows what it does */
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    void *more;
    CU(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    CU(cudaThreadExchangeStreamCaptureMode(&mode));
    CU(cudaMalloc(&more, 1));
    CU(cudaFree(more));
    CU(cudaThreadExchangeStreamCaptureMode(&mode));
    EGT_EQ(mode, cudaStreamCaptureModeRelaxed);
    CU(cudaStreamEndCapture(s, &graph));
    CU(cudaGraphDestroy(graph));
    CU(cudaStreamDestroy(s));
    CU(cudaFree(x));
}

EGT(a_broken_device_stays_broken)
{
    float *x = floats(), y;
    void *more;
    cudaStream_t s = stream();
    CU(cudaMemset(x, 0, BYTES));
    eg_fake_fault(2);
    CU(scale(x, 1, 1, s));
    CU(scale(x, 1, 1, s));
    CU(scale(x, 1, 1, s));
    EGT_EQ(cudaStreamSynchronize(s), cudaErrorIllegalAddress);
    EGT_EQ(cudaMalloc(&more, 1), cudaErrorIllegalAddress);
    EGT_EQ(scale(x, 1, 1, s), cudaErrorIllegalAddress);
    EGT_EQ(cudaMemcpy(&y, x, sizeof y, cudaMemcpyDeviceToHost), cudaErrorIllegalAddress);
    eg_fake_mend();
    EGT_EQ(first_of(x), 1); /* what came before has run */
    CU(cudaFree(x));
    CU(cudaStreamDestroy(s));
}

EGT(events_time_and_queries_end)
{
    cudaStream_t s = stream();
    cudaEvent_t a, b;
    float *x = floats(), ms;
    CU(cudaEventCreate(&a));
    CU(cudaEventCreate(&b));
    CU(cudaEventRecord(a, s));
    CU(scale(x, 1, 1, s));
    CU(cudaEventRecord(b, s));
    EGT_EQ(cudaEventElapsedTime(&ms, a, b), cudaErrorNotReady);
    int asked = 1;
    while (cudaEventQuery(b) == cudaErrorNotReady) {
        asked++;
    }
    CU(cudaEventElapsedTime(&ms, a, b));
    EGT_CHECK(ms > 0 && ms < 1e4 && asked < 100);
    CU(cudaStreamQuery(s));
    CU(cudaEventDestroy(a));
    CU(cudaEventDestroy(b));
    CU(cudaStreamDestroy(s));
    CU(cudaFree(x));
}

static void add_one(void *user)
{
    *(int *)user += 1;
}

static void call_back(void *user)
{
    *(int *)user = (int)cudaStreamSynchronize(NULL);
}

static void fill_as_kernel(void *user)
{
    *(*(float **)user) = 12;
}

EGT(functions_in_a_stream)
{
    cudaStream_t s = stream();
    int called = 0, refused = 0;
    float *x = floats(), *argument = x;
    CU(cudaLaunchHostFunc(s, add_one, &called));
    CU(cudaLaunchHostFunc(s, call_back, &refused));
    CU(eg_fake_enqueue(s, fill_as_kernel, &argument, sizeof argument));
    argument = NULL; /* it has a copy */
    EGT_EQ(called, 0);
    CU(cudaStreamSynchronize(s));
    EGT_EQ(called, 1);
    EGT_EQ(refused, cudaErrorNotPermitted);
    EGT_EQ(first_of(x), 12);
    CU(cudaStreamDestroy(s));
    CU(cudaFree(x));
    cudaGetLastError();
}

EGT(counts)
{
    int64_t alive = eg_fake_alive();
    float host[N] = {0};
    eg_fake_zero();
    cudaStream_t s = stream();
    cudaEvent_t e = event();
    float *x = floats();
    EGT_EQ(eg_fake_alive() - alive, 3);
    CU(cudaMemcpyAsync(x, host, BYTES, cudaMemcpyHostToDevice, s));
    CU(scale(x, 1, 1, s));
    CU(cudaMemcpyAsync(x, x + 500, 40, cudaMemcpyDeviceToDevice, s));
    CU(cudaEventRecord(e, s));
    CU(cudaStreamWaitEvent(s, e, 0));
    EGT_EQ(eg_fake_read().syncs, 0);
    CU(cudaMemcpyAsync(host, x, 80, cudaMemcpyDeviceToHost, s));
    CU(cudaStreamSynchronize(s));
    eg_fake_counts c = eg_fake_read();
    EGT_EQ(c.launches, 1);
    EGT_EQ(c.mallocs, 1);
    EGT_EQ(c.copies_in, 1);
    EGT_EQ(c.bytes_in, BYTES);
    EGT_EQ(c.bytes_within, 40);
    EGT_EQ(c.bytes_out, 80);
    EGT_EQ(c.syncs, 2); /* a copy to memory that is not pinned waits */
    EGT_EQ(c.records + c.waits, 2);
    EGT_EQ(eg_fake_peak(0), 4096);
    CU(cudaStreamDestroy(s));
    CU(cudaEventDestroy(e));
    CU(cudaFree(x));
    EGT_EQ(eg_fake_alive(), alive);
}

static void *work_in_thread(void *user)
{
    float *sum = user, *x = NULL;
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    for (int i = 0; i < 20; i++) {
        cudaMalloc((void **)&x, BYTES);
        cudaMemsetAsync(x, 0, BYTES, s);
        scale(x, 1, 1, s);
        launch_sums(SUM_SHUFFLES, x, x + 900, 2, 256, s);
        float y = 0;
        cudaMemcpyAsync(&y, x + 901, sizeof y, cudaMemcpyDeviceToHost, s);
        *sum += y;
        cudaFree(x);
    }
    cudaStreamDestroy(s);
    return NULL;
}

EGT(host_threads)
{
    pthread_t threads[4];
    float sums[4] = {0};
    for (int i = 0; i < 4; i++) {
        EGT_CHECK(!pthread_create(&threads[i], NULL, work_in_thread, &sums[i]));
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        EGT_EQ(sums[i], 20 * 256);
    }
}
