/* test_cuda_memory_order.c - the caching allocator of a CUDA device: streams, captures, threads, ends. */
#define _POSIX_C_SOURCE 200809L
#include "tests/cuda/world.h"

enum { MOST = 220 };

/* ---- other streams ------------------------------------------------------------------------- */

EGT(a_block_waits_for_other_streams)
{
    static const size_t sizes[] = {3000, 30 * MIB};
    for (int k = 0; k < 2; k++) {
        world w = begin(true, 0);
        eg__block *b = get(w.pool, sizes[k]);
        const char *at = b->data;
        EGT_EQ(eg__block_used_on(b, w.stream), cudaSuccess); /* its own: nothing to wait for */
        EGT_EQ(eg_fake_read().events, 0);
        keep_busy(b, w.other);
        put_mark(b, w.other, 7);
        EGT_EQ(eg__block_used_on(b, w.other), cudaSuccess);
        EGT_EQ(eg__block_used_on(b, w.other), cudaSuccess);
        EGT_EQ(eg_fake_read().events, 1);
        eg__block_free_later(b);
        EGT_EQ(stats(&w).live_bytes, 0);
        eg__block *c = get(w.pool, sizes[k]);
        EGT_CHECK(c->data != at);
        EGT_EQ(cudaStreamSynchronize(w.other), cudaSuccess);
        eg__block_free_later(c);
        int64_t reserved = stats(&w).reserved_bytes;
        bool found = false;
        for (int i = 0; i < 1000 && !found; i++) { /* others are taken first */
            found = get(w.pool, sizes[k])->data == at;
        }
        EGT_CHECK(found);
        EGT_EQ(stats(&w).reserved_bytes, reserved);
        end(&w);
    }
}

EGT(a_block_waits_for_every_stream)
{
    world w = begin(true, 0);
    cudaStream_t third;
    EGT_EQ(cudaStreamCreateWithFlags(&third, cudaStreamNonBlocking), cudaSuccess);
    eg__block *b = get(w.pool, 30 * MIB);
    const char *at = b->data;
    for (int i = 0; i < 2; i++) {
        EGT_EQ(eg__block_used_on(b, third), cudaSuccess);
        EGT_EQ(eg__block_used_on(b, w.other), cudaSuccess);
    }
    EGT_EQ(eg_fake_read().events, 2);
    keep_busy(b, w.other);
    eg__block_free_later(b);
    EGT_EQ(cudaStreamSynchronize(third), cudaSuccess);
    EGT_CHECK(get(w.pool, 30 * MIB)->data != at);
    EGT_EQ(cudaStreamSynchronize(w.other), cudaSuccess);
    EGT_CHECK(get(w.pool, 30 * MIB)->data == at);
    EGT_EQ(cudaStreamDestroy(third), cudaSuccess);
    end(&w);
}

/* A card that is full but for blocks that wait: they are waited for. */
EGT(a_full_card_waits_for_other_streams)
{
    eg_fake_memory(64 * MIB);
    world w = begin(true, 0);
    eg__block *b = get(w.pool, 50 * MIB);
    keep_busy(b, w.other);
    put_mark(b, w.other, 7);
    EGT_EQ(eg__block_used_on(b, w.other), cudaSuccess);
    eg__block_free_later(b);
    b = get(w.pool, 55 * MIB);
    put_mark(b, w.stream, 1);
    find_mark(b, w.stream, 1);
    eg__block_free_later(b);
    end(&w);
}

/* Blocks that wait do not pile up where requests are always met from the cache, nor do events. */
EGT(a_long_list_of_waiting_blocks_is_looked_at)
{
    world w = begin(true, 0);
    static eg__block *spare[1000];
    for (int i = 0; i < 1000; i++) {
        spare[i] = get(w.pool, 512);
    }
    for (int i = 0; i < 1000; i++) {
        eg__block_free_later(spare[i]);
    }
    for (int i = 0; i < 20000; i++) {
        eg__block *b = get(w.pool, 512);
        put_mark(b, w.other, 7);
        EGT_EQ(eg__block_used_on(b, w.other), cudaSuccess);
        eg__block_free_later(b);
        if (i % 16 == 0) {
            EGT_EQ(cudaStreamSynchronize(w.other), cudaSuccess);
        }
    }
    EGT_CHECK(eg_fake_read().events <= 200);
    EGT_EQ(stats(&w).reserved_bytes, 2 * MIB);
    end(&w);
}

/* ---- capture ------------------------------------------------------------------------------- */

static void end_capture(cudaStream_t s)
{
    cudaGraph_t graph;
    EGT_EQ(cudaStreamEndCapture(s, &graph), cudaSuccess);
    cudaGraphDestroy(graph);
}

EGT(a_captured_step_has_a_pool_of_its_own)
{
    for (int expandable = 0; expandable < 2; expandable++) {
        world w = begin(expandable, 0);
        cudaStream_t captured;
        EGT_EQ(cudaStreamCreateWithFlags(&captured, cudaStreamNonBlocking), cudaSuccess);
        eg__block *eager = get(w.pool, 30 * MIB);
        EGT_EQ(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal), cudaSuccess);
        eg__pool *p = eg__pool_new(w.heap, captured);
        eg__block *a = get(p, 3000), *b = get(p, 30 * MIB);
        const char *at = b->data;
        eg__block_free_later(a);
        eg__block_free_later(b);
        b = get(p, 30 * MIB);
        EGT_CHECK(b->data == at);
        eg__block_free_later(b);
        eg__block_free_later(eager);
        eager = get(w.pool, 31 * MIB); /* others go on */
        int64_t reserved = stats(&w).reserved_bytes;
        eg__heap_trim(w.heap);
        EGT_EQ(stats(&w).reserved_bytes, reserved);
        eg__heap_limit(w.heap, reserved);
        EGT_CHECK(!eg__block_new(p, 50 * MIB, 0));
        EGT_CHECK(!eg__block_new(w.pool, 50 * MIB, 0));
        eg__heap_limit(w.heap, 0);
        end_capture(captured);
        eg__block_free_later(eager);
        eg__heap_trim(w.heap);
        EGT_CHECK(stats(&w).reserved_bytes >= 32 * MIB); /* replays use it */
        eg__pool_free(p);
        eg__heap_trim(w.heap);
        EGT_EQ(stats(&w).reserved_bytes, 0);
        EGT_EQ(cudaStreamDestroy(captured), cudaSuccess);
        end(&w);
    }
}

/* A block freed while a stream it was used on captures waits until that is over; others need not. */
EGT(a_block_waits_for_the_end_of_a_capture)
{
    world w = begin(true, 0);
    cudaStream_t captured;
    EGT_EQ(cudaStreamCreateWithFlags(&captured, cudaStreamNonBlocking), cudaSuccess);
    EGT_EQ(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal), cudaSuccess);
    EGT_CHECK(eg__pool_new(w.heap, captured));
    eg__block *b = get(w.pool, 30 * MIB), *c = get(w.pool, 25 * MIB);
    const char *waits = b->data, *done = c->data;
    EGT_EQ(eg__block_used_on(b, captured), cudaSuccess);
    eg__block_free_later(b);
    EGT_EQ(eg__block_used_on(c, w.other), cudaSuccess);
    eg__block_free_later(c);
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    EGT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
    EGT_EQ(cudaStreamSynchronize(w.other), cudaSuccess);
    EGT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
    c = get(w.pool, 25 * MIB);
    EGT_CHECK(c->data == done);
    b = get(w.pool, 30 * MIB);
    EGT_CHECK(b->data != waits);
    eg__heap_limit(w.heap, 1);
    EGT_CHECK(!eg__block_new(w.pool, 30 * MIB, 0));
    end_capture(captured);
    eg__block *d = get(w.pool, 30 * MIB);
    EGT_CHECK(d->data == waits);
    EGT_EQ(cudaStreamDestroy(captured), cudaSuccess);
    end(&w);
}

/* ---- ends ---------------------------------------------------------------------------------- */

EGT(a_pool_ends_before_its_blocks)
{
    for (int expandable = 0; expandable < 2; expandable++) {
        world w = begin(expandable, 0);
        eg__pool *third = eg__pool_new(w.heap, w.stream);
        eg__block *last = get(third, 100);
        eg__pool_free(third);
        EGT_EQ(stats(&w).reserved_bytes, 2 * MIB);
        eg__block_free_later(last); /* and so the pool goes */
        EGT_EQ(stats(&w).reserved_bytes, 0);
        eg__block *a = get(w.pool, 20 * MIB), *b = get(w.pool, 20 * MIB), *c = get(w.pool, 100);
        EGT_EQ(eg__block_used_on(c, w.other), cudaSuccess);
        eg__block_free_later(a);
        eg__pool_free(w.pool);
        EGT_EQ(stats(&w).reserved_bytes, 22 * MIB);
        EGT_EQ(stats(&w).live_bytes, 20 * MIB + 100);
        put_mark(b, w.other, 2);
        eg__block_free_later(b);
        eg__heap_trim(w.heap);
        EGT_EQ(stats(&w).reserved_bytes, 2 * MIB);
        put_mark(c, w.other, 7);
        eg__block_free_later(c);
        EGT_EQ(cudaStreamSynchronize(w.other), cudaSuccess);
        eg__heap_trim(w.heap);
        EGT_EQ(stats(&w).reserved_bytes, 0);
        end(&w);
    }
}

/* Pools or their last blocks are freed while nothing may be given back. */
EGT(a_pool_ends_during_a_capture)
{
    world w = begin(true, 0);
    eg__pool *third = eg__pool_new(w.heap, w.stream);
    eg__block *b = get(w.pool, 100);
    eg__block_free_later(get(third, 100));
    eg__pool_free(w.pool);
    EGT_EQ(cudaStreamBeginCapture(w.other, cudaStreamCaptureModeGlobal), cudaSuccess);
    eg__block_free_later(b);
    eg__pool_free(third);
    eg__heap_trim(w.heap);
    EGT_EQ(stats(&w).reserved_bytes, 4 * MIB);
    end_capture(w.other);
    eg__heap_trim(w.heap);
    EGT_EQ(stats(&w).reserved_bytes, 0);
    EGT_EQ(eg_fake_alive(), alive_before + 2); /* the streams, no range of addresses */
    end(&w);
}

EGT(a_heap_ends_with_blocks_alive)
{
    for (int expandable = 0; expandable < 2; expandable++) {
        world w = begin(expandable, 0);
        eg__block *a = get(w.pool, 100), *b = get(w.second, 50 * MIB);
        get(w.pool, 600);
        EGT_EQ(eg__block_used_on(a, w.other), cudaSuccess);
        EGT_EQ(eg__block_used_on(b, w.stream), cudaSuccess);
        put_mark(b, w.stream, 7);
        eg__block_free_later(b);
        end(&w);
    }
}

/* ---- anything, in any order ---------------------------------------------------------------- */

typedef struct shadow {
    eg__block *block;
    char *data;
    size_t bytes;
    cudaStream_t stream;
    char mark;
} shadow;

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

static size_t random_bytes(uint32_t *state)
{
    switch (next_random(state) % 4) {
    case 0:
        return next_random(state) % 5000;
    case 1:
        return next_random(state) % (300 * KIB);
    case 2:
        return next_random(state) % (2 * MIB);
    default:
        return MIB + next_random(state) % (6 * MIB);
    }
}

static bool overlaps(const shadow *s, int n, const eg__block *b)
{
    for (int i = 0; i < n; i++) {
        if (b->data < s[i].data + s[i].bytes && s[i].data < b->data + b->bytes) {
            return true;
        }
    }
    return false;
}

/* Live blocks never overlap and keep their marks. What went wrong, or NULL. */
static const char *stress(const world *w, uint32_t seed, int steps)
{
    shadow *s = malloc(MOST * sizeof *s);
    const char *wrong = NULL;
    int n = 0, most = 120;
    for (int i = 0; i < steps && !wrong; i++) {
        uint32_t r = next_random(&seed) % 100;
        if (r < 52 && n < most) {
            bool first = r % 2;
            eg__block *b = eg__block_new(first ? w->pool : w->second, random_bytes(&seed), 1);
            if (b) {
                wrong = overlaps(s, n, b) ? "blocks overlap" : NULL;
                s[n] = (shadow){b, b->data, b->bytes, first ? w->stream : w->other, (char)r};
                if (r % 4 == 0) {
                    put_mark(b, s[n].stream, s[n].mark);
                }
                n++;
            }
        } else if (n) {
            int k = (int)(next_random(&seed) % (uint32_t)n);
            if (s[k].mark % 4 == 0) {
                find_mark(s[k].block, s[k].stream, s[k].mark);
            }
            if (r % 8 == 0) {
                cudaStream_t foreign = s[k].stream == w->stream ? w->other : w->stream;
                eg__block_used_on(s[k].block, foreign);
            }
            eg__block_free_later(s[k].block);
            s[k] = s[--n];
        }
        if (r == 0 && i % 4 == 0) {
            eg__heap_trim(w->heap);
        }
        if (i % 500 == 0) {
            most = 20 + (int)(next_random(&seed) % 200);
            cudaDeviceSynchronize();
        }
    }
    while (n) {
        eg__block_free_later(s[--n].block);
    }
    free(s);
    return wrong ? wrong : spoiled ? "a block was written by others" : NULL;
}

EGT(random_blocks_never_overlap)
{
    for (int expandable = 0; expandable < 2; expandable++) {
        world w = begin(expandable, 60 * MIB);
        const char *wrong = stress(&w, 1, 4000);
        if (wrong) {
            egt_fail(__FILE__, __LINE__, "%s", wrong);
        }
        eg_memory m = stats(&w);
        EGT_EQ(m.live_bytes, 0);
        EGT_CHECK(m.peak_bytes <= 60 * MIB);
        EGT_EQ(m.reserved_bytes, eg_fake_used(0));
        EGT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        eg__heap_trim(w.heap);
        EGT_EQ(stats(&w).reserved_bytes, 0);
        end(&w);
    }
}

typedef struct job {
    const world *w;
    uint32_t seed;
    const char *wrong;
} job;

static void *run_stress(void *user)
{
    job *j = user;
    j->wrong = stress(j->w, j->seed, 1000);
    return NULL;
}

EGT(threads_share_a_heap)
{
    world w = begin(true, 0);
    pthread_t thread[4];
    job jobs[4];
    for (int i = 0; i < 4; i++) {
        jobs[i] = (job){&w, (uint32_t)i + 7, NULL};
        EGT_CHECK(!pthread_create(&thread[i], NULL, run_stress, &jobs[i]));
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
    }
    for (int i = 0; i < 4; i++) {
        if (jobs[i].wrong) {
            egt_fail(__FILE__, __LINE__, "%s", jobs[i].wrong);
        }
    }
    EGT_EQ(stats(&w).live_bytes, 0);
    EGT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    eg__heap_trim(w.heap);
    EGT_EQ(stats(&w).reserved_bytes, 0);
    end(&w);
}

static void *free_all(void *user)
{
    for (eg__block **b = user; *b; b++) {
        eg__block_free_later(*b);
    }
    return NULL;
}

EGT(another_thread_frees)
{
    world w = begin(true, 0);
    eg__block *b[41] = {0};
    for (int round = 0; round < 3; round++) {
        int64_t calls = driver_calls();
        for (int i = 0; i < 40; i++) {
            b[i] = get(i % 2 ? w.pool : w.second, (size_t)(i * i) * 1000);
        }
        EGT_CHECK(round == 0 || driver_calls() == calls);
        pthread_t thread;
        EGT_CHECK(!pthread_create(&thread, NULL, free_all, b));
        pthread_join(thread, NULL);
    }
    EGT_EQ(stats(&w).live_bytes, 0);
    end(&w);
}

/* Neither the current device nor the capture mode of the thread is changed for good. */
EGT(the_thread_is_left_as_it_was)
{
    eg_fake_devices(2);
    cudaStream_t stream, other;
    EGT_EQ(cudaSetDevice(1), cudaSuccess);
    EGT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    EGT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
    EGT_EQ(cudaSetDevice(0), cudaSuccess);
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal;
    EGT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
    for (int expandable = 0; expandable < 2; expandable++) {
        eg_fake_no_virtual_memory(!expandable);
        eg__heap *h = eg__heap_new(1, 0);
        eg_fake_no_virtual_memory(0);
        eg__pool *p = eg__pool_new(h, stream);
        eg__block *b = get(p, 100);
        EGT_EQ(eg_fake_used(0), 0);
        EGT_EQ(eg_fake_used(1), 2 * MIB);
        EGT_EQ(eg__block_used_on(b, other), cudaSuccess);
        eg__block_free_later(b);
        eg__heap_trim(h);
        eg__pool_free(p);
        eg__heap_free(h);
        EGT_EQ(eg_fake_used(1), 0);
    }
    enum cudaStreamCaptureMode after = mode;
    EGT_EQ(cudaThreadExchangeStreamCaptureMode(&after), cudaSuccess);
    EGT_EQ(after, cudaStreamCaptureModeThreadLocal);
    int device = -1;
    EGT_EQ(cudaGetDevice(&device), cudaSuccess);
    EGT_EQ(device, 0);
    EGT_EQ(cudaGetLastError(), cudaSuccess);
    EGT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    EGT_EQ(cudaStreamDestroy(other), cudaSuccess);
    EGT_EQ(eg_fake_alive(), 0);
}
