/* step_texts.c - nets that read and write words: language models, a translator, transformers. */
#include <egret/models.h>

#include "step.h"

/* ---- language models (Zaremba et al. 2014) ------------------------------------------------------- */

enum { ROWS = 20 };

static void language_model(training *s, const char *size, int64_t steps, double clip)
{
    const int64_t words = step_size(10000, 100), width = step_size(0, 16);
    s->net[0] = eg_lstm_lm_new(size, .words = words, .width = width, .two_biases = true);
    s->optim[0] = eg_sgd_new(eg_module_parameters(s->net[0]), .lr = 1);
    eg_optim_clip_norm(s->optim[0], clip);
    s->x[0] = step_integers(EG_SHAPE(steps, ROWS), words);
    s->x[1] = step_integers(EG_SHAPE(steps * ROWS), words);
}

static void ptb_small(training *s)
{
    language_model(s, "small", step_size(20, 4), 5);
}

static void ptb_medium(training *s)
{
    language_model(s, "medium", step_size(35, 4), 5);
}

static void ptb_large(training *s)
{
    language_model(s, "large", step_size(35, 4), 10);
}

static eg_status language_step(training *s, eg_tensor **loss)
{
    eg_tape tape = eg_tape_open();
    eg_tensor *logits = eg_flatten(eg_module_forward(s->net[0], s->x[0]), 0, 1);
    eg_tensor *l = eg_mul_scalar(eg_cross_entropy(logits, s->x[1]), (double)eg_size(s->x[0], 0));
    *loss = l;
    return eg_optim_minimize(s->optim[0], tape, l);
}

/* ---- translation with additive attention (Bahdanau et al. 2014) ---------------------------------- */

enum { READ, READER, WRITTEN, WRITER, ATTENTION, WORD }; /* parts of the net */

static void nmt(training *s)
{
    const int64_t source = step_size(9414, 60), target = step_size(4935, 50), sentences = step_size(64, 4),
                  length = step_size(16, 4), units = step_size(1024, 16), embedded = step_size(256, 8);
    s->net[0] = eg_module_list_new(eg_embedding_new(source, embedded), eg_gru_new(embedded, units),
                                   eg_embedding_new(target, embedded), eg_gru_new(embedded + units, units),
                                   eg_additive_attention_new(units, units, units), eg_linear_new(units, target));
    s->optim[0] = eg_adam_new(eg_module_parameters(s->net[0]));
    s->x[0] = step_integers(EG_SHAPE(length, sentences), source);
    s->x[1] = step_integers(EG_SHAPE(length, sentences), target);
}

static eg_module *part(training *s, int i)
{
    return eg_module_at(s->net[0], i);
}

/* Teacher forcing, word by word; padding (word 0) counts nothing. */
static eg_status nmt_step(training *s, eg_tensor **loss)
{
    eg_tape tape = eg_tape_open();
    eg_rnn read = eg_rnn_forward(part(s, READER), eg_module_forward(part(s, READ), s->x[0]));
    eg_tensor *keys = eg_transpose(read.y, 0, 1), *h = read.h, *total = NULL;
    for (int64_t t = 1; t < eg_size(s->x[1], 0); t++) {
        eg_tensor *label = eg_select(s->x[1], 0, t);
        eg_attended seen = eg_additive_attention_forward(part(s, ATTENTION), eg_select(h, 0, 0), keys, NULL, NULL);
        eg_tensor *before = eg_module_forward(part(s, WRITTEN), eg_select(s->x[1], 0, t - 1));
        eg_tensor *in = eg_concat((eg_tensor *[]){seen.context, before}, 2, 1);
        eg_rnn r = eg_rnn_forward(part(s, WRITER), eg_unsqueeze(in, 0), .h0 = h);
        eg_tensor *logits = eg_module_forward(part(s, WORD), eg_select(r.y, 0, 0));
        eg_tensor *l = eg_cross_entropy(logits, label, .reduction = EG_NONE);
        l = eg_mean(eg_mul(l, eg_cast(eg_ne_scalar(label, 0), EG_F32)));
        total = total ? eg_add(total, l) : l;
        h = r.h;
    }
    *loss = total;
    return eg_optim_minimize(s->optim[0], tape, total);
}

/* ---- transformers (Vaswani et al. 2017) ----------------------------------------------------------- */

typedef struct encoder {
    eg_module base;
    eg_module *attention, *norm, *wide, *narrow, *last;
    eg_tensor *(*act)(eg_tensor *x);
} encoder;

static eg_tensor *dropped(eg_module *m, eg_tensor *x)
{
    return eg_dropout(x, 0.1, m->training);
}

static eg_tensor *encoder_forward(eg_module *m, eg_tensor *x)
{
    encoder *e = (encoder *)m;
    eg_tensor *y = eg_module_forward(e->attention, x);
    x = eg_module_forward(e->norm, eg_add(x, dropped(m, y)));
    y = eg_module_forward(e->narrow, e->act(eg_module_forward(e->wide, x)));
    return eg_module_forward(e->last, eg_add(x, dropped(m, y)));
}

static void encoder_members(eg_module *m, eg_members *members)
{
    encoder *e = (encoder *)m;
    eg_member_child(members, "attention", &e->attention);
    eg_member_child(members, "norm", &e->norm);
    eg_member_child(members, "wide", &e->wide);
    eg_member_child(members, "narrow", &e->narrow);
    eg_member_child(members, "last", &e->last);
}

static const eg_module_kind encoder_kind = {
    .size = sizeof(eg_module_kind), .name = "encoder", .forward = encoder_forward, .members = encoder_members};

static eg_module *encoder_new(int64_t width, int64_t heads, int64_t wide, eg_tensor *(*act)(eg_tensor *x))
{
    encoder *e = eg_module_new(sizeof *e, &encoder_kind);
    if (!e) {
        return NULL;
    }
    e->attention = eg_multi_head_attention_new(width, heads, .dropout = 0.1);
    e->norm = eg_layer_norm_new(EG_SHAPE(width));
    e->wide = eg_linear_new(width, wide);
    e->narrow = eg_linear_new(wide, width);
    e->last = eg_layer_norm_new(EG_SHAPE(width));
    e->act = act;
    return eg_module_finish(&e->base);
}

static void transformer(training *s)
{
    const int64_t width = step_size(512, 32);
    s->net[0] = encoder_new(width, step_size(8, 2), 4 * width, eg_relu);
    s->x[0] = step_random(EG_SHAPE(step_size(32, 2), step_size(128, 8), width));
}

static eg_status transformer_step(training *s, eg_tensor **loss)
{
    eg_tape tape = eg_tape_open();
    eg_tape_watch(tape, s->x[0]);
    eg_tensor *l = eg_mean(eg_module_forward(s->net[0], s->x[0]));
    *loss = l;
    return step_gradients(s->net[0], s->x[0], tape, l);
}

/* ---- BERT-base (Devlin et al. 2018) ---------------------------------------------------------------- */

enum { TOKENS, PLACES, SEGMENTS, NORM, ENCODERS, POOL, CLASSES };

static void bert_of(training *s, int64_t texts)
{
    const int64_t width = step_size(768, 24), words = step_size(30522, 100), length = step_size(128, 8);
    const int depth = (int)step_size(12, 2);
    eg_module *layers[12];
    for (int i = 0; i < depth; i++) {
        layers[i] = encoder_new(width, step_size(12, 2), 4 * width, eg_gelu);
    }
    s->net[0] =
        eg_module_list_new(eg_embedding_new(words, width), eg_embedding_new(512, width), eg_embedding_new(2, width),
                           eg_layer_norm_new(EG_SHAPE(width)), eg_sequential_new_with(layers, depth),
                           eg_linear_new(width, width), eg_linear_new(width, 2));
    eg_scope scope = eg_scope_push();
    s->x[0] = step_integers(EG_SHAPE(texts, length), words);
    s->x[1] = step_integers(EG_SHAPE(texts), 2);
    s->x[2] = eg_keep(eg_zeros(EG_SHAPE(texts, length), EG_I64));
    s->x[3] = eg_keep(eg_arange(0, (double)length, 1, EG_I64));
    eg_scope_pop(scope, NULL);
}

static void bert(training *s)
{
    bert_of(s, step_size(4, 2));
}

/* With the update, and as many texts as keep a large card busy. */
static void bert_train(training *s)
{
    bert_of(s, step_size(32, 2));
    s->optim[0] = eg_adam_new(eg_module_parameters(s->net[0]), .lr = 1e-4, .weight_decay = 1e-2, .decoupled = true);
}

static eg_status bert_step(training *s, eg_tensor **loss)
{
    eg_tape tape = eg_tape_open();
    eg_tensor *words = eg_module_forward(part(s, TOKENS), s->x[0]);
    eg_tensor *places = eg_module_forward(part(s, PLACES), s->x[3]);
    eg_tensor *segments = eg_module_forward(part(s, SEGMENTS), s->x[2]);
    eg_tensor *h = eg_module_forward(part(s, NORM), eg_add(eg_add(words, places), segments));
    h = eg_module_forward(part(s, ENCODERS), dropped(s->net[0], h));
    h = eg_tanh(eg_module_forward(part(s, POOL), eg_select(h, 1, 0)));
    eg_tensor *l = eg_cross_entropy(eg_module_forward(part(s, CLASSES), h), s->x[1]);
    *loss = l;
    return s->optim[0] ? eg_optim_minimize(s->optim[0], tape, l) : step_gradients(s->net[0], NULL, tape, l);
}

const step_model step_texts[] = {
    {"ptb-small", ptb_small, language_step},        {"ptb-medium", ptb_medium, language_step},
    {"ptb-large", ptb_large, language_step},        {"nmt", nmt, nmt_step},
    {"transformer", transformer, transformer_step}, {"bert", bert, bert_step},
    {"bert-train", bert_train, bert_step},          {NULL, NULL, NULL},
};
