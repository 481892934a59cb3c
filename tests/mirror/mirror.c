/* mirror.c - an engine whose devices are memory of the host that nobody else may touch: it keeps it apart, and borrows
 * the reference kernels of the CPU to compute there. What the library does with a tensor of a device without asking the
 * engine is a fault at once, since the pages are closed but while the engine works.
 *
 * It has neither streams nor a clock nor captured steps, which an engine may go without, and is the example of
 * docs/engines.md. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "lib/core/engine.h"
#include "lib/ops/options.h"
#include "lib/ops/optable.h"

enum { DEVICES = 2, PAGE = 4096 };

typedef struct block {
    struct block *prev, *next;
    struct mirror *of;
    char *data;
    size_t bytes;     /* whole pages */
    uint16_t made_by; /* an op's id */
    int open;         /* who works with it now */
} block;

/* The state of a device. */
typedef struct mirror {
    pthread_mutex_t lock;
    block blocks;                     /* a ring with this as its head */
    int64_t live, peak, limit, share; /* bytes; limit and share: 0: none */
    int64_t calls;                    /* of the system */
} mirror;

static const eg__host *host;

static mirror *of(const eg_device *d)
{
    return d->state;
}

/* ---- devices ------------------------------------------------------------------------------------------ */

static int count(char *why, size_t size)
{
    (void)why, (void)size;
    return DEVICES;
}

static eg_status open_device(eg_device *d, int64_t bytes)
{
    mirror *m = host->eg__malloc(sizeof *m);
    if (!m) {
        return host->eg__no_memory("eg_device_open", (int64_t)sizeof *m);
    }
    *m = (mirror){.share = bytes};
    m->blocks.prev = m->blocks.next = &m->blocks;
    pthread_mutex_init(&m->lock, NULL);
    d->state = m;
    return EG_OK;
}

static void close_device(eg_device *d)
{
    mirror *m = of(d);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static eg_status describe(eg_device *d, eg_device_info *info)
{
    snprintf(info->name, sizeof info->name, "mirror of the CPU");
    info->memory_bytes = of(d)->share;
    return EG_OK;
}

static eg_status synchronize(eg_device *d)
{
    (void)d; /* work is done when its call returns */
    return EG_OK;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static bool fits(const mirror *m, size_t bytes)
{
    const int64_t more = (int64_t)bytes;
    return (!m->limit || m->live + more <= m->limit) && (!m->share || m->live + more <= m->share);
}

static void *reserve(eg_device *d, eg__thread *T, size_t bytes, uint16_t made_by, char **data)
{
    (void)T;
    mirror *m = of(d);
    const size_t whole = (bytes / PAGE + 1) * PAGE;
    block *b = host->eg__malloc(sizeof *b), *made = NULL;
    pthread_mutex_lock(&m->lock);
    void *at = b && fits(m, whole) ? mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
    if (at != MAP_FAILED) {
        *b = (block){
            .prev = m->blocks.prev, .next = &m->blocks, .of = m, .data = at, .bytes = whole, .made_by = made_by};
        b->prev->next = b->next->prev = made = b;
        m->live += (int64_t)whole;
        m->peak = m->live > m->peak ? m->live : m->peak;
        m->calls++;
        *data = at;
    }
    pthread_mutex_unlock(&m->lock);
    if (!made) {
        free(b);
    }
    return made;
}

static void release(eg_device *d, void *handle)
{
    mirror *m = of(d);
    block *b = handle;
    pthread_mutex_lock(&m->lock);
    b->prev->next = b->next;
    b->next->prev = b->prev;
    m->live -= (int64_t)b->bytes;
    pthread_mutex_unlock(&m->lock);
    munmap(b->data, b->bytes);
    free(b);
}

static void memory(eg_device *d, eg_memory *out)
{
    mirror *m = of(d);
    pthread_mutex_lock(&m->lock);
    out->live_bytes = out->reserved_bytes = m->live;
    out->peak_bytes = m->peak;
    out->limit_bytes = m->limit ? m->limit : m->share;
    out->system_calls = m->calls;
    pthread_mutex_unlock(&m->lock);
}

static void limit(eg_device *d, int64_t bytes)
{
    pthread_mutex_lock(&of(d)->lock);
    of(d)->limit = bytes;
    pthread_mutex_unlock(&of(d)->lock);
}

static void reset_peak(eg_device *d)
{
    pthread_mutex_lock(&of(d)->lock);
    of(d)->peak = of(d)->live;
    pthread_mutex_unlock(&of(d)->lock);
}

static void trim(eg_device *d)
{
    (void)d; /* nothing is kept */
}

static void holders(eg_device *d, int64_t *bytes_by_op, int n)
{
    mirror *m = of(d);
    pthread_mutex_lock(&m->lock);
    for (const block *b = m->blocks.next; b != &m->blocks; b = b->next) {
        bytes_by_op[b->made_by < n ? b->made_by : n - 1] += (int64_t)b->bytes;
    }
    pthread_mutex_unlock(&m->lock);
}

/* ---- work ----------------------------------------------------------------------------------------------- */

/* Opens or closes the pages of t; several calls, of several threads, may work with them. */
static void touch(const eg_tensor *t, int step)
{
    if (!t || !t->device || !t->storage->user) {
        return;
    }
    block *b = t->storage->user;
    pthread_mutex_lock(&b->of->lock);
    const bool was = b->open > 0, is = (b->open += step) > 0;
    if (was != is) {
        mprotect(b->data, b->bytes, is ? PROT_READ | PROT_WRITE : PROT_NONE);
    }
    pthread_mutex_unlock(&b->of->lock);
}

static void touch_all(const eg__call *c, int step)
{
    for (int i = 0; i < c->nin; i++) {
        touch(c->in[i], step);
    }
    for (int j = 0; j < c->op->nout; j++) {
        touch(c->out[j], step);
    }
}

static eg_status run(const eg__call *c, eg__kernel *k)
{
    touch_all(c, 1);
    eg_status st = k(c);
    touch_all(c, -1);
    return st;
}

static eg_status fill(const char *op, eg__thread *T, eg_tensor *t, uint64_t bits)
{
    (void)op, (void)T;
    const size_t size = eg__esize(t);
    touch(t, 1);
    for (int64_t i = 0; i < t->n; i++) {
        memcpy(eg__ptr(t) + (size_t)i * size, &bits, size); /* the low bytes come first */
    }
    touch(t, -1);
    return EG_OK;
}

static eg_status upload(const char *op, eg__thread *T, eg_tensor *t, const void *from, size_t bytes)
{
    (void)op, (void)T;
    touch(t, 1);
    memcpy(eg__ptr(t), from, bytes);
    touch(t, -1);
    return EG_OK;
}

static eg_status download(const char *op, eg__thread *T, const eg_tensor *t, void *to, size_t bytes)
{
    (void)op, (void)T;
    touch(t, 1);
    memcpy(to, eg__ptr(t), bytes);
    touch(t, -1);
    return EG_OK;
}

/* From the CPU, and from one mirror to another; to the CPU the library asks for a download. */
static eg_status to(const eg__call *c)
{
    memcpy(eg__ptr(c->out[0]), eg__ptr(c->in[0]), (size_t)c->in[0]->n * eg__esize(c->in[0]));
    return EG_OK;
}

static eg__kernel *const *reference;

/* Steps of optimizers have a tensor that is none of their inputs. */
static eg_status update(const eg__call *c)
{
    const eg_tensor *gate = ((const eg__optim_opts *)c->opts)->gate;
    touch(gate, 1);
    eg_status st = reference[c->op->id](c);
    touch(gate, -1);
    return st;
}

/* ---- the engine ------------------------------------------------------------------------------------------ */

static eg__kernel *kernels[EG__OP_COUNT];

static const eg__engine engine = {
    EG__ENGINE_OF_THIS_BUILD,
    .kernels = kernels,
    .count = count,
    .open = open_device,
    .close = close_device,
    .describe = describe,
    .reserve = reserve,
    .release = release,
    .memory = memory,
    .limit = limit,
    .reset_peak = reset_peak,
    .trim = trim,
    .holders = holders,
    .run = run,
    .fill = fill,
    .upload = upload,
    .download = download,
    .synchronize = synchronize,
};

EG_API eg__module_fn eg__module;
const eg__engine *eg__module(const eg__host *given)
{
    if (given->abi != EG__MODULE_ABI || given->nops != EG__OP_COUNT) {
        return NULL;
    }
    host = given;
    reference = host->devices[0]->engine->table(EG__DEBUG_REF);
    memcpy(kernels, reference, sizeof kernels);
    kernels[EG__ID_to] = to;
#define EG_UPDATE(rule, ...) kernels[EG__ID_##rule##_update] = update;
#include "lib/ops/updates.def"
#undef EG_UPDATE
    return &engine;
}
