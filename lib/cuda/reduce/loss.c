/* loss.c - the host side of cross entropy with labels. */
#include "lib/cuda/reduce/loss.h"
#include "lib/cuda/common/launches.h"
#include "lib/ops/options.h"

static eg__labelled labelled(const eg__call *c, eg_tensor *const *t, int nops, const eg_tensor *labels,
                             const eg_tensor *weight)
{
    const eg__cross_entropy_opts *o = c->opts;
    eg__labelled k = {.labels = (const int64_t *)eg__ptr(labels),
                      .weight = weight ? eg__ptr(weight) : NULL,
                      .smoothing = o->smoothing,
                      .ignore = o->ignore,
                      .ignore_index = o->ignore_index,
                      .fault = eg__fault_of(c),
                      .op = c->op->id};
    eg__lines_make(&k.l, t, nops, 1);
    const bool few = k.l.at.n * (k.l.n / 16) < (int64_t)eg__cuda_at(c->device)->processors * 1024;
    k.l.lanes = (unsigned)eg__power((k.l.n + 15) / (few ? 4 : 16), 256);
    return k;
}

eg_status eg__cuda_cross_entropy(const eg__call *c)
{
    const eg_tensor *weight = c->nin > 2 ? c->in[2] : NULL;
    if (!c->out[0]->n) {
        return EG_OK;
    }
    eg__labelled k = labelled(c, c->in, 1, c->in[1], weight);
    k.loss = eg__ptr(c->out[0]);
    k.rows = eg__ptr(c->out[1]);
    return eg__launched(c, eg__launch_cross_entropy(&k, eg__stream_of(c)));
}

eg_status eg__cuda_cross_entropy_grad(const eg__call *c)
{
    const eg_tensor *weight = c->nin > 4 ? c->in[4] : NULL;
    if (!c->out[0]->n) {
        return EG_OK;
    }
    eg__labelled k = labelled(c, (eg_tensor *[]){c->in[1], c->out[0]}, 2, c->in[2], weight);
    k.dy = eg__ptr(c->in[0]);
    k.rows = eg__ptr(c->in[3]);
    return eg__launched(c, eg__launch_cross_entropy_grad(&k, eg__stream_of(c)));
}
