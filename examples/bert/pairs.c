/* pairs.c - see pairs.h. */
#define _POSIX_C_SOURCE 200809L
#include "pairs.h"

#include <stdlib.h>
#include <unistd.h>

#include <egret/run/folder.h>

#include "world.h"

enum { WORLD = 4000, WORLD_HELD = 500 }; /* pairs about the small world */

/* Sentences side by side, and labels, as they are read. */
typedef struct sentences {
    eg_tensor **texts; /* 2 count */
    int64_t *labels;
    int64_t count, room;
} sentences;

static eg_status keep(sentences *s, eg_tensor *const *sample)
{
    if (s->count == s->room) {
        const size_t room = s->room ? 2 * (size_t)s->room : 1024;
        eg_tensor **texts = realloc(s->texts, 2 * room * sizeof *texts);
        s->texts = texts ? texts : s->texts;
        int64_t *labels = realloc(s->labels, room * sizeof *labels);
        s->labels = labels ? labels : s->labels;
        if (!texts || !labels) {
            return eg_fail(EG_ENOMEM, "bert", "out of memory for the sentences");
        }
        s->room = (int64_t)room;
    }
    s->texts[2 * s->count] = eg_keep(sample[0]);
    s->texts[2 * s->count + 1] = eg_keep(sample[1]);
    s->labels[s->count++] = eg_item_int(sample[2]);
    return EG_OK;
}

static eg_status read_all(sentences *s, eg_dataset *file)
{
    eg_status st = EG_OK;
    if (!file) {
        return eg_last_error()->code;
    }
    EG_FOR_EACH(sample, file) {
        st = keep(s, sample);
        if (st) {
            break;
        }
    }
    st = st ? st : eg_dataset_status(file);
    eg_dataset_free(file);
    return st || s->count ? st : eg_fail(EG_EFORMAT, "bert", "the file has no pairs");
}

static eg_status number(pairs *p, const sentences *s, const eg_tokenizer *words, int64_t length)
{
    EG_SCOPE {
        eg_tokens x = eg_tokenizer_encode_batch(words, s->texts, (int)(2 * s->count), .pairs = true,
                                                .max_length = length, .pad_to = length);
        eg_tensor *labels = eg_from(EG_SHAPE(s->count), EG_I64, s->labels);
        p->ids = x.ids ? eg_keep(x.ids) : NULL;
        p->types = x.ids ? eg_keep(x.types) : NULL;
        p->mask = x.ids ? eg_keep(x.mask) : NULL;
        p->labels = labels ? eg_keep(labels) : NULL;
    }
    p->count = s->count;
    for (int64_t i = 0; i < s->count; i++) {
        p->positive += s->labels[i] ? 1 / (double)s->count : 0;
    }
    return p->ids && p->types && p->mask && p->labels ? EG_OK : eg_last_error()->code;
}

static eg_dataset *open_pairs(const char *folder, pairs_part part)
{
    static const char *const glue[] = {"train.tsv", "dev.tsv"};
    static const char *const plain[] = {"msr_paraphrase_train.txt", "msr_paraphrase_test.txt"};
    if (!folder) {
        return world_pairs(part == PAIRS_TRAIN ? WORLD : WORLD_HELD, (uint64_t)part);
    }
    eg_path path = eg_path_in(folder, glue[part]), other = eg_path_in(folder, plain[part]);
    return eg_glue_new(access(path.text, F_OK) == 0 ? path.text : other.text, EG_GLUE_MRPC);
}

eg_status pairs_read(pairs *p, const char *folder, pairs_part part, const eg_tokenizer *words, int64_t length,
                     int64_t most)
{
    sentences s = {0};
    *p = (pairs){0};
    eg_status st = read_all(&s, eg_dataset_take(open_pairs(folder, part), most));
    st = st ? st : number(p, &s, words, length);
    for (int64_t i = 0; i < 2 * s.count; i++) {
        eg_release(s.texts[i]);
    }
    free(s.texts);
    free(s.labels);
    return st;
}

eg_dataset *pairs_dataset(const pairs *p)
{
    return eg_dataset_from_tensors((eg_tensor *[]){p->ids, p->types, p->mask, p->labels}, 4);
}

void pairs_free(pairs *p)
{
    eg_tensor *all[] = {p->ids, p->types, p->mask, p->labels};
    for (int i = 0; i < 4; i++) {
        eg_release(all[i]);
    }
    *p = (pairs){0};
}
