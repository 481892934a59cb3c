/* transfer.c - calls on devices: where they run, what they are given, and getting values there and back. */
#include "lib/core/capture.h"
#include "lib/core/device.h"
#include "lib/ops/infer.h"
#include "lib/ops/options.h"
#include "lib/trace/profile.h"
#include "lib/ref/kernels.h"

/* ---- where a call runs ------------------------------------------------------------------------- */

/* Numbers may stay on the CPU: kernels take them by value. So may lengths, which they bring themselves. */
static bool stays(const eg__op *op, const eg_tensor *t)
{
    return !t->device && (op->flags & EG__POINTWISE ? t->ndim == 0
                                                    : op->flags & EG__LENGTHS && !eg__is_float(t->dtype));
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
           : eg__mode(c->T) & EG__MODE_PROFILE ? eg__profile_kernel(c, k)
           : c->device                         ? eg__device_run(c, k)
                                               : k(c);
}

/* ---- storage ----------------------------------------------------------------------------------- */

EG__COLD eg__storage *eg__device_storage(eg__thread *T, uint8_t device, size_t bytes,
                                         uint16_t made_by)
{
    uint16_t cls;
    eg_device *d = eg__devices[device];
    eg__storage *s = eg__block_alloc(T, sizeof *s, &cls);
    if (!s) {
        return NULL;
    }
    *s = (eg__storage){.cls = cls, .device = device, .made_by = made_by, .bytes = bytes};
    eg__ref_init(&s->refs);
    s->user = d->engine->reserve(d, T, bytes, made_by, &s->data);
    if (!s->user) {
        eg__block_free(T, s, cls);
        return NULL;
    }
    return s;
}

void eg__device_storage_free(eg__thread *T, eg__storage *s)
{
    eg_device *d = eg__devices[s->device];
    if (d) {
        d->engine->release(d, s->user);
    }
    eg__block_free(T, s, s->cls);
}

/* ---- there and back ---------------------------------------------------------------------------- */

/* Around work that a profile shows, if one runs. */
static eg__profile_work begin(eg__thread *T, eg_device *d, const char *what, int64_t bytes)
{
    return likely(!(eg__mode(T) & EG__MODE_PROFILE)) ? (eg__profile_work){.what = NULL}
                                                     : eg__profile_work_begin(T, d, what, bytes);
}

static eg_status end(eg__thread *T, const eg__profile_work *w, eg_status st)
{
    if (unlikely(w->what != NULL)) {
        eg__profile_work_end(T, w);
    }
    return st;
}

eg_status eg__upload(const char *op, eg__thread *T, eg_tensor *t, const void *from, size_t bytes)
{
    eg_device *d = eg__device(t);
    eg__profile_work w = begin(T, d, "upload", (int64_t)bytes);
    return end(T, &w, d->engine->upload(op, T, t, from, bytes));
}

eg_status eg__download(const char *op, eg__thread *T, const eg_tensor *t, void *to, size_t bytes)
{
    eg_device *d = eg__device(t);
    eg__profile_work w = begin(T, d, "download", (int64_t)bytes);
    return end(T, &w, d->engine->download(op, T, t, to, bytes));
}

eg_status eg__fill(const char *op, eg__thread *T, eg_tensor *t, uint64_t bits)
{
    eg_device *d = eg__device(t);
    eg__profile_work w = begin(T, d, "fill", t->n * (int64_t)eg__esize(t));
    return end(T, &w, d->engine->fill(op, T, t, bits));
}

/* t, or what it is with no gaps between its elements. */
static eg_tensor *packed(const eg_tensor *t, const char *op)
{
    if (t->flags & EG__PACKED) {
        return (eg_tensor *)t;
    }
    eg__desc d;
    eg__desc_like(&d, t);
    eg_tensor *dense = eg__new(&d, op, EG__ID_copy), *x = (eg_tensor *)t;
    return dense && !eg__run(&eg__op_copy, &x, 1, &(eg__copy_opts){EG__TO_DENSE}, dense) ? dense
                                                                                         : NULL;
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

EG__COLD static eg_status not_on_host(const eg_tensor *t, const char *op, const char *name)
{
    return eg__fail(EG_EDEVICE, op, "%s is on %s, this needs it on the CPU: see eg_to", name,
                    eg__device(t)->name);
}

eg_status eg__host_only(const eg_tensor *t, const char *op, const char *name)
{
    return likely(!t->device) ? EG_OK : not_on_host(t, op, name);
}

eg_status eg__infer_to(eg__call *c)
{
    eg__desc_like(&c->desc[0], c->in[0]);
    c->device = ((const eg__to_opts *)c->opts)->device;
    return EG_OK;
}

/* Results on the CPU; the engines have their own for the other way. */
eg_status eg__ref_to(const eg__call *c)
{
    const eg_tensor *x = c->in[0], *y = c->out[0];
    if (x->device) {
        return move(c->op->name, c->T, c->out[0], x);
    }
    memcpy(eg__ptr(y), eg__ptr(x), (size_t)x->n * eg__esize(x));
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
