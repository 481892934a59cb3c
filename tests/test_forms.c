/* test_forms.c - the forms of pointwise ops that are made from rows: in place, with a number, with a number in
 * place. Each gives what the plain form gives. */
#include "tests/egt.h"

static bool same(eg_tensor *a, eg_tensor *b)
{
    return a && b && eg_dtype_of(a) == eg_dtype_of(b) && eg_item(eg_all(eg_eq(a, b))) == 1;
}

/* Values of which some are alike, in the domain of a row; of dtypes the row is for. */
static eg_tensor *values(eg_dtype dtype, double low, double high)
{
    return eg_cast(egt_random(EG_SHAPE(3, 11), EG_F64, low, high), dtype);
}

/* What a result in place has the dtype of, by kind; and what inputs have. */
#define OF_FLOAT   EG_F32
#define OF_NUMBER  EG_F32
#define OF_LIMIT   EG_F32
#define OF_ARITH   EG_F32
#define OF_POWER   EG_F32
#define OF_BITS    EG_I32
#define OF_TEST    EG_BOOL
#define OF_COMPARE EG_BOOL

/* ---- one tensor -------------------------------------------------------------------------------------- */

#define P0       x
#define P1(p)    x, (#p)[0] == 'n' ? 2 : 0.25 /* of polygamma it is a whole number */
#define P2(p, q) x, 0.25, 0.75

typedef struct unary_row {
    const char *name;
    eg_dtype dtype;
    double low, high;
    eg_tensor *(*plain)(eg_tensor *x), *(*in_place)(eg_tensor *x);
} unary_row;

#define EG_UNARY(name, params, kind, cast, f, df, saves, low, high) \
    static eg_tensor *name##_plain(eg_tensor *x)                    \
    {                                                               \
        return eg_##name(params);                                   \
    }                                                               \
    static eg_tensor *name##_in_place(eg_tensor *x)                 \
    {                                                               \
        return eg_##name##_(params);                                \
    }
#include "lib/ops/unary.def"
#undef EG_UNARY

static const unary_row unary_rows[] = {
#define EG_UNARY(name, params, kind, cast, f, df, saves, low, high) \
    {#name, OF_##kind, low, high, name##_plain, name##_in_place},
#include "lib/ops/unary.def"
#undef EG_UNARY
};

EGT(one_tensor_in_place)
{
    for (size_t i = 0; i < sizeof unary_rows / sizeof *unary_rows; i++) {
        const unary_row *r = &unary_rows[i];
        snprintf(egt_case, sizeof egt_case, "%s", r->name);
        eg_tensor *x = values(r->dtype, r->low, r->high), *y = r->plain(x);
        EGT_CHECK(r->in_place(x) == x && same(x, y));
        EGT_REFUSED(r->in_place(NULL), EG_EINVAL, "NULL");
    }
}

/* ---- two tensors ------------------------------------------------------------------------------------- */

typedef struct binary_row {
    const char *name;
    eg_dtype dtype;
    double alow, ahigh, blow, bhigh;
    eg_tensor *(*plain)(eg_tensor *, eg_tensor *), *(*in_place)(eg_tensor *, eg_tensor *);
    eg_tensor *(*number)(eg_tensor *, double), *(*number_in_place)(eg_tensor *, double);
    eg_tensor *(*integer)(eg_tensor *, int64_t), *(*integer_in_place)(eg_tensor *, int64_t);
} binary_row;

#define INTS_FLOAT(name) NULL, NULL
#define INTS_ARITH(name) eg_##name##_int, eg_##name##_int_
#define INTS_NUMBER      INTS_ARITH
#define INTS_POWER       INTS_ARITH
#define INTS_COMPARE     INTS_ARITH
#define INTS_BITS        INTS_ARITH

static const binary_row binary_rows[] = {
#define EG_BINARY(name, kind, cast, f, fi, da, db, sa, sb, al, ah, bl, bh) \
    {#name,                                                                \
     OF_##kind,                                                            \
     al,                                                                   \
     ah,                                                                   \
     bl,                                                                   \
     bh,                                                                   \
     eg_##name,                                                            \
     eg_##name##_,                                                         \
     eg_##name##_scalar,                                                   \
     eg_##name##_scalar_,                                                  \
     INTS_##kind(name)},
#include "lib/ops/binary.def"
#undef EG_BINARY
};

enum { BINARY_ROWS = sizeof binary_rows / sizeof *binary_rows };

EGT(two_tensors_in_place)
{
    for (int i = 0; i < BINARY_ROWS; i++) {
        const binary_row *r = &binary_rows[i];
        snprintf(egt_case, sizeof egt_case, "%s", r->name);
        eg_tensor *a = values(r->dtype, r->alow, r->ahigh), *b = values(r->dtype, r->blow, r->bhigh);
        eg_tensor *row = eg_slice(b, 0, 0, 1, 1), *y = r->plain(a, row), *z = r->plain(y, b);
        EGT_CHECK(r->in_place(a, row) == a && same(a, y));
        EGT_CHECK(r->in_place(a, b) == a && same(a, z));
        EGT_REFUSED(r->in_place(a, NULL), EG_EINVAL, "NULL");
    }
}

EGT(with_a_number)
{
    for (int i = 0; i < BINARY_ROWS; i++) {
        const binary_row *r = &binary_rows[i];
        snprintf(egt_case, sizeof egt_case, "%s", r->name);
        eg_tensor *a = values(r->dtype, r->alow, r->ahigh), *b = values(r->dtype, r->blow, r->bhigh);
        const double number = eg_get(b, 5);
        eg_tensor *y = r->plain(a, eg_scalar(number, r->dtype == EG_BOOL ? EG_I64 : r->dtype));
        EGT_CHECK(same(r->number(a, number), y));
        EGT_CHECK(r->number_in_place(a, number) == a && same(a, y));
        EGT_REFUSED(r->number(NULL, number), EG_EINVAL, "NULL");
        EGT_REFUSED(r->number_in_place(NULL, number), EG_EINVAL, "NULL");
    }
}

EGT(with_an_integer)
{
    for (int i = 0; i < BINARY_ROWS; i++) {
        const binary_row *r = &binary_rows[i];
        snprintf(egt_case, sizeof egt_case, "%s", r->name);
        if (r->integer) {
            eg_tensor *a = values(r->dtype, r->alow, r->ahigh), *y = r->number(a, 1);
            EGT_CHECK(same(r->integer(a, 1), y));
            EGT_CHECK(r->integer_in_place(a, 1) == a && same(a, y));
            EGT_REFUSED(r->integer(NULL, 1), EG_EINVAL, "NULL");
            EGT_REFUSED(r->integer_in_place(NULL, 1), EG_EINVAL, "NULL");
        }
    }
}
