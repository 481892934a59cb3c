/* ops_window.c - windows that slide: convolutions and pools. */
#include <math.h>
#include <string.h>

#include "nn/onnx/ops.h"

/* How windows lie on the spatial axes of x. */
typedef struct window {
    int axes;
    int64_t in[3], kernel[3], stride[3], dilation[3], pads[3][2];
    bool ceil_mode;
} window;

static eg_status read_three(const eg_onnx_call *c, const char *name, int axes, int64_t *to, int64_t otherwise)
{
    int n;
    const int64_t *list = eg_onnx_ints(c, name, &n);
    if (list && n != axes) {
        return eg_failf(EG_EINVAL, eg__onnx_op_name, "%s has %d numbers for %d axes", name, n, axes);
    }
    for (int i = 0; i < axes; i++) {
        to[i] = list ? list[i] : otherwise;
    }
    return EG_OK;
}

/* Products of two such numbers are i64. */
static bool is_size(int64_t n)
{
    return n >= 1 && n <= INT32_MAX;
}

static bool is_pad(int64_t n)
{
    return n >= -INT32_MAX && n <= INT32_MAX;
}

static int64_t reach(const window *w, int i)
{
    return (w->kernel[i] - 1) * w->dilation[i] + 1;
}

/* "SAME_UPPER" has the odd cell at the end, "SAME_LOWER" in front. */
static void share_out(int64_t total, bool upper, int64_t pads[2])
{
    total = total < 0 ? 0 : total;
    pads[0] = upper ? total / 2 : total - total / 2;
    pads[1] = total - pads[0];
}

/* Strides, dilations and pads; the kernel's sizes are there. */
static eg_status read_window(const eg_onnx_call *c, window *w)
{
    const char *automatic = eg_onnx_text(c, "auto_pad", "NOTSET");
    const bool same = !strncmp(automatic, "SAME", 4);
    int n;
    const int64_t *pads = eg_onnx_ints(c, "pads", &n);
    eg_status st = read_three(c, "strides", w->axes, w->stride, 1);
    st = st ? st : read_three(c, "dilations", w->axes, w->dilation, 1);
    w->ceil_mode = eg_onnx_int(c, "ceil_mode", 0);
    if (st || (pads && n != 2 * w->axes)) {
        return st ? st : eg__onnx_bad(c, "pads does not have two numbers for each axis");
    }
    for (int i = 0; i < w->axes; i++) {
        if (!is_size(w->stride[i]) || !is_size(w->dilation[i]) || !is_size(w->kernel[i])) {
            return eg__onnx_bad(c, "a kernel, stride or dilation is outside of 1..2147483647");
        }
        if (same) {
            const int64_t out = (w->in[i] + w->stride[i] - 1) / w->stride[i];
            share_out((out - 1) * w->stride[i] + reach(w, i) - w->in[i], !strcmp(automatic, "SAME_UPPER"), w->pads[i]);
        } else if (pads && strcmp(automatic, "VALID") != 0) {
            w->pads[i][0] = pads[i];
            w->pads[i][1] = pads[w->axes + i];
        }
        if (!is_pad(w->pads[i][0]) || !is_pad(w->pads[i][1])) {
            return eg__onnx_bad(c, "padding is outside of -2147483647..2147483647");
        }
    }
    return EG_OK;
}

/* The spatial axes of an input [N, C, ...]. */
static eg_status spatial(const eg_onnx_call *c, window *w)
{
    const eg_tensor *x = eg__onnx_in(c, 0);
    *w = (window){.axes = eg_ndim(x) - 2};
    if (w->axes < 1 || w->axes > 3) {
        return eg__onnx_bad(c, "1 to 3 axes behind those of the batch and the channels are possible");
    }
    for (int i = 0; i < w->axes; i++) {
        w->in[i] = eg_size(x, i + 2);
        if (w->in[i] > INT32_MAX) {
            return eg__onnx_bad(c, "an axis of more than 2147483647");
        }
    }
    return EG_OK;
}

/* ---- convolutions ------------------------------------------------------------------------------------ */

static eg_status conv_window(const eg_onnx_call *c, window *w, eg_conv_options *o)
{
    const eg_tensor *weight = eg__onnx_in(c, 1);
    eg_status st = spatial(c, w);
    if (st || eg_ndim(weight) != w->axes + 2) {
        return st ? st : eg__onnx_bad(c, "the weight does not have as many axes as the input");
    }
    for (int i = 0; i < w->axes; i++) {
        w->kernel[i] = eg_size(weight, i + 2);
    }
    st = read_window(c, w);
    *o = (eg_conv_options){.size = sizeof *o, .groups = eg_onnx_int(c, "group", 1), .activation = c->node->then};
    for (int i = 0; i < w->axes && !st; i++) {
        o->strides[i] = w->stride[i];
        o->dilations[i] = w->dilation[i];
        o->pads[i][0] = w->pads[i][0];
        o->pads[i][1] = w->pads[i][1];
    }
    return st;
}

eg_status eg__onnx_run_conv(eg_onnx_call *c)
{
    static eg_tensor *(*const with[])(eg_tensor * x, eg_tensor * weight, eg_tensor * bias,
                                      const eg_conv_options *o) = {eg_conv1d_with, eg_conv2d_with, eg_conv3d_with};
    window w;
    eg_conv_options o;
    eg_status st = conv_window(c, &w, &o);
    return st ? st : eg__onnx_give(c, with[w.axes - 1](eg__onnx_in(c, 0), eg__onnx_in(c, 1), eg__onnx_in(c, 2), &o));
}

/* Pads from the sizes that are to come out. */
static eg_status pads_from_sizes(const eg_onnx_call *c, window *w, eg_conv_options *o)
{
    int n;
    const int64_t *sizes = eg_onnx_ints(c, "output_shape", &n);
    const char *automatic = eg_onnx_text(c, "auto_pad", "NOTSET");
    const bool same = !strncmp(automatic, "SAME", 4);
    if ((!sizes && !same) || (sizes && n < w->axes)) {
        return sizes ? eg__onnx_bad(c, "output_shape has too few numbers") : EG_OK;
    }
    for (int i = 0; i < w->axes; i++) {
        const int64_t out = sizes ? sizes[n - w->axes + i] : w->in[i] * w->stride[i];
        const int64_t total = w->stride[i] * (w->in[i] - 1) + o->output_padding[i] + reach(w, i) - out;
        share_out(total, !strcmp(automatic, "SAME_UPPER"), o->pads[i]);
        o->output_padding[i] += total < 0 ? -total : 0;
    }
    return EG_OK;
}

eg_status eg__onnx_run_conv_transpose(eg_onnx_call *c)
{
    static eg_tensor *(*const with[])(eg_tensor * x, eg_tensor * weight, eg_tensor * bias, const eg_conv_options *o) = {
        eg_conv_transpose1d_with, eg_conv_transpose2d_with, eg_conv_transpose3d_with};
    window w;
    eg_conv_options o;
    eg_status st = conv_window(c, &w, &o);
    st = st ? st : read_three(c, "output_padding", w.axes, o.output_padding, 0);
    st = st ? st : pads_from_sizes(c, &w, &o);
    return st ? st : eg__onnx_give(c, with[w.axes - 1](eg__onnx_in(c, 0), eg__onnx_in(c, 1), eg__onnx_in(c, 2), &o));
}

/* ---- pools ------------------------------------------------------------------------------------------- */

typedef eg_tensor *pool_fn(eg_tensor *x, const eg_pool_options *o);

/* Returns the number of windows along axis i. In ceil mode there may be one more, which starts before the padding at
 * the end. */
static int64_t windows(const window *w, int i)
{
    const int64_t room = w->in[i] + w->pads[i][0] + w->pads[i][1] - reach(w, i), stride = w->stride[i];
    if (room < 0) {
        return w->ceil_mode && room > -stride && w->in[i] + w->pads[i][0] > 0;
    }
    int64_t n = w->ceil_mode ? (room + stride - 1) / stride + 1 : room / stride + 1;
    n -= w->ceil_mode && (n - 1) * stride >= w->in[i] + w->pads[i][0];
    return n;
}

/* Padding behind an axis that is smaller than its only window; whether there is such a one. */
static bool fit_window(const window *w, eg_pool_options *o)
{
    bool smaller = false;
    for (int i = 0; i < w->axes; i++) {
        const int64_t room = w->in[i] + w->pads[i][0] + w->pads[i][1] - reach(w, i);
        o->pads[i][1] -= room < 0 ? room : 0;
        smaller = smaller || room < 0;
    }
    return smaller;
}

/* The empty result where no window fits; NULL, without words: there are some. */
static eg_tensor *no_windows(const eg_onnx_call *c, const window *w, eg_dtype dtype)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    eg_shape s = eg_shape_of(x);
    bool none = false;
    for (int i = 0; i < w->axes; i++) {
        s.dim[i + 2] = windows(w, i);
        none = none || !s.dim[i + 2];
    }
    return none ? eg_to(eg_zeros(s, dtype), eg_device_of(x)) : NULL;
}

static eg_status pool_window(const eg_onnx_call *c, window *w, eg_pool_options *o)
{
    eg_status st = spatial(c, w);
    st = st ? st : read_three(c, "kernel_shape", w->axes, w->kernel, 0);
    st = st ? st : read_window(c, w);
    *o = (eg_pool_options){.size = sizeof *o, .ceil_mode = w->ceil_mode};
    for (int i = 0; i < w->axes && !st; i++) {
        o->kernels[i] = w->kernel[i];
        o->strides[i] = w->stride[i];
        o->dilations[i] = w->dilation[i];
        o->pads[i][0] = w->pads[i][0];
        o->pads[i][1] = w->pads[i][1];
    }
    return st;
}

/* Places in a plane, row-major, as those of all of x; "storage_order" 1: a plane's are column by column. */
static eg_tensor *places_in_all(const eg_onnx_call *c, const window *w, eg_tensor *places)
{
    const eg_tensor *x = eg__onnx_in(c, 0);
    eg_shape plane = {w->axes, {w->in[0], w->in[1], w->in[2]}}, line = {eg_ndim(x), {1, 1, 1, 1, 1, 1, 1, 1}};
    int64_t cells = 1;
    for (int i = 0; i < w->axes; i++) {
        cells *= w->in[i];
    }
    if (eg_onnx_int(c, "storage_order", 0)) {
        eg_tensor *at = eg_unravel_index(places, plane), *sum = NULL;
        for (int i = w->axes; i-- > 0;) {
            int64_t before = 1;
            for (int k = 0; k < i; k++) {
                before *= w->in[k];
            }
            eg_tensor *part = eg_mul_int(eg_select(at, -1, i), before);
            sum = sum ? eg_add(sum, part) : part;
        }
        places = sum;
    }
    line.dim[0] = eg_size(x, 0);
    line.dim[1] = eg_size(x, 1);
    eg_tensor *planes = eg_arange_int(0, line.dim[0] * line.dim[1], 1, EG_I64);
    planes = eg_mul_int(eg_reshape(eg_to(planes, eg_device_of(x)), line), cells);
    return eg_add(places, planes);
}

eg_status eg__onnx_run_max_pool(eg_onnx_call *c)
{
    static pool_fn *const with[] = {eg_max_pool1d_with, eg_max_pool2d_with, eg_max_pool3d_with};
    window w;
    eg_pool_options o;
    eg_tensor *places = NULL;
    eg_status st = pool_window(c, &w, &o);
    if (st) {
        return st;
    }
    eg_tensor *none = no_windows(c, &w, eg_dtype_of(eg__onnx_in(c, 0)));
    if (none) {
        st = eg__onnx_give(c, none);
        return st ? st : eg_onnx_give(c, 1, no_windows(c, &w, EG_I64));
    }
    fit_window(&w, &o);
    o.indices = c->node->nout > 1 ? &places : NULL;
    st = eg__onnx_give(c, with[w.axes - 1](eg__onnx_in(c, 0), &o));
    return st || !places ? st : eg_onnx_give(c, 1, places_in_all(c, &w, places));
}

/* Sums of the windows on x, of which padding has the value `outside`, and what rounding up reads behind it 0: by a
 * kernel of ones. */
static eg_tensor *window_sums(eg_tensor *x, const window *w, double outside)
{
    static eg_tensor *(*const conv[])(eg_tensor * x, eg_tensor * weight, eg_tensor * bias,
                                      const eg_conv_options *o) = {eg_conv1d_with, eg_conv2d_with, eg_conv3d_with};
    eg_shape ones = {w->axes + 2, {1, 1}}, plane = {w->axes + 2, {-1, 1}}, out = eg_shape_of(x);
    eg_pad_options pads = {.size = sizeof pads, .value = outside}, more = {.size = sizeof more};
    eg_conv_options o = {.size = sizeof o};
    for (int i = 0; i < w->axes; i++) {
        const int64_t room = w->in[i] + w->pads[i][0] + w->pads[i][1] - reach(w, i), n = windows(w, i);
        const int64_t behind = (n - 1) * w->stride[i] - room;
        ones.dim[i + 2] = w->kernel[i];
        plane.dim[i + 2] = w->in[i];
        pads.before[i + 2] = w->pads[i][0];
        pads.after[i + 2] = w->pads[i][1];
        more.after[i + 2] = behind > 0 ? behind : 0;
        out.dim[i + 2] = n;
        o.strides[i] = w->stride[i];
        o.dilations[i] = w->dilation[i];
    }
    eg_tensor *kernel = eg_to(eg_ones(ones, eg_dtype_of(x)), eg_device_of(x));
    eg_tensor *padded = eg_pad_with(eg_pad_with(eg_reshape(x, plane), &pads), &more);
    return eg_reshape(conv[w->axes - 1](padded, kernel, NULL, &o), out);
}

/* With gaps between its cells a mean is a sum over a count of the same making. */
static eg_tensor *dilated_mean(eg_tensor *x, const window *w, bool with_pads)
{
    eg_tensor *wide = eg__onnx_wide(x);
    eg_shape one = eg_shape_of(x);
    one.dim[0] = one.dim[1] = 1;
    eg_tensor *cells = eg_to(eg_ones(one, eg_dtype_of(wide)), eg_device_of(x));
    return eg_cast(eg_div(window_sums(wide, w, 0), window_sums(cells, w, with_pads)), eg_dtype_of(x));
}

eg_status eg__onnx_run_average_pool(eg_onnx_call *c)
{
    static pool_fn *const with[] = {eg_avg_pool1d_with, eg_avg_pool2d_with, eg_avg_pool3d_with};
    window w;
    eg_pool_options o;
    const bool with_pads = eg_onnx_int(c, "count_include_pad", 0);
    eg_status st = pool_window(c, &w, &o);
    if (st) {
        return st;
    }
    eg_tensor *x = eg__onnx_in(c, 0), *none = no_windows(c, &w, eg_dtype_of(x));
    if (none) {
        return eg__onnx_give(c, none);
    }
    bool composed = fit_window(&w, &o) && with_pads;
    for (int i = 0; i < w.axes; i++) {
        composed = composed || w.dilation[i] != 1;
        o.dilations[i] = 0;
    }
    o.exclude_pad = !with_pads;
    return eg__onnx_give(c, composed ? dilated_mean(x, &w, with_pads) : with[w.axes - 1](x, &o));
}

/* (sum |x|^p)^(1/p) */
eg_status eg__onnx_run_lp_pool(eg_onnx_call *c)
{
    window w;
    eg_pool_options o;
    const double p = c->node->version < 2 ? eg_onnx_float(c, "p", 2) : (double)eg_onnx_int(c, "p", 2);
    eg_status st = pool_window(c, &w, &o);
    if (st) {
        return st;
    }
    eg_tensor *none = no_windows(c, &w, eg_dtype_of(eg__onnx_in(c, 0)));
    if (none) {
        return eg__onnx_give(c, none);
    }
    eg_tensor *x = eg__onnx_in(c, 0), *powers = eg_pow_scalar(eg_abs(eg__onnx_wide(x)), p);
    return powers ? eg__onnx_give(c, eg_cast(eg_pow_scalar(window_sums(powers, &w, 0), 1 / p), eg_dtype_of(x)))
                  : eg__onnx_why();
}

/* ---- of all of a plane -------------------------------------------------------------------------------- */

static eg_axes plane_of(const eg_tensor *x)
{
    eg_axes axes = {.count = 0};
    for (int i = 2; i < eg_ndim(x); i++) {
        axes.axis[axes.count++] = i;
    }
    return axes;
}

eg_status eg__onnx_run_global_average_pool(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    const eg_axes axes = plane_of(x);
    return eg__onnx_give(c, axes.count ? eg_mean(x, .axes = axes, .keepdim = true) : x);
}

eg_status eg__onnx_run_global_max_pool(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    const eg_axes axes = plane_of(x);
    return eg__onnx_give(c, axes.count ? eg_max(x, .axes = axes, .keepdim = true) : x);
}

eg_status eg__onnx_run_global_lp_pool(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    const double p = c->node->version < 2 ? eg_onnx_float(c, "p", 2) : (double)eg_onnx_int(c, "p", 2);
    const eg_axes axes = plane_of(x);
    eg_tensor *wide = eg__onnx_wide(x);
    wide = axes.count ? eg_norm(wide, .axes = axes, .keepdim = true, .p = p) : eg_abs(wide);
    return eg__onnx_give(c, eg_cast(wide, eg_dtype_of(x)));
}

/* Zeros of the sizes that the pool had read, or of those given, with the elements at their places in all of it. */
eg_status eg__onnx_run_max_unpool(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0), *places = eg__onnx_in(c, 1);
    window w;
    eg_status st = spatial(c, &w);
    st = st ? st : read_three(c, "kernel_shape", w.axes, w.kernel, 0);
    st = st ? st : read_window(c, &w);
    if (st) {
        return st;
    }
    eg_shape full = eg_shape_of(x), wanted = {.ndim = eg__onnx_numbers(c, 2, wanted.dim, EG_MAX_DIMS)};
    int64_t cells = full.dim[0];
    bool fits = !__builtin_mul_overflow(cells, full.dim[1], &cells);
    for (int i = 0; i < w.axes; i++) {
        full.dim[i + 2] = (w.in[i] - 1) * w.stride[i] + w.kernel[i] - w.pads[i][0] - w.pads[i][1];
        fits = fits && full.dim[i + 2] >= 0 && !__builtin_mul_overflow(cells, full.dim[i + 2], &cells);
    }
    if (wanted.ndim < 0 || !fits) {
        return wanted.ndim < 0 ? eg__onnx_why() : eg__onnx_bad(c, "the result would have a size below 0 or too large");
    }
    eg_tensor *flat = eg_to(eg_zeros(EG_SHAPE(cells), eg_dtype_of(x)), eg_device_of(x));
    places = eg__onnx_not_negative(eg_reshape(places, EG_SHAPE(-1)), cells);
    flat = eg_scatter(flat, 0, places, eg_reshape(x, EG_SHAPE(-1)));
    eg_tensor *y = eg_reshape(flat, full);
    if (wanted.ndim == full.ndim) {
        eg_pad_options more = {.size = sizeof more};
        for (int i = 0; i < full.ndim; i++) {
            more.after[i] = wanted.dim[i] - full.dim[i];
        }
        y = eg_pad_with(y, &more);
    }
    return eg__onnx_give(c, y);
}
