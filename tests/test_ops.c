/* test_ops.c - the sweep over the whole op table; cases.h says what it checks. The environment variable
 * EGT_DEVICE names the device it computes on; cases of ops that have no kernel there are skipped. With EGT_BENCH cases
 * are not checked but timed, each for as many milliseconds: EGT_BENCH=50 build/tests/test_ops conv */
#include <time.h>

#include "tests/cases.h"

static egt_op_cases *families;

void egt_add_cases(egt_op_cases *c)
{
    c->next = families;
    families = c;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

enum layout { CONTIGUOUS, TRANSPOSED, GAPS, CHANNELS_LAST, BACKWARDS, INSIDE, LAYOUTS };
static const char *const layout_names[LAYOUTS] = {"contiguous",    "transposed", "gaps",
                                                  "channels-last", "backwards",  "inside"};

/* The same values, laid out otherwise. */
static eg_tensor *lay_out(eg_tensor *x, enum layout layout)
{
    int nd = eg_ndim(x);
    if (layout == TRANSPOSED && nd >= 2) {
        return eg_transpose(eg_contiguous(eg_transpose(x, 0, nd - 1)), 0, nd - 1);
    }
    if (layout == GAPS && nd >= 1) {
        eg_shape s = eg_shape_of(x);
        s.dim[nd - 1] *= 2;
        eg_tensor *wide = eg_to(eg_zeros(s, eg_dtype_of(x)), eg_device_of(x));
        eg_tensor *view = eg_slice(wide, nd - 1, 0, EG_END, 2);
        return eg_copy_(view, x);
    }
    if (layout == CHANNELS_LAST && nd >= 3 && nd <= 5) {
        return eg_channels_last(x);
    }
    if (layout == BACKWARDS && nd >= 1) {
        return eg_flip(eg_contiguous(eg_flip(x, (eg_axes){0})), (eg_axes){0});
    }
    if (layout == INSIDE && nd < EG_MAX_DIMS) { /* of a larger tensor, behind other values */
        return eg_select(eg_stack((eg_tensor *[]){eg_flip(x, (eg_axes){0}), x}, 2, 0), 0, 1);
    }
    return x;
}

/* Where the sweep computes. */
static eg_device *where(void)
{
    static eg_device *device;
    const char *name = getenv("EGT_DEVICE");
    device = device ? device : eg_device_open(name && *name ? name : "cpu");
    if (!device) {
        egt_fail(__FILE__, __LINE__, "no device %s", name);
    }
    return device;
}

/* A gradient or composition may need a kernel that is not there yet. */
static void skip_if_no_kernel(void)
{
    if (eg_last_error()->code == EG_ENOKERNEL) {
        egt_skip("%s: %s", eg_last_error()->op, eg_last_error()->message);
    }
}

/* The case's function there, results on the CPU. */
static eg_tensor *compute(const egt_op_case *k, eg_tensor *const *x)
{
    eg_device *before = eg_use_device(where());
    eg_tensor *y = k->f(x, egt_inputs(k), k->user);
    eg_use_device(before);
    return y ? eg_to(y, eg_cpu()) : NULL;
}

static void make_inputs(const egt_op_case *k, eg_dtype dtype, enum layout layout, eg_device *device, eg_tensor **x)
{
    for (int i = 0; i < egt_inputs(k); i++) {
        const egt_input *in = &k->in[i];
        eg_tensor *v = egt_random(in->shape, EG_F64, in->low, in->high);
        eg_dtype to = in->fixed ? (eg_dtype)(in->fixed - 1) : dtype;
        if (to != EG_F64) {
            bool whole = to != EG_F32 && to != EG_F16 && to != EG_BF16;
            v = eg_cast(whole ? eg_floor(v) : v, to);
        }
        x[i] = lay_out(eg_to(v, device), k->flags & EGT_NO_LAYOUT ? CONTIGUOUS : layout);
        if (!x[i]) {
            egt_fail(__FILE__, __LINE__, "no input %d", i);
        }
    }
}

static void name_case(const egt_op_case *k, const char *what, eg_dtype dtype, enum layout layout)
{
    snprintf(egt_case, sizeof egt_case, "%s (%s): %s, %s, %s", k->ops, k->name, what, eg_dtype_name(dtype),
             layout_names[layout]);
}

/* ---- values ---------------------------------------------------------------------------------- */

static double tolerance_of(const egt_op_case *k, eg_dtype dtype)
{
    switch (dtype) {
    case EG_F64:
        return 1e-11;
    case EG_F32:
        return k->tolerance > 0 ? k->tolerance : 1e-5;
    case EG_F16:
        return 4e-3 + (k->tolerance > 0 ? 10 * k->tolerance : 0);
    case EG_BF16:
        return 2e-2 + (k->tolerance > 0 ? 10 * k->tolerance : 0);
    default:
        return 0;
    }
}

/* The tuned kernels on the run's dtype against the reference on the same numbers in f64. */
static void check_value(const egt_op_case *k, eg_dtype dtype, enum layout layout)
{
    eg_tensor *x[EGT_MAX_INPUTS], *wide[EGT_MAX_INPUTS];
    bool real = dtype == EG_F32 || dtype == EG_F64 || dtype == EG_F16 || dtype == EG_BF16;
    make_inputs(k, dtype, layout, where(), x);
    eg_tensor *y = compute(k, x);
    if (!y) {
        skip_if_no_kernel();
        egt_fail(__FILE__, __LINE__, "refused");
    }
    for (int i = 0; i < egt_inputs(k); i++) {
        x[i] = eg_to(x[i], eg_cpu());
        wide[i] = eg_contiguous(real && !k->in[i].fixed ? eg_cast(x[i], EG_F64) : x[i]);
    }
    eg_random_state after = eg_random_get_state();
    if (!(k->flags & EGT_NO_REF)) {
        EGT_OK(eg_debug("ref"));
    }
    eg_tensor *want = k->f(wide, egt_inputs(k), k->user);
    EGT_OK(eg_debug(NULL));
    eg_random_set_state(after);
    if (!want) {
        egt_fail(__FILE__, __LINE__, "the reference refused");
    }
    if (real && eg_dtype_of(want) == EG_F64) {
        y = eg_cast(y, EG_F64);
    }
    double d = egt_distance(y, want), allowed = tolerance_of(k, dtype);
    if (!(d <= allowed)) {
        egt_fail(__FILE__, __LINE__, "differs from the reference by %g, %g is allowed", d, allowed);
    }
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* Inputs of the CPU, where finite differences are taken, moved to where the sweep computes. */
static eg_tensor *moved(eg_tensor *const *x, int n, void *user)
{
    eg_tensor *there[EGT_MAX_INPUTS];
    for (int i = 0; i < n; i++) {
        there[i] = eg_to(x[i], where());
    }
    return compute(user, there);
}

static void check_gradient(const egt_op_case *k, enum layout layout)
{
    eg_tensor *x[EGT_MAX_INPUTS];
    unsigned skip = k->skip;
    for (int i = 0; i < egt_inputs(k); i++) {
        skip |= k->in[i].fixed ? 1u << i : 0;
    }
    make_inputs(k, EG_F64, layout, eg_cpu(), x);
    eg_status st = eg_gradcheck(moved, x, egt_inputs(k), (void *)k, .skip = skip, .tolerance = 1e-5,
                                .second = !(k->flags & EGT_NO_SECOND));
    if (st) {
        skip_if_no_kernel();
    }
    EGT_OK(st);
}

static void check_null(const egt_op_case *k)
{
    eg_dtype dtype = k->flags & EGT_NO_FLOAT ? EG_I64 : EG_F32;
    for (int i = 0; i < egt_inputs(k); i++) {
        eg_tensor *x[EGT_MAX_INPUTS];
        make_inputs(k, dtype, CONTIGUOUS, where(), x);
        x[i] = NULL;
        eg_clear_error();
        if (!compute(k, x) && eg_last_error()->code == EG_OK) {
            egt_fail(__FILE__, __LINE__, "input %d NULL gives NULL without a word", i);
        }
        eg_clear_error();
    }
}

/* ---- failing allocations ----------------------------------------------------------------------- */

static bool differentiable(const egt_op_case *k, int i)
{
    return !(k->flags & (EGT_NO_GRAD | EGT_NO_FLOAT)) && !(k->skip >> i & 1) && !k->in[i].fixed;
}

/* Forward and, where there is one, backward once. */
static eg_status step(const egt_op_case *k, eg_tensor **x)
{
    eg_tensor *ask[EGT_MAX_INPUTS], *g[EGT_MAX_INPUTS];
    int n = 0;
    bool walks = !(k->flags & (EGT_NO_GRAD | EGT_NO_FLOAT)); /* optimizers refuse an open tape */
    eg_tape tape = walks ? eg_tape_open() : (eg_tape){0};
    eg_status st = tape.id || !walks ? EG_OK : eg_last_error()->code;
    for (int i = 0; i < egt_inputs(k) && !st; i++) {
        if (differentiable(k, i)) {
            st = eg_tape_watch(tape, x[i]);
            ask[n++] = x[i];
        }
    }
    eg_tensor *y = st ? NULL : compute(k, x);
    if (!y) {
        return eg_last_error()->code;
    }
    if (!n) {
        return EG_OK;
    }
    eg_tensor *dy = eg_ones_like(y);
    return dy ? eg_tape_gradients(tape, y, ask, n, g, .dy = dy) : eg_last_error()->code;
}

typedef struct stepped {
    const egt_op_case *k;
    eg_tensor *x[EGT_MAX_INPUTS];
} stepped;

static bool same_step(void *user)
{
    stepped *s = user;
    eg_random_state at = eg_random_get_state();
    eg_status st = step(s->k, s->x);
    eg_random_set_state(at);
    return !st;
}

static void check_allocations(const egt_op_case *k)
{
    stepped s = {k, {0}};
    make_inputs(k, k->flags & EGT_NO_FLOAT ? EG_I64 : EG_F32, CONTIGUOUS, where(), s.x);
    egt_fail_allocations(same_step, &s);
}

static bool names(const char *ops, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = ops; (p = strstr(p, name)); p += n) {
        if ((p == ops || p[-1] == ' ') && (p[n] == 0 || p[n] == ' ')) {
            return true;
        }
    }
    return false;
}

/* Skips the case if the device lacks a kernel for one of its ops. */
static void look_for_kernels(const eg_op_info *info, void *user)
{
    const egt_op_case *k = user;
    if (!eg_device_runs(where(), info->name) && names(k->ops, info->name)) {
        egt_skip("%s has no kernel on %s", info->name, eg_device_name(where()));
    }
}

/* How many are tried: a second run on a device, for something else, need not try all again. */
static enum layout layouts(void)
{
    const char *s = getenv("EGT_LAYOUTS");
    int n = s ? atoi(s) : LAYOUTS;
    return n > 0 && n < LAYOUTS ? (enum layout)n : LAYOUTS;
}

static void sweep(const egt_op_case *k)
{
    if (where() != eg_cpu()) {
        eg_op_walk(look_for_kernels, (void *)k);
    }
    static const eg_dtype halves[] = {EG_F16, EG_BF16}, ints[] = {EG_I64, EG_I32, EG_U8};
    for (enum layout l = CONTIGUOUS; l < layouts(); l++) {
        for (eg_dtype t = EG_F32; t <= EG_F64 && !(k->flags & EGT_NO_FLOAT); t++) {
            EG_SCOPE {
                name_case(k, "value", t, l);
                check_value(k, t, l);
            }
        }
        for (int i = 0; i < 2 && !(k->flags & (EGT_NO_HALF | EGT_NO_FLOAT)); i++) {
            EG_SCOPE {
                name_case(k, "value", halves[i], l);
                check_value(k, halves[i], l);
            }
        }
        for (int i = 0; i < 3 && k->flags & EGT_INTS; i++) {
            EG_SCOPE {
                name_case(k, "value", ints[i], l);
                check_value(k, ints[i], l);
            }
        }
        if (k->flags & EGT_BOOL) {
            EG_SCOPE {
                name_case(k, "value", EG_BOOL, l);
                check_value(k, EG_BOOL, l);
            }
        }
        if (!(k->flags & (EGT_NO_GRAD | EGT_NO_FLOAT))) {
            EG_SCOPE {
                name_case(k, "gradient", EG_F64, l);
                check_gradient(k, l);
            }
        }
        if (k->flags & EGT_NO_LAYOUT) {
            break;
        }
    }
    EG_SCOPE {
        name_case(k, "NULL", EG_F32, CONTIGUOUS);
        check_null(k);
    }
    EG_SCOPE {
        name_case(k, "allocations", EG_F32, CONTIGUOUS);
        check_allocations(k);
    }
}

/* ---- times ------------------------------------------------------------------------------------ */

static double now_us(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* Microseconds of one forward, devices waited for: the best of five rounds that take `ms` milliseconds together. */
static double time_of(const egt_op_case *k, eg_tensor *const *x, double ms)
{
    double best = (double)INFINITY;
    for (int64_t round = 0, n = 1; round < 5; round++) {
        const double begin = now_us();
        bool good = true;
        for (int64_t i = 0; i < n; i++) {
            EG_SCOPE {
                good &= k->f(x, egt_inputs(k), k->user) != NULL;
            }
        }
        if (!good || eg_device_synchronize(where())) {
            skip_if_no_kernel();
            egt_fail(__FILE__, __LINE__, "refused");
        }
        const double each = (now_us() - begin) / (double)n;
        best = round && each > best ? best : each; /* the first call is warmer next time */
        n = each * (double)n < ms * 100 ? (int64_t)(ms * 200 / each) + 1 : n;
    }
    return best;
}

/* The case's row in a list of times: on the device, and by the reference on the CPU. */
static void bench(const egt_op_case *k, double ms)
{
    eg_tensor *x[EGT_MAX_INPUTS];
    const eg_dtype dtype = k->flags & EGT_NO_FLOAT ? EG_I64 : EG_F32;
    eg_device *before = eg_use_device(where());
    name_case(k, "time", dtype, CONTIGUOUS);
    make_inputs(k, dtype, CONTIGUOUS, where(), x);
    const double there = time_of(k, x, ms);
    eg_use_device(before);
    make_inputs(k, dtype, CONTIGUOUS, eg_cpu(), x);
    EGT_OK(eg_debug("ref"));
    const double reference = time_of(k, x, ms);
    EGT_OK(eg_debug(NULL));
    printf("%12.2f us %12.2f us by the reference  %s (%s)\n", there, reference, k->ops, k->name);
}

/* ---- the tests: one per case, and the check that none is missing -------------------------------- */

static const egt_op_case *current;

static void run_current(void)
{
    const char *ms = getenv("EGT_BENCH");
    if (ms) {
        bench(current, atof(ms) > 1 ? atof(ms) : 1);
    } else {
        sweep(current);
    }
}

const egt_test *egt_next_case(void)
{
    static const egt_op_cases *family;
    static int next;
    static char name[128];
    static egt_test t = {name, run_current, NULL};
    family = next == 0 && !family ? families : family;
    while (family && next == family->count) {
        family = family->next;
        next = 0;
    }
    if (!family) {
        return NULL;
    }
    current = &family->cases[next++];
    snprintf(name, sizeof name, "%s (%s)", current->ops, current->name);
    return &t;
}

static void look_for(const eg_op_info *info, void *user)
{
    const char **missing = user;
    size_t n = strlen(info->name);
    bool found = n > 5 && !strcmp(info->name + n - 5, "_grad"); /* tried through their ops */
    for (const egt_op_cases *f = families; f && !found; f = f->next) {
        for (int i = 0; i < f->count && !found; i++) {
            found = names(f->cases[i].ops, info->name);
        }
    }
    *missing = found ? *missing : info->name;
}

EGT(every_row_has_a_case)
{
    const char *missing = NULL;
    eg_op_walk(look_for, &missing);
    if (missing) {
        egt_fail(__FILE__, __LINE__, "op %s has no case under tests/cases", missing);
    }
}
