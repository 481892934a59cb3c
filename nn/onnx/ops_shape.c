/* ops_shape.c - the same elements in other shapes, parts and joins. */
#include <string.h>

#include <egret/device.h>

#include "nn/onnx/ops.h"

static eg_status give_numbers(eg_onnx_call *c, const int64_t *numbers, int n)
{
    return eg__onnx_give(c, eg_to(eg_from(EG_SHAPE(n), EG_I64, numbers), eg_cpu()));
}

eg_status eg__onnx_run_shape(eg_onnx_call *c)
{
    const eg_shape s = eg_shape_of(eg__onnx_in(c, 0));
    int64_t first = eg_onnx_int(c, "start", 0), end = eg_onnx_int(c, "end", s.ndim);
    first = first < 0 ? first + s.ndim : first;
    end = end < 0 ? end + s.ndim : end;
    first = first < 0 ? 0 : first;
    end = end > s.ndim ? s.ndim : end;
    return give_numbers(c, s.dim + (first < end ? first : 0), first < end ? (int)(end - first) : 0);
}

eg_status eg__onnx_run_size(eg_onnx_call *c)
{
    const int64_t n = eg_numel(eg__onnx_in(c, 0));
    return eg__onnx_give(c, eg_to(eg_from(EG_SCALAR, EG_I64, &n), eg_cpu()));
}

/* 0 keeps an axis of the input, unless .allowzero. */
eg_status eg__onnx_run_reshape(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    eg_shape s = {.ndim = eg__onnx_list(c, "shape", 1, s.dim, EG_MAX_DIMS)};
    if (s.ndim < 0) {
        return eg__onnx_why();
    }
    for (int i = 0; i < s.ndim && !eg_onnx_int(c, "allowzero", 0); i++) {
        s.dim[i] = s.dim[i] || i >= eg_ndim(x) ? s.dim[i] : eg_size(x, i);
    }
    return eg__onnx_give(c, eg_reshape(x, s));
}

eg_status eg__onnx_run_flatten(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    const int ndim = eg_ndim(x);
    const int64_t given = eg_onnx_int(c, "axis", 1), axis = given < 0 ? given + ndim : given;
    if (axis < 0 || axis > ndim) {
        return eg__onnx_bad(c, "axis is outside of the tensor's");
    }
    int64_t rows = 1, columns = 1;
    for (int i = 0; i < ndim; i++) {
        *(i < axis ? &rows : &columns) *= eg_size(x, i);
    }
    return eg__onnx_give(c, eg_reshape(x, EG_SHAPE(rows, columns)));
}

eg_status eg__onnx_run_transpose(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    int count;
    const int64_t *perm = eg_onnx_ints(c, "perm", &count);
    eg_axes axes = {.count = eg_ndim(x)};
    if (perm && count != axes.count) {
        return eg__onnx_bad(c, "perm does not have the tensor's axes");
    }
    if (perm && eg__onnx_axes(perm, count, eg_ndim(x), &axes)) {
        return eg__onnx_why();
    }
    for (int i = 0; i < axes.count && !perm; i++) {
        axes.axis[i] = axes.count - 1 - i;
    }
    return eg__onnx_give(c, axes.count ? eg_permute(x, axes) : x);
}

eg_status eg__onnx_run_squeeze(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    int64_t list[EG_MAX_DIMS];
    eg_axes axes;
    const int n = eg__onnx_list(c, "axes", 1, list, EG_MAX_DIMS);
    if (n < 0 || eg__onnx_axes(list, n, eg_ndim(x), &axes)) {
        return eg__onnx_why();
    }
    for (int i = 0; i < axes.count; i++) {
        if (eg_size(x, axes.axis[i]) != 1) {
            return eg_failf(EG_ESHAPE, eg__onnx_op_name, "axis %d, which is to go, has size %lld, must be 1",
                            axes.axis[i], (long long)eg_size(x, axes.axis[i]));
        }
    }
    return eg__onnx_give(c, eg_squeeze(x, axes));
}

eg_status eg__onnx_run_unsqueeze(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    int64_t list[EG_MAX_DIMS];
    eg_axes axes;
    if (c->node->version < 13 && !eg__onnx_attribute_of(c, "axes", EG__ONNX_INTS)) {
        return eg__onnx_bad(c, "there are no axes");
    }
    const int n = eg__onnx_list(c, "axes", 1, list, EG_MAX_DIMS), ndim = eg_ndim(x) + n;
    if (n < 0 || eg__onnx_check_rank(ndim) || eg__onnx_axes(list, n, ndim, &axes)) {
        return eg__onnx_why();
    }
    unsigned added = 0;
    for (int i = 0; i < n; i++) {
        added |= 1u << axes.axis[i];
    }
    eg_shape s = {.ndim = ndim};
    for (int i = 0, k = 0; i < ndim; i++) {
        s.dim[i] = added >> i & 1 ? 1 : eg_size(x, k++);
    }
    return eg__onnx_give(c, eg_reshape(x, s));
}

/* To the shape that both are broadcast to. */
eg_status eg__onnx_run_expand(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    int64_t list[EG_MAX_DIMS];
    const int n = eg__onnx_numbers(c, 1, list, EG_MAX_DIMS), own = eg_ndim(x);
    if (n < 0) {
        return eg__onnx_why();
    }
    eg_shape s = {.ndim = n > own ? n : own};
    for (int i = 0; i < s.ndim; i++) {
        const int64_t a = i < s.ndim - own ? 1 : eg_size(x, i - (s.ndim - own));
        const int64_t b = i < s.ndim - n ? 1 : list[i - (s.ndim - n)];
        s.dim[i] = b == 1 ? a : b;
    }
    return eg__onnx_give(c, eg_expand(x, s));
}

eg_status eg__onnx_run_tile(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    eg_shape counts = {.ndim = eg_ndim(x)};
    int64_t list[EG_MAX_DIMS];
    if (c->node->version < 6) { /* so many times along one axis */
        const int axis = eg__onnx_numbers(c, 2, list, EG_MAX_DIMS) == 1 ? eg__onnx_axis(list[0], counts.ndim) : -1;
        for (int i = 0; i < counts.ndim; i++) {
            counts.dim[i] = i == axis ? eg__onnx_integer(c, 1, 1) : 1;
        }
        return axis < 0 ? eg__onnx_bad(c, "axis is outside of the tensor's") : eg__onnx_give(c, eg_tile(x, counts));
    }
    if (eg__onnx_numbers(c, 1, counts.dim, EG_MAX_DIMS) != counts.ndim) {
        return eg__onnx_bad(c, "repeats does not have a number for each axis");
    }
    return eg__onnx_give(c, counts.ndim ? eg_tile(x, counts) : x);
}

/* So many at once; of more the joins are joined. */
eg_status eg__onnx_run_concat(eg_onnx_call *c)
{
    enum { AT_ONCE = 64 };
    eg_tensor *part[AT_ONCE];
    const int axis = eg__onnx_axis(eg_onnx_int(c, "axis", 1), eg_ndim(eg__onnx_in(c, 0))); /* left out: before 4 */
    int n = 0;
    if (axis < 0) {
        return eg__onnx_why();
    }
    for (int i = 0; i < c->node->nin; i++) {
        if (n == AT_ONCE) {
            part[0] = eg_concat(part, n, axis);
            n = 1;
        }
        part[n++] = eg__onnx_in(c, i);
    }
    return eg__onnx_give(c, n == 1 ? part[0] : eg_concat(part, n, axis));
}

eg_status eg__onnx_run_split(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0), *out[EG__ONNX_MOST_OUT] = {0};
    int64_t sizes[EG__ONNX_MOST_OUT];
    const int axis = eg__onnx_axis(eg_onnx_int(c, "axis", 0), eg_ndim(x)), parts = c->node->nout;
    int n = axis < 0 ? -1 : eg__onnx_list(c, "split", 1, sizes, EG__ONNX_MOST_OUT);
    if (n < 0) {
        return eg__onnx_why();
    }
    if (!n) { /* equal ones, the last may be smaller */
        const int64_t all = eg_size(x, axis);
        n = (int)eg_onnx_int(c, "num_outputs", parts);
        if (n < 1 || n > EG__ONNX_MOST_OUT) {
            return eg__onnx_bad(c, "num_outputs is outside of 1..64");
        }
        const int64_t size = (all + n - 1) / n;
        for (int i = 0; i < n; i++) {
            const int64_t left = all - i * size;
            sizes[i] = left < 0 ? 0 : left < size ? left : size;
        }
    }
    eg_status st = eg_split(x, sizes, n, axis, out);
    for (int i = 0; i < n && i < parts && !st; i++) {
        st = eg_onnx_give(c, i, out[i]);
    }
    return st;
}

/* NumPy's rule, in which the last integer is a position behind the axis as any other; but backwards a start before the
 * first element is that one. */
static eg_tensor *sliced(eg_tensor *x, int axis, int64_t start, int64_t end, int64_t step)
{
    const int64_t behind = EG_END - 1;
    start = step < 0 && start < -eg_size(x, axis) ? 0 : start;
    return eg_slice(x, axis, start < behind ? start : behind, end < behind ? end : behind,
                    step > -INT64_MAX ? step : -INT64_MAX);
}

eg_status eg__onnx_run_slice(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    int64_t starts[EG_MAX_DIMS], ends[EG_MAX_DIMS], axes[EG_MAX_DIMS], steps[EG_MAX_DIMS];
    const int n = eg__onnx_list(c, "starts", 1, starts, EG_MAX_DIMS),
              m = eg__onnx_list(c, "ends", 2, ends, EG_MAX_DIMS);
    const int naxes = eg__onnx_list(c, "axes", 3, axes, EG_MAX_DIMS),
              nsteps = eg__onnx_numbers(c, 4, steps, EG_MAX_DIMS);
    if (n < 0 || m < 0 || naxes < 0 || nsteps < 0) {
        return eg__onnx_why();
    }
    if (c->node->version < 10 && !eg__onnx_attribute_of(c, "starts", EG__ONNX_INTS)) {
        return eg__onnx_bad(c, "there are no starts");
    }
    if (n != m || (naxes && naxes != n) || (nsteps && nsteps != n)) {
        return eg__onnx_bad(c, "starts, ends, axes and steps have different counts");
    }
    for (int i = naxes; i < n; i++) { /* axes left out: the first ones */
        axes[i] = i;
    }
    eg_axes along;
    eg_status st = eg__onnx_axes(axes, n, eg_ndim(x), &along);
    for (int i = 0; i < n && !st; i++) {
        x = sliced(x, along.axis[i], starts[i], ends[i], nsteps ? steps[i] : 1);
        st = x ? EG_OK : eg__onnx_why();
    }
    return st ? st : eg__onnx_give(c, x);
}

static eg_status pads_of(const eg_onnx_call *c, eg_pad_options *o, int ndim)
{
    int64_t pads[2 * EG_MAX_DIMS], axes[EG_MAX_DIMS];
    const char *older = c->node->version < 2 ? "paddings" : "pads";
    const int n = eg__onnx_list(c, older, 1, pads, 2 * EG_MAX_DIMS), naxes = eg__onnx_numbers(c, 3, axes, EG_MAX_DIMS);
    const bool all = !eg__onnx_in(c, 3);
    const int count = all ? ndim : naxes;
    if (n < 0 || naxes < 0) {
        return eg__onnx_why();
    }
    if (n != 2 * count) {
        return eg__onnx_bad(c, "pads does not have two numbers for each axis");
    }
    for (int i = 0; i < count && all; i++) {
        axes[i] = i;
    }
    eg_axes named;
    eg_status st = eg__onnx_axes(axes, count, ndim, &named);
    for (int i = 0; i < count && !st; i++) {
        o->before[named.axis[i]] = pads[i];
        o->after[named.axis[i]] = pads[count + i];
    }
    return st;
}

/* With an integer that need not be a double. */
static eg_tensor *padded_with(eg_tensor *x, const eg_pad_options *o, int64_t value)
{
    eg_pad_options zeros = *o;
    zeros.value = 0;
    eg_tensor *own = eg_pad_with(eg_cast(eg_ones_like(x), EG_BOOL), &zeros);
    return eg_where(own, eg_pad_with(x, &zeros), eg_to(eg_scalar_int(value, eg_dtype_of(x)), eg_device_of(x)));
}

eg_status eg__onnx_run_pad(eg_onnx_call *c)
{
    static const struct {
        const char *name;
        eg_pad_mode mode;
    } modes[] = {{"constant", EG_PAD_CONSTANT},
                 {"reflect", EG_PAD_REFLECT},
                 {"edge", EG_PAD_REPLICATE},
                 {"wrap", EG_PAD_CIRCULAR}};
    eg_tensor *x = eg__onnx_in(c, 0);
    const char *mode = eg_onnx_text(c, "mode", "constant");
    eg_pad_options o = {.size = sizeof o, .value = eg__onnx_number(c, 2, eg_onnx_float(c, "value", 0))};
    eg_status st = pads_of(c, &o, eg_ndim(x));
    int k = 0;
    while (k < EG__COUNT(modes) && strcmp(mode, modes[k].name)) {
        k++;
    }
    if (st || k == EG__COUNT(modes)) {
        return st ? st : eg_failf(EG_EINVAL, eg__onnx_op_name, "mode \"%.40s\" is not known", mode);
    }
    o.mode = modes[k].mode;
    const int64_t value = eg__onnx_integer(c, 2, 0), exact = (int64_t)1 << 53;
    const bool large = eg_dtype_of(x) == EG_I64 && o.mode == EG_PAD_CONSTANT && (value > exact || value < -exact);
    return eg__onnx_give(c, large ? padded_with(x, &o, value) : eg_pad_with(x, &o));
}
