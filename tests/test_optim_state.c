/* test_optim_state.c - what training is resumed from: states of optimizers, the loss scaler,
 * averages of weights; and what happens when memory runs out in between. */
#include "tests/egt.h"
#include "tests/optimizers.h"

/* ---- states ------------------------------------------------------------------------------ */

#define MAKE(name, op, form, ...)          \
    static eg_optim *name(eg_parameters p) \
    {                                      \
        return __VA_ARGS__;                \
    }
OPTIMIZERS(MAKE)
MAKE(lazy, "adam_update", "lazy", eg_adam_new(p, .lr = 0.1, .lazy = true))

#define NAME(name, ...) name,
typedef eg_optim *maker(eg_parameters p);
static maker *const makers[] = {OPTIMIZERS(NAME) lazy};
enum { MAKERS = (int)(sizeof makers / sizeof *makers), STEPS = 12 };

static const char *const names[2] = {"fc.weight", "fc.bias"};

static void steps(eg_optim *o, eg_tensor *const (*g)[2], int from, int to)
{
    for (int t = from; t < to; t++) {
        EGT_OK(eg_optim_step(o, g[t]));
    }
}

/* Through a file, and for a second optimizer that has already gone elsewhere. */
static void interrupted(maker *make, eg_dtype dtype)
{
    const char *path = egt_path("state.safetensors");
    eg_tensor *p[2], *q[2], *g[STEPS][2];
    for (int i = 0; i < 2; i++) {
        eg_shape shape = i ? EG_SHAPE(37) : EG_SHAPE(5, 7);
        p[i] = eg_parameter(egt_random(shape, dtype, -1, 1));
        q[i] = eg_parameter(eg_copy(eg_detach(p[i])));
        for (int t = 0; t < STEPS; t++) {
            g[t][i] = egt_random(shape, dtype, -1, 1);
        }
    }
    eg_optim *a = make((eg_parameters){p, names, 2}), *b = make((eg_parameters){q, names, 2});
    steps(a, g, 0, 5);
    eg_tensors *state = eg_optim_state(a);
    EGT_OK(eg_safetensors_save(state, path));
    eg_tensors_free(state);
    steps(b, g, 4, STEPS);
    for (int i = 0; i < 2; i++) {
        eg_copy_(q[i], p[i]);
    }
    state = eg_safetensors_load(path);
    EGT_OK(eg_optim_load_state(b, state));
    eg_tensors_free(state);
    EGT_EQ(eg_optim_steps(b), 5);
    steps(a, g, 5, STEPS);
    steps(b, g, 5, STEPS);
    EGT_CHECK(egt_same_bits(p[0], q[0]) && egt_same_bits(p[1], q[1]));
    eg_optim_free(a);
    eg_optim_free(b);
    for (int i = 0; i < 2; i++) {
        eg_release(p[i]);
        eg_release(q[i]);
    }
}

EGT(training_goes_on_bit_for_bit)
{
    for (int i = 0; i < MAKERS; i++) {
        EG_SCOPE {
            interrupted(makers[i], EG_F32);
            interrupted(makers[i], EG_F64);
            interrupted(makers[i], EG_F16);
        }
    }
}

EGT(what_a_state_holds)
{
    eg_tensor *p[2] = {eg_parameter(eg_ones(EG_SHAPE(2, 3), EG_F16)), eg_parameter(eg_ones(EG_SHAPE(3), EG_F64))};
    eg_tensor *g[2] = {eg_ones(EG_SHAPE(2, 3), EG_F16), NULL};
    eg_optim *o = eg_rmsprop_new(((eg_parameters){p, NULL, 2}), .lr = 0.5, .momentum = 0.9);
    EGT_OK(eg_optim_step(o, g));
    eg_tensors *state = eg_optim_state(o);
    EGT_EQ(eg_tensors_count(state), 7);
    EGT_EQ(eg_dtype_of(eg_tensors_get(state, "0.master")), EG_F32);
    EGT_EQ(eg_dtype_of(eg_tensors_get(state, "0.square_avg")), EG_F32);
    EGT_EQ(eg_dtype_of(eg_tensors_get(state, "1.momentum_buffer")), EG_F64);
    EGT_EQ(eg_dtype_of(eg_tensors_get(state, "steps")), EG_I64);
    EGT_EQ(eg_item(eg_tensors_get(state, "steps")), 1);
    EGT_EQ(eg_item(eg_tensors_get(state, "lr")), 0.5);
    eg_tensors_free(state);
    eg_optim_free(o);
    eg_release(p[0]);
    eg_release(p[1]);
}

/* A map like `from`, but that `name` is left out and put in as t, unless that is NULL. */
static eg_tensors *changed(const eg_tensors *from, const char *name, eg_tensor *t)
{
    eg_tensors *map = eg_tensors_new();
    for (int64_t i = 0; i < eg_tensors_count(from); i++) {
        const char *key = eg_tensors_name(from, i);
        if (strcmp(key, name)) {
            EGT_OK(eg_tensors_set(map, key, eg_copy(eg_tensors_at(from, i))));
        }
    }
    if (t) {
        EGT_OK(eg_tensors_set(map, name, t));
    }
    return map;
}

EGT(states_that_do_not_fit)
{
    static const struct {
        const char *name;
        double value; /* of a 0-dim tensor; NaN: left out */
        eg_dtype dtype;
        eg_status code;
        const char *word;
    } bad[] = {
        {"fc.bias.exp_avg", NAN, EG_F32, EG_EFORMAT, "missing: \"fc.bias.exp_avg\""},
        {"fc.extra.exp_avg", 1, EG_F32, EG_EFORMAT, "unexpected: \"fc.extra.exp_avg\""},
        {"fc.weight.exp_avg_sq", 1, EG_F32, EG_ESHAPE, "\"fc.weight.exp_avg_sq\""},
        {"steps", NAN, EG_I64, EG_EFORMAT, "missing: \"steps\""},
        {"steps", -1, EG_I64, EG_EFORMAT, "\"steps\" is -1"},
        {"steps", 0x1p60, EG_I64, EG_EFORMAT, "\"steps\" is 1.15"},
        {"steps", 1, EG_F64, EG_EDTYPE, "\"steps\""},
        {"lr", -2, EG_F64, EG_EFORMAT, "\"lr\" is -2"},
        {"lr", (double)INFINITY, EG_F64, EG_EFORMAT, "\"lr\" is inf"},
    };
    eg_tensor *p[2] = {eg_parameter(eg_ones(EG_SHAPE(2, 3), EG_F32)), eg_parameter(eg_ones(EG_SHAPE(3), EG_F32))};
    eg_tensor *g[2] = {eg_ones(EG_SHAPE(2, 3), EG_F32), eg_ones(EG_SHAPE(3), EG_F32)};
    eg_optim *o = eg_adam_new(((eg_parameters){p, names, 2}));
    EGT_OK(eg_optim_step(o, g));
    eg_tensors *state = eg_optim_state(o), *before = changed(state, "", NULL);
    for (int i = 0; i < (int)(sizeof bad / sizeof *bad); i++) {
        eg_tensor *t = isnan(bad[i].value) ? NULL : eg_scalar(bad[i].value, bad[i].dtype);
        eg_tensors *map = changed(state, bad[i].name, t);
        EGT_REFUSED(eg_optim_load_state(o, map), bad[i].code, bad[i].word);
        eg_tensors_free(map);
    }
    EGT_EQ(eg_optim_steps(o), 1);
    for (int64_t i = 0; i < eg_tensors_count(state); i++) {
        EGT_CHECK(egt_same_bits(eg_tensors_at(state, i), eg_tensors_at(before, i)));
    }
    EGT_REFUSED(eg_optim_load_state(o, NULL), EG_EINVAL, "map");
    EGT_REFUSED(eg_optim_load_state(NULL, state), EG_EINVAL, "optim");
    EGT_REFUSED(eg_optim_state(NULL), EG_EINVAL, "optim");
    eg_tensors_free(state);
    eg_tensors_free(before);
    eg_optim_free(o);
    eg_release(p[0]);
    eg_release(p[1]);
}

/* ---- the loss scaler --------------------------------------------------------------------- */

/* loss = 1e-8 sum(x): gradients below what f16 can hold. */
static eg_tensor *faint(eg_tensor *x)
{
    return eg_mul(eg_mul(eg_sum(eg_mul(x, eg_scalar(1e-4, EG_F16))), eg_scalar(1e-2, EG_F16)), eg_scalar(1e-2, EG_F16));
}

EGT(scaling_saves_gradients_from_underflow)
{
    eg_tensor *p = eg_parameter(eg_ones(EG_SHAPE(4), EG_F16));
    eg_optim *o = eg_sgd_new(((eg_parameters){&p, NULL, 1}), .lr = 1e6);
    eg_scaler *s = eg_scaler_new(.interval = 2);
    EGT_OK(eg_optim_clip_norm(o, (double)INFINITY));
    EG_SCOPE {
        eg_tape tape = eg_tape_open();
        EGT_OK(eg_optim_minimize(o, tape, faint(p)));
    }
    EGT_EQ(eg_get(p, 0), 1); /* lost */
    EGT_EQ(eg_optim_grad_norm(o), 0);
    EGT_EQ(eg_scaler_scale(s), 65536);
    for (int t = 0; t < 4; t++) { /* 65536 is infinite in f16, 32768 is not */
        EG_SCOPE {
            eg_tape tape = eg_tape_open();
            EGT_OK(eg_scaler_minimize(s, o, tape, faint(p)));
        }
        EGT_EQ(eg_optim_steps(o), t < 3 ? t + 1 : 3);
        EGT_EQ(eg_scaler_skipped(s), t < 3 ? 1 : 2);
        EGT_EQ(eg_scaler_scale(s), t == 2 ? 65536 : 32768);
    }
    EGT_CHECK(fabs(eg_optim_grad_norm(o) / 2e-8 - 1) < 0.01);
    EGT_NEAR(eg_get(p, 0), 1 - 2 * 1e6 * 1e-8, 2e-3);
    eg_scaler_free(s);
    eg_optim_free(o);
    eg_release(p);
}

EGT(a_loss_that_is_not_finite_is_found_out)
{
    eg_tensor *p = eg_parameter(eg_full(EG_SHAPE(1), -1, EG_F32));
    eg_optim *o = eg_adam_new(((eg_parameters){&p, NULL, 1}));
    eg_scaler *s = eg_scaler_new(), *fixed = eg_scaler_new(.start = 128, .growth = 1, .backoff = 1);
    eg_status st = EG_OK;
    int tries = 0;
    for (; tries < 100 && st == EG_OK; tries++) {
        EG_SCOPE {
            eg_tape tape = eg_tape_open();
            st = eg_scaler_minimize(s, o, tape, eg_sum(eg_log(p)));
        }
        EG_SCOPE {
            eg_tape tape = eg_tape_open();
            EGT_OK(eg_scaler_minimize(fixed, o, tape, eg_sum(eg_sqrt(p))));
        }
    }
    EGT_OK(st); /* d log(x) / dx = -1 is finite */
    EGT_EQ(eg_scaler_skipped(s), 0);
    EGT_EQ(eg_scaler_skipped(fixed), 100);
    EGT_EQ(eg_scaler_scale(fixed), 128);
    for (tries = 0; tries < 100 && st == EG_OK; tries++) {
        EG_SCOPE {
            eg_tape tape = eg_tape_open();
            st = eg_scaler_minimize(s, o, tape, eg_sum(eg_sqrt(p)));
        }
    }
    EGT_CHECK(st != EG_OK && egt_said(EG_EINVAL, "not finite even at"));
    const bool here = eg_device_of(p) == eg_cpu();       /* a device is asked once in 16 steps */
    EGT_CHECK(tries >= 41 && tries <= (here ? 41 : 56)); /* from 2^16 down to 2^-24, and once more */
    EGT_EQ(eg_optim_steps(o), 100);
    eg_scaler_free(s);
    eg_scaler_free(fixed);
    eg_optim_free(o);
    eg_release(p);
}

EGT(a_scaler_resumes)
{
    eg_scaler *a = eg_scaler_new(.start = 8, .interval = 3), *b = eg_scaler_new(.interval = 3);
    eg_tensors *state = eg_scaler_state(a), *bad;
    EGT_OK(eg_scaler_load_state(b, state));
    EGT_EQ(eg_scaler_scale(b), 8);
    bad = changed(state, "scale", eg_scalar(0, EG_F64));
    EGT_REFUSED(eg_scaler_load_state(b, bad), EG_EFORMAT, "\"scale\" is 0");
    eg_tensors_free(bad);
    bad = changed(state, "good", NULL);
    EGT_REFUSED(eg_scaler_load_state(b, bad), EG_EFORMAT, "missing: \"good\"");
    eg_tensors_free(bad);
    EGT_EQ(eg_scaler_scale(b), 8);
    EGT_REFUSED(eg_scaler_new(.growth = 0.5), EG_EINVAL, "growth");
    EGT_REFUSED(eg_scaler_new(.backoff = 2), EG_EINVAL, "backoff");
    EGT_REFUSED(eg_scaler_new(.start = -1), EG_EINVAL, "start");
    EGT_REFUSED(eg_scaler_new(.interval = -1), EG_EINVAL, "interval");
    EGT_REFUSED(eg_scaler_minimize(NULL, NULL, (eg_tape){0}, NULL), EG_EINVAL, "scaler");
    EGT_REFUSED(eg_scaler_minimize(a, NULL, (eg_tape){0}, NULL), EG_EINVAL, "optim");
    eg_tensors_free(state);
    eg_scaler_free(a);
    eg_scaler_free(b);
    eg_scaler_free(NULL);
}

/* ---- averages ---------------------------------------------------------------------------- */

static void check_average(eg_dtype dtype, bool warm_up, double tolerance)
{
    eg_tensor *p = eg_parameter(egt_random(EG_SHAPE(1100), dtype, -1, 1));
    eg_ema *e = eg_ema_new(((eg_parameters){&p, NULL, 1}), .decay = 0.9, .warm_up = warm_up);
    double a = eg_get(p, 1050);
    for (int t = 0; t < 20; t++) {
        eg_copy_(p, egt_random(EG_SHAPE(1100), dtype, -1, 1));
        EGT_OK(eg_ema_update(e));
        double d = warm_up ? fmin(0.9, (1.0 + t) / (10 + t)) : 0.9;
        a = d * a + (1 - d) * eg_get(p, 1050);
    }
    eg_tensors *state = eg_ema_state(e);
    EGT_NEAR(eg_get(eg_tensors_get(state, "0.average"), 1050), a, tolerance);
    eg_tensors_free(state);
    eg_tensor *own = eg_copy(eg_detach(p));
    EGT_OK(eg_ema_swap(e));
    EGT_CHECK(eg_ema_swapped(e));
    EGT_NEAR(eg_get(p, 1050), a, dtype == EG_F16 ? 1e-3 : dtype == EG_BF16 ? 8e-3 : tolerance);
    EGT_REFUSED(eg_ema_update(e), EG_ESTATE, "swap back");
    EGT_OK(eg_ema_swap(e));
    EGT_CHECK(!eg_ema_swapped(e) && egt_same_bits(p, own));
    EGT_OK(eg_ema_swap(e));
    eg_ema_free(e); /* puts them back */
    EGT_CHECK(egt_same_bits(p, own));
    eg_release(p);
}

EGT(averages_of_weights)
{
    check_average(EG_F32, false, 1e-6);
    check_average(EG_F64, true, 1e-12);
    check_average(EG_F16, true, 1e-6);
    check_average(EG_BF16, false, 1e-6);
    EGT_OK(eg_debug("ref"));
    check_average(EG_F16, false, 1e-6);
    check_average(EG_F32, true, 1e-6);
    EGT_OK(eg_debug(NULL));
}

EGT(averages_resume)
{
    eg_tensor *p = eg_parameter(eg_ones(EG_SHAPE(3), EG_F32)), *q = eg_parameter(eg_zeros(EG_SHAPE(3), EG_F32));
    eg_tensor *twice[2] = {q, q}; /* tied */
    const char *name = "w", *two[2] = {"w", "v"};
    eg_ema *a = eg_ema_new(((eg_parameters){&p, &name, 1}), .warm_up = true);
    eg_ema *b = eg_ema_new(((eg_parameters){twice, two, 2}), .warm_up = true);
    EGT_OK(eg_ema_update(a));
    eg_tensors *state = eg_ema_state(a), *bad = changed(state, "w.average", eg_ones(EG_SHAPE(4), EG_F32));
    EGT_REFUSED(eg_ema_load_state(b, bad), EG_ESHAPE, "w.average");
    eg_tensors_free(bad);
    EGT_OK(eg_ema_swap(b));
    EGT_REFUSED(eg_ema_load_state(b, state), EG_ESTATE, "swap back");
    EGT_OK(eg_ema_swap(b));
    EGT_OK(eg_ema_load_state(b, state));
    EGT_OK(eg_ema_update(b));
    eg_tensors *now = eg_ema_state(b);
    EGT_EQ(eg_item(eg_tensors_get(now, "updates")), 2);
    EGT_NEAR(eg_get(eg_tensors_get(now, "w.average"), 0), 2 / 11.0, 1e-6);
    EGT_REFUSED(eg_ema_new(((eg_parameters){&p, NULL, 1}), .decay = 1), EG_EINVAL, "decay");
    EGT_REFUSED(eg_ema_new(((eg_parameters){NULL, NULL, 1})), EG_EINVAL, "parameters");
    EGT_REFUSED(eg_ema_update(NULL), EG_EINVAL, "ema");
    EG_SCOPE {
        (void)eg_tape_open();
        EGT_REFUSED(eg_ema_swap(a), EG_ESTATE, "tape");
    }
    eg_tensors_free(state);
    eg_tensors_free(now);
    eg_ema_free(a);
    eg_ema_free(b);
    eg_ema_free(NULL);
    eg_release(p);
    eg_release(q);
}

/* ---- memory that runs out ---------------------------------------------------------------- */

/* Everything once; what was made is freed whatever happened. */
static bool everything(void *user)
{
    eg_tensor **p = user;
    const char *named[2] = {"a", "b"};
    eg_optim *o = eg_adam_new(((eg_parameters){p, named, 1}));
    eg_scaler *scaler = eg_scaler_new(.start = 16);
    eg_ema *ema = eg_ema_new(((eg_parameters){p, named, 2}));
    eg_tensors *state = NULL, *average = NULL, *scale = NULL;
    bool ok = o && scaler && ema && !eg_optim_add(o, ((eg_parameters){p + 1, named, 1}), .prefix = "b.") &&
              !eg_optim_group(o, .name = "b") && !eg_optim_clip_norm(o, 1);
    EG_SCOPE {
        eg_tape tape = ok ? eg_tape_open() : (eg_tape){0};
        eg_tensor *loss = ok ? eg_sum(eg_square(eg_add(p[0], eg_cast(p[1], EG_F32)))) : NULL;
        ok = ok && loss && !eg_scaler_minimize(scaler, o, tape, loss);
    }
    ok = ok && !eg_ema_update(ema) && !eg_ema_swap(ema);
    ok = ok && !eg_ema_swap(ema) && (state = eg_optim_state(o)) && (average = eg_ema_state(ema)) &&
         (scale = eg_scaler_state(scaler)) && !eg_optim_load_state(o, state) && !eg_ema_load_state(ema, average) &&
         !eg_scaler_load_state(scaler, scale);
    eg_tensors_free(state);
    eg_tensors_free(average);
    eg_tensors_free(scale);
    eg_ema_free(ema);
    eg_scaler_free(scaler);
    eg_optim_free(o);
    return ok;
}

EGT(memory_may_run_out_anywhere)
{
    eg_tensor *p[2] = {eg_parameter(eg_ones(EG_SHAPE(3), EG_F32)), eg_parameter(eg_ones(EG_SHAPE(3), EG_F16))};
    EGT_CHECK(egt_fail_allocations(everything, p) > 60);
    eg_release(p[0]);
    eg_release(p[1]);
}
