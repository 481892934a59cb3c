/* test_cuda_streams.c - streams and events: order, memory and threads, on an emulated device whose work waits
 * until somebody waits for it and then runs in any order that is allowed; or on one of the machine. */
#include <pthread.h>

#include "tests/cuda/module.h"

/* ---- tensors on several streams ----------------------------------------------------------------------- */

/* What one stream computes is used on another, changed there, and read on the first: never too early. */
EGT(used_on_another)
{
    eg_device *d = cuda(0);
    eg_stream *s = eg_stream_new(d);
    for (int seed = 1; seed <= 30; seed++) {
        EG_SCOPE {
            if (faked()) {
                FAKE(eg_fake_seed)((uint64_t)seed);
            }
            eg_tensor *x = eg_to(eg_full(EG_SHAPE(100), seed, EG_F32), d);
            x = eg_add_scalar(x, 1);
            eg_stream *own = eg_use_stream(s);
            eg_tensor *y = eg_mul_scalar(x, 2);
            EGT_CHECK(eg_add_scalar_(x, 100) == x);
            EGT_CHECK(eg_use_stream(own) == s && own == eg_stream_own(d));
            eg_tensor *z = eg_add(x, y);
            EGT_EQ(eg_get(z, 99), 3 * seed + 103);
        }
    }
    EGT_OK(eg_stream_free(s));
}

/* What an op writes beside its results is as new as they are. */
EGT(running_statistics_are_waited_for)
{
    eg_device *d = cuda(0);
    eg_stream *s = eg_stream_new(d), *own = eg_stream_own(d);
    for (int seed = 1; seed <= 30; seed++) {
        EG_SCOPE {
            if (faked()) {
                FAKE(eg_fake_seed)((uint64_t)seed);
            }
            eg_tensor *mean = eg_to(eg_zeros(EG_SHAPE(2), EG_F32), d), *var = eg_to(eg_ones(EG_SHAPE(2), EG_F32), d);
            eg_tensor *x = eg_add_scalar(eg_to(eg_full(EG_SHAPE(8, 2), seed, EG_F32), d), 1);
            eg_use_stream(s);
            EGT_CHECK(eg_mul_scalar(x, 2)); /* this stream has seen all of the other */
            eg_use_stream(own);
            EGT_CHECK(eg_batch_norm(x, NULL, NULL, mean, var, .training = true, .momentum = 0.5));
            eg_use_stream(s);
            eg_tensor *twice = eg_mul_scalar(mean, 2);
            eg_use_stream(own);
            EGT_EQ(eg_get(twice, 1), seed + 1);
        }
    }
    EGT_OK(eg_stream_free(s));
}

/* A copy to another device is a use of what it reads. */
EGT(not_changed_while_it_is_copied)
{
    eg_device *d = cuda(0), *other = cuda(1);
    eg_stream *s = eg_stream_new(d), *own = eg_stream_own(d);
    for (int seed = 1; seed <= 30; seed++) {
        EG_SCOPE {
            if (faked()) {
                FAKE(eg_fake_seed)((uint64_t)seed);
            }
            eg_tensor *x = eg_add_scalar(eg_to(eg_full(EG_SHAPE(8), seed, EG_F32), d), 1);
            eg_use_stream(s);
            EGT_CHECK(eg_mul_scalar(x, 2));
            eg_use_stream(own);
            eg_tensor *copy = eg_to(x, other);
            eg_use_stream(s);
            EGT_CHECK(eg_add_scalar_(x, 100) == x);
            eg_use_stream(own);
            EGT_EQ(eg_get(copy, 7), seed + 1);
        }
    }
    EGT_OK(eg_stream_free(s));
}

/* A block freed while another stream still reads it is not given to whoever asks next. */
EGT(freed_while_used)
{
    eg_device *d = cuda(0);
    eg_stream *s = eg_stream_new(d);
    for (int seed = 1; seed <= 30; seed++) {
        EG_SCOPE {
            eg_tensor *y = NULL;
            if (faked()) {
                FAKE(eg_fake_seed)((uint64_t)seed);
            }
            eg_scope inner = eg_scope_push();
            eg_tensor *x = eg_to(eg_full(EG_SHAPE(1000), 1, EG_F32), d);
            eg_stream *own = eg_use_stream(s);
            for (int i = 0; i < 5; i++) {
                y = eg_add(x, y ? y : x);
            }
            eg_use_stream(own);
            y = eg_scope_pop(inner, y); /* x goes, and its memory with it */
            for (int i = 0; i < 3; i++) {
                EGT_CHECK(eg_to(eg_full(EG_SHAPE(1000), -50, EG_F32), d));
            }
            EGT_EQ(eg_get(y, 999), 6);
        }
    }
    EGT_OK(eg_stream_free(s));
}

EGT(misused)
{
    eg_device *d = cuda(0);
    eg_stream *s = eg_stream_new(d);
    EGT_CHECK(eg_stream_handle(s) && eg_stream_handle(s) != eg_stream_handle(eg_stream_own(d)));
    EGT_OK(eg_stream_synchronize(s));
    EGT_OK(eg_stream_free(s));
    EGT_REFUSED(eg_stream_free(s), EG_ESTATE, "freed already");
    EGT_REFUSED(eg_stream_free(eg_stream_own(d)), EG_ESTATE, "thread's own");
    EGT_OK(eg_stream_free(NULL));
    EGT_REFUSED(eg_stream_new(eg_cpu()), EG_EINVAL, "the CPU has no streams");
    EGT_REFUSED(eg_stream_new(NULL), EG_EINVAL, "device");
    EGT_REFUSED(eg_use_stream(NULL), EG_EINVAL, "stream");
    EGT_REFUSED(eg_stream_synchronize(NULL), EG_EINVAL, "stream");
}

/* ---- events ------------------------------------------------------------------------------------------------ */

EGT(events)
{
    eg_device *d = cuda(0);
    eg_event *a = eg_event_new(d), *b = eg_event_new(d);
    double ms = -1;
    EGT_REFUSED(eg_event_synchronize(a), EG_ESTATE, "not recorded");
    EGT_REFUSED(eg_event_wait(a), EG_ESTATE, "not recorded");
    EGT_REFUSED(eg_event_elapsed(a, b, &ms), EG_ESTATE, "not recorded");
    EGT_OK(eg_event_record(a));
    EGT_CHECK(eg_exp(eg_to(eg_zeros(EG_SHAPE(1000), EG_F32), d)));
    EGT_OK(eg_event_record(b));
    if (faked()) { /* a real one may be done */
        EGT_REFUSED(eg_event_elapsed(a, b, &ms), EG_ESTATE, "not come");
    }
    EGT_OK(eg_event_wait(a));
    EGT_OK(eg_event_synchronize(b));
    EGT_OK(eg_event_elapsed(a, b, &ms));
    EGT_CHECK(ms >= 0);
    EGT_REFUSED(eg_event_elapsed(a, NULL, &ms), EG_EINVAL, "to");
    EGT_REFUSED(eg_event_new(eg_cpu()), EG_EINVAL, "CPU");
    EGT_OK(eg_event_free(a));
    EGT_OK(eg_event_free(b));
    EGT_OK(eg_event_free(NULL));
    EGT_REFUSED(eg_event_free(b), EG_ESTATE, "freed before");
}

/* ---- threads ------------------------------------------------------------------------------------------------ */

typedef struct worker {
    eg_device *device;
    int number;
    bool good;
} worker;

static void *work(void *user)
{
    worker *w = user;
    w->good = true;
    for (int i = 0; i < 20; i++) {
        EG_SCOPE {
            eg_tensor *x = eg_to(eg_full(EG_SHAPE(500), w->number, EG_F32), w->device);
            eg_tensor *y = eg_square(eg_add_scalar(x, i));
            double v = (double)(w->number + i) * (w->number + i);
            w->good &= eg_get(y, 499) == v;
        }
    }
    eg_thread_end();
    return NULL;
}

EGT(threads)
{
    enum { WORKERS = 4 };
    pthread_t id[WORKERS];
    worker w[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        w[i] = (worker){cuda(0), i + 1, false};
        EGT_EQ(pthread_create(&id[i], NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(id[i], NULL);
        EGT_CHECK(w[i].good);
    }
    /* Their streams are used again. */
    int64_t made = faked() ? FAKE(eg_fake_read)().streams : 0;
    w[0].good = false;
    EGT_EQ(pthread_create(&id[0], NULL, work, &w[0]), 0);
    pthread_join(id[0], NULL);
    EGT_CHECK(w[0].good);
    EGT_EQ(faked() ? FAKE(eg_fake_read)().streams : 0, made);
}
