/* rnn.c - gradients of recurrent layers. One row walks the steps back and leaves the gradients
 * before the activations; those of x and of the weights are one product over all steps. When
 * somebody records the walk, the layer is done again from public ops under a tape of its own and
 * that is asked. */
#include "lib/ops/rnn.h"
#include "autograd/rules/rules.h"

#define GIVE(i, g)         \
    if (eg__needs(w, i)) { \
        eg__give(w, i, g); \
    }

#define GIVE_PRODUCT(i, a, b)         \
    if (eg__needs(w, i)) {            \
        eg__give_product(w, i, a, b); \
    }

/* [T, N, n] as a matrix of rows of n. */
static eg_tensor *flat(eg_tensor *t)
{
    return t ? eg_reshape(t, EG_SHAPE(t->shape[0] * t->shape[1], t->shape[2])) : NULL;
}

static eg_tensor *turned(eg_tensor *t)
{
    return eg_transpose(t, 0, 1);
}

/* Everything the entry saved; absent inputs NULL. */
static eg_status saved_inputs(eg__walk *w, eg_tensor **in)
{
    const eg__rnn_opts *o = w->opts;
    if (eg__walk_recorded(w)) {
        eg__widen(w);
    }
    for (int i = 0; i < EG__RNN_INPUTS; i++) {
        bool there = i < EG__RNN_B_IH || o->has >> i & 1;
        in[i] = there ? eg__saved_in(w, i) : NULL;
        if (there && !in[i]) {
            return eg__why();
        }
    }
    return EG_OK;
}

/* `n` matrices of N rows from `at` of the reserve, in the layer's dtype. */
static eg_tensor *kept(eg_tensor *reserve, int64_t at, int64_t n, int64_t rows, int64_t cols, const eg_tensor *like)
{
    eg_tensor *part = eg_slice(reserve, 0, at, at + n * rows * cols, 1);
    return eg_cast(eg_reshape(part, EG_SHAPE(n * rows, cols)), (eg_dtype)like->dtype);
}

static eg__rnn_plan plan_of(const eg__walk *w, eg_tensor *const *in, int gates)
{
    const eg__rnn_opts *o = w->opts;
    const eg_tensor *x = in[EG__RNN_X], *w_hh = in[EG__RNN_W_HH];
    return eg__rnn_plan_of(x->shape[0], x->shape[1], w_hh->shape[0] / gates, w_hh->shape[1], o->reverse,
                           in[EG__RNN_LENGTHS]);
}

/* States before each step. */
static eg_tensor *states_before(const eg__rnn_plan *p, eg_tensor *reserve, const eg_tensor *like)
{
    return kept(reserve, p->h + p->reverse * p->rows * p->state, p->steps, p->rows, p->state, like);
}

/* Rows of all steps but the first, if that met a state of zeros: it adds nothing to the gradient of w_hh. */
static eg_tensor *with_state(const eg__walk *w, const eg__rnn_plan *p, eg_tensor *rows)
{
    bool given = ((const eg__rnn_opts *)w->opts)->has >> EG__RNN_H0 & 1;
    int64_t all = p->steps * p->rows, zeros = given ? 0 : eg__min(p->rows, all);
    return eg_slice(rows, 0, p->reverse ? 0 : zeros, p->reverse ? all - zeros : all, 1);
}

static eg_status walk_steps(eg__walk *w, const eg__op *op, const eg__rnn_plan *p, eg_tensor *const *in,
                            eg_tensor *reserve, eg_tensor *dc, eg_tensor **out)
{
    eg__rnn_grad_opts o = {*(const eg__rnn_opts *)w->opts, p->steps, p->rows};
    bool packed = eg__rnn_packed(reserve);
    eg_tensor *from[EG__RNN_GRAD_INPUTS] = {reserve,
                                            in[EG__RNN_W_HH],
                                            eg__dy_or_null(w, 0),
                                            eg__dy_or_null(w, 1),
                                            dc,
                                            in[EG__RNN_W_HR],
                                            in[EG__RNN_LENGTHS],
                                            packed ? in[EG__RNN_X] : NULL,
                                            packed ? in[EG__RNN_H0] : NULL,
                                            packed ? in[EG__RNN_C0] : NULL};
    return eg__dispatch(op, from, packed ? EG__RNN_GRAD_INPUTS : EG__RNN_GRAD_X, &o, out);
}

/* Where the engine gave the gradients of x and, in a line, of all weights. */
static eg_status give_packed(eg__walk *w, eg_tensor *const *in, eg_tensor *dx, eg_tensor *dw)
{
    static const int order[] = {EG__RNN_W_IH, EG__RNN_W_HH, EG__RNN_B_IH, EG__RNN_B_HH, EG__RNN_W_HR};
    const eg_tensor *w_ih = in[EG__RNN_W_IH], *w_hr = in[EG__RNN_W_HR];
    const eg_shape bias = EG_SHAPE(w_ih->shape[0]);
    const eg_shape shapes[] = {eg_shape_of(w_ih), eg_shape_of(in[EG__RNN_W_HH]), bias, bias,
                               w_hr ? eg_shape_of(w_hr) : EG_SHAPE(0)};
    int64_t at = 0;
    GIVE(EG__RNN_X, dx)
    for (int k = 0; k < EG__COUNT(order); k++) {
        const eg_shape *s = &shapes[k];
        int64_t n = s->ndim == 2 ? s->dim[0] * s->dim[1] : s->dim[0];
        GIVE(order[k], eg_reshape(eg_slice(dw, 0, at, at + n, 1), *s))
        at += n;
    }
    return w->status;
}

/* What both layers have: gradients of x, w_ih and its bias, from those before the activations. */
static void give_input_side(eg__walk *w, eg_tensor *const *in, eg_tensor *dz)
{
    GIVE(EG__RNN_X, eg_reshape(eg_matmul(dz, in[EG__RNN_W_IH]), eg__in_shape(w, EG__RNN_X)))
    GIVE_PRODUCT(EG__RNN_W_IH, turned(dz), flat(in[EG__RNN_X]))
    GIVE(EG__RNN_B_IH, eg_sum(dz, .axes = EG_AXES(0)))
}

/* ---- from public ops ------------------------------------------------------------------------- */

/* a plus what may not be there. */
static eg_tensor *plus(eg_tensor *a, eg_tensor *b)
{
    return b ? eg_add(a, b) : a;
}

static eg_tensor *part(eg_tensor *z, int64_t which, int64_t width)
{
    return eg_slice(z, 1, which * width, (which + 1) * width, 1);
}

/* a where the rows take the step at time t, else b (NULL: 0). */
static eg_tensor *taken(eg_tensor *lengths, int64_t t, eg_tensor *a, eg_tensor *b)
{
    if (!lengths || !a) {
        return a;
    }
    eg_tensor *takes = eg_unsqueeze(eg_gt_scalar(lengths, (double)t), 1);
    return eg_where(takes, a, b ? b : eg__full_on(a->device, EG_SCALAR, 0, eg_dtype_of(a)));
}

typedef struct states {
    eg_tensor *h, *c;
} states;

static states lstm_step(const eg__rnn_opts *o, eg_tensor *const *in, eg_tensor *zx, states s)
{
    int64_t H = in[EG__RNN_W_IH]->shape[0] / 4;
    eg_tensor *z = eg_add(zx, eg_matmul(s.h, turned(in[EG__RNN_W_HH])));
    eg_tensor *kept_c = eg_mul(eg_sigmoid(part(z, 1, H)), s.c);
    s.c = eg_add(kept_c, eg_mul(eg_sigmoid(part(z, 0, H)), eg_tanh(part(z, 2, H))));
    s.c = o->clip > 0 ? eg_clamp(s.c, -o->clip, o->clip) : s.c;
    s.h = eg_mul(eg_sigmoid(part(z, 3, H)), eg_tanh(s.c));
    s.h = in[EG__RNN_W_HR] ? eg_matmul(s.h, turned(in[EG__RNN_W_HR])) : s.h;
    return s;
}

static states gru_step(const eg__rnn_opts *o, eg_tensor *const *in, eg_tensor *zx, states s)
{
    int64_t H = in[EG__RNN_W_IH]->shape[0] / 3;
    eg_tensor *u = in[EG__RNN_W_HH], *b = in[EG__RNN_B_HH];
    eg_tensor *zh = plus(eg_matmul(s.h, turned(u)), b);
    eg_tensor *r = eg_sigmoid(eg_add(part(zx, 0, H), part(zh, 0, H)));
    eg_tensor *z = eg_sigmoid(eg_add(part(zx, 1, H), part(zh, 1, H))), *m;
    if (o->reset_before) {
        m = eg_matmul(eg_mul(r, s.h), turned(eg_slice(u, 0, 2 * H, 3 * H, 1)));
        m = b ? eg_add(m, eg_slice(b, 0, 2 * H, 3 * H, 1)) : m;
    } else {
        m = eg_mul(r, part(zh, 2, H));
    }
    eg_tensor *n = eg_tanh(eg_add(part(zx, 2, H), m));
    s.h = eg_add(n, eg_mul(z, eg_sub(s.h, n)));
    return s;
}

typedef states step_fn(const eg__rnn_opts *o, eg_tensor *const *in, eg_tensor *zx, states s);

static eg_tensor *first_state(eg_tensor *given, int64_t rows, int64_t cols, const eg_tensor *x)
{
    return given ? given : eg__full_on(x->device, EG_SHAPE(rows, cols), 0, (eg_dtype)x->dtype);
}

/* The layer done again; its results, weighted by the gradients given to them, summed to one
 * number. */
static eg_tensor *again(eg__walk *w, eg_tensor *const *in, step_fn *step, eg__rnn_plan p, eg_tensor *dc)
{
    const eg__rnn_opts *o = w->opts;
    eg_tensor *dy = eg__dy_or_null(w, 0), *dh = eg__dy_or_null(w, 1), *x = in[EG__RNN_X];
    eg_tensor *sum = eg__full_on(x->device, EG_SCALAR, 0, (eg_dtype)x->dtype);
    bool lstm = step == lstm_step;
    eg_tensor *zx = plus(eg_matmul(flat(x), turned(in[EG__RNN_W_IH])), in[EG__RNN_B_IH]);
    zx = lstm ? plus(zx, in[EG__RNN_B_HH]) : zx;
    zx = eg_reshape(zx, EG_SHAPE(p.steps, p.rows, in[EG__RNN_W_IH]->shape[0]));
    states s = {first_state(in[EG__RNN_H0], p.rows, p.state, x),
                lstm ? first_state(in[EG__RNN_C0], p.rows, p.width, x) : NULL};
    for (int64_t i = 0; i < p.steps && sum; i++) {
        int64_t t = eg__rnn_time(&p, i);
        states next = step(o, in, eg_select(zx, 0, t), s);
        next.h = taken(p.lengths ? in[EG__RNN_LENGTHS] : NULL, t, next.h, s.h);
        next.c = taken(p.lengths ? in[EG__RNN_LENGTHS] : NULL, t, next.c, s.c);
        s = next;
        if (dy) {
            eg_tensor *dt = taken(in[EG__RNN_LENGTHS], t, eg_select(dy, 0, t), NULL);
            sum = eg_add(sum, eg_sum(eg_mul(s.h, dt)));
        }
    }
    sum = dh ? eg_add(sum, eg_sum(eg_mul(s.h, dh))) : sum;
    return dc ? eg_add(sum, eg_sum(eg_mul(s.c, dc))) : sum;
}

static eg_status recorded(eg__walk *w, eg_tensor *const *in, step_fn *step, eg__rnn_plan p, eg_tensor *dc)
{
    eg_tensor *ask[EG__RNN_INPUTS], *g[EG__RNN_INPUTS], *there[EG__RNN_INPUTS];
    int which[EG__RNN_INPUTS], n = 0;
    memcpy(there, in, sizeof there);
    if (p.lengths && !(there[EG__RNN_LENGTHS] = eg_to(in[EG__RNN_LENGTHS], eg_device_of(in[EG__RNN_X])))) {
        return eg__why();
    }
    eg_tape tape = eg_tape_open();
    for (int i = 0; i < EG__RNN_INPUTS; i++) {
        if (eg__needs(w, i)) {
            if (eg_tape_watch(tape, in[i])) {
                return eg__why();
            }
            which[n] = i;
            ask[n++] = in[i];
        }
    }
    eg_tensor *sum = again(w, there, step, p, dc);
    if (!sum || eg_tape_gradients(tape, sum, ask, n, g, .null_unconnected = true)) {
        return eg__why();
    }
    for (int k = 0; k < n && !w->status; k++) {
        if (g[k]) {
            eg__give(w, which[k], g[k]);
        }
    }
    return w->status;
}

/* ---- the rules ------------------------------------------------------------------------------- */

eg_status eg__grad_lstm(eg__walk *w)
{
    eg_tensor *in[EG__RNN_INPUTS], *out[EG__MAX_OUT], *dc = eg__dy_or_null(w, 2);
    eg_tensor *reserve = eg__saved_out(w, 3);
    eg_status st = reserve ? saved_inputs(w, in) : eg__why();
    if (st) {
        return st;
    }
    eg__rnn_plan p = plan_of(w, in, 4);
    if (eg__walk_recorded(w)) {
        return recorded(w, in, lstm_step, p, dc);
    }
    if (walk_steps(w, &eg__op_lstm_grad, &p, in, reserve, dc, out)) {
        return eg__why();
    }
    if (eg__rnn_packed(reserve)) {
        GIVE(EG__RNN_H0, out[1])
        GIVE(EG__RNN_C0, out[2])
        return give_packed(w, in, out[0], out[3]);
    }
    eg_tensor *dz = flat(out[0]), *x = in[EG__RNN_X];
    give_input_side(w, in, dz);
    GIVE(EG__RNN_B_HH, eg_sum(dz, .axes = EG_AXES(0)))
    GIVE_PRODUCT(EG__RNN_W_HH, turned(with_state(w, &p, dz)), with_state(w, &p, states_before(&p, reserve, x)))
    GIVE(EG__RNN_H0, out[1])
    GIVE(EG__RNN_C0, out[2])
    if (eg__needs(w, EG__RNN_W_HR)) {
        int64_t H = p.width;
        eg_tensor *gates = kept(reserve, 0, p.steps, p.rows, 4 * H, x);
        eg_tensor *c = kept(reserve, p.c + !p.reverse * p.rows * H, p.steps, p.rows, H, x);
        eg_tensor *h = eg_mul(eg_slice(gates, 1, 3 * H, 4 * H, 1), eg_tanh(c));
        eg__give(w, EG__RNN_W_HR, eg_matmul(turned(flat(out[3])), h));
    }
    return w->status;
}

/* The reset gate before the product: w_hh met h in its upper part and r h in the last. */
static eg_tensor *split_weight_grad(const eg__walk *w, const eg__rnn_plan *p, eg_tensor *dz, eg_tensor *reserve,
                                    eg_tensor *w_hh)
{
    int64_t H = p->width;
    eg_tensor *d = turned(with_state(w, p, dz));
    eg_tensor *dw = eg__empty_on(w_hh->device, EG_SHAPE(3 * H, H), (eg_dtype)w_hh->dtype);
    eg_tensor *h = with_state(w, p, states_before(p, reserve, w_hh));
    eg_tensor *rh = with_state(w, p, kept(reserve, p->met, p->steps, p->rows, H, w_hh));
    bool ok = eg_copy_(eg_slice(dw, 0, 0, 2 * H, 1), eg_matmul(eg_slice(d, 0, 0, 2 * H, 1), h)) &&
              eg_copy_(eg_slice(dw, 0, 2 * H, 3 * H, 1), eg_matmul(eg_slice(d, 0, 2 * H, 3 * H, 1), rh));
    return ok ? dw : NULL;
}

eg_status eg__grad_gru(eg__walk *w)
{
    eg_tensor *in[EG__RNN_INPUTS], *out[EG__MAX_OUT];
    eg_tensor *reserve = eg__saved_out(w, 2);
    eg_status st = reserve ? saved_inputs(w, in) : eg__why();
    if (st) {
        return st;
    }
    eg__rnn_plan p = plan_of(w, in, 3);
    if (eg__walk_recorded(w)) {
        return recorded(w, in, gru_step, p, NULL);
    }
    if (walk_steps(w, &eg__op_gru_grad, &p, in, reserve, NULL, out)) {
        return eg__why();
    }
    if (eg__rnn_packed(reserve)) {
        GIVE(EG__RNN_H0, out[2])
        return give_packed(w, in, out[0], out[1]);
    }
    bool early = ((const eg__rnn_opts *)w->opts)->reset_before;
    eg_tensor *dz = flat(out[0]), *dm = early ? dz : flat(out[1]), *w_hh = in[EG__RNN_W_HH];
    give_input_side(w, in, dz);
    GIVE(EG__RNN_B_HH, eg_sum(dm, .axes = EG_AXES(0)))
    bool stateless = p.steps == 1 && !in[EG__RNN_H0];
    if (early && !stateless) {
        GIVE(EG__RNN_W_HH, split_weight_grad(w, &p, dz, reserve, w_hh))
    } else {
        GIVE_PRODUCT(EG__RNN_W_HH, turned(with_state(w, &p, dm)), with_state(w, &p, states_before(&p, reserve, w_hh)))
    }
    GIVE(EG__RNN_H0, out[2])
    return w->status;
}
