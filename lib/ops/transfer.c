/* transfer.c - calls on devices: where they run, what they are given, and getting values there and back. */
#include "lib/core/capture.h"
#include "lib/core/device.h"
#include "lib/core/follower.h"
#include "lib/core/observer.h"
#include "lib/ops/infer.h"
#include "lib/ops/options.h"

/* ---- where a call runs ------------------------------------------------------------------------- */

/* Numbers may stay on the CPU: kernels take them by value. So may lengths, which they bring themselves. */
static bool stays(const eg__op *op, const eg_tensor *t)
{
    return !t->device &&
           (op->flags & EG__POINTWISE ? t->ndim == 0 : op->flags & EG__LENGTHS && !eg__is_float(t->dtype));
}

EG__COLD eg_status eg__locate(eg__call *c)
{
    int first = -1;
    c->device = 0;
    for (int i = 0; i < c->nin; i++) {
        if (c->in[i] && !stays(c->op, c->in[i])) {
            if (first >= 0 && c->in[i]->device != c->device) {
                return eg__fail(EG_EDEVICE, c->op->name, "input %d is on %s, input %d on %s", first,
                                eg__devices[c->device]->name, i, eg__device(c->in[i])->name);
            }
            c->device = c->in[i]->device;
            first = i;
        }
    }
    if (!c->nin) {
        int d = eg__default_device(c->T, c->op->name);
        c->device = d < 0 ? 0 : (uint8_t)d;
        return d < 0 ? eg__why() : EG_OK;
    }
    return EG_OK;
}

EG__COLD eg__kernel *eg__device_kernel(const eg__call *c)
{
    return eg__devices[c->device]->engine->kernels[c->op->id];
}

EG__COLD eg_status eg__device_run(const eg__call *c, eg__kernel *k)
{
    return eg__devices[c->device]->engine->run(c, k);
}

EG__COLD eg_status eg__watched_run(const eg__call *c, eg__kernel *k)
{
    eg_status st = eg__mode(c->T) & EG__MODE_CAPTURE ? eg__capture_look(c) : EG_OK;
    return st                                  ? st
           : eg__mode(c->T) & EG__MODE_PROFILE ? eg__observing()->kernel(c, k)
           : c->device                         ? eg__device_run(c, k)
                                               : k(c);
}

/* ---- there and back ----------------------------------------------------------------------------- */

/* t, or what it is with no gaps between its elements. */
static eg_tensor *packed(const eg_tensor *t, const char *op)
{
    if (t->flags & EG__PACKED) {
        return (eg_tensor *)t;
    }
    eg__desc d;
    eg__desc_like(&d, t);
    eg_tensor *dense = eg__new(&d, op, EG__ID_copy), *x = (eg_tensor *)t;
    return dense && !eg__run(&eg__op_copy, &x, 1, &(eg__copy_opts){EG__TO_DENSE}, dense) ? dense : NULL;
}

/* Between tensors of one shape and packed order, one of them on a device. */
static eg_status move(const char *op, eg__thread *T, eg_tensor *to, const eg_tensor *from)
{
    size_t bytes = (size_t)from->n * eg__esize(from);
    if (!bytes) {
        return EG_OK;
    }
    if (to->device) {
        return eg__upload(op, T, to, eg__ptr(from), bytes);
    }
    return eg__download(op, T, from, eg__ptr(to), bytes);
}

const eg_tensor *eg__on_host(const eg_tensor *t, const char *op)
{
    if (likely(!t->device)) {
        return t;
    }
    eg_tensor *from = packed(t, op), *to = NULL;
    eg__desc d;
    if (from) {
        eg__desc_like(&d, from);
        d.device = 0;
        to = eg__new(&d, op, EG__ID_to);
    }
    return to && !move(op, eg__thread_get(), to, from) ? to : NULL;
}

eg_status eg__infer_to(eg__call *c)
{
    eg__desc_like(&c->desc[0], c->in[0]);
    c->device = ((const eg__to_opts *)c->opts)->device;
    return EG_OK;
}

eg_tensor *eg_to(eg_tensor *x, eg_device *device)
{
    if (eg__check(x, "eg_to", "x") || !device) {
        return device ? NULL : (eg__null_argument("eg_to", "device"), NULL);
    }
    if (x->device == device->id) {
        return x;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *from = x->flags & EG__PACKED ? x : eg_contiguous(x);
    if (x->device && device->id && eg__device(x)->engine != device->engine) {
        from = eg_to(from, eg_cpu()); /* no engine knows another one's memory */
    }
    return eg_scope_pop(s, from ? eg__op1(&eg__op_to, from, &(eg__to_opts){device->id}) : NULL);
}

const void *eg_device_data(const eg_tensor *t)
{
    return t && t->magic == EG__MAGIC && t->n ? eg__ptr(t) : NULL;
}

void *eg_device_data_mut(eg_tensor *t)
{
    if (eg__check(t, "eg_device_data_mut", "t") || eg__begin_write(t, "eg_device_data_mut")) {
        return NULL;
    }
    return t->n ? eg__ptr(t) : NULL;
}

/* ---- values ------------------------------------------------------------------------------------- */

eg_status eg_to_values(const eg_tensor *t, double *values)
{
    eg_status st = eg__check(t, "eg_to_values", "t");
    if (st) {
        return st;
    }
    if (!values && t->n) {
        return eg__null_argument("eg_to_values", "values");
    }
    st = eg__follow_read(t, "eg_to_values");
    if (st) {
        return st;
    }
    eg_scope s = eg_scope_push();
    t = eg__on_host(t, "eg_to_values");
    for (int64_t i = 0; t && i < t->n; i++) {
        values[i] = eg__load(eg__ptr(t), t->dtype, eg__place(t->ndim, t->shape, t->strides, i));
    }
    eg_scope_pop(s, NULL);
    return t ? EG_OK : eg__why();
}

eg_status eg_copy_out(const eg_tensor *t, void *data, size_t bytes)
{
    eg_status st = eg__check(t, "eg_copy_out", "t");
    if (st) {
        return st;
    }
    size_t es = eg__esize(t);
    if (bytes != (size_t)t->n * es) {
        return eg__fail(EG_EINVAL, "eg_copy_out", "bytes is %zu, the tensor has %zu", bytes, (size_t)t->n * es);
    }
    if (!data && bytes) {
        return eg__null_argument("eg_copy_out", "data");
    }
    st = eg__follow_read(t, "eg_copy_out");
    if (st) {
        return st;
    }
    if (t->flags & EG__DENSE) {
        if (unlikely(t->device && t->n)) {
            return eg__download("eg_copy_out", eg__thread_get(), t, data, bytes);
        }
        memcpy(data, eg__ptr(t), t->n ? bytes : 0);
        return EG_OK;
    }
    if (t->device) {
        eg_scope s = eg_scope_push();
        const eg_tensor *h = eg__on_host(t, "eg_copy_out");
        st = h ? eg_copy_out(h, data, bytes) : eg__why();
        eg_scope_pop(s, NULL);
        return st;
    }
    for (int64_t i = 0; i < t->n; i++) {
        memcpy((char *)data + (size_t)i * es, eg__ptr(t) + eg__place(t->ndim, t->shape, t->strides, i) * (int64_t)es,
               es);
    }
    return EG_OK;
}
