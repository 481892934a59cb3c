/* axes.c - merging axes for kernels that go over lines and groups. */
#include "lib/cuda/common/axes.h"
#include "lib/cuda/common/divide.h"
#include "lib/cuda/common/launches.h"

static int64_t magnitude(int64_t v)
{
    return v < 0 ? -v : v;
}

/* The axes of the mask that have more than one place, in order. */
static int choose(int *order, int ndim, const int64_t *shape, unsigned mask, const int64_t *by, bool sorted)
{
    int n = 0;
    for (int d = 0; d < ndim; d++) {
        if (!(mask >> d & 1) || shape[d] == 1) {
            continue;
        }
        int at = n++;
        for (; sorted && at && magnitude(by[order[at - 1]]) < magnitude(by[d]); at--) {
            order[at] = order[at - 1];
        }
        order[at] = d;
    }
    return n;
}

/* Whether axis `inner` goes on where the last one of `a` does a step, for all operands. */
static bool merges(const eg__axes *a, const int64_t *shape, int inner, int nops, const int64_t (*strides)[EG_MAX_DIMS])
{
    for (int k = 0; k < nops; k++) {
        if (a->stride[k][a->ndim - 1] != strides[k][inner] * shape[inner]) {
            return false;
        }
    }
    return a->ndim > 0;
}

void eg__axes_make(eg__axes *a, int ndim, const int64_t *shape, unsigned mask, int nops,
                   const int64_t (*strides)[EG_MAX_DIMS], int sorted)
{
    int order[EG_MAX_DIMS];
    int n = choose(order, ndim, shape, mask, strides[0], sorted);
    memset(a, 0, sizeof *a);
    a->n = 1;
    for (int i = 0; i < n; i++) {
        int d = order[i];
        bool more = a->ndim && merges(a, shape, d, nops, strides);
        int at = more ? a->ndim - 1 : a->ndim++;
        a->shape[at] = more ? a->shape[at] * shape[d] : shape[d];
        for (int k = 0; k < nops; k++) {
            a->stride[k][at] = strides[k][d];
        }
        a->n *= shape[d];
    }
    for (int i = 0; i < a->ndim && a->n; i++) {
        const eg__divisor by = eg__divisor_of(a->shape[i]);
        a->magic[i] = by.magic;
        a->shift[i] = by.shift;
        a->inverse[i] = 1 / (double)a->shape[i];
    }
}

void eg__lines_make(eg__lines *l, eg_tensor *const *t, int nops, int axis)
{
    const eg_tensor *x = t[0];
    int64_t strides[EG__AXES_OPERANDS][EG_MAX_DIMS];
    *l = (eg__lines){.nops = nops, .in = eg__class_of(x->dtype), .side = true, .lanes = 1, .parts = 1};
    l->n = l->part = x->ndim ? x->shape[axis] : 1;
    for (int k = 0; k < nops; k++) {
        l->p[k] = eg__ptr(t[k]);
        l->dtype[k] = t[k]->dtype;
        l->size[k] = (int)eg__esize(t[k]);
        for (int d = 0; d < x->ndim; d++) {
            strides[k][d] = t[k]->strides[d] * l->size[k];
        }
        l->step[k] = x->ndim ? strides[k][axis] : 0;
        l->side &= t[k]->dtype == x->dtype && (l->step[k] == l->size[k] || l->n == 1);
    }
    const unsigned others = ~(x->ndim ? 1u << axis : 0);
    eg__axes_make(&l->at, x->ndim, x->shape, others, nops, (const int64_t(*)[EG_MAX_DIMS])strides, true);
    l->along = !l->at.ndim || magnitude(l->step[0]) < eg__innermost(&l->at);
}
