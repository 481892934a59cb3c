/* pool.c - the host side of pooling. */
#include "lib/cuda/runtime/cuda.h"
#include "lib/cuda/image/pool.h"
#include "lib/ops/options.h"

typedef cudaError_t launch(const eg__pooling *k, cudaStream_t s);

/* Kernels count cells of an axis in 32 bits. */
static eg_status countable(const eg__call *c, const eg__pool_opts *o)
{
    for (int d = 0; d < 3; d++) {
        const int64_t cells = o->in[d] + o->before[d] + o->after[d];
        if (cells >= (int64_t)1 << 30) {
            return eg__fail(EG_ENOKERNEL, c->op->name,
                            "%lld cells along an axis, with its borders: on a GPU there "
                            "are fewer than 2^30",
                            (long long)cells);
        }
    }
    return EG_OK;
}

/* The result is one of cells, or of windows. */
static eg_status pool(const eg__call *c, const eg_tensor *x, const eg_tensor *y, const eg_tensor *taps, launch *f)
{
    const eg__pool_opts *o = c->opts;
    const eg_tensor *result = c->out[0];
    const int64_t *size = x == result ? o->in : o->out;
    if (!result->n) {
        return EG_OK;
    }
    const eg__pooling k = {.o = *o,
                           .x = x ? eg__ptr(x) : NULL,
                           .y = y ? eg__ptr(y) : NULL,
                           .taps = taps ? eg__ptr(taps) : NULL,
                           .places = (int64_t *)(void *)eg__ptr(result),
                           .dtype = result->dtype,
                           .large = taps && taps->dtype == EG_I32,
                           .positions = eg__positions_of(result->n, result->shape[1], size, o->last)};
    eg_status st = countable(c, o);
    return st ? st : eg__launched(c, f(&k, eg__stream_of(c)));
}

eg_status eg__cuda_max_pool(const eg__call *c)
{
    return pool(c, c->in[0], c->out[0], c->out[1],
                c->in[0]->dtype == EG_I64 ? eg__launch_max_pool_int : eg__launch_max_pool);
}

eg_status eg__cuda_max_pool_grad(const eg__call *c)
{
    return pool(c, c->out[0], c->in[0], c->in[1], eg__launch_max_pool_grad);
}

eg_status eg__cuda_max_pool_take(const eg__call *c)
{
    return pool(c, c->in[0], c->out[0], c->in[1], eg__launch_max_pool_take);
}

eg_status eg__cuda_max_pool_places(const eg__call *c)
{
    return pool(c, NULL, NULL, c->in[0], eg__launch_max_pool_places);
}

eg_status eg__cuda_avg_pool(const eg__call *c)
{
    return pool(c, c->in[0], c->out[0], NULL, eg__launch_avg_pool);
}

eg_status eg__cuda_avg_pool_grad(const eg__call *c)
{
    return pool(c, c->out[0], c->in[0], NULL, eg__launch_avg_pool_grad);
}
