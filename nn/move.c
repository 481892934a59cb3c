/* move.c - moving modules to another dtype or device. */
#include <stdlib.h>

#include <egret/ops.h>

#include "lib/core/device.h"
#include "lib/ops/optable.h"
#include "nn/nn.h"

/* ---- dtypes ---------------------------------------------------------------------------------- */

/* The first walk makes the new tensors, the second, which cannot fail, puts them in. */
typedef struct mover {
    eg_members walk;
    eg_dtype dtype;
    eg_tensor **made; /* in the order of the walk; kept */
    uint32_t count, room, next;
    bool place;
    eg_status status;
} mover;

static eg_tensor *moved(eg_tensor *t, eg_dtype dtype)
{
    eg_scope s = eg_scope_push();
    eg_tensor *copy = s.depth ? eg_keep(eg_cast(eg_detach(t), dtype)) : NULL;
    eg_scope_pop(s, NULL);
    if (copy) {
        copy->flags |= t->flags & EG__PARAM;
    }
    return copy;
}

static void move_member(eg_members *walk, const eg__member *member)
{
    mover *w = (mover *)walk;
    if (member->kind == EG__CHILD) {
        eg__members(*member->child, walk);
        return;
    }
    eg_dtype now = (eg_dtype)(*member->tensor)->dtype;
    if (w->status || !eg__is_float(now) || now == w->dtype) {
        return;
    }
    if (w->place) {
        eg_release(*member->tensor);
        *member->tensor = w->made[w->next++];
        return;
    }
    if (w->count == w->room && !eg__grow(&w->made, &w->room, sizeof *w->made)) {
        w->status = eg__no_memory("eg_module_to", 0);
        return;
    }
    eg_tensor *t = moved(*member->tensor, w->dtype);
    if (t) {
        w->made[w->count++] = t;
    } else {
        w->status = eg__why();
    }
}

eg_status eg_module_to(eg_module *m, eg_dtype dtype)
{
    static const char op[] = "eg_module_to";
    if (!m) {
        return eg__null_argument(op, "m");
    }
    if (dtype < 0 || dtype >= EG_DTYPE_COUNT || !eg__is_float((int)dtype)) {
        return eg__fail(EG_EDTYPE, op, "%s is no float dtype", eg_dtype_name(dtype));
    }
    mover w = {.walk = {move_member, 0}, .dtype = dtype};
    eg_status st = eg__walk_members(m, &w.walk, op);
    w.status = w.status ? w.status : st;
    if (w.status) {
        while (w.count) {
            eg_release(w.made[--w.count]);
        }
    } else {
        w.place = true;
        eg__members(m, &w.walk);
    }
    free(w.made);
    return w.status;
}

/* ---- devices --------------------------------------------------------------------------------- */

/* The first walk copies, the second, which cannot fail, gives each tensor its copy's memory. */
typedef struct carrier {
    eg_members walk;
    eg_device *device;
    eg_tensor **old, **copy; /* kept copies */
    uint32_t count, room, copy_room;
    eg_status status;
} carrier;

static eg_status carry(carrier *w, eg_tensor *t)
{
    static const char op[] = "eg_module_to_device";
    eg__thread *T = eg__thread_get();
    for (uint32_t i = 0; i < w->count; i++) {
        if (w->old[i] == t) {
            return EG_OK; /* tied */
        }
    }
    if (T->record->recording && eg__tracked(T, t)) {
        return eg__fail(EG_ESTATE, op, "an open tape follows a parameter: close it first");
    }
    if ((w->count == w->room && !eg__grow(&w->old, &w->room, sizeof *w->old)) ||
        (w->count == w->copy_room && !eg__grow(&w->copy, &w->copy_room, sizeof *w->copy))) {
        return eg__no_memory(op, 0);
    }
    eg_scope s = eg_scope_push();
    eg_tensor *copy = s.depth ? eg_keep(eg_to(eg_detach(t), w->device)) : NULL;
    eg_scope_pop(s, NULL);
    if (!copy) {
        return eg__why();
    }
    w->old[w->count] = t;
    w->copy[w->count++] = copy;
    return EG_OK;
}

static void carry_member(eg_members *walk, const eg__member *member)
{
    carrier *w = (carrier *)walk;
    if (member->kind == EG__CHILD) {
        eg__members(*member->child, walk);
    } else if (!w->status && (*member->tensor)->device != w->device->id) {
        w->status = carry(w, *member->tensor);
    }
}

/* t becomes what its copy is, where that is; users and optimizers hold t as before. */
static void settle(eg_tensor *t, eg_tensor *copy)
{
    eg__storage *old = t->storage;
    t->storage = copy->storage;
    copy->storage = old;
    t->device = copy->device;
    t->offset = copy->offset;
    t->flags = (uint8_t)((t->flags & EG__PARAM) | (copy->flags & ~EG__PARAM));
    memcpy(t->strides, copy->strides, sizeof t->strides);
}

eg_status eg_module_to_device(eg_module *m, eg_device *device)
{
    static const char op[] = "eg_module_to_device";
    if (!m || !device) {
        return eg__null_argument(op, m ? "device" : "m");
    }
    carrier w = {.walk = {carry_member, 0}, .device = device};
    eg_status st = eg__walk_members(m, &w.walk, op);
    w.status = w.status ? w.status : st;
    for (uint32_t i = 0; i < w.count; i++) {
        if (!w.status) {
            settle(w.old[i], w.copy[i]);
        }
        eg_release(w.copy[i]);
    }
    free(w.old);
    free(w.copy);
    return w.status;
}
