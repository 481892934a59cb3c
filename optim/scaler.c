/* scaler.c - scaling the loss so that gradients in f16 do not underflow. */
#include <stdlib.h>

#include "lib/step/capture.h"
#include "lib/io/assign.h"
#include "lib/core/live.h"
#include "optim/optim.h"
#include "optim/options.h"

enum { UNSEEN = 16 }; /* steps on a device after which it is asked whether they were hopeless */

struct eg_scaler {
    eg__scaling by; /* state: kept, where it was last used */
    int unseen;
};

static eg_status above_0(const char *op, const char *what, double v)
{
    return v == 0 ? eg__fail(EG_EINVAL, op, "%s is 0, must be above 0", what) : EG_OK;
}

eg_scaler *eg_scaler_new_with(const eg_scaler_options *options)
{
    static const char op[] = "eg_scaler";
    const double any = (double)INFINITY;
    eg_scaler_options o;
    eg__options(&o, sizeof o, options);
    o.start = eg__or(o.start, 65536);
    o.growth = eg__or(o.growth, 2);
    o.backoff = eg__or(o.backoff, 0.5);
    o.interval = eg__or_count(o.interval, 2000);
    if (above_0(op, "start", o.start) || above_0(op, "backoff", o.backoff) ||
        eg__optim_number(op, "start", o.start, any) || eg__optim_range(op, "growth", o.growth, 1, any) ||
        eg__optim_number(op, "backoff", o.backoff, 1)) {
        return NULL;
    }
    if (o.interval < 1) {
        return eg__fail_null(EG_EINVAL, op, "interval is %lld, must be 1 or more", (long long)o.interval);
    }
    eg_scaler *s = eg__handle_new(sizeof *s);
    if (!s) {
        eg__no_memory(op, sizeof *s);
        return NULL;
    }
    *s =
        (eg_scaler){.by = {.growth = o.growth, .backoff = o.backoff, .interval = (double)o.interval, .least = 0x1p-24}};
    s->by.state = eg__numbers_on(0, (double[EG__SCALER_SIZE]){o.start}, EG__SCALER_SIZE);
    if (!s->by.state) {
        eg_scaler_free(s);
        return NULL;
    }
    return s;
}

static eg_status look(const eg_scaler *s, double *state)
{
    return eg_copy_out(s->by.state, state, EG__SCALER_SIZE * sizeof *state);
}

/* Gradients that are not finite at the least scale are nobody's but the loss's. */
static eg_status judge(eg_scaler *s)
{
    double state[EG__SCALER_SIZE];
    if (s->by.state->device && ++s->unseen < UNSEEN) {
        return EG_OK;
    }
    if (eg__capture_stop("eg_scaler_minimize", NULL)) {
        return eg__why();
    }
    s->unseen = 0;
    eg_status st = look(s, state);
    if (st || state[EG__SCALER_HOPELESS] == 0) {
        return st;
    }
    st = eg_set(s->by.state, EG__SCALER_HOPELESS, 0);
    return st ? st
              : eg__fail(EG_EINVAL, "eg_scaler_minimize",
                         "the gradients are not finite even at a scale of %g: the loss or the parameters are not",
                         state[EG__SCALER_SCALE]);
}

static eg_status again(void *owner, void *to)
{
    (void)to;
    return judge(owner);
}

static void undo(void *owner)
{
    eg_scaler *s = owner;
    s->unseen -= s->unseen > 0;
}

static eg_status into_capture(eg_scaler *s)
{
    const eg__moving n = {.again = again, .undo = undo, .owner = s};
    eg__capture *c = eg__thread_get()->capture;
    uint32_t place;
    void *at;
    return c ? eg__capture_numbers(c, 0, &n, &at, &place) : EG_OK;
}

eg_status eg_scaler_minimize(eg_scaler *s, eg_optim *optim, eg_tape tape, eg_tensor *loss)
{
    if (!s) {
        return eg__null_argument("eg_scaler_minimize", "scaler");
    }
    eg_status st = optim && optim->count ? eg__at(&s->by.state, eg__optim_device(optim)) : EG_OK;
    st = st ? st : eg__optim_minimize(optim, tape, loss, &s->by);
    st = st ? st : into_capture(s);
    return st ? st : judge(s);
}

double eg_scaler_scale(const eg_scaler *s)
{
    double state[EG__SCALER_SIZE];
    return s && !look(s, state) ? state[EG__SCALER_SCALE] : (double)NAN;
}

int64_t eg_scaler_skipped(const eg_scaler *s)
{
    double state[EG__SCALER_SIZE];
    return s && !look(s, state) ? (int64_t)state[EG__SCALER_SKIPPED] : 0;
}

eg_tensors *eg_scaler_state(eg_scaler *s)
{
    double state[EG__SCALER_SIZE];
    if (!s) {
        return eg__null_argument("eg_scaler_state", "scaler"), NULL;
    }
    eg_tensors *map = look(s, state) ? NULL : eg_tensors_new();
    if (map && (eg__put_number(map, "scale", state[EG__SCALER_SCALE], EG_F64) ||
                eg__put_number(map, "good", state[EG__SCALER_GOOD], EG_I64) ||
                eg__put_number(map, "skipped", state[EG__SCALER_SKIPPED], EG_I64))) {
        eg_tensors_free(map);
        return NULL;
    }
    return map;
}

eg_status eg_scaler_load_state(eg_scaler *s, const eg_tensors *map)
{
    static const char op[] = "eg_scaler_load_state";
    double state[EG__SCALER_SIZE] = {0};
    if (!s || !map) {
        return eg__null_argument(op, s ? "map" : "scaler");
    }
    if (eg__get_number(op, map, "scale", 0x1p-1000, (double)INFINITY, &state[EG__SCALER_SCALE]) ||
        eg__get_number(op, map, "good", 0, eg__most_steps, &state[EG__SCALER_GOOD]) ||
        eg__get_number(op, map, "skipped", 0, eg__most_steps, &state[EG__SCALER_SKIPPED]) ||
        eg__put_back(op, eg_scaler_state(s), map)) {
        return eg__why();
    }
    eg_tensor *loaded = eg__numbers_on(s->by.state->device, state, EG__SCALER_SIZE);
    eg_status st = loaded ? eg__overwrite(op, s->by.state, loaded) : eg__why(); /* captured steps have its address */
    eg_release(loaded);
    return st;
}

void eg_scaler_free(eg_scaler *s)
{
    if (eg__handle_ends(s, "eg_scaler_free")) {
        eg_release(s->by.state);
        free(s);
    }
}
