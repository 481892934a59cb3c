/* pipeline.c - a sequence whose parts are on several devices, which parts of a batch go through one behind the other:
 * devices that queue their work then compute at the same time (Huang et al. 2018, "GPipe"). */
#include <stdlib.h>

#include <egret/ops.h>
#include <egret/parallel.h>

#include "lib/core/device.h"
#include "nn/nn.h"

enum { DEVICES_MOST = 64, PARTS_MOST = 1024 };

/* Behind the children of a list. */
typedef struct plan {
    int64_t parts;
    int devices;
    int64_t first[DEVICES_MOST + 1]; /* child of each device; and how many there are */
    eg_device *device[DEVICES_MOST];
} plan;

static plan *plan_of(eg_module *m)
{
    eg__list *q = (eg__list *)m;
    return (plan *)(q->child + q->count);
}

static eg_status place(eg__list *q, const plan *p)
{
    eg_status st = EG_OK;
    for (int d = 0; d < p->devices && !st; d++) {
        for (int64_t i = p->first[d]; i < p->first[d + 1] && !st; i++) {
            st = eg_module_to_device(q->child[i], p->device[d]);
        }
    }
    return st;
}

/* One part of the batch, through all devices; kept. */
static eg_tensor *through(eg__list *q, const plan *p, eg_tensor *x, eg_device *back)
{
    eg_scope s = eg_scope_push();
    eg_tensor *y = s.depth ? x : NULL;
    for (int d = 0; d < p->devices && y; d++) {
        y = eg_to(y, p->device[d]);
        for (int64_t i = p->first[d]; i < p->first[d + 1] && y; i++) {
            y = eg_module_forward(q->child[i], y);
        }
    }
    y = y ? eg_keep(eg_to(y, back)) : NULL;
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return y;
}

static eg_tensor *pipeline_forward(eg_module *m, eg_tensor *x)
{
    eg__list *q = (eg__list *)m;
    const plan *p = plan_of(m);
    eg_tensor *made[PARTS_MOST], *all = NULL;
    if (eg__check(x, "pipeline", "x") || place(q, p)) {
        return NULL;
    }
    const int64_t rows = x->ndim ? x->shape[0] : 0, parts = eg__max(1, eg__min(p->parts, rows));
    int n = 0;
    for (int64_t k = 0; k < parts; k++, n++) {
        eg_tensor *part = parts == 1 ? x : eg_slice(x, 0, k * rows / parts, (k + 1) * rows / parts, 1);
        made[n] = part ? through(q, p, part, eg__device(x)) : NULL;
        if (!made[n]) {
            break;
        }
    }
    if (n == parts) {
        all = n == 1 ? eg_alias(made[0]) : eg_concat(made, n, 0);
    }
    while (n) {
        eg_release(made[--n]);
    }
    return all;
}

static const eg_module_kind pipeline_kind = {
    .size = sizeof(eg_module_kind), .name = "pipeline", .forward = pipeline_forward, .members = eg__list_members};

/* ---- where it is cut --------------------------------------------------------------------------- */

/* So that each device has as many parameters as can be, and a module at least. */
static void cut_evenly(plan *p, eg__list *q)
{
    int64_t all = 0, sum = 0;
    for (int i = 0; i < q->count; i++) {
        all += eg_module_numel(q->child[i]);
    }
    for (int i = 0, d = 1; i < q->count && d < p->devices; i++) {
        sum += eg_module_numel(q->child[i]);
        if (sum * p->devices >= all * d || q->count - i - 1 == p->devices - d) {
            p->first[d++] = i + 1;
        }
    }
}

static eg_status check(eg_module *net, eg_device *const *devices, int count, const eg_pipeline_options *o)
{
    static const char op[] = "pipeline";
    const int children = net->kind->members == eg__list_members && net->kind->forward ? ((eg__list *)net)->count : 0;
    if (count < 1 || count > DEVICES_MOST || count > children) {
        return eg__fail(EG_EINVAL, op,
                        "a %s of %d modules on %d devices: a sequence has at least one for each, of up to %d",
                        net->kind->name, children, count, DEVICES_MOST);
    }
    if (!devices) {
        return eg__null_argument(op, "devices");
    }
    if (o->micro_batches < 0 || o->micro_batches > PARTS_MOST) {
        return eg__fail(EG_EINVAL, op, "micro_batches is %lld, must be 0..%d", (long long)o->micro_batches, PARTS_MOST);
    }
    for (int d = 0; d < count; d++) {
        if (!devices[d]) {
            return eg__null_argument(op, "a device");
        }
        const int64_t before = o->first && d ? o->first[d - 1] : -1;
        if (o->first && (d ? o->first[d] <= before || o->first[d] >= children : o->first[0] != 0)) {
            return eg__fail(EG_EINVAL, op, "first[%d] is %lld: they rise from 0 and are below %d", d,
                            (long long)o->first[d], children);
        }
    }
    return EG_OK;
}

eg_module *eg_pipeline_new_with(eg_module *net, eg_device *const *devices, int count,
                                const eg_pipeline_options *options)
{
    eg_pipeline_options o;
    eg__options(&o, sizeof o, options);
    if (!net) {
        return eg__null_argument("pipeline", "net"), NULL;
    }
    if (net->parent || check(net, devices, count, &o)) {
        const eg_error why = *eg_last_error();
        if (net->parent) {
            return eg__fail_null(EG_ESTATE, "pipeline", "the sequence is part of a %s", net->parent->kind->name);
        }
        eg_module_free(net);
        eg_fail(why.code, why.op, why.message);
        return NULL;
    }
    eg__list *from = (eg__list *)net;
    for (int i = 0; i < from->count; i++) {
        from->child[i]->parent = NULL;
    }
    eg_module *m = eg__list_new(&pipeline_kind, from->child, from->count, sizeof(plan));
    from->count = 0; /* they were taken over */
    eg_module_free(net);
    if (!m) {
        return NULL;
    }
    plan *p = plan_of(m);
    eg__list *q = (eg__list *)m;
    p->parts = o.micro_batches ? o.micro_batches : count;
    p->devices = count;
    p->first[count] = q->count;
    memcpy(p->device, devices, (size_t)count * sizeof *devices);
    if (o.first) {
        memcpy(p->first, o.first, (size_t)count * sizeof *o.first);
    } else {
        cut_evenly(p, q);
    }
    if (place(q, p)) {
        eg_module_free(m);
        return NULL;
    }
    return m;
}
