/* nccl.c - joining ranks' cards: a name for the group, which one rank makes and all must know, and waiting for all. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/comm/comm.h"
#include "lib/core/device.h"
#include "lib/core/environment.h"
#include "lib/core/memory.h"
#include "lib/io/file.h"

static const eg__cards *cards_of(const char *op, const eg_device *device)
{
    if (!device) {
        eg__null_argument(op, "device");
        return NULL;
    }
    return device->engine->cards ? device->engine->cards
                                 : eg__fail_null(EG_EDEVICE, op, "%s has no NCCL", device->name);
}

/* Joins, and waits for the others, half as long as ranks wait for each other: so all come to agree in time. */
static void *joined(const char *op, eg__carrier *carrier, const eg__group_name *name, int rank, int ranks,
                    double timeout)
{
    const eg__cards *cards = eg__carrier_device(carrier)->engine->cards;
    const double until = eg__seconds() + timeout / 2;
    void *group = cards->join(op, carrier, name, rank, ranks);
    bool ready = false;
    eg_status st = group ? EG_OK : eg__why();
    while (!st && !ready) {
        st = cards->ready(group, &ready);
        if (!st && !ready) {
            st =
                eg__seconds() > until ? eg__fail(EG_EIO, op, "not all cards have joined within %g s", timeout / 2) : st;
            eg__comm_pause(0, false);
        }
    }
    if (st && group) {
        cards->leave(group, false);
    }
    return st ? NULL : group;
}

/* ---- over another transport -------------------------------------------------------------------- */

/* Rank 0's name for all. */
static eg_status tell_name(eg_comm *comm, eg__group_name *name)
{
    eg_scope s = eg_scope_push();
    eg_tensor *t = s.depth ? eg__from_on(0, EG_SHAPE(sizeof name->bytes), EG_U8, name->bytes) : NULL;
    eg_status st = t ? eg_comm_broadcast(comm, &t, 1, 0) : eg__why();
    if (!st) {
        memcpy(name->bytes, eg__ptr(t), sizeof name->bytes);
    }
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

static eg_status link_up(const char *op, eg_comm *comm, eg_device *device)
{
    const eg__cards *cards = cards_of(op, device);
    eg__group_name name = {{0}};
    eg__carrier *carrier = cards ? eg__comm_carrier(comm, device->id, false, op) : NULL;
    eg_status st = carrier ? cards->name(op, comm->rank == 0 ? &name : NULL) : eg__why();
    st = eg_comm_agree(comm, st);
    st = st ? st : tell_name(comm, &name);
    if (st) {
        return st;
    }
    void *group = joined(op, carrier, &name, comm->rank, comm->ranks, comm->timeout);
    eg__transport *t = group ? eg__comm_cards(op, comm->transport, carrier, group, comm->rank, comm->ranks) : NULL;
    st = eg_comm_agree(comm, t ? EG_OK : eg__why());
    if (st && group) {
        cards->leave(group, false);
        free(t);
    }
    if (!st) {
        pthread_mutex_lock(&comm->lock);
        comm->transport = t;
        pthread_mutex_unlock(&comm->lock);
    }
    return st;
}

eg_status eg_comm_use_nccl(eg_comm *comm, eg_device *device)
{
    static const char op[] = "eg_comm_use_nccl";
    if (eg__comm_check(comm, op)) {
        return eg__why();
    }
    if (!comm->transport) {
        const eg__cards *cards = cards_of(op, device);
        return cards ? cards->name(op, NULL) : eg__why();
    }
    if (strcmp(comm->transport->is->name, "nccl") == 0) {
        return eg__fail(EG_ESTATE, op, "it uses NCCL already");
    }
    pthread_mutex_lock(&comm->lock);
    const bool busy = comm->first;
    pthread_mutex_unlock(&comm->lock);
    return busy ? eg__fail(EG_ESTATE, op, "something is under way on it") : link_up(op, comm, device);
}

/* ---- over none --------------------------------------------------------------------------------- */

static eg_status write_name(const char *op, const char *path, const eg__group_name *name)
{
    return eg__file_exists(path) ? eg__fail(EG_EIO, op, "%s is there already: of other ranks?", path)
                                 : eg__file_write(op, path, name->bytes, sizeof name->bytes);
}

static eg_status read_name(const char *op, const char *path, eg__group_name *name, double timeout)
{
    const double until = eg__seconds() + timeout;
    FILE *f;
    while (!(f = fopen(path, "rb"))) {
        if (eg__seconds() > until) {
            return eg__fail(EG_EIO, op, "%s, which rank 0 writes, is not there within %g s", path, timeout);
        }
        eg__comm_pause(0, false);
    }
    const bool well = fread(name->bytes, sizeof name->bytes, 1, f) == 1;
    fclose(f);
    return well ? EG_OK : eg__fail(EG_EFORMAT, op, "%s is not what rank 0 writes", path);
}

/* By the file; without one NCCL makes the same name on all ranks, if it knows the address of rank 0. */
static eg_status find_name(const char *op, const eg__cards *cards, int rank, const char *path, eg__group_name *name,
                           double timeout)
{
    const char *address = eg__getenv("NCCL_COMM_ID");
    if (!path && !(address && *address)) {
        return eg__fail(EG_EINVAL, op, "neither a file nor NCCL_COMM_ID says how ranks find each other");
    }
    eg_status st = cards->name(op, rank == 0 || !path ? name : NULL);
    return st || !path ? st : rank == 0 ? write_name(op, path, name) : read_name(op, path, name, timeout);
}

static eg__transport *open_cards(const char *op, eg__carrier *carrier, int rank, int ranks, const char *path,
                                 double timeout)
{
    const eg__cards *cards = eg__carrier_device(carrier)->engine->cards;
    eg__group_name name;
    void *group =
        find_name(op, cards, rank, path, &name, timeout) ? NULL : joined(op, carrier, &name, rank, ranks, timeout);
    if (rank == 0 && path && group) {
        remove(path); /* all have read it */
    }
    eg__transport *t = group ? eg__comm_cards(op, NULL, carrier, group, rank, ranks) : NULL;
    if (group && !t) {
        cards->leave(group, false);
    }
    return t;
}

eg_comm *eg_comm_nccl_new_with(eg_device *device, int rank, int ranks, const eg_comm_nccl_options *options)
{
    static const char op[] = "eg_comm_nccl_new";
    eg_comm_nccl_options o;
    double timeout;
    eg__options(&o, sizeof o, options);
    const eg__cards *cards = cards_of(op, device);
    if (!cards || eg__comm_timeout(op, o.timeout, &timeout)) {
        return NULL;
    }
    if (ranks < 1 || rank < 0 || rank >= ranks) {
        return eg__fail_null(EG_EINVAL, op, "rank %d of %d", rank, ranks);
    }
    const eg__carriers *carriers = device->engine->carriers;
    eg__carrier *carrier = ranks > 1 ? carriers->open(device, op) : NULL;
    eg__transport *t = carrier ? open_cards(op, carrier, rank, ranks, o.file, timeout) : NULL;
    eg_comm *c = t || ranks == 1 ? eg__comm_made(op, t, timeout) : NULL;
    if (c) {
        c->carrier[0][device->id] = carrier;
    } else if (carrier) {
        carriers->close(carrier);
    }
    return c;
}
