/* book.c - see book.h. */
#define _POSIX_C_SOURCE 200809L
#include "book.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUCKETS = 5 };

static const char *const special[] = {"<pad>", "<unk>"};

/* ---- words and marks as they are numbered ------------------------------------------------------- */

/* Small letters, and 0 for every digit. */
static eg_tensor *plain(eg_tensor *text)
{
    eg_tensor *small = eg_text_normalise(text, .lower = true);
    uint8_t *p = small && eg_numel(small) ? eg_data_mut(small) : NULL;
    for (int64_t i = 0; p && i < eg_numel(small); i++) {
        p[i] = p[i] >= '0' && p[i] <= '9' ? '0' : p[i];
    }
    return small;
}

/* "B-NP I-NP O" to "B-NP E-NP O": who is last in a chunk says so, and who is alone. */
static eg_tensor *bioes(eg_tensor *tags)
{
    eg_tensor *made = eg_copy(tags), *words = eg_text_words(tags);
    uint8_t *p = made && eg_numel(made) ? eg_data_mut(made) : NULL;
    const int64_t *at = words ? eg_data(words) : NULL, n = words ? eg_size(words, 0) : 0;
    for (int64_t i = 0; i < n && p && at; i++) {
        uint8_t *tag = p + at[2 * i];
        bool goes_on = i + 1 < n && p[at[2 * i + 2]] == 'I';
        *tag = *tag == 'O' || goes_on ? *tag : *tag == 'B' ? 'S' : 'E';
    }
    return words ? made : NULL;
}

static eg_tensor *marks_text(eg_tensor *const *sentence, task t)
{
    return t == TAGS ? sentence[TAG_TEXT] : t == CHUNKS ? bioes(sentence[CHUNK_TEXT]) : sentence[RELATION_TEXT];
}

/* ---- making, saving ------------------------------------------------------------------------------ */

static eg_status count(eg_word_counts *c, eg_tensor *text)
{
    return text ? eg_word_counts_add(c, text) : eg_last_error()->code;
}

static void book_free(void *user)
{
    book *b = user;
    eg_vocabulary_free(b->words);
    for (int t = 0; t < TASKS; t++) {
        eg_vocabulary_free(b->marks[t]);
    }
    free(b);
}

book *book_new(eg_run *run)
{
    book *b = calloc(1, sizeof *b);
    if (!b) {
        eg_run_heed(run, eg_fail(EG_ENOMEM, "cvt", "out of memory for the words"));
    }
    return b && eg_run_own(run, b, book_free) == EG_OK ? b : NULL;
}

typedef struct counting {
    eg_word_counts *words, *marks[TASKS];
} counting;

static eg_status count_all(counting *c, eg_dataset *sentences, eg_dataset *others)
{
    eg_status st = EG_OK;
    EG_FOR_EACH(x, sentences) {
        st = count(c->words, plain(x[TEXT]));
        for (int t = 0; t < TASKS && !st; t++) {
            st = c->marks[t] ? count(c->marks[t], marks_text(x, (task)t)) : EG_OK;
        }
        if (st) {
            return st;
        }
    }
    st = eg_dataset_status(sentences);
    if (st || !others) {
        return st;
    }
    EG_FOR_EACH(x, others) {
        st = count(c->words, plain(x[TEXT]));
        if (st) {
            return st;
        }
    }
    return eg_dataset_status(others);
}

eg_status book_make(book *b, eg_dataset *sentences, eg_dataset *others, const bool tasks[TASKS], int64_t min_count)
{
    counting c = {.words = eg_word_counts_new()};
    eg_status st = c.words ? EG_OK : eg_last_error()->code;
    for (int t = 0; t < TASKS && !st; t++) {
        c.marks[t] = tasks[t] ? eg_word_counts_new() : NULL;
        st = tasks[t] && !c.marks[t] ? eg_last_error()->code : EG_OK;
    }
    st = st ? st : count_all(&c, sentences, others);
    b->words = st ? NULL : eg_vocabulary_new(c.words, .reserved = special, .reserved_count = 2, .min_count = min_count);
    for (int t = 0; t < TASKS && b->words; t++) {
        b->marks[t] = c.marks[t] ? eg_vocabulary_new(c.marks[t], .sorted = true) : NULL;
        st = c.marks[t] && !b->marks[t] ? eg_last_error()->code : st;
    }
    st = st || b->words ? st : eg_last_error()->code;
    eg_word_counts_free(c.words);
    for (int t = 0; t < TASKS; t++) {
        eg_word_counts_free(c.marks[t]);
    }
    return st;
}

static eg_path file_of(eg_run *run, const char *name)
{
    char file[32];
    snprintf(file, sizeof file, "%s.txt", name);
    return eg_run_path(run, file);
}

eg_status book_save(const book *b, eg_run *run)
{
    eg_status st = eg_vocabulary_save(b->words, file_of(run, "words").text);
    for (int t = 0; t < TASKS && !st; t++) {
        st = b->marks[t] ? eg_vocabulary_save(b->marks[t], file_of(run, task_names[t]).text) : EG_OK;
    }
    return st;
}

eg_status book_load(book *b, eg_run *run)
{
    b->words = eg_vocabulary_load(file_of(run, "words").text);
    eg_status st = b->words ? EG_OK : eg_last_error()->code;
    for (int t = 0; t < TASKS && !st; t++) {
        eg_path path = file_of(run, task_names[t]);
        bool there = access(path.text, F_OK) == 0;
        b->marks[t] = there ? eg_vocabulary_load(path.text) : NULL;
        st = there && !b->marks[t] ? eg_last_error()->code : EG_OK;
    }
    return st;
}

/* ---- sentences to numbers ------------------------------------------------------------------------ */

/* The first bytes of each word, [words, WORD_MOST]; 0 behind its end. */
static eg_tensor *letters_of(eg_tensor *text)
{
    eg_tensor *words = eg_text_words(text);
    const int64_t *at = words ? eg_data(words) : NULL, n = words ? eg_size(words, 0) : 0;
    eg_tensor *made = words ? eg_zeros(EG_SHAPE(n, WORD_MOST), EG_U8) : NULL;
    uint8_t *to = made && n ? eg_data_mut(made) : NULL;
    const uint8_t *from = to ? eg_data(text) : NULL;
    for (int64_t i = 0; i < n && from; i++) {
        int64_t bytes = at[2 * i + 1];
        memcpy(to + i * WORD_MOST, from + at[2 * i], (size_t)(bytes < WORD_MOST ? bytes : WORD_MOST));
    }
    return made;
}

/* Numbers as a parser's logits have them: 0 the root, else 1 + head x relations + relation. */
static eg_tensor *arcs_of(eg_tensor *relations, eg_tensor *heads, int64_t count)
{
    if (!relations || eg_numel(relations) != eg_numel(heads)) {
        if (relations) {
            eg_fail(EG_EFORMAT, "cvt", "a sentence has another number of relations than of heads");
        }
        return NULL;
    }
    eg_tensor *made = eg_copy(relations);
    int64_t *to = made && eg_numel(made) ? eg_data_mut(made) : NULL;
    const int64_t *head = to ? eg_data(heads) : NULL;
    for (int64_t i = 0; i < eg_numel(relations) && head; i++) {
        if (head[i] < 0 || head[i] > eg_numel(heads)) {
            eg_failf(EG_EFORMAT, "cvt", "a word hangs on word %lld of %lld", (long long)head[i],
                     (long long)eg_numel(heads));
            return NULL;
        }
        to[i] = !head[i] ? 0 : to[i] < 0 ? -1 : 1 + (head[i] - 1) * count + to[i];
    }
    return made;
}

eg_status sentence_read(const book *b, eg_tensor *text, eg_tensor *made[2])
{
    eg_tensor *small = plain(text);
    made[0] = small ? eg_vocabulary_encode(b->words, small, 1) : NULL;
    made[1] = made[0] ? letters_of(text) : NULL;
    return made[1] ? EG_OK : eg_last_error()->code;
}

static eg_status read_text(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n;
    *m = 2;
    return sentence_read(user, in[TEXT], out);
}

/* Marks nobody learned from count as none. */
static eg_status read_marked(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    const book *b = user;
    eg_status st = read_text(in, n, out, m, user);
    for (int t = 0; t < TASKS && !st; t++) {
        if (b->marks[t]) {
            eg_tensor *text = marks_text(in, (task)t);
            eg_tensor *ids = text ? eg_vocabulary_encode(b->marks[t], text, eg_vocabulary_size(b->marks[t])) : NULL;
            ids = ids ? eg_masked_fill(ids, eg_ge_int(ids, eg_vocabulary_size(b->marks[t])), -1) : NULL;
            ids = t == ARCS && ids ? arcs_of(ids, in[HEADS], eg_vocabulary_size(b->marks[t])) : ids;
            st = !ids ? eg_last_error()->code
                 : eg_numel(ids) == eg_numel(out[0])
                     ? EG_OK
                     : eg_fail(EG_EFORMAT, "cvt", "a sentence has another number of marks than of words");
            out[(*m)++] = ids;
        }
    }
    return st;
}

static eg_status has_words(eg_tensor *const *in, int n, bool *keep, void *user)
{
    (void)n;
    (void)user;
    *keep = eg_numel(in[0]) > 0;
    return EG_OK;
}

static eg_dataset *in_batches(eg_dataset *d, int64_t batch, bool all)
{
    static const int64_t below[BUCKETS - 1] = {10, 20, 30, 45};
    d = eg_dataset_filter(d, has_words, NULL);
    return eg_dataset_bucket(d, below, BUCKETS - 1, .batch = batch, .drop_last = !all, .value = {0, 0, -1, -1, -1});
}

eg_dataset *sentences_batches(eg_dataset *sentences, const book *b, int64_t batch, bool all)
{
    return in_batches(eg_dataset_map(sentences, read_marked, (void *)b), batch, all);
}

eg_dataset *texts_batches(eg_dataset *texts, const book *b, int64_t batch)
{
    return eg_dataset_repeat(in_batches(eg_dataset_map(texts, read_text, (void *)b), batch, false), 0);
}
