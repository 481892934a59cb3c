/* ops_attention.c - Attention, with what it needs of positions and norms. */
#include <math.h>
#include <string.h>

#include "nn/onnx/ops.h"

/* ---- Attention --------------------------------------------------------------------------------------- */

/* What the fourth output is. */
typedef enum shown { SCORES, CAPPED, MASKED, WEIGHTS } shown;

typedef struct attention {
    eg_tensor *q, *k, *v, *mask; /* [n, heads, places, features] */
    eg_tensor *lengths;          /* keys of each image of the batch that are there; NULL: all */
    int64_t past;                /* keys that are there before */
    int64_t left, right;         /* keys that a query sees before and behind the one it stands at; -1: all */
    bool flat;
    double scale, softcap;
} attention;

/* [n, places, heads * features] -> [n, heads, places, features]; 4 axes stay as they are. */
static eg_tensor *by_heads(const eg_onnx_call *c, eg_tensor *t, const char *name)
{
    const int64_t heads = eg_onnx_int(c, name, 0);
    if (eg_ndim(t) != 3) {
        return t;
    }
    if (heads < 1 || eg_size(t, 2) % heads) {
        eg_failf(EG_EINVAL, eg__onnx_op_name, "%s is %lld, for %lld features", name, (long long)heads,
                 (long long)eg_size(t, 2));
        return NULL;
    }
    t = eg_reshape(t, EG_SHAPE(eg_size(t, 0), eg_size(t, 1), heads, eg_size(t, 2) / heads));
    return eg_transpose(t, 1, 2);
}

/* [n, heads, places, features] -> [n, places, heads * features] */
static eg_tensor *flattened(eg_tensor *t)
{
    return eg_flatten(eg_transpose(t, 1, 2), 2, 3);
}

static eg_tensor *with_past(const eg_onnx_call *c, int i, eg_tensor *t)
{
    eg_tensor *parts[] = {eg__onnx_in(c, i), t};
    return parts[0] ? eg_concat(parts, 2, 2) : t;
}

/* Each head of keys for several of queries. */
static eg_tensor *repeated(eg_tensor *t, const eg_tensor *q)
{
    const int64_t heads = eg_size(t, 1), all = eg_size(q, 1);
    return heads < 1 || heads == all || all % heads ? t : eg_repeat_interleave(t, all / heads, 1);
}

/* A mask of fewer keys than there are lets none of the others be seen. */
static eg_tensor *whole_mask(eg_tensor *mask, const eg_tensor *k)
{
    const int64_t more = eg_size(k, 2) - eg_size(mask, -1);
    eg_pad_options o = {.size = sizeof o, .value = eg_dtype_of(mask) == EG_BOOL ? 0 : -INFINITY};
    if (eg_ndim(mask) < 1 || more <= 0) {
        return mask;
    }
    o.after[eg_ndim(mask) - 1] = more;
    return eg_pad_with(mask, &o);
}

static eg_tensor *both(eg_tensor *a, eg_tensor *b)
{
    return a ? eg_logical_and(a, b) : b;
}

/* Where eg_attention knows of itself what is seen: all keys up to the one where a query stands. */
static bool causal_alone(const attention *a, eg_attention_corner *corner)
{
    *corner = a->past ? EG_LOWER_RIGHT : EG_UPPER_LEFT;
    return !a->lengths && a->left < 0 && a->right == 0 && (!a->past || eg_size(a->k, 2) - eg_size(a->q, 2) == a->past);
}

/* Which keys are seen by their places: those that are there, not too far from the one where the query stands. */
static eg_tensor *seen(const attention *a)
{
    const int64_t queries = eg_size(a->q, 2), keys = eg_size(a->k, 2);
    eg_device *device = eg_device_of(a->q);
    eg_tensor *key = eg_to(eg_arange_int(0, keys, 1, EG_I64), device), *y = NULL;
    eg_tensor *query = eg_to(eg_reshape(eg_arange_int(0, queries, 1, EG_I64), EG_SHAPE(queries, 1)), device);
    if (a->lengths) { /* the last query stands at the last of the keys that are there */
        eg_tensor *lengths = eg_reshape(eg_cast(a->lengths, EG_I64), EG_SHAPE(-1, 1, 1, 1));
        y = eg_lt(key, lengths);
        query = eg_add_int(eg_add(query, lengths), -queries);
    } else {
        query = eg_add_int(query, a->past);
    }
    eg_tensor *behind = eg_sub(key, query);
    y = a->right >= 0 ? both(y, eg_le_int(behind, a->right)) : y;
    return a->left >= 0 ? both(y, eg_ge_int(behind, -a->left)) : y;
}

/* The mask with what is not seen left out. */
static eg_tensor *joined(eg_tensor *mask, eg_tensor *places)
{
    if (!mask || !places) {
        return places;
    }
    return eg_dtype_of(mask) == EG_BOOL ? eg_logical_and(mask, places)
                                        : eg_masked_fill(mask, eg_logical_not(places), -INFINITY);
}

static eg_status attention_of(const eg_onnx_call *c, attention *a)
{
    *a = (attention){.q = by_heads(c, eg__onnx_in(c, 0), "q_num_heads"),
                     .k = by_heads(c, eg__onnx_in(c, 1), "kv_num_heads"),
                     .v = by_heads(c, eg__onnx_in(c, 2), "kv_num_heads"),
                     .mask = eg__onnx_in(c, 3),
                     .lengths = eg__onnx_in(c, 6),
                     .flat = eg_ndim(eg__onnx_in(c, 0)) == 3,
                     .left = eg_onnx_int(c, "left_window_size", -1),
                     .right = eg_onnx_int(c, "right_window_size", -1),
                     .softcap = eg_onnx_float(c, "softcap", 0)};
    if (!a->q || !a->k || !a->v || eg_ndim(a->q) != 4 || eg_ndim(a->k) != 4 || eg_ndim(a->v) != 4) {
        return a->q && a->k && a->v ? eg__onnx_bad(c, "queries, keys and values do not have 3 or 4 axes")
                                    : eg__onnx_why();
    }
    a->past = eg_size(eg__onnx_in(c, 4), 2);
    a->scale = eg_onnx_float(c, "scale", 1 / sqrt((double)eg__max(eg_size(a->q, 3), 1)));
    a->k = with_past(c, 4, a->k);
    a->v = with_past(c, 5, a->v);
    if (eg_onnx_int(c, "is_causal", 0)) {
        a->right = 0;
    }
    if (a->mask) {
        a->mask = whole_mask(a->mask, a->k);
        a->mask = eg_dtype_of(a->mask) == EG_BOOL ? a->mask : eg_cast(a->mask, eg_dtype_of(a->q));
    }
    return a->k && a->v && !a->mask == !eg__onnx_in(c, 3) ? EG_OK : eg__onnx_why();
}

/* The mask, with what is seen by its place. */
static eg_status limit(attention *a)
{
    if (a->lengths || a->left >= 0 || a->right >= 0) {
        a->mask = joined(a->mask, seen(a));
        return a->mask ? EG_OK : eg__onnx_why();
    }
    return EG_OK;
}

/* q k^T scale, or what becomes of it before the softmax. */
static eg_tensor *scores(const attention *a, shown what)
{
    const double root = sqrt(a->scale);
    eg_tensor *k = eg_transpose(repeated(a->k, a->q), 2, 3);
    eg_tensor *x = eg_matmul(eg_mul_scalar(a->q, root), eg_mul_scalar(k, root));
    if (what != SCORES && a->softcap != 0) {
        x = eg_mul_scalar(eg_tanh(eg_mul_scalar(x, 1 / a->softcap)), a->softcap);
    }
    if (what != MASKED || !a->mask) {
        return x;
    }
    return eg_dtype_of(a->mask) == EG_BOOL ? eg_masked_fill(x, eg_logical_not(a->mask), -INFINITY) : eg_add(x, a->mask);
}

/* The softmax of halves is computed in f32, whatever softmax_precision says. */
eg_status eg__onnx_run_attention(eg_onnx_call *c)
{
    attention a;
    eg_attention_corner corner;
    eg_tensor *weights = NULL;
    const bool more = eg_onnx_output_count(c) > 3 && c->node->out[3] >= 0;
    const int64_t what = more ? eg_onnx_int(c, "qk_matmul_output_mode", SCORES) : SCORES;
    if (attention_of(c, &a)) {
        return eg__onnx_why();
    }
    if (what < SCORES || what > WEIGHTS) {
        return eg__onnx_bad(c, "qk_matmul_output_mode is outside of 0..3");
    }
    const bool causal = causal_alone(&a, &corner) && what != MASKED;
    if (!causal && limit(&a)) {
        return eg__onnx_why();
    }
    eg_tensor *y =
        eg_attention(a.q, a.k, a.v, .mask = a.mask, .causal = causal, .corner = corner, .scale = eg__nonzero(a.scale),
                     .softcap = a.softcap, .weights = what == WEIGHTS ? &weights : NULL);
    eg_status st = eg__onnx_give(c, a.flat ? flattened(y) : y);
    st = st ? st : eg_onnx_give(c, 1, a.k);
    st = st ? st : eg_onnx_give(c, 2, a.v);
    return st || !more ? st : eg_onnx_give(c, 3, what == WEIGHTS ? weights : scores(&a, (shown)what));
}

/* ---- FlexAttention --------------------------------------------------------------------------------------- */

/* What the graph of that name makes of x; x itself without one. */
static eg_tensor *modified(const eg_onnx_call *c, const char *name, eg_tensor *x)
{
    const eg__onnx_attribute *a = eg__onnx_attribute_of(c, name, EG__ONNX_GRAPH);
    if (!a || !x) {
        return x;
    }
    const eg__onnx_graph *g = a->graph;
    if (g->nin != 1 || g->nout != 1 || g->in[0] < 0 || g->out[0] < 0) {
        eg_failf(EG_EINVAL, eg__onnx_op_name, "%s does not make one tensor of one", name);
        return NULL;
    }
    if (eg__onnx_put(&c->values[g->in[0]], x, 0) || eg__onnx_run_graph(c->net, g, c->values)) {
        return NULL;
    }
    const eg_shape s = eg_shape_of(x);
    eg_tensor *y = c->values[g->out[0]].t;
    if (!y || eg_ndim(y) != s.ndim || memcmp(eg_shape_of(y).dim, s.dim, (size_t)s.ndim * sizeof *s.dim)) {
        eg_failf(EG_EINVAL, eg__onnx_op_name, "the result of %s does not have the shape of its input", name);
        return NULL;
    }
    return eg_cast(eg_scope_adopt(eg_keep(y)), eg_dtype_of(x));
}

eg_status eg__onnx_run_flex_attention(eg_onnx_call *c)
{
    attention a = {.q = eg__onnx_in(c, 0), .k = eg__onnx_in(c, 1), .v = eg__onnx_in(c, 2)};
    const eg_dtype own = eg_dtype_of(a.q);
    const int64_t type = eg_onnx_int(c, "softmax_precision", own == EG_F64 ? EG__ONNX_F64 : EG__ONNX_F32);
    const eg_dtype dtype = eg__onnx_dtype(type);
    if (eg_ndim(a.q) != 4 || eg_ndim(a.k) != 4 || eg_ndim(a.v) != 4) {
        return eg__onnx_bad(c, "queries, keys and values do not have 4 axes");
    }
    if (eg__onnx_type_of_dtype(dtype < EG_DTYPE_COUNT ? dtype : EG_BOOL) != type || dtype > EG_BF16) {
        return eg__onnx_bad(c, "softmax_precision is none of floats");
    }
    if (eg_size(a.k, 1) < 1 || eg_size(a.q, 1) % eg_size(a.k, 1) || eg_size(a.v, 1) != eg_size(a.k, 1)) {
        return eg__onnx_bad(c, "the heads of queries are no multiple of those of keys and values");
    }
    a.scale = eg_onnx_float(c, "scale", 1 / sqrt((double)eg__max(eg_size(a.q, 3), 1)));
    eg_tensor *x = modified(c, "score_mod", eg_cast(scores(&a, SCORES), dtype));
    x = x ? modified(c, "prob_mod", eg_softmax(x, -1)) : NULL;
    eg_tensor *y = x ? eg_matmul(x, eg_cast(repeated(a.v, a.q), dtype)) : NULL;
    return y ? eg__onnx_give(c, eg_cast(y, own)) : eg__onnx_why();
}

/* ---- RotaryEmbedding ------------------------------------------------------------------------------------- */

/* The angles' cosines or sines of each place: [n, places, pairs]. */
static eg_tensor *angles(eg_tensor *table, eg_tensor *places, int64_t pairs)
{
    table = eg_slice(table, -1, 0, pairs, 1); /* of all features where fewer turn */
    return places ? eg_index_select(table, 0, places) : table;
}

/* Pairs (a, b) turned by their angles. */
eg_status eg__onnx_run_rotary(eg_onnx_call *c)
{
    eg_tensor *given = eg__onnx_in(c, 0), *places = eg__onnx_in(c, 3), *x = by_heads(c, given, "num_heads");
    const bool interleaved = eg_onnx_int(c, "interleaved", 0);
    const int64_t all = eg_size(x, 3), named = eg_onnx_int(c, "rotary_embedding_dim", 0), n = named ? named : all;
    if (!x || eg_ndim(x) != 4 || n < 2 || n % 2 || n > all) {
        return x ? eg__onnx_bad(c, "the tensor does not have 3 or 4 axes, or an odd number of features is to turn")
                 : eg__onnx_why();
    }
    eg_tensor *cos = angles(eg__onnx_in(c, 1), places, n / 2), *sin = angles(eg__onnx_in(c, 2), places, n / 2);
    eg_tensor *y = eg_rotary_embedding(x, cos, sin, .interleaved = interleaved);
    return eg__onnx_give(c, eg_ndim(given) == 3 ? flattened(y) : y);
}

/* ---- RMSNormalization ------------------------------------------------------------------------------------ */

eg_status eg__onnx_run_rms_norm(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0), *scale = eg__onnx_in(c, 1);
    const int axis = eg__onnx_axis(eg_onnx_int(c, "axis", -1), eg_ndim(x)), axes = eg_ndim(x) - axis;
    const double eps = eg_onnx_float(c, "epsilon", 1e-5);
    if (axis < 0) {
        return eg__onnx_why();
    }
    bool same = eg_ndim(scale) == axes && eg_dtype_of(scale) == eg_dtype_of(x);
    for (int i = 0; i < axes && same; i++) {
        same = eg_size(scale, i) == eg_size(x, axis + i);
    }
    eg_tensor *y = eg_rms_norm(x, same ? scale : NULL, .axes = axes, .eps = eg__nonzero(eps));
    return eg__onnx_give(c, same ? y : eg_mul(y, scale));
}
