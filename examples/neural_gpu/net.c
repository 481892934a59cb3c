/* net.c - see net.h. */
#include "net.h"

#include <egret/egret.h>
#include <math.h>
#include <stdlib.h>

enum { PER_GRU = 4 }; /* parameters of a GRU */

/* ---- a convolutional GRU ---------------------------------------------------------------------- */

/* s' = u s + (1 - u) tanh(U * (r s) + B), where u and r are gates: sigmoids that reach 0 and 1. */
typedef struct cgru {
    eg_module base;
    eg_module *gates, *candidate;
    int64_t maps;
} cgru;

static eg_tensor *cut_sigmoid(eg_tensor *x)
{
    return eg_clamp(eg_add_scalar(eg_mul_scalar(eg_sigmoid(x), 1.2), -0.1), 0, 1);
}

static eg_tensor *cgru_forward(eg_module *m, eg_tensor *s)
{
    const cgru *g = (const cgru *)m;
    eg_tensor *both = cut_sigmoid(eg_module_forward(g->gates, s));
    eg_tensor *u = eg_slice(both, 1, 0, g->maps, 1), *r = eg_slice(both, 1, g->maps, 2 * g->maps, 1);
    eg_tensor *c = eg_tanh(eg_module_forward(g->candidate, eg_mul(r, s)));
    return eg_add(c, eg_mul(u, eg_sub(s, c)));
}

static void cgru_members(eg_module *m, eg_members *members)
{
    cgru *g = (cgru *)m;
    eg_member_child(members, "gates", &g->gates);
    eg_member_child(members, "candidate", &g->candidate);
}

static const eg_module_kind cgru_kind = {
    .size = sizeof(eg_module_kind), .name = "cgru", .forward = cgru_forward, .members = cgru_members};

static eg_module *cgru_new(int64_t maps)
{
    cgru *g = eg_module_new(sizeof *g, &cgru_kind);
    if (!g) {
        return NULL;
    }
    double bound = sqrt(3 / (9.0 * (double)maps));
    g->maps = maps;
    g->gates = eg_conv2d_new(maps, 2 * maps, .kernel = 3, .padding = EG_SAME);
    g->candidate = eg_conv2d_new(maps, maps, .kernel = 3, .padding = EG_SAME);
    eg_module *m = eg_module_finish(&g->base);
    if (m && (eg_module_init(m, EG_UNIFORM, .low = -bound, .high = bound) ||
              eg_init(eg_module_parameters(g->gates).tensors[1], EG_CONSTANT, .value = 1))) {
        eg_module_free(m);
        m = NULL;
    }
    return m;
}

/* ---- the net ---------------------------------------------------------------------------------- */

typedef struct neural_gpu {
    eg_module base;
    eg_module *embedding, *grus, *out; /* grus: those of set 0, then of set 1, ... */
    neural_gpu_options o;
} neural_gpu;

/* The tape lies in the first row of the state; the others are empty. */
static eg_tensor *begin(const neural_gpu *g, eg_tensor *ids)
{
    eg_tensor *x = eg_transpose(eg_tanh(eg_module_forward(g->embedding, ids)), 1, 2);
    return eg_pad(eg_unsqueeze(x, 3), .after = {0, 0, 0, g->o.height - 1});
}

static eg_tensor *step(const neural_gpu *g, eg_tensor *s, int64_t t)
{
    int64_t first = t % g->o.relaxed * g->o.layers, length = eg_size(s, 2);
    for (int64_t i = 0; i < g->o.layers; i++) {
        s = eg_module_forward(eg_module_at(g->grus, (int)(first + i)), s);
    }
    return eg_dropout(s, fmin(0.5, g->o.dropout * 3 / sqrt((double)length)), g->base.training);
}

static eg_tensor *neural_gpu_forward(eg_module *m, eg_tensor *ids)
{
    const neural_gpu *g = (const neural_gpu *)m;
    eg_tensor *s = begin(g, ids);
    for (int64_t t = 0, n = eg_size(ids, 1); s && t < n; t++) {
        s = step(g, s, t);
    }
    return eg_module_forward(g->out, eg_transpose(eg_select(s, 3, 0), 1, 2));
}

static void neural_gpu_members(eg_module *m, eg_members *members)
{
    neural_gpu *g = (neural_gpu *)m;
    eg_member_child(members, "embedding", &g->embedding);
    eg_member_child(members, "grus", &g->grus);
    eg_member_child(members, "out", &g->out);
}

static const eg_module_kind neural_gpu_kind = {
    .size = sizeof(eg_module_kind), .name = "neural_gpu", .forward = neural_gpu_forward, .members = neural_gpu_members};

eg_module *neural_gpu_new(int64_t symbols, const neural_gpu_options *o)
{
    int n = (int)(o->relaxed * o->layers);
    eg_module **grus = calloc((size_t)n, sizeof *grus);
    neural_gpu *g = grus ? eg_module_new(sizeof *g, &neural_gpu_kind) : NULL;
    if (!g) {
        free(grus);
        return NULL;
    }
    for (int i = 0; i < n; i++) {
        grus[i] = cgru_new(o->maps);
    }
    g->o = *o;
    g->embedding = eg_embedding_new(symbols, o->maps);
    g->grus = eg_module_list_new_with(grus, n);
    g->out = eg_linear_new(o->maps, symbols);
    free(grus);
    return eg_module_finish(&g->base);
}

eg_tensor *neural_gpu_states(eg_module *net, eg_tensor *ids)
{
    const neural_gpu *g = (const neural_gpu *)net;
    int64_t n = eg_size(ids, 1) + 1;
    eg_tensor **states = n > 0 ? calloc((size_t)n, sizeof *states) : NULL, *s = begin(g, ids);
    for (int64_t t = 0; states && s && t < n; t++) {
        states[t] = s;
        s = t + 1 < n ? step(g, s, t) : s;
    }
    eg_tensor *all = states && s ? eg_stack(states, (int)n, 0) : NULL;
    free(states);
    return all;
}

/* ---- relaxed parameters ------------------------------------------------------------------------ */

/* The parameters number k of all sets, [sets, ...]. */
static eg_tensor *gather(const neural_gpu *g, int k)
{
    eg_parameters p = eg_module_parameters(g->grus);
    int sets = (int)g->o.relaxed, per_set = PER_GRU * (int)g->o.layers;
    eg_tensor **all = calloc((size_t)sets, sizeof *all), *made;
    for (int i = 0; all && i < sets; i++) {
        all[i] = p.tensors[i * per_set + k];
    }
    made = all ? eg_stack(all, sets, 0) : NULL;
    free(all);
    return made;
}

eg_tensor *neural_gpu_apart(eg_module *net)
{
    const neural_gpu *g = (const neural_gpu *)net;
    eg_tensor *sum = NULL;
    if (g->o.relaxed == 1) {
        return eg_zeros(EG_SCALAR, EG_F32);
    }
    for (int k = 0; k < PER_GRU * g->o.layers; k++) {
        eg_tensor *x = gather(g, k);
        eg_tensor *off = eg_sum(eg_square(eg_sub(x, eg_mean(x, .axes = EG_AXES(0), .keepdim = true))));
        sum = sum ? eg_add(sum, off) : off;
    }
    return sum;
}

eg_status neural_gpu_unite(eg_module *net)
{
    const neural_gpu *g = (const neural_gpu *)net;
    int sets = (int)g->o.relaxed, per_set = PER_GRU * (int)g->o.layers;
    for (int k = 0; k < per_set; k++) {
        eg_scope scope = eg_scope_push();
        eg_tensor *mean = eg_mean(gather(g, k), .axes = EG_AXES(0));
        eg_parameters p = eg_module_parameters(g->grus); /* behind gather, which asks for them too */
        bool whole = mean != NULL;
        for (int i = 0; i < sets && whole; i++) {
            whole = eg_copy_(p.tensors[i * per_set + k], mean) != NULL;
        }
        eg_scope_pop(scope, NULL);
        if (!whole) {
            return eg_last_error()->code;
        }
    }
    return EG_OK;
}
