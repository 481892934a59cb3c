/* conv.c - what the golden cases of convolutions stand for. */
#include "tests/golden/golden.h"

static eg_conv_options options_of(const golden_case *c)
{
    eg_conv_options o = {.size = sizeof o, .groups = (int64_t)golden_number(c, "groups", 1)};
    int64_t front[GOLDEN_LIST] = {0}, end[GOLDEN_LIST] = {0};
    golden_list(c, "stride", o.strides);
    golden_list(c, "dilation", o.dilations);
    golden_list(c, "output_padding", o.output_padding);
    if (golden_is(c, "padding", "same")) {
        o.padding = EG_SAME;
        return o;
    }
    bool both = golden_has(c, "padding");
    golden_list(c, both ? "padding" : "pad_front", front);
    golden_list(c, both ? "padding" : "pad_end", end);
    for (int d = 0; d < 3; d++) {
        o.pads[d][0] = front[d];
        o.pads[d][1] = end[d];
    }
    return o;
}

static eg_tensor *conv(const golden_case *c)
{
    eg_conv_options o = options_of(c);
    switch (eg_ndim(c->x[0])) {
    case 3:
        return eg_conv1d_with(c->x[0], c->x[1], c->x[2], &o);
    case 4:
        return eg_conv2d_with(c->x[0], c->x[1], c->x[2], &o);
    default:
        return eg_conv3d_with(c->x[0], c->x[1], c->x[2], &o);
    }
}

static eg_tensor *conv_transpose(const golden_case *c)
{
    eg_conv_options o = options_of(c);
    switch (eg_ndim(c->x[0])) {
    case 3:
        return eg_conv_transpose1d_with(c->x[0], c->x[1], c->x[2], &o);
    case 4:
        return eg_conv_transpose2d_with(c->x[0], c->x[1], c->x[2], &o);
    default:
        return eg_conv_transpose3d_with(c->x[0], c->x[1], c->x[2], &o);
    }
}

GOLDEN_ROWS(conv, {.op = "conv1d", .one = conv}, {.op = "conv2d", .one = conv}, {.op = "conv3d", .one = conv},
            {.op = "conv_transpose1d", .one = conv_transpose}, {.op = "conv_transpose2d", .one = conv_transpose},
            {.op = "conv_transpose3d", .one = conv_transpose})
