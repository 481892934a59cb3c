/* inception_v4.c - Inception v4 (Szegedy et al. 2016), as TF-Slim has it. */
#include "nn/models/vision/parts.h"

#define BRANCH(number, ...) eg_named("Branch_" #number, eg_sequential_new(__VA_ARGS__))
#define CONV(name, ...)     eg__conv_new(s, name, __VA_ARGS__)
#define ROW(name, ...)      eg__row_new(s, name, __VA_ARGS__)
#define COLUMN(name, ...)   eg__column_new(s, name, __VA_ARGS__)

/* ---- the stem ----------------------------------------------------------------------------------- */

static eg_module *mixed_3a(const eg__style *s)
{
    return eg_branches_new(BRANCH(0, eg__max_pool_new(3, 2, EG_VALID)),
                           BRANCH(1, CONV("Conv2d_0a_3x3", 64, 96, 3, .stride = 2, .valid = true)));
}

static eg_module *mixed_4a(const eg__style *s)
{
    return eg_branches_new(
        BRANCH(0, CONV("Conv2d_0a_1x1", 160, 64, 1), CONV("Conv2d_1a_3x3", 64, 96, 3, .valid = true)),
        BRANCH(1, CONV("Conv2d_0a_1x1", 160, 64, 1), ROW("Conv2d_0b_1x7", 64, 64, 7),
               COLUMN("Conv2d_0c_7x1", 64, 64, 7), CONV("Conv2d_1a_3x3", 64, 96, 3, .valid = true)));
}

static eg_module *mixed_5a(const eg__style *s)
{
    return eg_branches_new(BRANCH(0, CONV("Conv2d_1a_3x3", 192, 192, 3, .stride = 2, .valid = true)),
                           BRANCH(1, eg__max_pool_new(3, 2, EG_VALID)));
}

/* ---- blocks ------------------------------------------------------------------------------------- */

static eg_module *inception_a(const eg__style *s)
{
    return eg_branches_new(BRANCH(0, CONV("Conv2d_0a_1x1", 384, 96, 1)),
                           BRANCH(1, CONV("Conv2d_0a_1x1", 384, 64, 1), CONV("Conv2d_0b_3x3", 64, 96, 3)),
                           BRANCH(2, CONV("Conv2d_0a_1x1", 384, 64, 1), CONV("Conv2d_0b_3x3", 64, 96, 3),
                                  CONV("Conv2d_0c_3x3", 96, 96, 3)),
                           BRANCH(3, eg__avg_pool_new(3, 1, EG_SAME), CONV("Conv2d_0b_1x1", 384, 96, 1)));
}

static eg_module *reduction_a(const eg__style *s)
{
    return eg_branches_new(BRANCH(0, CONV("Conv2d_1a_3x3", 384, 384, 3, .stride = 2, .valid = true)),
                           BRANCH(1, CONV("Conv2d_0a_1x1", 384, 192, 1), CONV("Conv2d_0b_3x3", 192, 224, 3),
                                  CONV("Conv2d_1a_3x3", 224, 256, 3, .stride = 2, .valid = true)),
                           BRANCH(2, eg__max_pool_new(3, 2, EG_VALID)));
}

static eg_module *inception_b(const eg__style *s)
{
    return eg_branches_new(BRANCH(0, CONV("Conv2d_0a_1x1", 1024, 384, 1)),
                           BRANCH(1, CONV("Conv2d_0a_1x1", 1024, 192, 1), ROW("Conv2d_0b_1x7", 192, 224, 7),
                                  COLUMN("Conv2d_0c_7x1", 224, 256, 7)),
                           BRANCH(2, CONV("Conv2d_0a_1x1", 1024, 192, 1), COLUMN("Conv2d_0b_7x1", 192, 192, 7),
                                  ROW("Conv2d_0c_1x7", 192, 224, 7), COLUMN("Conv2d_0d_7x1", 224, 224, 7),
                                  ROW("Conv2d_0e_1x7", 224, 256, 7)),
                           BRANCH(3, eg__avg_pool_new(3, 1, EG_SAME), CONV("Conv2d_0b_1x1", 1024, 128, 1)));
}

static eg_module *reduction_b(const eg__style *s)
{
    return eg_branches_new(
        BRANCH(0, CONV("Conv2d_0a_1x1", 1024, 192, 1), CONV("Conv2d_1a_3x3", 192, 192, 3, .stride = 2, .valid = true)),
        BRANCH(1, CONV("Conv2d_0a_1x1", 1024, 256, 1), ROW("Conv2d_0b_1x7", 256, 256, 7),
               COLUMN("Conv2d_0c_7x1", 256, 320, 7), CONV("Conv2d_1a_3x3", 320, 320, 3, .stride = 2, .valid = true)),
        BRANCH(2, eg__max_pool_new(3, 2, EG_VALID)));
}

static eg_module *inception_c(const eg__style *s)
{
    return eg_branches_new(
        BRANCH(0, CONV("Conv2d_0a_1x1", 1536, 256, 1)),
        BRANCH(1, CONV("Conv2d_0a_1x1", 1536, 384, 1),
               eg_branches_new(ROW("Conv2d_0b_1x3", 384, 256, 3), COLUMN("Conv2d_0c_3x1", 384, 256, 3))),
        BRANCH(2, CONV("Conv2d_0a_1x1", 1536, 384, 1), COLUMN("Conv2d_0b_3x1", 384, 448, 3),
               ROW("Conv2d_0c_1x3", 448, 512, 3),
               eg_branches_new(ROW("Conv2d_0d_1x3", 512, 256, 3), COLUMN("Conv2d_0e_3x1", 512, 256, 3))),
        BRANCH(3, eg__avg_pool_new(3, 1, EG_SAME), CONV("Conv2d_0b_1x1", 1536, 256, 1)));
}

/* ---- the net ------------------------------------------------------------------------------------ */

static void repeat(eg__stack *net, const eg__style *s, int stage, int count, eg_module *(*block)(const eg__style *s))
{
    for (int i = 0; i < count; i++) {
        char name[] = {'M', 'i', 'x', 'e', 'd', '_', (char)('0' + stage), (char)('b' + i), 0};
        eg__stack_add(net, eg_named(name, block(s)));
    }
}

eg_module *eg_inception_v4_new_with(const eg_model_options *given)
{
    eg_model_options o;
    if (!eg__model_options("inception_v4", given, 1001, 3, EG__TAKES_AUX, &o)) {
        return NULL;
    }
    eg__style style = eg__style_of(&o, 1 - 0.9997, 1e-3, eg_relu), *s = &style;
    style.no_weight = true;
    eg__stack body = {.count = 0}, rest = {.count = 0};
    eg__stack_add(&body, CONV("Conv2d_1a_3x3", o.channels, 32, 3, .stride = 2, .valid = true));
    eg__stack_add(&body, CONV("Conv2d_2a_3x3", 32, 32, 3, .valid = true));
    eg__stack_add(&body, CONV("Conv2d_2b_3x3", 32, 64, 3));
    eg__stack_add(&body, eg_named("Mixed_3a", mixed_3a(s)));
    eg__stack_add(&body, eg_named("Mixed_4a", mixed_4a(s)));
    eg__stack_add(&body, eg_named("Mixed_5a", mixed_5a(s)));
    repeat(&body, s, 5, 4, inception_a);
    eg__stack_add(&body, eg_named("Mixed_6a", reduction_a(s)));
    repeat(&body, s, 6, 7, inception_b);
    eg__stack_add(&rest, eg_named("Mixed_7a", reduction_b(s)));
    repeat(&rest, s, 7, 3, inception_c);
    eg__stack_add(&rest, eg__head_new("Logits", 1536, o.classes, 0.2, &o));
    eg_module *aux = eg__aux_new(s, 1024, 5, o.classes, &o);
    return eg__begin(eg__with_aux_new(eg__stack_end(&body), aux, eg__stack_end(&rest), &o), EG_HE_NORMAL);
}
