/* net.c - see net.h. */
#include "net.h"

/* What Keras begins with. */
static eg_module *begun(eg_module *net)
{
    if (!net || eg_module_init(net, EG_GLOROT_UNIFORM) != EG_OK ||
        eg_module_init(eg_module_find(net, "embedding"), EG_UNIFORM, .low = -0.05, .high = 0.05) != EG_OK) {
        eg_module_free(net);
        return NULL;
    }
    return net;
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct reader {
    eg_module base;
    eg_module *embedding, *gru;
} reader;

static eg_tensor *reader_forward(eg_module *m, eg_tensor *x)
{
    return nmt_encode(m, x).y;
}

static void reader_members(eg_module *m, eg_members *members)
{
    reader *r = (reader *)m;
    eg_member_child(members, "embedding", &r->embedding);
    eg_member_child(members, "gru", &r->gru);
}

static const eg_module_kind reader_kind = {
    .size = sizeof(eg_module_kind), .name = "encoder", .forward = reader_forward, .members = reader_members};

eg_module *nmt_encoder(int64_t words, int64_t embedding, int64_t units)
{
    reader *r = eg_module_new(sizeof *r, &reader_kind);
    if (!r) {
        return NULL;
    }
    r->embedding = eg_embedding_new(words, embedding);
    r->gru = eg_gru_new(embedding, units, .batch_first = true, .reset_before = true);
    return begun(eg_module_finish(&r->base));
}

eg_rnn nmt_encode(eg_module *encoder, eg_tensor *source)
{
    reader *r = (reader *)encoder;
    return eg_rnn_forward(r->gru, eg_module_forward(r->embedding, source));
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct writer {
    eg_module base;
    eg_module *embedding, *gru, *attention, *word;
} writer;

static void writer_members(eg_module *m, eg_members *members)
{
    writer *w = (writer *)m;
    eg_member_child(members, "embedding", &w->embedding);
    eg_member_child(members, "gru", &w->gru);
    eg_member_child(members, "attention", &w->attention);
    eg_member_child(members, "word", &w->word);
}

static const eg_module_kind writer_kind = {
    .size = sizeof(eg_module_kind), .name = "decoder", .members = writer_members};

eg_module *nmt_decoder(int64_t words, int64_t embedding, int64_t units)
{
    writer *w = eg_module_new(sizeof *w, &writer_kind);
    if (!w) {
        return NULL;
    }
    w->embedding = eg_embedding_new(words, embedding);
    w->gru = eg_gru_new(units + embedding, units, .reset_before = true);
    w->attention = eg_additive_attention_new(units, units, units);
    w->word = eg_linear_new(units, words);
    return begun(eg_module_finish(&w->base));
}

eg_tensor *nmt_keys(eg_module *decoder, eg_tensor *keys)
{
    return eg_additive_attention_keys(((writer *)decoder)->attention, keys);
}

/* One step after the words `before`, now [N, embedding]. */
static written decode(writer *w, eg_tensor *before, eg_tensor *state, eg_tensor *keys, eg_tensor *projected)
{
    eg_attended seen = eg_additive_attention_forward(w->attention, state, keys, projected, NULL);
    eg_tensor *x = eg_concat((eg_tensor *[]){seen.context, before}, 2, 1);
    eg_tensor *h = eg_squeeze(eg_rnn_forward(w->gru, eg_unsqueeze(x, 0)).h, EG_AXES(0));
    return (written){eg_module_forward(w->word, h), h, seen.weights};
}

written nmt_decode(eg_module *decoder, eg_tensor *before, eg_tensor *state, eg_tensor *keys, eg_tensor *projected)
{
    writer *w = (writer *)decoder;
    return decode(w, eg_module_forward(w->embedding, before), state, keys, projected);
}

/* ---- the loss -------------------------------------------------------------------------------- */

eg_tensor *nmt_loss(eg_module *encoder, eg_module *decoder, eg_tensor *source, eg_tensor *target)
{
    writer *w = (writer *)decoder;
    int64_t steps = eg_size(target, 1) - 1;
    eg_rnn read = nmt_encode(encoder, source);
    eg_tensor *known = eg_module_forward(w->embedding, eg_slice(target, 1, 0, steps, 1));
    eg_tensor *projected = nmt_keys(decoder, read.y);
    eg_tensor *state = eg_squeeze(read.h, EG_AXES(0)), *total = NULL;
    for (int64_t t = 0; t < steps && projected; t++) {
        eg_tensor *word = eg_select(target, 1, t + 1), *before = eg_select(known, 1, t);
        written step = decode(w, before, state, read.y, projected);
        eg_tensor *loss = eg_cross_entropy(step.logits, word, .reduction = EG_SUM, .ignore = true);
        loss = eg_div_scalar(loss, (double)eg_size(target, 0));
        total = total ? eg_add(total, loss) : loss;
        state = step.state;
    }
    return total;
}
