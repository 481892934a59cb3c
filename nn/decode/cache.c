/* cache.c - see decode.h. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>

#include <egret/egret.h>

#include "nn/decode/cache.h"

typedef struct entry {
    const void *owner;
    char *name;
    eg_tensor *t; /* kept: what there is, or with room behind it */
    int axis;     /* that grows; 0: none */
    int64_t used; /* along it */
    bool held;
} entry;

struct eg_cache {
    entry *entries;
    int64_t count, room, steps;
};

eg_cache *eg_cache_new(void)
{
    eg_cache *c = calloc(1, sizeof *c);
    return c ? c : eg__fail_null(EG_ENOMEM, "eg_cache_new", "no memory for a cache");
}

void eg_cache_free(eg_cache *c)
{
    for (int64_t i = 0; c && i < c->count; i++) {
        eg_release(c->entries[i].t);
        free(c->entries[i].name);
    }
    if (c) {
        free(c->entries);
        free(c);
    }
}

/* ---- entries ----------------------------------------------------------------------------------- */

static entry *find(const eg_cache *c, eg__cache_key key)
{
    for (int64_t i = 0; i < c->count; i++) {
        entry *e = &c->entries[i];
        if (e->owner == key.owner && !strcmp(e->name, key.name)) {
            return e;
        }
    }
    return NULL;
}

/* The entry of that name, without a tensor if it is new. */
static entry *find_or_add(eg_cache *c, eg__cache_key key)
{
    entry *e = find(c, key);
    if (!e && c->count == c->room) {
        const int64_t room = c->room ? 2 * c->room : EG__START_CAPACITY;
        entry *more = realloc(c->entries, (size_t)room * sizeof *more);
        if (!more) {
            return eg__fail_null(EG_ENOMEM, "cache", "no memory for %lld tensors", (long long)room);
        }
        c->entries = more;
        c->room = room;
    }
    char *name = e ? NULL : strdup(key.name);
    if (!e && !name) {
        return eg__fail_null(EG_ENOMEM, "cache", "no memory for a name");
    }
    if (!e) {
        e = &c->entries[c->count++];
        *e = (entry){.owner = key.owner, .name = name};
    }
    return e;
}

int64_t eg__cache_rows(const eg_cache *c)
{
    for (int64_t i = 0; i < c->count; i++) {
        if (c->entries[i].t) {
            return c->entries[i].t->shape[0];
        }
    }
    return -1;
}

static eg_status check_rows(const char *op, const eg_cache *c, const entry *but, const eg_tensor *t)
{
    if (t->ndim < 1) {
        return eg__fail(EG_ESHAPE, op, "a 0-dim tensor has no rows");
    }
    for (int64_t i = 0; i < c->count; i++) {
        const eg_tensor *other = c->entries[i].t;
        if (&c->entries[i] != but && other && other->shape[0] != t->shape[0]) {
            return eg__fail(EG_ESHAPE, op, "%lld rows for \"%.60s\", there are %lld", (long long)t->shape[0],
                            but ? but->name : "", (long long)other->shape[0]);
        }
    }
    return EG_OK;
}

/* Takes a kept tensor in place of the one there was. */
static void replace(entry *e, eg_tensor *kept)
{
    eg_release(e->t);
    e->t = kept;
}

/* What is used of it. */
static eg_tensor *seen(const entry *e)
{
    return e->axis ? eg_slice(e->t, e->axis, 0, e->used, 1) : e->t;
}

eg_tensor *eg__cache_get(const eg_cache *c, eg__cache_key key)
{
    const entry *e = find(c, key);
    return e && e->t ? seen(e) : NULL;
}

eg_status eg__cache_put(eg_cache *c, eg__cache_key key, eg_tensor *t, bool held)
{
    entry *e = find_or_add(c, key);
    eg_status st = e ? check_rows("eg_cache_put", c, e, t) : eg__why();
    if (st) {
        return st;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *kept = s.depth ? eg_keep(eg_detach(t)) : NULL;
    if (kept) {
        replace(e, kept);
        e->axis = 0;
        e->held = held;
    }
    eg_scope_pop(s, NULL);
    return kept ? EG_OK : eg__why();
}

/* ---- growing ----------------------------------------------------------------------------------- */

/* Whether t goes behind what there is along the axis. */
static eg_status check_behind(const entry *e, const eg_tensor *t, int axis)
{
    bool fits = axis >= 1 && axis < t->ndim && (!e->t || (t->ndim == e->t->ndim && (!e->axis || e->axis == axis)));
    for (int d = 1; e->t && fits && d < t->ndim; d++) {
        fits = d == axis || t->shape[d] == e->t->shape[d];
    }
    if (!fits) {
        return eg__fail(EG_ESHAPE, "eg_cache_append", "%s does not go behind %s along axis %d for \"%.60s\"",
                        EG__SHAPE_OF(t), e->t ? EG__SHAPE_OF(e->t) : "nothing", axis, e->name);
    }
    return !e->t || e->t->dtype == t->dtype
               ? EG_OK
               : eg__fail(EG_EDTYPE, "eg_cache_append", "%s does not go behind %s for \"%.60s\"",
                          eg_dtype_name((eg_dtype)t->dtype), eg_dtype_name((eg_dtype)e->t->dtype), e->name);
}

/* Makes room for `more` steps behind those there are. */
static eg_status make_room(entry *e, const eg_tensor *like, int axis, int64_t more)
{
    const int64_t used = !e->t ? 0 : e->axis ? e->used : e->t->shape[axis];
    const int64_t room = e->t && e->axis ? e->t->shape[axis] : 0;
    if (used + more <= room) {
        return EG_OK;
    }
    eg_shape shape = eg_shape_of(like);
    shape.dim[axis] = eg__max(used + more, eg__max(2 * room, EG__START_CAPACITY));
    eg_device *before = eg_use_device(eg_device_of(like));
    eg_tensor *wide = before ? eg_keep(eg_empty(shape, (eg_dtype)like->dtype)) : NULL;
    eg_use_device(before);
    eg_tensor *old = wide && used ? e->axis ? seen(e) : e->t : NULL;
    if (!wide || (used && !eg_copy_(eg_slice(wide, axis, 0, used, 1), old))) {
        eg_release(wide);
        return eg__why();
    }
    replace(e, wide);
    e->axis = axis;
    e->used = used;
    return EG_OK;
}

eg_tensor *eg__cache_append(eg_cache *c, eg__cache_key key, eg_tensor *t, int axis)
{
    entry *e = find_or_add(c, key);
    eg_status st = e ? check_rows("eg_cache_append", c, e->t ? NULL : e, t) : eg__why();
    st = st ? st : check_behind(e, t, axis);
    if (st) {
        return NULL;
    }
    const int64_t more = t->shape[axis];
    eg_scope s = eg_scope_push();
    st = s.depth ? make_room(e, t, axis, more) : eg__why();
    if (!st && !eg_copy_(eg_slice(e->t, axis, e->used, e->used + more, 1), eg_detach(t))) {
        st = eg__why();
    }
    e->used += st ? 0 : more;
    eg_scope_pop(s, NULL);
    return st ? NULL : seen(e);
}

/* ---- rows -------------------------------------------------------------------------------------- */

static bool identity(const int64_t *rows, int64_t n, int64_t of)
{
    bool same = n == of;
    for (int64_t i = 0; same && i < n; i++) {
        same = rows[i] == i;
    }
    return same;
}

eg_status eg__cache_select(eg_cache *c, const int64_t *rows, int64_t n, bool within)
{
    const int64_t of = eg__cache_rows(c);
    if (of < 0 || identity(rows, n, of)) {
        return EG_OK;
    }
    eg_tensor **made = calloc((size_t)c->count, sizeof *made);
    if (!made) {
        return eg__fail(EG_ENOMEM, "eg_cache_select", "no memory for %lld tensors", (long long)c->count);
    }
    eg_scope s = eg_scope_push();
    eg_status st = s.depth ? EG_OK : eg__why();
    for (int64_t i = 0; i < c->count && !st; i++) {
        const entry *e = &c->entries[i];
        if (e->t && !(e->held && within && n == of)) {
            eg_device *before = eg_use_device(eg_device_of(e->t));
            eg_tensor *index = before ? eg_from(EG_SHAPE(n), EG_I64, rows) : NULL;
            eg_use_device(before);
            made[i] = eg_keep(index ? eg_index_select(e->t, 0, index) : NULL);
            st = made[i] ? EG_OK : eg__why();
        }
    }
    for (int64_t i = 0; i < c->count; i++) {
        if (!st && made[i]) {
            replace(&c->entries[i], made[i]);
        } else {
            eg_release(made[i]);
        }
    }
    eg_scope_pop(s, NULL);
    free(made);
    return st;
}

/* ---- the public names -------------------------------------------------------------------------- */

static eg_status check(const char *op, const void *c, const char *name)
{
    return c && name ? EG_OK : eg__null_argument(op, c ? "name" : "c");
}

eg_tensor *eg_cache_get(const eg_cache *c, const char *name)
{
    return check("eg_cache_get", c, name) ? NULL : eg__cache_get(c, (eg__cache_key){NULL, name});
}

static eg_status put(const char *op, eg_cache *c, const char *name, eg_tensor *t, bool held)
{
    eg_status st = check(op, c, name);
    st = st ? st : eg__check(t, op, "t");
    return st ? st : eg__cache_put(c, (eg__cache_key){NULL, name}, t, held);
}

eg_status eg_cache_put(eg_cache *c, const char *name, eg_tensor *t)
{
    return put("eg_cache_put", c, name, t, false);
}

eg_status eg_cache_hold(eg_cache *c, const char *name, eg_tensor *t)
{
    return put("eg_cache_hold", c, name, t, true);
}

eg_tensor *eg_cache_append(eg_cache *c, const char *name, eg_tensor *t, int axis)
{
    static const char op[] = "eg_cache_append";
    return check(op, c, name) || eg__check(t, op, "t") ? NULL
                                                       : eg__cache_append(c, (eg__cache_key){NULL, name}, t, axis);
}

eg_status eg_cache_select(eg_cache *c, eg_tensor *rows)
{
    static const char op[] = "eg_cache_select";
    eg_status st = c ? eg__check(rows, op, "rows") : eg__null_argument(op, "c");
    if (st) {
        return st;
    }
    const int64_t of = eg__cache_rows(c);
    eg_scope s = eg_scope_push();
    eg_tensor *here = s.depth && rows->ndim == 1 ? eg_contiguous(eg_to(eg_cast(rows, EG_I64), eg_cpu())) : NULL;
    if (rows->ndim != 1 || eg__is_float(rows->dtype)) {
        st = eg__fail(EG_ESHAPE, op, "rows are %s %s, must be integers [m]", eg_dtype_name((eg_dtype)rows->dtype),
                      EG__SHAPE_OF(rows));
    }
    st = st ? st : here ? EG_OK : eg__why();
    const int64_t *values = !st ? eg_data(here) : NULL, n = eg_numel(here);
    for (int64_t i = 0; i < n && !st && of >= 0; i++) {
        if (values[i] < 0 || values[i] >= of) {
            st = eg__fail(EG_EINDEX, op, "rows[%lld] is %lld, outside 0..%lld", (long long)i, (long long)values[i],
                          (long long)of - 1);
        }
    }
    st = st ? st : eg__cache_select(c, values, n, false);
    eg_scope_pop(s, NULL);
    return st;
}

int64_t eg_cache_steps(const eg_cache *c)
{
    return c ? c->steps : 0;
}

eg_status eg_cache_advance(eg_cache *c, int64_t steps)
{
    static const char op[] = "eg_cache_advance";
    if (!c || steps < 0) {
        return c ? eg__fail(EG_EINVAL, op, "%lld steps", (long long)steps) : eg__null_argument(op, "c");
    }
    c->steps += steps;
    return EG_OK;
}
