/* test_cuda_profile.c - a profile of work on a device: the device's times beside the host's, without a wait, on the
 * host's clock whatever the device's shows, and no op the worse for what the profile is refused. */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <unistd.h>

#include "tests/cuda/module.h"
#include "tests/trace.h"

/* Rows of devices begin here; microseconds by which a card's clock may be placed wrong, and two of its events. */
enum { STREAMS = 100000, PLACED = 500, APART = 3 };

/* The bar of that name in a row of a stream, from place `from` on; -1: none. */
static int find_there(const char *name, int from)
{
    for (int i = from; i < count; i++) {
        if (events[i].tid >= STREAMS && !strcmp(events[i].ph, "X") && !strcmp(events[i].name, name)) {
            return i;
        }
    }
    return -1;
}

static int bars_there(void)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        n += events[i].tid >= STREAMS && !strcmp(events[i].ph, "X");
    }
    return n;
}

/* Work on one stream comes one after the other, or one within the other, and not before it is asked for. */
static void check_order(const event *all)
{
    for (int i = 0; i < count; i++) {
        const event *e = &events[i];
        if (e->tid < STREAMS || strcmp(e->ph, "X")) {
            continue;
        }
        EGT_CHECK(e->dur >= 0 && e->ts >= all->ts - PLACED);
        EGT_CHECK(e->ts + e->dur <= all->ts + all->dur + PLACED);
        for (int k = 0; k < i; k++) {
            const event *d = &events[k];
            bool apart = e->ts >= d->ts + d->dur - APART || d->ts >= e->ts + e->dur - APART;
            EGT_CHECK(d->tid != e->tid || strcmp(d->ph, "X") || apart || within(e, d) || within(d, e));
        }
    }
}

static void step(eg_module *net, eg_optim *adam, eg_tensor *x)
{
    EG_SCOPE {
        eg_tape tape = eg_tape_open();
        eg_tensor *loss = eg_mean(eg_square(eg_relu(eg_module_forward(net, x))));
        EGT_OK(eg_optim_minimize(adam, tape, loss));
    }
}

EGT(a_training_step)
{
    eg_device *d = cuda(0);
    eg_module *net = eg_linear_new(3, 5);
    EGT_OK(eg_module_to_device(net, d));
    eg_tensor *x = eg_to(eg_ones(EG_SHAPE(4, 3), EG_F32), d);
    eg_optim *adam = eg_adam_new(eg_module_parameters(net));
    step(net, adam, x);
    EGT_OK(eg_profile_begin(.memory = true));
    eg_profile_push("all");
    if (faked()) {
        FAKE(eg_fake_zero)();
    }
    step(net, adam, x);
    step(net, adam, x);
    if (faked()) {
        EGT_EQ(FAKE(eg_fake_read)().syncs, 0);
    }
    EG_SCOPE {
        eg_tensor *y = eg_to(eg_full(EG_SHAPE(1000), 2, EG_F32), d);
        EGT_EQ(eg_get(y, 7), 2);
        EGT_OK(eg_device_synchronize(d)); /* the mark behind the copy */
    }
    eg_profile_pop();
    EGT_OK(eg_profile_end(egt_path("trace.json")));
    eg_optim_free(adam);
    eg_module_free(net);
    read_trace(egt_path("trace.json"));
    EGT_EQ(dropped + untimed, 0);
    check_order(&events[find("all", "span")]);
    int linear = find_there("linear", 0), adam_there = find_there("adam_update", 0);
    EGT_CHECK(linear >= 0 && adam_there >= 0 && find_there("linear", linear + 1) >= 0);
    EGT_STR(events[linear].in, "f32 [4, 3], f32 [5, 3], f32 [5]");
    EGT_CHECK(events[adam_there].ts >= events[linear].ts + events[linear].dur - APART);
    int named = 0, curve = 0, backward = 0;
    for (int i = 0; i < count; i++) {
        const event *e = &events[i];
        named += !strcmp(e->ph, "M") && e->tid == events[linear].tid && !strcmp(e->row, "cuda:0 stream 0");
        curve += !strcmp(e->ph, "C") && !strcmp(e->name, "memory cuda:0") && e->live > 0;
        backward += e->tid >= STREAMS && !strcmp(e->cat, "backward");
    }
    EGT_EQ(named, 1);
    EGT_CHECK(curve >= 2 && backward >= 2);
    int up = find_there("to", 0), down = find_there("download", 0);
    EGT_CHECK(up >= 0 && down > up);
    EGT_EQ(events[down].bytes, 4);
    EGT_STR(events[down].cat, "memory");
}

EGT(totals)
{
    eg_profile_total t[8];
    eg_device *d = cuda(0);
    eg_tensor *x = eg_to(eg_ones(EG_SHAPE(300000), EG_F32), d);
    EGT_OK(eg_profile_begin());
    eg_neg(eg_ones(EG_SHAPE(3), EG_F32));
    for (int i = 0; i < 5; i++) {
        eg_exp(x);
    }
    EGT_EQ(eg_profile_totals(t, 8), 2); /* of the profile that runs */
    EGT_STR(t[0].name, "exp");
    EGT_EQ(t[0].calls, 5);
    EGT_CHECK(t[0].device_seconds > 0 && t[0].seconds > 0 && t[1].seconds > 0);
    EGT_EQ(t[1].device_seconds, 0);
    eg_exp(x);
    double before = t[0].device_seconds;
    EGT_OK(eg_profile_end(NULL));
    EGT_EQ(eg_profile_totals(t, 1), 2);
    EGT_CHECK(t[0].calls == 6 && t[0].device_seconds > before);
}

/* A clock that runs faster and began elsewhere. */
EGT(the_clock_of_the_device)
{
    eg_device *d = emulated(0);
    FAKE(eg_fake_clock)(1.5, -1e5);
    eg_tensor *x = eg_to(eg_ones(EG_SHAPE(1000), EG_F32), d);
    EGT_OK(eg_profile_begin());
    usleep(20000);
    eg_profile_push("first");
    eg_exp(x);
    EGT_OK(eg_device_synchronize(d));
    eg_profile_pop();
    usleep(60000);
    eg_profile_push("second");
    eg_neg(x);
    EGT_OK(eg_device_synchronize(d));
    eg_profile_pop();
    EGT_OK(eg_profile_end(egt_path("trace.json")));
    FAKE(eg_fake_clock)(1, 0);
    read_trace(egt_path("trace.json"));
    const char *const pairs[][2] = {{"exp", "first"}, {"neg", "second"}};
    for (int i = 0; i < 2; i++) {
        const event *e = &events[find_there(pairs[i][0], 0)], *s = &events[find(pairs[i][1], "span")];
        snprintf(egt_case, sizeof egt_case, "%g + %g in %g + %g", e->ts, e->dur, s->ts, s->dur);
        EGT_CHECK(e->ts >= s->ts - 2000 && e->ts + e->dur <= s->ts + s->dur + 2000);
    }
}

/* More than is kept waiting: what the device is past is read on the way, and its events are used again. */
EGT(long_ones)
{
    enum { MANY = 3000 };
    eg_device *d = cuda(0);
    eg_tensor *x = eg_to(eg_ones(EG_SHAPE(3), EG_F32), d);
    EGT_OK(eg_profile_begin(.most_bytes = 150000));
    if (faked()) {
        FAKE(eg_fake_zero)();
    }
    for (int i = 0; i < MANY; i++) {
        EG_SCOPE {
            eg_exp(x);
        }
        if (i % 100 == 99) {
            EGT_OK(eg_device_synchronize(d));
        }
    }
    if (faked()) {
        EGT_EQ(FAKE(eg_fake_read)().syncs, MANY / 100);
        EGT_CHECK(FAKE(eg_fake_read)().events <= 2 * (256 + 100 + 2));
    }
    EGT_OK(eg_profile_end(egt_path("trace.json")));
    read_trace(egt_path("trace.json"));
    EGT_CHECK(dropped > 500 && count > 500);
    eg_profile_total t;
    EGT_EQ(eg_profile_totals(&t, 1), 1);
    EGT_EQ(t.calls, MANY);
    EGT_CHECK(t.device_seconds > 0);
}

EGT(streams_and_devices)
{
    eg_device *d = cuda(0), *e = eg_device_split(d, 32 << 20);
    eg_stream *s = eg_stream_new(d);
    EGT_OK(eg_profile_begin(.memory = true));
    EG_SCOPE {
        eg_tensor *x = eg_to(eg_ones(EG_SHAPE(100), EG_F32), d);
        eg_exp(x);
        eg_stream *own = eg_use_stream(s);
        eg_neg(x);
        eg_use_stream(own);
        eg_square(eg_to(x, e));
    }
    EGT_OK(eg_profile_end(egt_path("trace.json")));
    EGT_OK(eg_stream_free(s));
    read_trace(egt_path("trace.json"));
    EGT_EQ(dropped + untimed, 0);
    int a = find_there("exp", 0), b = find_there("neg", 0), c = find_there("square", 0);
    EGT_CHECK(a >= 0 && b >= 0 && c >= 0);
    EGT_CHECK(events[a].tid / STREAMS == events[b].tid / STREAMS && events[a].tid != events[b].tid);
    EGT_CHECK(events[c].tid / STREAMS != events[a].tid / STREAMS);
    int rows = 0;
    for (int i = 0; i < count; i++) {
        rows += !strcmp(events[i].name, "thread_name");
    }
    EGT_EQ(rows, 3);
}

/* What is captured has no times, and the capture does not mind; nor one on another thread's stream. */
EGT(while_capturing)
{
    enum { MANY = 300 };
    eg_device *d = emulated(0);
    eg_stream *own = eg_stream_own(d), *other = eg_stream_new(d);
    eg_tensor *x = eg_to(eg_ones(EG_SHAPE(100), EG_F32), d);
    EGT_CHECK(eg_neg(x));
    eg_use_stream(other);
    eg_tensor *z = eg_to(eg_ones(EG_SHAPE(100), EG_F32), d);
    eg_use_stream(own);
    EGT_OK(eg_device_synchronize(d));
    cudaGraph_t graph;
    EGT_EQ(FAKE(cudaStreamBeginCapture)(eg_stream_handle(own), cudaStreamCaptureModeGlobal), cudaSuccess);
    EGT_OK(eg_profile_begin());
    eg_tensor *y = eg_neg(x);
    eg_use_stream(other);
    for (int i = 0; i < MANY; i++) {
        EG_SCOPE {
            EGT_CHECK(eg_exp(z));
        }
    }
    eg_profile_total t[4];
    EGT_EQ(eg_profile_totals(t, 4), 2);
    eg_use_stream(own);
    EGT_CHECK(y && eg_square(y));
    EGT_OK(eg_profile_end(egt_path("trace.json")));
    EGT_EQ(FAKE(cudaStreamEndCapture)(eg_stream_handle(own), &graph), cudaSuccess);
    EGT_EQ(FAKE(cudaGraphDestroy)(graph), cudaSuccess);
    EGT_OK(eg_stream_free(other));
    read_trace(egt_path("trace.json"));
    EGT_EQ(untimed, 2);
    EGT_EQ(bars_there(), MANY);
    EGT_CHECK(find("neg", "forward") >= 0 && find_there("neg", 0) < 0 && find_there("square", 0) < 0);
}

/* Whatever the driver refuses the profile, ops work, no error is on record and the trace is whole. */
EGT(refused)
{
    static const struct {
        const char *function;
        int nth;
    } calls[] = {{"cudaEventRecord", 1},         {"cudaEventRecord", 2},       {"cudaEventQuery", 1},
                 {"cudaStreamIsCapturing", 1},   {"cudaStreamIsCapturing", 2}, {"cudaEventElapsedTime", 1},
                 {"cudaEventElapsedTime", 2},    {"cudaEventSynchronize", 1},  {"cudaEventCreateWithFlags", 1},
                 {"cudaEventCreateWithFlags", 2}};
    /* The first profile of a device makes its clock; later ones find it there. */
    for (int fresh = 0; fresh < 2; fresh++) {
        for (int i = 0; i < (int)(sizeof calls / sizeof *calls); i++) {
            eg_device *d = fresh ? eg_device_split(emulated(0), 8 << 20) : emulated(0);
            snprintf(egt_case, sizeof egt_case, "%s %d", calls[i].function, calls[i].nth);
            eg_tensor *x = eg_to(eg_ones(EG_SHAPE(9), EG_F32), d);
            EGT_OK(eg_device_synchronize(d));
            eg_clear_error();
            if (fresh) {
                FAKE(eg_fake_fail)(calls[i].function, calls[i].nth, cudaErrorInvalidValue);
            }
            EGT_OK(eg_profile_begin());
            if (!fresh) {
                FAKE(eg_fake_fail)(calls[i].function, calls[i].nth, cudaErrorInvalidValue);
            }
            eg_tensor *y = eg_neg(x);
            EGT_CHECK(y);
            EGT_OK(eg_profile_end(egt_path("trace.json")));
            FAKE(eg_fake_mend)();
            EGT_EQ(eg_last_error()->code, EG_OK);
            EGT_EQ(FAKE(cudaGetLastError)(), cudaSuccess);
            EGT_EQ(eg_get(y, 8), -1);
            read_trace(egt_path("trace.json"));
            EGT_EQ(dropped, 0);
            EGT_CHECK(find("neg", "forward") >= 0);
            EGT_EQ(bars_there() + untimed, 1);
        }
    }
}

/* NULL, or where something went on record. */
static void *negate(void *x)
{
    void *bad = eg_neg_(x) && !eg_last_error()->code ? NULL : x;
    eg_thread_end();
    return bad;
}

/* A thread's stream, which the profile asks for before the op does. */
EGT(refused_a_stream)
{
    pthread_t other;
    eg_tensor *x = eg_to(eg_ones(EG_SHAPE(9), EG_F32), eg_device_split(emulated(0), 8 << 20));
    EGT_OK(eg_profile_begin());
    FAKE(eg_fake_fail)("cudaStreamCreateWithPriority", 1, cudaErrorInvalidValue);
    EGT_CHECK(!pthread_create(&other, NULL, negate, x));
    void *bad = x;
    pthread_join(other, &bad);
    FAKE(eg_fake_mend)();
    EGT_OK(eg_profile_end(NULL));
    EGT_CHECK(!bad);
    EGT_EQ(eg_get(x, 8), -1);
}

EGT(without_memory)
{
    eg_device *d = cuda(0);
    eg_tensor *x = eg_to(eg_ones(EG_SHAPE(9), EG_F32), d);
    for (int n = 1; n <= 6; n++) {
        EGT_OK(eg_profile_begin());
        eg_debug_fail_alloc(n);
        eg_tensor *y = eg_neg(x);
        eg_debug_fail_alloc(0);
        EGT_CHECK(y || egt_said(EG_ENOMEM, "neg"));
        EGT_OK(eg_profile_end(egt_path("trace.json")));
        EGT_CHECK(!y || eg_get(y, 0) == -1);
        read_trace(egt_path("trace.json"));
    }
}

EGT(a_lost_device)
{
    eg_device *d = eg_device_split(emulated(1), 32 << 20);
    eg_tensor *x = eg_to(eg_ones(EG_SHAPE(9), EG_F32), d);
    EGT_OK(eg_device_synchronize(d));
    EGT_OK(eg_profile_begin(.memory = true));
    FAKE(eg_fake_fault)(1);
    eg_tensor *y = eg_exp(x);
    EGT_CHECK(y);
    EGT_OK(eg_profile_end(egt_path("trace.json")));
    read_trace(egt_path("trace.json"));
    EGT_EQ(untimed, 1);
    EGT_CHECK(find("exp", "forward") >= 0);
    EGT_EQ(bars_there(), 0);
    EGT_REFUSED(eg_get(y, 0), EG_EFAULT, "lost to this process");
    EGT_OK(eg_profile_begin());
    EGT_REFUSED(eg_exp(x), EG_EFAULT, "lost to this process");
    EGT_OK(eg_profile_end(egt_path("trace.json")));
    FAKE(eg_fake_mend)();
}
