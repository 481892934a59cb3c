/* gpt2.c - GPT-2 (Radford et al. 2019). */
#include <math.h>
#include <string.h>

#include "nn/models/text/text.h"

static const eg__text_size sizes[] = {
    [EG_GPT2_SMALL] = {768, 12, 0, 12},
    [EG_GPT2_MEDIUM] = {1024, 16, 0, 24},
    [EG_GPT2_LARGE] = {1280, 20, 0, 36},
    [EG_GPT2_XL] = {1600, 25, 0, 48},
};
static const eg_transformer_options rest = {
    .vocabulary = 50257, .positions = 1024, .eps = 1e-5, .activation = eg_gelu_tanh};

typedef struct gpt2 {
    eg_module base;
    eg_tensor *table; /* [vocabulary, width] */
    eg_module *positions, *layers, *norm;
    double dropout;
} gpt2;

/* ids to states behind the last norm; steps that the cache has seen are in front. */
static eg_tensor *run(gpt2 *g, eg_tensor *ids, eg_cache *cache)
{
    eg_tensor *x = eg_positions_forward(g->positions, eg_embedding(g->table, ids), eg_cache_steps(cache));
    x = eg__dropped(x, g->dropout, &g->base);
    for (int i = 0; i < eg_module_count(g->layers); i++) {
        x = eg_transformer_encoder_layer_forward(eg_module_at(g->layers, i), x, .causal = true, .cache = cache);
    }
    return eg_module_forward(g->norm, x);
}

static eg_tensor *forward(eg_module *m, eg_tensor *ids)
{
    gpt2 *g = (gpt2 *)m;
    return eg__check_text_input("gpt2", m, m->kind, ids, "ids", 2) ? NULL
                                                                   : eg_linear(run(g, ids, NULL), g->table, NULL);
}

static void members(eg_module *m, eg_members *walk)
{
    gpt2 *g = (gpt2 *)m;
    eg_member_parameter(walk, "wte.weight", &g->table);
    eg_member_child(walk, "wpe", &g->positions);
    eg_member_child(walk, "h", &g->layers);
    eg_member_child(walk, "ln_f", &g->norm);
}

static const eg_module_kind kind = {
    .size = sizeof(eg_module_kind), .name = "gpt2", .forward = forward, .members = members};

static eg_module *layer(const eg_transformer_options *o)
{
    return eg_transformer_encoder_layer_new(
        o->width, o->heads, o->hidden, .dropout = o->dropout, .activation = o->activation, .norm_first = true,
        .eps = o->eps, .attention_dropout = o->attention_dropout > 0 ? o->attention_dropout : EG_ZERO,
        .hidden_dropout = EG_ZERO);
}

/* Normal 0.02, in front of sums less, so that these stay the same however many they are of. */
static eg_module *begun(eg_module *m, int64_t layers)
{
    eg_parameters all = m ? eg_module_parameters(m) : (eg_parameters){.count = 0};
    eg_status st = m ? eg_module_init(m, EG_NORMAL, .std = 0.02) : EG_OK;
    for (int i = 0; i < all.count && !st; i++) {
        if (strstr(all.names[i], ".out_proj.weight") || strstr(all.names[i], ".linear2.weight")) {
            st = eg_init(all.tensors[i], EG_NORMAL, .std = 0.02 / sqrt(2 * (double)layers));
        }
    }
    if (m && (st || !all.tensors)) {
        eg_module_free(m);
        return NULL;
    }
    return m;
}

eg_module *eg_gpt2_new_with(eg_gpt2_size of, const eg_transformer_options *given)
{
    eg_transformer_options o;
    if ((int)of < EG_GPT2_SMALL || of > EG_GPT2_XL) {
        eg_failf(EG_EINVAL, kind.name, "there is no size %d", (int)of);
        return NULL;
    }
    eg__options(&o, sizeof o, given);
    eg__text_size size = sizes[of];
    size.hidden = 4 * (o.width > 0 && o.width < INT64_MAX / 4 ? o.width : size.width);
    if (!eg__text_options(kind.name, given, &size, &rest, &o)) {
        return NULL;
    }
    gpt2 *g = eg_module_new(sizeof *g, &kind);
    if (!g) {
        return NULL;
    }
    g->dropout = o.dropout;
    EG_SCOPE {
        g->table = eg_parameter(eg_zeros(EG_SHAPE(o.vocabulary, o.width), EG_F32));
    }
    g->positions = g->table ? eg_learned_positions_new(o.positions, o.width) : NULL;
    g->layers = g->positions ? eg__text_layers(o.layers, layer, &o) : NULL;
    g->norm = g->layers ? eg_layer_norm_new(EG_SHAPE(o.width), .eps = o.eps) : NULL;
    return begun(eg_module_finish(&g->base), o.layers);
}

eg_tensor *eg_gpt2_next(void *net, eg_tensor *ids, eg_cache *cache)
{
    static const char op[] = "eg_gpt2_next";
    if (eg__check_text_input(op, net, &kind, ids, "ids", 2)) {
        return NULL;
    }
    if (!cache) {
        eg_failf(EG_EINVAL, op, "cache is NULL");
        return NULL;
    }
    gpt2 *g = net;
    eg_scope s = eg_scope_push();
    eg_tensor *last = s.depth ? eg_select(run(g, ids, cache), 1, -1) : NULL;
    eg_tensor *logits = last ? eg_linear(last, g->table, NULL) : NULL;
    if (logits && eg_cache_advance(cache, eg_size(ids, 1))) {
        logits = NULL;
    }
    return s.depth ? eg_scope_pop(s, logits) : NULL;
}
