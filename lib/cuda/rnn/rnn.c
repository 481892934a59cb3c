/* rnn.c - the host side of recurrent layers: the product with x of all steps at once, then for each step one
 * with its state and a kernel for the cells; backwards likewise. Halves are multiplied as they are, into f32. */
#include <math.h>

#include "lib/cuda/matrix/blas.h"
#include "lib/cuda/rnn/dnn_rnn.h"
#include "lib/cuda/rnn/rnn.h"
#include "lib/ops/rnn.h"

/* ---- a layer on its way ------------------------------------------------------------------------------- */

typedef struct layer {
    const eg__call *c;
    eg__rnn_plan p;
    const eg_tensor *reserve;
    int dtype, kept_dtype;
    int64_t size, kept;          /* bytes of an element: of the row, of the reserve */
    bool half, first_state;      /* the first is given */
    eg__rnn_cells cells, states; /* of a step: rows x width, rows x state */
    size_t workspace, taken;     /* scratch: of products, then what else was taken so far */
    eg__block *block;
} layer;

static layer layer_of(const eg__call *c, eg__rnn_plan p, const eg__rnn_opts *o, const eg_tensor *reserve, int dtype)
{
    const bool half = dtype == EG_F16 || dtype == EG_BF16, wide = dtype == EG_F64;
    layer l = {.c = c, .p = p, .reserve = reserve, .dtype = dtype, .half = half};
    l.first_state = o->has >> EG__RNN_H0 & 1;
    l.kept_dtype = wide ? EG_F64 : EG_F32;
    l.kept = wide ? 8 : 4;
    l.size = half ? 2 : l.kept;
    l.cells = (eg__rnn_cells){
        .n = p.rows * p.width, .width = eg__divisor_of(p.width), .wide = wide, .dtype = dtype, .size = (int)l.size};
    l.states = l.cells;
    l.states.n = p.rows * p.state;
    l.states.width = eg__divisor_of(p.state);
    return l;
}

/* Where so many bytes of scratch will be. */
static size_t take(layer *l, int64_t bytes)
{
    size_t at = l->taken;
    l->taken += ((size_t)bytes + 511) / 512 * 512;
    return at;
}

/* Lengths of the CPU in a tensor that dies with the call. */
static const eg_tensor *uploaded(const layer *l, const eg_tensor *lengths)
{
    const eg__call *c = l->c;
    eg__desc d = {.dtype = lengths->dtype, .ndim = 1, .device = c->device, .shape = {lengths->n}};
    eg__desc_dense(&d);
    eg_tensor *t = eg__new(&d, c->op->name, c->op->id);
    const size_t bytes = (size_t)lengths->n * eg__esize(lengths);
    return t && !eg__cuda_upload(c->op->name, c->T, t, eg__ptr(lengths), bytes) ? t : NULL;
}

static eg_status find_lengths(layer *l)
{
    const eg_tensor *t = l->p.lengths;
    if (t && !t->device && !(t = uploaded(l, t))) {
        return eg__why();
    }
    if (t) {
        l->cells.lengths = l->states.lengths = eg__ptr(t);
        l->cells.long_lengths = l->states.long_lengths = t->dtype == EG_I64;
    }
    return EG_OK;
}

static eg_status get_scratch(layer *l)
{
    eg_status st = find_lengths(l);
    if (st) {
        return st;
    }
    l->workspace = (l->workspace + 511) / 512 * 512;
    const size_t bytes = l->workspace + l->taken;
    return eg__cuda_scratch(l->c, bytes ? bytes : 1, &l->block);
}

static char *scratch_at(const layer *l, size_t at)
{
    return l->block->data + l->workspace + at;
}

static char *kept_at(const layer *l, int64_t i)
{
    return eg__ptr(l->reserve) + i * l->kept;
}

static char *data_of(const eg_tensor *t)
{
    return t ? eg__ptr(t) : NULL;
}

/* The step meets a state of zeros: its products with h need not be made. Backwards nobody asks for the gradient. */
static bool meets_zeros(const layer *l, int64_t index)
{
    return !index && !l->first_state;
}

/* ---- products ----------------------------------------------------------------------------------------- */

/* Matrices of `cols` columns within something wider, one for each step. */
typedef struct matrix {
    const char *first;    /* NULL: scratch, which is aligned */
    int64_t cols, stride; /* in elements */
    int64_t step;         /* bytes from one to the next */
} matrix;

/* y[rows, .] (+)= a w^T with w [y.cols, a.cols], or a w with w [a.cols, y.cols]. */
typedef struct product {
    bool any, sum, add; /* something to write; something to sum */
    const char *w;
    size_t bytes; /* of y; where nothing is summed it is dense or added to */
    eg__gemm_plan plan;
} product;

/* w is made of whole rows of `weight` from row `from` on. */
static eg_status plan(layer *l, product *p, int64_t rows, matrix a, const eg_tensor *weight, int64_t from,
                      bool transposed, matrix y, bool add)
{
    const int64_t across = weight->shape[1];
    eg__gemm g;
    memset(&g, 0, sizeof g);
    memset(p, 0, sizeof *p);
    p->any = rows && y.cols;
    p->sum = a.cols > 0;
    p->add = add;
    p->w = eg__ptr(weight) + from * across * l->size;
    p->bytes = (size_t)(rows * y.cols * l->kept);
    if (!p->any || !p->sum) {
        return EG_OK;
    }
    g.m = rows;
    g.n = y.cols;
    g.k = a.cols;
    g.lda = a.stride;
    g.ldb = across;
    g.ldd = y.stride;
    g.batch = 1;
    g.dtype = (uint8_t)l->dtype;
    g.math = l->dtype == EG_F32 ? l->c->T->math : EG_MATH_DEFAULT;
    g.b_transposed = transposed;
    g.add = add;
    g.align_a = eg__gemm_align((uint64_t)(uintptr_t)a.first | (uint64_t)a.step);
    g.align_b = eg__gemm_align((uint64_t)(uintptr_t)p->w);
    g.align_d = eg__gemm_align((uint64_t)(uintptr_t)y.first | (uint64_t)y.step);
    g.ordinal = (uint8_t)eg__cuda_at(l->c->device)->ordinal;
    g.f32 = l->half;
    eg_status st = eg__gemm_find(l->c, &g, &p->plan);
    l->workspace = p->plan.workspace > l->workspace ? p->plan.workspace : l->workspace;
    return st || p->plan.found ? st : eg__gemm_none(l->c, &g);
}

static eg_status multiply(const layer *l, product *p, const char *a, char *y)
{
    if (!p->any || (!p->sum && p->add)) {
        return EG_OK;
    }
    return p->sum ? eg__gemm_run(l->c, &p->plan, a, p->w, y, NULL, l->block->data)
                  : eg__launched(l->c, cudaMemsetAsync(y, 0, p->bytes, eg__stream_of(l->c)));
}

/* ---- before the first step and after the last --------------------------------------------------------- */

/* What there is of a tensor, else zeros, to n numbers. */
static void add_copy(eg__rnn_copies *k, const char *from, int from_dtype, char *to, int to_dtype, int64_t n)
{
    const int i = k->jobs++;
    k->job[i].from = from;
    k->job[i].to = to;
    k->job[i].from_dtype = from_dtype;
    k->job[i].to_dtype = to_dtype;
    k->job[i].n = n;
}

static eg_status copy(const layer *l, eg__rnn_copies *k)
{
    k->wide = l->cells.wide;
    return eg__launched(l->c, eg__launch_rnn_copies(k, eg__stream_of(l->c)));
}

/* The first states; h also to `feed`, unless that is NULL. The lengths are looked at. */
static eg_status first_states(const layer *l, const eg_tensor *h0, const eg_tensor *c0, char *feed)
{
    const eg__rnn_plan *p = &l->p;
    const int64_t first = eg__rnn_first(p);
    eg__rnn_copies k = {.lengths = l->cells.lengths,
                        .long_lengths = l->cells.long_lengths,
                        .rows = p->rows,
                        .steps = p->steps,
                        .op = l->c->op->id,
                        .fault = eg__fault_of(l->c)};
    add_copy(&k, data_of(h0), l->dtype, kept_at(l, p->h + first * l->states.n), l->kept_dtype, l->states.n);
    if (l->c->op->nout > 3) {
        add_copy(&k, data_of(c0), l->dtype, kept_at(l, p->c + first * l->cells.n), l->kept_dtype, l->cells.n);
    }
    if (feed) {
        add_copy(&k, data_of(h0), l->dtype, feed, l->dtype, l->states.n);
    }
    return copy(l, &k);
}

/* What the steps left behind, to results of the row's dtype; c NULL: a GRU's. */
static eg_status last_states(const layer *l, const char *h, eg_tensor *to_h, const char *c, eg_tensor *to_c)
{
    eg__rnn_copies k = {.jobs = 0};
    add_copy(&k, h, l->kept_dtype, eg__ptr(to_h), l->dtype, to_h->n);
    if (c) {
        add_copy(&k, c, l->kept_dtype, eg__ptr(to_c), l->dtype, to_c->n);
    }
    return copy(l, &k);
}

/* ---- LSTM --------------------------------------------------------------------------------------------- */

typedef struct lstm {
    layer l;
    product x, h, r;
    size_t feed, cells; /* scratch: halves of h; what is projected */
} lstm;

static eg_status lstm_step(lstm *m, int64_t index)
{
    layer *l = &m->l;
    const eg__rnn_plan *p = &l->p;
    const eg__call *c = l->c;
    const int64_t t = eg__rnn_time(p, index), before = eg__rnn_before(p, t), after = eg__rnn_after(p, t);
    const double clip = ((const eg__rnn_opts *)c->opts)->clip;
    char *h_before = kept_at(l, p->h + before * l->states.n), *h = kept_at(l, p->h + after * l->states.n);
    char *y = eg__ptr(c->out[0]) + t * l->states.n * l->size;
    char *feed = l->half ? scratch_at(l, m->feed) : NULL;
    eg__rnn_step k = {.at = l->cells,
                      .gates = kept_at(l, t * 4 * l->cells.n),
                      .b_ih = data_of(c->in[EG__RNN_B_IH]),
                      .b_hh = data_of(c->in[EG__RNN_B_HH]),
                      .c_before = kept_at(l, p->c + before * l->cells.n),
                      .c = kept_at(l, p->c + after * l->cells.n),
                      .clip = clip > 0 ? clip : (double)NAN};
    eg__rnn_step projected = {.at = l->states, .h_before = h_before, .h = h, .feed = feed, .y = y};
    k.at.t = projected.at.t = t;
    const bool projects = c->in[EG__RNN_W_HR] != NULL;
    if (projects) {
        k.feed = scratch_at(l, m->cells);
    } else {
        k.h_before = h_before;
        k.h = h;
        k.feed = feed;
        k.y = y;
    }
    eg_status st = meets_zeros(l, index) ? EG_OK : multiply(l, &m->h, feed ? feed : h_before, k.gates);
    st = st ? st : eg__launched(c, eg__launch_lstm_step(&k, eg__stream_of(c)));
    if (projects) {
        st = st ? st : multiply(l, &m->r, k.feed, h);
        st = st ? st : eg__launched(c, eg__launch_lstm_project(&projected, eg__stream_of(c)));
    }
    return st;
}

eg_status eg__cuda_lstm(const eg__call *c)
{
    const eg_tensor *x = c->in[EG__RNN_X], *w_hr = c->in[EG__RNN_W_HR];
    if (eg__rnn_packed(c->out[3])) {
        return eg__dnn_rnn(c);
    }
    lstm m = {.l = layer_of(c, eg__rnn_forward_plan(c, 4), c->opts, c->out[3], x->dtype)};
    layer *l = &m.l;
    const eg__rnn_plan *p = &l->p;
    const int64_t N = p->rows, H = p->width, R = p->state;
    const matrix gates = {kept_at(l, 0), 4 * H, 4 * H, 4 * l->cells.n * l->kept};
    const matrix h = {kept_at(l, p->h), R, R, l->states.n * l->kept}, feed = {NULL, R, R, 0};
    eg_status st = plan(l, &m.x, p->steps * N, (matrix){eg__ptr(x), p->inputs, p->inputs, 0}, c->in[EG__RNN_W_IH], 0,
                        true, gates, false);
    st = st ? st : plan(l, &m.h, N, l->half ? feed : h, c->in[EG__RNN_W_HH], 0, true, gates, true);
    if (w_hr) {
        st = st ? st : plan(l, &m.r, N, (matrix){NULL, H, H, 0}, w_hr, 0, true, h, false);
        m.cells = take(l, l->cells.n * l->size);
    }
    m.feed = take(l, l->half ? l->states.n * l->size : 0);
    st = st ? st : get_scratch(l);
    st = st ? st : first_states(l, c->in[EG__RNN_H0], c->in[EG__RNN_C0], l->half ? scratch_at(l, m.feed) : NULL);
    st = st ? st : multiply(l, &m.x, eg__ptr(x), kept_at(l, 0));
    for (int64_t i = 0; i < p->steps && !st; i++) {
        st = lstm_step(&m, i);
    }
    const int64_t last = eg__rnn_last(p);
    st = st ? st
            : last_states(l, kept_at(l, p->h + last * l->states.n), c->out[1], kept_at(l, p->c + last * l->cells.n),
                          c->out[2]);
    eg__cuda_scratch_end(l->block);
    return st;
}

typedef struct lstm_back {
    layer l;
    product h, r;
    size_t dh, other, dc, cells; /* scratch: dh of two states in turn */
} lstm_back;

static eg_status lstm_step_back(lstm_back *m, int64_t index)
{
    layer *l = &m->l;
    const eg__rnn_plan *p = &l->p;
    const eg__call *c = l->c;
    const int64_t t = eg__rnn_time(p, index);
    const double clip = ((const eg__rnn_grad_opts *)c->opts)->forward.clip;
    const eg_tensor *dy = c->in[EG__RNN_GRAD_DY];
    char *dh = scratch_at(l, m->dh), *other = scratch_at(l, m->other), *past = p->lengths ? other : NULL;
    char *dy_t = dy ? eg__ptr(dy) + t * l->states.n * l->size : NULL;
    eg__rnn_back k = {.at = l->cells,
                      .gates = kept_at(l, t * 4 * l->cells.n),
                      .c_before = kept_at(l, p->c + eg__rnn_before(p, t) * l->cells.n),
                      .c = kept_at(l, p->c + eg__rnn_after(p, t) * l->cells.n),
                      .dh = dh,
                      .dy = dy_t,
                      .dc = scratch_at(l, m->dc),
                      .dz = eg__ptr(c->out[0]) + t * 4 * l->cells.n * l->size,
                      .past = past,
                      .clip = clip > 0 ? clip : (double)NAN};
    eg_status st = EG_OK;
    k.at.t = t;
    if (c->in[EG__RNN_GRAD_W_HR]) {
        eg__rnn_back projected = {
            .at = l->states, .dh = dh, .dy = dy_t, .dz = eg__ptr(c->out[3]) + t * l->states.n * l->size, .past = past};
        projected.at.t = t;
        st = eg__launched(c, eg__launch_lstm_project_back(&projected, eg__stream_of(c)));
        k.dh = scratch_at(l, m->cells);
        k.dy = NULL;
        k.past = NULL;
        st = st ? st : multiply(l, &m->r, projected.dz, scratch_at(l, m->cells));
    }
    st = st ? st : eg__launched(c, eg__launch_lstm_back(&k, eg__stream_of(c)));
    if (st || meets_zeros(l, index)) {
        return st;
    }
    st = multiply(l, &m->h, k.dz, other);
    const size_t done = m->dh;
    m->dh = m->other;
    m->other = done;
    return st;
}

eg_status eg__cuda_lstm_grad(const eg__call *c)
{
    const eg_tensor *w_hh = c->in[EG__RNN_GRAD_W_HH], *w_hr = c->in[EG__RNN_GRAD_W_HR];
    const eg__rnn_grad_opts *o = c->opts;
    if (eg__rnn_packed(c->in[EG__RNN_GRAD_RESERVE])) {
        return eg__dnn_rnn_grad(c);
    }
    lstm_back m = {.l =
                       layer_of(c, eg__rnn_backward_plan(c, 4), &o->forward, c->in[EG__RNN_GRAD_RESERVE], w_hh->dtype)};
    layer *l = &m.l;
    const eg__rnn_plan *p = &l->p;
    const int64_t N = p->rows, H = p->width, R = p->state;
    eg_status st = plan(l, &m.h, N, (matrix){eg__ptr(c->out[0]), 4 * H, 4 * H, 4 * l->cells.n * l->size}, w_hh, 0,
                        false, (matrix){NULL, R, R, 0}, p->lengths != NULL);
    if (w_hr) {
        st = st ? st
                : plan(l, &m.r, N, (matrix){eg__ptr(c->out[3]), R, R, l->states.n * l->size}, w_hr, 0, false,
                       (matrix){NULL, H, H, 0}, false);
        m.cells = take(l, l->cells.n * l->kept);
    }
    m.dh = take(l, l->states.n * l->kept);
    m.other = take(l, l->states.n * l->kept);
    m.dc = take(l, l->cells.n * l->kept);
    st = st ? st : get_scratch(l);
    if (!st) {
        eg__rnn_copies k = {.jobs = 0};
        add_copy(&k, data_of(c->in[EG__RNN_GRAD_DH]), l->dtype, scratch_at(l, m.dh), l->kept_dtype, l->states.n);
        add_copy(&k, data_of(c->in[EG__RNN_GRAD_DC]), l->dtype, scratch_at(l, m.dc), l->kept_dtype, l->cells.n);
        st = copy(l, &k);
    }
    for (int64_t i = p->steps; i-- > 0 && !st;) {
        st = lstm_step_back(&m, i);
    }
    st = st ? st : last_states(l, scratch_at(l, m.dh), c->out[1], scratch_at(l, m.dc), c->out[2]);
    eg__cuda_scratch_end(l->block);
    return st;
}

/* ---- GRU ---------------------------------------------------------------------------------------------- */

/* Where the reset gate comes before the product: h's part is two products, of gates r and z and of n. */
typedef struct gru {
    layer l;
    product x, h, n;
    size_t feed, feed_n, product; /* scratch: halves of h and of r h; w_hh h */
} gru;

static eg_status gru_step(gru *m, int64_t index)
{
    layer *l = &m->l;
    const eg__rnn_plan *p = &l->p;
    const eg__call *c = l->c;
    const int64_t t = eg__rnn_time(p, index), H = p->width;
    char *feed = l->half ? scratch_at(l, m->feed) : NULL;
    eg__rnn_step k = {.at = l->cells,
                      .gates = kept_at(l, t * 3 * l->cells.n),
                      .b_ih = data_of(c->in[EG__RNN_B_IH]),
                      .b_hh = data_of(c->in[EG__RNN_B_HH]),
                      .h_before = kept_at(l, p->h + eg__rnn_before(p, t) * l->cells.n),
                      .h = kept_at(l, p->h + eg__rnn_after(p, t) * l->cells.n),
                      .met = kept_at(l, p->met + t * l->cells.n),
                      .feed = feed,
                      .y = eg__ptr(c->out[0]) + t * l->cells.n * l->size};
    const char *h = feed ? feed : k.h_before;
    const bool zeros = meets_zeros(l, index);
    k.at.t = t;
    if (!((const eg__rnn_opts *)c->opts)->reset_before) {
        k.product = zeros ? NULL : scratch_at(l, m->product);
        eg_status st = zeros ? EG_OK : multiply(l, &m->h, h, scratch_at(l, m->product));
        return st ? st : eg__launched(c, eg__launch_gru_step(&k, eg__stream_of(c)));
    }
    k.feed = l->half ? scratch_at(l, m->feed_n) : NULL;
    eg_status st = zeros ? EG_OK : multiply(l, &m->h, h, k.gates);
    st = st ? st : eg__launched(c, eg__launch_gru_gates(&k, eg__stream_of(c)));
    if (!zeros) {
        st = st ? st : multiply(l, &m->n, k.feed ? k.feed : k.met, k.gates + 2 * H * l->kept);
    }
    k.feed = feed;
    return st ? st : eg__launched(c, eg__launch_gru_candidate(&k, eg__stream_of(c)));
}

eg_status eg__cuda_gru(const eg__call *c)
{
    const eg_tensor *x = c->in[EG__RNN_X], *w_hh = c->in[EG__RNN_W_HH];
    if (eg__rnn_packed(c->out[2])) {
        return eg__dnn_rnn(c);
    }
    gru m = {.l = layer_of(c, eg__rnn_forward_plan(c, 3), c->opts, c->out[2], x->dtype)};
    layer *l = &m.l;
    const eg__rnn_plan *p = &l->p;
    const bool early = ((const eg__rnn_opts *)c->opts)->reset_before;
    const int64_t N = p->rows, H = p->width, step = l->cells.n * l->kept;
    const matrix scratch = {NULL, H, H, 0}, h = {kept_at(l, p->h), H, H, step}, met = {kept_at(l, p->met), H, H, step};
    eg_status st = plan(l, &m.x, p->steps * N, (matrix){eg__ptr(x), p->inputs, p->inputs, 0}, c->in[EG__RNN_W_IH], 0,
                        true, (matrix){kept_at(l, 0), 3 * H, 3 * H, 0}, false);
    const matrix both = {kept_at(l, 0), 2 * H, 3 * H, 3 * step}, last = {kept_at(l, 2 * H), H, 3 * H, 3 * step};
    const matrix all = {NULL, 3 * H, 3 * H, 0};
    st = st ? st : plan(l, &m.h, N, l->half ? scratch : h, w_hh, 0, true, early ? both : all, early);
    if (early) {
        st = st ? st : plan(l, &m.n, N, l->half ? scratch : met, w_hh, 2 * H, true, last, true);
        m.feed_n = take(l, l->half ? l->cells.n * l->size : 0);
    } else {
        m.product = take(l, 3 * step);
    }
    m.feed = take(l, l->half ? l->cells.n * l->size : 0);
    st = st ? st : get_scratch(l);
    st = st ? st : first_states(l, c->in[EG__RNN_H0], NULL, l->half ? scratch_at(l, m.feed) : NULL);
    st = st ? st : multiply(l, &m.x, eg__ptr(x), kept_at(l, 0));
    for (int64_t i = 0; i < p->steps && !st; i++) {
        st = gru_step(&m, i);
    }
    st = st ? st : last_states(l, kept_at(l, p->h + eg__rnn_last(p) * l->cells.n), c->out[1], NULL, NULL);
    eg__cuda_scratch_end(l->block);
    return st;
}

typedef struct gru_back {
    layer l;
    product h, n;
    size_t dh, past, drh; /* scratch: dh of two states in turn; gradient of r h */
} gru_back;

static eg_status gru_step_back(gru_back *m, int64_t index)
{
    layer *l = &m->l;
    const eg__rnn_plan *p = &l->p;
    const eg__call *c = l->c;
    const int64_t t = eg__rnn_time(p, index);
    const eg_tensor *dy = c->in[EG__RNN_GRAD_DY];
    const bool early = ((const eg__rnn_grad_opts *)c->opts)->forward.reset_before;
    char *past = scratch_at(l, m->past);
    eg__rnn_back k = {.at = l->cells,
                      .gates = kept_at(l, t * 3 * l->cells.n),
                      .met = kept_at(l, p->met + t * l->cells.n),
                      .h_before = kept_at(l, p->h + eg__rnn_before(p, t) * l->cells.n),
                      .dh = scratch_at(l, m->dh),
                      .dy = dy ? eg__ptr(dy) + t * l->cells.n * l->size : NULL,
                      .dz = eg__ptr(c->out[0]) + t * 3 * l->cells.n * l->size,
                      .past = past};
    const bool zeros = meets_zeros(l, index);
    eg_status st;
    k.at.t = t;
    if (early) {
        char *drh = scratch_at(l, m->drh);
        k.drh = zeros ? NULL : drh;
        st = eg__launched(c, eg__launch_gru_candidate_back(&k, eg__stream_of(c)));
        if (!zeros) {
            st = st ? st : multiply(l, &m->n, k.dz + 2 * p->width * l->size, drh);
        }
        st = st ? st : eg__launched(c, eg__launch_gru_gates_back(&k, eg__stream_of(c)));
    } else {
        k.dm = eg__ptr(c->out[1]) + t * 3 * l->cells.n * l->size;
        st = eg__launched(c, eg__launch_gru_back(&k, eg__stream_of(c)));
    }
    if (!zeros) {
        st = st ? st : multiply(l, &m->h, early ? k.dz : k.dm, past);
    }
    const size_t done = m->dh;
    m->dh = m->past;
    m->past = done;
    return st;
}

eg_status eg__cuda_gru_grad(const eg__call *c)
{
    const eg_tensor *w_hh = c->in[EG__RNN_GRAD_W_HH];
    const eg__rnn_grad_opts *o = c->opts;
    if (eg__rnn_packed(c->in[EG__RNN_GRAD_RESERVE])) {
        return eg__dnn_rnn_grad(c);
    }
    gru_back m = {.l = layer_of(c, eg__rnn_backward_plan(c, 3), &o->forward, c->in[EG__RNN_GRAD_RESERVE], w_hh->dtype)};
    layer *l = &m.l;
    const eg__rnn_plan *p = &l->p;
    const bool early = o->forward.reset_before;
    const int64_t N = p->rows, H = p->width, step = 3 * l->cells.n * l->size;
    const matrix scratch = {NULL, H, H, 0}, both = {eg__ptr(c->out[0]), 2 * H, 3 * H, step};
    const matrix last = {eg__ptr(c->out[0]) + 2 * H * l->size, H, 3 * H, step};
    const matrix all = {eg__ptr(c->out[1]), 3 * H, 3 * H, step};
    eg_status st = plan(l, &m.h, N, early ? both : all, w_hh, 0, false, scratch, true);
    if (early) {
        st = st ? st : plan(l, &m.n, N, last, w_hh, 2 * H, false, scratch, false);
        m.drh = take(l, l->cells.n * l->kept);
    }
    m.dh = take(l, l->cells.n * l->kept);
    m.past = take(l, l->cells.n * l->kept);
    st = st ? st : get_scratch(l);
    if (!st) {
        eg__rnn_copies k = {.jobs = 0};
        add_copy(&k, data_of(c->in[EG__RNN_GRAD_DH]), l->dtype, scratch_at(l, m.dh), l->kept_dtype, l->cells.n);
        st = copy(l, &k);
    }
    for (int64_t i = p->steps; i-- > 0 && !st;) {
        st = gru_step_back(&m, i);
    }
    st = st ? st : last_states(l, scratch_at(l, m.dh), c->out[2], NULL, NULL);
    eg__cuda_scratch_end(l->block);
    return st;
}
