/* test_loss.c - losses against their formulas, their gradients, and labels that are none. */
#include "tests/egt.h"

static eg_tensor *run_cross_entropy(eg_tensor *const *x, int n, void *user)
{
    (void)n;
    return eg_cross_entropy_with(x[0], x[1], user);
}

#define TWO(name, call)                                                                            \
    static eg_tensor *name(eg_tensor *const *x, int n, void *user)                                 \
    {                                                                                              \
        (void)n, (void)user;                                                                       \
        return call(x[0], x[1]);                                                                   \
    }
TWO(l1, eg_l1_loss)
TWO(mse, eg_mse_loss)
TWO(huber, eg_huber_loss)
TWO(bce, eg_bce_with_logits)

EGT(gradients)
{
    eg_tensor *labels = eg_from(EG_SHAPE(4), EG_I64, (int64_t[]){2, 0, 1, 2});
    eg_tensor *x[2] = {egt_random(EG_SHAPE(4, 3), EG_F64, -2, 2), labels};
    eg_cross_entropy_options o[3] = {{.reduction = EG_SUM},
                                     {.label_smoothing = 0.2},
                                     {.ignore = true, .ignore_index = 0}};
    for (int i = 0; i < 3; i++) {
        EGT_OK(eg_gradcheck(run_cross_entropy, x, 2, &o[i], .skip = 2, .second = true));
    }
    eg_function each[] = {l1, mse, huber, bce};
    eg_tensor *y[2] = {egt_random(EG_SHAPE(3, 5), EG_F64, 0.1, 2), egt_random(EG_SHAPE(5), EG_F64, -3, 0)};
    for (int i = 0; i < 4; i++) {
        EGT_OK(eg_gradcheck(each[i], y, 2, NULL));
    }
}

EGT(cross_entropy_by_its_formula)
{
    eg_tensor *x = eg_from_values(EG_SHAPE(2, 3), EG_F64, (double[]){1, 2, 3, 1000, 0, -1000});
    eg_tensor *labels = eg_from(EG_SHAPE(2), EG_I32, (int32_t[]){0, 1});
    eg_tensor *each = eg_cross_entropy(x, labels, .reduction = EG_NONE);
    EGT_NEAR(eg_get(each, 0), log(exp(0) + exp(1) + exp(2)), 1e-12);
    EGT_NEAR(eg_get(each, 1), 1000, 1e-12);
    EGT_NEAR(eg_item(eg_cross_entropy(x, labels)), (eg_get(each, 0) + 1000) / 2, 1e-12);
    EGT_NEAR(eg_item(eg_cross_entropy(x, labels, .ignore = true, .ignore_index = 1)),
             eg_get(each, 0), 1e-12);
    eg_tensor *ignored = eg_full(EG_SHAPE(2), -100, EG_I64);
    EGT_EQ(eg_item(eg_cross_entropy(x, ignored, .ignore = true, .ignore_index = -100)), 0);
    EGT_EQ(eg_item(eg_cross_entropy(eg_zeros(EG_SHAPE(0, 3), EG_F32), eg_zeros(EG_SHAPE(0), EG_I64))), 0);
}

EGT(the_others_by_theirs)
{
    eg_tensor *x = eg_from_values(EG_SHAPE(2), EG_F64, (double[]){1, -3});
    eg_tensor *y = eg_from_values(EG_SHAPE(2), EG_F64, (double[]){0.5, 1});
    EGT_NEAR(eg_item(eg_l1_loss(x, y)), 2.25, 1e-12);
    EGT_NEAR(eg_item(eg_mse_loss(x, y, .reduction = EG_SUM)), 16.25, 1e-12);
    EGT_NEAR(eg_item(eg_huber_loss(x, y, .reduction = EG_SUM)), 0.125 + 3.5, 1e-12);
    EGT_NEAR(eg_get(eg_bce_with_logits(x, y, .reduction = EG_NONE), 1), log1p(exp(-3)) + 3, 1e-12);
}

EGT(labels_that_are_none)
{
    eg_tensor *x = eg_zeros(EG_SHAPE(2, 3), EG_F32), *l = eg_zeros(EG_SHAPE(2), EG_I64);
    EGT_REFUSED(eg_cross_entropy(x, eg_full(EG_SHAPE(2), 3, EG_I64)), EG_EINDEX, "label 3 of row 0");
    EGT_REFUSED(eg_cross_entropy(x, eg_full(EG_SHAPE(2), -1, EG_I64)), EG_EINDEX, "label -1");
    EGT_REFUSED(eg_cross_entropy(x, eg_zeros(EG_SHAPE(3), EG_I64)), EG_ESHAPE, "[3]");
    EGT_REFUSED(eg_cross_entropy(x, eg_zeros(EG_SHAPE(2), EG_F32)), EG_EDTYPE, "f32");
    EGT_REFUSED(eg_cross_entropy(l, l), EG_ESHAPE, "[2]");
    EGT_REFUSED(eg_cross_entropy(x, l, .label_smoothing = 2), EG_EINVAL, "2");
    EGT_REFUSED(eg_cross_entropy(NULL, l), EG_EINVAL, "x is NULL");
    EGT_REFUSED(eg_huber_loss(x, x, .delta = -1), EG_EINVAL, "delta");
}
