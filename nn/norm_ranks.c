/* norm_ranks.c - batch norm over the batches of all ranks: made of recorded ops and a recorded sum over ranks, so that
 * gradients, which are sums over ranks too, follow by themselves. */
#include <egret/ops.h>

#include "nn/norm.h"

/* ---- a sum over ranks, on a tape ------------------------------------------------------------------- */

static eg_tensor *sum_forward(eg_tensor *const *x, int n, void *user)
{
    (void)n;
    eg_tensor *y = eg_copy(x[0]);
    return y && eg_comm_all_reduce(((eg__batch_norm *)user)->comm, &y, 1, EG_COMM_SUM) == EG_OK ? y : NULL;
}

static eg_tensor *of_ranks(eg__batch_norm *b, eg_tensor *x)
{
    return eg_custom(&b->sum, &x, 1);
}

/* Every rank's y is made of this rank's x. */
static eg_status sum_backward(eg_tensor *const *x, int n, eg_tensor *y, eg_tensor *dy, unsigned needed, eg_tensor **dx,
                              void *user)
{
    (void)x;
    (void)n;
    (void)y;
    (void)needed;
    dx[0] = of_ranks(user, dy);
    return dx[0] ? EG_OK : eg__why();
}

/* ---- the norm -------------------------------------------------------------------------------------- */

/* [C] as one number for each channel of x. */
static eg_tensor *along(eg_tensor *v, const eg_tensor *x)
{
    eg_shape shape = {.ndim = x->ndim};
    for (int d = 0; d < x->ndim; d++) {
        shape.dim[d] = d == 1 ? x->shape[1] : 1;
    }
    return eg_reshape(v, shape);
}

/* Over all axes but the channels'. */
static eg_tensor *sum_per_channel(eg_tensor *x)
{
    eg_reduce_options o = {.size = sizeof o};
    for (int d = 0; d < x->ndim; d++) {
        if (d != 1) {
            o.axes.axis[o.axes.count++] = d;
        }
    }
    return eg_sum_with(x, &o);
}

static eg_status move(eg_tensor *running, eg_tensor *to, double momentum)
{
    eg_tensor *part = running ? eg_mul_scalar(eg_cast(eg_detach(to), (eg_dtype)running->dtype), momentum) : NULL;
    return !running || (part && eg_mul_scalar_(running, 1 - momentum) && eg_add_(running, part)) ? EG_OK : eg__why();
}

/* y of deviations d from the mean, with the variance; and the running numbers. */
static eg_tensor *finished(eg__batch_norm *b, eg_tensor *x, eg_tensor *d, eg_tensor *mean, eg_tensor *var, double count)
{
    const eg_batch_norm_options *o = &b->options;
    const double momentum = eg__or(o->momentum, .1);
    eg_tensor *wide = o->biased ? var : eg_mul_scalar(eg_detach(var), count > 1 ? count / (count - 1) : 0);
    if (!wide || move(b->mean, mean, momentum) || move(b->var, wide, momentum)) {
        return NULL;
    }
    eg_tensor *scale = eg_rsqrt(eg_add_scalar(var, eg__or(o->eps, 1e-5)));
    scale = b->weight ? eg_mul(scale, eg_cast(b->weight, (eg_dtype)d->dtype)) : scale;
    eg_tensor *y = eg_mul(d, along(scale, x));
    y = b->bias ? eg_add(y, along(eg_cast(b->bias, (eg_dtype)d->dtype), x)) : y;
    y = o->relu ? eg_relu(y) : y;
    return eg_cast(y, (eg_dtype)x->dtype);
}

eg_tensor *eg__batch_norm_of_ranks(eg__batch_norm *b, eg_tensor *x)
{
    static const char op[] = "batch_norm";
    if (eg__check(x, op, "x")) {
        return NULL;
    }
    if (x->ndim < 2 || x->shape[1] != b->mean->n || !eg__is_float(x->dtype)) {
        return eg__fail_null(EG_ESHAPE, op, "x is %s %s, must be floats [N, %lld, ...]",
                             eg_dtype_name((eg_dtype)x->dtype), EG__SHAPE_OF(x), (long long)b->mean->n);
    }
    b->sum = (eg_custom_op){sizeof b->sum, "sum over ranks", sum_forward, sum_backward, b};
    eg_tensor *wide = eg_cast(x, x->dtype == EG_F64 ? EG_F64 : EG_F32);
    eg_tensor *sum = wide ? sum_per_channel(wide) : NULL;
    eg_tensor *own = sum ? eg_full_like(eg_slice(eg_detach(sum), 0, 0, 1, 1), (double)(x->n / x->shape[1])) : NULL;
    eg_tensor *all = own ? of_ranks(b, eg_concat((eg_tensor *[]){sum, own}, 2, 0)) : NULL;
    if (!all) {
        return NULL;
    }
    const double count = eg_get(all, b->mean->n);
    if (count == 0) { /* nowhere is anything */
        return eg_copy(x);
    }
    eg_tensor *mean = eg_mul_scalar(eg_slice(all, 0, 0, b->mean->n, 1), 1 / count);
    eg_tensor *d = mean ? eg_sub(wide, along(mean, x)) : NULL;
    eg_tensor *var = d ? eg_mul_scalar(of_ranks(b, sum_per_channel(eg_square(d))), 1 / count) : NULL;
    return var ? finished(b, x, d, mean, var, count) : NULL;
}

/* ---- which ----------------------------------------------------------------------------------------- */

typedef struct setter {
    eg_members walk;
    eg_comm *comm;
} setter;

static void set(eg_members *walk, const eg__member *member)
{
    if (member->kind != EG__CHILD) {
        return;
    }
    eg_module *m = *member->child;
    eg_comm *comm = ((setter *)walk)->comm;
    if (m->kind == &eg__batch_norm_kind) {
        ((eg__batch_norm *)m)->comm = comm;
    }
    eg__members(m, walk);
}

eg_status eg_sync_batch_norm(eg_module *m, eg_comm *comm)
{
    static const char op[] = "eg_sync_batch_norm";
    if (!m) {
        return eg__null_argument(op, "m");
    }
    setter s = {{set, 0}, eg_comm_size(comm) > 1 ? comm : NULL};
    set(&s.walk, &(eg__member){EG__CHILD, "", &m, NULL});
    s.walk.depth = 0;
    return eg__walk_members(m, &s.walk, op);
}
