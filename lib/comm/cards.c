/* cards.c - ranks whose tensors go from card to card: a transport over another one, which carries what is not on cards,
 * or over none. Two ranks' messages would hold up those of all, as a card works off what it is told in order: they go
 * the other way. */
#include <stdlib.h>

#include "lib/comm/comm.h"
#include "lib/core/memory.h"

typedef struct linked {
    eg__transport base;
    eg__transport *over; /* NULL: none */
    const eg__cards *cards;
    eg__carrier *carrier;
    void *group;    /* NULL: given up */
    eg__move *now;  /* what goes by it */
    double hurried; /* since when somebody waits */
} linked;

/* The other one carries it. */
static bool passes(const linked *l, const eg__move *m)
{
    return l->over && m->carrier != l->carrier;
}

static eg_status begin(eg__transport *t, eg__move *m)
{
    linked *l = (linked *)t;
    return passes(l, m) ? l->over->is->begin(l->over, m) : EG_OK;
}

static eg_status heard(eg__transport *t)
{
    linked *l = (linked *)t;
    return l->over ? l->over->is->heard(l->over) : EG_OK;
}

static eg_status poll(eg__transport *t, eg__move *m, bool *done)
{
    linked *l = (linked *)t;
    if (passes(l, m)) {
        return l->over->is->poll(l->over, m, done);
    }
    bool ready = false;
    eg_status st = heard(t);
    st = st ? st : l->cards->ready(l->group, &ready);
    if (st || !ready || (l->now && l->now != m)) {
        return st;
    }
    if (!l->now) {
        l->now = m;
        return l->cards->exchange(l->group, m->send, m->sent, m->receive, m->received);
    }
    st = eg__carriers_of(l->carrier)->settled(l->carrier, done);
    l->now = *done ? NULL : m;
    return st;
}

static uint8_t home(const eg__transport *t, uint8_t device, bool of_two)
{
    const linked *l = (const linked *)t;
    const uint8_t own = eg__carrier_device(l->carrier)->id;
    return !l->over || (device == own && !of_two) ? own : l->over->is->home(l->over, device, of_two);
}

static int missing(eg__transport *t, const eg__move *m)
{
    linked *l = (linked *)t;
    return passes(l, m) ? l->over->is->missing(l->over, m) : -1;
}

static void give_up(linked *l)
{
    if (l->group) {
        l->cards->leave(l->group, false);
        l->group = NULL;
    }
}

static bool drop(eg__transport *t, eg__move *m)
{
    linked *l = (linked *)t;
    if (passes(l, m)) {
        return l->over->is->drop(l->over, m);
    }
    if (l->now == m) {
        give_up(l);
    }
    return true;
}

static void wait_change(eg__transport *t, bool hurry)
{
    linked *l = (linked *)t;
    if (l->over) {
        l->over->is->wait(l->over, hurry);
    } else {
        l->hurried = eg__comm_pause(l->hurried, hurry);
    }
}

static void tell(eg__transport *t, const char *why)
{
    linked *l = (linked *)t;
    if (l->over) {
        l->over->is->tell(l->over, why);
    } else {
        give_up(l); /* the others' cards notice */
    }
}

static void close_end(eg__transport *t, bool orderly, double seconds)
{
    linked *l = (linked *)t;
    if (l->group) {
        l->cards->leave(l->group, orderly);
    }
    if (l->over) {
        l->over->is->close(l->over, orderly, seconds);
    }
    free(l);
}

static const eg__transport_class over_class = {"nccl",  begin, poll,        home, heard,
                                               missing, drop,  wait_change, tell, close_end};

eg__transport *eg__comm_cards(const char *op, eg__transport *over, eg__carrier *carrier, void *group, int rank,
                              int ranks)
{
    linked *l = eg__malloc(sizeof *l);
    if (!l) {
        eg__no_memory(op, sizeof *l);
        return NULL;
    }
    *l = (linked){.base = {&over_class, rank, ranks},
                  .over = over,
                  .cards = eg__carrier_device(carrier)->engine->cards,
                  .carrier = carrier,
                  .group = group};
    return &l->base;
}
