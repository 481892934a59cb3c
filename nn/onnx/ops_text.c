/* ops_text.c - words counted, and sums told by a text. */
#include <stdlib.h>
#include <string.h>

#include "nn/onnx/ops.h"

/* ---- Einsum ------------------------------------------------------------------------------------------- */

/* Of the operands' dtype, where sums of integers are wider. */
eg_status eg__onnx_run_einsum(eg_onnx_call *c)
{
    enum { MOST = 64 };
    eg_tensor *operands[MOST];
    const char *equation = eg_onnx_text(c, "equation", NULL);
    const int n = c->node->nin;
    if (!equation || n > MOST) {
        return eg__onnx_bad(c, equation ? "more than 64 operands" : "there is no equation");
    }
    for (int i = 0; i < n; i++) {
        operands[i] = eg__onnx_in(c, i);
    }
    eg_tensor *y = eg_einsum(equation, operands, n);
    const eg_dtype dtype = eg_dtype_of(operands[0]);
    return eg__onnx_give(c, eg_dtype_of(y) == dtype ? y : eg_cast(y, dtype));
}

/* ---- TfIdfVectorizer ---------------------------------------------------------------------------------- */

/* A sequence of n ids that is looked for, and the column that counts it. */
typedef struct gram {
    const int64_t *ids;
    int64_t n, column;
    float weight;
} gram;

typedef struct counter {
    gram *grams; /* sorted */
    int64_t ngrams, least, most, skips, columns;
    bool counts, weighs; /* TF: counts; IDF: weights; TFIDF: their products */
    int64_t *key;        /* room for the longest */
} counter;

static int compare(const void *a, const void *b)
{
    const gram *x = a, *y = b;
    if (x->n != y->n) {
        return x->n < y->n ? -1 : 1;
    }
    for (int64_t i = 0; i < x->n; i++) {
        if (x->ids[i] != y->ids[i]) {
            return x->ids[i] < y->ids[i] ? -1 : 1;
        }
    }
    return 0;
}

/* The pool has all grams of one id, then those of two, ...; ngram_counts says where each kind begins. */
static eg_status read_pool(const eg_onnx_call *c, counter *k)
{
    int npool, nstarts, ncolumns, nweights;
    const int64_t *pool = eg_onnx_ints(c, "pool_int64s", &npool), *starts = eg_onnx_ints(c, "ngram_counts", &nstarts);
    const int64_t *columns = eg_onnx_ints(c, "ngram_indexes", &ncolumns);
    const float *weights = eg_onnx_floats(c, "weights", &nweights);
    if (!pool || !starts || !columns || (weights && nweights != ncolumns)) {
        return eg__onnx_bad(c, pool ? "ngram_counts, ngram_indexes or weights do not fit"
                                    : "the pool is one of texts, or not there");
    }
    k->grams = eg__onnx_scratch(ncolumns, sizeof *k->grams);
    k->key = k->grams ? eg__onnx_scratch(nstarts, sizeof *k->key) : NULL;
    if (!k->key) {
        return eg__onnx_why();
    }
    k->most = k->most < nstarts ? k->most : nstarts;
    for (int n = 1; n <= nstarts; n++) {
        const int64_t end = n < nstarts ? starts[n] : npool;
        int64_t at = starts[n - 1];
        if (at < 0 || end > npool || at > end || (end - at) % n) {
            return eg__onnx_bad(c, "ngram_counts does not fit the pool");
        }
        for (; at < end; at += n, k->ngrams++) {
            const int64_t i = k->ngrams;
            if (i >= ncolumns || columns[i] < 0 || columns[i] >= INT32_MAX) {
                return eg__onnx_bad(c, "ngram_indexes does not fit the pool");
            }
            k->grams[i] = (gram){pool + at, n, columns[i], weights ? weights[i] : 1};
            k->columns = k->columns > columns[i] ? k->columns : columns[i] + 1;
        }
    }
    qsort(k->grams, (size_t)k->ngrams, sizeof *k->grams, compare);
    return EG_OK;
}

/* Counts the grams that begin at ids[at], with `step` from each id to the next. */
static void count_from(const counter *k, const int64_t *ids, int64_t length, int64_t at, int64_t step, float *row)
{
    for (int64_t n = 1; n <= k->most && at + (n - 1) * step < length; n++) {
        k->key[n - 1] = ids[at + (n - 1) * step];
        if (n < k->least || (n == 1 && step > 1)) { /* one id leaves nothing out */
            continue;
        }
        const gram key = {.ids = k->key, .n = n};
        const gram *found = bsearch(&key, k->grams, (size_t)k->ngrams, sizeof key, compare);
        if (found) {
            const float weight = k->weighs ? found->weight : 1;
            row[found->column] = k->counts ? row[found->column] + weight : weight;
        }
    }
}

static eg_tensor *count_rows(const counter *k, eg_tensor *ids)
{
    const int64_t length = eg_size(ids, -1), rows = eg_ndim(ids) > 1 ? eg_size(ids, 0) : 1;
    eg_tensor *y = eg_to(eg_zeros(EG_SHAPE(rows, k->columns), EG_F32), eg_cpu());
    float *to = y ? eg_data_mut(y) : NULL;
    const int64_t *from = eg_data(ids);
    const int64_t widest = k->skips + 1 < length ? k->skips + 1 : length;
    for (int64_t i = 0; to && i < rows; i++) {
        for (int64_t step = 1; step <= widest; step++) {
            for (int64_t at = 0; at < length; at++) {
                count_from(k, from + i * length, length, at, step, to + i * k->columns);
            }
        }
    }
    return eg_ndim(ids) > 1 ? y : eg_reshape(y, EG_SHAPE(k->columns));
}

eg_status eg__onnx_run_tf_idf(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    const char *mode = eg_onnx_text(c, "mode", "");
    counter k = {.least = eg_onnx_int(c, "min_gram_length", 1),
                 .most = eg_onnx_int(c, "max_gram_length", 1),
                 .skips = eg_onnx_int(c, "max_skip_count", 0),
                 .counts = strcmp(mode, "IDF") != 0,
                 .weighs = strcmp(mode, "TF") != 0};
    if (eg_ndim(x) < 1 || eg_ndim(x) > 2 || eg_dtype_of(x) < EG_I64 || k.skips < 0 || k.skips == INT64_MAX) {
        return eg__onnx_bad(c, "the input is not one of integers with 1 or 2 axes, or max_skip_count is senseless");
    }
    if (strcmp(mode, "TF") && strcmp(mode, "IDF") && strcmp(mode, "TFIDF")) {
        return eg_failf(EG_EINVAL, eg__onnx_op_name, "mode \"%.40s\" is not known", mode);
    }
    eg_status st = read_pool(c, &k);
    eg_tensor *ids = st ? NULL : eg_contiguous(eg_to(eg_cast(x, EG_I64), eg_cpu()));
    return st ? st : ids ? eg__onnx_give(c, eg_to(count_rows(&k, ids), eg_device_of(x))) : eg__onnx_why();
}
