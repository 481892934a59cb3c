/* write_ops.c - the rows of Egret's op table as nodes of ONNX. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <egret/error.h>
#include <egret/ops.h>

#include "lib/ops/options.h"
#include "nn/onnx/write.h"
#include "nn/onnx/write_rows.h"

eg_status eg__onnx_cannot(const eg_op_call *c, const char *why)
{
    return eg_failf(EG_ENOKERNEL, eg__onnx_save_name, "%.60s cannot be written: %s", c->op, why);
}

/* ---- one node ----------------------------------------------------------------------------------------- */

/* x as this dtype, which may take a node before the one that is to come. */
static eg__onnx_temp cast_before(eg__onnx_writer *w, eg_tensor *x, eg_dtype dtype)
{
    eg__onnx_begin(w, "Cast");
    eg__onnx_from(w, x);
    eg__onnx_set_int(w, "to", eg__onnx_type_of_dtype(dtype));
    const eg__onnx_temp t = eg__onnx_to_temp(w);
    eg__onnx_end(w);
    return t;
}

static eg_status simple(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    eg__onnx_begin(w, op);
    for (int i = 0; i < c->nin; i++) {
        eg__onnx_from(w, c->in[i]);
    }
    eg__onnx_to(w, c->out[0]);
    eg__onnx_end(w);
    return EG_OK;
}

static eg_status same(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    (void)op;
    eg__onnx_same(w, c->in[0], c->out[0]);
    return EG_OK;
}

/* Both of the wider dtype; of tests and logic bool where ONNX wants it. */
static eg_status pair(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const bool logic = !strcmp(op, "And") || !strcmp(op, "Or") || !strcmp(op, "Xor");
    const eg_dtype a = eg_dtype_of(c->in[0]), b = eg_dtype_of(c->in[1]);
    const eg_dtype wanted = logic ? EG_BOOL : a == b ? a : eg_promote(a, b);
    eg__onnx_temp cast[2];
    for (int i = 0; i < 2; i++) {
        cast[i].name[0] = '\0';
        if (eg_dtype_of(c->in[i]) != wanted) {
            cast[i] = cast_before(w, c->in[i], wanted);
        }
    }
    eg__onnx_begin(w, op);
    for (int i = 0; i < 2; i++) {
        if (cast[i].name[0]) {
            eg__onnx_from_name(w, cast[i].name);
        } else {
            eg__onnx_from(w, c->in[i]);
        }
    }
    if (!strcmp(op, "Mod")) {
        eg__onnx_set_int(w, "fmod", 1);
    }
    eg__onnx_to(w, c->out[0]);
    eg__onnx_end(w);
    return EG_OK;
}

static eg_status with_alpha(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const eg__params *o = c->options;
    eg__onnx_begin(w, op);
    eg__onnx_from(w, c->in[0]);
    eg__onnx_set_float(w, "alpha", o->p);
    eg__onnx_to(w, c->out[0]);
    eg__onnx_end(w);
    return EG_OK;
}

static eg_status hard_sigmoid(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    eg__onnx_begin(w, op);
    eg__onnx_from(w, c->in[0]);
    eg__onnx_set_float(w, "alpha", 1.0 / 6);
    eg__onnx_set_float(w, "beta", 0.5);
    eg__onnx_to(w, c->out[0]);
    eg__onnx_end(w);
    return EG_OK;
}

static eg_status threshold(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const eg__params *o = c->options;
    return o->q == 0 ? with_alpha(w, c, op) : eg__onnx_cannot(c, "it has another value than 0");
}

/* Limits that are there. */
static eg_status clip_to(eg__onnx_writer *w, const eg_op_call *c, double low, double high)
{
    const eg_dtype dtype = eg_dtype_of(c->in[0]);
    eg__onnx_begin(w, "Clip");
    eg__onnx_from(w, c->in[0]);
    if (low > -INFINITY) {
        eg__onnx_from_number(w, low, dtype);
    } else {
        eg__onnx_from_name(w, "");
    }
    if (high < INFINITY) {
        eg__onnx_from_number(w, high, dtype);
    }
    eg__onnx_to(w, c->out[0]);
    eg__onnx_end(w);
    return EG_OK;
}

static eg_status clip(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    const eg__params *o = c->options;
    const bool real = eg_dtype_of(c->in[0]) <= EG_BF16;
    const double p = !real ? (double)o->ip : o->p, q = !real ? (double)o->iq : o->q;
    return *op == '<' ? clip_to(w, c, -INFINITY, p) : *op == '>' ? clip_to(w, c, p, INFINITY) : clip_to(w, c, p, q);
}

static eg_status relu6(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    (void)op;
    return clip_to(w, c, 0, 6);
}

static eg_status cast(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    eg__onnx_begin(w, op);
    eg__onnx_from(w, c->in[0]);
    eg__onnx_set_int(w, "to", eg__onnx_type_of_dtype(eg_dtype_of(c->out[0])));
    eg__onnx_to(w, c->out[0]);
    eg__onnx_end(w);
    return EG_OK;
}

/* ---- a few nodes -------------------------------------------------------------------------------------- */

/* "Op1 Op2 ...": one behind the other. */
static eg_status chain(eg__onnx_writer *w, const eg_op_call *c, const char *ops)
{
    char op[32];
    eg__onnx_temp t;
    int used = 0;
    for (bool first = true; sscanf(ops, " %31s%n", op, &used) == 1; first = false) {
        ops += used;
        eg__onnx_begin(w, op);
        if (first) {
            eg__onnx_from(w, c->in[0]);
        } else {
            eg__onnx_from_name(w, t.name);
        }
        if (*ops) {
            t = eg__onnx_to_temp(w);
        } else {
            eg__onnx_to(w, c->out[0]);
        }
        eg__onnx_end(w);
    }
    return EG_OK;
}

static eg_status square(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    eg__onnx_begin(w, op);
    eg__onnx_from(w, c->in[0]);
    eg__onnx_from(w, c->in[0]);
    eg__onnx_to(w, c->out[0]);
    eg__onnx_end(w);
    return EG_OK;
}

/* x times a function of x. */
static eg_status times(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    eg__onnx_begin(w, op);
    eg__onnx_from(w, c->in[0]);
    const eg__onnx_temp t = eg__onnx_to_temp(w);
    eg__onnx_end(w);
    eg__onnx_begin(w, "Mul");
    eg__onnx_from(w, c->in[0]);
    eg__onnx_from_name(w, t.name);
    eg__onnx_to(w, c->out[0]);
    eg__onnx_end(w);
    return EG_OK;
}

static eg_status gelu(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    eg__onnx_begin(w, "Gelu");
    eg__onnx_from(w, c->in[0]);
    eg__onnx_set_text(w, "approximate", op);
    eg__onnx_to(w, c->out[0]);
    eg__onnx_end(w);
    return EG_OK;
}

/* Floats: the quotient, rounded down. */
static eg_status floor_divide(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    if (eg_dtype_of(c->out[0]) > EG_BF16 || eg_dtype_of(c->in[0]) != eg_dtype_of(c->in[1])) {
        return eg__onnx_cannot(c, "integers are divided towards 0 there");
    }
    eg__onnx_begin(w, op);
    eg__onnx_from(w, c->in[0]);
    eg__onnx_from(w, c->in[1]);
    const eg__onnx_temp t = eg__onnx_to_temp(w);
    eg__onnx_end(w);
    eg__onnx_begin(w, "Floor");
    eg__onnx_from_name(w, t.name);
    eg__onnx_to(w, c->out[0]);
    eg__onnx_end(w);
    return EG_OK;
}

static eg_status not_equal(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    if (eg_dtype_of(c->in[0]) != eg_dtype_of(c->in[1])) {
        return eg__onnx_cannot(c, "its inputs have two dtypes");
    }
    eg__onnx_begin(w, op);
    eg__onnx_from(w, c->in[0]);
    eg__onnx_from(w, c->in[1]);
    const eg__onnx_temp t = eg__onnx_to_temp(w);
    eg__onnx_end(w);
    eg__onnx_begin(w, "Not");
    eg__onnx_from_name(w, t.name);
    eg__onnx_to(w, c->out[0]);
    eg__onnx_end(w);
    return EG_OK;
}

/* ---- the table ------------------------------------------------------------------------------------------ */

typedef eg_status write_fn(eg__onnx_writer *w, const eg_op_call *c, const char *op);

static const struct row {
    const char *op;
    write_fn *write;
    const char *onnx;
} rows[] = {{"abs", simple, "Abs"},
            {"acos", simple, "Acos"},
            {"acosh", simple, "Acosh"},
            {"add", pair, "Add"},
            {"alias", same, ""},
            {"asin", simple, "Asin"},
            {"asinh", simple, "Asinh"},
            {"atan", simple, "Atan"},
            {"atanh", simple, "Atanh"},
            {"bitwise_and", simple, "BitwiseAnd"},
            {"bitwise_not", simple, "BitwiseNot"},
            {"bitwise_or", simple, "BitwiseOr"},
            {"bitwise_xor", simple, "BitwiseXor"},
            {"cast", cast, "Cast"},
            {"ceil", simple, "Ceil"},
            {"celu", with_alpha, "Celu"},
            {"checked_index", same, ""},
            {"clamp", clip, ""},
            {"clamp_max", clip, "<"},
            {"clamp_min", clip, ">"},
            {"copy", same, ""},
            {"cos", simple, "Cos"},
            {"cosh", simple, "Cosh"},
            {"detach", same, ""},
            {"div", pair, "Div"},
            {"elu", with_alpha, "Elu"},
            {"eq", pair, "Equal"},
            {"erf", simple, "Erf"},
            {"exp", simple, "Exp"},
            {"floor", simple, "Floor"},
            {"floor_divide", floor_divide, "Div"},
            {"fmod", pair, "Mod"},
            {"ge", pair, "GreaterOrEqual"},
            {"gelu", gelu, "none"},
            {"gelu_tanh", gelu, "tanh"},
            {"gt", pair, "Greater"},
            {"hardsigmoid", hard_sigmoid, "HardSigmoid"},
            {"hardswish", simple, "HardSwish"},
            {"isinf", simple, "IsInf"},
            {"isnan", simple, "IsNaN"},
            {"le", pair, "LessOrEqual"},
            {"leaky_relu", with_alpha, "LeakyRelu"},
            {"log", simple, "Log"},
            {"log_sigmoid", chain, "Neg Softplus Neg"},
            {"logical_and", pair, "And"},
            {"logical_not", simple, "Not"},
            {"logical_or", pair, "Or"},
            {"logical_xor", pair, "Xor"},
            {"lt", pair, "Less"},
            {"maximum", pair, "Max"},
            {"minimum", pair, "Min"},
            {"mish", simple, "Mish"},
            {"mul", pair, "Mul"},
            {"ne", not_equal, "Equal"},
            {"neg", simple, "Neg"},
            {"pow", pair, "Pow"},
            {"reciprocal", simple, "Reciprocal"},
            {"rectify", simple, "PRelu"},
            {"relu", simple, "Relu"},
            {"relu6", relu6, ""},
            {"round", simple, "Round"},
            {"rsqrt", chain, "Sqrt Reciprocal"},
            {"selu", simple, "Selu"},
            {"sigmoid", simple, "Sigmoid"},
            {"sign", simple, "Sign"},
            {"silu", times, "Sigmoid"},
            {"sin", simple, "Sin"},
            {"sinh", simple, "Sinh"},
            {"softplus", simple, "Softplus"},
            {"softsign", simple, "Softsign"},
            {"sqrt", simple, "Sqrt"},
            {"square", square, "Mul"},
            {"sub", pair, "Sub"},
            {"tan", simple, "Tan"},
            {"tanh", simple, "Tanh"},
            {"threshold", threshold, "ThresholdedRelu"},
            {"to", same, ""},
            {"where", simple, "Where"},
#define ROW(op, write, onnx) {op, eg__onnx_write_##write, onnx},
            EG__ONNX_ROWS(ROW)
#undef ROW
};

eg_status eg__onnx_write_op(eg__onnx_writer *w, const eg_op_call *c)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!strcmp(rows[i].op, c->op)) {
            return rows[i].write(w, c, rows[i].onnx);
        }
    }
    return eg__onnx_cannot(c, "ONNX has no operator for it, or none is known here");
}
