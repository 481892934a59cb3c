/* test_cuda_device.c - devices: naming, moving, mixing, memory, failing; on two emulated ones, or one of the
 * machine. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cuda/module.h"

static const double six[] = {1, -2, 3, -4, 5, -6};

static eg_tensor *six_on(eg_device *d, eg_dtype dtype)
{
    return eg_to(eg_from_values(EG_SHAPE(2, 3), dtype, six), d);
}

/* ---- which there are ----------------------------------------------------------------------------- */

EGT(names)
{
    eg_device *d = emulated(0);
    EGT_EQ(eg_cuda_count(), 2);
    EGT_STR(eg_device_name(d), "cuda:0");
    EGT_STR(eg_device_name(eg_cuda(1)), "cuda:1");
    EGT_STR(eg_device_name(eg_cpu()), "cpu");
    EGT_STR(eg_device_name(NULL), "none");
    EGT_CHECK(eg_device_open("cuda") == d && eg_device_open("cuda:0") == d);
    EGT_CHECK(eg_device_open("cuda:1") == eg_cuda(1) && eg_device_open("cpu") == eg_cpu());
    EGT_REFUSED(eg_cuda(2), EG_ENODEVICE, "no device cuda:2: there are 2");
    EGT_REFUSED(eg_cuda(-1), EG_ENODEVICE, "no device cuda:-1");
    EGT_REFUSED(eg_device_open("cuda:x"), EG_EINVAL, "\"cuda:x\" is no device");
    EGT_REFUSED(eg_device_open("cuda:"), EG_EINVAL, "is no device");
    EGT_REFUSED(eg_device_open("cuda:99999"), EG_EINVAL, "is no device");
    EGT_REFUSED(eg_device_open(NULL), EG_EINVAL, "name");
}

EGT(described)
{
    eg_device_info i;
    EGT_OK(eg_device_describe(emulated(0), &i));
    EGT_EQ(i.major, 9);
    EGT_EQ(i.processors, 132);
    EGT_CHECK(i.memory_bytes == (int64_t)1 << 30 && i.free_bytes <= i.memory_bytes);
    EGT_CHECK(i.runtime >= 12000 && strlen(i.name) && strlen(i.pci) == 12);
    EGT_OK(eg_device_describe(eg_cpu(), &i));
    EGT_CHECK(strstr(i.name, eg_cpu_isa()) && i.processors >= 1 && i.memory_bytes == 0);
    EGT_REFUSED(eg_device_describe(NULL, &i), EG_EINVAL, "device");
}

/* ---- moving ---------------------------------------------------------------------------------------- */

EGT(there_and_back)
{
    eg_device *d = cuda(0);
    for (int t = 0; t < EG_DTYPE_COUNT; t++) {
        eg_tensor *x = eg_cast(eg_from_values(EG_SHAPE(2, 3), EG_F64, six), (eg_dtype)t);
        eg_tensor *y = eg_to(x, d);
        EGT_CHECK(eg_device_of(y) == d && eg_to(y, d) == y);
        EGT_EQ(egt_distance(eg_to(y, eg_cpu()), x), 0);
    }
    EGT_CHECK(eg_device_of(NULL) == NULL);
    EGT_REFUSED(eg_to(eg_scalar(1, EG_F32), NULL), EG_EINVAL, "device");
    eg_clear_error();
    EGT_REFUSED(eg_to(NULL, d), EG_EINVAL, "x");
}

EGT(layouts_are_kept)
{
    eg_device *d = cuda(0);
    eg_tensor *x = egt_random(EG_SHAPE(2, 3, 4, 5), EG_F32, -1, 1);
    eg_tensor *last = eg_to(eg_channels_last(x), d), *turned = eg_to(eg_transpose(x, 1, 3), d);
    EGT_CHECK(eg_is_channels_last(last) && eg_stride(turned, 1) == 1);
    EGT_EQ(egt_distance(eg_to(last, eg_cpu()), x), 0);
    EGT_EQ(egt_distance(eg_to(turned, eg_cpu()), eg_transpose(x, 1, 3)), 0);
    eg_tensor *gaps = eg_slice(x, 3, 0, EG_END, 2), *there = eg_slice(eg_to(x, d), 3, 0, EG_END, 2);
    EGT_EQ(egt_distance(eg_to(eg_to(gaps, d), eg_cpu()), gaps), 0);
    EGT_EQ(egt_distance(eg_to(there, eg_cpu()), gaps), 0);
    EGT_EQ(eg_numel(eg_to(eg_zeros(EG_SHAPE(3, 0), EG_F32), d)), 0);
}

/* More than the pinned buffers hold at once. */
EGT(large)
{
    eg_tensor *x = eg_arange(0, 5500000, 1, EG_F32);
    eg_tensor *y = eg_to(eg_to(x, cuda(0)), eg_cpu());
    EGT_CHECK(y && !memcmp(eg_data(x), eg_data(y), (size_t)eg_numel(x) * 4));
}

EGT(between_devices)
{
    eg_device *a = cuda(0), *b = cuda(1);
    eg_tensor *x = six_on(a, EG_F32), *y = eg_mul_scalar(eg_to(eg_add(x, x), b), 3);
    EGT_CHECK(eg_device_of(y) == b);
    EGT_EQ(eg_get(y, 5), -36);
    EGT_EQ(eg_get(eg_to(y, a), 0), 6);
}

EGT(gradient_comes_back)
{
    eg_device *d = cuda(0);
    eg_tensor *x = eg_from_values(EG_SHAPE(2, 3), EG_F32, six), *g;
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    eg_tensor *y = eg_square(eg_to(x, d));
    EGT_OK(eg_tape_gradients(tape, y, &x, 1, &g, .dy = eg_ones_like(y)));
    EGT_CHECK(eg_device_of(g) == eg_cpu());
    EGT_EQ(eg_get(g, 3), -8);
}

/* ---- reading and writing from the host --------------------------------------------------------------- */

EGT(read_on_the_host)
{
    eg_tensor *x = six_on(cuda(0), EG_F32);
    double all[6];
    float raw[6];
    char text[200];
    EGT_EQ(eg_get(x, 4), 5);
    EGT_EQ(eg_get(eg_transpose(x, 0, 1), 1), -4);
    EGT_EQ(eg_item(eg_slice(eg_reshape(x, EG_SHAPE(-1)), 0, 2, 3, 1)), 3);
    EGT_OK(eg_to_values(eg_transpose(x, 0, 1), all));
    EGT_EQ(all[1], -4);
    EGT_OK(eg_copy_out(x, raw, sizeof raw));
    EGT_EQ(raw[5], -6);
    EGT_OK(eg_copy_out(eg_transpose(x, 0, 1), raw, sizeof raw));
    EGT_EQ(raw[1], -4);
    EGT_CHECK(eg_format(x, text, sizeof text) > 0 && strstr(text, "-6"));
    EGT_OK(eg_set(x, 1, 9));
    EGT_EQ(eg_get(x, 1), 9);
    EGT_REFUSED(eg_data(x), EG_EDEVICE, "t is on cuda:0");
    EGT_REFUSED(eg_data_mut(x), EG_EDEVICE, "t is on cuda:0");
    EGT_CHECK(eg_device_data(x) && eg_device_data_mut(x));
}

EGT(copies_across)
{
    eg_device *d = cuda(0);
    eg_tensor *x = eg_to(eg_zeros(EG_SHAPE(2, 3), EG_F32), d);
    eg_tensor *h = eg_zeros(EG_SHAPE(2, 3), EG_F32);
    EGT_CHECK(eg_copy_(x, eg_from_values(EG_SHAPE(3), EG_I64, six)) == x);
    EGT_EQ(eg_get(x, 4), -2);
    EGT_CHECK(eg_copy_(h, x) == h);
    EGT_EQ(eg_get(h, 5), 3);
}

/* ---- where calls run ----------------------------------------------------------------------------------- */

EGT(mixing)
{
    eg_device *d = cuda(0);
    eg_tensor *x = six_on(d, EG_F32), *y = six_on(eg_cpu(), EG_F32);
    EGT_REFUSED(eg_add(x, y), EG_EDEVICE, "input 0 is on cuda:0, input 1 on cpu");
    EGT_REFUSED(eg_add_(y, x), EG_EDEVICE, "input 0 is on cpu, input 1 on cuda:0");
    EGT_REFUSED(eg_add(x, six_on(cuda(1), EG_F32)), EG_EDEVICE, "cuda:1");
    EGT_EQ(eg_get(eg_mul(x, eg_scalar(2, EG_F32)), 5), -12);
    EGT_EQ(eg_get(eg_sub(eg_scalar(1, EG_F64), x), 5), 7);
    EGT_CHECK(eg_dtype_of(eg_sub(eg_scalar(1, EG_F64), x)) == EG_F32);
    EGT_EQ(eg_get(eg_where(eg_gt_scalar(x, 0), x, eg_scalar(0.5, EG_F32)), 1), 0.5);
    EGT_REFUSED(eg_add_(eg_scalar(1, EG_F32), eg_to(eg_scalar(1, EG_F32), d)), EG_EDEVICE, "target");
}

EGT(makers)
{
    eg_device *d = cuda(0);
    EGT_CHECK(eg_use_device(d) == eg_cpu());
    eg_tensor *made[] = {eg_zeros(EG_SHAPE(3), EG_F32),
                         eg_ones(EG_SHAPE(3), EG_I32),
                         eg_full(EG_SHAPE(3), 7, EG_BF16),
                         eg_arange(0, 3, 1, EG_I64),
                         eg_linspace(0, 1, 3, EG_F64),
                         eg_eye(2, 2, 0, EG_F32),
                         eg_from_values(EG_SHAPE(3), EG_F32, six),
                         eg_from(EG_SHAPE(3), EG_F64, six)};
    eg_tensor *number = eg_scalar(1, EG_F32);
    EGT_CHECK(eg_use_device(eg_cpu()) == d);
    static const double third[] = {0, 1, 7, 2, 1, 0, 3, 3};
    for (int i = 0; i < 8; i++) {
        EGT_CHECK(eg_device_of(made[i]) == d);
        EGT_EQ(eg_get(made[i], 2), third[i]);
    }
    EGT_CHECK(eg_device_of(number) == eg_cpu());
    EGT_CHECK(eg_device_of(eg_zeros_like(made[0])) == d && eg_device_of(eg_ones_like(made[0])) == d);
    EGT_CHECK(eg_device_of(eg_full_like(made[0], 2)) == d);
    EGT_REFUSED(eg_use_device(NULL), EG_EINVAL, "device");
}

static void *use_and_restore(void *device)
{
    eg_device *before = eg_use_device(eg_cpu());
    *(eg_device **)device = before;
    return eg_use_device(before);
}

EGT(the_environment_names_the_first_device_of_a_thread)
{
    eg_device *before = NULL;
    void *between;
    pthread_t thread;
    EGT_OK(setenv("EGRET_DEVICE", "cuda:1", 1));
    EGT_OK(pthread_create(&thread, NULL, use_and_restore, &before));
    EGT_OK(pthread_join(thread, &between));
    EGT_OK(unsetenv("EGRET_DEVICE"));
    EGT_CHECK(before == cuda(1) && between == eg_cpu());
}

/* ---- memory ---------------------------------------------------------------------------------------------- */

EGT(steady_state)
{
    eg_device *d = emulated(0);
    eg_fake_counts before = {0}, after;
    for (int step = 0; step < 8; step++) {
        if (step == 5) { /* the ring of pinned buffers is full by then */
            before = FAKE(eg_fake_read)();
        }
        EG_SCOPE {
            eg_tensor *x = eg_to(eg_zeros(EG_SHAPE(30, 70), EG_F32), d);
            EGT_CHECK(eg_exp(eg_add_scalar(eg_mul(x, x), 1)));
        }
    }
    after = FAKE(eg_fake_read)();
    EGT_EQ(after.launches - before.launches, 9);
    EGT_EQ(after.mallocs + after.creates, before.mallocs + before.creates);
    EGT_EQ(after.host_allocs, before.host_allocs);
    EGT_EQ(after.streams + after.events, before.streams + before.events);
}

EGT(statistics_and_caps)
{
    eg_device *d = eg_device_split(cuda(0), 64 << 20);
    EGT_CHECK(d && strstr(eg_device_name(d), "cuda:0/"));
    EG_SCOPE {
        eg_tensor *x = eg_to(eg_zeros(EG_SHAPE(1 << 20), EG_F32), d);
        eg_memory m = eg_device_memory(d);
        EGT_CHECK(x && m.live_bytes == 4 << 20 && m.reserved_bytes >= m.live_bytes);
        EGT_CHECK(m.limit_bytes == 64 << 20 && m.peak_bytes >= m.reserved_bytes);
        EGT_REFUSED(eg_to(eg_zeros(EG_SHAPE(20 << 20), EG_F32), d), EG_ENOMEM, "on cuda:0/");
        EGT_REFUSED(eg_to(eg_zeros(EG_SHAPE(20 << 20), EG_F32), d), EG_ENOMEM, "most held by to 4.0");
        EGT_EQ(eg_get(eg_add(x, x), 5), 0);
    }
    EGT_EQ(eg_device_memory(d).live_bytes, 0);
    EGT_OK(eg_device_memory_trim(d));
    EGT_EQ(eg_device_memory(d).reserved_bytes, 0);
    eg_device_memory_reset_peak(d);
    EGT_EQ(eg_device_memory(d).peak_bytes, 0);
    EGT_OK(eg_device_memory_limit(d, 0));
    EGT_CHECK(eg_to(eg_zeros(EG_SHAPE(20 << 20), EG_F32), d));
    EGT_REFUSED(eg_device_memory_limit(d, -1), EG_EINVAL, "-1");
    EGT_REFUSED(eg_device_split(eg_cpu(), 100), EG_EINVAL, "cpu");
    EGT_REFUSED(eg_device_split(cuda(0), 0), EG_EINVAL, "0 bytes");
}

/* What a net with norms makes of images on a device, in two halves or as one; on the CPU. */
static eg_tensor *judged(eg_module *net, eg_tensor *images, eg_device *d, int parts)
{
    eg_tensor *made[2] = {NULL};
    EGT_OK(eg_module_to_device(net, d));
    for (int i = 0; i < parts; i++) {
        int64_t n = eg_size(images, 0) / parts;
        made[i] = eg_to(eg_module_forward(net, eg_to(eg_slice(images, 0, i * n, (i + 1) * n, 1), d)), eg_cpu());
    }
    return eg_concat(made, parts, 0);
}

EGT(a_net_is_judged_alike_on_all_devices_of_a_card)
{
    eg_device *devices[] = {cuda(0), eg_device_split(cuda(0), 48 << 20), eg_device_split(cuda(0), 32 << 20)};
    eg_module *net = eg_sequential_new(eg_conv2d_new(3, 8, .kernel = 3, .padding = EG_SAME), eg_batch_norm_new(8),
                                       eg_activation_new(eg_relu), eg_max_pool2d_new(.kernel = 2), eg_flatten_new(),
                                       eg_linear_new(8 * 4 * 4, 10));
    eg_tensor *images = egt_random(EG_SHAPE(6, 3, 8, 8), EG_F32, -1, 1);
    EGT_OK(eg_module_eval(net));
    eg_tensor *want = judged(net, images, devices[0], 1);
    for (int i = 0; i < 3; i++) {
        for (int parts = 1; parts <= 2; parts++) {
            EGT_EQ(egt_distance(judged(net, images, devices[i], parts), want), 0);
        }
    }
    EGT_OK(eg_module_to_device(net, eg_cpu()));
    EGT_OK(eg_module_free(net));
}

static bool small_step(void *user)
{
    eg_tensor *x = eg_to(eg_from_values(EG_SHAPE(2, 3), EG_F32, six), user), *g;
    eg_tape tape = eg_tape_open();
    if (!x || eg_tape_watch(tape, x)) {
        return false;
    }
    eg_tensor *y = eg_exp(eg_mul(eg_transpose(x, 0, 1), eg_scalar(0.5, EG_F32)));
    eg_tensor *dy = y ? eg_ones_like(y) : NULL;
    return dy && !eg_tape_gradients(tape, y, &x, 1, &g, .dy = dy) && eg_get(g, 0) > 0;
}

EGT(failing_allocations)
{
    EGT_CHECK(egt_fail_allocations(small_step, eg_device_split(cuda(0), 32 << 20)) > 3);
}

/* ---- what goes wrong ---------------------------------------------------------------------------------------- */

EGT(failing_calls)
{
    eg_device *d = emulated(0);
    eg_tensor *x = six_on(d, EG_F32);
    FAKE(eg_fake_fail)("cudaLaunchKernel", 1, cudaErrorLaunchOutOfResources);
    EGT_REFUSED(eg_exp(x), EG_EFAULT, "exp");
    EGT_EQ(eg_get(eg_neg(x), 0), -1);
    FAKE(eg_fake_fail)("cudaMemcpyAsync", 1, cudaErrorInvalidValue);
    EGT_REFUSED(six_on(d, EG_F32), EG_EFAULT, "copying to the device");
    FAKE(eg_fake_fail)("cudaMemcpyAsync", 1, cudaErrorInvalidValue);
    EGT_REFUSED(eg_get(x, 0), EG_EFAULT, "eg_get");
    FAKE(eg_fake_mend)();
    EGT_EQ(eg_get(x, 2), 3);
}

/* A fault of the device is seen by whoever waits next, or by its own op under EG_DEBUG=sync. */
EGT(lost)
{
    for (int sync = 0; sync < 2; sync++) {
        eg_device *d = eg_device_split(emulated(1), 32 << 20);
        eg_tensor *x = six_on(d, EG_F32);
        EGT_OK(eg_device_synchronize(d));
        EGT_OK(eg_debug(sync ? "sync" : NULL));
        FAKE(eg_fake_fault)(1);
        eg_tensor *y = eg_exp(x);
        EGT_CHECK((y == NULL) == (sync == 1));
        if (!sync) {
            EGT_REFUSED(eg_get(y, 0), EG_EFAULT, "lost to this process");
        } else {
            EGT_CHECK(egt_said(EG_EFAULT, "seen in exp"));
        }
        EGT_OK(eg_debug(NULL));
        EGT_REFUSED(eg_exp(x), EG_EFAULT, "lost to this process");
        EGT_REFUSED(eg_to(eg_scalar(1, EG_F32), d), EG_EFAULT, "lost");
        EGT_REFUSED(eg_device_synchronize(d), EG_EFAULT, "lost");
        FAKE(eg_fake_mend)();
    }
    EGT_EQ(eg_get(six_on(emulated(1), EG_F32), 1), -2); /* others go on once the card does */
}

/* A bad index is found by the next call that waits, or by its own op under EG_DEBUG=sync; the device lives. */
EGT(bad_index)
{
    for (int sync = 0; sync < 2; sync++) {
        eg_device *d = cuda(0);
        eg_tensor *x = six_on(d, EG_F32);
        eg_tensor *good = eg_to(eg_from_values(EG_SHAPE(2), EG_I64, (const double[]){0, 1}), d);
        eg_tensor *bad = eg_to(eg_from_values(EG_SHAPE(2), EG_I64, (const double[]){0, 1000}), d);
        EGT_OK(eg_device_synchronize(d));
        EGT_OK(eg_debug(sync ? "sync" : NULL));
        EGT_CHECK(eg_exp(x) && eg_index_select(x, 0, good));
        eg_tensor *y = eg_index_select(x, 0, bad);
        EGT_CHECK((y == NULL) == (sync == 1));
        if (!sync) {
            EGT_CHECK(eg_exp(y));
            EGT_CHECK(eg_device_synchronize(d) == EG_EINDEX);
        }
        EGT_CHECK(egt_said(EG_EINDEX, "index_select") || egt_said(EG_EINDEX, "take"));
        EGT_OK(eg_debug(NULL));
        EGT_OK(eg_device_synchronize(d));
        EGT_EQ(eg_get(eg_index_select(x, 0, good), 3), -4);
    }
}

/* ---- processes --------------------------------------------------------------------------------------- */

static bool lost_in_child(eg_device *d, eg_tensor *x)
{
    eg_tensor *host = eg_ones(EG_SHAPE(3), EG_F32);
    bool ok = !eg_add(x, x) && egt_said(EG_EDEVICE, "the parent's") && !eg_to(host, d) &&
              egt_said(EG_EDEVICE, "the parent's") && !eg_to(x, eg_cpu()) && egt_said(EG_EDEVICE, "the parent's");
    ok = ok && !eg_cuda(0) && egt_said(EG_ENODEVICE, "the parent's") && eg_cuda_count() == 0;
    ok = ok && eg_device_memory_limit(d, 1) == EG_EDEVICE && eg_device_memory_trim(d) == EG_EDEVICE;
    ok = ok && eg_device_synchronize(d) == EG_EDEVICE && eg_item(eg_sum(eg_reshape(host, EG_SHAPE(-1)))) == 3;
    return ok && !eg_release(x);
}

EGT(a_child_has_no_device)
{
    int status = 1;
#ifdef __SANITIZE_THREAD__
    egt_skip("not under the thread sanitizer");
#endif
    eg_device *d = cuda(0);
    eg_tensor *x = eg_keep(six_on(d, EG_F32));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        exit(lost_in_child(d, x) ? 0 : 1 + eg_error_print(stderr));
    }
    EGT_CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    EGT_EQ(eg_get(eg_to(eg_add(x, x), eg_cpu()), 1), -4);
    eg_release(x);
}
