/* curves.c - see curves.h. */
#include "curves.h"

#include <math.h>

#include <egret/egret.h>

#include "draw/plot.h"
#include "write_png.h"

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

eg_tensor *curve_of(const run *r, const char *field)
{
    const eg_json_field fields[] = {{.name = "step", .dtype = EG_I64},
                                    {.name = field, .dtype = EG_F64, .optional = true, .fallback = (double)NAN}};
    eg_dataset *rows = eg_ndjson_new(run_folder_path(&r->folder, "log.jsonl").text, fields, 2);
    int64_t steps = rows ? last_step(rows) : 0;
    eg_tensor *curve = rows ? collect(rows, steps) : NULL;
    eg_dataset_free(rows);
    return curve;
}

double curve_mean(eg_tensor *curve, int64_t first, int64_t last)
{
    int64_t n = eg_numel(curve), count = 0;
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

/* A line through all steps, with gaps where there is no number; through the points there are of a field that
 * most steps do not have. */
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

eg_status curves_draw(const run *r, const char *title, const char *const *fields, int count, const char *name)
{
    plot_series series[PLOT_MOST_SERIES];
    eg_status st = EG_OK;
    int n = 0;
    EG_SCOPE {
        for (int i = 0; i < count && n < PLOT_MOST_SERIES; i++) {
            eg_tensor *curve = curve_of(r, fields[i]);
            if (curve && eg_numel(curve)) {
                series[n++] = series_of(fields[i], curve);
            }
        }
        font *words = font_if_any();
        canvas *c = plot_draw(&(plot){.title = title, .x_label = "step", .series = series, .count = n}, words);
        st = write_png(c, run_folder_path(&r->folder, name).text);
        canvas_free(c);
        font_free(words);
    }
    return st;
}
