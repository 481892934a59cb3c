/* test_embedding.c - Egret inside a program that has threads of its own. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>

#include "tests/egt.h"

enum { THREADS = 4, STEPS = 50 };

typedef struct job {
    uint64_t seed;
    double loss, slope;
    eg_tensor *w; /* made by the thread, kept */
    bool ok;
} job;

/* Fits w to a seeded target by hand: own scopes, tape, seed. */
static void *work(void *p)
{
    job *j = p;
    eg_scope outer = eg_scope_push();
    eg_seed(j->seed);
    eg_tensor *w = eg_parameter(eg_zeros(EG_SHAPE(3), EG_F64)), *g = NULL;
    eg_tensor *target = eg_full(EG_SHAPE(3), (double)eg_random_get_state().seed, EG_F64);
    j->ok = w != NULL;
    for (int step = 0; step < STEPS && j->ok; step++) {
        eg_scope s = eg_scope_push();
        eg_tape tape = eg_tape_open();
        eg_tensor *loss = eg_sum(eg_square(eg_sub(w, target)));
        j->ok = eg_tape_gradients(tape, loss, &w, 1, &g) == EG_OK && eg_sub_(w, eg_mul_scalar(g, 0.25)) != NULL;
        j->loss = eg_item(loss);
        eg_scope_pop(s, NULL);
    }
    j->w = w;
    /* Another thread's failure must not be seen here. */
    j->ok = j->ok && eg_last_error()->code == EG_OK;
    eg_matmul(w, eg_zeros(EG_SHAPE(7), EG_F64));
    j->ok = j->ok && egt_said(EG_ESHAPE, "matmul");
    eg_scope_pop(outer, NULL);
    return NULL;
}

EGT(threads_of_their_own)
{
    job jobs[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (job){.seed = (uint64_t)i + 1};
        EGT_EQ(pthread_create(&threads[i], NULL, work, &jobs[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        EGT_CHECK(jobs[i].ok);
        EGT_CHECK(jobs[i].loss < 1e-20);
        EGT_NEAR(eg_get(jobs[i].w, 2), i + 1, 1e-9);
        /* What a thread kept outlives it and may be released anywhere. */
        EGT_OK(eg_release(jobs[i].w));
    }
}

EGT(one_parameter_two_tapes)
{
    /* Two threads differentiate through one tensor at the same time; neither sees the other. */
    eg_tensor *w = eg_parameter(eg_ones(EG_SHAPE(4), EG_F64)), *g;
    eg_tape tape = eg_tape_open();
    eg_tensor *y = eg_sum(eg_mul(w, w));
    job j = {.seed = 7};
    pthread_t t;
    EGT_EQ(pthread_create(&t, NULL, work, &j), 0);
    pthread_join(t, NULL);
    EGT_CHECK(j.ok);
    EGT_OK(eg_release(j.w));
    EGT_OK(eg_tape_gradients(tape, y, &w, 1, &g));
    EGT_EQ(eg_get(g, 3), 2);
    EGT_OK(eg_release(w));
}

static void *touch(void *p)
{
    eg_scope s = eg_scope_push();
    *(double *)p = eg_item(eg_sum(eg_ones(EG_SHAPE(100), EG_F32)));
    eg_scope_pop(s, NULL);
    return NULL;
}

EGT(many_short_threads)
{
    double sum = 0;
    eg_memory before = eg_memory_stats();
    for (int i = 0; i < 200; i++) {
        pthread_t t;
        EGT_EQ(pthread_create(&t, NULL, touch, &sum), 0);
        pthread_join(t, NULL);
        EGT_EQ(sum, 100);
    }
    /* What they cached went back: no thread needed more than the first. */
    EGT_CHECK(eg_memory_stats().reserved_bytes - before.reserved_bytes <= 1 << 20);
}

static void *forget(void *p)
{
    /* A thread that leaves scopes and a tape open, and results in them. */
    eg_scope_push();
    eg_tape tape = eg_tape_open();
    eg_tensor *x = eg_ones(EG_SHAPE(10), EG_F32);
    eg_tape_watch(tape, x);
    eg_scope_push();
    eg_exp(x);
    return p;
}

EGT(untidy_thread_leaves_nothing)
{
    eg_memory before = eg_memory_stats();
    pthread_t t;
    EGT_EQ(pthread_create(&t, NULL, forget, NULL), 0);
    pthread_join(t, NULL);
    EGT_EQ(eg_memory_stats().live_tensors, before.live_tensors);
    EGT_EQ(eg_memory_stats().live_bytes, before.live_bytes);
}
