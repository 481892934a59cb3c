/* pointwise.c - the rows of unary.def and binary.def one element at a time: floats in double, integers
 * and bools in int64. */
#include "lib/math/scalar.h"
#include "lib/ops/options.h"
#include "lib/ref/ref.h"

typedef double real1(double x, double p, double q);
typedef double real2(double a, double b);
typedef int64_t int1(int64_t x, int64_t p, int64_t q);
typedef int64_t int2(int64_t a, int64_t b);

static eg_status unary(const eg__call *c, real1 *f, int1 *fi)
{
    const eg_tensor *x = c->in[0], *y = c->out[0];
    const eg__params o = c->opts ? *(const eg__params *)c->opts : (eg__params){{0, 0}};
    for (int64_t i = 0; i < y->n; i++) {
        int64_t from = eg__at(x, y, i), to = eg__at(y, y, i);
        if (eg__is_float(x->dtype)) {
            eg__set_at(y, to, f(eg__get_at(x, from), o.p, o.q));
        } else {
            int64_t v = fi(eg__get_int_at(x, from), o.ip, o.iq);
            eg__set_int_at(y, to, y->dtype == EG_BOOL ? v & 1 : v); /* ~1 is false */
        }
    }
    return EG_OK;
}

/* dy times the derivative at the saved x or y. */
static eg_status unary_grad(const eg__call *c, real1 *df)
{
    const eg_tensor *dy = c->in[0], *x = c->in[1], *dx = c->out[0];
    const eg__params *o = c->opts;
    for (int64_t i = 0; i < dx->n; i++) {
        double d = df(eg__get_at(x, eg__at(x, dx, i)), o ? o->p : 0, o ? o->q : 0);
        eg__set_at(dx, eg__at(dx, dx, i), eg__get_at(dy, eg__at(dy, dx, i)) * d);
    }
    return EG_OK;
}

static eg_status binary(const eg__call *c, real2 *f, int2 *fi)
{
    const eg_tensor *a = c->in[0], *b = c->in[1], *y = c->out[0];
    for (int64_t i = 0; i < y->n; i++) {
        int64_t p = eg__at(a, y, i), q = eg__at(b, y, i), to = eg__at(y, y, i);
        if (eg__is_float(a->dtype)) {
            eg__set_at(y, to, f(eg__get_at(a, p), eg__get_at(b, q)));
        } else {
            eg__set_int_at(y, to, fi(eg__get_int_at(a, p), eg__get_int_at(b, q)));
        }
    }
    return EG_OK;
}

/* ---- double -------------------------------------------------------------------------------- */

#include "lib/ops/prefix.h"

#define T        double
#define FN(name) eg__f64_##name
#define EG_UNARY(name, params, kind, cast, f, df, saves, low, high) \
    static double real_##name(double x, double p, double q)         \
    {                                                               \
        (void)p, (void)q;                                           \
        return f;                                                   \
    }                                                               \
    static double slope_##name(double x, double p, double q)        \
    {                                                               \
        double y = x; /* what was saved: x or y */                  \
        (void)x, (void)y, (void)p, (void)q;                         \
        return df;                                                  \
    }
#include "lib/ops/unary.def"
#undef EG_UNARY
#define EG_BINARY(name, kind, cast, f, fi, da, db, sa, sb, al, ah, bl, bh) \
    static double real_##name(double a, double b)                          \
    {                                                                      \
        (void)a, (void)b;                                                  \
        return f;                                                          \
    }
#include "lib/ops/binary.def"
#undef EG_BINARY
#undef T
#undef FN

/* ---- int64 --------------------------------------------------------------------------------- */

#define T        int64_t
#define FN(name) eg__i64_##name
#define INT1(name, f)                                          \
    static int64_t int_##name(int64_t x, int64_t p, int64_t q) \
    {                                                          \
        (void)p, (void)q;                                      \
        return f;                                              \
    }
/* FLOAT: never asked with integers. */
#define INT_FLOAT(name, f)                                          static int1 *const int_##name = NULL;
#define INT_NUMBER(name, f)                                         INT1(name, f)
#define INT_LIMIT(name, f)                                          INT1(name, f)
#define INT_TEST(name, f)                                           INT1(name, f)
#define INT_BITS(name, f)                                           INT1(name, f)
#define EG_UNARY(name, params, kind, cast, f, df, saves, low, high) INT_##kind(name, f)
#include "lib/ops/unary.def"
#undef EG_UNARY
#define EG_BINARY(name, kind, cast, f, fi, da, db, sa, sb, al, ah, bl, bh) \
    static int64_t int_##name(int64_t a, int64_t b)                        \
    {                                                                      \
        (void)a, (void)b;                                                  \
        return fi;                                                         \
    }
#include "lib/ops/binary.def"
#undef EG_BINARY
#undef T
#undef FN

/* ---- kernels ------------------------------------------------------------------------------- */

#define EG_UNARY(name, params, kind, cast, f, df, saves, low, high) \
    eg_status eg__ref_##name(const eg__call *c)                     \
    {                                                               \
        return unary(c, real_##name, int_##name);                   \
    }                                                               \
    eg_status eg__ref_##name##_grad(const eg__call *c)              \
    {                                                               \
        return unary_grad(c, slope_##name);                         \
    }
#include "lib/ops/unary.def"
#undef EG_UNARY
#define EG_BINARY(name, kind, cast, f, fi, da, db, sa, sb, al, ah, bl, bh) \
    eg_status eg__ref_##name(const eg__call *c)                            \
    {                                                                      \
        return binary(c, real_##name, int_##name);                         \
    }
#include "lib/ops/binary.def"
#undef EG_BINARY

eg_status eg__ref_lerp(const eg__call *c)
{
    const eg_tensor *y = c->out[0];
    for (int64_t i = 0; i < y->n; i++) {
        double v[3];
        for (int k = 0; k < 3; k++) {
            v[k] = eg__get_at(c->in[k], eg__at(c->in[k], y, i));
        }
        eg__set_at(y, eg__at(y, y, i), eg__f64_lerp(v[0], v[1], v[2]));
    }
    return EG_OK;
}

eg_status eg__ref_where(const eg__call *c)
{
    const eg_tensor *y = c->out[0];
    for (int64_t i = 0; i < y->n; i++) {
        const eg_tensor *from = eg__get_at(c->in[0], eg__at(c->in[0], y, i)) != 0 ? c->in[1] : c->in[2];
        int64_t at = eg__at(from, y, i);
        if (eg__is_float(y->dtype)) {
            eg__set_at(y, eg__at(y, y, i), eg__get_at(from, at));
        } else {
            eg__set_int_at(y, eg__at(y, y, i), eg__get_int_at(from, at));
        }
    }
    return EG_OK;
}
