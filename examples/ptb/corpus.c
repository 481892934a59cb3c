/* corpus.c - see corpus.h. */
#define _POSIX_C_SOURCE 200809L
#include "corpus.h"

#include <math.h>
#include <stdlib.h>

#include "../common/published.h"
#include "grammar.h"

#define END "<eos> "

eg_status corpus_get(const char *folder, const char *from, void *user)
{
    (void)user;
    return published_ptb(folder, from);
}

/* ---- words as numbers ------------------------------------------------------------------------ */

static eg_word_counts *count_words(eg_tensor *const *texts, int n)
{
    eg_word_counts *counts = eg_word_counts_new();
    for (int i = 0; i < n && counts; i++) {
        if (eg_word_counts_add(counts, texts[i])) {
            eg_word_counts_free(counts);
            counts = NULL;
        }
    }
    return counts;
}

static eg_vocabulary *vocabulary_of(eg_tensor *const *texts, int n, bool sorted)
{
    eg_word_counts *counts = count_words(texts, n);
    eg_vocabulary *words = counts ? eg_vocabulary_new(counts, .sorted = sorted) : NULL;
    eg_word_counts_free(counts);
    return words;
}

eg_vocabulary *corpus_words(eg_tensor *text)
{
    return vocabulary_of(&text, 1, false);
}

/* Of equally frequent words the one that was met first is in front: so all are shown in order before. */
static eg_vocabulary *number_words(eg_tensor *text)
{
    eg_vocabulary *sorted = vocabulary_of(&text, 1, true);
    eg_tensor *ids = sorted ? eg_arange_int(0, eg_vocabulary_size(sorted), 1, EG_I64) : NULL;
    eg_tensor *all = sorted ? eg_vocabulary_decode(sorted, ids) : NULL;
    eg_vocabulary_free(sorted);
    return all ? vocabulary_of((eg_tensor *[]){all, text}, 2, false) : NULL;
}

static eg_status number_texts(corpus *c, eg_tensor *train, eg_tensor *valid, eg_tensor *test)
{
    c->words = train && valid && test ? number_words(train) : NULL;
    c->train = c->words ? eg_keep(eg_vocabulary_encode(c->words, train, -1)) : NULL;
    c->valid = c->train ? eg_keep(eg_vocabulary_encode(c->words, valid, -1)) : NULL;
    c->test = c->valid ? eg_keep(eg_vocabulary_encode(c->words, test, -1)) : NULL;
    return c->test ? EG_OK : eg_last_error()->code;
}

void corpus_free(corpus *c)
{
    eg_tensor **all[] = {&c->train, &c->valid, &c->test};
    for (int i = 0; i < 3; i++) {
        eg_release(*all[i]);
        *all[i] = NULL;
    }
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* What was written into the memory of `to`, in the scope. */
static eg_tensor *written(FILE *to, char *const *text, const size_t *bytes)
{
    bool whole = to && fclose(to) == 0;
    eg_tensor *t = whole ? eg_from(EG_SHAPE((int64_t)*bytes), EG_U8, *text) : NULL;
    free(*text);
    return whole ? t : (eg_fail(EG_ENOMEM, "corpus", "out of memory for the text"), NULL);
}

static eg_tensor *read_text(const char *folder, const char *name)
{
    char *text = NULL, path[4096];
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s/%s*", folder, name);
    eg_dataset *lines = eg_text_lines_new(path);
    FILE *to = lines ? open_memstream(&text, &bytes) : NULL;
    if (!lines) {
        return NULL;
    }
    EG_FOR_EACH(line, lines) {
        const size_t n = (size_t)eg_numel(line[0]);
        if (to) {
            fwrite(n ? eg_data(line[0]) : "", 1, n, to);
            fputs(" " END, to);
        }
    }
    eg_status st = eg_dataset_status(lines);
    eg_tensor *t = written(to, &text, &bytes);
    eg_dataset_free(lines);
    return st ? NULL : t;
}

eg_status corpus_read(corpus *c, const char *folder)
{
    eg_status st = EG_OK;
    *c = (corpus){0};
    EG_SCOPE {
        eg_tensor *train = read_text(folder, "ptb.train.txt");
        eg_tensor *valid = train ? read_text(folder, "ptb.valid.txt") : NULL;
        st = number_texts(c, train, valid, valid ? read_text(folder, "ptb.test.txt") : NULL);
    }
    return st;
}

static int draw(int n, void *user)
{
    (void)user;
    int drawn = 0;
    EG_SCOPE {
        drawn = (int)eg_item_int(eg_randint(EG_SCALAR, 0, n, EG_I64));
    }
    return drawn;
}

static eg_tensor *make_text(int64_t sentences, double *surprise)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);
    for (int64_t i = 0; i < sentences && to; i++) {
        *surprise += grammar_write(to, draw, NULL);
        fputs(END, to);
    }
    return written(to, &text, &bytes);
}

eg_status corpus_make(corpus *c, int64_t sentences)
{
    eg_status st = EG_OK;
    *c = (corpus){0};
    EG_SCOPE {
        double others = 0, surprise = 0;
        int64_t tenth = (sentences + 9) / 10;
        eg_tensor *train = make_text(sentences, &others), *valid = make_text(tenth, &others);
        st = number_texts(c, train, valid, make_text(tenth, &surprise));
        c->least = st ? 0 : exp(surprise / (double)eg_numel(c->test));
    }
    return st;
}
