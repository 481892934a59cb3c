/* json_tree.c - JSON read into a tree, and what is asked of one. */
#include "lib/io/json_tree.h"

#include <math.h>
#include <stdlib.h>

#include "lib/core/counted.h"
#include "lib/core/live.h"
#include "lib/io/file.h"
#include "lib/io/json.h"
#include "lib/io/number.h"

enum { MOST = 1 << 30, FEW = 8, CHUNK = EG__CHUNK_BYTES };

/* ---- memory --------------------------------------------------------------------------------- */

typedef struct chunk {
    struct chunk *before;
    size_t used, room; /* of what stands behind this struct */
} chunk;

struct eg__json_tree {
    eg_json owner; /* first: its address is the handle's */
    chunk *latest;
};

void *eg__json_room(eg__json_tree *t, size_t bytes)
{
    bytes = (bytes + 7) & ~(size_t)7;
    chunk *c = t->latest;
    if (!c || c->room - c->used < bytes) {
        size_t room = bytes > CHUNK ? bytes : CHUNK;
        c = eg__counted_alloc(sizeof *c + room);
        if (!c) {
            return NULL;
        }
        *c = (chunk){t->latest, 0, room};
        t->latest = c;
    }
    c->used += bytes;
    return (char *)(c + 1) + c->used - bytes;
}

eg_json *eg__json_new(const char *op)
{
    eg__json_tree *t = eg__handle_new(sizeof *t);
    if (!t) {
        eg__no_memory(op, (int64_t)sizeof *t);
        return NULL;
    }
    t->owner.tree = t;
    return &t->owner;
}

void eg_json_free(eg_json *j)
{
    if (!eg__handle_ends(j, "eg_json_free")) {
        return;
    }
    for (chunk *c = j->tree->latest, *before; c; c = before) {
        before = c->before;
        eg__counted_free(c);
    }
    free(j->tree);
}

/* ---- arrays and objects --------------------------------------------------------------------- */

/* FNV-1a. */
static uint32_t hash_of(const char *s, size_t bytes)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < bytes; i++) {
        h = (h ^ (uint8_t)s[i]) * 16777619u;
    }
    return h ^ h >> 15;
}

static bool same(const eg__json_key *k, const char *s, size_t bytes)
{
    return k->bytes == bytes && !memcmp(k->text, s, bytes);
}

static uint32_t slot_of(const eg__json_list *l, const char *s, size_t bytes, uint32_t hash)
{
    uint32_t i = hash & (l->slots - 1);
    while (l->slot[i] && (l->key[l->slot[i] - 1].hash != hash || !same(&l->key[l->slot[i] - 1], s, bytes))) {
        i = (i + 1) & (l->slots - 1);
    }
    return i;
}

int64_t eg__json_place(const eg__json_list *l, const char *s, size_t bytes)
{
    if (l->slots) {
        return (int64_t)l->slot[slot_of(l, s, bytes, hash_of(s, bytes))] - 1;
    }
    int64_t i = l->n;
    while (i-- > 0 && !same(&l->key[i], s, bytes)) {
    }
    return i;
}

/* What an array that grew leaves behind goes with the tree: together less than it has at last. */
static bool grow(eg__json_tree *t, eg__json_list *l, bool object)
{
    uint32_t room = l->room ? 2 * l->room : 4;
    eg_json **item = room > l->room ? eg__json_room(t, room * sizeof *item) : NULL;
    eg__json_key *key = item && object ? eg__json_room(t, room * sizeof *key) : NULL;
    if (!item || (object && !key)) {
        return false;
    }
    if (l->n) {
        memcpy(item, l->item, l->n * sizeof *item);
    }
    if (l->n && object) {
        memcpy(key, l->key, l->n * sizeof *key);
    }
    l->item = item;
    l->key = key;
    l->room = room;
    return true;
}

/* At most half of the slots are taken. */
static bool grow_slots(eg__json_tree *t, eg__json_list *l)
{
    uint32_t slots = l->slots ? 2 * l->slots : 4 * FEW;
    uint32_t *slot = eg__json_room(t, slots * sizeof *slot);
    if (!slot) {
        return false;
    }
    memset(slot, 0, slots * sizeof *slot);
    l->slot = slot;
    l->slots = slots;
    for (uint32_t i = 0; i < l->n; i++) {
        const eg__json_key *k = &l->key[i];
        slot[slot_of(l, k->text, k->bytes, k->hash)] = i + 1;
    }
    return true;
}

bool eg__json_open(eg_json *j, bool object)
{
    eg__json_list *l = eg__json_room(j->tree, sizeof *l);
    if (!l) {
        return false;
    }
    *l = (eg__json_list){0};
    j->kind = object ? EG_JSON_OBJECT : EG_JSON_ARRAY;
    j->as.list = l;
    return true;
}

eg_json *eg__json_add(eg_json *in, const char *key, size_t bytes)
{
    eg__json_list *l = in->as.list;
    int64_t there = key ? eg__json_place(l, key, bytes) : -1;
    bool fits = there >= 0 || ((l->n < l->room || grow(in->tree, l, key != NULL)) &&
                               (!key || l->n < FEW || 2 * l->n < l->slots || grow_slots(in->tree, l)));
    eg_json *j = fits ? eg__json_room(in->tree, sizeof *j) : NULL;
    if (!j) {
        return NULL;
    }
    *j = (eg_json){.kind = EG_JSON_NULL, .depth = in->depth + 1, .tree = in->tree};
    if (there >= 0) {
        l->item[there] = j;
        return j;
    }
    if (key) {
        l->key[l->n] = (eg__json_key){key, (uint32_t)bytes, hash_of(key, bytes)};
        if (l->slots) {
            l->slot[slot_of(l, key, bytes, l->key[l->n].hash)] = l->n + 1;
        }
    }
    l->item[l->n++] = j;
    return j;
}

/* ---- reading -------------------------------------------------------------------------------- */

static eg_status bad(const eg__source *s, const eg__json *r)
{
    return eg__source_bad(s, r->at, "%s", r->error);
}

static eg_status read_number(const eg__source *s, const eg__json *r, eg_json *j)
{
    j->kind = EG_JSON_NUMBER;
    /* -0 is a number of its own. */
    j->whole = eg__parse_integer(r->text, r->length, &j->as.whole) && (j->as.whole || r->text[0] != '-');
    return j->whole || eg__parse_real(r->text, r->length, EG_F64, &j->as.real)
               ? EG_OK
               : eg__source_bad(s, r->start, "%.*s is beyond f64", (int)eg__min(r->length, 40), r->text);
}

/* The value whose first token is this one. */
static eg_status take(const eg__source *s, const eg__json *r, eg__json_token token, eg_json *j)
{
    switch (token) {
    case EG__JSON_OBJECT:
    case EG__JSON_ARRAY:
        return eg__json_open(j, token == EG__JSON_OBJECT) ? EG_OK : eg__no_memory(s->op, (int64_t)sizeof *j->as.list);
    case EG__JSON_STRING:
        j->kind = EG_JSON_TEXT;
        j->as.text = r->text;
        j->bytes = (uint32_t)r->length;
        return EG_OK;
    case EG__JSON_NUMBER:
        return read_number(s, r, j);
    case EG__JSON_TRUE:
    case EG__JSON_FALSE:
        j->kind = EG_JSON_BOOL;
        j->as.truth = token == EG__JSON_TRUE;
        return EG_OK;
    case EG__JSON_NULL:
        return EG_OK;
    default:
        return bad(s, r);
    }
}

static eg_status read_tree(const eg__source *s, eg__json *r, eg_json *owner)
{
    eg_json *open[EG__JSON_DEPTH];
    int depth = 0;
    eg__json_token token = eg__json_next(r);
    eg_status st = take(s, r, token, owner);
    for (eg_json *j = owner; !st;) {
        const char *key = NULL;
        int64_t bytes = 0;
        if (token == EG__JSON_OBJECT || token == EG__JSON_ARRAY) {
            open[depth++] = j;
        }
        token = eg__json_next(r);
        if (token == EG__JSON_END) {
            break;
        }
        if (token == EG__JSON_OBJECT_END || token == EG__JSON_ARRAY_END) {
            depth--;
            continue;
        }
        if (token == EG__JSON_KEY) {
            key = r->text;
            bytes = r->length;
            token = eg__json_next(r);
        }
        if (token == EG__JSON_ERROR) {
            st = bad(s, r);
            continue;
        }
        j = eg__json_add(open[depth - 1], key, (size_t)bytes);
        st = j ? take(s, r, token, j) : eg__no_memory(s->op, r->size);
    }
    return st;
}

static eg_json *read(const eg__source *s)
{
    if (s->size > MOST) {
        eg__source_bad(s, MOST, "%lld bytes, at most %d are read", (long long)s->size, MOST);
        return NULL;
    }
    eg_json *j = eg__json_new(s->op);
    char *text = j ? eg__json_room(j->tree, (size_t)s->size + 1) : NULL;
    if (j && !text) {
        eg__no_memory(s->op, s->size);
    }
    eg__json r;
    eg_status st = text ? eg__source_read(s, 0, text, s->size) : EG_ENOMEM;
    if (!st) {
        eg__json_begin(&r, text, s->size);
        st = read_tree(s, &r, j);
    }
    if (st) {
        eg_json_free(j);
    }
    return st ? NULL : j;
}

eg_json *eg_json_parse(const void *data, size_t bytes)
{
    eg__source s;
    return eg__source_memory(&s, "eg_json_parse", data, bytes) ? NULL : read(&s);
}

eg_json *eg_json_load(const char *path)
{
    eg__source s;
    if (eg__source_open(&s, "eg_json_load", path)) {
        return NULL;
    }
    eg_json *j = read(&s);
    eg__source_close(&s);
    return j;
}

/* ---- asking --------------------------------------------------------------------------------- */

static const char *const kinds[] = {"null", "a truth", "a number", "a text", "an array", "an object"};

eg_json_kind eg_json_kind_of(const eg_json *j)
{
    return j ? (eg_json_kind)j->kind : EG_JSON_NULL;
}

static const eg__json_list *list_of(const eg_json *j)
{
    return j && j->kind >= EG_JSON_ARRAY ? j->as.list : NULL;
}

int64_t eg_json_count(const eg_json *j)
{
    const eg__json_list *l = list_of(j);
    return l ? l->n : 0;
}

/* Whether j is that kind; else why not is on record. */
static bool is(const eg_json *j, const char *op, eg_json_kind kind)
{
    if (!j) {
        eg__null_argument(op, "j");
    } else if (j->kind != kind) {
        eg__fail(EG_EINVAL, op, "is %s, not %s", kinds[j->kind], kinds[kind]);
    }
    return j && j->kind == kind;
}

eg_json *eg_json_at(const eg_json *j, int64_t i)
{
    static const char op[] = "eg_json_at";
    const eg__json_list *l = list_of(j);
    if (!j) {
        return eg__null_argument(op, "j"), NULL;
    }
    return l && i >= 0 && i < l->n ? l->item[i]
                                   : eg__fail_null(EG_EINDEX, op, "value %lld of %s of %lld", (long long)i,
                                                   kinds[j->kind], (long long)eg_json_count(j));
}

const char *eg_json_key(const eg_json *j, int64_t i, size_t *bytes)
{
    static const char op[] = "eg_json_key";
    if (!is(j, op, EG_JSON_OBJECT)) {
        return NULL;
    }
    const eg__json_list *l = j->as.list;
    if (i < 0 || i >= l->n) {
        return eg__fail_null(EG_EINDEX, op, "key %lld of %u", (long long)i, l->n);
    }
    if (bytes) {
        *bytes = l->key[i].bytes;
    }
    return l->key[i].text;
}

eg_json *eg_json_find(const eg_json *j, const char *key, size_t bytes)
{
    int64_t i = j && j->kind == EG_JSON_OBJECT && key ? eg__json_place(j->as.list, key, bytes) : -1;
    return i < 0 ? NULL : j->as.list->item[i];
}

eg_json *eg_json_get(const eg_json *j, const char *key)
{
    return key ? eg_json_find(j, key, strlen(key)) : NULL;
}

const char *eg_json_text(const eg_json *j, size_t *bytes)
{
    if (!is(j, "eg_json_text", EG_JSON_TEXT)) {
        return NULL;
    }
    if (bytes) {
        *bytes = j->bytes;
    }
    return j->as.text;
}

double eg_json_number(const eg_json *j)
{
    return !is(j, "eg_json_number", EG_JSON_NUMBER) ? (double)NAN : j->whole ? (double)j->as.whole : j->as.real;
}

bool eg_json_is_integer(const eg_json *j)
{
    return j && j->kind == EG_JSON_NUMBER && j->whole;
}

eg_status eg_json_integer(const eg_json *j, int64_t *value)
{
    static const char op[] = "eg_json_integer";
    if (!value) {
        return eg__null_argument(op, "value");
    }
    if (!is(j, op, EG_JSON_NUMBER)) {
        return eg__why();
    }
    const double most = 9007199254740992; /* 2^53: below it each f64 without a fraction stands for itself alone */
    if (!j->whole && (fabs(j->as.real) >= most || floor(j->as.real) != j->as.real)) {
        return eg__fail(EG_EINVAL, op, "%.17g is no exact integer", j->as.real);
    }
    *value = j->whole ? j->as.whole : (int64_t)j->as.real;
    return EG_OK;
}

bool eg_json_bool(const eg_json *j)
{
    return is(j, "eg_json_bool", EG_JSON_BOOL) && j->as.truth;
}
