/* pool.c - what the golden cases of pooling stand for. */
#include "tests/golden/golden.h"

static eg_pool_options options_of(const golden_case *c)
{
    eg_pool_options o = {.size = sizeof o,
                         .ceil_mode = golden_number(c, "ceil_mode", 0) != 0,
                         .exclude_pad = golden_number(c, "count_include_pad", 1) == 0};
    int64_t both[GOLDEN_LIST] = {0};
    golden_list(c, "kernel", o.kernels);
    golden_list(c, "stride", o.strides);
    if (golden_is(c, "padding", "same")) {
        o.padding = EG_SAME;
        return o;
    }
    golden_list(c, "padding", both);
    for (int d = 0; d < 3; d++) {
        o.pads[d][0] = o.pads[d][1] = both[d];
    }
    return o;
}

static eg_tensor *mean_of(eg_tensor *x, const eg_pool_options *o)
{
    return eg_ndim(x) == 3   ? eg_avg_pool1d_with(x, o)
           : eg_ndim(x) == 4 ? eg_avg_pool2d_with(x, o)
                             : eg_avg_pool3d_with(x, o);
}

static eg_tensor *max_pool(const golden_case *c)
{
    eg_pool_options o = options_of(c);
    golden_list(c, "dilation", o.dilations);
    eg_tensor *x = c->x[0];
    return eg_ndim(x) == 3   ? eg_max_pool1d_with(x, &o)
           : eg_ndim(x) == 4 ? eg_max_pool2d_with(x, &o)
                             : eg_max_pool3d_with(x, &o);
}

static eg_tensor *avg_pool(const golden_case *c)
{
    eg_pool_options o = options_of(c);
    return mean_of(c->x[0], &o);
}

/* (sum of |x|^p over the window)^(1/p), as a mean: PyTorch takes the kernel's size, also at the
 * edge. */
static eg_tensor *lp_pool(const golden_case *c)
{
    eg_pool_options o = options_of(c);
    double p = golden_number(c, "p", 2), cells = 1;
    for (int d = 0; d < eg_ndim(c->x[0]) - 2; d++) {
        cells *= (double)o.kernels[d];
    }
    return eg_pow_scalar(eg_mul_scalar(mean_of(eg_pow_scalar(c->x[0], p), &o), cells), 1 / p);
}

static eg_tensor *adaptive_max(const golden_case *c)
{
    return eg_adaptive_max_pool(c->x[0], golden_shape(c, "size"));
}

static eg_tensor *adaptive_avg(const golden_case *c)
{
    return eg_adaptive_avg_pool(c->x[0], golden_shape(c, "size"));
}

GOLDEN_ROWS(pool, {.op = "max_pool1d", .one = max_pool}, {.op = "max_pool2d", .one = max_pool},
            {.op = "max_pool3d", .one = max_pool}, {.op = "avg_pool1d", .one = avg_pool},
            {.op = "avg_pool2d", .one = avg_pool}, {.op = "avg_pool3d", .one = avg_pool},
            {.op = "lp_pool1d", .one = lp_pool}, {.op = "lp_pool2d", .one = lp_pool},
            {.op = "adaptive_max_pool1d", .one = adaptive_max}, {.op = "adaptive_max_pool2d", .one = adaptive_max},
            {.op = "adaptive_max_pool3d", .one = adaptive_max}, {.op = "adaptive_avg_pool1d", .one = adaptive_avg},
            {.op = "adaptive_avg_pool2d", .one = adaptive_avg}, {.op = "adaptive_avg_pool3d", .one = adaptive_avg})
