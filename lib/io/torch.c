/* torch.c - files of PyTorch's torch.save: a zip archive of a pickle and of one member per storage. */
#include "lib/io/torch.h"
#include "lib/core/counted.h"

#include <stdlib.h>

#include "lib/io/formats.h"

#include <egret/ops.h>

enum { MOST_NAME = 1024 }; /* of a zip's members */

static const char pickle_name[] = "/data.pkl";

/* ---- reading a tensor ---------------------------------------------------------------------------- */

/* What a packed storage is unpacked to, once for all its tensors. */
static eg__backing *unpacked(eg__torch *t, const eg__zip_member *m)
{
    const eg__source *s = &t->backing->source;
    eg__backing **b = &t->unpacked[m - t->zip.member];
    if (!*b) {
        eg__backing *made = eg__backing_room(s->op, t->backing->name, (size_t)m->size);
        if (made && eg__zip_unpack(s, m, made->base)) {
            eg__backing_release(made);
            made = NULL;
        }
        *b = made;
    }
    return *b;
}

/* The stretch of the storage from the first element to the last is one tensor; strides then find all in it. */
static eg_tensor *read_one(void *user, int64_t i)
{
    eg__torch *t = user;
    const eg__torch_tensor *x = &t->tensor[i];
    const eg__torch_storage *s = &t->storage[x->storage];
    eg__backing *b = s->packed ? unpacked(t, s->packed) : t->backing;
    const eg_shape shape = x->shape;
    if (!b || !x->about.bytes) {
        return b ? eg__backing_tensor(b, 0, x->element, &shape) : NULL;
    }
    eg_shape stretch = {.ndim = 1, .dim = {1}};
    int64_t strides[EG_MAX_DIMS], dense = 1;
    bool plain = true;
    for (int d = shape.ndim; d-- > 0;) {
        plain &= shape.dim[d] == 1 || x->strides[d] == dense;
        dense *= shape.dim[d];
        stretch.dim[0] += (shape.dim[d] - 1) * x->strides[d];
        strides[d] = x->strides[d];
    }
    const int64_t at = (s->packed ? 0 : s->at) + x->offset * (eg__element_bits(x->element) / 8);
    if (plain) {
        return eg__backing_tensor(b, at, x->element, &shape);
    }
    if (x->about.shape.ndim > shape.ndim) { /* complex: pairs */
        for (int d = 0; d < shape.ndim; d++) {
            strides[d] *= 2;
        }
        strides[shape.ndim] = 1;
    }
    eg_tensor *all = eg__backing_tensor(b, at, x->element, &stretch);
    return all ? eg_as_strided(all, x->about.shape, strides, 0) : NULL;
}

static void close_all(void *user)
{
    eg__torch *t = user;
    for (int64_t i = 0; t->unpacked && i < t->zip.count; i++) {
        eg__backing_release(t->unpacked[i]);
    }
    eg__counted_free(t->unpacked);
    eg__zip_close(&t->zip);
    eg__backing_release(t->backing);
    eg__counted_free(t->storage);
    eg__counted_free(t->tensor);
    eg__counted_free(t->why);
    free(t);
}

/* ---- the archive ---------------------------------------------------------------------------------- */

/* The pickle's member, one folder deep. */
static const eg__zip_member *find_pickle(const eg__zip *zip)
{
    for (int64_t i = 0; i < zip->count; i++) {
        const char *slash = strchr(zip->member[i].name, '/');
        if (slash && !strcmp(slash, pickle_name)) {
            return &zip->member[i];
        }
    }
    return NULL;
}

/* The member beside the pickle of that name; NULL: there is none. */
static const eg__zip_member *beside(const eg__zip *zip, const eg__zip_member *pickle, const char *folder,
                                    const char *name, int length)
{
    char path[MOST_NAME + 1];
    const int root = (int)(strlen(pickle->name) - strlen(pickle_name));
    const int n = snprintf(path, sizeof path, "%.*s/%s%.*s", root, pickle->name, folder, length, name);
    return n < (int)sizeof path ? eg__zip_find(zip, path) : NULL;
}

/* Not a program, and its numbers little-endian. */
static eg_status check_archive(const eg__torch *t, const eg__zip_member *pickle)
{
    const eg__source *s = &t->backing->source;
    char order[6];
    const eg__zip_member *said = beside(&t->zip, pickle, "", "byteorder", 9);
    if (beside(&t->zip, pickle, "", "constants.pkl", 13)) {
        return eg__source_bad(s, pickle->at, "a TorchScript program, which is code, not named tensors");
    }
    if (!said) {
        return EG_OK;
    }
    eg_status st = said->size == sizeof order ? eg__zip_unpack(s, said, order) : EG_OK;
    return !st && (said->size != sizeof order || memcmp(order, "little", sizeof order))
               ? eg__source_bad(s, said->at, "the byte order is not \"little\"")
               : st;
}

/* For what packed storages will be unpacked to. */
static eg_status make_room(eg__torch *t)
{
    const size_t bytes = (size_t)t->zip.count * sizeof *t->unpacked;
    t->unpacked = eg__counted_alloc(bytes);
    if (!t->unpacked) {
        return eg__no_memory(t->backing->source.op, (int64_t)bytes);
    }
    memset(t->unpacked, 0, bytes);
    return EG_OK;
}

/* Where the storages lie; those that are packed may together become as much as one file may. */
static eg_status place_storages(eg__torch *t, const eg__pickle *p, const eg__zip_member *pickle)
{
    const eg__source *s = &t->backing->source;
    int64_t all = 0;
    bool packed = false;
    eg_status st = EG_OK;
    for (int64_t i = 0; i < t->zip.count && !st; i++) {
        const eg__zip_member *m = &t->zip.member[i];
        if (m->deflated) {
            all = m->size > INT64_MAX - all ? INT64_MAX : all + m->size;
            st = eg__source_unpacks(s, m->at, "the members have", all);
        }
    }
    for (uint32_t i = 0; i < t->nstorages && !st; i++) {
        eg__torch_storage *x = &t->storage[i];
        const eg__pickle_value *key = &p->value[x->key];
        const bool named = key->count < MOST_NAME && !memchr(p->s + key->text, 0, key->count);
        const eg__zip_member *m = named ? beside(&t->zip, pickle, "data/", p->s + key->text, (int)key->count) : NULL;
        if (!m || m->size < x->bytes) {
            return eg__source_bad(s, pickle->at, "storage \"%.*s\" of %lld bytes is not in the archive",
                                  (int)eg__min(key->count, 40), p->s + key->text, (long long)x->bytes);
        }
        x->at = m->at;
        x->packed = m->deflated ? m : NULL;
        packed |= m->deflated;
    }
    return !st && packed ? make_room(t) : st;
}

/* The pickle of the archive and all it names. */
static eg_status read_pickle(eg__torch *t, eg_tensors *map, const eg__zip_member *m, const eg__source *s, int64_t place)
{
    eg__pickle p;
    eg_status st = eg__torch_pickle(t, &p, s, place, m->size);
    st = st ? st : place_storages(t, &p, m);
    st = st ? st : eg__torch_name_all(t, &p, map);
    eg__pickle_close(&p);
    return st;
}

static eg_status read_archive(eg__torch *t, eg_tensors *map)
{
    const eg__source *s = &t->backing->source;
    eg_status st = eg__zip_open(&t->zip, s);
    const eg__zip_member *m = st ? NULL : find_pickle(&t->zip);
    if (!m) {
        return st ? st : eg__source_bad(s, 0, "no member of the archive is a data.pkl");
    }
    st = check_archive(t, m);
    if (st || !m->deflated) {
        return st ? st : read_pickle(t, map, m, s, m->at);
    }
    st = eg__source_unpacks(s, m->at, "the pickle has", m->size);
    char *bytes = st ? NULL : eg__counted_alloc((size_t)m->size + 1);
    if (!st && !bytes) {
        st = eg__no_memory(s->op, m->size);
    }
    st = st ? st : eg__zip_unpack(s, m, bytes);
    const eg__source unpacked_pickle = {.op = s->op, .name = s->name, .data = bytes, .fd = -1, .size = m->size};
    st = st ? st : read_pickle(t, map, m, &unpacked_pickle, 0);
    eg__counted_free(bytes);
    return st;
}

/* ---- the format ----------------------------------------------------------------------------------- */

static bool is_torch(const eg__source *s)
{
    return eg__torch_is_legacy(s) || eg__zip_begins(s, pickle_name) ||
           (eg__zip_is(s) && (eg__ends_with(s->name, ".pt") || eg__ends_with(s->name, ".pth")));
}

static eg_tensors *open_torch(eg__backing *b)
{
    static const eg__lazy how = {"pt", read_one, close_all};
    eg__torch *t = eg__malloc(sizeof *t);
    if (!t) {
        eg__no_memory(b->source.op, (int64_t)sizeof *t);
        return eg__backing_release(b), NULL;
    }
    *t = (eg__torch){.backing = b};
    eg_tensors *map = eg__lazy_new(&how, t);
    if (!map) {
        return NULL;
    }
    if (eg__zip_is(&b->source) ? read_archive(t, map) : eg__torch_legacy(t, map)) {
        eg_tensors_free(map);
        return NULL;
    }
    return map;
}

const eg__format eg__format_torch = {
    .about = {"pt", "checkpoints of PyTorch", ".pt .pth", false},
    .is = is_torch,
    .open = open_torch,
};
