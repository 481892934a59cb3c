/* differ.h - calls with random arguments, the tuned engine against the reference loops.
 *
 * A row is one public function: an expression in which T0, I0, ... stand for what is drawn, and a function that
 * draws them. The expression is compiled as the call and printed as the C of a failure; options are drawn, handed
 * over and printed by one table of their fields, so that what is printed is what was called. Of each draw
 *   - both engines accept it, or both refuse it with one code, in words; arguments are left as they were, but for
 *     what the function writes, and what lies beside that
 *   - values, shapes and dtypes are those of the reference loops on the same numbers: exactly for integers and
 *     bools, of floats against f64
 *   - under a tape the values are the same, and gradients, of the operands or of what they are views of, are those
 *     of the reference in f64
 *   - gradients of small f64 tensors are those of finite differences
 *   - an ONNX model that is written of it gives its results, of other numbers too, or is refused (one draw in four)
 *   - nothing stays alive
 * A draw is a function of the row's name, the seed and its number alone. */
#ifndef EGRET_DIFFER_H
#define EGRET_DIFFER_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <egret/egret.h>

enum { MOST_TENSORS = 10, MOST_STEPS = 3, MOST_RESULTS = 8, MOST_CHOICES = 12 };

/* ---- what is drawn --------------------------------------------------------------------------- */

/* Numbers of a tensor: anywhere in low..high, on a grid of quarters (with ties), whole, with infinities, NaN,
 * zeros of both signs, huge and tiny ones among them, or with the first of these only; of any magnitude that the half
 * dtype `low` holds, of both signs or positive. */
typedef enum range { UNIFORM, TIES, WHOLE, SPREAD, SPREAD_POSITIVE, SPECIAL, NONFINITE } range;

typedef struct step {
    int kind, a, b; /* of the list in tensors.c */
    eg_shape shape; /* of what it gives */
} step;

/* A tensor: numbers in `base`, seen through the steps. */
typedef struct spec {
    eg_shape base, shape;
    eg_dtype dtype;
    range values;
    double low, high;
    uint64_t seed;
    step steps[MOST_STEPS];
    int nsteps;
    bool fixed;   /* an index, label or mask: of this dtype for the reference too, without a gradient */
    bool absent;  /* NULL */
    bool written; /* on purpose, as running statistics are */
    int shares;   /* 1 + the tensor that it is another view of; 0: none */
} spec;

typedef struct row row;
typedef struct options_table options_table;

typedef struct draw {
    const row *row;
    uint64_t random, seed; /* state of the generator; of the thread's stream when the call is made */
    uint64_t run;          /* --seed */
    int number;
    spec t[MOST_TENSORS];
    int n; /* tensors */
    int64_t i[8];
    double x[4];
    eg_shape s[2];
    eg_axes a[2];
    eg_dtype d[1];
    char w[1][64];
    const options_table *table; /* NULL: takes no options */
    bool no_options;            /* NULL is handed over */
    double loose;               /* times the row's tolerance */
    bool rough;                 /* not where differences can be taken */
    _Alignas(16) char options[512];
} draw;

/* A call in the making: what was drawn, the tensors, the results. */
typedef struct call {
    const draw *d;
    eg_tensor *t[MOST_TENSORS], *leaf[MOST_TENSORS], *y[MOST_RESULTS]; /* leaf: what t is a view of */
    _Alignas(16) char options[512];
} call;

/* ---- rows ------------------------------------------------------------------------------------ */

enum {
    NO_GRAD = 1,     /* no gradient */
    SAME_DTYPE = 2,  /* not continuous in its arguments: the reference computes in the same dtype */
    SAME_LAYOUT = 4, /* what it gives depends on the layout on purpose */
    SPECIALS = 8,    /* NaN, infinities, huge numbers among the numbers */
    IN_PLACE = 16,
    KINKS = 32,       /* differences are no derivative */
    FEW = 64,         /* one of many alike: a quarter of the draws */
    NONFINITES = 128, /* NaN and infinities */
    ZERO = 256,       /* the first result is what must be 0, the others serve it */
};

struct row {
    const char *name, *text; /* the row's own; the expression */
    void (*draw)(draw *d);
    bool (*call)(call *c);
    unsigned flags;
    double loose; /* of f32 against f64, times 1e-5; 0: 1 */
    row *next;
};

extern row *differ_rows;
void differ_add(row *r);

bool differ_tensor(call *c, eg_tensor *y);
bool differ_status(call *c, eg_status st);
bool differ_rnn(call *c, eg_rnn r);
bool differ_samples(call *c, eg_box_samples s);

/* DIFFER(softmax, draw_axis, 0, 1, eg_softmax(T0, K0)) */
#define DIFFER(name, drawn, flags, loose, ...)                                        \
    static bool call_##name(call *c)                                                  \
    {                                                                                 \
        return _Generic((__VA_ARGS__), eg_tensor *                                    \
                        : differ_tensor, eg_status                                    \
                        : differ_status, eg_rnn                                       \
                        : differ_rnn, eg_box_samples                                  \
                        : differ_samples)(c, __VA_ARGS__);                            \
    }                                                                                 \
    __attribute__((constructor)) static void add_##name(void)                         \
    {                                                                                 \
        static row r = {#name, #__VA_ARGS__, drawn, call_##name, flags, loose, NULL}; \
        differ_add(&r);                                                               \
    }

/* What stands for what is drawn; print.c knows the same letters. */
#define T0 (c->t[0])
#define T1 (c->t[1])
#define T2 (c->t[2])
#define T3 (c->t[3])
#define T4 (c->t[4])
#define T5 (c->t[5])
#define TS (c->t)
#define N0 (c->d->n)
#define I0 (c->d->i[0])
#define I1 (c->d->i[1])
#define I2 (c->d->i[2])
#define I3 (c->d->i[3])
#define IS (c->d->i)
#define K0 ((int)c->d->i[0])
#define K1 ((int)c->d->i[1])
#define K2 ((int)c->d->i[2])
#define X0 (c->d->x[0])
#define X1 (c->d->x[1])
#define X2 (c->d->x[2])
#define S0 (c->d->s[0])
#define A0 (c->d->a[0])
#define A1 (c->d->a[1])
#define D0 (c->d->d[0])
#define W0 (c->d->w[0])
#define O0 ((const void *)(c->d->no_options ? NULL : c->options))
#define Y0 (&c->y[0])
#define Y1 (&c->y[1])
#define Y2 (&c->y[2])
#define Y3 (&c->y[3])
#define YS (c->y)

/* ---- options --------------------------------------------------------------------------------- */

typedef enum field_kind { F_INT, F_INT32, F_BOOL, F_DOUBLE, F_TENSOR, F_RESULT, F_FUNCTION, F_AXES } field_kind;

typedef struct field {
    const char *name;
    field_kind kind;
    size_t offset, bytes, element;
    double choices[MOST_CHOICES]; /* drawn with equal chances; an array's entries each */
    int nchoices;
    const char *text; /* the choices in C */
} field;

struct options_table {
    const char *type;
    size_t bytes;
    const field *fields;
    int count;
    options_table *next;
};

extern options_table *differ_tables;
void differ_add_table(options_table *t);

/* OPTIONS(eg_softmax_options, INT(type, axis, 0, 1), ...): every field there is but the size. */
#define OPTIONS(type, ...)                                                                   \
    static const field type##_fields[] = {__VA_ARGS__};                                      \
    static options_table type##_table = {#type, sizeof(type), type##_fields,                 \
                                         (int)(sizeof type##_fields / sizeof(field)), NULL}; \
    __attribute__((constructor)) static void add_##type(void)                                \
    {                                                                                        \
        differ_add_table(&type##_table);                                                     \
    }
#define FIELD_(type, name, kind, element, ...)                                                    \
    {                                                                                             \
#name, kind, offsetof(type, name), sizeof(((type *)0)->name), element,                    \
            {__VA_ARGS__ }, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), #__VA_ARGS__ \
    }
#define INT(type, name, ...)    FIELD_(type, name, F_INT, sizeof(int64_t), __VA_ARGS__)
#define INT32(type, name, ...)  FIELD_(type, name, F_INT32, sizeof(int), __VA_ARGS__)
#define DOUBLE(type, name, ...) FIELD_(type, name, F_DOUBLE, sizeof(double), __VA_ARGS__)
#define BOOL(type, name)        FIELD_(type, name, F_BOOL, sizeof(bool), false, true)
/* These are for the row to fill in: a tensor by slot(), a result by place(). */
#define TENSOR(type, name)   FIELD_(type, name, F_TENSOR, sizeof(void *), 0)
#define RESULT(type, name)   FIELD_(type, name, F_RESULT, sizeof(void *), 0)
#define FUNCTION(type, name) FIELD_(type, name, F_FUNCTION, sizeof(void *), 0)
#define AXES(type, name)     FIELD_(type, name, F_AXES, sizeof(eg_axes), 0)

/* The draw's options, each field drawn from the table; the row then makes them fit. */
void *draw_options(draw *d, const options_table *table);
#define DRAW_OPTIONS(d, type) ((type *)draw_options(d, &type##_table))
/* Tensor k of the draw, result k of the call, in options that are only drawn. */
static inline eg_tensor *slot(int k)
{
    return (eg_tensor *)(uintptr_t)(k + 1);
}
static inline eg_tensor **place(int k)
{
    return (eg_tensor **)(uintptr_t)(k + 1);
}

typedef eg_tensor *(*activation)(eg_tensor *);
/* A function of one tensor of that dtype, or NULL; its name. */
activation draw_activation(draw *d, eg_dtype t);
/* Draws numbers off the grid before ReLU: sums of those on it may be 0 but for rounding, where it has either slope. */
void without_ties(draw *d, activation f);
const char *activation_name(activation f);

/* ---- drawing --------------------------------------------------------------------------------- */

int64_t pick(draw *d, int64_t low, int64_t high); /* both ends included */
bool chance(draw *d, int percent);
double number(draw *d, double low, double high);
#define PICK(d, type, ...) \
    (((const type[]){__VA_ARGS__})[pick(d, 0, (int64_t)(sizeof((const type[]){__VA_ARGS__}) / sizeof(type)) - 1)])

int64_t draw_size(draw *d, int64_t most);
eg_shape draw_shape(draw *d, int min_ndim, int max_ndim);
/* What broadcasts with it, and with which it does. */
eg_shape draw_partner(draw *d, eg_shape s);
eg_dtype draw_float(draw *d);
eg_dtype draw_real(draw *d);   /* f32 or f64 */
eg_dtype draw_number(draw *d); /* floats and integers */
eg_dtype draw_any(draw *d);    /* bool too */
/* An axis of a tensor with so many, from the end half of the time, rarely one too far. */
int draw_axis(draw *d, int ndim);
eg_axes draw_axes(draw *d, int ndim);

/* Adds a tensor, laid out at random; its number. Numbers are -2..2, integers -9..9 (u8 0..9). */
int operand(draw *d, eg_shape shape, eg_dtype dtype);
/* The same with other numbers. */
int ranged(draw *d, eg_shape shape, eg_dtype dtype, double low, double high);
/* Indices of an axis: mostly 0..size-1, with negative ones if `signed_`, rarely one too far. */
int indices(draw *d, eg_shape shape, int64_t size, bool signed_);
/* A mask, bool or of another dtype. */
int mask(draw *d, eg_shape shape);
/* Its numbers are all different, as chance gives them. */
void distinct(draw *d, int k);
/* Makes tensor k another view of what tensor `of` is one of, which has its shape and dtype. */
void overlap(draw *d, int k, int of);
/* No tensor: NULL. */
int absent(draw *d);

static inline eg_shape shape_with(eg_shape s, int64_t last)
{
    s.dim[s.ndim++] = last;
    return s;
}

int64_t count_of(eg_shape s);
bool is_float(eg_dtype t);

/* ---- making, printing, comparing --------------------------------------------------------------- */

typedef enum form {
    AS_DRAWN,
    WIDE_F32, /* the same numbers, floats as f32, row-major */
    NEAR_F32, /* those with noise in their last places */
    WIDE,     /* the same numbers, floats as f64 (unless the row says otherwise), row-major */
    AS_F64,   /* made as drawn, floats of f64 from the start */
} form;
/* With a tape: it follows the leaves, and views are taken under it. */
void make_call(const draw *d, form how, const eg_tape *tape, call *c);
/* t, f64, with noise as large as the rounding of f32. */
eg_tensor *with_noise(eg_tensor *t);
/* The numbers alone. */
eg_tensor *make_base(const spec *s, eg_dtype dtype);
/* The draw as a program would write it. */
void print_draw(FILE *to, const draw *d);
/* How a step or the numbers of a spec read in C: the text with its letters filled in. */
const char *step_text(int kind);
const char *values_text(const spec *s);

typedef enum outcome { AGREED, REFUSED, DIFFERS, MISSING } outcome;
outcome try_draw(draw *d, char *why, size_t size);
/* Changes the draw to halves of all magnitudes and tries that (range.c). */
outcome try_range(draw *d, char *why, size_t size);

/* One draw being tried. */
typedef struct trial {
    const draw *d;
    char *why;
    size_t size;
    double allowed; /* of floats, relative to 1 + |v| */
} trial;

outcome differs(trial *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The code of a call that ran; a refusal must say why. */
eg_status run_call(call *c);
bool same_shape(const eg_tensor *a, const eg_tensor *b);
/* Elements of y against those of want; of gradients relative to the largest. */
outcome compare_tensor(trial *t, const char *what, int k, const eg_tensor *y, const eg_tensor *want, bool overall);
/* Writes an accepted call as an ONNX model, of every fourth draw. Models and their tensors stay in the folder, if there
 * is one; then it is every draw. */
extern const char *differ_models;
outcome through_model(trial *t, call *c);

/* Makes a draw that differs smaller for as long as it does. */
void shrink(draw *d, char *why, size_t size);

/* Which rows of the op table ran, in this process and those it forks from now on; what ran so far here. */
void share_ops(void);
void note_ops(void);
/* Rows, functions and fields nobody draws; how many, after saying which. */
int uncovered(void);

#endif
