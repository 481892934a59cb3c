/* chart.c - see chart.h. */
#include "chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct chart {
    const plot *p;
    FILE *out;
    int columns, rows; /* of the field, in characters */
    int margin;        /* of the numbers to its left */
    int colours;
    axis x, y;
    uint8_t *dots, *owner;     /* per character: which dots are set, and the last curve that set one */
    int end[PLOT_MOST_SERIES]; /* the row where each curve ends; -1: nowhere */
} chart;

/* ---- dots ---------------------------------------------------------------------------------- */

/* Dot (x, y) of the field; the bits of braille's characters run down the left side, then the right.
 */
static void set_dot(chart *c, int x, int y, int series)
{
    static const uint8_t bit[4][2] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
    if (x >= 0 && y >= 0 && x < 2 * c->columns && y < 4 * c->rows) {
        int at = y / 4 * c->columns + x / 2;
        c->dots[at] |= bit[y % 4][x % 2];
        c->owner[at] = (uint8_t)series;
    }
}

/* A straight line of dots: a step along its longer side at a time. */
static void draw_line(chart *c, int x0, int y0, int x1, int y1, int series)
{
    int steps = abs(x1 - x0) > abs(y1 - y0) ? abs(x1 - x0) : abs(y1 - y0);
    for (int i = 0; i <= steps; i++) {
        double share = steps ? (double)i / steps : 0;
        set_dot(c, (int)lround(x0 + share * (x1 - x0)), (int)lround(y0 + share * (y1 - y0)), series);
    }
}

static void draw_values(chart *c, const plot_series *s, const double *values, int series)
{
    bool before = false;
    int last_x = 0, last_y = 0;
    c->end[series] = -1;
    for (int i = 0; i < s->count; i++) {
        double at = plot_x(s, i);
        if (!plot_shows(c->p, at, values[i])) {
            before = false;
            continue;
        }
        int x = (int)lround(axis_place(&c->x, at) * (2 * c->columns - 1));
        int y = (int)lround((1 - axis_place(&c->y, values[i])) * (4 * c->rows - 1));
        draw_line(c, before ? last_x : x, before ? last_y : y, x, y, series);
        before = true;
        last_x = x;
        last_y = y;
        c->end[series] = y / 4;
    }
}

static eg_status draw_series(chart *c, int series)
{
    const plot_series *s = &c->p->series[series];
    if (!(s->smooth > 0) || s->count < 1) {
        draw_values(c, s, s->y, series);
        return EG_OK;
    }
    double *smoothed = malloc(2 * sizeof *smoothed * (size_t)s->count);
    if (!smoothed) {
        return eg_failf(EG_ENOMEM, "chart_write", "out of memory for a curve of %d points", s->count);
    }
    plot_smooth(c->p, s, smoothed, smoothed + s->count);
    draw_values(c, s, smoothed, series);
    free(smoothed);
    return EG_OK;
}

/* ---- lines of characters ------------------------------------------------------------------- */

static void set_colour(const chart *c, int series)
{
    /* The same colours as on paper, as near as 256 come. */
    static const int nearest[PLOT_MOST_SERIES] = {33, 208, 35, 161, 98, 37, 136, 169};
    rgb colour = plot_colours[series];
    if (c->colours > 256) {
        fprintf(c->out, "\033[38;2;%d;%d;%dm", colour.r, colour.g, colour.b);
    } else if (c->colours) {
        fprintf(c->out, "\033[38;5;%dm", nearest[series]);
    }
}

static void set_style(const chart *c, const char *code)
{
    if (c->colours) {
        fprintf(c->out, "\033[%sm", code);
    }
}

/* In the middle of `width` characters. */
static void write_centred(FILE *out, const char *text, int width)
{
    int length = 0;
    for (const char *s = text; *s; s++) {
        length += ((unsigned char)*s & 0xc0) != 0x80;
    }
    fprintf(out, "%*s%s\n", width > length ? (width - length) / 2 : 0, "", text);
}

static void write_head(const chart *c)
{
    if (c->p->title) {
        set_style(c, "1");
        fprintf(c->out, "%*s", c->margin + 2, "");
        write_centred(c->out, c->p->title, c->columns);
        set_style(c, "0");
    }
    if (c->p->y_label) {
        set_style(c, "2");
        fprintf(c->out, "%s\n", c->p->y_label);
        set_style(c, "0");
    }
}

static void write_braille(FILE *out, uint8_t dots)
{
    /* U+2800 and the dots' bits, in UTF-8; a space where there are none. */
    if (dots) {
        fputc(0xe2, out);
        fputc(0xa0 | dots >> 6, out);
        fputc(0x80 | (dots & 63), out);
    } else {
        fputc(' ', out);
    }
}

static void write_row(const chart *c, int row)
{
    const char *label = "";
    int current = -1;
    for (int i = 0; i < c->y.count; i++) {
        int at = (int)lround((1 - axis_place(&c->y, c->y.at[i])) * (4 * c->rows - 1)) / 4;
        label = at == row ? c->y.label[i] : label;
    }
    fprintf(c->out, "%*s %s", c->margin, label, *label ? "┤" : "│");
    for (int i = 0; i < c->columns; i++) {
        int at = row * c->columns + i;
        if (c->dots[at] && c->owner[at] != current) {
            current = c->owner[at];
            set_colour(c, current);
        }
        write_braille(c->out, c->dots[at]);
    }
    if (current >= 0) {
        set_style(c, "0");
    }
    for (int k = 0; k < c->p->count && !c->colours && c->p->count > 1; k++) {
        if (c->end[k] == row) {
            fprintf(c->out, " %d", k + 1);
        }
    }
    fputc('\n', c->out);
}

/* The axis below with its numbers, of which those that would touch are left out. */
static void write_foot(const chart *c)
{
    int free_from = 0;
    fprintf(c->out, "%*s └", c->margin, "");
    for (int i = 0; i < c->columns; i++) {
        bool tick = false;
        for (int k = 0; k < c->x.count; k++) {
            tick = tick || (int)lround(axis_place(&c->x, c->x.at[k]) * (2 * c->columns - 1)) / 2 == i;
        }
        fputs(tick ? "┬" : "─", c->out);
    }
    fprintf(c->out, "\n%*s", c->margin + 2, "");
    for (int k = 0; k < c->x.count; k++) {
        int length = (int)strlen(c->x.label[k]);
        int at = (int)lround(axis_place(&c->x, c->x.at[k]) * (2 * c->columns - 1)) / 2 - length / 2;
        at = at < 0 ? 0 : at > c->columns - length ? c->columns - length : at;
        if (at >= free_from) {
            int past = k == 0 ? 0 : free_from - 1; /* a space follows each number */
            fprintf(c->out, "%*s%s", at - past, "", c->x.label[k]);
            free_from = at + length + 1;
        }
    }
    fputc('\n', c->out);
    if (c->p->x_label) {
        set_style(c, "2");
        fprintf(c->out, "%*s", c->margin + 2, "");
        write_centred(c->out, c->p->x_label, c->columns);
        set_style(c, "0");
    }
}

static void write_legend(const chart *c)
{
    bool any = false;
    for (int k = 0; k < c->p->count; k++) {
        if (c->p->series[k].name) {
            fprintf(c->out, "%*s", any ? 3 : c->margin + 2, "");
            if (c->colours || c->p->count == 1) {
                set_colour(c, k);
                fputs("──", c->out);
                set_style(c, "0");
            } else {
                fprintf(c->out, "%d", k + 1);
            }
            fprintf(c->out, " %s", c->p->series[k].name);
            any = true;
        }
    }
    if (any) {
        fputc('\n', c->out);
    }
}

/* Axes and their room; the rest of `columns` is the field. */
static eg_status lay_out(chart *c, int columns)
{
    eg_status st = plot_find_axes(c->p, &c->x, &c->y);
    if (st) {
        return st;
    }
    axis_make_ticks(&c->y, c->rows / 2);
    for (int i = 0; i < c->y.count; i++) {
        int length = (int)strlen(c->y.label[i]);
        c->margin = length > c->margin ? length : c->margin;
    }
    c->columns = columns - c->margin - 2 - (c->p->count > 1 && !c->colours ? 2 * c->p->count : 0);
    c->columns = c->columns < 10 ? 10 : c->columns;
    axis_make_ticks(&c->x, c->columns / 12);
    return EG_OK;
}

eg_status chart_write(FILE *out, const plot *p, int columns, int rows, int colours)
{
    chart c = {.p = p, .out = out, .rows = rows, .colours = colours};
    eg_status st = lay_out(&c, columns);
    if (st) {
        return st;
    }
    size_t cells = (size_t)c.columns * (size_t)c.rows;
    c.dots = calloc(2, cells);
    if (!c.dots) {
        return eg_failf(EG_ENOMEM, "chart_write", "out of memory for a chart of %d x %d characters", c.columns, c.rows);
    }
    c.owner = c.dots + cells;
    for (int k = 0; !st && k < p->count; k++) {
        st = draw_series(&c, k);
    }
    if (!st) {
        write_head(&c);
        for (int row = 0; row < c.rows; row++) {
            write_row(&c, row);
        }
        write_foot(&c);
        write_legend(&c);
    }
    free(c.dots);
    return st;
}
