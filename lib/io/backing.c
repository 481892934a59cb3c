/* backing.c - see backing.h. */
#define _DEFAULT_SOURCE
#define _FILE_OFFSET_BITS 64
#include "lib/io/backing.h"
#include "lib/core/counted.h"

#include <stdlib.h>
#include <sys/mman.h>

static eg__backing *backing_new(const char *op, const char *name)
{
    size_t length = strlen(name) + 1;
    eg__backing *b = eg__malloc(sizeof *b + length);
    if (!b) {
        return eg__no_memory(op, (int64_t)(sizeof *b + length)), NULL;
    }
    *b = (eg__backing){.source = {.op = op, .fd = -1}, .name = (char *)(b + 1)};
    b->source.name = memcpy(b->name, name, length);
    eg__ref_init(&b->refs);
    return b;
}

eg__backing *eg__backing_open(const char *op, const char *path, bool copy)
{
    if (!path) {
        return eg__null_argument(op, "path"), NULL;
    }
    eg__backing *b = backing_new(op, path);
    if (!b || eg__source_open(&b->source, op, b->name)) {
        free(b);
        return NULL;
    }
    b->copy = copy;
    if (!copy && b->source.size) {
        /* Private: what is written to a tensor stays here. Without room in memory set apart for all of it. */
        void *base =
            mmap(NULL, (size_t)b->source.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, b->source.fd, 0);
        b->base = base == MAP_FAILED ? NULL : base;
    }
    return b;
}

/* Room in memory for all of it, aligned as tensors are. */
static bool make_room(eg__backing *b, size_t bytes)
{
    b->base = bytes <= PTRDIFF_MAX - 64 ? eg__counted_alloc(bytes + 1) : NULL;
    b->read = b->base != NULL;
    return b->read;
}

eg__backing *eg__backing_room(const char *op, const char *name, size_t bytes)
{
    eg__backing *b = backing_new(op, name);
    if (b && !make_room(b, bytes)) {
        free(b);
        return eg__no_memory(op, (int64_t)bytes), NULL;
    }
    if (b) {
        b->source.data = b->base;
        b->source.size = (int64_t)bytes;
    }
    return b;
}

eg__backing *eg__backing_memory(const char *op, const char *name, const void *data, size_t bytes)
{
    if (!data && bytes) {
        return eg__null_argument(op, "data"), NULL;
    }
    eg__backing *b = eg__backing_room(op, name, bytes);
    if (b && bytes) {
        memcpy(b->base, data, bytes);
    }
    return b;
}

const uint8_t *eg__backing_bytes(eg__backing *b)
{
    if (!b->base && !make_room(b, (size_t)b->source.size)) {
        return eg__no_memory(b->source.op, b->source.size), NULL;
    }
    if (b->read && !b->source.data) {
        if (eg__source_read(&b->source, 0, b->base, b->source.size)) {
            return NULL;
        }
        b->source.data = b->base;
    }
    return (const uint8_t *)b->base;
}

eg__backing *eg__backing_keep(eg__backing *b)
{
    eg__ref_inc(&b->refs);
    return b;
}

void eg__backing_release(eg__backing *b)
{
    if (!b || !eg__ref_dec(&b->refs)) {
        return;
    }
    if (b->read) {
        eg__counted_free(b->base);
    } else if (b->base) {
        munmap(b->base, (size_t)b->source.size);
    }
    eg__source_close(&b->source);
    free(b);
}

/* ---- tensors ------------------------------------------------------------------------------------ */

static void let_go(void *data, void *user)
{
    (void)data;
    eg__backing_release(user);
}

eg_tensor *eg__backing_tensor(eg__backing *b, int64_t at, eg__element e, const eg_shape *shape)
{
    eg_tensor_about about;
    if (eg__element_about(b->source.op, e, shape, &about)) {
        return NULL;
    }
    const bool here = b->base && !b->copy && about.bytes && at >= 0 && about.bytes <= b->source.size - at;
    const size_t element = eg__dtype_sizes[about.dtype];
    if (!here || !eg__element_as_is(e) || eg__big_endian() || (uintptr_t)(b->base + at) % element) {
        return eg__element_read(&b->source, at, e, shape);
    }
    eg_tensor *t = eg_wrap(b->base + at, about.shape, about.dtype, let_go, eg__backing_keep(b));
    if (!t) {
        eg__backing_release(b);
    }
    return t;
}
