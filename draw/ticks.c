/* ticks.c - see ticks.h. */
#include "ticks.h"

#include <math.h>
#include <stdio.h>

/* Writes a value with as many decimals as its neighbours, a step away, need to differ. */
static void label_tick(double value, double step, char *label)
{
    double large = fmax(fabs(value), step), unit = 1;
    const char *prefix = "";
    if (value == 0) {
        snprintf(label, TICK_LABEL_SIZE, "0");
        return;
    }
    if (large >= 1e9 || step < 1e-4) {
        int digits = (int)fmin(ceil(log10(large / step)) + 1, 15);
        snprintf(label, TICK_LABEL_SIZE, "%.*g", digits, value);
        return;
    }
    if (large >= 1e6) {
        unit = 1e6;
        prefix = "M";
    } else if (large >= 1e4) {
        unit = 1e3;
        prefix = "k";
    }
    double decimals = ceil(-log10(step / unit) - 1e-9);
    snprintf(label, TICK_LABEL_SIZE, "%.*f%s", decimals > 0 ? (int)decimals : 0, value / unit, prefix);
}

static void add_tick(axis *a, double value, double step)
{
    /* A hair beyond the end still counts: the last tick must not fall to rounding. */
    double slack = 1e-9 * (a->most - a->least);
    if (a->count < TICKS_MOST && value >= a->least - slack && value <= a->most + slack) {
        a->at[a->count] = value;
        label_tick(value, step, a->label[a->count]);
        a->count++;
    }
}

/* The next 1, 2 or 5 times a power of ten. */
static double round_up(double rough)
{
    double power = pow(10, floor(log10(rough))), times = rough / power;
    return power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

static void make_linear_ticks(axis *a, int room)
{
    double step = round_up((a->most - a->least) / room);
    step = a->whole && step < 1 ? 1 : step;
    double first = ceil(a->least / step - 1e-9);
    for (int i = 0; i < TICKS_MOST; i++) {
        add_tick(a, (first + i) * step, step);
    }
}

static void make_log_ticks(axis *a, int room)
{
    int first = (int)floor(log10(a->least)), last = (int)ceil(log10(a->most));
    int stride = (last - first) / (2 * room) + 1;
    for (int power = first; power <= last; power += stride) {
        add_tick(a, pow(10, power), pow(10, power));
    }
    if (a->count >= 3) {
        return;
    }
    a->count = 0;
    for (int power = first; power <= last; power++) {
        double one = pow(10, power);
        add_tick(a, one, one);
        add_tick(a, 2 * one, one);
        add_tick(a, 5 * one, one);
    }
    if (a->count < 3) {
        a->count = 0;
        make_linear_ticks(a, room);
    }
}

void axis_make_ticks(axis *a, int room)
{
    a->count = 0;
    room = room < 2 ? 2 : room > TICKS_MOST / 2 ? TICKS_MOST / 2 : room;
    if (a->log) {
        make_log_ticks(a, room);
    } else {
        make_linear_ticks(a, room);
    }
}

double axis_place(const axis *a, double value)
{
    if (!a->log) {
        return (value - a->least) / (a->most - a->least);
    }
    return value > 0 ? log(value / a->least) / log(a->most / a->least) : NAN;
}
