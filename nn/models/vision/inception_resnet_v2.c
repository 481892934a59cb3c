/* inception_resnet_v2.c - Inception-ResNet v2 (Szegedy et al. 2016), as TF-Slim has it. */
#include "nn/models/vision/parts.h"

#define BRANCH(number, ...) eg_named("Branch_" #number, eg_sequential_new(__VA_ARGS__))
#define CONV(name, ...)     eg__conv_new(s, name, __VA_ARGS__)
#define ROW(name, ...)      eg__row_new(s, name, __VA_ARGS__)
#define COLUMN(name, ...)   eg__column_new(s, name, __VA_ARGS__)

/* activation(x + scale * up(branches(x))). */
typedef struct block {
    eg_module base;
    eg_module *branches, *up;
    double scale;
    bool linear;
} block;

static eg_tensor *block_forward(eg_module *m, eg_tensor *x)
{
    block *b = (block *)m;
    eg_tensor *up = eg_module_forward(b->up, eg_module_forward(b->branches, x));
    eg_tensor *sum = eg_add(x, eg_mul_scalar(up, b->scale));
    return b->linear ? sum : eg_relu(sum);
}

static void block_members(eg_module *m, eg_members *members)
{
    eg_member_child(members, "mixed", &((block *)m)->branches);
    eg_member_child(members, "Conv2d_1x1", &((block *)m)->up);
}

static const eg_module_kind block_kind = {
    .size = sizeof(eg_module_kind), .name = "inception_block", .forward = block_forward, .members = block_members};

static eg_module *block_new(int64_t mixed, int64_t channels, double scale, bool linear, eg_module *branches)
{
    block *b = branches ? eg_module_new(sizeof *b, &block_kind) : NULL;
    if (!b) {
        eg_module_free(branches);
        return NULL;
    }
    b->branches = branches;
    b->up = eg_conv2d_new(mixed, channels, .kernel = 1);
    b->scale = scale;
    b->linear = linear;
    return eg_module_finish(&b->base);
}

/* ---- blocks ------------------------------------------------------------------------------------- */

static eg_module *block35(const eg__style *s)
{
    return block_new(128, 320, 0.17, false,
                     eg_branches_new(BRANCH(0, CONV("Conv2d_1x1", 320, 32, 1)),
                                     BRANCH(1, CONV("Conv2d_0a_1x1", 320, 32, 1), CONV("Conv2d_0b_3x3", 32, 32, 3)),
                                     BRANCH(2, CONV("Conv2d_0a_1x1", 320, 32, 1), CONV("Conv2d_0b_3x3", 32, 48, 3),
                                            CONV("Conv2d_0c_3x3", 48, 64, 3))));
}

static eg_module *block17(const eg__style *s)
{
    return block_new(384, 1088, 0.10, false,
                     eg_branches_new(BRANCH(0, CONV("Conv2d_1x1", 1088, 192, 1)),
                                     BRANCH(1, CONV("Conv2d_0a_1x1", 1088, 128, 1), ROW("Conv2d_0b_1x7", 128, 160, 7),
                                            COLUMN("Conv2d_0c_7x1", 160, 192, 7))));
}

static eg_module *block8(const eg__style *s, bool last)
{
    return block_new(448, 2080, last ? 1 : 0.20, last,
                     eg_branches_new(BRANCH(0, CONV("Conv2d_1x1", 2080, 192, 1)),
                                     BRANCH(1, CONV("Conv2d_0a_1x1", 2080, 192, 1), ROW("Conv2d_0b_1x3", 192, 224, 3),
                                            COLUMN("Conv2d_0c_3x1", 224, 256, 3))));
}

static eg_module *mixed_5b(const eg__style *s)
{
    return eg_branches_new(BRANCH(0, CONV("Conv2d_1x1", 192, 96, 1)),
                           BRANCH(1, CONV("Conv2d_0a_1x1", 192, 48, 1), CONV("Conv2d_0b_5x5", 48, 64, 5)),
                           BRANCH(2, CONV("Conv2d_0a_1x1", 192, 64, 1), CONV("Conv2d_0b_3x3", 64, 96, 3),
                                  CONV("Conv2d_0c_3x3", 96, 96, 3)),
                           BRANCH(3, eg__avg_pool_new(3, 1, EG_SAME), CONV("Conv2d_0b_1x1", 192, 64, 1)));
}

static eg_module *mixed_6a(const eg__style *s)
{
    return eg_branches_new(BRANCH(0, CONV("Conv2d_1a_3x3", 320, 384, 3, .stride = 2, .valid = true)),
                           BRANCH(1, CONV("Conv2d_0a_1x1", 320, 256, 1), CONV("Conv2d_0b_3x3", 256, 256, 3),
                                  CONV("Conv2d_1a_3x3", 256, 384, 3, .stride = 2, .valid = true)),
                           BRANCH(2, eg__max_pool_new(3, 2, EG_VALID)));
}

static eg_module *mixed_7a(const eg__style *s)
{
    return eg_branches_new(
        BRANCH(0, CONV("Conv2d_0a_1x1", 1088, 256, 1), CONV("Conv2d_1a_3x3", 256, 384, 3, .stride = 2, .valid = true)),
        BRANCH(1, CONV("Conv2d_0a_1x1", 1088, 256, 1), CONV("Conv2d_1a_3x3", 256, 288, 3, .stride = 2, .valid = true)),
        BRANCH(2, CONV("Conv2d_0a_1x1", 1088, 256, 1), CONV("Conv2d_0b_3x3", 256, 288, 3),
               CONV("Conv2d_1a_3x3", 288, 320, 3, .stride = 2, .valid = true)),
        BRANCH(3, eg__max_pool_new(3, 2, EG_VALID)));
}

/* ---- the net ------------------------------------------------------------------------------------ */

eg_module *eg_inception_resnet_v2_new_with(const eg_model_options *given)
{
    eg_model_options o;
    if (!eg__model_options("inception_resnet_v2", given, 1001, 3, EG__TAKES_AUX, &o)) {
        return NULL;
    }
    eg__style style = eg__style_of(&o, 1 - 0.9997, 1e-3, eg_relu), *s = &style;
    style.no_weight = true;
    eg__stack body = {.count = 0}, rest = {.count = 0};
    eg__stack_add(&body, CONV("Conv2d_1a_3x3", o.channels, 32, 3, .stride = 2, .valid = true));
    eg__stack_add(&body, CONV("Conv2d_2a_3x3", 32, 32, 3, .valid = true));
    eg__stack_add(&body, CONV("Conv2d_2b_3x3", 32, 64, 3));
    eg__stack_add(&body, eg_named("MaxPool_3a_3x3", eg__max_pool_new(3, 2, EG_VALID)));
    eg__stack_add(&body, CONV("Conv2d_3b_1x1", 64, 80, 1));
    eg__stack_add(&body, CONV("Conv2d_4a_3x3", 80, 192, 3, .valid = true));
    eg__stack_add(&body, eg_named("MaxPool_5a_3x3", eg__max_pool_new(3, 2, EG_VALID)));
    eg__stack_add(&body, eg_named("Mixed_5b", mixed_5b(s)));
    for (int i = 1; i <= 10; i++) {
        eg__stack_add_numbered(&body, "block35_", i, block35(s));
    }
    eg__stack_add(&body, eg_named("Mixed_6a", mixed_6a(s)));
    for (int i = 1; i <= 20; i++) {
        eg__stack_add_numbered(&body, "block17_", i, block17(s));
    }
    eg__stack_add(&rest, eg_named("Mixed_7a", mixed_7a(s)));
    for (int i = 1; i <= 10; i++) {
        eg__stack_add_numbered(&rest, "block8_", i, block8(s, i == 10));
    }
    eg__stack_add(&rest, CONV("Conv2d_7b_1x1", 2080, 1536, 1));
    eg__stack_add(&rest, eg__head_new("Logits", 1536, o.classes, 0.2, &o));
    eg_module *aux = eg__aux_new(s, 1088, 5, o.classes, &o);
    return eg__begin(eg__with_aux_new(eg__stack_end(&body), aux, eg__stack_end(&rest), &o), EG_HE_NORMAL);
}
