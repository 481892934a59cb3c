/* lstm_lm.c - language models of LSTM layers (Zaremba et al. 2014), and what Merity et al. 2017 keep them from learning
 * by heart with. */
#include <math.h>
#include <string.h>

#include <egret/egret.h>
#include <egret/models/lstm.h>

#include "lib/core/base.h"

static const eg_lstm_lm_info sizes[] = {
#define SIZE(name_, words_, width_, layers_, dropout_, scale_, parameters_, source_) \
    {.name = #name_,                                                                 \
     .source = source_,                                                              \
     .words = words_,                                                                \
     .width = width_,                                                                \
     .layers = layers_,                                                              \
     .dropout = dropout_,                                                            \
     .scale = scale_,                                                                \
     .parameters = parameters_},
#include "nn/models/text/lstm_lm.def"
#undef SIZE
};

enum { COUNT = sizeof sizes / sizeof *sizes, MOST_LAYERS = 64 };

int eg_lstm_lm_count(void)
{
    return COUNT;
}

eg_lstm_lm_info eg_lstm_lm_at(int i)
{
    if (i < 0 || i >= COUNT) {
        eg_failf(EG_EINDEX, "eg_lstm_lm_at", "%d is outside 0..%d", i, COUNT - 1);
        return (eg_lstm_lm_info){.name = NULL};
    }
    return sizes[i];
}

static eg_lstm_lm_info find(const char *op, const char *name)
{
    for (int i = 0; name && i < COUNT; i++) {
        if (!strcmp(sizes[i].name, name)) {
            return sizes[i];
        }
    }
    if (name) {
#define SIZE(name_, ...) " " #name_
        eg_failf(EG_EINDEX, op, "there is no \"%.60s\"; there are"
#include "nn/models/text/lstm_lm.def"
                 ,
                 name);
#undef SIZE
    } else {
        eg_fail(EG_EINVAL, op, "name is NULL");
    }
    return (eg_lstm_lm_info){.name = NULL};
}

eg_lstm_lm_info eg_lstm_lm_find(const char *name)
{
    return find("eg_lstm_lm_find", name);
}

/* ---- forward ------------------------------------------------------------------------------------ */

typedef struct lstm_lm {
    eg_module base;
    eg_lstm_lm_options o;
    eg_module *layers;
    eg_tensor *embedding, *weight, *bias; /* weight NULL: tied */
} lstm_lm;

static const eg_module_kind lstm_lm_kind;

/* As many ones or zeros as there are rows along `axis` of x, which they are to be multiplied with. */
static eg_tensor *mask(eg_tensor *x, int axis, double p)
{
    return eg_dropout(eg_ones_like(eg_slice(x, axis, 0, 1, 1)), p, true);
}

static eg_tensor *read_words(const lstm_lm *m, eg_tensor *ids)
{
    eg_tensor *x = eg_embedding(m->embedding, ids);
    double p = m->base.training ? m->o.embedding_dropout : 0;
    return p > 0 ? eg_mul(x, eg_embedding(mask(m->embedding, 1, p), ids)) : x;
}

static eg_tensor *drop(const lstm_lm *m, eg_tensor *y)
{
    double p = m->base.training ? m->o.dropout : 0;
    return p > 0 && m->o.variational ? eg_mul(y, mask(y, 0, p)) : eg_dropout(y, p, true);
}

static eg_lm forward(lstm_lm *m, eg_tensor *ids, eg_tensor *h, eg_tensor *c)
{
    eg_rnn r = eg_rnn_forward(m->layers, read_words(m, ids), .h0 = h, .c0 = c);
    eg_tensor *dropped = drop(m, r.y);
    return (eg_lm){.logits = eg_linear(dropped, m->weight ? m->weight : m->embedding, m->bias),
                   .h = r.h,
                   .c = r.c,
                   .y = r.y,
                   .dropped = dropped};
}

eg_lm eg_lstm_lm_forward(eg_module *m, eg_tensor *ids, eg_tensor *h, eg_tensor *c)
{
    static const char op[] = "eg_lstm_lm_forward";
    const eg_lm failed = {NULL, NULL, NULL, NULL, NULL};
    if (!m || !ids || (h == NULL) != (c == NULL)) {
        eg_failf(EG_EINVAL, op, !m ? "m is NULL" : !ids ? "ids is NULL" : "h and c are both given, or neither is");
        return failed;
    }
    if (m->kind != &lstm_lm_kind) {
        eg_failf(EG_EINVAL, op, "a %s is no language model of LSTM layers", m->kind->name);
        return failed;
    }
    eg_scope s = eg_scope_push();
    eg_lm r = forward((lstm_lm *)m, ids, h, c);
    eg_tensor *results[] = {r.logits, r.h, r.c, r.y, r.dropped};
    return eg_scope_pop_n(s, results, 5) || !r.logits ? failed : r;
}

static eg_tensor *logits_alone(eg_module *m, eg_tensor *ids)
{
    return forward((lstm_lm *)m, ids, NULL, NULL).logits;
}

static void members(eg_module *base, eg_members *members)
{
    lstm_lm *m = (lstm_lm *)base;
    eg_member_parameter(members, "embedding.weight", &m->embedding);
    eg_member_child(members, "layers", &m->layers);
    if (!m->o.tied) {
        eg_member_parameter(members, "logits.weight", &m->weight);
    }
    eg_member_parameter(members, "logits.bias", &m->bias);
}

static const eg_module_kind lstm_lm_kind = {
    .size = sizeof(eg_module_kind), .name = "lstm_lm", .forward = logits_alone, .members = members};

/* ---- making ------------------------------------------------------------------------------------- */

static bool fill_in(const char *op, const eg_lstm_lm_info *of, eg_lstm_lm_options *o)
{
    o->words = o->words ? o->words : of->words;
    o->width = o->width ? o->width : of->width;
    o->layers = o->layers ? o->layers : of->layers;
    o->dropout = eg__or(o->dropout, of->dropout);
    o->scale = o->scale != 0 ? o->scale : of->scale;
    if (o->words < 1 || o->width < 1 || o->layers < 1 || o->layers > MOST_LAYERS) {
        eg_failf(EG_EINVAL, op, "%lld words, width %lld, %d layers: at least 1 of each, at most %d layers",
                 (long long)o->words, (long long)o->width, o->layers, MOST_LAYERS);
        return false;
    }
    const double parts[] = {o->dropout, o->embedding_dropout, o->weight_dropout};
    for (int i = 0; i < 3; i++) {
        if (!(parts[i] >= 0 && parts[i] <= 1)) {
            eg_failf(EG_EINVAL, op, "%s is %g, must be 0..1",
                     (const char *[]){"dropout", "embedding_dropout", "weight_dropout"}[i], parts[i]);
            return false;
        }
    }
    if (!(o->scale > 0 && isfinite(o->scale))) {
        eg_failf(EG_EINVAL, op, "scale is %g, must be finite and above 0", o->scale);
        return false;
    }
    return true;
}

/* Dropout is in front of every layer, and the first reads words. */
static eg_module *make_layers(const eg_lstm_lm_options *o)
{
    eg_module *layer[MOST_LAYERS];
    int n = 0;
    do {
        layer[n] = eg_rnn_dropout_new(
            eg_lstm_new(o->width, o->width, .one_bias = !o->two_biases, .weight_dropout = o->weight_dropout),
            .input = o->dropout, .variational = o->variational);
    } while (layer[n++] && n < o->layers);
    return eg_rnn_stack_new_with(layer, n);
}

static eg_tensor *zeros(eg_shape shape)
{
    eg_scope s = eg_scope_push();
    eg_tensor *t = eg_parameter(eg_zeros(shape, EG_F32));
    eg_scope_pop(s, NULL);
    return t;
}

eg_module *eg_lstm_lm_new_with(const char *name, const eg_lstm_lm_options *given)
{
    static const char op[] = "eg_lstm_lm_new";
    eg_lstm_lm_options o;
    eg__options(&o, sizeof o, given);
    const eg_lstm_lm_info of = find(op, name);
    if (!of.name || !fill_in(op, &of, &o)) {
        return NULL;
    }
    lstm_lm *m = eg_module_new(sizeof *m, &lstm_lm_kind);
    if (!m) {
        return NULL;
    }
    m->o = o;
    m->embedding = zeros(EG_SHAPE(o.words, o.width));
    m->layers = m->embedding ? make_layers(&o) : NULL;
    m->weight = m->layers && !o.tied ? zeros(EG_SHAPE(o.words, o.width)) : NULL;
    m->bias = m->layers ? zeros(EG_SHAPE(o.words)) : NULL;
    eg_module *net = eg_module_finish(&m->base);
    if (net && (eg_module_init(net, EG_UNIFORM, .low = -o.scale, .high = o.scale) ||
                eg_init(m->bias, EG_UNIFORM, .low = -o.scale, .high = o.scale))) {
        eg_module_free(net);
        net = NULL;
    }
    return net;
}
