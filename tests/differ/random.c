/* random.c - random numbers: the same state gives the same. */
#include "tests/differ/differ.h"

OPTIONS(eg_categorical_options, BOOL(eg_categorical_options, logits))
OPTIONS(eg_multinomial_options, BOOL(eg_multinomial_options, replacement))

static void made(draw *d)
{
    d->s[0] = draw_shape(d, 0, 4);
    d->d[0] = draw_float(d);
    d->x[0] = number(d, -3, 3);
    d->x[1] = d->x[0] + number(d, chance(d, 2) ? -1 : 0.1, 4);
}
DIFFER(uniform, made, 0, 1, eg_uniform(S0, X0, X1, D0))

static void made_normal(draw *d)
{
    made(d);
    d->x[1] = number(d, chance(d, 2) ? -1 : 0, 4);
}
DIFFER(normal, made_normal, 0, 10, eg_normal(S0, X0, X1, D0))
DIFFER(truncated_normal, made_normal, 0, 10, eg_truncated_normal(S0, X0, X1, D0))

static void draw_bernoulli(draw *d)
{
    made(d);
    d->d[0] = draw_any(d);
    d->x[0] = PICK(d, double, 0, 0.25, 0.5, 0.9, 1);
}
DIFFER(bernoulli, draw_bernoulli, 0, 1, eg_bernoulli(S0, X0, D0))

static void draw_randint(draw *d)
{
    made(d);
    d->d[0] = PICK(d, eg_dtype, EG_I64, EG_I32, EG_U8);
    d->i[0] = d->d[0] == EG_U8 ? pick(d, 0, 200) : d->d[0] == EG_I64 && chance(d, 10) ? INT64_MIN : pick(d, -99, 99);
    d->i[1] = d->i[0] == INT64_MIN ? INT64_MAX : d->i[0] + pick(d, !chance(d, 2), 50);
}
DIFFER(randint, draw_randint, 0, 1, eg_randint(S0, I0, I1, D0))

static void draw_permutation(draw *d)
{
    d->i[0] = draw_size(d, 80) - chance(d, 2);
}
DIFFER(permutation, draw_permutation, 0, 1, eg_permutation(I0))

static void weights(draw *d)
{
    ranged(d, shape_with(draw_shape(d, 0, 2), pick(d, 1, 12)), draw_float(d), 0.05, 2);
    d->i[0] = pick(d, 0, 9);
}
static void draw_categorical(draw *d)
{
    weights(d);
    eg_categorical_options *o = DRAW_OPTIONS(d, eg_categorical_options);
    d->t[0].low = o->logits ? -2 : d->t[0].low;
}
static void draw_multinomial(draw *d)
{
    weights(d);
    eg_multinomial_options *o = DRAW_OPTIONS(d, eg_multinomial_options);
    int64_t n = d->t[0].shape.dim[d->t[0].shape.ndim - 1];
    d->i[0] = o->replacement || d->i[0] <= n || chance(d, 5) ? d->i[0] : n;
}
DIFFER(categorical, draw_categorical, SAME_DTYPE, 1, eg_categorical_with(T0, I0, O0))
DIFFER(multinomial, draw_multinomial, SAME_DTYPE, 1, eg_multinomial_with(T0, I0, O0))

static void draw_dropout(draw *d)
{
    operand(d, draw_shape(d, 0, 5), draw_float(d));
    d->x[0] = PICK(d, double, 0, 0.25, 0.5, 0.9, 1);
    d->i[0] = !chance(d, 15);
}
DIFFER(dropout, draw_dropout, SAME_LAYOUT | NONFINITES, 2, eg_dropout(T0, X0, I0))
