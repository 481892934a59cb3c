/* run.c - one draw through both engines, with and without a tape, and what differs. */
#include <float.h>
#include <stdarg.h>

#include "tests/differ/differ.h"

bool differ_tensor(call *c, eg_tensor *y)
{
    c->y[0] = y;
    return y != NULL;
}

bool differ_status(call *c, eg_status st)
{
    (void)c;
    return st == EG_OK;
}

bool differ_rnn(call *c, eg_rnn r)
{
    c->y[0] = r.y;
    c->y[1] = r.h;
    c->y[2] = r.c;
    return r.y != NULL;
}

bool differ_samples(call *c, eg_box_samples s)
{
    c->y[0] = s.positive;
    c->y[1] = s.negative;
    return s.positive != NULL;
}

/* ---- one draw being tried --------------------------------------------------------------------- */

outcome differs(trial *t, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(t->why, t->size, format, ap);
    va_end(ap);
    return DIFFERS;
}

/* The code of a call that ran; a refusal must say why. */
eg_status run_call(call *c)
{
    eg_clear_error();
    if (c->d->row->call(c)) {
        return EG_OK;
    }
    eg_status st = eg_last_error()->code;
    return st && eg_last_error()->message[0] ? st : 1;
}

static eg_status run_reference(call *c)
{
    eg_debug("ref");
    eg_status st = run_call(c);
    eg_debug(NULL);
    return st;
}

static const char *code_name(eg_status st)
{
    switch (st) {
#define CODE_NAME(name, value, words) \
    case name:                        \
        return #name;
        EG_STATUS_LIST(CODE_NAME)
    case EG_OK:
        return "EG_OK";
    }
    return "no code on record";
}

/* ---- comparing -------------------------------------------------------------------------------- */

bool same_shape(const eg_tensor *a, const eg_tensor *b)
{
    eg_shape s = eg_shape_of(a), t = eg_shape_of(b);
    return s.ndim == t.ndim && !memcmp(s.dim, t.dim, (size_t)s.ndim * sizeof *s.dim);
}

static void say_shape(const eg_tensor *t, char *to, size_t size)
{
    size_t n = (size_t)snprintf(to, size, "%s [", eg_dtype_name(eg_dtype_of(t)));
    for (int a = 0; a < eg_ndim(t); a++) {
        n += (size_t)snprintf(to + n, size - n, "%s%lld", a ? ", " : "", (long long)eg_size(t, a));
    }
    snprintf(to + n, size - n, "]");
}

static double largest(eg_dtype t)
{
    return t == EG_F64 ? DBL_MAX : t == EG_F16 ? 65504 : FLT_MAX;
}

/* Infinity where only the one lies past the dtype's range is no difference. */
static bool close_to(double a, double b, double allowed, double scale, eg_dtype t)
{
    if (a == b || (isnan(a) && isnan(b))) {
        return true;
    }
    if (isinf(a) != isinf(b)) {
        double inside = isinf(a) ? b : a;
        return (a > 0) == (b > 0) && fabs(inside) >= largest(t) * (1 - allowed);
    }
    return isfinite(a) && isfinite(b) && fabs(a - b) <= allowed * (scale + fabs(b));
}

/* Elements of y against those of want; of gradients relative to the largest. */
outcome compare_tensor(trial *t, const char *what, int k, const eg_tensor *y, const eg_tensor *want, bool overall)
{
    char shapes[2][160];
    say_shape(y, shapes[0], sizeof shapes[0]);
    say_shape(want, shapes[1], sizeof shapes[1]);
    if (!same_shape(y, want)) {
        return differs(t, "%s %d is %s, of the reference %s", what, k, shapes[0], shapes[1]);
    }
    int64_t n = eg_numel(y);
    bool real = is_float(eg_dtype_of(y));
    eg_tensor *b = real ? eg_cast((eg_tensor *)want, eg_dtype_of(y)) : (eg_tensor *)want;
    double *values = malloc((size_t)(2 * n + 1) * sizeof *values), scale = 1;
    eg_to_values(y, values);
    eg_to_values(b, values + n);
    for (int64_t i = 0; overall && i < n; i++) {
        scale = isfinite(values[n + i]) && fabs(values[n + i]) > scale ? fabs(values[n + i]) : scale;
    }
    outcome o = AGREED;
    for (int64_t i = 0; i < n && !o; i++) {
        if (!close_to(values[i], values[n + i], real ? t->allowed : 0, scale, eg_dtype_of(y))) {
            o = differs(t, "%s %d, %s: element %lld is %.9g, of the reference %.9g", what, k, shapes[0], (long long)i,
                        values[i], values[n + i]);
        }
    }
    free(values);
    return o;
}

static outcome compare_results(trial *t, const char *what, const call *c, const call *want)
{
    outcome o = AGREED;
    for (int k = 0; k < MOST_RESULTS && !o; k++) {
        if (!c->y[k] != !want->y[k]) {
            return differs(t, "%s %d is %sthere, of the reference %s", what, k, c->y[k] ? "" : "not ",
                           want->y[k] ? "it is" : "it is not");
        }
        if (c->y[k]) {
            o = compare_tensor(t, what, k, c->y[k], want->y[k], false);
        }
    }
    return o;
}

/* Shapes and dtypes alone. */
static outcome compare_kinds(trial *t, const call *c, const call *same)
{
    for (int k = 0; k < MOST_RESULTS; k++) {
        if (c->y[k] && same->y[k]) {
            char shapes[2][160];
            say_shape(c->y[k], shapes[0], sizeof shapes[0]);
            say_shape(same->y[k], shapes[1], sizeof shapes[1]);
            if (strcmp(shapes[0], shapes[1])) {
                return differs(t, "result %d is %s, of the reference %s", k, shapes[0], shapes[1]);
            }
        }
    }
    return AGREED;
}

static double tolerance_of(eg_dtype t)
{
    return t == EG_F64 ? 1e-11 : t == EG_F32 ? 1e-5 : t == EG_F16 ? 4e-3 : t == EG_BF16 ? 2e-2 : 1e-5;
}

/* Of the coarsest of operands and results. */
static double coarsest(const call *c)
{
    const draw *d = c->d;
    double worst = 1e-11;
    for (int k = 0; k < d->n; k++) {
        if (!d->t[k].absent && !d->t[k].fixed) {
            worst = fmax(worst, tolerance_of(d->t[k].dtype));
        }
    }
    for (int k = 0; k < MOST_RESULTS; k++) {
        worst = c->y[k] ? fmax(worst, tolerance_of(eg_dtype_of(c->y[k]))) : worst;
    }
    return worst;
}

/* Both engines see the same halves: what they lose is what f32 does, and the rounding of results. */
static double tolerance(const call *c)
{
    const draw *d = c->d;
    double loose = (d->row->loose > 0 ? d->row->loose : 1) * (d->loose > 0 ? d->loose : 1), worst = coarsest(c);
    return worst > tolerance_of(EG_F32) ? 2 * worst + loose * tolerance_of(EG_F32) : worst * loose;
}

/* ---- gradients -------------------------------------------------------------------------------- */

static bool followed(const draw *d, int k)
{
    return !d->t[k].absent && !d->t[k].fixed && is_float(d->t[k].dtype);
}

/* A number of all float results: sums weighted by multiples of 1/16, which every dtype holds. */
static eg_tensor *one_number(const call *c)
{
    eg_tensor *sum = NULL;
    for (int k = 0; k < MOST_RESULTS; k++) {
        if (!c->y[k] || !is_float(eg_dtype_of(c->y[k]))) {
            continue;
        }
        eg_tensor *w = eg_empty(eg_shape_of(c->y[k]), EG_F64);
        double *p = eg_data_mut(w);
        for (int64_t i = 0; i < eg_numel(w); i++) {
            p[i] = (double)((i * 7 + k) % 17 - 7) / 16;
        }
        eg_tensor *s = eg_sum(eg_mul(eg_cast(c->y[k], EG_F64), w));
        sum = sum ? eg_add(sum, s) : s;
    }
    return sum;
}

/* Gradients of halves are rounded before those of elements that share memory are added, and may cancel then. */
static bool sums_halves(const draw *d)
{
    bool any = false;
    for (int k = 0; k < d->n; k++) {
        for (int i = 0; i < d->t[k].nsteps && followed(d, k); i++) {
            any |= tolerance_of(d->t[k].dtype) > tolerance_of(EG_F32) &&
                   strstr(step_text(d->t[k].steps[i].kind), "eg_expand");
        }
    }
    return any;
}

/* The call under a tape that follows its operands, every other time from before they are made views; g[k] NULL
 * where there is no gradient. Nothing of it needs be differentiable: then *none. */
static eg_status run_taped(const draw *d, form how, call *c, eg_tensor **g, bool *none)
{
    eg_tensor *ask[MOST_TENSORS], *got[MOST_TENSORS];
    int which[MOST_TENSORS], n = 0;
    eg_tape tape = eg_tape_open();
    bool from_leaves = d->number % 2 && !sums_halves(d);
    make_call(d, how, from_leaves ? &tape : NULL, c);
    memset(g, 0, MOST_TENSORS * sizeof *g);
    *none = true;
    for (int k = 0; k < d->n; k++) {
        if (followed(d, k)) {
            which[n] = k;
            ask[n] = from_leaves ? c->leaf[k] : c->t[k];
            eg_tape_watch(tape, ask[n++]);
        }
    }
    eg_status st = run_call(c);
    eg_tensor *y = st || !n ? NULL : one_number(c);
    if (y) {
        st = eg_tape_gradients(tape, y, ask, n, got);
        *none = st == EG_ESTATE; /* nothing was recorded */
        st = *none ? EG_OK : st;
        for (int k = 0; k < n && !*none && !st; k++) {
            g[which[k]] = got[k];
        }
    }
    eg_clear_error();
    eg_tape_close(tape);
    eg_clear_error();
    return st;
}

static outcome compare_gradients(trial *t, const call *plain)
{
    call c, want;
    eg_tensor *g[MOST_TENSORS], *wide[MOST_TENSORS];
    bool none[2];
    eg_status st = run_taped(t->d, AS_DRAWN, &c, g, &none[0]);
    eg_debug("ref");
    eg_status reference = run_taped(t->d, WIDE, &want, wide, &none[1]);
    eg_debug(NULL);
    if (st || reference || none[0] != none[1]) {
        return differs(t, "gradient: %s, of the reference %s%s", code_name(st), code_name(reference),
                       none[0] != none[1] ? ", one of them without a record" : "");
    }
    outcome o = AGREED;
    for (int k = 0; k < MOST_RESULTS && !o; k++) {
        if (!c.y[k] != !plain->y[k]) {
            return differs(t, "result %d is there either with or without a tape", k);
        }
        o = c.y[k] ? compare_tensor(t, "under a tape result", k, c.y[k], plain->y[k], false) : AGREED;
    }
    t->allowed *= coarsest(plain) > tolerance_of(EG_F32) ? 2 : 10;
    for (int k = 0; k < t->d->n && !o && !none[0]; k++) {
        if (g[k] && eg_dtype_of(g[k]) != eg_dtype_of(c.t[k])) {
            return differs(t, "the gradient of tensor %d has another dtype", k);
        }
        o = g[k] ? compare_tensor(t, "the gradient of tensor", k, g[k], wide[k], true) : AGREED;
    }
    return o;
}

typedef struct again {
    call *c;
    const draw *d;
} again;

static eg_tensor *call_again(eg_tensor *const *x, int n, void *user)
{
    again *a = user;
    memset(a->c->y, 0, sizeof a->c->y);
    (void)x, (void)n; /* the tensors of a->c */
    eg_seed(a->d->seed);
    return run_call(a->c) ? NULL : one_number(a->c);
}

/* Near a corner a smaller step does not cross it. */
static outcome compare_differences(trial *t)
{
    call c;
    const draw *d = t->d;
    unsigned skip = 0;
    int n = 0;
    make_call(d, AS_F64, NULL, &c);
    for (int k = 0; k < d->n; k++) {
        if (!followed(d, k)) {
            skip |= 1u << k;
        }
        n += followed(d, k);
        if (c.t[k] && eg_numel(c.t[k]) > 40) {
            return AGREED;
        }
        for (int i = 0; i < d->t[k].nsteps; i++) {
            if (strstr(step_text(d->t[k].steps[i].kind), "eg_expand")) {
                return AGREED; /* elements that share memory cannot be moved one by one */
            }
        }
    }
    eg_tensor *x[MOST_TENSORS], *whole = eg_zeros(EG_SCALAR, EG_F64);
    for (int k = 0; k < d->n; k++) {
        x[k] = c.t[k] ? c.t[k] : whole;
        skip |= c.t[k] ? 0 : 1u << k;
    }
    again a = {&c, d};
    if (!n || d->n > 16 || !call_again(x, d->n, &a)) {
        eg_clear_error();
        return AGREED;
    }
    static const double steps[] = {1e-5, 1e-7, 3e-4};
    for (int i = 0; i < 3; i++) {
        eg_clear_error();
        double loose = (d->row->loose > 1 ? d->row->loose : 1) * (i ? 30 : 1);
        eg_status st = eg_gradcheck(call_again, x, d->n, &a, .skip = skip, .step = steps[i], .tolerance = 1e-5 * loose,
                                    .second = d->number % 9 == 0);
        const char *words = eg_last_error()->message;
        bool undefined = strstr(words, "differences say nan") || strstr(words, "differences say -nan");
        if (!st || st == EG_ESTATE || undefined) { /* no record, no second one; no such place */
            eg_clear_error();
            return AGREED;
        }
    }
    return differs(t, "%s: %s", code_name(eg_last_error()->code), eg_last_error()->message);
}

/* ---- all of it -------------------------------------------------------------------------------- */

static bool has_specials(const draw *d)
{
    for (int k = 0; k < d->n; k++) {
        if (d->t[k].values >= SPECIAL && !d->t[k].absent) {
            return true;
        }
    }
    return false;
}

static outcome check_refusal(trial *t, const call *c, eg_status st, const char *words)
{
    if (st == 1) {
        return differs(t, "refused without a word");
    }
    call fresh;
    make_call(t->d, AS_DRAWN, NULL, &fresh);
    for (int k = 0; k < MOST_RESULTS; k++) {
        if (c->y[k]) {
            return differs(t, "refused (%s), but result %d is there", words, k);
        }
    }
    t->allowed = 0;
    for (int k = 0; k < t->d->n; k++) {
        if (c->t[k] && compare_tensor(t, "after the refusal tensor", k, c->t[k], fresh.t[k], false)) {
            return DIFFERS;
        }
    }
    return REFUSED;
}

static bool written(const draw *d, int k)
{
    return d->t[k].written || (d->row->flags & IN_PLACE && !k);
}

/* Arguments are what they were; what is written is what the reference makes of it, and nothing beside it. */
static outcome check_arguments(trial *t, const call *c, const call *want)
{
    call fresh;
    make_call(t->d, AS_DRAWN, NULL, &fresh);
    for (int k = 0; k < t->d->n; k++) {
        if (c->t[k] && written(t->d, k)) {
            if (compare_tensor(t, "after the call tensor", k, c->t[k], want->t[k], false)) {
                return DIFFERS;
            }
            eg_debug("ref");
            eg_copy_(fresh.t[k], c->t[k]);
            eg_debug(NULL);
        }
    }
    t->allowed = 0;
    for (int k = 0; k < t->d->n; k++) {
        if (c->t[k] && compare_tensor(t, "after the call what holds tensor", k, c->leaf[k], fresh.leaf[k], false)) {
            return DIFFERS;
        }
    }
    return AGREED;
}

static outcome values_and_gradients(trial *t, const call *c, bool differences)
{
    const row *r = t->d->row;
    call want;
    make_call(t->d, WIDE, NULL, &want);
    eg_status st = run_reference(&want);
    if (st) {
        return differs(t, "the reference refuses the same numbers row-major: %s: %s", code_name(st),
                       eg_last_error()->message);
    }
    t->allowed = tolerance(c);
    if (r->flags & ZERO) {
        return compare_tensor(t, "what must be 0, result", 0, c->y[0], eg_zeros_like(c->y[0]), false);
    }
    outcome o = compare_results(t, "result", c, &want);
    o = o ? o : check_arguments(t, c, &want);
    t->allowed = tolerance(c);
    if (o || r->flags & (NO_GRAD | IN_PLACE) || has_specials(t->d)) {
        return o;
    }
    o = compare_gradients(t, c);
    return o || !differences || r->flags & KINKS || t->d->rough ? o : compare_differences(t);
}

static outcome judge(trial *t)
{
    call c, same;
    make_call(t->d, AS_DRAWN, NULL, &c);
    eg_status st = run_call(&c);
    char words[200];
    snprintf(words, sizeof words, "%.190s", eg_last_error()->message);
    if (st == EG_ENOKERNEL) {
        snprintf(t->why, t->size, "%s", words);
        return MISSING;
    }
    make_call(t->d, AS_DRAWN, NULL, &same);
    eg_status reference = run_reference(&same);
    if (st != reference) {
        return differs(t, "%s, of the reference %s (%s)", code_name(st), code_name(reference),
                       st ? words : eg_last_error()->message);
    }
    if (st) {
        return check_refusal(t, &c, st, words);
    }
    outcome o = compare_kinds(t, &c, &same);
    o = o ? o : values_and_gradients(t, &c, t->d->number % 3 == 0);
    t->allowed = 2 * tolerance(&c);
    return o || (t->d->number % 4 && !differ_models) ? o : through_model(t, &c);
}

outcome try_draw(draw *d, char *why, size_t size)
{
    trial t = {d, why, size, 0};
    why[0] = 0;
    eg_memory before = eg_memory_stats();
    eg_scope s = eg_scope_push();
    outcome o = judge(&t);
    eg_debug(NULL);
    eg_clear_error();
    if (eg_scope_pop(s, NULL), eg_last_error()->code) {
        o = differs(&t, "scopes do not balance");
    }
    eg_clear_error();
    eg_memory after = eg_memory_stats();
    if (o != DIFFERS && (after.live_tensors != before.live_tensors || after.live_bytes != before.live_bytes)) {
        o = differs(&t, "left alive: %lld tensors, %lld bytes", (long long)(after.live_tensors - before.live_tensors),
                    (long long)(after.live_bytes - before.live_bytes));
    }
    return o;
}

/* ---- smaller ---------------------------------------------------------------------------------- */

/* Takes the smaller draw if that differs too. */
static bool keeps(draw *d, const draw *smaller, char *why, size_t size)
{
    char other[512];
    draw try = *smaller;
    if (!memcmp(d, smaller, sizeof *d) || try_draw(&try, other, sizeof other) != DIFFERS) {
        return false;
    }
    *d = try;
    snprintf(why, size, "%s", other);
    return true;
}

static bool simpler_tensors(draw *d, char *why, size_t size)
{
    bool any = false;
    for (int k = 0; k < d->n; k++) {
        draw s = *d;
        s.t[k].nsteps = 0;
        s.t[k].base = s.t[k].shape;
        any |= keeps(d, &s, why, size);
        s = *d;
        s.t[k].dtype = is_float(s.t[k].dtype) && s.t[k].dtype != EG_F64 ? EG_F32 : s.t[k].dtype;
        any |= keeps(d, &s, why, size);
        s = *d;
        s.t[k].values = s.t[k].values == WHOLE ? WHOLE : UNIFORM;
        any |= keeps(d, &s, why, size);
    }
    return any;
}

static bool simpler_options(draw *d, char *why, size_t size)
{
    bool any = false;
    for (int f = 0; d->table && f < d->table->count; f++) {
        draw s = *d;
        memset(s.options + d->table->fields[f].offset, 0, d->table->fields[f].bytes);
        any |= keeps(d, &s, why, size);
    }
    return any;
}

/* Sizes of one value, in all tensors without steps, at once. */
static bool smaller_sizes(draw *d, char *why, size_t size)
{
    bool any = false;
    for (int k = 0; k < d->n; k++) {
        for (int a = 0; a < d->t[k].shape.ndim; a++) {
            int64_t was = d->t[k].shape.dim[a], to[] = {1, was / 2, was - 1};
            for (int i = 0; i < 3 && was > 1; i++) {
                draw s = *d;
                for (int j = 0; j < d->n; j++) {
                    for (int b = 0; b < s.t[j].shape.ndim && !s.t[j].nsteps; b++) {
                        s.t[j].shape.dim[b] = s.t[j].shape.dim[b] == was ? to[i] : s.t[j].shape.dim[b];
                    }
                    s.t[j].base = s.t[j].nsteps ? s.t[j].base : s.t[j].shape;
                }
                if (keeps(d, &s, why, size)) {
                    any = true;
                    break;
                }
            }
        }
    }
    return any;
}

void shrink(draw *d, char *why, size_t size)
{
    bool shared = false; /* views of one tensor go together */
    for (int k = 0; k < d->n; k++) {
        shared |= d->t[k].shares > 0;
    }
    for (int round = 0; round < 6; round++) {
        bool any = simpler_options(d, why, size);
        any |= !shared && simpler_tensors(d, why, size);
        any |= !shared && smaller_sizes(d, why, size);
        if (!any) {
            return;
        }
    }
}
