/* encode.c - texts to rows of ids: cut, framed, padded. */
#include "data/text/text.h"
#include "data/tokens/tokens.h"
#include "lib/core/device.h"
#include "lib/core/parallel.h"

/* Tokens of a text. */
typedef struct sequence {
    eg__token *p;
    int64_t n;
    eg_status st;
    char words[200];
} sequence;

/* Tokens [begin, end) of each text of the row. */
typedef struct row {
    int64_t first; /* the number of its first sequence; the other is behind it */
    int64_t begin[2], end[2];
} row;

typedef struct job {
    const char *op;
    const eg_tokenizer *t;
    eg_encode_options o;
    eg_tensor **texts; /* dense */
    sequence *of;
    int64_t n, per; /* texts; of a row, 1 or 2 */
    const eg__frame *frame;
    int64_t max; /* tokens of the texts in a row; -1: as many as there are */
    row *rows;
    int64_t nrows, room;
} job;

/* ---- tokens ---------------------------------------------------------------------------------------- */

static void tokenize(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    for (int64_t i = begin; i < end; i++) {
        sequence *q = &j->of[i];
        eg__encoder *w = eg__encoder_take(j->t);
        if (!w) {
            q->st = EG_ENOMEM;
            continue;
        }
        eg__tokenize(w, (const uint8_t *)eg__ptr(j->texts[i]), j->texts[i]->n, j->o.plain);
        q->st = w->st;
        memcpy(q->words, w->words, sizeof q->words);
        q->n = w->tokens.n;
        q->p = q->n && !q->st ? eg__counted_alloc((size_t)q->n * sizeof *q->p) : NULL;
        if (q->p) {
            memcpy(q->p, w->tokens.p, (size_t)q->n * sizeof *q->p);
        } else if (q->n && !q->st) {
            q->st = EG_ENOMEM;
        }
        eg__encoder_give(w);
    }
}

static eg_status tokenize_all(job *j)
{
    enum { TEXTS = 16 };
    if (j->n > 1) {
        eg__parallel(j->n, TEXTS, tokenize, j);
    } else {
        tokenize(j, 0, j->n);
    }
    for (int64_t i = 0; i < j->n; i++) {
        const sequence *q = &j->of[i];
        if (q->st == EG_ENOMEM) {
            return eg__no_memory(j->op, j->texts[i]->n);
        }
        if (q->st && j->n > 1) {
            return eg__fail(q->st, j->op, "text %lld: %s", (long long)i, q->words);
        }
        if (q->st) {
            return eg__fail(q->st, j->op, "%s", q->words);
        }
    }
    return EG_OK;
}

/* ---- rows ------------------------------------------------------------------------------------------- */

static eg_status add_row(job *j, const row *r)
{
    if (j->nrows == j->room) {
        const int64_t room = j->room ? 2 * j->room : j->n + 1;
        row *grown = eg__counted_alloc((size_t)room * sizeof *grown);
        if (!grown) {
            return eg__no_memory(j->op, room * (int64_t)sizeof *grown);
        }
        if (j->nrows) {
            memcpy(grown, j->rows, (size_t)j->nrows * sizeof *grown);
        }
        eg__counted_free(j->rows);
        j->rows = grown;
        j->room = room;
    }
    j->rows[j->nrows++] = *r;
    return EG_OK;
}

/* How many tokens of each text there may be, as `tokenizers` shares them out. */
static eg_status share(const job *j, const int64_t n[2], int64_t keep[2])
{
    const eg_truncation how = j->o.truncation;
    const int64_t over = n[0] + n[1] - j->max;
    keep[0] = n[0];
    keep[1] = n[1];
    if (j->max < 0 || over <= 0) {
        return EG_OK;
    }
    if (j->per == 1) {
        keep[0] = j->max;
        return EG_OK;
    }
    if (how == EG_TRUNCATE_FIRST || how == EG_TRUNCATE_SECOND) {
        const int side = how == EG_TRUNCATE_SECOND;
        keep[side] = n[side] - over;
        return keep[side] > 0 ? EG_OK
                              : eg__fail(EG_EINVAL, j->op, "the %s text leaves no room for the %s in %lld tokens",
                                         side ? "first" : "second", side ? "second" : "first", (long long)j->max);
    }
    const int shorter = n[0] > n[1];
    int64_t a = n[shorter], b = a > j->max ? a : eg__max(a, j->max - a);
    if (a + b > j->max) {
        a = j->max / 2;
        b = a + j->max % 2;
    }
    keep[shorter] = a;
    keep[!shorter] = b;
    return EG_OK;
}

/* Rows of the texts from sequence `first` on. */
static eg_status cut_text(job *j, int64_t first)
{
    int64_t n[2] = {j->of[first].n, j->per == 2 ? j->of[first + 1].n : 0}, keep[2];
    eg_status st = share(j, n, keep);
    row r = {.first = first};
    for (int k = 0; k < 2; k++) {
        r.begin[k] = j->o.cut_front ? n[k] - keep[k] : 0;
        r.end[k] = r.begin[k] + keep[k];
    }
    const int cut = keep[1] < n[1];
    if (st || !j->o.windows || (keep[0] == n[0] && keep[1] == n[1])) {
        return st ? st : add_row(j, &r);
    }
    if (cut && keep[0] < n[0]) {
        return eg__fail(EG_EINVAL, j->op, "windows are of one text of a pair: truncation must be first or second");
    }
    const int64_t step = keep[cut] - j->o.stride;
    if (step < 1) {
        return eg__fail(EG_EINVAL, j->op, "stride is %lld, must be below the %lld tokens that a row has room for",
                        (long long)j->o.stride, (long long)keep[cut]);
    }
    for (int64_t at = 0; !st; at += step) {
        const int64_t end = eg__min(at + keep[cut], n[cut]);
        r.begin[cut] = j->o.cut_front ? n[cut] - end : at;
        r.end[cut] = j->o.cut_front ? n[cut] - at : end;
        st = add_row(j, &r);
        if (end == n[cut]) {
            break;
        }
    }
    return st;
}

/* ---- tensors ----------------------------------------------------------------------------------------- */

typedef struct writer {
    int64_t *ids, *offsets, *types, *words;
    bool *special, *mask;
} writer;

static void write_token(const writer *w, int64_t at, const eg__token *x, int64_t type, bool special)
{
    w->ids[at] = x->id;
    w->offsets[2 * at] = x->begin;
    w->offsets[2 * at + 1] = x->end;
    w->types[at] = type;
    w->words[at] = x->word;
    w->special[at] = special;
    w->mask[at] = true;
}

static int64_t length_of(const job *j, const row *r)
{
    return r->end[0] - r->begin[0] + r->end[1] - r->begin[1] + (j->frame->n ? j->frame->n - j->per : 0);
}

static void write_row(const job *j, const row *r, const writer *w, int64_t at, int64_t length)
{
    static const eg__frame_item bare[2] = {{EG__TEXT_A, 0}, {EG__TEXT_B, 1}};
    const eg__frame_item *items = j->frame->n ? j->frame->p : bare;
    const int64_t n = j->frame->n ? j->frame->n : j->per, pad = length - length_of(j, r), pad_id = eg__pad_id(j->t);
    const eg__token padding = {(int32_t)pad_id, -1, 0, 0, 0, 0};
    const bool front = j->o.pad_front || (j->t->pad_front && j->t->pad);
    int64_t from = at + (front ? pad : 0);
    for (int64_t k = 0; k < pad; k++) {
        const int64_t place = front ? at + k : at + length - pad + k;
        write_token(w, place, &padding, j->t->pad_type, true);
        w->mask[place] = false;
    }
    for (int64_t i = 0; i < n; i++) {
        const int side = items[i].id == EG__TEXT_B;
        if (items[i].id >= 0) {
            write_token(w, from++, &(eg__token){items[i].id, -1, 0, 0, 0, 0}, items[i].type, true);
            continue;
        }
        const sequence *q = &j->of[r->first + side];
        for (int64_t k = r->begin[side]; k < r->end[side]; k++) {
            eg__token x = q->p[k];
            if (j->t->trim) {
                const eg_tensor *text = j->texts[r->first + side];
                const eg__extent trimmed =
                    eg__token_trimmed(j->t, (const uint8_t *)eg__ptr(text), text->n, &x, k == r->begin[side]);
                x.begin = trimmed.begin;
                x.end = trimmed.end;
            }
            write_token(w, from++, &x, items[i].type, false);
        }
    }
}

static int64_t row_length(const job *j)
{
    const bool file = j->t->pad && !j->o.pad_to && !j->o.pad_multiple;
    int64_t longest = 0, multiple = file ? j->t->pad_multiple : j->o.pad_multiple;
    for (int64_t i = 0; i < j->nrows; i++) {
        longest = eg__max(longest, length_of(j, &j->rows[i]));
    }
    longest = eg__max(longest, file ? j->t->pad_length : j->o.pad_to);
    return multiple > 1 ? (longest + multiple - 1) / multiple * multiple : longest;
}

/* rows: whether there is an axis of rows. */
static eg_tokens make(const job *j, bool rows)
{
    static const eg_tokens failed = {0};
    const int64_t n = j->nrows, length = row_length(j);
    if (length > INT32_MAX || n * length > (int64_t)1 << 40) {
        eg__no_memory(j->op, n * length);
        return failed;
    }
    const eg_shape flat = rows ? EG_SHAPE(n, length) : EG_SHAPE(length);
    const eg_shape twos = rows ? EG_SHAPE(n, length, 2) : EG_SHAPE(length, 2);
    eg_tokens r = {.ids = eg__empty_on(0, flat, EG_I64),
                   .offsets = eg__empty_on(0, twos, EG_I64),
                   .types = eg__empty_on(0, flat, EG_I64),
                   .words = eg__empty_on(0, flat, EG_I64),
                   .texts = eg__empty_on(0, EG_SHAPE(n), EG_I64),
                   .special = eg__empty_on(0, flat, EG_BOOL),
                   .mask = eg__empty_on(0, flat, EG_BOOL)};
    if (!r.ids || !r.offsets || !r.types || !r.words || !r.texts || !r.special || !r.mask) {
        return failed;
    }
    const writer w = {(int64_t *)eg__ptr(r.ids),   (int64_t *)eg__ptr(r.offsets), (int64_t *)eg__ptr(r.types),
                      (int64_t *)eg__ptr(r.words), (bool *)eg__ptr(r.special),    (bool *)eg__ptr(r.mask)};
    for (int64_t i = 0; i < n; i++) {
        write_row(j, &j->rows[i], &w, i * length, length);
        ((int64_t *)eg__ptr(r.texts))[i] = j->rows[i].first / j->per;
    }
    return r;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static eg_status check_options(job *j)
{
    const eg_encode_options *o = &j->o;
    const int64_t around = j->frame->n ? j->frame->n - j->per : 0;
    if (o->truncation < EG_TRUNCATE_FILE || o->truncation > EG_TRUNCATE_SECOND) {
        return eg__fail(EG_EINVAL, j->op, "there is no truncation %d", (int)o->truncation);
    }
    const int64_t given[] = {o->max_length == EG_ZERO ? 0 : o->max_length, o->stride, o->pad_to, o->pad_multiple};
    bool good = true;
    for (int i = 0; i < EG__COUNT(given); i++) {
        good &= given[i] >= 0 && given[i] <= INT32_MAX;
    }
    if (!good) {
        return eg__fail(
            EG_EINVAL, j->op, "max_length %lld, stride %lld, pad_to %lld, pad_multiple %lld: each from 0 to 2^31 - 1",
            (long long)o->max_length, (long long)o->stride, (long long)o->pad_to, (long long)o->pad_multiple);
    }
    const int64_t max = eg__or_count(o->max_length, j->t->max_length);
    j->max = max > 0 ? max - around : -1;
    if (!o->max_length && j->t->max_length > 0) {
        j->o.stride = o->windows && !o->stride ? j->t->stride : o->stride;
        j->o.cut_front |= j->t->cut_front;
    }
    if (o->truncation == EG_TRUNCATE_FILE) {
        j->o.truncation = j->t->truncation ? (eg_truncation)j->t->truncation : EG_TRUNCATE_LONGEST;
    }
    return max > 0 && j->max < 1 ? eg__fail(EG_EINVAL, j->op, "%lld tokens leave no room beside %lld special ones",
                                            (long long)max, (long long)around)
                                 : EG_OK;
}

static eg_status encode_texts(job *j, eg_tensor *const *texts)
{
    eg_status st = check_options(j);
    j->texts = eg__counted_alloc((size_t)(j->n + 1) * sizeof(eg_tensor *));
    j->of = eg__counted_alloc((size_t)(j->n + 1) * sizeof *j->of);
    if (j->of) {
        memset(j->of, 0, (size_t)(j->n + 1) * sizeof *j->of);
    }
    if (!j->texts || !j->of) {
        return st ? st : eg__no_memory(j->op, j->n * (int64_t)sizeof *j->of);
    }
    for (int64_t i = 0; i < j->n && !st; i++) {
        j->texts[i] = eg__text_check(j->op, texts[i]);
        st = j->texts[i] ? EG_OK : eg__why();
    }
    st = st ? st : tokenize_all(j);
    for (int64_t i = 0; i < j->n && !st; i += j->per) {
        st = cut_text(j, i);
    }
    return st;
}

static eg_tokens encode(job *j, eg_tensor *const *texts, bool rows)
{
    static const eg__frame none = {0};
    eg_tokens r = {0};
    eg_scope scope = eg_scope_push();
    if (!scope.depth) {
        return r;
    }
    j->frame = j->o.bare ? &none : j->per == 2 ? &j->t->pair : &j->t->single;
    eg_status st = encode_texts(j, texts);
    r = st ? r : make(j, rows);
    for (int64_t i = 0; i < j->n && j->of; i++) {
        eg__counted_free(j->of[i].p);
    }
    eg__counted_free(j->of);
    eg__counted_free(j->texts);
    eg__counted_free(j->rows);
    eg_tensor *out[] = {r.ids, r.offsets, r.types, r.words, r.texts, r.special, r.mask};
    return eg_scope_pop_n(scope, out, EG__COUNT(out)) || !r.ids
               ? (eg_tokens){0}
               : (eg_tokens){out[0], out[1], out[2], out[3], out[4], out[5], out[6]};
}

eg_tokens eg_tokenizer_encode_with(const eg_tokenizer *t, eg_tensor *text, const eg_encode_options *options)
{
    job j = {.op = "eg_tokenizer_encode", .t = t, .n = 1, .per = 1};
    eg__options(&j.o, sizeof j.o, options);
    if (!t || !text) {
        eg__null_argument(j.op, t ? "text" : "t");
        return (eg_tokens){0};
    }
    if (j.o.pairs) {
        eg__fail(EG_EINVAL, j.op, ".pairs is of a batch; here .pair is the second text");
        return (eg_tokens){0};
    }
    j.n = j.per = j.o.pair ? 2 : 1;
    return encode(&j, (eg_tensor *[]){text, j.o.pair}, j.o.windows);
}

eg_tokens eg_tokenizer_encode_batch_with(const eg_tokenizer *t, eg_tensor *const *texts, int n,
                                         const eg_encode_options *options)
{
    job j = {.op = "eg_tokenizer_encode_batch", .t = t, .n = n, .per = 1};
    eg__options(&j.o, sizeof j.o, options);
    if (!t || !texts) {
        eg__null_argument(j.op, t ? "texts" : "t");
        return (eg_tokens){0};
    }
    j.per = j.o.pairs ? 2 : 1;
    if (n < 0 || n % j.per || j.o.pair) {
        eg__fail(EG_EINVAL, j.op, j.o.pair ? ".pair is of one text; of a batch .pairs" : "%d texts%s", n,
                 j.per == 2 ? " are no pairs" : "");
        return (eg_tokens){0};
    }
    return encode(&j, texts, true);
}
