/* notes.c - what a run tells while it goes: numbers of steps, read in one go, and rows of the log. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "run/run.h"

/* ---- means of the epoch ---- */

static void add_to_mean(eg_run *run, const char *name, double number)
{
    int i = 0;
    while (i < run->mean_count && strcmp(run->means[i].name, name) != 0) {
        i++;
    }
    if (i == RUN_NAMES_MOST || isnan(number)) {
        return;
    }
    run_mean *m = &run->means[i];
    if (i == run->mean_count) {
        *m = (run_mean){.sum = 0};
        snprintf(m->name, sizeof m->name, "%s", name);
        run->mean_count++;
    }
    m->sum += number;
    m->latest = number;
    m->count++;
}

void run_take_means(eg_run *run, char *text, size_t size)
{
    size_t used = 0;
    *text = '\0';
    for (int i = 0; i < run->mean_count && used < size; i++) {
        const run_mean *m = &run->means[i];
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s %.4g", i ? ", " : "", m->name, m->sum / (double)m->count);
    }
    run->mean_count = 0;
}

/* ---- rows ---- */

/* A row with the step and these fields, and a point on TensorBoard for each number. */
static eg_status log_row(eg_run *run, int64_t step, const eg_field *fields, int count)
{
    enum { MOST = 64 };
    eg_field row[MOST + 1] = {EG_INTEGER("step", step)};
    eg_status st = run_need_logs(run);
    if (count > MOST) {
        return eg_failf(EG_EINVAL, "eg_run_log", "a row has at most %d fields, not %d", MOST, count);
    }
    for (int i = 0; i < count && !st; i++) {
        const eg_field *f = &fields[i];
        double value = f->kind == EG_FIELD_REAL ? f->real : (double)f->integer;
        row[i + 1] = *f;
        if (f->kind != EG_FIELD_TEXT) {
            add_to_mean(run, f->name, value);
            st = run->board ? eg_events_scalar(run->board, f->name, step, value) : EG_OK;
        }
    }
    return st ? st : eg_journal_row_with(run->journal, row, count + 1);
}

eg_status eg_run_log_with(eg_run *run, const eg_field *fields, int count)
{
    if (run->status) {
        return run->status;
    }
    eg_status st = run_catch_up(run);
    return eg_run_heed(run, st ? st : log_row(run, run->step, fields, count));
}

eg_status eg_run_log_metrics(eg_run *run, const char *before, eg_metrics *m)
{
    enum { MOST = 32 };
    char names[MOST][96];
    eg_field fields[MOST];
    int n = run->status ? 0 : eg_metrics_count(m);
    n = n < MOST ? n : MOST;
    for (int i = 0; i < n; i++) {
        const char *name = eg_metrics_name(m, i);
        snprintf(names[i], sizeof names[i], "%s%s", before, name);
        fields[i] = (eg_field)EG_REAL(names[i], eg_metrics_value(m, name));
    }
    return eg_run_log_with(run, fields, n);
}

/* ---- numbers that are read later ---- */

void run_forget_rows(eg_run *run)
{
    for (int i = 0; i < run->rows_behind; i++) {
        for (int k = 0; k < run->behind[i].count; k++) {
            eg_release(run->behind[i].values[k].tensor);
        }
    }
    run->rows_behind = 0;
}

/* All tensors of the rows at once: one wait. */
static eg_status read_rows(eg_run *run, double *numbers)
{
    eg_tensor *tensors[RUN_BEHIND * RUN_VALUES_MOST];
    eg_status st = EG_OK;
    int n = 0;
    for (int i = 0; i < run->rows_behind; i++) {
        for (int k = 0; k < run->behind[i].count; k++) {
            eg_tensor *t = run->behind[i].values[k].tensor;
            tensors[n] = t;
            n += t != NULL;
        }
    }
    EG_SCOPE {
        for (int i = 0; i < n; i++) {
            tensors[i] = eg_reshape(eg_cast(eg_detach(tensors[i]), EG_F64), EG_SHAPE(1));
        }
        st = n == 0 ? EG_OK : eg_to_values(eg_concat(tensors, n, 0), numbers);
    }
    return st ? st : eg_run_all_reduce(run, numbers, n, EG_COMM_MEAN);
}

/* Logs a row with its numbers, which are at *next. */
static eg_status log_numbers(eg_run *run, const run_row *row, const double **next)
{
    eg_field fields[RUN_VALUES_MOST];
    const char *bad = NULL;
    for (int k = 0; k < row->count; k++) {
        const eg_run_value *v = &row->values[k];
        double number = v->tensor ? *(*next)++ / (v->per > 0 ? v->per : 1) : v->number;
        fields[k] = (eg_field)EG_REAL(v->name, number);
        bad = v->tensor && isnan(number) && !bad ? v->name : bad;
        if (k == 0) {
            run->latest = number;
            snprintf(run->latest_name, sizeof run->latest_name, "%s", v->name);
        }
    }
    eg_status st = log_row(run, row->step, fields, row->count);
    if (!st && bad) {
        char name[160];
        run_find_bad(run, name, sizeof name);
        st =
            eg_failf(EG_ESTATE, "eg_run_note", "%s is not a number at step %lld; %s%s", bad, (long long)row->step,
                     *name ? "the first tensor that is not finite is " : "all tensors of the modules are finite", name);
    }
    return st;
}

eg_status run_catch_up(eg_run *run)
{
    double numbers[RUN_BEHIND * RUN_VALUES_MOST];
    const double *next = numbers;
    eg_status st = run->rows_behind == 0 ? EG_OK : read_rows(run, numbers);
    for (int i = 0; i < run->rows_behind && !st; i++) {
        st = log_numbers(run, &run->behind[i], &next);
    }
    run_forget_rows(run);
    return st;
}

static eg_status check_note(const eg_run *run, int count)
{
    if (count < 1 || count > RUN_VALUES_MOST) {
        return eg_failf(EG_EINVAL, "eg_run_note", "a row has 1 to %d numbers, not %d", RUN_VALUES_MOST, count);
    }
    return run->in_step ? EG_OK : eg_fail(EG_ESTATE, "eg_run_note", "there is no step under way");
}

eg_status eg_run_note_with(eg_run *run, const eg_run_value *values, int count)
{
    eg_status st = run->status ? run->status : check_note(run, count);
    if (st) {
        return eg_run_heed(run, st);
    }
    run_row *row = &run->behind[run->rows_behind++];
    *row = (run_row){.step = run->step};
    for (int i = 0; i < count; i++) {
        eg_run_value *v = &row->values[row->count++];
        *v = values[i];
        v->tensor = v->computed ? eg_keep(v->tensor) : NULL;
        if (v->computed && !v->tensor) {
            run_forget_rows(run);
            st = eg_last_error()->code;
            return eg_run_heed(run, st ? st : eg_fail(EG_EINVAL, "eg_run_note", "the tensor is NULL"));
        }
    }
    bool may_wait =
        (run->device == eg_cpu() && run->ranks == 1) || isnan(run->latest); /* the first: there is something to show */
    return run->rows_behind < RUN_BEHIND && !may_wait ? EG_OK : eg_run_heed(run, run_catch_up(run));
}

double eg_run_latest_value(eg_run *run, const char *name)
{
    eg_run_heed(run, run_catch_up(run));
    for (int i = 0; i < run->mean_count; i++) {
        if (strcmp(run->means[i].name, name) == 0) {
            return run->means[i].latest;
        }
    }
    return (double)NAN;
}

/* ---- words ---- */

void eg_run_say(eg_run *run, const char *format, ...)
{
    va_list values;
    if (run->has_bar) {
        eg_progress_clear(&run->bar);
    }
    va_start(values, format);
    vfprintf(run->out, format, values);
    va_end(values);
    fputc('\n', run->out);
    fflush(run->out);
}

FILE *eg_run_out(const eg_run *run)
{
    return run->out;
}

void eg_run_hush(eg_run *run)
{
    run->hushed = true;
}
