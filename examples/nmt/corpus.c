/* corpus.c - see corpus.h. */
#define _POSIX_C_SOURCE 200809L
#include "corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "grammar.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

eg_tensor *corpus_clean(eg_tensor *text)
{
    eg_tensor *plain = eg_text_normalise(text, .form = EG_NFD, .drop = "Mn", .lower = true, .apart = "?.!,¿",
                                         .only = LETTERS, .trim = true);
    return eg_concat((eg_tensor *[]){eg_text("<start> "), plain, eg_text(" <end>")}, 3, 0);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static eg_vocabulary *number_words(const eg_word_counts *counts)
{
    return eg_vocabulary_new(counts, .reserved = (const char *[]){"<pad>"}, .reserved_count = 1, .sorted = true);
}

eg_vocabulary *corpus_words(eg_tensor *text)
{
    eg_word_counts *counts = eg_word_counts_new();
    eg_vocabulary *words = eg_word_counts_add(counts, text) == EG_OK ? number_words(counts) : NULL;
    eg_word_counts_free(counts);
    return words;
}

/* The sentences as rows of numbers, all of one length. */
static eg_tensor *number_sentences(language *of, eg_tensor **texts, int64_t n)
{
    eg_word_counts *counts = eg_word_counts_new();
    bool good = counts != NULL;
    for (int64_t i = 0; i < n && good; i++) {
        good = eg_word_counts_add(counts, texts[i]) == EG_OK;
    }
    of->words = good ? number_words(counts) : NULL;
    eg_word_counts_free(counts);
    for (int64_t i = 0; i < n && of->words; i++) {
        texts[i] = eg_vocabulary_encode(of->words, texts[i], -1);
    }
    eg_tensor *rows = of->words ? eg_pad_sequences(texts, (int)n, .pad_after = true) : NULL;
    of->longest = eg_size(rows, 1);
    return rows;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Cuts a line and cleans both sides. The texts belong to whoever keeps them. */
static eg_status read_line(eg_tensor *line, int64_t number, eg_tensor **spanish, eg_tensor **english)
{
    const char *begin = eg_data(line);
    int64_t n = eg_numel(line);
    const char *tab = n ? memchr(begin, '\t', (size_t)n) : NULL;
    if (!tab) {
        return eg_failf(EG_EFORMAT, "corpus", "line %lld has no tab between English and Spanish", (long long)number);
    }
    int64_t cut = tab - begin;
    const char *end = memchr(tab + 1, '\t', (size_t)(n - cut - 1));
    *english = eg_keep(corpus_clean(eg_slice(line, 0, 0, cut, 1)));
    *spanish = eg_keep(corpus_clean(eg_slice(line, 0, cut + 1, end ? end - begin : n, 1)));
    return *english && *spanish ? EG_OK : eg_last_error()->code;
}

/* A line of each of two files. */
static eg_status read_two(eg_tensor *const *line, eg_tensor **spanish, eg_tensor **english)
{
    *spanish = eg_keep(corpus_clean(line[0]));
    *english = eg_keep(corpus_clean(line[1]));
    return *spanish && *english ? EG_OK : eg_last_error()->code;
}

static eg_status read_lines(corpus *c, eg_dataset *lines, bool two, eg_tensor **spanish, eg_tensor **english)
{
    eg_status st = EG_OK;
    EG_FOR_EACH(line, lines) {
        eg_tensor **to[] = {&spanish[c->pairs], &english[c->pairs]};
        st = two ? read_two(line, to[0], to[1]) : read_line(line[0], c->pairs + 1, to[0], to[1]);
        if (st) {
            break;
        }
        c->pairs++;
    }
    st = st ? st : eg_dataset_status(lines);
    return st || c->pairs ? st : eg_fail(EG_EFORMAT, "corpus", "there is not a single pair of sentences");
}

/* Takes over the lines: both sides in one, or one side of each of two files. */
static eg_status corpus_of(corpus *c, eg_dataset *lines, bool two, int64_t most)
{
    eg_tensor **spanish = calloc((size_t)most, sizeof *spanish);
    eg_tensor **english = calloc((size_t)most, sizeof *english);
    *c = (corpus){0};
    lines = eg_dataset_take(lines, most);
    eg_status st = spanish && english ? EG_OK : eg_fail(EG_ENOMEM, "corpus", "out of memory for the sentences");
    st = lines ? st : eg_last_error()->code;
    st = st ? st : read_lines(c, lines, two, spanish, english);
    EG_SCOPE {
        for (int64_t i = 0; spanish && english && i < most; i++) {
            spanish[i] = eg_scope_adopt(spanish[i]);
            english[i] = eg_scope_adopt(english[i]);
        }
        if (!st) {
            c->sources = eg_keep(number_sentences(&c->spanish, spanish, c->pairs));
            c->targets = eg_keep(number_sentences(&c->english, english, c->pairs));
            st = c->sources && c->targets ? EG_OK : eg_last_error()->code;
        }
    }
    free(spanish);
    free(english);
    eg_dataset_free(lines);
    int64_t longest = c->spanish.longest > c->english.longest ? c->spanish.longest : c->english.longest;
    if (!st && longest > MOST_WORDS) {
        st = eg_failf(EG_EFORMAT, "corpus", "a sentence has %lld words and marks; the most is %d", (long long)longest,
                      MOST_WORDS);
    }
    return st;
}

eg_status corpus_read(corpus *c, const char *folder, int64_t pairs)
{
    static const char *const places[] = {"spa.txt", "spa.txt.gz", "unpacked/spa-eng/spa.txt"};
    char path[4096];
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, places[i]);
        if (access(path, F_OK) == 0) {
            return corpus_of(c, eg_text_lines_new(path), false, pairs);
        }
    }
    return eg_failf(EG_EIO, "corpus",
                    "there is no spa.txt or spa.txt.gz in %.80s; `nmt get-data --data %.80s` fetches it", folder,
                    folder);
}

eg_status corpus_read_files(corpus *c, const char *sources, const char *targets, int64_t pairs)
{
    eg_dataset *both[] = {eg_text_lines_new(sources), eg_text_lines_new(targets)};
    *c = (corpus){0};
    return corpus_of(c, eg_dataset_zip(both, 2), true, pairs);
}

/* ---- sentences of our own -------------------------------------------------------------------- */

static eg_status make_line(int64_t index, eg_tensor **sample, int *n, void *user)
{
    const int64_t *order = eg_data(user);
    char line[GRAMMAR_LINE];
    grammar_line(order[index], line);
    *n = 1;
    *sample = eg_text(line);
    return *sample ? EG_OK : eg_last_error()->code;
}

eg_status corpus_make(corpus *c, int64_t pairs)
{
    int64_t all = grammar_count(), most = pairs < all ? pairs : all;
    eg_status st = EG_OK;
    EG_SCOPE {
        eg_tensor *order = eg_permutation(all);
        st = order ? corpus_of(c, eg_dataset_from(make_line, most, order, NULL), false, most) : eg_last_error()->code;
    }
    return st;
}

/* ---- for training ---------------------------------------------------------------------------- */

static eg_dataset *rows_of(const corpus *c, eg_tensor *numbers)
{
    return eg_dataset_from_tensors(
        (eg_tensor *[]){eg_index_select(c->sources, 0, numbers), eg_index_select(c->targets, 0, numbers)}, 2);
}

bool corpus_split(const corpus *c, eg_dataset **train, eg_dataset **test)
{
    EG_SCOPE {
        eg_tensor *order = eg_permutation(c->pairs);
        int64_t learned = c->pairs * 4 / 5;
        *train = rows_of(c, eg_slice(order, 0, 0, learned, 1));
        *test = rows_of(c, eg_slice(order, 0, learned, c->pairs, 1));
    }
    return *train && *test;
}

void corpus_free(corpus *c)
{
    eg_release(c->sources);
    eg_release(c->targets);
    c->sources = c->targets = NULL;
}
