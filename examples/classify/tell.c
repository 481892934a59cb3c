/* tell.c - see tell.h. */
#define _POSIX_C_SOURCE 200809L
#include "tell.h"

#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Passes over the training images so far; of a data set of unknown size the number of the one under way. */
static double epochs_of(const log_lines *l, const eg_run *run, int64_t step)
{
    const double images = (double)(step * l->o->batch_size * eg_run_settings_of(run)->ranks);
    return l->per_epoch ? images / (double)l->per_epoch : (double)eg_run_epoch(run);
}

eg_status tell_step(eg_run *run, void *user)
{
    log_lines *l = user;
    int64_t step = eg_run_step(run);
    l->seen += l->examples;
    l->steps++;
    if (l->since == 0) { /* the first step has what others have not: it is not counted */
        l->since = now();
        l->seen = l->steps = 0;
    }
    if (step % l->o->log_loss_every_n_iters != 0) {
        return EG_OK;
    }
    double loss = eg_run_latest_value(run, "loss"), accuracy = eg_run_latest_value(run, "accuracy");
    double seconds = now() - l->since, steps = (double)(l->steps ? l->steps : 1);
    eg_run_say(run, "%.4f seconds/step, %.4f samples/s, loss %.4f, accuracy %.4f, rate %.6g, step %lld, epoch %.4g",
               l->steps ? seconds / steps : 0.0, l->steps ? (double)l->seen / seconds : 0.0, loss, accuracy,
               eg_run_latest_value(run, "rate"), (long long)step, epochs_of(l, run, step));
    l->since = now();
    l->seen = l->steps = 0;
    return eg_run_status(run);
}

static void list(eg_run *run, eg_tensors *all, bool where)
{
    int64_t numbers = 0, bytes = 0;
    for (int64_t i = 0; i < eg_tensors_count(all); i++) {
        eg_tensor *t = eg_tensors_at(all, i);
        char shape[128] = "";
        for (int d = 0; d < eg_ndim(t); d++) {
            size_t used = strlen(shape);
            snprintf(shape + used, sizeof shape - used, d ? " x %lld" : "%lld", (long long)eg_size(t, d));
        }
        eg_run_say(run, "  %-60s %-20s %s%s", eg_tensors_name(all, i), shape, eg_dtype_name(eg_dtype_of(t)),
                   !where                        ? ""
                   : eg_device_of(t) == eg_cpu() ? " cpu"
                                                 : " cuda");
        numbers += eg_numel(t);
        bytes += eg_numel(t) * (int64_t)eg_dtype_size(eg_dtype_of(t));
    }
    eg_run_say(run, "%lld tensors, %lld numbers, %lld bytes", (long long)eg_tensors_count(all), (long long)numbers,
               (long long)bytes);
}

static eg_status summarise(eg_run *run, eg_module *net, int64_t channels, int64_t side)
{
    eg_status st = EG_OK;
    EG_SCOPE {
        eg_tensor *image = eg_run_here(run, eg_zeros(EG_SHAPE(1, channels, side, side), EG_F32));
        st = eg_summary(eg_run_out(run), net, image);
    }
    return st;
}

eg_status tell_model(eg_run *run, const options *o, eg_module *net, int64_t channels, int64_t side, eg_optim *optim)
{
    eg_status st = o->print_model_statistics ? summarise(run, net, channels, side) : EG_OK;
    if (!st && (o->print_model_statistics || o->log_device_placement)) {
        eg_tensors *all = eg_module_state(net);
        list(run, all, o->log_device_placement);
        eg_tensors_free(all);
    }
    if (!st && o->print_optimizer_statistics) {
        eg_tensors *all = eg_optim_state(optim);
        list(run, all, o->log_device_placement);
        eg_tensors_free(all);
    }
    return st;
}
