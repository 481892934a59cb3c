/* scan.c - ops along one axis that keep the shape: running sums and products, differences, softmax. */
#include "lib/ops/infer.h"
#include "lib/ops/options.h"

eg_status eg__infer_scan(eg__call *c)
{
    eg__desc_like(&c->desc[0], c->in[0]);
    c->desc[0].dtype = eg__is_float(c->in[0]->dtype) ? c->in[0]->dtype : EG_I64;
    return EG_OK;
}

/* Values as x lies, and their places beside them. */
eg_status eg__infer_running(eg__call *c)
{
    eg__desc_like(&c->desc[0], c->in[0]);
    c->desc[1] = c->desc[0];
    c->desc[1].dtype = EG_I64;
    return eg__check_shape(c->op->name, c->desc[1].ndim, c->desc[1].shape, EG_I64, &c->desc[1].n);
}

static eg_tensor *along(const eg__op *op, eg_tensor *x, int axis)
{
    if (eg__check(x, op->name, "x")) {
        return NULL;
    }
    int a = eg__line_axis(op->name, x->ndim, axis);
    const eg__scan_opts o = {.axis = a};
    if (a < 0 || likely(x->ndim > 0)) {
        return a < 0 ? NULL : eg__op1(op, x, &o);
    }
    eg_scope s = eg_scope_push();
    eg_tensor *y = eg__op1(op, eg_reshape(x, EG_SHAPE(1)), &o);
    return eg_scope_pop(s, y ? eg_reshape(y, EG_SCALAR) : NULL);
}

eg_tensor *eg_cumsum(eg_tensor *x, int axis)
{
    return along(&eg__op_cumsum, x, axis);
}

eg_tensor *eg_cumprod(eg_tensor *x, int axis)
{
    return along(&eg__op_cumprod, x, axis);
}

/* Of a 0-dim tensor, as a line of one. */
static eg_status run_scalar(const eg__op *op, eg_tensor *x, eg_tensor **made)
{
    eg_scope s = eg_scope_push();
    eg_tensor *line = eg_reshape(x, EG_SHAPE(1));
    eg_status st = line ? eg__dispatch(op, &line, 1, &(eg__scan_opts){.axis = 0}, made) : eg__why();
    for (int j = 0; j < op->nout && !st; j++) {
        made[j] = eg_reshape(made[j], EG_SCALAR);
        st = made[j] ? EG_OK : eg__why();
    }
    if (st) {
        eg_scope_pop(s, NULL);
    } else {
        st = eg_scope_pop_n(s, made, op->nout);
    }
    if (st) {
        made[0] = made[1] = NULL;
    }
    return st;
}

static eg_status running(const eg__op *op, eg_tensor *x, int axis, eg_tensor **values, eg_tensor **indices)
{
    eg_tensor *made[EG__MAX_OUT] = {NULL};
    int a = eg__check(x, op->name, "x") ? -1 : eg__line_axis(op->name, x->ndim, axis);
    eg_status st = a < 0 ? eg__why() : EG_OK;
    if (!st && likely(x->ndim > 0)) {
        st = eg__dispatch(op, &x, 1, &(eg__scan_opts){.axis = a}, made);
    } else if (!st) {
        st = run_scalar(op, x, made);
    }
    *(values ? values : &(eg_tensor *){NULL}) = made[0];
    *(indices ? indices : &(eg_tensor *){NULL}) = made[1];
    return st;
}

eg_status eg_cummax(eg_tensor *x, int axis, eg_tensor **values, eg_tensor **indices)
{
    return running(&eg__op_cummax, x, axis, values, indices);
}

eg_status eg_cummin(eg_tensor *x, int axis, eg_tensor **values, eg_tensor **indices)
{
    return running(&eg__op_cummin, x, axis, values, indices);
}

eg_tensor *eg_softmax(eg_tensor *x, int axis)
{
    return along(&eg__op_softmax, x, axis);
}

eg_tensor *eg_log_softmax(eg_tensor *x, int axis)
{
    return along(&eg__op_log_softmax, x, axis);
}

eg_tensor *eg_diff(eg_tensor *x, int axis)
{
    if (eg__check(x, "diff", "x")) {
        return NULL;
    }
    int a = eg__axis("diff", x->ndim, axis);
    if (a < 0) {
        return NULL;
    }
    if (x->shape[a] == 0) {
        return eg__fail_null(EG_ESHAPE, "diff", "axis %d of %s has no elements", a, EG__SHAPE_OF(x));
    }
    eg_scope s = eg_scope_push();
    return eg_scope_pop(s, eg_sub(eg_slice(x, a, 1, EG_END, 1), eg_slice(x, a, 0, -1, 1)));
}
