/* sentence_pairs.c - pieces of documents, and what follows them or does not. */
#include <egret/data/corpora.h>

#include "data/chain/dataset.h"
#include "lib/core/counted.h"
#include "lib/core/device.h"

static const char me[] = "eg_sentence_pairs_new";

/* Ids from..to. */
typedef struct stretch {
    int64_t from, to;
} stretch;

typedef struct pairs {
    eg_dataset d;
    eg_sentence_pairs_options o;
    int64_t begin, end; /* ids */
    int64_t *memory;
    int64_t *ids, *sentence, *document; /* where each sentence begins among ids, and one more; documents alike */
    int64_t sentences, documents;
    /* where the pass is */
    uint64_t state;
    int64_t in_document, next; /* document, and its next sentence, of all */
    int64_t target;            /* ids of a pair of this document */
} pairs;

/* ---- chance --------------------------------------------------------------------------------- */

/* One of low..high. */
static int64_t draw(pairs *p, int64_t low, int64_t high)
{
    const uint64_t many = (uint64_t)(high - low + 1);
    return low + (int64_t)((eg__draw(&p->state) >> 32) * many >> 32);
}

static bool chance(pairs *p, double share)
{
    return (double)(eg__draw(&p->state) >> 11) * 0x1p-53 < share;
}

/* ---- pairs ---------------------------------------------------------------------------------- */

static int64_t most_ids(const pairs *p)
{
    return p->o.length - 3;
}

static void enter_document(pairs *p)
{
    p->next = p->document[p->in_document];
    p->target = chance(p, p->o.short_share) ? draw(p, 2, most_ids(p)) : most_ids(p);
}

/* What is of another document, if ten draws find one. */
static stretch draw_elsewhere(pairs *p, int64_t ids)
{
    int64_t k = p->in_document;
    for (int i = 0; i < 10 && k == p->in_document; i++) {
        k = draw(p, 0, p->documents - 1);
    }
    const int64_t first = draw(p, p->document[k], p->document[k + 1] - 1);
    int64_t last = first + 1;
    while (last < p->document[k + 1] && p->sentence[last] - p->sentence[first] < ids) {
        last++;
    }
    return (stretch){p->sentence[first], p->sentence[last]};
}

/* Takes ids off both ends of the longer one, by chance. */
static void shorten(pairs *p, stretch *a, stretch *b)
{
    while (a->to - a->from + b->to - b->from > most_ids(p)) {
        stretch *longer = a->to - a->from > b->to - b->from ? a : b;
        if (chance(p, 0.5)) {
            longer->from++;
        } else {
            longer->to--;
        }
    }
}

/* The next pair; false: the pass is over. */
static bool next_pair(pairs *p, stretch *a, stretch *b, bool *elsewhere)
{
    while (p->in_document < p->documents && p->next == p->document[p->in_document + 1]) {
        if (++p->in_document < p->documents) {
            enter_document(p);
        }
    }
    if (p->in_document == p->documents) {
        return false;
    }
    const int64_t first = p->next, end = p->document[p->in_document + 1];
    int64_t last = first + 1;
    while (last < end && p->sentence[last] - p->sentence[first] < p->target) {
        last++;
    }
    const int64_t middle = last - first > 1 ? first + draw(p, 1, last - first - 1) : last;
    *a = (stretch){p->sentence[first], p->sentence[middle]};
    *b = (stretch){p->sentence[middle], p->sentence[last]};
    *elsewhere = middle == last || chance(p, 0.5);
    p->next = *elsewhere ? middle : last; /* what was not used comes again */
    if (*elsewhere) {
        *b = draw_elsewhere(p, p->target - (a->to - a->from));
    }
    shorten(p, a, b);
    return true;
}

static eg_status make_sample(pairs *p, eg__sample *s, stretch a, stretch b, bool elsewhere)
{
    const int64_t first = a.to - a.from + 2, n = first + b.to - b.from + 1;
    eg_scope scope = eg_scope_push();
    eg_tensor *t[3] = {scope.depth ? eg__empty_on(0, EG_SHAPE(n), EG_I64) : NULL, NULL, NULL};
    t[1] = t[0] ? eg__empty_on(0, EG_SHAPE(n), EG_I64) : NULL;
    t[2] = t[1] ? eg__full_on(0, EG_SCALAR, elsewhere, EG_I64) : NULL;
    if (t[2]) {
        int64_t *ids = (int64_t *)eg__ptr(t[0]), *segment = (int64_t *)eg__ptr(t[1]);
        ids[0] = p->begin;
        memcpy(ids + 1, p->ids + a.from, (size_t)(a.to - a.from) * sizeof *ids);
        ids[first - 1] = p->end;
        memcpy(ids + first, p->ids + b.from, (size_t)(b.to - b.from) * sizeof *ids);
        ids[n - 1] = p->end;
        for (int64_t i = 0; i < n; i++) {
            segment[i] = i >= first;
        }
    }
    eg_status st = t[2] ? eg__sample_keep(me, s, t, 3) : eg__why();
    eg_scope_pop(scope, NULL);
    return st;
}

/* ---- the dataset ---------------------------------------------------------------------------- */

static eg_status pairs_start(eg_dataset *d, uint64_t epoch)
{
    pairs *p = (pairs *)d;
    uint64_t mixed = p->o.seed;
    p->state = eg__draw(&mixed) ^ epoch;
    p->in_document = 0;
    enter_document(p);
    return EG_OK;
}

static eg_status pairs_next(eg_dataset *d, eg__sample *s)
{
    pairs *p = (pairs *)d;
    stretch a, b;
    bool elsewhere;
    s->at = p->next;
    return next_pair(p, &a, &b, &elsewhere) ? make_sample(p, s, a, b, elsewhere) : EG_OK;
}

static eg_status pairs_skip(eg_dataset *d, int64_t n, int64_t *done)
{
    stretch a, b;
    bool elsewhere;
    while (*done < n && next_pair((pairs *)d, &a, &b, &elsewhere)) {
        ++*done;
    }
    return EG_OK;
}

static int64_t pairs_count(const eg_dataset *d)
{
    (void)d;
    return -1;
}

static void pairs_free(eg_dataset *d)
{
    eg__counted_free(((pairs *)d)->memory);
}

static const eg__dataset_class pairs_class = {
    .name = me, .start = pairs_start, .next = pairs_next, .skip = pairs_skip, .count = pairs_count, .free = pairs_free};

/* ---- making --------------------------------------------------------------------------------- */

static eg_status check_numbers(const eg_tensor *t, const char *name)
{
    eg_status st = eg__check(t, me, name);
    st = st ? st : eg__host_only(t, me, name);
    if (!st && (t->ndim != 1 || (t->dtype != EG_I64 && t->dtype != EG_I32 && t->dtype != EG_U8))) {
        st = eg__fail(EG_ESHAPE, me, "%s are %s %s, must be integers [n]", name, eg_dtype_name((eg_dtype)t->dtype),
                      EG__SHAPE_OF(t));
    }
    return st;
}

/* Where each of n parts of `all` begins, and the last ends, of their lengths in place behind to[0]. */
static eg_status add_up(const char *name, int64_t *to, int64_t n, int64_t all)
{
    to[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        if (to[i + 1] < 1 || to[i + 1] > all - to[i]) {
            return eg__fail(EG_EINVAL, me, "%s[%lld] is %lld, of %lld that are left: must be 1 or more", name,
                            (long long)i, (long long)to[i + 1], (long long)(all - to[i]));
        }
        to[i + 1] += to[i];
    }
    return to[n] == all && n ? EG_OK
                             : eg__fail(EG_EINVAL, me, "%lld %s are of %lld, there are %lld", (long long)n, name,
                                        (long long)to[n], (long long)all);
}

static eg_status copy_numbers(eg_tensor *t, int64_t *to)
{
    eg_tensor *whole = eg_contiguous(eg_cast(eg_detach(t), EG_I64));
    if (whole && whole->n) {
        memcpy(to, eg__ptr(whole), (size_t)whole->n * sizeof *to);
    }
    return whole ? EG_OK : eg__why();
}

static eg_status copy_texts(pairs *p, eg_tensor *ids, eg_tensor *sentences, eg_tensor *documents)
{
    p->sentences = sentences->n;
    p->documents = documents->n;
    p->memory = eg__counted_alloc((size_t)(ids->n + p->sentences + p->documents + 2) * sizeof *p->memory);
    if (!p->memory) {
        return eg__no_memory(me, ids->n);
    }
    p->sentence = p->memory;
    p->document = p->sentence + p->sentences + 1;
    p->ids = p->document + p->documents + 1;
    eg_status st = copy_numbers(ids, p->ids);
    st = st ? st : copy_numbers(sentences, p->sentence + 1);
    st = st ? st : copy_numbers(documents, p->document + 1);
    st = st ? st : add_up("sentences", p->sentence, p->sentences, ids->n);
    return st ? st : add_up("documents", p->document, p->documents, p->sentences);
}

eg_dataset *eg_sentence_pairs_new_with(eg_tensor *ids, eg_tensor *sentences, eg_tensor *documents, int64_t begin,
                                       int64_t end, const eg_sentence_pairs_options *options)
{
    eg_sentence_pairs_options o;
    eg__options(&o, sizeof o, options);
    o.length = o.length ? o.length : 128;
    o.short_share = eg__or(o.short_share, 0.1);
    if (check_numbers(ids, "ids") || check_numbers(sentences, "sentences") || check_numbers(documents, "documents")) {
        return NULL;
    }
    if (o.length < 5 || !(o.short_share >= 0 && o.short_share <= 1)) {
        return eg__fail_null(EG_EINVAL, me, "length is %lld, must be at least 5; short_share is %g, must be 0..1",
                             (long long)o.length, o.short_share);
    }
    pairs *p = (pairs *)eg__dataset_new(&pairs_class, sizeof *p, NULL);
    if (!p) {
        return NULL;
    }
    p->o = o;
    p->begin = begin;
    p->end = end;
    eg_scope scope = eg_scope_push();
    eg_status st = scope.depth ? copy_texts(p, ids, sentences, documents) : eg__why();
    eg_scope_pop(scope, NULL);
    if (st) {
        eg_dataset_free(&p->d);
    }
    return st ? NULL : &p->d;
}
