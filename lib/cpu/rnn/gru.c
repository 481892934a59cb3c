/* gru.c - GRU over sequences, as lstm.c does it; one product per step, or two where the reset gate
 * comes before the product. */
#include "lib/cpu/rnn/rnn.h"
#include "lib/cpu/pointwise/vmath.h"

eg__kernel ISA(eg__cpu_gru), ISA(eg__cpu_gru_grad);

/* What a loop over cells does: all of a step, or one of its halves around the product with r h. */
enum { WHOLE, GATES, CANDIDATE };

/* One step, as the loops see it. Backwards h is dh of the state after, y is dy or NULL, product the
 * gradient on h's side. */
typedef struct step {
    const eg__rnn_plan *p;
    int64_t t;
    int part;
    char *gates, *met, *bias, *product, *before, *h, *y;
    char *dx, *past;
} step;

#define T       float
#define LANE(x) x##_f32
#define FN(x)   eg__f32_##x
#include "lib/cpu/rnn/gru_rows.h"
#undef T
#undef LANE
#undef FN

#define T       double
#define LANE(x) x##_f64
#define FN(x)   eg__f64_##x
#include "lib/cpu/rnn/gru_rows.h"
#undef T
#undef LANE
#undef FN

static void run_cells(step *s, int part, eg__range_fn *f32, eg__range_fn *f64, int64_t es)
{
    s->part = part;
    eg__rnn_cells(s->p, es == 8 ? f64 : f32, s);
}

static eg_status forward_step(const eg__call *c, const eg__rnn_plan *p, int64_t index, step *s)
{
    char *kept = eg__ptr(c->out[2]);
    const eg_tensor *w_hh = c->in[EG__RNN_W_HH];
    int64_t N = p->rows, H = p->width, es = (int64_t)eg__esize(c->out[2]);
    int64_t t = s->t = eg__rnn_time(p, index);
    s->gates = kept + t * N * 3 * H * es;
    s->met = kept + (p->met + t * N * H) * es;
    s->before = kept + (p->h + eg__rnn_before(p, t) * N * H) * es;
    s->h = kept + (p->h + eg__rnn_after(p, t) * N * H) * es;
    s->y = eg__ptr(c->out[0]) + t * N * H * es;
    bool zero = !index && !c->in[EG__RNN_H0];
    eg__rnn_matrix before = {s->before, H, H};
    if (!((const eg__rnn_opts *)c->opts)->reset_before) {
        eg_status st = EG_OK;
        if (zero) {
            memset(s->product, 0, (size_t)(N * 3 * H * es));
        } else {
            st = eg__rnn_product(c, p->steps, N, before, w_hh, 0, true, (eg__rnn_matrix){s->product, 3 * H, 3 * H},
                                 false);
        }
        if (!st) {
            run_cells(s, WHOLE, forward_cells_f32, forward_cells_f64, es);
        }
        return st;
    }
    eg_status st =
        zero ? EG_OK
             : eg__rnn_product(c, p->steps, N, before, w_hh, 0, true, (eg__rnn_matrix){s->gates, 2 * H, 3 * H}, true);
    if (!st) {
        run_cells(s, GATES, forward_cells_f32, forward_cells_f64, es);
        st = zero ? EG_OK
                  : eg__rnn_product(c, p->steps, N, (eg__rnn_matrix){s->met, H, H}, w_hh, 2 * H, true,
                                    (eg__rnn_matrix){s->gates + 2 * H * es, H, 3 * H}, true);
    }
    if (!st) {
        run_cells(s, CANDIDATE, forward_cells_f32, forward_cells_f64, es);
    }
    return st;
}

eg_status ISA(eg__cpu_gru)(const eg__call *c)
{
    const eg_tensor *x = c->in[EG__RNN_X];
    if (x->dtype == EG_F16 || x->dtype == EG_BF16) {
        return eg__rnn_through_f32(c, ISA(eg__cpu_gru));
    }
    eg__rnn_plan p = eg__rnn_forward_plan(c, 3);
    int64_t N = p.rows, H = p.width, es = (int64_t)eg__esize(x);
    char *kept = eg__ptr(c->out[2]);
    size_t states = (size_t)(N * H * es);
    eg__scratch s;
    if (eg__scratch_get(c, (size_t)((4 * H + 3 * N * H) * es), &s)) {
        return EG_ENOMEM;
    }
    step now = {.p = &p, .bias = s.data, .product = (char *)s.data + 4 * H * es};
    if (es == 8) {
        gather_biases_f64(c->in[EG__RNN_B_IH], c->in[EG__RNN_B_HH], s.data, H);
    } else {
        gather_biases_f32(c->in[EG__RNN_B_IH], c->in[EG__RNN_B_HH], s.data, H);
    }
    eg__rnn_copy(kept + (size_t)(p.h * es) + (size_t)eg__rnn_first(&p) * states, c->in[EG__RNN_H0], states);
    eg_status st = eg__rnn_product(c, 1, p.steps * N, (eg__rnn_matrix){eg__ptr(x), p.inputs, p.inputs},
                                   c->in[EG__RNN_W_IH], 0, true, (eg__rnn_matrix){kept, 3 * H, 3 * H}, false);
    for (int64_t i = 0; i < p.steps && !st; i++) {
        st = forward_step(c, &p, i, &now);
    }
    if (!st) {
        memcpy(eg__ptr(c->out[1]), kept + (size_t)(p.h * es) + (size_t)eg__rnn_last(&p) * states, states);
    }
    eg__scratch_put(c, &s);
    return st;
}

/* ---- backwards ------------------------------------------------------------------------------- */

static eg_status backward_step(const eg__call *c, const eg__rnn_plan *p, int64_t index, step *s, char *drh)
{
    const eg__rnn_grad_opts *o = c->opts;
    const eg_tensor *w_hh = c->in[EG__RNN_GRAD_W_HH], *dy = c->in[EG__RNN_GRAD_DY];
    char *kept = eg__ptr(c->in[EG__RNN_GRAD_RESERVE]);
    bool early = o->forward.reset_before;
    int64_t N = p->rows, H = p->width, es = (int64_t)eg__esize(c->out[0]);
    int64_t t = s->t = eg__rnn_time(p, index);
    s->gates = kept + t * N * 3 * H * es;
    s->met = kept + (p->met + t * N * H) * es;
    s->before = kept + (p->h + eg__rnn_before(p, t) * N * H) * es;
    s->y = dy ? eg__ptr(dy) + t * N * H * es : NULL;
    s->dx = eg__ptr(c->out[0]) + t * N * 3 * H * es;
    eg__rnn_matrix past = {s->past, H, H}, dm = {s->dx, 2 * H, 3 * H};
    bool zero = !index && !(o->forward.has >> EG__RNN_H0 & 1);
    eg_status st = EG_OK;
    if (early) {
        s->product = drh;
        run_cells(s, CANDIDATE, backward_cells_f32, backward_cells_f64, es);
        if (zero) {
            memset(drh, 0, (size_t)(N * H * es));
        } else {
            st = eg__rnn_product(c, p->steps, N, (eg__rnn_matrix){s->dx + 2 * H * es, H, 3 * H}, w_hh, 2 * H, false,
                                 (eg__rnn_matrix){drh, H, H}, false);
        }
        if (!st) {
            run_cells(s, GATES, backward_cells_f32, backward_cells_f64, es);
        }
    } else {
        s->product = eg__ptr(c->out[1]) + t * N * 3 * H * es;
        run_cells(s, WHOLE, backward_cells_f32, backward_cells_f64, es);
        dm = (eg__rnn_matrix){s->product, 3 * H, 3 * H};
    }
    if (!st && !zero) {
        st = eg__rnn_product(c, p->steps, N, dm, w_hh, 0, false, past, true);
    }
    char *dh = s->h;
    s->h = s->past;
    s->past = dh;
    return st;
}

eg_status ISA(eg__cpu_gru_grad)(const eg__call *c)
{
    if (c->out[0]->dtype == EG_F16 || c->out[0]->dtype == EG_BF16) {
        return eg__rnn_through_f32(c, ISA(eg__cpu_gru_grad));
    }
    eg__rnn_plan p = eg__rnn_backward_plan(c, 3);
    int64_t N = p.rows, H = p.width, es = (int64_t)eg__esize(c->out[0]);
    size_t states = (size_t)(N * H * es);
    eg__scratch s;
    if (eg__scratch_get(c, 3 * states + (size_t)(H * es), &s)) {
        return EG_ENOMEM;
    }
    char *scratch = s.data, *drh = scratch + 2 * states;
    step now = {.p = &p, .h = scratch, .past = scratch + states, .bias = scratch + 3 * states};
    memset(now.bias, 0, (size_t)(H * es));
    eg__rnn_copy(now.h, c->in[EG__RNN_GRAD_DH], states);
    eg_status st = EG_OK;
    for (int64_t i = p.steps; i-- > 0 && !st;) {
        st = backward_step(c, &p, i, &now, drh);
    }
    memcpy(eg__ptr(c->out[2]), now.h, states);
    eg__scratch_put(c, &s);
    return st;
}
