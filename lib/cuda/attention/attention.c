/* attention.c - the host side of attention. */
#include "lib/cuda/attention/attention.h"
#include "lib/cuda/attention/attention_dnn.h"
#include "lib/cuda/random/draws.h"
#include "lib/math/philox.h"

/* With columns side by side. */
static eg_status straight(const eg__call *c, eg_tensor **t)
{
    const eg_tensor *x = *t;
    if (x->shape[x->ndim - 1] > 1 && x->strides[x->ndim - 1] != 1) {
        *t = eg__cuda_dense(c, x, x->ndim, x->shape);
    }
    return *t ? EG_OK : eg__why();
}

static eg__attention_operand operand(const eg__attended *g, const eg_tensor *t)
{
    int64_t lead[EG_MAX_DIMS];
    const int64_t size = (int64_t)eg__esize(t);
    eg__attention_operand o = {.p = eg__ptr(t), .row = t->strides[t->ndim - 2] * size};
    uint64_t bits = (uint64_t)(uintptr_t)o.p | (uint64_t)o.row;
    eg__lead_strides(g, t, lead);
    for (int d = 0; d < g->nbatch; d++) {
        o.lead[d] = lead[d] * size;
        bits |= (uint64_t)o.lead[d];
    }
    o.wide = bits % 16 == 0;
    return o;
}

/* qkv: straightened here. */
static eg_status describe(const eg__call *c, eg_tensor **qkv, const eg_tensor *mask, const eg__attended *g,
                          eg__attention *a)
{
    const eg__attention_opts *o = c->opts;
    const eg__band band = eg__attention_band(o, g->t, g->s);
    enum { MOST = 1 << 30 };
    const int64_t tiles = g->batches * ((eg__max(g->t, g->s) + 31) / 32);
    if (g->t > MOST || g->s > MOST || g->d > MOST || g->v > MOST || tiles >= (int64_t)1 << 31) {
        return eg__fail(EG_ESHAPE, c->op->name, "%lld matrices of %lld x %lld weights are too many for %s",
                        (long long)g->batches, (long long)g->t, (long long)g->s, eg__cuda_at(c->device)->device->name);
    }
    for (int i = 0; i < 3; i++) {
        eg_status st = straight(c, &qkv[i]);
        if (st) {
            return st;
        }
    }
    *a = (eg__attention){.q = operand(g, qkv[0]),
                         .k = operand(g, qkv[1]),
                         .v = operand(g, qkv[2]),
                         .dtype = qkv[0]->dtype,
                         .size = (int)eg__esize(qkv[0]),
                         .nlead = g->nbatch,
                         .batches = g->batches,
                         .t = (int)g->t,
                         .s = (int)g->s,
                         .d = (int)g->d,
                         .columns = (int)g->v,
                         .scale = o->scale,
                         .softcap = o->softcap,
                         .low = (int)band.low,
                         .high = (int)band.high,
                         .threshold = o->dropout > 0 ? eg__threshold(o->dropout) : 0,
                         .keep = o->dropout < 1 ? 1 / (1 - o->dropout) : 0,
                         .from = eg__cuda_draws(c, o->from)};
    memcpy(a->lead, g->batch, sizeof a->lead);
    memcpy(a->weights, g->weights, sizeof a->weights);
    if (mask) {
        const int n = mask->ndim;
        a->mask = operand(g, mask);
        a->mask.row = mask->shape[n - 2] == 1 ? 0 : a->mask.row;
        a->mask_column = mask->shape[n - 1] == 1 ? 0 : mask->strides[n - 1] * (int64_t)eg__esize(mask);
        a->mask_dtype = mask->dtype;
    }
    return EG_OK;
}

eg_status eg__cuda_attention(const eg__call *c)
{
    const eg_tensor *mask = c->nin > 3 ? c->in[3] : NULL;
    eg_tensor *qkv[3] = {c->in[0], c->in[1], c->in[2]};
    const eg__attended g = eg__attended_of(qkv[0], qkv[1], qkv[2], mask);
    eg__attention a;
    bool done = true;
    eg_status st = EG_OK;
    if (c->out[1]->n) {
        st = eg__attention_dnn(c, &g, (eg_tensor *[]){qkv[0], qkv[1], qkv[2], c->out[0]}, false, c->out[1], &done);
    }
    st = st || done ? st : describe(c, qkv, mask, &g, &a);
    if (st || done) {
        return st;
    }
    a.y = operand(&g, c->out[0]);
    a.stats = eg__ptr(c->out[1]);
    return eg__launched(c, eg__launch_attention(&a, eg__stream_of(c)));
}

eg_status eg__cuda_attention_grad(const eg__call *c)
{
    const eg_tensor *mask = c->nin > 6 ? c->in[6] : NULL;
    eg_tensor *qkv[3] = {c->in[1], c->in[2], c->in[3]}, *dy = c->in[0], *y = c->in[4];
    const eg__attended g = eg__attended_of(qkv[0], qkv[1], qkv[2], mask);
    eg__attention a;
    eg__block *delta;
    bool done = true;
    eg_status st = EG_OK;
    if (g.batches) {
        eg_tensor *all[] = {qkv[0], qkv[1], qkv[2], y, dy, c->out[0], c->out[1], c->out[2]};
        st = eg__attention_dnn(c, &g, all, true, c->in[5], &done);
    }
    if (st || done) {
        return st;
    }
    st = describe(c, qkv, mask, &g, &a);
    st = st ? st : straight(c, &dy);
    st = st ? st : straight(c, &y);
    st = st ? st : eg__cuda_scratch(c, (size_t)eg__max(c->in[5]->n, 1) * eg__esize(c->in[5]), &delta);
    if (st) {
        return st;
    }
    a.dy = operand(&g, dy);
    a.y = operand(&g, y);
    a.stats = eg__ptr(c->in[5]);
    a.delta = delta->data;
    a.dq = operand(&g, c->out[0]);
    a.dk = operand(&g, c->out[1]);
    a.dv = operand(&g, c->out[2]);
    st = eg__launched(c, eg__launch_attention_grad(&a, eg__stream_of(c)));
    eg__cuda_scratch_end(delta);
    return st;
}
