/* attention.c - scaled dot product attention and its gradients, one row of weights after the other. */
#include <math.h>

#include "lib/ops/attention.h"
#include "lib/math/philox.h"
#include "lib/ref/ref.h"

/* An operand: where its matrix begins, strides of rows and columns. */
typedef struct matrix {
    const eg_tensor *t;
    int64_t lead[EG_MAX_DIMS], at, row, column;
} matrix;

typedef struct job {
    const eg__attention_opts *o;
    eg__attended g;
    eg__band band;
    matrix q, k, v, mask, slopes;
    int64_t b;
} job;

static matrix matrix_of(const eg__attended *g, const eg_tensor *t)
{
    matrix m = {.t = t};
    if (t) {
        eg__lead_strides(g, t, m.lead);
        m.row = t->shape[t->ndim - 2] == 1 ? 0 : t->strides[t->ndim - 2];
        m.column = t->shape[t->ndim - 1] == 1 ? 0 : t->strides[t->ndim - 1];
    }
    return m;
}

static void to_matrix(const eg__attended *g, matrix *m, int64_t b)
{
    m->at = eg__lead_at(g, m->lead, b);
}

static int64_t place(const matrix *m, int64_t row, int64_t column)
{
    return m->at + row * m->row + column * m->column;
}

static double get(const matrix *m, int64_t row, int64_t column)
{
    return eg__get_at(m->t, place(m, row, column));
}

static job job_of(const eg__call *c, eg_tensor *const *qkv, const eg_tensor *mask, const eg_tensor *slopes)
{
    job j = {.o = c->opts, .g = eg__attended_of(qkv[0], qkv[1], qkv[2], mask)};
    j.band = eg__attention_band(j.o, j.g.t, j.g.s);
    j.q = matrix_of(&j.g, qkv[0]);
    j.k = matrix_of(&j.g, qkv[1]);
    j.v = matrix_of(&j.g, qkv[2]);
    j.mask = matrix_of(&j.g, mask);
    j.slopes = matrix_of(&j.g, slopes);
    return j;
}

static void to_batch(job *j, int64_t b)
{
    matrix *all[5] = {&j->q, &j->k, &j->v, &j->mask, &j->slopes};
    j->b = b;
    for (int i = 0; i < 5; i++) {
        to_matrix(&j->g, all[i], b);
    }
}

static double dot(const matrix *a, int64_t i, const matrix *b, int64_t k, int64_t n)
{
    double sum = 0;
    for (int64_t c = 0; c < n; c++) {
        sum += get(a, i, c) * get(b, k, c);
    }
    return sum;
}

static bool hidden(const job *j, int64_t t, int64_t s)
{
    return s - t < j->band.low || s - t > j->band.high ||
           (j->mask.t && j->mask.t->dtype == EG_BOOL && get(&j->mask, t, s) == 0);
}

/* The score of key s for query t before the mask; *slope: of its cap. */
static double capped(const job *j, int64_t t, int64_t s, double *slope)
{
    const double x = dot(&j->q, t, &j->k, s, j->g.d) * j->o->scale, cap = j->o->softcap;
    const double share = cap > 0 ? tanh(x / cap) : 0;
    *slope = 1 - share * share;
    return cap > 0 ? cap * share : x;
}

/* What the slope takes from the score of key s for query t. */
static double taken(const job *j, int64_t t, int64_t s)
{
    const int64_t apart = t + eg__attention_corner(j->o, j->g.t, j->g.s) - s;
    return j->slopes.t ? get(&j->slopes, 0, 0) * fabs((double)apart) : 0;
}

/* The scores of query t. */
static void score(const job *j, int64_t t, double *x)
{
    const bool add = j->mask.t && j->mask.t->dtype != EG_BOOL;
    double slope;
    for (int64_t s = 0; s < j->g.s; s++) {
        x[s] = -(double)INFINITY;
        if (!hidden(j, t, s)) {
            x[s] = capped(j, t, s, &slope) - taken(j, t, s) + (add ? get(&j->mask, t, s) : 0);
        }
    }
}

/* What dropout multiplies a weight with. */
static double kept(const job *j, int64_t t, int64_t s)
{
    const double p = j->o->dropout;
    const int64_t at = eg__lead_at(&j->g, j->g.weights, j->b) + t * j->g.s + s;
    if (p <= 0) {
        return 1;
    }
    return eg__chance(eg__philox_word(j->o->from.seed, j->o->from.offset, at), eg__threshold(p)) ? 0 : 1 / (1 - p);
}

/* Scores become weights; gives the logarithm of the sum of their exponentials, infinity where nothing is seen: then
 * these to its power are 0. */
static double soften(double *x, int64_t n)
{
    double top = -(double)INFINITY, sum = 0;
    for (int64_t s = 0; s < n; s++) {
        top = x[s] > top || x[s] != x[s] ? x[s] : top;
    }
    if (top == -(double)INFINITY) {
        memset(x, 0, (size_t)n * sizeof *x);
        return (double)INFINITY;
    }
    for (int64_t s = 0; s < n; s++) {
        sum += x[s] = exp(x[s] - top);
    }
    for (int64_t s = 0; s < n; s++) {
        x[s] /= sum;
    }
    return top + log(sum);
}

eg_status eg__ref_attention(const eg__call *c)
{
    job j = job_of(c, c->in, c->nin > 3 ? c->in[3] : NULL, c->nin > 4 ? c->in[4] : NULL);
    matrix y = matrix_of(&j.g, c->out[0]);
    eg__scratch scratch;
    eg_status st = eg__scratch_get(c, (size_t)j.g.s * sizeof(double), &scratch);
    double *x = scratch.data;
    if (st) {
        return st;
    }
    for (int64_t b = 0; b < j.g.batches; b++) {
        to_batch(&j, b);
        to_matrix(&j.g, &y, b);
        for (int64_t t = 0; t < j.g.t; t++) {
            score(&j, t, x);
            eg__set_at(c->out[1], b * j.g.t + t, soften(x, j.g.s));
            for (int64_t s = 0; s < j.g.s && j.o->dropout > 0; s++) {
                x[s] *= kept(&j, t, s);
            }
            for (int64_t i = 0; i < j.g.v; i++) {
                double sum = 0;
                for (int64_t s = 0; s < j.g.s; s++) {
                    sum += x[s] * get(&j.v, s, i);
                }
                eg__set_at(c->out[0], place(&y, t, i), sum);
            }
        }
    }
    eg__scratch_put(c, &scratch);
    return EG_OK;
}

/* Adds what query t gives; dq, dk, dv: of one matrix, row-major. */
static void grad_row(const job *j, const matrix *dy, const matrix *y, double stat, int64_t t, double *x, double *dq,
                     double *dk, double *dv)
{
    const int64_t d = j->g.d, v = j->g.v;
    const double delta = dot(dy, t, y, t, v);
    score(j, t, x);
    for (int64_t s = 0; s < j->g.s; s++) {
        const double keep = kept(j, t, s), w = exp(x[s] - stat);
        double bend = 1, slope = 0;
        if (!hidden(j, t, s)) {
            capped(j, t, s, &bend);
            slope = w * (keep * dot(dy, t, &j->v, s, v) - delta) * bend * j->o->scale;
        }
        for (int64_t i = 0; i < v; i++) {
            dv[s * v + i] += (keep == 0 ? 0 : w * keep) * get(dy, t, i);
        }
        for (int64_t i = 0; i < d; i++) {
            dk[s * d + i] += slope * get(&j->q, t, i);
            dq[t * d + i] += slope * get(&j->k, s, i);
        }
    }
}

static void store(const eg__attended *g, eg_tensor *t, int64_t b, const double *from)
{
    matrix m = matrix_of(g, t);
    const int64_t rows = t->shape[t->ndim - 2], columns = t->shape[t->ndim - 1];
    to_matrix(g, &m, b);
    for (int64_t i = 0; i < rows * columns; i++) {
        eg__set_at(t, place(&m, i / columns, i % columns), from[i]);
    }
}

eg_status eg__ref_attention_grad(const eg__call *c)
{
    job j = job_of(c, c->in + 1, c->nin > 6 ? c->in[6] : NULL, c->nin > 7 ? c->in[7] : NULL);
    matrix dy = matrix_of(&j.g, c->in[0]), y = matrix_of(&j.g, c->in[4]);
    const int64_t nq = j.g.t * j.g.d, nk = j.g.s * j.g.d, nv = j.g.s * j.g.v;
    const size_t bytes = (size_t)(j.g.s + nq + nk + nv) * sizeof(double);
    eg__scratch scratch;
    eg_status st = eg__scratch_get(c, bytes, &scratch);
    if (st) {
        return st;
    }
    double *x = scratch.data, *dq = x + j.g.s, *dk = dq + nq, *dv = dk + nk;
    for (int64_t b = 0; b < j.g.batches; b++) {
        memset(x, 0, bytes);
        to_batch(&j, b);
        to_matrix(&j.g, &dy, b);
        to_matrix(&j.g, &y, b);
        for (int64_t t = 0; t < j.g.t; t++) {
            grad_row(&j, &dy, &y, eg__get_at(c->in[5], b * j.g.t + t), t, x, dq, dk, dv);
        }
        store(&j.g, c->out[0], b, dq);
        store(&j.g, c->out[1], b, dk);
        store(&j.g, c->out[2], b, dv);
    }
    eg__scratch_put(c, &scratch);
    return EG_OK;
}
