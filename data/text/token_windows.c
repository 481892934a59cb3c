/* token_windows.c - a text read in parts, window by window. */
#include <egret/data.h>

#include "data/chain/dataset.h"
#include "data/text/text.h"
#include "lib/core/device.h"

/* Columns from..from + windows steps of parts [rows, columns]: [windows, steps, rows], or [windows, rows, steps]. */
static eg_tensor *cut(eg_tensor *parts, int64_t from, int64_t windows, int64_t steps, bool rows_first)
{
    eg_tensor *all = eg_slice(parts, 1, from, from + windows * steps, 1);
    all = all ? eg_reshape(all, EG_SHAPE(parts->shape[0], windows, steps)) : NULL;
    return eg_contiguous(rows_first ? eg_permute(all, EG_AXES(1, 0, 2)) : eg_permute(all, EG_AXES(1, 2, 0)));
}

static eg_dataset *windows_of(eg_tensor *parts, int64_t from, int64_t windows, int64_t steps, bool rows_first)
{
    eg_tensor *x = cut(parts, from, windows, steps, rows_first), *y = cut(parts, from + 1, windows, steps, rows_first);
    return x && y ? eg_dataset_from_tensors((eg_tensor *[]){x, y}, 2) : NULL;
}

static eg_dataset *make(eg_tensor *ids, int64_t rows, int64_t columns, int64_t steps, const eg_token_windows_options *o)
{
    const int64_t whole = (columns - 1) / steps, rest = (columns - 1) % steps;
    const int64_t first = o->rank * rows * columns;
    eg_tensor *parts = eg_slice(eg_detach(ids), 0, first, first + rows * columns, 1);
    parts = eg_reshape(parts, EG_SHAPE(rows, columns));
    eg_dataset *d = parts && whole ? windows_of(parts, 0, whole, steps, o->rows_first) : NULL;
    if (!parts || !o->last || !rest || (whole && !d)) {
        return d;
    }
    eg_dataset *end = windows_of(parts, whole * steps, 1, rest, o->rows_first);
    return whole ? eg_dataset_concat((eg_dataset *[]){d, end}, 2) : end;
}

eg_dataset *eg_token_windows_new_with(eg_tensor *ids, int64_t rows, int64_t steps,
                                      const eg_token_windows_options *options)
{
    static const char op[] = "eg_token_windows_new";
    eg_token_windows_options o;
    eg__options(&o, sizeof o, options);
    if (eg__check(ids, op, "ids")) {
        return NULL;
    }
    if (ids->ndim != 1 || eg__is_float(ids->dtype)) {
        return eg__fail_null(EG_ESHAPE, op, "ids are %s %s, must be integers [n]", eg_dtype_name((eg_dtype)ids->dtype),
                             EG__SHAPE_OF(ids));
    }
    o.ranks = o.ranks ? o.ranks : 1;
    if (o.rank < 0 || o.rank >= o.ranks) {
        return eg__fail_null(EG_EINVAL, op, "rank %d of %d", o.rank, o.ranks);
    }
    const int64_t columns = rows > 0 ? ids->n / (rows * o.ranks) : 0;
    if (steps < 1 || columns < 2 || (!o.last && columns <= steps)) {
        return eg__fail_null(EG_EINVAL, op, "a text of %lld words is too short for %lld rows of %lld and one more",
                             (long long)ids->n, (long long)rows, (long long)steps);
    }
    eg_scope scope = eg_scope_push();
    eg_dataset *d = scope.depth ? make(ids, rows, columns, steps, &o) : NULL;
    eg_scope_pop(scope, NULL);
    if (d) {
        d->is_dealt = o.ranks > 1;
    }
    return d;
}
