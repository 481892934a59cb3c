/* matmul.c - matrix products: inference and public functions. */
#include "lib/ops/infer.h"
#include "lib/ops/options.h"

/* [..., m, k] x [..., k, n], batch axes broadcast. The public function has made both at least 2-D. */
eg_status eg__infer_matmul(eg__call *c)
{
    const eg_tensor *a = c->in[0], *b = c->in[1];
    eg__desc *d = &c->desc[0];
    int nd = a->ndim > b->ndim ? a->ndim : b->ndim;
    if (a->ndim < 2 || b->ndim < 2) {
        return eg__fail(EG_ESHAPE, c->op->name, "needs matrices: %s x %s", EG__SHAPE_OF(a), EG__SHAPE_OF(b));
    }
    if (a->shape[a->ndim - 1] != b->shape[b->ndim - 2]) {
        return eg__fail(EG_ESHAPE, c->op->name, "inner sizes differ: %s x %s", EG__SHAPE_OF(a), EG__SHAPE_OF(b));
    }
    d->dtype = a->dtype;
    d->ndim = (uint8_t)nd;
    for (int i = 0; i < nd - 2; i++) {
        int p = i - (nd - a->ndim), q = i - (nd - b->ndim);
        int64_t s = p < 0 ? 1 : a->shape[p], t = q < 0 ? 1 : b->shape[q];
        if (s != t && s != 1 && t != 1) {
            return eg__fail(EG_ESHAPE, c->op->name, "batch axes do not broadcast: %s x %s", EG__SHAPE_OF(a),
                            EG__SHAPE_OF(b));
        }
        d->shape[i] = s == 1 ? t : s;
    }
    d->shape[nd - 2] = a->shape[a->ndim - 2];
    d->shape[nd - 1] = b->shape[b->ndim - 1];
    d->dense = true;
    return eg__check_shape(c->op->name, nd, d->shape, d->dtype, &d->n);
}

eg_tensor *eg_matmul(eg_tensor *a, eg_tensor *b)
{
    if (eg__check(a, "matmul", "a") || eg__check(b, "matmul", "b")) {
        return NULL;
    }
    if (likely(a->ndim >= 2 && b->ndim >= 2)) {
        return eg__op2(&eg__op_matmul, a, b, NULL);
    }
    if (!a->ndim || !b->ndim) {
        return eg__fail_null(EG_ESHAPE, "matmul", "a 0-dim tensor has no matrix product: %s x %s", EG__SHAPE_OF(a),
                             EG__SHAPE_OF(b));
    }
    /* A vector on the left is a row, on the right a column; the axis goes again afterwards. */
    eg_scope s = eg_scope_push();
    eg_tensor *y =
        eg__op2(&eg__op_matmul, a->ndim == 1 ? eg_unsqueeze(a, 0) : a, b->ndim == 1 ? eg_unsqueeze(b, -1) : b, NULL);
    if (y && b->ndim == 1) {
        y = eg_squeeze(y, EG_AXES(-1));
    }
    if (y && a->ndim == 1) {
        y = eg_squeeze(y, EG_AXES(b->ndim == 1 ? -1 : -2));
    }
    return eg_scope_pop(s, y);
}
