/* test_ctc.c - connectionist temporal classification against the sum over all paths, its gradient, what is
 * infinite, and what is refused. */
#include "tests/egt.h"

/* Adds up the paths of one row by going through all of them. */
static double by_paths(eg_tensor *x, int64_t row, int64_t frames, const int64_t *labels, int64_t count)
{
    const int64_t classes = eg_size(x, 2), rows = eg_size(x, 1);
    int64_t paths = 1, path[8], spelt[8];
    double sum = 0;
    for (int64_t t = 0; t < frames; t++) {
        paths *= classes;
    }
    for (int64_t i = 0; i < paths; i++) {
        double log_p = 0;
        int64_t n = 0, rest = i;
        for (int64_t t = 0; t < frames; t++, rest /= classes) {
            path[t] = rest % classes;
            log_p += eg_get(x, (t * rows + row) * classes + path[t]);
            if (path[t] && (!t || path[t] != path[t - 1])) {
                spelt[n++] = path[t];
            }
        }
        sum += n == count && !memcmp(spelt, labels, (size_t)n * sizeof *labels) ? exp(log_p) : 0;
    }
    return -log(sum);
}

static eg_tensor *random_log_probs(int64_t frames, int64_t rows, int64_t classes, eg_dtype dtype)
{
    return eg_log_softmax(egt_random(EG_SHAPE(frames, rows, classes), dtype, -2, 2), 2);
}

EGT(the_sum_over_all_paths)
{
    static const int64_t labels[4][3] = {{1, 2, 1}, {2, 2, 1}, {1, 1, 1}, {2, 0, 0}};
    const int64_t lengths[4] = {3, 3, 3, 1}, frames[4] = {6, 4, 5, 1};
    eg_tensor *x = random_log_probs(6, 4, 3, EG_F64);
    eg_tensor *each =
        eg_ctc_loss(x, eg_from(EG_SHAPE(4, 3), EG_I64, labels), .input_lengths = eg_from(EG_SHAPE(4), EG_I64, frames),
                    .target_lengths = eg_from(EG_SHAPE(4), EG_I64, lengths), .reduction = EG_NONE);
    for (int i = 0; i < 4; i++) {
        EGT_NEAR(eg_get(each, i), by_paths(x, i, frames[i], labels[i], lengths[i]), 1e-12);
    }
    eg_tensor *bytes =
        eg_ctc_loss(x, eg_cast(eg_from(EG_SHAPE(4, 3), EG_I64, labels), EG_U8),
                    .input_lengths = eg_cast(eg_from(EG_SHAPE(4), EG_I64, frames), EG_U8),
                    .target_lengths = eg_cast(eg_from(EG_SHAPE(4), EG_I64, lengths), EG_U8), .reduction = EG_NONE);
    EGT_EQ(egt_distance(bytes, each), 0);
}

EGT(reductions)
{
    eg_tensor *x = random_log_probs(5, 3, 4, EG_F64);
    eg_tensor *labels = eg_from(EG_SHAPE(3, 2), EG_I32, (int32_t[]){1, 2, 3, 1, 2, 2});
    eg_tensor *lengths = eg_from(EG_SHAPE(3), EG_I32, (int32_t[]){2, 0, 1});
    eg_tensor *each = eg_ctc_loss(x, labels, .target_lengths = lengths, .reduction = EG_NONE);
    const double a = eg_get(each, 0), b = eg_get(each, 1), c = eg_get(each, 2);
    EGT_NEAR(eg_item(eg_ctc_loss(x, labels, .target_lengths = lengths)), (a / 2 + b + c) / 3, 1e-12);
    EGT_NEAR(eg_item(eg_ctc_loss(x, labels, .target_lengths = lengths, .reduction = EG_SUM)), a + b + c, 1e-12);
    EGT_NEAR(eg_item(eg_ctc_loss(x, labels, .target_lengths = lengths, .reduction = EG_BATCH_MEAN)), (a + b + c) / 3,
             1e-12);
    eg_tensor *joined = eg_from(EG_SHAPE(3), EG_U8, (uint8_t[]){1, 2, 2});
    eg_tensor *same = eg_ctc_loss(x, joined, .target_lengths = lengths, .reduction = EG_NONE);
    EGT_EQ(egt_distance(same, each), 0);
    eg_tensor *alone = eg_ctc_loss(eg_select(x, 1, 0), eg_select(labels, 0, 0), .reduction = EG_NONE);
    EGT_EQ(eg_ndim(alone), 0);
    EGT_EQ(eg_item(alone), a);
    EGT_NEAR(eg_item(eg_ctc_loss(eg_select(x, 1, 0), eg_select(labels, 0, 0))), a / 2, 1e-12);
    eg_tensor *none = eg_ctc_loss(eg_zeros(EG_SHAPE(5, 0, 4), EG_F32), eg_zeros(EG_SHAPE(0, 2), EG_I64));
    EGT_EQ(eg_item(none), 0);
}

static eg_status gradient_of(eg_tensor *x, eg_tensor *labels, bool zero_infinity, eg_tensor **loss, eg_tensor **g)
{
    eg_tape tape = eg_tape_open();
    eg_tape_watch(tape, x);
    *loss = eg_ctc_loss(x, labels, .reduction = EG_SUM, .zero_infinity = zero_infinity);
    return eg_tape_gradients(tape, *loss, &x, 1, g);
}

/* Equal neighbours need a blank between them: two labels do not fit in two frames. */
EGT(infinite_losses)
{
    eg_tensor *x = random_log_probs(2, 2, 3, EG_F32), *loss, *g;
    eg_tensor *labels = eg_from(EG_SHAPE(2, 2), EG_I64, (int64_t[]){1, 1, 1, 2});
    EGT_OK(gradient_of(x, labels, false, &loss, &g));
    EGT_CHECK(isinf(eg_item(loss)));
    for (int i = 0; i < 12; i++) {
        EGT_EQ(!isnan(eg_get(g, i)), i / 3 % 2);
    }
    EGT_OK(gradient_of(x, labels, true, &loss, &g));
    EGT_NEAR(eg_item(loss), by_paths(x, 1, 2, (int64_t[]){1, 2}, 2), 1e-6);
    for (int i = 0; i < 12; i++) {
        EGT_CHECK(i / 3 % 2 ? eg_get(g, i) != 0 : eg_get(g, i) == 0);
    }
    labels = eg_from(EG_SHAPE(2, 3), EG_I64, (int64_t[]){1, 2, 1, 2, 1, 2}); /* more labels than frames */
    EGT_OK(gradient_of(x, labels, true, &loss, &g));
    EGT_EQ(eg_item(loss), 0);
    EGT_EQ(eg_item(eg_sum(eg_abs(g))), 0);
    EGT_OK(gradient_of(x, labels, false, &loss, &g));
    EGT_CHECK(isinf(eg_item(loss)) && isnan(eg_item(eg_sum(g))));
}

/* Classes that cannot be are no trouble, also to those that look for what is not finite. */
EGT(impossible_classes)
{
    eg_tensor *x =
        eg_from_values(EG_SHAPE(2, 1, 3), EG_F32, (double[]){log(0.5), log(0.5), -INFINITY, -INFINITY, 0, -INFINITY});
    eg_tensor *loss, *g, *labels = eg_ones(EG_SHAPE(1, 1), EG_I64);
    EGT_OK(gradient_of(x, labels, false, &loss, &g));
    EGT_NEAR(eg_item(loss), 0, 1e-6);
    EGT_CHECK(egt_distance(g, eg_zeros_like(g)) < 1e-6);
    EGT_OK(eg_debug("nan"));
    eg_tensor *fine = random_log_probs(6, 2, 4, EG_F32);
    eg_status st = gradient_of(fine, eg_full(EG_SHAPE(2, 2), 3, EG_I64), false, &loss, &g);
    EGT_OK(eg_debug(NULL));
    EGT_OK(st);
}

/* The gradient of the log_softmax's input is the derivative; what passes through it is unchanged. */
EGT(the_gradient_is_of_logits)
{
    eg_tensor *logits = egt_random(EG_SHAPE(8, 2, 5), EG_F64, -2, 2), *g[2];
    eg_tensor *labels = eg_from(EG_SHAPE(2, 3), EG_I64, (int64_t[]){1, 4, 4, 2, 2, 3});
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, logits));
    eg_tensor *x[2] = {logits, eg_log_softmax(logits, 2)};
    EGT_OK(eg_tape_gradients(tape, eg_ctc_loss(x[1], labels), x, 2, g));
    EGT_CHECK(egt_distance(g[0], g[1]) < 1e-12);
    EGT_CHECK(fabs(eg_item(eg_sum(g[0]))) < 1e-12);
}

EGT(its_gradient_has_none)
{
    eg_tensor *x = random_log_probs(4, 1, 3, EG_F64), *g;
    eg_tape outer = eg_tape_open(), inner = eg_tape_open();
    EGT_OK(eg_tape_watch(outer, x));
    EGT_OK(eg_tape_watch(inner, x));
    eg_tensor *loss = eg_ctc_loss(x, eg_ones(EG_SHAPE(1, 1), EG_I64));
    EGT_EQ(eg_tape_gradients(inner, loss, &x, 1, &g), EG_EINVAL);
    EGT_CHECK(strstr(eg_last_error()->message, "has none itself"));
    eg_clear_error();
}

EGT(greedy)
{
    /* paths 1 1 0 1, 0 2 2 1, 2 2 0 0 of which the last has one frame */
    static const int64_t path[4][3] = {{1, 0, 2}, {1, 2, 2}, {0, 2, 0}, {1, 1, 0}};
    static const int64_t want[3][4] = {{1, 1, -1, -1}, {2, 1, -1, -1}, {2, -1, -1, -1}};
    eg_tensor *x = eg_one_hot(eg_from(EG_SHAPE(4, 3), EG_I64, path), 3, .dtype = EG_F32), *labels, *lengths;
    eg_tensor *frames = eg_from(EG_SHAPE(3), EG_I64, (int64_t[]){4, 4, 1});
    EGT_OK(eg_ctc_greedy(x, frames, 0, &labels, &lengths));
    EGT_EQ(egt_distance(labels, eg_from(EG_SHAPE(3, 4), EG_I64, want)), 0);
    EGT_EQ(egt_distance(lengths, eg_from(EG_SHAPE(3), EG_I64, (int64_t[]){2, 2, 1})), 0);
    EGT_OK(eg_ctc_greedy(eg_cast(x, EG_BF16), NULL, 0, &labels, &lengths));
    EGT_EQ(egt_distance(labels, eg_from(EG_SHAPE(3, 4), EG_I64, want)), 0);
    EGT_OK(eg_ctc_greedy(eg_zeros(EG_SHAPE(0, 2, 3), EG_F32), NULL, 0, &labels, &lengths));
    EGT_EQ(eg_size(labels, 1), 0);
    EGT_EQ(eg_get(lengths, 1), 0);
}

/* With room for all beginnings the search is exact: no labelling has a smaller loss, and the score is that loss. */
EGT(beams)
{
    enum { FRAMES = 5, CLASSES = 3 };
    eg_tensor *x = random_log_probs(FRAMES, 3, CLASSES, EG_F64), *labels, *lengths, *scores;
    EGT_OK(eg_ctc_beam(x, &labels, &lengths, &scores, .width = 200));
    for (int64_t r = 0; r < 3; r++) {
        double least = INFINITY;
        for (int64_t n = 0; n <= FRAMES; n++) {
            for (int64_t i = 0; i < 1 << n; i++) {
                int64_t some[FRAMES];
                for (int64_t k = 0; k < n; k++) {
                    some[k] = 1 + (i >> k & 1);
                }
                least = fmin(least, by_paths(x, r, FRAMES, some, n));
            }
        }
        EGT_NEAR(eg_get(scores, r), -least, 1e-12);
        int64_t found[FRAMES];
        for (int64_t k = 0; k < FRAMES; k++) {
            found[k] = (int64_t)eg_get(labels, r * FRAMES + k);
            EGT_EQ(found[k] < 0, k >= eg_get(lengths, r));
        }
        EGT_NEAR(by_paths(x, r, FRAMES, found, (int64_t)eg_get(lengths, r)), least, 1e-12);
    }
}

/* Where one class is all but certain in every frame, the best path says it all; a small width will do. */
EGT(narrow_beams)
{
    eg_tensor *x = eg_log_softmax(eg_mul_scalar(egt_random(EG_SHAPE(40, 3, 6), EG_F32, -1, 1), 60), 2), *y[2], *n[2];
    eg_tensor *frames = eg_from(EG_SHAPE(3), EG_I64, (int64_t[]){40, 0, 17}), *scores;
    EGT_OK(eg_ctc_greedy(x, frames, 2, &y[0], &n[0]));
    EGT_OK(eg_ctc_beam(x, &y[1], &n[1], &scores, .input_lengths = frames, .blank = 2, .width = 3));
    EGT_EQ(egt_distance(y[0], y[1]), 0);
    EGT_EQ(egt_distance(n[0], n[1]), 0);
    EGT_EQ(eg_get(scores, 1), 0);
    EGT_OK(eg_ctc_beam(x, NULL, NULL, &scores, .width = 1));
    EGT_OK(eg_ctc_beam(x, &y[1], NULL, NULL));
    EGT_EQ(eg_ctc_beam(x, &y[1], &n[1], NULL, .width = -1), EG_EINVAL);
    EGT_EQ(eg_ctc_beam(x, &y[1], &n[1], NULL, .blank = 6), EG_EINVAL);
    EGT_EQ(eg_ctc_beam(NULL, &y[1], &n[1], NULL), EG_EINVAL);
    EGT_CHECK(y[1] == NULL && n[1] == NULL);
    eg_clear_error();
}

/* Labels 1 and 2, of which this language says 2 behind an even number of others only, and likes long texts. */
static double alternating(void *user, const int64_t *labels, int64_t n, int64_t next)
{
    const double *each = user;
    for (int64_t i = 0; i < n; i++) {
        if (labels[i] != (i & 1 ? 1 : 2)) {
            return NAN; /* it never comes here */
        }
    }
    return next < 0 ? 10 * each[0] : next == (n & 1 ? 1 : 2) ? each[0] : -(double)INFINITY;
}

/* Of all that the language allows no text has a better sum of both. */
EGT(beams_hear_a_language)
{
    enum { FRAMES = 5 };
    for (int k = 0; k < 3; k++) {
        double each = 0.7 * k;
        eg_tensor *x = random_log_probs(FRAMES, 4, 3, EG_F64), *labels, *lengths, *scores;
        EGT_OK(eg_ctc_beam(x, &labels, &lengths, &scores, .width = 200, .language = alternating, .user = &each));
        for (int64_t r = 0; r < 4; r++) {
            double best = -INFINITY;
            int64_t some[FRAMES], length = 0;
            for (int64_t n = 0; n <= FRAMES; n++) {
                double sum = -by_paths(x, r, FRAMES, some, n) + each * (double)n + 10 * each;
                length = sum > best ? n : length;
                best = fmax(best, sum);
                if (n < FRAMES) {
                    some[n] = n & 1 ? 1 : 2;
                }
            }
            EGT_NEAR(eg_get(scores, r), best, 1e-12);
            EGT_EQ(eg_get(lengths, r), length);
            for (int64_t i = 0; i < length; i++) {
                EGT_EQ(eg_get(labels, r * FRAMES + i), i & 1 ? 1 : 2);
            }
        }
    }
}

static bool decode(void *user)
{
    eg_tensor *labels, *lengths, *scores;
    return !eg_ctc_beam(user, &labels, &lengths, &scores) && !eg_ctc_greedy(user, NULL, 0, &labels, &lengths);
}

EGT(decoding_without_memory)
{
    eg_tensor *x = random_log_probs(4, 2, 3, EG_F32);
    EGT_CHECK(egt_fail_allocations(decode, x) > 3);
}

EGT(refused)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(4, 2, 3), EG_F32), *labels, *lengths;
    eg_tensor *l = eg_ones(EG_SHAPE(2, 2), EG_I64), *long_ones = eg_full(EG_SHAPE(2), 5, EG_I64);
    eg_tensor *two = eg_full(EG_SHAPE(2), 2, EG_I64);
    EGT_REFUSED(eg_ctc_loss(NULL, l), EG_EINVAL, "log_probs is NULL");
    EGT_REFUSED(eg_ctc_loss(x, NULL), EG_EINVAL, "targets is NULL");
    EGT_REFUSED(eg_ctc_loss(eg_zeros(EG_SHAPE(4), EG_F32), l), EG_ESHAPE, "[4]");
    EGT_REFUSED(eg_ctc_loss(eg_zeros(EG_SHAPE(4, 2, 3), EG_I64), l), EG_EDTYPE, "i64");
    EGT_REFUSED(eg_ctc_loss(x, l, .blank = 3), EG_EINVAL, "blank is 3");
    EGT_REFUSED(eg_ctc_loss(x, l, .blank = -1), EG_EINVAL, "blank is -1");
    EGT_REFUSED(eg_ctc_loss(x, l, .blank = 1), EG_EINVAL, "label 0 of row 0 is the blank");
    EGT_REFUSED(eg_ctc_loss(x, eg_full(EG_SHAPE(2, 2), 3, EG_I64)), EG_EINDEX, "outside 0..2");
    EGT_REFUSED(eg_ctc_loss(x, eg_zeros(EG_SHAPE(2, 2), EG_F32)), EG_EDTYPE, "f32");
    EGT_REFUSED(eg_ctc_loss(x, eg_ones(EG_SHAPE(3, 2), EG_I64)), EG_ESHAPE, "[3, 2]");
    EGT_REFUSED(eg_ctc_loss(x, eg_ones(EG_SHAPE(3), EG_I64)), EG_EINVAL, "target_lengths");
    EGT_REFUSED(eg_ctc_loss(x, eg_ones(EG_SHAPE(3), EG_I64), .target_lengths = two), EG_EINDEX, "sum to 4");
    EGT_REFUSED(eg_ctc_loss(x, l, .input_lengths = long_ones), EG_EINDEX, "input_lengths: 5 of row 0");
    EGT_REFUSED(eg_ctc_loss(x, l, .target_lengths = long_ones), EG_EINDEX, "target_lengths: 5 of row 0");
    EGT_REFUSED(eg_ctc_loss(x, l, .input_lengths = eg_ones(EG_SHAPE(3), EG_I64)), EG_ESHAPE, "[3]");
    EGT_REFUSED(eg_ctc_loss(x, l, .input_lengths = eg_ones(EG_SHAPE(2), EG_F32)), EG_EDTYPE, "f32");
    EGT_REFUSED(eg_ctc_loss(x, l, .reduction = (eg_reduction)7), EG_EINVAL, "reduction is 7");
    EGT_REFUSED(eg_ctc_loss(eg_select(x, 1, 0), l), EG_ESHAPE, "no batch");
    EGT_EQ(eg_ctc_greedy(eg_select(x, 1, 0), NULL, 0, &labels, &lengths), EG_ESHAPE);
    EGT_EQ(eg_ctc_greedy(x, long_ones, 0, &labels, &lengths), EG_EINDEX);
    EGT_EQ(eg_ctc_greedy(x, NULL, 9, &labels, &lengths), EG_EINVAL);
    EGT_EQ(eg_ctc_greedy(x, NULL, 0, NULL, &lengths), EG_EINVAL);
    eg_clear_error();
}

EGT(padding_is_not_looked_at)
{
    eg_tensor *x = random_log_probs(4, 2, 3, EG_F32);
    eg_tensor *padded = eg_from(EG_SHAPE(2, 2), EG_I64, (int64_t[]){1, -1, 2, 0});
    eg_tensor *one = eg_ones(EG_SHAPE(2), EG_I64), *labels = eg_from(EG_SHAPE(2, 1), EG_I64, (int64_t[]){1, 2});
    EGT_EQ(eg_item(eg_ctc_loss(x, padded, .target_lengths = one)), eg_item(eg_ctc_loss(x, labels)));
}
