/* elements.c - operands of a call as kernels of elements want them, in launches of fewer than 2^31. */
#include "lib/cuda/common/divide.h"
#include "lib/cuda/common/launches.h"

/* The most elements of a launch; the test build meets the limit. */
#ifdef EG_TINY_LIMITS
static const int64_t most = 4095;
#else
static const int64_t most = ((int64_t)1 << 31) - 1;
#endif

static void set_axis(eg__elements *e, int d, int64_t size)
{
    const eg__divisor by = eg__divisor_of(size);
    e->shape[d] = (unsigned)size;
    e->magic[d] = by.magic;
    e->shift[d] = by.shift;
}

static void set_operand(eg__operand *o, const eg__iter *it, const eg_tensor *t, int k, int cut, bool device)
{
    *o = (eg__operand){.p = it->ptr[k], .dtype = t->dtype, .size = (int)eg__esize(t)};
    for (int d = cut; d < it->ndim; d++) {
        o->stride[d - cut] = it->strides[k][d];
    }
    if (device && !t->device) { /* a number of the CPU */
        o->p = NULL;
        o->number = eg__load(eg__ptr(t), t->dtype, 0);
        o->whole = eg__load_int(eg__ptr(t), t->dtype, 0);
    }
}

/* Whether groups along the last axis can be read and written as a whole. */
static bool grouped(const eg__elements *e)
{
    const int last = e->ndim - 1;
    if (last > 0 && e->shape[last] % EG__GROUP) {
        return false;
    }
    for (int k = 0; k < e->nops; k++) {
        const eg__operand *o = &e->at[k];
        int64_t step = o->stride[last], whole = eg__min(16, (int64_t)EG__GROUP * o->size);
        if (!o->p || (!step && k)) {
            continue;
        }
        if (step != o->size || (uintptr_t)o->p % (uint64_t)whole) {
            return false;
        }
        for (int d = 0; d < last; d++) {
            if (o->stride[d] % whole) {
                return false;
            }
        }
    }
    return true;
}

void eg__launches_begin(eg__launches *w, const eg__call *c, eg_tensor *const *ops, int nops)
{
    const eg__iter *it = &w->it;
    eg__elements *e = &w->elements;
    e->nops = nops;
    eg__iter_init(&w->it, ops, nops);
    /* The axes before `cut` are gone through here, launches go along it and have those after it. */
    w->cut = 0;
    w->done = 0;
    w->inner = it->n / eg__max(it->shape[0], 1);
    while (w->inner > most) {
        w->inner /= it->shape[++w->cut];
    }
    for (int k = 0; k < nops; k++) {
        set_operand(&e->at[k], it, ops[k], k, w->cut, c->device != 0);
    }
    e->ndim = it->n ? it->ndim - w->cut : 0; /* nothing divides by an axis of 0 */
    for (int d = 1; d < e->ndim; d++) {
        set_axis(e, d, it->shape[d + w->cut]);
    }
}

/* Where row `done` of axis `cut`, counted over the axes before it too, begins in operand k. */
static char *row_of(const eg__launches *w, int k)
{
    const eg__iter *it = &w->it;
    char *p = it->ptr[k];
    int64_t i = w->done;
    for (int d = w->cut; d >= 0; d--) {
        p += i % it->shape[d] * it->strides[k][d];
        i /= it->shape[d];
    }
    return p;
}

bool eg__launches_next(eg__launches *w)
{
    eg__elements *e = &w->elements;
    const eg__iter *it = &w->it;
    if (!it->n || w->done * w->inner >= it->n) {
        return false;
    }
    int64_t rows = most / w->inner, left = it->shape[w->cut] - w->done % it->shape[w->cut];
    rows = eg__min(rows >= EG__GROUP ? rows / EG__GROUP * EG__GROUP : rows, left);
    for (int k = 0; k < e->nops; k++) {
        if (e->at[k].p) {
            e->at[k].p = row_of(w, k);
        }
    }
    e->n = (unsigned)(rows * w->inner);
    set_axis(e, 0, rows);
    w->done += rows;
    e->grouped = grouped(e);
    return true;
}
