/* text.c - see text.h. */
#include "text.h"

#include <stdlib.h>
#include <string.h>

#include "world.h"

enum { WORLD = 1000 }; /* documents about the small world */

/* Integers that grow at their end. */
typedef struct list {
    int64_t *p;
    int64_t n, room;
} list;

static eg_status add(list *l, const int64_t *values, int64_t n)
{
    if (l->n + n > l->room) {
        const int64_t room = 2 * (l->n + n);
        int64_t *grown = realloc(l->p, (size_t)room * sizeof *grown);
        if (!grown) {
            return eg_fail(EG_ENOMEM, "bert", "out of memory for the text");
        }
        l->p = grown;
        l->room = room;
    }
    memcpy(l->p + l->n, values, (size_t)n * sizeof *values);
    l->n += n;
    return EG_OK;
}

typedef struct reading {
    list ids, sentences, documents;
    int64_t inside; /* sentences of the document so far */
} reading;

static eg_status end_document(reading *r)
{
    eg_status st = r->inside ? add(&r->documents, &r->inside, 1) : EG_OK;
    r->inside = 0;
    return st;
}

static eg_status read_line(reading *r, const eg_tokenizer *words, eg_tensor *line)
{
    eg_tensor *ids = eg_tokenizer_encode(words, line, .bare = true, .max_length = EG_ZERO).ids;
    const int64_t n = ids ? eg_numel(ids) : 0;
    if (!ids || !n) {
        return ids ? end_document(r) : eg_last_error()->code;
    }
    eg_status st = add(&r->ids, eg_data(ids), n);
    r->inside++;
    return st ? st : add(&r->sentences, &n, 1);
}

static eg_tensor *tensor_of(const list *l)
{
    eg_tensor *t = eg_from(EG_SHAPE(l->n), EG_I64, l->p);
    return t ? eg_keep(t) : NULL;
}

/* 1 for what goes on with a word, 2 for special tokens. */
static eg_tensor *pieces_of(const eg_tokenizer *words)
{
    const int64_t n = eg_tokenizer_size(words);
    uint8_t *kinds = calloc((size_t)n + 1, 1);
    for (int64_t i = 0; i < n && kinds; i++) {
        kinds[i] = strncmp(eg_tokenizer_token(words, i), "##", 2) == 0;
    }
    for (int s = 0; s < EG_SPECIAL_COUNT && kinds; s++) {
        const int64_t id = eg_tokenizer_special(words, (eg_special)s);
        if (id >= 0) {
            kinds[id] = 2;
        }
    }
    eg_tensor *t = kinds ? eg_from(EG_SHAPE(n), EG_U8, kinds) : NULL;
    free(kinds);
    return t ? eg_keep(t) : NULL;
}

static eg_status read_lines(reading *r, const char *pattern, const eg_tokenizer *words)
{
    eg_dataset *lines = pattern ? eg_text_lines_new(pattern) : world_lines(WORLD, 1);
    eg_status st = lines ? EG_OK : eg_last_error()->code;
    if (st) {
        return st;
    }
    EG_FOR_EACH(line, lines) {
        st = read_line(r, words, line[0]);
        if (st) {
            break;
        }
    }
    st = st ? st : eg_dataset_status(lines);
    eg_dataset_free(lines);
    return st ? st : end_document(r);
}

eg_status text_read(text *t, const char *pattern, const eg_tokenizer *words)
{
    reading r = {0};
    *t = (text){.mask = eg_tokenizer_special(words, EG_SPECIAL_MASK)};
    eg_status st = t->mask >= 0 ? EG_OK : eg_fail(EG_EFORMAT, "bert", "the vocabulary has no [MASK]");
    st = st ? st : read_lines(&r, pattern, words);
    if (!st && r.sentences.n < 2) {
        st = eg_failf(EG_EFORMAT, "bert", "%.200s has no two sentences", pattern);
    }
    EG_SCOPE {
        t->ids = st ? NULL : tensor_of(&r.ids);
        t->sentences = t->ids ? tensor_of(&r.sentences) : NULL;
        t->documents = t->sentences ? tensor_of(&r.documents) : NULL;
        t->pieces = t->documents ? pieces_of(words) : NULL;
    }
    free(r.ids.p);
    free(r.sentences.p);
    free(r.documents.p);
    return st || t->pieces ? st : eg_last_error()->code;
}

void text_free(text *t)
{
    eg_tensor *all[] = {t->ids, t->sentences, t->documents, t->pieces};
    for (int i = 0; i < 4; i++) {
        eg_release(all[i]);
    }
    *t = (text){0};
}

/* ---- samples --------------------------------------------------------------------------------- */

/* x with so many elements, those behind its own being value. */
static eg_tensor *filled(eg_tensor *x, int64_t length, double value)
{
    return eg_pad(x, .after = {length - eg_size(x, 0)}, .value = value);
}

/* ids, types, next to ids, types, mask, places, labels, next, of one length each. */
static eg_status hide(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    const text *t = user;
    eg_tensor *hidden = NULL, *labels = NULL;
    eg_status st =
        eg_mask_tokens(in[0], t->pieces, t->mask, &hidden, &labels, .most = t->o.hidden, .whole = t->o.whole);
    (void)n;
    if (st) {
        return st;
    }
    eg_tensor *places = eg_reshape(eg_nonzero(eg_ge_scalar(labels, 0)), EG_SHAPE(-1));
    out[0] = filled(hidden, t->o.length, 0);
    out[1] = filled(in[1], t->o.length, 0);
    out[2] = filled(eg_ones(eg_shape_of(in[0]), EG_I64), t->o.length, 0);
    out[3] = filled(places, t->o.hidden, 0);
    out[4] = filled(eg_index_select(labels, 0, places), t->o.hidden, -1);
    out[5] = in[2];
    *m = 6;
    return out[4] ? EG_OK : eg_last_error()->code;
}

eg_dataset *text_batches(text *t, const eg_tokenizer *words, const text_options *o, int64_t batch)
{
    t->o = *o;
    eg_dataset *d =
        eg_sentence_pairs_new(t->ids, t->sentences, t->documents, eg_tokenizer_special(words, EG_SPECIAL_CLS),
                              eg_tokenizer_special(words, EG_SPECIAL_SEP), .length = o->length, .seed = o->seed);
    d = eg_dataset_map(d, hide, t, .seed = o->seed);
    d = eg_dataset_shuffle(d, 4096, .seed = o->seed);
    return eg_dataset_batch(d, batch, .drop_last = true);
}
