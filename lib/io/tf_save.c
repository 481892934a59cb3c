/* tf_save.c - writing TensorFlow's checkpoints, of version 2: elements in one data file, by name and each aligned, then
 * the index. */
#include <stdlib.h>

#include "lib/io/crc32c.h"
#include "lib/io/tf.h"

enum { ALIGN = 64 };

typedef struct saving {
    const eg_tensors *map;
    eg__target data;
    int64_t at; /* bytes of data so far */
    eg__sstable_maker index;
    eg__buffer entry, part; /* a message, and one inside it */
} saving;

/* ---- entries -------------------------------------------------------------------------------------- */

static void put_field(eg__buffer *b, uint32_t field, uint64_t v)
{
    if (v) { /* 0 is what a field has that is not there */
        eg__put_varint(b, field << 3);
        eg__put_varint(b, v);
    }
}

static void put_message(eg__buffer *b, uint32_t field, const eg__buffer *message)
{
    eg__put_varint(b, field << 3 | 2);
    eg__put_varint(b, message->n);
    eg__put(b, message->s, message->n);
    b->full = b->full || message->full;
}

static void put_shape(eg__buffer *b, const eg_shape *shape)
{
    for (int d = 0; d < shape->ndim; d++) {
        eg__buffer dim = {0};
        put_field(&dim, 1, (uint64_t)shape->dim[d]);
        put_message(b, 2, &dim);
        eg__buffer_free(&dim);
    }
}

/* Adds what is in entry under that key. */
static eg_status add_entry(saving *s, const char *name)
{
    if (s->entry.full) {
        return eg__no_memory(s->data.op, s->entry.n);
    }
    eg__sstable_add(&s->index, name, strlen(name), s->entry.s, s->entry.n);
    s->entry.n = s->part.n = 0;
    return EG_OK;
}

static eg_status put_header(saving *s)
{
    put_field(&s->part, 1, 1);  /* version: made by the first */
    put_field(&s->entry, 1, 1); /* data files */
    put_message(&s->entry, 3, &s->part);
    return add_entry(s, "");
}

/* ---- tensors -------------------------------------------------------------------------------------- */

/* Writes zeros up to where a tensor may begin. */
static eg_status align(saving *s)
{
    static const char zeros[ALIGN];
    const size_t n = (size_t)(-s->at & (ALIGN - 1));
    s->at += (int64_t)n;
    return eg__target_write(&s->data, zeros, n);
}

static eg_status put_tensor(saving *s, int64_t i)
{
    const eg_tensor *t = eg__file_order(eg__lazy_read(s->map, i));
    eg_status st = t ? align(s) : eg__why();
    if (st) {
        return st;
    }
    const size_t bytes = (size_t)t->n * eg__esize(t);
    const eg_shape shape = eg_shape_of(t);
    put_shape(&s->part, &shape);
    put_field(&s->entry, 1, (uint64_t)eg__tf_number(t->dtype));
    put_message(&s->entry, 2, &s->part);
    put_field(&s->entry, 4, (uint64_t)s->at);
    put_field(&s->entry, 5, bytes);
    eg__put_varint(&s->entry, 6 << 3 | 5);
    eg__put_fixed32(&s->entry, eg__crc32c_mask(eg__crc32c(0, eg__ptr(t), bytes)));
    s->at += (int64_t)bytes;
    st = eg__target_write(&s->data, eg__ptr(t), bytes);
    return st ? st : add_entry(s, eg_tensors_name(s->map, i));
}

static eg_status put_tensors(saving *s)
{
    const int64_t n = eg_tensors_count(s->map);
    eg__tf_named *order = eg__malloc(((size_t)n + 1) * sizeof *order);
    if (!order) {
        return eg__no_memory(s->data.op, n * (int64_t)sizeof *order);
    }
    for (int64_t i = 0; i < n; i++) {
        order[i] = (eg__tf_named){eg_tensors_name(s->map, i), i};
    }
    eg__tf_sort(order, (size_t)n);
    eg_status st = n && !*order[0].name ? eg__fail(EG_EINVAL, s->data.op, "a tensor has an empty name") : EG_OK;
    for (int64_t k = 0; k < n && !st; k++) {
        eg_scope scope = eg_scope_push();
        st = scope.depth ? put_tensor(s, order[k].i) : eg__why();
        if (scope.depth) {
            eg_scope_pop(scope, NULL);
        }
    }
    free(order);
    return st;
}

/* Both files are whole before either is put in place: first the data, which the index names. */
static eg_status write_both(saving *s, const char *op, const char *data, const char *index)
{
    eg__target file;
    eg_status st = eg__target_open(&s->data, op, data);
    if (st) {
        return st;
    }
    st = put_header(s);
    st = st ? st : put_tensors(s);
    if (!st && !eg__sstable_end(&s->index)) {
        st = eg__no_memory(op, s->index.all.n);
    }
    st = st ? st : eg__target_open(&file, op, index);
    if (st) {
        return eg__target_close(&s->data, st);
    }
    st = eg__target_write(&file, s->index.all.s, s->index.all.n);
    st = eg__target_close(&s->data, st);
    return eg__target_close(&file, st);
}

eg_status eg__tf_save(const char *op, const eg_tensors *map, const char *path, const eg_save_options *o)
{
    (void)o;
    saving s = {.map = map};
    char *data = eg__tf_data_path(path, 0, 1), *index = eg__tf_index_path(path);
    eg_status st = data && index ? write_both(&s, op, data, index) : eg__no_memory(op, (int64_t)strlen(path));
    eg__sstable_free(&s.index);
    eg__buffer_free(&s.entry);
    eg__buffer_free(&s.part);
    free(data);
    free(index);
    return st;
}
