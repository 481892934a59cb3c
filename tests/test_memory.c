/* test_memory.c - memory stays bounded while tensors move between threads, and eg_memory_trim returns it. */
#define _POSIX_C_SOURCE 200809L
#include "tests/egt.h"

#include <pthread.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { PLAIN = 0 }; /* a sanitizer keeps freed memory */
#else
enum { PLAIN = 1 };
#endif

enum { MIB = 1 << 20 };

/* Resident bytes of the process; 0 where they are not known or say nothing. */
static int64_t resident(void)
{
    long long pages = 0;
    FILE *f = PLAIN ? fopen("/proc/self/statm", "r") : NULL;
    if (f) {
        pages = fscanf(f, "%*s %lld", &pages) == 1 ? pages : 0;
        fclose(f);
    }
    return pages * sysconf(_SC_PAGESIZE);
}

typedef struct usage {
    int64_t reserved, resident;
} usage;

static usage now(void)
{
    return (usage){eg_memory_stats().reserved_bytes, resident()};
}

#define GREW_LESS(from, bytes)                                                                                \
    do {                                                                                                      \
        const usage to = now();                                                                               \
        if (to.reserved - (from).reserved >= (bytes) || to.resident - (from).resident >= (bytes)) {           \
            egt_fail(__FILE__, __LINE__, "reserved bytes grew by %lld, resident bytes by %lld",               \
                     (long long)(to.reserved - (from).reserved), (long long)(to.resident - (from).resident)); \
        }                                                                                                     \
    } while (0)

/* ---- between threads ------------------------------------------------------------------------------ */

enum { PART = 1000 };

/* A slot through which the producer hands tensors to the consumer, in turn. */
typedef struct relay {
    pthread_barrier_t turn;
    eg_tensor *made[PART];
    int parts;
    bool views, failed;
} relay;

static void *produce(void *user)
{
    relay *r = user;
    eg_tensor *x = eg_zeros(EG_SHAPE(1), EG_F32);
    for (int part = 0; part < r->parts; part++) {
        EG_SCOPE {
            for (int i = 0; i < PART; i++) {
                r->made[i] = eg_keep(r->views ? eg_detach(x) : eg_zeros(EG_SHAPE(1), EG_F32));
                r->failed |= !r->made[i];
            }
        }
        pthread_barrier_wait(&r->turn);
        pthread_barrier_wait(&r->turn);
    }
    eg_thread_end();
    return NULL;
}

/* `parts` times a thousand tensors, memory compared with that after the first 20 parts. */
static void pass_on(int parts, bool views)
{
    relay r = {.parts = parts, .views = views};
    usage warm = {0};
    pthread_t producer;
    pthread_barrier_init(&r.turn, NULL, 2);
    EGT_CHECK(!pthread_create(&producer, NULL, produce, &r));
    for (int part = 0; part < parts; part++) {
        pthread_barrier_wait(&r.turn);
        for (int i = 0; i < PART; i++) {
            r.failed |= eg_release(r.made[i]) != EG_OK;
        }
        warm = part == 20 ? now() : warm;
        pthread_barrier_wait(&r.turn);
    }
    pthread_join(producer, NULL);
    pthread_barrier_destroy(&r.turn);
    EGT_CHECK(!r.failed);
    GREW_LESS(warm, MIB);
}

EGT(a_million_tensors_freed_by_another_thread)
{
    pass_on(1000, false);
}

EGT(views_freed_by_another_thread)
{
    pass_on(100, true);
}

/* ---- workers of datasets --------------------------------------------------------------------------- */

enum { SAMPLES = 20000, PASSES = 5 };

static eg_status same(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n, (void)user;
    out[0] = in[0];
    *m = 1;
    return EG_OK;
}

static eg_status added(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n, (void)user;
    out[0] = eg_add_scalar(in[0], 1);
    *m = 1;
    return out[0] ? EG_OK : eg_last_error()->code;
}

typedef struct chain {
    int workers;
    eg_map_fn f;
    bool prefetch, repeat;
} chain;

static eg_dataset *dataset_of(const chain *c, eg_tensor *x)
{
    eg_dataset *d = eg_dataset_map(eg_dataset_from_tensors(&x, 1), c->f, NULL, .workers = c->workers);
    d = c->prefetch ? eg_dataset_prefetch(d, 8) : d;
    return c->repeat ? eg_dataset_repeat(d, PASSES) : d;
}

/* Five passes; after the second one memory no longer grows. */
static void walk_passes(const chain *c, eg_tensor *x)
{
    usage warm = {0};
    int64_t count = 0;
    eg_dataset *d = dataset_of(c, x);
    for (int pass = 0; pass < (c->repeat ? 1 : PASSES); pass++) {
        EG_FOR_EACH(s, d) {
            count += eg_numel(s[0]) == 1;
            warm = count == 2 * SAMPLES ? now() : warm;
        }
        EGT_OK(eg_dataset_status(d));
    }
    EGT_EQ(count, PASSES * SAMPLES);
    GREW_LESS(warm, MIB);
    eg_dataset_free(d);
}

EGT(passes_over_a_dataset_use_bounded_memory)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(SAMPLES, 1), EG_F32);
    eg_set_threads(1);
    for (int k = 0; k < 16; k++) {
        const chain c = {(int[]){0, 1, 2, 4}[k / 4], k & 1 ? added : same, k >> 1 & 1, k / 4 % 2};
        snprintf(egt_case, sizeof egt_case, "passes_over_a_dataset_use_bounded_memory (%d workers%s%s)", c.workers,
                 c.prefetch ? ", prefetch" : "", c.repeat ? ", repeat" : "");
        walk_passes(&c, x);
    }
}

/* ---- what is reported and returned ----------------------------------------------------------------- */

enum { MANY = 200000 };

EGT(headers_are_reported_and_trimmed)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(1), EG_F32), *stale = NULL;
    eg_memory_trim();
    const usage before = now();
    for (int round = 0; round < 3; round++) {
        EG_SCOPE {
            for (int i = 0; i < MANY; i++) {
                stale = eg_detach(x);
            }
            EGT_CHECK(stale && eg_memory_stats().reserved_bytes - before.reserved > (int64_t)MANY * 128);
        }
        eg_memory_trim();
        GREW_LESS(before, 3 * MIB); /* the list of the scope's tensors stays */
        EGT_REFUSED(eg_square(stale), EG_EINVAL, "not a live tensor");
    }
}

EGT(small_blocks_are_trimmed)
{
    eg_memory_trim();
    const usage before = now();
    for (int round = 0; round < 3; round++) {
        EG_SCOPE {
            for (int i = 0; i < MANY / 10; i++) {
                EGT_CHECK(eg_zeros(EG_SHAPE(1 + i % 700), EG_F32));
            }
            EGT_CHECK(eg_memory_stats().reserved_bytes - before.reserved > (int64_t)MANY / 10 * 1000);
        }
        eg_memory_trim();
        GREW_LESS(before, MIB);
    }
}

EGT(a_live_tensor_survives_a_trim)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(1), EG_F32), *kept[MANY / 1000];
    EG_SCOPE {
        for (int i = 0; i < MANY; i++) {
            eg_tensor *made = i % 2000 ? eg_detach(x) : eg_full(EG_SHAPE(3), i, EG_F32);
            if (i % 1000 == 0) {
                kept[i / 1000] = eg_keep(made);
            }
        }
    }
    eg_memory_trim();
    EG_SCOPE {
        for (int i = 0; i < MANY; i++) {
            EGT_CHECK(i % 10 ? eg_detach(x) : eg_ones(EG_SHAPE(3), EG_F32));
        }
    }
    for (int i = 0; i < MANY / 1000; i++) {
        EGT_EQ(eg_get(kept[i], 0), i % 2 ? 0 : 1000 * i);
        EGT_OK(eg_release(kept[i]));
    }
}

EGT(the_limit_counts_headers)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(1), EG_F32), *view = x;
    eg_memory_trim();
    EGT_OK(eg_memory_limit(eg_memory_stats().reserved_bytes + MIB));
    EG_SCOPE {
        for (int i = 0; i < MANY && view; i++) {
            view = eg_detach(x);
        }
        EGT_CHECK(!view && egt_said(EG_ENOMEM, ""));
    }
    EGT_CHECK(eg_detach(x));
    EG_SCOPE {
        for (int i = 0; i < MANY / 100; i++) {
            EGT_CHECK(eg_detach(x));
        }
    }
}

/* Headers that are free are given back before a block is refused. */
EGT(a_large_block_gets_the_memory_of_free_headers)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(1), EG_F32);
    eg_memory_trim();
    const int64_t before = eg_memory_stats().reserved_bytes;
    EG_SCOPE {
        for (int i = 0; i < MANY; i++) {
            eg_detach(x);
        }
    }
    const int64_t most = eg_memory_stats().reserved_bytes;
    EGT_CHECK(most - before > (int64_t)MANY * 128);
    EGT_OK(eg_memory_limit(most + MIB));
    EGT_CHECK(eg_zeros(EG_SHAPE(most - before), EG_U8));
}

EGT(a_reader_gets_the_memory_of_free_tensors)
{
    enum { NUMBERS = 200000 };
    char *text = malloc(2 * NUMBERS + 2);
    for (int i = 0; i < NUMBERS; i++) {
        memcpy(text + 2 * i, i ? ",1" : "[1", 2);
    }
    text[2 * NUMBERS] = ']';
    eg_memory_trim();
    EG_SCOPE {
        EGT_CHECK(eg_zeros(EG_SHAPE(128 * MIB), EG_U8));
    }
    if (eg_memory_stats().reserved_bytes < 128 * MIB) {
        free(text);
        egt_skip("freed blocks are not cached in this build");
    }
    EGT_OK(eg_memory_limit(eg_memory_stats().reserved_bytes + MIB));
    eg_json *list = eg_json_parse(text, 2 * NUMBERS + 1);
    free(text);
    EGT_CHECK(list);
    EGT_EQ(eg_json_count(list), NUMBERS);
    eg_json_free(list);
}
