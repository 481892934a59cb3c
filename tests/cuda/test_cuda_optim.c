/* test_cuda_optim.c - optimizers on an emulated device: what a step asks of it, that nobody waits, and that the
 * numbers are the CPU's. */
#include "tests/cuda/module.h"

enum { MANY = 50 };

/* The same parameters here and there. */
typedef struct pair {
    int n;
    eg_tensor *p[2][MANY], *g[2][MANY];
} pair;

static eg_shape shape_of(int i)
{
    return i % 3 == 0 ? EG_SHAPE(7, i + 1) : i % 3 == 1 ? EG_SHAPE(40 * i + 3) : EG_SHAPE(2, 3, i);
}

static pair make(int n, eg_dtype dtype)
{
    pair k = {.n = n};
    for (int i = 0; i < n; i++) {
        eg_tensor *p = eg_cast(egt_random(shape_of(i), EG_F32, -1, 1), dtype);
        eg_tensor *g = eg_cast(egt_random(shape_of(i), EG_F32, -1, 1), dtype);
        for (int there = 0; there < 2; there++) {
            eg_device *d = there ? emulated(0) : eg_cpu();
            k.p[there][i] = eg_parameter(eg_to(eg_copy(p), d));
            k.g[there][i] = eg_to(g, d);
        }
    }
    return k;
}

static void release(pair *k)
{
    for (int i = 0; i < 2 * k->n; i++) {
        eg_release(k->p[i % 2][i / 2]);
    }
}

#define LIST(k, there) ((eg_parameters){(k).p[there], NULL, (k).n})

static void check_same(const pair *k, double most)
{
    for (int i = 0; i < k->n; i++) {
        double apart = egt_distance(eg_to(k->p[1][i], eg_cpu()), k->p[0][i]);
        if (!(apart <= most)) {
            egt_fail(__FILE__, __LINE__, "parameter %d is %g apart", i, apart);
        }
    }
}

static void set_all(pair *k, int i, int64_t at, double value)
{
    for (int there = 0; there < 2; there++) {
        EGT_OK(eg_set(k->g[there][i], at, value));
    }
}

static eg_fake_counts counts(void)
{
    return FAKE(eg_fake_read)();
}

static void zero(void)
{
    FAKE(eg_fake_zero)();
}

/* ---- counters ------------------------------------------------------------------------------------------ */

static void check_quiet(eg_fake_counts c, int64_t launches)
{
    EGT_CHECK(c.launches <= launches);
    EGT_EQ(c.mallocs + c.creates + c.host_allocs, 0);
    EGT_EQ(c.syncs, 0);
    EGT_EQ(c.copies_in + c.copies_out, 0);
}

EGT(a_step_is_one_kernel)
{
    pair k = make(MANY, EG_F32);
    eg_optim *o = eg_adam_new(LIST(k, 1));
    for (int i = 0; i < 2; i++) {
        EGT_OK(eg_optim_step(o, k.g[1]));
    }
    zero();
    for (int i = 0; i < 5; i++) {
        EGT_OK(eg_optim_step(o, k.g[1]));
    }
    check_quiet(counts(), 5);
    EGT_OK(eg_optim_clip_norm(o, 1));
    EGT_OK(eg_optim_step(o, k.g[1]));
    zero();
    for (int i = 0; i < 5; i++) {
        EGT_OK(eg_optim_step(o, k.g[1]));
    }
    check_quiet(counts(), 15);
    EGT_EQ(eg_optim_steps(o), 13);
    eg_optim_free(o);
    release(&k);
}

static eg_tensor *loss_of(const pair *k, int there)
{
    eg_tensor *sum = NULL;
    for (int i = 0; i < k->n; i++) {
        eg_tensor *one = eg_sum(eg_mul(k->p[there][i], k->g[there][i]));
        sum = sum ? eg_add(sum, one) : one;
    }
    return sum;
}

static void scaled_step(eg_scaler *s, eg_optim *o, const pair *k, int there, bool quiet)
{
    EG_SCOPE {
        eg_tape tape = eg_tape_open();
        eg_tensor *loss = loss_of(k, there);
        if (quiet) {
            zero();
        }
        EGT_OK(eg_scaler_minimize(s, o, tape, loss));
    }
}

EGT(a_scaled_and_clipped_step_waits_for_nobody)
{
    pair k = make(MANY, EG_F32);
    eg_optim *o = eg_adam_new(LIST(k, 1));
    eg_scaler *s = eg_scaler_new(.start = 1024);
    eg_fake_counts bare, scaled;
    EGT_OK(eg_optim_clip_norm(o, 1));
    for (int i = 0; i < 3; i++) {
        scaled_step(s, o, &k, 1, false);
    }
    EG_SCOPE /* what the walk alone asks for */
    {
        eg_tensor *g[MANY], *dy = eg_to(eg_scalar(1024, EG_F32), emulated(0));
        eg_tape tape = eg_tape_open();
        eg_tensor *loss = loss_of(&k, 1);
        zero();
        EGT_OK(eg_tape_gradients(tape, loss, k.p[1], k.n, g, .dy = dy));
        bare = counts();
    }
    scaled_step(s, o, &k, 1, true);
    scaled = counts();
    EGT_CHECK(scaled.launches <= bare.launches + 4); /* the scale in the loss's dtype is one */
    EGT_EQ(scaled.mallocs + scaled.creates + scaled.host_allocs, 0);
    EGT_EQ(scaled.syncs, bare.syncs);
    EGT_EQ(scaled.copies_out, 0);
    EGT_EQ(eg_scaler_skipped(s), 0);
    eg_scaler_free(s);
    eg_optim_free(o);
    release(&k);
}

EGT(more_tensors_than_a_launch_takes)
{
    enum { N = 700 };
    eg_tensor *p[N], *g[N];
    for (int i = 0; i < N; i++) {
        p[i] = eg_parameter(eg_to(eg_full(EG_SHAPE(i % 5 + 1), i, EG_F32), emulated(0)));
        g[i] = i % 7 ? eg_ones_like(p[i]) : NULL;
    }
    eg_optim *o = eg_sgd_new(((eg_parameters){p, NULL, N}), .lr = 1);
    zero();
    EGT_OK(eg_optim_step(o, g));
    EGT_EQ(counts().launches, 2);
    for (int i = 0; i < N; i++) {
        EGT_EQ(eg_get(p[i], i % 5), i % 7 ? i - 1 : i);
    }
    double norm = 0;
    EGT_OK(eg_clip_grad_norm(g, N, 1e9, &norm, .p = 1));
    int64_t elements = 0;
    for (int i = 0; i < N; i++) {
        elements += i % 7 ? eg_numel(g[i]) : 0;
    }
    EGT_EQ(norm, (double)elements);
    eg_optim_free(o);
    for (int i = 0; i < N; i++) {
        eg_release(p[i]);
    }
}

/* ---- numbers ----------------------------------------------------------------------------------------------- */

EGT(long_and_odd_parameters)
{
    static const int64_t sizes[4] = {4096, 4097, 70001, 16384 * 3 + 5};
    for (int i = 0; i < 4; i++) {
        eg_tensor *wide = egt_random(EG_SHAPE(sizes[i] + 1), EG_F32, -1, 1);
        eg_tensor *g = egt_random(EG_SHAPE(sizes[i]), EG_F32, -1, 1);
        eg_tensor *p[2][2]; /* whole, and a view that no access of 16 bytes fits */
        for (int there = 0; there < 2; there++) {
            eg_tensor *w = eg_to(eg_copy(wide), there ? emulated(0) : eg_cpu());
            p[there][0] = eg_parameter(eg_copy(eg_slice(w, 0, 0, sizes[i], 1)));
            p[there][1] = eg_parameter(eg_slice(w, 0, 1, EG_END, 1));
            eg_tensor *both[2] = {eg_to(g, eg_device_of(w)), eg_to(g, eg_device_of(w))};
            eg_optim *o = eg_adam_new(((eg_parameters){p[there], NULL, 2}), .lr = 0.1);
            double norm;
            EGT_OK(eg_optim_clip_norm(o, 0.5));
            EGT_OK(eg_optim_step(o, both));
            EGT_OK(eg_optim_step(o, both));
            norm = eg_optim_grad_norm(o);
            EGT_CHECK(norm > 0.5);
            eg_optim_free(o);
        }
        EGT_CHECK(egt_distance(eg_to(p[1][0], eg_cpu()), p[0][0]) < 1e-6);
        EGT_CHECK(egt_distance(eg_to(p[1][1], eg_cpu()), p[0][1]) < 1e-6);
        for (int k = 0; k < 4; k++) {
            eg_release(p[k / 2][k % 2]);
        }
    }
}

/* Rows for a warp, for the block, many to a block. */
EGT(lazy_rows)
{
    static const int64_t widths[] = {1, 5, 64, 1025, 5000};
    for (int i = 0; i < 5; i++) {
        eg_tensor *start = egt_random(EG_SHAPE(37, widths[i]), EG_F32, -1, 1);
        eg_tensor *rows = eg_cast(eg_gt(egt_random(EG_SHAPE(37, 1), EG_F32, -1, 1), eg_scalar(0, EG_F32)), EG_F32);
        eg_tensor *g = eg_mul(egt_random(EG_SHAPE(37, widths[i]), EG_F32, 0.5, 1), rows), *p[2];
        for (int there = 0; there < 2; there++) {
            p[there] = eg_parameter(eg_to(eg_copy(start), there ? emulated(0) : eg_cpu()));
            eg_tensor *slope = eg_to(g, eg_device_of(p[there]));
            eg_optim *o = eg_adam_new(((eg_parameters){&p[there], NULL, 1}), .lr = 0.1, .lazy = true);
            EGT_OK(eg_optim_step(o, &slope));
            EGT_OK(eg_optim_step(o, &slope));
            eg_optim_free(o);
        }
        EGT_CHECK(egt_distance(eg_to(p[1], eg_cpu()), p[0]) < 1e-6);
        EGT_CHECK(egt_distance(p[0], start) > 0.01);
        eg_release(p[0]);
        eg_release(p[1]);
    }
}

/* ---- gradients that are not finite ------------------------------------------------------------------------- */

/* Skipped steps are not counted, so that later ones are the CPU's, whoever knows of them when. */
EGT(skipped_steps_are_taken_back)
{
    const eg_schedule rates = EG_SCHEDULE(.kind = EG_RATE_POLYNOMIAL, .lr = 0.1, .steps = 40);
    for (int rule = 0; rule < 4; rule++) {
        pair k = make(5, EG_F32);
        int64_t steps[2], skipped[2];
        double scale[2];
        for (int there = 0; there < 2; there++) {
            eg_parameters list = LIST(k, there);
            eg_optim *o = rule == 0   ? eg_adam_new(list, .lr = 0.1)
                          : rule == 1 ? eg_nadam_new(list, .lr = 0.1)
                          : rule == 2 ? eg_radam_new(list, .lr = 0.1)
                                      : eg_ftrl_new(list, .lr = 0.1);
            eg_scaler *s = eg_scaler_new(.start = 64, .interval = 6);
            if (rule != 1) {
                EGT_OK(eg_optim_follow(o, &rates));
            }
            EGT_OK(eg_optim_group(o, .max_axes = 1, .lr_scale = 0.5));
            EGT_OK(eg_optim_clip_norm(o, 3));
            double good = eg_get(k.g[0][1], 2);
            for (int i = 0; i < 30; i++) {
                EGT_OK(eg_set(k.g[there][1], 2, i < 2 || i % 9 == 4 ? (double)INFINITY : good));
                scaled_step(s, o, &k, there, false);
            }
            EGT_OK(eg_set(k.g[there][1], 2, good));
            steps[there] = eg_optim_steps(o);
            skipped[there] = eg_scaler_skipped(s);
            scale[there] = eg_scaler_scale(s);
            eg_scaler_free(s);
            eg_optim_free(o);
        }
        EGT_EQ(steps[0], 25);
        EGT_EQ(steps[1], 25);
        EGT_EQ(skipped[0], 5);
        EGT_EQ(skipped[1], 5);
        EGT_EQ(scale[1], scale[0]);
        check_same(&k, 2e-6);
        release(&k);
    }
}

EGT(a_norm_that_is_not_finite_moves_nothing_and_is_said_later)
{
    pair k = make(3, EG_F32);
    eg_optim *o = eg_adam_new(LIST(k, 1), .lr = 0.1);
    eg_tensor *before = eg_copy(eg_to(k.p[1][1], eg_cpu()));
    EGT_OK(eg_optim_clip_norm(o, 1));
    set_all(&k, 0, 0, (double)INFINITY);
    EGT_OK(eg_optim_step(o, k.g[1]));
    EGT_CHECK(isinf(eg_optim_grad_norm(o)));
    EGT_EQ(eg_optim_steps(o), 0);
    EGT_CHECK(egt_distance(eg_to(k.p[1][1], eg_cpu()), before) == 0);
    set_all(&k, 0, 0, 1);
    int64_t done = 0;
    eg_status st = EG_OK;
    for (; done < 40 && !st; done++) {
        st = eg_optim_step(o, k.g[1]);
    }
    EGT_EQ(st, EG_EINVAL);
    EGT_CHECK(egt_said(EG_EINVAL, "1 have moved nothing"));
    EGT_CHECK(done > 1 && done <= 16);
    EGT_EQ(eg_optim_steps(o), done - 1);
    EGT_OK(eg_optim_step(o, k.g[1]));
    EGT_EQ(eg_optim_steps(o), done);
    eg_optim_free(o);
    release(&k);
}

EGT(a_hopeless_loss_is_said_later)
{
    pair k = make(2, EG_F32);
    eg_optim *o = eg_sgd_new(LIST(k, 1));
    eg_scaler *s = eg_scaler_new(.start = 0x1p-24);
    set_all(&k, 1, 0, (double)NAN);
    eg_status st = EG_OK;
    for (int i = 0; i < 16 && !st; i++) {
        EG_SCOPE {
            eg_tape tape = eg_tape_open();
            st = eg_scaler_minimize(s, o, tape, loss_of(&k, 1));
        }
    }
    EGT_CHECK(st == EG_EINVAL && egt_said(EG_EINVAL, "not finite even at a scale"));
    EGT_EQ(eg_optim_steps(o), 0);
    EGT_EQ(eg_scaler_scale(s), 0x1p-24);
    eg_scaler_free(s);
    eg_optim_free(o);
    release(&k);
}

/* ---- state and devices ---------------------------------------------------------------------------------------- */

/* Saved on a device, goes on on the CPU, and the other way. */
EGT(state_goes_through_files_between_devices)
{
    for (int from = 0; from < 2; from++) {
        pair k = make(4, EG_BF16);
        eg_optim *o[2];
        for (int there = 0; there < 2; there++) {
            o[there] = eg_adam_new(LIST(k, there), .lr = 0.01);
        }
        EGT_OK(eg_optim_step(o[from], k.g[from]));
        EGT_OK(eg_optim_step(o[from], k.g[from]));
        eg_tensors *state = eg_optim_state(o[from]);
        EGT_OK(eg_safetensors_save(state, egt_path("state.safetensors")));
        eg_tensors_free(state);
        state = eg_safetensors_load(egt_path("state.safetensors"));
        EGT_OK(eg_optim_load_state(o[!from], state));
        eg_tensors_free(state);
        for (int i = 0; i < k.n; i++) {
            EGT_CHECK(eg_copy_(k.p[!from][i], eg_to(k.p[from][i], eg_device_of(k.p[!from][i]))) != NULL);
        }
        for (int there = 0; there < 2; there++) {
            EGT_OK(eg_optim_step(o[there], k.g[there]));
            EGT_EQ(eg_optim_steps(o[there]), 3);
        }
        check_same(&k, 0);
        eg_optim_free(o[0]);
        eg_optim_free(o[1]);
        release(&k);
    }
}

EGT(averages)
{
    pair k = make(4, EG_F16);
    eg_ema *e[2] = {eg_ema_new(LIST(k, 0), .warm_up = true), eg_ema_new(LIST(k, 1), .warm_up = true)};
    for (int there = 0; there < 2; there++) {
        for (int i = 0; i < k.n; i++) {
            EGT_CHECK(eg_mul_(k.p[there][i], eg_scalar(2, EG_F16)) != NULL);
        }
        EGT_OK(eg_ema_update(e[there]));
        EGT_OK(eg_ema_swap(e[there]));
    }
    check_same(&k, 1e-6);
    for (int there = 0; there < 2; there++) {
        EGT_OK(eg_ema_swap(e[there]));
        eg_ema_free(e[there]);
    }
    check_same(&k, 0);
    release(&k);
}

/* Whatever fails, there or back: afterwards it is as before. */
EGT(a_failed_swap_changes_nothing)
{
    static const char *const functions[] = {"cudaLaunchKernel", "cudaMemcpyAsync"};
    pair k = make(3, EG_F16);
    eg_ema *e = eg_ema_new(LIST(k, 1));
    for (int i = 0; i < k.n; i++) {
        for (int there = 0; there < 2; there++) {
            EGT_CHECK(eg_mul_(k.p[there][i], eg_scalar(2, EG_F16)) != NULL);
        }
    }
    for (int way = 0; way < 4; way++) {
        const bool back = way % 2;
        bool failed = true;
        for (int nth = 1; failed; nth++) {
            EGT_OK(back ? eg_ema_swap(e) : EG_OK);
            FAKE(eg_fake_fail)(functions[way / 2], nth, cudaErrorLaunchOutOfResources);
            failed = eg_ema_swap(e) != EG_OK;
            FAKE(eg_fake_mend)();
            EGT_EQ(eg_ema_swapped(e), back == failed);
            EGT_OK(eg_ema_swapped(e) ? eg_ema_swap(e) : EG_OK);
            check_same(&k, 0);
        }
    }
    eg_clear_error();
    eg_ema_free(e);
    release(&k);
}

/* The same parameter here and there, in one optimizer: both take the same step; a gradient is where its parameter is.
 */
EGT(parameters_of_two_devices)
{
    pair k = make(1, EG_F32);
    eg_tensor *both[2] = {k.p[0][0], k.p[1][0]}, *g[2] = {k.g[0][0], k.g[1][0]}, *wrong[2] = {k.g[0][0], k.g[0][0]};
    eg_optim *o = eg_adam_new(((eg_parameters){both, NULL, 2}));
    EGT_OK(eg_optim_clip_norm(o, 0.1));
    EGT_REFUSED(eg_optim_step(o, wrong), EG_EDEVICE, "parameter 1 is on cuda:0, its gradient on cpu");
    for (int s = 0; s < 3; s++) {
        EGT_OK(eg_optim_step(o, g));
    }
    EGT_EQ(eg_optim_steps(o), 3);
    check_same(&k, 1e-6);
    eg_optim_free(o);
    release(&k);
}

/* ---- modules --------------------------------------------------------------------------------------------------- */

static eg_module *net(void)
{
    return eg_sequential_new(eg_linear_new(6, 8), eg_activation_new(eg_tanh), eg_linear_new(8, 2));
}

EGT(half_a_module_moves_under_its_averages)
{
    eg_module *last = eg_linear_new(8, 2), *m = eg_sequential_new(eg_linear_new(6, 8), last);
    eg_ema *e = eg_ema_new(eg_module_parameters(m));
    EGT_OK(eg_module_to_device(last, emulated(0)));
    EGT_OK(eg_ema_update(e));
    EGT_OK(eg_module_to_device(m, emulated(0)));
    EGT_OK(eg_ema_update(e));
    eg_ema_free(e);
    eg_module_free(m);
}

EGT(a_module_moves_under_its_optimizer)
{
    eg_module *m = net();
    eg_parameters p = eg_module_parameters(m);
    eg_tensor *first = p.tensors[0], *before = eg_copy(first);
    eg_tensor *g[2][4];
    for (int i = 0; i < p.count; i++) {
        g[0][i] = egt_random(eg_shape_of(p.tensors[i]), EG_F32, -1, 1);
        g[1][i] = eg_to(g[0][i], emulated(0));
    }
    eg_optim *o = eg_adam_new(p);
    eg_ema *e = eg_ema_new(p);
    EGT_OK(eg_optim_step(o, g[0]));
    EGT_OK(eg_module_to_device(m, emulated(0)));
    EGT_CHECK(eg_module_parameters(m).tensors[0] == first && eg_device_of(first) == emulated(0));
    EGT_CHECK(eg_is_parameter(first));
    EGT_OK(eg_optim_step(o, g[1]));
    EGT_OK(eg_ema_update(e));
    EGT_REFUSED(eg_optim_step(o, g[0]), EG_EDEVICE, "gradient on cpu");
    EGT_OK(eg_module_to_device(m, eg_cpu()));
    EGT_OK(eg_optim_step(o, g[0]));
    EGT_EQ(eg_optim_steps(o), 3);
    EGT_CHECK(egt_distance(first, before) > 1e-4);
    eg_ema_free(e);
    eg_optim_free(o);
    EGT_OK(eg_module_free(m));
}

/* There and, with all the memory it asks for, back. */
static bool job(void *user)
{
    if (eg_module_to_device(user, emulated(0))) {
        return false;
    }
    eg_debug_fail_alloc(0);
    return !eg_module_to_device(user, eg_cpu());
}

EGT(a_move_is_all_or_nothing)
{
    eg_module *m = net();
    eg_tensor *first = eg_module_parameters(m).tensors[0];
    eg_tape tape = eg_tape_open();
    eg_tensor *y = eg_square(first);
    EGT_CHECK(y != NULL);
    EGT_REFUSED(eg_module_to_device(m, emulated(0)), EG_ESTATE, "open tape");
    eg_tape_close(tape);
    EGT_CHECK(eg_device_of(first) == eg_cpu());
    EGT_REFUSED(eg_module_to_device(m, NULL), EG_EINVAL, "device");
    EGT_CHECK(egt_fail_allocations(job, m) > 0);
    EGT_CHECK(eg_device_of(first) == eg_cpu());
    EGT_OK(eg_module_free(m));
}

EGT(new_modules_are_made_on_the_threads_device)
{
    eg_device *before = eg_use_device(emulated(0));
    eg_module *m = net();
    eg_parameters p = eg_module_parameters(m);
    EGT_OK(eg_init(p.tensors[0], EG_ORTHOGONAL));
    for (int i = 0; i < p.count; i++) {
        EGT_CHECK(eg_device_of(p.tensors[i]) == emulated(0));
    }
    eg_use_device(before);
    EGT_OK(eg_init(p.tensors[0], EG_HE_NORMAL));
    EGT_CHECK(eg_device_of(p.tensors[0]) == emulated(0));
    EGT_OK(eg_module_free(m));
}
