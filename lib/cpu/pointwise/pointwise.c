/* pointwise.c - the rows of unary.def and binary.def as contiguous loops that compilers vectorise.
 * Halves, strided and repeated operands go through blocks. */
#include "lib/cpu/pointwise/blocks.h"
#include "lib/cpu/pointwise/vmath.h"
#include "lib/ops/options.h"

#define EG_UNARY(name, ...) eg__kernel ISA(eg__cpu_##name), ISA(eg__cpu_##name##_grad);
#include "lib/ops/unary.def"
#undef EG_UNARY
#define EG_BINARY(name, ...) eg__kernel ISA(eg__cpu_##name);
#include "lib/ops/binary.def"
#undef EG_BINARY

/* n contiguous elements of y from a and b, which may be y. Unary loops ignore b. */
typedef void loop(int64_t n, const void *a, const void *b, void *y, const eg__params *o);

enum { BLOCK = EG__BLOCK_ELEMENTS };
typedef double block[BLOCK]; /* of any type */

typedef struct job {
    loop *run;
    const eg__params *o;
    int64_t in_bytes, out_bytes;
    int in_type, out_type; /* of halves: EG_F16 or EG_BF16, else 0 */
    bool stream;
} job;

static const eg__params no_params;

/* ---- driving the loops ---------------------------------------------------------------------- */

/* Halves, operands that are not contiguous, and large results, by way of blocks. */
static __attribute__((noinline)) void blocks(const job *j, int64_t n, char *const *ptr, const int64_t *s)
{
    block fa, fb, fy;
    const eg__blocks in = {j->in_bytes, j->in_type, j->stream}, out = {j->out_bytes, j->out_type, j->stream};
    const bool direct = eg__block_is_direct(&out, s[0]);
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t k = eg__min(BLOCK, n - i);
        const void *a = eg__block_fetch(&in, i, k, ptr[1], s[1], fa);
        const void *b = ptr[2] ? eg__block_fetch(&in, i, k, ptr[2], s[2], fb) : NULL;
        char *y = ptr[0] + i * s[0];
        j->run(k, a, b, direct ? (void *)y : fy, j->o);
        if (!direct) {
            eg__block_store(&out, k, fy, y, s[0]);
        }
    }
}

static void row(void *ctx, int64_t n, char *const *ptr, const int64_t *s)
{
    const job *j = ctx;
    if (!j->in_type && !j->stream && s[0] == j->out_bytes && s[1] == j->in_bytes && (!ptr[2] || s[2] == j->in_bytes)) {
        j->run(n, ptr[1], ptr[2], ptr[0], j->o);
    } else {
        blocks(j, n, ptr, s);
    }
}

typedef struct flat {
    job j;
    char *ptr[3];
} flat;

static void flat_range(void *ctx, int64_t begin, int64_t end)
{
    const flat *f = ctx;
    const int64_t s[3] = {f->j.out_bytes, f->j.in_bytes, f->j.in_bytes};
    char *ptr[3] = {f->ptr[0] + begin * s[0], f->ptr[1] + begin * s[1], f->ptr[2] ? f->ptr[2] + begin * s[2] : NULL};
    row((void *)&f->j, end - begin, ptr, s);
}

/* Whether element i of memory in t belongs to element i of memory in y. */
static inline bool alike(const eg_tensor *y, const eg_tensor *t)
{
    return t->n == y->n && (t->flags & y->flags & EG__DENSE ||
                            (t->flags & y->flags & EG__PACKED && eg__same_shape(t, y) && eg__same_strides(t, y)));
}

/* A whole tensor at once: all operands in the same packed order. */
static __attribute__((noinline)) void run_flat(eg_tensor *y, const eg_tensor *a, const eg_tensor *b, const job *j)
{
    flat f = {*j, {eg__ptr(y), eg__ptr(a), b ? eg__ptr(b) : NULL}};
    eg__parallel(y->n, EG__GRAIN / 2, flat_range, &f);
}

static __attribute__((noinline)) void run_strided(eg_tensor *y, eg_tensor *a, eg_tensor *b, job *j)
{
    eg__iter it;
    eg__iter_init(&it, (eg_tensor *[]){y, a, b}, b ? 3 : 2);
    if (!b) { /* an operand that stays where it is, so that rows always have three */
        it.nops = 3;
        it.ptr[2] = NULL;
        memset(it.strides[2], 0, sizeof it.strides[2]);
    }
    eg__iter_run(&it, EG__GRAIN / 2, row, j);
}

static inline eg_status drive(const eg__call *c, loop *const *loops, int nin)
{
    eg_tensor *a = c->in[0], *b = nin > 1 ? c->in[1] : NULL, *y = c->out[0];
    const eg__params *o = c->opts ? c->opts : &no_params;
    int dt = a->dtype;
    bool half = dt == EG_F16 || dt == EG_BF16;
    bool packed = alike(y, a) && (!b || alike(y, b));
    if (likely(packed && !half && y->n <= EG__GRAIN / 2)) {
        loops[dt](y->n, eg__ptr(a), b ? eg__ptr(b) : NULL, eg__ptr(y), o);
        return EG_OK;
    }
    job j = {loops[half ? EG_F32 : dt],
             o,
             (int64_t)eg__esize(a),
             (int64_t)eg__esize(y),
             half ? dt : 0,
             half && y->dtype == dt ? dt : 0,
             eg__streams(y) && eg__ptr(y) != eg__ptr(a)};
    if (packed) {
        run_flat(y, a, b, &j);
    } else {
        run_strided(y, a, b, &j);
    }
    return EG_OK;
}

/* ---- the loops ------------------------------------------------------------------------------ */

#include "lib/ops/prefix.h"

/* A row has loops for more types than its kind uses. */
#define UNUSED __attribute__((unused))
#define PARAMS T p = (T)o->p, q = (T)o->q /* of integers o->ip, o->iq */
#define LOOP1(name, type, out, expr)                                                                           \
    UNUSED static void name##_##type(int64_t n, const void *av, const void *bv, void *yv, const eg__params *o) \
    {                                                                                                          \
        PARAMS;                                                                                                \
        const E *xs = av;                                                                                      \
        out *ys = yv;                                                                                          \
        (void)bv, (void)p, (void)q;                                                                            \
        EG__EACH_ALONE                                                                                         \
        for (int64_t i = 0; i < n; i++) {                                                                      \
            T x = (T)LOAD(xs[i]);                                                                              \
            ys[i] = (out)(expr);                                                                               \
        }                                                                                                      \
    }
#define LOOP2(name, type, va, vb, out, expr)                                                                   \
    UNUSED static void name##_##type(int64_t n, const void *av, const void *bv, void *yv, const eg__params *o) \
    {                                                                                                          \
        PARAMS;                                                                                                \
        const E *as = av, *bs = bv;                                                                            \
        out *ys = yv;                                                                                          \
        (void)p, (void)q;                                                                                      \
        EG__EACH_ALONE                                                                                         \
        for (int64_t i = 0; i < n; i++) {                                                                      \
            T va = (T)LOAD(as[i]), vb = (T)LOAD(bs[i]);                                                        \
            (void)va, (void)vb;                                                                                \
            ys[i] = (out)(expr);                                                                               \
        }                                                                                                      \
    }

#define LOAD(v) (v)
#define EO      E
/* Results: bool for tests and comparisons, else the type itself. */
#define OUT_FLOAT   EO
#define OUT_NUMBER  EO
#define OUT_LIMIT   EO
#define OUT_BITS    EO
#define OUT_TEST    uint8_t
#define OUT_ARITH   EO
#define OUT_POWER   EO
#define OUT_COMPARE uint8_t

/* The saved tensor of a gradient may be x or y; both names mean it. */
#undef Y
#define Y x

/* LOOP1 and LOOP2 paste TYPE, so it must be expanded first. */
#define LOOP1_(name, type, out, expr)         LOOP1(name, type, out, expr)
#define LOOP2_(name, type, va, vb, out, expr) LOOP2(name, type, va, vb, out, expr)
#define EG_UNARY(name, params, kind, cast, f, df, saves, low, high) \
    LOOP1_(name, TYPE, OUT_##kind, f)                               \
    LOOP2_(name##_grad, TYPE, dy, x, E, dy *(df))
#define EG_BINARY(name, kind, cast, f, fi, da, db, sa, sb, al, ah, bl, bh) LOOP2_(name, TYPE, a, b, OUT_##kind, f)

#define TYPE     f32
#define E        float
#define T        float
#define FN(name) eg__f32_##name
#include "lib/ops/unary.def"
#include "lib/ops/binary.def"
#undef TYPE
#undef E
#undef T
#undef FN

#define TYPE     f64
#define E        double
#define T        double
#define FN(name) eg__f64_##name
#include "lib/ops/unary.def"
#include "lib/ops/binary.def"
#undef FN
#undef T
#undef EG_UNARY
#undef EG_BINARY

/* Integers compute in int64 and wrap on store. */
#define T        int64_t
#define FN(name) eg__i64_##name
#undef PARAMS
#define PARAMS T p = o->ip, q = o->iq
#define INT_FLOAT(name, f)
#define INT_NUMBER(name, f)                                         LOOP1_(name, TYPE, EO, f)
#define INT_LIMIT(name, f)                                          LOOP1_(name, TYPE, EO, f)
#define INT_BITS(name, f)                                           LOOP1_(name, TYPE, EO, f)
#define INT_TEST(name, f)                                           LOOP1_(name, TYPE, uint8_t, f)
#define EG_UNARY(name, params, kind, cast, f, df, saves, low, high) INT_##kind(name, f)
#define PAIR_FLOAT(name, fi)
#define PAIR_ARITH(name, fi)                                               LOOP2_(name, TYPE, a, b, EO, fi)
#define PAIR_NUMBER(name, fi)                                              LOOP2_(name, TYPE, a, b, EO, fi)
#define PAIR_POWER(name, fi)                                               LOOP2_(name, TYPE, a, b, EO, fi)
#define PAIR_BITS(name, fi)                                                LOOP2_(name, TYPE, a, b, EO, fi)
#define PAIR_COMPARE(name, fi)                                             LOOP2_(name, TYPE, a, b, uint8_t, fi)
#define EG_BINARY(name, kind, cast, f, fi, da, db, sa, sb, al, ah, bl, bh) PAIR_##kind(name, fi)

#undef E
#undef TYPE
#define TYPE i64
#define E    int64_t
#include "lib/ops/unary.def"
#include "lib/ops/binary.def"
#undef E
#undef TYPE
#define TYPE i32
#define E    int32_t
#include "lib/ops/unary.def"
#include "lib/ops/binary.def"
#undef E
#undef TYPE
#define TYPE u8
#define E    uint8_t
#include "lib/ops/unary.def"
#include "lib/ops/binary.def"
#undef E
#undef TYPE
/* Any nonzero byte reads as true; 0 or 1 is written. */
#pragma GCC diagnostic ignored "-Wint-in-bool-context" /* bool a * b is meant */
#undef LOAD
#undef EO
#undef INT_BITS
#define LOAD(v)           ((v) != 0)
#define EO                _Bool
#define INT_BITS(name, f) LOOP1_(name, TYPE, EO, (f)&1) /* ~1 is false */
#define TYPE              b8
#define E                 uint8_t
#include "lib/ops/unary.def"
#include "lib/ops/binary.def"
#undef E
#undef TYPE
#undef EG_UNARY
#undef EG_BINARY
#undef T

/* ---- kernels -------------------------------------------------------------------------------- */

#define WITH_FLOATS(name)   [EG_F32] = name##_f32, [EG_F64] = name##_f64
#define WITH_INTS(name)     [EG_I64] = name##_i64, [EG_I32] = name##_i32, [EG_U8] = name##_u8
#define TYPES_FLOAT(name)   WITH_FLOATS(name)
#define TYPES_NUMBER(name)  WITH_FLOATS(name), WITH_INTS(name)
#define TYPES_ARITH(name)   WITH_FLOATS(name), WITH_INTS(name), [EG_BOOL] = name##_b8
#define TYPES_POWER(name)   WITH_FLOATS(name), WITH_INTS(name)
#define TYPES_LIMIT(name)   TYPES_NUMBER(name)
#define TYPES_BITS(name)    WITH_INTS(name), [EG_BOOL] = name##_b8
#define TYPES_TEST(name)    WITH_FLOATS(name), WITH_INTS(name), [EG_BOOL] = name##_b8
#define TYPES_COMPARE(name) TYPES_TEST(name)
#define KERNEL(name, nin, ...)                                    \
    eg_status ISA(eg__cpu_##name)(const eg__call *c)              \
    {                                                             \
        static loop *const loops[EG_DTYPE_COUNT] = {__VA_ARGS__}; \
        return drive(c, loops, nin);                              \
    }
#define EG_UNARY(name, params, kind, cast, f, df, saves, low, high) \
    KERNEL(name, 1, TYPES_##kind(name))                             \
    KERNEL(name##_grad, 2, WITH_FLOATS(name##_grad))
#include "lib/ops/unary.def"
#define EG_BINARY(name, kind, cast, f, fi, da, db, sa, sb, al, ah, bl, bh) KERNEL(name, 2, TYPES_##kind(name))
#include "lib/ops/binary.def"
