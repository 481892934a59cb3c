/* plot_axes.c - where the curves of a plot lie, whatever draws them; see plot.h. */
#include <math.h>

#include "plot.h"

/* All clearly coloured: the legend is put where there is least colour. */
const rgb plot_colours[PLOT_MOST_SERIES] = {
    {31, 111, 191}, {224, 108, 24}, {38, 150, 84},  {200, 48, 72},
    {126, 84, 186}, {0, 158, 168},  {176, 128, 16}, {206, 84, 160},
};

double plot_x(const plot_series *s, int i)
{
    return s->x ? s->x[i] : i + 1;
}

/* Numbers beyond 1e100, or on a logarithmic axis below 1e-100, are nowhere on paper. */
static bool is_on_axis(double value, bool log)
{
    return isfinite(value) && fabs(value) < 1e100 && (!log || value > 1e-100);
}

bool plot_shows(const plot *p, double x, double y)
{
    return is_on_axis(x, p->log_x) && is_on_axis(y, p->log_y);
}

/* The values that occur; least is above most if there is not one point. */
static void find_ranges(const plot *p, axis *x_axis, axis *y_axis)
{
    *x_axis = (axis){.least = INFINITY, .most = -INFINITY, .log = p->log_x, .whole = true};
    *y_axis = (axis){.least = INFINITY, .most = -INFINITY, .log = p->log_y};
    for (int k = 0; k < p->count; k++) {
        for (int i = 0; i < p->series[k].count; i++) {
            double x = plot_x(&p->series[k], i), y = p->series[k].y[i];
            if (plot_shows(p, x, y)) {
                x_axis->least = fmin(x_axis->least, x);
                x_axis->most = fmax(x_axis->most, x);
                y_axis->least = fmin(y_axis->least, y);
                y_axis->most = fmax(y_axis->most, y);
                x_axis->whole = x_axis->whole && x == floor(x);
            }
        }
    }
}

/* Gives the curves air, as a share of the axis, and a lone value an axis at all. What is never
 * negative gets no negative axis. */
static void widen(axis *a, double air)
{
    double least = a->least, most = a->most;
    if (a->log) {
        double factor = most > least ? pow(most / least, air) : 2;
        a->least = least / factor;
        a->most = most * factor;
        return;
    }
    double more = most > least ? (most - least) * air : most != 0 ? fabs(most) * 0.5 : 1;
    a->least = least >= 0 && least - more < 0 ? 0 : least - more;
    a->most = most + more;
}

eg_status plot_find_axes(const plot *p, axis *x, axis *y)
{
    if (p->count > PLOT_MOST_SERIES) {
        return eg_failf(EG_EINVAL, "plot_draw", "%d curves in one picture: at most %d", p->count, PLOT_MOST_SERIES);
    }
    find_ranges(p, x, y);
    if (!(x->least <= x->most)) {
        return eg_failf(EG_EINVAL, "plot_draw", "there is no point to draw in '%s'",
                        p->title ? p->title : "the picture");
    }
    widen(x, 0);
    widen(y, 0.05);
    return EG_OK;
}

/* The average is to both sides, and a value's weight in it falls by `keep` with each point between;
 * at the ends it is of what there is. */
void plot_smooth(const plot *p, const plot_series *line, double *smoothed, double *sums)
{
    double keep = fmin(line->smooth, 0.9999), sum = 0, weight = 0;
    for (int i = 0; i < line->count; i++) {
        bool known = plot_shows(p, plot_x(line, i), line->y[i]);
        smoothed[i] = sum *= keep;
        sums[i] = weight *= keep;
        sum += known ? line->y[i] : 0;
        weight += known;
    }
    sum = weight = 0;
    for (int i = line->count - 1; i >= 0; i--) {
        bool known = plot_shows(p, plot_x(line, i), line->y[i]);
        sum = keep * sum + (known ? line->y[i] : 0);
        weight = keep * weight + known;
        smoothed[i] = known ? (smoothed[i] + sum) / (sums[i] + weight) : NAN;
    }
}
