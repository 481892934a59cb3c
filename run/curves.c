/* curves.c - what a run's log says about its steps, as numbers and as a picture; other pictures. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/plot.h"
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
    if (run->status || !run->settings.smoke) {
        return run->status;
    }
    double first = eg_run_curve_mean(run, field, 0, tenth);
    double last = eg_run_curve_mean(run, field, run->step - tenth, run->step);
    if (!(last < share * first)) {
        eg_run_heed(
            run, eg_failf(EG_ESTATE, "eg_run_check_fell", "%s did not fall: it was %g and is %g", field, first, last));
    }
    return run->status;
}

/* ---- pictures ---- */

/* A line through all steps, with gaps where there is no number; through the points there are of a field that most steps
 * do not have. */
static plot_series series_of(const char *name, eg_tensor *curve)
{
    int n = (int)eg_numel(curve), count = 0;
    double *x = eg_data_mut(eg_zeros_like(curve)), *y = eg_data_mut(eg_zeros_like(curve));
    for (int i = 0; i < n && x && y; i++) {
        double value = eg_get(curve, i);
        if (!isnan(value)) {
            x[count] = i + 1;
            y[count++] = value;
        }
    }
    if (x && y && 2 * count < n) {
        return (plot_series){.name = name, .x = x, .y = y, .count = count};
    }
    return (plot_series){.name = name, .y = eg_data(curve), .count = n, .smooth = n < 50 ? 0 : 0.9};
}

/* Draws what there is of the fields; names end with commas, which become their ends. */
static eg_status plot_fields(eg_run *run, const char *file, const char *title, char *names)
{
    plot_series series[PLOT_MOST_SERIES];
    int n = 0;
    for (char *at = names, *next; at && n < PLOT_MOST_SERIES; at = next) {
        next = strchr(at, ',');
        if (next) {
            *next++ = '\0';
            next += strspn(next, " ");
        }
        eg_tensor *curve = eg_run_curve(run, at);
        if (curve && eg_numel(curve)) {
            series[n++] = series_of(at, curve);
        }
    }
    font *words = font_if_any();
    canvas *c = plot_draw(&(plot){.title = title, .x_label = "step", .series = series, .count = n}, words);
    eg_status st = c ? EG_OK : eg_last_error()->code;
    if (c) {
        eg_tensor *flat = eg_from(EG_SHAPE(c->height, c->width, 3), EG_U8, c->pixels);
        st = eg_png_save(eg_permute(flat, EG_AXES(2, 0, 1)), eg_run_path(run, file).text);
    }
    canvas_free(c);
    font_free(words);
    return st;
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

static void epoch_file(char *file, size_t size, const char *name, int64_t epoch)
{
    snprintf(file, size, "%.200s-%04lld.png", name, (long long)epoch);
}

eg_status eg_run_epoch_picture(eg_run *run, const char *name, eg_tensor *image)
{
    char file[EG_NAME_MOST + 1];
    epoch_file(file, sizeof file, name, run->step ? run->epochs_done + 1 : 0);
    return eg_run_heed(run, save_picture(run, name, file, image));
}
