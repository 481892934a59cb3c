/* windows.c - see windows.h. */
#include "windows.h"

#include <stdlib.h>
#include <string.h>

/* ---- rooms --------------------------------------------------------------------------------------- */

static bool grow(void **p, int64_t room, size_t each)
{
    void *grown = realloc(*p, (size_t)room * each);
    *p = grown ? grown : *p;
    return grown != NULL;
}

/* For so many windows more. */
static eg_status make_room(windows *w, int64_t more)
{
    bool whole = true;
    if (w->question_count == w->question_room) {
        w->question_room = 2 * w->question_room + 256;
        whole = grow((void **)&w->questions, w->question_room, sizeof *w->questions);
    }
    if (w->count + more > w->room) {
        const size_t row = (size_t)w->length * sizeof(int32_t);
        w->room = 2 * (w->count + more);
        whole = whole && grow((void **)&w->at, w->room, sizeof *w->at) && grow((void **)&w->ids, w->room, row) &&
                grow((void **)&w->offsets, w->room, 2 * row);
    }
    return whole ? EG_OK : eg_fail(EG_ENOMEM, "bert", "out of memory for the questions");
}

void windows_free(windows *w)
{
    for (int64_t i = 0; i < w->question_count; i++) {
        eg_release(w->questions[i].id);
        eg_release(w->questions[i].context);
        eg_release(w->questions[i].answers);
    }
    free(w->questions);
    free(w->at);
    free(w->ids);
    free(w->offsets);
    *w = (windows){.at = NULL};
}

/* ---- reading ------------------------------------------------------------------------------------- */

/* So much of a question as its first ids stand for; how many these are. */
static eg_tensor *shorten(const eg_tokenizer *words, eg_tensor *text, int64_t most, int64_t *ids)
{
    eg_tokens x = eg_tokenizer_encode(words, text, .bare = true, .max_length = EG_ZERO);
    *ids = x.ids ? eg_numel(x.ids) : 0;
    if (!x.ids || *ids <= most) {
        return x.ids ? text : NULL;
    }
    *ids = most;
    return eg_slice(text, 0, 0, (int64_t)eg_get(x.offsets, 2 * most - 1), 1);
}

/* The tokens that bytes begin..end - 1 of the passage lie in, 0 if they are not all in this window. */
static void find_answer(const windows *w, window *x, int64_t row, int64_t begin, int64_t end)
{
    const int32_t *offsets = w->offsets + 2 * row * w->length;
    int32_t first = 0, last = 0;
    for (int32_t i = x->first; i < x->used; i++) {
        first = !first && offsets[2 * i + 1] > begin ? i : first;
        last = offsets[2 * i] < end ? i : last;
    }
    const bool whole = first && last >= first && offsets[2 * first] <= begin && offsets[2 * last + 1] >= end;
    x->begin = whole ? first : 0;
    x->end = whole ? last : 0;
}

/* A row of tokens; the passage is what has type 1, but for what ends it. */
static void take_row(windows *w, const eg_tokens *x, int64_t row)
{
    const int64_t length = w->length, at = w->count;
    const int64_t *ids = eg_data(x->ids), *offsets = eg_data(x->offsets), *types = eg_data(x->types);
    const bool *special = eg_data(x->special);
    window *made = &w->at[at];
    *made = (window){.question = w->question_count};
    for (int64_t i = 0; i < length; i++) {
        const int64_t from = row * length + i;
        const bool passage = types[from] == 1 && !special[from];
        w->ids[at * length + i] = (int32_t)ids[from];
        w->offsets[2 * (at * length + i)] = passage ? (int32_t)offsets[2 * from] : 0;
        w->offsets[2 * (at * length + i) + 1] = passage ? (int32_t)offsets[2 * from + 1] : 0;
        made->first = passage && !made->first ? (int32_t)i : made->first;
        made->used = passage ? (int32_t)i + 1 : made->used;
    }
    w->count++;
}

/* An answer's length without the zeros behind it. */
static int64_t length_of(const eg_tensor *answers)
{
    int64_t n = eg_size(answers, 1);
    while (n > 0 && eg_get(answers, n - 1) == 0) {
        n--;
    }
    return n;
}

static eg_status add_question(windows *w, eg_tensor *const *sample, const eg_tokenizer *words, const windows_options *o)
{
    int64_t asked = 0;
    eg_tensor *text = shorten(words, sample[2], o->question, &asked);
    const int64_t room = o->length - asked - 3, overlap = room > o->step ? room - o->step : 0;
    eg_tokens x = {NULL, NULL, NULL, NULL, NULL, NULL, NULL};
    if (text) {
        x = eg_tokenizer_encode(words, text, .pair = sample[1], .windows = true, .truncation = EG_TRUNCATE_SECOND,
                                .stride = overlap, .max_length = o->length, .pad_to = o->length);
    }
    const int64_t rows = x.ids && eg_ndim(x.ids) == 2 ? eg_size(x.ids, 0) : 1, before = w->count;
    eg_status st = x.ids ? make_room(w, rows) : eg_last_error()->code;
    for (int64_t row = 0; row < rows && !st; row++) {
        take_row(w, &x, row);
    }
    const bool known = !st && eg_size(sample[3], 0) > 0 && eg_get(sample[3], 0) >= 0;
    const int64_t begin = known ? (int64_t)eg_get(sample[3], 0) : 0;
    const int64_t end = known ? begin + length_of(sample[4]) : 0;
    for (int64_t i = before; i < w->count && known; i++) {
        find_answer(w, &w->at[i], i, begin, end);
    }
    if (!st) {
        w->questions[w->question_count++] =
            (question){.id = eg_keep(sample[0]), .context = eg_keep(sample[1]), .answers = eg_keep(sample[4])};
    }
    return st;
}

eg_status windows_read(windows *w, eg_dataset *questions, const eg_tokenizer *words, const windows_options *o,
                       int64_t most)
{
    *w = (windows){.length = o->length};
    eg_status st = questions ? EG_OK : eg_last_error()->code;
    if (st) {
        return st;
    }
    EG_FOR_EACH(sample, questions) {
        st = w->question_count < most ? add_question(w, sample, words, o) : EG_OK;
        if (st || w->question_count == most) {
            break;
        }
    }
    st = st ? st : eg_dataset_status(questions);
    eg_dataset_free(questions);
    return st || w->count ? st : eg_fail(EG_EFORMAT, "bert", "the file has no questions");
}

/* ---- samples ------------------------------------------------------------------------------------- */

static eg_status make(int64_t index, eg_tensor **sample, int *n, void *user)
{
    const windows *w = *(const windows *const *)user;
    const window *x = &w->at[index];
    for (int k = 0; k < 3; k++) {
        sample[k] = eg_zeros(EG_SHAPE(w->length), EG_I64);
    }
    int64_t *ids = sample[2] ? eg_data_mut(sample[0]) : NULL, *types = ids ? eg_data_mut(sample[1]) : NULL;
    int64_t *mask = types ? eg_data_mut(sample[2]) : NULL;
    for (int64_t i = 0; i < w->length && mask; i++) {
        ids[i] = w->ids[index * w->length + i];
        types[i] = x->first && i >= x->first && i <= x->used;
        mask[i] = i <= x->used; /* what ends the passage is seen too */
    }
    const int64_t numbers[3] = {x->begin, x->end, index};
    for (int k = 0; k < 3; k++) {
        sample[3 + k] = eg_full_int(EG_SCALAR, numbers[k], EG_I64);
    }
    *n = 6;
    return mask && sample[5] ? EG_OK : eg_last_error()->code;
}

eg_dataset *windows_dataset(const windows *w)
{
    const windows **kept = malloc(sizeof *kept);
    if (!kept) {
        eg_fail(EG_ENOMEM, "bert", "out of memory");
        return NULL;
    }
    *kept = w;
    eg_dataset *d = eg_dataset_from(make, w->count, kept, free);
    if (!d) {
        free(kept);
    }
    return d;
}
