/* test_cuda_conv.c - convolutions on a CUDA device as the sweep does not see them: which way they
 * take, plans that are kept, in memory and in files, modes of arithmetic, what goes wrong. */
#define _XOPEN_SOURCE 700
#include <glob.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cudnn_graph.h>

#include "tests/cuda/module.h"

static eg_tensor *random_of(eg_shape shape, eg_dtype dtype)
{
    return egt_random(shape, dtype, -1, 1);
}

static eg_tensor *there(eg_tensor *x)
{
    return eg_to(x, cuda(0));
}

/* How far the device's result is from the CPU's. */
static double apart(eg_tensor *on_device, eg_tensor *on_cpu)
{
    eg_tensor *got = on_device ? eg_to(on_device, eg_cpu()) : NULL;
    EGT_CHECK(got && on_cpu);
    return egt_distance(got, on_cpu);
}

static eg_fake_counts counts(void)
{
    return FAKE(eg_fake_read)();
}

/* x [2, c, size, size], w [o, c / groups, 3, 3]. */
typedef struct conv {
    eg_tensor *x, *w, *b;
} conv;

static conv conv_of(int64_t c, int64_t o, int64_t size, int64_t groups, eg_dtype dtype)
{
    return (conv){random_of(EG_SHAPE(2, c, size, size), dtype), random_of(EG_SHAPE(o, c / groups, 3, 3), dtype),
                  random_of(EG_SHAPE(o), dtype)};
}

/* ---- before cuDNN was ever needed ------------------------------------------------------------ */

static bool same_as_cpu(void)
{
    bool right = false;
    eg_device *d = eg_cuda(0);
    EG_SCOPE {
        eg_tensor *x = random_of(EG_SHAPE(2, 3, 6, 5), EG_F32), *w = random_of(EG_SHAPE(4, 3, 3, 3), EG_F32);
        eg_tensor *y = d ? eg_conv2d(eg_to(x, d), eg_to(w, d), NULL) : NULL;
        eg_tensor *want = eg_conv2d(x, w, NULL);
        right = y && egt_distance(eg_to(y, eg_cpu()), want) < 1e-5;
    }
    return right;
}

/* In a process of its own, with a word in its environment: the job's answer. */
static bool in_child(const char *name, const char *value, bool (*job)(void))
{
    int status = 1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        setenv(name, value, 1);
        _exit(!job());
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static bool without(void)
{
    eg_clear_error();
    return same_as_cpu() && counts().dnn_runs == 0 && eg_last_error()->code == EG_OK && same_as_cpu();
}

EGT(no_library)
{
    fake_symbol("eg_fake_read");
    EGT_CHECK(in_child("EG_FAKE_WITHOUT", "libcudnn.so.9", without));
    EGT_CHECK(in_child("EG_FAKE_CUDNN_VERSION", "8907", without));
    EGT_CHECK(!in_child("EG_FAKE_SEED", "1", without)); /* with it there is a run */
}

static bool no_handle_at_first(void)
{
    FAKE(eg_fake_fail)("cudnnCreate", 1, CUDNN_STATUS_NOT_INITIALIZED);
    return !same_as_cpu() && egt_said(EG_EFAULT, "starting") && same_as_cpu() && counts().dnn_runs == 1;
}

EGT(no_handle)
{
    fake_symbol("eg_fake_read");
    EGT_CHECK(in_child("EG_FAKE_SEED", "1", no_handle_at_first));
}

static bool no_stream_at_first(void)
{
    FAKE(eg_fake_fail)("cudnnSetStream", 1, CUDNN_STATUS_INTERNAL_ERROR);
    return !same_as_cpu() && egt_said(EG_EFAULT, "starting") && same_as_cpu() && counts().dnn_runs == 1;
}

EGT(no_stream_for_a_handle)
{
    fake_symbol("eg_fake_read");
    EGT_CHECK(in_child("EG_FAKE_SEED", "1", no_stream_at_first));
}

static bool first_in_capture(void)
{
    eg_device *d = eg_cuda(0);
    cudaGraph_t graph;
    bool right = false;
    EG_SCOPE {
        void *stream = d ? eg_stream_handle(eg_stream_own(d)) : NULL;
        eg_tensor *x = d ? eg_to(eg_ones(EG_SHAPE(1, 3, 5, 5), EG_F32), d) : NULL;
        eg_tensor *w = d ? eg_to(eg_ones(EG_SHAPE(2, 3, 3, 3), EG_F32), d) : NULL;
        right = x && w && !eg_device_synchronize(d) &&
                !FAKE(cudaStreamBeginCapture)(stream, cudaStreamCaptureModeGlobal) && eg_conv2d(x, w, NULL) &&
                !FAKE(cudaStreamEndCapture)(stream, &graph) && !FAKE(cudaGraphDestroy)(graph);
    }
    return right;
}

EGT(first_met_in_a_capture)
{
    fake_symbol("eg_fake_read");
    EGT_CHECK(in_child("EG_FAKE_SEED", "1", first_in_capture));
}

/* ---- plans in files -------------------------------------------------------------------------- */

static bool plan_is_made(void)
{
    return same_as_cpu() && counts().dnn_read == 0 && counts().heuristics == 1;
}

static bool plan_is_read(void)
{
    return same_as_cpu() && counts().dnn_read == 1 && counts().heuristics == 0;
}

static bool other_version(void)
{
    setenv("EG_FAKE_CUDNN_VERSION", "91800", 1);
    return plan_is_made();
}

/* Of every plan's file keeps so many bytes, and changes a bit of the one at so many thousandths. */
static void spoil(size_t keep, int flip)
{
    glob_t found;
    char pattern[512];
    snprintf(pattern, sizeof pattern, "%s/*.plan", egt_folder());
    EGT_CHECK(!glob(pattern, 0, NULL, &found));
    for (size_t i = 0; i < found.gl_pathc; i++) {
        size_t n;
        char *bytes = egt_read(found.gl_pathv[i], &n);
        if (flip >= 0) {
            bytes[n * (size_t)flip / 1000] ^= 1;
        }
        egt_write(found.gl_pathv[i], bytes, keep < n ? keep : n);
        free(bytes);
    }
    globfree(&found);
}

EGT(plans_in_files)
{
    static const char name[] = "EGRET_PLAN_CACHE";
    fake_symbol("eg_fake_read");
    const char *folder = egt_folder();
    EGT_CHECK(in_child(name, "/nowhere/at all", plan_is_made));
    EGT_CHECK(in_child(name, folder, plan_is_made));
    EGT_EQ(egt_files(".plan"), 1);
    EGT_CHECK(in_child(name, folder, plan_is_read));
    EGT_CHECK(in_child(name, folder, other_version));
    EGT_EQ(egt_files(".plan"), 2);
    EGT_CHECK(in_child(name, folder, plan_is_read));
    spoil(300, -1);
    EGT_CHECK(in_child(name, folder, plan_is_made)); /* of half a file */
    EGT_CHECK(in_child(name, folder, plan_is_read)); /* written anew */
    EGT_EQ(egt_files(""), 2);                        /* and nothing else is left */
    for (int at = 0; at < 1000; at += 41) {
        spoil(SIZE_MAX, at);
        EGT_CHECK(in_child(name, folder, plan_is_made));
    }
    EGT_CHECK(in_child(name, folder, plan_is_read));
}

/* ---- which way ------------------------------------------------------------------------------- */

/* How many plans of cuDNN and products of cuBLASLt the call queues. */
static void check_way(conv v, int64_t groups, int64_t padding, int plans, int products)
{
    conv on = {there(v.x), there(v.w), there(v.b)};
    eg_fake_counts before = counts();
    eg_tensor *y = eg_conv2d(on.x, on.w, on.b, .groups = groups, .padding = padding);
    eg_fake_counts after = counts();
    EGT_EQ(after.dnn_runs - before.dnn_runs, plans);
    EGT_EQ(after.products - before.products, products);
    EGT_CHECK(apart(y, eg_conv2d(v.x, v.w, v.b, .groups = groups, .padding = padding)) < 1e-5);
}

EGT(ways)
{
    emulated(0);
    EG_SCOPE {
        conv one = {random_of(EG_SHAPE(2, 5, 4, 3), EG_F32), random_of(EG_SHAPE(7, 5, 1, 1), EG_F32),
                    random_of(EG_SHAPE(7), EG_F32)};
        check_way(one, 1, 0, 0, 1);
        one.x = eg_channels_last(one.x);
        check_way(one, 1, 0, 0, 1);
        check_way(one, 1, 1, 1, 0); /* with borders it is no product */
        check_way(conv_of(4, 6, 5, 1, EG_F32), 1, 1, 1, 0);
        check_way(conv_of(4, 6, 5, 2, EG_F32), 2, 1, 1, 0);
        check_way(conv_of(6, 6, 5, 6, EG_F32), 6, 1, 0, 0);
        check_way(conv_of(6, 12, 5, 6, EG_F32), 6, 1, 0, 0);
        check_way(conv_of(1, 6, 5, 1, EG_F32), 1, 1, 1, 0);
    }
}

/* More channels than a block, aligned and not, and more places than a thread has. */
static void check_depthwise(int64_t c, int64_t o, eg_dtype dtype, int64_t stride, int64_t wide, double tolerance)
{
    EG_SCOPE {
        eg_tensor *dy, *x = random_of(EG_SHAPE(2, c, 9, 7), dtype);
        eg_tensor *w = random_of(EG_SHAPE(o, 1, 3, wide), dtype), *b = random_of(EG_SHAPE(o), dtype);
        eg_tensor *want = eg_conv2d(x, w, b, .groups = c, .stride = stride, .padding = 2);
        eg_fake_counts before = counts();
        eg_tensor *y = eg_conv2d(there(x), there(w), there(b), .groups = c, .stride = stride, .padding = 2);
        EGT_CHECK(apart(y, want) < tolerance);
        EGT_CHECK(dy = random_of(eg_shape_of(want), dtype));
        EGT_CHECK(apart(eg_conv_data(there(dy), there(w), eg_shape_of(x), .groups = c, .stride = stride, .padding = 2),
                        eg_conv_data(dy, w, eg_shape_of(x), .groups = c, .stride = stride, .padding = 2)) < tolerance);
        EGT_CHECK(
            apart(eg_conv_weight(there(x), there(dy), eg_shape_of(w), .groups = c, .stride = stride, .padding = 2),
                  eg_conv_weight(x, dy, eg_shape_of(w), .groups = c, .stride = stride, .padding = 2)) < 5 * tolerance);
        EGT_EQ(counts().dnn_runs, before.dnn_runs);
    }
}

EGT(depthwise)
{
    emulated(0);
    check_depthwise(264, 264, EG_F32, 1, 5, 1e-5);
    check_depthwise(40, 40, EG_BF16, 2, 5, 2e-2);
    check_depthwise(37, 37, EG_F16, 1, 5, 3e-3);
    check_depthwise(16, 48, EG_F32, 2, 5, 1e-5);
    check_depthwise(16, 16, EG_F64, 1, 5, 1e-12);
    check_depthwise(392, 392, EG_BF16, 1, 3, 2e-2);
    check_depthwise(24, 24, EG_F16, 1, 7, 3e-3);
    check_depthwise(8, 8, EG_F32, 1, 6, 1e-5);
}

/* More weights than shared memory has room for. */
EGT(large_depthwise)
{
    emulated(0);
    EG_SCOPE {
        eg_tensor *x = random_of(EG_SHAPE(1, 2, 3, 40, 40), EG_F32);
        eg_tensor *w = random_of(EG_SHAPE(2, 1, 3, 72, 72), EG_F32);
        eg_fake_counts before = counts();
        EGT_CHECK(apart(eg_conv3d(there(x), there(w), NULL, .groups = 2, .padding = 20),
                        eg_conv3d(x, w, NULL, .groups = 2, .padding = 20)) < 1e-4);
        EGT_EQ(counts().dnn_runs, before.dnn_runs + 1);
    }
}

/* ---- plans ----------------------------------------------------------------------------------- */

EGT(plans_are_kept)
{
    emulated(0);
    EG_SCOPE {
        conv v = conv_of(4, 6, 7, 1, EG_F32), on = {there(v.x), there(v.w), there(v.b)};
        EGT_CHECK(eg_conv2d(on.x, on.w, on.b));
        eg_fake_counts before = counts();
        for (int i = 0; i < 3; i++) {
            EGT_CHECK(eg_conv2d(on.x, on.w, on.b));
        }
        eg_fake_counts after = counts();
        EGT_EQ(after.dnn_plans, before.dnn_plans);
        EGT_EQ(after.heuristics, before.heuristics);
        EGT_EQ(after.dnn_runs, before.dnn_runs + 3);
        EGT_EQ(after.dnn_parts, before.dnn_parts); /* nothing but the plan is left */
        EGT_CHECK(eg_conv2d(on.x, on.w, on.b, .padding = 1));
        EGT_EQ(counts().dnn_plans, before.dnn_plans + 1);
        EGT_EQ(counts().dnn_parts, before.dnn_parts + 1);
        /* Where memory is not aligned as before: another plan. */
        eg_tensor *odd =
            eg_reshape(eg_slice(there(random_of(EG_SHAPE(393), EG_F32)), 0, 1, 393, 1), EG_SHAPE(2, 4, 7, 7));
        eg_tensor *last = eg_permute(eg_reshape(odd, EG_SHAPE(2, 7, 7, 4)), EG_AXES(0, 3, 1, 2));
        EGT_CHECK(apart(eg_conv2d(last, on.w, on.b), eg_conv2d(eg_to(last, eg_cpu()), v.w, v.b)) < 1e-5);
        EGT_EQ(counts().dnn_plans, before.dnn_plans + 2);
    }
}

static void run_step(conv on, eg_tensor *dy)
{
    EG_SCOPE {
        EGT_CHECK(eg_conv2d(on.x, on.w, on.b));
        EGT_CHECK(eg_conv_data(dy, on.w, EG_SHAPE(2, 4, 9, 9)));
        EGT_CHECK(eg_conv_weight(on.x, dy, EG_SHAPE(6, 4, 3, 3)));
    }
}

/* A step that has run once waits for nothing and takes no memory from the driver. */
EGT(warm)
{
    emulated(0);
    EG_SCOPE {
        conv v = conv_of(4, 6, 9, 1, EG_F32), on = {there(v.x), there(v.w), there(v.b)};
        eg_tensor *dy = there(random_of(EG_SHAPE(2, 6, 7, 7), EG_F32));
        eg_fake_counts before = {0};
        for (int i = 0; i < 4; i++) {
            before = i == 2 ? counts() : before;
            run_step(on, dy);
        }
        eg_fake_counts after = counts();
        EGT_EQ(after.syncs, before.syncs);
        EGT_EQ(after.mallocs + after.creates, before.mallocs + before.creates);
        EGT_EQ(after.records, before.records);
        EGT_EQ(after.dnn_runs, before.dnn_runs + 6);
    }
}

/* What a graph of CUDA repeats; cuDNN may be met there for the first time. */
EGT(captured)
{
    eg_device *d = emulated(0);
    void *stream = eg_stream_handle(eg_stream_own(d));
    cudaGraph_t graph;
    cudaGraphExec_t again;
    EG_SCOPE {
        conv v = conv_of(4, 6, 12, 1, EG_F32), on = {there(v.x), there(v.w), there(v.b)};
        EGT_OK(eg_device_synchronize(d));
        eg_fake_counts before = counts();
        EGT_EQ(FAKE(cudaStreamBeginCapture)(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
        eg_tensor *y = eg_conv2d(on.x, on.w, on.b);
        EGT_EQ(FAKE(cudaStreamEndCapture)(stream, &graph), cudaSuccess);
        EGT_CHECK(y);
        EGT_EQ(counts().dnn_plans, before.dnn_plans + 1);
        EGT_EQ(FAKE(cudaGraphInstantiate)(&again, graph, 0), cudaSuccess);
        EGT_EQ(FAKE(cudaGraphLaunch)(again, stream), cudaSuccess);
        EGT_CHECK(apart(y, eg_conv2d(v.x, v.w, v.b)) < 1e-5);
        EGT_EQ(FAKE(cudaGraphExecDestroy)(again), cudaSuccess);
        EGT_EQ(FAKE(cudaGraphDestroy)(graph), cudaSuccess);
    }
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

EGT(math_modes)
{
    emulated(0);
    EG_SCOPE {
        conv v = conv_of(8, 6, 6, 1, EG_F32), on = {there(v.x), there(v.w), there(v.b)};
        eg_tensor *want = eg_conv2d(v.x, v.w, v.b);
        EGT_CHECK(apart(eg_conv2d(on.x, on.w, on.b), want) < 1e-6);
        EGT_OK(eg_set_math_mode(EG_MATH_TF32));
        double off = apart(eg_conv2d(on.x, on.w, on.b), want);
        EGT_OK(eg_set_math_mode(EG_MATH_DEFAULT));
        EGT_CHECK(off > 1e-5 && off < 3e-3);
        EGT_CHECK(apart(eg_conv2d(on.x, on.w, on.b), want) < 1e-6);
    }
}

/* Engines that fuse a bias do not take f64: it is added after. */
EGT(bias)
{
    emulated(0);
    EG_SCOPE {
        eg_dtype dtypes[] = {EG_F32, EG_F64, EG_BF16};
        for (int i = 0; i < 3; i++) {
            conv v = conv_of(8, 6, 6, 1, dtypes[i]), on = {there(v.x), there(v.w), there(v.b)};
            double tolerance = i == 2 ? 2e-2 : 1e-5;
            EGT_CHECK(apart(eg_conv2d(on.x, on.w, on.b), eg_conv2d(v.x, v.w, v.b)) < tolerance);
            eg_tensor *gaps = random_of(EG_SHAPE(12), dtypes[i]);
            EGT_CHECK(apart(eg_conv2d(on.x, on.w, eg_slice(there(gaps), 0, 0, 12, 2)),
                            eg_conv2d(v.x, v.w, eg_slice(gaps, 0, 0, 12, 2))) < tolerance);
            eg_tensor *x = random_of(EG_SHAPE(2, 6, 4, 4), dtypes[i]), *b = random_of(EG_SHAPE(8), dtypes[i]);
            EGT_CHECK(apart(eg_conv_transpose2d(there(x), on.w, there(b), .stride = 2),
                            eg_conv_transpose2d(x, v.w, b, .stride = 2)) < tolerance);
        }
    }
}

/* With a bias ReLU is the engine's too: one launch less. */
EGT(relu)
{
    emulated(0);
    EG_SCOPE {
        conv v = conv_of(8, 6, 6, 1, EG_F32), on = {there(v.x), there(v.w), there(v.b)};
        EGT_CHECK(apart(eg_conv2d(on.x, on.w, on.b, .activation = eg_relu), eg_relu(eg_conv2d(v.x, v.w, v.b))) < 1e-5);
        EGT_CHECK(apart(eg_conv2d(on.x, on.w, NULL, .activation = eg_relu), eg_relu(eg_conv2d(v.x, v.w, NULL))) < 1e-5);
        FAKE(eg_fake_zero)();
        eg_conv2d(on.x, on.w, on.b);
        const int64_t alone = FAKE(eg_fake_read)().launches;
        FAKE(eg_fake_zero)();
        eg_conv2d(on.x, on.w, on.b, .activation = eg_relu);
        EGT_EQ(FAKE(eg_fake_read)().launches, alone);
    }
}

/* ---- threads --------------------------------------------------------------------------------- */

static void *thread_job(void *user)
{
    bool *right = user;
    *right = true;
    for (int i = 0; i < 20 && *right; i++) {
        EG_SCOPE {
            eg_tensor *x = eg_ones(EG_SHAPE(1, 3, 5, 5 + i % 3), EG_F32), *w = eg_ones(EG_SHAPE(2, 3, 3, 3), EG_F32);
            eg_tensor *y = eg_conv2d(there(x), there(w), NULL);
            *right = y && egt_distance(eg_to(y, eg_cpu()), eg_full(EG_SHAPE(1, 2, 3, 3 + i % 3), 27, EG_F32)) == 0;
        }
    }
    return NULL;
}

EGT(threads)
{
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    bool right[THREADS];
    emulated(0);
    for (int i = 0; i < THREADS; i++) {
        EGT_CHECK(!pthread_create(&thread[i], NULL, thread_job, &right[i]));
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        EGT_CHECK(right[i]);
    }
}

/* ---- failing --------------------------------------------------------------------------------- */

/* Where cuDNN has nothing, kernels of the module's own compute: all engines refuse, recommended and
 * not. */
EGT(no_engine)
{
    emulated(0);
    EG_SCOPE {
        conv v = conv_of(4, 5, 8, 1, EG_F32), on = {there(v.x), there(v.w), there(v.b)};
        int64_t parts = counts().dnn_parts;
        for (int i = 1; i <= 8; i++) {
            FAKE(eg_fake_fail)("cudnnBackendFinalize/plan", 1, CUDNN_STATUS_NOT_SUPPORTED);
        }
        eg_fake_counts before = counts();
        for (int i = 0; i < 2; i++) {
            EGT_CHECK(apart(eg_conv2d(on.x, on.w, NULL), eg_conv2d(v.x, v.w, NULL)) < 1e-5);
        }
        FAKE(eg_fake_mend)();
        EGT_EQ(counts().dnn_runs, before.dnn_runs);
        EGT_EQ(counts().dnn_parts, parts);
        /* The recommended ones fail: one of the others. */
        v = conv_of(4, 5, 10, 1, EG_F32);
        FAKE(eg_fake_fail)("cudnnBackendFinalize/heuristics", 1, CUDNN_STATUS_NOT_SUPPORTED);
        EGT_CHECK(apart(eg_conv2d(there(v.x), on.w, NULL), eg_conv2d(v.x, eg_to(on.w, eg_cpu()), NULL)) < 1e-5);
        EGT_EQ(counts().dnn_runs, before.dnn_runs + 1);
        /* Those find no memory: that is said, and is no plan. */
        v = conv_of(4, 5, 11, 1, EG_F32);
        on.x = there(v.x);
        FAKE(eg_fake_fail)("cudnnBackendFinalize/heuristics", 1, CUDNN_STATUS_NOT_SUPPORTED);
        FAKE(eg_fake_fail)
        ("cudnnBackendFinalize/heuristics", 1, CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED);
        EGT_REFUSED(eg_conv2d(on.x, on.w, NULL), EG_ENOMEM, "cuDNN");
        FAKE(eg_fake_mend)();
        EGT_CHECK(apart(eg_conv2d(on.x, on.w, NULL), eg_conv2d(v.x, eg_to(on.w, eg_cpu()), NULL)) < 1e-5);
        EGT_EQ(counts().dnn_runs, before.dnn_runs + 2);
    }
}

/* Nothing is left behind by a failure at any descriptor. */
EGT(failing_calls)
{
    static const char *const functions[] = {"cudnnBackendCreateDescriptor", "cudnnBackendSetAttribute",
                                            "cudnnBackendGetAttribute", "cudnnBackendFinalize", "cudnnBackendExecute"};
    emulated(0);
    EG_SCOPE {
        conv v = conv_of(4, 5, 8, 1, EG_F32), on = {there(v.x), there(v.w), there(v.b)};
        int64_t padding = 1;
        for (int f = 0; f < (int)(sizeof functions / sizeof *functions); f++) {
            for (int nth = 1; nth < 12; nth++) {
                int64_t parts = counts().dnn_parts;
                FAKE(eg_fake_fail)(functions[f], nth, CUDNN_STATUS_INTERNAL_ERROR);
                eg_tensor *y = eg_conv2d(on.x, on.w, on.b, .padding = padding++);
                FAKE(eg_fake_mend)();
                parts = counts().dnn_parts - parts;
                EGT_CHECK(y || egt_said(EG_EFAULT, "cuDNN"));
                EGT_CHECK(y ? parts == 1 : parts == 0 || (f == 4 && parts == 1)); /* the plan */
            }
        }
        FAKE(eg_fake_fail)
        ("cudnnBackendFinalize/graph", 1, CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED);
        EGT_REFUSED(eg_conv2d(on.x, on.w, on.b, .padding = padding), EG_ENOMEM, "cuDNN");
        EGT_CHECK(apart(eg_conv2d(on.x, on.w, on.b, .padding = padding), eg_conv2d(v.x, v.w, v.b, .padding = padding)) <
                  1e-5);
    }
}

/* Memory for the work area runs out. */
EGT(no_memory)
{
    eg_device *d = emulated(0);
    EG_SCOPE {
        conv v = conv_of(4, 5, 11, 1, EG_F32), on = {there(v.x), there(v.w), there(v.b)};
        eg_tensor *y = eg_conv2d(on.x, on.w, on.b);
        EGT_CHECK(y);
        EGT_OK(eg_device_synchronize(d));
        eg_device_memory_trim(d);
        eg_device_memory_limit(d, 1);
        eg_tensor *none = eg_conv2d(on.x, on.w, on.b);
        eg_device_memory_limit(d, 0);
        EGT_CHECK(none || egt_said(EG_ENOMEM, ""));
        EGT_CHECK(apart(eg_conv2d(on.x, on.w, on.b), eg_conv2d(v.x, v.w, v.b)) < 1e-5);
    }
}

/* ---- at last: the table of plans stays full -------------------------------------------------- */

static void run_part(eg_tensor *x, eg_tensor *w, int rows, int columns)
{
    EG_SCOPE {
        EGT_CHECK(eg_conv2d(eg_slice(eg_slice(x, 2, 0, rows, 1), 3, 0, columns, 1), w, NULL));
    }
}

/* More shapes than there is room for plans. */
EGT(plans_are_forgotten)
{
    enum { SIDE = 40 };
    emulated(0);
    EG_SCOPE {
        eg_tensor *x = there(random_of(EG_SHAPE(1, 1, SIDE + 2, SIDE + 2), EG_F32));
        eg_tensor *w = there(random_of(EG_SHAPE(1, 1, 2, 2), EG_F32));
        int64_t parts = counts().dnn_parts;
        for (int i = 0; i < SIDE * SIDE; i++) {
            run_part(x, w, 2 + i / SIDE, 2 + i % SIDE);
        }
        EGT_CHECK(counts().dnn_parts <= parts + 1024);
        int64_t asked = counts().heuristics;
        for (int i = 0; i < SIDE; i++) {
            run_part(x, w, 2, 2 + i);
        }
        EGT_CHECK(counts().heuristics > asked);
    }
}
