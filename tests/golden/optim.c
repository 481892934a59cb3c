/* optim.c - what the golden cases of optimizers stand for. */
#include "tests/golden/golden.h"

enum { STEPS = 16 };

static eg_optim *sgd(const golden_case *c, eg_parameters list)
{
    return eg_sgd_new(list, .lr = golden_number(c, "lr", 0),
                      .momentum = golden_number(c, "momentum", 0),
                      .dampening = golden_number(c, "dampening", 0),
                      .weight_decay = golden_number(c, "weight_decay", 0),
                      .nesterov = golden_number(c, "nesterov", 0) != 0);
}

/* AdamW decays by 0.01 where its case does not say. */
static eg_optim *adam(const golden_case *c, eg_parameters list)
{
    bool decoupled = !strcmp(c->op, "adamw");
    double beta1 = 0, beta2 = 0;
    if (golden_has(c, "betas")) {
        sscanf(golden_word(c, "betas"), "%lf,%lf", &beta1, &beta2);
    }
    return eg_adam_new(list, .lr = golden_number(c, "lr", 0), .beta1 = beta1, .beta2 = beta2,
                       .eps = golden_number(c, "eps", 0),
                       .weight_decay = golden_number(c, "weight_decay", decoupled ? 0.01 : 0),
                       .decoupled = decoupled);
}

/* The parameter after each step, one behind the other. */
static eg_tensor *path(const golden_case *c)
{
    eg_tensor *parameter = eg_parameter(eg_copy(c->x[0])), *after[STEPS];
    eg_parameters list = {.tensors = &parameter, .count = 1};
    eg_optim *optim = !strcmp(c->op, "sgd") ? sgd(c, list) : adam(c, list);
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

GOLDEN_ROWS(optim, {.op = "sgd", .one = path}, {.op = "adam", .one = path},
            {.op = "adamw", .one = path})
