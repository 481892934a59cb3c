/* elements.c - operands of a call as kernels of elements want them, in launches of fewer than 2^31. */
#include "lib/cuda/walk.h"

/* m and s such that i / d is (umulhi(i, m) + i) >> s for all i below 2^31 (Granlund and Montgomery 1994). */
static void divisor(unsigned d, unsigned *m, unsigned *s)
{
    *s = d > 1 ? 32 - (unsigned)__builtin_clz(d - 1) : 0;
    *m = (unsigned)((((uint64_t)1 << 32) * (((uint64_t)1 << *s) - d)) / d + 1);
}

static void set_operand(eg__operand *o, const eg__iter *it, const eg_tensor *t, int k, bool device)
{
    *o = (eg__operand){.p = it->ptr[k], .dtype = t->dtype, .size = (int)eg__esize(t)};
    for (int d = 0; d < it->ndim; d++) {
        o->stride[d] = it->strides[k][d];
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

void eg__walk_begin(eg__device_walk *w, const eg__call *c, eg_tensor *const *ops, int nops)
{
    w->elements.nops = nops;
    w->done = 0;
    eg__iter_init(&w->it, ops, nops);
    for (int k = 0; k < nops; k++) {
        set_operand(&w->elements.at[k], &w->it, ops[k], k, c->device != 0);
    }
}

/* How many rows of the first axis fit one launch. */
static int64_t rows_at_once(const eg__iter *it)
{
    const int64_t most = ((int64_t)1 << 31) - 1;
    int64_t row = it->n / eg__max(it->shape[0], 1);
    return row > most ? 0 : eg__min(it->shape[0], most / eg__max(row, 1) / EG__GROUP * EG__GROUP);
}

bool eg__walk_next(eg__device_walk *w)
{
    eg__elements *e = &w->elements;
    const eg__iter *it = &w->it;
    if (!it->n || w->done >= it->shape[0]) {
        return false;
    }
    int64_t rows = eg__max(it->n < ((int64_t)1 << 31) ? it->shape[0] : rows_at_once(it), 1);
    rows = eg__min(rows, it->shape[0] - w->done);
    e->ndim = it->ndim;
    e->n = (unsigned)(it->n / it->shape[0] * rows);
    for (int d = 0; d < it->ndim; d++) {
        e->shape[d] = (unsigned)(d ? it->shape[d] : rows);
        divisor(e->shape[d], &e->magic[d], &e->shift[d]);
    }
    for (int k = 0; k < e->nops && w->done; k++) {
        if (e->at[k].p) {
            e->at[k].p = it->ptr[k] + w->done * it->strides[k][0];
        }
    }
    w->done += rows;
    e->grouped = grouped(e);
    return true;
}
