/* inception_v3.c - Inception v3 (Szegedy et al. 2015), as TF-Slim has it. */
#include "nn/models/vision/parts.h"

#define BRANCH(number, ...) eg_named("Branch_" #number, eg_sequential_new(__VA_ARGS__))
#define CONV(name, ...)     eg__conv_new(s, name, __VA_ARGS__)
#define ROW(name, ...)      eg__row_new(s, name, __VA_ARGS__)
#define COLUMN(name, ...)   eg__column_new(s, name, __VA_ARGS__)

/* 35 x 35: 1 x 1, 5 x 5, two of 3 x 3, a mean. */
static eg_module *mixed_5(const eg__style *s, int64_t in, int64_t pool)
{
    return eg_branches_new(
        BRANCH(0, CONV("Conv2d_0a_1x1", in, 64, 1)),
        BRANCH(1, CONV("Conv2d_0a_1x1", in, 48, 1), CONV("Conv2d_0b_5x5", 48, 64, 5)),
        BRANCH(2, CONV("Conv2d_0a_1x1", in, 64, 1), CONV("Conv2d_0b_3x3", 64, 96, 3), CONV("Conv2d_0c_3x3", 96, 96, 3)),
        BRANCH(3, eg__avg_pool_new(3, 1, EG_SAME), CONV("Conv2d_0b_1x1", in, pool, 1)));
}

static eg_module *mixed_6a(const eg__style *s)
{
    return eg_branches_new(BRANCH(0, CONV("Conv2d_1a_1x1", 288, 384, 3, .stride = 2, .valid = true)),
                           BRANCH(1, CONV("Conv2d_0a_1x1", 288, 64, 1), CONV("Conv2d_0b_3x3", 64, 96, 3),
                                  CONV("Conv2d_1a_1x1", 96, 96, 3, .stride = 2, .valid = true)),
                           BRANCH(2, eg__max_pool_new(3, 2, EG_VALID)));
}

/* 17 x 17: 7 x 7 as 1 x 7 and 7 x 1. */
static eg_module *mixed_6(const eg__style *s, int64_t inner)
{
    return eg_branches_new(BRANCH(0, CONV("Conv2d_0a_1x1", 768, 192, 1)),
                           BRANCH(1, CONV("Conv2d_0a_1x1", 768, inner, 1), ROW("Conv2d_0b_1x7", inner, inner, 7),
                                  COLUMN("Conv2d_0c_7x1", inner, 192, 7)),
                           BRANCH(2, CONV("Conv2d_0a_1x1", 768, inner, 1), COLUMN("Conv2d_0b_7x1", inner, inner, 7),
                                  ROW("Conv2d_0c_1x7", inner, inner, 7), COLUMN("Conv2d_0d_7x1", inner, inner, 7),
                                  ROW("Conv2d_0e_1x7", inner, 192, 7)),
                           BRANCH(3, eg__avg_pool_new(3, 1, EG_SAME), CONV("Conv2d_0b_1x1", 768, 192, 1)));
}

static eg_module *mixed_7a(const eg__style *s)
{
    return eg_branches_new(
        BRANCH(0, CONV("Conv2d_0a_1x1", 768, 192, 1), CONV("Conv2d_1a_3x3", 192, 320, 3, .stride = 2, .valid = true)),
        BRANCH(1, CONV("Conv2d_0a_1x1", 768, 192, 1), ROW("Conv2d_0b_1x7", 192, 192, 7),
               COLUMN("Conv2d_0c_7x1", 192, 192, 7), CONV("Conv2d_1a_3x3", 192, 192, 3, .stride = 2, .valid = true)),
        BRANCH(2, eg__max_pool_new(3, 2, EG_VALID)));
}

/* 8 x 8: both halves of a 3 x 3 side by side. */
static eg_module *mixed_7(const eg__style *s, int64_t in)
{
    return eg_branches_new(
        BRANCH(0, CONV("Conv2d_0a_1x1", in, 320, 1)),
        BRANCH(1, CONV("Conv2d_0a_1x1", in, 384, 1),
               eg_branches_new(ROW("Conv2d_0b_1x3", 384, 384, 3), COLUMN("Conv2d_0b_3x1", 384, 384, 3))),
        BRANCH(2, CONV("Conv2d_0a_1x1", in, 448, 1), CONV("Conv2d_0b_3x3", 448, 384, 3),
               eg_branches_new(ROW("Conv2d_0c_1x3", 384, 384, 3), COLUMN("Conv2d_0d_3x1", 384, 384, 3))),
        BRANCH(3, eg__avg_pool_new(3, 1, EG_SAME), CONV("Conv2d_0b_1x1", in, 192, 1)));
}

eg_module *eg_inception_v3_new_with(const eg_model_options *given)
{
    eg_model_options o;
    if (!eg__model_options("inception_v3", given, 1001, 3, EG__TAKES_AUX, &o)) {
        return NULL;
    }
    eg__style style = eg__style_of(&o, 1 - 0.9997, 1e-3, eg_relu), *s = &style;
    style.no_weight = true;
    eg_module *body = eg_sequential_new(
        CONV("Conv2d_1a_3x3", o.channels, 32, 3, .stride = 2, .valid = true),
        CONV("Conv2d_2a_3x3", 32, 32, 3, .valid = true), CONV("Conv2d_2b_3x3", 32, 64, 3),
        eg_named("MaxPool_3a_3x3", eg__max_pool_new(3, 2, EG_VALID)), CONV("Conv2d_3b_1x1", 64, 80, 1),
        CONV("Conv2d_4a_3x3", 80, 192, 3, .valid = true), eg_named("MaxPool_5a_3x3", eg__max_pool_new(3, 2, EG_VALID)),
        eg_named("Mixed_5b", mixed_5(s, 192, 32)), eg_named("Mixed_5c", mixed_5(s, 256, 64)),
        eg_named("Mixed_5d", mixed_5(s, 288, 64)), eg_named("Mixed_6a", mixed_6a(s)),
        eg_named("Mixed_6b", mixed_6(s, 128)), eg_named("Mixed_6c", mixed_6(s, 160)),
        eg_named("Mixed_6d", mixed_6(s, 160)), eg_named("Mixed_6e", mixed_6(s, 192)));
    eg_module *rest =
        eg_sequential_new(eg_named("Mixed_7a", mixed_7a(s)), eg_named("Mixed_7b", mixed_7(s, 1280)),
                          eg_named("Mixed_7c", mixed_7(s, 2048)), eg__head_new("Logits", 2048, o.classes, 0.2, &o));
    return eg__begin(eg__with_aux_new(body, eg__aux_new(s, 768, 5, o.classes, &o), rest, &o), EG_HE_NORMAL);
}
