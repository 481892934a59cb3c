/* captions.c - see captions.h. */
#include "captions.h"

#include <stdlib.h>

enum { WORDS_MOST = 400 }; /* of a caption */

/* As Keras' Tokenizer, which leaves angle brackets. */
eg_tensor *caption_clean(const char *caption)
{
    eg_tensor *text = eg_text(caption);
    return text ? eg_text_normalise(text, .lower = true, .blank = "!\"#$%&()*+.,-/:;=?@[\\]^_`{|}~\t\n\r", .trim = true)
                : NULL;
}

eg_vocabulary *captions_words(const photos *all, int64_t count, int64_t most)
{
    static const char *const special[SPECIAL] = {"<pad>", "<unk>", "<start>", "<end>"};
    eg_word_counts *counts = eg_word_counts_new();
    eg_status st = counts ? EG_OK : eg_last_error()->code;
    for (int64_t i = 0; i < count && !st; i++) {
        EG_SCOPE {
            for (int k = 0; k < all->at[i].count && !st; k++) {
                eg_tensor *text = caption_clean(all->at[i].captions[k]);
                st = text ? eg_word_counts_add(counts, text) : eg_last_error()->code;
            }
        }
    }
    eg_vocabulary *words =
        st ? NULL : eg_vocabulary_new(counts, .reserved = special, .reserved_count = SPECIAL, .max_size = most);
    eg_word_counts_free(counts);
    return words;
}

/* ---- samples ------------------------------------------------------------------------------------- */

static eg_tensor *ids_of(const eg_vocabulary *words, const char *caption)
{
    eg_tensor *text = caption_clean(caption), *ids = text ? eg_vocabulary_encode(words, text, UNKNOWN) : NULL;
    if (!ids) {
        return NULL;
    }
    ids = eg_numel(ids) > WORDS_MOST ? eg_slice(ids, 0, 0, WORDS_MOST, 1) : ids;
    eg_tensor *start = eg_full_int(EG_SHAPE(1), START, EG_I64), *end = eg_full_int(EG_SHAPE(1), END, EG_I64);
    return eg_concat((eg_tensor *[]){start, ids, end}, 3, 0);
}

static eg_status make(int64_t index, eg_tensor **sample, int *n, void *user)
{
    const captions *c = user;
    const caption_place at = c->at[index];
    const photo *p = &c->all->at[at.photo];
    *n = 2;
    sample[0] = look_of(c->seen, p);
    sample[1] = sample[0] ? ids_of(c->words, p->captions[at.number]) : NULL;
    return sample[1] ? EG_OK : eg_last_error()->code;
}

static void forget(void *user)
{
    captions *c = user;
    free(c->at);
    free(c);
}

eg_dataset *captions_dataset(const captions *of, int64_t *count)
{
    captions *c = malloc(sizeof *c);
    *count = 0;
    for (int64_t i = of->from; i < of->to; i++) {
        *count += of->all->at[i].count;
    }
    if (c) {
        *c = *of;
        c->at = calloc((size_t)*count + 1, sizeof *c->at);
    }
    if (!c || !c->at) {
        free(c);
        eg_fail(EG_ENOMEM, "caption", "out of memory for the captions");
        return NULL;
    }
    for (int64_t i = of->from, n = 0; i < of->to; i++) {
        for (int k = 0; k < of->all->at[i].count; k++) {
            c->at[n++] = (caption_place){i, k};
        }
    }
    eg_dataset *d = eg_dataset_from(make, *count, c, forget);
    if (!d) {
        forget(c);
    }
    return d;
}

eg_dataset *captions_batches(eg_dataset *samples, int64_t batch, bool all)
{
    return eg_dataset_prefetch(eg_dataset_padded_batch(samples, batch, .drop_last = !all), 4);
}
