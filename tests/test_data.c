/* test_data.c - chains of datasets, the idx reader, threads that stop. */
#include "tests/egt.h"

static eg_status numbered(int64_t index, eg_tensor **sample, int *n, void *user)
{
    const int64_t *bad = user;
    if (bad && index == *bad) {
        return EG_EUSER;
    }
    sample[0] = eg_full(EG_SHAPE(2), (double)index, EG_F32);
    sample[1] = eg_scalar((double)index, EG_I64);
    *n = 2;
    return sample[0] && sample[1] ? EG_OK : eg_last_error()->code;
}

static eg_status doubled(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n, (void)user;
    out[0] = eg_add(in[0], in[0]);
    *m = 1;
    return out[0] ? EG_OK : eg_last_error()->code;
}

EGT(batches_in_order)
{
    eg_dataset *d = eg_dataset_batch(eg_dataset_from(numbered, 10, NULL, NULL), 4);
    EGT_EQ(eg_dataset_count(d), 3);
    for (int epoch = 0; epoch < 2; epoch++) {
        int64_t next = 0, batches = 0;
        EG_FOR_EACH(sample, d) {
            EGT_EQ(eg_size(sample[0], 0), batches == 2 ? 2 : 4);
            EGT_EQ(eg_size(sample[0], 1), 2);
            for (int64_t i = 0; i < eg_numel(sample[1]); i++) {
                EGT_EQ(eg_get(sample[1], i), next++);
            }
            batches++;
        }
        EGT_OK(eg_dataset_status(d));
        EGT_EQ(next, 10);
    }
    eg_dataset_free(d);
    d = eg_dataset_batch(eg_dataset_from(numbered, 10, NULL, NULL), 4, .drop_last = true);
    int64_t batches = 0;
    EG_FOR_EACH(sample, d) {
        batches++;
    }
    EGT_EQ(batches, 2);
    eg_dataset_free(d);
}

static void order(eg_dataset *d, int *seen, int n)
{
    int k = 0;
    EG_FOR_EACH(sample, d) {
        EGT_CHECK(k < n);
        seen[k++] = (int)eg_item(sample[1]);
    }
    EGT_OK(eg_dataset_status(d));
    EGT_EQ(k, n);
}

EGT(shuffles_are_permutations_that_repeat)
{
    enum { N = 200 };
    int first[N], second[N], again[N], sorted[N] = {0}, moved = 0;
    eg_dataset *d = eg_dataset_shuffle(eg_dataset_from(numbered, N, NULL, NULL), 1000, .seed = 7);
    order(d, first, N);
    order(d, second, N);
    eg_dataset_free(d);
    d = eg_dataset_prefetch(eg_dataset_shuffle(eg_dataset_from(numbered, N, NULL, NULL), 1000, .seed = 7), 3);
    order(d, again, N);
    eg_dataset_free(d);
    EGT_CHECK(!memcmp(first, again, sizeof first));
    EGT_CHECK(memcmp(first, second, sizeof first));
    for (int i = 0; i < N; i++) {
        sorted[first[i]]++;
        moved += first[i] != i;
    }
    for (int i = 0; i < N; i++) {
        EGT_EQ(sorted[i], 1);
    }
    EGT_CHECK(moved > N / 2);
}

EGT(map_and_take)
{
    eg_dataset *d = eg_dataset_take(eg_dataset_map(eg_dataset_from(numbered, 10, NULL, NULL), doubled, NULL), 3);
    int k = 0;
    EG_FOR_EACH(sample, d) {
        EGT_EQ(eg_get(sample[0], 1), 2 * k++);
    }
    EGT_EQ(k, 3);
    EGT_EQ(eg_dataset_count(d), 3);
    eg_dataset_free(d);
}

EGT(leaving_early_and_starting_anew)
{
    eg_dataset *d = eg_dataset_prefetch(eg_dataset_from(numbered, 100, NULL, NULL), 2);
    for (int round = 0; round < 3; round++) {
        EG_SCOPE {
            EG_FOR_EACH(sample, d) {
                if (eg_item(sample[1]) == 5) {
                    break;
                }
            }
        }
    }
    eg_dataset_free(d); /* with its thread in the middle */
}

EGT(a_failure_reaches_the_consumer)
{
    int64_t bad = 6;
    eg_dataset *d = eg_dataset_prefetch(eg_dataset_batch(eg_dataset_from(numbered, 10, &bad, NULL), 2), 2);
    int k = 0;
    EG_FOR_EACH(sample, d) {
        k++;
    }
    EGT_EQ(k, 3);
    EGT_EQ(eg_dataset_status(d), EG_EUSER);
    EGT_CHECK(egt_said(EG_EUSER, "(sample 6)"));
    eg_dataset_free(d);
}

/* Samples of two sizes from number 7 on. */
static eg_status uneven(int64_t index, eg_tensor **sample, int *n, void *user)
{
    (void)user;
    sample[0] = eg_zeros(EG_SHAPE(index < 7 ? 2 : 3), EG_F32);
    *n = 1;
    return sample[0] ? EG_OK : eg_last_error()->code;
}

static eg_status fails_at_5(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n, (void)user;
    out[0] = eg_item(in[1]) == 5 ? eg_reshape(in[0], EG_SHAPE(77)) : in[0];
    *m = 1;
    return out[0] ? EG_OK : eg_last_error()->code;
}

EGT(failures_name_the_sample)
{
    eg_dataset *d = eg_dataset_batch(eg_dataset_from(uneven, 10, NULL, NULL), 4);
    int k = 0;
    EG_FOR_EACH(sample, d) {
        k++;
    }
    EGT_EQ(k, 1);
    EGT_CHECK(egt_said(EG_ESHAPE, "tensor 0 of sample 3 of the batch is [3], of the first [2] (sample 7)"));
    eg_dataset_free(d);
    d = eg_dataset_map(eg_dataset_shuffle(eg_dataset_from(numbered, 10, NULL, NULL), 10), fails_at_5, NULL);
    EG_FOR_EACH(sample, d) {
    }
    EGT_STR(eg_last_error()->op, "reshape");
    EGT_CHECK(egt_said(EG_ESHAPE, "(sample 5)"));
    eg_dataset_free(d);
}

EGT(what_is_refused)
{
    eg_tensor *t[2] = {eg_zeros(EG_SHAPE(3, 2), EG_F32), eg_zeros(EG_SHAPE(4), EG_F32)};
    EGT_REFUSED(eg_dataset_from(NULL, 3, NULL, NULL), EG_EINVAL, "function");
    EGT_REFUSED(eg_dataset_from(numbered, -3, NULL, NULL), EG_EINVAL, "-3");
    EGT_REFUSED(eg_dataset_from_tensors(t, 2), EG_ESHAPE, "lengths");
    EGT_REFUSED(eg_dataset_from_tensors(NULL, 2), EG_EINVAL, "tensors is NULL");
    EGT_REFUSED(eg_dataset_from_tensors(t, 9), EG_EINVAL, "9 tensors");
    EGT_REFUSED(eg_dataset_batch(eg_dataset_from(numbered, 3, NULL, NULL), 0), EG_EINVAL, "batch is 0");
    EGT_REFUSED(eg_dataset_shuffle(eg_dataset_from(numbered, 3, NULL, NULL), 0), EG_EINVAL, "buffer");
    EGT_REFUSED(eg_dataset_prefetch(eg_dataset_from(numbered, 3, NULL, NULL), 0), EG_EINVAL, "depth");
    EGT_REFUSED(eg_dataset_batch(NULL, 4), EG_EINVAL, "d is NULL");
    EGT_REFUSED(eg_dataset_first(NULL), EG_EINVAL, "dataset");
    EGT_REFUSED(eg_mnist_new("/nowhere", EG_TRAIN), EG_EIO, "/nowhere");
    eg_dataset_free(NULL);
}

/* ---- idx ------------------------------------------------------------------------------------------------ */

EGT(idx_files)
{
    const char *path = egt_path("a.idx");
    static const unsigned char good[] = {0, 0, 0x0b, 2, 0, 0, 0, 2, 0, 0, 0, 1, 0xff, 0xfe, 0x01, 0x00};
    egt_write(path, good, sizeof good);
    eg_tensor *t = eg_idx_read(path);
    EGT_CHECK(t && eg_ndim(t) == 2 && eg_dtype_of(t) == EG_I32);
    EGT_EQ(eg_get(t, 0), -2);
    EGT_EQ(eg_get(t, 1), 256);
    for (size_t n = 0; n < sizeof good; n++) { /* cut anywhere */
        egt_write(path, good, n);
        eg_clear_error();
        EGT_CHECK(eg_idx_read(path) == NULL && eg_last_error()->code == EG_EFORMAT);
    }
    unsigned char bad[sizeof good + 1];
    memcpy(bad, good, sizeof good);
    bad[sizeof good] = 0;
    egt_write(path, bad, sizeof bad);
    EGT_REFUSED(eg_idx_read(path), EG_EFORMAT, "announces");
    bad[3] = 255;
    egt_write(path, bad, sizeof good);
    EGT_REFUSED(eg_idx_read(path), EG_EFORMAT, "rank 255");
    bad[3] = 2;
    bad[2] = 0x0a;
    egt_write(path, bad, sizeof good);
    EGT_REFUSED(eg_idx_read(path), EG_EFORMAT, "magic");
    bad[2] = 0x0b;
    memset(bad + 4, 0xff, 8);
    egt_write(path, bad, sizeof good);
    EGT_REFUSED(eg_idx_read(path), EG_ESHAPE, "64 bits");
    remove(path);
    EGT_REFUSED(eg_idx_read(path), EG_EIO, path);
    EGT_REFUSED(eg_idx_read("/tmp"), EG_EIO, "regular");
    EGT_REFUSED(eg_idx_read(NULL), EG_EINVAL, "path");
}

/* 16385 x 16384 bytes in gzip, which a file of this length could just hold. */
EGT(a_packed_idx_file_that_is_too_large)
{
    static const uint8_t head[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0,    0, 3, 0, 12,   0, 0xf3,
                                   0xff, 0,    0, 8, 2, 0, 0, 0x40, 1, 0, 0, 0x40, 0};
    enum { BLOCK = 5 + 65535, BLOCKS = 4 };
    static uint8_t file[sizeof head + BLOCKS * BLOCK];
    memcpy(file, head, sizeof head);
    for (int i = 0; i < BLOCKS; i++) { /* as they are */
        file[sizeof head + i * BLOCK + 1] = file[sizeof head + i * BLOCK + 2] = 0xff;
    }
    egt_write(egt_path("a.idx.gz"), file, sizeof file);
    eg_clear_error();
    EGT_CHECK(!eg_idx_read(egt_path("a.idx.gz")));
    if (eg_last_error()->code == EG_ENOKERNEL) {
        egt_skip("no zlib");
    }
    EGT_CHECK(egt_said(EG_EFORMAT, "the data have 268451840 bytes or more in a file of 262187"));
}

EGT(real_mnist_files)
{
    eg_dataset *d = eg_mnist_new(egt_real("mnist"), EG_TEST);
    egt_need(d, "zlib");
    EGT_EQ(eg_dataset_count(d), 10000);
    eg_tensor *const *sample = eg_dataset_first(d);
    EGT_CHECK(sample && eg_ndim(sample[0]) == 3 && eg_size(sample[0], 2) == 28);
    EGT_EQ(eg_item(sample[1]), 7); /* the first test digit */
    EGT_CHECK(eg_item(eg_sum(sample[0])) > 50);
    while (sample && eg_item(sample[1]) != 2) {
        sample = eg_dataset_next(d);
    }
    EGT_CHECK(sample);
    eg_dataset_free(d);
}
