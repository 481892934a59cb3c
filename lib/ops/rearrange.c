/* rearrange.c - padding, repeating, turning: one kernel, pad; the rest is made of other ops. */
#include "lib/core/device.h"
#include "lib/ops/infer.h"
#include "lib/ops/options.h"

/* ---- padding ------------------------------------------------------------------------------- */

/* Whether axis d may be padded so; sets its new size. */
static eg_status padded_size(const eg_tensor *x, const eg__pad_opts *o, int d, int64_t *size)
{
    int64_t n = x->shape[d], b = o->before[d], a = o->after[d], more = eg__max(b, a);
    if (b < -n || a < -n || (b < 0 && a < 0 && n + b < -a)) {
        return eg__fail(EG_ESHAPE, "pad", "%lld before and %lld after cut more than axis %d of %s has", (long long)b,
                        (long long)a, d, EG__SHAPE_OF(x));
    }
    if (__builtin_add_overflow(n + eg__min(b, 0) + eg__min(a, 0), eg__max(b, 0), size) ||
        __builtin_add_overflow(*size, eg__max(a, 0), size)) {
        return eg__fail(EG_ESHAPE, "pad", "%lld before and %lld after make axis %d of %s too long", (long long)b,
                        (long long)a, d, EG__SHAPE_OF(x));
    }
    if (o->mode == EG_PAD_REFLECT && more > 0 && more >= n) {
        return eg__fail(EG_ESHAPE, "pad", "reflecting %lld at axis %d of %s: must be less than its size",
                        (long long)more, d, EG__SHAPE_OF(x));
    }
    if (o->mode != EG_PAD_CONSTANT && more > 0 && n == 0) {
        return eg__fail(EG_ESHAPE, "pad", "axis %d of %s has nothing to copy", d, EG__SHAPE_OF(x));
    }
    return EG_OK;
}

eg_status eg__infer_pad(eg__call *c)
{
    const eg__pad_opts *o = c->opts;
    const eg_tensor *x = c->in[0];
    eg__desc *d = &c->desc[0];
    d->dtype = x->dtype;
    d->ndim = x->ndim;
    for (int a = 0; a < x->ndim; a++) {
        if (padded_size(x, o, a, &d->shape[a])) {
            return EG_ESHAPE;
        }
    }
    eg__desc_order(d, x);
    return eg__check_shape(c->op->name, d->ndim, d->shape, d->dtype, &d->n);
}

/* x without what negative counts cut, which become 0: the rest of it goes round, not what is gone. */
static eg_tensor *cut(eg_tensor *x, eg__pad_opts *o)
{
    for (int d = 0; d < x->ndim; d++) {
        int64_t ignored;
        if (padded_size(x, o, d, &ignored)) {
            return NULL;
        }
    }
    for (int d = 0, ndim = x->ndim; x && d < ndim; d++) {
        int64_t *before = &o->before[d], *after = &o->after[d];
        if (*before < 0 || *after < 0) {
            x = eg_slice(x, d, eg__max(-*before, 0), x->shape[d] - eg__max(-*after, 0), 1);
            *before = eg__max(*before, 0);
            *after = eg__max(*after, 0);
        }
    }
    return x;
}

eg_tensor *eg_pad_with(eg_tensor *x, const eg_pad_options *options)
{
    eg__pad_opts o = {.mode = options ? (int)options->mode : 0, .value = options ? options->value : 0};
    if (eg__check(x, "pad", "x")) {
        return NULL;
    }
    if ((unsigned)o.mode > EG_PAD_CIRCULAR) {
        return eg__fail_null(EG_EINVAL, "pad", "mode %d is none of the 4 there are", o.mode);
    }
    bool cuts = false;
    for (int d = 0; options && d < EG_MAX_DIMS; d++) {
        o.before[d] = options->before[d];
        o.after[d] = options->after[d];
        cuts |= o.before[d] < 0 || o.after[d] < 0;
        if (d >= x->ndim && (o.before[d] || o.after[d])) {
            return eg__fail_null(EG_ESHAPE, "pad", "counts are given for axis %d of %s", d, EG__SHAPE_OF(x));
        }
    }
    if (!cuts || o.mode != EG_PAD_CIRCULAR) {
        return eg__op1(&eg__op_pad, x, &o);
    }
    eg_scope s = eg_scope_push();
    x = cut(x, &o);
    return eg_scope_pop(s, x ? eg__op1(&eg__op_pad, x, &o) : NULL);
}

/* ---- repeating ----------------------------------------------------------------------------- */

/* Repeats as many axes as a rank of 8 can show at once: each becomes a pair (count, size), and the
 * axes behind it join it. */
static eg_tensor *tile_some(eg_tensor *x, int64_t *count)
{
    eg_shape from = EG_SHAPE(1), to = EG_SHAPE(1), y = eg_shape_of(x);
    for (int d = 0; d < y.ndim; d++) {
        int64_t size = y.dim[d];
        if (count[d] != 1 && from.ndim + 2 <= EG_MAX_DIMS) {
            from.dim[from.ndim++] = 1;
            from.dim[from.ndim++] = size;
            to.dim[to.ndim++] = count[d];
            to.dim[to.ndim++] = size;
            y.dim[d] *= count[d];
            count[d] = 1;
        } else {
            from.dim[from.ndim - 1] *= size;
            to.dim[to.ndim - 1] *= size;
        }
    }
    return eg_reshape(eg_expand(eg_reshape(x, from), to), y);
}

eg_tensor *eg_tile(eg_tensor *x, eg_shape counts)
{
    if (eg__check(x, "tile", "x")) {
        return NULL;
    }
    if (counts.ndim < 0 || counts.ndim > EG_MAX_DIMS) {
        return eg__fail_null(EG_ESHAPE, "tile", "%d counts given, 0..%d are possible", counts.ndim, EG_MAX_DIMS);
    }
    eg_shape s = {.ndim = x->ndim > counts.ndim ? x->ndim : counts.ndim}, full = s;
    int64_t count[EG_MAX_DIMS];
    bool more = false;
    int repeated = 0;
    for (int d = 0; d < s.ndim; d++) {
        int at = d - (s.ndim - x->ndim), k = d - (s.ndim - counts.ndim);
        s.dim[d] = at < 0 ? 1 : x->shape[at];
        count[d] = k < 0 ? 1 : counts.dim[k];
        repeated += count[d] != 1;
        if (count[d] < 0 || __builtin_mul_overflow(s.dim[d], count[d], &full.dim[d])) {
            return eg__fail_null(EG_ESHAPE, "tile", "count %lld for axis %d of %s is %s", (long long)count[d], d,
                                 EG__SHAPE_OF(x), count[d] < 0 ? "negative" : "too large");
        }
    }
    if (eg__check_room("tile", x->device, full.ndim, full.dim, x->dtype)) {
        return NULL;
    }
    /* More axes than one expansion repeats: their gradients are summed one after the other. */
    eg__wide wide = {.dtype = -1};
    if (repeated > EG_MAX_DIMS / 2 - 1 && eg__tracked(eg__thread_get(), x)) {
        wide = EG__WIDE_BEGIN(&x);
    } else {
        wide.scope = eg_scope_push();
    }
    eg_tensor *y = eg_reshape(x, s);
    do {
        y = tile_some(y, count);
        more = false;
        for (int d = 0; d < s.ndim; d++) {
            more |= count[d] != 1;
        }
    } while (y && more);
    return eg__wide_end(wide, y);
}

eg_tensor *eg_repeat_interleave(eg_tensor *x, int64_t count, int axis)
{
    int64_t n;
    eg_shape s = eg_shape_of(x);
    int a = eg__check(x, "repeat_interleave", "x") ? -1 : eg__line_axis("repeat_interleave", x->ndim, axis);
    if (a < 0) {
        return NULL;
    }
    if (!s.ndim) {
        s = EG_SHAPE(1);
    }
    if (count < 0 || __builtin_mul_overflow(s.dim[a], count, &s.dim[a])) {
        return eg__fail_null(EG_ESHAPE, "repeat_interleave", "count is %lld for axis %d of %s", (long long)count, a,
                             EG__SHAPE_OF(x));
    }
    if (eg__check_shape("repeat_interleave", s.ndim, s.dim, x->dtype, &n)) {
        return NULL;
    }
    int64_t outer = 1, inner = 1;
    for (int d = 0; d < x->ndim; d++) {
        outer *= d <= a ? x->shape[d] : 1;
        inner *= d > a ? x->shape[d] : 1;
    }
    eg_scope scope = eg_scope_push();
    eg_tensor *y = eg_expand(eg_reshape(x, EG_SHAPE(outer, 1, inner)), EG_SHAPE(outer, count, inner));
    return eg_scope_pop(scope, eg_reshape(y, s));
}

/* ---- turning ------------------------------------------------------------------------------- */

eg_tensor *eg_flip(eg_tensor *x, eg_axes axes)
{
    unsigned mask;
    if (eg__check(x, "flip", "x") || eg__axes_mask("flip", x->ndim, &axes, &mask)) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *y = eg_alias(x);
    for (int d = 0; d < x->ndim && y; d++) {
        y = mask >> d & 1 ? eg_slice(y, d, EG_END, EG_END, -1) : y;
    }
    return eg_scope_pop(s, y);
}

eg_tensor *eg_roll(eg_tensor *x, int64_t shift, int axis)
{
    eg__pad_opts o = {.mode = EG_PAD_CIRCULAR};
    int a = eg__check(x, "roll", "x") ? -1 : eg__line_axis("roll", x->ndim, axis);
    if (a < 0) {
        return NULL;
    }
    if (x->ndim && x->shape[a]) {
        o.before[a] = shift % x->shape[a];
        o.before[a] += o.before[a] < 0 ? x->shape[a] : 0;
        o.after[a] = -o.before[a];
    }
    return eg__op1(&eg__op_pad, x, &o);
}

eg_tensor *eg_movedim(eg_tensor *x, eg_axes source, eg_axes destination)
{
    unsigned from, to;
    if (eg__check(x, "movedim", "x")) {
        return NULL;
    }
    if (source.count != destination.count || source.count < 1) {
        return eg__fail_null(EG_ESHAPE, "movedim", "%d source axes, %d destinations", source.count, destination.count);
    }
    if (eg__axes_mask("movedim", x->ndim, &source, &from) || eg__axes_mask("movedim", x->ndim, &destination, &to)) {
        return NULL;
    }
    eg_axes order = {.count = x->ndim};
    for (int d = 0, next = 0; d < x->ndim; d++) {
        if (to >> d & 1) {
            int i = 0;
            while (eg__axis("movedim", x->ndim, destination.axis[i]) != d) {
                i++;
            }
            order.axis[d] = source.axis[i];
        } else {
            for (; from >> next & 1; next++) {
            }
            order.axis[d] = next++;
        }
    }
    return eg_permute(x, order);
}

/* ---- triangles and diagonals --------------------------------------------------------------- */

/* True on diagonal k and on one side of it. */
static eg_tensor *side(int device, int64_t rows, int64_t cols, int64_t k, bool upper)
{
    double at = (double)eg__max(-rows, eg__min(cols, k));
    eg_tensor *row = eg_unsqueeze(eg__arange_on(device, at, at + (double)rows, 1, EG_I64), 1);
    eg_tensor *col = row ? eg__arange_on(device, 0, (double)cols, 1, EG_I64) : NULL;
    return upper ? eg_ge(col, row) : eg_le(col, row);
}

static eg_tensor *triangle(const char *op, eg_tensor *x, int64_t k, bool upper)
{
    if (eg__check(x, op, "x")) {
        return NULL;
    }
    if (x->ndim < 2) {
        return eg__fail_null(EG_ESHAPE, op, "%s has no rows and columns", EG__SHAPE_OF(x));
    }
    eg_scope s = eg_scope_push();
    eg_tensor *keep = side(x->device, x->shape[x->ndim - 2], x->shape[x->ndim - 1], k, upper);
    return eg_scope_pop(s, keep ? eg_where(keep, x, eg_scalar(0, (eg_dtype)x->dtype)) : NULL);
}

eg_tensor *eg_tril(eg_tensor *x, int64_t k)
{
    return triangle("tril", x, k, false);
}

eg_tensor *eg_triu(eg_tensor *x, int64_t k)
{
    return triangle("triu", x, k, true);
}

eg_tensor *eg_tri(int64_t rows, int64_t cols, int64_t k, eg_dtype dtype)
{
    int device = eg__default_device(eg__thread_get(), "tri");
    if (device < 0 || eg__check_room("tri", (uint8_t)device, 2, (int64_t[]){rows, cols}, (int)dtype)) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    return eg_scope_pop(s, eg_cast(side(device, rows, cols, k, false), dtype));
}

eg_tensor *eg_diag_embed(eg_tensor *x, int64_t k)
{
    eg__pad_opts o = {.mode = EG_PAD_CONSTANT};
    if (eg__check(x, "diag_embed", "x")) {
        return NULL;
    }
    if (x->ndim < 1 || x->ndim == EG_MAX_DIMS || k == INT64_MIN) {
        return eg__fail_null(EG_ESHAPE, "diag_embed", "no matrix has %s on diagonal %lld", EG__SHAPE_OF(x),
                             (long long)k);
    }
    int64_t n = x->shape[x->ndim - 1], shape[EG_MAX_DIMS];
    memcpy(shape, x->shape, sizeof shape);
    if (__builtin_add_overflow(n, k < 0 ? -k : k, &shape[x->ndim - 1])) {
        shape[x->ndim - 1] = INT64_MAX;
    }
    shape[x->ndim] = shape[x->ndim - 1];
    if (eg__check_room("diag_embed", x->device, x->ndim + 1, shape, x->dtype)) {
        return NULL;
    }
    o.before[x->ndim] = o.after[x->ndim - 1] = k > 0 ? k : 0;
    o.before[x->ndim - 1] = o.after[x->ndim] = k < 0 ? -k : 0;
    eg_scope s = eg_scope_push();
    eg_tensor *eye = eg__eye_on(x->device, n, n, 0, EG_BOOL), *column = eg_unsqueeze(x, -1);
    eg_tensor *y = eye ? eg_where(eye, column, eg_scalar(0, (eg_dtype)x->dtype)) : NULL;
    return eg_scope_pop(s, k ? eg__op1(&eg__op_pad, y, &o) : y);
}

eg_tensor *eg_diag(eg_tensor *x, int64_t k)
{
    if (eg__check(x, "diag", "x")) {
        return NULL;
    }
    if (x->ndim != 1 && x->ndim != 2) {
        return eg__fail_null(EG_ESHAPE, "diag", "%s is neither 1-D nor 2-D", EG__SHAPE_OF(x));
    }
    return x->ndim == 1 ? eg_diag_embed(x, k) : eg_diagonal(x, k, 0, 1);
}

eg_tensor *eg_trace(eg_tensor *x)
{
    if (eg__check(x, "trace", "x")) {
        return NULL;
    }
    if (x->ndim != 2) {
        return eg__fail_null(EG_ESHAPE, "trace", "%s is not a matrix", EG__SHAPE_OF(x));
    }
    eg_scope s = eg_scope_push();
    return eg_scope_pop(s, eg_sum(eg_diagonal(x, 0, 0, 1)));
}

/* ---- channels and places ------------------------------------------------------------------- */

/* Whether blocks of b x b fit x's last three axes, [C, H, W]; else says so. */
static bool blocks_fit(const char *op, const eg_tensor *x, int64_t b, bool to_depth)
{
    int64_t square;
    if (b < 1 || __builtin_mul_overflow(b, b, &square)) {
        eg__fail(EG_EINVAL, op, "block is %lld", (long long)b);
        return false;
    }
    if (x->ndim < 3) {
        eg__fail(EG_ESHAPE, op, "%s has no channels, rows and columns", EG__SHAPE_OF(x));
        return false;
    }
    const int64_t *s = x->shape + x->ndim - 3;
    if (to_depth ? s[1] % b || s[2] % b : s[0] % square) {
        eg__fail(EG_ESHAPE, op, "blocks of %lld x %lld do not fit %s", (long long)b, (long long)b, EG__SHAPE_OF(x));
        return false;
    }
    return true;
}

static eg_tensor *to_space(const char *op, eg_tensor *x, int64_t b, bool block_first)
{
    if (eg__check(x, op, "x") || !blocks_fit(op, x, b, false)) {
        return NULL;
    }
    eg_shape y = eg_shape_of(x);
    int64_t *s = y.dim + y.ndim - 3, c = s[0] / (b * b), h = s[1], w = s[2], n = 1;
    for (int d = 0; d < y.ndim - 3; d++) {
        n *= y.dim[d];
    }
    s[0] = c;
    s[1] = h * b;
    s[2] = w * b;
    eg_scope scope = eg_scope_push();
    eg_tensor *t = eg_reshape(x, block_first ? EG_SHAPE(n, b, b, c, h, w) : EG_SHAPE(n, c, b, b, h, w));
    t = eg_permute(t, block_first ? EG_AXES(0, 3, 4, 1, 5, 2) : EG_AXES(0, 1, 4, 2, 5, 3));
    return eg_scope_pop(scope, eg_reshape(t, y));
}

static eg_tensor *to_depth(const char *op, eg_tensor *x, int64_t b, bool block_first)
{
    if (eg__check(x, op, "x") || !blocks_fit(op, x, b, true)) {
        return NULL;
    }
    eg_shape y = eg_shape_of(x);
    int64_t *s = y.dim + y.ndim - 3, c = s[0], h = s[1] / b, w = s[2] / b, n = 1;
    for (int d = 0; d < y.ndim - 3; d++) {
        n *= y.dim[d];
    }
    s[0] = c * b * b;
    s[1] = h;
    s[2] = w;
    eg_scope scope = eg_scope_push();
    eg_tensor *t = eg_reshape(x, EG_SHAPE(n, c, h, b, w, b));
    t = eg_permute(t, block_first ? EG_AXES(0, 3, 5, 1, 2, 4) : EG_AXES(0, 1, 3, 5, 2, 4));
    return eg_scope_pop(scope, eg_reshape(t, y));
}

eg_tensor *eg_depth_to_space(eg_tensor *x, int64_t block)
{
    return to_space("depth_to_space", x, block, true);
}

eg_tensor *eg_space_to_depth(eg_tensor *x, int64_t block)
{
    return to_depth("space_to_depth", x, block, true);
}

eg_tensor *eg_pixel_shuffle(eg_tensor *x, int64_t block)
{
    return to_space("pixel_shuffle", x, block, false);
}

eg_tensor *eg_pixel_unshuffle(eg_tensor *x, int64_t block)
{
    return to_depth("pixel_unshuffle", x, block, false);
}
