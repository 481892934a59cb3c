/* report.c - see report.h. */
#define _POSIX_C_SOURCE 200809L
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double report_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the first lines ---- */

void report_header(eg_run *run, const options *o, const input *in, int64_t batches, int64_t examples)
{
    const char *device = eg_device_name(in->device);
    eg_run_say(run, "Model:       %s", o->model);
    eg_run_say(run, "Dataset:     %s%s", in->of->name, o->data_dir ? "" : " (synthetic)");
    eg_run_say(run, "Mode:        %s",
               o->eval             ? "evaluation"
               : o->forward_only   ? "forward-only"
               : options_judges(o) ? "training + evaluation"
                                   : "training");
    eg_run_say(run, "SingleSess:  False");
    const int ranks = eg_run_settings_of(run)->ranks;
    eg_run_say(run, "Batch size:  %lld global", (long long)(in->batch * ranks));
    eg_run_say(run, "             %lld per device", (long long)in->batch);
    eg_run_say(run, "Num batches: %lld", (long long)batches);
    eg_run_say(run, "Num epochs:  %.2f", (double)batches * (double)(in->batch * ranks) / (double)examples);
    char more[32] = "";
    snprintf(more, sizeof more, ranks > 1 ? ", and %d more" : "", ranks - 1);
    eg_run_say(run, "Devices:     ['/%s%s']%s", device, strchr(device, ':') ? "" : ":0", more);
    eg_run_say(run, "Data format: %s", o->data_format);
    eg_run_say(run, "Optimizer:   %s", o->optimizer);
    eg_run_say(run, "Variables:   %s", o->variable_update);
}

/* ---- steps ---- */

void report_begin(report *r)
{
    bool judged = r->o->print_training_accuracy || r->o->forward_only;
    eg_run_say(r->run, "Done warm up");
    eg_run_say(r->run, "Step\tImg/sec\t%s%s", r->o->loss_type_to_report,
               judged ? "\ttop_1_accuracy\ttop_5_accuracy" : "");
    r->began = report_now();
}

eg_status report_add(report *r, double seconds)
{
    if (r->count == r->room) {
        int64_t room = 2 * r->room + 128;
        double *more = realloc(r->speeds, 2 * (size_t)room * sizeof *more);
        if (!more) {
            return eg_fail(EG_ENOMEM, "cnn-bench", "out of memory");
        }
        r->speeds = more;
        r->room = room;
    }
    r->speeds[r->count++] = (double)r->batch / seconds;
    r->seconds += seconds;
    return EG_OK;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of n numbers, which are sorted. */
static double median(double *x, int64_t n)
{
    qsort(x, (size_t)n, sizeof *x, compare);
    return (x[(n - 1) / 2] + x[n / 2]) / 2;
}

void report_line(report *r, double loss, const double *accuracies)
{
    int64_t n = r->count;
    double *sorted = r->speeds + r->room, sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += r->speeds[i];
    }
    for (int64_t i = 0; i < n; i++) {
        double off = r->speeds[i] - sum / (double)n;
        squares += off * off;
    }
    memcpy(sorted, r->speeds, (size_t)n * sizeof *sorted);
    double middle = median(sorted, n);
    for (int64_t i = 0; i < n; i++) {
        sorted[i] = fabs(r->speeds[i] - middle);
    }
    char more[64] = "";
    if (accuracies) {
        snprintf(more, sizeof more, "\t%.3f\t%.3f", accuracies[0], accuracies[1]);
    }
    eg_run_say(r->run, "%lld\timages/sec: %.1f +/- %.1f (jitter = %.1f)\t%.3f%s", (long long)n,
               (double)r->batch * (double)n / r->seconds, sqrt(squares / (double)n) / sqrt((double)n),
               1.4826 * median(sorted, n), isnan(loss) ? (double)NAN : loss, more); /* never -nan */
}

void report_total(eg_run *run, double images, double seconds)
{
    static const char rule[] = "----------------------------------------------------------------";
    eg_run_say(run, "%s\ntotal images/sec: %.2f\n%s", rule, images / seconds, rule);
}

void report_end(report *r)
{
    free(r->speeds);
}
