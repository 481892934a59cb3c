/* pointwise.c - the public functions and inference of unary.def and binary.def. */
#include <math.h>

#include "lib/core/device.h"
#include "lib/ops/infer.h"
#include "lib/ops/options.h"

/* ---- inference ----------------------------------------------------------------------------- */

eg_status eg__infer_none(eg__call *c)
{
    return eg__fail(EG_ESTATE, c->op->name, "it is not dispatched");
}

eg_status eg__infer_same(eg__call *c)
{
    eg__desc_like(&c->desc[0], c->in[0]);
    return EG_OK;
}

eg_status eg__infer_binary(eg__call *c)
{
    eg__desc *d = &c->desc[0];
    if (likely(eg__same_shape(c->in[0], c->in[1]) && c->in[0]->flags & EG__PACKED)) {
        eg__desc_like(d, c->in[0]);
        return EG_OK;
    }
    d->dtype = c->in[0]->dtype;
    return eg__broadcast(c->op->name, c->in, 2, d);
}

eg_status eg__infer_compare(eg__call *c)
{
    eg_status st = c->nin == 1 ? eg__infer_same(c) : eg__infer_binary(c);
    c->desc[0].dtype = EG_BOOL;
    return st;
}

/* Where element i of a result lies in t, which broadcasts to it. */
static int64_t place_in(const eg_tensor *t, const eg__desc *d, int64_t i)
{
    int64_t at = 0;
    for (int axis = d->ndim, k = t->ndim; axis-- > 0; i /= d->shape[axis]) {
        if (--k >= 0 && t->shape[k] != 1) {
            at += i % d->shape[axis] * t->strides[k];
        }
    }
    return at;
}

static bool any_negative(const eg_tensor *b)
{
    for (int64_t i = 0; i < b->n; i++) {
        if (eg__load_int(eg__ptr(b), b->dtype, eg__place(b->ndim, b->shape, b->strides, i)) < 0) {
            return true;
        }
    }
    return false;
}

/* Of integers only 1 and -1 have negative powers; only the data tell. */
static eg_status check_powers(const char *op, const eg_tensor *a, const eg_tensor *b, const eg__desc *d)
{
    for (int64_t i = 0; i < d->n; i++) {
        const int64_t v = eg__load_int(eg__ptr(a), a->dtype, place_in(a, d, i));
        const int64_t exponent = eg__load_int(eg__ptr(b), b->dtype, place_in(b, d, i));
        if (exponent < 0 && v != 1 && v != -1) {
            return eg__fail(EG_EINVAL, op, "exponent %lld of %lld is negative: the power is no integer",
                            (long long)exponent, (long long)v);
        }
    }
    return EG_OK;
}

eg_status eg__infer_power(eg__call *c)
{
    const eg_tensor *a = c->in[0], *b = c->in[1];
    const char *op = c->op->name;
    eg_status st = eg__infer_binary(c);
    if (st || eg__is_float(b->dtype)) {
        return st;
    }
    eg_scope s = a->device || b->device ? eg_scope_push() : (eg_scope){0};
    b = eg__on_host(b, op);
    if (b && any_negative(b)) {
        a = eg__on_host(a, op);
        st = a ? check_powers(op, a, b, &c->desc[0]) : EG_OK;
    }
    st = a && b ? st : eg__why();
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

eg_status eg__infer_where(eg__call *c)
{
    if (c->in[1]->dtype != c->in[2]->dtype) {
        return eg__fail(EG_EDTYPE, c->op->name, "the choices differ: %s and %s",
                        eg_dtype_name((eg_dtype)c->in[1]->dtype), eg_dtype_name((eg_dtype)c->in[2]->dtype));
    }
    c->desc[0].dtype = c->in[1]->dtype;
    return eg__broadcast(c->op->name, c->in, 3, &c->desc[0]);
}

eg_status eg__infer_lerp(eg__call *c)
{
    c->desc[0].dtype = c->in[0]->dtype;
    return eg__broadcast(c->op->name, c->in, 3, &c->desc[0]);
}

/* ---- one tensor ---------------------------------------------------------------------------- */

/* Where a whole number, as large as doubles are, lies: below all integers of the dtype -1, above them 1, among
 * them 0. */
static int side(double whole, int dtype)
{
    return whole < (double)eg__least(dtype) ? -1 : whole >= (double)eg__most(dtype) + 1;
}

/* A limit of integers as one of them: a fraction inwards; what limits nothing as the last of the dtype. */
static eg_status whole_limit(const char *name, int dtype, bool upper, double limit, int64_t *to)
{
    const double v = upper ? floor(limit) : ceil(limit);
    const int at = side(v, dtype);
    if (v != v || at == (upper ? -1 : 1)) {
        return eg__fail(EG_EINVAL, name, "%s is %.17g, which no %s keeps", upper ? "high" : "low", limit,
                        eg_dtype_name((eg_dtype)dtype));
    }
    *to = at > 0 ? eg__most(dtype) : at < 0 ? eg__least(dtype) : (int64_t)v;
    return EG_OK;
}

static EG__COLD eg_status whole_limits(const eg__op *op, const char *name, int dtype, eg__params *o)
{
    const eg__params given = *o;
    eg_status st = whole_limit(name, dtype, op == &eg__op_clamp_max, given.p, &o->ip);
    return !st && op == &eg__op_clamp ? whole_limit(name, dtype, true, given.q, &o->iq) : st;
}

/* In place if there is a name for that. */
static eg_tensor *limited(const eg__op *op, const char *in_place, eg_tensor *x, eg__params o)
{
    if (x && x->magic == EG__MAGIC && EG__INTS >> x->dtype & 1 &&
        whole_limits(op, in_place ? in_place : op->name, x->dtype, &o)) {
        return NULL;
    }
    return in_place ? eg__inplace(op, in_place, &x, 1, &o) : eg__op1(op, x, &o);
}

/* An integer limit as one of the dtype. */
static eg_status int_limit(const char *name, int dtype, bool upper, int64_t limit, int64_t *to)
{
    if (upper ? limit < eg__least(dtype) : limit > eg__most(dtype)) {
        return eg__fail(EG_EINVAL, name, "%s is %lld, which no %s keeps", upper ? "high" : "low", (long long)limit,
                        eg_dtype_name((eg_dtype)dtype));
    }
    *to = eg__max(eg__least(dtype), eg__min(eg__most(dtype), limit));
    return EG_OK;
}

/* p: the lower limit, of clamp_max the upper one; q: the upper limit of clamp. */
static eg_tensor *limited_by_ints(const eg__op *op, const char *in_place, eg_tensor *x, int64_t p, int64_t q)
{
    const char *name = in_place ? in_place : op->name;
    eg__params o = {{(double)p, (double)q}};
    if (x && x->magic == EG__MAGIC && EG__INTS >> x->dtype & 1 &&
        (int_limit(name, x->dtype, op == &eg__op_clamp_max, p, &o.ip) ||
         (op == &eg__op_clamp && int_limit(name, x->dtype, true, q, &o.iq)))) {
        return NULL;
    }
    return in_place ? eg__inplace(op, in_place, &x, 1, &o) : eg__op1(op, x, &o);
}

eg_tensor *eg_clamp_int(eg_tensor *x, int64_t low, int64_t high)
{
    return limited_by_ints(&eg__op_clamp, NULL, x, low, high);
}

eg_tensor *eg_clamp_int_(eg_tensor *x, int64_t low, int64_t high)
{
    return limited_by_ints(&eg__op_clamp, "eg_clamp_int_", x, low, high);
}

eg_tensor *eg_clamp_min_int(eg_tensor *x, int64_t low)
{
    return limited_by_ints(&eg__op_clamp_min, NULL, x, low, 0);
}

eg_tensor *eg_clamp_min_int_(eg_tensor *x, int64_t low)
{
    return limited_by_ints(&eg__op_clamp_min, "eg_clamp_min_int_", x, low, 0);
}

eg_tensor *eg_clamp_max_int(eg_tensor *x, int64_t high)
{
    return limited_by_ints(&eg__op_clamp_max, NULL, x, high, 0);
}

eg_tensor *eg_clamp_max_int_(eg_tensor *x, int64_t high)
{
    return limited_by_ints(&eg__op_clamp_max, "eg_clamp_max_int_", x, high, 0);
}

static EG__COLD eg_status bad_parameter(const eg__op *op, double p)
{
    if (op == &eg__op_celu) {
        return eg__fail(EG_EINVAL, op->name, "alpha is %g, and it divides by alpha", p);
    }
    return op == &eg__op_softshrink
               ? eg__fail(EG_EINVAL, op->name, "lambda is %g: at least 0 is needed", p)
               : eg__fail(EG_EINVAL, op->name, "n is %g: a whole number, at least 0, is needed", p);
}

/* A parameter the formula has no meaning for; where it has one, NaN too gives what arithmetic gives. */
static inline bool refused(const eg__op *op, double p)
{
    bool fine = op == &eg__op_softshrink  ? p >= 0
                : op == &eg__op_celu      ? p != 0
                : op == &eg__op_polygamma ? p >= 0 && p == nearbyint(p) && p < (double)INFINITY
                                          : true;
    return unlikely(!fine) && bad_parameter(op, p);
}

#define P0
#define P1(p)                       , double p
#define P2(p, q)                    , double p, double q
#define GIVEN_P0                    NULL
#define GIVEN_P1(p)                 (&(eg__params){{p, 0}})
#define GIVEN_P2(p, q)              (&(eg__params){{p, q}})
#define CALL_FLOAT(op, given)       eg__op1(op, x, given)
#define CALL_NUMBER(op, given)      eg__op1(op, x, given)
#define CALL_BITS(op, given)        eg__op1(op, x, given)
#define CALL_TEST(op, given)        eg__op1(op, x, given)
#define CALL_LIMIT(op, given)       limited(op, NULL, x, *given)
#define PUT_FLOAT(op, name, given)  eg__inplace(op, name, &x, 1, given)
#define PUT_NUMBER(op, name, given) eg__inplace(op, name, &x, 1, given)
#define PUT_BITS(op, name, given)   eg__inplace(op, name, &x, 1, given)
#define PUT_TEST(op, name, given)   eg__inplace(op, name, &x, 1, given)
#define PUT_LIMIT(op, name, given)  limited(op, name, x, *given)
#define REFUSED_P0                  false
#define REFUSED_P1(p)               refused(op, p)
#define REFUSED_P2(p, q)            false
#define EG_UNARY(name, params, kind, cast, f, df, saves, low, high)                       \
    eg_tensor *eg_##name(eg_tensor *x params)                                             \
    {                                                                                     \
        const eg__op *op = &eg__op_##name;                                                \
        return REFUSED_##params ? NULL : CALL_##kind(op, GIVEN_##params);                 \
    }                                                                                     \
    eg_tensor *eg_##name##_(eg_tensor *x params)                                          \
    {                                                                                     \
        const eg__op *op = &eg__op_##name;                                                \
        return REFUSED_##params ? NULL : PUT_##kind(op, "eg_" #name "_", GIVEN_##params); \
    }
#include "lib/ops/unary.def"
#undef EG_UNARY

/* ---- two tensors, or a tensor and a number -------------------------------------------------- */

/* A number, and as the integer it is if it is one of int64; given as one, it may be none of double's. */
typedef struct number {
    double real;
    int64_t whole;
    bool is_whole, given_whole;
} number;

static inline number of_real(double v)
{
    const int64_t whole = v >= -0x1p63 && v < 0x1p63 ? (int64_t)v : 0;
    return (number){v, whole, v == (double)whole, false};
}

static inline number of_int(int64_t v)
{
    return (number){(double)v, v, true, true};
}

/* A comparison of integers of a dtype with one of them. */
typedef struct question {
    const eg__op *op;
    int64_t with;
} question;

static question always(int dtype, bool answer)
{
    return (question){answer ? &eg__op_ge : &eg__op_lt, eg__least(dtype)};
}

/* Where v lies among the integers of the dtype (side), and itself; a fraction's next integer instead. */
static int locate(number v, int dtype, bool up, int64_t *at)
{
    if (v.is_whole) {
        *at = v.whole;
        return v.whole < eg__least(dtype) ? -1 : v.whole > eg__most(dtype);
    }
    const double next = up ? ceil(v.real) : floor(v.real);
    *at = eg__load_int(&next, EG_F64, 0);
    return side(next, dtype);
}

/* What integers of the dtype answer as they would answer op with v as it is: x < 2.5 is x < 3, and x < 300 is
 * always so in u8. */
static question exactly(const eg__op *op, int dtype, number v)
{
    const bool less = op == &eg__op_lt || op == &eg__op_le, equality = op == &eg__op_eq || op == &eg__op_ne;
    int64_t with;
    const int at = locate(v, dtype, op == &eg__op_lt || op == &eg__op_ge, &with);
    if (isnan(v.real) || (equality && (at || !v.is_whole))) {
        return always(dtype, op == &eg__op_ne);
    }
    return at ? always(dtype, less == (at > 0)) : (question){op, with};
}

static bool is_logical(const eg__op *op)
{
    return op == &eg__op_logical_and || op == &eg__op_logical_or || op == &eg__op_logical_xor;
}

/* The number as a tensor for arithmetic beside integers or bool. */
static eg_tensor *operand(const eg__op *op, const char *name, bool in_place, int dtype, number v)
{
    if (op->flags & EG__INT_TO_F32 || (!v.is_whole && !(isfinite(v.real) && v.real == rint(v.real)))) {
        return in_place ? eg__fail_null(EG_EDTYPE, name, "with %g the result is f32 and cannot replace %s", v.real,
                                        eg_dtype_name((eg_dtype)dtype))
                        : eg_scalar(v.real, EG_F32);
    }
    if (dtype == EG_BOOL && in_place) {
        return eg__fail_null(EG_EDTYPE, name, "with a number the result is i64 and cannot replace bool");
    }
    dtype = dtype == EG_BOOL ? EG_I64 : dtype;
    if (!v.is_whole) {
        return eg__fail_null(EG_EINVAL, name, "%g is outside %s", v.real, eg_dtype_name((eg_dtype)dtype));
    }
    if (v.whole < eg__least(dtype) || v.whole > eg__most(dtype)) {
        return eg__fail_null(EG_EINVAL, name, "%lld is outside %s", (long long)v.whole, eg_dtype_name((eg_dtype)dtype));
    }
    return eg_scalar_int(v.whole, (eg_dtype)dtype);
}

/* The number beside a, as the header says; asked of integers, *op may change. */
static eg_tensor *beside(const eg__op **op, const char *in_place, const eg_tensor *a, number v)
{
    const int dtype = a->dtype;
    if (likely(eg__is_float(dtype))) { /* rounded once */
        return v.given_whole ? eg_scalar_int(v.whole, (eg_dtype)dtype) : eg_scalar(v.real, (eg_dtype)dtype);
    }
    if (is_logical(*op)) {
        return eg_scalar_int(v.real != 0, (eg_dtype)dtype);
    }
    if ((*op)->infer == eg__infer_compare) {
        const question q = exactly(*op, dtype, v);
        *op = q.op;
        return eg_scalar_int(q.with, (eg_dtype)dtype);
    }
    return operand(*op, in_place ? in_place : (*op)->name, in_place != NULL, dtype, v);
}

/* Returns whether the scalar operand leaves the normal range of a half, so that it overflows or loses more than
 * trailing digits. False for comparisons, which use the rounded number. */
static bool is_lost(const eg__op *op, int dtype, double v)
{
    const double most = dtype == EG_F16 ? 65504 : 0x1.fep127, least = dtype == EG_F16 ? 0x1p-14 : 0x1p-126;
    return eg__is_half(dtype) && op->infer != eg__infer_compare && v != 0 && isfinite(v) &&
           (fabs(v) > most || fabs(v) < least);
}

static eg_tensor *with_number(const eg__op *op, eg_tensor *a, number v)
{
    if (eg__check(a, op->name, "a")) {
        return NULL;
    }
    eg__wide s = {.dtype = -1};
    if (unlikely(is_lost(op, a->dtype, v.real))) {
        s = EG__WIDE_BEGIN(&a);
    } else {
        s.scope = eg_scope_push();
    }
    eg_tensor *b = a ? beside(&op, NULL, a, v) : NULL;
    return eg__wide_end(s, b ? eg__op2(op, a, b, NULL) : NULL);
}

static eg_tensor *with_number_(const eg__op *op, const char *name, eg_tensor *a, number v)
{
    if (eg__check(a, name, "a")) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    const bool wide = is_lost(op, a->dtype, v.real);
    eg_tensor *b = wide ? with_number(op, eg_detach(a), v) : beside(&op, name, a, v);
    eg_tensor *r = !b ? NULL : wide ? eg_copy_(a, b) : eg__inplace(op, name, (eg_tensor *[]){a, b}, 2, NULL);
    eg_scope_pop(s, NULL);
    return r;
}

/* Floats are more than integers, those more than bool. */
static int category(const eg_tensor *t)
{
    return eg__is_float(t->dtype) ? 2 : t->dtype != EG_BOOL;
}

static eg_tensor *with_tensor_(const eg__op *op, const char *name, eg_tensor *a, eg_tensor *b)
{
    if (a && b && a->magic == EG__MAGIC && b->magic == EG__MAGIC && category(b) > category(a) && !is_logical(op)) {
        return eg__fail_null(EG_EDTYPE, name, "%s beside the target's %s: the result cannot replace it",
                             eg_dtype_name((eg_dtype)b->dtype), eg_dtype_name((eg_dtype)a->dtype));
    }
    return eg__inplace(op, name, (eg_tensor *[]){a, b}, 2, NULL);
}

#define INTS_FLOAT(name)
#define INTS_ARITH(name)                                                        \
    eg_tensor *eg_##name##_int(eg_tensor *a, int64_t b)                         \
    {                                                                           \
        return with_number(&eg__op_##name, a, of_int(b));                       \
    }                                                                           \
    eg_tensor *eg_##name##_int_(eg_tensor *a, int64_t b)                        \
    {                                                                           \
        return with_number_(&eg__op_##name, "eg_" #name "_int_", a, of_int(b)); \
    }
#define INTS_NUMBER  INTS_ARITH
#define INTS_POWER   INTS_ARITH
#define INTS_COMPARE INTS_ARITH
#define INTS_BITS    INTS_ARITH
#define EG_BINARY(name, kind, cast, f, fi, da, db, sa, sb, al, ah, bl, bh)          \
    eg_tensor *eg_##name(eg_tensor *a, eg_tensor *b)                                \
    {                                                                               \
        return eg__op2(&eg__op_##name, a, b, NULL);                                 \
    }                                                                               \
    eg_tensor *eg_##name##_(eg_tensor *a, eg_tensor *b)                             \
    {                                                                               \
        return with_tensor_(&eg__op_##name, "eg_" #name "_", a, b);                 \
    }                                                                               \
    eg_tensor *eg_##name##_scalar(eg_tensor *a, double b)                           \
    {                                                                               \
        return with_number(&eg__op_##name, a, of_real(b));                          \
    }                                                                               \
    eg_tensor *eg_##name##_scalar_(eg_tensor *a, double b)                          \
    {                                                                               \
        return with_number_(&eg__op_##name, "eg_" #name "_scalar_", a, of_real(b)); \
    }                                                                               \
    INTS_##kind(name)
#include "lib/ops/binary.def"
#undef EG_BINARY

/* ---- three tensors -------------------------------------------------------------------------- */

eg_tensor *eg_where(eg_tensor *condition, eg_tensor *a, eg_tensor *b)
{
    if (eg__check(condition, "where", "condition") || eg__check(a, "where", "a") || eg__check(b, "where", "b")) {
        return NULL;
    }
    if (a->dtype == b->dtype && condition->dtype == EG_BOOL) {
        return eg__op3(&eg__op_where, condition, a, b, NULL);
    }
    eg_scope s = eg_scope_push();
    int dt = eg__common_dtype((eg_tensor *[]){a, b}, 2);
    eg_tensor *c = eg_cast(condition, EG_BOOL);
    return eg_scope_pop(s, eg__op3(&eg__op_where, c, eg_cast(a, (eg_dtype)dt), eg_cast(b, (eg_dtype)dt), NULL));
}

eg_tensor *eg_lerp(eg_tensor *a, eg_tensor *b, eg_tensor *weight)
{
    if (eg__check(a, "lerp", "a") || eg__check(b, "lerp", "b") || eg__check(weight, "lerp", "weight")) {
        return NULL;
    }
    return eg__op3(&eg__op_lerp, a, b, weight, NULL);
}

/* ---- with axes or special values ---------------------------------------------------------------- */

eg_tensor *eg_prelu(eg_tensor *x, eg_tensor *weight)
{
    if (eg__check(x, "prelu", "x") || eg__check(weight, "prelu", "weight")) {
        return NULL;
    }
    eg_shape s = {0};
    if (weight->n != 1) {
        if (x->ndim < 2 || weight->ndim != 1 || weight->shape[0] != x->shape[1]) {
            return eg__fail_null(EG_ESHAPE, "prelu",
                                 "weight %s for x %s: one, or one per channel "
                                 "on axis 1",
                                 EG__SHAPE_OF(weight), EG__SHAPE_OF(x));
        }
        s = (eg_shape){x->ndim - 1, {weight->n, 1, 1, 1, 1, 1, 1, 1}};
    }
    eg_scope scope = eg_scope_push();
    return eg_scope_pop(scope, eg_rectify(x, eg_reshape(weight, s)));
}

eg_tensor *eg_glu(eg_tensor *x, int axis)
{
    int a = eg__check(x, "glu", "x") ? -1 : eg__axis("glu", x->ndim, axis);
    if (a < 0) {
        return NULL;
    }
    int64_t half = x->shape[a] / 2;
    if (x->shape[a] != 2 * half) {
        return eg__fail_null(EG_ESHAPE, "glu", "axis %d of %s has no halves", a, EG__SHAPE_OF(x));
    }
    eg__wide s = EG__WIDE_BEGIN(&x);
    eg_tensor *gate = eg_sigmoid(eg_slice(x, a, half, EG_END, 1));
    return eg__wide_end(s, eg_mul(eg_slice(x, a, 0, half, 1), gate));
}

eg_tensor *eg_nan_to_num(eg_tensor *x, double nan, double positive, double negative)
{
    if (eg__check(x, "nan_to_num", "x")) {
        return NULL;
    }
    if (!eg__is_float(x->dtype)) {
        return eg_alias(x);
    }
    const eg_dtype dtype = (eg_dtype)x->dtype;
    eg_scope s = eg_scope_push();
    eg_tensor *y = eg_where(eg_isnan(x), eg_scalar(nan, dtype), x);
    y = eg_where(eg_eq_scalar(x, INFINITY), eg_scalar(positive, dtype), y);
    return eg_scope_pop(s, eg_where(eg_eq_scalar(x, -INFINITY), eg_scalar(negative, dtype), y));
}
