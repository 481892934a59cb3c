/* watch.c - what the EG_DEBUG words want of an op that is done. */
#include <math.h>
#include <stdio.h>

#include "lib/core/device.h"
#include "lib/ops/dispatch.h"

static bool all_finite(const eg_tensor *given)
{
    const eg_tensor *t = eg__on_host(given, "eg_debug");
    for (int64_t i = 0; t && eg__is_float(t->dtype) && i < t->n; i++) {
        int64_t at = eg__place(t->ndim, t->shape, t->strides, i);
        if (!isfinite(eg__load(eg__ptr(t), t->dtype, at))) {
            return false;
        }
    }
    return true;
}

eg_status eg__debug_call(const eg__call *c, double seconds)
{
    if (eg__mode(c->T) & EG__MODE_MACS && c->op->macs) {
        c->T->macs += c->op->macs(c);
    }
    if (eg__mode(c->T) & EG__DEBUG_OPS) {
        char line[300] = "";
        for (int i = 0, k = 0; i < c->nin && k < 200; i++) {
            if (c->in[i]) {
                k += snprintf(line + k, sizeof line - (size_t)k, "%s%s ", eg_dtype_name((eg_dtype)c->in[i]->dtype),
                              EG__SHAPE_OF(c->in[i]));
            }
        }
        eg__log(EG__DEBUG_OPS, c->op->name, "%s-> %s%s %.1f us", line, eg_dtype_name((eg_dtype)c->out[0]->dtype),
                EG__SHAPE_OF(c->out[0]), seconds * 1e6);
    }
    if (eg__mode(c->T) & EG__DEBUG_NAN) {
        for (int i = 0; i < c->nin; i++) {
            if (c->in[i] && !all_finite(c->in[i])) {
                return EG_OK; /* not the first */
            }
        }
        for (int j = 0; j < c->op->nout; j++) {
            if (!all_finite(c->out[j])) {
                return eg__fail(EG_EUSER, c->op->name,
                                "made a non-finite value from finite inputs, "
                                "first input %s",
                                c->nin ? EG__SHAPE_OF(c->in[0]) : "none");
            }
        }
    }
    return EG_OK;
}
