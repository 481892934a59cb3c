/* attention.c - additive and multi-head attention. */
#include <math.h>

#include <egret/nn/attention.h>
#include <egret/nn/init.h>
#include <egret/nn/layers.h>
#include <egret/ops/rotary.h>

#include "lib/ops/optable.h"
#include "nn/decode/cache.h"
#include "nn/nn.h"

static const eg_attended failed = {NULL, NULL};

/* Moves both results out of the scope. */
static eg_attended attended(eg_scope s, eg_tensor *context, eg_tensor *weights)
{
    eg_tensor *out[2] = {context, weights};
    return eg_scope_pop_n(s, out, 2) || !context ? failed : (eg_attended){context, weights};
}

static eg_status check_kind(const char *op, const eg_module *m, const eg_module_kind *kind)
{
    if (!m) {
        return eg__null_argument(op, "m");
    }
    return m->kind == kind ? EG_OK : eg__fail(EG_EINVAL, op, "a %s is no %s", m->kind->name, kind->name);
}

/* ---- additive -------------------------------------------------------------------------------- */

typedef struct additive {
    eg_module base;
    eg_module *w1, *w2, *v;
} additive;

static eg_attended additive_run(additive *a, eg_tensor *query, eg_tensor *keys, eg_tensor *projected, eg_tensor *mask)
{
    eg_scope s = eg_scope_push();
    if (!s.depth) {
        return failed;
    }
    if (!projected) {
        projected = eg_module_forward(a->w1, keys);
    }
    eg_tensor *asked = eg_unsqueeze(eg_module_forward(a->w2, query), 1);
    eg_tensor *scores = eg_squeeze(eg_module_forward(a->v, eg_tanh(eg_add(projected, asked))), EG_AXES(2));
    eg_tensor *none = mask ? eg_logical_not(eg_any(mask, .axes = EG_AXES(1), .keepdim = true)) : NULL;
    if (mask) { /* of rows without anything to read nothing is hidden, but their weights are 0 */
        scores = none ? eg_masked_fill(scores, eg_logical_not(eg_logical_or(mask, none)), -(double)INFINITY) : NULL;
    }
    eg_tensor *weights = eg_softmax(scores, 1);
    weights = mask && weights ? eg_masked_fill(weights, none, 0) : weights;
    eg_tensor *context = eg_squeeze(eg_matmul(eg_unsqueeze(weights, 1), keys), EG_AXES(1));
    return attended(s, context, weights);
}

static void additive_members(eg_module *m, eg_members *members)
{
    additive *a = (additive *)m;
    eg_member_child(members, "w1", &a->w1);
    eg_member_child(members, "w2", &a->w2);
    eg_member_child(members, "v", &a->v);
}

static const eg_module_kind additive_kind = {
    .size = sizeof(eg_module_kind), .name = "additive_attention", .members = additive_members};

eg_module *eg_additive_attention_new(int64_t query, int64_t keys, int64_t units)
{
    additive *a = eg_module_new(sizeof *a, &additive_kind);
    if (!a) {
        return NULL;
    }
    a->w1 = eg_linear_new(keys, units);
    a->w2 = a->w1 ? eg_linear_new(query, units) : NULL;
    a->v = a->w2 ? eg_linear_new(units, 1) : NULL;
    return eg_module_finish(&a->base);
}

eg_attended eg_additive_attention_forward(eg_module *m, eg_tensor *query, eg_tensor *keys, eg_tensor *projected,
                                          eg_tensor *mask)
{
    static const char op[] = "eg_additive_attention_forward";
    if (check_kind(op, m, &additive_kind) || eg__check(query, op, "query") || eg__check(keys, op, "keys") ||
        (projected && eg__check(projected, op, "projected")) || (mask && eg__check(mask, op, "mask"))) {
        return failed;
    }
    if (query->ndim != 2 || keys->ndim != 3 || query->shape[0] != keys->shape[0]) {
        return eg__fail(EG_ESHAPE, op, "query %s and keys %s must be [N, query] and [N, S, keys]", EG__SHAPE_OF(query),
                        EG__SHAPE_OF(keys)),
               failed;
    }
    eg__observed seen = eg__observe_begin(m);
    eg_attended r = additive_run((additive *)m, query, keys, projected, mask);
    eg__observe_end(&seen, r.context);
    return r;
}

eg_tensor *eg_additive_attention_keys(eg_module *m, eg_tensor *keys)
{
    return check_kind("eg_additive_attention_keys", m, &additive_kind) ? NULL
                                                                       : eg_module_forward(((additive *)m)->w1, keys);
}

/* ---- multi-head ------------------------------------------------------------------------------ */

typedef struct multi_head {
    eg_module base;
    int64_t width, heads, kv_heads;
    double dropout;
    bool no_bias, joined; /* joined: one weight for query, key and value */
    eg_tensor *weight, *q, *k, *v, *bias;
    eg_module *out;
} multi_head;

/* Rows of the weight of keys, and of that of values. */
static int64_t kv_rows(const multi_head *h)
{
    return h->width / h->heads * h->kv_heads;
}

/* x w^T + b of queries, keys or values, part 0, 1 or 2 of the joined weight, as [N, heads, T, columns]. */
static eg_tensor *project(multi_head *h, eg_tensor *x, int part)
{
    eg_tensor *own[3] = {h->q, h->k, h->v};
    const int64_t heads = part ? h->kv_heads : h->heads;
    const int64_t from = part ? h->width + (part - 1) * kv_rows(h) : 0, to = from + (part ? kv_rows(h) : h->width);
    eg_tensor *w = h->joined ? eg_slice(h->weight, 0, from, to, 1) : own[part];
    eg_tensor *b = h->no_bias ? NULL : eg_slice(h->bias, 0, from, to, 1);
    if (!w || (!b && !h->no_bias)) {
        return NULL;
    }
    eg_tensor *y = eg_linear(x, w, b);
    return eg_permute(eg_reshape(y, EG_SHAPE(eg_size(x, 0), eg_size(x, 1), heads, h->width / h->heads)),
                      EG_AXES(0, 2, 1, 3));
}

/* All three of one x: a single product. */
static bool project_self(multi_head *h, eg_tensor *x, eg_tensor **qkv)
{
    eg_tensor *y = eg_linear(x, h->weight, h->no_bias ? NULL : h->bias);
    const int64_t all = h->heads + 2 * h->kv_heads, end[3] = {h->heads, h->heads + h->kv_heads, all};
    y = eg_reshape(y, EG_SHAPE(eg_size(x, 0), eg_size(x, 1), all, h->width / h->heads));
    y = eg_permute(y, EG_AXES(0, 2, 1, 3));
    for (int i = 0; i < 3 && y; i++) {
        y = (qkv[i] = eg_slice(y, 1, i ? end[i - 1] : 0, end[i], 1)) ? y : NULL;
    }
    return y != NULL;
}

/* Queries or keys turned by their places, where there are tables for it. */
static eg_tensor *turn(eg_tensor *x, const eg_attend_options *o)
{
    return x && (o->cos || o->sin) ? eg_rotary_embedding(x, o->cos, o->sin, .interleaved = o->interleaved) : x;
}

/* Keys and values with those of earlier calls in front. */
static bool remember(multi_head *h, eg_cache *cache, eg_tensor **p)
{
    p[1] = eg__cache_append(cache, (eg__cache_key){h, "keys"}, p[1], 2);
    p[2] = p[1] ? eg__cache_append(cache, (eg__cache_key){h, "values"}, p[2], 2) : NULL;
    return p[2] != NULL;
}

/* Keys and values of a memory, which are the same in all calls. */
static bool project_memory(multi_head *h, eg_tensor *key, eg_tensor *value, const eg_attend_options *o, eg_tensor **p)
{
    const eg__cache_key names[3] = {{h, "query"}, {h, "keys"}, {h, "values"}};
    eg_tensor *from[3] = {NULL, key, value};
    for (int i = 1; i < 3; i++) {
        p[i] = o->cache ? eg__cache_get(o->cache, names[i]) : NULL;
        if (!p[i]) {
            p[i] = project(h, from[i], i);
            p[i] = i == 1 ? turn(p[i], o) : p[i];
            p[i] = o->cache && p[i] ? eg_contiguous(p[i]) : p[i];
            if (!p[i] || (o->cache && eg__cache_put(o->cache, names[i], p[i], true))) {
                return false;
            }
        }
    }
    return true;
}

/* Query, keys and values by heads. */
static bool project_all(multi_head *h, eg_tensor *query, eg_tensor *key, eg_tensor *value, const eg_attend_options *o,
                        eg_tensor **p)
{
    if (query != key) {
        p[0] = turn(project(h, query, 0), o);
        return p[0] && project_memory(h, key, value, o, p);
    }
    if (h->joined && key == value) {
        if (!project_self(h, query, p)) {
            return false;
        }
    } else {
        p[0] = project(h, query, 0);
        p[1] = p[0] ? project(h, key, 1) : NULL;
        p[2] = p[1] ? project(h, value, 2) : NULL;
    }
    for (int i = 0; i < 2 && p[2]; i++) {
        p[i] = turn(p[i], o);
        p[2] = p[i] ? p[2] : NULL;
    }
    return p[2] && (!o->cache || remember(h, o->cache, p));
}

static eg_attended multi_head_run(multi_head *h, eg_tensor *query, eg_tensor *key, eg_tensor *value,
                                  const eg_attend_options *o)
{
    eg_scope s = eg_scope_push();
    eg_tensor *p[3] = {NULL, NULL, NULL}, *weights = NULL;
    if (!s.depth) {
        return failed;
    }
    eg_tensor *y = !project_all(h, query, key, value, o, p)
                       ? NULL
                       : eg_attention(p[0], p[1], p[2], .mask = o->mask, .causal = o->causal,
                                      .dropout = h->base.training ? h->dropout : 0,
                                      .weights = o->weights || o->heads ? &weights : NULL, .corner = o->corner,
                                      .window = o->window, .softcap = o->softcap, .slopes = o->slopes);
    y = y ? eg_reshape(eg_permute(y, EG_AXES(0, 2, 1, 3)), EG_SHAPE(eg_size(query, 0), eg_size(query, 1), h->width))
          : NULL;
    y = y ? eg_module_forward(h->out, y) : NULL;
    eg_tensor *mean = y && o->weights ? eg_mean(weights, .axes = EG_AXES(1)) : NULL;
    eg_tensor *out[3] = {mean || !o->weights ? y : NULL, mean, o->heads ? weights : NULL};
    if (eg_scope_pop_n(s, out, 3) || !out[0]) {
        return failed;
    }
    if (o->heads) {
        *o->heads = weights;
    }
    return (eg_attended){out[0], mean};
}

static eg_attended multi_head_checked(multi_head *h, eg_tensor *query, eg_tensor *key, eg_tensor *value,
                                      const eg_attend_options *o)
{
    const char *op = h->base.kind->name;
    const eg_tensor *all[3] = {query, key, value};
    for (int i = 0; i < 3; i++) {
        if (eg__check(all[i], op, (const char *[]){"query", "key", "value"}[i])) {
            return failed;
        }
    }
    for (int i = 0; i < 3; i++) {
        if (all[i]->ndim != 3) {
            return eg__fail(EG_ESHAPE, op, "query %s, key %s, value %s: each must be [N, steps, width]",
                            EG__SHAPE_OF(query), EG__SHAPE_OF(key), EG__SHAPE_OF(value)),
                   failed;
        }
    }
    return multi_head_run(h, query, key, value, o);
}

static eg_tensor *multi_head_forward(eg_module *m, eg_tensor *x)
{
    return multi_head_checked((multi_head *)m, x, x, x, &(eg_attend_options){0}).context;
}

static void multi_head_members(eg_module *m, eg_members *members)
{
    multi_head *h = (multi_head *)m;
    if (h->joined) {
        eg_member_parameter(members, "in_proj_weight", &h->weight);
    } else {
        eg_member_parameter(members, "q_proj_weight", &h->q);
        eg_member_parameter(members, "k_proj_weight", &h->k);
        eg_member_parameter(members, "v_proj_weight", &h->v);
    }
    if (!h->no_bias) {
        eg_member_parameter(members, "in_proj_bias", &h->bias);
    }
    eg_member_child(members, "out_proj", &h->out);
}

static const eg_module_kind multi_head_kind = {.size = sizeof(eg_module_kind),
                                               .name = "multi_head_attention",
                                               .forward = multi_head_forward,
                                               .members = multi_head_members};

/* A glorot uniform weight. */
static eg_tensor *weight_new(int64_t out, int64_t in, eg_dtype dtype)
{
    eg_scope s = eg_scope_push();
    eg_tensor *w = eg_empty(EG_SHAPE(out, in), dtype);
    w = w && !eg_init(w, EG_GLOROT_UNIFORM) ? eg_parameter(w) : NULL;
    eg_scope_pop(s, NULL);
    return w;
}

static void fill(multi_head *h, int64_t keys, int64_t values, eg_dtype dtype)
{
    eg_scope s = eg_scope_push();
    if (h->joined) {
        h->weight = weight_new(h->width + 2 * kv_rows(h), h->width, dtype);
    } else {
        h->q = weight_new(h->width, h->width, dtype);
        h->k = h->q ? weight_new(kv_rows(h), keys, dtype) : NULL;
        h->v = h->k ? weight_new(kv_rows(h), values, dtype) : NULL;
    }
    if (!h->no_bias && (h->weight || h->v)) {
        h->bias = eg_parameter(eg_zeros(EG_SHAPE(h->width + 2 * kv_rows(h)), dtype));
    }
    if (h->weight || h->v) {
        h->out = eg_linear_new(h->width, h->width, .no_bias = h->no_bias, .dtype = dtype);
    }
    if (h->out && eg_module_init(h->out, EG_GLOROT_UNIFORM)) {
        eg_module_free(h->out);
        h->out = NULL;
    }
    eg_scope_pop(s, NULL);
}

eg_module *eg_multi_head_attention_new_with(int64_t width, int64_t heads, const eg_multi_head_attention_options *given)
{
    eg_multi_head_attention_options o;
    eg__options(&o, sizeof o, given);
    o.keys = o.keys ? o.keys : width;
    o.values = o.values ? o.values : width;
    o.kv_heads = o.kv_heads ? o.kv_heads : heads;
    if (width < 1 || heads < 1 || width % heads || o.keys < 1 || o.values < 1) {
        return eg__fail_null(EG_EINVAL, multi_head_kind.name,
                             "width %lld in %lld heads, keys %lld, "
                             "values %lld: at least 1 of each, and the heads divide the width",
                             (long long)width, (long long)heads, (long long)o.keys, (long long)o.values);
    }
    if (o.kv_heads < 1 || heads % o.kv_heads) {
        return eg__fail_null(EG_EINVAL, multi_head_kind.name, "kv_heads is %lld, must divide the %lld heads",
                             (long long)o.kv_heads, (long long)heads);
    }
    if (!(o.dropout >= 0 && o.dropout <= 1)) {
        return eg__fail_null(EG_EINVAL, multi_head_kind.name, "dropout is %g, must be 0..1", o.dropout);
    }
    multi_head *h = eg_module_new(sizeof *h, &multi_head_kind);
    if (!h) {
        return NULL;
    }
    h->width = width;
    h->heads = heads;
    h->kv_heads = o.kv_heads;
    h->dropout = o.dropout;
    h->no_bias = o.no_bias;
    h->joined = o.keys == width && o.values == width;
    fill(h, o.keys, o.values, o.dtype);
    return eg_module_finish(&h->base);
}

eg_attended eg_multi_head_attention_forward_with(eg_module *m, eg_tensor *query, eg_tensor *key, eg_tensor *value,
                                                 const eg_attend_options *given)
{
    eg_attend_options o;
    eg__options(&o, sizeof o, given);
    if (o.heads) {
        *o.heads = NULL;
    }
    if (check_kind("eg_multi_head_attention_forward", m, &multi_head_kind)) {
        return failed;
    }
    eg__observed seen = eg__observe_begin(m);
    eg_attended r = multi_head_checked((multi_head *)m, query, key, value, &o);
    eg__observe_end(&seen, r.context);
    return r;
}
