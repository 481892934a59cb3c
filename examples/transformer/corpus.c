/* corpus.c - see corpus.h. */
#define _POSIX_C_SOURCE 200809L
#include "corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/published.h"
#include "numbers.h"

enum { BUCKETS = 128, FIRST_BUCKET = 8 };

eg_status corpus_get(const char *folder, const char *from, void *user)
{
    (void)user;
    return published_multi30k(folder, from);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Keeps a text behind the others of its language. */
static eg_status keep(lines *l, int side, int64_t at, eg_tensor *text)
{
    if ((at & (at - 1)) == 0) { /* 0, 1, 2, 4, ...: twice the room */
        eg_tensor **grown = realloc(l->texts[side], (size_t)(at ? 2 * at : 1) * sizeof *grown);
        if (!grown) {
            return eg_fail(EG_ENOMEM, "corpus", "out of memory for the lines");
        }
        l->texts[side] = grown;
    }
    l->texts[side][at] = text ? eg_keep(text) : NULL;
    return l->texts[side][at] ? EG_OK : eg_last_error()->code;
}

/* All lines of one language. */
static eg_status read_side(lines *l, int side, const char *path, int64_t most, int64_t *count)
{
    eg_status st = EG_OK;
    eg_dataset *file = eg_dataset_take(eg_text_lines_new(path), most);
    *count = 0;
    if (!file) {
        return eg_last_error()->code;
    }
    EG_FOR_EACH(line, file) {
        st = keep(l, side, *count, line[0]);
        if (st) {
            break;
        }
        ++*count;
    }
    st = st ? st : eg_dataset_status(file);
    eg_dataset_free(file);
    return st;
}

eg_status lines_read(lines *l, const char *folder, const char *name, const char *const languages[2], int64_t most)
{
    int64_t count[2] = {0, 0};
    eg_status st = EG_OK;
    *l = (lines){0};
    for (int side = 0; side < 2 && !st; side++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s*.%s*", folder, name, languages[side]);
        st = read_side(l, side, path, most, &count[side]);
    }
    l->count = count[0] < count[1] ? count[0] : count[1];
    for (int side = 0; side < 2; side++) {
        while (count[side] > l->count) {
            eg_release(l->texts[side][--count[side]]);
            st = st ? st
                    : eg_failf(EG_EFORMAT, "corpus", "%s in %.200s has more lines of %s than %lld", name, folder,
                               languages[side], (long long)l->count);
        }
    }
    return st || l->count ? st : eg_failf(EG_EFORMAT, "corpus", "%s in %.200s has no lines", name, folder);
}

eg_status lines_of(lines *l, const char *path, int side)
{
    int64_t count = 0;
    eg_status st = read_side(l, side, path, INT32_MAX, &count);
    if (!l->texts[!side] && !st) {
        l->count = count;
        return st;
    }
    for (int64_t i = l->count; i < count; i++) { /* those within the count are freed with the other side's */
        eg_release(l->texts[side][i]);
    }
    for (int64_t i = count; i < l->count; i++) {
        eg_release(l->texts[!side][i]);
    }
    const int64_t before = l->count;
    l->count = count < before ? count : before;
    return st || count == before ? st
                                 : eg_failf(EG_EFORMAT, "corpus", "%.200s has %lld lines, the other file %lld", path,
                                            (long long)count, (long long)before);
}

eg_status lines_make(lines *l, const eg_tensor *numbers)
{
    eg_status st = EG_OK;
    *l = (lines){0};
    for (int64_t i = 0; i < eg_numel(numbers) && !st; i++) {
        char text[2][NUMBER_TEXT];
        number_english((int)eg_get(numbers, i), text[0]);
        number_german((int)eg_get(numbers, i), text[1]);
        EG_SCOPE {
            st = keep(l, 0, i, eg_text(text[0]));
            st = st ? st : keep(l, 1, i, eg_text(text[1]));
        }
        l->count = st ? i : i + 1;
    }
    return st;
}

void lines_free(lines *l)
{
    for (int side = 0; side < 2; side++) {
        for (int64_t i = 0; i < l->count && l->texts[side]; i++) {
            eg_release(l->texts[side][i]);
        }
        free(l->texts[side]);
    }
    *l = (lines){0};
}

/* ---- subtokens ------------------------------------------------------------------------------- */

eg_tokenizer *lines_subtokens(const lines *l, int64_t vocabulary, int64_t bytes)
{
    int64_t all = 0, n = 0, reached = 0;
    for (int64_t i = 0; i < 2 * l->count; i++) {
        all += eg_numel(l->texts[i % 2][i / 2]);
    }
    eg_tensor **some = calloc((size_t)(2 * l->count + 1), sizeof *some);
    if (!some) {
        eg_fail(EG_ENOMEM, "corpus", "out of memory for the lines");
        return NULL;
    }
    double every = all > bytes ? (double)all / (double)bytes : 1;
    for (int64_t i = 0; i < 2 * l->count; i++) { /* a line is taken where those so far are behind their share */
        eg_tensor *text = l->texts[i % 2][i / 2];
        if ((double)reached >= every * (double)n) {
            some[n++] = text;
        }
        reached++;
    }
    eg_tokenizer *words = eg_subtokens_train(some, (int)n, .vocabulary = vocabulary);
    free(some);
    if (words && eg_tokenizer_frame(words, "$A <EOS>", NULL)) {
        eg_tokenizer_free(words);
        words = NULL;
    }
    return words;
}

/* ---- pairs of ids ---------------------------------------------------------------------------- */

/* The ids of all texts one behind the other, and where each ends. */
typedef struct table {
    int32_t *ids[2];
    int64_t *ends[2];
    size_t used[2], room[2];
} table;

static void table_free(void *user)
{
    table *t = user;
    for (int side = 0; side < 2; side++) {
        free(t->ids[side]);
        free(t->ends[side]);
    }
    free(t);
}

static eg_status table_add(table *t, int side, int64_t at, eg_tensor *ids)
{
    size_t n = (size_t)eg_numel(ids);
    if (t->used[side] + n > t->room[side]) {
        size_t room = 2 * (t->used[side] + n);
        int32_t *grown = realloc(t->ids[side], room * sizeof *grown);
        if (!grown) {
            return eg_fail(EG_ENOMEM, "corpus", "out of memory for the ids");
        }
        t->ids[side] = grown;
        t->room[side] = room;
    }
    const int64_t *from = eg_data(ids);
    for (size_t i = 0; i < n; i++) {
        t->ids[side][t->used[side]++] = (int32_t)from[i];
    }
    t->ends[side][at] = (int64_t)t->used[side];
    return EG_OK;
}

static eg_status make_pair(int64_t index, eg_tensor **sample, int *n, void *user)
{
    const table *t = user;
    *n = 2;
    for (int side = 0; side < 2; side++) {
        int64_t from = index ? t->ends[side][index - 1] : 0;
        sample[side] = eg_from(EG_SHAPE(t->ends[side][index] - from), EG_I32, t->ids[side] + from);
    }
    return sample[0] && sample[1] ? EG_OK : eg_last_error()->code;
}

static eg_status fill(table *t, const lines *l, const eg_tokenizer *words, int64_t longest, int64_t *count)
{
    eg_status st = EG_OK;
    *count = 0;
    for (int64_t i = 0; i < l->count && !st; i++) {
        EG_SCOPE {
            eg_tensor *source = eg_tokenizer_encode(words, l->texts[0][i]).ids;
            eg_tensor *target = source ? eg_tokenizer_encode(words, l->texts[1][i]).ids : NULL;
            st = target ? EG_OK : eg_last_error()->code;
            if (!st && eg_numel(source) <= longest && eg_numel(target) <= longest) {
                st = table_add(t, 0, *count, source);
                st = st ? st : table_add(t, 1, (*count)++, target);
            }
        }
    }
    return st || *count ? st : eg_fail(EG_EFORMAT, "corpus", "all texts are longer than the longest there may be");
}

eg_dataset *lines_pairs(const lines *l, const eg_tokenizer *words, int64_t longest, int64_t *count)
{
    table *t = calloc(1, sizeof *t);
    bool good = t != NULL;
    for (int side = 0; side < 2 && good; side++) {
        t->ends[side] = calloc((size_t)l->count + 1, sizeof(int64_t));
        good = t->ends[side] != NULL;
    }
    eg_status st = good ? EG_OK : eg_fail(EG_ENOMEM, "corpus", "out of memory for the pairs");
    st = st ? st : fill(t, l, words, longest, count);
    eg_dataset *d = st ? NULL : eg_dataset_from(make_pair, *count, t, table_free);
    if (!d && t) {
        table_free(t);
    }
    return d;
}

eg_dataset *pairs_batches(eg_dataset *pairs, int64_t tokens, int64_t longest, bool all)
{
    int64_t below[BUCKETS], batches[BUCKETS + 1];
    int n = 0;
    for (int64_t x = FIRST_BUCKET; (x < longest || !n) && n < BUCKETS; x = x < 20 ? x + 1 : x * 11 / 10) {
        below[n++] = x;
    }
    for (int i = 0; i <= n; i++) {
        int64_t of = i < n ? below[i] : longest + 1, batch = tokens / of;
        batches[i] = batch < 1 ? 1 : batch > 65535 ? 65535 : batch;
    }
    return eg_dataset_bucket(pairs, below, n, .batches = batches, .longest = true, .drop_last = !all);
}
