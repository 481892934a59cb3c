/* ctc.c - the host side of connectionist temporal classification. */
#include "lib/cuda/reduce/ctc.h"
#include "lib/cuda/runtime/cuda.h"
#include "lib/ops/options.h"

static eg__ctc batch_of(const eg__call *c, const eg_tensor *x, const eg_tensor *targets, const eg_tensor *alpha,
                        const eg_tensor *frames, const eg_tensor *lengths)
{
    eg__ctc k = {.x = eg__ptr(x),
                 .frames = x->shape[0],
                 .rows = x->shape[1],
                 .classes = x->shape[2],
                 .targets = (const int64_t *)eg__ptr(targets),
                 .input_lengths = frames ? (const int64_t *)eg__ptr(frames) : NULL,
                 .target_lengths = lengths ? (const int64_t *)eg__ptr(lengths) : NULL,
                 .ntargets = targets->n,
                 .width = targets->ndim == 2 ? targets->shape[1] : 0,
                 .alpha = eg__ptr(alpha),
                 .states = alpha->shape[2],
                 .f64 = x->dtype == EG_F64,
                 .o = *(const eg__ctc_opts *)c->opts,
                 .op = c->op->id,
                 .fault = eg__fault_of(c)};
    memcpy(k.x_step, x->strides, sizeof k.x_step);
    return k;
}

/* Rounded up, so that what follows is aligned. */
static size_t part(int64_t count, size_t size)
{
    return ((size_t)count * size + 255) / 256 * 256;
}

static size_t columns_of(const eg__ctc *k)
{
    const size_t size = k->f64 ? 8 : 4, column = (size_t)k->states * size;
    return 2 * column > EG__CTC_SHARED ? part(2 * k->rows * k->states, size) : 0;
}

eg_status eg__cuda_ctc_loss(const eg__call *c)
{
    eg__ctc k = batch_of(c, c->in[0], c->in[1], c->out[1], c->in[2], c->in[3]);
    const size_t columns = columns_of(&k);
    eg__block *block = NULL;
    k.loss = eg__ptr(c->out[0]);
    eg_status st = k.rows && columns ? eg__cuda_scratch(c, columns, &block) : EG_OK;
    if (k.rows && !st) {
        k.columns = block ? block->data : NULL;
        st = eg__launched(c, eg__launch_ctc_loss(&k, eg__stream_of(c)));
    }
    eg__cuda_scratch_end(block);
    return st;
}

eg_status eg__cuda_ctc_loss_grad(const eg__call *c)
{
    const eg_tensor *dy = c->in[0], *dx = c->out[0];
    eg__ctc k = batch_of(c, c->in[1], c->in[2], c->in[3], c->in[4], c->in[5]);
    const size_t columns = columns_of(&k), shares = part(k.rows * k.frames * k.states, k.f64 ? 8 : 4);
    const size_t links = part(k.rows * (k.states / 2), sizeof *k.links), known = part(k.rows, sizeof *k.known);
    eg__block *block = NULL;
    if (!dx->n) {
        return EG_OK;
    }
    k.dy = eg__ptr(dy);
    k.dy_step = dy->strides[0];
    k.dx = eg__ptr(dx);
    memcpy(k.dx_step, dx->strides, sizeof k.dx_step);
    eg_status st = eg__cuda_scratch(c, columns + shares + links + known, &block);
    if (!st) {
        k.shares = block->data;
        k.links = (int64_t *)(void *)(k.shares + shares);
        k.known = (eg__ctc_known *)(void *)(k.shares + shares + links);
        k.columns = columns ? k.shares + shares + links + known : NULL;
        st = eg__launched(c, eg__launch_ctc_loss_grad(&k, eg__stream_of(c)));
    }
    eg__cuda_scratch_end(block);
    return st;
}

eg_status eg__cuda_ctc_collapse(const eg__call *c)
{
    const eg__ctc_opts *o = c->opts;
    const eg_tensor *path = c->in[0];
    const eg__collapsing k = {.path = (const int64_t *)eg__ptr(path),
                              .input_lengths = o->frames ? (const int64_t *)eg__ptr(c->in[1]) : NULL,
                              .labels = (int64_t *)eg__ptr(c->out[0]),
                              .lengths = (int64_t *)eg__ptr(c->out[1]),
                              .frames = path->shape[0],
                              .rows = path->shape[1],
                              .blank = o->blank,
                              .op = c->op->id,
                              .fault = eg__fault_of(c)};
    return k.rows ? eg__launched(c, eg__launch_ctc_collapse(&k, eg__stream_of(c))) : EG_OK;
}
