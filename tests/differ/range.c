/* range.c - draws of f16 and bf16 with magnitudes from the subnormal to the largest: results and gradients within
 * rounding of those of f64, wherever these fit the dtype and f32 does not overflow on the way.
 *
 * Let w be an element in f64 and m the same element where the operands are f32. The half must be w rounded to it, up to
 * one unit in the last place and a few times |m - w|, which is what a computation in f32 loses. Gradients are taken of
 * a dy with magnitudes of its own. */
#include <float.h>

#include "tests/differ/differ.h"

/* ---- what is left out ------------------------------------------------------------------------- */

typedef enum leave {
    ALL = 1,
    GRADIENT = 2,
    SAVED = 4, /* gradients of the saved result, a half: within 4 units in the last place, if that is a normal number */
    CANCELS = 8,  /* of the difference of that and a constant: within its rounding, relative to dy */
    FLUSHED = 16, /* products by instructions for bf16, which take subnormal numbers for 0 */
} leave;

static const struct {
    const char *name; /* of a row, or of all rows that begin so if it ends in a star */
    leave what;
    const char *why;
} exceptions[] = {
    {"reciprocal", SAVED, "of y^2"},
    {"rsqrt", SAVED, "of y^3"},
    {"sqrt", SAVED, "of y"},
    {"cbrt", SAVED, "of y^2"},
    {"exp", SAVED, "y"},
    {"exp2", SAVED, "of y"},
    {"expm1", CANCELS, "of y + 1"},
    {"tan", SAVED, "of 1 + y^2"},
    {"tanh", CANCELS, "of 1 - y^2"},
    {"sigmoid", CANCELS, "of y (1 - y)"},
    {"erfinv", SAVED, "of exp(y^2)"},
    {"softmax", CANCELS, "of y"},
    {"log_softmax", GRADIENT, "of exp(y), and the spacing of y grows with it"},
    {"avg_pool*", GRADIENT, "fused multiply-adds: where equal numbers cancel, the rounding of one product stays"},
    {"div*", SAVED, "of y by the divisor"},
    {"hypot*", SAVED, "of y"},
    {"pow*", SAVED, "of y by the exponent"},
    {"attention", ALL, "kernels multiply with weights and slopes of weights in halves"},
    {"lstm*", GRADIENT, "kernels multiply with slopes of gates in halves"},
    {"gru*", GRADIENT, "kernels multiply with slopes of gates in halves"},
    {"cholesky", ALL, "the row rounds the product that it factorizes"},
    {"ctc_loss", ALL, "the row rounds the logarithms that it is of"},
    {"matmul*", FLUSHED, "oneDNN uses them where the processor has them"},
    {"dot", FLUSHED, "the same"},
    {"linear*", FLUSHED, "the same"},
    {"conv*", FLUSHED, "the same"},
    {"einsum*", FLUSHED, "the same"},
    {"adaptive_avg_pool", ALL, "sums in another order, which may pass the range of f32"},
};

static bool is_named(const char *of, const char *name)
{
    size_t n = strlen(name);
    return n && name[n - 1] == '*' ? !strncmp(of, name, n - 1) : !strcmp(of, name);
}

static unsigned left_out(const row *r)
{
    unsigned all = r->flags & (SAME_DTYPE | IN_PLACE | ZERO) ? ALL : r->flags & NO_GRAD ? GRADIENT : 0;
    for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++) {
        all |= is_named(r->name, exceptions[i].name) ? exceptions[i].what : 0u;
    }
    return all;
}

/* ---- the draw --------------------------------------------------------------------------------- */

/* Returns whether the call applies a function of the caller's to the rounded result. */
static bool is_activated(const draw *d)
{
    for (int f = 0; d->table && f < d->table->count && !d->no_options; f++) {
        const field *v = &d->table->fields[f];
        if (v->kind == F_FUNCTION && *(void *const *)(const void *)(d->options + v->offset)) {
            return true;
        }
    }
    return false;
}

/* Sets the dtype of the operands to a half and gives each its own range of magnitudes. False: the row has no float
 * operands. */
static bool spread_draw(draw *d)
{
    const eg_dtype t = d->number % 2 ? EG_BF16 : EG_F16;
    bool any = false;
    for (int k = 0; k < d->n; k++) {
        spec *s = &d->t[k];
        if (s->absent || s->fixed || !is_float(s->dtype)) {
            continue;
        }
        s->dtype = t;
        if (d->number % 8 < 6) {
            s->values = s->low >= 0 ? SPREAD_POSITIVE : SPREAD;
            s->low = (double)t; /* how far these go */
        }
        any = true;
    }
    return any;
}

/* ---- comparing -------------------------------------------------------------------------------- */

static double largest(eg_dtype t)
{
    return t == EG_F16 ? 65504 : 0x1.fep127;
}

/* The spacing of the dtype's numbers at v. */
static double spacing(double v, eg_dtype t)
{
    int e;
    frexp(v, &e);
    const int digits = t == EG_F16 ? 11 : 8, least = t == EG_F16 ? -24 : -133;
    return ldexp(1, e - digits > least ? e - digits : least);
}

/* Tolerance of a comparison. */
typedef struct allowed {
    double units;   /* in the last place */
    double more;    /* besides, the spacing at this number */
    double flushed; /* and what subnormal operands add at most */
    bool far;       /* operands are so large that f32 overflows in one order of sums, and not in another */
} allowed;

/* y is the half; mid and near are the same in f32, of the same numbers and of such near them. */
static bool is_right(double y, double mid, double near, double want, eg_dtype t, const allowed *a)
{
    const double loss = 8 * fmax(fabs(mid - want), fabs(near - want)) + a->flushed, unit = spacing(want, t);
    if (!isfinite(want) || !isfinite(mid) || !isfinite(near) || (a->far && !isfinite(y))) {
        return true; /* not a number, or past f32 on the way, whose range bf16 has */
    }
    if (fabs(want) + a->units * unit + loss > largest(t)) {
        return isinf(y) || fabs(y) >= 0.98 * largest(t) || fabs(y - want) <= a->units * unit + loss;
    }
    return fabs(y - want) <= a->units * unit + spacing(a->more, t) + loss;
}

/* Results or gradients of the four forms. */
static bool compare(eg_tensor *const *y, const allowed *a, const char *what, int k, char *why, size_t size)
{
    const eg_dtype t = eg_dtype_of(y[0]);
    const int64_t n = eg_numel(y[0]);
    if (t != EG_F16 && t != EG_BF16) {
        return true;
    }
    double *v = malloc((size_t)(4 * n + 1) * sizeof *v);
    for (int i = 0; i < 4; i++) {
        const bool other = i == 2 && eg_numel(y[i]) != n; /* noise makes equal numbers differ */
        if (eg_numel(y[other ? 1 : i]) != n) {
            snprintf(why, size, "%s %d has another shape in f32 or f64", what, k);
            free(v);
            return false;
        }
        eg_to_values(y[other ? 1 : i], v + i * n);
    }
    int64_t i = 0;
    while (i < n && is_right(v[i], v[n + i], v[2 * n + i], v[3 * n + i], t, a)) {
        i++;
    }
    if (i < n) {
        snprintf(why, size, "%s %d, %s: element %lld is %.9g, in f32 %.9g or %.9g, in f64 %.9g", what, k,
                 eg_dtype_name(t), (long long)i, v[i], v[n + i], v[2 * n + i], v[3 * n + i]);
    }
    free(v);
    return i == n;
}

/* ---- one draw --------------------------------------------------------------------------------- */

static bool followed(const draw *d, int k)
{
    return !d->t[k].absent && !d->t[k].fixed && is_float(d->t[k].dtype);
}

/* dy of y's shape, with numbers that a half holds. */
static eg_tensor *seed_of(const draw *d, form how, const eg_tensor *y, eg_dtype half)
{
    spec s = {.base = eg_shape_of(y), .dtype = half, .values = SPREAD, .low = (double)half, .seed = d->seed + 77};
    eg_tensor *dy = make_base(&s, half);
    return eg_cast(how == NEAR_F32 ? with_noise(eg_cast(dy, EG_F64)) : dy, eg_dtype_of(y));
}

/* The call and, in g, the gradients of its first float result by its operands; the largest number of its dy. */
static bool run(const draw *d, form how, bool taped, call *c, eg_tensor **g, double *top)
{
    eg_tensor *ask[MOST_TENSORS], *got[MOST_TENSORS];
    int which[MOST_TENSORS], n = 0;
    eg_tape tape = taped ? eg_tape_open() : (eg_tape){0};
    make_call(d, how, NULL, c);
    memset(g, 0, MOST_TENSORS * sizeof *g);
    for (int k = 0; k < d->n && taped; k++) {
        if (followed(d, k)) {
            which[n] = k;
            ask[n++] = c->t[k];
            eg_tape_watch(tape, c->t[k]);
        }
    }
    bool good = d->row->call(c);
    eg_tensor *y = NULL;
    for (int k = 0; k < MOST_RESULTS && !y; k++) {
        y = c->y[k] && is_float(eg_dtype_of(c->y[k])) ? c->y[k] : NULL;
    }
    if (good && y && n) {
        eg_tensor *dy = seed_of(d, how, y, d->number % 2 ? EG_BF16 : EG_F16);
        *top = eg_numel(dy) ? eg_item(eg_max(eg_abs(eg_cast(dy, EG_F64)))) : 0;
        if (!eg_tape_gradients(tape, y, ask, n, got, .dy = dy)) {
            for (int k = 0; k < n; k++) {
                g[which[k]] = got[k];
            }
        }
    }
    eg_tape_close(tape);
    eg_clear_error();
    return good;
}

/* Returns whether all numbers of the half are normal and finite. */
static bool is_normal(const eg_tensor *y)
{
    const double least = eg_dtype_of(y) == EG_F16 ? 0x1p-14 : 0x1p-126;
    bool normal = true;
    for (int64_t i = 0; i < eg_numel(y) && normal; i++) {
        const double v = fabs(eg_get(y, i));
        normal = v >= least && v <= largest(eg_dtype_of(y));
    }
    return normal;
}

static double top_of(eg_tensor *t)
{
    return eg_numel(t) ? eg_item(eg_max(eg_abs(eg_cast(t, EG_F64)))) : 0;
}

enum { FORMS = 4 };

static outcome judge(const draw *d, unsigned left, char *why, size_t size)
{
    static const form forms[FORMS] = {AS_DRAWN, WIDE_F32, NEAR_F32, WIDE};
    call c[FORMS];
    eg_tensor *g[FORMS][MOST_TENSORS];
    double dy = 0;
    for (int i = 0; i < FORMS; i++) {
        if (!run(d, forms[i], !(left & GRADIENT), &c[i], g[i], &dy)) {
            return REFUSED;
        }
    }
    allowed a = {.units = 1, .far = dy > 0x1p118};
    double top = dy, terms = 1;
    for (int k = 0; k < d->n; k++) {
        if (followed(d, k)) {
            top = fmax(top, top_of(c[0].t[k]));
            terms = fmax(terms, (double)eg_numel(c[0].t[k]));
        }
    }
    const bool products = left & FLUSHED && d->number % 2;
    a.far |= top > 0x1p118 || (products && terms * top * top > 0x1p127);
    a.flushed = products ? terms * 0x1p-126 * top : 0;
    for (int k = 0; k < MOST_RESULTS; k++) {
        eg_tensor *y[FORMS] = {c[0].y[k], c[1].y[k], c[2].y[k], c[3].y[k]};
        if (y[0] && !compare(y, &a, "result", k, why, size)) {
            return DIFFERS;
        }
    }
    const bool saved = left & (SAVED | CANCELS) && c[0].y[0], lost = saved && !is_normal(c[0].y[0]);
    a.units = saved ? 4 : 1;
    a.more = left & CANCELS ? dy : 0;
    for (int k = 0; k < d->n && !lost; k++) {
        eg_tensor *y[FORMS] = {g[0][k], g[1][k], g[2][k], g[3][k]};
        const bool sum = saved && y[0] && eg_numel(y[0]) != eg_numel(c[0].y[0]);
        if (y[0] && !sum && !compare(y, &a, "the gradient of tensor", k, why, size)) {
            return DIFFERS;
        }
    }
    return AGREED;
}

outcome try_range(draw *d, char *why, size_t size)
{
    const unsigned left = left_out(d->row);
    why[0] = 0;
    if (left & ALL || is_activated(d) || !spread_draw(d)) {
        return REFUSED;
    }
    eg_scope s = eg_scope_push();
    outcome o = judge(d, left, why, size);
    eg_clear_error();
    eg_scope_pop(s, NULL);
    return o;
}
