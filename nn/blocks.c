/* blocks.c - blocks of several layers: separable convolutions, gates over channels, positions. */
#include <math.h>

#include "lib/core/device.h"
#include "lib/ops/optable.h"
#include "nn/nn.h"

/* ---- separable convolutions -------------------------------------------------------------------- */

eg_module *eg_separable_conv2d_new_with(int64_t in, int64_t out, int64_t multiplier, const eg_conv_layer_options *given)
{
    static const char op[] = "separable_conv2d";
    eg_conv_layer_options o;
    eg__options(&o, sizeof o, given);
    if (o.groups || multiplier < 1 || in < 1 || multiplier > INT64_MAX / in) {
        return eg__fail_null(EG_EINVAL, op,
                             "%lld groups, %lld channels times %lld: no groups, at least 1 of the others",
                             (long long)o.groups, (long long)in, (long long)multiplier);
    }
    eg_conv_layer_options each = o;
    each.size = sizeof each;
    each.groups = in;
    each.no_bias = true;
    eg_module *depthwise = eg_conv2d_new_with(in, in * multiplier, &each);
    eg_module *pointwise =
        depthwise ? eg_conv2d_new(in * multiplier, out, .kernel = 1, .no_bias = o.no_bias, .dtype = o.dtype) : NULL;
    return eg_sequential_new(eg_named("depthwise", depthwise), eg_named("pointwise", pointwise));
}

/* ---- squeeze and excite ------------------------------------------------------------------------ */

typedef struct squeeze_excite {
    eg_module base;
    eg_module *fc1, *fc2;
    eg_tensor *(*activation)(eg_tensor *x);
    eg_tensor *(*gate)(eg_tensor *x);
} squeeze_excite;

static eg_tensor *squeeze_excite_forward(eg_module *m, eg_tensor *x)
{
    squeeze_excite *s = (squeeze_excite *)m;
    eg_tensor *mean = eg_mean(x, .axes = EG_AXES(-2, -1), .keepdim = true);
    eg_tensor *hidden = s->activation(eg_module_forward(s->fc1, mean));
    return eg_mul(x, s->gate(eg_module_forward(s->fc2, hidden)));
}

static void squeeze_excite_members(eg_module *m, eg_members *members)
{
    squeeze_excite *s = (squeeze_excite *)m;
    eg_member_child(members, "fc1", &s->fc1);
    eg_member_child(members, "fc2", &s->fc2);
}

static const eg_module_kind squeeze_excite_kind = {.size = sizeof(eg_module_kind),
                                                   .name = "squeeze_excite",
                                                   .forward = squeeze_excite_forward,
                                                   .members = squeeze_excite_members};

eg_module *eg_squeeze_excite_new_with(int64_t channels, int64_t squeezed, const eg_squeeze_excite_options *given)
{
    eg_squeeze_excite_options o;
    eg__options(&o, sizeof o, given);
    squeeze_excite *s = eg_module_new(sizeof *s, &squeeze_excite_kind);
    if (!s) {
        return NULL;
    }
    s->activation = o.activation ? o.activation : eg_relu;
    s->gate = o.gate ? o.gate : eg_sigmoid;
    s->fc1 = eg_conv2d_new(channels, squeezed, .kernel = 1);
    s->fc2 = s->fc1 ? eg_conv2d_new(squeezed, channels, .kernel = 1) : NULL;
    return eg_module_finish(&s->base);
}

/* ---- positions --------------------------------------------------------------------------------- */

typedef struct sinusoidal {
    eg_module base;
    bool halves;
    double longest;
} sinusoidal;

/* [T, width]: sines and cosines of t / longest^(2 i / width), t from `start` on. */
static eg_tensor *waves(const sinusoidal *s, const eg_tensor *x, int64_t start)
{
    const int64_t steps = x->shape[1], half = x->shape[2] / 2;
    const eg_dtype dtype = x->dtype == EG_F64 ? EG_F64 : EG_F32;
    eg_device *before = eg_use_device(eg__device(x));
    double step = half > 1 ? log(s->longest) / (s->halves ? (double)(half - 1) : (double)half) : 0;
    eg_tensor *rates = eg_exp(eg_mul_scalar(eg_arange(0, (double)half, 1, dtype), -step));
    eg_tensor *angles =
        eg_mul(eg_reshape(eg_arange((double)start, (double)(start + steps), 1, dtype), EG_SHAPE(steps, 1)), rates);
    eg_use_device(before);
    eg_tensor *both[2] = {eg_sin(angles), eg_cos(angles)};
    eg_tensor *all = s->halves ? eg_concat(both, 2, 1) : eg_stack(both, 2, 2);
    return eg_cast(eg_reshape(all, EG_SHAPE(steps, 2 * half)), (eg_dtype)x->dtype);
}

static eg_tensor *sinusoidal_from(eg_module *m, eg_tensor *x, int64_t start)
{
    if (x->ndim != 3 || x->shape[2] % 2 || !eg__is_float(x->dtype)) {
        return eg__fail_null(EG_ESHAPE, m->kind->name, "x %s %s must be floats [N, T, width], the width even",
                             eg_dtype_name((eg_dtype)x->dtype), EG__SHAPE_OF(x));
    }
    return eg_add(x, waves((sinusoidal *)m, x, start));
}

static eg_tensor *sinusoidal_forward(eg_module *m, eg_tensor *x)
{
    return eg__check(x, m->kind->name, "x") ? NULL : sinusoidal_from(m, x, 0);
}

static const eg_module_kind sinusoidal_kind = {
    .size = sizeof(eg_module_kind), .name = "sinusoidal_positions", .forward = sinusoidal_forward};

eg_module *eg_sinusoidal_positions_new_with(const eg_positions_options *given)
{
    eg_positions_options o;
    eg__options(&o, sizeof o, given);
    o.longest = o.longest == 0 ? 10000 : o.longest;
    if (!(o.longest >= 1 && isfinite(o.longest))) {
        return eg__fail_null(EG_EINVAL, sinusoidal_kind.name, "longest is %g, must be finite and at least 1",
                             o.longest);
    }
    sinusoidal *s = eg_module_new(sizeof *s, &sinusoidal_kind);
    if (s) {
        s->halves = o.halves;
        s->longest = o.longest;
    }
    return s ? &s->base : NULL;
}

typedef struct learned {
    eg_module base;
    eg_tensor *weight;
} learned;

static eg_tensor *learned_from(eg_module *m, eg_tensor *x, int64_t start)
{
    learned *l = (learned *)m;
    const int64_t count = l->weight->shape[0];
    if (x->ndim != 3 || start > count || x->shape[1] > count - start || x->shape[2] != l->weight->shape[1]) {
        return eg__fail_null(EG_ESHAPE, m->kind->name,
                             "x %s does not fit [N, T, width] with T rows of %s, from row %lld", EG__SHAPE_OF(x),
                             EG__SHAPE_OF(l->weight), (long long)start);
    }
    return eg_add(x, eg_slice(l->weight, 0, start, start + x->shape[1], 1));
}

static eg_tensor *learned_forward(eg_module *m, eg_tensor *x)
{
    return eg__check(x, m->kind->name, "x") ? NULL : learned_from(m, x, 0);
}

static void learned_members(eg_module *m, eg_members *members)
{
    eg_member_parameter(members, "weight", &((learned *)m)->weight);
}

static const eg_module_kind learned_kind = {.size = sizeof(eg_module_kind),
                                            .name = "learned_positions",
                                            .forward = learned_forward,
                                            .members = learned_members};

eg_module *eg_learned_positions_new(int64_t count, int64_t width)
{
    if (count < 1 || width < 1) {
        return eg__fail_null(EG_EINVAL, learned_kind.name, "%lld positions of width %lld: at least 1 of each",
                             (long long)count, (long long)width);
    }
    learned *l = eg_module_new(sizeof *l, &learned_kind);
    if (!l) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    l->weight = eg_parameter(eg_normal(EG_SHAPE(count, width), 0, 0.02, EG_F32));
    eg_scope_pop(s, NULL);
    return eg_module_finish(&l->base);
}

eg_tensor *eg_positions_forward(eg_module *m, eg_tensor *x, int64_t start)
{
    static const char op[] = "eg_positions_forward";
    if (!m) {
        return eg__null_argument(op, "m"), NULL;
    }
    const bool learns = m->kind == &learned_kind;
    if ((!learns && m->kind != &sinusoidal_kind) || start < 0) {
        return eg__fail_null(EG_EINVAL, op, "a %s from step %lld: must be positions, from 0 on", m->kind->name,
                             (long long)start);
    }
    if (eg__check(x, op, "x")) {
        return NULL;
    }
    eg__observed seen = eg__observe_begin(m);
    eg_scope s = eg_scope_push();
    eg_tensor *y = !s.depth ? NULL : learns ? learned_from(m, x, start) : sinusoidal_from(m, x, start);
    y = s.depth ? eg_scope_pop(s, y) : NULL;
    eg__observe_end(&seen, y);
    return y;
}
