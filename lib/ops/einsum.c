/* einsum.c - Einstein's sum: parse, take diagonals, then contract operand after operand through permute,
 * reshape and matmul (or mul). Everything is a public op, so gradients come by themselves. */
#include <egret/precision.h>

#include "lib/ops/optable.h"

enum { MAX_OPERANDS = 32, LETTERS = 52, LABELS = LETTERS + EG_MAX_DIMS };

static const char me[] = "einsum";

/* Labels in order: capitals, small letters, then the axes of "...", counted from its end. */
typedef struct term {
    int n, dots; /* dots: how many labels stand before "...", or -1 */
    int label[EG_MAX_DIMS];
} term;

typedef struct part {
    eg_tensor *t;
    term at;
} part;

typedef struct sum {
    const char *equation;
    int n, ellipsis; /* ellipsis: axes the longest "..." stands for */
    part parts[MAX_OPERANDS];
    term out;
    bool arrow;
    int64_t size[LABELS];
    int count[LABELS]; /* how often it stands in the operands' terms */
} sum;

/* ---- parsing --------------------------------------------------------------------------------- */

static EG__COLD eg_status bad(const sum *e, const char *at, const char *why)
{
    return eg__fail(EG_EINVAL, me, "%s at place %d of \"%.60s\"", why, (int)(at - e->equation) + 1, e->equation);
}

static int label_of(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

static char letter_of(int label)
{
    return label >= LETTERS ? '.' : label < 26 ? (char)('A' + label) : (char)('a' + label - 26);
}

/* Reads letters and "..." up to a comma, an arrow or the end. */
static eg_status parse_term(const sum *e, const char **at, term *t)
{
    const char *p = *at;
    *t = (term){.dots = -1};
    for (; *p && *p != ',' && *p != '-'; p++) {
        if (*p == ' ') {
            continue;
        }
        if (*p == '.') {
            if (t->dots >= 0 || p[1] != '.' || p[2] != '.') {
                return bad(e, p, t->dots >= 0 ? "a second ellipsis" : "a dot that is not of \"...\"");
            }
            t->dots = t->n;
            p += 2;
            continue;
        }
        if (label_of(*p) < 0) {
            return bad(e, p, "neither letter, comma, \"...\" nor \"->\"");
        }
        if (t->n == EG_MAX_DIMS) {
            return bad(e, p, "more than 8 letters in a term");
        }
        t->label[t->n++] = label_of(*p);
    }
    *at = p;
    return EG_OK;
}

static eg_status parse(sum *e)
{
    const char *p = e->equation;
    int n = 0;
    for (bool more = true; more; n++) {
        if (n == e->n) {
            return eg__fail(EG_EINVAL, me, "%d operands given, \"%.60s\" has more terms", e->n, e->equation);
        }
        eg_status st = parse_term(e, &p, &e->parts[n].at);
        if (st) {
            return st;
        }
        more = *p == ',';
        p += more;
    }
    if (n < e->n) {
        return eg__fail(EG_EINVAL, me, "%d operands given, \"%.60s\" has %d terms", e->n, e->equation, n);
    }
    if (*p == '-') {
        e->arrow = true;
        if (p[1] != '>') {
            return bad(e, p, "a dash that is not of \"->\"");
        }
        p += 2;
        eg_status st = parse_term(e, &p, &e->out);
        if (st || *p) {
            return st ? st : bad(e, p, "something behind the result's letters");
        }
    }
    return EG_OK;
}

/* ---- fitting letters to operands ------------------------------------------------------------- */

/* Writes the axes of "..." out as labels. */
static void spell(term *t, int axes)
{
    if (t->dots >= 0) {
        memmove(t->label + t->dots + axes, t->label + t->dots, (size_t)(t->n - t->dots) * sizeof *t->label);
        for (int k = 0; k < axes; k++) {
            t->label[t->dots + k] = LETTERS + axes - 1 - k;
        }
        t->n += axes;
    }
}

static eg_status fit(sum *e, int i)
{
    part *p = &e->parts[i];
    int axes = p->t->ndim - p->at.n;
    if (axes < 0 || (axes > 0 && p->at.dots < 0)) {
        return eg__fail(EG_ESHAPE, me, "operand %d is %s, its term in \"%.60s\" names %d axes", i, EG__SHAPE_OF(p->t),
                        e->equation, p->at.n);
    }
    spell(&p->at, axes);
    if (p->at.dots >= 0 && axes > e->ellipsis) {
        e->ellipsis = axes;
    }
    for (int d = 0; d < p->at.n; d++) {
        int l = p->at.label[d];
        int64_t size = p->t->shape[d], *known = &e->size[l];
        if (e->count[l] && size != *known && size != 1 && *known != 1) {
            return eg__fail(EG_ESHAPE, me, "'%c' is %lld in operand %d %s, %lld before", letter_of(l), (long long)size,
                            i, EG__SHAPE_OF(p->t), (long long)*known);
        }
        *known = e->count[l] && size == 1 ? *known : size;
        e->count[l]++;
    }
    return EG_OK;
}

static int place_in(const term *t, int label)
{
    int d = 0;
    while (d < t->n && t->label[d] != label) {
        d++;
    }
    return d < t->n ? d : -1;
}

/* The result's letters: as given and checked, or those that occur once in alphabetical order. */
static eg_status settle_result(sum *e)
{
    term *out = &e->out;
    if (!e->arrow) {
        *out = (term){.dots = 0};
        for (int l = 0; l < LETTERS; l++) {
            if (e->count[l] == 1 && out->n + e->ellipsis < EG_MAX_DIMS) {
                out->label[out->n++] = l;
            } else if (e->count[l] == 1) {
                return eg__fail(EG_ESHAPE, me, "the result has more than %d axes", EG_MAX_DIMS);
            }
        }
    }
    if (out->n + (out->dots >= 0 ? e->ellipsis : 0) > EG_MAX_DIMS) {
        return eg__fail(EG_ESHAPE, me, "the result has more than %d axes", EG_MAX_DIMS);
    }
    for (int d = 0; d < out->n; d++) {
        if (!e->count[out->label[d]]) {
            return eg__fail(EG_EINVAL, me, "'%c' of the result is in no operand of \"%.60s\"", letter_of(out->label[d]),
                            e->equation);
        }
        if (place_in(out, out->label[d]) < d) {
            return eg__fail(EG_EINVAL, me, "'%c' is twice in the result of \"%.60s\"", letter_of(out->label[d]),
                            e->equation);
        }
    }
    spell(out, e->ellipsis);
    return EG_OK;
}

/* Replaces axes of one letter by their diagonal. */
static eg_status take_diagonals(sum *e, int i)
{
    part *p = &e->parts[i];
    for (int b = 1; b < p->at.n; b++) {
        int l = p->at.label[b], a = place_in(&p->at, l);
        if (a == b) {
            continue;
        }
        if (p->t->shape[a] != p->t->shape[b]) {
            return eg__fail(EG_ESHAPE, me, "'%c' is twice in operand %d %s with different sizes", letter_of(l), i,
                            EG__SHAPE_OF(p->t));
        }
        p->t = eg_diagonal(p->t, 0, a, b);
        if (!p->t) {
            return eg__why();
        }
        int k = 0;
        for (int d = 0; d < p->at.n; d++) {
            if (d != a && d != b) {
                p->at.label[k++] = p->at.label[d];
            }
        }
        p->at.label[k++] = l;
        p->at.n = k;
        b = 0;
    }
    return EG_OK;
}

/* ---- contracting ------------------------------------------------------------------------------- */

/* Some labels, in order. */
typedef struct group {
    int n, label[EG_MAX_DIMS];
} group;

static void append(eg_axes *axes, const term *t, const group *g)
{
    for (int k = 0; k < g->n; k++) {
        axes->axis[axes->count++] = place_in(t, g->label[k]);
    }
}

static bool straight(const eg_axes *axes)
{
    for (int d = 0; d < axes->count; d++) {
        if (axes->axis[d] != d) {
            return false;
        }
    }
    return true;
}

/* p's tensor with its axes in the order of the three groups. */
static eg_tensor *ordered(const part *p, const group *a, const group *b, const group *c)
{
    eg_axes axes = {.count = 0};
    append(&axes, &p->at, a);
    append(&axes, &p->at, b);
    append(&axes, &p->at, c);
    return straight(&axes) ? p->t : eg_permute(p->t, axes);
}

/* Drops the labels that neither `keep` nor the other operand has. */
static eg_status reduce(part *p, uint64_t keep)
{
    eg_reduce_options o = {.size = sizeof o};
    int k = 0;
    for (int d = 0; d < p->at.n; d++) {
        if (keep >> p->at.label[d] & 1) {
            p->at.label[k++] = p->at.label[d];
        } else {
            o.axes.axis[o.axes.count++] = d;
        }
    }
    p->at.n = k;
    p->t = o.axes.count ? eg_sum_with(p->t, &o) : p->t;
    return p->t ? EG_OK : eg__why();
}

static uint64_t set_of(const term *t)
{
    uint64_t s = 0;
    for (int d = 0; d < t->n; d++) {
        s |= (uint64_t)1 << t->label[d];
    }
    return s;
}

static group chosen(const term *t, uint64_t set)
{
    group g = {.n = 0};
    for (int d = 0; d < t->n; d++) {
        if (set >> t->label[d] & 1) {
            g.label[g.n++] = t->label[d];
        }
    }
    return g;
}

/* Sizes of the group in p, 1 where p lacks the label. */
static void add_sizes(eg_shape *s, const part *p, const group *g)
{
    for (int k = 0; k < g->n; k++) {
        int d = place_in(&p->at, g->label[k]);
        s->dim[s->ndim++] = d < 0 ? 1 : p->t->shape[d];
    }
}

static int64_t product(const part *p, const group *g)
{
    int64_t n = 1;
    for (int k = 0; k < g->n; k++) {
        n *= p->t->shape[place_in(&p->at, g->label[k])];
    }
    return n;
}

/* Shared labels of size 1 in one operand take the other's size, as matmul wants it. */
static eg_tensor *stretched(const part *p, const part *other)
{
    eg_shape s = eg_shape_of(p->t);
    bool more = false;
    for (int d = 0; d < p->at.n; d++) {
        int k = place_in(&other->at, p->at.label[d]);
        if (k >= 0 && s.dim[d] == 1 && other->t->shape[k] != 1) {
            s.dim[d] = other->t->shape[k];
            more = true;
        }
    }
    return more ? eg_expand(p->t, s) : p->t;
}

/* Over batch, rows and columns, by broadcasting; `over` is empty. */
static eg_tensor *by_mul(const part *a, const part *b, const group *batch, const group *rows, const group *cols,
                         const group *over)
{
    eg_shape sa = EG_SCALAR, sb = EG_SCALAR;
    eg_tensor *x = ordered(a, batch, rows, over), *y = ordered(b, batch, cols, over);
    add_sizes(&sa, a, batch), add_sizes(&sb, b, batch);
    add_sizes(&sa, a, rows), add_sizes(&sb, b, rows);
    add_sizes(&sa, a, cols), add_sizes(&sb, b, cols);
    return x && y ? eg_mul(eg_reshape(x, sa), eg_reshape(y, sb)) : NULL;
}

static eg_tensor *by_matmul(const part *a, const part *b, const group *batch, const group *rows, const group *cols,
                            const group *over)
{
    eg_shape sa = EG_SCALAR, sb = EG_SCALAR, s = EG_SCALAR;
    part x = {stretched(a, b), a->at}, y = {stretched(b, a), b->at};
    if (!x.t || !y.t) {
        return NULL;
    }
    add_sizes(&sa, &x, batch), add_sizes(&sb, &y, batch), add_sizes(&s, &x, batch);
    add_sizes(&s, &x, rows), add_sizes(&s, &y, cols);
    sa.dim[sa.ndim++] = product(&x, rows);
    sa.dim[sa.ndim++] = sb.dim[sb.ndim++] = product(&x, over);
    sb.dim[sb.ndim++] = product(&y, cols);
    eg_tensor *m = ordered(&x, batch, rows, over), *n = ordered(&y, batch, over, cols);
    m = m ? eg_reshape(m, sa) : NULL;
    n = n ? eg_reshape(n, sb) : NULL;
    m = m && n ? eg_matmul(m, n) : NULL;
    return m ? eg_reshape(m, s) : NULL;
}

/* a becomes the contraction of a and b over the letters that `keep` has not. */
static eg_status contract(part *a, part *b, uint64_t keep)
{
    uint64_t in_a = set_of(&a->at), in_b = set_of(&b->at);
    eg_status st = reduce(a, keep | in_b);
    st = st ? st : reduce(b, keep | in_a);
    if (st) {
        return st;
    }
    group batch = chosen(&a->at, in_b & keep), over = chosen(&a->at, in_b & ~keep);
    group rows = chosen(&a->at, ~in_b), cols = chosen(&b->at, ~in_a);
    int axes = batch.n + rows.n + cols.n;
    if (axes > EG_MAX_DIMS || (over.n && batch.n > EG_MAX_DIMS - 2)) {
        return eg__fail(EG_ESHAPE, me, "a step has more than %d axes", EG_MAX_DIMS);
    }
    if (over.n && !eg__is_float(eg__common_dtype((eg_tensor *[]){a->t, b->t}, 2))) {
        a->t = eg_cast(a->t, EG_I64); /* as eg_sum has it */
        b->t = eg_cast(b->t, EG_I64);
        if (!a->t || !b->t) {
            return eg__why();
        }
    }
    a->t = (over.n ? by_matmul : by_mul)(a, b, &batch, &rows, &cols, &over);
    a->at.n = 0;
    const group *parts[] = {&batch, &rows, &cols};
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < parts[i]->n; k++) {
            a->at.label[a->at.n++] = parts[i]->label[k];
        }
    }
    return a->t ? EG_OK : eg__why();
}

/* ---- the whole --------------------------------------------------------------------------------- */

/* Returns whether intermediate results in halves would be rounded: a sum over one operand before a product, or a third
 * operand. */
static bool rounds(const sum *e, uint64_t wanted)
{
    bool any = false;
    for (int i = 0; i < e->n; i++) {
        any |= eg__is_half(e->parts[i].t->dtype);
    }
    if (!any || e->n != 2) {
        return any && e->n > 2;
    }
    const uint64_t a = set_of(&e->parts[0].at), b = set_of(&e->parts[1].at);
    return ((a ^ b) & ~wanted) != 0;
}

static eg_status widen(sum *e)
{
    for (int i = 0; i < e->n; i++) {
        eg_tensor **t = &e->parts[i].t;
        if (eg__is_half((*t)->dtype) && !(*t = eg_cast(*t, EG_F32))) {
            return eg__why();
        }
    }
    return EG_OK;
}

static eg_tensor *evaluate(sum *e)
{
    for (int i = 0; i < e->n; i++) {
        if (fit(e, i)) {
            return NULL;
        }
    }
    if (settle_result(e)) {
        return NULL;
    }
    uint64_t wanted = set_of(&e->out), later[MAX_OPERANDS + 1];
    later[e->n] = wanted;
    for (int i = e->n; i-- > 0;) {
        if (take_diagonals(e, i)) {
            return NULL;
        }
        later[i] = later[i + 1] | set_of(&e->parts[i].at);
    }
    if (rounds(e, wanted) && widen(e)) {
        return NULL;
    }
    part *acc = &e->parts[0];
    for (int i = 1; i < e->n; i++) {
        if (contract(acc, &e->parts[i], later[i + 1])) {
            return NULL;
        }
    }
    if (reduce(acc, wanted)) {
        return NULL;
    }
    const group none = {.n = 0};
    group order = chosen(&e->out, wanted);
    eg_tensor *y = ordered(acc, &order, &none, &none);
    return y == acc->t ? eg_alias(y) : y;
}

eg_tensor *eg_einsum(const char *equation, eg_tensor *const *operands, int n)
{
    sum e = {.equation = equation, .n = n, .out = {.dots = -1}};
    if (!equation || !operands) {
        return eg__null_argument(me, equation ? "operands" : "equation"), NULL;
    }
    if (n < 1 || n > MAX_OPERANDS) {
        return eg__fail_null(EG_EINVAL, me, "%d operands given, 1 to %d are possible", n, MAX_OPERANDS);
    }
    for (int i = 0; i < n; i++) {
        if (eg__check(operands[i], me, "an operand")) {
            return NULL;
        }
        e.parts[i].t = operands[i];
    }
    if (parse(&e)) {
        return NULL;
    }
    const int dtype = eg__common_dtype(operands, n);
    eg_scope s = eg_scope_push();
    eg_tensor *y = evaluate(&e);
    return eg_scope_pop(s, y && eg__is_half(dtype) && !eg_autocast_dtype() ? eg_cast(y, (eg_dtype)dtype) : y);
}
