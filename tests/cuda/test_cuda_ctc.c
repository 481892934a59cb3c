/* test_cuda_ctc.c - connectionist temporal classification on a CUDA device: what is wrong with labels and lengths is
 * found later, rows longer than a block or shared memory has room for, and the same bits every time. */
#include "tests/cuda/module.h"

#define THERE(t) eg_to(t, cuda(0))

static eg_tensor *loss_of(eg_tensor *x, eg_tensor *labels, eg_tensor *frames, eg_tensor *lengths)
{
    return eg_ctc_loss(x, labels, .input_lengths = frames, .target_lengths = lengths, .reduction = EG_NONE);
}

static eg_tensor *ones(int64_t n, int64_t value)
{
    return THERE(eg_full(EG_SHAPE(n), (double)value, EG_I64));
}

/* Something was found, in words that say what; then the device goes on. */
static void found(eg_tensor *y, eg_status code, const char *words)
{
    EGT_CHECK(y != NULL);
    EGT_EQ(eg_device_synchronize(cuda(0)), code);
    EGT_CHECK(strstr(eg_last_error()->op, "ctc_"));
    EGT_CHECK(strstr(eg_last_error()->message, words));
    eg_clear_error();
    EGT_OK(eg_device_synchronize(cuda(0)));
}

EGT(bad_labels_and_lengths_are_found_later)
{
    eg_tensor *x = THERE(eg_log_softmax(egt_random(EG_SHAPE(4, 2, 3), EG_F32, -1, 1), 2)), *labels, *lengths;
    eg_tensor *fine = THERE(eg_ones(EG_SHAPE(2, 2), EG_I64)), *joined = ones(3, 1);
    found(loss_of(x, THERE(eg_full(EG_SHAPE(2, 2), 3, EG_I64)), NULL, NULL), EG_EINDEX, "index 3 is outside 0..2");
    found(loss_of(x, THERE(eg_full(EG_SHAPE(2, 2), -7, EG_I64)), NULL, NULL), EG_EINDEX, "index -7");
    found(loss_of(x, THERE(eg_zeros(EG_SHAPE(2, 2), EG_I64)), NULL, NULL), EG_EINVAL, "is the blank, 0");
    found(loss_of(x, fine, ones(2, 5), NULL), EG_EINDEX, "length 5 of row");
    found(loss_of(x, fine, NULL, ones(2, 3)), EG_EINDEX, "length 3 of row");
    found(loss_of(x, joined, NULL, ones(2, 1)), EG_EINDEX, "index 2 is outside 3..3");
    found(loss_of(x, joined, NULL, ones(2, 2)), EG_EINDEX, "index 4 is outside 3..3");
    EGT_OK(eg_ctc_greedy(x, ones(2, -1), 0, &labels, &lengths));
    found(labels, EG_EINDEX, "length -1 of row");
}

/* The loss and its gradient there, with the same bits twice, against those of the CPU. */
static void compare(int64_t frames, int64_t rows, int64_t classes, int64_t count, eg_dtype dtype)
{
    eg_tensor *x = eg_log_softmax(egt_random(EG_SHAPE(frames, rows, classes), dtype, -2, 2), 2);
    eg_tensor *labels = eg_cast(egt_random(EG_SHAPE(rows, count), EG_F32, 1, (double)classes), EG_I64);
    eg_tensor *there[2] = {THERE(x), THERE(labels)}, *y[3], *g[3];
    for (int i = 0; i < 3; i++) {
        eg_tensor **in = i < 2 ? there : (eg_tensor *[]){x, labels};
        eg_tape tape = eg_tape_open();
        EGT_OK(eg_tape_watch(tape, in[0]));
        y[i] = eg_ctc_loss(in[0], in[1]);
        EGT_OK(eg_tape_gradients(tape, y[i], in, 1, &g[i]));
        y[i] = eg_to(y[i], eg_cpu());
        g[i] = eg_to(g[i], eg_cpu());
    }
    EGT_EQ(eg_item(y[0]), eg_item(y[1]));
    EGT_EQ(egt_distance(g[0], g[1]), 0);
    EGT_NEAR(eg_item(y[0]), eg_item(y[2]), dtype == EG_F64 ? 1e-10 : 1e-3);
    EGT_CHECK(egt_distance(g[0], g[2]) < (dtype == EG_F64 ? 1e-10 : 1e-3));
}

EGT(many_equal_labels)
{
    compare(200, 3, 3, 60, EG_F32);
}

EGT(more_states_than_threads)
{
    compare(700, 1, 40, 600, EG_F32);
}

EGT(more_states_than_shared_memory)
{
    compare(1600, 1, 60, 1540, EG_F64);
}

/* One for the loss, two for its gradient. */
EGT(a_step_is_kernels_alone)
{
    eg_tensor *x = eg_to(egt_random(EG_SHAPE(6, 2, 4), EG_F32, -1, 1), emulated(0)), *g;
    eg_tensor *labels = THERE(eg_ones(EG_SHAPE(2, 2), EG_I64));
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    FAKE(eg_fake_zero)();
    eg_tensor *y = eg_ctc_loss(x, labels, .reduction = EG_NONE);
    EGT_EQ(FAKE(eg_fake_read)().launches, 1);
    EGT_OK(eg_tape_gradients(tape, y, &x, 1, &g, .dy = y));
    const eg_fake_counts c = FAKE(eg_fake_read)();
    EGT_EQ(c.launches, 3);
    EGT_EQ(c.syncs + c.copies_in + c.copies_out, 0);
}
