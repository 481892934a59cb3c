/* attention.c - scaled dot-product attention: as one op on devices, else as products and a softmax. */
#include <math.h>

#include <egret/precision.h>

#include "lib/ops/attention.h"
#include "lib/ops/infer.h"

static const char me[] = "eg_attention";

static eg_status check(const eg_tensor *q, const eg_tensor *k, const eg_tensor *v, const eg_attention_options *o)
{
    const eg_tensor *all[3] = {q, k, v};
    for (int i = 0; i < 3; i++) {
        if (eg__check(all[i], me, (const char *[]){"q", "k", "v"}[i])) {
            return eg__why();
        }
        if (all[i]->ndim < 2) {
            return eg__fail(EG_ESHAPE, me, "%c is %s, must be [..., rows, columns]", "qkv"[i], EG__SHAPE_OF(all[i]));
        }
    }
    if (q->shape[q->ndim - 1] != k->shape[k->ndim - 1] || k->shape[k->ndim - 2] != v->shape[v->ndim - 2]) {
        return eg__fail(EG_ESHAPE, me, "q %s, k %s, v %s: columns of q and k, rows of k and v must agree",
                        EG__SHAPE_OF(q), EG__SHAPE_OF(k), EG__SHAPE_OF(v));
    }
    if (!(o->dropout >= 0 && o->dropout <= 1) || !isfinite(o->scale)) {
        return eg__fail(EG_EINVAL, me, "dropout is %g, must be 0..1; scale is %g, must be finite", o->dropout,
                        o->scale);
    }
    if (!(o->softcap >= 0) || !isfinite(o->softcap) || o->window < 0 || (unsigned)o->corner > EG_UPPER_LEFT) {
        return eg__fail(EG_EINVAL, me,
                        "softcap is %g, must be finite and not negative; window is %lld, must not be "
                        "negative; corner is %d",
                        o->softcap, (long long)o->window, (int)o->corner);
    }
    if (o->slopes && (eg__check(o->slopes, me, "slopes"))) {
        return eg__why();
    }
    for (int back = 0; o->slopes && back < o->slopes->ndim; back++) {
        const int64_t n = eg__lead_size(o->slopes, back), most = eg__lead_size(q, back + 2);
        if (n != 1 && n != most && (most > 1 || n != eg__lead_size(k, back + 2))) {
            return eg__fail(EG_ESHAPE, me, "slopes is %s, must be [..., heads] of q %s", EG__SHAPE_OF(o->slopes),
                            EG__SHAPE_OF(q));
        }
    }
    if (o->slopes && !eg__is_float(o->slopes->dtype)) {
        return eg__fail(EG_EDTYPE, me, "slopes is %s, must be floats", eg_dtype_name((eg_dtype)o->slopes->dtype));
    }
    return o->mask ? eg__check(o->mask, me, "mask") : EG_OK;
}

/* ---- the rows ---------------------------------------------------------------------------------- */

/* The last axes of the operands, and dtypes. */
static eg_status check_row(const char *op, const eg_tensor *q, const eg_tensor *k, const eg_tensor *v,
                           const eg_tensor *mask)
{
    bool fits = q->ndim >= 2 && k->ndim >= 2 && v->ndim >= 2 && (!mask || mask->ndim >= 2);
    fits = fits && eg__lead_size(q, 0) == eg__lead_size(k, 0) && eg__lead_size(k, 1) == eg__lead_size(v, 1);
    for (int back = 0; mask && fits && back < 2; back++) {
        const int64_t n = eg__lead_size(mask, back);
        fits = n == 1 || n == eg__lead_size(back ? q : k, 1);
    }
    if (!fits) {
        return eg__fail(EG_ESHAPE, op, "q %s, k %s, v %s, mask %s do not go together", EG__SHAPE_OF(q), EG__SHAPE_OF(k),
                        EG__SHAPE_OF(v), mask ? EG__SHAPE_OF(mask) : "none");
    }
    if (k->dtype != q->dtype || v->dtype != q->dtype || (mask && !((EG__FLOATS | EG__D(BOOL)) >> mask->dtype & 1))) {
        return eg__fail(EG_EDTYPE, op, "q, k, v are %s, %s, %s, must be of one dtype; the mask is bool or floats",
                        eg_dtype_name((eg_dtype)q->dtype), eg_dtype_name((eg_dtype)k->dtype),
                        eg_dtype_name((eg_dtype)v->dtype));
    }
    return EG_OK;
}

static eg_status check_slopes(const char *op, const eg_tensor *slopes)
{
    if (slopes && (eg__lead_size(slopes, 0) != 1 || eg__lead_size(slopes, 1) != 1)) {
        return eg__fail(EG_ESHAPE, op, "slopes is %s, must be [..., 1, 1]", EG__SHAPE_OF(slopes));
    }
    return !slopes || eg__is_float(slopes->dtype)
               ? EG_OK
               : eg__fail(EG_EDTYPE, op, "slopes is %s, must be floats", eg_dtype_name((eg_dtype)slopes->dtype));
}

/* Whether the leading axes broadcast. */
static eg_status check_lead(const char *op, const eg__attended *g, const eg_tensor *const *all, int n)
{
    for (int i = 0; i < n; i++) {
        for (int back = 2; all[i] && back < eg__max(all[i]->ndim, g->nbatch + 2); back++) {
            const int64_t size = eg__lead_size(all[i], back);
            if (size != 1 && (back > g->nbatch + 1 || size != g->batch[g->nbatch + 1 - back])) {
                return eg__fail(EG_ESHAPE, op, "leading axes of %s do not broadcast with %s", EG__SHAPE_OF(all[i]),
                                EG__SHAPE_OF(all[0]));
            }
        }
    }
    return EG_OK;
}

void eg__desc_by_rows(eg__desc *d, const eg_tensor *t)
{
    int order[EG_MAX_DIMS];
    const int n = d->ndim - 1;
    int64_t step = d->shape[n];
    d->dense = t->ndim != d->ndim;
    for (int i = 0; i < n && !d->dense; i++) {
        d->dense = t->shape[i] != d->shape[i] || (t->shape[i] > 1 && t->strides[i] <= 0);
        int k = i;
        for (; k > 0 && t->strides[order[k - 1]] < t->strides[i]; k--) {
            order[k] = order[k - 1];
        }
        order[k] = i;
    }
    d->strides[n] = 1;
    for (int i = n; i-- > 0 && !d->dense;) {
        d->strides[order[i]] = step;
        step *= d->shape[order[i]];
    }
}

/* [leading axes, rows, columns], lying as t does if t has these leading axes and rows side by side in some order. */
static eg_status result(const eg__call *c, eg__desc *d, const eg__attended *g, int64_t rows, int64_t columns,
                        const eg_tensor *t)
{
    const int n = g->nbatch + 1;
    d->dtype = t->dtype;
    d->ndim = (uint8_t)(n + 1);
    memcpy(d->shape, g->batch, sizeof d->shape);
    d->shape[n - 1] = rows;
    d->shape[n] = columns;
    eg__desc_by_rows(d, t);
    return eg__check_shape(c->op->name, d->ndim, d->shape, d->dtype, &d->n);
}

static eg_status described(const eg__call *c, eg_tensor *const *in, const eg_tensor *mask, const eg_tensor *slopes,
                           eg__attended *g)
{
    const eg_tensor *all[5] = {in[0], in[1], in[2], mask, slopes};
    eg_status st = check_row(c->op->name, all[0], all[1], all[2], mask);
    st = st ? st : check_slopes(c->op->name, slopes);
    if (!st) {
        *g = eg__attended_of(all[0], all[1], all[2], mask);
        st = check_lead(c->op->name, g, all, 5);
    }
    return st;
}

eg_status eg__infer_attention(eg__call *c)
{
    const eg_tensor *q = c->in[0];
    eg__attended g;
    eg__desc *stats = &c->desc[1];
    eg_status st = described(c, c->in, c->nin > 3 ? c->in[3] : NULL, c->nin > 4 ? c->in[4] : NULL, &g);
    st = st ? st : result(c, &c->desc[0], &g, g.t, g.v, q);
    if (!st) {
        stats->dtype = q->dtype == EG_F64 ? EG_F64 : EG_F32;
        stats->ndim = (uint8_t)(g.nbatch + 1);
        memcpy(stats->shape, g.batch, sizeof stats->shape);
        stats->shape[g.nbatch] = g.t;
        eg__desc_dense(stats);
    }
    return st;
}

eg_status eg__infer_attention_grad(eg__call *c)
{
    eg_tensor *const *in = c->in + 1;
    eg__attended g;
    eg_status st = described(c, in, c->nin > 6 ? c->in[6] : NULL, c->nin > 7 ? c->in[7] : NULL, &g);
    st = st ? st : result(c, &c->desc[0], &g, g.t, g.d, in[0]);
    st = st ? st : result(c, &c->desc[1], &g, g.s, g.d, in[1]);
    return st ? st : result(c, &c->desc[2], &g, g.s, g.v, in[2]);
}

/* ---- as products and a softmax ------------------------------------------------------------------- */

/* What keys the queries see by their places, beside x. */
static eg_tensor *seen_by_place(const eg_tensor *x, const eg__band *b)
{
    const int64_t rows = x->shape[x->ndim - 2], columns = x->shape[x->ndim - 1];
    eg_device *before = eg_use_device(eg_device_of(x));
    eg_tensor *seen = before ? eg_tri(rows, columns, b->high, EG_BOOL) : NULL;
    if (seen && b->low > 1 - rows) {
        seen = eg_logical_and(seen, eg_logical_not(eg_tri(rows, columns, b->low - 1, EG_BOOL)));
    }
    eg_use_device(before);
    return seen;
}

/* What a mask lets through, of one axis or more; NULL: everything, or after a failure. */
static eg_tensor *seen_by_mask(eg_tensor *mask)
{
    if (mask->dtype != EG_BOOL) {
        mask = eg__is_float(mask->dtype) ? eg_ne_scalar(eg_detach(mask), -(double)INFINITY) : NULL;
    }
    return mask && !mask->ndim ? eg_reshape(mask, EG_SHAPE(1)) : mask;
}

/* What is hidden of the scores x, and which rows see nothing: of those nothing is hidden, nor does `added`, a mask of
 * numbers, say so, so that neither they nor their gradients are NaN. */
static eg_status look(eg__attention_parts *p, const eg_tensor *x, eg_tensor *mask, const eg__attention_opts *o,
                      eg_tensor **added)
{
    const int64_t rows = x->shape[x->ndim - 2], columns = x->shape[x->ndim - 1];
    const eg__band b = eg__attention_band(o, rows, columns);
    const bool placed = b.low > 1 - rows || b.high < columns - 1, bools = mask && mask->dtype == EG_BOOL;
    const bool masked = mask && (bools || eg__is_float(mask->dtype));
    eg_tensor *place = placed ? seen_by_place(x, &b) : NULL, *lets = masked ? seen_by_mask(mask) : NULL;
    eg_tensor *all = !placed ? lets : !masked ? place : eg_logical_and(place, lets);
    *added = bools ? NULL : mask;
    if (!placed && !masked) {
        return EG_OK;
    }
    if (masked || b.high < 0 || b.low > columns - rows) {
        p->empty = eg_logical_not(eg_any(all, .axes = EG_AXES(-1), .keepdim = true));
        *added = *added && p->empty ? eg__attention_fill(*added, p->empty, 0) : NULL;
        all = p->empty ? all : NULL;
    }
    if (all && (placed || bools)) {
        eg_tensor *seen = bools ? all : place;
        p->hidden = eg_logical_not(p->empty ? eg_logical_or(seen, p->empty) : seen);
    }
    return !all || ((placed || bools) && !p->hidden) || (mask && !bools && !*added) ? eg__why() : EG_OK;
}

eg_tensor *eg__attention_fill(eg_tensor *x, eg_tensor *where, double value)
{
    return x && where ? eg_where(where, eg_scalar(value, (eg_dtype)x->dtype), x) : x;
}

eg_tensor *eg__attention_nearness(const eg_tensor *x, int64_t t, int64_t s, const eg__attention_opts *o)
{
    const eg_dtype dtype = x->dtype == EG_F64 ? EG_F64 : EG_F32;
    const double from = (double)eg__attention_corner(o, t, s);
    eg_device *before = eg_use_device(eg_device_of(x));
    eg_tensor *queries = before ? eg_arange(from, from + (double)t - 0.5, 1, dtype) : NULL;
    eg_tensor *keys = queries ? eg_arange(0, (double)s - 0.5, 1, dtype) : NULL;
    eg_tensor *apart = keys ? eg_sub(eg_unsqueeze(queries, 1), keys) : NULL;
    eg_use_device(before);
    return apart ? eg_neg(eg_abs(apart)) : NULL;
}

eg__attention_parts eg__attention_compose(eg_tensor *q, eg_tensor *k, eg_tensor *mask, eg_tensor *slopes,
                                          const eg__attention_opts *o)
{
    eg__attention_parts p = {NULL, NULL, NULL, NULL};
    eg_tensor *scores = eg_matmul(eg_mul_scalar(q, o->scale), eg_transpose(k, -1, -2)), *added;
    if (o->softcap > 0) {
        eg_tensor *share = eg_tanh(eg_mul_scalar(scores, 1 / o->softcap));
        p.slope = eg_add_scalar(eg_neg(eg_square(share)), 1);
        scores = p.slope ? eg_mul_scalar(share, o->softcap) : NULL;
    }
    const eg_dtype dtype = scores ? (eg_dtype)scores->dtype : EG_F32;
    if (scores && slopes) { /* halves round what a distance gives too much */
        eg_tensor *near = eg__attention_nearness(q, eg__lead_size(q, 1), eg__lead_size(k, 1), o);
        scores = near ? eg_add(scores, eg_mul(slopes, near)) : NULL;
    }
    if (!scores || look(&p, scores, mask, o, &added)) {
        return p;
    }
    scores = eg__attention_fill(scores, p.hidden, -(double)INFINITY);
    p.weights = eg_cast(eg_softmax(added ? eg_add(scores, added) : scores, -1), dtype);
    return p;
}

/* ---- the public function ------------------------------------------------------------------------- */

/* Whether the row can have them: a mask of the weights' shape, floats all of them. */
static bool fits(const eg_tensor *q, const eg_tensor *k, const eg_tensor *v, const eg_tensor *mask)
{
    bool fit = eg__is_float(q->dtype) && eg__is_float(k->dtype) && eg__is_float(v->dtype);
    fit = fit && (!mask || mask->dtype == EG_BOOL || eg__is_float(mask->dtype));
    for (int back = 0; mask && back < mask->ndim; back++) {
        const int64_t n = eg__lead_size(mask, back), of_q = eg__lead_size(q, back), of_k = eg__lead_size(k, back);
        const int64_t most = back == 0 ? eg__lead_size(k, 1) : back == 1 || of_k == 1 ? of_q : of_k;
        fit = fit && (n == 1 || n == most);
    }
    return fit;
}

/* Autocast is of q, k and v: what a mask adds, -1e9 say, may be more than f16 holds. */
static eg_tensor *fused(eg_tensor *q, eg_tensor *k, eg_tensor *v, eg_tensor *mask, eg_tensor *slopes,
                        eg__attention_opts *o)
{
    const bool floats = mask && mask->dtype != EG_BOOL;
    eg_tensor *in[5] = {q, k, v, floats ? mask : NULL, slopes}, *out[EG__MAX_OUT];
    const eg_dtype low = eg_autocast_dtype(), common = (eg_dtype)eg__common_dtype(in, floats ? 4 : 3);
    for (int i = 0; i < 3; i++) {
        if (!(in[i] = eg_cast(in[i], low != EG_F32 && common != EG_F64 ? low : common))) {
            return NULL;
        }
    }
    for (in[3] = mask; in[3] && in[3]->ndim < 2;) {
        if (!(in[3] = eg_unsqueeze(in[3], 0))) {
            return NULL;
        }
    }
    o->from = eg__thread_get()->random;
    eg_autocast_block as_is = eg_autocast_begin(EG_F32);
    eg_status st = eg__dispatch(&eg__op_attention, in, slopes ? 5 : 4, o, out);
    eg_autocast_end(&as_is);
    if (st) {
        return NULL;
    }
    if (o->dropout > 0) {
        const eg__attended g = eg__attended_of(q, k, k, NULL);
        eg__thread_get()->random.offset += ((uint64_t)(g.batches * g.t * g.s) + 3) / 4;
    }
    return out[0];
}

/* [..., heads] -> [..., heads, 1, 1] */
static eg_tensor *of_matrices(eg_tensor *slopes, const eg_tensor *q)
{
    eg_tensor *s = slopes->ndim ? slopes : eg_unsqueeze(slopes, 0);
    s = s ? eg_cast(s, q->dtype == EG_F64 ? EG_F64 : EG_F32) : NULL;
    return s ? eg_unsqueeze(eg_unsqueeze(s, s->ndim), s->ndim + 1) : NULL;
}

/* Checked; out[1]: the weights, if they are wanted. */
static eg_status attend(eg_tensor *q, eg_tensor *k, eg_tensor *v, const eg_attention_options *o, eg_tensor **out)
{
    const double scale = eg__or(o->scale, 1 / sqrt((double)eg__max(eg_size(q, -1), 1)));
    eg__attention_opts of = {.scale = scale,
                             .dropout = o->dropout,
                             .softcap = o->softcap,
                             .window = o->window,
                             .causal = o->causal,
                             .upper_left = o->corner == EG_UPPER_LEFT,
                             .mask = o->mask != NULL,
                             .slopes = o->slopes != NULL};
    eg_tensor *slopes = o->slopes ? of_matrices(o->slopes, q) : NULL;
    if (o->slopes && !slopes) {
        return eg__why();
    }
    if (!o->weights && fits(q, k, v, o->mask) && !(slopes && q->device)) { /* devices have no kernel with slopes */
        out[0] = fused(q, k, v, o->mask, slopes, &of);
    } else {
        const eg__attention_parts p = eg__attention_compose(q, k, o->mask, slopes, &of);
        out[0] = eg__attention_fill(eg_matmul(eg_dropout(p.weights, o->dropout, true), v), p.empty, 0);
        out[1] = o->weights && out[0] ? eg__attention_fill(p.weights, p.empty, 0) : NULL;
    }
    return !out[0] || (o->weights && !out[1]) ? eg__why() : EG_OK;
}

/* ---- heads in groups ------------------------------------------------------------------------------ */

/* Of how many heads keys and values are, if several of q share each; else 0. */
static int64_t groups_of(const eg_tensor *q, const eg_tensor *k, const eg_tensor *v)
{
    const int64_t heads = eg__lead_size(q, 2), of_k = eg__lead_size(k, 2), of_v = eg__lead_size(v, 2);
    const int64_t n = eg__max(of_k, of_v);
    return n > 1 && n < heads && heads % n == 0 && (of_k == n || of_k == 1) && (of_v == n || of_v == 1) ? n : 0;
}

/* [..., heads, (rest)] -> [..., groups, heads / groups, (rest)], [..., groups, (rest)] -> [..., groups, 1, (rest)];
 * rest: axes behind. What has no axis of heads, or one of another size, stays. */
static eg_tensor *by_groups(eg_tensor *t, int rest, int64_t heads, int64_t groups)
{
    const int at = t->ndim - 1 - rest;
    if (at < 0 || (t->shape[at] != heads && t->shape[at] != groups && t->shape[at] != 1)) {
        return t;
    }
    if (t->shape[at] != heads) {
        return eg_unsqueeze(t, at + 1);
    }
    if (t->ndim == EG_MAX_DIMS) {
        return eg__fail_null(EG_ESHAPE, me, "%s has %d axes, with heads in groups at most %d are possible",
                             EG__SHAPE_OF(t), EG_MAX_DIMS, EG_MAX_DIMS - 1);
    }
    eg_shape s = eg_shape_of(t);
    memmove(&s.dim[at + 2], &s.dim[at + 1], (size_t)rest * sizeof *s.dim);
    s.ndim++;
    s.dim[at] = groups;
    s.dim[at + 1] = heads / groups;
    return eg_reshape(t, s);
}

static eg_status attend_in_groups(eg_tensor *q, eg_tensor *k, eg_tensor *v, const eg_attention_options *given,
                                  int64_t groups, eg_tensor **out)
{
    const int64_t heads = eg__lead_size(q, 2);
    eg_attention_options o = *given;
    eg_tensor *in[3] = {q, k, v};
    for (int i = 0; i < 3; i++) {
        if (!(in[i] = by_groups(in[i], 2, heads, groups))) {
            return eg__why();
        }
    }
    o.mask = o.mask ? by_groups(o.mask, 2, heads, groups) : NULL;
    o.slopes = o.slopes ? by_groups(o.slopes, 0, heads, groups) : NULL;
    eg_status st = !o.mask != !given->mask || !o.slopes != !given->slopes ? eg__why() : EG_OK;
    st = st ? st : attend(in[0], in[1], in[2], &o, out);
    for (int i = 0; i < 2 && !st; i++) {
        out[i] = out[i] ? eg_flatten(out[i], -4, -3) : NULL;
        st = out[i] || (i && !o.weights) ? EG_OK : eg__why();
    }
    return st;
}

eg_tensor *eg_attention_with(eg_tensor *q, eg_tensor *k, eg_tensor *v, const eg_attention_options *given)
{
    eg_attention_options o;
    eg__options(&o, sizeof o, given);
    if (o.weights) {
        *o.weights = NULL;
    }
    if (check(q, k, v, &o)) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *out[2] = {NULL, NULL};
    const int64_t groups = groups_of(q, k, v);
    eg_status st = groups ? attend_in_groups(q, k, v, &o, groups, out) : attend(q, k, v, &o, out);
    if (eg_scope_pop_n(s, out, 2) || st) {
        return NULL;
    }
    if (o.weights) {
        *o.weights = out[1];
    }
    return out[0];
}

/* For heads that are no power of 2: those of the power below, then every second one of the power above. */
eg_tensor *eg_alibi_slopes(int64_t heads, eg_dtype dtype)
{
    static const char op[] = "eg_alibi_slopes";
    enum { MOST = 4096 };
    double slope[MOST];
    int64_t whole = 1;
    if (heads < 1 || heads > MOST) {
        return eg__fail_null(EG_EINVAL, op, "heads is %lld, must be 1..%d", (long long)heads, MOST);
    }
    if ((unsigned)dtype >= EG_DTYPE_COUNT || !eg__is_float(dtype)) {
        return eg__fail_null(EG_EDTYPE, op, "dtype is %s, must be one of floats", eg_dtype_name(dtype));
    }
    while (2 * whole <= heads) {
        whole *= 2;
    }
    for (int64_t i = 0; i < heads; i++) {
        slope[i] = i < whole ? exp2(-8 * (double)(i + 1) / (double)whole)
                             : exp2(-8 * (double)(2 * (i - whole) + 1) / (double)(2 * whole));
    }
    return eg_from_values(EG_SHAPE(heads), dtype, slope);
}
