/* parts.c - the parts whose state is made and read by functions of their own. */
#include <egret/ops.h>

#include "run/record/saver.h"

static eg_status add(eg_saver *s, const char *op, const char *name, void *part, eg_tensors *(*state)(void *),
                     eg_status (*load)(void *, const eg_tensors *))
{
    return eg__saver_add(s, op, name, part,
                         &(eg__part){.kind = EG__PART_OTHER, .is.other = {sizeof(eg_saver_part), state, load, part}});
}

/* The state of a part through its own functions, which know its type. */
#define STATE(part)                                                   \
    static eg_tensors *part##_state(void *user)                       \
    {                                                                 \
        return eg_##part##_state(user);                               \
    }                                                                 \
    static eg_status part##_load(void *user, const eg_tensors *state) \
    {                                                                 \
        return eg_##part##_load_state(user, state);                   \
    }
STATE(optim)
STATE(scaler)
STATE(ema)
STATE(metrics)

eg_status eg_saver_optim(eg_saver *s, const char *name, eg_optim *optim)
{
    return add(s, "eg_saver_optim", name, optim, optim_state, optim_load);
}

eg_status eg_saver_scaler(eg_saver *s, const char *name, eg_scaler *scaler)
{
    return add(s, "eg_saver_scaler", name, scaler, scaler_state, scaler_load);
}

eg_status eg_saver_ema(eg_saver *s, const char *name, eg_ema *ema)
{
    return add(s, "eg_saver_ema", name, ema, ema_state, ema_load);
}

eg_status eg_saver_metrics(eg_saver *s, const char *name, eg_metrics *metrics)
{
    return add(s, "eg_saver_metrics", name, metrics, metrics_state, metrics_load);
}

/* ---- datasets -------------------------------------------------------------------------------- */

static const char position[] = "position"; /* i64 [2]: pass and sample */

static eg_tensors *dataset_state(void *user)
{
    eg_dataset_position p = eg_dataset_position_of(user);
    eg_tensors *map = eg_tensors_new();
    eg_scope s = eg_scope_push();
    eg_tensor *t = map ? eg__from_on(0, EG_SHAPE(2), EG_I64, (int64_t[]){p.epoch, p.sample}) : NULL;
    if (map && (!t || eg_tensors_set(map, position, t))) {
        eg_tensors_free(map);
        map = NULL;
    }
    eg_scope_pop(s, NULL);
    return map;
}

static eg_status dataset_load(void *user, const eg_tensors *state)
{
    const eg_tensor *t = eg_tensors_get(state, position);
    if (!t) {
        return eg__why();
    }
    if (t->dtype != EG_I64 || t->n != 2 || eg_tensors_count(state) != 1) {
        return eg__fail(EG_EFORMAT, "eg_saver_restore", "that is no position of a dataset");
    }
    const int64_t *v = (const int64_t *)eg__ptr(t);
    return eg_dataset_seek(user, (eg_dataset_position){v[0], v[1]});
}

eg_status eg_saver_dataset(eg_saver *s, const char *name, eg_dataset *d)
{
    return add(s, "eg_saver_dataset", name, d, dataset_state, dataset_load);
}
