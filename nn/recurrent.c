/* recurrent.c - LSTM and GRU layers: the ops of ops/rnn.h layer by layer, one or both ways; and how all modules that
 * have states are called. */
#include <math.h>

#include <egret/nn/recurrent.h>

#include "lib/ops/optable.h"
#include "nn/nn.h"

/* One direction of one layer. */
typedef struct lane {
    eg_tensor *w_ih, *w_hh, *b_ih, *b_hh, *w_hr;
} lane;

typedef struct rnn {
    eg_module base;
    eg_rnn_layer_options o;
    int64_t hidden;
    int directions;
    lane lanes[];
} rnn;

static const eg__rnn_kind lstm_kind, gru_kind;

static bool is_lstm(const rnn *r)
{
    return r->base.kind == &lstm_kind.base;
}

static eg__rnn_sizes sizes_of(const eg_module *m)
{
    const rnn *r = (const rnn *)m;
    int64_t h = r->o.projection ? r->o.projection : r->hidden;
    return (eg__rnn_sizes){.in = r->lanes[0].w_ih->shape[1],
                           .out = r->directions * h,
                           .states = (int64_t)r->o.layers * r->directions,
                           .h = h,
                           .c = is_lstm(r) ? r->hidden : 0,
                           .batch_first = r->o.batch_first};
}

/* ---- one layer ------------------------------------------------------------------------------- */

static eg_tensor *state_of(eg_tensor *states, int i)
{
    return states ? eg_select(states, 0, i) : NULL;
}

static eg_rnn run_lane(const rnn *r, int i, eg_tensor *x, const eg_rnn_start *s)
{
    const lane *l = &r->lanes[i];
    eg_tensor *h0 = state_of(s->h0, i), *c0 = state_of(s->c0, i);
    eg_tensor *w_hh = eg_dropout(l->w_hh, r->o.weight_dropout, r->base.training);
    bool reverse = (i % r->directions == 1) != s->reverse;
    if ((s->h0 && !h0) || (s->c0 && !c0)) {
        return (eg_rnn){NULL, NULL, NULL};
    }
    if (!is_lstm(r)) {
        return eg_gru(x, l->w_ih, w_hh, .h0 = h0, .b_ih = l->b_ih, .b_hh = l->b_hh, .lengths = s->lengths,
                      .batch_first = r->o.batch_first, .reverse = reverse, .reset_before = r->o.reset_before);
    }
    return eg_lstm(x, l->w_ih, w_hh, .h0 = h0, .c0 = c0, .b_ih = l->b_ih, .b_hh = l->b_hh, .w_hr = l->w_hr,
                   .lengths = s->lengths, .clip = r->o.clip, .batch_first = r->o.batch_first, .reverse = reverse);
}

/* y, and h and c with an axis for the directions in front. */
static eg_rnn run_layer(const rnn *r, int layer, eg_tensor *x, const eg_rnn_start *s)
{
    eg_rnn a = run_lane(r, layer * r->directions, x, s);
    if (r->directions == 2) {
        return eg_rnn_join(a, run_lane(r, layer * 2 + 1, x, s));
    }
    if (a.y) {
        a.h = eg_unsqueeze(a.h, 0);
        a.c = a.c ? eg_unsqueeze(a.c, 0) : NULL;
    }
    return a;
}

/* ---- all layers ------------------------------------------------------------------------------ */

/* The states of all layers as one tensor. */
static eg_tensor *gather(eg_tensor *const *parts, int n)
{
    return n == 1 ? parts[0] : eg_concat(parts, n, 0);
}

enum { MOST_LAYERS = 64 };

static eg_rnn run_layers(eg_module *m, eg_tensor *x, const eg_rnn_start *s)
{
    const rnn *r = (const rnn *)m;
    eg_tensor *h[MOST_LAYERS] = {NULL}, *c[MOST_LAYERS] = {NULL};
    eg_rnn out = {x, NULL, NULL};
    for (int i = 0; i < r->o.layers; i++) {
        eg_tensor *in = i ? eg_dropout(out.y, r->o.dropout, r->base.training) : x;
        out = run_layer(r, i, in, s);
        if (!out.y || !out.h) {
            return (eg_rnn){NULL, NULL, NULL};
        }
        h[i] = out.h;
        c[i] = out.c;
    }
    out.h = gather(h, r->o.layers);
    out.c = out.c ? gather(c, r->o.layers) : NULL;
    return out;
}

/* ---- every module with states ---------------------------------------------------------------- */

const eg__rnn_kind *eg__rnn_kind_of(const eg_module *m)
{
    return m->kind->forward == eg__rnn_y ? (const eg__rnn_kind *)m->kind : NULL;
}

eg_status eg__rnn_check(const char *op, const eg_module *m)
{
    return eg__rnn_kind_of(m)
               ? EG_OK
               : eg__fail(EG_EINVAL, op, "a %s is no recurrent layer, nor made of such whose states are of one size",
                          m->kind->name);
}

eg__rnn_sizes eg__rnn_sizes_of(const eg_module *m)
{
    return eg__rnn_kind_of(m)->sizes(m);
}

static eg_status check_states(const char *op, eg__rnn_sizes sizes, const eg_rnn_start *s, bool alone)
{
    eg_tensor *given[2] = {s->h0, s->c0};
    if (s->c0 && !sizes.c) {
        return eg__fail(EG_EINVAL, op, "c0 is for an lstm");
    }
    for (int i = 0; i < 2; i++) {
        if (given[i] && eg__check(given[i], op, i ? "c0" : "h0")) {
            return eg__why();
        }
        if (given[i] && (given[i]->ndim != (alone ? 2 : 3) || given[i]->shape[0] != sizes.states)) {
            return eg__fail(EG_ESHAPE, op,
                            "%s is %s, must be [%lld, %ssize]: layers x directions in "
                            "front",
                            i ? "c0" : "h0", EG__SHAPE_OF(given[i]), (long long)sizes.states, alone ? "" : "N, ");
        }
    }
    return EG_OK;
}

static eg_rnn run(eg_module *m, eg_tensor *x, const eg_rnn_start *start)
{
    const eg_rnn failed = {NULL, NULL, NULL};
    const eg__rnn_kind *kind = eg__rnn_kind_of(m);
    const eg__rnn_sizes sizes = kind->sizes(m);
    eg_rnn_start s;
    eg__options(&s, sizeof s, start);
    s.size = sizeof s; /* so that modules inside are told all of it, also by a caller whose struct is shorter */
    if (eg__check(x, kind->base.name, "x") || check_states(kind->base.name, sizes, &s, x->ndim == 2)) {
        return failed;
    }
    eg_scope scope = eg_scope_push();
    eg_rnn out = scope.depth ? kind->run(m, x, &s) : failed;
    eg_tensor *results[3] = {out.y, out.h, out.c};
    bool whole = !eg_scope_pop_n(scope, results, 3) && out.y && out.h && (out.c || !sizes.c);
    return whole ? out : failed;
}

eg_rnn eg__rnn_run(eg_module *m, eg_tensor *x, const eg_rnn_start *start)
{
    eg__observed seen = eg__observe_begin(m);
    eg_rnn out = run(m, x, start);
    eg__observe_end(&seen, out.y);
    return out;
}

eg_tensor *eg__rnn_y(eg_module *m, eg_tensor *x)
{
    return run(m, x, NULL).y;
}

eg_rnn eg_rnn_forward_with(eg_module *m, eg_tensor *x, const eg_rnn_start *start)
{
    static const char op[] = "eg_rnn_forward";
    const eg_rnn failed = {NULL, NULL, NULL};
    if (!m) {
        return eg__null_argument(op, "m"), failed;
    }
    return eg__rnn_check(op, m) ? failed : eg__rnn_run(m, x, start);
}

/* ---- members --------------------------------------------------------------------------------- */

static bool has_b_hh(const rnn *r)
{
    return !r->o.no_bias && !r->o.reset_before && !r->o.one_bias;
}

static void rnn_members(eg_module *m, eg_members *members)
{
    rnn *r = (rnn *)m;
    for (int i = 0; i < r->o.layers * r->directions; i++) {
        lane *l = &r->lanes[i];
        const struct {
            const char *name;
            eg_tensor **tensor;
            bool there;
        } all[] = {
            {"weight_ih", &l->w_ih, true},
            {"weight_hh", &l->w_hh, true},
            {"bias_ih", &l->b_ih, !r->o.no_bias},
            {"bias_hh", &l->b_hh, has_b_hh(r)},
            {"weight_hr", &l->w_hr, r->o.projection > 0},
        };
        for (int k = 0; k < EG__COUNT(all); k++) {
            char name[48];
            snprintf(name, sizeof name, "%s_l%d%s", all[k].name, i / r->directions,
                     i % r->directions ? "_reverse" : "");
            if (all[k].there) {
                eg_member_parameter(members, name, all[k].tensor);
            }
        }
    }
}

static const eg__rnn_kind lstm_kind = {
    {.size = sizeof(eg_module_kind), .name = "lstm", .forward = eg__rnn_y, .members = rnn_members},
    run_layers,
    sizes_of};
static const eg__rnn_kind gru_kind = {
    {.size = sizeof(eg_module_kind), .name = "gru", .forward = eg__rnn_y, .members = rnn_members},
    run_layers,
    sizes_of};

/* ---- making ---------------------------------------------------------------------------------- */

static void fill_lane(rnn *r, lane *l, int64_t in)
{
    int64_t h = r->hidden, gates = (is_lstm(r) ? 4 : 3) * h, out = r->o.projection ? r->o.projection : h;
    l->w_ih = eg__init_uniform(EG_SHAPE(gates, in), h, r->o.dtype);
    l->w_hh = l->w_ih ? eg__init_uniform(EG_SHAPE(gates, out), h, r->o.dtype) : NULL;
    if (l->w_hh && !r->o.no_bias) {
        l->b_ih = eg__init_uniform(EG_SHAPE(gates), h, r->o.dtype);
    }
    if (l->b_ih && has_b_hh(r)) {
        l->b_hh = eg__init_uniform(EG_SHAPE(gates), h, r->o.dtype);
    }
    if (l->w_hh && r->o.projection) {
        l->w_hr = eg__init_uniform(EG_SHAPE(out, h), h, r->o.dtype);
    }
    if (l->b_ih && r->o.forget_bias != 0) {
        eg_scope s = eg_scope_push();
        if (!eg_add_scalar_(eg_slice(l->b_ih, 0, h, 2 * h, 1), r->o.forget_bias)) {
            eg_release(l->b_ih);
            l->b_ih = NULL;
        }
        eg_scope_pop(s, NULL);
    }
}

static eg_status check_options(const char *op, bool lstm, int64_t in, int64_t hidden, const eg_rnn_layer_options *o)
{
    if (in < 1 || hidden < 1 || o->layers < 1 || o->layers > MOST_LAYERS) {
        return eg__fail(EG_EINVAL, op,
                        "%lld inputs, %lld cells, %d layers: at least 1 of each, at most "
                        "%d layers",
                        (long long)in, (long long)hidden, o->layers, MOST_LAYERS);
    }
    if (!(o->dropout >= 0 && o->dropout <= 1 && o->weight_dropout >= 0 && o->weight_dropout <= 1)) {
        return eg__fail(EG_EINVAL, op, "dropout is %g, weight_dropout %g, must be 0..1", o->dropout, o->weight_dropout);
    }
    if (o->projection < 0 || !(o->clip >= 0) || !isfinite(o->forget_bias)) {
        return eg__fail(EG_EINVAL, op,
                        "projection %lld, clip %g, forget_bias %g: not below 0, and the "
                        "last finite",
                        (long long)o->projection, o->clip, o->forget_bias);
    }
    if (lstm ? o->reset_before : o->projection || o->clip > 0 || o->forget_bias != 0 || o->one_bias) {
        return eg__fail(EG_EINVAL, op, "%s",
                        lstm ? "reset_before is for a gru" : "projection, clip, forget_bias, one_bias are for an lstm");
    }
    return EG_OK;
}

static eg_module *make(const eg__rnn_kind *kind, int64_t in, int64_t hidden, const eg_rnn_layer_options *given)
{
    eg_rnn_layer_options o;
    eg__options(&o, sizeof o, given);
    o.layers = o.layers ? o.layers : 1;
    if (check_options(kind->base.name, kind == &lstm_kind, in, hidden, &o)) {
        return NULL;
    }
    int directions = o.bidirectional ? 2 : 1, lanes = o.layers * directions;
    rnn *r = eg_module_new(sizeof *r + (size_t)lanes * sizeof(lane), &kind->base);
    if (!r) {
        return NULL;
    }
    r->o = o;
    r->hidden = hidden;
    r->directions = directions;
    for (int i = 0; i < lanes; i++) {
        int64_t before = directions * (o.projection ? o.projection : hidden);
        fill_lane(r, &r->lanes[i], i < directions ? in : before);
    }
    return eg_module_finish(&r->base);
}

eg_module *eg_lstm_new_with(int64_t in, int64_t hidden, const eg_rnn_layer_options *options)
{
    return make(&lstm_kind, in, hidden, options);
}

eg_module *eg_gru_new_with(int64_t in, int64_t hidden, const eg_rnn_layer_options *options)
{
    return make(&gru_kind, in, hidden, options);
}
