/* scaler.c - scaling the loss so that gradients in f16 do not underflow. */
#include <stdlib.h>

#include "optim/optim.h"

static const double least = 0x1p-24; /* the scale at which the blame is no longer the scale's */

struct eg_scaler {
    double scale, growth, backoff;
    int64_t interval, good, skipped;
};

eg_scaler *eg_scaler_new_with(const eg_scaler_options *options)
{
    static const char op[] = "eg_scaler";
    const double any = (double)INFINITY;
    eg_scaler_options o;
    eg__options(&o, sizeof o, options);
    o.start = eg__or(o.start, 65536);
    o.growth = eg__or(o.growth, 2);
    o.backoff = eg__or(o.backoff, 0.5);
    o.interval = o.interval ? o.interval : 2000;
    if (eg__optim_number(op, "start", o.start, any) ||
        eg__optim_range(op, "growth", o.growth, 1, any) ||
        eg__optim_number(op, "backoff", o.backoff, 1)) {
        return NULL;
    }
    if (o.interval < 1) {
        return eg__fail_null(EG_EINVAL, op, "interval is %lld, must be 1 or more",
                             (long long)o.interval);
    }
    eg_scaler *s = eg__malloc(sizeof *s);
    if (!s) {
        eg__no_memory(op, sizeof *s);
        return NULL;
    }
    *s = (eg_scaler){o.start, o.growth, o.backoff, o.interval, 0, 0};
    return s;
}

static eg_status back_off(eg_scaler *s)
{
    if (s->scale <= least && s->backoff < 1) {
        return eg__fail(EG_EINVAL, "eg_scaler_minimize",
                        "the gradients are not finite even at a scale "
                        "of %g: the loss or the parameters are not",
                        s->scale);
    }
    s->scale *= s->backoff;
    s->good = 0;
    s->skipped++;
    return EG_OK;
}

eg_status eg_scaler_minimize(eg_scaler *s, eg_optim *optim, eg_tape tape, eg_tensor *loss)
{
    if (!s) {
        return eg__null_argument("eg_scaler_minimize", "scaler");
    }
    bool skipped = false;
    eg_status st = eg__optim_minimize(optim, tape, loss, s->scale, &skipped);
    if (st) {
        return st;
    }
    if (skipped) {
        return back_off(s);
    }
    if (++s->good >= s->interval) {
        s->good = 0;
        s->scale = isfinite(s->scale * s->growth) ? s->scale * s->growth : s->scale;
    }
    return EG_OK;
}

double eg_scaler_scale(const eg_scaler *s)
{
    return s ? s->scale : (double)NAN;
}

int64_t eg_scaler_skipped(const eg_scaler *s)
{
    return s ? s->skipped : 0;
}

eg_tensors *eg_scaler_state(eg_scaler *s)
{
    eg_tensors *map = s ? eg_tensors_new() : NULL;
    if (!s) {
        return eg__null_argument("eg_scaler_state", "scaler"), NULL;
    }
    if (map && (eg__put_number(map, "scale", s->scale, EG_F64) ||
                eg__put_number(map, "good", (double)s->good, EG_I64) ||
                eg__put_number(map, "skipped", (double)s->skipped, EG_I64))) {
        eg_tensors_free(map);
        return NULL;
    }
    return map;
}

eg_status eg_scaler_load_state(eg_scaler *s, const eg_tensors *map)
{
    static const char op[] = "eg_scaler_load_state";
    if (!s || !map) {
        return eg__null_argument(op, s ? "map" : "scaler");
    }
    double scale = s->scale, good = 0, skipped = 0;
    if (eg__get_number(op, map, "scale", 0x1p-1000, (double)INFINITY, &scale) ||
        eg__get_number(op, map, "good", 0, eg__most_steps, &good) ||
        eg__get_number(op, map, "skipped", 0, eg__most_steps, &skipped)) {
        return eg__why();
    }
    eg_status st = eg__put_back(op, eg_scaler_state(s), map);
    if (!st) {
        s->scale = scale;
        s->good = (int64_t)good;
        s->skipped = (int64_t)skipped;
    }
    return st;
}

void eg_scaler_free(eg_scaler *s)
{
    free(s);
}
