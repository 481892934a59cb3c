/* translator.c - see translator.h. */
#include "translator.h"

#include <stdlib.h>

enum { SIZES = 5, END = 1, MOST_DRAWN = 40 };

/* ---- begin and end --------------------------------------------------------------------------- */

eg_status translator_new(translator *t, eg_run *run, eg_tokenizer *words, const eg_transformer_options *o)
{
    const int64_t sizes[SIZES] = {eg_tokenizer_size(words), o->width, o->heads, o->hidden, o->layers};
    eg_transformer_options all = *o;
    all.size = sizeof all;
    all.vocabulary = sizes[0];
    *t = (translator){.words = words};
    EG_SCOPE {
        t->sizes = eg_keep(eg_from(EG_SHAPE(SIZES), EG_I64, sizes));
    }
    t->net = t->sizes ? eg_run_module(run, "net", eg_transformer_new_with(EG_TRANSFORMER_BASE, &all)) : NULL;
    return t->net ? eg_run_tensor(run, "sizes", t->sizes) : eg_last_error()->code;
}

void translator_free(translator *t)
{
    eg_tokenizer_free(t->words);
    eg_release(t->sizes);
    *t = (translator){0};
}

/* The numbers of the net in a checkpoint. */
static eg_status read_sizes(const char *checkpoint, eg_transformer_options *o)
{
    eg_tensors *file = eg_safetensors_load(checkpoint);
    eg_tensor *sizes = file ? eg_tensors_get(file, "sizes") : NULL;
    eg_status st = sizes ? EG_OK : eg_last_error()->code;
    if (sizes && (eg_dtype_of(sizes) != EG_I64 || eg_numel(sizes) != SIZES)) {
        st = eg_failf(EG_EFORMAT, "transformer", "%.200s is no checkpoint of this program", checkpoint);
    }
    int64_t *const to[SIZES] = {&o->vocabulary, &o->width, &o->heads, &o->hidden, &o->layers};
    for (int i = 0; i < SIZES && !st; i++) {
        *to[i] = (int64_t)eg_get(sizes, i);
    }
    eg_tensors_free(file);
    return st;
}

eg_status translator_open(translator *t, eg_run *run, const char *checkpoint, const char *words)
{
    eg_path newest = eg_run_latest(run), there = eg_run_path(run, "subtokens.txt");
    eg_transformer_options o = {0};
    *t = (translator){0};
    checkpoint = checkpoint ? checkpoint : newest.text;
    if (!*checkpoint) {
        return eg_failf(EG_ESTATE, "transformer",
                        "there is no checkpoint in %.200s: train first, or say which "
                        "--checkpoint",
                        eg_run_path(run, "").text);
    }
    eg_status st = read_sizes(checkpoint, &o);
    eg_tokenizer *known = st ? NULL : eg_tokenizer_load(words ? words : there.text);
    if (known && eg_tokenizer_size(known) != o.vocabulary) {
        st = eg_failf(EG_EFORMAT, "transformer", "the checkpoint knows %lld subtokens, the file has %lld",
                      (long long)o.vocabulary, (long long)eg_tokenizer_size(known));
    }
    st = st || known ? st : eg_last_error()->code;
    st = st ? st : eg_tokenizer_frame(known, "$A <EOS>", NULL);
    if (st) {
        eg_tokenizer_free(known);
        return st;
    }
    st = translator_new(t, run, known, &o);
    return st ? st : eg_run_restore(run, checkpoint);
}

/* ---- translating ----------------------------------------------------------------------------- */

typedef struct question {
    int64_t at;
    eg_tensor *ids;
} question;

static int by_length(const void *a, const void *b)
{
    const question *p = a, *q = b;
    int64_t m = eg_numel(p->ids), n = eg_numel(q->ids);
    return m != n ? (m > n) - (m < n) : (p->at > q->at) - (p->at < q->at);
}

/* What beams found of one row, as a text. */
static eg_tensor *spell(const translator *t, eg_tensor *ids, int64_t length)
{
    bool ended = length > 0 && (int64_t)eg_get(ids, length - 1) == END;
    return eg_tokenizer_decode(t->words, eg_slice(ids, 0, 0, ended ? length - 1 : length, 1));
}

/* Texts of similar length, at once. */
static eg_status answer(const translator *t, eg_run *run, const question *q, int64_t n, const search *s,
                        eg_tensor **made)
{
    eg_status st = EG_OK;
    eg_tensor **rows = malloc((size_t)n * sizeof *rows);
    eg_cache *cache = rows ? eg_cache_new() : NULL;
    for (int64_t i = 0; i < n && rows; i++) {
        rows[i] = q[i].ids;
    }
    EG_RUN_COMPUTES(run)
    {
        eg_tensor *source = cache ? eg_run_here(run, eg_pad_sequences(rows, (int)n, .pad_after = true)) : NULL;
        eg_decoded best = {0};
        if (source && eg_transformer_read(t->net, source, cache) == EG_OK) {
            best = eg_beam_search(eg_transformer_next, t->net, eg_run_here(run, eg_zeros(EG_SHAPE(n, 1), EG_I64)),
                                  .cache = cache, .end = END, .steps = eg_size(source, 1) + s->extra, .beams = s->beams,
                                  .length_power = s->power > 0 ? s->power : 0);
        }
        eg_tensor *ids = best.ids ? eg_to(best.ids, eg_cpu()) : NULL;
        eg_tensor *lengths = ids ? eg_to(best.lengths, eg_cpu()) : NULL;
        for (int64_t i = 0; i < n && lengths && !st; i++) {
            eg_tensor *text = spell(t, eg_select(eg_select(ids, 0, i), 0, 0), (int64_t)eg_get(lengths, i));
            made[q[i].at] = text ? eg_keep(text) : NULL;
            st = made[q[i].at] ? EG_OK : eg_last_error()->code;
        }
        st = st || lengths ? st : eg_last_error()->code;
    }
    eg_cache_free(cache);
    free(rows);
    return st;
}

eg_status translate(const translator *t, eg_run *run, eg_tensor *const *texts, int64_t n, const search *s,
                    eg_tensor **made)
{
    question *q = calloc((size_t)n + 1, sizeof *q);
    eg_status st = q ? eg_module_eval(t->net) : eg_fail(EG_ENOMEM, "transformer", "out of memory for the texts");
    for (int64_t i = 0; i < n; i++) {
        made[i] = NULL;
    }
    EG_SCOPE {
        for (int64_t i = 0; i < n && !st; i++) {
            q[i] = (question){i, eg_tokenizer_encode(t->words, texts[i]).ids};
            st = q[i].ids ? EG_OK : eg_last_error()->code;
        }
        if (!st) {
            qsort(q, (size_t)n, sizeof *q, by_length);
        }
        for (int64_t i = 0; i < n && !st; i += s->batch) {
            st = answer(t, run, q + i, n - i < s->batch ? n - i : s->batch, s, made);
        }
    }
    free(q);
    return st ? st : eg_module_train(t->net);
}

/* ---- where it looks -------------------------------------------------------------------------- */

/* Heads [layers, 1, heads, T, S] as one picture: tables side by side, a row for each layer. */
static eg_tensor *draw_heads(eg_tensor *heads, const char *const *written, const char *const *read)
{
    const int64_t layers = eg_size(heads, 0), across = eg_size(heads, 2);
    eg_tensor *rows[64], *tables[64];
    if (layers > 64 || across > 64) {
        eg_fail(EG_EINVAL, "transformer", "more than 64 layers or heads are not drawn");
        return NULL;
    }
    for (int64_t l = 0; l < layers; l++) {
        for (int64_t h = 0; h < across; h++) {
            char title[64];
            snprintf(title, sizeof title, "layer %lld, head %lld", (long long)l + 1, (long long)h + 1);
            tables[h] = eg_draw_heatmap(eg_select(eg_select(eg_select(heads, 0, l), 0, 0), 0, h), .title = title,
                                        .row_words = written, .column_words = read, .least = 0, .most = 1);
        }
        rows[l] = eg_concat(tables, (int)across, 2);
    }
    return eg_concat(rows, (int)layers, 1);
}

/* Subtokens of ids, at most MOST_DRAWN. */
static int name_ids(const translator *t, eg_tensor *ids, const char *words[MOST_DRAWN])
{
    int n = eg_numel(ids) < MOST_DRAWN ? (int)eg_numel(ids) : MOST_DRAWN;
    for (int i = 0; i < n; i++) {
        words[i] = eg_tokenizer_token(t->words, (int64_t)eg_get(ids, i));
    }
    return n;
}

eg_status translator_draw(const translator *t, eg_run *run, eg_tensor *text, eg_tensor *made)
{
    const char *read[MOST_DRAWN], *written[MOST_DRAWN];
    eg_status st = EG_OK;
    EG_RUN_COMPUTES(run)
    {
        eg_tensor *source = eg_tokenizer_encode(t->words, text).ids, *target = eg_tokenizer_encode(t->words, made).ids;
        int s = name_ids(t, source, read), n = name_ids(t, target, written);
        source = eg_run_here(run, eg_reshape(eg_slice(source, 0, 0, s, 1), EG_SHAPE(1, s)));
        target = eg_run_here(run, eg_reshape(eg_slice(target, 0, 0, n, 1), EG_SHAPE(1, n)));
        eg_transformer_heads look = eg_transformer_look(t->net, source, target);
        st = look.between ? EG_OK : eg_last_error()->code;
        st = st ? st : eg_run_picture(run, "attention-encoder", draw_heads(eg_to(look.encoder, eg_cpu()), read, read));
        st = st ? st
                : eg_run_picture(run, "attention-decoder", draw_heads(eg_to(look.decoder, eg_cpu()), written, written));
        st = st ? st
                : eg_run_picture(run, "attention-between", draw_heads(eg_to(look.between, eg_cpu()), written, read));
    }
    return st;
}
