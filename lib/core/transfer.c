/* transfer.c - memory of devices: for storages, and bytes there and back. */
#include "lib/core/device.h"
#include "lib/core/observer.h"

static const eg__observer *_Atomic observer;

void eg__observe(const eg__observer *by)
{
    atomic_store(&observer, by);
}

const eg__observer *eg__observing(void)
{
    return atomic_load(&observer);
}

/* ---- storage ----------------------------------------------------------------------------------- */

EG__COLD eg__storage *eg__device_storage(eg__thread *T, uint8_t device, size_t bytes, uint16_t made_by)
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
static eg__work begin(eg__thread *T, eg_device *d, const char *what, int64_t bytes)
{
    return likely(!(eg__mode(T) & EG__MODE_PROFILE)) ? (eg__work){.what = NULL}
                                                     : eg__observing()->begin(T, d, what, bytes);
}

static eg_status end(eg__thread *T, const eg__work *w, eg_status st)
{
    if (unlikely(w->what != NULL)) {
        eg__observing()->end(T, w);
    }
    return st;
}

eg_status eg__upload(const char *op, eg__thread *T, eg_tensor *t, const void *from, size_t bytes)
{
    eg_device *d = eg__device(t);
    eg__work w = begin(T, d, "upload", (int64_t)bytes);
    return end(T, &w, d->engine->upload(op, T, t, from, bytes));
}

eg_status eg__download(const char *op, eg__thread *T, const eg_tensor *t, void *to, size_t bytes)
{
    eg_device *d = eg__device(t);
    eg__work w = begin(T, d, "download", (int64_t)bytes);
    return end(T, &w, d->engine->download(op, T, t, to, bytes));
}

eg_status eg__fill(const char *op, eg__thread *T, eg_tensor *t, uint64_t bits)
{
    eg_device *d = eg__device(t);
    eg__work w = begin(T, d, "fill", t->n * (int64_t)eg__esize(t));
    return end(T, &w, d->engine->fill(op, T, t, bits));
}

EG__COLD static eg_status not_on_host(const eg_tensor *t, const char *op, const char *name)
{
    return eg__fail(EG_EDEVICE, op, "%s is on %s, this needs it on the CPU: see eg_to", name, eg__device(t)->name);
}

eg_status eg__host_only(const eg_tensor *t, const char *op, const char *name)
{
    return likely(!t->device) ? EG_OK : not_on_host(t, op, name);
}
