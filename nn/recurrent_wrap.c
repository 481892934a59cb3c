/* recurrent_wrap.c - what is put around one recurrent layer: the sum with x, dropout. */
#include "lib/core/device.h"
#include "lib/ops/optable.h"
#include "nn/nn.h"

static int axis_of_steps(const eg_module *m, const eg_tensor *x)
{
    return eg__rnn_sizes_of(m).batch_first && x->ndim == 3;
}

typedef struct wrapper {
    eg_module base;
    eg_module *rnn;
    eg_rnn_dropout_options o;
} wrapper;

static void wrapper_members(eg_module *m, eg_members *members)
{
    eg_member_child(members, "rnn", &((wrapper *)m)->rnn);
}

static eg__rnn_sizes wrapper_sizes(const eg_module *m)
{
    return eg__rnn_sizes_of(((const wrapper *)m)->rnn);
}

static eg_module *wrap(const eg__rnn_kind *kind, eg_module *rnn)
{
    wrapper *w = eg__check_given(kind->base.name, &rnn, 1) ? NULL : eg_module_new(sizeof *w, &kind->base);
    if (!w) {
        eg__free_given(&rnn, 1);
        return NULL;
    }
    w->rnn = rnn;
    eg_module *m = eg_module_finish(&w->base);
    if (m && eg__rnn_check(kind->base.name, rnn)) {
        eg_module_free(m);
        return NULL;
    }
    return m;
}

/* ---- the sum with x -------------------------------------------------------------------------- */

/* y with zeros in the steps past its rows' ends. */
static eg_tensor *within(eg_tensor *y, eg_tensor *lengths, int axis)
{
    if (!y || !lengths) {
        return y;
    }
    eg_shape steps = {y->ndim, {1, 1, 1}}, rows = steps;
    steps.dim[axis] = y->shape[axis];
    rows.dim[1 - axis] = lengths->n;
    eg_device *device = eg__device(y), *before = eg_use_device(device);
    eg_tensor *step = eg_reshape(eg_arange_int(0, y->shape[axis], 1, EG_I64), steps);
    eg_use_device(before);
    return eg_masked_fill(y, eg_ge(step, eg_reshape(eg_to(lengths, device), rows)), 0);
}

static eg_rnn residual_run(eg_module *m, eg_tensor *x, const eg_rnn_start *s)
{
    eg_rnn r = eg__rnn_run(((wrapper *)m)->rnn, x, s);
    r.y = r.y ? within(eg_add(x, r.y), s->lengths, axis_of_steps(m, x)) : NULL;
    return r;
}

static const eg__rnn_kind residual_kind = {
    {.size = sizeof(eg_module_kind), .name = "rnn_residual", .forward = eg__rnn_y, .members = wrapper_members},
    residual_run,
    wrapper_sizes};

eg_module *eg_rnn_residual_new(eg_module *rnn)
{
    eg_module *m = wrap(&residual_kind, rnn);
    eg__rnn_sizes sizes = m ? eg__rnn_sizes_of(m) : (eg__rnn_sizes){0};
    if (sizes.in != sizes.out) {
        eg__fail(EG_ESHAPE, residual_kind.base.name, "the %s makes %lld columns of %lld: x and y cannot be added",
                 rnn->kind->name, (long long)sizes.out, (long long)sizes.in);
        eg_module_free(m);
        return NULL;
    }
    return m;
}

/* ---- dropout --------------------------------------------------------------------------------- */

static eg_tensor *dropped(const wrapper *w, eg_tensor *x, double p)
{
    if (!w->o.variational || !w->base.training || p == 0) {
        return eg_dropout(x, p, w->base.training);
    }
    eg_shape shape = {x->ndim, {0}};
    memcpy(shape.dim, x->shape, (size_t)x->ndim * sizeof *shape.dim);
    shape.dim[axis_of_steps(&w->base, x)] = 1;
    eg_device *before = eg_use_device(eg__device(x));
    eg_tensor *mask = eg_dropout(eg_ones(shape, (eg_dtype)x->dtype), p, true);
    eg_use_device(before);
    return eg_mul(x, mask);
}

static eg_rnn dropout_run(eg_module *m, eg_tensor *x, const eg_rnn_start *s)
{
    const wrapper *w = (const wrapper *)m;
    eg_rnn r = {dropped(w, x, w->o.input), NULL, NULL};
    r = r.y ? eg__rnn_run(w->rnn, r.y, s) : r;
    r.y = r.y ? dropped(w, r.y, w->o.output) : NULL;
    return r;
}

static const eg__rnn_kind dropout_kind = {
    {.size = sizeof(eg_module_kind), .name = "rnn_dropout", .forward = eg__rnn_y, .members = wrapper_members},
    dropout_run,
    wrapper_sizes};

eg_module *eg_rnn_dropout_new_with(eg_module *rnn, const eg_rnn_dropout_options *given)
{
    eg_rnn_dropout_options o;
    eg__options(&o, sizeof o, given);
    eg_module *m = wrap(&dropout_kind, rnn);
    if (m && !(o.input >= 0 && o.input <= 1 && o.output >= 0 && o.output <= 1)) {
        eg__fail(EG_EINVAL, dropout_kind.base.name, "input is %g, output %g, must be 0..1", o.input, o.output);
        eg_module_free(m);
        return NULL;
    }
    if (m) {
        ((wrapper *)m)->o = o;
    }
    return m;
}
