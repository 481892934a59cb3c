/* golden.c - replays cases: value, gradients, and once more in f32. */
#include "tests/golden/golden.h"

static golden_rows *known;

void golden_add(golden_rows *rows)
{
    rows->next = known;
    known = rows;
}

const golden_row *golden_find(const char *op)
{
    for (const golden_rows *r = known; r; r = r->next) {
        for (int i = 0; i < r->count; i++) {
            if (!strcmp(r->rows[i].op, op)) {
                return &r->rows[i];
            }
        }
    }
    return NULL;
}

/* ---- options ----------------------------------------------------------------------------------
 */

/* The text after key=, not cut off at the ';'; NULL without such a key. */
static const char *seek(const golden_case *c, const char *key)
{
    size_t length = strlen(key);
    for (const char *at = c->options; *at; at++) {
        if (!strncmp(at, key, length) && at[length] == '=') {
            return at + length + 1;
        }
        at = strchr(at, ';');
        if (!at) {
            break;
        }
    }
    return NULL;
}

const char *golden_word(const golden_case *c, const char *key)
{
    static char word[256];
    const char *at = seek(c, key);
    snprintf(word, sizeof word, "%.*s", at ? (int)strcspn(at, ";") : 0, at ? at : "");
    return word;
}

bool golden_is(const golden_case *c, const char *key, const char *word)
{
    return !strcmp(golden_word(c, key), word);
}

bool golden_has(const golden_case *c, const char *key)
{
    return seek(c, key) != NULL;
}

double golden_number(const golden_case *c, const char *key, double absent)
{
    const char *at = seek(c, key);
    return at ? strtod(at, NULL) : absent;
}

int golden_list(const golden_case *c, const char *key, int64_t *values)
{
    const char *at = seek(c, key);
    int count = 0;
    while (at && *at && *at != ';' && count < GOLDEN_LIST) {
        char *end;
        values[count++] = strtoll(at, &end, 10);
        at = *end == ',' ? end + 1 : end;
    }
    return count;
}

eg_axes golden_axes(const golden_case *c, const char *key)
{
    int64_t values[GOLDEN_LIST];
    eg_axes axes = {.count = golden_list(c, key, values)};
    for (int i = 0; i < axes.count; i++) {
        axes.axis[i] = (int)values[i];
    }
    return axes;
}

eg_shape golden_shape(const golden_case *c, const char *key)
{
    int64_t values[GOLDEN_LIST];
    eg_shape shape = {.ndim = golden_list(c, key, values)};
    for (int i = 0; i < shape.ndim; i++) {
        shape.dim[i] = values[i];
    }
    return shape;
}

/* ---- replaying --------------------------------------------------------------------------------
 */

static double tolerance(const eg_tensor *t)
{
    switch (eg_dtype_of(t)) {
    case EG_F64:
        return 1e-9;
    case EG_F32:
        return 1e-4;
    case EG_F16:
        return 1e-3;
    case EG_BF16:
        return 1e-2;
    default:
        return 0;
    }
}

static void show(const char *label, const eg_tensor *t)
{
    printf("    %s", label);
    if (!t) {
        printf(" NULL\n");
        return;
    }
    printf(" %s [", eg_dtype_name(eg_dtype_of(t)));
    for (int d = 0; d < eg_ndim(t); d++) {
        printf(d ? ", %lld" : "%lld", (long long)eg_size(t, d));
    }
    printf("]:");
    for (int64_t i = 0; i < eg_numel(t) && i < 12; i++) {
        printf(" %.9g", eg_get(t, i));
    }
    printf(eg_numel(t) > 12 ? " ...\n" : "\n");
}

static bool same(const golden_case *c, const char *role, int i, eg_tensor *got, const eg_tensor *expected)
{
    got = got ? eg_to(got, eg_cpu()) : NULL;
    double distance = egt_distance(got, expected);
    if (distance <= tolerance(expected)) {
        return true;
    }
    printf("  %s (%s): %s%d is off by %g\n", c->name, c->options, role, i, distance);
    show("got     ", got);
    show("expected", expected);
    return false;
}

static bool refused(const golden_case *c, const char *what)
{
    const eg_error *e = eg_last_error();
    printf("  %s (%s): %s refused: %s: %s\n", c->name, c->options, what, e->op, e->message);
    eg_clear_error();
    return false;
}

bool golden_run(const golden_row *row, const golden_case *c, eg_tensor **out)
{
    if (row->many) {
        return row->many(c, out);
    }
    out[0] = row->f1 ? row->f1(c->x[0]) : row->f2 ? row->f2(c->x[0], c->x[1]) : row->one(c);
    return out[0] != NULL;
}

/* The walk from all results that were given a dy: from the only one, or from the sum of products.
 */
static eg_status walk(const golden_case *c, eg_tape tape, eg_tensor **out, eg_tensor **xs, int n, eg_tensor **got)
{
    eg_tensor *total = NULL;
    if (c->ny == 1) {
        return eg_tape_gradients(tape, out[0], xs, n, got, .dy = c->dy[0]);
    }
    for (int i = 0; i < c->ny; i++) {
        if (c->dy[i]) {
            eg_tensor *part = eg_sum(eg_mul(out[i], c->dy[i]));
            total = total ? eg_add(total, part) : part;
        }
    }
    return eg_tape_gradients(tape, total, xs, n, got);
}

static bool replay(const golden_row *row, const golden_case *c)
{
    eg_tensor *out[GOLDEN_OUTPUTS] = {NULL}, *xs[GOLDEN_INPUTS], *got[GOLDEN_INPUTS];
    int n = 0, place[GOLDEN_INPUTS];
    for (int i = 0; i < c->nx; i++) {
        if (c->g[i]) {
            place[n] = i;
            xs[n++] = c->x[i];
        }
    }
    /* Only where gradients are asked for: an optimizer refuses to step while a tape records. */
    eg_tape tape = n ? eg_tape_open() : (eg_tape){0};
    for (int i = 0; i < n; i++) {
        if (eg_tape_watch(tape, xs[i]) != EG_OK) {
            return refused(c, "the watch");
        }
    }
    if (!golden_run(row, c, out)) {
        return refused(c, "the op");
    }
    bool ok = true;
    for (int i = 0; i < c->ny; i++) {
        ok &= same(c, "y", i, out[i], c->y[i]);
    }
    if (n && walk(c, tape, out, xs, n, got) != EG_OK) {
        return refused(c, "the walk");
    }
    for (int i = 0; i < n; i++) {
        ok &= same(c, "g", place[i], got[i], c->g[place[i]]);
    }
    return ok;
}

/* t in f32 if it is f64, else t. *exact is cleared where f32 cannot hold an element. */
static eg_tensor *narrow(eg_tensor *t, bool *exact)
{
    if (!t || eg_dtype_of(t) != EG_F64) {
        return t;
    }
    for (int64_t i = 0; i < eg_numel(t); i++) {
        double v = eg_get(t, i), f = (double)(float)v;
        *exact &= isnan(v) || f == v || fabs(f - v) <= 1e-6 * fabs(v);
    }
    return eg_cast(t, EG_F32);
}

/* The case in f32; false if no input is f64 or one does not fit. */
static bool narrow_case(const golden_case *c, golden_case *f)
{
    bool exact = true, unused = true, changed = false;
    *f = *c;
    for (int i = 0; i < GOLDEN_INPUTS; i++) {
        f->x[i] = narrow(c->x[i], &exact);
        f->g[i] = narrow(c->g[i], &unused);
    }
    for (int i = 0; i < GOLDEN_OUTPUTS; i++) {
        f->dy[i] = narrow(c->dy[i], &exact);
        f->y[i] = narrow(c->y[i], &unused);
    }
    for (int i = 0; i < c->nx; i++) {
        changed |= f->x[i] != c->x[i];
    }
    return exact && changed;
}

golden_case golden_there(const golden_case *c)
{
    golden_case to = *c;
    eg_device *device = eg_device_of(eg_zeros(EG_SCALAR, EG_F32));
    for (int i = 0; i < GOLDEN_INPUTS; i++) {
        to.x[i] = c->x[i] ? eg_to(c->x[i], device) : NULL;
    }
    for (int i = 0; i < GOLDEN_OUTPUTS; i++) {
        to.dy[i] = c->dy[i] ? eg_to(c->dy[i], device) : NULL;
    }
    to.extra = c->extra ? eg_to(c->extra, device) : NULL;
    return to;
}

void golden_replay(const char *family)
{
    golden_case *cases;
    eg_tensors *file;
    int count = golden_load(family, &file, &cases), wrong = 0;
    for (int i = 0; i < count; i++) {
        const golden_row *row = golden_find(cases[i].op);
        eg_scope scope = eg_scope_push();
        golden_case f32;
        if (!row) {
            printf("  %s: no row knows this op\n", cases[i].name);
        }
        golden_case there = golden_there(&cases[i]);
        bool ok = row && replay(row, &there);
        if (ok && !row->branches && narrow_case(&cases[i], &f32)) {
            snprintf(f32.name, sizeof f32.name, "%.50s in f32", cases[i].name);
            there = golden_there(&f32);
            ok = replay(row, &there);
        }
        wrong += !ok;
        eg_scope_pop(scope, NULL);
    }
    free(cases);
    eg_tensors_free(file);
    if (wrong) {
        egt_fail(__FILE__, __LINE__, "%d of %d cases of %s differ", wrong, count, family);
    }
}
