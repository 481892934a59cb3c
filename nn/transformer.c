/* transformer.c - layers of a transformer's encoder and decoder. */
#include "lib/ops/optable.h"
#include "nn/nn.h"

typedef struct layer {
    eg_module base;
    eg_module *attn, *cross, *linear1, *linear2, *norm[3]; /* cross: decoders alone */
    eg_tensor *(*activation)(eg_tensor *x);
    double dropout, hidden_dropout;
    bool norm_first;
} layer;

static eg_tensor *dropped(layer *l, eg_tensor *x, double share)
{
    return share > 0 ? eg_dropout(x, share, l->base.training) : x;
}

/* What a part made of x, added to it. */
static eg_tensor *joined(layer *l, eg_module *norm, eg_tensor *x, eg_tensor *made)
{
    eg_tensor *sum = eg_add(x, dropped(l, made, l->dropout));
    return l->norm_first ? sum : eg_module_forward(norm, sum);
}

static eg_tensor *attend(layer *l, eg_module *attn, eg_module *norm, eg_tensor *x, eg_tensor *memory,
                         const eg_attend_options *o)
{
    eg_tensor *query = l->norm_first ? eg_module_forward(norm, x) : x;
    eg_tensor *key = memory ? memory : query;
    return joined(l, norm, x, eg_multi_head_attention_forward_with(attn, query, key, key, o).context);
}

static eg_tensor *think(layer *l, eg_module *norm, eg_tensor *x)
{
    eg_tensor *in = l->norm_first ? eg_module_forward(norm, x) : x;
    eg_tensor *hidden = dropped(l, l->activation(eg_module_forward(l->linear1, in)), l->hidden_dropout);
    return joined(l, norm, x, eg_module_forward(l->linear2, hidden));
}

static eg_tensor *encode(layer *l, eg_tensor *x, const eg_attend_options *o)
{
    return think(l, l->norm[1], attend(l, l->attn, l->norm[0], x, NULL, o));
}

static eg_tensor *encoder_forward(eg_module *m, eg_tensor *x)
{
    return encode((layer *)m, x, NULL);
}

static void members(eg_module *m, eg_members *walk)
{
    layer *l = (layer *)m;
    eg_member_child(walk, "self_attn", &l->attn);
    if (l->base.kind->forward == NULL) {
        eg_member_child(walk, "multihead_attn", &l->cross);
    }
    eg_member_child(walk, "linear1", &l->linear1);
    eg_member_child(walk, "linear2", &l->linear2);
    for (int i = 0; i < (l->base.kind->forward ? 2 : 3); i++) {
        eg_member_child(walk, (const char *[]){"norm1", "norm2", "norm3"}[i], &l->norm[i]);
    }
}

static const eg_module_kind encoder_kind = {.size = sizeof(eg_module_kind),
                                            .name = "transformer_encoder_layer",
                                            .forward = encoder_forward,
                                            .members = members};
static const eg_module_kind decoder_kind = {
    .size = sizeof(eg_module_kind), .name = "transformer_decoder_layer", .members = members};

static eg_module *make(const eg_module_kind *kind, int64_t width, int64_t heads, int64_t hidden,
                       const eg_transformer_layer_options *given)
{
    eg_transformer_layer_options o;
    eg__options(&o, sizeof o, given);
    const double hidden_dropout = eg__or(o.hidden_dropout, o.dropout);
    const eg_multi_head_attention_options attention = {.size = sizeof attention,
                                                       .dropout = eg__or(o.attention_dropout, o.dropout),
                                                       .no_bias = o.no_attention_bias,
                                                       .dtype = o.dtype};
    if (!(o.dropout >= 0 && o.dropout <= 1) || !(hidden_dropout >= 0 && hidden_dropout <= 1)) {
        return eg__fail_null(EG_EINVAL, kind->name, "dropout is %g, hidden_dropout is %g, both must be 0..1", o.dropout,
                             hidden_dropout);
    }
    layer *l = eg_module_new(sizeof *l, kind);
    if (!l) {
        return NULL;
    }
    bool decodes = kind == &decoder_kind;
    l->activation = o.activation ? o.activation : eg_relu;
    l->dropout = o.dropout;
    l->norm_first = o.norm_first;
    l->hidden_dropout = hidden_dropout;
    l->attn = eg_multi_head_attention_new_with(width, heads, &attention);
    l->cross = l->attn && decodes ? eg_multi_head_attention_new_with(width, heads, &attention) : NULL;
    l->linear1 = l->attn ? eg_linear_new(width, hidden, .dtype = o.dtype) : NULL;
    l->linear2 = l->linear1 ? eg_linear_new(hidden, width, .dtype = o.dtype) : NULL;
    for (int i = 0; i < 2 + decodes && l->linear2; i++) {
        l->norm[i] = eg_layer_norm_new(EG_SHAPE(width), .eps = o.eps, .dtype = o.dtype);
    }
    return eg_module_finish(&l->base);
}

eg_module *eg_transformer_encoder_layer_new_with(int64_t width, int64_t heads, int64_t hidden,
                                                 const eg_transformer_layer_options *options)
{
    return make(&encoder_kind, width, heads, hidden, options);
}

eg_module *eg_transformer_decoder_layer_new_with(int64_t width, int64_t heads, int64_t hidden,
                                                 const eg_transformer_layer_options *options)
{
    return make(&decoder_kind, width, heads, hidden, options);
}

static eg_status check(const char *op, const eg_module *m, const eg_module_kind *kind, const eg_tensor *x)
{
    if (!m) {
        return eg__null_argument(op, "m");
    }
    return m->kind == kind ? eg__check(x, op, "x")
                           : eg__fail(EG_EINVAL, op, "a %s is no %s", m->kind->name, kind->name);
}

/* Moves y out of the scope, and weights of heads; after a failure they are NULL. */
static eg_tensor *popped(eg_scope s, eg_tensor *y, eg_tensor **a, eg_tensor **b)
{
    eg_tensor *out[3] = {y, a ? *a : NULL, b ? *b : NULL};
    const bool good = !eg_scope_pop_n(s, out, y ? 3 : 0) && y;
    if (a && !good) {
        *a = NULL;
    }
    if (b && !good) {
        *b = NULL;
    }
    return good ? y : NULL;
}

eg_tensor *eg_transformer_encoder_layer_forward_with(eg_module *m, eg_tensor *x, const eg_attend_options *given)
{
    static const char op[] = "eg_transformer_encoder_layer_forward";
    eg_attend_options o;
    eg__options(&o, sizeof o, given);
    o.size = sizeof o;
    if (check(op, m, &encoder_kind, x)) {
        return NULL;
    }
    if (o.weights) {
        return eg__fail_null(EG_EINVAL, op, "there is no place for weights");
    }
    eg__observed seen = eg__observe_begin(m);
    eg_scope s = eg_scope_push();
    eg_tensor *y = s.depth ? popped(s, encode((layer *)m, x, &o), o.heads, NULL) : NULL;
    eg__observe_end(&seen, y);
    return y;
}

eg_tensor *eg_transformer_decoder_layer_forward_with(eg_module *m, eg_tensor *x, eg_tensor *memory,
                                                     const eg_decoder_masks *given)
{
    static const char op[] = "eg_transformer_decoder_layer_forward";
    eg_decoder_masks o;
    eg__options(&o, sizeof o, given);
    for (int i = 0; i < 2; i++) {
        eg_tensor **heads = i ? o.heads : o.memory_heads;
        if (heads) {
            *heads = NULL;
        }
    }
    if (check(op, m, &decoder_kind, x) || eg__check(memory, op, "memory")) {
        return NULL;
    }
    layer *l = (layer *)m;
    eg__observed seen = eg__observe_begin(m);
    eg_scope s = eg_scope_push();
    eg_attend_options own = {
        .size = sizeof own, .mask = o.mask, .causal = !o.not_causal, .cache = o.cache, .heads = o.heads};
    eg_attend_options other = {.size = sizeof other, .mask = o.memory_mask, .cache = o.cache, .heads = o.memory_heads};
    eg_tensor *y = s.depth ? attend(l, l->attn, l->norm[0], x, NULL, &own) : NULL;
    y = attend(l, l->cross, l->norm[1], y, memory, &other);
    y = think(l, l->norm[2], y);
    y = s.depth ? popped(s, y, o.heads, o.memory_heads) : NULL;
    eg__observe_end(&seen, y);
    return y;
}
