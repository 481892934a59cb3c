/* linalg.c - small linear algebra: inference and public functions. */
#include <egret/precision.h>

#include "lib/ops/infer.h"
#include "lib/ops/options.h"

/* ---- inference: public functions have looked at the shapes ----------------------------------------- */

/* Output j: a's batch, then `rows` and `cols`; -1: an axis that is not there. */
static eg_status result(eg__call *c, int j, int dtype, int64_t rows, int64_t cols)
{
    const eg_tensor *a = c->in[0];
    eg__desc *d = &c->desc[j];
    d->dtype = (uint8_t)dtype;
    d->ndim = (uint8_t)(a->ndim - 2);
    memcpy(d->shape, a->shape, sizeof d->shape);
    if (rows >= 0) {
        d->shape[d->ndim++] = rows;
    }
    if (cols >= 0) {
        d->shape[d->ndim++] = cols;
    }
    d->dense = true;
    return eg__check_shape(c->op->name, d->ndim, d->shape, dtype, &d->n);
}

static int64_t rows_of(const eg_tensor *a)
{
    return a->shape[a->ndim - 2];
}

static int64_t cols_of(const eg_tensor *a)
{
    return a->shape[a->ndim - 1];
}

eg_status eg__infer_lu(eg__call *c)
{
    const int64_t n = cols_of(c->in[0]);
    eg_status st = result(c, 0, c->in[0]->dtype, n, n);
    return st ? st : result(c, 1, EG_I32, n, -1);
}

eg_status eg__infer_lu_det(eg__call *c)
{
    eg_status st = EG_OK;
    for (int j = 0; j < 3 && !st; j++) {
        st = result(c, j, c->in[0]->dtype, -1, -1);
    }
    return st;
}

eg_status eg__infer_lu_solve(eg__call *c)
{
    const int64_t n = cols_of(c->in[0]);
    return result(c, 0, c->in[0]->dtype, n, c->nin > 3 ? cols_of(c->in[3]) : n);
}

eg_status eg__infer_triangular_solve(eg__call *c)
{
    return result(c, 0, c->in[0]->dtype, cols_of(c->in[0]), cols_of(c->in[1]));
}

eg_status eg__infer_cholesky(eg__call *c)
{
    return result(c, 0, c->in[0]->dtype, cols_of(c->in[0]), cols_of(c->in[0]));
}

eg_status eg__infer_qr(eg__call *c)
{
    const int64_t m = rows_of(c->in[0]), n = cols_of(c->in[0]);
    eg_status st = result(c, 0, c->in[0]->dtype, m, n);
    return st ? st : result(c, 1, c->in[0]->dtype, n, n);
}

eg_status eg__infer_svd(eg__call *c)
{
    const int dtype = c->in[0]->dtype;
    const int64_t m = rows_of(c->in[0]), n = cols_of(c->in[0]), k = eg__min(m, n);
    eg_status st = result(c, 0, dtype, m, k);
    st = st ? st : result(c, 1, dtype, k, -1);
    return st ? st : result(c, 2, dtype, k, n);
}

eg_status eg__infer_eigh(eg__call *c)
{
    const int64_t n = cols_of(c->in[0]);
    eg_status st = result(c, 0, c->in[0]->dtype, n, -1);
    return st ? st : result(c, 1, c->in[0]->dtype, n, n);
}

/* ---- what is checked and handed out ---------------------------------------------------------------- */

enum { MOST = 1 << 30 }; /* elements of a matrix: kernels count them with int */

/* Autocast brings halves to f32. */
static eg_dtype dtype_of(const eg_tensor *a)
{
    return eg__is_float(a->dtype) && a->dtype != EG_F64 && eg__thread_get()->autocast ? EG_F32 : (eg_dtype)a->dtype;
}

static eg_status matrices(const char *op, const char *name, eg_tensor *a, bool square)
{
    eg_status st = eg__check(a, op, name);
    if (st) {
        return st;
    }
    if (dtype_of(a) != EG_F32 && dtype_of(a) != EG_F64) {
        return eg__fail(EG_EDTYPE, op, "not for dtype %s", eg_dtype_name(dtype_of(a)));
    }
    if (a->ndim < 2 || (square && rows_of(a) != cols_of(a))) {
        return eg__fail(EG_ESHAPE, op, "%s is %s, must be %smatrices [.., %s]", name, EG__SHAPE_OF(a),
                        square ? "square " : "", square ? "n, n" : "m, n");
    }
    if (rows_of(a) > MOST / eg__max(cols_of(a), 1)) {
        return eg__fail(EG_ESHAPE, op, "%s is %s: a matrix has more than 2^30 elements", name, EG__SHAPE_OF(a));
    }
    return EG_OK;
}

/* Ends the scope; the results that are wanted stay. */
static eg_status give(eg_scope s, eg_status st, int n, eg_tensor *const *made, eg_tensor **const *out)
{
    eg_tensor *keep[3] = {NULL, NULL, NULL};
    for (int i = 0; i < n && !st; i++) {
        st = made[i] ? EG_OK : eg__why();
    }
    for (int i = 0; i < n && !st; i++) {
        keep[i] = out[i] ? made[i] : NULL;
    }
    if (st) {
        eg_scope_pop(s, NULL);
        return st;
    }
    st = eg_scope_pop_n(s, keep, n);
    for (int i = 0; i < n && !st; i++) {
        if (out[i]) {
            *out[i] = keep[i];
        }
    }
    return st;
}

static void forget(int n, eg_tensor **const *out)
{
    for (int i = 0; i < n; i++) {
        if (out[i]) {
            *out[i] = NULL;
        }
    }
}

/* ---- by LU ----------------------------------------------------------------------------------------- */

/* in: a, LU, order. */
static eg_status factor(eg_tensor *a, const char *strict, eg_tensor **in)
{
    in[0] = a;
    return eg__dispatch(&eg__op_lu, &a, 1, &(eg__matrix_opts){.strict = strict}, in + 1);
}

static eg_status determinant(eg_tensor *a, bool log, eg_tensor **out)
{
    eg_tensor *in[3];
    eg_status st = factor(a, NULL, in);
    return st ? st : eg__dispatch(&eg__op_lu_det, in, 3, &(eg__matrix_opts){.log = log}, out);
}

eg_tensor *eg_det(eg_tensor *a)
{
    eg_tensor *out[3];
    if (matrices("det", "a", a, true)) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    return eg_scope_pop(s, determinant(a, false, out) ? NULL : out[0]);
}

eg_status eg_slogdet(eg_tensor *a, eg_tensor **sign, eg_tensor **log)
{
    eg_tensor *made[3], **const out[] = {NULL, sign, log};
    forget(3, out);
    eg_status st = matrices("slogdet", "a", a, true);
    if (st) {
        return st;
    }
    eg_scope s = eg_scope_push();
    return give(s, determinant(a, true, made), 3, made, out);
}

eg_tensor *eg_inverse(eg_tensor *a)
{
    eg_tensor *in[3], *y = NULL;
    if (matrices("inverse", "a", a, true)) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    eg_status st = factor(a, "inverse", in);
    st = st ? st : eg__dispatch(&eg__op_lu_solve, in, 3, &(eg__matrix_opts){0}, &y);
    return eg_scope_pop(s, y);
}

/* The batch both broadcast to, for a [.., n, n] and b [.., n, k]. */
static eg_status common(const char *op, const eg_tensor *a, const eg_tensor *b, eg_shape *batch)
{
    batch->ndim = (a->ndim > b->ndim ? a->ndim : b->ndim) - 2;
    bool fits = true;
    for (int i = 0; i < batch->ndim; i++) {
        int p = i - (batch->ndim + 2 - a->ndim), q = i - (batch->ndim + 2 - b->ndim);
        int64_t s = p < 0 ? 1 : a->shape[p], t = q < 0 ? 1 : b->shape[q];
        fits &= s == t || s == 1 || t == 1;
        batch->dim[i] = s == 1 ? t : s;
    }
    if (dtype_of(a) != dtype_of(b)) {
        return eg__fail(EG_EDTYPE, op, "a is %s, b %s", eg_dtype_name(dtype_of(a)), eg_dtype_name(dtype_of(b)));
    }
    if (!fits || rows_of(b) != cols_of(a)) {
        return eg__fail(EG_ESHAPE, op, "a is %s, b %s: needs [.., n, n] and [.., n, k]", EG__SHAPE_OF(a),
                        EG__SHAPE_OF(b));
    }
    return EG_OK;
}

/* t with this batch in front of its last `axes` axes. */
static eg_tensor *spread(eg_tensor *t, eg_shape batch, int axes)
{
    eg_shape s = batch;
    for (int i = 0; t && i < axes; i++) {
        s.dim[s.ndim++] = t->shape[t->ndim - axes + i];
    }
    bool same = t && t->ndim == s.ndim && !memcmp(t->shape, s.dim, (size_t)s.ndim * sizeof *s.dim);
    return eg_contiguous(same ? t : eg_expand(t, s));
}

eg_tensor *eg_solve(eg_tensor *a, eg_tensor *b)
{
    static const char op[] = "solve";
    eg_shape batch;
    if (matrices(op, "a", a, true) || eg__check(b, op, "b")) {
        return NULL;
    }
    bool vectors =
        b->ndim == 1 || (b->ndim == a->ndim - 1 && !memcmp(a->shape, b->shape, (size_t)b->ndim * sizeof *b->shape));
    eg_scope s = eg_scope_push();
    eg_tensor *in[4], *x = NULL;
    eg_tensor *columns = vectors ? eg_unsqueeze(b, -1) : b;
    eg_status st = columns ? matrices(op, "b", columns, false) : eg__why();
    st = st ? st : common(op, a, columns, &batch);
    st = st ? st : factor(a, op, in);
    if (!st) {
        in[0] = spread(in[0], batch, 2);
        in[1] = spread(in[1], batch, 2);
        in[2] = spread(in[2], batch, 1);
        in[3] = spread(columns, batch, 2);
        st = in[3] ? eg__dispatch(&eg__op_lu_solve, in, 4, &(eg__matrix_opts){.columns = true}, &x) : eg__why();
    }
    return eg_scope_pop(s, !st && vectors ? eg_squeeze(x, EG_AXES(-1)) : x);
}

eg_tensor *eg_solve_triangular_with(eg_tensor *a, eg_tensor *b, const eg_solve_triangular_options *options)
{
    static const char op[] = "solve_triangular";
    eg_solve_triangular_options o;
    eg_shape batch;
    eg__options(&o, sizeof o, options);
    if (matrices(op, "a", a, true) || matrices(op, "b", b, false) || common(op, a, b, &batch)) {
        return NULL;
    }
    const eg__matrix_opts m = {.columns = true, .upper = o.upper, .transpose = o.transpose, .unit = o.unit};
    eg_scope s = eg_scope_push();
    return eg_scope_pop(s, eg__op2(&eg__op_triangular_solve, spread(a, batch, 2), spread(b, batch, 2), &m));
}

/* ---- factors --------------------------------------------------------------------------------------- */

eg_tensor *eg_cholesky_with(eg_tensor *a, const eg_cholesky_options *options)
{
    eg_cholesky_options o;
    eg__options(&o, sizeof o, options);
    if (matrices("cholesky", "a", a, true)) {
        return NULL;
    }
    if (!o.upper) {
        return eg__op1(&eg__op_cholesky, a, &(eg__matrix_opts){0});
    }
    eg_scope s = eg_scope_push();
    eg_tensor *l = eg__op1(&eg__op_cholesky, eg_transpose(a, -2, -1), &(eg__matrix_opts){0});
    return eg_scope_pop(s, eg_transpose(l, -2, -1));
}

/* The columns past the m-th of a wide matrix are q^T times themselves. */
static eg_status wide_qr(eg_tensor *a, eg_tensor **made)
{
    const int64_t m = rows_of(a);
    eg_tensor *left = eg_slice(a, -1, 0, m, 1), *right = eg_slice(a, -1, m, EG_END, 1);
    eg_status st = eg__dispatch(&eg__op_qr, &left, 1, &(eg__matrix_opts){0}, made);
    EG_AUTOCAST(EG_F32) { /* none */
        eg_tensor *more = st ? NULL : eg_matmul(eg_transpose(made[0], -2, -1), right);
        made[1] = more ? eg_concat((eg_tensor *[]){made[1], more}, 2, -1) : NULL;
    }
    return st;
}

eg_status eg_qr(eg_tensor *a, eg_tensor **q, eg_tensor **r)
{
    eg_tensor *made[2], **const out[] = {q, r};
    forget(2, out);
    eg_status st = matrices("qr", "a", a, false);
    if (st) {
        return st;
    }
    eg_scope s = eg_scope_push();
    st = rows_of(a) < cols_of(a) ? wide_qr(a, made) : eg__dispatch(&eg__op_qr, &a, 1, &(eg__matrix_opts){0}, made);
    return give(s, st, 2, made, out);
}

eg_status eg_svd(eg_tensor *a, eg_tensor **u, eg_tensor **s, eg_tensor **vh)
{
    eg_tensor *made[3], **const out[] = {u, s, vh};
    forget(3, out);
    eg_status st = matrices("svd", "a", a, false);
    if (st) {
        return st;
    }
    eg_scope scope = eg_scope_push();
    return give(scope, eg__dispatch(&eg__op_svd, &a, 1, &(eg__matrix_opts){0}, made), 3, made, out);
}

eg_status eg_eigh(eg_tensor *a, eg_tensor **w, eg_tensor **v)
{
    eg_tensor *made[2], **const out[] = {w, v};
    forget(2, out);
    eg_status st = matrices("eigh", "a", a, true);
    if (st) {
        return st;
    }
    eg_scope s = eg_scope_push();
    return give(s, eg__dispatch(&eg__op_eigh, &a, 1, &(eg__matrix_opts){0}, made), 2, made, out);
}
