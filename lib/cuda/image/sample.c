/* sample.c - the host side of reading images at points. The adjoint sorts what is to be added by where it goes. */
#include <egret/ops/sample.h>

#include "lib/cuda/index/index_add.h"
#include "lib/cuda/image/sample.h"
#include "lib/cuda/common/launches.h"
#include "lib/ops/options.h"

/* Threads that fill a large GPU. */
enum { FULL = 1 << 19 };

static bool aligned(const eg_tensor *t)
{
    uint64_t odd = (uint64_t)(uintptr_t)eg__ptr(t) / 4 | (uint64_t)t->strides[0] | (uint64_t)t->strides[2] |
                   (uint64_t)t->strides[3] | (uint64_t)t->shape[1];
    return t->dtype == EG_F32 && t->strides[1] == 1 && odd % 4 == 0;
}

/* points: which input their x is. `items` share threads: pixels of pictures, or of images. */
static eg__sampling sampling_of(const eg__call *c, const eg_tensor *images, const eg_tensor *pictures, int points,
                                bool items_of_images)
{
    const eg_tensor *image = c->nin > points + 2 ? c->in[points + 2] : NULL;
    eg__sampling k = {.o = *(const eg__sample_opts *)c->opts,
                      .images = eg__ptr(images),
                      .pictures = eg__ptr(pictures),
                      .channels = images->shape[1],
                      .h = images->shape[2],
                      .w = images->shape[3],
                      .rows = eg__divisor_of(pictures->shape[2]),
                      .cols = eg__divisor_of(pictures->shape[3]),
                      .last = pictures->strides[1] == 1,
                      .wide = aligned(images) && aligned(pictures),
                      .f64 = images->dtype == EG_F64};
    k.pixels = pictures->shape[0] * pictures->shape[2] * pictures->shape[3];
    memcpy(k.istride, images->strides, sizeof k.istride);
    memcpy(k.ystride, pictures->strides, sizeof k.ystride);
    for (int a = 0; a < 2; a++) {
        k.point[a] = eg__ptr(c->in[points + a]);
        memcpy(k.pstride[a], c->in[points + a]->strides, sizeof k.pstride[a]);
    }
    if (image) {
        k.image = (const int64_t *)(void *)eg__ptr(image);
        k.image_stride = image->strides[0];
    }
    k.groups = (k.channels + 3) / 4;
    int64_t items = items_of_images ? images->shape[0] * k.h * k.w : k.pixels;
    int64_t share = k.last ? 32 : (FULL + items - 1) / eg__max(1, items);
    k.threads = eg__divisor_of(eg__min(k.groups, eg__max(1, share)));
    return k;
}

static eg_status too_many(const eg__call *c, int64_t n)
{
    return eg__fail(EG_ENOKERNEL, c->op->name, "%lld pixels read are more than the 2^31 - 1 it is made for on a GPU",
                    (long long)n);
}

eg_status eg__cuda_grid_sample(const eg__call *c)
{
    if (!c->out[0]->n) {
        return EG_OK;
    }
    const eg__sampling k = sampling_of(c, c->in[0], c->out[0], 1, false);
    return k.pixels > INT32_MAX ? too_many(c, k.pixels) : eg__launched(c, eg__launch_sample(&k, eg__stream_of(c)));
}

eg_status eg__cuda_grid_sample_points(const eg__call *c)
{
    if (!c->out[0]->n) {
        return EG_OK;
    }
    eg__sampling k = sampling_of(c, c->in[1], c->in[0], 2, false);
    k.moved[0] = eg__ptr(c->out[0]);
    k.moved[1] = eg__ptr(c->out[1]);
    return k.pixels > INT32_MAX ? too_many(c, k.pixels)
                                : eg__launched(c, eg__launch_sample_points(&k, eg__stream_of(c)));
}

/* ---- the adjoint ------------------------------------------------------------------------------------- */

typedef struct plan {
    eg__adding add;
    eg__sorting sort;
    unsigned *edges;
    size_t bytes;
    eg__block *block;
} plan;

static void *part_of(plan *p, size_t bytes)
{
    size_t at = p->bytes;
    p->bytes += (bytes + 255) / 256 * 256;
    return p->block ? p->block->data + at : NULL;
}

/* Gives each of what is needed its place; called for the size first. */
static void lay_out(plan *p)
{
    const size_t n = (size_t)p->sort.n, tiles = n / EG__SORT_TILE + 2;
    p->bytes = 0;
    for (int i = 0; i < 2; i++) {
        p->sort.key[i] = part_of(p, n * sizeof(unsigned));
        p->sort.value[i] = part_of(p, n * sizeof(int));
    }
    p->sort.counts = part_of(p, (tiles << EG__DIGIT) * sizeof(unsigned));
    p->edges = part_of(p, 2 * (size_t)(p->add.places + 1) * sizeof(unsigned));
    p->add.weight = part_of(p, n * (p->add.k.f64 ? 8 : 4));
}

static eg_status run(const eg__call *c, plan *p)
{
    eg__adding *a = &p->add;
    const int64_t keys = a->places + 1;
    const int at = (p->sort.passes - 1) & 1;
    cudaStream_t s = eg__stream_of(c);
    lay_out(p);
    a->key = p->sort.key[1];
    a->value = p->sort.value[1];
    a->order = p->sort.value[at];
    a->begin = p->edges;
    a->end = p->edges + keys;
    eg_status st = eg__launched(c, cudaMemsetAsync(p->edges, 0, 2 * (size_t)keys * sizeof(unsigned), s));
    if (p->sort.n) {
        st = st ? st : eg__launched(c, eg__launch_sample_entries(a, s));
        st = st ? st : eg__launched(c, eg__launch_sort(&p->sort, s));
        st = st ? st : eg__launched(c, eg__launch_edges(p->sort.key[at], p->sort.n, p->edges, p->edges + keys, s));
    }
    return st ? st : eg__launched(c, eg__launch_sample_add(a, s));
}

eg_status eg__cuda_grid_sample_grad(const eg__call *c)
{
    eg_tensor *dx = c->out[0];
    if (!dx->n) {
        return EG_OK;
    }
    plan p = {.add = {.k = sampling_of(c, dx, c->in[0], 1, true), .places = dx->n / dx->shape[1]}};
    const eg__sample_opts *o = &p.add.k.o;
    p.add.each = eg__divisor_of(o->block[0] * o->block[1] * eg__sample_taps(o->mode));
    p.add.plane = eg__divisor_of(p.add.k.h * p.add.k.w);
    p.add.width = eg__divisor_of(p.add.k.w);
    const int64_t n = p.add.k.pixels * p.add.each.d;
    if (n > INT32_MAX || p.add.places >= INT32_MAX) {
        return too_many(c, eg__max(n, p.add.places));
    }
    p.sort.n = (int)n;
    p.sort.passes = (64 - __builtin_clzll((unsigned long long)p.add.places) + EG__DIGIT - 1) / EG__DIGIT;
    lay_out(&p);
    eg_status st = eg__cuda_scratch(c, p.bytes, &p.block);
    st = st ? st : run(c, &p);
    eg__cuda_scratch_end(p.block);
    return st;
}
