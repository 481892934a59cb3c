/* attention_dnn.c - attention of halves by cuDNN: without dropout, whose words are not ours, and without a mask but the
 * causal one of as many queries as keys. Its gradient adds in one order in a form that keeps the gradient of the
 * scores for a while: as many matrices at a time as that may take memory for. */
#include <math.h>

#include "lib/cuda/attention_dnn.h"

_Static_assert(sizeof(eg__attention_key) == 6 * 8 + 8 * 3 * 8 + 8, "a key has no padding");
_Static_assert(sizeof(eg__attention_key) <= EG__DNN_KEY, "a key can be kept");

/* Bytes of scores at a time, few where tests want to see parts; and the most for one matrix. */
#ifdef EG_EMULATED
enum { SCORES = 1 << 12 };
#else
enum { SCORES = 1 << 28 };
#endif
enum { SCORES_OF_ONE = EG__DNN_WORK - (1 << 20) };

/* What runs know parts by: matrices are 1 and on. */
enum { STATS = EG__ATTENTION_MATRICES + 1, SUMS, SCALE, HIDDEN, ONE };

/* ---- graphs ------------------------------------------------------------------------------------------- */

typedef struct drawing {
    eg__graph *g;
    const eg__attention_key *k;
    cudnnDataType_t type;
    eg__dnn_shape scores, turned, row; /* [b, h, t, s], with its strides exchanged, and [b, h, t, 1] */
} drawing;

static eg__dnn_shape shape_of(const eg__attention_key *k, int matrix)
{
    const bool keys = matrix == EG__ATTENTION_K || matrix == EG__ATTENTION_V || matrix == EG__ATTENTION_DK ||
                      matrix == EG__ATTENTION_DV;
    const bool values = matrix == EG__ATTENTION_V || matrix == EG__ATTENTION_Y || matrix == EG__ATTENTION_DY ||
                        matrix == EG__ATTENTION_DV;
    const int64_t *stride = k->stride[matrix];
    return (eg__dnn_shape){4, {k->b, k->h, keys ? k->s : k->t, values ? k->v : k->d},
                           {stride[0], stride[1], stride[2], 1}};
}

static eg__dnn_shape transposed(eg__dnn_shape s)
{
    const int64_t size = s.size[2], stride = s.stride[2];
    s.size[2] = s.size[3];
    s.stride[2] = s.stride[3];
    s.size[3] = size;
    s.stride[3] = stride;
    return s;
}

static eg__dnn matrix(const drawing *d, int matrix, bool turned)
{
    const eg__dnn_shape s = shape_of(d->k, matrix), other = transposed(s);
    return eg__graph_tensor(d->g, turned ? &other : &s, d->type, matrix + 1, 16);
}

static eg__dnn rows_of(const drawing *d, int64_t id)
{
    return eg__graph_tensor(d->g, &d->row, CUDNN_DATA_FLOAT, id, id == STATS ? d->k->align : 16);
}

static eg__dnn number(const drawing *d, int64_t id)
{
    return eg__graph_number(d->g, 4, CUDNN_DATA_FLOAT, id);
}

/* A new tensor of a formula of f32. */
static eg__dnn point(const drawing *d, cudnnPointwiseMode_t mode, const eg__dnn_shape *s, cudnnDataType_t type,
                     eg__dnn x, eg__dnn b)
{
    eg__dnn y = eg__graph_between(d->g, s, type);
    eg__graph_point(d->g, mode, CUDNN_DATA_FLOAT, x, b, NULL, y);
    return y;
}

static eg__dnn scores_of(const drawing *d, eg__dnn a, eg__dnn b)
{
    eg__dnn y = eg__graph_between(d->g, &d->scores, CUDNN_DATA_FLOAT);
    eg__graph_matmul(d->g, CUDNN_DATA_FLOAT, a, b, y);
    return y;
}

static eg__dnn reduced(const drawing *d, cudnnReduceTensorOp_t mode, eg__dnn x)
{
    eg__dnn y = eg__graph_between(d->g, &d->row, CUDNN_DATA_FLOAT);
    eg__graph_reduce(d->g, mode, CUDNN_DATA_FLOAT, x, y);
    return y;
}

/* -infinity where the key comes after the query. */
static eg__dnn hide(const drawing *d, eg__dnn x)
{
    if (!d->k->causal) {
        return x;
    }
    eg__dnn row = eg__graph_between(d->g, &d->scores, CUDNN_DATA_INT32);
    eg__dnn column = eg__graph_between(d->g, &d->scores, CUDNN_DATA_INT32);
    eg__dnn seen = eg__graph_between(d->g, &d->scores, CUDNN_DATA_BOOLEAN);
    eg__dnn y = eg__graph_between(d->g, &d->scores, CUDNN_DATA_FLOAT);
    eg__graph_index(d->g, 2, x, row);
    eg__graph_index(d->g, 3, x, column);
    eg__graph_point(d->g, CUDNN_POINTWISE_CMP_GE, CUDNN_DATA_BOOLEAN, row, column, NULL, seen);
    eg__graph_point(d->g, CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, x, number(d, HIDDEN), seen, y);
    return y;
}

static void draw_forward(const drawing *d)
{
    const cudnnDataType_t f32 = CUDNN_DATA_FLOAT;
    eg__dnn q = matrix(d, EG__ATTENTION_Q, false), k = matrix(d, EG__ATTENTION_K, true);
    eg__dnn v = matrix(d, EG__ATTENTION_V, false), y = matrix(d, EG__ATTENTION_Y, false);
    eg__dnn x = point(d, CUDNN_POINTWISE_MUL, &d->scores, f32, scores_of(d, q, k), number(d, SCALE));
    x = hide(d, x);
    eg__dnn top = reduced(d, CUDNN_REDUCE_TENSOR_MAX, x);
    eg__dnn less = point(d, CUDNN_POINTWISE_SUB, &d->scores, f32, x, top);
    eg__dnn power = point(d, CUDNN_POINTWISE_EXP, &d->scores, f32, less, NULL);
    eg__dnn sum = reduced(d, CUDNN_REDUCE_TENSOR_ADD, power);
    eg__dnn logarithm = point(d, CUDNN_POINTWISE_LOG, &d->row, f32, sum, NULL);
    eg__graph_point(d->g, CUDNN_POINTWISE_ADD, f32, top, logarithm, NULL, rows_of(d, STATS));
    eg__dnn weights = point(d, CUDNN_POINTWISE_DIV, &d->scores, d->type, power, sum);
    eg__graph_matmul(d->g, f32, weights, v, y);
}

/* a^T b into a matrix, where a is of scores. */
static void into_keys(const drawing *d, eg__dnn a, eg__dnn b, int to)
{
    eg__dnn turned = eg__graph_between(d->g, &d->turned, d->type);
    eg__graph_reshape(d->g, a, turned);
    eg__graph_matmul(d->g, CUDNN_DATA_FLOAT, turned, b, matrix(d, to, false));
}

static void draw_backward(const drawing *d)
{
    const cudnnDataType_t f32 = CUDNN_DATA_FLOAT;
    const eg__dnn_shape dense = eg__dnn_dense(4, (int64_t[]){d->k->b, d->k->h, d->k->t, d->k->v});
    const eg__dnn_shape keys = shape_of(d->k, EG__ATTENTION_K);
    eg__dnn q = matrix(d, EG__ATTENTION_Q, false), k = matrix(d, EG__ATTENTION_K, true);
    eg__dnn v = matrix(d, EG__ATTENTION_V, true), y = matrix(d, EG__ATTENTION_Y, false);
    eg__dnn dy = matrix(d, EG__ATTENTION_DY, false), scale = number(d, SCALE), sums = rows_of(d, SUMS);
    eg__dnn both = point(d, CUDNN_POINTWISE_MUL, &dense, f32, dy, y);
    eg__graph_point(d->g, CUDNN_POINTWISE_MUL, f32, reduced(d, CUDNN_REDUCE_TENSOR_ADD, both), number(d, ONE), NULL,
                    sums);
    eg__dnn x = point(d, CUDNN_POINTWISE_MUL, &d->scores, f32, scores_of(d, q, k), scale);
    x = hide(d, point(d, CUDNN_POINTWISE_SUB, &d->scores, f32, x, rows_of(d, STATS)));
    eg__dnn weights = point(d, CUDNN_POINTWISE_EXP, &d->scores, f32, x, NULL);
    into_keys(d, weights, dy, EG__ATTENTION_DV);
    eg__dnn slope = point(d, CUDNN_POINTWISE_SUB, &d->scores, f32, scores_of(d, dy, v), sums);
    slope = point(d, CUDNN_POINTWISE_MUL, &d->scores, f32, slope, weights);
    slope = point(d, CUDNN_POINTWISE_MUL, &d->scores, d->type, slope, scale);
    into_keys(d, slope, q, EG__ATTENTION_DK);
    eg__dnn upright = eg__graph_between(d->g, &keys, d->type);
    eg__graph_reshape(d->g, k, upright);
    eg__graph_matmul(d->g, f32, slope, upright, matrix(d, EG__ATTENTION_DQ, false));
}

void eg__attention_draw(eg__graph *g, const void *key)
{
    const eg__attention_key *k = key;
    drawing d = {g, k, eg__dnn_type(k->dtype), .scores = eg__dnn_dense(4, (int64_t[]){k->b, k->h, k->t, k->s}),
                 .row = eg__dnn_dense(4, (int64_t[]){k->b, k->h, k->t, 1})};
    const int64_t turned[4] = {k->b, k->h, k->s, k->t};
    d.turned = d.scores;
    memcpy(d.turned.size, turned, sizeof turned);
    d.turned.stride[2] = 1;
    d.turned.stride[3] = k->s;
    if (k->backward) {
        draw_backward(&d);
    } else {
        draw_forward(&d);
    }
}

/* ---- how matrices lie --------------------------------------------------------------------------------- */

/* Those of a call: axes in front merged to two. */
typedef struct work {
    const eg__call *c;
    const eg__attended *g;
    eg_tensor *m[EG__ATTENTION_MATRICES];
    int n, nlead;
    int64_t size[EG_MAX_DIMS], lead[EG__ATTENTION_MATRICES][EG_MAX_DIMS];
    int64_t b, h;
} work;

/* What is repeated is so in memory too: in the results' leading axes. */
static eg_tensor *spread(const work *w, eg_tensor *t)
{
    bool repeated = false;
    int64_t lead[EG_MAX_DIMS];
    const int n = w->g->nbatch;
    eg__lead_strides(w->g, t, lead);
    for (int d = 0; d < n; d++) {
        repeated |= !lead[d] && w->g->batch[d] > 1;
    }
    if (!repeated && (t->strides[t->ndim - 1] == 1 || t->shape[t->ndim - 1] == 1)) {
        return t;
    }
    eg__desc to = {.dtype = t->dtype, .ndim = (uint8_t)(n + 2), .device = t->device};
    memcpy(to.shape, w->g->batch, sizeof to.shape);
    to.shape[n] = t->shape[t->ndim - 2];
    to.shape[n + 1] = t->shape[t->ndim - 1];
    eg__desc_dense(&to);
    eg_tensor *copy = eg__new(&to, w->c->op->name, w->c->op->id);
    eg_status st = copy ? eg__run(eg__host_ops()[EG__ID_copy], &t, 1, &(eg__copy_opts){EG__TO_DENSE}, copy) : eg__why();
    return st ? NULL : copy;
}

/* Whether axes d and d + 1 are one, in all matrices. */
static bool one_axis(const work *w, int d)
{
    bool one = true;
    for (int i = 0; i < w->n; i++) {
        one = one && (w->size[d] == 1 || w->lead[i][d] == w->lead[i][d + 1] * w->size[d + 1]);
    }
    return one;
}

static void merge(work *w, int d)
{
    w->size[d + 1] *= w->size[d];
    w->nlead--;
    memmove(w->size + d, w->size + d + 1, (size_t)(w->nlead - d) * sizeof *w->size);
    for (int i = 0; i < w->n; i++) {
        memmove(w->lead[i] + d, w->lead[i] + d + 1, (size_t)(w->nlead - d) * sizeof *w->size);
    }
}

/* Two axes in front of all matrices, in steps of 16 bytes. */
static bool lies(work *w)
{
    bool fine = true;
    w->nlead = w->g->nbatch;
    memcpy(w->size, w->g->batch, sizeof w->size);
    for (int i = 0; i < w->n; i++) {
        const eg_tensor *t = w->m[i];
        const int64_t row = t->strides[t->ndim - 2];
        eg__lead_strides(w->g, t, w->lead[i]);
        fine = fine && (uintptr_t)eg__ptr(t) % 16 == 0 && row % 8 == 0 && row > 0;
        for (int d = 0; d < w->nlead; d++) {
            fine = fine && w->lead[i][d] % 8 == 0;
        }
    }
    for (int d = w->nlead - 2; d >= 0 && w->nlead > 2; d--) {
        if (one_axis(w, d)) {
            merge(w, d);
        }
    }
    w->h = w->nlead ? w->size[w->nlead - 1] : 1;
    w->b = w->nlead > 1 ? w->size[0] : 1;
    return fine && w->nlead <= 2;
}

/* Along axis 0 or 1 of the two. */
static int64_t step(const work *w, int i, int axis)
{
    const int d = w->nlead - 2 + axis;
    const eg_tensor *t = w->m[i];
    return d < 0 || (axis ? w->h : w->b) == 1 ? t->strides[t->ndim - 2] * t->shape[t->ndim - 2] : w->lead[i][d];
}

/* ---- running ------------------------------------------------------------------------------------------ */

/* The most that divides n and is not above `most`. */
static int64_t part_of(int64_t n, int64_t most)
{
    int64_t parts = 1;
    while (n % parts || n / parts > most) {
        parts++;
    }
    return n / parts;
}

static eg__attention_key key_of(const work *w, bool backward)
{
    const eg__attention_opts *o = w->c->opts;
    eg__attention_key k;
    memset(&k, 0, sizeof k);
    k.b = w->b;
    k.h = w->h;
    k.t = w->g->t;
    k.s = w->g->s;
    k.d = w->g->d;
    k.v = w->g->v;
    k.dtype = w->m[0]->dtype;
    k.causal = o->causal;
    k.backward = backward;
    if (backward) {
        const int64_t most = eg__max(SCORES / (k.t * k.s * 2), 1);
        k.b = k.h > most ? 1 : part_of(k.b, most / k.h);
        k.h = part_of(k.h, most);
    }
    k.align = k.b * k.h == w->b * w->h || k.t * k.h * k.b % 4 == 0 ? 16 : 4;
    for (int i = 0; i < w->n; i++) {
        k.stride[i][0] = step(w, i, 0);
        k.stride[i][1] = step(w, i, 1);
        k.stride[i][2] = w->m[i]->strides[w->m[i]->ndim - 2];
    }
    return k;
}

static eg_status run_parts(const work *w, const eg__attention_key *k, eg__dnn_plan *plan, const eg_tensor *stats,
                           void *sums)
{
    float scale = (float)((const eg__attention_opts *)w->c->opts)->scale, hidden = -INFINITY, one = 1;
    eg_status st = EG_OK;
    for (int64_t b = 0; b < w->b; b += k->b) {
        for (int64_t h = 0; h < w->h && !st; h += k->h) {
            int64_t id[ONE];
            void *at[ONE];
            int n = 0;
            for (; n < w->n; n++) {
                id[n] = n + 1;
                at[n] = eg__ptr(w->m[n]) + (b * k->stride[n][0] + h * k->stride[n][1]) * 2;
            }
            const struct {
                int64_t id;
                void *at;
                bool there;
            } more[] = {{STATS, eg__ptr(stats) + (b * w->h + h) * k->t * 4, true}, {SCALE, &scale, true},
                        {HIDDEN, &hidden, k->causal}, {SUMS, sums, k->backward}, {ONE, &one, k->backward}};
            for (int i = 0; i < EG__COUNT(more); i++) {
                if (more[i].there) {
                    id[n] = more[i].id;
                    at[n++] = more[i].at;
                }
            }
            st = eg__dnn_run(w->c, plan, n, id, at);
        }
    }
    return st;
}

static eg_status run(const work *w, bool backward, const eg_tensor *stats, bool *done)
{
    const eg__attention_key key = key_of(w, backward);
    const eg__dnn_ask ask = {"attention", eg__attention_draw, &key, sizeof key, 0};
    eg__dnn_plan *plan;
    eg__block *sums = NULL;
    eg_status st = eg__dnn_find(w->c, &ask, &plan);
    if (st) {
        return st;
    }
    if (plan->made) {
        st = backward ? eg__cuda_scratch(w->c, (size_t)(key.b * key.h * key.t) * sizeof(float), &sums) : EG_OK;
        st = st ? st : run_parts(w, &key, plan, stats, sums ? sums->data : NULL);
        eg__cuda_scratch_end(sums);
        *done = true;
    }
    eg__dnn_leave(plan);
    return st;
}

static bool can(const eg__call *c, const eg__attended *g, eg_tensor *const *m, bool backward)
{
    const eg__attention_opts *o = c->opts;
    const bool half = m[0]->dtype == EG_F16 || m[0]->dtype == EG_BF16;
    return half && !o->mask && o->dropout <= 0 && (!o->causal || g->t == g->s) && g->batches && g->t && g->s && g->d &&
           g->v && g->d % 8 == 0 && g->v % 8 == 0 && (!backward || g->t <= SCORES_OF_ONE / 2 / g->s) &&
           eg__dnn_there(c);
}

eg_status eg__attention_dnn(const eg__call *c, const eg__attended *g, eg_tensor *const *matrices, bool backward,
                            eg_tensor *stats, bool *done)
{
    work w = {.c = c, .g = g, .n = backward ? EG__ATTENTION_MATRICES : EG__ATTENTION_Y + 1};
    *done = false;
    if (!can(c, g, matrices, backward)) {
        return EG_OK;
    }
    for (int i = 0; i < w.n; i++) {
        const bool result = i >= EG__ATTENTION_DQ || (!backward && i == EG__ATTENTION_Y);
        w.m[i] = result ? matrices[i] : spread(&w, matrices[i]);
        if (!w.m[i]) {
            return eg__why();
        }
    }
    return lies(&w) ? run(&w, backward, stats, done) : EG_OK;
}
