/* linalg.c - gradients of small linear algebra: the formulas of include/egret/ops/linalg.h. */
#include "autograd/rules/rules.h"

static eg_tensor *turned(eg_tensor *x)
{
    return eg_transpose(x, -2, -1);
}

/* a^T b */
static eg_tensor *across(eg_tensor *a, eg_tensor *b)
{
    return eg_matmul(turned(a), b);
}

/* A number per matrix, or per column, as a factor of matrices. */
static eg_tensor *factor(eg_tensor *x)
{
    return eg_unsqueeze(eg_unsqueeze(x, -1), -1);
}

static eg_tensor *columns(eg_tensor *x)
{
    return eg_unsqueeze(x, -2);
}

static eg_tensor *rows(eg_tensor *x)
{
    return eg_unsqueeze(x, -1);
}

static eg_tensor *add(eg_tensor *a, eg_tensor *b)
{
    return a ? eg_add(a, b) : b;
}

/* ---- by LU ------------------------------------------------------------------------------------------ */

/* By the entry's a, LU and order; b counts if there are columns. */
static eg_tensor *lu_solve(eg__walk *w, eg_tensor *b, eg__matrix_opts o)
{
    eg_tensor *in[4] = {eg__saved_in(w, 0), eg__saved_in(w, 1), eg__saved_in(w, 2)}, *x;
    in[3] = o.columns ? eg_contiguous(b) : NULL;
    return (o.columns && !in[3]) || eg__dispatch(&eg__op_lu_solve, in, 3 + o.columns, &o, &x) ? NULL : x;
}

eg_status eg__grad_lu_det(eg__walk *w)
{
    eg_tensor *det = eg__dy_or_null(w, 0), *log = eg__dy_or_null(w, 2), *da = NULL;
    if (det) {
        da = eg_mul(factor(det), lu_solve(w, NULL, (eg__matrix_opts){.transpose = true, .adjugate = true}));
    }
    if (log) {
        da = add(da, eg_mul(factor(log), lu_solve(w, NULL, (eg__matrix_opts){.transpose = true})));
    }
    return da || det || log ? eg__give(w, 0, da) : EG_OK;
}

/* x = a^-1, or det(a) a^-1: then dx^T becomes a^-T (dx . a^-1 - dx a^-T) det(a). */
static eg_tensor *inverse_grad(eg__walk *w, const eg__matrix_opts *o, eg_tensor *x, eg_tensor *dx)
{
    if (!o->adjugate) {
        return eg_neg(across(x, eg_matmul(dx, turned(x))));
    }
    eg_tensor *y = lu_solve(w, NULL, (eg__matrix_opts){.transpose = o->transpose});
    eg_tensor *sum = eg_sum(eg_mul(dx, y), .axes = EG_AXES(-2, -1), .keepdim = true);
    return eg_sub(eg_mul(turned(x), sum), across(x, eg_matmul(dx, turned(y))));
}

eg_status eg__grad_lu_solve(eg__walk *w)
{
    const eg__matrix_opts *o = w->opts;
    eg_tensor *dx = eg__dy(w, 0);
    if (!o->columns) {
        eg_tensor *da = inverse_grad(w, o, eg__saved_out(w, 0), dx);
        return eg__give(w, 0, o->transpose ? turned(da) : da);
    }
    eg_tensor *db = lu_solve(w, dx, (eg__matrix_opts){.columns = true, .transpose = !o->transpose});
    if (eg__needs(w, 0)) {
        eg_tensor *x = eg__saved_out(w, 0);
        eg__give(w, 0, eg_neg(o->transpose ? eg_matmul(x, turned(db)) : eg_matmul(db, turned(x))));
    }
    return eg__needs(w, 3) ? eg__give(w, 3, db) : w->status;
}

eg_status eg__grad_triangular_solve(eg__walk *w)
{
    const eg__matrix_opts *o = w->opts;
    eg_tensor *db = eg_solve_triangular(eg__saved_in(w, 0), eg__dy(w, 0), .upper = o->upper, .transpose = !o->transpose,
                                        .unit = o->unit);
    if (eg__needs(w, 0)) {
        eg_tensor *x = eg__saved_out(w, 0);
        eg_tensor *da = eg_neg(o->transpose ? eg_matmul(x, turned(db)) : eg_matmul(db, turned(x)));
        eg__give(w, 0, o->upper ? eg_triu(da, o->unit) : eg_tril(da, -o->unit));
    }
    return eg__needs(w, 1) ? eg__give(w, 1, db) : w->status;
}

/* ---- factors ---------------------------------------------------------------------------------------- */

/* The symmetric matrix with x's lower triangle. */
static eg_tensor *mirrored(eg_tensor *x)
{
    return eg_add(eg_tril(x, 0), turned(eg_tril(x, -1)));
}

eg_status eg__grad_cholesky(eg__walk *w)
{
    eg_tensor *l = eg__saved_out(w, 0);
    eg_tensor *p = eg_solve_triangular(l, mirrored(across(l, eg__dy(w, 0))), .transpose = true);
    eg_tensor *da = eg_solve_triangular(l, turned(p), .transpose = true);
    return eg__give(w, 0, eg_mul_scalar(da, 0.5));
}

eg_status eg__grad_qr(eg__walk *w)
{
    eg_tensor *q = eg__saved_out(w, 0), *r = eg__saved_out(w, 1);
    eg_tensor *dq = eg__dy_or_null(w, 0), *dr = eg__dy_or_null(w, 1), *m = NULL;
    if (dr) {
        m = eg_matmul(r, turned(dr));
    }
    if (dq) {
        m = add(m, eg_neg(across(dq, q)));
    }
    eg_tensor *b = eg_matmul(q, mirrored(m));
    b = dq ? eg_add(dq, b) : b;
    return eg__give(w, 0, turned(eg_solve_triangular(r, turned(b), .upper = true)));
}

/* 1 / gap where that is not rounding's of numbers of that size, else 0; and so again. */
static eg_tensor *inverse_gap(eg_tensor *gap, eg_tensor *size)
{
    if (!gap || !size) {
        return NULL;
    }
    const eg_dtype t = eg_dtype_of(gap);
    eg_tensor *apart = eg_gt(eg_abs(gap), eg_mul_scalar(size, t == EG_F64 ? 0x1p-49 : 0x1p-20));
    return eg_where(apart, eg_reciprocal(eg_where(apart, gap, eg_scalar(1, t))), eg_scalar(0, t));
}

static eg_tensor *skew(eg_tensor *x)
{
    return eg_sub(x, turned(x));
}

/* What turning the vectors among themselves says of u^T da v. */
static eg_tensor *svd_turns(eg_tensor *u, eg_tensor *s, eg_tensor *vh, eg_tensor *du, eg_tensor *dvh)
{
    eg_tensor *x = du ? eg_mul_scalar(skew(across(u, du)), 0.5) : NULL;
    eg_tensor *y = dvh ? eg_mul_scalar(skew(eg_matmul(vh, turned(dvh))), 0.5) : NULL;
    if ((du && !x) || (dvh && !y)) {
        return NULL;
    }
    eg_tensor *sum = eg_add(columns(s), rows(s));
    eg_tensor *together = x && y ? eg_add(x, y) : x ? x : y;
    eg_tensor *against = x && y ? eg_sub(x, y) : x ? x : eg_neg(y);
    return eg_add(eg_mul(together, inverse_gap(eg_sub(columns(s), rows(s)), sum)),
                  eg_mul(against, inverse_gap(sum, sum)));
}

eg_status eg__grad_svd(eg__walk *w)
{
    eg_tensor *u = eg__saved_out(w, 0), *s = eg__saved_out(w, 1), *vh = eg__saved_out(w, 2);
    eg_tensor *du = eg__dy_or_null(w, 0), *ds = eg__dy_or_null(w, 1), *dvh = eg__dy_or_null(w, 2);
    if (!u || !s || !vh) {
        return eg__give(w, 0, NULL);
    }
    eg_tensor *inner = ds ? eg_diag_embed(ds, 0) : NULL;
    if (ds && !inner) {
        return eg__give(w, 0, NULL);
    }
    if (du || dvh) {
        inner = add(inner, svd_turns(u, s, vh, du, dvh));
    }
    const int64_t m = eg_size(u, -2), n = eg_size(vh, -1);
    eg_tensor *left = eg_matmul(u, inner), *da = NULL;
    if (du && m > n) {
        eg_tensor *off = eg_sub(du, eg_matmul(u, across(u, du)));
        left = eg_add(left, eg_mul(off, columns(inverse_gap(s, s))));
    }
    da = eg_matmul(left, vh);
    if (dvh && m < n) {
        eg_tensor *off = eg_sub(dvh, eg_matmul(eg_matmul(dvh, turned(vh)), vh));
        da = eg_add(da, eg_matmul(u, eg_mul(off, rows(inverse_gap(s, s)))));
    }
    return eg__give(w, 0, da);
}

eg_status eg__grad_eigh(eg__walk *w)
{
    eg_tensor *v = eg__saved_out(w, 1), *value = eg__saved_out(w, 0);
    eg_tensor *dvalue = eg__dy_or_null(w, 0), *dv = eg__dy_or_null(w, 1);
    eg_tensor *inner = dvalue ? eg_diag_embed(dvalue, 0) : NULL;
    if (dvalue && !inner) {
        return eg__give(w, 0, NULL);
    }
    if (dv) {
        eg_tensor *size = eg_abs(value), *gap = eg_sub(columns(value), rows(value));
        eg_tensor *turns = eg_mul(across(v, dv), inverse_gap(gap, eg_add(columns(size), rows(size))));
        inner = add(inner, eg_mul_scalar(eg_add(turns, turned(turns)), 0.5));
    }
    return eg__give(w, 0, eg_matmul(v, eg_matmul(inner, turned(v))));
}
