/* test_shards.c - sets of files as one source: whose turn it is, orders drawn anew, ranks, reading ahead, bad files.
 * Positions of such walks are in test_chain.c. */
#define _POSIX_C_SOURCE 200809L
#include <unistd.h>

#include "tests/egt.h"

enum { FILES = 6, MOST = 64 };
static const int64_t lengths[FILES] = {3, 1, 4, 2, 5, 1};

/* Empty files f0 ... f5, whose samples are 10 file + k; the pattern of all. */
static const char *pattern(void)
{
    for (int i = 0; i < FILES; i++) {
        char name[8];
        snprintf(name, sizeof name, "f%d", i);
        egt_write(egt_path(name), "", 0);
    }
    return egt_path("f?");
}

static eg_status tens(int64_t index, eg_tensor **sample, int *n, void *user)
{
    sample[0] = eg_scalar((double)(10 * (intptr_t)user + index), EG_I64);
    *n = 1;
    return sample[0] ? EG_OK : eg_last_error()->code;
}

/* user: a file that cannot be opened, from 1. */
static eg_dataset *open_tens(const char *path, void *user)
{
    intptr_t file = path[strlen(path) - 1] - '0';
    if (user && *(int *)user == (int)file + 1) {
        return eg_fail(EG_EFORMAT, "open_tens", "no such thing"), NULL;
    }
    return eg_dataset_from(tens, lengths[file], (void *)file, NULL);
}

/* One pass into `to`; how many there were. */
static int walk(eg_dataset *d, int *to)
{
    int k = 0;
    EG_FOR_EACH(sample, d) {
        EGT_CHECK(k < MOST);
        to[k++] = (int)eg_item(sample[0]);
    }
    return k;
}

/* ---- turns ----------------------------------------------------------------------------------------- */

/* The orders of tf.data's interleave (TensorFlow 2.21). */
EGT(files_take_turns_as_tf_data_has_it)
{
    static const struct {
        int cycle;
        int64_t block;
        int want[16];
    } cases[] = {{1, 1, {0, 1, 2, 10, 20, 21, 22, 23, 30, 31, 40, 41, 42, 43, 44, 50}},
                 {2, 1, {0, 10, 1, 2, 20, 21, 30, 22, 31, 23, 40, 50, 41, 42, 43, 44}},
                 {2, 2, {0, 1, 10, 2, 20, 21, 30, 31, 22, 23, 40, 41, 50, 42, 43, 44}},
                 {3, 1, {0, 10, 20, 1, 21, 2, 30, 22, 31, 23, 40, 41, 50, 42, 43, 44}},
                 {3, 2, {0, 1, 10, 20, 21, 2, 30, 31, 22, 23, 40, 41, 42, 43, 50, 44}},
                 {8, 3, {0, 1, 2, 10, 20, 21, 22, 30, 31, 40, 41, 42, 50, 23, 43, 44}}};
    const char *all = pattern();
    for (int i = 0; i < 6; i++) {
        for (int64_t ahead = 0; ahead < 8; ahead += 3) {
            int got[MOST];
            eg_dataset *d =
                eg_shards_new(all, open_tens, NULL, .cycle = cases[i].cycle, .block = cases[i].block, .ahead = ahead);
            for (int pass = 0; pass < 2; pass++) {
                snprintf(egt_case, sizeof egt_case, "cycle %d, block %d, ahead %d, pass %d", cases[i].cycle,
                         (int)cases[i].block, (int)ahead, pass);
                EGT_EQ(walk(d, got), 16);
                EGT_OK(eg_dataset_status(d));
                EGT_CHECK(!memcmp(got, cases[i].want, sizeof cases[i].want));
            }
            EGT_EQ(eg_dataset_count(d), -1);
            eg_dataset_free(d);
        }
    }
}

EGT(orders_are_drawn_anew)
{
    int got[4][MOST];
    const char *all = pattern();
    eg_dataset *d = eg_shards_new(all, open_tens, NULL, .shuffle = true, .seed = 7),
               *again = eg_shards_new(all, open_tens, NULL, .shuffle = true, .seed = 7, .ahead = 2),
               *other = eg_shards_new(all, open_tens, NULL, .shuffle = true, .seed = 9); /* 8 happens to agree */
    bool first[FILES] = {false};
    EGT_EQ(walk(d, got[0]), 16);
    EGT_EQ(walk(d, got[1]), 16);
    EGT_EQ(walk(again, got[2]), 16);
    EGT_EQ(walk(other, got[3]), 16);
    EGT_CHECK(!memcmp(got[0], got[2], 16 * sizeof(int)));
    EGT_CHECK(memcmp(got[0], got[1], 16 * sizeof(int)) && memcmp(got[0], got[3], 16 * sizeof(int)));
    for (int pass = 0; pass < 60; pass++) {
        int sum = 0;
        EGT_EQ(walk(d, got[0]), 16);
        first[got[0][0] / 10] = true;
        for (int k = 0; k < 16; k++) {
            sum += got[0][k];
        }
        EGT_EQ(sum, 420);
    }
    for (int i = 0; i < FILES; i++) {
        EGT_CHECK(first[i]);
    }
    eg_dataset_free(d);
    eg_dataset_free(again);
    eg_dataset_free(other);
}

EGT(ranks_have_files_of_their_own)
{
    int count[60] = {0}, got[MOST];
    const char *all = pattern();
    for (int64_t rank = 0; rank < 4; rank++) {
        eg_dataset *d = eg_shards_new(all, open_tens, NULL, .shuffle = true, .rank = rank, .ranks = 4, .cycle = 2);
        for (int pass = 0; pass < 3; pass++) {
            int n = walk(d, got);
            for (int k = 0; k < n; k++) {
                EGT_EQ(got[k] / 10 % 4, rank);
                count[got[k]]++;
            }
        }
        eg_dataset_free(d);
    }
    for (int i = 0; i < FILES; i++) {
        for (int k = 0; k < lengths[i]; k++) {
            EGT_EQ(count[10 * i + k], 3);
        }
    }
    EGT_REFUSED(eg_shards_new(all, open_tens, NULL, .rank = 6, .ranks = 7), EG_EINVAL, "rank 6 of 7");
}

/* ---- failures -------------------------------------------------------------------------------------- */

EGT(a_bad_file_is_a_step)
{
    int bad = 3, got[MOST];
    eg_dataset *d = eg_dataset_tolerate(eg_shards_new(pattern(), open_tens, &bad, .cycle = 2));
    EGT_EQ(walk(d, got), 12);
    EGT_EQ(eg_dataset_left_out(d).count, 1);
    EGT_CHECK(strstr(eg_dataset_left_out(d).first.message, "no such thing"));
    EGT_CHECK(strstr(eg_dataset_left_out(d).first.message, "f2, offset 0"));
    eg_dataset_free(d);
    d = eg_shards_new(pattern(), open_tens, &bad);
    EGT_EQ(walk(d, got), 4);
    EGT_EQ(eg_dataset_status(d), EG_EFORMAT);
    EGT_CHECK(egt_said(EG_EFORMAT, "f2"));
    eg_dataset_free(d);
}

static eg_dataset *no_words(const char *path, void *user)
{
    (void)path, (void)user;
    return NULL;
}

static eg_dataset *another_ones(const char *path, void *user)
{
    (void)path;
    return user;
}

EGT(what_opens_may_do_wrong)
{
    int got[MOST];
    eg_dataset *d = eg_shards_new(pattern(), no_words, NULL);
    EGT_EQ(walk(d, got), 0);
    EGT_CHECK(egt_said(EG_EUSER, "f0"));
    eg_dataset_free(d);
    eg_dataset *owned = eg_dataset_from(tens, 1, NULL, NULL), *owner = eg_dataset_take(owned, 1);
    d = eg_shards_new(pattern(), another_ones, owned);
    EGT_EQ(walk(d, got), 0);
    EGT_CHECK(egt_said(EG_ESTATE, "eg_dataset_take"));
    eg_dataset_free(d);
    eg_dataset_free(owner);
    EGT_REFUSED(eg_shards_new(pattern(), NULL, NULL), EG_EINVAL, "open");
    EGT_REFUSED(eg_shards_new(NULL, open_tens, NULL), EG_EINVAL, "pattern");
    EGT_REFUSED(eg_shards_new("/no/such/*", open_tens, NULL), EG_EIO, "/no/such/*");
    EGT_REFUSED(eg_shards_new(pattern(), open_tens, NULL, .cycle = -1), EG_EINVAL, "cycle");
    EGT_REFUSED(eg_shards_new(pattern(), open_tens, NULL, .block = -1), EG_EINVAL, "block");
    EGT_REFUSED(eg_shards_new(pattern(), open_tens, NULL, .ahead = 70000), EG_EINVAL, "ahead");
    EGT_REFUSED(eg_shards_new(pattern(), open_tens, NULL, .rank = 2, .ranks = 2), EG_EINVAL, "rank");
}

static eg_status says(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n, (void)user;
    out[0] = in[0];
    *m = 1;
    return (int)eg_item(in[0]) == 42 ? eg_fail(EG_EUSER, "says", "forty-two") : EG_OK;
}

static eg_dataset *open_tolerant(const char *path, void *user)
{
    return eg_dataset_tolerate(eg_dataset_map(open_tens(path, NULL), says, user, .workers = 2));
}

EGT(what_files_leave_out_is_counted)
{
    int got[MOST];
    eg_dataset *d = eg_shards_new(pattern(), open_tolerant, NULL, .cycle = 2, .ahead = 2);
    for (int pass = 0; pass < 2; pass++) {
        EGT_EQ(walk(d, got), 15);
        EGT_EQ(eg_dataset_left_out(d).count, 1);
        EGT_CHECK(strstr(eg_dataset_left_out(d).first.message, "forty-two"));
    }
    eg_dataset_free(d);
    /* asked while a thread opens and closes files */
    d = eg_dataset_prefetch(eg_shards_new(pattern(), open_tolerant, NULL, .cycle = 3, .ahead = 1), 2);
    for (int pass = 0; pass < 5; pass++) {
        int64_t most = 0;
        EG_FOR_EACH(sample, d) {
            int64_t n = eg_dataset_left_out(d).count;
            EGT_CHECK(n >= most && n <= 1);
            most = n;
        }
        EGT_EQ(eg_dataset_left_out(d).count, 1);
    }
    eg_dataset_free(d);
}

/* ---- TFRecord -------------------------------------------------------------------------------------- */

static void write_records(const char *name, int first, int n, bool spoil)
{
    eg_tfrecord_writer *w = eg_tfrecord_writer_new(egt_path(name));
    for (int i = 0; i < n; i++) {
        uint8_t b = (uint8_t)(first + i);
        EGT_OK(eg_tfrecord_write(w, &b, 1));
    }
    EGT_OK(eg_tfrecord_writer_close(w));
    if (spoil) { /* the second record's byte */
        FILE *f = fopen(egt_path(name), "r+b");
        EGT_CHECK(f && !fseek(f, 17 + 12, SEEK_SET) && fputc(255, f) == 255 && !fclose(f));
    }
}

static int walk_bytes(eg_dataset *d, int *to)
{
    int k = 0;
    EG_FOR_EACH(sample, d) {
        to[k++] = (int)eg_get(sample[0], 0);
    }
    return k;
}

EGT(records_of_many_files)
{
    static const int want[] = {0, 1, 10, 11, 2, 12, 20, 21, 22};
    int got[MOST];
    for (int i = 0; i < 3; i++) {
        char name[24];
        snprintf(name, sizeof name, "x-0000%d-of-00003", i);
        write_records(name, 10 * i, 3, false);
    }
    for (int64_t ahead = 0; ahead < 5; ahead += 4) {
        eg_dataset *d = eg_tfrecord_new(egt_path("x-*"), .cycle = 2, .block = 2, .ahead = ahead);
        EGT_EQ(walk_bytes(d, got), 9);
        EGT_CHECK(!memcmp(got, want, sizeof want));
        eg_dataset_free(d);
        d = eg_tfrecord_new(egt_path("x-*"), .shuffle_files = true, .seed = 3, .ahead = ahead, .rank = 1, .ranks = 2);
        EGT_EQ(walk_bytes(d, got), 3);
        EGT_EQ(got[0], 10);
        eg_dataset_free(d);
    }
    write_records("x-00001-of-00003", 10, 3, true);
    for (int64_t ahead = 0; ahead < 5; ahead += 4) {
        eg_dataset *d = eg_tfrecord_new(egt_path("x-*"), .cycle = 2, .ahead = ahead);
        EGT_EQ(walk_bytes(d, got), 3);
        EGT_CHECK(egt_said(EG_EFORMAT, "x-00001-of-00003"));
        eg_dataset_free(d);
        d = eg_dataset_tolerate(eg_tfrecord_new(egt_path("x-*"), .cycle = 2, .ahead = ahead));
        EGT_EQ(walk_bytes(d, got), 8);
        EGT_CHECK(strstr(eg_dataset_left_out(d).first.message, "17"));
        eg_dataset_free(d);
    }
    EGT_REFUSED(eg_tfrecord_new(egt_path("x-*"), .cycle = 2000), EG_EINVAL, "2000");
    EGT_REFUSED(eg_tfrecord_new(egt_path("y-*"), .cycle = 2), EG_EIO, "y-*");
}

static bool walk_all(void *user)
{
    eg_dataset *d = eg_tfrecord_new(user, .cycle = 2, .shuffle_files = true);
    EG_SCOPE {
        EG_FOR_EACH(sample, d) {
            (void)sample;
        }
    }
    bool ok = d && !eg_dataset_status(d);
    eg_dataset_free(d);
    return ok;
}

EGT(memory_that_runs_out)
{
    write_records("a", 0, 2, false);
    write_records("b", 0, 2, false);
    EGT_CHECK(egt_fail_allocations(walk_all, (void *)(uintptr_t)egt_path("?")) > 5);
}
