/* test_pruning.c - which weights go, that optimizers keep them where they are, and training as PyTorch does it with
 * masks. */
#include "tests/egt.h"
#include "tests/optimizers.h"

/* ---- which go -------------------------------------------------------------------------------- */

enum { WEIGHTS = 3 };

static eg_tensor *stored(const eg_tensors *file, const char *format, const char *word, int i)
{
    char name[64];
    snprintf(name, sizeof name, format, word, i);
    eg_tensor *t = eg_tensors_get(file, name);
    EGT_CHECK(t);
    return t;
}

static void fresh(const eg_tensors *file, eg_tensor **w)
{
    for (int i = 0; i < WEIGHTS; i++) {
        w[i] = eg_copy(stored(file, "%s.%d", "weight", i));
    }
}

EGT(as_torch_prunes)
{
    eg_tensors *file = eg_tensors_open("tests/golden/pruning.safetensors");
    EGT_CHECK(file);
    for (int k = 0; k < 6; k++) {
        const int share = (int[]){25, 60, 93}[k % 3];
        const bool global = k >= 3;
        char word[32];
        eg_tensor *w[WEIGHTS];
        double left = 0, all = 0;
        fresh(file, w);
        snprintf(word, sizeof word, "%s.%d", global ? "together" : "alone", share);
        EGT_OK(eg_prune(((eg_parameters){w, NULL, WEIGHTS}), .density = share / 100.0, .global = global));
        for (int i = 0; i < WEIGHTS; i++) {
            eg_tensor *golden = stored(file, "%s.%d", word, i);
            EGT_EQ(egt_distance(w[i], golden), 0); /* where torch's zeros have signs */
            left += eg_get(eg_count_nonzero(golden), 0);
            all += (double)eg_numel(golden);
        }
        EGT_EQ(eg_density(((eg_parameters){w, NULL, WEIGHTS})), left / all);
    }
    eg_tensors_free(file);
}

EGT(n_of_every_m)
{
    eg_tensors *file = eg_tensors_open("tests/golden/pruning.safetensors");
    EGT_CHECK(file);
    eg_tensor *w[WEIGHTS];
    fresh(file, w);
    EGT_OK(eg_prune(((eg_parameters){w, NULL, WEIGHTS}), .n = 2, .m = 4));
    for (int i = 0; i < WEIGHTS; i++) {
        EGT_EQ(egt_distance(w[i], stored(file, "%s.%d", "two_of_four", i)), 0);
    }
    EGT_EQ(eg_density(((eg_parameters){w, NULL, WEIGHTS})), 0.5);
    fresh(file, w); /* of ten and seven rows three are no divisor */
    EGT_OK(eg_prune(((eg_parameters){w, NULL, WEIGHTS}), .n = 1, .m = 3, .axis = EG_ZERO));
    EGT_EQ(egt_distance(w[0], eg_tensors_get(file, "one_of_three.axis0")), 0);
    EGT_CHECK(egt_same_bits(w[1], stored(file, "%s.%d", "weight", 1)));
    eg_tensors_free(file);
}

EGT(which_parameters)
{
    eg_tensor *p[5];
    static const char *const names[] = {"a.weight", "a.bias", "b.weight", "b.weight", "c.weight"};
    p[0] = egt_random(EG_SHAPE(4, 5), EG_F32, 1, 2);
    p[1] = egt_random(EG_SHAPE(4), EG_F32, 1, 2);
    p[2] = egt_random(EG_SHAPE(3, 4, 1, 1), EG_F16, 1, 2);
    p[3] = p[2];
    p[4] = eg_zeros(EG_SHAPE(0, 3), EG_F32);
    const eg_parameters all = {p, names, 5};
    EGT_OK(eg_prune(all, .density = 0.5, .name = "b."));
    EGT_EQ(eg_density(all), 26.0 / 32);
    EGT_EQ(eg_density(all, .name = "b."), 0.5);
    EGT_OK(eg_prune(all, .density = 0.25, .max_axes = 1, .min_axes = 1));
    EGT_EQ(eg_density(all, .min_axes = 1, .max_axes = 1), 0.25);
    EGT_EQ(eg_density(all, .min_axes = 3), 0.5);
    EGT_OK(eg_prune(all, .density = 0.25, .global = true)); /* f16 beside f32 */
    EGT_EQ(eg_density(all), 0.25);
    EGT_OK(eg_prune(all, .density = 1));
    EGT_EQ(eg_density(all), 0.25);
    EGT_OK(eg_prune(all, .density = 1e-9));
    EGT_EQ(eg_density(all), 0);
}

EGT(what_is_refused)
{
    eg_tensor *p = egt_random(EG_SHAPE(4, 6), EG_F32, 1, 2), *before = eg_copy(p);
    const eg_parameters list = {&p, NULL, 1};
    EGT_REFUSED(eg_prune(list), EG_EINVAL, "density is 0");
    EGT_REFUSED(eg_prune(list, .density = 1.5), EG_EINVAL, "density is 1.5");
    EGT_REFUSED(eg_prune(list, .density = (double)NAN), EG_EINVAL, "density is");
    EGT_REFUSED(eg_prune(list, .density = 0.5, .n = 2, .m = 4), EG_EINVAL, "nothing else");
    EGT_REFUSED(eg_prune(list, .n = 4, .m = 4), EG_EINVAL, "4 of 4");
    EGT_REFUSED(eg_prune(list, .n = 2, .m = 4, .axis = -1), EG_EINVAL, "axis is -1");
    EGT_REFUSED(eg_prune(list, .n = 2, .m = 4), EG_EINVAL, "none of the 1 parameters");
    EGT_REFUSED(eg_prune(list, .n = 2, .m = 4, .axis = 2), EG_EINVAL, "none of the 1 parameters");
    EGT_REFUSED(eg_prune(list, .density = 0.5, .name = "x"), EG_EINVAL, "none of the 1 parameters");
    EGT_REFUSED(eg_prune(((eg_parameters){0}), .density = 0.5), EG_EINVAL, "parameters");
    EGT_CHECK(isnan(eg_density(list, .min_axes = 3)));
    EGT_REFUSED(eg_density(list, .min_axes = 3), EG_EINVAL, "none of the 1 parameters");
    eg_tensor *whole = eg_ones(EG_SHAPE(2, 2), EG_I32);
    EGT_REFUSED(eg_prune(((eg_parameters){&whole, NULL, 1}), .density = 0.5), EG_EINVAL, "contiguous float");
    eg_tape tape = eg_tape_open();
    EGT_REFUSED(eg_prune(list, .density = 0.5), EG_ESTATE, "a tape records");
    eg_tape_close(tape);
    EGT_CHECK(egt_same_bits(p, before));
}

static bool prune_all(void *user)
{
    eg_tensor **p = user;
    const bool done = !eg_prune(((eg_parameters){p, NULL, 2}), .density = 0.5, .global = true);
    for (int i = 0; i < 2 && !done; i++) {
        const float *v = eg_data(p[i]);
        for (int64_t k = 0; k < eg_numel(p[i]); k++) {
            EGT_CHECK(v[k] != 0);
        }
    }
    return done;
}

EGT(no_memory)
{
    eg_tensor *p[2] = {egt_random(EG_SHAPE(40, 50), EG_F32, 1, 2), egt_random(EG_SHAPE(30, 50), EG_F32, 1, 2)};
    EGT_CHECK(egt_fail_allocations(prune_all, p) > 0);
    EGT_EQ(eg_density(((eg_parameters){p, NULL, 2})), 0.5);
}

/* ---- kept ------------------------------------------------------------------------------------ */

#define MAKE(name, op, form, ...)          \
    static eg_optim *name(eg_parameters p) \
    {                                      \
        return __VA_ARGS__;                \
    }
OPTIMIZERS(MAKE)

typedef struct row {
    const char *name;
    eg_optim *(*make)(eg_parameters p);
} row;
#define ROW(name, ...) {#name, name},
static const row rows[] = {OPTIMIZERS(ROW)};
enum { ROWS = (int)(sizeof rows / sizeof *rows), N = 700 };

/* Pruned between steps, when there is momentum; what is left moves as if nothing had been. */
static void zeros_stay(const row *r, eg_dtype dtype)
{
    eg_tensor *p = eg_parameter(egt_random(EG_SHAPE(7, N / 7), dtype, 0.1, 1));
    eg_tensor *q = eg_parameter(eg_copy(eg_detach(p)));
    eg_optim *a = r->make((eg_parameters){&p, NULL, 1}), *b = r->make((eg_parameters){&q, NULL, 1});
    EGT_OK(eg_optim_group(a, .weight_decay = 0.02, .keep_zeros = true));
    EGT_OK(eg_optim_group(b, .weight_decay = 0.02));
    for (int t = 0; t < 6; t++) {
        if (t == 2 || t == 4) {
            EGT_OK(eg_prune(((eg_parameters){&p, NULL, 1}), .density = 1 - t / 6.0));
        }
        eg_tensor *gone = eg_eq(eg_detach(p), eg_scalar(0, dtype));
        eg_tensor *g = egt_random(EG_SHAPE(7, N / 7), dtype, -1, 1);
        EGT_OK(eg_optim_step(a, &g));
        EGT_OK(eg_optim_step(b, &g));
        eg_tensor *expected = eg_masked_fill(eg_detach(q), gone, 0);
        const bool stayed = eg_get(eg_max(eg_mul(eg_abs(eg_detach(p)), eg_cast(gone, dtype))), 0) == 0;
        if (!stayed || egt_distance(eg_detach(p), expected) > (dtype == EG_F64 ? 1e-15 : 1e-6)) {
            egt_fail(__FILE__, __LINE__, "%s, %s, step %d", r->name, eg_dtype_name(dtype), t);
        }
    }
    EGT_NEAR(eg_density(((eg_parameters){&p, NULL, 1})), 1.0 / 3, 1e-2);
    eg_optim_free(a);
    eg_optim_free(b);
    eg_release(p);
    eg_release(q);
}

EGT(every_rule_keeps_zeros)
{
    for (int i = 0; i < ROWS; i++) {
        EG_SCOPE {
            zeros_stay(&rows[i], EG_F32);
            zeros_stay(&rows[i], EG_F64);
            EGT_OK(eg_debug("ref"));
            zeros_stay(&rows[i], EG_F32);
            EGT_OK(eg_debug(NULL));
        }
    }
}

/* The master in f32 of what is left is not rounded when others go: steps too small for a half still add up. */
EGT(masters_of_halves_are_kept_too)
{
    for (int k = 0; k < 2; k++) {
        const eg_dtype dtype = k ? EG_BF16 : EG_F16;
        eg_tensor *p = eg_parameter(eg_full(EG_SHAPE(2, 40), 2, dtype)), *g = eg_ones(EG_SHAPE(2, 40), dtype);
        EGT_OK(eg_set(p, 5, 1));
        eg_optim *o = eg_sgd_new(((eg_parameters){&p, NULL, 1}), .lr = 1e-4);
        EGT_OK(eg_optim_group(o, .keep_zeros = true));
        for (int t = 0; t < 200; t++) {
            if (t % 10 == 0) {
                EGT_OK(eg_prune(((eg_parameters){&p, NULL, 1}), .density = 79.0 / 80));
            }
            EGT_OK(eg_optim_step(o, &g));
        }
        EGT_EQ(eg_get(p, 5), 0);
        EGT_NEAR(eg_get(p, 17), 1.98, k ? 4e-3 : 5e-4);
        eg_optim_free(o);
        eg_release(p);
    }
}

/* Weights in f32 that are multiplied in halves. */
EGT(with_mixed_precision)
{
    eg_module *net = eg_sequential_new(eg_conv2d_new(4, 8, .kernel = 3, .padding = EG_SAME), eg_activation_new(eg_relu),
                                       eg_flatten_new(), eg_linear_new(8 * 36, 3));
    eg_optim *o = eg_sgd_new(eg_module_parameters(net), .lr = 1e-3, .momentum = 0.9);
    eg_scaler *scaler = eg_scaler_new();
    EGT_OK(eg_optim_group(o, .min_axes = 2, .keep_zeros = true));
    EGT_OK(eg_prune(eg_module_parameters(net), .n = 2, .m = 4));
    for (int t = 0; t < 5; t++) {
        EG_SCOPE {
            eg_tape tape = eg_tape_open();
            eg_tensor *loss = NULL;
            EG_AUTOCAST(EG_F16) {
                loss = eg_mean(eg_square(eg_module_forward(net, egt_random(EG_SHAPE(2, 4, 6, 6), EG_F32, -1, 1))));
            }
            EGT_OK(eg_scaler_minimize(scaler, o, tape, loss));
        }
    }
    EGT_EQ(eg_density(eg_module_parameters(net)), 0.5);
    EGT_EQ(eg_density(eg_module_parameters(net), .min_axes = 1, .max_axes = 1), 1);
    eg_scaler_free(scaler);
    eg_optim_free(o);
    eg_module_free(net);
}

/* ---- in the course of steps ------------------------------------------------------------------ */

static void step_of_ones(eg_optim *o, eg_tensor **p, int n)
{
    EG_SCOPE {
        eg_tensor *g[3];
        for (int i = 0; i < n; i++) {
            g[i] = eg_mul_scalar(eg_ones_like(eg_detach(p[i])), 0.5);
        }
        EGT_OK(eg_optim_step(o, g));
    }
}

EGT(a_plan_is_followed)
{
    const eg_schedule plan =
        EG_SCHEDULE(.kind = EG_RATE_POLYNOMIAL, .power = 3, .lr = 1, .end = 0.1, .start = 4, .steps = 8);
    eg_tensor *p[2];
    for (int i = 0; i < 2; i++) {
        p[i] = eg_parameter(egt_random(EG_SHAPE(20, 50), EG_F64, 1, 2));
    }
    static const char *const names[] = {"first.weight", "last.weight"};
    eg_optim *o = eg_sgd_new(((eg_parameters){p, names, 2}), .lr = 1e-3);
    char name[] = "first";
    EGT_OK(eg_optim_prune(o, &plan, .every = 2, .name = name));
    name[0] = 'x';
    for (int t = 0; t < 20; t++) {
        step_of_ones(o, p, 2);
        EGT_NEAR(eg_density(((eg_parameters){p, NULL, 1})), eg_schedule_at(&plan, t - t % 2), 1e-3);
    }
    EGT_EQ(eg_density(((eg_parameters){p + 1, NULL, 1})), 1);
    eg_optim_free(o);
    eg_release(p[0]);
    eg_release(p[1]);
}

/* Between two steps before which more go, what is left is what there was at the earlier one. */
EGT(a_run_that_goes_on)
{
    const eg_schedule plan =
        EG_SCHEDULE(.kind = EG_RATE_POLYNOMIAL, .power = 1, .lr = 1, .end = 0.2, .start = 0, .steps = 12);
    eg_tensor *p = eg_parameter(egt_random(EG_SHAPE(20, 50), EG_F64, 1, 2)), *q = eg_parameter(eg_copy(eg_detach(p)));
    eg_optim *o = eg_adam_new(((eg_parameters){&p, NULL, 1}), .lr = 1e-3), *later = NULL;
    EGT_OK(eg_optim_prune(o, &plan, .every = 4));
    for (int t = 0; t < 11; t++) {
        if (t == 6) {
            eg_tensors *state = eg_optim_state(o);
            later = eg_adam_new(((eg_parameters){&q, NULL, 1}), .lr = 1e-3);
            EGT_CHECK(state && later && eg_copy_(q, eg_detach(p)));
            EGT_OK(eg_optim_load_state(later, state));
            EGT_OK(eg_optim_prune(later, &plan, .every = 4));
            eg_tensors_free(state);
        }
        step_of_ones(o, &p, 1);
        if (later) {
            step_of_ones(later, &q, 1);
            EGT_CHECK(egt_same_bits(eg_detach(p), eg_detach(q)));
        }
    }
    EGT_NEAR(eg_density(((eg_parameters){&q, NULL, 1})), eg_schedule_at(&plan, 8), 1e-3);
    eg_optim_free(o);
    eg_optim_free(later);
    eg_release(p);
    eg_release(q);
}

/* Rates and decays of groups are what they were, of those that are pruned and of others. */
EGT(groups_have_what_they_had)
{
    eg_tensor *p[3];
    static const char *const names[] = {"a.weight", "b.weight", "b.bias"};
    for (int i = 0; i < 3; i++) {
        p[i] = eg_parameter(eg_full(i < 2 ? EG_SHAPE(2, 4) : EG_SHAPE(4), 1, EG_F64));
        if (i < 2) {
            EGT_OK(eg_set(p[i], 3, 2));
        }
    }
    eg_optim *o = eg_sgd_new(((eg_parameters){p, names, 3}), .lr = 0.1);
    EGT_OK(eg_optim_group(o, .name = "b.", .lr_scale = 2, .weight_decay = 0.5));
    EGT_OK(eg_optim_prune(o, NULL, .n = 1, .m = 4, .begin = 1));
    step_of_ones(o, p, 3); /* the first, before which nothing goes */
    EGT_EQ(eg_density(((eg_parameters){p, NULL, 2})), 1);
    step_of_ones(o, p, 3);
    EGT_EQ(eg_density(((eg_parameters){p, NULL, 2})), 0.25);
    EGT_NEAR(eg_get(p[0], 3), 1.9, 1e-12);
    EGT_NEAR(eg_get(p[1], 3), (2 * 0.9 - 0.1) * 0.9 - 0.1, 1e-12);
    EGT_NEAR(eg_get(p[2], 3), (0.9 - 0.1) * 0.9 - 0.1, 1e-12);
    EGT_EQ(eg_get(p[1], 2), 0);
    eg_optim_free(o);
    for (int i = 0; i < 3; i++) {
        eg_release(p[i]);
    }
}

/* As many groups as there may be, all but one or none of which are free. */
EGT(groups_there_is_no_room_for)
{
    enum { MANY = 63 };
    static char words[MANY][8];
    const char *names[MANY];
    eg_tensor *p[MANY];
    for (int i = 0; i < MANY; i++) {
        snprintf(words[i], sizeof words[i], "p%02d", i);
        names[i] = words[i];
        p[i] = eg_parameter(egt_random(EG_SHAPE(2, 2), EG_F32, 1, 2));
    }
    eg_optim *o = eg_sgd_new(((eg_parameters){p, names, MANY}), .lr = 1e-3);
    for (int i = 0; i < MANY - 1; i++) {
        EGT_OK(eg_optim_group(o, .name = words[i], .lr_scale = 1 + i));
    }
    EGT_REFUSED(eg_optim_prune(o, NULL, .density = 0.5), EG_EINVAL, "no room");
    EGT_EQ(eg_density(((eg_parameters){p, NULL, MANY})), 1);
    EGT_OK(eg_optim_prune(o, NULL, .density = 0.5, .name = "p03"));
    EGT_EQ(eg_density(((eg_parameters){p + 3, NULL, 1})), 0.5);
    eg_optim_free(o);
    for (int i = 0; i < MANY; i++) {
        eg_release(p[i]);
    }
}

EGT(what_pruning_in_steps_refuses)
{
    eg_tensor *p = eg_parameter(egt_random(EG_SHAPE(4, 6), EG_F32, 1, 2));
    const eg_schedule plan = EG_SCHEDULE(.kind = EG_RATE_FIXED, .lr = 0.5), steep = EG_SCHEDULE(.lr = 2), none = {0};
    eg_optim *o = eg_sgd_new(((eg_parameters){&p, NULL, 1})), *whole = eg_lbfgs_new(((eg_parameters){&p, NULL, 1}));
    EGT_REFUSED(eg_optim_prune(o, NULL), EG_EINVAL, "density is 0");
    EGT_REFUSED(eg_optim_prune(o, &plan, .density = 0.5), EG_EINVAL, "instead of density");
    EGT_REFUSED(eg_optim_prune(o, &none), EG_EINVAL, "lr");
    EGT_REFUSED(eg_optim_prune(o, &steep), EG_EINVAL, "density of step 0 is 2");
    EGT_REFUSED(eg_optim_prune(o, NULL, .density = 0.5, .begin = -1), EG_EINVAL, "begin is -1");
    EGT_REFUSED(eg_optim_prune(o, NULL, .density = 0.5, .every = -1), EG_EINVAL, "every -1");
    EGT_REFUSED(eg_optim_prune(o, NULL, .density = 0.5, .min_axes = 3), EG_EINVAL, "none of the 1");
    EGT_REFUSED(eg_optim_prune(o, NULL, .n = 2, .m = 4), EG_EINVAL, "none of the 1");
    EGT_REFUSED(eg_optim_prune(whole, NULL, .density = 0.5), EG_EINVAL, "lbfgs");
    EGT_REFUSED(eg_optim_prune(NULL, NULL, .density = 0.5), EG_EINVAL, "optim");
    EGT_EQ(eg_density(((eg_parameters){&p, NULL, 1})), 1);
    EGT_OK(eg_optim_prune(o, NULL, .density = 0.5));
    EGT_OK(eg_optim_prune(o, NULL, .n = 1, .m = 3));
    EGT_NEAR(eg_density(((eg_parameters){&p, NULL, 1})), 1.0 / 3, 0.05);
    eg_optim_free(o);
    eg_optim_free(whole);
    eg_release(p);
}

/* ---- training -------------------------------------------------------------------------------- */

static eg_optim *torch_sgd(eg_parameters p)
{
    return eg_sgd_new(p, .lr = 0.05, .momentum = 0.9, .nesterov = true, .weight_decay = 0.01);
}

static eg_optim *torch_adam(eg_parameters p)
{
    return eg_adam_new(p, .lr = 0.02, .weight_decay = 0.01);
}

static eg_optim *torch_adamw(eg_parameters p)
{
    return eg_adam_new(p, .lr = 0.02, .weight_decay = 0.1, .decoupled = true);
}

static eg_optim *torch_rmsprop(eg_parameters p)
{
    return eg_rmsprop_new(p, .lr = 0.01, .momentum = 0.9, .weight_decay = 0.01);
}

static void trains_as_torch(const eg_tensors *file, const row *r)
{
    eg_tensor *p[4], *x = eg_tensors_get(file, "x"), *y = eg_tensors_get(file, "y");
    for (int i = 0; i < 4; i++) {
        p[i] = eg_parameter(eg_copy(stored(file, "%s.%d", "first", i)));
    }
    eg_optim *o = r->make((eg_parameters){p, NULL, 4});
    EGT_OK(eg_optim_group(o, .min_axes = 2, .weight_decay = r->make == torch_adamw ? 0.1 : 0.01, .keep_zeros = true));
    for (int t = 0; t < 9; t++) {
        if (t % 3 == 0) {
            EGT_OK(eg_prune(((eg_parameters){p, NULL, 4}), .density = (double[]){0.7, 0.4, 0.2}[t / 3]));
        }
        EG_SCOPE {
            eg_tape tape = eg_tape_open();
            eg_tensor *found = eg_linear(eg_tanh(eg_linear(x, p[0], p[1])), p[2], p[3]);
            eg_tensor *loss = eg_mean(eg_square(eg_sub(found, y)));
            EGT_NEAR(eg_get(loss, 0), eg_get(stored(file, "%s.loss.%d", r->name, t), 0), 1e-12);
            EGT_OK(eg_optim_minimize(o, tape, loss));
        }
    }
    for (int i = 0; i < 4; i++) {
        EGT_CHECK(egt_distance(eg_detach(p[i]), stored(file, "%s.%d", r->name, i)) < 1e-12);
        eg_release(p[i]);
    }
    eg_optim_free(o);
}

EGT(trains_as_torch_does_with_masks)
{
    static const row torchs[] = {
        {"sgd", torch_sgd}, {"adam", torch_adam}, {"adamw", torch_adamw}, {"rmsprop", torch_rmsprop}};
    eg_tensors *file = eg_tensors_open("tests/golden/pruning.safetensors");
    EGT_CHECK(file);
    for (size_t i = 0; i < sizeof torchs / sizeof *torchs; i++) {
        trains_as_torch(file, &torchs[i]);
    }
    eg_tensors_free(file);
}
