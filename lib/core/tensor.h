/* tensor.h - tensors and their storages. */
#ifndef EGRET_CORE_TENSOR_H
#define EGRET_CORE_TENSOR_H

#include <egret/device.h>
#include <egret/tensor.h>

#include "lib/core/dtype.h"
#include "lib/core/error.h"
#include "lib/core/memory.h"
#include "lib/core/thread.h"

/* Where storage came from: a size class of the thread cache, or one of these. */
enum { EG__CLS_LARGE = 0x8000, EG__CLS_PLACED, EG__CLS_SYSTEM, EG__CLS_USER };

/* What an engine hung on a storage dies with it. */
typedef struct eg__attached {
    void (*free)(eg__thread *T, struct eg__attached *a);
} eg__attached;

struct eg__storage {
    eg__refs refs;
    _Atomic uint32_t version; /* raised by every in-place change */
    uint16_t cls;
    uint8_t device;            /* 0: the CPU; else data is an address there, and user the engine's block */
    uint16_t made_by;          /* op id, for out-of-memory reports */
    const char *_Atomic wrote; /* the op that last changed it in place */
    size_t bytes;              /* as asked for */
    char *data;
    eg_free_fn free_fn; /* EG__CLS_USER only */
    void *user;
    eg__attached *attached; /* an engine's: copies of weights in its kernels' layouts, say */
};

enum {
    EG__DENSE = 1,  /* row-major without gaps */
    EG__PARAM = 2,  /* tracked by itself */
    EG__PACKED = 4, /* some order of the axes is row-major without gaps */
    EG__MAGIC = 0xe9e7,
};

struct eg_tensor {
    eg__refs refs;
    uint16_t magic;
    uint8_t dtype, device;
    uint8_t ndim, flags;
    uint16_t made_by;
    _Atomic uint32_t kept;
    _Atomic uint64_t slot; /* record id << 48 | number; tracked iff inside its record's window */
    eg__storage *storage;
    int64_t offset, n; /* in elements */
    int64_t shape[EG_MAX_DIMS], strides[EG_MAX_DIMS];
};

/* What an op's inference says of one output. */
typedef struct eg__desc {
    uint8_t dtype, ndim;
    uint8_t device;    /* for eg__new; of what an op makes, dispatch knows it */
    bool dense;        /* strides are row-major and need not be filled in */
    int64_t n, offset; /* offset: views only */
    int64_t shape[EG_MAX_DIMS], strides[EG_MAX_DIMS];
} eg__desc;

/* On the CPU; on the device with this id, never 0; on either. */
eg__storage *eg__storage_new(eg__thread *T, size_t bytes, uint16_t made_by);
eg__storage *eg__device_storage(eg__thread *T, uint8_t device, size_t bytes, uint16_t made_by);
static inline eg__storage *eg__storage_on(eg__thread *T, uint8_t device, size_t bytes, uint16_t made_by)
{
    return likely(!device) ? eg__storage_new(T, bytes, made_by) : eg__device_storage(T, device, bytes, made_by);
}
void eg__storage_free(eg__thread *T, eg__storage *s);

static inline void eg__storage_unref(eg__thread *T, eg__storage *s)
{
    if (eg__ref_dec(&s->refs)) {
        eg__storage_free(T, s);
    }
}

/* ---- tensors ------------------------------------------------------------------------------------- */

eg_tensor *eg__header_new(eg__thread *T);
void eg__header_free(eg__thread *T, eg_tensor *t);

static inline void eg__unref(eg__thread *T, eg_tensor *t)
{
    if (t && eg__ref_dec(&t->refs)) {
        eg__header_free(T, t);
    }
}

/* Room for n more borrowed tensors; make it before the tensors, so that handing over cannot fail. */
bool eg__own_grow(eg__thread *T, uint32_t n);
static inline bool eg__own_room(eg__thread *T, uint32_t n)
{
    return likely(T->cown - T->nown >= n) || eg__own_grow(T, n);
}

static inline void eg__own(eg__thread *T, eg_tensor *t)
{
    T->own[T->nown++] = t;
}

/* A live tensor? Otherwise says so for argument `name` of `op`. */
eg_status eg__check(const eg_tensor *t, const char *op, const char *name);

static inline size_t eg__esize(const eg_tensor *t)
{
    return eg__dtype_sizes[t->dtype];
}

static inline char *eg__ptr(const eg_tensor *t)
{
    return t->storage->data + t->offset * (int64_t)eg__esize(t);
}

/* Makers for functions that compute beside a tensor: on the device with this id. */
eg_tensor *eg__empty_on(int device, eg_shape shape, eg_dtype dtype);
eg_tensor *eg__full_on(int device, eg_shape shape, double value, eg_dtype dtype);
eg_tensor *eg__from_on(int device, eg_shape shape, eg_dtype dtype, const void *data);
eg_tensor *eg__arange_on(int device, double start, double stop, double step, eg_dtype dtype);
eg_tensor *eg__eye_on(int device, int64_t rows, int64_t cols, int64_t k, eg_dtype dtype);

/* Whether x may be written now. */
eg_status eg__check_write(const eg_tensor *x, const char *name);
/* The same, and counts the change. */
eg_status eg__begin_write(eg_tensor *x, const char *name);

/* Allocates a tensor as described, owned by the innermost scope. */
eg_tensor *eg__new(const eg__desc *d, const char *op, uint16_t made_by);

#endif
