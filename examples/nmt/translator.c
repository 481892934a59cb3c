/* translator.c - see translator.h. */
#include "translator.h"

#include <string.h>

eg_status translator_new(translator *t, eg_run *run, language spanish, language english, int64_t embedding,
                         int64_t units)
{
    *t = (translator){.spanish = spanish, .english = english};
    t->encoder = nmt_encoder(eg_vocabulary_size(spanish.words), embedding, units);
    t->decoder = nmt_decoder(eg_vocabulary_size(english.words), embedding, units);
    t->both = eg_run_module(run, "net", eg_module_list_new(t->encoder, t->decoder));
    return eg_run_status(run);
}

void translator_free(translator *t)
{
    eg_vocabulary_free(t->spanish.words);
    eg_vocabulary_free(t->english.words);
    *t = (translator){0};
}

/* ---- words in checkpoints -------------------------------------------------------------------- */

static bool set_words(eg_tensors *map, const char *name, const eg_vocabulary *words)
{
    eg_tensor *all = eg_arange(0, (double)eg_vocabulary_size(words), 1, EG_I64);
    return eg_tensors_set(map, name, eg_vocabulary_decode(words, all)) == EG_OK;
}

static eg_tensors *words_state(void *user)
{
    const translator *t = user;
    eg_tensors *map = eg_tensors_new();
    bool good = false;
    EG_SCOPE {
        int64_t longest[] = {t->spanish.longest, t->english.longest};
        good = map && set_words(map, "spanish", t->spanish.words) && set_words(map, "english", t->english.words) &&
               eg_tensors_set(map, "longest", eg_from(EG_SHAPE(2), EG_I64, longest)) == EG_OK &&
               eg_tensors_set(map, "pairs", eg_from(EG_SHAPE(1), EG_I64, &t->pairs)) == EG_OK;
    }
    if (!good) {
        eg_tensors_free(map);
    }
    return good ? map : NULL;
}

static bool same(const eg_tensor *a, const eg_tensor *b)
{
    size_t bytes = (size_t)eg_numel(a) * eg_dtype_size(eg_dtype_of(a));
    return a && b && eg_dtype_of(a) == eg_dtype_of(b) && eg_numel(a) == eg_numel(b) &&
           memcmp(eg_data(a), eg_data(b), bytes) == 0;
}

static eg_status words_load(void *user, const eg_tensors *state)
{
    eg_tensors *mine = words_state(user);
    bool good = mine != NULL;
    for (int64_t i = 0; i < eg_tensors_count(mine) && good; i++) {
        good = same(eg_tensors_at(mine, i), eg_tensors_get(state, eg_tensors_name(mine, i)));
    }
    eg_tensors_free(mine);
    return good ? EG_OK : EG_EUSER;
}

eg_status translator_train_in(eg_run *run, translator *t)
{
    const eg_saver_part words = {.size = sizeof words, .state = words_state, .load = words_load, .user = t};
    return eg_run_part(run, "words", &words);
}

static eg_status read_words(const eg_tensors *file, language *spanish, language *english)
{
    const eg_tensor *longest = eg_tensors_get(file, "words/longest");
    spanish->words = longest ? corpus_words(eg_tensors_get(file, "words/spanish")) : NULL;
    english->words = spanish->words ? corpus_words(eg_tensors_get(file, "words/english")) : NULL;
    double reads = eg_get(longest, 0), writes = eg_get(longest, 1);
    if (!english->words) {
        return eg_last_error()->code;
    }
    if (!(reads >= 1 && reads <= MOST_WORDS && writes >= 1 && writes <= MOST_WORDS)) {
        return eg_failf(EG_EFORMAT, "translator_open", "the checkpoint tells of sentences of %.0f and %.0f words",
                        reads, writes);
    }
    spanish->longest = (int64_t)reads;
    english->longest = (int64_t)writes;
    return EG_OK;
}

eg_status translator_open(translator *t, eg_run *run, const char *path)
{
    language spanish = {0}, english = {0};
    *t = (translator){0};
    eg_tensors *file = eg_safetensors_load(path);
    if (!file) {
        return eg_last_error()->code;
    }
    eg_status st = read_words(file, &spanish, &english);
    eg_tensor *read = !st ? eg_tensors_get(file, "net/0.embedding.weight") : NULL;
    eg_tensor *write = read ? eg_tensors_get(file, "net/1.word.weight") : NULL;
    int64_t embedding = eg_size(read, 1), units = eg_size(write, 1);
    eg_tensors_free(file);
    *t = (translator){.spanish = spanish, .english = english};
    st = write ? translator_new(t, run, spanish, english, embedding, units) : eg_last_error()->code;
    return st ? st : eg_run_restore(run, path);
}

/* ---- translating ----------------------------------------------------------------------------- */

/* The words of a sentence; what it does not know is 0, which cleaning never leaves. */
static eg_tensor *read_sentence(const translator *t, const char *sentence)
{
    eg_tensor *text = corpus_clean(eg_text(sentence));
    eg_tensor *ids = eg_vocabulary_encode(t->spanish.words, text, 0), *places = eg_text_words(text);
    for (int64_t i = 0; i < eg_numel(ids); i++) {
        if (eg_get(ids, i) == 0) {
            const char *word = (const char *)eg_data(text) + (int64_t)eg_get(places, 2 * i);
            eg_failf(EG_EINDEX, "translate", "\"%.*s\" is none of the %lld words it has learned",
                     (int)eg_get(places, 2 * i + 1), word, (long long)eg_vocabulary_size(t->spanish.words) - 1);
            return NULL;
        }
    }
    if (eg_numel(ids) > t->spanish.longest) {
        eg_failf(EG_EINDEX, "translate", "\"%.150s\" has %lld words and marks; it has learned to read %lld", sentence,
                 (long long)eg_numel(ids) - 2, (long long)t->spanish.longest - 2);
        return NULL;
    }
    return ids;
}

/* Writes until the end, on the run's device. */
static int write_words(const translator *t, eg_run *run, eg_tensor *source, eg_tensor **words, eg_tensor **weights)
{
    int n = 0;
    EG_RUN_COMPUTES(run)
    {
        eg_rnn seen = nmt_encode(t->encoder, eg_run_here(run, source));
        eg_tensor *keys = nmt_keys(t->decoder, seen.y), *state = eg_squeeze(seen.h, EG_AXES(0));
        double end = (double)eg_vocabulary_id(t->english.words, "<end>", 5);
        double start = (double)eg_vocabulary_id(t->english.words, "<start>", 7);
        eg_tensor *word = eg_full(EG_SHAPE(1), start, EG_I64);
        do {
            written step = nmt_decode(t->decoder, word, state, seen.y, keys);
            word = words[n] = eg_argmax(step.logits, .axes = EG_AXES(1));
            weights[n++] = step.weights;
            state = step.state;
        } while (word && n < t->english.longest && eg_item(word) != end);
    }
    return n;
}

eg_status translate(const translator *t, eg_run *run, const char *sentence, translation *made)
{
    eg_tensor *read = read_sentence(t, sentence), *words[MOST_WORDS], *weights[MOST_WORDS];
    if (!read) {
        return eg_last_error()->code;
    }
    eg_tensor *source = eg_pad_sequences(&read, 1, .maxlen = t->spanish.longest, .pad_after = true);
    int n = write_words(t, run, source, words, weights);
    eg_tensor *looked = eg_slice(eg_concat(weights, n, 0), 1, 0, eg_numel(read), 1);
    *made = (translation){read, eg_to(eg_concat(words, n, 0), eg_cpu()), eg_to(looked, eg_cpu())};
    return made->written && made->weights ? EG_OK : eg_last_error()->code;
}

/* ---- showing --------------------------------------------------------------------------------- */

/* The words without "<start>" and "<end>". */
static void print_words(FILE *to, const language *of, const eg_tensor *ids)
{
    const char *before = "";
    for (int64_t i = 0; i < eg_numel(ids); i++) {
        const char *word = eg_vocabulary_word(of->words, (int64_t)eg_get(ids, i));
        if (*word != '<') {
            fprintf(to, "%s%s", before, word);
            before = " ";
        }
    }
}

void translation_print(FILE *to, const translator *t, const translation *made)
{
    print_words(to, &t->spanish, made->read);
    fputs(" -> ", to);
    print_words(to, &t->english, made->written);
    fputs(" \n", to);
}

void translation_write(FILE *to, const translator *t, const translation *made)
{
    print_words(to, &t->english, made->written);
    fputc('\n', to);
}

static void spell(const language *of, const eg_tensor *ids, const char **words)
{
    for (int64_t i = 0; i < eg_numel(ids); i++) {
        words[i] = eg_vocabulary_word(of->words, (int64_t)eg_get(ids, i));
    }
}

eg_tensor *translation_draw(const translator *t, const translation *made)
{
    const char *rows[MOST_WORDS], *columns[MOST_WORDS];
    spell(&t->english, made->written, rows);
    spell(&t->spanish, made->read, columns);
    return eg_draw_heatmap(made->weights, .row_words = rows, .column_words = columns, .least = 0, .most = 1);
}
