/* test_cuda_images.c - images on a device: what pooling and resizing ask of the driver, and sizes they refuse. */
#include "tests/cuda/module.h"

EGT(resizing_again_only_queues)
{
    eg_device *d = emulated(0);
    eg_tensor *x = egt_random(EG_SHAPE(2, 3, 5, 7), EG_F32, -1, 1), *there = eg_to(x, d), *y = NULL;
    for (int i = 0; i < 3; i++) {
        FAKE(eg_fake_zero)();
        y = eg_resize(there, EG_SHAPE(9, 4), .mode = EG_RESIZE_CUBIC, .antialias = true);
        eg_fake_counts c = FAKE(eg_fake_read)();
        EGT_EQ(c.launches, 1);
        EGT_EQ(c.copies_in, i ? 0 : 4); /* two tables of two parts */
        EGT_EQ(c.syncs, i ? 0 : 4);
        EGT_CHECK(i == 0 || c.mallocs + c.creates == 0);
    }
    EGT_CHECK(egt_distance(eg_to(y, eg_cpu()),
                           eg_resize(x, EG_SHAPE(9, 4), .mode = EG_RESIZE_CUBIC, .antialias = true)) < 1e-5);
}

EGT(more_sizes_than_are_kept)
{
    eg_device *d = emulated(0);
    eg_tensor *x = egt_random(EG_SHAPE(1, 1, 6, 6), EG_F64, -1, 1), *there = eg_to(x, d);
    for (int i = 1; i <= 90; i++) {
        for (int again = 0; again < 2; again++) {
            eg_tensor *y = eg_resize(there, EG_SHAPE(i, 6), .mode = EG_RESIZE_LINEAR);
            EGT_CHECK(egt_distance(eg_to(y, eg_cpu()), eg_resize(x, EG_SHAPE(i, 6), .mode = EG_RESIZE_LINEAR)) < 1e-12);
        }
    }
}

EGT(a_table_that_finds_no_memory)
{
    eg_device *d = emulated(0);
    eg_tensor *there = eg_to(egt_random(EG_SHAPE(1, 1, 6, 6), EG_F32, -1, 1), d);
    int failed = 0;
    for (int n = 1; n < 60 && failed < 3; n++) {
        eg_debug_fail_alloc(n);
        eg_tensor *y = eg_resize(there, EG_SHAPE(100 + n, 6), .mode = EG_RESIZE_LINEAR);
        eg_debug_fail_alloc(0);
        if (!y) {
            EGT_EQ(eg_last_error()->code, EG_ENOMEM);
            eg_clear_error();
            failed++;
        }
        EGT_CHECK(eg_resize(there, EG_SHAPE(100 + n, 6), .mode = EG_RESIZE_LINEAR) != NULL);
    }
    EGT_CHECK(failed > 0);
}

EGT(pooling_is_one_kernel)
{
    eg_device *d = emulated(0);
    eg_tensor *x = egt_random(EG_SHAPE(2, 4, 9, 9), EG_F32, -1, 1), *there = eg_to(x, d);
    eg_max_pool2d(there, .kernel = 3, .stride = 2); /* memory is there after it */
    FAKE(eg_fake_zero)();
    eg_tensor *y = eg_max_pool2d(there, .kernel = 3, .stride = 2);
    eg_fake_counts c = FAKE(eg_fake_read)();
    EGT_EQ(c.launches, 1);
    EGT_EQ(c.syncs + c.copies_in + c.copies_out + c.copies_within, 0);
    EGT_CHECK(egt_distance(eg_to(y, eg_cpu()), eg_max_pool2d(x, .kernel = 3, .stride = 2)) == 0);
}

/* More cells than a float counts. */
EGT(means_of_many_cells_are_exact)
{
    enum { SIDE = 5001 };
    eg_tensor *x = eg_full(EG_SHAPE(1, 1, 1, 1), (double)SIDE * SIDE, EG_F64);
    EGT_CHECK(eg_item(eg_avg_pool2d(eg_to(x, cuda(0)), .kernel = SIDE, .padding = SIDE / 2)) == 1);
}
