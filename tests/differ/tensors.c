/* tensors.c - shapes, dtypes, numbers and layouts at random, and the tensors made of them. */
#include "tests/differ/differ.h"

/* ---- the generator ---------------------------------------------------------------------------- */

static uint64_t next(draw *d)
{
    uint64_t z = d->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

int64_t pick(draw *d, int64_t low, int64_t high)
{
    return low + (int64_t)(next(d) % (uint64_t)(high - low + 1));
}

bool chance(draw *d, int percent)
{
    return pick(d, 0, 99) < percent;
}

double number(draw *d, double low, double high)
{
    return low + (high - low) * (double)(next(d) >> 11) * 0x1p-53;
}

/* ---- shapes and dtypes -------------------------------------------------------------------------- */

int64_t count_of(eg_shape s)
{
    int64_t n = 1;
    for (int a = 0; a < s.ndim; a++) {
        n *= s.dim[a];
    }
    return n;
}

/* Mostly small, often single, rarely nothing; long enough now and then for whole vectors and their rest. */
int64_t draw_size(draw *d, int64_t most)
{
    int64_t p = pick(d, 0, 99), n;
    n = p < 2 ? 0 : p < 15 ? 1 : p < 70 ? pick(d, 2, 6) : p < 90 ? pick(d, 7, 20) : pick(d, 21, 80);
    return n < most ? n : most;
}

eg_shape draw_shape(draw *d, int min_ndim, int max_ndim)
{
    eg_shape s = {(int)pick(d, min_ndim, max_ndim), {0}};
    int64_t room = chance(d, 3) ? 40000 : 1200;
    for (int a = 0; a < s.ndim; a++) {
        s.dim[a] = draw_size(d, room);
        room /= s.dim[a] > 1 ? s.dim[a] : 1;
    }
    for (int a = s.ndim - 1; a > 0; a--) { /* the long one anywhere */
        int b = (int)pick(d, 0, a);
        int64_t n = s.dim[a];
        s.dim[a] = s.dim[b];
        s.dim[b] = n;
    }
    return s;
}

eg_shape draw_partner(draw *d, eg_shape s)
{
    int drop = chance(d, 25) ? (int)pick(d, 0, s.ndim) : 0;
    eg_shape p = {s.ndim - drop, {0}};
    for (int a = 0; a < p.ndim; a++) {
        p.dim[a] = chance(d, 20) ? 1 : s.dim[a + drop];
    }
    return p;
}

bool is_float(eg_dtype t)
{
    return t == EG_F32 || t == EG_F64 || t == EG_F16 || t == EG_BF16;
}

eg_dtype draw_float(draw *d)
{
    return PICK(d, eg_dtype, EG_F32, EG_F32, EG_F32, EG_F64, EG_F64, EG_F16, EG_BF16);
}

eg_dtype draw_real(draw *d)
{
    return chance(d, 60) ? EG_F32 : EG_F64;
}

eg_dtype draw_number(draw *d)
{
    return chance(d, 70) ? draw_float(d) : PICK(d, eg_dtype, EG_I64, EG_I32, EG_U8);
}

eg_dtype draw_any(draw *d)
{
    return chance(d, 90) ? draw_number(d) : EG_BOOL;
}

int draw_axis(draw *d, int ndim)
{
    if (!ndim) {
        return (int)pick(d, -1, 0);
    }
    int64_t far = chance(d, 2);
    return (int)pick(d, chance(d, 50) ? -ndim - far : 0, ndim - 1 + far);
}

eg_axes draw_axes(draw *d, int ndim)
{
    eg_axes axes = {0, {0}};
    for (int a = 0; a < ndim; a++) {
        if (chance(d, 40)) {
            axes.axis[axes.count++] = chance(d, 50) ? a : a - ndim;
        }
    }
    if (axes.count > 1 && chance(d, 30)) {
        int a = axes.axis[0];
        axes.axis[0] = axes.axis[1];
        axes.axis[1] = a;
    }
    if (axes.count && chance(d, 1)) {
        axes.axis[0] = ndim;
    }
    return axes;
}

/* ---- layouts ------------------------------------------------------------------------------------ */

/* How a view is taken of t: the same text is compiled and printed. */
#define STEPS(X)                                 \
    X(MIDDLE, eg_slice(t, a, b, end, 1))         \
    X(EVERY_OTHER, eg_slice(t, a, b, EG_END, 2)) \
    X(FLIPPED, eg_flip(t, EG_AXES(a)))           \
    X(TRANSPOSED, eg_transpose(t, a, b))         \
    X(EXPANDED, eg_expand(t, shape))             \
    X(SELECTED, eg_select(t, a, b))              \
    X(UNSQUEEZED, eg_unsqueeze(t, a))            \
    X(CHANNELS_LAST, eg_channels_last(t))
#define STEP_NAME(name, expression) name,
enum { STEPS(STEP_NAME) STEP_KINDS };

const char *step_text(int kind)
{
#define STEP_TEXT(name, expression) #expression,
    static const char *const texts[] = {STEPS(STEP_TEXT)};
    return texts[kind];
}

static eg_tensor *take_step(eg_tensor *t, const step *s)
{
    int a = s->a, b = s->b;
    eg_shape shape = s->shape;
    int64_t end = b + shape.dim[a];
    switch (s->kind) {
#define STEP_CASE(name, expression) \
    case name:                      \
        return expression;
        STEPS(STEP_CASE)
    }
    return t;
}

/* The shape that the step makes `want` of; false: it cannot. */
static bool step_back(draw *d, step *s, eg_shape *want)
{
    eg_shape w = s->shape = *want;
    s->a = w.ndim ? (int)pick(d, 0, w.ndim - 1) : 0;
    s->b = w.ndim ? (int)pick(d, 0, w.ndim - 1) : 0;
    int64_t n = w.ndim ? w.dim[s->a] : 0;
    switch (s->kind) {
    case MIDDLE:
        s->b = (int)pick(d, 0, 3);
        want->dim[s->a] += s->b + pick(d, 0, 2);
        return w.ndim;
    case EVERY_OTHER:
        s->b = (int)pick(d, 0, 1);
        want->dim[s->a] = 2 * n;
        return n;
    case TRANSPOSED:
        want->dim[s->a] = w.dim[s->b];
        want->dim[s->b] = n;
        return s->a != s->b;
    case EXPANDED:
        want->dim[s->a] = 1;
        return n > 1;
    case SELECTED:
        s->a = (int)pick(d, 0, w.ndim);
        s->b = (int)pick(d, 0, 2);
        memmove(want->dim + s->a + 1, w.dim + s->a, (size_t)(w.ndim - s->a) * sizeof *w.dim);
        want->dim[s->a] = 3;
        want->ndim++;
        return w.ndim < EG_MAX_DIMS - 1;
    case UNSQUEEZED:
        memmove(want->dim + s->a, w.dim + s->a + 1, (size_t)(EG_MAX_DIMS - 1 - s->a) * sizeof *w.dim);
        want->ndim--;
        return n == 1;
    case CHANNELS_LAST:
        return w.ndim >= 3 && w.ndim <= 5;
    default:
        return w.ndim;
    }
}

static void lay_out(draw *d, spec *s)
{
    int n = chance(d, 40) ? 0 : (int)pick(d, 1, MOST_STEPS);
    step back[MOST_STEPS];
    s->base = s->shape;
    for (int i = 0; i < n; i++) {
        eg_shape before = s->base;
        back[s->nsteps].kind = (int)pick(d, 0, STEP_KINDS - 1);
        if (back[s->nsteps].kind == EXPANDED && !chance(d, 40)) {
            continue;
        }
        if (step_back(d, &back[s->nsteps], &s->base)) {
            s->nsteps++;
        } else {
            s->base = before;
        }
    }
    for (int i = 0; i < s->nsteps; i++) {
        s->steps[i] = back[s->nsteps - 1 - i];
    }
}

/* ---- tensors ------------------------------------------------------------------------------------ */

int ranged(draw *d, eg_shape shape, eg_dtype dtype, double low, double high)
{
    spec *s = &d->t[d->n];
    *s = (spec){.shape = shape, .dtype = dtype, .low = low, .high = high, .seed = next(d) >> 44};
    s->values = !is_float(dtype) ? WHOLE : chance(d, 20) ? TIES : UNIFORM;
    if (is_float(dtype) && d->row->flags & SPECIALS && chance(d, 12)) {
        s->values = SPECIAL;
    }
    if (is_float(dtype) && d->row->flags & NONFINITES && chance(d, 12)) {
        s->values = NONFINITE;
    }
    d->rough |= s->values == TIES || s->values >= SPECIAL;
    lay_out(d, s);
    return d->n++;
}

void distinct(draw *d, int k)
{
    spec *s = &d->t[k];
    s->values = UNIFORM;
    for (int i = 0; i < s->nsteps; i++) {
        if (s->steps[i].kind == EXPANDED) {
            s->nsteps = 0;
            s->base = s->shape;
        }
    }
}

void overlap(draw *d, int k, int of)
{
    spec *a = &d->t[of], *b = &d->t[k];
    if (!a->shape.ndim) {
        return;
    }
    int axis = (int)pick(d, 0, a->shape.ndim - 1);
    uint64_t seed = b->seed;
    a->base = a->shape;
    a->base.dim[axis] += 1;
    a->steps[0] = (step){MIDDLE, axis, (int)pick(d, 0, 1), a->shape};
    a->nsteps = 1;
    *b = *a;
    b->seed = seed;
    b->shares = 1 + of;
    b->steps[0].b = (int)pick(d, 0, 1);
    b->steps[1] = (step){FLIPPED, (int)pick(d, 0, a->shape.ndim - 1), 0, a->shape};
    b->nsteps = 1 + chance(d, 40);
}

int operand(draw *d, eg_shape shape, eg_dtype dtype)
{
    return is_float(dtype)    ? ranged(d, shape, dtype, -2, 2)
           : dtype == EG_BOOL ? ranged(d, shape, dtype, 0, 2)
           : dtype == EG_U8   ? ranged(d, shape, dtype, 0, 10)
                              : ranged(d, shape, dtype, -9, 10);
}

int indices(draw *d, eg_shape shape, int64_t size, bool signed_)
{
    double far = chance(d, 3);
    int k = ranged(d, shape, chance(d, 60) ? EG_I64 : EG_I32, signed_ && chance(d, 40) ? -(double)size - far : 0,
                   (double)size + far);
    d->t[k].fixed = true;
    return k;
}

int mask(draw *d, eg_shape shape)
{
    int k = ranged(d, shape, chance(d, 70) ? EG_BOOL : draw_any(d), 0, 2);
    d->t[k].fixed = true;
    d->t[k].values = WHOLE;
    return k;
}

int absent(draw *d)
{
    d->t[d->n] = (spec){.absent = true};
    return d->n++;
}

/* The numbers, as f64; `number` is what shows up among them. */
#define VALUES(X)                                                                       \
    X(UNIFORM, eg_uniform(base, low, high, EG_F64))                                     \
    X(TIES, eg_mul_scalar(eg_round(eg_uniform(base, 4 * low, 4 * high, EG_F64)), 0.25)) \
    X(WHOLE, eg_floor(eg_uniform(base, low, high, EG_F64)))                             \
    X(SPREAD, spread(base, (eg_dtype)low, s->seed, true))                               \
    X(SPREAD_POSITIVE, spread(base, (eg_dtype)low, s->seed, false))                     \
    X(SPECIAL, specials(eg_uniform(base, low, high, EG_F64), 12, s->seed))              \
    X(NONFINITE, specials(eg_uniform(base, low, high, EG_F64), 5, s->seed))

/* Numbers whose exponents are anywhere in the range of a half, or near one of them, its largest or its smallest. */
static eg_tensor *spread(eg_shape base, eg_dtype half, uint64_t seed, bool negative)
{
    const double low = half == EG_F16 ? -24 : -133, high = half == EG_F16 ? 15.99 : 127.99;
    const uint64_t kind = seed % 5;
    const double width = kind == 0 ? high - low : kind == 1 ? 1 : 5;
    const double from = kind == 0   ? low
                        : kind == 1 ? high - width
                        : kind == 2 ? low
                                    : low + (high - low - width) * (double)(seed / 5 % 64) / 63;
    eg_tensor *t = eg_exp2(eg_uniform(base, from, from + width, EG_F64));
    return negative ? eg_where(eg_bernoulli(base, 0.5, EG_BOOL), t, eg_neg(t)) : t;
}

/* Every fourth number one of a list's first, at places of each tensor's own, so that any two meet. */
static eg_tensor *specials(eg_tensor *t, uint64_t count, uint64_t seed)
{
    static const double list[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e30, -1e30, 1e-30, 3.0, -3.0, 65504, 1e4};
    for (int64_t i = 0; i < eg_numel(t); i++) {
        uint64_t h = ((uint64_t)(i + 1) * 0x9e3779b97f4a7c15u ^ (seed + 1) * 0xbf58476d1ce4e5b9u) >> 20;
        h = h * 0x94d049bb133111ebu >> 40;
        if (h % 4 == 0) {
            eg_set(t, i, list[h / 4 % count]);
        }
    }
    return t;
}

const char *values_text(const spec *s)
{
#define VALUES_TEXT(name, expression) #expression,
    static const char *const texts[] = {VALUES(VALUES_TEXT)};
    return texts[s->values];
}

static eg_tensor *make_values(const spec *s)
{
    eg_shape base = s->base;
    double low = s->low, high = s->high > s->low ? s->high : s->low + 1;
    eg_seed(s->seed);
    switch (s->values) {
#define VALUES_CASE(name, expression) \
    case name:                        \
        return expression;
        VALUES(VALUES_CASE)
    }
    return NULL;
}

static void made(const eg_tensor *t)
{
    if (!t) {
        printf("a tensor cannot be made: %s: %s\n", eg_last_error()->op, eg_last_error()->message);
        exit(DIFFERS);
    }
}

eg_tensor *make_base(const spec *s, eg_dtype dtype)
{
    eg_tensor *t = eg_cast(make_values(s), dtype);
    made(t);
    return t;
}

eg_tensor *with_noise(eg_tensor *t)
{
    return eg_mul(t, eg_uniform(eg_shape_of(t), 1 - 0x1p-22, 1 + 0x1p-22, EG_F64));
}

static eg_tensor *make_leaf(const draw *d, const spec *s, form how)
{
    bool widens = is_float(s->dtype) && !s->fixed;
    bool wide = how != AS_DRAWN && how != AS_F64 && !(d->row->flags & SAME_DTYPE);
    eg_tensor *t = make_base(s, how == AS_F64 && widens ? EG_F64 : s->dtype);
    if (!widens || !wide) {
        return t;
    }
    t = eg_cast(t, EG_F64);
    return how == WIDE ? t : eg_cast(how == NEAR_F32 ? with_noise(t) : t, EG_F32);
}

/* A tensor of the call: `leaf` is what is seen through the steps, which a tape follows from there if it is given. */
static eg_tensor *make_tensor(const draw *d, const spec *s, form how, const eg_tape *tape, eg_tensor *leaf)
{
    bool widens = is_float(s->dtype) && !s->fixed;
    eg_tensor *t = leaf;
    if (tape && widens) {
        eg_tape_watch(*tape, t);
    }
    for (int i = 0; i < s->nsteps; i++) {
        t = take_step(t, &s->steps[i]);
    }
    made(t);
    t = how != AS_DRAWN && how != AS_F64 && !(d->row->flags & SAME_LAYOUT) ? eg_contiguous(t) : t;
    return d->row->flags & IN_PLACE && how == WIDE ? eg_copy(t) : t; /* which nothing else shares */
}

void make_call(const draw *d, form how, const eg_tape *tape, call *c)
{
    memset(c, 0, sizeof *c);
    c->d = d;
    for (int k = 0; k < d->n; k++) {
        if (!d->t[k].absent) {
            int shares = d->t[k].shares;
            c->leaf[k] = shares ? c->leaf[shares - 1] : make_leaf(d, &d->t[k], how);
            c->t[k] = make_tensor(d, &d->t[k], how, tape, c->leaf[k]);
        }
    }
    memcpy(c->options, d->options, sizeof c->options);
    for (int f = 0; d->table && f < d->table->count; f++) {
        const field *v = &d->table->fields[f];
        void **at = (void **)(void *)(c->options + v->offset);
        if (v->kind == F_TENSOR && *at) {
            *at = c->t[(uintptr_t)*at - 1];
        } else if (v->kind == F_RESULT && *at) {
            *at = &c->y[(uintptr_t)*at - 1];
        }
    }
    eg_seed(d->seed);
}
