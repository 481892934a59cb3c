/* pointwise.c - the host side of pointwise kernels, copies and casts. */
#include "lib/cuda/pointwise/pointwise.h"
#include "lib/cuda/common/launches.h"
#include "lib/ops/options.h"

static eg__numbers numbers(const eg__call *c)
{
    const eg__params *o = c->opts;
    return !o                              ? (eg__numbers){0, 0, 0, 0}
           : eg__is_float(c->in[0]->dtype) ? (eg__numbers){o->p, o->q, 0, 0}
                                           : (eg__numbers){0, 0, o->ip, o->iq};
}

static eg_status unary(const eg__call *c, int row)
{
    eg__launches w;
    const eg__numbers o = numbers(c);
    eg_status st = EG_OK;
    eg__launches_begin(&w, c, (eg_tensor *[]){c->out[0], c->in[0]}, 2);
    while (!st && eg__launches_next(&w)) {
        st = eg__launched(c, eg__launch_unary(row, eg__class_of(c->in[0]->dtype), &w.elements, &o, eg__stream_of(c)));
    }
    return st;
}

static eg_status unary_grad(const eg__call *c, int row)
{
    eg__launches w;
    const eg__numbers o = numbers(c);
    eg_status st = EG_OK;
    eg__launches_begin(&w, c, (eg_tensor *[]){c->out[0], c->in[0], c->in[1]}, 3);
    while (!st && eg__launches_next(&w)) {
        st = eg__launched(c,
                          eg__launch_unary_grad(row, eg__class_of(c->in[0]->dtype), &w.elements, &o, eg__stream_of(c)));
    }
    return st;
}

static eg_status binary(const eg__call *c, int row)
{
    eg__launches w;
    eg_status st = EG_OK;
    eg__launches_begin(&w, c, (eg_tensor *[]){c->out[0], c->in[0], c->in[1]}, 3);
    while (!st && eg__launches_next(&w)) {
        st = eg__launched(c, eg__launch_binary(row, eg__class_of(c->in[0]->dtype), &w.elements, eg__stream_of(c)));
    }
    return st;
}

#define EG_UNARY(name, ...)                             \
    eg_status eg__cuda_##name(const eg__call *c)        \
    {                                                   \
        return unary(c, EG__UNARY_##name);              \
    }                                                   \
    eg_status eg__cuda_##name##_grad(const eg__call *c) \
    {                                                   \
        return unary_grad(c, EG__UNARY_##name);         \
    }
#include "lib/ops/unary.def"
#undef EG_UNARY
#define EG_BINARY(name, ...)                     \
    eg_status eg__cuda_##name(const eg__call *c) \
    {                                            \
        return binary(c, EG__BINARY_##name);     \
    }
#include "lib/ops/binary.def"
#undef EG_BINARY

eg_status eg__cuda_where(const eg__call *c)
{
    eg__launches w;
    eg_status st = EG_OK;
    eg__launches_begin(&w, c, (eg_tensor *[]){c->out[0], c->in[0], c->in[1], c->in[2]}, 4);
    while (!st && eg__launches_next(&w)) {
        st = eg__launched(c, eg__launch_where(&w.elements, eg__stream_of(c)));
    }
    return st;
}

eg_status eg__cuda_lerp(const eg__call *c)
{
    eg__launches w;
    eg_status st = EG_OK;
    eg__launches_begin(&w, c, (eg_tensor *[]){c->out[0], c->in[0], c->in[1], c->in[2]}, 4);
    while (!st && eg__launches_next(&w)) {
        st = eg__launched(c, eg__launch_lerp(eg__class_of(c->out[0]->dtype), &w.elements, eg__stream_of(c)));
    }
    return st;
}

eg_status eg__cuda_cast(const eg__call *c)
{
    eg__launches w;
    eg_status st = EG_OK;
    const int to = c->out[0]->dtype, in = eg__class_of(c->in[0]->dtype);
    /* Groups of eight are for what is computed in f32 and stored as that, halves or bool. */
    const bool groups = to == EG_BOOL || eg__class_of(to) == EG__IN_F32;
    eg__launches_begin(&w, c, (eg_tensor *[]){c->out[0], c->in[0]}, 2);
    while (!st && eg__launches_next(&w)) {
        w.elements.grouped &= groups;
        st = eg__launched(c, eg__launch_cast(in, &w.elements, eg__stream_of(c)));
    }
    return st;
}

/* Between tensors laid out alike, without gaps: one transfer. */
static bool alike(const eg_tensor *y, const eg_tensor *x)
{
    if (!(y->flags & x->flags & EG__PACKED) || y->ndim != x->ndim) {
        return false;
    }
    for (int d = 0; d < y->ndim; d++) {
        if (y->shape[d] != x->shape[d] || (y->shape[d] != 1 && y->strides[d] != x->strides[d])) {
            return false;
        }
    }
    return true;
}

eg_status eg__cuda_copy(const eg__call *c)
{
    eg_tensor *y = c->out[0], *x = c->in[0];
    eg__launches w;
    eg_status st = EG_OK;
    if (alike(y, x) && y->n) {
        return eg__launched(c, cudaMemcpyAsync(eg__ptr(y), eg__ptr(x), (size_t)y->n * eg__esize(y),
                                               cudaMemcpyDeviceToDevice, eg__stream_of(c)));
    }
    eg__launches_begin(&w, c, (eg_tensor *[]){y, x}, 2);
    while (!st && eg__launches_next(&w)) {
        st = eg__launched(c, eg__launch_copy(&w.elements, eg__stream_of(c)));
    }
    return st;
}

eg_status eg__cuda_arange(const eg__call *c)
{
    const eg__arange_opts *o = c->opts;
    const eg_tensor *y = c->out[0];
    return eg__launched(c,
                        eg__launch_terms(eg__ptr(y), y->n, y->dtype, (int)eg__esize(y), &o->terms, eg__stream_of(c)));
}
