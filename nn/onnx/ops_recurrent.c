/* ops_recurrent.c - layers that hand a state from place to place, besides those of ops_rnn.c. */
#include <math.h>
#include <string.h>

#include "nn/onnx/ops.h"

/* ---- CausalConvWithState --------------------------------------------------------------------------------- */

static bool has_shape(const eg_tensor *t, eg_shape s)
{
    const eg_shape own = eg_shape_of(t);
    return own.ndim == s.ndim && !memcmp(own.dim, s.dim, (size_t)s.ndim * sizeof *s.dim);
}

/* Each channel by itself, over what was before and what is given; the state is the end of both. */
eg_status eg__onnx_run_causal_conv(eg_onnx_call *c)
{
    static const char *const names[] = {"none", "silu", "swish"};
    eg_tensor *x = eg__onnx_in(c, 0), *weight = eg__onnx_in(c, 1), *bias = eg__onnx_in(c, 2), *past = eg__onnx_in(c, 3);
    const int activation = eg__onnx_choice(c, "activation", names, EG__COUNT(names), 0);
    if (activation < 0) {
        return eg__onnx_why();
    }
    const int64_t n = eg_size(x, 0), channels = eg_size(x, 1), before = eg_size(weight, 2) - 1;
    if (eg_ndim(x) != 3 || eg_ndim(weight) != 3 || before < 0 ||
        !has_shape(weight, EG_SHAPE(channels, 1, before + 1))) {
        return eg__onnx_bad(c, "the input is not [n, channels, places], or the weight not [channels, 1, kernel]");
    }
    if (past && !has_shape(past, EG_SHAPE(n, channels, before))) {
        return eg__onnx_bad(c, "past_state is not [n, channels, kernel - 1]");
    }
    past = past ? past : eg_to(eg_zeros(EG_SHAPE(n, channels, before), eg_dtype_of(x)), eg_device_of(x));
    eg_tensor *both[] = {past, x}, *all = eg_concat(both, 2, 2);
    eg_tensor *y = eg_conv1d(all, weight, bias, .groups = channels);
    eg_status st = eg_onnx_give(c, 0, activation ? eg_silu(y) : y);
    return st ? st : eg_onnx_give(c, 1, eg_slice(all, 2, eg_size(all, 2) - before, EG_END, 1));
}

/* ---- LinearAttention ---------------------------------------------------------------------------------------- */

enum { GATED = 1, CORRECTED = 2 }; /* what there is more than sums of products */

typedef struct linear {
    int64_t n, steps, heads, group, keys, values; /* of queries there are `group` heads for each of keys and values */
    eg_tensor *q, *k, *v, *decay, *beta;          /* a step along axis 0, [n, heads, ...] behind it */
    int rule;
    double scale;
} linear;

/* [n, steps, heads * features] -> [steps, n, heads, rows, columns], of a dtype that sums are exact enough in. */
static eg_tensor *by_steps(const linear *l, eg_tensor *t, int64_t heads, int64_t rows, int64_t columns)
{
    t = eg_permute(eg_reshape(t, EG_SHAPE(l->n, l->steps, heads, rows, columns)), EG_AXES(1, 0, 2, 3, 4));
    return eg_cast(t, eg_dtype_of(t) == EG_F64 ? EG_F64 : EG_F32);
}

static bool is_packed(const linear *l, const eg_tensor *t, int64_t features)
{
    return has_shape(t, EG_SHAPE(l->n, l->steps, features));
}

static eg_status read_gates(const eg_onnx_call *c, linear *l)
{
    eg_tensor *decay = eg__onnx_in(c, 4), *beta = eg__onnx_in(c, 5);
    if (!decay != !(l->rule & GATED) || !beta != !(l->rule & CORRECTED)) {
        return eg__onnx_bad(c, "decay or beta is missing, or there for an update_rule without it");
    }
    if (decay) {
        const bool each = is_packed(l, decay, l->heads * l->keys);
        if (!each && !is_packed(l, decay, l->heads)) {
            return eg__onnx_bad(c, "decay has neither a number for each head nor one for each feature of its keys");
        }
        l->decay = eg_exp(by_steps(l, decay, l->heads, each ? l->keys : 1, 1));
    }
    if (beta) {
        const int64_t heads = is_packed(l, beta, 1) ? 1 : l->heads;
        if (!is_packed(l, beta, heads)) {
            return eg__onnx_bad(c, "beta has neither one number nor one for each head");
        }
        l->beta = by_steps(l, beta, heads, 1, 1);
    }
    return EG_OK;
}

static eg_status read_linear(const eg_onnx_call *c, linear *l)
{
    static const char *const rules[] = {"linear", "gated", "delta", "gated_delta"};
    eg_tensor *q = eg__onnx_in(c, 0), *k = eg__onnx_in(c, 1), *v = eg__onnx_in(c, 2), *past = eg__onnx_in(c, 3);
    const int64_t queries = eg_onnx_int(c, "q_num_heads", 0), heads = eg_onnx_int(c, "kv_num_heads", 0);
    *l = (linear){.n = eg_size(q, 0), .steps = eg_size(q, 1), .heads = heads};
    l->rule = eg__onnx_choice(c, "update_rule", rules, EG__COUNT(rules), GATED | CORRECTED);
    if (l->rule < 0) {
        return eg__onnx_why();
    }
    if (queries < 1 || heads < 1 || queries % heads || eg_ndim(q) != 3 || eg_ndim(v) != 3 || eg_size(q, 2) % queries ||
        eg_size(v, 2) % heads) {
        return eg__onnx_bad(c, "q_num_heads is no multiple of kv_num_heads, or features are none of heads");
    }
    l->group = queries / heads;
    l->keys = eg_size(q, 2) / queries;
    l->values = eg_size(v, 2) / heads;
    if (!is_packed(l, k, heads * l->keys) || !is_packed(l, v, heads * l->values) ||
        (past && !has_shape(past, EG_SHAPE(l->n, heads, l->keys, l->values)))) {
        return eg__onnx_bad(c, "queries, keys, values and the state do not fit each other");
    }
    const double scale = eg_onnx_float(c, "scale", 0);
    l->scale = scale != 0 ? scale : 1 / sqrt((double)eg__max(l->keys, 1));
    l->q = by_steps(l, q, heads, l->group, l->keys);
    l->k = by_steps(l, k, heads, l->keys, 1);
    l->v = by_steps(l, v, heads, 1, l->values);
    eg_status st = l->q && l->k && l->v ? EG_OK : eg__onnx_why();
    return st ? st : read_gates(c, l);
}

static eg_tensor *at(eg_tensor *t, int64_t step)
{
    return eg_select(t, 0, step);
}

/* The state [n, heads, keys, values] behind one more place. With CORRECTED what is stored for the key is replaced. */
static eg_tensor *next_state(const linear *l, eg_tensor *state, int64_t step)
{
    eg_tensor *k = at(l->k, step), *v = at(l->v, step);
    if (l->rule & GATED) {
        state = eg_mul(state, at(l->decay, step));
    }
    if (l->rule & CORRECTED) {
        v = eg_mul(eg_sub(v, eg_matmul(eg_transpose(k, 2, 3), state)), at(l->beta, step));
    }
    return eg_add(state, eg_mul(k, v));
}

/* One place: `state` is kept, and `y` what comes out. */
static eg_status take_step(const linear *l, int64_t step, eg_tensor **state, eg_tensor **y)
{
    eg_scope s = eg_scope_push();
    eg_tensor *next = s.depth ? eg_keep(next_state(l, *state, step)) : NULL;
    *y = next ? eg_keep(eg_mul_scalar(eg_matmul(at(l->q, step), next), l->scale)) : NULL;
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    if (!*y) {
        eg_release(next);
        return eg__onnx_why();
    }
    eg_release(*state);
    *state = next;
    return EG_OK;
}

/* What comes out of all places, [n, steps, heads * group * values]. */
static eg_tensor *packed(const linear *l, eg_tensor **ys, eg_dtype dtype)
{
    const eg_shape flat = EG_SHAPE(l->n, l->steps, l->heads * l->group * l->values);
    if (!l->steps) {
        return eg_to(eg_zeros(flat, dtype), eg_device_of(l->q));
    }
    return eg_cast(eg_reshape(eg_stack(ys, (int)l->steps, 1), flat), dtype);
}

eg_status eg__onnx_run_linear_attention(eg_onnx_call *c)
{
    linear l;
    eg_tensor *past = eg__onnx_in(c, 3);
    const eg_dtype dtype = eg_dtype_of(eg__onnx_in(c, 0)), kept = past ? eg_dtype_of(past) : dtype;
    if (read_linear(c, &l)) {
        return eg__onnx_why();
    }
    const eg_shape shape = EG_SHAPE(l.n, l.heads, l.keys, l.values);
    eg_tensor *state =
        eg_keep(past ? eg_cast(past, eg_dtype_of(l.q)) : eg_to(eg_zeros(shape, eg_dtype_of(l.q)), eg_device_of(l.q)));
    eg_tensor **ys = eg__onnx_scratch(l.steps, sizeof *ys);
    eg_status st = ys && state ? EG_OK : eg__onnx_why();
    int64_t done = 0;
    for (; done < l.steps && !st; done += !st) {
        st = take_step(&l, done, &state, &ys[done]);
    }
    st = st ? st : eg_onnx_give(c, 0, packed(&l, ys, dtype));
    st = st ? st : eg_onnx_give(c, 1, eg_cast(eg_scope_adopt(eg_keep(state)), kept));
    for (int64_t i = 0; i < done; i++) {
        eg_release(ys[i]);
    }
    eg_release(state);
    return st;
}
