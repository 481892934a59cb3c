/* reduce.c - reductions, element by element. */
#include <math.h>

#include "lib/ops/options.h"
#include "lib/ref/ref.h"

/* A reduction: results in row-major order, and the elements behind each, in row-major order too. */
typedef struct group {
    const eg_tensor *x, *y;
    const eg__reduce_opts *o;
    int64_t count; /* elements behind each result */
} group;

static group grouped(const eg__call *c)
{
    group g = {c->in[0], c->out[0], c->opts, 1};
    for (int d = 0; d < g.x->ndim; d++) {
        g.count *= g.o->axes >> d & 1 ? g.x->shape[d] : 1;
    }
    return g;
}

/* Where element j behind result i lies in x. */
static int64_t from(const group *g, int64_t i, int64_t j)
{
    int64_t at = 0;
    for (int d = g->x->ndim; d-- > 0;) {
        int64_t *rest = g->o->axes >> d & 1 ? &j : &i;
        at += *rest % g->x->shape[d] * g->x->strides[d];
        *rest /= g->x->shape[d];
    }
    return at;
}

static double get(const group *g, int64_t i, int64_t j)
{
    return eg__get_at(g->x, from(g, i, j));
}

static int64_t get_int(const group *g, int64_t i, int64_t j)
{
    return eg__get_int_at(g->x, from(g, i, j));
}

static void set(const group *g, int64_t i, double v)
{
    eg__set_at(g->y, eg__at(g->y, g->y, i), v);
}

static void set_int(const group *g, int64_t i, int64_t v)
{
    eg__set_int_at(g->y, eg__at(g->y, g->y, i), v);
}

eg_status eg__ref_sum(const eg__call *c)
{
    group g = grouped(c);
    for (int64_t i = 0; i < g.y->n; i++) {
        double sum = 0;
        uint64_t whole = 0;
        for (int64_t j = 0; j < g.count; j++) {
            if (eg__is_float(g.x->dtype)) {
                sum += get(&g, i, j);
            } else {
                whole += (uint64_t)get_int(&g, i, j);
            }
        }
        if (eg__is_float(g.x->dtype)) {
            set(&g, i, sum);
        } else {
            set_int(&g, i, (int64_t)whole);
        }
    }
    return EG_OK;
}

static double mean_of(const group *g, int64_t i)
{
    double sum = 0;
    for (int64_t j = 0; j < g->count; j++) {
        sum += get(g, i, j);
    }
    return sum / (double)g->count;
}

eg_status eg__ref_mean(const eg__call *c)
{
    group g = grouped(c);
    for (int64_t i = 0; i < g.y->n; i++) {
        set(&g, i, mean_of(&g, i));
    }
    return EG_OK;
}

eg_status eg__ref_prod(const eg__call *c)
{
    group g = grouped(c);
    for (int64_t i = 0; i < g.y->n; i++) {
        double product = 1;
        uint64_t whole = 1;
        for (int64_t j = 0; j < g.count; j++) {
            if (eg__is_float(g.x->dtype)) {
                product *= get(&g, i, j);
            } else {
                whole *= (uint64_t)get_int(&g, i, j);
            }
        }
        if (eg__is_float(g.x->dtype)) {
            set(&g, i, product);
        } else {
            set_int(&g, i, (int64_t)whole);
        }
    }
    return EG_OK;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static int64_t nonzero(const group *g, int64_t i)
{
    int64_t n = 0;
    for (int64_t j = 0; j < g->count; j++) {
        n += get(g, i, j) != 0;
    }
    return n;
}

eg_status eg__ref_count_nonzero(const eg__call *c)
{
    group g = grouped(c);
    for (int64_t i = 0; i < g.y->n; i++) {
        set_int(&g, i, nonzero(&g, i));
    }
    return EG_OK;
}

eg_status eg__ref_any(const eg__call *c)
{
    group g = grouped(c);
    for (int64_t i = 0; i < g.y->n; i++) {
        set_int(&g, i, nonzero(&g, i) > 0);
    }
    return EG_OK;
}

eg_status eg__ref_all(const eg__call *c)
{
    group g = grouped(c);
    for (int64_t i = 0; i < g.y->n; i++) {
        set_int(&g, i, nonzero(&g, i) == g.count);
    }
    return EG_OK;
}

/* ---- extremes -------------------------------------------------------------------------------- */

/* Which element behind result i is the largest (sign 1) or smallest (-1): the first NaN, else the first of
 * equals. */
static int64_t extreme(const group *g, int64_t i, int sign)
{
    int64_t best = 0;
    for (int64_t j = 1; j < g->count; j++) {
        if (eg__is_float(g->x->dtype)) {
            double v = get(g, i, j), b = get(g, i, best);
            best = !isnan(b) && (isnan(v) || sign * v > sign * b) ? j : best;
        } else {
            int64_t v = get_int(g, i, j), b = get_int(g, i, best);
            best = (sign > 0 ? v > b : v < b) ? j : best;
        }
    }
    return best;
}

static eg_status extremes(const eg__call *c, int sign)
{
    group g = grouped(c);
    for (int64_t i = 0; i < g.y->n; i++) {
        int64_t j = extreme(&g, i, sign);
        if (eg__is_float(g.x->dtype)) {
            set(&g, i, get(&g, i, j));
        } else {
            set_int(&g, i, get_int(&g, i, j));
        }
    }
    return EG_OK;
}

static eg_status places(const eg__call *c, int sign)
{
    group g = grouped(c);
    for (int64_t i = 0; i < g.y->n; i++) {
        set_int(&g, i, extreme(&g, i, sign));
    }
    return EG_OK;
}

eg_status eg__ref_max(const eg__call *c)
{
    return extremes(c, 1);
}

eg_status eg__ref_min(const eg__call *c)
{
    return extremes(c, -1);
}

eg_status eg__ref_argmax(const eg__call *c)
{
    return places(c, 1);
}

eg_status eg__ref_argmin(const eg__call *c)
{
    return places(c, -1);
}

/* ---- norms, spread, logsumexp ------------------------------------------------------------------ */

eg_status eg__ref_norm(const eg__call *c)
{
    group g = grouped(c);
    double p = g.o->p;
    for (int64_t i = 0; i < g.y->n; i++) {
        double r = p == -(double)INFINITY ? (double)INFINITY : 0;
        for (int64_t j = 0; j < g.count; j++) {
            double v = fabs(get(&g, i, j));
            if (isinf(p)) {
                r = isnan(v) || (p > 0 ? v > r : v < r) ? v : r;
            } else {
                r += p == 1 ? v : p == 2 ? v * v : pow(v, p);
            }
        }
        set(&g, i, isinf(p) || p == 1 ? r : p == 2 ? sqrt(r) : pow(r, 1 / p));
    }
    return EG_OK;
}

static double variance(const group *g, int64_t i)
{
    double mean = mean_of(g, i), sum = 0;
    for (int64_t j = 0; j < g->count; j++) {
        double v = get(g, i, j) - mean;
        sum += v * v;
    }
    return sum / (g->o->biased ? (double)g->count : fmax((double)g->count - 1, 0));
}

eg_status eg__ref_var(const eg__call *c)
{
    group g = grouped(c);
    for (int64_t i = 0; i < g.y->n; i++) {
        set(&g, i, variance(&g, i));
    }
    return EG_OK;
}

eg_status eg__ref_std(const eg__call *c)
{
    group g = grouped(c);
    for (int64_t i = 0; i < g.y->n; i++) {
        set(&g, i, sqrt(variance(&g, i)));
    }
    return EG_OK;
}

eg_status eg__ref_logsumexp(const eg__call *c)
{
    group g = grouped(c);
    for (int64_t i = 0; i < g.y->n; i++) {
        double top = g.count ? get(&g, i, extreme(&g, i, 1)) : -(double)INFINITY, sum = 0;
        double off = isinf(top) ? 0 : top;
        for (int64_t j = 0; j < g.count; j++) {
            sum += exp(get(&g, i, j) - off);
        }
        set(&g, i, off + log(sum));
    }
    return EG_OK;
}
