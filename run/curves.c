/* curves.c - what a run's log says about its steps, as numbers and as a picture; other pictures. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "run/run.h"

/* ---- numbers ---- */

/* Rows come in no particular order and number. */
static eg_tensor *collect(eg_dataset *rows, int64_t steps)
{
    eg_tensor *curve = eg_full(EG_SHAPE(steps), (double)NAN, EG_F64);
    EG_FOR_EACH(row, rows) {
        int64_t step = (int64_t)eg_item(row[0]);
        double value = eg_item(row[1]);
        if (curve && step >= 1 && step <= steps && !isnan(value)) { /* a step may have rows of other fields */
            eg_set(curve, step - 1, value);
        }
    }
    return eg_dataset_status(rows) == EG_OK ? curve : NULL;
}

static int64_t last_step(eg_dataset *rows)
{
    int64_t last = 0;
    EG_FOR_EACH(row, rows) {
        int64_t step = (int64_t)eg_item(row[0]);
        last = step > last ? step : last;
    }
    return last;
}

eg_tensor *eg_run_curve(eg_run *run, const char *field)
{
    const eg_json_field fields[] = {{.name = "step", .dtype = EG_I64},
                                    {.name = field, .dtype = EG_F64, .optional = true, .fallback = (double)NAN}};
    if (eg_run_heed(run, run_catch_up(run))) {
        return NULL;
    }
    eg_dataset *rows = eg_ndjson_new(eg_run_path(run, "log.jsonl").text, fields, 2);
    int64_t steps = rows ? last_step(rows) : 0;
    eg_tensor *curve = rows ? collect(rows, steps) : NULL;
    eg_dataset_free(rows);
    if (!curve) {
        eg_run_heed(run, eg_last_error()->code);
    }
    return curve;
}

static double mean_of(eg_tensor *curve, int64_t first, int64_t last)
{
    int64_t n = curve ? eg_numel(curve) : 0, count = 0;
    double sum = 0;
    first = first < 0 ? first + n : first;
    last = last < 0 ? last + n : last;
    for (int64_t i = first < 0 ? 0 : first; i < last && i < n; i++) {
        double v = eg_get(curve, i);
        sum += isnan(v) ? 0 : v;
        count += !isnan(v);
    }
    return sum / (double)count;
}

double eg_run_curve_mean(eg_run *run, const char *field, int64_t first, int64_t last)
{
    double mean = (double)NAN;
    EG_SCOPE {
        mean = mean_of(eg_run_curve(run, field), first, last);
    }
    return mean;
}

eg_status eg_run_check_fell(eg_run *run, const char *field, double share)
{
    int64_t tenth = run->step / 10 + 1;
    if (run->status || !run->settings.smoke || run->signal || run->rank > 0) { /* rank 0 has the whole log */
        return run->status;
    }
    double first = eg_run_curve_mean(run, field, 0, tenth);
    double last = eg_run_curve_mean(run, field, run->step - tenth, run->step);
    if (!(last <= share * first)) {
        eg_run_heed(
            run, eg_failf(EG_ESTATE, "eg_run_check_fell", "%s did not fall: it was %g and is %g", field, first, last));
    }
    return run->status;
}

/* ---- pictures ---- */

/* A line through all steps, with gaps where there is no number; through the points there are of a field that most steps
 * do not have. */
static eg_draw_series series_of(const char *name, eg_tensor *curve)
{
    int64_t n = eg_numel(curve);
    eg_tensor *there = eg_nonzero(eg_logical_not(eg_isnan(curve)));
    int64_t count = eg_size(there, 0);
    if (2 * count < n) {
        eg_tensor *places = eg_reshape(there, EG_SHAPE(-1));
        return (eg_draw_series){
            .name = name, .x = eg_add_scalar(eg_cast(places, EG_F64), 1), .y = eg_index_select(curve, 0, places)};
    }
    return (eg_draw_series){.name = name, .y = curve, .smooth = n < 50 ? 0 : 0.9};
}

static bool has_points(eg_tensor *curve)
{
    for (int64_t i = 0; i < eg_numel(curve); i++) {
        if (!isnan(eg_get(curve, i))) {
            return true;
        }
    }
    return false;
}

/* Draws what there is of the fields; names end with commas, which become their ends. */
static eg_status plot_fields(eg_run *run, const char *file, const char *title, char *names)
{
    eg_draw_series series[EG_DRAW_SERIES_MAX];
    int n = 0;
    for (char *at = names, *next; at && n < EG_DRAW_SERIES_MAX; at = next) {
        next = strchr(at, ',');
        if (next) {
            *next++ = '\0';
            next += strspn(next, " ");
        }
        eg_tensor *curve = eg_run_curve(run, at);
        if (curve && has_points(curve)) {
            series[n++] = series_of(at, curve);
        }
    }
    if (!n && run->signal) { /* stopped before there was anything to draw */
        return EG_OK;
    }
    eg_tensor *picture = eg_draw_plot(series, n, .title = title, .x_label = "step");
    return picture ? eg_png_save(picture, eg_run_path(run, file).text) : eg_last_error()->code;
}

eg_status eg_run_plot(eg_run *run, const char *file, const char *title, const char *fields)
{
    char names[512];
    if (run->status) {
        return run->status;
    }
    snprintf(names, sizeof names, "%s", fields);
    EG_SCOPE {
        eg_run_heed(run, plot_fields(run, file, title, names));
    }
    return run->status;
}

static eg_status save_picture(eg_run *run, const char *name, const char *file, eg_tensor *image)
{
    eg_status st = run->status ? run->status : run_need_logs(run);
    st = st ? st : eg_png_save(image, eg_run_path(run, file).text);
    return st || !run->board ? st : eg_events_image(run->board, name, run->step, image);
}

eg_status eg_run_picture(eg_run *run, const char *name, eg_tensor *image)
{
    char file[EG_NAME_MOST + 1];
    snprintf(file, sizeof file, "%.240s.png", name);
    return eg_run_heed(run, save_picture(run, name, file, image));
}

eg_status eg_run_histogram(eg_run *run, const char *tag, eg_tensor *values)
{
    eg_status st = run->status ? run->status : run_need_logs(run);
    return eg_run_heed(run, st || !run->board ? st : eg_events_histogram(run->board, tag, run->step, values));
}

static void name_epoch(char *file, size_t size, const char *name, int64_t epoch)
{
    snprintf(file, size, "%.200s-%04lld.png", name, (long long)epoch);
}

eg_path run_epoch_picture(const eg_run *run, const char *name, int64_t epoch)
{
    char file[EG_NAME_MOST + 1];
    name_epoch(file, sizeof file, name, epoch);
    return eg_run_path(run, file);
}

eg_status eg_run_epoch_picture(eg_run *run, const char *name, eg_tensor *image)
{
    char file[EG_NAME_MOST + 1];
    name_epoch(file, sizeof file, name, run->step ? run->epochs_done + 1 : 0);
    return eg_run_heed(run, save_picture(run, name, file, image));
}
