/* lstm.c - LSTM over sequences: the products with x in one go, then per step one product with the
 * states and one fused loop over the cells. Backwards likewise; weights' gradients are left to
 * products over all steps. */
#include <math.h>

#include "lib/cpu/rnn/rnn.h"
#include "lib/cpu/pointwise/vmath.h"

eg__kernel ISA(eg__cpu_lstm), ISA(eg__cpu_lstm_grad);

/* One step, as the loops over cells see it. */
typedef struct step {
    const eg__rnn_plan *p;
    int64_t t;
    char *z, *bias, *c_before, *c_after, *h_before, *h, *y;
    char *dz, *dc;
    double clip; /* NaN: none */
} step;

#define T       float
#define LANE(x) x##_f32
#define FN(x)   eg__f32_##x
#include "lib/cpu/rnn/lstm_rows.h"
#undef T
#undef LANE
#undef FN

#define T       double
#define LANE(x) x##_f64
#define FN(x)   eg__f64_##x
#include "lib/cpu/rnn/lstm_rows.h"
#undef T
#undef LANE
#undef FN

/* Projected states of rows that do not take the step stay; their y is 0. */
static void finish_projection(const step *s, int64_t es)
{
    size_t row = (size_t)(s->p->state * es);
    for (int64_t n = 0; n < s->p->rows; n++) {
        char *h = s->h + (size_t)n * row, *y = s->y + (size_t)n * row;
        if (eg__rnn_takes(s->p, n, s->t)) {
            memcpy(y, h, row);
        } else {
            memcpy(h, s->h_before + (size_t)n * row, row);
            memset(y, 0, row);
        }
    }
}

static eg_status forward_step(const eg__call *c, const eg__rnn_plan *p, int64_t index, step *s, char *unprojected)
{
    char *kept = eg__ptr(c->out[3]);
    const eg_tensor *w_hr = c->in[EG__RNN_W_HR];
    int64_t N = p->rows, H = p->width, R = p->state, es = (int64_t)eg__esize(c->out[3]);
    int64_t t = s->t = eg__rnn_time(p, index), before = eg__rnn_before(p, t) * N;
    int64_t after = eg__rnn_after(p, t) * N;
    eg_status st = EG_OK;
    s->z = kept + t * N * 4 * H * es;
    s->h_before = kept + (p->h + before * R) * es;
    s->c_before = kept + (p->c + before * H) * es;
    s->c_after = kept + (p->c + after * H) * es;
    if (index || c->in[EG__RNN_H0]) {
        st = eg__rnn_product(c, p->steps, N, (eg__rnn_matrix){s->h_before, R, R}, c->in[EG__RNN_W_HH], 0, true,
                             (eg__rnn_matrix){s->z, 4 * H, 4 * H}, true);
    }
    char *h = kept + (p->h + after * R) * es, *y = eg__ptr(c->out[0]) + t * N * R * es;
    s->h = w_hr ? unprojected : h;
    s->y = w_hr ? NULL : y;
    if (!st) {
        eg__rnn_cells(p, es == 8 ? forward_cells_f64 : forward_cells_f32, s);
    }
    if (!st && w_hr) {
        s->h = h;
        s->y = y;
        st = eg__rnn_product(c, p->steps, N, (eg__rnn_matrix){unprojected, H, H}, w_hr, 0, true,
                             (eg__rnn_matrix){h, R, R}, false);
        finish_projection(s, es);
    }
    return st;
}

static double clip_of(double clip)
{
    return clip > 0 ? clip : (double)NAN;
}

eg_status ISA(eg__cpu_lstm)(const eg__call *c)
{
    const eg_tensor *x = c->in[EG__RNN_X];
    if (x->dtype == EG_F16 || x->dtype == EG_BF16) {
        return eg__rnn_through_f32(c, ISA(eg__cpu_lstm));
    }
    eg__rnn_plan p = eg__rnn_forward_plan(c, 4);
    int64_t N = p.rows, H = p.width, R = p.state, es = (int64_t)eg__esize(x);
    char *kept = eg__ptr(c->out[3]);
    eg__scratch s;
    if (eg__scratch_get(c, (size_t)((4 * H + N * H) * es), &s)) {
        return EG_ENOMEM;
    }
    step now = {.p = &p, .bias = s.data, .clip = clip_of(((const eg__rnn_opts *)c->opts)->clip)};
    if (es == 8) {
        add_biases_f64(c->in[EG__RNN_B_IH], c->in[EG__RNN_B_HH], s.data, 4 * H);
    } else {
        add_biases_f32(c->in[EG__RNN_B_IH], c->in[EG__RNN_B_HH], s.data, 4 * H);
    }
    size_t states = (size_t)(N * R * es), cells = (size_t)(N * H * es);
    eg__rnn_copy(kept + (size_t)(p.h * es) + (size_t)eg__rnn_first(&p) * states, c->in[EG__RNN_H0], states);
    eg__rnn_copy(kept + (size_t)(p.c * es) + (size_t)eg__rnn_first(&p) * cells, c->in[EG__RNN_C0], cells);
    eg_status st = eg__rnn_product(c, 1, p.steps * N, (eg__rnn_matrix){eg__ptr(x), p.inputs, p.inputs},
                                   c->in[EG__RNN_W_IH], 0, true, (eg__rnn_matrix){kept, 4 * H, 4 * H}, false);
    for (int64_t i = 0; i < p.steps && !st; i++) {
        st = forward_step(c, &p, i, &now, (char *)s.data + 4 * H * es);
    }
    if (!st) {
        memcpy(eg__ptr(c->out[1]), kept + (size_t)(p.h * es) + (size_t)eg__rnn_last(&p) * states, states);
        memcpy(eg__ptr(c->out[2]), kept + (size_t)(p.c * es) + (size_t)eg__rnn_last(&p) * cells, cells);
    }
    eg__scratch_put(c, &s);
    return st;
}

/* ---- backwards ------------------------------------------------------------------------------- */

/* Scratch of the walk back: dh of two states in turn, and of a projection's inputs. */
typedef struct back {
    char *dh, *other, *unprojected;
} back;

static eg_status backward_step(const eg__call *c, const eg__rnn_plan *p, int64_t index, step *s, back *b)
{
    const eg__rnn_grad_opts *o = c->opts;
    const eg_tensor *w_hr = c->in[EG__RNN_GRAD_W_HR], *dy = c->in[EG__RNN_GRAD_DY];
    int64_t N = p->rows, H = p->width, R = p->state, es = (int64_t)eg__esize(c->out[0]);
    int64_t t = s->t = eg__rnn_time(p, index);
    char *kept = eg__ptr(c->in[EG__RNN_GRAD_RESERVE]);
    eg_status st = EG_OK;
    s->z = kept + t * N * 4 * H * es;
    s->dz = eg__ptr(c->out[0]) + t * N * 4 * H * es;
    s->c_before = kept + (p->c + eg__rnn_before(p, t) * N * H) * es;
    s->c_after = kept + (p->c + eg__rnn_after(p, t) * N * H) * es;
    s->h = b->dh;
    s->y = dy ? eg__ptr(dy) + t * N * R * es : NULL;
    if (w_hr) {
        char *dr = eg__ptr(c->out[3]) + t * N * R * es;
        if (es == 8) {
            gather_dh_f64(p, t, (double *)s->h, (double *)s->y, (double *)dr);
        } else {
            gather_dh_f32(p, t, (float *)s->h, (float *)s->y, (float *)dr);
        }
        st = eg__rnn_product(c, p->steps, N, (eg__rnn_matrix){dr, R, R}, w_hr, 0, false,
                             (eg__rnn_matrix){b->unprojected, H, H}, false);
        s->h = b->unprojected;
        s->y = NULL;
    }
    if (!st) {
        eg__rnn_cells(p, es == 8 ? backward_cells_f64 : backward_cells_f32, s);
    }
    if (st || (!index && !(o->forward.has >> EG__RNN_H0 & 1))) {
        return st;
    }
    if (p->lengths) {
        eg__rnn_hold(p, t, b->dh, b->other, (size_t)(R * es));
    }
    st = eg__rnn_product(c, p->steps, N, (eg__rnn_matrix){s->dz, 4 * H, 4 * H}, c->in[EG__RNN_GRAD_W_HH], 0, false,
                         (eg__rnn_matrix){b->other, R, R}, p->lengths != NULL);
    char *dh = b->dh;
    b->dh = b->other;
    b->other = dh;
    return st;
}

eg_status ISA(eg__cpu_lstm_grad)(const eg__call *c)
{
    if (c->out[0]->dtype == EG_F16 || c->out[0]->dtype == EG_BF16) {
        return eg__rnn_through_f32(c, ISA(eg__cpu_lstm_grad));
    }
    eg__rnn_plan p = eg__rnn_backward_plan(c, 4);
    int64_t N = p.rows, H = p.width, R = p.state, es = (int64_t)eg__esize(c->out[0]);
    eg__scratch s;
    if (eg__scratch_get(c, (size_t)((2 * N * R + N * H + H) * es), &s)) {
        return EG_ENOMEM;
    }
    char *scratch = s.data;
    back b = {scratch, scratch + N * R * es, scratch + 2 * N * R * es};
    step now = {.p = &p,
                .bias = b.unprojected + N * H * es,
                .dc = eg__ptr(c->out[2]),
                .clip = clip_of(((const eg__rnn_grad_opts *)c->opts)->forward.clip)};
    memset(now.bias, 0, (size_t)(H * es));
    eg__rnn_copy(b.dh, c->in[EG__RNN_GRAD_DH], (size_t)(N * R * es));
    eg__rnn_copy(now.dc, c->in[EG__RNN_GRAD_DC], (size_t)(N * H * es));
    eg_status st = EG_OK;
    for (int64_t i = p.steps; i-- > 0 && !st;) {
        st = backward_step(c, &p, i, &now, &b);
    }
    memcpy(eg__ptr(c->out[1]), b.dh, (size_t)(N * R * es));
    eg__scratch_put(c, &s);
    return st;
}
