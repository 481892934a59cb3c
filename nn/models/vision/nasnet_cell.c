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

/* ---- building ----------------------------------------------------------------------------------- */

/* What was in front of the input, with its sizes. */
static eg_module *fitted(const eg__style *s, eg__cell_state in, eg__cell_state before, int64_t filters)
{
    if (!before.channels || (before.halved == in.halved && before.channels == filters)) {
        return eg_identity_new();
    }
    return before.halved == in.halved
               ? eg__cell_relu_conv(s, before.channels, filters, 1)
               : eg_sequential_new(eg_activation_new(eg_relu), eg__cell_halved(s, before.channels, filters));
}

static eg_module *reduction(const eg__style *s, int64_t in, int64_t out, bool halves)
{
    return halves ? eg__cell_halved(s, in, out) : eg__conv_new(s, "path", in, out, 1, .linear = true);
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
    c->input = eg__cell_relu_conv(s, in.channels, filters, 1);
    c->before = fitted(s, in, before, filters);
    for (int i = 0; i < SUMS; i++) {
        for (int k = 0; k < 2; k++) {
            int from = plan->terms[i][k].state;
            c->terms[i][k] =
                eg__cell_operation(s, plan->terms[i][k].op, channels[from], filters, from < 2 ? stride : 1, drop_path);
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
