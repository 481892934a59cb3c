/* plate.c - see plate.h. */
#include "plate.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <egret/error.h>

enum { WORDS_MOST = 8, LINE_BYTES = 128 };

static const double leading = 1.2, margin = 0.45; /* in em */

typedef struct paint {
    rgb ground, letters, border;
} paint;
static const paint paints[] = {
    {{28, 62, 140}, {245, 245, 245}, {30, 105, 70}},  {{32, 58, 120}, {240, 240, 230}, {240, 240, 230}},
    {{238, 238, 232}, {25, 30, 45}, {60, 70, 90}},    {{240, 236, 215}, {30, 55, 130}, {30, 55, 130}},
    {{25, 95, 70}, {245, 245, 240}, {245, 245, 240}}, {{110, 62, 38}, {245, 238, 220}, {245, 238, 220}},
    {{205, 200, 188}, {45, 40, 38}, {120, 112, 100}}, {{35, 38, 42}, {235, 225, 190}, {190, 165, 95}},
};

/* ---- lines --------------------------------------------------------------------------------------- */

typedef struct layout {
    char line[WORDS_MOST][LINE_BYTES];
    int lines;
    double widest; /* em */
} layout;

/* Bit i of breaks: a new line begins behind the word i. */
static layout lay_out(const char *name, unsigned breaks, const font *f)
{
    layout l = {.lines = 1};
    int word = 0;
    size_t n = 0;
    for (; *name; name++) {
        if (*name == ' ' && word < WORDS_MOST - 1 && breaks >> word++ & 1) {
            l.lines++;
            n = 0;
        } else if (n < LINE_BYTES - 1) {
            l.line[l.lines - 1][n++] = *name;
        }
    }
    for (int i = 0; i < l.lines; i++) {
        l.widest = fmax(l.widest, font_width(f, 1, l.line[i]));
    }
    return l;
}

static int blanks(const char *name)
{
    int n = 0;
    for (; *name; name++) {
        n += *name == ' ';
    }
    return n;
}

/* How high an em may be. */
static double room(const layout *l, int side)
{
    return fmin(0.88 * side / (l->widest + 2 * margin), 0.8 * side / (leading * l->lines + 2 * margin));
}

/* The largest letters, or now and then those that are nearly as large. */
static layout choose(const char *name, const font *f, int side, int lines, chance *c)
{
    const int words = blanks(name) + 1;
    layout best = lay_out(name, 0, f);
    for (unsigned breaks = 1; words <= WORDS_MOST && breaks < 1u << (words - 1); breaks++) {
        layout l = lay_out(name, breaks, f);
        const double gain = room(&l, side) / room(&best, side);
        if (l.lines <= lines && gain > chance_between(c, 0.9, 1.05)) {
            best = l;
        }
    }
    return best;
}

/* ---- the plate ----------------------------------------------------------------------------------- */

static void write_lines(canvas *face, const layout *l, const font *f, double em, rgb colour)
{
    const double base = (leading + font_capital_height(f, 1)) / 2;
    for (int i = 0; i < l->lines; i++) {
        canvas_text(face, f, em, face->width / 2.0, em * (margin + leading * i + base), CANVAS_CENTRE, colour,
                    l->line[i]);
    }
}

plate *plate_new(const char *name, const font *f, int side, int lines, chance *c)
{
    const layout l = choose(name, f, side, lines, c);
    const paint colours = paints[chance_of(c, (int)(sizeof paints / sizeof *paints))];
    const double em = room(&l, side) * chance_between(c, 0.82, 1), scale = PLATE_SCALE;
    const bool bordered = chance_of(c, 4) > 0;
    plate *p = calloc(1, sizeof *p);
    if (!p) {
        eg_fail(EG_ENOMEM, "ocr", "out of memory for a plate");
        return NULL;
    }
    p->width = em * (l.widest + 2 * margin);
    p->height = em * (leading * l.lines + 2 * margin);
    p->face = canvas_new((int)ceil(scale * p->width), (int)ceil(scale * p->height), colours.ground);
    if (!p->face) {
        plate_free(p);
        return NULL;
    }
    if (bordered) {
        const int thick = (int)ceil(0.09 * em * scale), in = thick + (chance_of(c, 2) ? thick : 0);
        canvas_frame(p->face, in, in, p->face->width - 2 * in, p->face->height - 2 * in, thick, colours.border);
    }
    write_lines(p->face, &l, f, em * scale, colours.letters);
    return p;
}

void plate_free(plate *p)
{
    if (p) {
        canvas_free(p->face);
        free(p);
    }
}
