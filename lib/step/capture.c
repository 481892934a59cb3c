/* capture.c - what happens in the library while a step is captured on a device. */
#include "lib/step/capture.h"

#include <stdlib.h>

#include "lib/core/device.h"
#include "lib/ops/optable.h"

/* ---- storages --------------------------------------------------------------------------------- */

bool eg__storages_add(eg__storages *l, eg__storage *s)
{
    if (l->count && l->at[l->count - 1] == s) {
        return true;
    }
    if (l->count == l->room && !eg__grow(&l->at, &l->room, sizeof *l->at)) {
        return false;
    }
    eg__ref_inc(&s->refs);
    l->at[l->count++] = s;
    return true;
}

void eg__storages_drop(eg__storages *l)
{
    eg__thread *T = eg__thread_get();
    while (l->count) {
        eg__storage_unref(T, l->at[--l->count]);
    }
    free(l->at);
    *l = (eg__storages){0};
}

static bool has(const eg__storages *l, const eg__storage *s)
{
    for (uint32_t i = l->count; i-- > 0;) {
        if (l->at[i] == s) {
            return true;
        }
    }
    return false;
}

static bool made(eg__capture *c, eg__storage *s)
{
    return eg__storages_add(&c->made, s);
}

static eg_status uses(eg__capture *c, eg__storage *s, bool written)
{
    return eg__storages_add(written ? &c->written : &c->read, s) ? EG_OK : eg__no_memory("eg_step_run", c->read.room);
}

/* ---- numbers ---------------------------------------------------------------------------------- */

eg_status eg__capture_numbers(eg__capture *c, size_t bytes, const eg__moving *n, void **at, uint32_t *place)
{
    bytes = (bytes + 15) & ~(size_t)15;
    if (c->count == EG__CAPTURE_NUMBERS || bytes > EG__CAPTURE_BYTES - c->used) {
        *at = NULL;
        *place = 0;
        return eg__capture_stop("eg_step_run", "its optimizers have more numbers than there is room for");
    }
    *place = c->used;
    *at = c->host + c->used;
    c->numbers[c->count] = *n;
    c->numbers[c->count++].at = c->used;
    c->used += (uint32_t)bytes;
    return EG_OK;
}

static bool draws(eg__capture *c, eg_random_state from, uint64_t *offset)
{
    if (from.seed != c->from.seed || from.offset < c->from.offset) {
        return false;
    }
    c->draws = true;
    *offset = from.offset - c->from.offset;
    return true;
}

/* ---- looking, stopping and ending ------------------------------------------------------------- */

static eg_status stop(eg__capture *c, const char *op, const char *why)
{
    c->op = op;
    c->why = why;
    eg_status st = eg__capture_end(c);
    return st ? st : eg__capture_launch(c, c->from);
}

static eg_status look(eg__capture *c, const eg__call *call)
{
    const eg__op *op = call->op;
    for (int i = 0; i < call->nin; i++) {
        const eg_tensor *t = call->in[i];
        if (t && !t->device && t->n && !has(&c->made, t->storage)) {
            return stop(c, op->name, "it reads a tensor of the CPU made outside of the step");
        }
    }
    return op == &eg__op_random && !call->device ? stop(c, op->name, "it makes random numbers on the CPU") : EG_OK;
}

eg_status eg__capture_begin(eg__capture *c, eg_device *d, void *pool)
{
    static const char op[] = "eg_step_run";
    eg__thread *T = eg__thread_get();
    static const eg__capturing by = {stop, look, made, uses, draws};
    *c = (eg__capture){.by = &by, .device = d, .from = T->random, .pool = pool, .used = sizeof(eg_random_state)};
    c->host = eg__malloc(EG__CAPTURE_BYTES);
    if (!c->host) {
        return eg__no_memory(op, EG__CAPTURE_BYTES);
    }
    memset(c->host, 0, EG__CAPTURE_BYTES);
    c->memory = eg_keep(eg__empty_on(d->id, EG_SHAPE(EG__CAPTURE_BYTES), EG_U8));
    eg_status st = c->memory ? uses(c, c->memory->storage, false) : eg__why();
    st = st ? st : d->engine->graphs->begin(T, c);
    if (!st) {
        T->capture = c;
        atomic_fetch_or(&T->mode, EG__MODE_CAPTURE);
    }
    return st;
}

eg_status eg__capture_end(eg__capture *c)
{
    eg__thread *T = eg__thread_get();
    T->capture = NULL;
    atomic_fetch_and(&T->mode, ~(uint32_t)EG__MODE_CAPTURE);
    return c->lost = c->device->engine->graphs->end(c);
}

eg_status eg__capture_launch(eg__capture *c, eg_random_state from)
{
    const eg__graphs *e = c->device->engine->graphs;
    eg__thread *T = eg__thread_get();
    const bool any = c->draws || c->used > sizeof from;
    memcpy(c->host, &from, sizeof from);
    eg_status st = any ? eg__upload("eg_step_run", T, c->memory, c->host, c->used) : EG_OK;
    st = st ? st : e->launch(T, c);
    for (uint32_t i = 0; i < c->written.count && !st; i++) {
        atomic_fetch_add_explicit(&c->written.at[i]->version, 1, memory_order_relaxed);
    }
    return st;
}

/* ---- doing it again, or not having done it ------------------------------------------------------ */

eg_status eg__capture_again(eg__capture *c)
{
    eg_status st = EG_OK;
    uint32_t done = 0;
    while (done < c->count && !(st = c->numbers[done].again(c->numbers[done].owner, c->host + c->numbers[done].at))) {
        done++;
    }
    st = st ? st : eg__capture_launch(c, eg__thread_get()->random);
    while (st && done > 0) {
        done--;
        c->numbers[done].undo(c->numbers[done].owner);
    }
    return st;
}

void eg__capture_undo(eg__capture *c)
{
    while (c->count) {
        c->count--;
        c->numbers[c->count].undo(c->numbers[c->count].owner);
    }
    eg__thread_get()->random = c->from;
}

/* Each once, in the order of addresses. */
static int by_address(const void *a, const void *b)
{
    const uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return x < y ? -1 : x > y;
}

static void tidy(eg__storages *l)
{
    eg__thread *T = eg__thread_get();
    uint32_t n = 0;
    if (l->count) {
        qsort(l->at, l->count, sizeof *l->at, by_address);
    }
    for (uint32_t i = 0; i < l->count; i++) {
        if (n && l->at[n - 1] == l->at[i]) {
            eg__storage_unref(T, l->at[i]);
        } else {
            l->at[n++] = l->at[i];
        }
    }
    l->count = n;
}

void eg__capture_tidy(eg__capture *c)
{
    tidy(&c->read);
    tidy(&c->written);
    eg__storages_drop(&c->made);
}

void eg__capture_free(eg__capture *c)
{
    if (c->graph) {
        c->device->engine->graphs->free(c);
    }
    eg__storages_drop(&c->read);
    eg__storages_drop(&c->written);
    eg__storages_drop(&c->made);
    eg_release(c->memory);
    free(c->host);
    *c = (eg__capture){.device = NULL};
}
