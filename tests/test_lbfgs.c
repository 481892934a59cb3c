/* test_lbfgs.c - L-BFGS: where it gets to, what it refuses, how it goes on; losses as functions. */
#include "tests/egt.h"

/* What the losses are made of. */
typedef struct problem {
    eg_tensor *p[2];
    eg_dtype dtype;
    int calls, fail_at; /* the call that fails; 0: none */
    bool in_words;
} problem;

static const char *const names[2] = {"a", "b"};

static void begin(problem *s, eg_dtype first, eg_dtype second)
{
    *s = (problem){.dtype = first};
    s->p[0] = eg_parameter(eg_full(EG_SHAPE(2, 2), 0.4, first));
    s->p[1] = eg_parameter(eg_full(EG_SHAPE(3), 0.7, second));
}

static void end(problem *s)
{
    eg_release(s->p[0]);
    eg_release(s->p[1]);
}

static eg_parameters both(const problem *s)
{
    return (eg_parameters){s->p, names, 2};
}

static eg_tensor *row(const problem *s)
{
    eg_tensor *rows[2] = {eg_cast(eg_reshape(s->p[0], EG_SHAPE(4)), EG_F64), eg_cast(s->p[1], EG_F64)};
    return eg_concat(rows, 2, 0);
}

/* Rosenbrock's valley in 7 dimensions, whose floor ends where all are 1. */
static eg_tensor *valley(void *user)
{
    problem *s = user;
    if (++s->calls == s->fail_at) {
        if (s->in_words) {
            eg_fail(EG_EIO, "valley", "it rains");
        }
        return NULL;
    }
    eg_tensor *x = row(s), *left = eg_slice(x, 0, 0, -1, 1), *right = eg_slice(x, 0, 1, EG_END, 1);
    eg_tensor *wall = eg_mul_scalar(eg_square(eg_sub(right, eg_square(left))), 100);
    return eg_sum(eg_add(wall, eg_square(eg_add_scalar(left, -1))));
}

/* sum i (x[i] - i)^2 */
static eg_tensor *bowl(void *user)
{
    problem *s = user;
    s->calls++;
    double numbers[7] = {1, 2, 3, 4, 5, 6, 7};
    eg_tensor *i = eg_to(eg_from(EG_SHAPE(7), EG_F64, numbers), eg_device_of(s->p[0]));
    return eg_sum(eg_mul(i, eg_square(eg_sub(row(s), i))));
}

/* sum x - log x: not a number below 0, least at 1. */
static eg_tensor *cliff(void *user)
{
    problem *s = user;
    s->calls++;
    return eg_sum(eg_sub(row(s), eg_log(row(s))));
}

static double farthest(const problem *s, double from)
{
    return eg_item(eg_max(eg_abs(eg_add_scalar(row(s), -from))));
}

/* Steps; the loss before the last of them. */
static double steps(eg_optim *o, eg_tensor *(*loss)(void *user), problem *s, int count)
{
    double before = NAN;
    for (int i = 0; i < count; i++) {
        EG_SCOPE {
            eg_tensor *y = eg_optim_minimize_function(o, loss, s);
            EGT_CHECK(y != NULL);
            before = eg_item(y);
        }
    }
    return before;
}

/* ---- where it gets to ---------------------------------------------------------------------- */

EGT(a_bowl_is_left_at_its_bottom)
{
    problem s;
    begin(&s, EG_F64, EG_F64);
    eg_optim *o = eg_lbfgs_new(both(&s), .strong_wolfe = true, .tolerance_change = EG_ZERO);
    EGT_NEAR(steps(o, bowl, &s, 1), 0.36 + 2 * 2.56 + 3 * 6.76 + 4 * 12.96 + 5 * 18.49 + 6 * 28.09 + 7 * 39.69, 1e-12);
    EGT_CHECK(s.calls <= 25);
    EG_SCOPE {
        for (int i = 0; i < 7; i++) {
            EGT_NEAR(eg_get(row(&s), i), i + 1, 1e-7);
        }
    }
    const int calls = s.calls;
    steps(o, bowl, &s, 3);
    EGT_CHECK(s.calls <= calls + 20); /* there is nothing left to do */
    EGT_EQ(eg_optim_steps(o), 4);
    eg_optim_free(o);
    end(&s);
}

static void through_the_valley(eg_dtype first, eg_dtype second, double tolerance)
{
    problem s;
    begin(&s, first, second);
    eg_optim *o = eg_lbfgs_new(both(&s), .strong_wolfe = true);
    steps(o, valley, &s, 8);
    EGT_CHECK(farthest(&s, 1) < tolerance);
    eg_optim_free(o);
    end(&s);
}

EGT(the_end_of_the_valley_is_found)
{
    through_the_valley(EG_F64, EG_F64, 1e-5);
    through_the_valley(EG_F32, EG_F32, 1e-3);
    through_the_valley(EG_F32, EG_F64, 1e-3);
}

EGT(short_steps_need_no_line_search)
{
    problem s;
    begin(&s, EG_F64, EG_F64);
    eg_optim *o = eg_lbfgs_new(both(&s), .lr = 0.5, .history_size = 5);
    steps(o, bowl, &s, 1);
    EGT_EQ(s.calls, 20); /* not after the last iteration */
    steps(o, bowl, &s, 2);
    EG_SCOPE {
        EGT_NEAR(eg_get(row(&s), 6), 7, 1e-6);
    }
    EGT_EQ(eg_optim_rate(o), 0.5);
    eg_optim_free(o);
    s.calls = 0;
    o = eg_lbfgs_new(both(&s), .lr = 1e-3, .max_iter = 100, .max_eval = 3, .tolerance_grad = EG_ZERO,
                     .tolerance_change = EG_ZERO);
    steps(o, valley, &s, 1);
    EGT_EQ(s.calls, 3);
    eg_optim_free(o);
    end(&s);
}

EGT(vectors_are_multiplied_in_full_under_autocast)
{
    problem s, t;
    begin(&s, EG_F32, EG_F32);
    begin(&t, EG_F32, EG_F32);
    eg_optim *a = eg_lbfgs_new(both(&s), .strong_wolfe = true), *b = eg_lbfgs_new(both(&t), .strong_wolfe = true);
    steps(a, valley, &s, 2);
    EG_AUTOCAST(EG_BF16) {
        steps(b, valley, &t, 2);
    }
    EGT_CHECK(egt_same_bits(s.p[0], t.p[0]) && egt_same_bits(s.p[1], t.p[1]));
    eg_optim_free(a);
    eg_optim_free(b);
    end(&s);
    end(&t);
}

EGT(what_the_loss_does_not_move_stays)
{
    problem s;
    begin(&s, EG_F32, EG_F32);
    eg_tensor *tied[3] = {s.p[0], eg_parameter(eg_ones(EG_SHAPE(5), EG_F32)), s.p[0]}; /* nor is s.p[1] there */
    eg_optim *o = eg_lbfgs_new(((eg_parameters){tied, NULL, 3}), .strong_wolfe = true);
    steps(o, bowl, &s, 2);
    EGT_NEAR(eg_get(s.p[0], 3), 4, 1e-4);
    EGT_EQ(eg_get(tied[1], 4), 1);
    EGT_EQ(eg_get(s.p[1], 2), (double)0.7F);
    eg_optim_free(o);
    eg_release(tied[1]);
    end(&s);
}

EGT(a_schedule_is_followed)
{
    problem s, t;
    begin(&s, EG_F64, EG_F64);
    begin(&t, EG_F64, EG_F64);
    eg_optim *o = eg_lbfgs_new(both(&s), .max_iter = 2), *fixed = eg_lbfgs_new(both(&t), .lr = 0.25, .max_iter = 2);
    EGT_OK(eg_optim_follow(o, &EG_SCHEDULE(.kind = EG_RATE_EXPONENTIAL, .lr = 0.25, .factor = 0.5, .steps = 1)));
    for (int i = 0; i < 3; i++) {
        steps(o, bowl, &s, 1);
        steps(fixed, bowl, &t, 1);
        EGT_OK(eg_optim_set_rate(fixed, eg_optim_rate(fixed) / 2));
        EGT_EQ(egt_distance(s.p[0], t.p[0]), 0);
    }
    eg_optim_free(o);
    eg_optim_free(fixed);
    end(&s);
    end(&t);
}

/* ---- what is not a number ------------------------------------------------------------------ */

EGT(a_line_search_turns_back_from_a_cliff)
{
    problem s;
    begin(&s, EG_F64, EG_F64);
    eg_copy_(s.p[0], eg_scalar(0.01, EG_F64));
    eg_optim *o = eg_lbfgs_new(both(&s), .lr = 100, .strong_wolfe = true);
    steps(o, cliff, &s, 4);
    EGT_CHECK(farthest(&s, 1) < 1e-3);
    eg_optim_free(o);
    end(&s);
}

EGT(nothing_moves_where_the_loss_is_not_a_number)
{
    problem s;
    begin(&s, EG_F64, EG_F64);
    eg_optim *o = eg_lbfgs_new(both(&s));
    eg_copy_(s.p[0], eg_scalar(-1.2, EG_F64));
    EGT_REFUSED(eg_optim_minimize_function(o, cliff, &s), EG_EINVAL, "evaluation 1 of the step: the loss is");
    EGT_EQ(eg_get(s.p[0], 0), -1.2);
    eg_copy_(s.p[0], eg_scalar(0.2, EG_F64));
    EGT_OK(eg_optim_set_rate(o, 100));
    EGT_REFUSED(eg_optim_minimize_function(o, cliff, &s), EG_EINVAL, "nothing has moved");
    EGT_CHECK(s.calls > 2);
    EGT_EQ(eg_get(s.p[0], 0), 0.2);
    EGT_EQ(eg_get(s.p[1], 0), 0.7);
    EGT_EQ(eg_optim_steps(o), 0);
    eg_tensors *state = eg_optim_state(o);
    EGT_CHECK(!eg_tensors_has(state, "d"));
    eg_tensors_free(state);
    eg_optim_free(o);
    end(&s);
}

/* ---- functions ----------------------------------------------------------------------------- */

EGT(functions_may_fail_at_any_call)
{
    problem s;
    begin(&s, EG_F32, EG_F64);
    for (int at = 1; at < 9; at++) {
        for (int search = 0; search < 2; search++) {
            eg_optim *o = eg_lbfgs_new(both(&s), .lr = 1e-2, .strong_wolfe = search != 0);
            s = (problem){{s.p[0], s.p[1]}, .fail_at = at};
            EGT_REFUSED(eg_optim_minimize_function(o, valley, &s), EG_EUSER, "its loss failed without a word");
            s = (problem){{s.p[0], s.p[1]}, .fail_at = at, .in_words = true};
            EGT_REFUSED(eg_optim_minimize_function(o, valley, &s), EG_EIO, "it rains");
            EGT_EQ(eg_get(s.p[0], 3), (double)0.4F);
            EGT_EQ(eg_get(s.p[1], 1), 0.7);
            eg_optim_free(o);
        }
    }
    end(&s);
}

EGT(other_rules_take_functions_too)
{
    problem s, t;
    begin(&s, EG_F32, EG_F32);
    begin(&t, EG_F32, EG_F32);
    eg_optim *a = eg_adam_new(both(&s), .lr = 0.1), *b = eg_adam_new(both(&t), .lr = 0.1);
    steps(a, valley, &s, 3);
    EGT_EQ(s.calls, 3);
    for (int i = 0; i < 3; i++) {
        EG_SCOPE {
            eg_tape tape = eg_tape_open();
            EGT_OK(eg_optim_minimize(b, tape, valley(&t)));
        }
    }
    EGT_EQ(egt_distance(s.p[0], t.p[0]), 0);
    EGT_EQ(egt_distance(s.p[1], t.p[1]), 0);
    s.fail_at = 4;
    EGT_REFUSED(eg_optim_minimize_function(a, valley, &s), EG_EUSER, "without a word");
    EGT_CHECK(!eg_optim_needs_function(a) && !eg_optim_needs_function(NULL));
    EGT_REFUSED(eg_optim_minimize_function(NULL, valley, &s), EG_EINVAL, "optim");
    EGT_REFUSED(eg_optim_minimize_function(a, NULL, &s), EG_EINVAL, "loss");
    eg_optim_free(a);
    eg_optim_free(b);
    end(&s);
    end(&t);
}

/* ---- refusals ------------------------------------------------------------------------------ */

static eg_tensor *scalar_of(void *user)
{
    return user;
}

EGT(what_it_cannot)
{
    problem s;
    begin(&s, EG_F32, EG_F32);
    eg_optim *o = eg_lbfgs_new(both(&s));
    eg_scaler *scaler = eg_scaler_new();
    EGT_CHECK(eg_optim_needs_function(o));
    EGT_REFUSED(eg_optim_step(o, s.p), EG_ESTATE, "eg_optim_minimize_function");
    EGT_REFUSED(eg_optim_add(o, both(&s)), EG_EINVAL, "one vector");
    EGT_REFUSED(eg_optim_group(o, .name = "a"), EG_EINVAL, "one vector");
    EGT_REFUSED(eg_optim_clip_norm(o, 1), EG_EINVAL, "one vector");
    EGT_REFUSED(eg_optim_clip_value(o, 1), EG_EINVAL, "one vector");
    EG_SCOPE {
        eg_tape tape = eg_tape_open();
        eg_tensor *loss = bowl(&s);
        EGT_REFUSED(eg_optim_minimize(o, tape, loss), EG_ESTATE, "eg_optim_minimize_function");
        EGT_REFUSED(eg_optim_backward(o, tape, loss), EG_ESTATE, "eg_optim_minimize_function");
        EGT_REFUSED(eg_scaler_minimize(scaler, o, tape, loss), EG_ESTATE, "eg_optim_minimize_function");
        EGT_REFUSED(eg_optim_minimize_function(o, bowl, &s), EG_ESTATE, "a tape records");
    }
    EGT_REFUSED(eg_optim_minimize_function(o, scalar_of, s.p[1]), EG_ESHAPE, "one element");
    EGT_REFUSED(eg_optim_minimize_function(o, scalar_of, eg_scalar(1, EG_F32)), EG_ESTATE, "");
    eg_tensor *half = eg_parameter(eg_ones(EG_SHAPE(2), EG_F16));
    EGT_REFUSED(eg_lbfgs_new(((eg_parameters){&half, NULL, 1})), EG_EDTYPE, "f16");
    EGT_REFUSED(eg_lbfgs_new(((eg_parameters){NULL, NULL, 1})), EG_EINVAL, "parameters");
    EGT_REFUSED(eg_lbfgs_new(both(&s), .lr = -1), EG_EINVAL, "lr");
    EGT_REFUSED(eg_lbfgs_new(both(&s), .max_iter = -1), EG_EINVAL, "max_iter");
    EGT_REFUSED(eg_lbfgs_new(both(&s), .max_eval = -1), EG_EINVAL, "max_eval");
    EGT_REFUSED(eg_lbfgs_new(both(&s), .history_size = 10001), EG_EINVAL, "history_size");
    EGT_REFUSED(eg_lbfgs_new(both(&s), .tolerance_grad = NAN), EG_EINVAL, "tolerance_grad");
    EGT_REFUSED(eg_lbfgs_new(both(&s), .tolerance_change = -1), EG_EINVAL, "tolerance_change");
    EGT_EQ(eg_optim_steps(o), 0);
    eg_release(half);
    eg_scaler_free(scaler);
    eg_optim_free(o);
    end(&s);
}

/* ---- states -------------------------------------------------------------------------------- */

static eg_optim *make(const problem *s, bool search)
{
    return eg_lbfgs_new(both(s), .lr = search ? 1 : 1e-2, .max_iter = 5, .history_size = 4, .strong_wolfe = search);
}

/* Through a file, and for a second one that has already gone elsewhere. */
static void interrupted(bool search, eg_dtype first, eg_dtype second)
{
    problem s, t;
    begin(&s, first, second);
    begin(&t, first, second);
    eg_optim *a = make(&s, search), *b = make(&t, search);
    steps(a, valley, &s, 3);
    steps(b, bowl, &t, search ? 2 : 0);
    eg_tensors *state = eg_optim_state(a);
    EGT_OK(eg_safetensors_save(state, egt_path("state.safetensors")));
    eg_tensors_free(state);
    state = eg_safetensors_load(egt_path("state.safetensors"));
    EGT_OK(eg_optim_load_state(b, state));
    eg_tensors_free(state);
    EGT_EQ(eg_optim_steps(b), 3);
    eg_copy_(t.p[0], s.p[0]);
    eg_copy_(t.p[1], s.p[1]);
    EGT_EQ(steps(a, valley, &s, 3), steps(b, valley, &t, 3));
    EGT_CHECK(egt_same_bits(s.p[0], t.p[0]) && egt_same_bits(s.p[1], t.p[1]));
    eg_optim_free(a);
    eg_optim_free(b);
    end(&s);
    end(&t);
}

EGT(it_goes_on_bit_for_bit)
{
    for (int search = 0; search < 2; search++) {
        EG_SCOPE {
            interrupted(search, EG_F32, EG_F32);
            interrupted(search, EG_F64, EG_F64);
            interrupted(search, EG_F32, EG_F64);
        }
    }
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
        double value; /* NaN: left out */
        eg_status code;
        const char *word;
    } bad[] = {
        {"n_iter", -1, EG_EFORMAT, "\"n_iter\" is -1"},
        {"n_iter", NAN, EG_EFORMAT, "unexpected: \"t\""},
        {"func_evals", NAN, EG_EFORMAT, "missing: \"func_evals\""},
        {"t", (double)INFINITY, EG_EFORMAT, "\"t\" is inf"},
        {"H_diag", -1, EG_EFORMAT, "\"H_diag\" is -1"},
        {"d", NAN, EG_EFORMAT, "\"d\""},
        {"d", 1, EG_ESHAPE, "\"d\""},
        {"prev_flat_grad", 1, EG_ESHAPE, "\"prev_flat_grad\""},
        {"old_dirs.0", NAN, EG_EFORMAT, "old_stps.0"},
        {"old_stps.1", 1, EG_ESHAPE, "old_stps.1"},
        {"old_stps.4", 1, EG_EFORMAT, "unexpected: \"old_stps.4\""},
        {"ro", NAN, EG_EFORMAT, "\"ro\""},
        {"ro", 1, EG_ESHAPE, "\"ro\""},
    };
    problem s, t;
    begin(&s, EG_F32, EG_F32);
    begin(&t, EG_F32, EG_F32);
    eg_optim *o = make(&s, true), *twin = make(&t, true);
    steps(o, valley, &s, 2);
    steps(twin, valley, &t, 2);
    eg_tensors *state = eg_optim_state(o);
    EGT_CHECK(eg_tensors_has(state, "old_dirs.3") && !eg_tensors_has(state, "old_dirs.4"));
    for (int i = 0; i < (int)(sizeof bad / sizeof *bad); i++) {
        const bool count = !strcmp(bad[i].name, "n_iter");
        eg_tensor *value = isnan(bad[i].value) ? NULL : eg_scalar(bad[i].value, count ? EG_I64 : EG_F64);
        eg_tensors *map = changed(state, bad[i].name, value);
        EGT_REFUSED(eg_optim_load_state(o, map), bad[i].code, bad[i].word);
        eg_tensors_free(map);
    }
    eg_tensors *map = changed(state, "ro", eg_full(EG_SHAPE(4), -1, EG_F64));
    EGT_REFUSED(eg_optim_load_state(o, map), EG_EFORMAT, "\"ro\" has a -1");
    eg_tensors_free(map);
    eg_tensors_free(state);
    steps(o, valley, &s, 1);
    steps(twin, valley, &t, 1);
    EGT_CHECK(egt_same_bits(s.p[0], t.p[0]));
    eg_optim_free(o);
    eg_optim_free(twin);
    end(&s);
    end(&t);
}

/* ---- memory that runs out ------------------------------------------------------------------ */

/* Steps, a state and back. What has not been done has moved nothing. */
static bool everything(void *user)
{
    const problem *at = user;
    problem s = {.p = {at->p[0], at->p[1]}};
    eg_tensors *state = NULL;
    bool ok = true;
    EG_SCOPE {
        eg_optim *o = make(&s, true);
        const double before = eg_get(s.p[0], 1);
        ok = o != NULL;
        if (ok && !eg_optim_minimize_function(o, valley, &s)) {
            ok = false;
            if (eg_get(s.p[0], 1) != before) {
                eg_fail(EG_EUSER, "everything", "it has moved"); /* which is not what is expected */
            }
        }
        ok = ok && eg_optim_minimize_function(o, valley, &s) && (state = eg_optim_state(o)) &&
             !eg_optim_load_state(o, state);
        eg_tensors_free(state);
        eg_optim_free(o);
    }
    return ok;
}

EGT(memory_may_run_out_anywhere)
{
    problem s;
    begin(&s, EG_F32, EG_F64);
    EGT_CHECK(egt_fail_allocations(everything, &s) > 100);
    end(&s);
}
