/* random.c - cases of random numbers and dropout: with a seed of their own they are functions. */
#include "tests/cases.h"

static eg_tensor *seeded(eg_tensor *y, eg_random_state back)
{
    eg_random_set_state(back);
    return y;
}

static eg_tensor *noise(eg_tensor *const *x, int n, void *user)
{
    (void)n, (void)user;
    eg_random_state back = eg_random_get_state();
    eg_seed(1);
    return seeded(eg_mul(x[0], eg_normal(EG_SHAPE(5, 6), 0, 1, EG_F32)), back);
}

static eg_tensor *dropped(eg_tensor *const *x, int n, void *user)
{
    (void)n;
    eg_random_state back = eg_random_get_state();
    eg_seed(2);
    return seeded(eg_dropout(x[0], *(double *)user, true), back);
}

static eg_tensor *draws(eg_tensor *const *x, int n, void *user)
{
    (void)n, (void)user;
    eg_random_state back = eg_random_get_state();
    eg_seed(3);
    return seeded(eg_categorical(x[0], 7), back);
}

static eg_tensor *drawn_once(eg_tensor *const *x, int n, void *user)
{
    (void)n, (void)user;
    eg_random_state back = eg_random_get_state();
    eg_seed(4);
    return seeded(eg_multinomial(x[0], 3), back);
}

static eg_tensor *rows_of_numbers(eg_tensor *const *x, int n, void *user)
{
    (void)n, (void)user;
    eg_tensor *a = eg_arange(-3, 4, 0.7, EG_F32), *b = eg_linspace(-1, 1.3, 10, EG_F64);
    return eg_mul(x[0], eg_add(eg_add(a, eg_cast(b, EG_F32)), eg_arange(0, 10, 1, EG_I64)));
}

static eg_tensor *rows_of_integers(eg_tensor *const *x, int n, void *user)
{
    (void)n, (void)user;
    eg_tensor *a = eg_arange(-3.5, 6, 1, EG_I64), *b = eg_linspace(-1.5, 200, 10, EG_I32);
    eg_tensor *c = eg_arange_int(250, 230, -2, EG_U8), *d = eg_arange_int(-5, 5, 1, EG_F16);
    return eg_mul(x[0], eg_add(eg_add(a, b), eg_add(eg_cast(c, EG_F32), d)));
}

static eg_tensor *ones_on_a_diagonal(eg_tensor *const *x, int n, void *user)
{
    (void)n, (void)user;
    return eg_mul(x[0], eg_add(eg_eye(3, 10, 2, EG_F32), eg_eye(3, 10, -1, EG_F32)));
}

static double third = 1.0 / 3, one = 1;

EGT_CASES(
    random, {"arange", "and linspace", rows_of_numbers, {{EG_SHAPE(3, 10), -1, 1, 0}}, .flags = EGT_NO_REF},
    {"arange", "of integers", rows_of_integers, {{EG_SHAPE(3, 10), -1, 1, 0}}, .flags = EGT_NO_REF},
    {"arange", "and eye", ones_on_a_diagonal, {{EG_SHAPE(3, 10), -1, 1, 0}}, .flags = EGT_NO_REF},
    {"random", "normal noise", noise, {{EG_SHAPE(5, 6), -1, 1, 0}}, .flags = EGT_NO_REF},
    {"dropout", "a third", dropped, {{EG_SHAPE(2, 1029), -1, 1, 0}}, .flags = EGT_NO_LAYOUT, .user = &third},
    {"dropout", "images", dropped, {{EG_SHAPE(2, 3, 5, 4), -1, 1, 0}}, .flags = EGT_NO_LAYOUT, .user = &third},
    {"dropout", "all", dropped, {{EG_SHAPE(7), -1, 1, 0}}, .user = &one},
    {"dropout", "empty", dropped, {{EG_SHAPE(3, 0), -1, 1, 0}}, .user = &third},
    {"categorical", "draws", draws, {{EG_SHAPE(3, 5), 0.1, 1, 1 + EG_F32}}, .flags = EGT_NO_GRAD},
    {"topk", "draws without replacement", drawn_once, {{EG_SHAPE(4, 5), 0.1, 1, 1 + EG_F32}}, .flags = EGT_NO_GRAD})
