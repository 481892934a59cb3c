/* rnn.c - recurrent layers, number by number. */
#include <math.h>

#include "lib/ops/rnn.h"
#include "lib/ref/ref.h"

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* Element i, or 0 of a tensor that is not there. */
static double get(const eg_tensor *t, int64_t i)
{
    return t ? eg__get_at(t, i) : 0;
}

/* sum over k of w[row, k] v[at + k] */
static double dot(const eg_tensor *w, int64_t row, const eg_tensor *v, int64_t at)
{
    int64_t n = w->shape[1];
    double sum = 0;
    for (int64_t k = 0; k < n; k++) {
        sum += eg__get_at(w, row * n + k) * eg__get_at(v, at + k);
    }
    return sum;
}

static void copy(const eg_tensor *to, int64_t at, const eg_tensor *from, int64_t source, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        eg__set_at(to, at + i, get(from, source + i));
    }
}

/* Lengths of a device nobody has looked at before. */
static eg_status check_lengths(const eg__call *c, const eg__rnn_plan *p)
{
    for (int64_t n = 0; c->device && p->lengths && n < p->rows; n++) {
        const long long v = (long long)eg__get_int_at(p->lengths, n * p->lengths->strides[0]);
        if (v < 0 || v > p->steps) {
            return eg__fail(EG_EINDEX, c->op->name, EG__SAY_LENGTH, v, (long long)n, (long long)p->steps);
        }
    }
    return EG_OK;
}

/* Before the gates' activations, row j of them: biases and the product with x. */
static double from_x(const eg__call *c, const eg__rnn_plan *p, int64_t t, int64_t n, int64_t j)
{
    return get(c->in[EG__RNN_B_IH], j) + dot(c->in[EG__RNN_W_IH], j, c->in[EG__RNN_X], (t * p->rows + n) * p->inputs);
}

/* ---- LSTM ------------------------------------------------------------------------------------ */

static void lstm_step(const eg__call *c, const eg__rnn_plan *p, int64_t t, int64_t n)
{
    const eg__rnn_opts *o = c->opts;
    const eg_tensor *kept = c->out[3], *w_hr = c->in[EG__RNN_W_HR];
    int64_t H = p->width, R = p->state, gates = (t * p->rows + n) * 4 * H;
    int64_t before = eg__rnn_before(p, t) * p->rows + n, after = eg__rnn_after(p, t) * p->rows + n;
    for (int64_t j = 0; j < 4 * H; j++) {
        double z =
            from_x(c, p, t, n, j) + get(c->in[EG__RNN_B_HH], j) + dot(c->in[EG__RNN_W_HH], j, kept, p->h + before * R);
        eg__set_at(kept, gates + j, j / H == 2 ? tanh(z) : sigmoid(z));
    }
    for (int64_t j = 0; j < H; j++) {
        double cell = get(kept, gates + H + j) * get(kept, p->c + before * H + j) +
                      get(kept, gates + j) * get(kept, gates + 2 * H + j);
        if (o->clip > 0 && fabs(cell) > o->clip) {
            cell = copysign(o->clip, cell);
        }
        eg__set_at(kept, p->c + after * H + j, cell);
    }
    for (int64_t r = 0; r < R; r++) {
        double sum = 0;
        for (int64_t j = w_hr ? 0 : r; j < (w_hr ? H : r + 1); j++) {
            sum += (w_hr ? get(w_hr, r * H + j) : 1) * get(kept, gates + 3 * H + j) *
                   tanh(get(kept, p->c + after * H + j));
        }
        eg__set_at(kept, p->h + after * R + r, sum);
    }
}

eg_status eg__ref_lstm(const eg__call *c)
{
    eg__rnn_plan p = eg__rnn_forward_plan(c, 4);
    const eg_tensor *kept = c->out[3];
    int64_t R = p.state, H = p.width, N = p.rows;
    if (check_lengths(c, &p)) {
        return eg__why();
    }
    copy(kept, 0, NULL, 0, p.h);
    copy(kept, p.h + eg__rnn_first(&p) * N * R, c->in[EG__RNN_H0], 0, N * R);
    copy(kept, p.c + eg__rnn_first(&p) * N * H, c->in[EG__RNN_C0], 0, N * H);
    for (int64_t s = 0; s < p.steps; s++) {
        for (int64_t n = 0; n < N; n++) {
            int64_t t = eg__rnn_time(&p, s), from = eg__rnn_before(&p, t) * N + n;
            int64_t to = eg__rnn_after(&p, t) * N + n;
            bool takes = eg__rnn_takes(&p, n, t);
            if (takes) {
                lstm_step(c, &p, t, n);
            } else {
                copy(kept, p.h + to * R, kept, p.h + from * R, R);
                copy(kept, p.c + to * H, kept, p.c + from * H, H);
            }
            copy(c->out[0], (t * N + n) * R, takes ? kept : NULL, p.h + to * R, R);
        }
    }
    copy(c->out[1], 0, kept, p.h + eg__rnn_last(&p) * N * R, N * R);
    copy(c->out[2], 0, kept, p.c + eg__rnn_last(&p) * N * H, N * H);
    return EG_OK;
}

/* One row's step backwards: dh and dc, of the state after it, become those of the state before. */
static void lstm_step_back(const eg__call *c, const eg__rnn_plan *p, int64_t t, int64_t n, double *dh, double *dc)
{
    const eg__rnn_grad_opts *o = c->opts;
    const eg_tensor *kept = c->in[EG__RNN_GRAD_RESERVE], *w_hr = c->in[EG__RNN_GRAD_W_HR];
    const eg_tensor *w_hh = c->in[EG__RNN_GRAD_W_HH], *dz = c->out[0];
    int64_t H = p->width, R = p->state, row = t * p->rows + n, z = row * 4 * H;
    int64_t before = p->c + (eg__rnn_before(p, t) * p->rows + n) * H;
    int64_t after = p->c + (eg__rnn_after(p, t) * p->rows + n) * H;
    for (int64_t r = 0; r < R; r++) {
        dh[r] += get(c->in[EG__RNN_GRAD_DY], row * R + r);
        if (w_hr) {
            eg__set_at(c->out[3], row * R + r, dh[r]);
        }
    }
    for (int64_t j = 0; j < H; j++) {
        double i = get(kept, z + j), f = get(kept, z + H + j), g = get(kept, z + 2 * H + j);
        double out = get(kept, z + 3 * H + j), cell = get(kept, after + j), tc = tanh(cell), d = 0;
        for (int64_t r = w_hr ? 0 : j; r < (w_hr ? R : j + 1); r++) {
            d += dh[r] * (w_hr ? get(w_hr, r * H + j) : 1);
        }
        double da = dc[j] + d * out * (1 - tc * tc);
        da = o->forward.clip > 0 && fabs(cell) >= o->forward.clip ? 0 : da;
        eg__set_at(dz, z + j, da * g * i * (1 - i));
        eg__set_at(dz, z + H + j, da * get(kept, before + j) * f * (1 - f));
        eg__set_at(dz, z + 2 * H + j, da * i * (1 - g * g));
        eg__set_at(dz, z + 3 * H + j, d * tc * out * (1 - out));
        dc[j] = da * f;
    }
    for (int64_t r = 0; r < R; r++) {
        dh[r] = 0;
        for (int64_t j = 0; j < 4 * H; j++) {
            dh[r] += get(dz, z + j) * get(w_hh, j * R + r);
        }
    }
}

eg_status eg__ref_lstm_grad(const eg__call *c)
{
    eg__rnn_plan p = eg__rnn_backward_plan(c, 4);
    int64_t R = p.state, H = p.width, N = p.rows;
    eg__scratch s;
    if (eg__scratch_get(c, (size_t)(N * (R + H)) * sizeof(double), &s)) {
        return EG_ENOMEM;
    }
    double *dh = s.data, *dc = dh + N * R;
    for (int64_t i = 0; i < N * R; i++) {
        dh[i] = get(c->in[EG__RNN_GRAD_DH], i);
    }
    for (int64_t i = 0; i < N * H; i++) {
        dc[i] = get(c->in[EG__RNN_GRAD_DC], i);
    }
    copy(c->out[0], 0, NULL, 0, c->out[0]->n);
    copy(c->out[3], 0, NULL, 0, c->out[3]->n);
    for (int64_t k = p.steps; k-- > 0;) {
        int64_t t = eg__rnn_time(&p, k);
        for (int64_t n = 0; n < N; n++) {
            if (eg__rnn_takes(&p, n, t)) {
                lstm_step_back(c, &p, t, n, dh + n * R, dc + n * H);
            }
        }
    }
    for (int64_t i = 0; i < N * R; i++) {
        eg__set_at(c->out[1], i, dh[i]);
    }
    for (int64_t i = 0; i < N * H; i++) {
        eg__set_at(c->out[2], i, dc[i]);
    }
    eg__scratch_put(c, &s);
    return EG_OK;
}

/* ---- GRU ------------------------------------------------------------------------------------- */

static void gru_step(const eg__call *c, const eg__rnn_plan *p, int64_t t, int64_t n)
{
    const eg__rnn_opts *o = c->opts;
    const eg_tensor *kept = c->out[2], *w_hh = c->in[EG__RNN_W_HH], *b_hh = c->in[EG__RNN_B_HH];
    int64_t H = p->width, row = t * p->rows + n, gates = row * 3 * H, met = p->met + row * H;
    int64_t before = p->h + (eg__rnn_before(p, t) * p->rows + n) * H;
    int64_t after = p->h + (eg__rnn_after(p, t) * p->rows + n) * H;
    for (int64_t j = 0; j < 2 * H; j++) {
        eg__set_at(kept, gates + j, sigmoid(from_x(c, p, t, n, j) + get(b_hh, j) + dot(w_hh, j, kept, before)));
    }
    for (int64_t j = 0; j < H; j++) {
        eg__set_at(kept, met + j,
                   o->reset_before ? get(kept, gates + j) * get(kept, before + j)
                                   : get(b_hh, 2 * H + j) + dot(w_hh, 2 * H + j, kept, before));
    }
    for (int64_t j = 0; j < H; j++) {
        double x = from_x(c, p, t, n, 2 * H + j), z = get(kept, gates + H + j);
        double a = o->reset_before ? x + get(b_hh, 2 * H + j) + dot(w_hh, 2 * H + j, kept, met)
                                   : x + get(kept, gates + j) * get(kept, met + j);
        eg__set_at(kept, gates + 2 * H + j, tanh(a));
        eg__set_at(kept, after + j, (1 - z) * get(kept, gates + 2 * H + j) + z * get(kept, before + j));
    }
}

eg_status eg__ref_gru(const eg__call *c)
{
    eg__rnn_plan p = eg__rnn_forward_plan(c, 3);
    const eg_tensor *kept = c->out[2];
    int64_t H = p.width, N = p.rows;
    if (check_lengths(c, &p)) {
        return eg__why();
    }
    copy(kept, 0, NULL, 0, p.h);
    copy(kept, p.h + eg__rnn_first(&p) * N * H, c->in[EG__RNN_H0], 0, N * H);
    for (int64_t s = 0; s < p.steps; s++) {
        for (int64_t n = 0; n < N; n++) {
            int64_t t = eg__rnn_time(&p, s), from = p.h + (eg__rnn_before(&p, t) * N + n) * H;
            int64_t to = p.h + (eg__rnn_after(&p, t) * N + n) * H;
            bool takes = eg__rnn_takes(&p, n, t);
            if (takes) {
                gru_step(c, &p, t, n);
            } else {
                copy(kept, to, kept, from, H);
            }
            copy(c->out[0], (t * N + n) * H, takes ? kept : NULL, to, H);
        }
    }
    copy(c->out[1], 0, kept, p.h + eg__rnn_last(&p) * N * H, N * H);
    return EG_OK;
}

/* dh, of the state after the step, becomes that of the state before. */
static void gru_step_back(const eg__call *c, const eg__rnn_plan *p, int64_t t, int64_t n, double *dh, double *dh_before)
{
    const eg__rnn_grad_opts *o = c->opts;
    const eg_tensor *kept = c->in[EG__RNN_GRAD_RESERVE], *w_hh = c->in[EG__RNN_GRAD_W_HH];
    bool early = o->forward.reset_before;
    int64_t H = p->width, row = t * p->rows + n, z = row * 3 * H, met = p->met + row * H;
    int64_t before = p->h + (eg__rnn_before(p, t) * p->rows + n) * H;
    const eg_tensor *dx = c->out[0], *dm = early ? dx : c->out[1]; /* on x's and on h's side */
    for (int64_t j = 0; j < H; j++) {
        double r = get(kept, z + j), u = get(kept, z + H + j), v = get(kept, z + 2 * H + j);
        dh[j] += get(c->in[EG__RNN_GRAD_DY], row * H + j);
        double da = dh[j] * (1 - u) * (1 - v * v);
        double du = dh[j] * (get(kept, before + j) - v) * u * (1 - u);
        eg__set_at(dx, z + H + j, du);
        eg__set_at(dx, z + 2 * H + j, da);
        dh_before[j] = dh[j] * u;
        if (!early) {
            double dr = da * get(kept, met + j) * r * (1 - r);
            eg__set_at(dx, z + j, dr);
            eg__set_at(dm, z + j, dr);
            eg__set_at(dm, z + H + j, du);
            eg__set_at(dm, z + 2 * H + j, da * r);
        }
    }
    for (int64_t k = 0; early && k < H; k++) {
        double d = 0, r = get(kept, z + k);
        for (int64_t j = 0; j < H; j++) {
            d += get(dx, z + 2 * H + j) * get(w_hh, (2 * H + j) * H + k);
        }
        eg__set_at(dx, z + k, d * get(kept, before + k) * r * (1 - r));
        dh_before[k] += d * r;
    }
    for (int64_t k = 0; k < H; k++) {
        dh[k] = dh_before[k];
        for (int64_t j = 0; j < (early ? 2 : 3) * H; j++) {
            dh[k] += get(dm, z + j) * get(w_hh, j * H + k);
        }
    }
}

eg_status eg__ref_gru_grad(const eg__call *c)
{
    eg__rnn_plan p = eg__rnn_backward_plan(c, 3);
    int64_t H = p.width, N = p.rows;
    eg__scratch s;
    if (eg__scratch_get(c, (size_t)((N + 1) * H) * sizeof(double), &s)) {
        return EG_ENOMEM;
    }
    double *dh = s.data;
    for (int64_t i = 0; i < N * H; i++) {
        dh[i] = get(c->in[EG__RNN_GRAD_DH], i);
    }
    copy(c->out[0], 0, NULL, 0, c->out[0]->n);
    copy(c->out[1], 0, NULL, 0, c->out[1]->n);
    for (int64_t k = p.steps; k-- > 0;) {
        int64_t t = eg__rnn_time(&p, k);
        for (int64_t n = 0; n < N; n++) {
            if (eg__rnn_takes(&p, n, t)) {
                gru_step_back(c, &p, t, n, dh + n * H, dh + N * H);
            }
        }
    }
    for (int64_t i = 0; i < N * H; i++) {
        eg__set_at(c->out[2], i, dh[i]);
    }
    eg__scratch_put(c, &s);
    return EG_OK;
}
