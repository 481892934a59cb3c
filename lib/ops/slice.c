/* slice.c - parts of a tensor as views: slices with steps, single positions, index expressions. */
#include <ctype.h>
#include <stdlib.h>

#include "lib/ops/infer.h"
#include "lib/ops/options.h"

eg_status eg__infer_slice(eg__call *c)
{
    const eg__slice_opts *o = c->opts;
    eg_status st = eg__infer_view(c);
    eg__desc *d = &c->desc[0];
    d->offset += o->count ? o->start * d->strides[o->axis] : 0;
    d->n = d->shape[o->axis] ? d->n / d->shape[o->axis] * o->count : 0;
    d->shape[o->axis] = o->count;
    d->strides[o->axis] *= o->step;
    return st;
}

eg_status eg__infer_slice_grad(eg__call *c)
{
    const eg__slice_grad_opts *o = c->opts;
    eg__desc *d = &c->desc[0];
    d->dtype = c->in[0]->dtype;
    d->ndim = c->in[0]->ndim;
    memcpy(d->shape, c->in[0]->shape, sizeof d->shape);
    d->shape[o->slice.axis] = o->size;
    eg__desc_dense(d);
    return EG_OK;
}

eg_tensor *eg_slice(eg_tensor *x, int axis, int64_t start, int64_t stop, int64_t step)
{
    if (eg__check(x, "slice", "x")) {
        return NULL;
    }
    int a = eg__axis("slice", x->ndim, axis);
    if (a < 0) {
        return NULL;
    }
    if (step == 0 || step == INT64_MIN) {
        return eg__fail_null(EG_EINVAL, "slice", "step is %lld", (long long)step);
    }
    /* NumPy's rule: count from the end, then clamp. EG_END is past both ends. */
    int64_t n = x->shape[a], low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
    bool open_stop = stop == EG_END;
    start = start == EG_END ? (step > 0 ? 0 : n - 1) : start < 0 ? (start < -n ? low : start + n) : start;
    stop = open_stop ? (step > 0 ? n : -1) : stop < 0 ? (stop < -n ? low : stop + n) : stop;
    start = eg__max(low, eg__min(high, start));
    stop = eg__max(low, eg__min(high, stop));
    int64_t span = step > 0 ? stop - start : start - stop, by = step > 0 ? step : -step;
    eg__slice_opts o = {a, start, step, span > 0 ? (span - 1) / by + 1 : 0};
    if (o.count < 2) {
        o.step = 1; /* no second element: keeps huge steps out of the strides */
    }
    if (!o.count) {
        o.start = 0; /* which is -1 before the first element, where a gradient would begin to write */
    }
    return eg__op1(&eg__op_slice, x, &o);
}

eg_tensor *eg_select(eg_tensor *x, int axis, int64_t index)
{
    if (eg__check(x, "select", "x")) {
        return NULL;
    }
    int a = eg__axis("select", x->ndim, axis);
    if (a < 0) {
        return NULL;
    }
    if (index < -x->shape[a] || index >= x->shape[a]) {
        return eg__fail_null(EG_EINDEX, "select", "index %lld is outside axis %d of %s", (long long)index, a,
                             EG__SHAPE_OF(x));
    }
    eg__slice_opts o = {a, index < 0 ? index + x->shape[a] : index, 1, 1};
    eg_scope s = eg_scope_push();
    return eg_scope_pop(s, eg_squeeze(eg__op1(&eg__op_slice, x, &o), EG_AXES(a)));
}

/* ---- index expressions ---------------------------------------------------------------------- */

typedef struct cursor {
    const char *text, *at;
} cursor;

static void skip_space(cursor *c)
{
    while (isspace((unsigned char)*c->at)) {
        c->at++;
    }
}

static bool accept(cursor *c, const char *word)
{
    skip_space(c);
    size_t n = strlen(word);
    if (strncmp(c->at, word, n)) {
        return false;
    }
    c->at += n;
    return true;
}

/* An optional integer; false if the digits overflow. */
static bool number(cursor *c, int64_t *v, bool *given)
{
    char *end;
    skip_space(c);
    *given = isdigit((unsigned char)*c->at) || ((*c->at == '-' || *c->at == '+') && isdigit((unsigned char)c->at[1]));
    if (!*given) {
        return true;
    }
    *v = strtoll(c->at, &end, 10);
    c->at = end;
    return *v > INT64_MIN + 1 && *v < INT64_MAX;
}

/* One item of the expression applied to axis *axis of x. */
static eg_tensor *apply_item(cursor *c, eg_tensor *x, int *axis)
{
    int64_t v[3] = {EG_END, EG_END, 1};
    bool given;
    if (accept(c, "None")) {
        return eg_unsqueeze(x, (*axis)++);
    }
    if (*axis >= x->ndim) {
        return eg__fail_null(EG_EINDEX, "index", "\"%.60s\" has more items than %s has axes", c->text, EG__SHAPE_OF(x));
    }
    if (!number(c, &v[0], &given)) {
        return eg__fail_null(EG_EINDEX, "index", "a number in \"%.60s\" is too large", c->text);
    }
    skip_space(c);
    if (given && *c->at != ':') {
        return eg_select(x, *axis, v[0]);
    }
    for (int i = 1; i < 3 && accept(c, ":"); i++) {
        if (!number(c, &v[i], &given)) {
            return eg__fail_null(EG_EINDEX, "index", "a number in \"%.60s\" is too large", c->text);
        }
    }
    return eg_slice(x, (*axis)++, v[0], v[1], v[2]);
}

/* Items between an ellipsis and the end that use up an axis. */
static int axes_after(const char *at)
{
    int items = 1;
    for (const char *p = at; *p; p++) {
        items += *p == ',';
    }
    for (const char *p = at; (p = strstr(p, "None")); p++) {
        items--;
    }
    while (isspace((unsigned char)*at)) {
        at++;
    }
    return *at ? items - 1 : 0;
}

eg_tensor *eg_index(eg_tensor *x, const char *expression)
{
    if (eg__check(x, "index", "x")) {
        return NULL;
    }
    if (!expression) {
        return eg__null_argument("index", "expression"), NULL;
    }
    cursor c = {expression, expression};
    int axis = 0;
    bool ellipsis = false;
    eg_scope s = eg_scope_push();
    eg_tensor *y = eg_alias(x);
    skip_space(&c);
    while (y && *c.at) {
        const char *before = c.at;
        if (accept(&c, "...")) {
            int rest = axes_after(c.at);
            if (ellipsis || y->ndim - rest < axis) {
                y = eg__fail_null(EG_EINDEX, "index", "\"...\" does not fit \"%.60s\" for %s", expression,
                                  EG__SHAPE_OF(x));
                break;
            }
            ellipsis = true;
            axis = y->ndim - rest;
        } else {
            y = apply_item(&c, y, &axis);
        }
        skip_space(&c);
        bool moved = c.at > before, comma = y && accept(&c, ",");
        skip_space(&c);
        if (y && (!moved || (*c.at && !comma) || (!*c.at && comma))) {
            y = eg__fail_null(EG_EINDEX, "index", "\"%.60s\" is not understood at position %d", expression,
                              (int)(c.at - expression));
        }
    }
    return eg_scope_pop(s, y);
}

/* ---- any strides ---------------------------------------------------------------------------- */

eg_tensor *eg_as_strided(eg_tensor *x, eg_shape shape, const int64_t *strides, int64_t offset)
{
    int64_t n, low = offset, high = offset;
    if (eg__check(x, "as_strided", "x") || eg__check_shape("as_strided", shape.ndim, shape.dim, x->dtype, &n)) {
        return NULL;
    }
    if (!strides && shape.ndim) {
        return eg__null_argument("as_strided", "strides"), NULL;
    }
    bool over = offset < 0;
    for (int d = 0; d < shape.ndim && n; d++) {
        int64_t reach;
        over |= __builtin_mul_overflow(strides[d], shape.dim[d] - 1, &reach);
        over |= __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high);
    }
    int64_t room = (int64_t)(x->storage->bytes / eg__esize(x));
    if (over || (n && (low < 0 || high >= room))) {
        return eg__fail_null(EG_EINDEX, "as_strided",
                             "%s with these strides leaves the storage of "
                             "%lld elements",
                             eg__shape_text(shape.ndim, shape.dim).s, (long long)room);
    }
    eg__stride_opts o = {.ndim = shape.ndim, .offset = n ? offset : 0};
    memcpy(o.shape, shape.dim, sizeof o.shape);
    memcpy(o.strides, strides, (size_t)shape.ndim * sizeof *strides);
    return eg__op1(&eg__op_as_strided, x, &o);
}

eg_status eg__infer_as_strided(eg__call *c)
{
    const eg__stride_opts *o = c->opts;
    eg__desc *d = &c->desc[0];
    d->dtype = c->in[0]->dtype;
    d->ndim = (uint8_t)o->ndim;
    d->offset = o->offset;
    memcpy(d->shape, o->shape, sizeof d->shape);
    memcpy(d->strides, o->strides, sizeof d->strides);
    return eg__check_shape(c->op->name, d->ndim, d->shape, d->dtype, &d->n);
}

eg_tensor *eg_diagonal(eg_tensor *x, int64_t offset, int axis0, int axis1)
{
    if (eg__check(x, "diagonal", "x")) {
        return NULL;
    }
    int a = eg__axis("diagonal", x->ndim, axis0), b = a < 0 ? a : eg__axis("diagonal", x->ndim, axis1);
    if (b < 0) {
        return NULL;
    }
    if (a == b) {
        return eg__fail_null(EG_ESHAPE, "diagonal", "both axes are axis %d of %s", a, EG__SHAPE_OF(x));
    }
    int64_t rows = x->shape[a], cols = x->shape[b], n = 0, row = 0, col = 0;
    if (offset > -rows && offset < cols) {
        row = offset < 0 ? -offset : 0;
        col = offset > 0 ? offset : 0;
        n = eg__min(rows - row, cols - col);
    }
    eg_scope s = eg_scope_push();
    eg_tensor *t = x;
    t = row || n != rows ? eg_slice(t, a, row, row + n, 1) : t;
    t = col || n != cols ? eg_slice(t, b, col, col + n, 1) : t;
    return eg_scope_pop(s, eg__op1(&eg__op_diagonal, t, &(eg__diagonal_opts){a, b}));
}
