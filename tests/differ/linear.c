/* linear.c - products and attention. */
#include "tests/differ/differ.h"

static void draw_matmul(draw *d)
{
    eg_shape batch = draw_shape(d, 0, 2), a = draw_partner(d, batch), b = draw_partner(d, batch);
    int64_t m = draw_size(d, 70), k = draw_size(d, 70), n = draw_size(d, 70);
    for (int i = 0; i < batch.ndim; i++) { /* few of them */
        batch.dim[i] = batch.dim[i] > 3 ? 3 : batch.dim[i];
    }
    a = draw_partner(d, batch);
    b = draw_partner(d, batch);
    eg_dtype t = draw_float(d);
    operand(d, chance(d, 15) ? EG_SHAPE(k) : shape_with(shape_with(a, m), k), t);
    operand(d, chance(d, 15) ? EG_SHAPE(k + chance(d, 2)) : shape_with(shape_with(b, k), n),
            chance(d, 90) ? t : draw_float(d));
}
DIFFER(matmul, draw_matmul, NONFINITES, 4, eg_matmul(T0, T1))

static void draw_dot(draw *d)
{
    int64_t n = draw_size(d, 80);
    eg_dtype t = draw_float(d);
    operand(d, EG_SHAPE(n), t);
    operand(d, EG_SHAPE(n), t);
}
DIFFER(dot, draw_dot, 0, 4, eg_dot(T0, T1))

static void draw_outer(draw *d)
{
    eg_dtype t = draw_number(d);
    operand(d, EG_SHAPE(draw_size(d, 80)), t);
    operand(d, EG_SHAPE(draw_size(d, 80)), t);
}
DIFFER(outer, draw_outer, 0, 1, eg_outer(T0, T1))

OPTIONS(eg_linear_options, FUNCTION(eg_linear_options, activation))

static void draw_linear(draw *d)
{
    eg_shape s = draw_shape(d, 0, 3);
    int64_t in = draw_size(d, 80), out = draw_size(d, 80);
    eg_dtype t = draw_float(d);
    operand(d, shape_with(s, in), t);
    operand(d, EG_SHAPE(out, in), chance(d, 90) ? t : draw_float(d));
    if (chance(d, 70)) {
        operand(d, EG_SHAPE(out), t);
    } else {
        absent(d);
    }
    const activation f = DRAW_OPTIONS(d, eg_linear_options)->activation = draw_activation(d, t);
    without_ties(d, f);
    const bool limitless = f == eg_gelu || f == eg_gelu_tanh || f == eg_silu; /* of -infinity they may be NaN there */
    for (int i = 0; i < d->n && limitless; i++) {
        d->t[i].values = d->t[i].values == NONFINITE ? UNIFORM : d->t[i].values;
    }
}
DIFFER(linear, draw_linear, NONFINITES, 6, eg_linear_with(T0, T1, T2, O0))

/* Letters with sizes of their own; each operand some of them, the result some of those. */
static void draw_einsum(draw *d)
{
    int64_t size[5];
    int n = (int)pick(d, 1, 3), used = 0, at = 0;
    char *w = d->w[0];
    eg_dtype t = draw_number(d);
    for (int i = 0; i < 5; i++) {
        size[i] = draw_size(d, 7);
    }
    bool dots = chance(d, 25);
    int64_t front = draw_size(d, 4);
    for (int i = 0; i < n; i++) {
        eg_shape s = {0, {0}};
        at += snprintf(w + at, 8, "%s%s", i ? "," : "", dots ? "..." : "");
        if (dots && chance(d, 80)) {
            s = shape_with(s, chance(d, 20) ? 1 : front);
        }
        for (int a = 0, axes = (int)pick(d, !dots, 3); a < axes; a++) {
            int letter = (int)pick(d, 0, 4);
            w[at++] = (char)('a' + letter);
            used |= 1 << letter;
            s = shape_with(s, size[letter]);
        }
        operand(d, s, t);
    }
    if (chance(d, 75)) {
        at += snprintf(w + at, 8, "->%s", dots ? "..." : "");
        for (int i = 0; i < 5; i++) {
            if (used >> i & 1 && chance(d, 50)) {
                w[at++] = (char)('a' + i);
            }
        }
    }
    w[at] = 0;
}
DIFFER(einsum, draw_einsum, 0, 6, eg_einsum(W0, TS, N0))

/* ---- attention -------------------------------------------------------------------------------- */

OPTIONS(eg_attention_options, TENSOR(eg_attention_options, mask), BOOL(eg_attention_options, causal),
        DOUBLE(eg_attention_options, dropout, 0, 0, 0.5), DOUBLE(eg_attention_options, scale, 0, EG_ZERO, 0.5, 1),
        RESULT(eg_attention_options, weights), INT32(eg_attention_options, corner, EG_LOWER_RIGHT, EG_UPPER_LEFT),
        INT(eg_attention_options, window, 0, 0, 0, 1, 3), DOUBLE(eg_attention_options, softcap, 0, 0, 2),
        TENSOR(eg_attention_options, slopes))

static void draw_attention(draw *d)
{
    eg_shape batch = draw_shape(d, 0, 2);
    for (int i = 0; i < batch.ndim; i++) {
        batch.dim[i] = batch.dim[i] > 3 ? 3 : batch.dim[i];
    }
    int64_t t = draw_size(d, 20), s = draw_size(d, 20), k = draw_size(d, 20), v = draw_size(d, 20);
    eg_dtype type = draw_float(d);
    eg_shape shared = draw_partner(d, batch);
    if (batch.ndim && chance(d, 25)) { /* keys and values of fewer heads */
        shared = batch;
        batch.dim[batch.ndim - 1] *= 2;
        operand(d, shape_with(shape_with(batch, t), k), type);
    } else {
        operand(d, shape_with(shape_with(draw_partner(d, batch), t), k), type);
    }
    operand(d, shape_with(shape_with(shared, s), k), type);
    operand(d, shape_with(shape_with(chance(d, 50) ? shared : draw_partner(d, shared), s), v), type);
    eg_attention_options *o = DRAW_OPTIONS(d, eg_attention_options);
    if (chance(d, 40)) {
        eg_shape m = shape_with(shape_with(chance(d, 50) ? batch : EG_SCALAR, chance(d, 20) ? 1 : t), s);
        o->mask = slot(chance(d, 50) ? mask(d, m) : operand(d, m, type));
        if (d->t[3].fixed) {
            d->t[3].dtype = EG_BOOL;
        }
        if (o->dropout > 0) { /* which draws along weights that lie as the mask does */
            d->t[3].nsteps = 0;
            d->t[3].base = m;
        }
    }
    if (chance(d, 25)) { /* whose gradient is a sum over all that halves have rounded */
        const int at = operand(d, chance(d, 50) ? EG_SHAPE(1) : EG_SCALAR, EG_F64);
        d->t[at].fixed = type == EG_BF16 || type == EG_F16;
        o->slopes = slot(at);
    }
    o->weights = chance(d, 30) ? place(1) : NULL;
}
DIFFER(attention, draw_attention, 0, 8, eg_attention_with(T0, T1, T2, O0))

static void draw_alibi_slopes(draw *d)
{
    d->i[0] = pick(d, -(int64_t)chance(d, 5), 40);
    d->d[0] = draw_any(d);
}
DIFFER(alibi_slopes, draw_alibi_slopes, NO_GRAD, 1, eg_alibi_slopes(I0, D0))

/* ---- rotary ----------------------------------------------------------------------------------- */

OPTIONS(eg_rotary_tables_options, DOUBLE(eg_rotary_tables_options, base, 0, 10, 500),
        DOUBLE(eg_rotary_tables_options, factor, 0, 0, 4), INT(eg_rotary_tables_options, length, 0, 0, 100),
        DOUBLE(eg_rotary_tables_options, low, 0, 0, 2), DOUBLE(eg_rotary_tables_options, high, 0, 0, 8),
        INT32(eg_rotary_tables_options, dtype, EG_F32, EG_F64))

static void draw_rotary_tables(draw *d)
{
    indices(d, chance(d, 50) ? EG_SHAPE(draw_size(d, 20)) : EG_SHAPE(draw_size(d, 4), draw_size(d, 8)), 30, false);
    d->i[0] = 2 * pick(d, !chance(d, 5), 12) + chance(d, 2);
    DRAW_OPTIONS(d, eg_rotary_tables_options);
}
DIFFER(rotary_tables, draw_rotary_tables, NO_GRAD, 1, eg_rotary_tables_with(T0, I0, Y0, Y1, O0))

OPTIONS(eg_rotary_embedding_options, BOOL(eg_rotary_embedding_options, interleaved))

static void draw_rotary_embedding(draw *d)
{
    const int64_t t = draw_size(d, 12), pairs = draw_size(d, 12);
    eg_shape batch = draw_shape(d, 0, 2), table = EG_SCALAR;
    operand(d, shape_with(shape_with(batch, t), 2 * pairs + (chance(d, 30) ? 3 : 0)), draw_float(d));
    if (batch.ndim && chance(d, 30)) {
        table = EG_SHAPE(batch.dim[0]);
    }
    table = shape_with(shape_with(table, chance(d, 90) ? t : 1), pairs);
    operand(d, table, draw_real(d));
    operand(d, table, draw_real(d));
    DRAW_OPTIONS(d, eg_rotary_embedding_options);
}
DIFFER(rotary_embedding, draw_rotary_embedding, 0, 2, eg_rotary_embedding_with(T0, T1, T2, O0))
