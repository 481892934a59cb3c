/* optim.c - what the golden cases of optimizers stand for. */
#include "tests/golden/golden.h"

enum { STEPS = 16 };

static eg_optim *sgd(const golden_case *c, eg_parameters list)
{
    return eg_sgd_new(list, .lr = golden_number(c, "lr", 0), .momentum = golden_number(c, "momentum", 0),
                      .dampening = golden_number(c, "dampening", 0),
                      .weight_decay = golden_number(c, "weight_decay", 0),
                      .nesterov = golden_number(c, "nesterov", 0) != 0);
}

/* A pair of numbers, both 0 without such a key. */
static void pair(const golden_case *c, const char *key, double *first, double *second)
{
    *first = *second = 0;
    if (golden_has(c, key)) {
        sscanf(golden_word(c, key), "%lf,%lf", first, second);
    }
}

/* AdamW decays by 0.01 where its case does not say. */
static eg_optim *adam(const golden_case *c, eg_parameters list)
{
    bool decoupled = !strcmp(c->op, "adamw");
    double beta1, beta2;
    pair(c, "betas", &beta1, &beta2);
    return eg_adam_new(list, .lr = golden_number(c, "lr", 0), .beta1 = beta1, .beta2 = beta2,
                       .eps = golden_number(c, "eps", 0),
                       .weight_decay = golden_number(c, "weight_decay", decoupled ? 0.01 : 0), .decoupled = decoupled);
}

#define NUMBER(key) golden_number(c, key, 0)

static eg_optim *others(const golden_case *c, eg_parameters list)
{
    double beta1, beta2, eta_minus, eta_plus, least, most;
    pair(c, "betas", &beta1, &beta2);
    pair(c, "etas", &eta_minus, &eta_plus);
    pair(c, "step_sizes", &least, &most);
    const double lr = NUMBER("lr"), eps = NUMBER("eps"), decay = NUMBER("weight_decay");
    if (!strcmp(c->op, "rmsprop")) {
        return eg_rmsprop_new(list, .lr = lr, .alpha = NUMBER("alpha"), .eps = eps, .momentum = NUMBER("momentum"),
                              .weight_decay = decay, .centered = NUMBER("centered") != 0);
    }
    if (!strcmp(c->op, "adagrad")) {
        return eg_adagrad_new(list, .lr = lr, .lr_decay = NUMBER("lr_decay"), .eps = eps,
                              .initial_accumulator_value = NUMBER("initial_accumulator_value"), .weight_decay = decay);
    }
    if (!strcmp(c->op, "adadelta")) {
        return eg_adadelta_new(list, .lr = lr, .rho = NUMBER("rho"), .eps = eps, .weight_decay = decay);
    }
    if (!strcmp(c->op, "adamax")) {
        return eg_adamax_new(list, .lr = lr, .beta1 = beta1, .beta2 = beta2, .eps = eps, .weight_decay = decay);
    }
    if (!strcmp(c->op, "nadam")) {
        return eg_nadam_new(list, .lr = lr, .beta1 = beta1, .beta2 = beta2, .eps = eps,
                            .momentum_decay = NUMBER("momentum_decay"), .weight_decay = decay);
    }
    if (!strcmp(c->op, "radam")) {
        return eg_radam_new(list, .lr = lr, .beta1 = beta1, .beta2 = beta2, .eps = eps, .weight_decay = decay);
    }
    return eg_rprop_new(list, .lr = lr, .eta_minus = eta_minus, .eta_plus = eta_plus, .step_min = least,
                        .step_max = most);
}

static eg_optim *make(const golden_case *c, eg_parameters list)
{
    bool adams = !strcmp(c->op, "adam") || !strcmp(c->op, "adamw");
    return !strcmp(c->op, "sgd") ? sgd(c, list) : adams ? adam(c, list) : others(c, list);
}

/* The parameter after each step, one behind the other. */
static eg_tensor *path(const golden_case *c)
{
    eg_tensor *parameter = eg_parameter(eg_copy(c->x[0])), *after[STEPS];
    eg_parameters list = {.tensors = &parameter, .count = 1};
    eg_optim *optim = make(c, list);
    int steps = (int)eg_size(c->x[1], 0), done = 0;
    for (eg_status status = EG_OK; status == EG_OK && done < steps && done < STEPS; done++) {
        eg_tensor *gradient = eg_contiguous(eg_select(c->x[1], 0, done));
        status = eg_optim_step(optim, &gradient);
        after[done] = status == EG_OK ? eg_copy(parameter) : NULL;
    }
    eg_tensor *y = eg_stack(after, done, 0);
    eg_optim_free(optim);
    eg_release(parameter);
    return y;
}

/* What training.py calls LOSSES. */
typedef struct loss {
    const golden_case *c;
    eg_tensor *x;
} loss;

static eg_tensor *loss_of(void *user)
{
    const loss *l = user;
    eg_tensor *x = l->x, *a = l->c->x[1], *b = l->c->x[2];
    if (golden_is(l->c, "loss", "bowl")) {
        return eg_sub(eg_mul_scalar(eg_dot(eg_matmul(x, a), x), 0.5), eg_dot(b, x));
    }
    if (golden_is(l->c, "loss", "waves")) {
        return eg_add(eg_mul_scalar(eg_sum(eg_square(x)), 0.1), eg_sum(eg_sin(eg_sub(eg_matmul(a, x), b))));
    }
    eg_tensor *left = eg_slice(x, 0, 0, -1, 1), *right = eg_slice(x, 0, 1, EG_END, 1);
    eg_tensor *wall = eg_mul_scalar(eg_square(eg_sub(right, eg_square(left))), 100);
    return eg_sum(eg_add(wall, eg_square(eg_add_scalar(left, -1))));
}

static bool calls_agree(const golden_case *c, eg_optim *optim, int step)
{
    eg_tensors *state = eg_optim_state(optim);
    const double calls = eg_item(eg_tensors_get(state, "func_evals")), expected = eg_get(c->extra, step);
    eg_tensors_free(state);
    if (calls != expected) {
        printf("  %s: %g calls until step %d, expected %g\n", c->name, calls, step, expected);
        return false;
    }
    return true;
}

static eg_tensor *lbfgs(const golden_case *c)
{
    loss l = {c, eg_parameter(eg_copy(c->x[0]))};
    eg_tensor *after[3] = {NULL};
    const eg_parameters list = {.tensors = &l.x, .count = 1};
    eg_optim *optim =
        eg_lbfgs_new(list, .lr = NUMBER("lr"), .max_iter = (int)NUMBER("max_iter"), .max_eval = (int)NUMBER("max_eval"),
                     .tolerance_grad = NUMBER("tolerance_grad"), .tolerance_change = NUMBER("tolerance_change"),
                     .history_size = (int)NUMBER("history_size"), .strong_wolfe = NUMBER("strong_wolfe") != 0);
    for (int i = 0; i < 3; i++) {
        const bool done = eg_optim_minimize_function(optim, loss_of, &l) && calls_agree(c, optim, i);
        after[i] = done ? eg_copy(l.x) : NULL;
    }
    eg_tensor *y = eg_stack(after, 3, 0);
    eg_optim_free(optim);
    eg_release(l.x);
    return y;
}

/* The gradients and, as the extra tensor, the norm they had. */
static bool clip_norm(const golden_case *c, eg_tensor **out)
{
    double norm, expected = eg_item(c->extra);
    for (int i = 0; i < c->nx; i++) {
        out[i] = eg_copy(c->x[i]);
    }
    if (eg_clip_grad_norm(out, c->nx, NUMBER("max_norm"), &norm, .p = NUMBER("p"), .eps = 1e-6)) {
        return false;
    }
    double tolerance = eg_dtype_of(out[0]) == EG_F64 ? 1e-12 : 1e-6;
    if (!(fabs(norm - expected) <= tolerance * expected)) {
        printf("  %s: the norm is %.17g, expected %.17g\n", c->name, norm, expected);
        return false;
    }
    return true;
}

static eg_schedule plan(const golden_case *c)
{
    const char *kind = c->op + strlen("schedule_");
    eg_schedule s = EG_SCHEDULE(.lr = NUMBER("lr"), .factor = NUMBER("gamma"), .steps = 1);
    if (!strcmp(kind, "step")) {
        s.kind = EG_RATE_STEP;
        s.steps = (int64_t)NUMBER("step_size");
    } else if (!strcmp(kind, "multistep")) {
        s.kind = EG_RATE_MULTI_STEP;
        golden_list(c, "milestones", s.at);
    } else if (!strcmp(kind, "exponential")) {
        s.kind = EG_RATE_EXPONENTIAL;
    } else if (!strcmp(kind, "linear")) {
        s.kind = EG_RATE_POLYNOMIAL;
        s.steps = (int64_t)NUMBER("total_iters");
        s.end = s.lr * NUMBER("end_factor");
        s.lr *= NUMBER("start_factor");
    } else if (!strcmp(kind, "polynomial")) {
        s.kind = EG_RATE_POLYNOMIAL;
        s.steps = (int64_t)NUMBER("total_iters");
        s.power = NUMBER("power");
    } else if (!strcmp(kind, "cosine")) {
        s.kind = EG_RATE_COSINE;
        s.steps = (int64_t)NUMBER("T_max");
        s.end = NUMBER("eta_min");
        s.cycle = true;
    } else if (!strcmp(kind, "cosine_restarts")) {
        s.kind = EG_RATE_COSINE_RESTARTS;
        s.steps = (int64_t)NUMBER("T_0");
        s.multiply = (int64_t)NUMBER("T_mult");
        s.end = NUMBER("eta_min");
    } else {
        s.kind = EG_RATE_ONE_CYCLE;
        s.lr = NUMBER("max_lr");
        s.steps = (int64_t)NUMBER("total_steps");
        s.peak = NUMBER("pct_start");
        s.linear = golden_is(c, "anneal_strategy", "linear");
    }
    return s;
}

static eg_tensor *rates(const golden_case *c)
{
    double y[STEPS];
    const eg_schedule s = plan(c);
    for (int t = 0; t < STEPS; t++) {
        y[t] = eg_schedule_at(&s, t);
    }
    return eg_from(EG_SHAPE(STEPS), EG_F64, y);
}

GOLDEN_ROWS(optim, {.op = "sgd", .one = path}, {.op = "adam", .one = path}, {.op = "adamw", .one = path})
GOLDEN_ROWS(optim_more, {.op = "rmsprop", .one = path}, {.op = "adagrad", .one = path}, {.op = "adadelta", .one = path},
            {.op = "adamax", .one = path}, {.op = "nadam", .one = path}, {.op = "radam", .one = path},
            {.op = "rprop", .one = path})
GOLDEN_ROWS(lbfgs, {.op = "lbfgs", .one = lbfgs, .branches = true})
GOLDEN_ROWS(clip, {.op = "clip_grad_norm", .many = clip_norm})
GOLDEN_ROWS(schedule, {.op = "schedule_step", .one = rates}, {.op = "schedule_multistep", .one = rates},
            {.op = "schedule_exponential", .one = rates}, {.op = "schedule_linear", .one = rates},
            {.op = "schedule_polynomial", .one = rates}, {.op = "schedule_cosine", .one = rates},
            {.op = "schedule_cosine_restarts", .one = rates}, {.op = "schedule_one_cycle", .one = rates})
