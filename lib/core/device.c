/* device.c - the table of devices, and the module that drives those which are not the CPU. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "lib/core/capture.h"
#include "lib/core/device.h"
#include "lib/core/engine.h"
#include "lib/core/environment.h"
#include "lib/core/fork.h"
#include "lib/core/live.h"
#include "lib/core/module.h"
#include "lib/ops/resize.h"
#include "lib/ops/optable.h"

static eg_device cpu = {.name = "cpu", .engine = &eg__cpu_engine};
eg_device *eg__devices[EG__MAX_DEVICES] = {&cpu};

static struct {
    pthread_mutex_t lock;
    const eg__engine *engine;
    char why[256]; /* that there is none; "": nobody tried */
    int count;     /* of devices in the table */
    double loading; /* seconds that the module took to load, still to be told */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER, .count = 1};

/* ---- the module ------------------------------------------------------------------------------ */

static const eg__host host = {
    .abi = EG__MODULE_ABI,
    .fail = eg__fail_list,
    .ops = eg__ops,
    .devices = eg__devices,
#define HOST(result, name, parameters, arguments) .name = name,
    EG__HOST_FUNCTIONS(HOST) EG__HOST_PROCEDURES(HOST)
#undef HOST
};

static const eg__engine *load(void)
{
    const double start_of = eg__seconds();
    char why[200];
    void *module = eg__module_open("cuda", eg__getenv("EGRET_CUDA_MODULE"), false, why, sizeof why);
    table.loading = eg__seconds() - start_of;
    if (!module) {
        snprintf(table.why, sizeof table.why, "the CUDA module cannot be loaded: %s", why);
        return NULL;
    }
    eg__module_fn *start;
    void *symbol = dlsym(module, "eg__module");
    memcpy(&start, &symbol, sizeof start);
    const eg__engine *e = start ? start(&host) : NULL;
    if (!e || e->abi != EG__MODULE_ABI || e->ops != EG__OP_COUNT ||
        e->tensor_size != sizeof(eg_tensor) || e->call_size != sizeof(eg__call)) {
        snprintf(table.why, sizeof table.why, "the CUDA module is of another build of Egret");
        dlclose(module);
        return NULL;
    }
    return e; /* it stays loaded: the driver's threads run in it */
}

/* The engine if there are devices for it, else NULL and table.why. Under the lock. */
static const eg__engine *engine_locked(void)
{
    if (!table.engine && !table.why[0]) {
        table.engine = load();
    }
    return table.engine;
}

/* The driver's start may fork, to load a kernel module; its parts of this thread are then in order. */
static _Thread_local bool inside;

static void enter(void)
{
    pthread_mutex_lock(&table.lock);
    inside = true;
}

static void leave(void)
{
    const double loading = table.loading;
    table.loading = 0;
    inside = false;
    pthread_mutex_unlock(&table.lock);
    if (loading > 0) { /* who is told may well ask for devices */
        eg__took("eg_cuda", "loading the CUDA module", loading);
    }
}

/* The driver's threads stay with the parent, and its state is no use without them. */
void eg__devices_fork(eg__fork when)
{
    if (when == EG__FORK_CHILD && table.engine) {
        table.engine = eg__lost_engine();
        for (int i = 1; i < table.count; i++) {
            eg__devices[i]->engine = table.engine;
        }
    }
    if (!inside) {
        eg__fork_lock(&table.lock, when);
    }
}

/* ---- devices --------------------------------------------------------------------------------- */

eg_device *eg_cpu(void)
{
    return &cpu;
}

int eg_cuda_count(void)
{
    char why[200];
    enter();
    const eg__engine *e = engine_locked();
    int n = e ? e->count(why, sizeof why) : 0;
    leave();
    return n > 0 ? n : 0;
}

/* A new row of the table. Under the lock. */
static eg_device *add_locked(const char *op, const char *name, const eg__engine *e, int index,
                             int64_t bytes)
{
    if (table.count == EG__MAX_DEVICES) {
        return eg__fail_null(EG_ENODEVICE, op, "there are %d devices already, no more are possible",
                             EG__MAX_DEVICES);
    }
    eg_device *d = eg__malloc(sizeof *d);
    if (!d) {
        return eg__no_memory(op, (int64_t)sizeof *d), NULL;
    }
    *d = (eg_device){.id = (uint8_t)table.count, .engine = e, .index = index};
    snprintf(d->name, sizeof d->name, "%s", name);
    if (e->open(d, bytes)) {
        free(d);
        return NULL;
    }
    return eg__devices[table.count++] = d;
}

static eg_device *cuda_locked(int index)
{
    char why[200] = "", name[24];
    const eg__engine *e = engine_locked();
    if (!e) {
        return eg__fail_null(EG_ENODEVICE, "eg_cuda", "%s", table.why);
    }
    int n = e->count(why, sizeof why);
    if (n < 0) {
        return eg__fail_null(EG_ENODEVICE, "eg_cuda", "%s", why);
    }
    snprintf(name, sizeof name, "cuda:%d", index);
    for (int i = 1; i < table.count; i++) {
        if (!strcmp(eg__devices[i]->name, name)) {
            return eg__devices[i];
        }
    }
    if (index < 0 || index >= n) {
        return eg__fail_null(EG_ENODEVICE, "eg_cuda", "no CUDA device %d: there %s %d", index,
                             n == 1 ? "is" : "are", n);
    }
    return add_locked("eg_cuda", name, e, index, 0);
}

eg_device *eg_cuda(int index)
{
    enter();
    eg_device *d = cuda_locked(index);
    leave();
    return d;
}

eg_device *eg_device_split(eg_device *device, int64_t bytes)
{
    if (!device) {
        return eg__null_argument("eg_device_split", "device"), NULL;
    }
    if (!device->engine->open || bytes < 1) {
        return eg__fail_null(EG_EINVAL, "eg_device_split", "%s with %lld bytes: it must be a CUDA "
                             "device, and the bytes 1 or more", device->name, (long long)bytes);
    }
    int parts = 1;
    char name[24];
    enter();
    for (int i = 1; i < table.count; i++) {
        const eg_device *d = eg__devices[i];
        parts += d->engine == device->engine && d->index == device->index && strchr(d->name, '/');
    }
    snprintf(name, sizeof name, "cuda:%d/%d", device->index, parts);
    eg_device *d = add_locked("eg_device_split", name, device->engine, device->index, bytes);
    leave();
    return d;
}

static const char unknown[] = "\"%.60s\" is no device: they are cpu, cuda and cuda:N";

eg_device *eg_device_named(const char *name)
{
    if (!name) {
        return eg__null_argument("eg_device_named", "name"), NULL;
    }
    if (!strcmp(name, "cpu")) {
        return &cpu;
    }
    if (!strcmp(name, "cuda")) {
        return eg_cuda(0);
    }
    size_t digits = strncmp(name, "cuda:", 5) ? 0 : strspn(name + 5, "0123456789");
    if (!digits || digits > 4 || name[5 + digits]) {
        return eg__fail_null(EG_EINVAL, "eg_device_named", unknown, name);
    }
    return eg_cuda(atoi(name + 5));
}

eg_device *eg_device_of(const eg_tensor *t)
{
    return t ? eg__device(t) : NULL;
}

const char *eg_device_name(const eg_device *device)
{
    return device ? device->name : "none";
}

int eg__default_device(eg__thread *T, const char *op)
{
    if (unlikely(T->device == EG__MAX_DEVICES)) {
        const char *name = eg__getenv("EGRET_DEVICE");
        const eg_device *d = name && *name ? eg_device_named(name) : &cpu;
        if (!d) {
            const eg_error *e = eg_last_error();
            char why[sizeof e->message];
            memcpy(why, e->message, sizeof why);
            return eg__fail(e->code, op, "EGRET_DEVICE: %s", why), -1;
        }
        T->device = d->id;
    }
    return T->device;
}

uint8_t eg__device_of_threads(void)
{
    const char *name = eg__getenv("EGRET_DEVICE");
    return name && *name ? EG__MAX_DEVICES : 0;
}

eg_device *eg_use_device(eg_device *device)
{
    eg__thread *T = eg__thread_get();
    if (!device) {
        return eg__null_argument("eg_use_device", "device"), NULL;
    }
    const eg_error record = T->error;
    int before = eg__default_device(T, "eg_use_device");
    if (before < 0) { /* makers say that EGRET_DEVICE names none; this call leaves it behind */
        T->error = record;
        before = 0;
    }
    T->device = device->id;
    return eg__devices[before];
}

eg_status eg_device_describe(eg_device *device, eg_device_info *info)
{
    if (!device || !info) {
        return eg__null_argument("eg_device_describe", device ? "info" : "device");
    }
    *info = (eg_device_info){.name = ""};
    return device->engine->describe(device, info);
}

eg_status eg_device_synchronize(eg_device *device)
{
    if (!device) {
        return eg__null_argument("eg_device_synchronize", "device");
    }
    return device->engine->synchronize(device);
}

void eg__devices_thread_end(eg__thread *T)
{
    cpu.engine->thread_end(&cpu, T);
    for (int i = 1; i < table.count; i++) {
        if (T->lane[i].own) {
            eg__devices[i]->engine->thread_end(eg__devices[i], T);
        }
    }
}

void eg__devices_end(void)
{
    while (table.count > 1 && !eg__is_lost(eg__devices[table.count - 1])) { /* those keep what is the parent's */
        eg_device *d = eg__devices[--table.count];
        eg__devices[table.count] = NULL;
        d->engine->close(d);
        free(d);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

eg_memory eg_device_memory(eg_device *device)
{
    if (!device) {
        return (eg_memory){0};
    }
    eg_memory m = eg_memory_stats();
    device->engine->memory(device, &m);
    return m;
}

void eg_device_memory_reset_peak(eg_device *device)
{
    if (device) {
        device->engine->reset_peak(device);
    }
}

eg_status eg_device_memory_limit(eg_device *device, int64_t bytes)
{
    if (!device) {
        return eg__null_argument("eg_device_memory_limit", "device");
    }
    if (bytes < 0) {
        return eg__fail(EG_EINVAL, "eg_device_memory_limit", "bytes is %lld, must be 0 or more",
                        (long long)bytes);
    }
    if (eg__is_lost(device)) {
        return eg__lost("eg_device_memory_limit");
    }
    device->engine->limit(device, bytes);
    return EG_OK;
}

eg_status eg_device_memory_trim(eg_device *device)
{
    if (!device) {
        return eg__null_argument("eg_device_memory_trim", "device");
    }
    if (eg__is_lost(device)) {
        return eg__lost("eg_device_memory_trim");
    }
    device->engine->trim(device);
    return EG_OK;
}

/* ---- streams and events: the engine's --------------------------------------------------------- */

static const eg_device *device_of(const void *thing)
{
    return ((const struct eg_stream_head *)thing)->device;
}

/* The engine behind a stream, event or device, or NULL with words. */
static const eg__engine *engine_of(const char *op, const char *what, const eg_device *d)
{
    if (!d) {
        return eg__null_argument(op, what), NULL;
    }
    return d->engine->stream_new ? d->engine : eg__fail_null(EG_EINVAL, op, "%s has no streams or events",
                                                             d->id ? d->name : "the CPU");
}

eg_stream *eg_stream_new(eg_device *device)
{
    const eg__engine *e = engine_of("eg_stream_new", "device", device);
    return e ? e->stream_new(device) : NULL;
}

eg_status eg_stream_free(eg_stream *stream)
{
    return stream ? device_of(stream)->engine->stream_free(stream) : EG_OK;
}

eg_stream *eg_use_stream(eg_stream *stream)
{
    return stream ? device_of(stream)->engine->use_stream(eg__thread_get(), stream)
                  : (eg__null_argument("eg_use_stream", "stream"), NULL);
}

eg_stream *eg_stream_own(eg_device *device)
{
    const eg__engine *e = engine_of("eg_stream_own", "device", device);
    return e ? e->own_stream(eg__thread_get(), device) : NULL;
}

eg_status eg_stream_synchronize(eg_stream *stream)
{
    return stream ? device_of(stream)->engine->stream_synchronize(stream)
                  : eg__null_argument("eg_stream_synchronize", "stream");
}

void *eg_stream_handle(eg_stream *stream)
{
    return stream ? device_of(stream)->engine->stream_handle(stream) : NULL;
}

eg_event *eg_event_new(eg_device *device)
{
    const eg__engine *e = engine_of("eg_event_new", "device", device);
    return e ? e->event_new(device) : NULL;
}

eg_status eg_event_free(eg_event *event)
{
    if (!event) {
        return EG_OK;
    }
    return eg__handle_ends(event, "eg_event_free") ? device_of(event)->engine->event_free(event) : eg__why();
}

eg_status eg_event_record(eg_event *event)
{
    return event ? device_of(event)->engine->event_record(eg__thread_get(), event)
                 : eg__null_argument("eg_event_record", "event");
}

eg_status eg_event_wait(eg_event *event)
{
    return event ? device_of(event)->engine->event_wait(eg__thread_get(), event)
                 : eg__null_argument("eg_event_wait", "event");
}

eg_status eg_event_synchronize(eg_event *event)
{
    return event ? device_of(event)->engine->event_synchronize(event)
                 : eg__null_argument("eg_event_synchronize", "event");
}

eg_status eg_event_elapsed(eg_event *from, eg_event *to, double *ms)
{
    if (!from || !to || !ms) {
        return eg__null_argument("eg_event_elapsed", !from ? "from" : !to ? "to" : "ms");
    }
    return device_of(from)->engine->event_elapsed(from, to, ms);
}
