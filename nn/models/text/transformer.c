/* transformer.c - the translator (Vaswani et al. 2017), as TensorFlow's official models had it. */
#include <math.h>
#include <string.h>

#include "nn/models/text/text.h"

static const eg__text_size sizes[] = {
    [EG_TRANSFORMER_TINY] = {32, 4, 256, 6},
    [EG_TRANSFORMER_BASE] = {512, 8, 2048, 6},
    [EG_TRANSFORMER_BIG] = {1024, 16, 4096, 6},
};
static const eg_transformer_options rest = {.vocabulary = 33708, .eps = 1e-6, .activation = eg_relu};

typedef struct transformer {
    eg_module base;
    eg_tensor *table;                                                       /* [vocabulary, width] */
    eg_module *positions, *encoder, *encoder_norm, *decoder, *decoder_norm; /* norms: NULL where they are last */
    double dropout;
} transformer;

/* ---- parts --------------------------------------------------------------------------------------- */

/* Rows of the table, those of padding 0, with positions from `start` on. */
static eg_tensor *embed(transformer *t, eg_tensor *ids, bool shifted, int64_t start)
{
    eg_tensor *there = eg_unsqueeze(eg_cast(eg_ne_scalar(ids, 0), eg_dtype_of(t->table)), 2);
    eg_tensor *rows = eg_mul(eg_mul_scalar(eg_embedding(t->table, ids), sqrt((double)eg_size(t->table, 1))), there);
    if (shifted) {
        rows = eg_slice(eg_pad(rows, .before = {0, 1, 0}), 1, 0, eg_size(rows, 1), 1);
    }
    rows = eg_positions_forward(t->positions, rows, start);
    return eg__dropped(rows, t->dropout, &t->base);
}

/* Which steps of the source are no padding, [N, 1, 1, S]. */
static eg_tensor *mask_of(eg_tensor *source)
{
    return eg_unsqueeze(eg_unsqueeze(eg_ne_scalar(source, 0), 1), 1);
}

/* Weights of heads, if they are wanted: arrays of as many as there are layers. */
typedef struct looks {
    eg_tensor **encoder, **decoder, **between;
} looks;

static eg_tensor **of_layer(eg_tensor **all, int i)
{
    return all ? all + i : NULL;
}

static eg_tensor *encode(transformer *t, eg_tensor *source, eg_tensor *mask, const looks *l)
{
    eg_tensor *x = embed(t, source, false, 0);
    for (int i = 0; i < eg_module_count(t->encoder); i++) {
        x = eg_transformer_encoder_layer_forward(eg_module_at(t->encoder, i), x, .mask = mask,
                                                 .heads = of_layer(l->encoder, i));
    }
    return t->encoder_norm ? eg_module_forward(t->encoder_norm, x) : x;
}

static eg_tensor *decode(transformer *t, eg_tensor *x, eg_tensor *memory, eg_tensor *mask, eg_cache *cache,
                         const looks *l)
{
    for (int i = 0; i < eg_module_count(t->decoder); i++) {
        x = eg_transformer_decoder_layer_forward(eg_module_at(t->decoder, i), x, memory, .memory_mask = mask,
                                                 .cache = cache, .heads = of_layer(l->decoder, i),
                                                 .memory_heads = of_layer(l->between, i));
    }
    return t->decoder_norm ? eg_module_forward(t->decoder_norm, x) : x;
}

/* ---- the module ---------------------------------------------------------------------------------- */

static void members(eg_module *m, eg_members *walk)
{
    transformer *t = (transformer *)m;
    eg_member_parameter(walk, "embedding.weight", &t->table);
    eg_member_child(walk, "positions", &t->positions);
    eg_member_child(walk, "encoder", &t->encoder);
    if (t->encoder_norm) {
        eg_member_child(walk, "encoder_norm", &t->encoder_norm);
    }
    eg_member_child(walk, "decoder", &t->decoder);
    if (t->decoder_norm) {
        eg_member_child(walk, "decoder_norm", &t->decoder_norm);
    }
}

static const eg_module_kind kind = {.size = sizeof(eg_module_kind), .name = "transformer", .members = members};

static eg_transformer_layer_options layer_options(const eg_transformer_options *o)
{
    return (eg_transformer_layer_options){.size = sizeof(eg_transformer_layer_options),
                                          .dropout = o->dropout,
                                          .activation = o->activation,
                                          .norm_first = !o->norm_last,
                                          .eps = o->eps,
                                          .attention_dropout =
                                              o->attention_dropout > 0 ? o->attention_dropout : EG_ZERO,
                                          .hidden_dropout = o->hidden_dropout > 0 ? o->hidden_dropout : EG_ZERO,
                                          .no_attention_bias = true};
}

static eg_module *encoder_layer(const eg_transformer_options *o)
{
    const eg_transformer_layer_options l = layer_options(o);
    return eg_transformer_encoder_layer_new_with(o->width, o->heads, o->hidden, &l);
}

static eg_module *decoder_layer(const eg_transformer_options *o)
{
    const eg_transformer_layer_options l = layer_options(o);
    return eg_transformer_decoder_layer_new_with(o->width, o->heads, o->hidden, &l);
}

/* Weights glorot uniform, each of the three in in_proj_weight by itself; the table normal. */
static eg_module *begun(eg_module *m, transformer *t)
{
    eg_parameters all = m ? eg_module_parameters(m) : (eg_parameters){.count = 0};
    const double width = t ? (double)eg_size(t->table, 1) : 1;
    eg_status st = m ? eg_module_init(m, EG_GLOROT_UNIFORM) : EG_OK;
    for (int i = 0; i < all.count && !st; i++) {
        const char *last = strrchr(all.names[i], '.');
        if (last && !strcmp(last, ".in_proj_weight")) {
            st = eg_init(all.tensors[i], EG_GLOROT_UNIFORM, .gain = sqrt(2));
        } else if (all.tensors[i] == t->table) {
            st = eg_init(t->table, EG_NORMAL, .std = 1 / sqrt(width));
        }
    }
    if (m && (st || !all.tensors)) {
        eg_module_free(m);
        return NULL;
    }
    return m;
}

eg_module *eg_transformer_new_with(eg_transformer_size of, const eg_transformer_options *given)
{
    eg_transformer_options o;
    if ((int)of < EG_TRANSFORMER_TINY || of > EG_TRANSFORMER_BIG) {
        eg_failf(EG_EINVAL, kind.name, "there is no size %d", (int)of);
        return NULL;
    }
    if (!eg__text_options(kind.name, given, &sizes[of], &rest, &o)) {
        return NULL;
    }
    transformer *t = eg_module_new(sizeof *t, &kind);
    if (!t) {
        return NULL;
    }
    t->dropout = o.dropout;
    EG_SCOPE {
        t->table = eg_parameter(eg_zeros(EG_SHAPE(o.vocabulary, o.width), EG_F32));
    }
    t->positions = t->table ? eg_sinusoidal_positions_new(.halves = true) : NULL;
    t->encoder = t->positions ? eg__text_layers(o.layers, encoder_layer, &o) : NULL;
    t->decoder = t->encoder ? eg__text_layers(o.layers, decoder_layer, &o) : NULL;
    if (!o.norm_last && t->decoder) {
        t->encoder_norm = eg_layer_norm_new(EG_SHAPE(o.width), .eps = o.eps);
        t->decoder_norm = eg_layer_norm_new(EG_SHAPE(o.width), .eps = o.eps);
    }
    const bool whole = o.norm_last || (t->encoder_norm && t->decoder_norm);
    eg_module *m = eg_module_finish(&t->base);
    if (m && !whole) {
        eg_module_free(m);
        return NULL;
    }
    return begun(m, m ? t : NULL);
}

/* ---- the public functions ------------------------------------------------------------------------ */

static const looks nowhere = {NULL, NULL, NULL};

eg_tensor *eg_transformer_encode(eg_module *m, eg_tensor *source)
{
    if (eg__check_text_input("eg_transformer_encode", m, &kind, source, "source", 2)) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    return s.depth ? eg_scope_pop(s, encode((transformer *)m, source, mask_of(source), &nowhere)) : NULL;
}

eg_tensor *eg_transformer_forward(eg_module *m, eg_tensor *source, eg_tensor *targets)
{
    static const char op[] = "eg_transformer_forward";
    if (eg__check_text_input(op, m, &kind, source, "source", 2) ||
        eg__check_text_input(op, m, &kind, targets, "targets", 2)) {
        return NULL;
    }
    transformer *t = (transformer *)m;
    eg_scope s = eg_scope_push();
    eg_tensor *mask = s.depth ? mask_of(source) : NULL;
    eg_tensor *memory = mask ? encode(t, source, mask, &nowhere) : NULL;
    eg_tensor *read = memory ? decode(t, embed(t, targets, true, 0), memory, mask, NULL, &nowhere) : NULL;
    return s.depth ? eg_scope_pop(s, eg_linear(read, t->table, NULL)) : NULL;
}

eg_status eg_transformer_read(eg_module *m, eg_tensor *source, eg_cache *cache)
{
    static const char op[] = "eg_transformer_read";
    eg_status st = eg__check_text_input(op, m, &kind, source, "source", 2);
    if (!st && !cache) {
        st = eg_failf(EG_EINVAL, op, "cache is NULL");
    }
    if (st) {
        return st;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *mask = s.depth ? mask_of(source) : NULL,
              *memory = mask ? encode((transformer *)m, source, mask, &nowhere) : NULL;
    st = memory ? eg_cache_hold(cache, "transformer.mask", mask) : eg_last_error()->code;
    st = st ? st : eg_cache_hold(cache, "transformer.memory", memory);
    eg_scope_pop(s, NULL);
    return st;
}

eg_tensor *eg_transformer_next(void *net, eg_tensor *ids, eg_cache *cache)
{
    static const char op[] = "eg_transformer_next";
    if (eg__check_text_input(op, net, &kind, ids, "ids", 2)) {
        return NULL;
    }
    eg_tensor *memory = eg_cache_get(cache, "transformer.memory"), *mask = eg_cache_get(cache, "transformer.mask");
    if (!memory || !mask) {
        eg_failf(EG_ESTATE, op, "the cache has no source: eg_transformer_read puts it there");
        return NULL;
    }
    transformer *t = net;
    eg_scope s = eg_scope_push();
    eg_tensor *x = s.depth ? embed(t, ids, false, eg_cache_steps(cache)) : NULL;
    eg_tensor *last = x ? eg_select(decode(t, x, memory, mask, cache, &nowhere), 1, -1) : NULL;
    eg_tensor *logits = last ? eg_linear(last, t->table, NULL) : NULL;
    if (logits && eg_cache_advance(cache, eg_size(ids, 1))) {
        logits = NULL;
    }
    return s.depth ? eg_scope_pop(s, logits) : NULL;
}

eg_transformer_heads eg_transformer_look(eg_module *m, eg_tensor *source, eg_tensor *targets)
{
    static const char op[] = "eg_transformer_look";
    const eg_transformer_heads failed = {NULL, NULL, NULL};
    if (eg__check_text_input(op, m, &kind, source, "source", 2) ||
        eg__check_text_input(op, m, &kind, targets, "targets", 2)) {
        return failed;
    }
    transformer *t = (transformer *)m;
    const int n = eg_module_count(t->encoder);
    eg_tensor *seen[3][EG__TEXT_LAYERS];
    const looks all = {seen[0], seen[1], seen[2]};
    eg_scope s = eg_scope_push();
    eg_tensor *mask = s.depth ? mask_of(source) : NULL, *memory = mask ? encode(t, source, mask, &all) : NULL;
    eg_tensor *x = memory ? decode(t, embed(t, targets, true, 0), memory, mask, NULL, &all) : NULL;
    eg_tensor *out[3] = {NULL, NULL, NULL};
    for (int i = 0; i < 3 && x; i++) {
        out[i] = eg_stack(seen[i], n, 0);
        x = out[i] ? x : NULL;
    }
    return eg_scope_pop_n(s, out, x ? 3 : 0) || !x ? failed : (eg_transformer_heads){out[0], out[1], out[2]};
}
