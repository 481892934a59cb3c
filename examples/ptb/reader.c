/* reader.c - see reader.h. */
#define _POSIX_C_SOURCE 200809L
#include "reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"

eg_status reader_new(reader *r, eg_run *run, const char *name, eg_lstm_lm_options o, eg_vocabulary *words)
{
    o.size = sizeof o;
    o.words = eg_vocabulary_size(words);
    const eg_lstm_lm_info of = eg_lstm_lm_find(name);
    *r = (reader){.words = words, .layers = o.layers ? o.layers : of.layers, .width = o.width ? o.width : of.width};
    r->net = eg_run_module(run, "net", eg_lstm_lm_new_with(name, &o));
    return eg_run_status(run);
}

void reader_free(reader *r)
{
    eg_vocabulary_free(r->words);
    *r = (reader){0};
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

static eg_tensors *words_state(void *user)
{
    const reader *r = user;
    eg_tensors *map = eg_tensors_new();
    bool good = false;
    EG_SCOPE {
        eg_tensor *all = eg_arange_int(0, eg_vocabulary_size(r->words), 1, EG_I64);
        good = map && eg_tensors_set(map, "all", eg_vocabulary_decode(r->words, all)) == EG_OK &&
               eg_tensors_set(map, "tokens", eg_from(EG_SHAPE(1), EG_I64, &r->tokens)) == EG_OK;
    }
    if (!good) {
        eg_tensors_free(map);
    }
    return good ? map : NULL;
}

static bool same(const eg_tensor *a, const eg_tensor *b)
{
    return a && b && eg_dtype_of(a) == eg_dtype_of(b) && eg_numel(a) == eg_numel(b) &&
           memcmp(eg_data(a), eg_data(b), (size_t)eg_numel(a) * eg_dtype_size(eg_dtype_of(a))) == 0;
}

static eg_status words_load(void *user, const eg_tensors *state)
{
    eg_tensors *mine = words_state(user);
    bool good = mine && same(eg_tensors_get(mine, "all"), eg_tensors_get(state, "all")) &&
                same(eg_tensors_get(mine, "tokens"), eg_tensors_get(state, "tokens"));
    eg_tensors_free(mine);
    return good ? EG_OK : eg_fail(EG_EFORMAT, "ptb", "the checkpoint is of another text");
}

eg_status reader_train_in(eg_run *run, reader *r)
{
    const eg_saver_part words = {.size = sizeof words, .state = words_state, .load = words_load, .user = r};
    return eg_run_part(run, "words", &words);
}

/* What the checkpoint's tensors say of the net. */
static eg_status describe(const eg_tensors *file, eg_lstm_lm_options *o)
{
    char name[64];
    const eg_tensor *embedding = eg_tensors_get(file, "net/embedding.weight");
    do {
        snprintf(name, sizeof name, "net/layers.%d.rnn.weight_ih_l0", o->layers);
    } while (eg_tensors_has(file, name) && ++o->layers < 64);
    o->width = embedding ? eg_size(embedding, 1) : 0;
    o->tied = !eg_tensors_has(file, "net/logits.weight");
    o->two_biases = eg_tensors_has(file, "net/layers.0.rnn.bias_hh_l0");
    return !embedding  ? eg_last_error()->code
           : o->layers ? EG_OK
                       : eg_fail(EG_EFORMAT, "ptb", "the checkpoint has no layers");
}

eg_status reader_open(reader *r, eg_run *run, const char *path)
{
    eg_lstm_lm_options o = {.size = sizeof o};
    *r = (reader){0};
    eg_tensors *file = eg_safetensors_load(path);
    eg_tensor *words = file ? eg_tensors_get(file, "words/all") : NULL;
    eg_status st = words ? describe(file, &o) : eg_last_error()->code;
    eg_vocabulary *known = st ? NULL : corpus_words(words);
    eg_tensors_free(file);
    if (!known) {
        return eg_last_error()->code;
    }
    st = reader_new(r, run, "small", o, known);
    return st ? st : eg_run_restore(run, path);
}

/* ---- states ---------------------------------------------------------------------------------- */

eg_status states_new(states *s, eg_run *run, const reader *r, int64_t rows)
{
    EG_RUN_COMPUTES(run)
    {
        EG_SCOPE {
            s->h = eg_keep(eg_zeros(EG_SHAPE(r->layers, rows, r->width), EG_F32));
            s->c = eg_keep(eg_zeros(EG_SHAPE(r->layers, rows, r->width), EG_F32));
        }
    }
    return s->h && s->c ? EG_OK : eg_last_error()->code;
}

eg_status states_carry(states *s, const eg_lm *made)
{
    return eg_copy_(s->h, made->h) && eg_copy_(s->c, made->c) ? EG_OK : eg_last_error()->code;
}

eg_status states_clear(states *s)
{
    return eg_mul_scalar_(s->h, 0) && eg_mul_scalar_(s->c, 0) ? EG_OK : eg_last_error()->code;
}

void states_free(states *s)
{
    eg_release(s->h);
    eg_release(s->c);
    *s = (states){NULL, NULL};
}

/* ---- reading --------------------------------------------------------------------------------- */

double reader_perplexity(reader *r, eg_run *run, eg_dataset *windows, int64_t rows)
{
    states s = {NULL, NULL};
    eg_metrics *m = eg_metrics_new();
    eg_status st = m ? eg_module_eval(r->net) : eg_last_error()->code;
    st = st ? st : states_new(&s, run, r, rows);
    EG_RUN_EACH(window, run, windows)
    {
        if (!st) {
            eg_lm made = eg_lstm_lm_forward(r->net, window[0], s.h, s.c);
            eg_tensor *next = eg_flatten(window[1], 0, 1);
            eg_tensor *loss = eg_cross_entropy(eg_flatten(made.logits, 0, 1), next);
            st = eg_metrics_perplexity(m, "perplexity", loss, eg_numel(next));
            st = st ? st : states_carry(&s, &made);
        }
    }
    eg_run_heed(run, st);
    double perplexity = eg_run_status(run) ? (double)NAN : eg_metrics_value(m, "perplexity");
    states_free(&s);
    eg_metrics_free(m);
    eg_run_heed(run, eg_module_train(r->net));
    return perplexity;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int64_t id_of(const reader *r, const char *word)
{
    return eg_vocabulary_id(r->words, word, strlen(word));
}

/* The prompt behind the end of a sentence, which is where one begins: [T, 1]. */
static eg_tensor *read_prompt(const reader *r, const char *prompt)
{
    eg_tensor *text = eg_text(prompt), *places = eg_text_words(text);
    eg_tensor *ids = eg_vocabulary_encode(r->words, text, eg_vocabulary_size(r->words));
    for (int64_t i = 0; i < eg_numel(ids); i++) {
        if (eg_get(ids, i) == (double)eg_vocabulary_size(r->words)) {
            eg_failf(EG_EINDEX, "ptb", "\"%.*s\" is none of the %lld words it has learned",
                     (int)eg_get(places, 2 * i + 1), (const char *)eg_data(text) + (int64_t)eg_get(places, 2 * i),
                     (long long)eg_vocabulary_size(r->words));
            return NULL;
        }
    }
    eg_tensor *begin = eg_vocabulary_encode(r->words, eg_text("<eos>"), -1);
    return eg_unsqueeze(eg_concat((eg_tensor *[]){begin, ids}, 2, 0), 1);
}

static int64_t choose(eg_tensor *logits, eg_tensor *never, double temperature)
{
    eg_tensor *last = eg_masked_fill(eg_reshape(eg_select(logits, 0, -1), EG_SHAPE(-1)), never, -INFINITY);
    return eg_item_int(temperature > 0 ? eg_categorical(eg_div_scalar(last, temperature), 1, .logits = true)
                                       : eg_argmax(last));
}

/* Words with blanks between, and ends of lines for ends of sentences. */
static void say(const reader *r, FILE *to, int64_t id, bool *begins)
{
    const char *word = eg_vocabulary_word(r->words, id);
    bool ends = word && strcmp(word, "<eos>") == 0;
    fprintf(to, "%s%s", ends || *begins ? "" : " ", ends ? "\n" : word ? word : "");
    *begins = ends;
}

static eg_status go_on(reader *r, eg_run *run, FILE *to, eg_tensor *prompt, int64_t words, double temperature)
{
    states s = {NULL, NULL};
    eg_status st = states_new(&s, run, r, 1);
    bool begins = true;
    int64_t next = 0;
    for (int64_t i = 1; i < eg_numel(prompt); i++) { /* the first is the end before it */
        say(r, to, (int64_t)eg_get(prompt, i), &begins);
    }
    EG_RUN_COMPUTES(run)
    {
        eg_tensor *numbers = eg_arange_int(0, eg_vocabulary_size(r->words), 1, EG_I64);
        eg_tensor *never = eg_eq_scalar(numbers, (double)id_of(r, "<unk>"));
        for (int64_t i = 0; i < words && !st; i++) {
            EG_SCOPE {
                eg_tensor *x = i ? eg_from(EG_SHAPE(1, 1), EG_I64, &next) : eg_run_here(run, prompt);
                eg_lm made = eg_lstm_lm_forward(r->net, x, s.h, s.c);
                st = states_carry(&s, &made);
                next = st ? 0 : choose(made.logits, never, temperature);
                say(r, to, next, &begins);
            }
        }
    }
    states_free(&s);
    return st;
}

char *reader_write(reader *r, eg_run *run, const char *prompt, int64_t words, double temperature)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);
    eg_status st = to ? eg_module_eval(r->net) : eg_fail(EG_ENOMEM, "ptb", "out of memory for the text");
    EG_SCOPE {
        eg_tensor *ids = st ? NULL : read_prompt(r, prompt);
        st = ids ? go_on(r, run, to, ids, words, temperature) : eg_last_error()->code;
    }
    if (to && fclose(to) != 0 && !st) {
        st = eg_fail(EG_ENOMEM, "ptb", "out of memory for the text");
    }
    st = st ? st : eg_module_train(r->net);
    if (st) {
        free(text);
    }
    return st ? NULL : text;
}
