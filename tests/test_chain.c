/* test_chain.c - every kind of link: the same samples whatever the workers and wherever a walk is taken up
 * again, threads that end, memory that runs out. */
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#include "tests/samples.h"

/* ---- the table of chains ----------------------------------------------------------------------------------- */

static eg_dataset *just_source(int w)
{
    (void)w;
    return source(13);
}

static eg_dataset *mapped(int w)
{
    return noise(source(13), w);
}

static eg_dataset *twice_mapped(int w)
{
    return noise(noise(source(9), w), w);
}

static eg_dataset *shuffled(int w)
{
    return eg_dataset_shuffle(noise(source(13), w), 5, .seed = 2);
}

static eg_dataset *ordered_at_first(int w)
{
    return noise(eg_dataset_shuffle(noise(source(13), w), 5, .seed = 2, .ordered = 1), w);
}

static eg_dataset *classic(int w)
{
    return eg_dataset_prefetch(eg_dataset_batch(noise(eg_dataset_shuffle(source(23), 100, .seed = 1), w), 4), 2);
}

static eg_dataset *batches(int w)
{
    return eg_dataset_batch(noise(source(14), w), 4, .drop_last = true);
}

static eg_dataset *taken(int w)
{
    return eg_dataset_take(eg_dataset_skip(noise(source(20), w), 3), 9);
}

static eg_dataset *sharded(int w)
{
    return eg_dataset_shard(noise(source(20), w), 1, 3);
}

static eg_dataset *filtered(int w)
{
    return noise(eg_dataset_filter(noise(source(20), w), odd, NULL), w);
}

static eg_dataset *cached(int w)
{
    return noise(eg_dataset_cache(eg_dataset_shuffle(noise(source(9), w), 4)), w);
}

static eg_dataset *repeated(int w)
{
    return noise(eg_dataset_repeat(eg_dataset_shuffle(source(5), 3), 3), w);
}

static eg_dataset *endless(int w)
{
    return eg_dataset_take(eg_dataset_repeat(noise(eg_dataset_filter(source(5), odd, NULL), w), -1), 9);
}

static eg_dataset *endless_count(int w)
{
    return eg_dataset_take(eg_dataset_repeat(noise(source(5), w), 0), 13);
}

static eg_dataset *concatenated(int w)
{
    return eg_dataset_concat((eg_dataset *[]){noise(source(4), w), source(0), eg_dataset_shuffle(source(6), 3)}, 3);
}

static eg_dataset *interleaved(int w)
{
    return eg_dataset_interleave((eg_dataset *[]){noise(source(7), w), source(1), source(5)}, 3, 2);
}

static eg_dataset *zipped(int w)
{
    return eg_dataset_zip((eg_dataset *[]){noise(source(7), w), eg_dataset_filter(source(20), odd, NULL)}, 2);
}

static eg_dataset *padded(int w)
{
    return eg_dataset_padded_batch(noise(eg_dataset_from(ragged, 14, NULL, NULL), w), 4);
}

static eg_dataset *bucketed(int w)
{
    return eg_dataset_bucket(noise(eg_dataset_from(ragged, 31, NULL, NULL), w), ((int64_t[]){2, 4}), 2, .batch = 3);
}

static eg_dataset *tolerant(int w)
{
    return eg_dataset_batch(eg_dataset_tolerate(noise(eg_dataset_from(numbered, 17, bad_records, NULL), w)), 3);
}

static eg_dataset *tolerant_map(int w)
{
    return eg_dataset_prefetch(
        eg_dataset_shuffle(
            eg_dataset_tolerate(eg_dataset_map(noise(source(17), w), fails_at, bad_records, .workers = w)), 4),
        3);
}

/* Batches with a bad record go whole, and shards pass over them unseen. */
static eg_dataset *tolerant_late(int w)
{
    return eg_dataset_tolerate(
        eg_dataset_shard(noise(eg_dataset_batch(eg_dataset_from(numbered, 29, bad_records, NULL), 2), w), 1, 2));
}

EGT(first_epochs_may_come_as_they_are)
{
    eg_dataset *d = eg_dataset_shuffle(source(20), 20, .seed = 3, .ordered = 2);
    for (int epoch = 0; epoch < 4; epoch++) {
        int in_place = 0, i = 0;
        EG_FOR_EACH(sample, d) {
            in_place += eg_item(sample[1]) == i++;
        }
        EGT_EQ(i, 20);
        EGT_EQ(in_place == 20, epoch < 2);
    }
    eg_dataset_free(d);
    EGT_REFUSED(eg_dataset_shuffle(source(2), 2, .ordered = -1), EG_EINVAL, "ordered -1");
}

/* What is passed over of a shuffled chain is not made, so nobody sees its failures. */
static eg_dataset *tolerant_shards(int w)
{
    return eg_dataset_tolerate(eg_dataset_shard(
        noise(eg_dataset_shuffle(eg_dataset_from(numbered, 31, bad_records, NULL), 4, .seed = 5), w), 2, 3));
}

static eg_dataset *tolerant_cache(int w)
{
    eg_dataset *d = eg_dataset_shuffle(eg_dataset_from(numbered, 31, bad_records, NULL), 9, .seed = 5);
    return eg_dataset_tolerate(noise(eg_dataset_cache(noise(d, w)), w));
}

/* Files of 5, 1, 4 and 3 samples; the third cannot be opened. `user`: workers, and whether it is tried. */
static eg_dataset *open_file(const char *path, void *user)
{
    const int *how = user;
    int file = path[strlen(path) - 1] - '0';
    return file == 2 && how[1] ? NULL : noise(source("5143"[file] - '0'), how[0]);
}

static eg_dataset *files(int w, int bad)
{
    /* Constant, since workers of an earlier walk may still read theirs. */
    static const int how[2][2][2] = {{{0, 0}, {0, 1}}, {{1, 0}, {1, 1}}};
    void *one = (void *)how[w > 1][bad];
    for (int i = 0; i < 4; i++) {
        egt_write(egt_path((char[]){(char)('0' + i), 0}), "", 0);
    }
    eg_dataset *d =
        eg_shards_new(egt_path("?"), open_file, one, .shuffle = true, .seed = 3, .cycle = 2, .block = 2, .ahead = w);
    return bad ? eg_dataset_tolerate(d) : d;
}

static eg_dataset *sets_of_files(int w)
{
    return noise(files(w, 0), w);
}

static eg_dataset *bad_files(int w)
{
    return files(w, 1);
}

static eg_dataset *shuffled_files(int w)
{
    return eg_dataset_shard(eg_dataset_shuffle(files(w, 0), 4, .seed = 1), 1, 2);
}

static const struct {
    const char *name;
    eg_dataset *(*make)(int workers);
    int64_t count, samples;
} chains[] = {
    {"source", just_source, 13, 13},
    {"map", mapped, 13, 13},
    {"map map", twice_mapped, 9, 9},
    {"map shuffle", shuffled, 13, 13},
    {"map shuffle ordered at first", ordered_at_first, 13, 13},
    {"shuffle map batch prefetch", classic, 6, 6},
    {"map batch", batches, 3, 3},
    {"map skip take", taken, 9, 9},
    {"map shard", sharded, 7, 7},
    {"map filter map", filtered, -1, 10},
    {"map shuffle cache map", cached, 9, 9},
    {"shuffle repeat map", repeated, 15, 15},
    {"filter map repeat take", endless, -1, 9},
    {"map repeat take", endless_count, -1, 13},
    {"concat", concatenated, 10, 10},
    {"interleave", interleaved, 13, 13},
    {"zip", zipped, -1, 7},
    {"map padded_batch", padded, 4, 4},
    {"map bucket", bucketed, -1, 11},
    {"map tolerate batch", tolerant, -1, 5},
    {"map map tolerate shuffle prefetch", tolerant_map, -1, 13},
    {"batch map shard tolerate", tolerant_late, -1, 6},
    {"shuffle map shard tolerate", tolerant_shards, -1, 9},
    {"shuffle map cache map tolerate", tolerant_cache, -1, 27},
    {"files map", sets_of_files, -1, 13},
    {"files tolerate", bad_files, -1, 9},
    {"files shuffle shard", shuffled_files, -1, 6},
};
enum { CHAINS = sizeof chains / sizeof *chains };

/* ---- walks compared ---------------------------------------------------------------------------------------- */

static void walk_all(eg_dataset *d, walked *w)
{
    EGT_CHECK(d);
    for (int e = 0; e < EPOCHS; e++) {
        eg_dataset_position p = eg_dataset_position_of(d);
        EGT_CHECK(p.epoch == e && p.sample == 0);
        walk(d, w, e, 0, -1);
    }
}

EGT(the_same_samples_for_any_number_of_workers)
{
    static const int workers[] = {0, 1, 4};
    static walked first, other;
    for (int c = 0; c < CHAINS; c++) {
        for (int i = 0; i < 3; i++) {
            snprintf(egt_case, sizeof egt_case, "%s, %d workers", chains[c].name, workers[i]);
            eg_random_state before = eg_random_get_state();
            eg_dataset *d = chains[c].make(workers[i]);
            walk_all(d, i ? &other : &first);
            eg_random_state after = eg_random_get_state();
            EGT_CHECK(!memcmp(&before, &after, sizeof before));
            EGT_EQ(eg_dataset_count(d), chains[c].count);
            eg_dataset_free(d);
            EGT_EQ(first.count[0], chains[c].samples);
            for (int e = 0; e < EPOCHS && i; e++) {
                same(&first, &other, e, 0);
            }
        }
        EGT_CHECK(first.seen[0][0] != first.seen[0][1]);
        EGT_CHECK(first.seen[0][0] != first.seen[1][0]);
    }
}

/* From every position, in a fresh chain and in one that stands elsewhere. */
static void seek_everywhere(int c, int workers, const walked *whole)
{
    static walked w;
    eg_dataset *used = chains[c].make(workers);
    for (int64_t e = 0; e < 2; e++) {
        for (int k = 0; k <= whole->count[e]; k++) {
            snprintf(egt_case, sizeof egt_case, "%s, %d workers, epoch %d, sample %d", chains[c].name, workers, (int)e,
                     k);
            eg_dataset *fresh = chains[c].make(workers), *both[] = {fresh, used};
            bool end = k == whole->count[e];
            for (int i = 0; i < 2; i++) {
                EGT_OK(eg_dataset_seek(both[i], (eg_dataset_position){e, k}));
                walk(both[i], &w, e + end, end ? 0 : k, -1);
                same(whole, &w, e + end, end ? 0 : k);
                eg_dataset_position p = eg_dataset_position_of(both[i]);
                EGT_CHECK(p.epoch == e + end + 1 && p.sample == 0);
                walk(both[i], &w, e + 1, 0, 1); /* leaves it in the middle */
                EGT_CHECK(end || w.seen[e + 1][0] == whole->seen[e + 1][0]);
            }
            eg_dataset_free(fresh);
        }
    }
    eg_dataset_free(used);
}

EGT(a_walk_is_taken_up_anywhere)
{
    static walked whole;
    for (int c = 0; c < CHAINS; c++) {
        eg_dataset *d = chains[c].make(0);
        walk_all(d, &whole);
        eg_dataset_free(d);
        seek_everywhere(c, 0, &whole);
        seek_everywhere(c, 3, &whole);
    }
}

EGT(positions_follow_the_consumer)
{
    eg_dataset *d = classic(2);
    for (int e = 0; e < 2; e++) {
        int64_t k = 0;
        EG_FOR_EACH(sample, d) {
            eg_dataset_position p = eg_dataset_position_of(d);
            k++;
            EGT_EQ(p.epoch, k == 6 ? e + 1 : e);
            EGT_EQ(p.sample, k % 6);
        }
    }
    EGT_REFUSED(eg_dataset_seek(d, (eg_dataset_position){0, 7}), EG_EINVAL, "6 samples");
    EGT_REFUSED(eg_dataset_seek(d, (eg_dataset_position){-1, 0}), EG_EINVAL, "-1");
    EGT_REFUSED(eg_dataset_seek(NULL, (eg_dataset_position){0, 0}), EG_EINVAL, "NULL");
    EGT_EQ(eg_dataset_position_of(d).epoch, 2);
    eg_dataset_free(d);
    d = filtered(0);
    EGT_OK(eg_dataset_seek(d, (eg_dataset_position){0, 11}));
    EGT_CHECK(!eg_dataset_first(d));
    EGT_EQ(eg_dataset_status(d), EG_EINVAL);
    EGT_CHECK(egt_said(EG_EINVAL, "sample 11 of a pass that has 10"));
    eg_dataset_free(d);
    EGT_EQ(eg_dataset_position_of(NULL).epoch, 0);
}

/* ---- threads ------------------------------------------------------------------------------------------------ */

static eg_status slow(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n, (void)user;
    int64_t i = (int64_t)eg_item(in[1]);
    nanosleep(&(struct timespec){0, (7 - i % 8) * 200000}, NULL); /* late ones are done first */
    out[0] = eg_scalar(eg_threads(), EG_I64);
    out[1] = in[1];
    *m = 2;
    return said(out[0]);
}

EGT(workers_keep_the_order_and_their_ops_to_themselves)
{
    eg_dataset *d = eg_dataset_map(source(40), slow, NULL, .workers = 4);
    int64_t k = 0;
    EG_FOR_EACH(sample, d) {
        EGT_EQ(eg_item(sample[0]), 1);
        EGT_EQ(eg_item(sample[1]), k++);
    }
    EGT_EQ(k, 40);
    eg_dataset_free(d);
}

EGT(leaving_in_the_middle)
{
    for (int stop = 0; stop < 6; stop++) {
        eg_dataset *d =
            eg_dataset_batch(eg_dataset_prefetch(eg_dataset_map(eg_dataset_map(source(1000), slow, NULL, .workers = 3),
                                                                fails_at, ((int64_t[]){10, -1}), .workers = 2),
                                                 2),
                             2);
        for (int round = 0; round < 2; round++) {
            EG_SCOPE {
                int k = 0;
                EG_FOR_EACH(sample, d) {
                    if (k++ == stop) {
                        break;
                    }
                }
            }
        }
        eg_clear_error();
        eg_dataset_free(d);
    }
}

EGT(failures_come_in_order_with_where)
{
    for (int workers = 0; workers < 5; workers += 2) {
        eg_dataset *d = eg_dataset_map(source(30), fails_at, ((int64_t[]){5, 11, -1}), .workers = workers);
        int64_t k = 0;
        EG_FOR_EACH(sample, d) {
            EGT_EQ(eg_item(sample[1]), k++);
        }
        EGT_EQ(k, 5);
        EGT_EQ(eg_dataset_status(d), EG_ESHAPE);
        EGT_STR(eg_last_error()->op, "reshape");
        EGT_CHECK(egt_said(EG_ESHAPE, "(sample 5)"));
        EGT_CHECK(!eg_dataset_next(d));
        eg_dataset_free(d);
        d = eg_dataset_map(eg_dataset_from(numbered, 30, bad_records + 2, NULL), fails_at, ((int64_t[]){11, -1}),
                           .workers = workers);
        k = 0;
        EG_FOR_EACH(sample, d) {
            k++;
        }
        EGT_EQ(k, 5);
        EGT_CHECK(egt_said(EG_EUSER, "without a word (sample 5)"));
        eg_dataset_free(d);
    }
}

/* ---- memory that runs out --------------------------------------------------------------------------------------- */

static eg_dataset *everything(void)
{
    eg_dataset *words = eg_dataset_bucket(eg_dataset_from(ragged, 12, NULL, NULL), ((int64_t[]){2, 4}), 2, .batch = 3);
    eg_dataset *more = eg_dataset_shard(eg_dataset_repeat(eg_dataset_shuffle(noise(source(6), 2), 3), 2), 0, 2);
    eg_dataset *digits = eg_dataset_concat((eg_dataset *[]){eg_dataset_cache(source(4)), more}, 2);
    return eg_dataset_prefetch(
        eg_dataset_padded_batch(eg_dataset_zip((eg_dataset *[]){words, eg_dataset_batch(noise(digits, 3), 2)}, 2), 2),
        2);
}

/* What workers have made is passed over, but not that they found no memory. */
static eg_dataset *passed_over(void)
{
    return eg_dataset_shard(noise(eg_dataset_shuffle(noise(source(40), 0), 5), 3), 0, 4);
}

static void fail_allocations(eg_dataset *(*make)(void), int samples)
{
    static walked whole, w;
    eg_dataset *d = make();
    walk(d, &whole, 0, 0, -1);
    EGT_EQ(whole.count[0], samples);
    eg_dataset_free(d);
    int failed = 0, fine = 0;
    for (int n = 1; n < 400; n++) {
        eg_debug_fail_alloc(n);
        int k = 0;
        d = make();
        EG_SCOPE {
            EG_FOR_EACH(sample, d) {
                w.seen[0][k++] = digest(sample, 2);
            }
        }
        eg_debug_fail_alloc(0);
        w.count[0] = k;
        if (!d || eg_dataset_status(d)) {
            EGT_CHECK(eg_last_error()->code == EG_ENOMEM);
            eg_clear_error();
            failed++;
        } else {
            same(&whole, &w, 0, 0);
            fine++;
        }
        eg_dataset_free(d);
    }
    EGT_CHECK(failed > 30 && fine > 5);
}

EGT(allocations_that_fail)
{
    fail_allocations(everything, 3);
    fail_allocations(passed_over, 10);
}
