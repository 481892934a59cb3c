/* matmul.c - matrix products and the linear layer: tensors of any strides as products cuBLASLt
 * knows. */
#include "lib/cuda/matrix/blas.h"
#include "lib/cuda/matrix/matmul_int.h"
#include "lib/ops/options.h"

/* ---- geometry -------------------------------------------------------------------------------- */

/* y[..., m, n] = a[..., m, k] b[..., k, n]: strides in elements, of batch axes 0 where an operand
 * is repeated; the innermost axis first. y is dense. */
typedef struct product {
    int64_t m, n, k, ra, ca, rb, cb;
    int nbatch;
    int64_t batch[EG_MAX_DIMS], sa[EG_MAX_DIMS], sb[EG_MAX_DIMS], sy[EG_MAX_DIMS];
} product;

/* How a matrix of such strides is read: 0 row by row, 1 column by column, `ld` elements apart; -1:
 * it cannot be. */
static int lie(int64_t rows, int64_t columns, int64_t row, int64_t column, int64_t *ld)
{
    if ((column == 1 || columns == 1) && (row >= columns || rows == 1)) {
        *ld = rows == 1 ? columns : row;
        return 0;
    }
    if ((row == 1 || rows == 1) && (column >= rows || columns == 1)) {
        *ld = columns == 1 ? rows : column;
        return 1;
    }
    return -1;
}

static int64_t batch_stride(const eg_tensor *t, int back)
{
    int d = t->ndim - 3 - back;
    return d < 0 || t->shape[d] == 1 ? 0 : t->strides[d];
}

static void add_batch(product *p, int64_t size, int64_t sa, int64_t sb, int64_t sy)
{
    int d = p->nbatch - 1;
    if (size == 1) {
        return;
    }
    if (d >= 0 && sa == p->batch[d] * p->sa[d] && sb == p->batch[d] * p->sb[d]) {
        p->batch[d] *= size;
        return;
    }
    d = p->nbatch++;
    p->batch[d] = size;
    p->sa[d] = sa;
    p->sb[d] = sb;
    p->sy[d] = sy;
}

/* Where all matrices of the innermost axis have b in common they are one of many rows, if rows of a
 * lie evenly. */
static bool merge_rows(product *p)
{
    int64_t row = p->m == 1 ? p->sa[0] : p->ra, ld;
    if (!p->nbatch || p->sb[0] || (p->m > 1 && p->sa[0] != p->m * row) ||
        lie(p->m * p->batch[0], p->k, row, p->ca, &ld) < 0) {
        return false;
    }
    p->ra = row;
    p->m *= p->batch[0];
    p->nbatch--;
    for (int d = 0; d < p->nbatch; d++) {
        p->batch[d] = p->batch[d + 1];
        p->sa[d] = p->sa[d + 1];
        p->sb[d] = p->sb[d + 1];
        p->sy[d] = p->sy[d + 1];
    }
    return true;
}

static product product_of(const eg_tensor *a, const eg_tensor *b, const eg_tensor *y)
{
    int an = a->ndim, bn = b->ndim, yn = y->ndim;
    product p = {.m = y->shape[yn - 2],
                 .n = y->shape[yn - 1],
                 .k = a->shape[an - 1],
                 .ra = a->strides[an - 2],
                 .ca = a->strides[an - 1],
                 .rb = b->strides[bn - 2],
                 .cb = b->strides[bn - 1]};
    int64_t sy = p.m * p.n;
    for (int back = 0; back < yn - 2; back++) {
        int64_t size = y->shape[yn - 3 - back];
        add_batch(&p, size, batch_stride(a, back), batch_stride(b, back), sy);
        sy *= size;
    }
    while (merge_rows(&p)) {
    }
    return p;
}

/* The axis whose matrices are one call, the longest; all others are gone through. */
static int long_axis(const product *p)
{
    int axis = 0;
    for (int d = 1; d < p->nbatch; d++) {
        axis = p->batch[d] > p->batch[axis] ? d : axis;
    }
    return axis;
}

static int64_t calls_of(const product *p)
{
    int64_t calls = 1;
    for (int d = 0; d < p->nbatch; d++) {
        calls *= d == long_axis(p) ? 1 : p->batch[d];
    }
    return calls;
}

/* ---- operands in a form that can be read ----------------------------------------------------- */

static const eg_tensor *dense(const eg__call *c, const eg_tensor *t)
{
    return eg__cuda_dense(c, t, t->ndim, t->shape);
}

static const eg_tensor *readable(const eg__call *c, const eg_tensor *t)
{
    const int64_t *shape = t->shape + t->ndim - 2, *stride = t->strides + t->ndim - 2;
    int64_t ld;
    return lie(shape[0], shape[1], stride[0], stride[1], &ld) < 0 ? dense(c, t) : t;
}

static bool any_zero(const int64_t *strides, int n)
{
    for (int d = 0; d < n; d++) {
        if (!strides[d]) {
            return true;
        }
    }
    return false;
}

/* Copies that save calls: where all matrices have b in common but rows of a do not lie evenly, and
 * where axes that do not merge would make many calls. What is repeated stays as it is. */
static eg_status tidy(const eg__call *c, const eg_tensor **a, const eg_tensor **b, product *p)
{
    enum { COLUMNS = 16, CALLS = 8 };
    bool shared = p->nbatch > 0 && p->n >= COLUMNS, many = calls_of(p) > CALLS;
    for (int d = 0; d < p->nbatch; d++) {
        shared = shared && !p->sb[d];
    }
    bool copy_a = (shared || many) && !((*a)->flags & EG__DENSE) && !any_zero(p->sa, p->nbatch);
    bool copy_b = many && !((*b)->flags & EG__DENSE) && !any_zero(p->sb, p->nbatch);
    if (copy_a && !(*a = dense(c, *a))) {
        return eg__why();
    }
    if (copy_b && !(*b = dense(c, *b))) {
        return eg__why();
    }
    if (copy_a || copy_b) {
        *p = product_of(*a, *b, c->out[0]);
    }
    return EG_OK;
}

/* ---- the product ----------------------------------------------------------------------------- */

/* What is done after it: fused as far as cuBLASLt can, by pointwise kernels otherwise. */
typedef struct after {
    const eg_tensor *bias;
    int act; /* an eg__act */
} after;

static eg_status finish(const eg__call *c, const after *f)
{
    static const uint16_t ops[] = {
        [EG__ACT_RELU] = EG__ID_relu, [EG__ACT_TANH] = EG__ID_tanh,           [EG__ACT_SIGMOID] = EG__ID_sigmoid,
        [EG__ACT_GELU] = EG__ID_gelu, [EG__ACT_GELU_TANH] = EG__ID_gelu_tanh, [EG__ACT_SILU] = EG__ID_silu,
    };
    eg_tensor *y = c->out[0];
    eg_status st = EG_OK;
    if (f->bias) {
        eg_tensor *in[2] = {y, (eg_tensor *)(uintptr_t)f->bias};
        st = eg__run(eg__host_ops()[EG__ID_add], in, 2, NULL, y);
    }
    if (f->act != EG__ACT_NONE && !st) {
        st = eg__run(eg__host_ops()[ops[f->act]], &y, 1, NULL, y);
    }
    return st;
}

static uint64_t address_bits(const eg_tensor *t, const product *p, const int64_t *strides, int axis)
{
    uint64_t bits = (uint64_t)(uintptr_t)eg__ptr(t);
    for (int d = 0; d < p->nbatch; d++) {
        bits |= d == axis ? 0 : (uint64_t)strides[d] * eg__esize(t);
    }
    return bits;
}

static eg__gemm gemm_of(const eg__call *c, const product *p, const eg_tensor *a, const eg_tensor *b, const after *f,
                        bool add)
{
    const eg_tensor *y = c->out[0];
    const int axis = long_axis(p);
    uint64_t bits = address_bits(y, p, p->sy, axis);
    eg__gemm g;
    memset(&g, 0, sizeof g);
    g.m = p->m;
    g.n = p->n;
    g.k = p->k;
    g.a_transposed = lie(p->m, p->k, p->ra, p->ca, &g.lda) == 1;
    g.b_transposed = lie(p->k, p->n, p->rb, p->cb, &g.ldb) == 1;
    g.ldd = p->n;
    g.batch = 1;
    if (p->nbatch) {
        g.batch = (int32_t)p->batch[axis];
        g.step_a = p->sa[axis];
        g.step_b = p->sb[axis];
        g.step_d = p->sy[axis];
    }
    g.dtype = y->dtype;
    g.math = y->dtype == EG_F32 ? c->T->math : EG_MATH_DEFAULT;
    g.add = add;
    g.bias = f->bias != NULL;
    g.relu = f->act == EG__ACT_RELU;
    g.align_a = eg__gemm_align(address_bits(a, p, p->sa, axis));
    g.align_b = eg__gemm_align(address_bits(b, p, p->sb, axis));
    g.align_d = eg__gemm_align(f->bias ? bits | (uint64_t)(uintptr_t)eg__ptr(f->bias) : bits);
    g.ordinal = (uint8_t)eg__cuda_at(c->device)->ordinal;
    return g;
}

static eg_status run_all(const eg__call *c, const product *p, eg__gemm_plan *plan, const eg_tensor *a,
                         const eg_tensor *b, const after *f)
{
    const int axis = long_axis(p);
    const int64_t size = (int64_t)eg__esize(a), calls = calls_of(p);
    const void *bias = f->bias ? eg__ptr(f->bias) : NULL;
    eg__block *work = NULL;
    eg_status st = plan->workspace ? eg__cuda_scratch(c, plan->workspace, &work) : EG_OK;
    for (int64_t i = 0; i < calls && !st; i++) {
        int64_t rest = i, at_a = 0, at_b = 0, at_y = 0;
        for (int d = 0; d < p->nbatch; d++) {
            if (d != axis) {
                int64_t r = rest % p->batch[d];
                rest /= p->batch[d];
                at_a += r * p->sa[d];
                at_b += r * p->sb[d];
                at_y += r * p->sy[d];
            }
        }
        st = eg__gemm_run(c, plan, eg__ptr(a) + at_a * size, eg__ptr(b) + at_b * size, eg__ptr(c->out[0]) + at_y * size,
                          bias, work ? work->data : NULL);
    }
    eg__cuda_scratch_end(work);
    return st;
}

/* EG_ENOKERNEL if cuBLASLt cannot. */
static eg_status attempt(const eg__call *c, const product *p, const eg_tensor *a, const eg_tensor *b, const after *f,
                         bool add)
{
    const eg__gemm g = gemm_of(c, p, a, b, f, add);
    eg__gemm_plan plan;
    eg_status st = eg__gemm_find(c, &g, &plan);
    if (st || !plan.found) {
        return st ? st : eg__gemm_none(c, &g);
    }
    st = run_all(c, p, &plan, a, b, f);
    if (unlikely(st == EG_ENOKERNEL) && (g.bias || g.relu)) {
        eg__gemm_forget(&g);
    }
    return st;
}

static eg_status multiply(const eg__call *c, const eg_tensor *a, const eg_tensor *b, after f, bool add)
{
    const eg_tensor *y = c->out[0];
    if (!y->n) {
        return EG_OK;
    }
    if (!a->shape[a->ndim - 1]) { /* nothing to sum */
        eg_status st =
            add ? EG_OK
                : eg__launched(c, cudaMemsetAsync(eg__ptr(y), 0, (size_t)y->n * eg__esize(y), eg__stream_of(c)));
        return st ? st : finish(c, &f);
    }
    if (!(a = readable(c, a)) || !(b = readable(c, b))) {
        return eg__why();
    }
    product p = product_of(a, b, y);
    eg_status st = tidy(c, &a, &b, &p);
    if (!st && p.nbatch && p.batch[long_axis(&p)] > INT32_MAX) {
        st = eg__fail(EG_ENOKERNEL, c->op->name, "%s are more matrices than cuBLASLt can number", EG__SHAPE_OF(y));
    }
    if (st) {
        return st;
    }
    const eg_error before = c->T->error;
    after left = {.act = f.act == EG__ACT_RELU ? EG__ACT_NONE : f.act};
    st = attempt(c, &p, a, b, &f, add);
    if (st == EG_ENOKERNEL && (f.bias || f.act == EG__ACT_RELU)) {
        c->T->error = before;
        left = f;
        st = attempt(c, &p, a, b, &(after){.act = EG__ACT_NONE}, add);
    }
    return st ? st : finish(c, &left);
}

/* Integers and bools, which cuBLASLt does not multiply. */
static eg_status multiply_int(const eg__call *c)
{
    const eg_tensor *a = c->in[0], *b = c->in[1], *y = c->out[0];
    if (!y->n) {
        return EG_OK;
    }
    const product p = product_of(a, b, y);
    eg__int_product k = {.a = eg__ptr(a),
                         .b = eg__ptr(b),
                         .y = eg__ptr(y),
                         .dtype = y->dtype,
                         .nbatch = p.nbatch,
                         .elements = y->n,
                         .k = p.k,
                         .ra = p.ra,
                         .ca = p.ca,
                         .rb = p.rb,
                         .cb = p.cb,
                         .m = eg__divisor_of(p.m),
                         .n = eg__divisor_of(p.n)};
    for (int d = 0; d < p.nbatch; d++) {
        k.batch[d] = eg__divisor_of(p.batch[d]);
        k.sa[d] = p.sa[d];
        k.sb[d] = p.sb[d];
    }
    return eg__launched(c, eg__launch_matmul_int(&k, eg__stream_of(c)));
}

/* ---- ops ------------------------------------------------------------------------------------- */

eg_status eg__cuda_matmul(const eg__call *c)
{
    const eg__matmul_opts *o = c->opts;
    if (!eg__is_float(c->out[0]->dtype)) {
        return multiply_int(c);
    }
    return multiply(c, c->in[0], c->in[1], (after){.act = EG__ACT_NONE}, o && o->add);
}

eg_status eg__cuda_linear(const eg__call *c)
{
    const eg__linear_opts *o = c->opts;
    const eg_tensor *bias = c->nin > 2 ? c->in[2] : NULL;
    eg_tensor w = *c->in[1];
    w.shape[0] = c->in[1]->shape[1];
    w.shape[1] = c->in[1]->shape[0];
    w.strides[0] = c->in[1]->strides[1];
    w.strides[1] = c->in[1]->strides[0];
    w.flags = eg__layout_flags(2, w.shape, w.strides);
    if (bias && bias->n > 1 && bias->strides[0] != 1 && !(bias = dense(c, bias))) {
        return eg__why();
    }
    return multiply(c, c->in[0], &w, (after){bias, o->act}, false);
}

eg_status eg__cuda_linear_act(const eg__call *c)
{
    return eg__cuda_linear(c);
}
