/* conv_dnn.c - convolutions by cuDNN: channels innermost, weights too. */
#include "lib/cuda/conv/conv_dnn.h"

/* ---- keys ------------------------------------------------------------------------------------ */

_Static_assert(sizeof(eg__conv_key) == 26 * 8 + 8, "a key has no padding");
_Static_assert(sizeof(eg__conv_key) <= EG__DNN_KEY, "a key can be kept");

static uint8_t align_of(const eg_tensor *t)
{
    return (uint8_t)eg__dnn_align(eg__ptr(t));
}

eg__conv_key eg__conv_key_of(const eg__conv_job *j, bool bias)
{
    const eg__conv_geometry *g = &j->g;
    const bool deep = g->in[0] > 1 || g->k[0] > 1 || g->before[0] || g->after[0];
    eg__conv_key k;
    memset(&k, 0, sizeof k);
    k.g = *g;
    k.result = (uint8_t)j->result;
    k.dtype = j->x->dtype;
    k.axes = deep ? 3 : 2;
    k.bias = bias;
    k.align_x = align_of(j->x);
    k.align_w = align_of(j->w);
    k.align_y = align_of(j->y);
    k.align_bias = bias ? align_of(j->bias) : 0;
    k.act = bias && j->act == EG__ACT_RELU ? EG__ACT_RELU : EG__ACT_NONE;
    return k;
}

/* ---- running them ---------------------------------------------------------------------------- */

static eg_status find(const eg__conv_job *j, bool after, eg__dnn_plan **plan)
{
    const eg__conv_key key = eg__conv_key_of(j, after);
    const eg__dnn_ask ask = {"convolution", eg__conv_draw, &key, sizeof key, eg__conv_rules(key.dtype, j->c->T->math)};
    return eg__dnn_find(j->c, &ask, plan);
}

static eg_status run(const eg__conv_job *j, bool bias, eg__dnn_plan *plan)
{
    static const int64_t ids[] = {EG__DNN_X, EG__DNN_W, EG__DNN_Y, EG__DNN_BIAS};
    void *at[] = {eg__ptr(j->x), eg__ptr(j->w), eg__ptr(j->y), bias ? eg__ptr(j->bias) : NULL};
    return eg__dnn_run(j->c, plan, bias ? 4 : 3, ids, at);
}

/* What the engine did not. */
static eg_status finish(const eg__conv_job *j, bool after)
{
    eg_status st = after ? EG_OK : eg__conv_add_bias(j);
    return st || (after && j->act == EG__ACT_RELU) ? st : eg__conv_activate(j);
}

/* Bias, and ReLU after it, are the engine's if there is one that can. */
static eg_status run_forms(const eg__conv_job *j, bool *done)
{
    const bool fuse = j->result == EG__CONV_Y && j->bias && (j->bias->n == 1 || j->bias->strides[0] == 1);
    eg_status st = EG_OK;
    *done = false;
    for (int after = fuse; after >= 0 && !st && !*done; after--) {
        eg__dnn_plan *plan;
        st = find(j, after, &plan);
        if (!st && plan->made) {
            *done = true;
            st = run(j, after, plan);
            st = st ? st : finish(j, after);
        }
        eg__dnn_leave(plan);
    }
    return st;
}

eg_status eg__conv_dnn(const eg__conv_job *j, bool *done)
{
    eg__conv_job last = *j;
    *done = false;
    if (!eg__dnn_there(j->c)) {
        return EG_OK;
    }
    if (!(last.x = eg__conv_last(j, j->x)) || !(last.y = eg__conv_last(j, j->y))) {
        return eg__why();
    }
    if (j->result != EG__CONV_W) {
        last.w = eg__conv_last(j, j->w);
        return last.w ? run_forms(&last, done) : eg__why();
    }
    eg_tensor *w = j->c->out[0]; /* dense: the same if there is one channel or one tap */
    const bool same = j->g.c == j->g.groups || j->g.k[0] * j->g.k[1] * j->g.k[2] == 1;
    if (!same && !(w = eg__conv_last_like(j, j->w))) {
        return eg__why();
    }
    last.w = w;
    eg_status st = run_forms(&last, done);
    return st || same || !*done ? st : eg__conv_copy(w, j->c->out[0]);
}
