/* checked.c - see checked.h. */
#include "lib/io/checked.h"

#include <egret/ops.h>

#include "lib/core/counted.h"
#include "lib/io/crc32c.h"
#include "lib/io/safetensors.h"

static const char sums[] = "checksums";

/* Of the bytes as they lie in the file. False: out of memory. */
static bool sum_of(const eg_tensor *t, int64_t *sum)
{
    eg_scope s = eg_scope_push();
    const eg_tensor *bytes = s.depth ? eg__file_order(t) : NULL;
    if (bytes) {
        *sum = eg__crc32c(0, eg__ptr(bytes), (size_t)bytes->n * eg__esize(bytes));
    }
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return bytes != NULL;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The map with room for the sums in front of it, in the order of the file. */
static eg_status add_room(const eg_tensors *map, eg_tensors *all)
{
    int64_t n = eg_tensors_count(map);
    eg_scope s = eg_scope_push();
    eg_status st = eg_tensors_set(all, sums, eg__full_on(0, EG_SHAPE(1 + n), 0, EG_I64));
    eg_scope_pop(s, NULL);
    for (size_t width = 8; width; width /= 2) {
        for (int64_t i = 0; i < n && !st; i++) {
            eg_tensor *t = eg_tensors_at(map, i);
            st = eg__esize(t) == width ? eg_tensors_set(all, eg_tensors_name(map, i), t) : EG_OK;
        }
    }
    for (int64_t i = 0; i < eg_tensors_text_count(map) && !st; i++) {
        const char *key = eg_tensors_text_key(map, i);
        st = eg_tensors_set_text(all, key, eg_tensors_text(map, key));
    }
    return st;
}

static eg_status fill_in(const char *op, const eg_tensors *all, eg__buffer *header)
{
    eg_status st = eg__safetensors_header(op, &(eg__part){.map = all}, header);
    int64_t *sum = (int64_t *)eg__ptr(eg_tensors_at(all, 0));
    for (int64_t i = 1; i < eg_tensors_count(all) && !st; i++) {
        st = sum_of(eg_tensors_at(all, i), &sum[i]) ? EG_OK : eg__why();
    }
    if (!st) {
        sum[0] = eg__crc32c(0, header->s, header->n);
    }
    return st;
}

eg_status eg__checked_save(const char *op, const eg_tensors *map, const char *path)
{
    eg__target file;
    eg__buffer header = {0};
    if (eg_tensors_has(map, sums)) {
        return eg__fail(EG_EINVAL, op, "no tensor can be named %s here", sums);
    }
    eg_tensors *all = eg_tensors_new();
    eg_status st = all ? add_room(map, all) : eg__why();
    st = st ? st : fill_in(op, all, &header);
    st = st ? st : eg__target_open(&file, op, path);
    if (!st) {
        st = eg__target_write(&file, header.s, header.n);
        st = eg__target_close(&file, st ? st : eg__safetensors_data(&(eg__part){.map = all}, &file));
    }
    eg__buffer_free(&header);
    eg_tensors_free(all);
    return st;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Before the header is believed in anything. */
static eg_status check_header(const eg__source *s)
{
    int64_t length = 0, sum = 0;
    eg_status st = eg__safetensors_length(s, &length);
    int64_t size = EG__SAFETENSORS_LENGTH + length;
    char *header = st ? NULL : eg__counted_alloc((size_t)size);
    if (!header) {
        return st ? st : eg__no_memory(s->op, size);
    }
    st = eg__source_read(s, 0, header, size);
    st = st ? st : eg__source_read(s, size, &sum, sizeof sum);
    if (eg__big_endian()) {
        eg__swap_bytes(&sum, 1, sizeof sum);
    }
    if (!st && sum != eg__crc32c(0, header, (size_t)size)) {
        st = eg__source_bad(s, 0,
                            "the header does not match its checksum: it is damaged, or the file is "
                            "none with checksums");
    }
    eg__counted_free(header);
    return st;
}

static eg_status check_tensors(const eg__source *s, const eg_tensors *map)
{
    const eg_tensor *sum = eg_tensors_at(map, 0);
    int64_t n = eg_tensors_count(map), at = 0;
    if (!sum || strcmp(eg_tensors_name(map, 0), sums) || sum->dtype != EG_I64 || sum->ndim != 1 || sum->n != n) {
        return eg__source_bad(s, EG__SAFETENSORS_LENGTH, "%s is not what it must be", sums);
    }
    eg_status st = eg__safetensors_length(s, &at);
    at += EG__SAFETENSORS_LENGTH + n * (int64_t)sizeof(int64_t);
    for (int64_t i = 1; i < n && !st; i++) {
        const eg_tensor *t = eg_tensors_at(map, i);
        int64_t found = 0;
        if (!sum_of(t, &found)) {
            st = eg__why();
        } else if (found != ((const int64_t *)eg__ptr(sum))[i]) {
            st = eg__source_bad(s, at, "\"%.80s\" does not match its checksum", eg_tensors_name(map, i));
        }
        at += t->n * (int64_t)eg__esize(t);
    }
    return st;
}

/* The map without its first tensor. */
static eg_status strip(const eg_tensors *all, eg_tensors *map)
{
    eg_status st = EG_OK;
    for (int64_t i = 1; i < eg_tensors_count(all) && !st; i++) {
        st = eg_tensors_set(map, eg_tensors_name(all, i), eg_tensors_at(all, i));
    }
    for (int64_t i = 0; i < eg_tensors_text_count(all) && !st; i++) {
        const char *key = eg_tensors_text_key(all, i);
        st = eg_tensors_set_text(map, key, eg_tensors_text(all, key));
    }
    return st;
}

eg_tensors *eg__checked_load(const char *op, const char *path)
{
    eg__source s;
    eg_tensors *all = NULL, *map = NULL;
    if (eg__source_open(&s, op, path)) {
        return NULL;
    }
    eg_status st = check_header(&s);
    if (!st) {
        all = eg__safetensors_read(&s);
        map = eg_tensors_new();
        st = all && map ? check_tensors(&s, all) : eg__why();
    }
    st = st ? st : strip(all, map);
    eg__source_close(&s);
    eg_tensors_free(all);
    if (st) {
        eg_tensors_free(map);
        return NULL;
    }
    return map;
}
