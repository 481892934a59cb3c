/* random.c - the host side of random tensors, draws and dropout. */
#include "lib/core/capture.h"
#include "lib/cuda/random/draws.h"
#include "lib/cuda/common/launches.h"
#include "lib/ops/options.h"
#include "lib/math/philox.h"

eg__draws eg__cuda_draws(const eg__call *c, eg_random_state from)
{
    uint64_t after;
    if (unlikely(eg__capture_draws(c->T, from, &after))) {
        return (eg__draws){0, after, (const uint64_t *)(const void *)eg__ptr(c->T->capture->memory)};
    }
    return (eg__draws){from.seed, from.offset, NULL};
}

static eg_status numbers(const eg__call *c, const eg__drawing *d, int kind)
{
    const eg__random_opts *o = c->opts;
    eg__shaping shape = {o->a, o->b, o->b - o->a, nextafter(o->b, o->a)};
    if (o->dtype != EG_F64) { /* in f32 from the start */
        const float a = (float)o->a, b = (float)o->b;
        shape = (eg__shaping){(double)a, (double)b, (double)(b - a), (double)nextafterf(b, a)};
    }
    return eg__launched(c, eg__launch_numbers(d, kind, &shape, eg__stream_of(c)));
}

static eg_status permutation(const eg__call *c, const eg__drawing *d)
{
    const size_t half = (size_t)d->n * (d->n >> 32 ? 8 : 4);
    eg__block *links;
    eg_status st = eg__cuda_scratch(c, 2 * half, &links);
    if (st) {
        return st;
    }
    st = eg__launched(c, cudaMemsetAsync(links->data, 0, half, eg__stream_of(c)));
    st = st ? st : eg__launched(c, eg__launch_permutation(d, links->data, eg__stream_of(c)));
    eg__cuda_scratch_end(links);
    return st;
}

eg_status eg__cuda_random(const eg__call *c)
{
    const eg__random_opts *o = c->opts;
    const eg_tensor *y = c->out[0];
    const eg__drawing d = {
        eg__ptr(y), y->n, eg__cuda_draws(c, o->from), y->dtype, (int)eg__esize(y), (uintptr_t)eg__ptr(y) % 16 == 0};
    uint64_t one = 0;
    if (!y->n) {
        return EG_OK;
    }
    switch (o->kind) {
    case EG__RANDOM_UNIFORM:
        return numbers(c, &d, EG__DRAW_UNIFORM);
    case EG__RANDOM_NORMAL:
        return numbers(c, &d, EG__DRAW_NORMAL);
    case EG__RANDOM_TRUNCATED:
        return numbers(c, &d, EG__DRAW_TRUNCATED);
    case EG__RANDOM_BERNOULLI:
        eg__store(&one, y->dtype, 0, 1);
        return eg__launched(c, eg__launch_chances(&d, eg__threshold(o->a), one, eg__stream_of(c)));
    case EG__RANDOM_INTEGERS:
        return eg__launched(c, eg__launch_integers(&d, o->low, o->range, eg__stream_of(c)));
    default:
        return permutation(c, &d);
    }
}

/* y has no gaps, so that elements in the order of the walk are numbered as they lie. */
eg_status eg__cuda_dropout(const eg__call *c)
{
    const eg__dropout_opts *o = c->opts;
    eg__dropping d = {eg__cuda_draws(c, o->from), 0, eg__threshold(o->p), o->p < 1 ? 1 / (1 - o->p) : 0};
    eg__launches w;
    eg_status st = EG_OK;
    eg__launches_begin(&w, c, (eg_tensor *[]){c->out[0], c->in[0]}, 2);
    while (!st && eg__launches_next(&w)) {
        st = eg__launched(c, eg__launch_dropout(&w.elements, &d, eg__stream_of(c)));
        d.first += w.elements.n;
    }
    return st;
}

/* The running sums of as many rows at once as the cache of a large GPU holds. */
enum { SUMS = 1 << 22 };

eg_status eg__cuda_categorical(const eg__call *c)
{
    const eg__categorical_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *y = c->out[0];
    const int64_t classes = x->shape[x->ndim - 1], rows = o->n ? y->n / o->n : 0;
    const int64_t most = eg__max(1, eg__min(rows, SUMS / classes));
    const eg__draws from = eg__cuda_draws(c, o->from);
    eg__block *sums;
    if (!y->n) {
        return EG_OK;
    }
    eg_status st = eg__cuda_scratch(c, (size_t)(most * classes) * sizeof(double), &sums);
    if (st) {
        return st;
    }
    for (int64_t row = 0; row < rows && !st; row += most) {
        const eg__choosing k = {.x = eg__ptr(x) + row * classes * (int64_t)eg__esize(x),
                                .sums = (double *)(void *)sums->data,
                                .y = (int64_t *)(void *)eg__ptr(y) + row * o->n,
                                .rows = eg__min(most, rows - row),
                                .row = row,
                                .classes = classes,
                                .n = o->n,
                                .from = from,
                                .dtype = x->dtype,
                                .logits = o->logits,
                                .op = c->op->id,
                                .fault = eg__fault_of(c)};
        st = eg__launched(c, eg__launch_categorical(&k, eg__stream_of(c)));
    }
    eg__cuda_scratch_end(sums);
    return st;
}
