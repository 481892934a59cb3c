/* nasnet_ops.c - what cells of NASNet and PNASNet are made of; see nasnet_cell.h. */
#include "nn/models/vision/nasnet_cell.h"

/* ---- half the places ---------------------------------------------------------------------------- */

/* Every second place, and every second one of those between, each to half of the channels. */
typedef struct factorized {
    eg_module base;
    eg_module *path1, *path2, *norm;
} factorized;

static eg_tensor *every_second(eg_tensor *x)
{
    return eg_slice(eg_slice(x, 2, 0, INT64_MAX, 2), 3, 0, INT64_MAX, 2);
}

static eg_tensor *factorized_forward(eg_module *m, eg_tensor *x)
{
    factorized *f = (factorized *)m;
    eg_tensor *shifted = eg_pad(x, .before = {0, 0, -1, -1}, .after = {0, 0, 1, 1});
    eg_tensor *both[2] = {eg_module_forward(f->path1, every_second(x)),
                          eg_module_forward(f->path2, every_second(shifted))};
    return eg_module_forward(f->norm, eg_concat(both, 2, 1));
}

static void factorized_members(eg_module *m, eg_members *members)
{
    factorized *f = (factorized *)m;
    eg_member_child(members, "path1_conv", &f->path1);
    eg_member_child(members, "path2_conv", &f->path2);
    eg_member_child(members, "final_path_bn", &f->norm);
}

static const eg_module_kind factorized_kind = {.size = sizeof(eg_module_kind),
                                               .name = "factorized_reduction",
                                               .forward = factorized_forward,
                                               .members = factorized_members};

eg_module *eg__cell_halved(const eg__style *s, int64_t in, int64_t out)
{
    factorized *f = eg_module_new(sizeof *f, &factorized_kind);
    if (!f) {
        return NULL;
    }
    f->path1 = eg_conv2d_new(in, out / 2, .kernel = 1, .no_bias = true);
    f->path2 = eg_conv2d_new(in, out - out / 2, .kernel = 1, .no_bias = true);
    f->norm = eg__norm_new(s, out, true);
    return eg_module_finish(&f->base);
}

/* ---- operations --------------------------------------------------------------------------------- */

eg_module *eg__cell_relu_conv(const eg__style *s, int64_t in, int64_t out, int64_t stride)
{
    return eg_sequential_new(eg_activation_new(eg_relu),
                             eg__conv_new(s, "1x1", in, out, 1, .stride = stride, .linear = true));
}

static eg_module *separable(const eg__style *s, int64_t in, int64_t out, int64_t kernel, int64_t stride)
{
    return eg_sequential_new(
        eg_activation_new(eg_relu),
        eg_separable_conv2d_new(in, out, 1, .kernel = kernel, .stride = stride, .padding = EG_SAME, .no_bias = true),
        eg__norm_new(s, out, true));
}

static eg_module *pool(const eg__style *s, eg__cell_op op, int64_t in, int64_t out, int64_t stride)
{
    eg_module *pooled =
        op == EG__CELL_AVG ? eg__avg_pool_new(3, stride, EG_SAME) : eg__max_pool_new(3, stride, EG_SAME);
    return in == out ? pooled : eg_sequential_new(pooled, eg__conv_new(s, "1x1", in, out, 1, .linear = true));
}

eg_module *eg__cell_operation(const eg__style *s, eg__cell_op op, int64_t in, int64_t out, int64_t stride,
                              double drop_path)
{
    static const int64_t kernels[] = {[EG__CELL_SEP3] = 3, [EG__CELL_SEP5] = 5, [EG__CELL_SEP7] = 7};
    if (op == EG__CELL_NONE) {
        return stride > 1 || in != out ? eg__cell_relu_conv(s, in, out, stride) : eg_identity_new();
    }
    eg_module *m = op < EG__CELL_SEP3 ? pool(s, op, in, out, stride)
                                      : eg_sequential_new(separable(s, in, out, kernels[op], stride),
                                                          separable(s, out, out, kernels[op], 1));
    return eg_sequential_new(m, eg_drop_path_new(drop_path)); /* of 0 too: names do not hang on it */
}
