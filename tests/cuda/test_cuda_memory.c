/* test_cuda_memory.c - the caching allocator of a CUDA device: its cache, and what it does at the end of memory. */
#define _POSIX_C_SOURCE 200809L
#include "tests/cuda/world.h"

/* ---- refusals ------------------------------------------------------------------------------ */

/* A life of a heap; false: something was refused. Whatever happens, what it got it gives back. */
static bool life(bool expandable)
{
    cudaStream_t stream, other;
    int64_t alive = eg_fake_alive();
    spoiled = false;
    EGT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    EGT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
    eg_fake_no_virtual_memory(!expandable);
    eg__heap *h = eg__heap_new(0, 40 * MIB);
    eg_fake_no_virtual_memory(0);
    eg__pool *p = h ? eg__pool_new(h, stream) : NULL, *q = p ? eg__pool_new(h, other) : NULL;
    bool ok = q;
    eg__block *b[60] = {0};
    for (int i = 0; ok && i < 60; i++) {
        size_t bytes = i % 10 ? (size_t)(i * 9001) : (size_t)(MIB + i * 60000);
        b[i] = eg__block_new(i % 3 ? p : q, bytes, 0);
        ok = b[i];
        if (ok && i % 8 == 0) {
            put_mark(b[i], i % 3 ? stream : other, (char)i);
        }
        if (ok && i % 7 == 0) {
            ok = !eg__block_used_on(b[i], i % 3 ? other : stream);
        }
        if (i % 4 == 3 && b[i / 2]) {
            if (i / 2 % 8 == 0) {
                find_mark(b[i / 2], i / 2 % 3 ? stream : other, (char)(i / 2));
            }
            eg__block_free_later(b[i / 2]);
            b[i / 2] = NULL;
        }
        if (ok && i == 40) {
            eg__heap_trim(h);
        }
    }
    if (ok) {
        eg__block *big = eg__block_new(q, 30 * MIB, 0); /* may be refused at the cap */
        if (big) {
            eg__block_free_later(big);
        }
    }
    int64_t live = 0;
    for (int i = 0; i < 60; i++) {
        live += b[i] ? (int64_t)b[i]->asked : 0;
    }
    if (h) {
        eg_memory m = {0};
        eg__heap_stats(h, &m);
        EGT_EQ(m.live_bytes, live);
        EGT_EQ(m.reserved_bytes, eg_fake_used(0));
    }
    for (int i = 0; i < 60; i++) {
        if (b[i]) {
            eg__block_free_later(b[i]);
        }
    }
    if (q) {
        eg__pool_free(q);
    }
    if (h) {
        int64_t armed = fail_at;
        fail_at = 0; /* a heap that was refused something works on */
        b[0] = p ? eg__block_new(p, 38 * MIB, 0) : NULL;
        EGT_CHECK(!p || b[0]);
        fail_at = armed;
        eg__heap_free(h);
    }
    eg_fake_mend();
    EGT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EGT_CHECK(!spoiled);
    EGT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    EGT_EQ(cudaStreamDestroy(other), cudaSuccess);
    EGT_EQ(eg_fake_alive(), alive);
    return ok;
}

EGT(any_taking_may_fail)
{
    for (int expandable = 0; expandable < 2; expandable++) {
        int refused = 0, n = 1;
        for (;; n++) {
            fail_at = n;
            refused += !life(expandable);
            if (fail_at) {
                break; /* there were fewer takings than that */
            }
        }
        fail_at = 0;
        EGT_CHECK(n > 8 && refused >= 4);
    }
}

EGT(any_call_of_the_driver_may_fail)
{
    static const char *const names[] = {
        "cuMemAddressReserve",
        "cuMemCreate",
        "cuMemMap",
        "cuMemSetAccess",
        "cuMemGetAllocationGranularity",
        "cudaGetDriverEntryPointByVersion",
        "cudaMemGetInfo",
        "cudaEventCreateWithFlags",
        "cudaEventRecord",
        "cudaEventQuery",
        "cudaEventSynchronize",
        "cudaStreamSynchronize",
        "cudaDeviceSynchronize",
        "cudaMalloc",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (int nth = 1; nth <= 3; nth += 2) {
            bool malloc = !strcmp(names[i], "cudaMalloc"), driver = !strncmp(names[i], "cuM", 3);
            eg_fake_fail(names[i], nth, driver ? (int)CUDA_ERROR_OUT_OF_MEMORY : (int)cudaErrorMemoryAllocation);
            life(!malloc);
            eg_fake_fail(names[i], nth, driver ? (int)CUDA_ERROR_NOT_SUPPORTED : (int)cudaErrorUnknown);
            life(!malloc);
            eg_fake_mend();
        }
    }
}

/* ---- the cache ----------------------------------------------------------------------------- */

EGT(sizes_are_rounded_little)
{
    world w = begin(true, 0);
    for (size_t n = 0; n < 3 * MIB; n += n < 8 * KIB ? 100 : 7777) {
        eg__block *b = get(w.pool, n);
        EGT_CHECK(b->bytes <= 512 || b->bytes - n < 512 + n / 4);
        eg__block_free_later(b);
    }
    EGT_CHECK(!eg__block_new(w.pool, SIZE_MAX, 0));
    EGT_CHECK(!eg__block_new(w.pool, SIZE_MAX / 2, 0));
    EGT_EQ(stats(&w).live_bytes, 0);
    end(&w);
}

static void reuse(bool expandable)
{
    static const size_t sizes[] = {1, 600, 70000, MIB, MIB + 1, 5000000, 21 * MIB};
    world w = begin(expandable, 0);
    eg__block *b[7];
    for (int round = 0; round < 3; round++) {
        int64_t calls = driver_calls();
        for (int i = 0; i < 7; i++) {
            b[i] = get(w.pool, sizes[i]);
        }
        EGT_CHECK(round == 0 || driver_calls() == calls);
        int64_t asked = 0;
        for (int i = 0; i < 7; i++) {
            asked += (int64_t)sizes[i];
        }
        EGT_EQ(stats(&w).live_bytes, asked);
        for (int i = 0; i < 7; i++) {
            eg__block_free_later(b[round % 2 ? 6 - i : i]);
        }
    }
    eg_memory m = stats(&w);
    EGT_EQ(m.live_bytes, 0);
    EGT_EQ(m.reserved_bytes, eg_fake_used(0));
    EGT_EQ(m.peak_bytes, m.reserved_bytes);
    EGT_CHECK(m.system_calls >= 2);
    eg__heap_trim(w.heap);
    m = stats(&w);
    EGT_EQ(m.reserved_bytes, 0);
    EGT_EQ(eg_fake_used(0), 0);
    EGT_CHECK(m.peak_bytes > 0);
    eg__heap_reset_peak(w.heap);
    EGT_EQ(stats(&w).peak_bytes, 0);
    end(&w);
}

EGT(the_cache_needs_no_driver)
{
    reuse(true);
    reuse(false);
}

EGT(blocks_are_split_and_merge)
{
    for (int expandable = 0; expandable < 2; expandable++) {
        static const int orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}};
        world w = begin(expandable, 0);
        eg__block *whole = get(w.pool, 40 * MIB), *part[4];
        const char *start = whole->data;
        int64_t reserved = stats(&w).reserved_bytes;
        eg__block_free_later(whole);
        for (int o = 0; o < 4; o++) {
            for (int i = 0; i < 4; i++) {
                part[i] = get(w.pool, 10 * MIB);
                EGT_CHECK(part[i]->data == start + i * 10 * MIB);
            }
            for (int i = 0; i < 4; i++) {
                eg__block_free_later(part[orders[o][i]]);
            }
            whole = get(w.pool, 40 * MIB);
            EGT_CHECK(whole->data == start);
            eg__block_free_later(whole);
        }
        EGT_EQ(stats(&w).reserved_bytes, reserved);
        end(&w);
    }
}

EGT(the_best_fit_is_taken)
{
    world w = begin(true, 0);
    static const size_t sizes[] = {9 * MIB, MIB + 1, 5 * MIB, MIB + 1, 7 * MIB, MIB + 1, 5 * MIB, MIB + 1};
    eg__block *b[8];
    for (int i = 0; i < 8; i++) {
        b[i] = get(w.pool, sizes[i]);
    }
    const char *five = b[2]->data, *seven = b[4]->data;
    for (int i = 0; i < 8; i += 2) {
        eg__block_free_later(b[i]);
    }
    eg__block *six = get(w.pool, 6 * MIB), *four = get(w.pool, 4 * MIB);
    EGT_CHECK(six->data == seven);
    EGT_CHECK(four->data == five); /* the lower of the two */
    eg__block_free_later(six);
    eg__block_free_later(four);
    for (int i = 1; i < 8; i += 2) {
        eg__block_free_later(b[i]);
    }
    end(&w);
}

/* What was cut into small blocks serves larger ones again. */
EGT(small_blocks_merge_before_more_is_taken)
{
    world w = begin(true, 0);
    static eg__block *b[4096];
    for (int i = 0; i < 4096; i++) {
        b[i] = get(w.pool, 1000);
    }
    int64_t reserved = stats(&w).reserved_bytes;
    EGT_EQ(reserved, 4 * MIB);
    for (int i = 0; i < 4096; i++) {
        eg__block_free_later(b[i]);
    }
    for (int i = 0; i < 4; i++) {
        b[i] = get(w.pool, MIB);
    }
    EGT_EQ(stats(&w).reserved_bytes, reserved);
    for (int i = 0; i < 4; i++) {
        eg__block_free_later(b[i]);
    }
    end(&w);
}

/* Steps whose tensors are each a little larger than those of the step before. */
EGT(growing_sizes_leave_no_slivers)
{
    enum { LAYERS = 24, STEPS = 40 };
    world w = begin(true, 0);
    eg__block *b[LAYERS];
    int64_t need = 0;
    for (int step = 0; step < STEPS; step++) {
        need = 0;
        for (int i = 0; i < LAYERS; i++) {
            size_t bytes = (size_t)(2 * MIB + (i % 3) * 300 * KIB + step * 33 * KIB);
            b[i] = get(w.pool, bytes);
            need += (int64_t)bytes;
        }
        EGT_CHECK((double)stats(&w).reserved_bytes <= 1.04 * (double)need + CHUNK);
        for (int i = 0; i < LAYERS; i++) {
            eg__block_free_later(b[(i * 7) % LAYERS]);
        }
    }
    EGT_CHECK(stats(&w).peak_bytes < need + 2 * CHUNK);
    end(&w);
}

/* Chunks in the middle of a range go back too and are mapped again. */
EGT(trim_gives_back_what_no_block_needs)
{
    world w = begin(true, 0);
    eg__block *b[6];
    for (int i = 0; i < 6; i++) {
        b[i] = get(w.pool, 20 * MIB);
    }
    const char *start = b[0]->data;
    EGT_EQ(stats(&w).reserved_bytes, 120 * MIB);
    eg__block_free_later(b[1]);
    eg__block_free_later(b[2]);
    eg__block_free_later(b[4]);
    eg__heap_trim(w.heap);
    EGT_EQ(stats(&w).reserved_bytes, 60 * MIB);
    EGT_EQ(eg_fake_used(0), 60 * MIB);
    b[1] = get(w.pool, 35 * MIB);
    EGT_CHECK(b[1]->data == start + 20 * MIB);
    b[4] = get(w.pool, 3 * MIB);
    EGT_CHECK(b[4]->data == start + 55 * MIB); /* 5 MiB are left there */
    eg__block_free_later(b[3]);
    b[2] = get(w.pool, 30 * MIB); /* 2 MiB before, 20 freed, 20 to be mapped */
    EGT_CHECK(b[2]->data == start + 58 * MIB);
    EGT_EQ(stats(&w).reserved_bytes, 120 * MIB);
    eg__block_free_later(b[0]);
    eg__block_free_later(b[1]);
    eg__block_free_later(b[2]);
    eg__block_free_later(b[4]);
    eg__block_free_later(b[5]);
    eg__heap_trim(w.heap);
    EGT_EQ(stats(&w).reserved_bytes, 0);
    end(&w);
}

/* Of several holes the one is filled where the fewest bytes are missing, or else the lowest. */
EGT(holes_are_chosen_well)
{
    world w = begin(true, 0);
    eg__block *b[8];
    for (int i = 0; i < 7; i++) {
        b[i] = get(w.pool, 20 * MIB);
    }
    const char *start = b[0]->data;
    eg__block_free_later(b[1]);
    eg__heap_trim(w.heap);
    eg__block_free_later(b[4]);
    eg__heap_trim(w.heap);
    eg__block_free_later(b[3]);
    eg__heap_trim(w.heap); /* holes are 1, 3 to 4, and behind 6 */
    EGT_EQ(stats(&w).reserved_bytes, 80 * MIB);
    b[1] = get(w.pool, 20 * MIB);
    EGT_CHECK(b[1]->data == start + 20 * MIB);
    eg__block_free_later(b[6]);
    b[6] = get(w.pool, 30 * MIB); /* 10 are missing behind 6, 30 at 3 */
    EGT_CHECK(b[6]->data == start + 120 * MIB);
    eg__block_free_later(b[5]);
    b[3] = get(w.pool, 60 * MIB); /* 40 are missing at 3, 50 behind 6 */
    EGT_CHECK(b[3]->data == start + 60 * MIB);
    eg__block_free_later(b[6]);
    eg__block_free_later(b[1]);
    eg__heap_trim(w.heap);
    b[1] = get(w.pool, 20 * MIB);
    eg__heap_limit(w.heap, 142 * MIB);
    b[6] = get(w.pool, 22 * MIB); /* no whole chunks */
    EGT_EQ(stats(&w).reserved_bytes, 142 * MIB);
    eg__heap_limit(w.heap, 0);
    b[7] = get(w.pool, 20 * MIB);
    eg__block_free_later(b[6]);
    eg__heap_trim(w.heap); /* a hole of 22 MiB */
    b[6] = get(w.pool, 21 * MIB);
    EGT_CHECK(b[6]->data == start + 120 * MIB);
    EGT_EQ(stats(&w).reserved_bytes, 162 * MIB);
    eg__block_free_later(b[0]);
    eg__heap_trim(w.heap);
    eg__block_free_later(b[1]);
    eg__heap_trim(w.heap); /* one hole of two */
    EGT_CHECK(get(w.pool, 40 * MIB)->data == start);
    end(&w);
}

/* A driver that refuses what it has is not asked again. */
EGT(a_driver_without_ranges_is_believed)
{
    static const char *const names[] = {"cuMemAddressReserve", "cuMemCreate", "cuMemSetAccess"};
    for (int i = 0; i < 3; i++) {
        world w = begin(true, 0);
        eg_fake_fail(names[i], 1, CUDA_ERROR_NOT_SUPPORTED);
        get(w.pool, 100);
        int64_t creates = eg_fake_read().creates;
        get(w.pool, 30 * MIB);
        get(w.second, 100);
        EGT_EQ(eg_fake_read().mallocs, 3);
        EGT_EQ(eg_fake_read().creates, creates);
        end(&w);
    }
}

/* What cannot be waited for is kept. */
EGT(trim_keeps_what_may_be_in_use)
{
    world w = begin(true, 0);
    eg__block_free_later(get(w.pool, 20 * MIB));
    eg_fake_fail("cudaStreamSynchronize", 1, cudaErrorUnknown);
    eg__heap_trim(w.heap);
    EGT_EQ(stats(&w).reserved_bytes, 20 * MIB);
    EGT_EQ(cudaGetLastError(), cudaSuccess);
    eg__heap_trim(w.heap);
    EGT_EQ(stats(&w).reserved_bytes, 0);
    end(&w);
}

EGT(holders_are_named)
{
    world w = begin(true, 0);
    eg__block *a = eg__block_new(w.pool, 1000, 3), *b = eg__block_new(w.second, 2 * MIB, 3),
              *c = eg__block_new(w.pool, 70, 1), *d = eg__block_new(w.pool, 70, 9);
    int64_t by_op[4] = {0, 5, 0, 0};
    eg__heap_holders(w.heap, by_op, 4);
    EGT_EQ(by_op[0], 0);
    EGT_EQ(by_op[1], 75);
    EGT_EQ(by_op[3], 1000 + 2 * MIB);
    eg__block_free_later(a);
    eg__block_free_later(b);
    eg__block_free_later(c);
    eg__block_free_later(d);
    memset(by_op, 0, sizeof by_op);
    eg__heap_holders(w.heap, by_op, 4);
    EGT_EQ(by_op[1] + by_op[3], 0);
    end(&w);
}

/* ---- too little memory --------------------------------------------------------------------- */

EGT(a_cap_holds)
{
    for (int expandable = 0; expandable < 2; expandable++) {
        world w = begin(expandable, 64 * MIB);
        EGT_EQ(stats(&w).limit_bytes, 64 * MIB);
        eg__block *a = get(w.pool, 40 * MIB);
        EGT_CHECK(!eg__block_new(w.pool, 30 * MIB, 0));
        EGT_CHECK(!eg__block_new(w.second, 30 * MIB, 0));
        EGT_CHECK(stats(&w).reserved_bytes <= 64 * MIB);
        eg__block_free_later(get(w.second, 1000));
        eg__block *b = get(w.pool, 22 * MIB); /* exactly what is left, not whole chunks */
        EGT_EQ(stats(&w).reserved_bytes, 64 * MIB);
        eg__block *c = get(w.second, 1000);
        EGT_EQ(stats(&w).live_bytes, 62 * MIB + 1000);
        EGT_CHECK(stats(&w).peak_bytes <= 64 * MIB);
        eg__block_free_later(a);
        eg__block_free_later(b);
        a = get(w.second, 60 * MIB);
        eg__heap_limit(w.heap, 0);
        b = get(w.second, 60 * MIB);
        eg__block_free_later(a);
        eg__block_free_later(b);
        eg__block_free_later(c);
        end(&w);
    }
}

EGT(two_heaps_share_a_card)
{
    eg_fake_memory(128 * MIB);
    world w = begin(true, 48 * MIB);
    eg__heap *second = eg__heap_new(0, 48 * MIB);
    eg__pool *p = eg__pool_new(second, w.stream);
    eg__block *a = get(p, 40 * MIB), *b = get(w.pool, 40 * MIB);
    EGT_CHECK(!eg__block_new(p, 40 * MIB, 0));
    eg_memory m;
    eg__heap_stats(second, &m);
    EGT_EQ(eg_fake_used(0), m.reserved_bytes + stats(&w).reserved_bytes);
    eg__block_free_later(a);
    eg__block_free_later(b);
    eg__heap_free(second);
    EGT_EQ(eg_fake_used(0), stats(&w).reserved_bytes);
    end(&w);
}

/* What other pools have cached, small or large, is given back before a request is refused. */
EGT(a_full_card_is_emptied_of_caches)
{
    for (int expandable = 0; expandable < 2; expandable++) {
        eg_fake_memory(128 * MIB);
        world w = begin(expandable, 0);
        static eg__block *b[60];
        for (int i = 0; i < 60; i++) {
            b[i] = get(w.pool, i < 30 ? MIB : 2 * MIB);
        }
        eg__block *kept = b[59];
        put_mark(kept, w.stream, 1);
        for (int i = 0; i < 59; i++) {
            eg__block_free_later(b[i]);
        }
        eg__block *big = get(w.second, expandable ? 100 * MIB : 80 * MIB);
        EGT_CHECK(!eg__block_new(w.second, 60 * MIB, 0));
        EGT_CHECK(!eg__block_new(w.pool, 60 * MIB, 0));
        find_mark(kept, w.stream, 1);
        eg__block_free_later(big);
        eg__block_free_later(kept);
        big = get(w.pool, 120 * MIB);
        eg__block_free_later(big);
        end(&w);
    }
}

/* Only as much is given back as is asked for. */
EGT(a_full_card_keeps_what_it_can)
{
    eg_fake_memory(200 * MIB);
    world w = begin(true, 0);
    eg__block *b[10];
    for (int i = 0; i < 10; i++) {
        b[i] = get(w.pool, 20 * MIB);
    }
    for (int i = 0; i < 10; i++) {
        eg__block_free_later(b[i]);
    }
    eg__block *a = get(w.second, 19 * MIB);
    EGT_EQ(stats(&w).reserved_bytes, 200 * MIB);
    eg__block_free_later(a);
    end(&w);
}
