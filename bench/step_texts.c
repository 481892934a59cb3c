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

/* ---- nets of attention ------------------------------------------------------------------------------ */

/* A layer of an encoder, and the gradient of what it reads. */
static void transformer(training *s)
{
    const int64_t width = step_size(512, 32);
    s->net[0] =
        eg_transformer_encoder_layer_new(width, step_size(8, 2), 4 * width, .dropout = 0.1, .hidden_dropout = EG_ZERO);
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

/* The translator of Vaswani et al. 2017, 2,048 ids on either side. */
static void transformer_base(training *s)
{
    const int64_t words = step_size(33708, 100);
    const eg_shape ids = EG_SHAPE(step_size(32, 2), step_size(64, 8));
    s->net[0] = eg_transformer_new(EG_TRANSFORMER_BASE, .vocabulary = words, .width = step_size(512, 32),
                                   .heads = step_size(8, 2), .hidden = step_size(2048, 64), .layers = step_size(6, 1));
    s->optim[0] = eg_adam_new(eg_module_parameters(s->net[0]), .lr = 1e-4, .beta2 = 0.997, .eps = 1e-9);
    for (int i = 0; i < 2; i++) {
        s->x[i] = step_integers(ids, words - 1);
        eg_add_int_(s->x[i], 1); /* no padding */
    }
}

static eg_status transformer_base_step(training *s, eg_tensor **loss)
{
    eg_tape tape = eg_tape_open();
    eg_tensor *logits = eg_flatten(eg_transformer_forward(s->net[0], s->x[0], s->x[1]), 0, 1);
    eg_tensor *l = eg_cross_entropy(logits, eg_flatten(s->x[1], 0, 1), .label_smoothing = 0.1);
    *loss = l;
    return eg_optim_minimize(s->optim[0], tape, l);
}

/* GPT-2 small (Radford et al. 2019). */
static void gpt2(training *s)
{
    const int64_t words = step_size(50257, 100), rows = 2, steps = step_size(256, 8);
    s->net[0] = eg_gpt2_new(EG_GPT2_SMALL, .vocabulary = words, .positions = steps, .width = step_size(768, 24),
                            .heads = step_size(12, 2), .layers = step_size(12, 2));
    s->optim[0] = eg_adam_new(eg_module_parameters(s->net[0]), .lr = 1e-4, .weight_decay = 1e-2, .decoupled = true);
    s->x[0] = step_integers(EG_SHAPE(rows, steps), words);
    s->x[1] = step_integers(EG_SHAPE(rows * steps), words);
}

static eg_status gpt2_step(training *s, eg_tensor **loss)
{
    eg_tape tape = eg_tape_open();
    eg_tensor *l = eg_cross_entropy(eg_flatten(eg_module_forward(s->net[0], s->x[0]), 0, 1), s->x[1]);
    *loss = l;
    return eg_optim_minimize(s->optim[0], tape, l);
}

/* GPT-2 small that says 64 ids behind 64 others, the likeliest each, with keys and values kept. */
static void gpt2_says(training *s, int64_t rows)
{
    const int64_t words = step_size(50257, 100), steps = step_size(64, 4);
    s->net[0] = eg_gpt2_new(EG_GPT2_SMALL, .vocabulary = words, .width = step_size(768, 24), .heads = step_size(12, 2),
                            .layers = step_size(12, 2));
    eg_module_eval(s->net[0]);
    s->x[0] = step_integers(EG_SHAPE(rows, steps), words);
}

static void gpt2_says_1(training *s)
{
    gpt2_says(s, 1);
}

static void gpt2_says_8(training *s)
{
    gpt2_says(s, 8);
}

static eg_status gpt2_say(training *s, eg_tensor **loss)
{
    eg_decoded said = eg_generate(eg_gpt2_next, s->net[0], s->x[0], .steps = eg_size(s->x[0], 1));
    *loss = eg_neg(eg_mean(said.scores));
    return said.ids ? EG_OK : eg_last_error()->code;
}

/* BERT-base (Devlin et al. 2018) with two classes of 128 ids. */
static void bert_of(training *s, int64_t texts)
{
    const int64_t words = step_size(30522, 100), length = step_size(128, 8), width = step_size(768, 24);
    s->net[0] =
        eg_bert_classifier_new(eg_bert_new(EG_BERT_BASE, .vocabulary = words, .width = width, .heads = step_size(12, 2),
                                           .hidden = 4 * width, .layers = step_size(12, 2), .activation = eg_gelu),
                               2);
    eg_scope scope = eg_scope_push();
    s->x[0] = step_integers(EG_SHAPE(texts, length), words);
    s->x[1] = step_integers(EG_SHAPE(texts), 2);
    s->x[2] = eg_keep(eg_zeros(EG_SHAPE(texts, length), EG_I64));
    s->x[3] = eg_keep(eg_ones(EG_SHAPE(texts, length), EG_BOOL));
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

static void bert_finetune(training *s)
{
    bert_of(s, step_size(8, 2));
    s->optim[0] = eg_adam_new(eg_module_parameters(s->net[0]), .lr = 1e-4, .weight_decay = 1e-2, .decoupled = true);
    eg_optim_clip_norm(s->optim[0], 1);
}

static eg_status bert_step(training *s, eg_tensor **loss)
{
    eg_tape tape = eg_tape_open();
    eg_bert_made made = eg_bert_forward(s->net[0], s->x[0], .types = s->x[2], .mask = s->x[3]);
    eg_tensor *l = eg_cross_entropy(made.logits, s->x[1]);
    *loss = l;
    return s->optim[0] ? eg_optim_minimize(s->optim[0], tape, l) : step_gradients(s->net[0], NULL, tape, l);
}

const step_model step_texts[] = {
    {"ptb-small", ptb_small, language_step},
    {"ptb-medium", ptb_medium, language_step},
    {"ptb-large", ptb_large, language_step},
    {"nmt", nmt, nmt_step},
    {"transformer", transformer, transformer_step},
    {"transformer-base", transformer_base, transformer_base_step},
    {"gpt2", gpt2, gpt2_step},
    {"gpt2-says", gpt2_says_1, gpt2_say},
    {"gpt2-says-8", gpt2_says_8, gpt2_say},
    {"bert", bert, bert_step},
    {"bert-finetune", bert_finetune, bert_step},
    {"bert-train", bert_train, bert_step},
    {NULL, NULL, NULL},
};
