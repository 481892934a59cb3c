/* tape.c - one linear record per thread; a tape is an interval of it. */
#include <stdlib.h>

#include "autograd/record.h"

static _Atomic uint32_t record_ids;

/* ---- slots --------------------------------------------------------------------------------- */

/* Numbers are never used twice, so old tensors fall out of the window by themselves. */
static void open_window(eg__record *R)
{
    if (!R->now.next) {
        R->now.next = (uint64_t)(atomic_fetch_add(&record_ids, 1) + 1) << 48 | 1;
    }
    R->now.base = R->now.next;
}

static uint32_t hash_of(const eg_tensor *t, uint32_t mask)
{
    return (uint32_t)((uintptr_t)t >> 6) * 2654435769u & mask;
}

/* The place in the hash that holds t's leaf (its number plus one), or the free one where it goes. */
static uint32_t *leaf_place(const eg__record *R, const eg_tensor *t)
{
    uint32_t h = hash_of(t, R->leaf_mask);
    while (R->leaf_hash[h] && R->leaves[R->leaf_hash[h] - 1].t != t) {
        h = (h + 1) & R->leaf_mask;
    }
    return &R->leaf_hash[h];
}

static uint64_t known_leaf(const eg__record *R, const eg_tensor *t)
{
    uint32_t k = R->nleaves ? *leaf_place(R, t) : 0;
    return k ? R->leaves[k - 1].slot : 0;
}

static bool grow_leaves(eg__record *R)
{
    uint32_t size = R->leaf_hash ? 2 * (R->leaf_mask + 1) : 2 * EG__START_CAPACITY;
    uint32_t *hash = eg__malloc(size * sizeof *hash);
    if (!hash || (R->cleaves < size / 2 && !eg__grow(&R->leaves, &R->cleaves, sizeof *R->leaves))) {
        free(hash);
        return false;
    }
    memset(hash, 0, size * sizeof *hash);
    free(R->leaf_hash);
    R->leaf_hash = hash;
    R->leaf_mask = size - 1;
    for (uint32_t i = 0; i < R->nleaves; i++) {
        *leaf_place(R, R->leaves[i].t) = i + 1;
    }
    return true;
}

/* 0: out of memory. */
static uint64_t leaf_slot(eg__thread *T, eg_tensor *t)
{
    eg__record *R = eg__record_of(T);
    if (unlikely(!R->leaf_hash || 2 * (R->nleaves + 1) > R->leaf_mask + 1) && !grow_leaves(R)) {
        return 0;
    }
    uint32_t *place = leaf_place(R, t);
    if (!*place) {
        eg__ref_inc(&t->refs);
        R->leaves[R->nleaves] = (eg__leaf){t, R->now.next++};
        *place = ++R->nleaves;
    }
    /* Only a cache: another thread may stamp its own number over it, then the table decides. */
    uint64_t slot = R->leaves[*place - 1].slot;
    atomic_store_explicit(&t->slot, slot, memory_order_relaxed);
    return slot;
}

uint64_t eg__slot_of(eg__thread *T, eg_tensor *t, bool *no_memory)
{
    uint64_t s = atomic_load_explicit(&t->slot, memory_order_relaxed);
    if (eg__live_slot(T->record, s)) {
        return s;
    }
    if (likely(!(t->flags & EG__PARAM))) {
        return unlikely(s && s >> 48 != T->record->next >> 48) ? known_leaf(eg__record_of(T), t) : 0;
    }
    s = leaf_slot(T, t);
    *no_memory |= !s;
    return s;
}

static bool knows(const eg__thread *T, const eg_tensor *t)
{
    return known_leaf(eg__record_of(T), t);
}

/* ---- recording ------------------------------------------------------------------------------ */

enum { MANY_ENTRIES = 200000 };

static void *bump(eg__thread *T, size_t n)
{
    eg__record *R = eg__record_of(T);
    eg__chunk *c = R->chunk;
    n = (n + 7) & ~(size_t)7;
    if (unlikely(!c || c->used + n > c->size)) {
        uint16_t cls;
        size_t head = (sizeof *c + 7) & ~(size_t)7;
        size_t size = head + n > EG__CHUNK_BYTES ? head + n : EG__CHUNK_BYTES;
        eg__chunk *k = eg__block_alloc(T, size, &cls);
        if (!k) {
            return NULL;
        }
        *k = (eg__chunk){NULL, head, size, cls};
        if (R->entries >= eg__max(R->told, MANY_ENTRIES)) {
            R->told = 2 * R->entries;
            eg__log(EG__DEBUG_TAPE, "eg_tape_open", "open tapes hold %lld entries, what they saved included",
                    (long long)R->entries);
        }
        if (c) {
            c->next = k;
        } else {
            R->first = k;
        }
        R->chunk = c = k;
    }
    void *p = (char *)c + c->used;
    c->used += n;
    R->entry_bytes += (int64_t)n;
    return p;
}

static void collect(eg__collect *k, eg_tensor *t, uint64_t slot)
{
    if (slot >= k->start && !(t->flags & EG__PARAM)) { /* a parameter's slot may begin inside */
        return;
    }
    for (int i = 0; i < k->count; i++) {
        if (k->tensors[i] == t) {
            return;
        }
    }
    if (k->count == EG__MAX_SAVED_IN) {
        k->full = true;
    } else {
        k->tensors[k->count++] = t;
    }
}

static inline bool like_output(const eg_tensor *t, const eg_tensor *y)
{
    if (t->ndim != y->ndim) {
        return false;
    }
    for (int d = 0; d < t->ndim; d++) {
        if (t->shape[d] != y->shape[d]) {
            return false;
        }
    }
    return true;
}

typedef struct needs {
    uint64_t slots[EG__MAX_SAVED_IN];
    uint32_t saves;
    int nsave;
    size_t shape_bytes;
    bool tracked;
} needs;

/* Whether the entry holds the shape of input t, which has slot s. */
static inline bool keeps_shape(const eg__call *c, const eg_tensor *t, uint64_t s)
{
    return (s || (t && c->op->flags & EG__SHAPES)) && !like_output(t, c->out[0]);
}

/* What an entry for the call takes; gives parameters their slots. */
static inline bool measure(eg__thread *T, const eg__call *c, needs *k)
{
    const eg__record *R = eg__record_of(T);
    bool no_memory = false;
    k->saves = 0;
    k->shape_bytes = 0;
    k->tracked = false;
    for (int i = 0; i < c->nin; i++) {
        eg_tensor *t = c->in[i];
        uint64_t s = t ? eg__slot_of(T, t, &no_memory) : 0;
        if (i < EG__MAX_SAVED_IN) {
            k->slots[i] = s;
        }
        if (s) {
            k->tracked = true;
            k->saves |= i < EG__MAX_SAVED_IN ? c->op->saves[i] : 0;
            if (unlikely(R->collect != NULL)) {
                collect(R->collect, t, s);
            }
        }
        if (keeps_shape(c, t, s)) {
            k->shape_bytes += t->ndim * sizeof *t->shape;
        }
    }
    if (c->nin < EG__MAX_SAVED_IN) {
        k->saves &= ~(EG__OUT(0) - (1u << c->nin)); /* inputs the call does not have */
    }
    k->nsave = 0;
    for (uint32_t left = k->saves; left; left &= left - 1) {
        k->nsave++;
    }
    return !no_memory;
}

static void fill_edges(eg__thread *T, const eg__call *c, const needs *k, eg__entry *e, int64_t *shapes)
{
    bool no_memory = false; /* every slot there is was made by measure */
    for (int i = 0; i < c->nin; i++) {
        const eg_tensor *t = c->in[i];
        uint64_t s = i < EG__MAX_SAVED_IN ? k->slots[i] : t ? eg__slot_of(T, c->in[i], &no_memory) : 0;
        e->in[i] = (eg__edge){s, NULL, t ? t->ndim : 0, t ? t->dtype : 0, t ? t->device : 0};
        if (keeps_shape(c, t, s)) {
            memcpy(shapes, t->shape, t->ndim * sizeof *shapes);
            e->in[i].shape = shapes;
            shapes += t->ndim;
        }
    }
}

static void fill_saves(const eg__call *c, uint32_t saves, eg__entry *e)
{
    e->nsave = 0;
    for (; saves; saves &= saves - 1) {
        int k = __builtin_ctz(saves);
        eg_tensor *t = k < EG__MAX_SAVED_IN ? c->in[k] : c->out[k - EG__MAX_SAVED_IN];
        if (t) { /* a reference to the header; headers point at no entry, so no cycle exists */
            eg__ref_inc(&t->refs);
            e->save[e->nsave++] =
                (eg__save){t, atomic_load_explicit(&t->storage->version, memory_order_relaxed), 1u << k};
        }
    }
}

bool eg__append(eg__thread *T, const eg__call *c, eg__rule *rule)
{
    eg__record *R = eg__record_of(T);
    const eg__op *op = c->op;
    needs k;
    if (unlikely(!measure(T, c, &k))) {
        return false;
    }
    if (!k.tracked) {
        return true;
    }
    size_t edges = (size_t)c->nin * sizeof(eg__edge), saves = (size_t)k.nsave * sizeof(eg__save);
    size_t outs = op->nout > 1 ? op->nout * sizeof(eg__desc) : 0;
    size_t opts = c->opts ? (op->opts_size + (size_t)7) & ~(size_t)7 : 0;
    char *p = bump(T, sizeof(eg__entry) + edges + saves + outs + opts + k.shape_bytes);
    if (unlikely(!p)) {
        return false; /* nothing was referenced yet */
    }
    eg__entry *e = (eg__entry *)p;
    e->op = op;
    e->rule = rule;
    e->nin = (uint16_t)c->nin;
    e->nout = op->nout;
    e->in = (eg__edge *)(e + 1);
    e->save = (eg__save *)((char *)e->in + edges);
    e->out_desc = outs ? (eg__desc *)((char *)e->save + saves) : NULL;
    e->opts = opts ? memcpy((char *)e->save + saves + outs, c->opts, op->opts_size) : NULL;
    fill_edges(T, c, &k, e, (int64_t *)((char *)e->save + saves + outs + opts));
    fill_saves(c, k.saves, e);
    e->out = R->now.next;
    R->now.next += op->nout;
    for (int j = 0; j < op->nout; j++) {
        if (eg__is_float(c->out[j]->dtype)) {
            atomic_store_explicit(&c->out[j]->slot, e->out + (uint64_t)j, memory_order_relaxed);
        }
        if (outs) {
            eg__desc_like(&e->out_desc[j], c->out[j]);
        }
    }
    e->prev = R->tail;
    e->next = NULL;
    if (R->tail) {
        R->tail->next = e;
    } else {
        R->head = e;
    }
    R->tail = e;
    R->entries++;
    return true;
}

static bool record_call(eg__thread *T, const eg__call *c)
{
    eg__rule *rule = eg__rules[c->op->id];
    /* Integers and bools carry no gradient. */
    return !rule || !eg__is_float(c->out[0]->dtype) || eg__append(T, c, rule);
}

/* ---- forgetting ------------------------------------------------------------------------------ */

void eg__drop_saves(eg__thread *T, eg__entry *e)
{
    while (e->nsave) {
        eg__unref(T, e->save[--e->nsave].t);
    }
}

static bool inside(const eg__chunk *c, const eg__entry *e)
{
    return (const char *)e >= (const char *)c && (const char *)e < (const char *)c + c->size;
}

static eg__chunk *free_chunk(eg__thread *T, eg__chunk *c)
{
    eg__chunk *next = c->next;
    eg__record_of(T)->entry_bytes -= (int64_t)c->used;
    eg__block_free(T, c, c->cls);
    return next;
}

void eg__truncate(eg__thread *T, uint64_t start)
{
    eg__record *R = eg__record_of(T);
    eg__entry *cut = NULL;
    while (R->tail && R->tail->out >= start) {
        cut = R->tail;
        eg__drop_saves(T, cut);
        R->entries--;
        R->tail = cut->prev;
    }
    if (!cut) {
        return;
    }
    if (R->tail) {
        R->tail->next = NULL;
    } else {
        R->head = NULL;
    }
    eg__chunk *c = R->first;
    while (!inside(c, cut)) {
        c = c->next;
    }
    for (eg__chunk *k = c->next; k;) {
        k = free_chunk(T, k);
    }
    c->next = NULL;
    c->used = (size_t)((char *)cut - (char *)c);
    R->chunk = c;
}

static void drop_leaves(eg__thread *T)
{
    eg__record *R = eg__record_of(T);
    for (uint32_t i = R->nleaves; i-- > 0;) { /* backwards, so that the hash's runs stay whole */
        *leaf_place(R, R->leaves[i].t) = 0;
        R->nleaves--;
        eg__unref(T, R->leaves[i].t);
    }
}

/* Frees what no open tape covers: a suffix (a tape opened and used inside a rule), a prefix, or all. */
static void trim(eg__thread *T)
{
    eg__record *R = eg__record_of(T);
    uint64_t low = R->now.next, high = 0;
    for (uint32_t i = 0; i < R->now.ntapes; i++) {
        low = R->tapes[i].start < low ? R->tapes[i].start : low;
        high = R->tapes[i].end > high ? R->tapes[i].end : high;
    }
    if (R->now.ntapes && !R->now.recording) {
        eg__truncate(T, high);
    }
    eg__entry *e = R->head;
    for (; e && (!R->now.ntapes || e->out < low); e = e->next) {
        eg__drop_saves(T, e);
        R->entries--;
    }
    R->head = e;
    if (e) {
        e->prev = NULL;
        while (!inside(R->first, e)) {
            R->first = free_chunk(T, R->first);
        }
        return;
    }
    R->tail = NULL;
    if (R->now.ntapes) {
        return; /* empty but open: chunks go when the last tape does */
    }
    while (R->first && R->first->next) {
        R->first = free_chunk(T, R->first);
    }
    R->chunk = R->first;
    if (R->first) {
        R->first->used = (sizeof *R->first + 7) & ~(size_t)7;
    }
    R->entry_bytes = 0;
    R->now.base = R->now.next;
    drop_leaves(T);
}

/* ---- handles --------------------------------------------------------------------------------- */

void eg__remove_tape(eg__thread *T, int i)
{
    eg__record *R = eg__record_of(T);
    R->now.recording -= R->tapes[i].recording;
    R->now.ntapes--;
    memmove(&R->tapes[i], &R->tapes[i + 1], (R->now.ntapes - (uint32_t)i) * sizeof *R->tapes);
    trim(T);
}

static void close_tapes(eg__thread *T, uint32_t depth)
{
    eg__record *R = eg__record_of(T);
    while (R->now.ntapes && R->tapes[R->now.ntapes - 1].depth >= depth) {
        eg__remove_tape(T, (int)R->now.ntapes - 1);
    }
}

static void record_end(eg__thread *T)
{
    eg__record *R = eg__record_of(T);
    while (R->now.ntapes) {
        eg__remove_tape(T, (int)R->now.ntapes - 1);
    }
    if (R->first) {
        free_chunk(T, R->first);
    }
    free(R->tapes);
    free(R->leaves);
    free(R->leaf_hash);
    free(R);
    T->record = &eg__no_record;
}

/* The thread's record, made for its first tape; NULL: no memory. */
static eg__record *record_begin(eg__thread *T)
{
    static const eg__recorder recorder = {record_call, knows, close_tapes, record_end};
    eg__record *R = eg__record_of(T);
    if (unlikely(!R) && !T->dead && (R = eg__malloc(sizeof *R))) {
        memset(R, 0, sizeof *R);
        R->now.by = &recorder;
        T->record = &R->now;
    }
    return R;
}

eg_tape eg_tape_open_with(const eg_tape_options *options)
{
    eg__thread *T = eg__thread_get();
    eg__record *R = record_begin(T);
    eg_tape_options o;
    eg__options(&o, sizeof o, options);
    if (unlikely(!R || (R->now.ntapes == R->ctapes && !eg__grow(&R->tapes, &R->ctapes, sizeof *R->tapes)))) {
        eg__no_memory("eg_tape_open", 0);
        return (eg_tape){0};
    }
    if (!R->now.ntapes) {
        open_window(R);
    }
    eg__tape_state *t = &R->tapes[R->now.ntapes++];
    *t = (eg__tape_state){.id = (R->now.next >> 48) << 48 | ++R->serial,
                          .start = R->now.next,
                          .depth = T->nscopes,
                          .recording = true,
                          .persistent = o.persistent};
    R->now.recording++;
    return (eg_tape){t->id};
}

int eg__find_tape(eg__thread *T, eg_tape t, const char *op)
{
    const eg__record *R = eg__record_of(T);
    for (uint32_t i = R ? R->now.ntapes : 0; i-- > 0;) {
        if (R->tapes[i].id == t.id) {
            if (!R->tapes[i].busy) {
                return (int)i;
            }
            eg__fail(EG_ESTATE, op, "this tape is being walked");
            return -1;
        }
    }
    if (t.id || eg_last_error()->code == EG_OK) {
        eg__fail(EG_ESTATE, op,
                 "this tape is closed, or was used up by its first gradients; open it "
                 "with .persistent = true to ask again");
    }
    return -1;
}

eg_status eg_tape_close(eg_tape t)
{
    eg__thread *T = eg__thread_get();
    int i = eg__find_tape(T, t, "eg_tape_close");
    if (i < 0) {
        return eg__why();
    }
    eg__remove_tape(T, i);
    return EG_OK;
}

eg_status eg_tape_watch(eg_tape t, eg_tensor *x)
{
    eg__thread *T = eg__thread_get();
    int i = eg__find_tape(T, t, "eg_tape_watch");
    if (i < 0 || eg__check(x, "eg_tape_watch", "x")) {
        return eg__why();
    }
    if (!eg__is_float(x->dtype)) {
        return eg__fail(EG_EDTYPE, "eg_tape_watch", "%s has no gradient", eg_dtype_name((eg_dtype)x->dtype));
    }
    if (!eg__record_of(T)->tapes[i].recording) {
        return eg__fail(EG_ESTATE, "eg_tape_watch", "this tape no longer records");
    }
    bool no_memory = false;
    uint64_t s = eg__slot_of(T, x, &no_memory);
    return s || leaf_slot(T, x) ? EG_OK : eg__no_memory("eg_tape_watch", 0);
}

eg_tensor *eg_parameter(eg_tensor *t)
{
    if (eg__check(t, "eg_parameter", "t")) {
        return NULL;
    }
    if (!eg__is_float(t->dtype)) {
        return eg__fail_null(EG_EDTYPE, "eg_parameter", "%s has no gradient", eg_dtype_name((eg_dtype)t->dtype));
    }
    t->flags |= EG__PARAM;
    return eg_keep(t);
}

bool eg_is_parameter(const eg_tensor *t)
{
    return t && t->flags & EG__PARAM;
}
