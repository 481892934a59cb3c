/* gradcheck.c - gradients against central differences, in the user's hands too. */
#include <math.h>

#include "autograd/record.h"
#include "lib/core/device.h"

static const char me[] = "eg_gradcheck";

enum { MAX_INPUTS = 16, EACH_ELEMENT_UP_TO = 64 };

typedef struct check {
    eg_function f;
    eg_tensor *const *x;
    int n;
    void *user;
    eg_gradcheck_options o;
    int first; /* number of the tape's derivative being differenced: 0 f, 1 its gradient */
} check;

/* Fixed weights in 0.5..1.5, other for every element, so that errors do not cancel. */
static double weight(int64_t i)
{
    return 0.5 + (double)((uint64_t)(i + 1) * 0x9e3779b97f4a7c15u >> 40) * 0x1p-24;
}

static eg_tensor *weights_like(const eg_tensor *y)
{
    eg_tensor *w = eg__empty_on(0, eg_shape_of(y), EG_F64);
    for (int64_t i = 0; w && i < w->n; i++) {
        ((double *)eg__ptr(w))[i] = weight(i);
    }
    return w;
}

static eg_tensor *ask(const check *c)
{
    return eg__ask(c->f, c->x, c->n, c->user, me, "function");
}

/* A number from a tensor: the weighted sum of its elements. */
static eg_tensor *weigh(eg_tensor *y)
{
    if (!y) {
        return NULL;
    }
    eg_tensor *w = eg_to(weights_like(y), eg_device_of(y));
    return eg_sum(eg_mul(eg_cast(y, EG_F64), w));
}

static eg_status gradients(const check *c, eg_tensor **g)
{
    eg_tape t = eg_tape_open();
    eg_status st = t.id ? EG_OK : eg__why();
    eg_tensor *wanted[MAX_INPUTS], *got[MAX_INPUTS];
    int which[MAX_INPUTS], n = 0;
    for (int i = 0; i < c->n; i++) {
        g[i] = NULL;
        if (!(c->o.skip >> i & 1)) {
            which[n] = i;
            wanted[n++] = c->x[i];
            st = st ? st : eg_tape_watch(t, c->x[i]);
        }
    }
    /* Squared, so that the gradient of a linear function varies too. */
    eg_tensor *y = st ? NULL : weigh(eg_square(ask(c)));
    st = st ? st : y ? eg_tape_gradients(t, y, wanted, n, got) : eg__why();
    for (int k = 0; !st && k < n; k++) {
        g[which[k]] = eg_contiguous(got[k]);
        st = g[which[k]] ? EG_OK : eg__why();
    }
    return st;
}

/* The number that is differenced: f, or the weighted sum of squares of its gradients. */
static eg_tensor *number(const check *c)
{
    eg_tensor *g[MAX_INPUTS], *sum = NULL;
    if (!c->first) {
        return weigh(ask(c));
    }
    if (gradients(c, g)) {
        return NULL;
    }
    for (int i = 0; i < c->n; i++) {
        if (g[i]) {
            eg_tensor *s = weigh(eg_square(g[i]));
            sum = sum ? eg_add(sum, s) : s;
        }
    }
    return sum;
}

/* number() with input i moved by h along direction d (NULL: element k alone); x is restored. */
static eg_status moved(const check *c, int i, int64_t k, const double *d, double h, double *value)
{
    eg_tensor *x = c->x[i];
    double *p = (double *)eg__ptr(x);
    int64_t from = d ? 0 : k, to = d ? x->n : k + 1;
    eg_scope s = eg_scope_push();
    eg_tensor *old = eg_contiguous(eg_copy(x));
    eg_status st = old ? EG_OK : eg__why();
    for (int64_t e = from; !st && e < to; e++) {
        p[eg__place(x->ndim, x->shape, x->strides, e)] += h * (d ? d[e] : 1);
    }
    eg_tensor *y = st ? NULL : number(c);
    for (int64_t e = from; !st && e < to; e++) {
        p[eg__place(x->ndim, x->shape, x->strides, e)] = ((double *)eg__ptr(old))[e];
    }
    st = st ? st : y ? EG_OK : eg__why();
    *value = y ? eg_item(y) : 0;
    eg_scope_pop(s, NULL);
    return st;
}

static eg_status compare(const check *c, int i, int64_t k, const double *d, double found)
{
    double h = c->o.step, low, high;
    eg_status st = moved(c, i, k, d, h, &high);
    st = st ? st : moved(c, i, k, d, -h, &low);
    if (st) {
        return st;
    }
    double want = (high - low) / (2 * h);
    if (!(fabs(want - found) <= c->o.tolerance * (1 + fabs(want)))) {
        return eg__fail(EG_EUSER, me,
                        "%s derivative by input %d%s%lld: the tape says %.9g, "
                        "differences say %.9g",
                        c->first ? "second" : "first", i, d ? " along a direction of " : " element ", (long long)k,
                        found, want);
    }
    return EG_OK;
}

/* The gradient of number() by the tape, then element by element or along one direction. */
static eg_status run(const check *c)
{
    eg_tensor *g[MAX_INPUTS] = {NULL}, *wanted[MAX_INPUTS], *got[MAX_INPUTS];
    int which[MAX_INPUTS], n = 0;
    eg_tape t = eg_tape_open();
    eg_status st = t.id ? EG_OK : eg__why();
    for (int i = 0; i < c->n && !st; i++) {
        if (!(c->o.skip >> i & 1)) {
            which[n] = i;
            wanted[n++] = c->x[i];
            st = eg_tape_watch(t, c->x[i]);
        }
    }
    eg_tensor *y = st ? NULL : number(c);
    st = st ? st : y ? eg_tape_gradients(t, y, wanted, n, got) : eg__why();
    for (int k = 0; !st && k < n; k++) {
        g[which[k]] = eg_contiguous(got[k]);
        st = g[which[k]] ? EG_OK : eg__why();
    }
    for (int i = 0; i < c->n && !st; i++) {
        if (!g[i]) {
            continue;
        }
        const double *slope = (const double *)eg__ptr(g[i]);
        if (c->x[i]->n <= EACH_ELEMENT_UP_TO) {
            for (int64_t k = 0; k < c->x[i]->n && !st; k++) {
                st = compare(c, i, k, NULL, slope[k]);
            }
            continue;
        }
        eg_tensor *d = weights_like(c->x[i]);
        double along = 0;
        for (int64_t k = 0; d && k < d->n; k++) {
            double *p = (double *)eg__ptr(d) + k;
            *p = (*p - 1) / sqrt((double)d->n);
            along += *p * slope[k];
        }
        st = d ? compare(c, i, d->n, (const double *)eg__ptr(d), along) : eg__why();
    }
    return st;
}

eg_status eg_gradcheck_with(eg_function f, eg_tensor *const *inputs, int n, void *user,
                            const eg_gradcheck_options *options)
{
    check c = {.f = f, .x = inputs, .n = n, .user = user};
    eg__options(&c.o, sizeof c.o, options);
    c.o.step = eg__or(c.o.step, 1e-5);
    c.o.tolerance = eg__or(c.o.tolerance, 1e-6);
    if (!(c.o.step > 0 && c.o.tolerance >= 0)) {
        return eg__fail(EG_EINVAL, me, "step is %g, must be above 0; tolerance %g, must not be negative", c.o.step,
                        c.o.tolerance);
    }
    if (!f || n < 1 || n > MAX_INPUTS) {
        return eg__fail(EG_EINVAL, me, "needs a function and 1..%d inputs, got %d", MAX_INPUTS, n);
    }
    if (!inputs) {
        return eg__null_argument(me, "inputs");
    }
    for (int i = 0; i < n; i++) {
        if (eg__check(inputs[i], me, "an input") || eg__host_only(inputs[i], me, "an input")) {
            return eg__why();
        }
        if (!(c.o.skip >> i & 1) && inputs[i]->dtype != EG_F64) {
            return eg__fail(EG_EDTYPE, me, "input %d is %s, differences need f64", i,
                            eg_dtype_name((eg_dtype)inputs[i]->dtype));
        }
    }
    eg_scope s = eg_scope_push();
    eg_status st = run(&c);
    if (!st && c.o.second) {
        c.first = 1;
        c.o.tolerance *= 10; /* differences of differences */
        st = run(&c);
    }
    eg_scope_pop(s, NULL);
    return st;
}
