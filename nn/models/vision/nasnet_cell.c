/* nasnet_cell.c - see nasnet_cell.h; Zoph et al. 2017, Liu et al. 2017. */
#include <stdio.h>

#include "nn/models/vision/nasnet_cell.h"

enum { SUMS = 5, STATES = SUMS + 2 };

typedef struct cell {
    eg_module base;
    const eg__cell_plan *plan;
    eg_module *input, *before, *terms[SUMS][2], *reduced[STATES]; /* reduced: of unused states that do not fit */
    bool alone;                                                   /* nothing in front of the input */
} cell;

/* ---- forward ------------------------------------------------------------------------------------ */

static eg_tensor *run(cell *c, eg_tensor *x, eg_tensor *before)
{
    eg_tensor *state[STATES] = {eg_module_forward(c->input, x), eg_module_forward(c->before, c->alone ? x : before)};
    eg_tensor *made[STATES];
    int n = 0;
    for (int i = 0; i < SUMS; i++) {
        eg_tensor *term[2];
        for (int k = 0; k < 2; k++) {
            term[k] = eg_module_forward(c->terms[i][k], state[c->plan->terms[i][k].state]);
        }
        state[2 + i] = eg_add(term[0], term[1]);
    }
    for (int i = 0; i < STATES; i++) {
        if (!c->plan->used[i]) {
            made[n++] = c->reduced[i] ? eg_module_forward(c->reduced[i], state[i]) : state[i];
        }
    }
    return eg_concat(made, n, 1);
}

eg_tensor *eg__cell_forward(eg_module *m, eg_tensor *x, eg_tensor *before)
{
    eg_scope s = eg_scope_push();
    return s.depth ? eg_scope_pop(s, run((cell *)m, x, before)) : NULL;
}

static void cell_members(eg_module *m, eg_members *members)
{
    cell *c = (cell *)m;
    char name[32];
    eg_member_child(members, "input", &c->input);
    eg_member_child(members, "before", &c->before);
    for (int i = 0; i < SUMS; i++) {
        for (int k = 0; k < 2; k++) {
            snprintf(name, sizeof name, "comb_iter_%d_%s", i, k ? "right" : "left");
            eg_member_child(members, name, &c->terms[i][k]);
        }
    }
    for (int i = 0; i < STATES; i++) {
        if (c->reduced[i]) {
            snprintf(name, sizeof name, "reduction_%d", i);
            eg_member_child(members, name, &c->reduced[i]);
        }
    }
}

static const eg_module_kind cell_kind = {
    .size = sizeof(eg_module_kind), .name = "nasnet_cell", .members = cell_members};

/* ---- half the places ---------------------------------------------------------------------------- */

/* Every second place, and every second one of those between, each to half of the channels. */
typedef struct factorized {
    eg_module base;
    eg_module *path1, *path2, *norm;
} factorized;

static eg_tensor *every_second(eg_tensor *x)
{
    return eg_slice(eg_slice(x, 2, 0, INT64_MAX, 2), 3, 0, INT64_MAX, 2);
}

static eg_tensor *factorized_forward(eg_module *m, eg_tensor *x)
{
    factorized *f = (factorized *)m;
    eg_tensor *shifted = eg_pad(x, .before = {0, 0, -1, -1}, .after = {0, 0, 1, 1});
    eg_tensor *both[2] = {eg_module_forward(f->path1, every_second(x)),
                          eg_module_forward(f->path2, every_second(shifted))};
    return eg_module_forward(f->norm, eg_concat(both, 2, 1));
}

static void factorized_members(eg_module *m, eg_members *members)
{
    factorized *f = (factorized *)m;
    eg_member_child(members, "path1_conv", &f->path1);
    eg_member_child(members, "path2_conv", &f->path2);
    eg_member_child(members, "final_path_bn", &f->norm);
}

static const eg_module_kind factorized_kind = {.size = sizeof(eg_module_kind),
                                               .name = "factorized_reduction",
                                               .forward = factorized_forward,
                                               .members = factorized_members};

static eg_module *factorized_new(const eg__style *s, int64_t in, int64_t out)
{
    factorized *f = eg_module_new(sizeof *f, &factorized_kind);
    if (!f) {
        return NULL;
    }
    f->path1 = eg_conv2d_new(in, out / 2, .kernel = 1, .no_bias = true);
    f->path2 = eg_conv2d_new(in, out - out / 2, .kernel = 1, .no_bias = true);
    f->norm = eg__norm_new(s, out, true);
    return eg_module_finish(&f->base);
}

/* ---- building ----------------------------------------------------------------------------------- */

static eg_module *relu_conv(const eg__style *s, int64_t in, int64_t out, int64_t stride)
{
    return eg_sequential_new(eg_activation_new(eg_relu),
                             eg__conv_new(s, "1x1", in, out, 1, .stride = stride, .linear = true));
}

static eg_module *separable(const eg__style *s, int64_t in, int64_t out, int64_t kernel, int64_t stride)
{
    return eg_sequential_new(
        eg_activation_new(eg_relu),
        eg_separable_conv2d_new(in, out, 1, .kernel = kernel, .stride = stride, .padding = EG_SAME, .no_bias = true),
        eg__norm_new(s, out, true));
}

static eg_module *pool(const eg__style *s, eg__cell_op op, int64_t in, int64_t out, int64_t stride)
{
    eg_module *pooled =
        op == EG__CELL_AVG ? eg__avg_pool_new(3, stride, EG_SAME) : eg__max_pool_new(3, stride, EG_SAME);
    return in == out ? pooled : eg_sequential_new(pooled, eg__conv_new(s, "1x1", in, out, 1, .linear = true));
}

static eg_module *operation(const eg__style *s, eg__cell_op op, int64_t in, int64_t out, int64_t stride,
                            double drop_path)
{
    static const int64_t kernels[] = {[EG__CELL_SEP3] = 3, [EG__CELL_SEP5] = 5, [EG__CELL_SEP7] = 7};
    if (op == EG__CELL_NONE) {
        return stride > 1 || in != out ? relu_conv(s, in, out, stride) : eg_identity_new();
    }
    eg_module *m = op < EG__CELL_SEP3 ? pool(s, op, in, out, stride)
                                      : eg_sequential_new(separable(s, in, out, kernels[op], stride),
                                                          separable(s, out, out, kernels[op], 1));
    return drop_path > 0 ? eg_sequential_new(m, eg_drop_path_new(drop_path)) : m;
}

/* What was in front of the input, with its sizes. */
static eg_module *fitted(const eg__style *s, eg__cell_state in, eg__cell_state before, int64_t filters)
{
    if (!before.channels || (before.halved == in.halved && before.channels == filters)) {
        return eg_identity_new();
    }
    return before.halved == in.halved
               ? relu_conv(s, before.channels, filters, 1)
               : eg_sequential_new(eg_activation_new(eg_relu), factorized_new(s, before.channels, filters));
}

static eg_module *reduction(const eg__style *s, int64_t in, int64_t out, bool halves)
{
    return halves ? factorized_new(s, in, out) : eg__conv_new(s, "path", in, out, 1, .linear = true);
}

eg_module *eg__cell_new(const eg__style *s, const eg__cell_plan *plan, eg__cell_state in, eg__cell_state before,
                        int64_t filters, int64_t stride, double drop_path, eg__cell_state *out)
{
    cell *c = eg_module_new(sizeof *c, &cell_kind);
    if (!c) {
        return NULL;
    }
    /* Of each state whether it has filters' channels, and the size of the result. */
    int64_t channels[STATES] = {filters, before.channels ? filters : in.channels};
    bool small[STATES] = {stride == 1, stride == 1}, good = true;
    int unused = 0;
    c->plan = plan;
    c->alone = !before.channels;
    c->input = relu_conv(s, in.channels, filters, 1);
    c->before = fitted(s, in, before, filters);
    for (int i = 0; i < SUMS; i++) {
        for (int k = 0; k < 2; k++) {
            int from = plan->terms[i][k].state;
            c->terms[i][k] =
                operation(s, plan->terms[i][k].op, channels[from], filters, from < 2 ? stride : 1, drop_path);
        }
        channels[2 + i] = filters;
        small[2 + i] = true;
    }
    for (int i = 0; i < STATES; i++) {
        unused += !plan->used[i];
        if (!plan->used[i] && (channels[i] != filters || !small[i])) {
            c->reduced[i] = reduction(s, channels[i], filters, !small[i]);
            good = good && c->reduced[i];
        }
    }
    *out = (eg__cell_state){unused * filters, in.halved + (stride > 1)};
    eg_module *done = eg_module_finish(&c->base);
    if (!good) {
        eg_module_free(done);
        return NULL;
    }
    return done;
}
