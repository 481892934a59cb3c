/* optim.c - two steps of each rule, on the parameter x[0] with the gradient x[1]. */
#include "tests/cases.h"
#include "tests/optimizers.h"

static eg_tensor *two_steps(eg_optim *o, eg_tensor *p, eg_tensor *gradient)
{
    bool ok = o && eg_optim_step(o, &gradient) == EG_OK && eg_optim_step(o, &gradient) == EG_OK;
    eg_optim_free(o);
    return ok ? p : NULL;
}

/* The tensor, which the scope keeps, as a parameter; NULL passes through. */
static eg_tensor *learnable(eg_tensor *t)
{
    eg_release(t ? eg_parameter(t) : NULL);
    return t;
}

#define UPDATE(name, op, form, ...)                                                             \
    static eg_tensor *name(eg_tensor *const *x, int n, void *user)                              \
    {                                                                                           \
        (void)n, (void)user;                                                                    \
        eg_tensor *moved = learnable(x[1] ? eg_contiguous(eg_copy(x[0])) : eg_add(x[0], x[1])); \
        eg_parameters p = {&moved, NULL, 1};                                                    \
        return moved ? two_steps(__VA_ARGS__, moved, x[1]) : NULL;                              \
    }
OPTIMIZERS(UPDATE)

static eg_optim *cut(eg_optim *o)
{
    return !eg_optim_clip_norm(o, 3) && !eg_optim_clip_value(o, 0.2) ? o : NULL;
}
UPDATE(clipped, "sgd_update", "clipped", cut(eg_sgd_new(p, .lr = 0.1)))

/* Elements of x[0] are zero where x[1] is 0.3 or more, and stay it. */
static eg_tensor *zeros(eg_tensor *const *x, int n, void *user)
{
    (void)n, (void)user;
    if (!x[0] || !x[1]) {
        return eg_add(x[0], x[1]);
    }
    eg_tensor *p = learnable(eg_contiguous(eg_mul(x[0], eg_lt(x[1], eg_scalar(0.3, EG_F64)))));
    eg_parameters list = {&p, NULL, 1};
    eg_optim *o = p ? eg_sgd_new(list, .lr = 0.1, .momentum = 0.9) : NULL;
    if (!o || eg_optim_group(o, .weight_decay = 0.1, .keep_zeros = true)) {
        eg_optim_free(o);
        return NULL;
    }
    return two_steps(o, p, x[1]);
}

/* Only some rows of x[1] are not zero: those from x[2] on. */
static eg_tensor *lazy(eg_tensor *const *x, int n, void *user)
{
    (void)n, (void)user;
    if (!x[1] || !x[2]) {
        return eg_add(x[0], x[1] ? x[2] : x[1]);
    }
    eg_tensor *p = learnable(eg_contiguous(eg_copy(x[0])));
    eg_tensor *g = eg_mul(x[1], eg_unsqueeze(eg_gt(x[2], eg_scalar(0, EG_F64)), 1));
    eg_parameters list = {&p, NULL, 1};
    return p && g ? two_steps(eg_adam_new(list, .lr = 0.1, .lazy = true), p, g) : NULL;
}

/* The norms of x[0] and x[1] together: 1, 2 and the largest. */
static eg_tensor *norms(eg_tensor *const *x, int n, void *user)
{
    (void)user;
    const double p[3] = {1, 2, (double)INFINITY};
    double norm[3];
    for (int k = 0; k < 3; k++) {
        if (!x[0] || !x[1]) {
            return eg_add(x[0], x[1]);
        }
        if (eg_clip_grad_norm(x, n, 1e30, &norm[k], .p = p[k])) {
            return NULL;
        }
    }
    return eg_cast(eg_from(EG_SHAPE(3), EG_F64, norm), eg_dtype_of(x[0]));
}

#define INPUTS {{DIMS(3, 70), -1, 1, 0}, {DIMS(3, 70), 0.1, 1, 0}}, .flags = EGT_NO_GRAD | EGT_NO_HALF
#define ROWS \
    {{DIMS(9, 70), -1, 1, 0}, {DIMS(9, 70), 0.1, 1, 0}, {DIMS(9), -1, 1, 0}}, .flags = EGT_NO_GRAD | EGT_NO_HALF

#define CASE(name, op, form, ...) {op, form, name, INPUTS},
EGT_CASES(optim, OPTIMIZERS(CASE){"adam_update", "lazy", lazy, ROWS}, {"sgd_update", "zeros", zeros, INPUTS},
          {"total_norm sgd_update", "clipped", clipped, INPUTS},
          {"total_norm",
           "three norms",
           norms,
           {{DIMS(3, 1000), -1, 1, 0}, {DIMS(3, 5), 0.1, 1, 0}},
           .flags = EGT_NO_GRAD | EGT_NO_HALF})
