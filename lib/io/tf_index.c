/* tf_index.c - reading the index of a checkpoint (tensor_bundle.proto). */
#include "lib/io/tf_index.h"

#include <stdlib.h>

#include "lib/core/counted.h"

enum { MOST_SHARDS = 99999, VERSION = 1 };

/* Fields of an entry. */
enum { DTYPE = 1, SHAPE, SHARD, OFFSET, SIZE, CRC, SLICES };

/* ---- entries ------------------------------------------------------------------------------------ */

/* The name under which a slice's piece is. */
typedef struct slice_key {
    uint32_t at, length; /* in keys */
    uint32_t piece;
} slice_key;

/* While the index is read. */
typedef struct opening {
    eg__tf_index *r;
    eg_tensors *map;
    eg__sstable table;
    eg__buffer keys, key; /* of slices, and one that is looked for; texts without their 0 */
    slice_key *slice_keys;
    uint32_t nkeys, ckeys;
    int64_t names; /* what they take, about */
} opening;

typedef struct entry {
    eg__tf_kind kind;
    uint64_t shard, offset, size;
    uint32_t crc, slices;
    bool bad;
} entry;

static eg_status bad(const opening *o, const char *name, const char *words)
{
    return eg__source_bad(o->table.source, o->table.data.place, "\"%.100s\" %s", name, words);
}

/* BundleEntryProto. */
static entry parse_entry(const opening *o)
{
    eg__wire w = eg__wire_of(o->table.data.value, (size_t)o->table.data.nvalue);
    eg__wire_field f;
    entry e = {.crc = 0};
    while (eg__wire_next(&w, &f)) {
        switch (f.number) {
        case DTYPE:
            e.kind.number = f.value;
            break;
        case SHAPE:
            eg__tf_read_shape(f.bytes, &e.kind);
            break;
        case SHARD:
            e.shard = f.value;
            break;
        case OFFSET:
            e.offset = f.value;
            break;
        case SIZE:
            e.size = f.value;
            break;
        case CRC:
            e.crc = (uint32_t)f.value;
            break;
        case SLICES:
            e.slices++;
            break;
        }
    }
    e.kind.element = eg__tf_element(e.kind.number);
    e.bad = w.bad;
    return e;
}

/* Opens the data file when an entry first is in it. */
static eg_status need_shard(const opening *o, const char *name, uint64_t which)
{
    eg__tf_index *r = o->r;
    const eg__source *s = &r->backing->source;
    if (which >= r->nshards) {
        return bad(o, name, "is in a data file beyond the last");
    }
    if (r->shards[which]) {
        return EG_OK;
    }
    char *path = eg__tf_data_path(s->name, (uint32_t)which, r->nshards);
    if (!path) {
        return eg__no_memory(s->op, (int64_t)strlen(s->name));
    }
    r->shards[which] = eg__backing_open(s->op, path, r->backing->copy);
    free(path);
    return r->shards[which] ? EG_OK : eg__why();
}

/* Adds the piece of an entry that says all of one. */
static eg_status add_piece(opening *o, const char *name, const entry *e, const eg_tensor_about *about)
{
    eg__tf_index *r = o->r;
    const uint64_t size = e->size;
    eg_status st = need_shard(o, name, e->shard);
    if (st) {
        return st;
    }
    const uint64_t there = (uint64_t)r->shards[e->shard]->source.size;
    if (size != (uint64_t)about->bytes || size > there || e->offset > there - size) {
        return bad(o, name, "has other bytes than its shape needs, or not in its file");
    }
    if (r->npieces == r->cpieces && !eg__counted_grow(&r->pieces, &r->cpieces, sizeof *r->pieces)) {
        return eg__no_memory(o->table.source->op, (int64_t)sizeof *r->pieces);
    }
    r->pieces[r->npieces++] = (eg__tf_piece){.element = e->kind.element,
                                             .shape = e->kind.shape,
                                             .shard = (uint32_t)e->shard,
                                             .crc = e->crc,
                                             .at = (int64_t)e->offset,
                                             .bytes = (int64_t)size};
    return EG_OK;
}

/* ---- slices -------------------------------------------------------------------------------------- */

/* The entry of a slice: its key stays until the tensors come that are made of them. */
static eg_status add_slice_piece(opening *o)
{
    const eg__sstable_block *b = &o->table.data;
    const entry e = parse_entry(o);
    eg_tensor_about about;
    if (e.kind.element == EG__ELEMENTS || e.kind.too_many) {
        return EG_OK;
    }
    if (o->nkeys == o->ckeys && !eg__counted_grow(&o->slice_keys, &o->ckeys, sizeof *o->slice_keys)) {
        return eg__no_memory(o->table.source->op, (int64_t)sizeof *o->slice_keys);
    }
    eg_status st = e.bad || e.slices ? bad(o, "a slice", "is none") : EG_OK;
    st = st ? st : eg__tf_about(o->table.source, b->place, "a slice", &e.kind, &about);
    st = st ? st : add_piece(o, "a slice", &e, &about);
    if (!st) {
        o->slice_keys[o->nkeys++] = (slice_key){o->keys.n, b->nkey, o->r->npieces - 1};
        eg__put(&o->keys, b->key, b->nkey);
        st = o->keys.full ? eg__no_memory(o->table.source->op, o->keys.n) : EG_OK;
    }
    return st;
}

/* The piece of that key; keys are in their order. -1: there is none. */
static int64_t find_piece(const opening *o)
{
    uint32_t low = 0, high = o->nkeys;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const slice_key *k = &o->slice_keys[middle];
        const int order = eg__sstable_order(o->keys.s + k->at, k->length, o->key.s, o->key.n);
        if (!order) {
            return k->piece;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return -1;
}

/* Which piece the i-th slice is. */
static eg_status find_slice(opening *o, const char *name, const eg__tf_kind *k, uint32_t i)
{
    const eg__tf_index *r = o->r;
    const eg_shape shape = eg__tf_slice_shape(&r->slices.slice[i], &k->shape);
    o->key.n = 0;
    eg__tf_key(&o->key, name, &r->slices.slice[i], k->shape.ndim);
    if (o->key.full) {
        return eg__no_memory(o->table.source->op, o->key.n);
    }
    const int64_t found = find_piece(o);
    if (found < 0 || r->pieces[found].joined || r->pieces[found].element != k->element ||
        r->pieces[found].shape.ndim != shape.ndim ||
        memcmp(r->pieces[found].shape.dim, shape.dim, (size_t)shape.ndim * sizeof *shape.dim)) {
        return bad(o, name, "has a slice twice, or one that is not there, or another there");
    }
    r->pieces[found].joined = true; /* so that a tensor has no more bytes than its slices */
    r->slice_piece[i] = (uint32_t)found;
    return EG_OK;
}

static eg_status add_whole(opening *o, const char *name, const entry *e)
{
    eg__tf_index *r = o->r;
    const eg__source *s = o->table.source;
    const uint32_t first = r->slices.count;
    const eg__wire w = eg__wire_of(o->table.data.value, (size_t)o->table.data.nvalue);
    eg_status st = eg__tf_read_slices(s, o->table.data.place, name, &r->slices, w, SLICES, &e->kind.shape);
    while (!st && r->cslice_piece < r->slices.count) {
        if (!eg__counted_grow(&r->slice_piece, &r->cslice_piece, sizeof *r->slice_piece)) {
            return eg__no_memory(s->op, (int64_t)sizeof *r->slice_piece);
        }
    }
    for (uint32_t i = first; !st && i < r->slices.count; i++) {
        st = find_slice(o, name, &e->kind, i);
    }
    if (!st && r->nwholes == r->cwholes && !eg__counted_grow(&r->wholes, &r->cwholes, sizeof *r->wholes)) {
        st = eg__no_memory(s->op, (int64_t)sizeof *r->wholes);
    }
    if (!st) {
        r->wholes[r->nwholes++] = (eg__tf_whole){e->kind.element, e->kind.shape, first, r->slices.count - first};
    }
    return st;
}

/* ---- the index ----------------------------------------------------------------------------------- */

/* BundleHeaderProto. */
static eg_status read_header(opening *o)
{
    const eg__source *s = o->table.source;
    uint64_t shards = 0, big = 0, least = 0;
    eg_status st = eg__sstable_next(&o->table);
    if (st) {
        return st;
    }
    eg__wire w = eg__wire_of(o->table.data.value, (size_t)o->table.data.nvalue);
    eg__wire_field f, g;
    while (o->table.there && !o->table.data.nkey && eg__wire_next(&w, &f)) {
        shards = f.number == 1 ? f.value : shards;
        big = f.number == 2 ? f.value : big;
        while (f.number == 3 && eg__wire_next(&f.bytes, &g)) {
            least = g.number == 2 ? g.value : least;
        }
    }
    if (w.bad || !shards || shards > MOST_SHARDS) {
        return eg__source_bad(s, o->table.data.place, "it has no header, or one without 1 to %d data files",
                              MOST_SHARDS);
    }
    if (big || least > VERSION) {
        return eg__source_bad(s, o->table.data.place, big ? "elements are big-endian" : "it is of a later version");
    }
    const size_t bytes = (size_t)shards * sizeof(eg__backing *);
    o->r->shards = eg__counted_alloc(bytes);
    if (!o->r->shards) {
        return eg__no_memory(s->op, (int64_t)bytes);
    }
    memset(o->r->shards, 0, bytes);
    o->r->nshards = (uint32_t)shards;
    return EG_OK;
}

/* The entry of a tensor. */
static eg_status add_tensor(opening *o, const char *name)
{
    const entry e = parse_entry(o);
    eg_tensor_about about;
    eg_status st = e.bad ? bad(o, name, "has an entry that is none") : EG_OK;
    if (st || eg__tf_left_out(o->map, name, &e.kind, &st)) {
        return st;
    }
    st = eg__tf_about(o->table.source, o->table.data.place, name, &e.kind, &about);
    st = st ? st : e.slices ? add_whole(o, name, &e) : add_piece(o, name, &e, &about);
    const int64_t number = e.slices ? 2 * (int64_t)o->r->nwholes - 1 : 2 * (int64_t)o->r->npieces - 2;
    return st ? st : eg__lazy_promise(o->map, name, &about, number); /* keys in order are no two the same */
}

static eg_status read_entries(opening *o)
{
    const eg__sstable_block *b = &o->table.data;
    eg__buffer name = {0};
    eg_status st = eg__sstable_next(&o->table);
    while (!st && o->table.there) {
        o->names += b->nkey + EG__TF_NAME;
        st = eg__source_unpacks(o->table.source, b->place, "names become", o->names);
        name.n = 0;
        eg__put(&name, b->key, b->nkey);
        eg__put(&name, "", 1);
        if (!st && name.full) {
            st = eg__no_memory(o->table.source->op, b->nkey);
        } else if (!st && !name.s[0]) {
            st = add_slice_piece(o);
        } else if (!st) {
            st = strlen(name.s) == b->nkey ? add_tensor(o, name.s) : bad(o, name.s, "has a zero in its name");
        }
        st = st ? st : eg__sstable_next(&o->table);
    }
    eg__buffer_free(&name);
    return st;
}

static int by_place(const void *a, const void *b)
{
    const eg__tf_piece *p = *(eg__tf_piece *const *)a, *q = *(eg__tf_piece *const *)b;
    const int64_t d = p->shard != q->shard ? (int64_t)p->shard - q->shard : p->at - q->at;
    return d < 0 ? -1 : d > 0;
}

/* No byte belongs to two, so that all together are no more than the files. */
static eg_status check_places(const eg__tf_index *r)
{
    const eg__source *s = &r->backing->source;
    uint32_t n = 0;
    const eg__tf_piece **order = eg__counted_alloc((r->npieces + 1) * sizeof *order);
    if (!order) {
        return eg__no_memory(s->op, (int64_t)(r->npieces * sizeof *order));
    }
    for (uint32_t i = 0; i < r->npieces; i++) {
        order[n] = &r->pieces[i];
        n += r->pieces[i].bytes > 0;
    }
    qsort(order, n, sizeof *order, by_place);
    eg_status st = EG_OK;
    for (uint32_t i = 1; i < n && !st; i++) {
        if (order[i]->shard == order[i - 1]->shard && order[i]->at < order[i - 1]->at + order[i - 1]->bytes) {
            st = eg__source_bad(&r->shards[order[i]->shard]->source, order[i]->at, "two tensors share bytes");
        }
    }
    eg__counted_free(order);
    return st;
}

eg_status eg__tf_read_index(eg__tf_index *r, eg_tensors *map)
{
    opening o = {.r = r, .map = map};
    eg_status st = eg__sstable_open(&o.table, &r->backing->source);
    st = st ? st : read_header(&o);
    st = st ? st : read_entries(&o);
    st = st ? st : check_places(r);
    eg__sstable_close(&o.table);
    eg__buffer_free(&o.keys);
    eg__buffer_free(&o.key);
    eg__counted_free(o.slice_keys);
    return st;
}
