/* torch_legacy.c - files of PyTorch's torch.save as it wrote them up to version 1.5: a magic number, a version, the
 * machine it was on and the values, each a pickle; then the keys of the storages, and their data in that order. */
#include <stdlib.h>

#include "lib/io/formats.h"
#include "lib/core/counted.h"
#include "lib/io/torch.h"

enum { VERSION = 1001, COUNT_BYTES = 8, FRAME = 9 };

/* Where the pickle of the number 0x1950a86a20f9469cfc6c ends, of any protocol; 0, without words: it is not there. */
static int64_t behind_magic(const eg__source *s)
{
    static const char magic[] = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
    const int length = (int)sizeof magic - 1;
    char b[2 + FRAME + sizeof magic];
    if (s->size < (int64_t)sizeof b || eg__source_read(s, 0, b, (int64_t)sizeof b) || b[0] != '\x80') {
        return 0;
    }
    const int at = b[2] == '\x95' ? 2 + FRAME : 2;
    return memcmp(b + at, magic, (size_t)length) ? 0 : at + length;
}

bool eg__torch_is_legacy(const eg__source *s)
{
    return behind_magic(s) > 0;
}

/* A pickle of the machine's or the keys', which names nothing that would have to be made. */
static eg_status plain_pickle(eg__torch *t, eg__pickle *p, int64_t *at)
{
    const eg__source *s = &t->backing->source;
    const uint32_t before = t->nstorages;
    eg_status st = eg__torch_pickle(t, p, s, *at, s->size - *at);
    *at += p->at;
    return !st && t->nstorages != before ? eg__pickle_bad(p, "a storage where none may be") : st;
}

static eg_status check_version(eg__torch *t, int64_t *at)
{
    eg__pickle p;
    eg_status st = plain_pickle(t, &p, at);
    if (!st && (p.value[p.root].kind != EG__PICKLE_INT || p.value[p.root].integer != VERSION)) {
        st = eg__pickle_bad(&p, "not version %d of the format", VERSION);
    }
    eg__pickle_close(&p);
    return st;
}

static eg_status check_machine(eg__torch *t, int64_t *at)
{
    eg__pickle p;
    bool little = false;
    eg_status st = plain_pickle(t, &p, at);
    const eg__pickle_value *v = st || p.value[p.root].kind != EG__PICKLE_DICT ? NULL : &p.value[p.root];
    for (uint32_t i = 0; v && i < v->count; i += 2) {
        const eg__pickle_value *key = eg__pickle_item(&p, v, i, EG__PICKLE_TEXT);
        const eg__pickle_value *is = eg__pickle_item(&p, v, i + 1, EG__PICKLE_BOOL);
        little |= key && eg__pickle_is(&p, key, "little_endian") && is && is->integer;
    }
    if (!st && !little) {
        st = eg__pickle_bad(&p, "its numbers are not little-endian");
    }
    eg__pickle_close(&p);
    return st;
}

/* ---- storages --------------------------------------------------------------------------------------- */

/* A storage's key, to sort them by. */
typedef struct keyed {
    const char *key;
    uint32_t length, storage;
} keyed;

static int by_key(const void *a, const void *b)
{
    const keyed *p = a, *q = b;
    return p->length != q->length ? (p->length < q->length ? -1 : 1) : memcmp(p->key, q->key, p->length);
}

static keyed *sort_keys(const eg__torch *t, const eg__pickle *p)
{
    keyed *k = eg__counted_alloc(t->nstorages * sizeof *k + 1);
    for (uint32_t i = 0; k && i < t->nstorages; i++) {
        const eg__pickle_value *v = &p->value[t->storage[i].key];
        k[i] = (keyed){p->s + v->text, v->count, i};
    }
    if (k) {
        qsort(k, t->nstorages, sizeof *k, by_key);
    }
    return k;
}

/* The data of one key: a count of elements, and these; for all storages of that key. */
static eg_status place_one(eg__torch *t, const keyed *all, const keyed *found, int64_t *at)
{
    const eg__source *s = &t->backing->source;
    uint8_t b[COUNT_BYTES];
    uint64_t count = 0;
    const eg__element e = t->storage[found->storage].element;
    const int width = e == EG__ELEMENTS ? 1 : eg__element_bits(e) / 8;
    eg_status st = eg__source_read(s, *at, b, COUNT_BYTES);
    for (int i = COUNT_BYTES; !st && i-- > 0;) {
        count = count << 8 | b[i];
    }
    *at += COUNT_BYTES;
    if (!st && count > (uint64_t)(s->size - *at) / (uint64_t)width) {
        st = eg__source_bad(s, *at - COUNT_BYTES, "a storage of %llu elements, the file has %lld more bytes",
                            (unsigned long long)count, (long long)(s->size - *at));
    }
    while (found > all && !by_key(found - 1, found)) {
        found--;
    }
    for (const keyed *k = found; !st && k < all + t->nstorages && !by_key(k, found); k++) {
        eg__torch_storage *x = &t->storage[k->storage];
        if (x->at >= 0 || x->element != e || x->bytes > (int64_t)count * width) {
            st = eg__source_bad(s, *at, "storage \"%.*s\" is there twice, or of other sizes or types",
                                (int)eg__min(k->length, 40), k->key);
        }
        x->at = *at;
    }
    *at += st ? 0 : (int64_t)count * width;
    return st;
}

/* The list of keys and the data that follow. */
static eg_status place_storages(eg__torch *t, const eg__pickle *p, int64_t at)
{
    eg__pickle list;
    keyed *all = sort_keys(t, p);
    if (!all) {
        return eg__no_memory(p->source->op, (int64_t)(t->nstorages * sizeof *all));
    }
    eg_status st = plain_pickle(t, &list, &at);
    const eg__pickle_value *v = st ? NULL : &list.value[list.root];
    if (!st && (v->kind != EG__PICKLE_LIST)) {
        st = eg__pickle_bad(&list, "what should be a list of keys is none");
    }
    for (uint32_t i = 0; !st && i < v->count; i++) {
        const eg__pickle_value *key = eg__pickle_item(&list, v, i, EG__PICKLE_TEXT);
        const keyed wanted = key ? (keyed){.key = list.s + key->text, .length = key->count} : (keyed){0};
        const keyed *found = key ? bsearch(&wanted, all, t->nstorages, sizeof *all, by_key) : NULL;
        st = found ? place_one(t, all, found, &at) : eg__pickle_bad(&list, "a key that no tensor has");
    }
    for (uint32_t i = 0; !st && i < t->nstorages; i++) {
        if (t->storage[i].at < 0) {
            st = eg__pickle_bad(&list, "the data of a storage are missing");
        }
    }
    eg__pickle_close(&list);
    eg__counted_free(all);
    return st;
}

eg_status eg__torch_legacy(eg__torch *t, eg_tensors *map)
{
    const eg__source *s = &t->backing->source;
    int64_t at = behind_magic(s);
    if (!at) {
        return eg__source_bad(s, 0, "neither a zip archive nor a pickle of PyTorch's");
    }
    eg_status st = check_version(t, &at);
    st = st ? st : check_machine(t, &at);
    if (st) {
        return st;
    }
    eg__pickle p;
    st = eg__torch_pickle(t, &p, s, at, s->size - at);
    st = st ? st : place_storages(t, &p, at + p.at);
    st = st ? st : eg__torch_name_all(t, &p, map);
    eg__pickle_close(&p);
    return st;
}
