/* attention_dnn.c - attention of halves by cuDNN: without dropout, whose words are not ours, a soft cap, a window, or a
 * mask but the causal one of as many queries as keys. Its gradient adds in one order in a form that keeps the gradient
 * of the scores for a while: as many matrices at a time as that may take memory for. */
#include <math.h>

#include "lib/cuda/attention/attention_dnn.h"

/* Bytes of scores at a time, few where tests want to see parts; and the most for one matrix. */
#ifdef EG_EMULATED
enum { SCORES = 1 << 12 };
#else
enum { SCORES = 1 << 28 };
#endif
enum { SCORES_OF_ONE = EG__DNN_WORK - (1 << 20) };

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
    int64_t shape[EG_MAX_DIMS];
    memcpy(shape, w->g->batch, sizeof shape);
    shape[n] = t->shape[t->ndim - 2];
    shape[n + 1] = t->shape[t->ndim - 1];
    return eg__cuda_dense(w->c, t, n + 2, shape);
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
    eg__attention_key k;
    memset(&k, 0, sizeof k);
    k.b = w->b;
    k.h = w->h;
    k.t = w->g->t;
    k.s = w->g->s;
    k.d = w->g->d;
    k.v = w->g->v;
    k.dtype = w->m[0]->dtype;
    k.causal = eg__attention_band(w->c->opts, k.t, k.s).high < k.s - 1;
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
            int64_t id[EG__ATTENTION_ONE];
            void *at[EG__ATTENTION_ONE];
            int n = 0;
            for (; n < w->n; n++) {
                id[n] = n + 1;
                at[n] = eg__ptr(w->m[n]) + (b * k->stride[n][0] + h * k->stride[n][1]) * 2;
            }
            const struct {
                int64_t id;
                void *at;
                bool there;
            } more[] = {{EG__ATTENTION_STATS, eg__ptr(stats) + (b * w->h + h) * k->t * 4, true},
                        {EG__ATTENTION_SCALE, &scale, true},
                        {EG__ATTENTION_HIDDEN, &hidden, k->causal},
                        {EG__ATTENTION_SUMS, sums, k->backward},
                        {EG__ATTENTION_ONE, &one, k->backward}};
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
    const eg__band b = eg__attention_band(o, g->t, g->s);
    const bool half = m[0]->dtype == EG_F16 || m[0]->dtype == EG_BF16;
    const bool plain = b.low <= 1 - g->t && ((b.high == 0 && g->t == g->s) || b.high >= g->s - 1) && o->softcap <= 0;
    return half && !o->mask && o->dropout <= 0 && plain && g->batches && g->t && g->s && g->d && g->v &&
           g->d % 8 == 0 && g->v % 8 == 0 && (!backward || g->t <= SCORES_OF_ONE / 2 / g->s) && eg__dnn_there(c);
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
