/* plan.c - planning the large blocks of a step. */
#include "lib/step/plan.h"

#include <stdlib.h>

enum { UNIT = 64, HEAD = EG__PLACED, MOST = 8192 };

struct eg__arena {
    eg__refs refs; /* one, and one for each block */
    uint16_t cls;
    size_t bytes;
    char *data;
};

/* Before each block of an arena. */
typedef struct head {
    eg__placed placed;
    eg__arena *arena;
    eg__plan *plan;
    uint32_t slot;
} head;
_Static_assert(sizeof(head) <= HEAD, "it has room before a block");

typedef struct slot {
    void *block;          /* while it is recorded, NULL once given back */
    size_t bytes, offset; /* with its head */
    uint32_t birth, death;
    bool planned; /* it was given back within the step */
} slot;

/* What happens in turn: slot k is asked for (2 k) or given back (2 k + 1). */
struct eg__plan {
    eg__placer placer;
    slot *slots;
    uint32_t *events;
    uint32_t nslots, cslots, nevents, cevents;
    bool recording, broken; /* broken: memory ran out, or this call is not as recorded */
    uint32_t next;          /* event */
    size_t bytes;
    eg__arena *arena;
};

/* ---- arenas ----------------------------------------------------------------------------------- */

eg__arena *eg__arena_new(size_t bytes)
{
    eg__arena *a = eg__malloc(sizeof *a);
    if (a) {
        a->bytes = bytes;
        a->data = eg__block_alloc(eg__thread_get(), bytes, &a->cls);
        eg__ref_init(&a->refs);
    }
    if (a && !a->data) {
        free(a);
        a = NULL;
    }
    return a;
}

static void leave(eg__thread *T, eg__arena *a)
{
    if (eg__ref_dec(&a->refs)) {
        eg__block_free(T, a->data, a->cls);
        free(a);
    }
}

void eg__arena_free(eg__arena *a)
{
    if (a) {
        leave(eg__thread_get(), a);
    }
}

size_t eg__arena_bytes(const eg__arena *a)
{
    return a ? a->bytes : 0;
}

/* ---- plans ------------------------------------------------------------------------------------ */

void eg__plan_free(eg__plan *p)
{
    if (p) {
        free(p->slots);
        free(p->events);
        free(p);
    }
}

void eg__plan_record(eg__plan *p)
{
    p->nslots = p->nevents = 0;
    p->recording = true;
    p->broken = false;
    eg__thread_get()->placer = &p->placer;
}

bool eg__plan_begin(eg__plan *p, eg__arena *a)
{
    if (!a || eg__ref_get(&a->refs) != 1 || a->bytes < p->bytes) {
        return false;
    }
    p->arena = a;
    p->next = 0;
    p->recording = p->broken = false;
    eg__thread_get()->placer = &p->placer;
    return true;
}

static void note(eg__plan *p, uint32_t event)
{
    p->broken |= p->nevents == p->cevents && !eg__grow(&p->events, &p->cevents, sizeof *p->events);
    if (!p->broken) {
        p->events[p->nevents++] = event;
    }
}

static void gave(eg__placer *placer, void *block, size_t bytes)
{
    eg__plan *p = (eg__plan *)placer;
    p->broken |= p->nslots == MOST;
    p->broken |= !p->broken && p->nslots == p->cslots && !eg__grow(&p->slots, &p->cslots, sizeof *p->slots);
    if (p->recording && !p->broken) {
        const size_t whole = HEAD + (bytes + UNIT - 1) / UNIT * UNIT;
        p->slots[p->nslots] = (slot){.block = block, .bytes = whole, .birth = p->nevents};
        note(p, 2 * p->nslots++);
    }
}

static void took(eg__placer *placer, void *block)
{
    eg__plan *p = (eg__plan *)placer;
    for (uint32_t k = p->recording && !p->broken ? p->nslots : 0; k-- > 0;) {
        slot *s = &p->slots[k];
        if (s->block == block) {
            s->block = NULL;
            s->death = p->nevents;
            s->planned = true;
            note(p, 2 * k + 1);
            return;
        }
    }
}

/* ---- laying out: the largest first, each at the lowest place that is free all its life ----------- */

typedef struct span {
    size_t from, to;
} span;

static int larger_first(const void *a, const void *b)
{
    const slot *x = *(slot *const *)a, *y = *(slot *const *)b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : x->birth < y->birth ? -1 : 1;
}

static int by_place(const void *a, const void *b)
{
    const span *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

static size_t lowest_place(slot *const *placed, uint32_t n, const slot *s, span *taken)
{
    uint32_t count = 0;
    size_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (placed[i]->birth < s->death && s->birth < placed[i]->death) {
            taken[count++] = (span){placed[i]->offset, placed[i]->offset + placed[i]->bytes};
        }
    }
    qsort(taken, count, sizeof *taken, by_place);
    for (uint32_t i = 0; i < count && taken[i].from < at + s->bytes; i++) {
        at = taken[i].to > at ? taken[i].to : at;
    }
    return at;
}

static size_t lay_out(eg__plan *p)
{
    slot **order = eg__malloc((p->nslots + 1) * sizeof *order);
    span *taken = eg__malloc((p->nslots + 1) * sizeof *taken);
    size_t bytes = 0;
    uint32_t n = 0;
    for (uint32_t k = 0; order && taken && k < p->nslots; k++) {
        order[n] = &p->slots[k];
        n += p->slots[k].planned;
    }
    if (n) {
        qsort(order, n, sizeof *order, larger_first);
    }
    for (uint32_t i = 0; i < n; i++) {
        order[i]->offset = lowest_place(order, i, order[i], taken);
        bytes = order[i]->offset + order[i]->bytes > bytes ? order[i]->offset + order[i]->bytes : bytes;
    }
    free(order);
    free(taken);
    return bytes;
}

size_t eg__plan_end(eg__plan *p)
{
    eg__thread_get()->placer = NULL;
    if (p->recording) {
        p->recording = false;
        p->bytes = p->broken ? 0 : lay_out(p);
        return p->bytes;
    }
    return p->broken || p->next != p->nevents ? 0 : p->bytes;
}

/* ---- places ----------------------------------------------------------------------------------- */

/* Whether this is what happens next. */
static bool follows(eg__plan *p, uint32_t event)
{
    p->broken |= p->next == p->nevents || p->events[p->next] != event;
    p->next += !p->broken;
    return !p->broken;
}

static void release(eg__thread *T, void *block)
{
    const head h = *(head *)(void *)((char *)block - HEAD);
    /* Both: a plan that is gone may have left its address to another. */
    if (T->placer == &h.plan->placer && h.plan->arena == h.arena && !h.plan->recording && !h.plan->broken) {
        follows(h.plan, 2 * h.slot + 1);
    }
    leave(T, h.arena);
}

static void *place(eg__placer *placer, size_t bytes)
{
    eg__plan *p = (eg__plan *)placer;
    if (p->recording || p->broken || p->next == p->nevents) {
        p->broken |= !p->recording;
        return NULL;
    }
    const uint32_t k = p->events[p->next] / 2;
    const slot *s = &p->slots[k];
    if (!follows(p, 2 * k) || s->bytes != HEAD + (bytes + UNIT - 1) / UNIT * UNIT) {
        p->broken = true;
        return NULL;
    }
    if (!s->planned) {
        return NULL;
    }
    head *h = (head *)(void *)(p->arena->data + s->offset);
    *h = (head){{release}, p->arena, p, k};
    eg__ref_inc(&p->arena->refs);
    return (char *)h + HEAD;
}

eg__plan *eg__plan_new(void)
{
    eg__plan *p = eg__malloc(sizeof *p);
    if (p) {
        *p = (eg__plan){.placer = {place, gave, took}};
    }
    return p;
}
