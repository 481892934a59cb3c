/* tensor.c - storages: allocation, reference counts, release; reading and writing elements of a tensor. */
#include <math.h>
#include <stdlib.h>

#include "lib/core/alloc.h"
#include "lib/core/capture.h"
#include "lib/core/device.h"
#include "lib/core/follower.h"
#include "lib/core/layout.h"
#include "lib/core/recorder.h"

eg_status eg__check(const eg_tensor *t, const char *op, const char *name)
{
    if (!t) {
        return eg__null_argument(op, name);
    }
    if (t->magic != EG__MAGIC) {
        return eg__fail(EG_EINVAL, op, "%s is not a live tensor: it was freed, or its scope ended", name);
    }
    return EG_OK;
}

/* ---- storages: a cached block holding 64 bytes of bookkeeping and the data ------------------- */

enum { STORAGE_HEAD = 64 };
_Static_assert(sizeof(eg__storage) <= STORAGE_HEAD, "bookkeeping fits its place");

eg__storage *eg__storage_new(eg__thread *T, size_t bytes, uint16_t made_by)
{
    uint16_t cls;
    eg__storage *s = eg__block_alloc(T, STORAGE_HEAD + bytes, &cls);
    if (unlikely(!s)) {
        return NULL;
    }
    eg__ref_init(&s->refs);
    atomic_store_explicit(&s->version, 0, memory_order_relaxed);
    s->cls = cls;
    s->device = 0;
    s->made_by = made_by;
    atomic_store_explicit(&s->wrote, NULL, memory_order_relaxed);
    s->bytes = bytes;
    s->data = (char *)s + STORAGE_HEAD;
    s->free_fn = NULL;
    s->attached = NULL;
    if (unlikely(cls == EG__CLS_LARGE)) {
        eg__block_label(s, (int64_t)bytes, made_by);
    }
    if (unlikely(eg__mode(T) & EG__DEBUG_POISON)) {
        memset(s->data, 0xff, bytes); /* NaN in every float dtype */
    }
    if (unlikely(eg__mode(T) & EG__MODE_CAPTURE) && !eg__capture_made(T, s)) {
        eg__block_free(T, s, cls);
        return NULL;
    }
    eg__count(&T->live_bytes, (int64_t)bytes);
    return s;
}

void eg__storage_free(eg__thread *T, eg__storage *s)
{
    if (unlikely(s->device)) {
        eg__device_storage_free(T, s);
        return;
    }
    eg__count(&T->live_bytes, -(int64_t)s->bytes);
    if (unlikely(s->attached != NULL)) {
        s->attached->free(T, s->attached);
    }
    if (unlikely(s->cls == EG__CLS_USER)) {
        if (s->free_fn) {
            s->free_fn(s->data, s->user);
        }
        free(s);
        return;
    }
    if (unlikely(eg__mode(T) & EG__DEBUG_POISON)) {
        memset(s->data, 0xff, s->bytes);
    }
    eg__block_free(T, s, s->cls);
}

eg_status eg__scratch_get(const eg__call *c, size_t bytes, eg__scratch *s)
{
    s->data = eg__block_alloc(c->T, bytes, &s->cls);
    return s->data ? EG_OK : eg__no_memory(c->op->name, (int64_t)bytes);
}

void eg__scratch_put(const eg__call *c, eg__scratch *s)
{
    if (s->data) {
        eg__block_free(c->T, s->data, s->cls);
        s->data = NULL;
    }
}

eg_tensor *eg__new(const eg__desc *d, const char *op, uint16_t made_by)
{
    eg__thread *T = eg__thread_get();
    int64_t bytes = eg__bytes_of(d->n, d->dtype);
    eg_tensor *t = eg__own_room(T, 1) ? eg__header_new(T) : NULL;
    eg__storage *s = t ? eg__storage_on(T, d->device, (size_t)bytes, made_by) : NULL;
    if (unlikely(!s)) {
        eg__unref(T, t);
        return eg__no_memory_on(d->device, op, bytes), NULL;
    }
    t->storage = s;
    t->device = d->device;
    t->dtype = d->dtype;
    t->ndim = d->ndim;
    t->made_by = made_by;
    t->n = d->n;
    int64_t step = 1;
    for (int a = d->ndim; a-- > 0; step *= d->shape[a]) {
        t->shape[a] = d->shape[a];
        t->strides[a] = d->dense ? step : d->strides[a];
    }
    t->flags = d->dense ? EG__DENSE | EG__PACKED : eg__layout_flags(t->ndim, t->shape, t->strides);
    eg__own(T, t);
    return t;
}

/* ---- writing ------------------------------------------------------------------------------------ */

/* Whether from the smallest stride up each steps over all that those before it reach: then every element has a
 * place of its own, as in all slices of what is packed, however turned. */
static bool steps_over(const eg_tensor *x)
{
    int64_t reach = 0;
    for (unsigned left = (1u << x->ndim) - 1; left;) {
        int next = -1;
        for (int d = 0; d < x->ndim; d++) {
            next = left >> d & 1 && (next < 0 || llabs(x->strides[d]) < llabs(x->strides[next])) ? d : next;
        }
        if (x->shape[next] > 1 && llabs(x->strides[next]) <= reach) {
            return false;
        }
        reach += llabs(x->strides[next]) * (x->shape[next] - 1);
        left &= ~(1u << next);
    }
    return true;
}

/* Notes the place of each element, for strides that need not be. */
static eg_status check_places(const eg_tensor *x, const char *name)
{
    int64_t low = 0, high = 0;
    for (int d = 0; d < x->ndim; d++) {
        *(x->strides[d] < 0 ? &low : &high) += x->strides[d] * (x->shape[d] - 1);
    }
    const size_t bytes = (size_t)(high - low) / 8 + 1;
    uint8_t *seen = eg__malloc(bytes);
    if (!seen) {
        return eg__no_memory(name, (int64_t)bytes);
    }
    memset(seen, 0, bytes);
    int64_t i = 0;
    for (; i < x->n; i++) {
        const int64_t at = eg__place(x->ndim, x->shape, x->strides, i) - low;
        if (seen[at / 8] >> at % 8 & 1) {
            break;
        }
        seen[at / 8] |= (uint8_t)(1u << at % 8);
    }
    free(seen);
    return i == x->n ? EG_OK
                     : eg__fail(EG_ESHAPE, name, "element %lld of the target %s shares its memory with an earlier one",
                                (long long)i, EG__SHAPE_OF(x));
}

/* Refuses what has two elements in one place. */
static EG__COLD eg_status check_alone(const eg_tensor *x, const char *name)
{
    for (int d = 0; d < x->ndim; d++) {
        if (x->shape[d] > 1 && x->strides[d] == 0) {
            return eg__fail(EG_ESHAPE, name, "axis %d of the target is expanded: its elements share memory", d);
        }
    }
    return steps_over(x) ? EG_OK : check_places(x, name);
}

eg_status eg__check_write(const eg_tensor *x, const char *name)
{
    eg__thread *T = eg__thread_get();
    if (unlikely(!(x->flags & EG__PACKED)) && check_alone(x, name)) {
        return eg__why();
    }
    if (T->record->recording && eg__tracked(T, x)) {
        return eg__fail(EG_ESTATE, name,
                        "in-place change of a tensor that an open tape follows; use the form without "
                        "_, or close the tape");
    }
    return EG_OK;
}

eg_status eg__begin_write(eg_tensor *x, const char *name)
{
    eg_status st = eg__check_write(x, name);
    eg__thread *T = eg__thread_get();
    if (unlikely(eg__mode(T) & EG__MODE_FOLLOW) && !st) {
        st = T->follower->write(T->follower, x, name);
    }
    if (unlikely(st)) {
        return st;
    }
    atomic_store_explicit(&x->storage->wrote, name, memory_order_relaxed);
    atomic_fetch_add_explicit(&x->storage->version, 1, memory_order_relaxed);
    return EG_OK;
}

/* ---- looking ------------------------------------------------------------------------------- */

int eg_ndim(const eg_tensor *t)
{
    return t ? t->ndim : 0;
}

int64_t eg_numel(const eg_tensor *t)
{
    return t ? t->n : 0;
}

eg_dtype eg_dtype_of(const eg_tensor *t)
{
    return t ? (eg_dtype)t->dtype : EG_F32;
}

eg_shape eg_shape_of(const eg_tensor *t)
{
    eg_shape s = EG_SCALAR;
    if (t) {
        s.ndim = t->ndim;
        memcpy(s.dim, t->shape, t->ndim * sizeof *t->shape);
    }
    return s;
}

static int place_of_axis(const eg_tensor *t, int axis)
{
    int nd = t ? t->ndim : 0;
    return axis >= -nd && axis < nd ? (axis + nd) % nd : -1;
}

int64_t eg_size(const eg_tensor *t, int axis)
{
    int d = place_of_axis(t, axis);
    return d < 0 ? 0 : t->shape[d];
}

int64_t eg_stride(const eg_tensor *t, int axis)
{
    int d = place_of_axis(t, axis);
    return d < 0 ? 0 : t->strides[d];
}

bool eg_is_contiguous(const eg_tensor *t)
{
    return t && t->flags & EG__DENSE;
}

bool eg_is_channels_last(const eg_tensor *t)
{
    int64_t s[EG_MAX_DIMS];
    if (!t || t->ndim < 3 || t->ndim > 5) {
        return false;
    }
    eg__channels_last(t->ndim, t->shape, s);
    for (int d = 0; d < t->ndim; d++) {
        if (t->shape[d] != 1 && t->strides[d] != s[d]) {
            return false;
        }
    }
    return true;
}

const void *eg_data(const eg_tensor *t)
{
    const bool readable = t && t->magic == EG__MAGIC && t->n && !eg__host_only(t, "eg_data", "t");
    return readable && !eg__follow_read(t, "eg_data") ? eg__ptr(t) : NULL;
}

void *eg_data_mut(eg_tensor *t)
{
    if (eg__check(t, "eg_data_mut", "t") || eg__host_only(t, "eg_data_mut", "t") || eg__begin_write(t, "eg_data_mut")) {
        return NULL;
    }
    return t->n ? eg__ptr(t) : NULL;
}

/* Element `at` of the storage's memory, wherever that is: in place, or in *room; NULL: failed. */
static const void *peek(const eg_tensor *t, const char *op, int64_t at, uint64_t *room)
{
    if (eg__follow_read(t, op)) {
        return NULL;
    }
    if (likely(!t->device)) {
        return eg__ptr(t) + at * (int64_t)eg__esize(t);
    }
    eg_tensor one = *t;
    one.offset += at;
    return eg__download(op, eg__thread_get(), &one, room, eg__esize(t)) ? NULL : room;
}

/* The only element; NULL: there is none such. */
static const void *only(const eg_tensor *t, const char *op, uint64_t *room)
{
    if (eg__check(t, op, "t")) {
        return NULL;
    }
    if (t->n != 1) {
        return eg__fail_null(EG_ESHAPE, op, "needs one element, has shape %s", EG__SHAPE_OF(t));
    }
    return peek(t, op, 0, room);
}

static bool inside(const eg_tensor *t, int64_t i, const char *op)
{
    if (eg__check(t, op, "t")) {
        return false;
    }
    if (i < 0 || i >= t->n) {
        eg__fail(EG_EINDEX, op, "index %lld is outside 0..%lld", (long long)i, (long long)t->n - 1);
        return false;
    }
    return true;
}

/* Element i in row-major order; NULL likewise. */
static const void *element(const eg_tensor *t, int64_t i, const char *op, uint64_t *room)
{
    return inside(t, i, op) ? peek(t, op, eg__place(t->ndim, t->shape, t->strides, i), room) : NULL;
}

double eg_item(const eg_tensor *t)
{
    uint64_t room;
    const void *p = only(t, "eg_item", &room);
    return p ? eg__load(p, t->dtype, 0) : (double)NAN;
}

double eg_get(const eg_tensor *t, int64_t i)
{
    uint64_t room;
    const void *p = element(t, i, "eg_get", &room);
    return p ? eg__load(p, t->dtype, 0) : (double)NAN;
}

/* The integer at p, which failed already if NULL. */
static int64_t integer(const eg_tensor *t, const char *op, const void *p)
{
    if (p && eg__is_float(t->dtype)) {
        p = eg__fail_null(EG_EDTYPE, op, "not for dtype %s", eg_dtype_name((eg_dtype)t->dtype));
    }
    return p ? eg__load_int(p, t->dtype, 0) : INT64_MIN;
}

int64_t eg_item_int(const eg_tensor *t)
{
    uint64_t room;
    return integer(t, "eg_item_int", only(t, "eg_item_int", &room));
}

int64_t eg_get_int(const eg_tensor *t, int64_t i)
{
    uint64_t room;
    return integer(t, "eg_get_int", element(t, i, "eg_get_int", &room));
}

/* Writes the element that `bits` hold over element i of a tensor that may be changed. */
static eg_status put(eg_tensor *t, int64_t i, const char *op, const uint64_t *bits)
{
    const int64_t at = eg__place(t->ndim, t->shape, t->strides, i);
    if (likely(!t->device)) {
        memcpy(eg__ptr(t) + at * (int64_t)eg__esize(t), bits, eg__esize(t));
        return EG_OK;
    }
    eg_tensor one = *t;
    one.offset += at;
    return eg__upload(op, eg__thread_get(), &one, bits, eg__esize(t));
}

eg_status eg_set(eg_tensor *t, int64_t i, double value)
{
    uint64_t bits;
    eg_status st = inside(t, i, "eg_set") ? eg__begin_write(t, "eg_set") : eg__why();
    if (st) {
        return st;
    }
    eg__store(&bits, t->dtype, 0, value);
    return put(t, i, "eg_set", &bits);
}

eg_status eg_set_int(eg_tensor *t, int64_t i, int64_t value)
{
    uint64_t bits;
    eg_status st = inside(t, i, "eg_set_int") ? eg__begin_write(t, "eg_set_int") : eg__why();
    if (st) {
        return st;
    }
    eg__store_nearest(&bits, t->dtype, 0, value);
    return put(t, i, "eg_set_int", &bits);
}
