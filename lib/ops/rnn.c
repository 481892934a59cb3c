/* rnn.c - recurrent layers: checks, inference, public functions. */
#include "lib/core/device.h"
#include "lib/ops/infer.h"
#include "lib/ops/rnn.h"

/* ---- inference ------------------------------------------------------------------------------- */

typedef struct sizes {
    int64_t steps, rows, inputs, width, state; /* T, N, I, H, R */
} sizes;

/* Input i must be there with this shape; b < 0: one axis. Optional inputs may be absent. */
static eg_status expect(const eg__call *c, int i, const char *name, int64_t a, int64_t b)
{
    const eg_tensor *t = i < c->nin ? c->in[i] : NULL;
    int64_t shape[2] = {a, b};
    int ndim = b < 0 ? 1 : 2;
    if (!t || (t->ndim == ndim && t->shape[0] == a && (ndim == 1 || t->shape[1] == b))) {
        return EG_OK;
    }
    return eg__fail(EG_ESHAPE, c->op->name, "%s is %s and should be %s for x %s and w_ih %s", name, EG__SHAPE_OF(t),
                    eg__shape_text(ndim, shape).s, EG__SHAPE_OF(c->in[EG__RNN_X]), EG__SHAPE_OF(c->in[EG__RNN_W_IH]));
}

static eg_status check_dtypes(const eg__call *c)
{
    for (int i = 0; i < c->nin; i++) {
        const eg_tensor *t = c->in[i];
        bool lengths = i == EG__RNN_LENGTHS;
        if (t && (lengths ? t->dtype != EG_I64 && t->dtype != EG_I32 : t->dtype != c->in[0]->dtype)) {
            return eg__fail(EG_EDTYPE, c->op->name,
                            lengths ? "lengths are %s, they must be i64, i32 or u8" : "an operand is %s, x is %s",
                            eg_dtype_name((eg_dtype)t->dtype), eg_dtype_name((eg_dtype)c->in[0]->dtype));
        }
    }
    return EG_OK;
}

/* Those of a device are looked at by its kernels. */
static eg_status check_lengths(const eg__call *c, int64_t steps)
{
    const eg_tensor *t = c->nin > EG__RNN_LENGTHS ? c->in[EG__RNN_LENGTHS] : NULL;
    for (int64_t n = 0; t && !t->device && n < t->n; n++) {
        int64_t length = eg__load_int(eg__ptr(t), t->dtype, n * t->strides[0]);
        if (length < 0 || length > steps) {
            return eg__fail(EG_EINDEX, c->op->name, EG__SAY_LENGTH, (long long)length, (long long)n, (long long)steps);
        }
    }
    return EG_OK;
}

static eg_status check(const eg__call *c, int gates, sizes *s)
{
    const eg_tensor *x = c->in[EG__RNN_X], *w_ih = c->in[EG__RNN_W_IH];
    const eg_tensor *w_hr = c->nin > EG__RNN_W_HR ? c->in[EG__RNN_W_HR] : NULL;
    if (x->ndim != 3 || w_ih->ndim != 2 || w_ih->shape[0] % gates || x->shape[2] != w_ih->shape[1] ||
        (w_hr && w_hr->ndim != 2)) {
        return eg__fail(EG_ESHAPE, c->op->name,
                        "x %s is not [T, N, I], w_ih %s not [%d H, I], or w_hr not "
                        "[R, H]",
                        EG__SHAPE_OF(x), EG__SHAPE_OF(w_ih), gates);
    }
    *s = (sizes){x->shape[0], x->shape[1], x->shape[2], w_ih->shape[0] / gates, 0};
    s->state = w_hr ? w_hr->shape[0] : s->width;
    int64_t stacked = w_ih->shape[0];
    eg_status st = check_dtypes(c);
    st = st ? st : expect(c, EG__RNN_W_HH, "w_hh", stacked, s->state);
    st = st ? st : expect(c, EG__RNN_B_IH, "b_ih", stacked, -1);
    st = st ? st : expect(c, EG__RNN_B_HH, "b_hh", stacked, -1);
    st = st ? st : expect(c, EG__RNN_H0, "h0", s->rows, s->state);
    st = st ? st : expect(c, EG__RNN_C0, "c0", s->rows, s->width);
    st = st ? st : expect(c, EG__RNN_W_HR, "w_hr", s->state, s->width);
    st = st ? st : expect(c, EG__RNN_LENGTHS, "lengths", s->rows, -1);
    return st ? st : check_lengths(c, s->steps);
}

static void describe(eg__call *c, int j, int dtype, eg_shape shape)
{
    eg__desc *d = &c->desc[j];
    d->dtype = (uint8_t)dtype;
    d->ndim = (uint8_t)shape.ndim;
    memcpy(d->shape, shape.dim, sizeof d->shape);
    eg__desc_dense(d);
}

/* What the gradient needs is never kept in halves. */
static int wide_dtype(int dtype)
{
    return dtype == EG_F64 ? EG_F64 : EG_F32;
}

/* T N `kept` numbers, and T + 1 states; or what the engine wants. */
static eg_status describe_reserve(eg__call *c, int j, const sizes *s, int64_t kept, int64_t states)
{
    const eg__engine *engine = eg__devices[c->device]->engine;
    const int64_t bytes = engine->rnn_reserve ? engine->rnn_reserve(c) : 0;
    if (bytes) {
        describe(c, j, EG_U8, EG_SHAPE(bytes));
        return EG_OK;
    }
    int64_t n, shape[] = {s->steps + 1, s->rows, kept + states};
    int dtype = wide_dtype(c->in[0]->dtype);
    eg_status st = eg__check_shape(c->op->name, 3, shape, dtype, &n);
    if (!st) {
        n = s->steps * s->rows * kept + (s->steps + 1) * s->rows * states;
        describe(c, j, dtype, EG_SHAPE(n));
    }
    return st;
}

eg_status eg__infer_lstm(eg__call *c)
{
    sizes s;
    eg_status st = check(c, 4, &s);
    if (!st) {
        int dtype = c->in[0]->dtype;
        describe(c, 0, dtype, EG_SHAPE(s.steps, s.rows, s.state));
        describe(c, 1, dtype, EG_SHAPE(s.rows, s.state));
        describe(c, 2, dtype, EG_SHAPE(s.rows, s.width));
        st = describe_reserve(c, 3, &s, 4 * s.width, s.width + s.state);
    }
    return st;
}

eg_status eg__infer_gru(eg__call *c)
{
    sizes s;
    eg_status st = check(c, 3, &s);
    if (!st) {
        int dtype = c->in[0]->dtype;
        describe(c, 0, dtype, EG_SHAPE(s.steps, s.rows, s.state));
        describe(c, 1, dtype, EG_SHAPE(s.rows, s.state));
        st = describe_reserve(c, 2, &s, 4 * s.width, s.state);
    }
    return st;
}

/* Gradients of x, and of all weights as result j. */
static void describe_packed(eg__call *c, int j)
{
    const eg_tensor *x = c->in[EG__RNN_GRAD_X], *w_hh = c->in[EG__RNN_GRAD_W_HH];
    const eg_tensor *w_hr = c->in[EG__RNN_GRAD_W_HR];
    describe(c, 0, x->dtype, EG_SHAPE(x->shape[0], x->shape[1], x->shape[2]));
    describe(c, j, x->dtype, EG_SHAPE(eg__rnn_weights(w_hh, x->shape[2], w_hr)));
}

/* Gradients before the activations, of the first states, and of what was projected. */
eg_status eg__infer_lstm_grad(eg__call *c)
{
    const eg__rnn_grad_opts *o = c->opts;
    const eg_tensor *w_hh = c->in[EG__RNN_GRAD_W_HH];
    int64_t width = w_hh->shape[0] / 4, state = w_hh->shape[1];
    int dtype = w_hh->dtype;
    bool projects = o->forward.has >> EG__RNN_W_HR & 1;
    if (eg__rnn_packed(c->in[EG__RNN_GRAD_RESERVE])) {
        describe_packed(c, 3);
        describe(c, 1, dtype, EG_SHAPE(o->rows, state));
        describe(c, 2, dtype, EG_SHAPE(o->rows, width));
        return EG_OK;
    }
    describe(c, 0, dtype, EG_SHAPE(o->steps, o->rows, 4 * width));
    describe(c, 1, dtype, EG_SHAPE(o->rows, state));
    describe(c, 2, dtype, EG_SHAPE(o->rows, width));
    describe(c, 3, dtype, EG_SHAPE(projects ? o->steps : 0, o->rows, state));
    return EG_OK;
}

/* Gradients before the activations on x's side and, where it differs, on h's; of the first
 * state. */
eg_status eg__infer_gru_grad(eg__call *c)
{
    const eg__rnn_grad_opts *o = c->opts;
    const eg_tensor *w_hh = c->in[EG__RNN_GRAD_W_HH];
    int64_t stacked = w_hh->shape[0];
    int dtype = w_hh->dtype;
    if (eg__rnn_packed(c->in[EG__RNN_GRAD_RESERVE])) {
        describe_packed(c, 1);
        describe(c, 2, dtype, EG_SHAPE(o->rows, w_hh->shape[1]));
        return EG_OK;
    }
    describe(c, 0, dtype, EG_SHAPE(o->steps, o->rows, stacked));
    describe(c, 1, dtype, EG_SHAPE(o->forward.reset_before ? 0 : o->steps, o->rows, stacked));
    describe(c, 2, dtype, EG_SHAPE(o->rows, w_hh->shape[1]));
    return EG_OK;
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* x [T, I] and the states beside it, whose one row has no axis, with one; and lengths as the row lstm takes them. */
static eg_status settle(const char *op, eg_tensor **in, int nin, bool alone)
{
    static const struct {
        const char *name;
        int input, ndim;
    } rowless[] = {{"h0", EG__RNN_H0, 1}, {"lengths", EG__RNN_LENGTHS, 0}, {"c0", EG__RNN_C0, 1}};
    if (in[EG__RNN_LENGTHS] && in[EG__RNN_LENGTHS]->dtype == EG_U8 &&
        !(in[EG__RNN_LENGTHS] = eg_cast(in[EG__RNN_LENGTHS], EG_I64))) {
        return eg__why();
    }
    if (alone && !(in[EG__RNN_X] = eg_unsqueeze(in[EG__RNN_X], 1))) {
        return eg__why();
    }
    for (int i = 0; i < EG__COUNT(rowless) && alone; i++) {
        const int k = rowless[i].input;
        if (k >= nin || !in[k]) {
            continue;
        }
        if (in[k]->magic == EG__MAGIC && in[k]->ndim != rowless[i].ndim) {
            return eg__fail(EG_ESHAPE, op, "%s is %s and should be of rank %d beside an x of rank 2", rowless[i].name,
                            EG__SHAPE_OF(in[k]), rowless[i].ndim);
        }
        if (!(in[k] = eg_unsqueeze(in[k], 0))) {
            return eg__why();
        }
    }
    return EG_OK;
}

/* Runs the row over x, steps first; its first three outputs. */
static eg_rnn run(const eg__op *op, eg_tensor **in, int nin, eg__rnn_opts *o, bool batch_first)
{
    eg_tensor *out[EG__MAX_OUT] = {NULL};
    const eg_axes steps_first = {3, {1, 0, 2}};
    for (int i = EG__RNN_B_IH; i < nin; i++) {
        o->has |= in[i] ? 1u << i : 0;
    }
    eg_scope s = eg_scope_push();
    eg_status st = s.depth ? eg__check(in[EG__RNN_X], op->name, "x") : eg__why();
    const bool alone = !st && in[EG__RNN_X]->ndim == 2;
    st = st ? st : settle(op->name, in, nin, alone);
    batch_first = batch_first && !alone;
    if (!st && batch_first && in[EG__RNN_X]->ndim == 3) {
        in[EG__RNN_X] = eg_permute(in[EG__RNN_X], steps_first);
        st = in[EG__RNN_X] ? EG_OK : eg__why();
    }
    st = st ? st : eg__dispatch(op, in, nin, o, out);
    if (!st && batch_first) {
        out[0] = eg_permute(out[0], steps_first);
        st = out[0] ? EG_OK : eg__why();
    }
    for (int j = 0; j < op->nout - 1 && alone && !st; j++) {
        out[j] = eg_squeeze(out[j], EG_AXES(j ? 0 : 1));
        st = out[j] ? EG_OK : eg__why();
    }
    eg_rnn r = {out[0], out[1], op->nout > 3 ? out[2] : NULL};
    st = eg_scope_pop_n(s, (eg_tensor *[]){st ? NULL : r.y, st ? NULL : r.h, st ? NULL : r.c}, 3) ? eg__why() : st;
    return st ? (eg_rnn){NULL, NULL, NULL} : r;
}

eg_rnn eg_lstm_with(eg_tensor *x, eg_tensor *w_ih, eg_tensor *w_hh, const eg_lstm_options *given)
{
    static const eg_lstm_options defaults = {.size = sizeof defaults};
    const eg_lstm_options *o = given ? given : &defaults;
    eg__rnn_opts opts = {.reverse = o->reverse, .clip = o->clip};
    if (!(o->clip >= 0)) {
        eg__fail(EG_EINVAL, "lstm", "clip is %g, must not be negative", o->clip);
        return (eg_rnn){NULL, NULL, NULL};
    }
    return run(&eg__op_lstm, (eg_tensor *[]){x, w_ih, w_hh, o->b_ih, o->b_hh, o->h0, o->lengths, o->c0, o->w_hr},
               EG__RNN_INPUTS, &opts, o->batch_first);
}

eg_rnn eg_gru_with(eg_tensor *x, eg_tensor *w_ih, eg_tensor *w_hh, const eg_gru_options *given)
{
    static const eg_gru_options defaults = {.size = sizeof defaults};
    const eg_gru_options *o = given ? given : &defaults;
    eg__rnn_opts opts = {.reverse = o->reverse, .reset_before = o->reset_before};
    return run(&eg__op_gru, (eg_tensor *[]){x, w_ih, w_hh, o->b_ih, o->b_hh, o->h0, o->lengths}, EG__RNN_C0, &opts,
               o->batch_first);
}

/* ---- one step -------------------------------------------------------------------------------- */

/* x [N, I], or [I], as one step. */
static eg_tensor *one_step(eg_tensor *x, const char *op, bool sequence_options)
{
    if (eg__check(x, op, "x")) {
        return NULL;
    }
    if (sequence_options) {
        return eg__fail_null(EG_EINVAL, op, "a step has no lengths, batch_first or reverse");
    }
    return x->ndim == 2 || x->ndim == 1 ? eg_unsqueeze(x, 0)
                                        : eg__fail_null(EG_ESHAPE, op, "x %s is not [N, I] or [I]", EG__SHAPE_OF(x));
}

static eg_rnn only_step(eg_rnn r)
{
    r.y = r.h;
    return r;
}

eg_rnn eg_lstm_cell_with(eg_tensor *x, eg_tensor *w_ih, eg_tensor *w_hh, const eg_lstm_options *o)
{
    eg_tensor *step = one_step(x, "lstm_cell", o && (o->lengths || o->batch_first || o->reverse));
    return step ? only_step(eg_lstm_with(step, w_ih, w_hh, o)) : (eg_rnn){NULL, NULL, NULL};
}

eg_rnn eg_gru_cell_with(eg_tensor *x, eg_tensor *w_ih, eg_tensor *w_hh, const eg_gru_options *o)
{
    eg_tensor *step = one_step(x, "gru_cell", o && (o->lengths || o->batch_first || o->reverse));
    return step ? only_step(eg_gru_with(step, w_ih, w_hh, o)) : (eg_rnn){NULL, NULL, NULL};
}

/* ---- both directions ------------------------------------------------------------------------- */

eg_rnn eg_rnn_join(eg_rnn a, eg_rnn b)
{
    bool cells = a.c || b.c;
    eg_rnn r = {.y = eg_concat((eg_tensor *[]){a.y, b.y}, 2, -1)};
    r.h = r.y ? eg_stack((eg_tensor *[]){a.h, b.h}, 2, 0) : NULL;
    r.c = r.h && cells ? eg_stack((eg_tensor *[]){a.c, b.c}, 2, 0) : NULL;
    return r.h && (r.c || !cells) ? r : (eg_rnn){NULL, NULL, NULL};
}
