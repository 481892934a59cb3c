/* matmul.c - gradients of matrix products. */
#include "autograd/rules/rules.h"

/* The product, summed over the batches that input i was repeated for. */
static void give(eg__walk *w, int i, eg_tensor *a, eg_tensor *b)
{
    eg_shape shape = eg__in_shape(w, i);
    int axes = !a || !b ? 0 : a->ndim > b->ndim ? a->ndim : b->ndim;
    bool repeated = shape.ndim != axes;
    for (int d = 0; !repeated && d < axes - 2; d++) {
        int p = d - (axes - a->ndim), q = d - (axes - b->ndim);
        int64_t s = p < 0 ? 1 : a->shape[p], t = q < 0 ? 1 : b->shape[q];
        repeated = shape.dim[d] != (s == 1 ? t : s);
    }
    if (repeated) {
        const eg_dtype dtype = eg__is_half(a->dtype) ? EG_F32 : (eg_dtype)a->dtype; /* rounded after the sum */
        eg__give(w, i, eg__sum_to(eg_matmul(eg_cast(a, dtype), b), shape));
    } else {
        eg__give_product(w, i, a, b);
    }
}

eg_status eg__grad_matmul(eg__walk *w)
{
    eg_tensor *dy = eg__dy(w, 0);
    if (eg__needs(w, 0)) {
        give(w, 0, dy, eg_transpose(eg__saved_in(w, 1), -2, -1));
    }
    if (eg__needs(w, 1)) {
        give(w, 1, eg_transpose(eg__saved_in(w, 0), -2, -1), dy);
    }
    return w->status;
}
