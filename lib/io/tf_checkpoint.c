/* tf_checkpoint.c - TensorFlow's checkpoints of version 2: X.index, a sorted-string table of what tensors are and where
 * (tensor_bundle.proto), and their elements in X.data-00000-of-00001 and so on. */
#include "lib/io/tf_index.h"

#include <stdlib.h>

#include "lib/core/counted.h"

#include "lib/io/crc32c.h"

static const char INDEX[] = ".index";

/* ---- paths -------------------------------------------------------------------------------------- */

/* The prefix with room behind it. */
static char *prefix_of(const char *path, size_t room)
{
    const size_t n = strlen(path) - (eg__ends_with(path, INDEX) ? sizeof INDEX - 1 : 0);
    char *prefix = eg__malloc(n + room);
    if (prefix) {
        memcpy(prefix, path, n);
        prefix[n] = 0;
    }
    return prefix;
}

char *eg__tf_index_path(const char *path)
{
    char *to = prefix_of(path, sizeof INDEX);
    return to ? strcat(to, INDEX) : NULL;
}

char *eg__tf_data_path(const char *path, uint32_t which, uint32_t count)
{
    enum { ROOM = 40 };
    char *to = prefix_of(path, ROOM);
    if (to) {
        snprintf(to + strlen(to), ROOM, ".data-%05u-of-%05u", which, count);
    }
    return to;
}

/* ---- reading --------------------------------------------------------------------------------------- */

/* Whether the bytes of a piece, which became t, are of its checksum. A view is not read for that. */
static eg_status check_sum(const eg__backing *b, const eg__tf_piece *p, const eg_tensor *t)
{
    enum { SOME = 1 << 16 };
    const char *at = eg__ptr(t);
    uint32_t crc = 0;
    eg_status st = EG_OK;
    if (b->base && at >= b->base && at < b->base + b->source.size) {
        return EG_OK;
    }
    if (eg__element_as_is(p->element) && !eg__big_endian()) {
        crc = eg__crc32c(0, at, (size_t)p->bytes);
    } else {
        uint8_t *some = eg__malloc(SOME);
        st = some ? EG_OK : eg__no_memory(b->source.op, SOME);
        for (int64_t done = 0; done < p->bytes && !st; done += SOME) {
            const int64_t n = eg__min(SOME, p->bytes - done);
            st = eg__source_read(&b->source, p->at + done, some, n);
            crc = st ? crc : eg__crc32c(crc, some, (size_t)n);
        }
        free(some);
    }
    return st || eg__crc32c_mask(crc) == p->crc
               ? st
               : eg__source_bad(&b->source, p->at, "%lld bytes do not match their checksum", (long long)p->bytes);
}

static eg_tensor *read_piece(const eg__tf_index *r, uint32_t i)
{
    const eg__tf_piece *p = &r->pieces[i];
    eg__backing *b = r->shards[p->shard];
    eg_tensor *t = eg__backing_tensor(b, p->at, p->element, &p->shape);
    return t && !check_sum(b, p, t) ? t : NULL;
}

typedef struct joining {
    const eg__tf_index *r;
    const uint32_t *piece;
} joining;

static eg_tensor *read_slice(void *user, uint32_t i)
{
    const joining *j = user;
    return read_piece(j->r, j->piece[i]);
}

static eg_tensor *read_one(void *user, int64_t number)
{
    const eg__tf_index *r = user;
    if (number % 2 == 0) {
        return read_piece(r, (uint32_t)(number / 2));
    }
    const eg__tf_whole *w = &r->wholes[number / 2];
    joining j = {r, r->slice_piece + w->first};
    eg_tensor_about about;
    return eg__element_about(r->backing->source.op, w->element, &w->shape, &about)
               ? NULL
               : eg__tf_join(&r->backing->source, &about, r->slices.slice + w->first, w->count, read_slice, &j);
}

static void close_all(void *user)
{
    eg__tf_index *r = user;
    for (uint32_t i = 0; i < r->nshards; i++) {
        eg__backing_release(r->shards[i]);
    }
    eg__counted_free(r->shards);
    eg__counted_free(r->pieces);
    eg__counted_free(r->wholes);
    eg__counted_free(r->slices.slice);
    eg__counted_free(r->slice_piece);
    eg__backing_release(r->backing);
    free(r);
}

static eg_tensors *open_index(eg__backing *b)
{
    static const eg__lazy how = {"tf", read_one, close_all};
    const eg__source *s = &b->source;
    eg__tf_index *r = eg__malloc(sizeof *r);
    if (!r) {
        eg__no_memory(s->op, (int64_t)sizeof *r);
        return eg__backing_release(b), NULL;
    }
    *r = (eg__tf_index){.backing = b};
    eg_tensors *map = eg__lazy_new(&how, r);
    if (!map) {
        return NULL;
    }
    eg_status st = s->data || !eg__ends_with(s->name, INDEX)
                       ? eg__source_bad(s, 0, "the index of a checkpoint is a file X%s, beside it are its data", INDEX)
                       : eg__tf_read_index(r, map);
    if (st) {
        eg_tensors_free(map);
    }
    return st ? NULL : map;
}

static bool is_index(const eg__source *s)
{
    return !s->data && eg__ends_with(s->name, INDEX) && eg__sstable_is(s);
}

const eg__format eg__format_tf = {
    .about = {"tf", "checkpoints of TensorFlow, by their index", ".ckpt .index", true},
    .is = is_index,
    .open = open_index,
    .save = eg__tf_save,
};
