/* ops_index.c - elements by their places, and places of elements. */
#include <string.h>

#include "nn/onnx/ops.h"

static int axis_of(const eg_onnx_call *c, int64_t otherwise)
{
    return eg__onnx_axis(eg_onnx_int(c, "axis", otherwise), eg_ndim(eg__onnx_in(c, 0)));
}

eg_status eg__onnx_run_gather(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0), *index = eg__onnx_in(c, 1);
    const int axis = axis_of(c, 0);
    if (axis < 0) {
        return eg__onnx_why();
    }
    if (eg_ndim(index) == 1) {
        return eg__onnx_give(c, eg_index_select(x, axis, index));
    }
    if (eg__onnx_check_rank(eg_ndim(x) - 1 + eg_ndim(index))) {
        return eg__onnx_why();
    }
    eg_shape s = {.ndim = 0};
    for (int i = 0; i < axis; i++) {
        s.dim[s.ndim++] = eg_size(x, i);
    }
    for (int i = 0; i < eg_ndim(index); i++) {
        s.dim[s.ndim++] = eg_size(index, i);
    }
    for (int i = axis + 1; i < eg_ndim(x); i++) {
        s.dim[s.ndim++] = eg_size(x, i);
    }
    return eg__onnx_give(c, eg_reshape(eg_index_select(x, axis, eg_reshape(index, EG_SHAPE(-1))), s));
}

eg_status eg__onnx_run_gather_elements(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    const int axis = axis_of(c, 0);
    return axis < 0 ? eg__onnx_why() : eg__onnx_give(c, eg_gather(x, axis, eg__onnx_in(c, 1)));
}

eg_status eg__onnx_run_gather_nd(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0), *index = eg_cast(eg__onnx_in(c, 1), EG_I64);
    const int64_t batch = eg_onnx_int(c, "batch_dims", 0), k = eg_size(index, -1);
    if (batch < 0 || batch >= eg_ndim(index) || batch + k > eg_ndim(x)) {
        return eg__onnx_bad(c, "indices have more parts than the tensor axes");
    }
    for (int axis = (int)batch; axis-- > 0;) { /* the place along each axis they share comes in front */
        eg_shape s = eg_shape_of(index);
        eg_shape line = {s.ndim, {1, 1, 1, 1, 1, 1, 1, 1}};
        line.dim[axis] = s.dim[axis];
        s.dim[s.ndim - 1] = 1;
        eg_tensor *place = eg_reshape(eg_arange_int(0, s.dim[axis], 1, EG_I64), line);
        eg_tensor *both[] = {eg_expand(eg_to(place, eg_device_of(index)), s), index};
        index = eg_concat(both, 2, -1);
    }
    return eg__onnx_give(c, eg_gather_nd(x, index));
}

/* Which way elements that meet are joined; false: an unknown one. */
static bool reduction(const eg_onnx_call *c, const char **name)
{
    *name = eg_onnx_text(c, "reduction", "none");
    return !strcmp(*name, "none") || !strcmp(*name, "add") || !strcmp(*name, "mul") || !strcmp(*name, "max") ||
           !strcmp(*name, "min");
}

static eg_scatter_mode mode_of(const char *name)
{
    return !strcmp(name, "mul") ? EG_SCATTER_MUL : !strcmp(name, "max") ? EG_SCATTER_MAX : EG_SCATTER_MIN;
}

eg_status eg__onnx_run_scatter_elements(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0), *updates = eg__onnx_in(c, 2);
    const char *how;
    const int axis = axis_of(c, 0);
    if (axis < 0 || !reduction(c, &how)) {
        return axis < 0 ? eg__onnx_why() : eg__onnx_bad(c, "reduction is none that is known");
    }
    eg_tensor *index = eg__onnx_in(c, 1);
    return eg__onnx_give(c, !strcmp(how, "none")  ? eg_scatter(x, axis, index, updates)
                            : !strcmp(how, "add") ? eg_scatter_add(x, axis, index, updates)
                                                  : eg_scatter_reduce(x, axis, index, updates, mode_of(how)));
}

eg_status eg__onnx_run_scatter_nd(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0), *index = eg_cast(eg__onnx_in(c, 1), EG_I64), *updates = eg__onnx_in(c, 2);
    const char *how;
    const int k = (int)eg_size(index, -1);
    if (k > eg_ndim(x) || !reduction(c, &how)) {
        return eg__onnx_bad(c, "indices have more parts than the tensor axes, or reduction is none that is known");
    }
    if (!strcmp(how, "none")) {
        return eg__onnx_give(c, eg_scatter_nd_copy(x, index, updates));
    }
    if (!strcmp(how, "add")) {
        return eg__onnx_give(c, eg_scatter_nd_add(x, index, updates));
    }
    /* As rows of a table whose first axis is all that the indices name. */
    eg_shape front = {.ndim = k}, rows = eg_shape_of(x);
    int64_t count = 1, width = 1;
    for (int i = 0; i < rows.ndim; i++) {
        *(i < k ? &count : &width) *= rows.dim[i];
        front.dim[i] = rows.dim[i];
    }
    eg_tensor *row = eg_reshape(eg_ravel_index(index, front), EG_SHAPE(-1, 1));
    row = eg_expand(row, EG_SHAPE(eg_size(row, 0), width));
    eg_tensor *table = eg_reshape(x, EG_SHAPE(count, width)), *given = eg_reshape(updates, EG_SHAPE(-1, width));
    return eg__onnx_give(c, eg_reshape(eg_scatter_reduce(table, 0, row, given, mode_of(how)), rows));
}

/* Pieces of a cache [n, ..., most, ...], those of each image from its place along "axis" on. */
eg_status eg__onnx_run_tensor_scatter(eg_onnx_call *c)
{
    static const char *const modes[] = {"linear", "circular"};
    eg_tensor *cache = eg__onnx_in(c, 0), *update = eg__onnx_in(c, 1), *from = eg__onnx_in(c, 2);
    const int axis = axis_of(c, -2), mode = eg__onnx_choice(c, "mode", modes, EG__COUNT(modes), 0);
    eg_shape fits = eg_shape_of(cache), line = {eg_ndim(cache), {1, 1, 1, 1, 1, 1, 1, 1}}, first = line;
    const eg_shape given = eg_shape_of(update);
    if (axis < 0 || mode < 0) {
        return eg__onnx_why();
    }
    const int64_t most = fits.dim[axis], steps = given.ndim == fits.ndim ? given.dim[axis] : -1;
    fits.dim[axis] = steps;
    if (axis == 0 || steps > most || given.ndim != fits.ndim ||
        memcmp(given.dim, fits.dim, (size_t)fits.ndim * sizeof *fits.dim)) {
        return eg__onnx_bad(c, "axis is 0, or the update is longer than the cache along it or of another shape");
    }
    if (from && (eg_ndim(from) != 1 || eg_size(from, 0) != fits.dim[0])) {
        return eg__onnx_bad(c, "write_indices are not one for each image of the batch");
    }
    line.dim[axis] = steps;
    first.dim[0] = fits.dim[0];
    eg_tensor *place = eg_to(eg_reshape(eg_arange_int(0, steps, 1, EG_I64), line), eg_device_of(cache));
    place = from ? eg_add(place, eg_reshape(eg_cast(from, EG_I64), first)) : place;
    place = mode && most ? eg_remainder_int(place, most) : eg__onnx_not_negative(place, most);
    return eg__onnx_give(c, eg_scatter(cache, axis, eg_expand(place, fits), update));
}

eg_status eg__onnx_run_compress(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0), *places = eg_nonzero(eg__onnx_in(c, 1));
    int axis = 0;
    if (eg__onnx_attribute_of(c, "axis", EG__ONNX_INT)) {
        axis = axis_of(c, 0);
    } else {
        x = eg_reshape(x, EG_SHAPE(-1));
    }
    places = eg_to(eg_reshape(places, EG_SHAPE(-1)), eg_device_of(x));
    return axis < 0 ? eg__onnx_why() : eg__onnx_give(c, eg_index_select(x, axis, places));
}

/* [axes, elements] */
eg_status eg__onnx_run_nonzero(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    return eg__onnx_give(c, eg_transpose(eg_nonzero(eg_ndim(x) ? x : eg_reshape(x, EG_SHAPE(1))), 0, 1));
}

/* Sums up to each element; "exclusive": before it; "reverse": from the other end. */
static eg_status running(eg_onnx_call *c, eg_tensor *(*f)(eg_tensor *x, int axis), double first)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    const int axis = eg__onnx_axis(eg__onnx_integer(c, 1, 0), eg_ndim(x));
    const bool reverse = eg_onnx_int(c, "reverse", 0);
    const eg_dtype dtype = eg_dtype_of(x);
    if (axis < 0) {
        return eg__onnx_why();
    }
    x = reverse ? eg_flip(x, EG_AXES(axis)) : x;
    if (eg_onnx_int(c, "exclusive", 0) && eg_size(x, axis)) {
        eg_pad_options o = {.size = sizeof o, .value = first};
        o.before[axis] = 1;
        o.after[axis] = -1;
        x = eg_pad_with(x, &o);
    }
    x = eg_cast(f(x, axis), dtype);
    return eg__onnx_give(c, reverse ? eg_flip(x, EG_AXES(axis)) : x);
}

eg_status eg__onnx_run_cumsum(eg_onnx_call *c)
{
    return running(c, eg_cumsum, 0);
}

eg_status eg__onnx_run_cumprod(eg_onnx_call *c)
{
    return running(c, eg_cumprod, 1);
}

/* "DCR": the places of a block are the slow part of the channels; "CRD": the fast one, as PyTorch has it. */
eg_status eg__onnx_run_depth_to_space(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    const int64_t b = eg_onnx_int(c, "blocksize", 0);
    const bool slow = strcmp(eg_onnx_text(c, "mode", "DCR"), "CRD") != 0;
    return eg__onnx_give(c, slow ? eg_depth_to_space(x, b) : eg_pixel_shuffle(x, b));
}

eg_status eg__onnx_run_space_to_depth(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    const int64_t b = eg_onnx_int(c, "blocksize", 0);
    const bool slow = strcmp(eg_onnx_text(c, "mode", "DCR"), "CRD") != 0;
    return eg__onnx_give(c, slow ? eg_space_to_depth(x, b) : eg_pixel_unshuffle(x, b));
}

/* The first `length` elements of each sequence the other way round. */
eg_status eg__onnx_run_reverse_sequence(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0), *lengths = eg_cast(eg__onnx_in(c, 1), EG_I64);
    const int64_t batch = eg_onnx_int(c, "batch_axis", 1), time = eg_onnx_int(c, "time_axis", 0);
    if (eg_ndim(x) < 2 || batch < 0 || batch > 1 || time != 1 - batch || eg_numel(lengths) != eg_size(x, (int)batch)) {
        return eg__onnx_bad(c, "batch_axis and time_axis are not 0 and 1, or sequence_lens not one for each");
    }
    const int64_t steps = eg_size(x, (int)time);
    eg_shape along = {eg_ndim(x), {1, 1, 1, 1, 1, 1, 1, 1}}, across = along;
    along.dim[time] = steps;
    across.dim[batch] = eg_size(x, (int)batch);
    eg_device *device = eg_device_of(x);
    eg_tensor *t = eg_to(eg_reshape(eg_arange_int(0, steps, 1, EG_I64), along), device);
    eg_tensor *n = eg_to(eg_reshape(lengths, across), device);
    eg_tensor *from = eg_where(eg_lt(t, n), eg_sub_int(eg_sub(n, t), 1), t);
    return eg__onnx_give(c, eg_gather(x, (int)time, eg_expand(from, eg_shape_of(x))));
}

eg_status eg__onnx_run_top_k(eg_onnx_call *c)
{
    eg_tensor *values = NULL, *indices = NULL;
    const int axis = axis_of(c, -1);
    if (c->node->version < 10 && !eg__onnx_attribute_of(c, "k", EG__ONNX_INT)) {
        return eg__onnx_bad(c, "there is no k");
    }
    const int64_t k = c->node->version < 10 ? eg_onnx_int(c, "k", 0) : eg__onnx_integer(c, 1, 0);
    eg_status st = axis < 0 ? eg__onnx_why()
                            : eg_topk(eg__onnx_in(c, 0), k, axis, eg_onnx_int(c, "largest", 1), &values, &indices);
    st = st ? st : eg_onnx_give(c, 0, values);
    return st ? st : eg_onnx_give(c, 1, indices);
}

eg_status eg__onnx_run_trilu(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0);
    const int64_t k = eg__onnx_integer(c, 1, 0);
    return eg__onnx_give(c, eg_onnx_int(c, "upper", 1) ? eg_triu(x, k) : eg_tril(x, k));
}

/* Where each of the different elements is first: the least place of those that are it. */
static eg_tensor *first_places(eg_tensor *inverse, int64_t count)
{
    const int64_t n = eg_numel(inverse);
    eg_tensor *flat = eg_reshape(inverse, EG_SHAPE(n));
    eg_tensor *place = eg_to(eg_arange_int(0, n, 1, EG_I64), eg_device_of(inverse));
    eg_tensor *behind = eg_to(eg_full_int(EG_SHAPE(count), n, EG_I64), eg_device_of(inverse));
    return eg_scatter_reduce(behind, 0, flat, place, EG_SCATTER_MIN);
}

eg_status eg__onnx_run_unique(eg_onnx_call *c)
{
    eg_tensor *x = eg__onnx_in(c, 0), *values = NULL, *inverse = NULL, *counts = NULL;
    const bool whole = !eg__onnx_attribute_of(c, "axis", EG__ONNX_INT);
    const int axis = whole ? 0 : axis_of(c, 0);
    eg_status st = axis < 0 ? eg__onnx_why()
                   : whole  ? eg_unique(eg_reshape(x, EG_SHAPE(-1)), &values, &inverse, &counts)
                            : eg_unique_slices(x, axis, &values, &inverse, &counts);
    if (st) {
        return st;
    }
    eg_tensor *first = first_places(inverse, eg_numel(counts));
    if (!eg_onnx_int(c, "sorted", 1)) { /* in the order in which they come */
        eg_tensor *order = eg_argsort(first, 0, false);
        values = eg_index_select(values, axis, order);
        counts = eg_index_select(counts, 0, order);
        first = eg_index_select(first, 0, order);
        inverse = eg_take(eg_argsort(order, 0, false), inverse);
    }
    st = eg_onnx_give(c, 0, values);
    st = st ? st : eg_onnx_give(c, 1, first);
    st = st ? st : eg_onnx_give(c, 2, eg_reshape(inverse, EG_SHAPE(-1)));
    return st ? st : eg_onnx_give(c, 3, counts);
}
