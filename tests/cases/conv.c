/* conv.c - convolutions, their transposes and their gradients as ops. */
#include "tests/cases.h"

/* With a third input as bias. */
#define FORWARD(name)                                                   \
    static eg_tensor *name(eg_tensor *const *x, int n, void *user)      \
    {                                                                   \
        return eg_##name##_with(x[0], x[1], n > 2 ? x[2] : NULL, user); \
    }
FORWARD(conv1d)
FORWARD(conv2d)
FORWARD(conv3d)
FORWARD(conv_transpose1d)
FORWARD(conv_transpose2d)
FORWARD(conv_transpose3d)

CASE_FUNCTION(conv_data, eg_conv_data_with(x[0], x[1], EG_SHAPE(2, 4, 6, 5), user))
CASE_FUNCTION(conv_weight, eg_conv_weight_with(x[0], x[1], EG_SHAPE(6, 2, 3, 2), user))

/* A network's chain: the second convolution reads channels-last, gradients come back so. */
CASE_FUNCTION(two_layers, eg_conv2d_with(eg_tanh(eg_conv2d_with(x[0], x[1], NULL, user)), x[2], NULL, user))

/* What the convolutions are given. */
#define OPTIONS(name, ...) static eg_conv_options name = {.size = sizeof(eg_conv_options), __VA_ARGS__};
OPTIONS(same, .padding = EG_SAME)
OPTIONS(same_s2, .padding = EG_SAME, .stride = 2)
OPTIONS(each_axis, .strides = {2, 1}, .dilations = {1, 2}, .pads = {{1, 2}, {0, 3}})
OPTIONS(s2, .stride = 2)
OPTIONS(groups2_p1, .groups = 2, .padding = 1)
OPTIONS(groups5_p1, .groups = 5, .padding = 1)
OPTIONS(groups16_p1, .groups = 16, .padding = 1)
OPTIONS(groups16_s2, .groups = 16, .stride = 2, .dilation = 2, .padding = 2)
OPTIONS(groups3_s2, .groups = 3, .stride = 2, .padding = EG_SAME)
OPTIONS(p2, .padding = 2)
OPTIONS(p4, .padding = 4)
OPTIONS(p1, .padding = 1)
OPTIONS(same_s2_d2, .stride = 2, .dilation = 2, .padding = EG_SAME)
OPTIONS(groups2, .groups = 2)
OPTIONS(same_s121, .strides = {1, 2, 1}, .padding = EG_SAME)
OPTIONS(p1_s2, .padding = 1, .stride = 2)
OPTIONS(p1_d2, .padding = 1, .dilation = 2)
OPTIONS(more_at_end, .stride = 3, .pads = {{1, 0}, {2, 1}}, .output_padding = {2, 1})
OPTIONS(more_than_strides, .stride = 2, .dilations = {3, 4}, .pads = {{1, 0}, {2, 1}}, .output_padding = {2, 3})
OPTIONS(groups2_s2, .groups = 2, .stride = 2)
OPTIONS(same_s3, .padding = EG_SAME, .stride = 3)
OPTIONS(groups2_same_s2, .groups = 2, .stride = 2, .padding = EG_SAME)

OPTIONS(relu_same, .padding = EG_SAME, .activation = eg_relu)
OPTIONS(relu_p1, .padding = 1, .activation = eg_relu)
OPTIONS(relu_groups16_p1, .groups = 16, .padding = 1, .activation = eg_relu)
OPTIONS(relu, .activation = eg_relu)
OPTIONS(tanh_s2, .stride = 2, .activation = eg_tanh)
OPTIONS(sigmoid_p1, .padding = 1, .activation = eg_sigmoid)
OPTIONS(gelu_p1, .padding = 1, .activation = eg_gelu)

#define IN(...)                     \
    {                               \
        DIMS(__VA_ARGS__), -1, 1, 0 \
    }
#define FORWARDS "conv conv_data conv_weight"
#define ACTIVE   "conv_act conv_data conv_weight"
#define ACTIVATED(name, f, ...)                         \
    {                                                   \
        ACTIVE, name, f, __VA_ARGS__, .tolerance = 1e-5 \
    }
#define ROW(name, f, ...)                                 \
    {                                                     \
        FORWARDS, name, f, __VA_ARGS__, .tolerance = 1e-5 \
    }

EGT_CASES(
    conv, ROW("plain", conv2d, {IN(2, 3, 5, 4), IN(4, 3, 3, 2)}),
    ACTIVATED("relu", conv2d, {IN(2, 3, 5, 4), IN(4, 3, 3, 2), IN(4)}, .flags = EGT_NO_SECOND, .user = &relu_p1),
    ACTIVATED("relu without bias", conv2d, {IN(1, 2, 4, 5), IN(3, 2, 4, 3)}, .flags = EGT_NO_SECOND,
              .user = &relu_same),
    ACTIVATED("relu, 1x1", conv2d, {IN(2, 5, 3, 4), IN(7, 5, 1, 1), IN(7)}, .flags = EGT_NO_SECOND, .user = &relu),
    ACTIVATED("relu, depthwise", conv2d, {IN(1, 16, 5, 4), IN(16, 1, 3, 3), IN(16)}, .flags = EGT_NO_SECOND,
              .user = &relu_groups16_p1),
    ACTIVATED("relu of nothing", conv2d, {IN(2, 0, 3, 4), IN(3, 0, 3, 3), IN(3)}, .flags = EGT_NO_SECOND,
              .user = &relu_same),
    ACTIVATED("tanh", conv2d, {IN(2, 3, 5, 4), IN(4, 3, 3, 2), IN(4)}, .user = &tanh_s2),
    ACTIVATED("sigmoid", conv1d, {IN(2, 3, 7), IN(4, 3, 3), IN(4)}, .user = &sigmoid_p1),
    ROW("then gelu", conv2d, {IN(1, 3, 4, 4), IN(2, 3, 3, 3), IN(2)}, .user = &gelu_p1),
    ROW("bias, same", conv2d, {IN(1, 2, 4, 5), IN(3, 2, 4, 3), IN(3)}, .user = &same),
    ROW("same, stride 2", conv2d, {IN(2, 2, 5, 6), IN(3, 2, 5, 4)}, .user = &same_s2),
    ROW("every axis its own", conv2d, {IN(2, 2, 6, 5), IN(3, 2, 3, 2), IN(3)}, .user = &each_axis),
    ROW("1x1", conv2d, {IN(2, 5, 3, 4), IN(7, 5, 1, 1), IN(7)}),
    ROW("1x1, stride 2", conv2d, {IN(2, 3, 5, 4), IN(4, 3, 1, 1)}, .user = &s2),
    ROW("groups", conv2d, {IN(2, 4, 4, 3), IN(6, 2, 3, 3), IN(6)}, .user = &groups2_p1),
    ROW("depthwise", conv2d, {IN(2, 5, 4, 5), IN(5, 1, 3, 3), IN(5)}, .user = &groups5_p1),
    ROW("depthwise, 2 each", conv2d, {IN(1, 3, 6, 5), IN(6, 1, 3, 3)}, .user = &groups3_s2),
    ROW("depthwise, channels in eights", conv2d, {IN(1, 16, 5, 4), IN(16, 1, 3, 3), IN(16)}, .flags = EGT_NO_SECOND,
        .user = &groups16_p1),
    ROW("depthwise, eights, dilated", conv2d, {IN(2, 16, 6, 5), IN(16, 1, 2, 3)}, .flags = EGT_NO_SECOND,
        .user = &groups16_s2),
    ROW("depthwise, a long kernel", conv2d, {IN(2, 2, 4, 9), IN(4, 1, 2, 6), IN(4)}, .user = &groups2),
    ROW("one channel", conv2d, {IN(2, 1, 5, 5), IN(4, 1, 5, 5)}, .user = &p2),
    ROW("padding wider than the kernel", conv2d, {IN(1, 2, 2, 3), IN(2, 2, 3, 2), IN(2)}, .user = &p4),
    ROW("17 to 33 channels", conv2d, {IN(1, 17, 5, 6), IN(33, 17, 3, 3)}, .flags = EGT_NO_SECOND, .user = &p1),
    ROW("no batch", conv2d, {IN(0, 2, 4, 4), IN(3, 2, 3, 3), IN(3)}),
    ROW("no height", conv2d, {IN(2, 2, 0, 4), IN(3, 2, 3, 3)}, .user = &same),
    ROW("no channels", conv2d, {IN(2, 0, 3, 4), IN(3, 0, 3, 3), IN(3)}, .user = &same),
    ROW("no results", conv2d, {IN(2, 2, 3, 4), IN(0, 2, 3, 3)}, .user = &same),
    ROW("two layers", two_layers, {IN(2, 2, 4, 3), IN(3, 2, 3, 3), IN(2, 3, 2, 2)}, .user = &same),

    ROW("1-d", conv1d, {IN(2, 3, 9), IN(4, 3, 3), IN(4)}, .user = &same_s2_d2),
    ROW("1-d, groups", conv1d, {IN(2, 4, 7), IN(2, 2, 3)}, .user = &groups2),
    ROW("3-d", conv3d, {IN(1, 2, 3, 4, 3), IN(3, 2, 2, 3, 2), IN(3)}, .user = &same_s121),
    ROW("3-d, depthwise", conv3d, {IN(1, 2, 3, 3, 3), IN(2, 1, 3, 2, 3)}, .user = &groups2_p1),

    ROW("transpose", conv_transpose2d, {IN(2, 3, 3, 4), IN(3, 4, 3, 2)}),
    ROW("transpose, bias, same, k5 s2", conv_transpose2d, {IN(2, 3, 3, 4), IN(3, 2, 5, 5), IN(2)}, .user = &same_s2),
    ROW("transpose to one channel", conv_transpose2d, {IN(2, 6, 3, 3), IN(6, 1, 5, 5), IN(1)}, .user = &same_s2),
    ROW("transpose to three channels", conv_transpose2d, {IN(2, 5, 4, 3), IN(5, 3, 4, 4)}, .user = &p1_s2),
    ROW("transpose to four channels, dilated", conv_transpose2d, {IN(1, 5, 4, 6), IN(5, 4, 3, 2), IN(4)},
        .user = &p1_d2),
    ROW("transpose, output padding", conv_transpose2d, {IN(1, 2, 3, 2), IN(2, 3, 3, 4), IN(3)}, .user = &more_at_end),
    ROW("transpose, output padding below the dilation", conv_transpose2d, {IN(1, 2, 3, 2), IN(2, 3, 2, 3), IN(3)},
        .user = &more_than_strides),
    ROW("no batch", conv2d, {IN(2, 4, 5), IN(3, 2, 4, 3), IN(3)}, .user = &same),
    ACTIVATED("no batch, relu", conv2d, {IN(2, 4, 5), IN(3, 2, 4, 3), IN(3)}, .flags = EGT_NO_SECOND,
              .user = &relu_same),
    ROW("transpose, no batch", conv_transpose1d, {IN(3, 4), IN(3, 2, 3)}),
    ROW("transpose, groups", conv_transpose2d, {IN(2, 4, 3, 2), IN(4, 3, 2, 2), IN(6)}, .user = &groups2_s2),
    ROW("transpose, depthwise", conv_transpose2d, {IN(2, 2, 3, 4), IN(2, 2, 3, 2), IN(4)}, .user = &groups2_s2),
    ROW("transpose, depthwise in eights", conv_transpose2d, {IN(1, 16, 3, 4), IN(16, 1, 3, 2), IN(16)},
        .flags = EGT_NO_SECOND, .user = &groups16_s2),
    ROW("transpose, gaps", conv_transpose2d, {IN(1, 2, 3, 2), IN(2, 3, 2, 2)}, .user = &same_s3),
    ROW("transpose of nothing", conv_transpose2d, {IN(2, 2, 0, 3), IN(2, 3, 2, 2), IN(3)}, .user = &s2),
    ROW("transpose, 1-d", conv_transpose1d, {IN(2, 3, 5), IN(3, 2, 4), IN(2)}, .user = &same_s2),
    ROW("transpose, 3-d", conv_transpose3d, {IN(1, 2, 2, 3, 2), IN(2, 2, 3, 2, 3)}, .user = &same_s2),

    ROW("data", conv_data, {IN(2, 6, 3, 3), IN(6, 2, 3, 2)}, .user = &groups2_same_s2),
    ROW("weight", conv_weight, {IN(2, 4, 6, 5), IN(2, 6, 3, 3)}, .user = &groups2_same_s2))
