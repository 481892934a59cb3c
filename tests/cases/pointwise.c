/* pointwise.c - one case per row of unary.def and binary.def, from the row itself, and more by hand. */
#include "tests/cases.h"

/* ---- one tensor ------------------------------------------------------------------------------ */

#define P0           x[0]
#define P1(p)        x[0], (#p)[0] == 'n' ? 2 : 0.3 /* of polygamma it is a whole number */
#define P2(p, q)     x[0], -0.7, 1.3
#define FLAGS_FLOAT  0
#define FLAGS_NUMBER EGT_INTS
#define FLAGS_LIMIT  EGT_INTS
#define FLAGS_BITS   EGT_INTS | EGT_BOOL | EGT_NO_FLOAT | EGT_NO_GRAD
#define FLAGS_TEST   EGT_INTS | EGT_BOOL | EGT_NO_GRAD
#define EG_UNARY(name, params, kind, cast, f, df, saves, low, high)      \
    static eg_tensor *run_##name(eg_tensor *const *x, int n, void *user) \
    {                                                                    \
        (void)n, (void)user;                                             \
        return eg_##name(params);                                        \
    }
#include "lib/ops/unary.def"
#undef EG_UNARY

/* What halves round away near steps would look like an error of the op. */
#define STEPS(name)                                                                                         \
    (!strcmp(name, "floor") || !strcmp(name, "ceil") || !strcmp(name, "trunc") || !strcmp(name, "round") || \
             !strcmp(name, "frac")                                                                          \
         ? EGT_NO_HALF                                                                                      \
         : 0)

/* ---- two tensors ----------------------------------------------------------------------------- */

#define FLAGS_ARITH   EGT_INTS | EGT_BOOL
#define FLAGS_POWER   EGT_INTS
#define FLAGS_COMPARE EGT_INTS | EGT_BOOL | EGT_NO_GRAD
#define EG_BINARY(name, kind, cast, f, fi, da, db, sa, sb, al, ah, bl, bh) \
    static eg_tensor *run_##name(eg_tensor *const *x, int n, void *user)   \
    {                                                                      \
        (void)n, (void)user;                                               \
        return eg_##name(x[0], x[1]);                                      \
    }
#include "lib/ops/binary.def"
#undef EG_BINARY

static egt_op_case unary_cases[] = {
#define EG_UNARY(name_, params, kind, cast, f_, df, saves, low_, high_)                        \
    {#name_, "4-d", run_##name_, {{DIMS(2, 3, 2, 3), low_, high_, 0}}, .flags = FLAGS_##kind}, \
        {#name_, "empty", run_##name_, {{DIMS(3, 0), low_, high_, 0}}, .flags = FLAGS_##kind}, \
        {#name_, "0-dim", run_##name_, {{{0, {0}}, low_, high_, 0}}, .flags = FLAGS_##kind},   \
        {#name_, "long", run_##name_, {{DIMS(2, 4201), low_, high_, 0}}, .flags = (FLAGS_##kind) | EGT_NO_GRAD},
#include "lib/ops/unary.def"
#undef EG_UNARY
};

static egt_op_case binary_cases[] = {
#define EG_BINARY(name_, kind, cast, f_, fi, da, db, sa, sb, al, ah, bl, bh)                                    \
    {#name_,                                                                                                    \
     "same shape",                                                                                              \
     run_##name_,                                                                                               \
     {{DIMS(2, 3, 2), al, ah, 0}, {DIMS(2, 3, 2), bl, bh, 0}},                                                  \
     .flags = FLAGS_##kind},                                                                                    \
        {#name_,                                                                                                \
         "broadcast",                                                                                           \
         run_##name_,                                                                                           \
         {{DIMS(2, 1, 3, 1), al, ah, 0}, {DIMS(4, 1, 2), bl, bh, 0}},                                           \
         .flags = FLAGS_##kind},                                                                                \
        {#name_, "0-dim", run_##name_, {{DIMS(5), al, ah, 0}, {{0, {0}}, bl, bh, 0}}, .flags = FLAGS_##kind},   \
        {#name_, "empty", run_##name_, {{DIMS(0, 3), al, ah, 0}, {DIMS(3), bl, bh, 0}}, .flags = FLAGS_##kind}, \
        {#name_,                                                                                                \
         "long",                                                                                                \
         run_##name_,                                                                                           \
         {{DIMS(2, 4201), al, ah, 0}, {DIMS(2, 1), bl, bh, 0}},                                                 \
         .flags = (FLAGS_##kind) | EGT_NO_GRAD},
#include "lib/ops/binary.def"
#undef EG_BINARY
};

CASE_FUNCTION(above_a_fraction, eg_clamp(x[0], -0.6, (double)INFINITY))
CASE_FUNCTION(crossed, eg_clamp(x[0], 1.5, 0.5))
CASE_FUNCTION(below_a_fraction, eg_clamp_max(x[0], 1.3))

EGT_CASES(limits, {"clamp", "one end", above_a_fraction, {{DIMS(3, 7), -3, 3, 0}}, .flags = EGT_INTS},
          {"clamp", "crossed", crossed, {{DIMS(3, 7), -3, 3, 0}}, .flags = EGT_INTS},
          {"clamp_max", "a fraction", below_a_fraction, {{DIMS(3, 7), -3, 3, 0}}, .flags = EGT_INTS})

CASE_FUNCTION(prelu, eg_prelu(x[0], x[1]))
CASE_FUNCTION(glu, eg_glu(x[0], 1))

EGT_CASES(with_axes, {"rectify", "prelu", prelu, {{DIMS(2, 3, 2, 2), -2, -0.1, 0}, {DIMS(3), -1, 1, 0}}},
          {"rectify", "prelu, one", prelu, {{DIMS(2, 5), 0.1, 2, 0}, {DIMS(1), -1, 1, 0}}},
          {"sigmoid", "glu", glu, {{DIMS(2, 6, 3), -2, 2, 0}}})

/* The rows say what is smooth; integers need whole domains, and a few ops their own flags. */
static void adjust(egt_op_case *k)
{
    bool integers = k->flags & (EGT_INTS | EGT_NO_FLOAT);
    k->flags |= STEPS(k->ops);
    k->flags |= !strcmp(k->ops, "floor_divide") ? EGT_NO_SECOND : 0;
    if (strcmp(k->ops, "pow") == 0) {
        k->flags &= ~(unsigned)EGT_INTS; /* negative exponents of integers are refused */
    }
    if (!strcmp(k->ops, "floor_divide") || !strcmp(k->ops, "remainder") || !strcmp(k->ops, "fmod")) {
        k->flags |= EGT_NO_HALF;
    }
    k->tolerance = integers ? 1e-6 : 0;
}

static egt_op_cases unary_list = {unary_cases, sizeof unary_cases / sizeof *unary_cases, NULL};
static egt_op_cases binary_list = {binary_cases, sizeof binary_cases / sizeof *binary_cases, NULL};

__attribute__((constructor)) static void add_pointwise(void)
{
    for (int i = 0; i < unary_list.count; i++) {
        adjust(&unary_cases[i]);
    }
    for (int i = 0; i < binary_list.count; i++) {
        adjust(&binary_cases[i]);
    }
    egt_add_cases(&unary_list);
    egt_add_cases(&binary_list);
}
