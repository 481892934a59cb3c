/* pointwise.c - the rows of unary.def and binary.def as loops that compilers vectorise: contiguous and
 * broadcast inner loops apart from the strided one. f16 and bf16 go through blocks of f32. */
#include "lib/cpu/convert.h"
#include "lib/cpu/isa.h"
#include "lib/cpu/vmath.h"
#include "lib/ops/options.h"

#define EG_UNARY(name, ...) eg__kernel ISA(eg__cpu_##name), ISA(eg__cpu_##name##_grad);
#include "lib/ops/unary.def"
#undef EG_UNARY
#define EG_BINARY(name, ...) eg__kernel ISA(eg__cpu_##name);
#include "lib/ops/binary.def"
#undef EG_BINARY

/* n elements of y from a and b; strides in bytes. Unary loops ignore b; parameters are in doubles. */
typedef void loop(int64_t n, const char *a, int64_t sa, const char *b, int64_t sb, char *y, int64_t sy,
                  const eg__params *o);

enum { BLOCK = 512 };

typedef struct job {
    loop *run;
    const eg__params *o;
    int in_type, out_type; /* of halves: EG_F16 or EG_BF16, else 0 */
} job;

static const eg__params no_params;

/* ---- driving the loops ---------------------------------------------------------------------- */

/* A row of halves: widen blocks, run the f32 loop, narrow (unless the result is bool). */
static void half_row(const job *j, int64_t n, const char *a, int64_t sa, const char *b, int64_t sb,
                     char *y, int64_t sy)
{
    float fa[BLOCK], fb[BLOCK], fy[BLOCK];
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t k = eg__min(BLOCK, n - i);
        ISA(eg__halves_to_f32)(k, j->in_type, a + i * sa, sa, fa);
        if (b) {
            ISA(eg__halves_to_f32)(k, j->in_type, b + i * sb, sb, fb);
        }
        if (j->out_type) {
            j->run(k, (char *)fa, 4, (char *)fb, 4, (char *)fy, 4, j->o);
            ISA(eg__f32_to_halves)(k, j->out_type, fy, y + i * sy, sy);
        } else {
            j->run(k, (char *)fa, 4, (char *)fb, 4, y + i * sy, sy, j->o);
        }
    }
}

static void row(void *ctx, int64_t n, char *const *ptr, const int64_t *s)
{
    const job *j = ctx;
    if (unlikely(j->in_type)) {
        half_row(j, n, ptr[1], s[1], ptr[2], s[2], ptr[0], s[0]);
    } else {
        j->run(n, ptr[1], s[1], ptr[2], s[2], ptr[0], s[0], j->o);
    }
}

typedef struct flat {
    job j;
    char *y, *a, *b;
    int64_t sy, sa, sb;
} flat;

static void flat_range(void *ctx, int64_t begin, int64_t end)
{
    const flat *f = ctx;
    char *ptr[3] = {f->y + begin * f->sy, f->a + begin * f->sa, f->b ? f->b + begin * f->sb : NULL};
    const int64_t s[3] = {f->sy, f->sa, f->sb};
    row((void *)&f->j, end - begin, ptr, s);
}

/* Whether element i of memory in t belongs to element i of memory in y. */
static inline bool alike(const eg_tensor *y, const eg_tensor *t)
{
    return t->n == y->n && (t->flags & y->flags & EG__DENSE ||
                            (t->flags & y->flags & EG__PACKED && eg__same_shape(t, y) &&
                             eg__same_strides(t, y)));
}

/* A whole tensor at once: all operands in the same packed order. */
static __attribute__((noinline)) void run_flat(eg_tensor *y, const eg_tensor *a, const eg_tensor *b, const job *j)
{
    flat f = {*j, eg__ptr(y), eg__ptr(a), b ? eg__ptr(b) : NULL, (int64_t)eg__esize(y),
              (int64_t)eg__esize(a), b ? (int64_t)eg__esize(b) : 0};
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
        int64_t es = (int64_t)eg__esize(a);
        loops[dt](y->n, eg__ptr(a), es, b ? eg__ptr(b) : NULL, es, eg__ptr(y),
                  (int64_t)eg__esize(y), o);
        return EG_OK;
    }
    job j = {loops[half ? EG_F32 : dt], o, half ? dt : 0, half && y->dtype == dt ? dt : 0};
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
#define PARAMS T p = (T)o->p, q = (T)o->q
#define LOOP1(name, type, out, expr)                                                               \
    UNUSED static void name##_##type(int64_t n, const char *av, int64_t sa, const char *bv,        \
                                     int64_t sb, char *yv, int64_t sy, const eg__params *o)        \
    {                                                                                              \
        PARAMS;                                                                                    \
        (void)bv, (void)sb, (void)p, (void)q;                                                      \
        if (sa == sizeof(E) && sy == sizeof(out)) {                                                \
            const E *xs = (const E *)av;                                                           \
            out *ys = (out *)yv;                                                                   \
            for (int64_t i = 0; i < n; i++) {                                                      \
                T x = (T)LOAD(xs[i]);                                                              \
                ys[i] = (out)(expr);                                                               \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        for (int64_t i = 0; i < n; i++, av += sa, yv += sy) {                                      \
            T x = (T)LOAD(*(const E *)av);                                                         \
            *(out *)yv = (out)(expr);                                                              \
        }                                                                                          \
    }
#define LOOP2_BODY(get_a, get_b, va, vb, out, expr)                                                \
    for (int64_t i = 0; i < n; i++) {                                                              \
        T va = (T)LOAD(get_a), vb = (T)LOAD(get_b);                                                \
        (void)va, (void)vb;                                                                        \
        ys[i] = (out)(expr);                                                                       \
    }
/* Beside a row along which one operand stays, for what is often asked so. */
#define WITH_BROADCASTS(va, vb, out, expr)                                                         \
    if (sy == sizeof(out) && sa == sizeof(E) && sb == 0) {                                         \
        const E *as = (const E *)av, one = *(const E *)bv;                                         \
        out *ys = (out *)yv;                                                                       \
        LOOP2_BODY(as[i], one, va, vb, out, expr)                                                  \
        return;                                                                                    \
    }                                                                                              \
    if (sy == sizeof(out) && sa == 0 && sb == sizeof(E)) {                                         \
        const E *bs = (const E *)bv, one = *(const E *)av;                                         \
        out *ys = (out *)yv;                                                                       \
        LOOP2_BODY(one, bs[i], va, vb, out, expr)                                                  \
        return;                                                                                    \
    }
#define NO_BROADCASTS(va, vb, out, expr)
#define LOOP2(name, type, va, vb, out, expr, broadcasts)                                           \
    UNUSED static void name##_##type(int64_t n, const char *av, int64_t sa, const char *bv,        \
                                     int64_t sb, char *yv, int64_t sy, const eg__params *o)        \
    {                                                                                              \
        PARAMS;                                                                                    \
        (void)p, (void)q;                                                                          \
        if (sy == sizeof(out) && sa == sizeof(E) && sb == sizeof(E)) {                             \
            const E *as = (const E *)av, *bs = (const E *)bv;                                      \
            out *ys = (out *)yv;                                                                   \
            LOOP2_BODY(as[i], bs[i], va, vb, out, expr)                                            \
            return;                                                                                \
        }                                                                                          \
        broadcasts(va, vb, out, expr)                                                              \
        for (int64_t i = 0; i < n; i++, av += sa, bv += sb, yv += sy) {                            \
            T va = (T)LOAD(*(const E *)av), vb = (T)LOAD(*(const E *)bv);                          \
            (void)va, (void)vb;                                                                    \
            *(out *)yv = (out)(expr);                                                              \
        }                                                                                          \
    }

#define LOAD(v)     (v)
#define EO          E
/* Results: bool for tests and comparisons, else the type itself. */
#define OUT_FLOAT   EO
#define OUT_NUMBER  EO
#define OUT_BITS    EO
#define OUT_TEST    uint8_t
#define OUT_ARITH   EO
#define OUT_POWER   EO
#define OUT_COMPARE uint8_t

/* The saved tensor of a gradient may be x or y; both names mean it. */
#undef Y
#define Y x

/* LOOP1 and LOOP2 paste TYPE, so it must be expanded first. */
#define LOOP1_(name, type, out, expr) LOOP1(name, type, out, expr)
#define LOOP2_(name, type, va, vb, out, expr, broadcasts)                                          \
    LOOP2(name, type, va, vb, out, expr, broadcasts)
#define EG_UNARY(name, params, kind, f, df, saves, low, high)                                      \
    LOOP1_(name, TYPE, OUT_##kind, f)                                                              \
    LOOP2_(name##_grad, TYPE, dy, x, E, dy *(df), NO_BROADCASTS)
#define EG_BINARY(name, kind, f, fi, da, db, sa, sb, al, ah, bl, bh)                               \
    LOOP2_(name, TYPE, a, b, OUT_##kind, f, WITH_BROADCASTS)

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
#define INT_FLOAT(name, f)
#define INT_NUMBER(name, f) LOOP1_(name, TYPE, EO, f)
#define INT_BITS(name, f)   LOOP1_(name, TYPE, EO, f)
#define INT_TEST(name, f)   LOOP1_(name, TYPE, uint8_t, f)
#define EG_UNARY(name, params, kind, f, df, saves, low, high) INT_##kind(name, f)
#define PAIR_FLOAT(name, fi)
#define PAIR_ARITH(name, fi)   LOOP2_(name, TYPE, a, b, EO, fi, NO_BROADCASTS)
#define PAIR_POWER(name, fi)   LOOP2_(name, TYPE, a, b, EO, fi, NO_BROADCASTS)
#define PAIR_BITS(name, fi)    LOOP2_(name, TYPE, a, b, EO, fi, NO_BROADCASTS)
#define PAIR_COMPARE(name, fi) LOOP2_(name, TYPE, a, b, uint8_t, fi, NO_BROADCASTS)
#define EG_BINARY(name, kind, f, fi, da, db, sa, sb, al, ah, bl, bh) PAIR_##kind(name, fi)

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
#define INT_BITS(name, f) LOOP1_(name, TYPE, EO, (f) & 1) /* ~1 is false */
#define TYPE    b8
#define E       uint8_t
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
#define TYPES_BITS(name)    WITH_INTS(name), [EG_BOOL] = name##_b8
#define TYPES_TEST(name)    WITH_FLOATS(name), WITH_INTS(name), [EG_BOOL] = name##_b8
#define TYPES_COMPARE(name) TYPES_TEST(name)
#define KERNEL(name, nin, ...)                                                                     \
    eg_status ISA(eg__cpu_##name)(const eg__call *c)                                               \
    {                                                                                              \
        static loop *const loops[EG_DTYPE_COUNT] = {__VA_ARGS__};                                  \
        return drive(c, loops, nin);                                                               \
    }
#define EG_UNARY(name, params, kind, f, df, saves, low, high)                                      \
    KERNEL(name, 1, TYPES_##kind(name))                                                            \
    KERNEL(name##_grad, 2, WITH_FLOATS(name##_grad))
#include "lib/ops/unary.def"
#define EG_BINARY(name, kind, f, fi, da, db, sa, sb, al, ah, bl, bh)                               \
    KERNEL(name, 2, TYPES_##kind(name))
#include "lib/ops/binary.def"
