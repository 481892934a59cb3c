/* parts.c - what a run is made of: it has them in its checkpoints, and frees them. */
#include <stdio.h>
#include <string.h>

#include "run/run.h"

static eg_status save_part(eg_run *run, const run_part *p)
{
    char scale[128];
    eg_status st = EG_OK;
    switch (p->kind) {
    case RUN_MODULE:
        return eg_saver_module(run->saver, p->name, p->module);
    case RUN_OPTIM:
        snprintf(scale, sizeof scale, "%.90s-scale", p->name);
        st = eg_saver_optim(run->saver, p->name, p->optim);
        return st || !p->scaler ? st : eg_saver_scaler(run->saver, scale, p->scaler);
    case RUN_EMA:
        return eg_saver_ema(run->saver, p->name, p->ema);
    case RUN_DATASET:
        return *p->name ? eg_saver_dataset(run->saver, p->name, p->dataset) : EG_OK;
    case RUN_METRICS:
        return eg_saver_metrics(run->saver, p->name, p->metrics);
    case RUN_THING:
        return EG_OK;
    case RUN_TENSOR:
        return eg_saver_tensor(run->saver, p->name, p->tensor);
    case RUN_SHARE:
        return eg_saver_add(run->saver, p->name,
                            &(eg_saver_part){sizeof(eg_saver_part), run_share_state, run_share_load, (void *)p});
    case RUN_NUMBER:
        return eg_saver_number(run->saver, p->name, p->number);
    case RUN_OTHER:
        break;
    }
    return eg_saver_add(run->saver, p->name, &p->other);
}

eg_status run_save_parts(eg_run *run)
{
    eg_status st = eg_saver_number(run->saver, "epochs", &run->epochs_done);
    st = st ? st : eg_saver_number(run->saver, "no-better", &run->no_better);
    for (int i = 0; i < run->part_count && !st; i++) {
        st = save_part(run, &run->parts[i]);
    }
    return st;
}

eg_status run_check_precision(const eg_run *run)
{
    char scale[140];
    eg_status st = EG_OK;
    const eg_path path = eg_run_latest(run);
    eg_tensors *file = run->rank == 0 && *path.text ? eg_tensors_open(path.text) : NULL;
    for (int i = 0; i < run->part_count && file && !st; i++) {
        const run_part *p = &run->parts[i];
        snprintf(scale, sizeof scale, "%.90s-scale/scale", p->name);
        if (p->kind == RUN_OPTIM && eg_tensors_has(file, scale) != (p->scaler != NULL)) {
            st =
                eg_failf(EG_ESTATE, "eg_run_open",
                         "%s was written with%s --precision f16, this run has --precision %s: resume with %s, or train "
                         "anew with another --out",
                         path.text, p->scaler ? "out" : "", run->settings.precision,
                         p->scaler ? "--precision f32" : "--precision f16");
        }
    }
    if (run->rank == 0 && *path.text && !file) {
        eg_clear_error(); /* the saver reports it, or reads an earlier one */
    }
    eg_tensors_free(file);
    return st;
}

/* The run has it from now on, even where it cannot be saved. */
static eg_status take(eg_run *run, const char *name, const run_part *part)
{
    if (run->part_count == RUN_PARTS_MOST) {
        return eg_failf(EG_EINVAL, "eg_run", "a run has at most %d parts", RUN_PARTS_MOST);
    }
    run_part *p = &run->parts[run->part_count++];
    *p = *part;
    int length = snprintf(p->name, sizeof p->name, "%s", name);
    if (length >= (int)sizeof p->name) {
        return eg_failf(EG_EINVAL, "eg_run", "the name of a part has at most %d bytes", (int)sizeof p->name - 1);
    }
    return run->saver ? save_part(run, p) : EG_OK;
}

/* What the constructor of a NULL has put on record. */
static eg_status missing(void)
{
    eg_status st = eg_last_error()->code;
    return st ? st : eg_fail(EG_EINVAL, "eg_run", "it was given NULL");
}

eg_module *eg_run_module(eg_run *run, const char *name, eg_module *m)
{
    eg_status st = m ? take(run, name, &(run_part){.kind = RUN_MODULE, .module = m}) : missing();
    st = st ? st : eg_module_to_device(m, run->device);
    st = st || !run->settings.sync_batch_norm ? st : eg_sync_batch_norm(m, run->comm);
    return eg_run_heed(run, st) ? NULL : m;
}

eg_optim *eg_run_optim(eg_run *run, const char *name, eg_optim *optim)
{
    run_part part = {.kind = RUN_OPTIM, .optim = optim};
    if (optim && run->low == EG_F16) {
        part.scaler = eg_scaler_new_with(&run->scaling);
    }
    eg_status st = optim ? take(run, name, &part) : missing();
    st = st || run->low != EG_F16 || part.scaler ? st : missing();
    if (!st && run->ranks > 1) {
        st = eg_optim_parallel(optim, run->comm, .zero = eg_optim_needs_function(optim) ? 0 : (int)run->settings.zero);
    }
    return eg_run_heed(run, st) ? NULL : optim;
}

eg_ema *eg_run_ema(eg_run *run, const char *name, eg_ema *ema)
{
    eg_status st = ema ? take(run, name, &(run_part){.kind = RUN_EMA, .ema = ema}) : missing();
    return eg_run_heed(run, st) ? NULL : ema;
}

eg_dataset *eg_run_train_on(eg_run *run, eg_dataset *d)
{
    bool other = d && run->data;
    if (other && (d == run->data || d == run->given)) {
        return run->data;
    }
    if (!other) {
        run->given = d;
        d = d ? eg_dataset_distribute(d, run->rank, run->ranks) : NULL;
    }
    eg_status st = d ? take(run, other ? "other" : "train", &(run_part){.kind = RUN_DATASET, .dataset = d}) : missing();
    st = st || !other ? st : eg_fail(EG_ESTATE, "eg_run_train_on", "the run has data to train on already");
    if (!st) {
        run->data = d;
        run->per_epoch = eg_dataset_count(d);
        run->per_epoch = run->per_epoch < 0 ? 0 : run->per_epoch;
        run->steps = run->settings.steps ? run->settings.steps : run->settings.epochs * run->per_epoch;
        if (eg_dataset_count(d) == 0) {
            st = eg_failf(EG_EINVAL, "eg_run_train_on",
                          "%lld training samples%s are not enough for a batch of %lld: use a smaller --batch%s",
                          (long long)eg_dataset_count_before(d), run->ranks > 1 ? " of each rank" : "",
                          (long long)run->settings.batch, run->options.data ? ", or a --data with more" : "");
        }
    }
    return eg_run_heed(run, st) ? NULL : d;
}

eg_dataset *eg_run_dataset(eg_run *run, const char *name, eg_dataset *d)
{
    const run_part part = {.kind = RUN_DATASET, .dataset = d};
    eg_status st = d ? take(run, name ? name : "", &part) : missing();
    return eg_run_heed(run, st) ? NULL : d;
}

eg_metrics *eg_run_metrics(eg_run *run, const char *name)
{
    eg_metrics *m = eg_metrics_new();
    eg_status st = m ? take(run, name, &(run_part){.kind = RUN_METRICS, .metrics = m}) : missing();
    return eg_run_heed(run, st) ? NULL : m;
}

eg_status eg_run_own(eg_run *run, void *thing, void (*free_thing)(void *))
{
    run_part part = {.kind = RUN_THING, .thing = thing, .free_thing = free_thing};
    return eg_run_heed(run, thing ? take(run, "", &part) : missing());
}

eg_status eg_run_tensor(eg_run *run, const char *name, eg_tensor *t)
{
    return eg_run_heed(run, t ? take(run, name, &(run_part){.kind = RUN_TENSOR, .tensor = t}) : missing());
}

eg_status eg_run_tensor_share(eg_run *run, const char *name, eg_tensor *t, int axis)
{
    const run_part part = {.kind = RUN_SHARE, .tensor = t, .axis = axis, .run = run};
    return eg_run_heed(run, t ? take(run, name, &part) : missing());
}

eg_status eg_run_number(eg_run *run, const char *name, int64_t *number)
{
    return eg_run_heed(run, take(run, name, &(run_part){.kind = RUN_NUMBER, .number = number}));
}

eg_status eg_run_part(eg_run *run, const char *name, const eg_saver_part *part)
{
    return eg_run_heed(run, take(run, name, &(run_part){.kind = RUN_OTHER, .other = *part}));
}

eg_status eg_run_scaling(eg_run *run, const eg_scaler_options *options)
{
    run->scaling = *options;
    return run->status;
}

eg_status eg_run_minimize(eg_run *run, eg_optim *optim, eg_tape tape, eg_tensor *loss)
{
    for (int i = 0; i < run->part_count && !run->status; i++) {
        const run_part *p = &run->parts[i];
        if (p->kind == RUN_OPTIM && p->optim == optim) {
            return eg_run_heed(run, p->scaler ? eg_scaler_minimize(p->scaler, optim, tape, loss)
                                              : eg_optim_minimize(optim, tape, loss));
        }
    }
    return run->status ? run->status
                       : eg_run_heed(run, eg_fail(EG_EINVAL, "eg_run_minimize", "this optimizer is not the run's"));
}

/* Optimizers know modules, datasets what was given beside them. */
void run_free_parts(eg_run *run)
{
    for (int i = 0; i < run->part_count; i++) {
        eg_optim_free(run->parts[i].optim);
        eg_scaler_free(run->parts[i].scaler);
        eg_ema_free(run->parts[i].ema);
    }
    for (int i = 0; i < run->part_count; i++) {
        eg_module_free(run->parts[i].module);
        eg_dataset_free(run->parts[i].dataset);
        eg_metrics_free(run->parts[i].metrics);
    }
    for (int i = run->part_count - 1; i >= 0; i--) {
        if (run->parts[i].thing) {
            run->parts[i].free_thing(run->parts[i].thing);
        }
    }
    run->part_count = 0;
}
