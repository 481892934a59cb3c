/* test_distribute.c - one chain for several ranks: together they walk as one would. */
#include "tests/samples.h"

typedef eg_dataset *chain_fn(int64_t batch, int64_t count);

static eg_dataset *plain(int64_t batch, int64_t count)
{
    return eg_dataset_batch(source(count), batch);
}

static eg_dataset *long_chain(int64_t batch, int64_t count)
{
    eg_dataset *d = noise(noise(eg_dataset_shuffle(source(count), 7, .seed = 3), 2), 0);
    return eg_dataset_prefetch(eg_dataset_batch(d, batch, .drop_last = true), 2);
}

static eg_dataset *side_by_side(int64_t batch, int64_t count)
{
    eg_dataset *two[2] = {eg_dataset_prefetch(eg_dataset_batch(noise(source(count), 2), batch), 2),
                          eg_dataset_batch(eg_dataset_shuffle(source(count), 100), batch)};
    return eg_dataset_zip(two, 2);
}

/* Nobody knows how many there are. */
static eg_dataset *some(int64_t batch, int64_t count)
{
    return eg_dataset_batch(noise(eg_dataset_filter(source(count), odd, NULL), 0), batch, .drop_last = true);
}

/* Rank r's batches of a pass, from number `from` on, are its parts of those of one. */
static void as_one(chain_fn *chain, int64_t count, int r, int ranks, int64_t from)
{
    enum { BATCH = 3, BATCHES_MOST = 16 };
    eg_tensor *want[BATCHES_MOST][EG_SAMPLE_MAX];
    int64_t n = 0, at = 0, width = 0;
    eg_dataset *one = chain(ranks * BATCH, count), *own = eg_dataset_distribute(chain(BATCH, count), r, ranks);
    EGT_OK(eg_dataset_seek(one, (eg_dataset_position){1, from}));
    EGT_OK(eg_dataset_seek(own, (eg_dataset_position){1, from}));
    EG_FOR_EACH(batch, one) {
        const int64_t each = eg_size(batch[0], 0) / ranks;
        width = eg_dataset_width(one);
        for (int k = 0; k < width && each; k++) {
            want[n][k] = eg_keep(eg_slice(batch[k], 0, r * each, (r + 1) * each, 1));
        }
        n += each > 0;
    }
    EGT_CHECK(eg_dataset_count(own) < 0 || eg_dataset_count(own) == n + from);
    EG_FOR_EACH(batch, own) {
        EGT_EQ(eg_dataset_width(own), width);
        for (int k = 0; k < width && at < n; k++) {
            EGT_CHECK(eg_size(batch[k], 0) == eg_size(want[at][k], 0) && egt_distance(batch[k], want[at][k]) == 0);
        }
        at++;
    }
    EGT_EQ(at, n);
    EGT_OK(eg_dataset_status(own));
    for (int64_t i = 0; i < n * width; i++) {
        eg_release(want[i / width][i % width]);
    }
    eg_dataset_free(one);
    eg_dataset_free(own);
}

EGT(ranks_walk_as_one)
{
    static chain_fn *const chains[] = {plain, long_chain, side_by_side, some};
    for (int k = 0; k < 4; k++) {
        for (int64_t count = 0; count <= 40; count += k == 3 ? 12 : 7) {
            for (int ranks = 1; ranks <= 4; ranks++) {
                for (int r = 0; r < ranks; r++) {
                    as_one(chains[k], k == 3 ? 2 * 3 * ranks * (count / 12) : count, r, ranks, 0);
                }
            }
        }
    }
    as_one(long_chain, 40, 1, 2, 3);
    as_one(side_by_side, 40, 2, 3, 2);
}

/* Without batches, or where they are made of what fits together, whole samples are dealt out. */
EGT(ranks_take_turns)
{
    for (int r = 0; r < 3; r++) {
        eg_dataset *d = eg_dataset_distribute(noise(source(11), 0), r, 3);
        EGT_EQ(eg_dataset_count(d), 3);
        int64_t at = 0;
        EG_FOR_EACH(sample, d) {
            EGT_EQ(eg_item(sample[1]), (double)(r + 3 * at));
            at++;
        }
        EGT_EQ(at, 3);
        eg_dataset_free(d);
    }
}

/* What fails is of one rank alone; it takes its place. */
EGT(a_bad_record_is_one_ranks)
{
    for (int r = 0; r < 2; r++) {
        eg_dataset *d = eg_dataset_distribute(
            eg_dataset_tolerate(eg_dataset_batch(eg_dataset_from(numbered, 16, bad_records, NULL), 2)), r, 2);
        int64_t n = 0;
        EG_FOR_EACH(sample, d) {
            n++;
        }
        EGT_OK(eg_dataset_status(d));
        EGT_CHECK(n > 0);
        eg_dataset_free(d);
    }
}

EGT(who_cannot_be_dealt_to)
{
    EGT_REFUSED(eg_dataset_distribute(NULL, 0, 1), EG_EINVAL, "d");
    EGT_REFUSED(eg_dataset_distribute(source(3), 2, 2), EG_EINVAL, "rank 2 of 2");
    EGT_REFUSED(eg_dataset_distribute(source(3), -1, 2), EG_EINVAL, "rank -1");
}

static bool walk_distributed(void *user)
{
    (void)user;
    eg_dataset *d = eg_dataset_distribute(some(2, 16), 1, 2);
    int64_t n = 0;
    EG_FOR_EACH(sample, d) {
        n++;
    }
    const bool done = d && !eg_dataset_status(d) && n == 2;
    eg_dataset_free(d);
    return done;
}

EGT(no_memory_to_deal)
{
    EGT_CHECK(egt_fail_allocations(walk_distributed, NULL) > 5);
}

/* What is passed over is as if it had been walked. */
EGT(passed_over)
{
    eg_dataset *d = noise(source(9), 0);
    eg_tensor *const *sample = eg_dataset_first(d);
    EGT_CHECK(sample && eg_item(sample[1]) == 0);
    EGT_OK(eg_dataset_pass(d, 3));
    EGT_CHECK((sample = eg_dataset_next(d)) && eg_item(sample[1]) == 4);
    EGT_EQ(eg_dataset_position_of(d).sample, 5);
    EGT_OK(eg_dataset_pass(d, 100));
    EGT_CHECK(!eg_dataset_next(d));
    EGT_OK(eg_dataset_status(d));
    EGT_REFUSED(eg_dataset_pass(d, 1), EG_ESTATE, "no pass");
    EGT_REFUSED(eg_dataset_pass(d, -1), EG_EINVAL, "n is -1");
    eg_dataset_free(d);
}
