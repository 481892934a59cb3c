/* ctc.c - connectionist temporal classification (Graves et al. 2006, equations 6 to 16), in logarithms. */
#include <math.h>

#include "lib/ops/ctc_rows.h"
#include "lib/ops/rnn.h"
#include "lib/ref/ref.h"

/* log (e^a + e^b) */
static double add(double a, double b)
{
    const double most = a > b ? a : b, least = a > b ? b : a;
    return most + log1p(exp(least - most));
}

/* One row, and where its numbers are. */
typedef struct place {
    eg__ctc_row row;
    const eg_tensor *x, *alpha;
    int64_t r, blank;
} place;

static double emission(const place *p, int64_t t, int64_t state)
{
    const int64_t *step = p->x->strides, label = eg__ctc_label(&p->row, p->blank, state);
    const double v = eg__get_at(p->x, t * step[0] + p->r * step[1] + label * step[2]);
    return v < EG__CTC_NEVER ? EG__CTC_NEVER : v;
}

static int64_t alpha_at(const place *p, int64_t t, int64_t state)
{
    return (p->r * p->alpha->shape[1] + t) * p->alpha->shape[2] + state;
}

/* The probability of the first labels up to the state in frames 0..t. */
static double alpha(const place *p, int64_t t, int64_t s)
{
    if (t == 0) {
        return (s < 2 ? 0 : EG__CTC_NEVER) + emission(p, 0, s);
    }
    double sum = eg__get_at(p->alpha, alpha_at(p, t - 1, s));
    sum = s > 0 ? add(sum, eg__get_at(p->alpha, alpha_at(p, t - 1, s - 1))) : sum;
    sum = eg__ctc_skips(&p->row, s) ? add(sum, eg__get_at(p->alpha, alpha_at(p, t - 1, s - 2))) : sum;
    return sum + emission(p, t, s);
}

static double loss_of(const place *p)
{
    const int64_t frames = p->row.frames, states = p->row.states;
    if (!frames || !states) {
        return states == 1 ? 0 : (double)INFINITY;
    }
    double end = eg__get_at(p->alpha, alpha_at(p, frames - 1, states - 1));
    end = states > 1 ? add(end, eg__get_at(p->alpha, alpha_at(p, frames - 1, states - 2))) : end;
    return EG__CTC_POSSIBLE(-end) ? -end : (double)INFINITY;
}

/* Of a device, where nobody has looked before: lengths that there are, and labels that are classes and no blanks. */
static eg_status check(const eg__call *c, const place *p)
{
    const eg__ctc_opts *o = c->opts;
    const eg_tensor *targets = c->in[1];
    const int64_t first = p->row.labels - (const int64_t *)eg__ptr(targets), classes = p->x->shape[2];
    if (p->row.frames < 0 || p->row.frames > p->x->shape[0]) {
        return eg__fail(EG_EINDEX, c->op->name, EG__SAY_LENGTH, (long long)p->row.frames, (long long)p->r,
                        (long long)p->x->shape[0]);
    }
    if (p->row.count < 0 || p->row.count > o->longest || first < 0 || first > targets->n - p->row.count) {
        return eg__fail(EG_EINDEX, c->op->name, EG__SAY_LENGTH, (long long)p->row.count, (long long)p->r,
                        (long long)o->longest);
    }
    for (int64_t i = 0; i < p->row.count; i++) {
        const long long v = (long long)p->row.labels[i];
        if (v < 0 || v >= classes) {
            return eg__fail(EG_EINDEX, c->op->name, "index %lld is outside 0..%lld", v, (long long)classes - 1);
        }
        if (v == o->blank) {
            return eg__fail(EG_EINVAL, c->op->name, "label %lld of row %lld is the blank, %lld", (long long)i,
                            (long long)p->r, v);
        }
    }
    return EG_OK;
}

eg_status eg__ref_ctc_loss(const eg__call *c)
{
    const eg__ctc_opts *o = c->opts;
    const eg_tensor *x = c->in[0];
    place p = {.x = x, .alpha = c->out[1], .blank = o->blank};
    for (p.r = 0; p.r < x->shape[1]; p.r++) {
        p.row = eg__ctc_row_of(o, x, c->in[1], c->in[2], c->in[3], p.r);
        if (c->device && check(c, &p)) {
            return eg__why();
        }
        for (int64_t t = 0; t < x->shape[0]; t++) {
            for (int64_t s = 0; s < p.alpha->shape[2]; s++) {
                const bool there = t < p.row.frames && s < p.row.states;
                eg__set_at(p.alpha, alpha_at(&p, t, s), there ? alpha(&p, t, s) : EG__CTC_NEVER);
            }
        }
        const double loss = loss_of(&p);
        eg__set_at(c->out[0], p.r, o->zero_infinity && loss > 0 && isinf(loss) ? 0 : loss * p.row.share);
    }
    return EG_OK;
}

/* beta[s]: the probability of the rest of the labels in the frames behind t, from the state on. */
static void step_back(const place *p, int64_t t, double *beta)
{
    const int64_t states = p->row.states;
    for (int64_t s = 0; s < states; s++) {
        double sum = beta[s] + emission(p, t, s);
        sum = s + 1 < states ? add(sum, beta[s + 1] + emission(p, t, s + 1)) : sum;
        const bool skips = s + 2 < states && eg__ctc_skips(&p->row, s + 2);
        beta[s] = skips ? add(sum, beta[s + 2] + emission(p, t, s + 2)) : sum;
    }
}

/* dx = dy (e^x - share of the paths), of a row that has some. */
static void slopes(const place *p, double dy, double loss, const eg_tensor *dx, double *beta)
{
    const int64_t *step = p->x->strides, *to = dx->strides;
    for (int64_t t = p->row.frames; t-- > 0;) {
        for (int64_t s = 0; s < p->row.states && t == p->row.frames - 1; s++) {
            beta[s] = s + 2 < p->row.states ? EG__CTC_NEVER : 0;
        }
        for (int64_t k = 0; k < dx->shape[2]; k++) {
            double v = exp(eg__get_at(p->x, t * step[0] + p->r * step[1] + k * step[2]));
            for (int64_t s = 0; s < p->row.states; s++) {
                const bool here = eg__ctc_label(&p->row, p->blank, s) == k;
                v -= here ? exp(eg__get_at(p->alpha, alpha_at(p, t, s)) + beta[s] + loss) : 0;
            }
            eg__set_at(dx, t * to[0] + p->r * to[1] + k * to[2], dy * v);
        }
        step_back(p, t, beta);
    }
}

eg_status eg__ref_ctc_loss_grad(const eg__call *c)
{
    const eg__ctc_opts *o = c->opts;
    const eg_tensor *dy = c->in[0], *x = c->in[1], *dx = c->out[0];
    place p = {.x = x, .alpha = c->in[3], .blank = o->blank};
    eg__scratch beta = {0};
    eg_status st = eg__scratch_get(c, (size_t)p.alpha->shape[2] * sizeof(double), &beta);
    for (p.r = 0; p.r < x->shape[1] && !st; p.r++) {
        p.row = eg__ctc_row_of(o, x, c->in[2], c->in[4], c->in[5], p.r);
        const double loss = loss_of(&p);
        const bool never = loss > 0 && isinf(loss);
        const double none = never && !o->zero_infinity ? (double)NAN : 0;
        for (int64_t i = 0; i < x->shape[0] * x->shape[2]; i++) {
            const int64_t t = i / x->shape[2], k = i % x->shape[2];
            eg__set_at(dx, t * dx->strides[0] + p.r * dx->strides[1] + k * dx->strides[2], t < p.row.frames ? none : 0);
        }
        if (!never) {
            slopes(&p, eg__get_at(dy, p.r * dy->strides[0]) * p.row.share, loss, dx, beta.data);
        }
    }
    eg__scratch_put(c, &beta);
    return st;
}

/* What a path spells. */
eg_status eg__ref_ctc_collapse(const eg__call *c)
{
    const eg__ctc_opts *o = c->opts;
    const eg_tensor *path = c->in[0];
    const int64_t frames = path->shape[0], rows = path->shape[1], *at = (const int64_t *)eg__ptr(path);
    int64_t *labels = (int64_t *)eg__ptr(c->out[0]), *lengths = (int64_t *)eg__ptr(c->out[1]);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t end = o->frames ? eg__get_int_at(c->in[1], r) : frames;
        int64_t n = 0;
        for (int64_t t = 0; t < frames; t++) {
            labels[r * frames + t] = -1;
        }
        for (int64_t t = 0; t < end; t++) {
            const int64_t k = at[t * rows + r];
            if (k != o->blank && (t == 0 || k != at[(t - 1) * rows + r])) {
                labels[r * frames + n++] = k;
            }
        }
        lengths[r] = n;
    }
    return EG_OK;
}
