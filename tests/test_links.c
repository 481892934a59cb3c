/* test_links.c - what each link of a chain does with its samples, and what it refuses. */
#include <stdatomic.h>

#include "tests/samples.h"

/* ---- failures left out ---------------------------------------------------------------------------------------- */

EGT(bad_records_are_left_out_and_counted)
{
    for (int workers = 0; workers < 5; workers += 2) {
        eg_dataset *d = eg_dataset_tolerate(eg_dataset_map(eg_dataset_from(numbered, 20, bad_records, NULL), fails_at,
                                                           ((int64_t[]){7, -1}), .workers = workers));
        for (int e = 0; e < 2; e++) {
            int64_t k = 0;
            EG_FOR_EACH(sample, d) {
                k++;
            }
            EGT_OK(eg_dataset_status(d));
            EGT_EQ(eg_last_error()->code, EG_OK);
            EGT_EQ(k, 15);
            eg_left_out out = eg_dataset_left_out(d);
            EGT_EQ(out.count, 5);
            EGT_EQ(out.first.code, EG_EUSER);
            EGT_CHECK(strstr(out.first.message, "(sample 0)"));
        }
        eg_dataset_free(d);
        d = eg_dataset_tolerate(eg_dataset_from(numbered, 20, bad_records, NULL), .most = 2);
        int64_t k = 0;
        EG_FOR_EACH(sample, d) {
            k++;
        }
        EGT_EQ(k, 3);
        EGT_EQ(eg_dataset_left_out(d).count, 2);
        EGT_CHECK(egt_said(EG_EUSER, "(sample 5)"));
        eg_dataset_free(d);
    }
    eg_dataset *d = eg_dataset_zip(
        (eg_dataset *[]){eg_dataset_tolerate(eg_dataset_from(numbered, 9, bad_records, NULL)),
                         eg_dataset_cache(eg_dataset_tolerate(eg_dataset_map(source(9), fails_at, bad_records)))},
        2);
    EGT_EQ(eg_dataset_left_out(d).first.code, EG_OK);
    EG_FOR_EACH(sample, d) {
    }
    EGT_EQ(eg_dataset_left_out(d).count, 6);
    eg_dataset_free(d);
}

/* ---- which samples ------------------------------------------------------------------------------------------ */

static eg_status counted(int64_t index, eg_tensor **sample, int *n, void *user)
{
    ++*(atomic_int *)user;
    return numbered(index, sample, n, NULL);
}

EGT(an_endless_walk_of_failures_ends)
{
    eg_dataset *d = eg_dataset_tolerate(eg_dataset_repeat(eg_dataset_from(numbered, 1, bad_records, NULL), 0));
    EGT_CHECK(!eg_dataset_first(d));
    EGT_OK(eg_dataset_status(d));
    EGT_EQ(eg_dataset_left_out(d).count, 1);
    eg_dataset_free(d);
    d = eg_dataset_take(eg_dataset_tolerate(eg_dataset_repeat(eg_dataset_from(numbered, 2, bad_records, NULL), 0)), 5);
    int64_t k = 0;
    EG_FOR_EACH(sample, d) {
        k++;
    }
    EGT_EQ(k, 5);
    eg_dataset_free(d);
}

/* ---- random numbers ---------------------------------------------------------------------------------------- */

static eg_status draws(int64_t index, eg_tensor **sample, int *n, void *user)
{
    (void)index, (void)user;
    *n = 1;
    return said(sample[0] = eg_uniform(EG_SCALAR, 0, 1, EG_F64));
}

static eg_status draws_too(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    memcpy(out, in, (size_t)n * sizeof *out);
    *m = n + 1;
    return draws(0, out + n, &n, user);
}

static eg_status keeps_the_draw(eg_tensor *const *in, int n, bool *keep, void *user)
{
    double *drawn = user;
    *drawn = eg_item(eg_uniform(EG_SCALAR, 0, 1, EG_F64));
    *keep = in && n;
    return EG_OK;
}

/* Otherwise a picture mirrored by one map would be cut at the left by the next. */
EGT(functions_of_a_chain_draw_different_numbers)
{
    double seen[2][4];
    for (int i = 0; i < 2; i++) {
        eg_dataset *d = eg_dataset_map(eg_dataset_from(draws, 1, NULL, NULL), draws_too, NULL);
        d = eg_dataset_map(i ? eg_dataset_prefetch(d, 1) : d, draws_too, NULL, .workers = 2 * i);
        d = eg_dataset_filter(d, keeps_the_draw, &seen[i][3]);
        EG_FOR_EACH(sample, d) {
            for (int k = 0; k < 3; k++) {
                seen[i][k] = eg_item(sample[k]);
            }
        }
        EGT_OK(eg_dataset_status(d));
        eg_dataset_free(d);
    }
    for (int k = 0; k < 4; k++) {
        for (int j = 0; j < k; j++) {
            EGT_CHECK(seen[0][k] != seen[0][j]);
        }
    }
    EGT_CHECK(!memcmp(seen[0], seen[1], sizeof seen[0]));
}

EGT(a_cache_asks_once)
{
    atomic_int calls = 0;
    eg_dataset *d = eg_dataset_cache(eg_dataset_shuffle(eg_dataset_from(counted, 10, &calls, NULL), 1));
    walked w;
    walk(d, &w, 0, 0, 4);
    EGT_EQ(calls, 4);
    walk(d, &w, 1, 0, -1);
    walk(d, &w, 2, 0, -1);
    EGT_EQ(calls, 10);
    EGT_CHECK(w.count[1] == 10 && w.count[2] == 10);
    EGT_CHECK(!memcmp(w.seen[0], w.seen[1], 4 * sizeof *w.seen[0]));
    EGT_CHECK(!memcmp(w.seen[1], w.seen[2], 10 * sizeof *w.seen[0]));
    eg_dataset_free(d);
    calls = 0;
    d = eg_dataset_cache(eg_dataset_from(counted, 10, &calls, NULL));
    walk(d, &w, 0, 0, 4);
    walk(d, &w, 1, 0, -1);
    EGT_EQ(calls, 10);
    EGT_OK(eg_dataset_seek(d, (eg_dataset_position){7, 3}));
    walk(d, &w, 2, 3, -1);
    EGT_EQ(calls, 10);
    eg_dataset_free(d);
    calls = 0;
    d = eg_dataset_cache(eg_dataset_from(counted, 10, &calls, NULL));
    EGT_OK(eg_dataset_seek(d, (eg_dataset_position){0, 6}));
    walk(d, &w, 0, 6, -1);
    EGT_EQ(calls, 4); /* beyond a gap: not kept */
    walk(d, &w, 1, 0, -1);
    walk(d, &w, 2, 0, -1);
    EGT_EQ(calls, 14);
    eg_dataset_free(d);
}

EGT(count_before_is_of_the_nearest_dataset_with_samples)
{
    eg_tensor *x = eg_arange(0, 5, 1, EG_F32);
    eg_dataset *d = eg_dataset_batch(eg_dataset_from_tensors(&x, 1), 8, .drop_last = true);
    EGT_EQ(eg_dataset_count(d), 0);
    EGT_EQ(eg_dataset_count_before(d), 5);
    eg_dataset_free(d);
    d = eg_dataset_batch(eg_dataset_from_tensors(&x, 1), 2);
    EGT_EQ(eg_dataset_count_before(d), 3);
    eg_dataset_free(d);
    EGT_EQ(eg_dataset_count_before(NULL), 0);
}

EGT(skipping_makes_nothing)
{
    atomic_int calls = 0;
    eg_dataset *d = eg_dataset_prefetch(
        eg_dataset_batch(
            noise(eg_dataset_repeat(eg_dataset_skip(eg_dataset_from(counted, 1000, &calls, NULL), 10), 50), 2), 3),
        1);
    EGT_OK(eg_dataset_seek(d, (eg_dataset_position){1, 16000}));
    EG_SCOPE {
        eg_tensor *const *sample = eg_dataset_first(d);
        EGT_CHECK(sample);
        EGT_EQ(eg_get(sample[1], 0), 10 + 16000 * 3 % 990);
    }
    eg_dataset_free(d);
    EGT_CHECK(calls > 2 && calls < 30);
    calls = 0;
    d = eg_dataset_shuffle(eg_dataset_from(counted, 1000, &calls, NULL), 20);
    EGT_OK(eg_dataset_seek(d, (eg_dataset_position){1, 950}));
    EGT_CHECK(eg_dataset_first(d) && calls == 20); /* what is in the buffer */
    eg_dataset_free(d);
    calls = 0;
    d = eg_dataset_shuffle(eg_dataset_from(counted, 1000, &calls, NULL), 2000);
    EGT_OK(eg_dataset_seek(d, (eg_dataset_position){1, 950}));
    EGT_CHECK(eg_dataset_first(d) && calls == 50);
    eg_dataset_free(d);
}

/* A sample that stays in the buffer cannot be made. */
EGT(skipping_over_failures)
{
    for (int k = 4; k < 17; k++) {
        eg_dataset *d = eg_dataset_shuffle(eg_dataset_from(numbered, 17, bad_records, NULL), 6);
        EGT_OK(eg_dataset_seek(d, (eg_dataset_position){0, k}));
        bool seen[17] = {false};
        int n = 0;
        EG_FOR_EACH(sample, d) {
            int i = (int)eg_item(sample[1]);
            EGT_CHECK(!seen[i]);
            seen[i] = true;
            n++;
        }
        EGT_CHECK(eg_dataset_status(d) ? n == 0 || n < 17 - k : n == 17 - k);
        EGT_CHECK(!eg_dataset_status(d) || egt_said(EG_EUSER, "(sample "));
        eg_dataset_free(d);
    }
}

EGT(shards_are_a_partition)
{
    for (int count = 1; count < 25; count += 4) {
        int seen[20] = {0};
        int64_t sum = 0;
        for (int i = 0; i < count; i++) {
            eg_dataset *d = eg_dataset_shard(source(20), i, count);
            int64_t k = 0;
            EG_FOR_EACH(sample, d) {
                EGT_EQ(eg_item(sample[1]), i + count * k++);
                seen[(int)eg_item(sample[1])]++;
            }
            EGT_EQ(k, eg_dataset_count(d));
            sum += k;
            eg_dataset_free(d);
        }
        EGT_EQ(sum, 20);
        for (int i = 0; i < 20; i++) {
            EGT_EQ(seen[i], 1);
        }
    }
}

/* The indices of a pass are these. */
static void indices(eg_dataset *d, int tensor, int n, const int *expected)
{
    int k = 0;
    EG_FOR_EACH(sample, d) {
        EGT_CHECK(k < n);
        EGT_EQ(eg_item(sample[tensor]), expected[k++]);
    }
    EGT_OK(eg_dataset_status(d));
    EGT_EQ(k, n);
    eg_dataset_free(d);
}

EGT(which_samples_and_where)
{
    indices(eg_dataset_skip(source(5), 2), 1, 3, (int[]){2, 3, 4});
    indices(eg_dataset_skip(source(5), 9), 1, 0, NULL);
    indices(eg_dataset_take(source(5), 2), 1, 2, (int[]){0, 1});
    indices(eg_dataset_filter(source(6), odd, NULL), 1, 3, (int[]){1, 3, 5});
    indices(eg_dataset_repeat(source(2), 3), 1, 6, (int[]){0, 1, 0, 1, 0, 1});
    indices(eg_dataset_repeat(source(0), 0), 1, 0, NULL);
    indices(eg_dataset_take(eg_dataset_shuffle(source(INT64_MAX), 1), 2), 1, 2, (int[]){0, 1});
    indices(eg_dataset_take(eg_dataset_shard(eg_dataset_skip(source(INT64_MAX), INT64_MAX - 3), 5, INT64_MAX), 9), 0, 0,
            NULL);
    indices(eg_dataset_concat((eg_dataset *[]){source(2), source(3)}, 2), 1, 5, (int[]){0, 1, 0, 1, 2});
    indices(eg_dataset_interleave((eg_dataset *[]){source(4), source(1), source(3)}, 3, 2), 1, 8,
            (int[]){0, 1, 0, 0, 1, 2, 3, 2});
    indices(eg_dataset_zip((eg_dataset *[]){source(4), eg_dataset_skip(source(5), 2)}, 2), 3, 3, (int[]){2, 3, 4});
}

/* ---- batches -------------------------------------------------------------------------------------------------- */

static void values_are(const eg_tensor *t, int n, const double *expected)
{
    EGT_EQ(eg_numel(t), n);
    for (int i = 0; i < n; i++) {
        EGT_EQ(eg_get(t, i), expected[i]);
    }
}

EGT(padded_batches)
{
    /* lengths 1 3 5 2 4 | 1 */
    eg_dataset *d = eg_dataset_padded_batch(eg_dataset_from(ragged, 6, NULL, NULL), 2, .value = {-1});
    static const double first[] = {1, -1, -1, 1, 2, 3}, second[] = {1, 2, 3, 4, 5, 1, 2, -1, -1, -1};
    EG_SCOPE {
        eg_tensor *const *sample = eg_dataset_first(d);
        EGT_CHECK(sample && eg_dtype_of(sample[0]) == EG_I64 && eg_size(sample[0], 1) == 3);
        values_are(sample[0], 6, first);
        sample = eg_dataset_next(d);
        values_are(sample[0], 10, second);
        values_are(sample[1], 2, (double[]){2, 3});
    }
    eg_dataset_free(d);
    d = eg_dataset_padded_batch(eg_dataset_from(ragged, 5, NULL, NULL), 4, .sizes = {EG_SHAPE(5)}, .drop_last = true);
    int k = 0;
    EG_FOR_EACH(sample, d) {
        k++;
        EGT_EQ(eg_size(sample[0], 1), 5);
        EGT_EQ(eg_get(sample[0], 4), 0);
    }
    EGT_EQ(k, 1);
    eg_dataset_free(d);
    d = eg_dataset_padded_batch(eg_dataset_from(ragged, 5, NULL, NULL), 4, .sizes = {EG_SHAPE(4)});
    EGT_CHECK(!eg_dataset_first(d) && egt_said(EG_ESHAPE, "[5], does not go into [4] (sample 2)"));
    eg_dataset_free(d);
}

EGT(buckets)
{
    /* index: length 0:1 1:3 2:5 3:2 4:4 5:1 6:3 7:5 8:2 9:4 10:1 */
    static const struct {
        int size, length, index[3];
    } expected[] = {{2, 2, {0, 3}}, {3, 4, {1, 4, 6}}, {1, 5, {2}}};
    eg_dataset *d = eg_dataset_bucket(eg_dataset_from(ragged, 7, NULL, NULL), ((int64_t[]){3, 5}), 2,
                                      .batches = (int64_t[]){2, 3, 4}, .value = {9});
    /* 0 3 fill the first, 1 4 6 the second; then 5 and 2 remain */
    int k = 0;
    EG_FOR_EACH(sample, d) {
        static const int order[] = {0, 1, -1, 2};
        int e = order[k++];
        if (e < 0) {
            EGT_EQ(eg_item(sample[1]), 5);
            continue;
        }
        EGT_EQ(eg_size(sample[0], 0), expected[e].size);
        EGT_EQ(eg_size(sample[0], 1), expected[e].length);
        for (int i = 0; i < expected[e].size; i++) {
            EGT_EQ(eg_get(sample[1], i), expected[e].index[i]);
        }
        if (e == 1) {
            values_are(sample[0], 12, (double[]){1, 2, 3, 9, 1, 2, 3, 4, 1, 2, 3, 9});
        }
    }
    EGT_EQ(k, 4);
    eg_dataset_free(d);
    d = eg_dataset_bucket(eg_dataset_from(ragged, 7, NULL, NULL), ((int64_t[]){3}), 1, .batch = 3, .element = 1);
    EGT_CHECK(!eg_dataset_first(d) && egt_said(EG_EINDEX, "no axis 0 of tensor 1 (sample 0)"));
    eg_dataset_free(d);
    d = eg_dataset_bucket(eg_dataset_from(ragged, 7, NULL, NULL), ((int64_t[]){3}), 1, .batch = 3, .drop_last = true);
    k = 0;
    EG_FOR_EACH(sample, d) {
        EGT_EQ(eg_size(sample[0], 0), 3);
        k++;
    }
    EGT_EQ(k, 2);
    eg_dataset_free(d);
}

/* Of 5 - index and index steps, side by side. */
static eg_status two_lengths(int64_t index, eg_tensor **sample, int *n, void *user)
{
    (void)user;
    sample[0] = eg_full(EG_SHAPE(5 - index), (double)index, EG_F32);
    sample[1] = eg_full(EG_SHAPE(index), (double)index, EG_F32);
    *n = 2;
    return EG_OK;
}

/* As many samples as have the places: of lengths 1, 3, 5, 2, 4, 1, 3, 5 ... */
EGT(buckets_of_so_many_places)
{
    static const int64_t none[] = {1000}, two[] = {4};
    static const int want[][2] = {{2, 3}, {1, 5}, {2, 4}, {2, 3}, {1, 5}, {2, 4}, {1, 1}};
    eg_dataset *d = eg_dataset_bucket(eg_dataset_from(ragged, 11, NULL, NULL), none, 1, .tokens = 8);
    int64_t samples = 0;
    int k = 0;
    EG_FOR_EACH(s, d) {
        EGT_CHECK(k < 7);
        EGT_EQ(eg_size(s[0], 0), want[k][0]);
        EGT_EQ(eg_size(s[0], 1), want[k][1]);
        samples += eg_size(s[0], 0);
        k++;
    }
    EGT_OK(eg_dataset_status(d));
    EGT_EQ(samples, 11);
    EGT_EQ(k, 7);
    EGT_OK(eg_dataset_seek(d, (eg_dataset_position){1, 4}));
    EGT_EQ(eg_size(eg_dataset_first(d)[0], 1), 5);
    eg_dataset_free(d);
    d = eg_dataset_bucket(eg_dataset_from(ragged, 11, NULL, NULL), two, 1, .tokens = 9, .batch = 2);
    samples = 0;
    EG_FOR_EACH(s, d) {
        const int64_t n = eg_size(s[0], 0);
        EGT_CHECK(n <= 2 && n * eg_size(s[0], 1) <= 9);
        samples += n;
    }
    EGT_EQ(samples, 11);
    eg_dataset_free(d);
    d = eg_dataset_bucket(eg_dataset_from(ragged, 5, NULL, NULL), two, 1, .tokens = 1, .drop_last = true);
    samples = 0;
    EG_FOR_EACH(s, d) {
        EGT_EQ(eg_size(s[0], 0), 1);
        samples++;
    }
    EGT_EQ(samples, 5);
    eg_dataset_free(d);
    EGT_REFUSED(eg_dataset_bucket(source(1), two, 1, .batch = 1, .tokens = -1), EG_EINVAL, "tokens is -1");
}

EGT(buckets_of_the_longest)
{
    /* index 0 and 5: 5 steps, 1 and 4: 4, 2 and 3: 3 */
    eg_dataset *d = eg_dataset_bucket(eg_dataset_from(two_lengths, 6, NULL, NULL), ((int64_t[]){4, 5}), 2, .batch = 2,
                                      .longest = true);
    int k = 0;
    EG_FOR_EACH(sample, d) {
        EGT_EQ(eg_size(sample[0], 1), 3 + k);
        EGT_EQ(eg_size(sample[1], 1), 3 + k++);
    }
    EGT_EQ(k, 3);
    eg_dataset_free(d);
    d = eg_dataset_bucket(eg_dataset_from(two_lengths, 6, NULL, NULL), ((int64_t[]){4}), 1, .batch = 2, .longest = true,
                          .axis = 1);
    EGT_CHECK(!eg_dataset_first(d) && egt_said(EG_EINDEX, "no axis 1 of tensor 0 (sample 0)"));
    eg_dataset_free(d);
}

/* [3, 4, 5] with the channels innermost, as pictures come from files. */
static eg_status picture(int64_t index, eg_tensor **sample, int *n, void *user)
{
    eg_tensor *t = eg_arange(0, 60, 1, EG_F32);
    t = eg_permute(eg_reshape(eg_add_scalar(t, (double)(100 * index)), EG_SHAPE(4, 5, 3)), EG_AXES(2, 0, 1));
    sample[0] = user && index == 2 ? eg_contiguous(t) : t;
    *n = 1;
    return said(sample[0]);
}

EGT(pictures_stay_channels_last)
{
    for (int odd_one = 0; odd_one < 3; odd_one++) {
        eg_dataset *d = eg_dataset_from(picture, 5, odd_one == 1 ? "" : NULL, NULL);
        d = odd_one == 2 ? eg_dataset_padded_batch(d, 4, .sizes = {EG_SHAPE(-1, 6, -1)}) : eg_dataset_batch(d, 4);
        EG_SCOPE {
            eg_tensor *const *sample = eg_dataset_first(d);
            EGT_CHECK(sample && eg_is_channels_last(sample[0]));
            EGT_EQ(eg_size(sample[0], 1), 3);
            eg_tensor *t = eg_index(sample[0], "2, 1, 3, 4");
            EGT_EQ(eg_item(t), 200 + (3 * 5 + 4) * 3 + 1);
        }
        eg_dataset_free(d);
    }
}

/* ---- refusals ------------------------------------------------------------------------------------------------- */

static eg_status mute(eg_tensor *const *in, int n, bool *keep, void *user)
{
    (void)in, (void)n, (void)keep, (void)user;
    return EG_EUSER;
}

EGT(links_refuse)
{
    EGT_REFUSED(eg_dataset_map(NULL, noisy, NULL), EG_EINVAL, "d is NULL");
    EGT_REFUSED(eg_dataset_map(source(1), NULL, NULL), EG_EINVAL, "f is NULL");
    EGT_REFUSED(eg_dataset_map(source(1), noisy, NULL, .workers = -1), EG_EINVAL, "workers is -1");
    EGT_REFUSED(eg_dataset_map(source(1), noisy, NULL, .ahead = 1 << 20), EG_EINVAL, "ahead");
    EGT_REFUSED(eg_dataset_prefetch(NULL, 1), EG_EINVAL, "d is NULL");
    EGT_REFUSED(eg_dataset_filter(NULL, odd, NULL), EG_EINVAL, "d is NULL");
    EGT_REFUSED(eg_dataset_filter(source(1), NULL, NULL), EG_EINVAL, "f is NULL");
    EGT_REFUSED(eg_dataset_tolerate(NULL), EG_EINVAL, "d is NULL");
    EGT_REFUSED(eg_dataset_tolerate(source(1), .most = -1), EG_EINVAL, "most");
    EGT_REFUSED(eg_dataset_skip(source(1), -1), EG_EINVAL, "count is -1");
    EGT_REFUSED(eg_dataset_take(source(1), -1), EG_EINVAL, "count is -1");
    EGT_REFUSED(eg_dataset_take(NULL, 1), EG_EINVAL, "d is NULL");
    EGT_REFUSED(eg_dataset_shard(source(1), 2, 2), EG_EINVAL, "index is 2");
    EGT_REFUSED(eg_dataset_shard(source(1), 0, 0), EG_EINVAL, "count is 0");
    EGT_REFUSED(eg_dataset_shard(NULL, 0, 1), EG_EINVAL, "d is NULL");
    EGT_REFUSED(eg_dataset_repeat(source(1), -2), EG_EINVAL, "times is -2");
    EGT_REFUSED(eg_dataset_repeat(NULL, 2), EG_EINVAL, "d is NULL");
    EGT_REFUSED(eg_dataset_cache(NULL), EG_EINVAL, "d is NULL");
    eg_dataset *twice = source(1);
    EGT_REFUSED(eg_dataset_concat((eg_dataset *[]){twice, source(2), twice}, 3), EG_EINVAL, "datasets[2]");
    EGT_REFUSED(eg_dataset_concat((eg_dataset *[]){source(1), NULL}, 2), EG_EINVAL, "datasets[1] is NULL");
    EGT_REFUSED(eg_dataset_concat(NULL, 2), EG_EINVAL, "datasets is NULL");
    EGT_REFUSED(eg_dataset_zip((eg_dataset *[]){NULL}, 0), EG_EINVAL, "n is 0");
    EGT_REFUSED(eg_dataset_interleave((eg_dataset *[]){source(1)}, 1, 0), EG_EINVAL, "block is 0");
    EGT_REFUSED(eg_dataset_padded_batch(source(1), 0), EG_EINVAL, "batch is 0");
    EGT_REFUSED(eg_dataset_padded_batch(source(1), 2, .sizes = {[3] = EG_SHAPE(-2)}), EG_EINVAL, "sizes[3]");
    EGT_REFUSED(eg_dataset_bucket(NULL, ((int64_t[]){3}), 1, .batch = 1), EG_EINVAL, "d is NULL");
    EGT_REFUSED(eg_dataset_bucket(source(1), ((int64_t[]){3, 3}), 2, .batch = 1), EG_EINVAL, "boundary 1");
    EGT_REFUSED(eg_dataset_bucket(source(1), ((int64_t[]){3}), 1), EG_EINVAL, "bucket 0 is 0");
    EGT_REFUSED(eg_dataset_bucket(source(1), NULL, 1, .batch = 1), EG_EINVAL, "boundaries");
    EGT_REFUSED(eg_dataset_bucket(source(1), ((int64_t[]){3}), 1, .batch = 1, .axis = 8), EG_EINVAL, "axis is 8");
    eg_dataset *d = eg_dataset_filter(source(3), mute, NULL);
    EGT_CHECK(!eg_dataset_first(d) && egt_said(EG_EUSER, "eg_dataset_filter"));
    eg_dataset_free(d);
    d = eg_dataset_zip((eg_dataset *[]){source(3), source(3), source(3), source(3), source(3)}, 5);
    EGT_CHECK(!eg_dataset_first(d) && egt_said(EG_EINVAL, "10 tensors"));
    eg_dataset_free(d);
}
