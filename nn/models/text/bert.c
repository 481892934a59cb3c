/* bert.c - the encoder (Devlin et al. 2018). */
#include "nn/models/text/bert.h"

static const eg__text_size sizes[] = {
    [EG_BERT_TINY] = {128, 2, 512, 2},    [EG_BERT_MINI] = {256, 4, 1024, 4},   [EG_BERT_SMALL] = {512, 8, 2048, 4},
    [EG_BERT_MEDIUM] = {512, 8, 2048, 8}, [EG_BERT_BASE] = {768, 12, 3072, 12}, [EG_BERT_LARGE] = {1024, 16, 4096, 24},
};
static const eg_transformer_options rest = {
    .vocabulary = 30522, .positions = 512, .types = 2, .eps = 1e-12, .activation = eg_gelu_tanh};

/* ---- forward ------------------------------------------------------------------------------------- */

static eg_tensor *embed(eg__bert *b, eg_tensor *ids, eg_tensor *types)
{
    eg_tensor *kinds = types ? eg_embedding(b->types, types) : eg_select(b->types, 0, 0);
    eg_tensor *x = eg_positions_forward(b->positions, eg_add(eg_embedding(b->words, ids), kinds), 0);
    return eg__dropped(eg_module_forward(b->norm, x), b->dropout, &b->base);
}

/* A mask of keys as attention takes it, [N, 1, 1, S]. */
static eg_tensor *mask_of(eg_tensor *mask)
{
    return eg_unsqueeze(eg_unsqueeze(eg_ne_scalar(mask, 0), 1), 1);
}

eg_bert_made eg__bert_run(eg__bert *b, eg_tensor *ids, const eg_bert_options *o)
{
    eg_bert_made r = {.hidden = NULL};
    eg_tensor *mask = o->mask ? mask_of(o->mask) : NULL, *x = !o->mask || mask ? embed(b, ids, o->types) : NULL;
    for (int i = 0; i < eg_module_count(b->layers) && x; i++) {
        x = eg_transformer_encoder_layer_forward(eg_module_at(b->layers, i), x, .mask = mask);
    }
    eg_tensor *first = x ? eg_select(x, 1, 0) : NULL;
    r.pooled = first ? eg_tanh(eg_module_forward(b->pooler, first)) : NULL;
    r.hidden = r.pooled ? x : NULL;
    return r;
}

/* Two axes, and all that goes with them. */
eg_status eg__bert_check(const char *op, const eg_tensor *ids, const eg_bert_options *o, int ndim)
{
    const eg_tensor *with[2] = {o->types, o->mask};
    if (eg_ndim(ids) != ndim || eg_size(ids, -1) < 1) {
        return eg_failf(EG_ESHAPE, op, "ids have %d axes, the last of %lld: there must be %d, with a step at least",
                        eg_ndim(ids), (long long)eg_size(ids, -1), ndim);
    }
    for (int i = 0; i < 2; i++) {
        bool same = !with[i] || eg_ndim(with[i]) == ndim;
        for (int d = 0; with[i] && same && d < ndim; d++) {
            same = eg_size(with[i], d) == eg_size(ids, d);
        }
        if (!same) {
            return eg_failf(EG_ESHAPE, op, "%s must have the shape of the ids", i ? "mask" : "types");
        }
    }
    return EG_OK;
}

static eg_tensor *forward(eg_module *m, eg_tensor *ids)
{
    return eg_bert_forward(m, ids).hidden;
}

/* ---- the module ---------------------------------------------------------------------------------- */

static void members(eg_module *m, eg_members *walk)
{
    eg__bert *b = (eg__bert *)m;
    eg_member_parameter(walk, "word.weight", &b->words);
    eg_member_child(walk, "position", &b->positions);
    eg_member_parameter(walk, "type.weight", &b->types);
    eg_member_child(walk, "norm", &b->norm);
    eg_member_child(walk, "layers", &b->layers);
    eg_member_child(walk, "pooler", &b->pooler);
}

const eg_module_kind eg__bert_kind = {
    .size = sizeof(eg_module_kind), .name = "bert", .forward = forward, .members = members};

static eg_module *layer(const eg_transformer_options *o)
{
    return eg_transformer_encoder_layer_new(
        o->width, o->heads, o->hidden, .dropout = o->dropout, .activation = o->activation, .eps = o->eps,
        .attention_dropout = o->attention_dropout > 0 ? o->attention_dropout : EG_ZERO, .hidden_dropout = EG_ZERO);
}

eg_module *eg_bert_new_with(eg_bert_size of, const eg_transformer_options *given)
{
    eg_transformer_options o;
    if ((int)of < EG_BERT_TINY || of > EG_BERT_LARGE) {
        eg_failf(EG_EINVAL, eg__bert_kind.name, "there is no size %d", (int)of);
        return NULL;
    }
    if (!eg__text_options(eg__bert_kind.name, given, &sizes[of], &rest, &o)) {
        return NULL;
    }
    eg__bert *b = eg_module_new(sizeof *b, &eg__bert_kind);
    if (!b) {
        return NULL;
    }
    b->dropout = o.dropout;
    b->width = o.width;
    b->eps = o.eps;
    b->activation = o.activation;
    EG_SCOPE {
        b->words = eg_parameter(eg_zeros(EG_SHAPE(o.vocabulary, o.width), EG_F32));
        b->types = eg_parameter(eg_zeros(EG_SHAPE(o.types, o.width), EG_F32));
    }
    b->positions = b->words && b->types ? eg_learned_positions_new(o.positions, o.width) : NULL;
    b->norm = b->positions ? eg_layer_norm_new(EG_SHAPE(o.width), .eps = o.eps) : NULL;
    b->layers = b->norm ? eg__text_layers(o.layers, layer, &o) : NULL;
    b->pooler = b->layers ? eg_linear_new(o.width, o.width) : NULL;
    return eg__begin(eg_module_finish(&b->base), EG_TRUNCATED_NORMAL, .std = 0.02);
}
