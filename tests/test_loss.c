/* test_loss.c - losses against their formulas, their gradients, and labels that are none. */
#include "tests/egt.h"

static eg_tensor *run_cross_entropy(eg_tensor *const *x, int n, void *user)
{
    (void)n;
    return eg_cross_entropy_with(x[0], x[1], user);
}

static eg_tensor *run_nll(eg_tensor *const *x, int n, void *user)
{
    (void)n;
    return eg_nll_loss_with(x[0], x[1], user);
}

#define TWO(name, call)                                                                            \
    static eg_tensor *name(eg_tensor *const *x, int n, void *user)                                 \
    {                                                                                              \
        (void)user;                                                                                \
        return call(x[0], x[1], .weight = n > 2 ? x[2] : NULL, .pos_weight = n > 3 ? x[3] : NULL); \
    }
TWO(l1, eg_l1_loss)
TWO(mse, eg_mse_loss)
TWO(huber, eg_huber_loss)
TWO(smooth_l1, eg_smooth_l1_loss)
TWO(focal, eg_sigmoid_focal_loss)
TWO(bce_with_logits, eg_bce_with_logits)
TWO(bce, eg_bce)
TWO(kl_div, eg_kl_div)

/* Where the logarithm is bounded, labels near 1 keep their digits. */
EGT(bce_of_nearly_certain_labels)
{
    for (eg_dtype d = EG_F32; d <= EG_BF16; d++) {
        eg_tensor *p = eg_ones(EG_SHAPE(1), d), *y = eg_full(EG_SHAPE(1), 0.9765625, d);
        EGT_EQ(eg_item(eg_bce(p, y)), 2.34375);
    }
    eg_tensor *p = eg_from_values(EG_SHAPE(2), EG_F32, (double[]){0.25, 0.5});
    for (eg_dtype d = EG_I64; d < EG_DTYPE_COUNT; d++) { /* and labels may be whole */
        eg_tensor *y = eg_bce(p, eg_from_values(EG_SHAPE(2), d, (double[]){0, 1}), .reduction = EG_SUM);
        EGT_NEAR(eg_item(y), -log(0.75) - log(0.5), 1e-6);
    }
}

EGT(gradients)
{
    eg_tensor *labels = eg_from(EG_SHAPE(4), EG_I64, (int64_t[]){2, 0, 1, 2});
    eg_tensor *x[2] = {egt_random(EG_SHAPE(4, 3), EG_F64, -2, 2), labels};
    eg_tensor *weight = egt_random(EG_SHAPE(3), EG_F64, 0.5, 2);
    eg_cross_entropy_options o[] = {{.reduction = EG_SUM},
                                    {.label_smoothing = 0.2},
                                    {.ignore = true, .ignore_index = 0},
                                    {.weight = weight, .label_smoothing = 0.1},
                                    {.reduction = EG_BATCH_MEAN, .weight = weight}};
    for (size_t i = 0; i < sizeof o / sizeof *o; i++) {
        EGT_OK(eg_gradcheck(run_cross_entropy, x, 2, &o[i], .skip = 2, .second = true));
        EGT_OK(eg_gradcheck(run_nll, x, 2, &o[i], .skip = 2, .second = true));
    }
    x[1] = egt_random(EG_SHAPE(4, 3), EG_F64, 0.1, 0.6); /* targets of every class */
    EGT_OK(eg_gradcheck(run_cross_entropy, x, 2, &o[1], .second = true));
    EGT_OK(eg_gradcheck(run_cross_entropy, x, 2, &o[3], .second = true));
}

EGT(gradients_of_pairs)
{
    eg_function each[] = {l1, mse, huber, smooth_l1, bce_with_logits, focal};
    eg_tensor *x[4] = {egt_random(EG_SHAPE(3, 5), EG_F64, 0.1, 2), egt_random(EG_SHAPE(5), EG_F64, -3, 0),
                       egt_random(EG_SHAPE(3, 1), EG_F64, 0.5, 2), egt_random(EG_SHAPE(5), EG_F64, 0.5, 2)};
    for (int i = 0; i < 5; i++) {
        EGT_OK(eg_gradcheck(each[i], x, 2, NULL));
        EGT_OK(eg_gradcheck(each[i], x, 3, NULL));
    }
    EGT_OK(eg_gradcheck(bce_with_logits, x, 4, NULL, .second = true));
    x[0] = egt_random(EG_SHAPE(3, 5), EG_F64, 0.1, 0.9);
    x[1] = egt_random(EG_SHAPE(3, 5), EG_F64, 0.1, 0.9);
    EGT_OK(eg_gradcheck(bce, x, 3, NULL, .second = true));
    EGT_OK(eg_gradcheck(kl_div, x, 3, NULL, .second = true));
}

EGT(cross_entropy_by_its_formula)
{
    eg_tensor *x = eg_from_values(EG_SHAPE(2, 3), EG_F64, (double[]){1, 2, 3, 1000, 0, -1000});
    eg_tensor *labels = eg_from(EG_SHAPE(2), EG_I32, (int32_t[]){0, 1});
    eg_tensor *each = eg_cross_entropy(x, labels, .reduction = EG_NONE);
    EGT_NEAR(eg_get(each, 0), log(exp(0) + exp(1) + exp(2)), 1e-12);
    EGT_NEAR(eg_get(each, 1), 1000, 1e-12);
    EGT_NEAR(eg_item(eg_cross_entropy(x, labels)), (eg_get(each, 0) + 1000) / 2, 1e-12);
    EGT_NEAR(eg_item(eg_cross_entropy(x, labels, .ignore = true, .ignore_index = 1)), eg_get(each, 0), 1e-12);
    eg_tensor *weight = eg_from_values(EG_SHAPE(3), EG_F32, (double[]){3, 1, 7});
    EGT_NEAR(eg_item(eg_cross_entropy(x, labels, .weight = weight)), (3 * eg_get(each, 0) + 1000) / 4, 1e-12);
    eg_tensor *ignored = eg_full(EG_SHAPE(2), -100, EG_I64);
    EGT_EQ(eg_item(eg_cross_entropy(x, ignored, .ignore = true, .ignore_index = -100)), 0);
    EGT_EQ(eg_item(eg_cross_entropy(eg_zeros(EG_SHAPE(0, 3), EG_F32), eg_zeros(EG_SHAPE(0), EG_I64))), 0);
}

/* The mean divides by the sum of the weights whatever its sign is. */
EGT(weights_below_0)
{
    eg_tensor *x = egt_random(EG_SHAPE(3, 2), EG_F64, -1, 1), *p = eg_log_softmax(x, 1), *g[2], *loss[2];
    eg_tensor *labels = eg_from(EG_SHAPE(3), EG_I64, (int64_t[]){0, 1, 1});
    eg_tensor *weight = eg_from_values(EG_SHAPE(2), EG_F64, (double[]){1, -3});
    const double want = (-eg_get(p, 0) + 3 * eg_get(p, 3) + 3 * eg_get(p, 5)) / -5;
    for (int i = 0; i < 2; i++) {
        eg_tape tape = eg_tape_open();
        EGT_OK(eg_tape_watch(tape, x));
        loss[i] = i ? eg_nll_loss(eg_log_softmax(x, 1), labels, .weight = weight)
                    : eg_cross_entropy(x, labels, .weight = weight);
        EGT_NEAR(eg_item(loss[i]), want, 1e-14);
        EGT_OK(eg_tape_gradients(tape, loss[i], &x, 1, &g[i]));
    }
    EGT_NEAR(eg_get(g[0], 0), (exp(eg_get(p, 0)) - 1) / -5, 1e-14);
    EGT_CHECK(egt_distance(g[1], g[0]) < 1e-14);
    EGT_EQ(eg_item(eg_cross_entropy(x, labels, .weight = eg_zeros(EG_SHAPE(2), EG_F64))), 0);
}

/* Classes on axis 1 of images in either layout and of a single row, labels of every dtype. */
EGT(shapes_layouts_and_labels)
{
    eg_tensor *x = egt_random(EG_SHAPE(2, 5, 3, 4), EG_F32, -3, 3);
    eg_tensor *labels = eg_cast(egt_random(EG_SHAPE(2, 3, 4), EG_F32, 0, 5), EG_I64);
    eg_tensor *expected = eg_nll_loss(eg_log_softmax(x, 1), labels, .reduction = EG_NONE);
    const eg_dtype dtypes[] = {EG_I64, EG_I32, EG_U8};
    for (int i = 0; i < 3; i++) {
        eg_tensor *l = eg_cast(labels, dtypes[i]);
        EGT_CHECK(egt_distance(eg_cross_entropy(x, l, .reduction = EG_NONE), expected) < 1e-6);
        EGT_CHECK(egt_distance(eg_cross_entropy(eg_channels_last(x), l, .reduction = EG_NONE), expected) < 1e-6);
    }
    eg_tensor *row = eg_select(eg_select(eg_select(x, 3, 2), 2, 1), 0, 1);
    eg_tensor *label = eg_select(eg_select(eg_select(labels, 2, 2), 1, 1), 0, 1);
    EGT_NEAR(eg_item(eg_cross_entropy(row, label)), eg_get(expected, 18), 1e-6);
    eg_tensor *half = eg_cross_entropy(eg_cast(x, EG_F16), labels);
    EGT_CHECK(eg_dtype_of(half) == EG_F16);
    EGT_NEAR(eg_item(half), eg_item(eg_mean(expected)), 1e-2);
}

/* A row that is ignored has no loss and no slope, whatever its logits are. */
EGT(ignored_rows)
{
    eg_tensor *x = eg_from_values(EG_SHAPE(3, 2), EG_F32, (double[]){1, 2, NAN, -INFINITY, 3, 3});
    eg_tensor *labels = eg_from(EG_SHAPE(3), EG_I64, (int64_t[]){0, -100, 1}), *g;
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    eg_tensor *loss = eg_cross_entropy(x, labels, .ignore = true, .ignore_index = -100);
    EGT_NEAR(eg_item(loss), (log1p(exp(1)) + log(2)) / 2, 1e-6);
    EGT_OK(eg_tape_gradients(tape, loss, &x, 1, &g));
    EGT_EQ(eg_get(g, 2), 0);
    EGT_EQ(eg_get(g, 3), 0);
    EGT_NEAR(eg_get(g, 4), 0.25, 1e-6);
    const int64_t odd = (INT64_C(1) << 53) + 1; /* which no double holds */
    labels = eg_from(EG_SHAPE(3), EG_I64, (int64_t[]){0, odd, 1});
    EGT_EQ(eg_item(eg_cross_entropy(x, labels, .ignore = true, .ignore_index = odd)), eg_item(loss));
}

EGT(the_others_by_theirs)
{
    eg_tensor *x = eg_from_values(EG_SHAPE(2), EG_F64, (double[]){1, -3});
    eg_tensor *y = eg_from_values(EG_SHAPE(2), EG_F64, (double[]){0.5, 1});
    EGT_NEAR(eg_item(eg_l1_loss(x, y)), 2.25, 1e-12);
    EGT_NEAR(eg_item(eg_mse_loss(x, y, .reduction = EG_SUM)), 16.25, 1e-12);
    EGT_NEAR(eg_item(eg_mse_loss(x, y, .reduction = EG_SUM, .weight = y)), 16.125, 1e-12);
    EGT_NEAR(eg_item(eg_huber_loss(x, y, .reduction = EG_SUM)), 0.125 + 3.5, 1e-12);
    EGT_NEAR(eg_item(eg_smooth_l1_loss(x, y, .beta = 0.25)), (0.375 + 3.875) / 2, 1e-12);
    EGT_NEAR(eg_get(eg_bce_with_logits(x, y, .reduction = EG_NONE), 1), log1p(exp(-3)) + 3, 1e-12);
    EGT_EQ(eg_get(eg_kl_div(x, eg_zeros_like(y), .reduction = EG_NONE), 1), 0);
}

/* Probabilities of exactly 0 and 1, right and wrong: large, but numbers, and so are the slopes. */
EGT(certain_probabilities)
{
    eg_tensor *x = eg_from_values(EG_SHAPE(4), EG_F32, (double[]){0, 1, 0, 1}), *g;
    eg_tensor *y = eg_from_values(EG_SHAPE(4), EG_F32, (double[]){0, 1, 1, 0});
    eg_tape tape = eg_tape_open();
    EGT_OK(eg_tape_watch(tape, x));
    eg_tensor *loss = eg_bce(x, y, .reduction = EG_NONE);
    EGT_EQ(eg_get(loss, 0), 0);
    EGT_EQ(eg_get(loss, 1), 0);
    EGT_EQ(eg_get(loss, 2), 100);
    EGT_EQ(eg_get(loss, 3), 100);
    EGT_OK(eg_tape_gradients(tape, loss, &x, 1, &g, .dy = eg_ones_like(loss)));
    EGT_CHECK(eg_item(eg_all(eg_isfinite(g))));
}

EGT(labels_that_are_none)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(2, 3), EG_F32), *l = eg_zeros(EG_SHAPE(2), EG_I64);
    EGT_REFUSED(eg_cross_entropy(x, eg_full(EG_SHAPE(2), 3, EG_I64)), EG_EINDEX, "label 3 of row 0");
    EGT_REFUSED(eg_cross_entropy(x, eg_full(EG_SHAPE(2), -1, EG_I64)), EG_EINDEX, "label -1");
    EGT_REFUSED(eg_nll_loss(x, eg_full(EG_SHAPE(2), 3, EG_U8)), EG_EINDEX, "label 3 of row 0");
    EGT_REFUSED(eg_cross_entropy(x, eg_zeros(EG_SHAPE(3), EG_I64)), EG_ESHAPE, "[3]");
    EGT_REFUSED(eg_cross_entropy(x, eg_zeros(EG_SHAPE(2), EG_F32)), EG_EDTYPE, "f32");
    EGT_REFUSED(eg_cross_entropy(x, eg_zeros(EG_SHAPE(2), EG_BOOL)), EG_EDTYPE, "bool");
    EGT_REFUSED(eg_nll_loss(x, x), EG_ESHAPE, "[2, 3]");
    EGT_REFUSED(eg_cross_entropy(l, l), EG_EDTYPE, "targets i64");
    EGT_REFUSED(eg_cross_entropy(eg_zeros(EG_SHAPE(2, 0), EG_F32), l), EG_ESHAPE, "[2, 0]");
    EGT_REFUSED(eg_cross_entropy(eg_zeros(EG_SHAPE(0), EG_F32), eg_scalar(0, EG_I64)), EG_ESHAPE, "[0]");
    EGT_REFUSED(eg_cross_entropy(NULL, l), EG_EINVAL, "x is NULL");
    EGT_REFUSED(eg_cross_entropy(x, NULL), EG_EINVAL, "target is NULL");
}

EGT(options_that_are_none)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(2, 3), EG_F32), *l = eg_zeros(EG_SHAPE(2), EG_I64);
    EGT_REFUSED(eg_cross_entropy(x, l, .label_smoothing = 2), EG_EINVAL, "2");
    EGT_REFUSED(eg_cross_entropy(x, l, .weight = eg_zeros(EG_SHAPE(2), EG_F32)), EG_ESHAPE, "[3]");
    EGT_REFUSED(eg_cross_entropy(x, l, .weight = eg_zeros(EG_SHAPE(3), EG_I64)), EG_EDTYPE, "weight is i64");
    EGT_REFUSED(eg_cross_entropy(x, x, .ignore = true), EG_EINVAL, "ignore_index");
    EGT_REFUSED(eg_cross_entropy(x, l, .reduction = (eg_reduction)9), EG_EINVAL, "reduction is 9");
    EGT_REFUSED(eg_huber_loss(x, x, .delta = -1), EG_EINVAL, "delta");
    EGT_REFUSED(eg_sigmoid_focal_loss(x, x, .alpha = 1.5), EG_EINVAL, "alpha");
    EGT_REFUSED(eg_sigmoid_focal_loss(x, x, .gamma = -1), EG_EINVAL, "gamma");
    EGT_REFUSED(eg_smooth_l1_loss(x, x, .beta = NAN), EG_EINVAL, "beta");
    EGT_REFUSED(eg_mse_loss(x, x, .reduction = (eg_reduction)-1), EG_EINVAL, "reduction");
}

/* All losses of elements share a struct of options: each refuses what is of others. */
EGT(options_of_other_losses_are_refused)
{
    eg_tensor *x = eg_full(EG_SHAPE(2, 3), 0.5, EG_F32), *l = eg_zeros(EG_SHAPE(2), EG_I64);
    const struct {
        eg_tensor *(*loss)(eg_tensor *, eg_tensor *, const eg_loss_options *);
        int has; /* a bit for each row of `one` */
    } losses[] = {{eg_l1_loss_with, 0},          {eg_mse_loss_with, 0},
                  {eg_huber_loss_with, 1},       {eg_smooth_l1_loss_with, 2},
                  {eg_bce_with_logits_with, 32}, {eg_bce_with, 0},
                  {eg_kl_div_with, 16},          {eg_sigmoid_focal_loss_with, 4 | 8}};
    const struct {
        const char *name;
        eg_loss_options o;
    } one[] = {{"delta", {.delta = 2}},
               {"beta", {.beta = 2}},
               {"alpha", {.alpha = 0.5}},
               {"gamma", {.gamma = 1}},
               {"log_target", {.log_target = true}},
               {"pos_weight", {.pos_weight = x}}};
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        for (size_t k = 0; k < sizeof one / sizeof *one; k++) {
            if (losses[i].has >> k & 1) {
                EGT_CHECK(losses[i].loss(x, x, &one[k].o));
            } else {
                EGT_REFUSED(losses[i].loss(x, x, &one[k].o), EG_EINVAL, one[k].name);
            }
        }
    }
    EGT_CHECK(eg_smooth_l1_loss(x, x, .beta = EG_ZERO));
    EGT_REFUSED(eg_mse_loss(x, x, .delta = 2), EG_EINVAL, "reduction, weight");
    EGT_REFUSED(eg_cross_entropy(eg_zeros(EG_SHAPE(2, 3), EG_F32), l, .ignore_index = -100), EG_EINVAL, ".ignore");
    EGT_REFUSED(eg_nll_loss(eg_zeros(EG_SHAPE(2, 3), EG_F32), l, .ignore_index = 1), EG_EINVAL, ".ignore");
}

/* Sums past 65504, whose means are small. */
EGT(means_of_many_halves)
{
    eg_tensor *x = eg_full(EG_SHAPE(300, 400), 3, EG_F16), *y = eg_zeros(EG_SHAPE(300, 400), EG_F16);
    EGT_EQ(eg_item(eg_mse_loss(x, y)), 9);
    EGT_EQ(eg_item(eg_l1_loss(x, y)), 3);
    EGT_EQ(eg_item(eg_l1_loss(x, y, .reduction = EG_BATCH_MEAN)), 1200);
    EGT_EQ(eg_item(eg_l1_loss(x, y, .reduction = EG_SUM)), (double)INFINITY);
    eg_tensor *rows = eg_zeros(EG_SHAPE(70000, 2), EG_F16), *labels = eg_zeros(EG_SHAPE(70000), EG_I64);
    eg_tensor *weight = eg_ones(EG_SHAPE(2), EG_F16);
    EGT_NEAR(eg_item(eg_cross_entropy(rows, labels)), log(2), 1e-3);
    EGT_NEAR(eg_item(eg_cross_entropy(rows, labels, .weight = weight)), log(2), 1e-3);
    EGT_NEAR(eg_item(eg_nll_loss(eg_sub_scalar(rows, 2), labels, .weight = weight)), 2, 1e-3);
}

/* However many allocations succeed, a loss is right or none. */
EGT(memory_that_fails)
{
    eg_tensor *x = eg_from_values(EG_SHAPE(3, 2), EG_F16, (double[]){1, 8, 3, 16, 32, 3});
    eg_tensor *labels = eg_from(EG_SHAPE(3), EG_I64, (int64_t[]){0, -100, 1});
    eg_tensor *weight = eg_from_values(EG_SHAPE(2), EG_F16, (double[]){1, 3});
    for (int way = 0; way < 4; way++) {
        const eg_cross_entropy_options o = {.ignore = true, .ignore_index = -100, .weight = way & 1 ? weight : NULL};
        eg_tensor *(*loss)(eg_tensor *, eg_tensor *, const eg_cross_entropy_options *) =
            way & 2 ? eg_cross_entropy_with : eg_nll_loss_with;
        const double want = eg_item(loss(x, labels, &o));
        int failed = 0;
        for (eg_tensor *y = NULL; !y && failed < 100;) {
            eg_debug_fail_alloc(++failed);
            y = loss(x, labels, &o);
            eg_debug_fail_alloc(0);
            EGT_CHECK(y || egt_said(EG_ENOMEM, ""));
            EGT_CHECK(!y || eg_item(y) == want);
            eg_clear_error();
        }
        EGT_CHECK(failed > 4);
    }
}
