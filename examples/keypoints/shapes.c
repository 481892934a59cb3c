/* shapes.c - see shapes.h. */
#include "shapes.h"

#include <stdlib.h>
#include <string.h>

#include "chance.h"

enum { CHANCES = 24 };

/* Numbers by chance, 0..1, that are used up one by one. */
typedef struct chances {
    double at[CHANCES];
    int next;
} chances;

static double between(chances *c, double low, double high)
{
    return low + (high - low) * c->at[c->next++];
}

static const double dark[3] = {0.13, 0.14, 0.17}, grey[3] = {0.55, 0.55, 0.58}, glass[3] = {0.25, 0.35, 0.45},
                    yellow[3] = {0.98, 0.9, 0.55}, red[3] = {0.8, 0.1, 0.08};

/* A hue that is neither pale nor dark. */
static void paint(chances *c, double *colour)
{
    const double hue = between(c, 0, 6), light = between(c, 0.55, 0.95), pale = between(c, 0.15, 0.45);
    const int sector = (int)hue % 6;
    const double part = hue - sector, low = light * pale, up = low + (light - low) * part,
                 down = low + (light - low) * (1 - part);
    const double all[6][3] = {{light, up, low},   {down, light, low}, {low, light, up},
                              {low, down, light}, {up, low, light},   {light, low, down}};
    memcpy(colour, all[sector], 3 * sizeof *colour);
}

/* ---- cars ---------------------------------------------------------------------------------------- */

static void put_wheels(solid *s, double length, double width, double radius)
{
    for (int i = 0; i < 4; i++) {
        const double x = (i & 1 ? 0.6 : -0.6) * length, z = i & 2 ? 0.92 * width : -0.92 * width;
        const extent tyre = {{x, radius, z}, {radius, radius, 0.14 * width}};
        const extent hub = {{x, radius, z}, {0.5 * radius, 0.5 * radius, 0.16 * width}};
        solid_round(s, CYLINDER, 2, &tyre, dark);
        solid_round(s, CYLINDER, 2, &hub, grey);
    }
}

static void put_lights(solid *s, double length, double width, double height)
{
    for (int i = 0; i < 4; i++) {
        const double x = i & 1 ? length : -length, z = i & 2 ? 0.7 * width : -0.7 * width;
        const extent e = {{x, height, z}, {0.025, 0.05, 0.2 * width}};
        solid_box(s, &e, i & 1 ? yellow : red);
    }
}

static void put_car(solid *s, chances *c)
{
    double colour[3];
    paint(c, colour);
    const double length = between(c, 0.85, 1.1), width = between(c, 0.36, 0.46), radius = between(c, 0.15, 0.2);
    const double body = between(c, 0.11, 0.16), cabin = between(c, 0.12, 0.19), reach = between(c, 0.42, 0.66);
    const double back = between(c, -0.32, -0.12), slope = between(c, 0.62, 0.85), waist = radius + 2 * body;
    const extent low = {{0, radius + body, 0}, {length, body, width}};
    const block windows = {{{back, waist + cabin, 0}, {reach, cabin, 0.92 * width}}, {slope, 0.85}, -0.05};
    const extent roof = {{back - 0.05, waist + 2 * cabin + 0.015, 0}, {reach * slope, 0.025, 0.8 * width}};
    const extent hood = {{0.62 * length, waist + 0.01, 0}, {0.34 * length, 0.02, 0.8 * width}};
    solid_box(s, &low, colour);
    solid_block(s, &windows, glass);
    solid_box(s, &roof, colour);
    solid_box(s, &hood, colour);
    put_wheels(s, length, width, radius);
    put_lights(s, length, width, radius + 1.2 * body);
    if (between(c, 0, 1) < 0.3) {
        const extent spoiler = {{-0.93 * length, waist + 0.1, 0}, {0.09, 0.015, 0.85 * width}};
        const extent stand = {{-0.93 * length, waist + 0.05, 0}, {0.03, 0.05, 0.5 * width}};
        solid_box(s, &spoiler, colour);
        solid_box(s, &stand, dark);
    }
}

/* ---- planes -------------------------------------------------------------------------------------- */

/* Both wings, from the trunk outwards, of so many pieces that are moved back one behind the other. */
static void put_wings(solid *s, double x, double y, double span, double depth, double sweep, const double *colour)
{
    enum { PIECES = 6 };
    for (int i = 0; i < 2 * PIECES; i++) {
        const double from = (double)(i / 2) / PIECES, step = span / PIECES,
                     z = (from * span + step / 2) * (i & 1 ? 1 : -1);
        const extent e = {{x - sweep * from, y + 0.06 * from, z}, {depth * (1 - 0.55 * from), 0.02, step / 2}};
        solid_box(s, &e, colour);
    }
}

static void put_engines(solid *s, double x, double z, double size)
{
    for (int i = 0; i < 2; i++) {
        const extent e = {{x, -0.12, i ? z : -z}, {2.2 * size, size, size}};
        solid_round(s, CYLINDER, 0, &e, grey);
    }
}

static void put_plane(solid *s, chances *c)
{
    double colour[3], second[3];
    paint(c, colour);
    paint(c, second);
    const double radius = between(c, 0.1, 0.15), span = between(c, 0.75, 1.05), depth = between(c, 0.13, 0.2);
    const double sweep = between(c, 0.1, 0.45), at = between(c, 0, 0.15), tail = between(c, 0.2, 0.3);
    const double wide = between(c, 0.26, 0.38), high = between(c, 0, 1) < 0.3 ? 0.6 * radius : -0.4 * radius;
    const double pale[3] = {0.5 + 0.5 * colour[0], 0.5 + 0.5 * colour[1], 0.5 + 0.5 * colour[2]};
    const extent trunk = {{0.1, 0, 0}, {0.72, radius, radius}}, nose = {{0.82, 0, 0}, {0.2, radius, radius}};
    const extent cockpit = {{0.76, 0.45 * radius, 0}, {0.13, 0.7 * radius, 0.75 * radius}};
    const extent end = {{-0.62, 0.15 * radius, 0}, {0.4, 0.85 * radius, 0.8 * radius}};
    const block fin = {{{-0.84, tail, 0}, {0.14, tail, 0.02}}, {0.55, 1}, -0.1};
    solid_round(s, CYLINDER, 0, &trunk, pale);
    solid_round(s, BALL, 0, &nose, pale);
    solid_round(s, BALL, 0, &cockpit, dark);
    solid_round(s, BALL, 0, &end, pale);
    solid_block(s, &fin, second);
    put_wings(s, at, high, span, depth, sweep, colour);
    put_wings(s, -0.86, 0.1, wide, 0.09, 0.1, second);
    put_engines(s, at + 0.06, 0.4 * span, between(c, 0.05, 0.08));
}

/* ---- chairs -------------------------------------------------------------------------------------- */

static void put_legs(solid *s, double length, double depth, double width, double thick, bool round,
                     const double *colour)
{
    for (int i = 0; i < 4; i++) {
        const double x = (depth - thick) * (i & 1 ? 1 : -1), z = (width - thick) * (i & 2 ? 1 : -1);
        const extent e = {{x, -length / 2, z}, {thick, length / 2, thick}};
        if (round) {
            solid_round(s, CYLINDER, 1, &e, colour);
        } else {
            solid_box(s, &e, colour);
        }
    }
}

static void put_arms(solid *s, double depth, double width, double height, const double *colour)
{
    for (int i = 0; i < 2; i++) {
        const double z = i ? width : -width;
        const extent rest = {{0, height, z}, {0.9 * depth, 0.025, 0.05}};
        const extent post = {{0.75 * depth, height / 2, z}, {0.03, height / 2, 0.03}};
        solid_box(s, &rest, colour);
        solid_box(s, &post, colour);
    }
}

static void put_chair(solid *s, chances *c)
{
    double cloth[3], wood[3];
    paint(c, cloth);
    paint(c, wood);
    const double depth = between(c, 0.38, 0.48), width = between(c, 0.36, 0.5), seat = between(c, 0.04, 0.08);
    const double back = between(c, 0.42, 0.65), lean = between(c, 0, 0.15), legs = between(c, 0.55, 0.8);
    const double thick = between(c, 0.035, 0.06), behind = 0.045;
    const bool round = between(c, 0, 1) < 0.5, arms = between(c, 0, 1) < 0.4;
    const extent sitting = {{0, seat, 0}, {depth, seat, width}};
    const block leaning = {{{-depth + behind, 2 * seat + back, 0}, {behind, back, 0.95 * width}}, {1, 0.9}, -lean};
    solid_box(s, &sitting, cloth);
    solid_block(s, &leaning, cloth);
    put_legs(s, legs, depth, width, thick, round, wood);
    if (arms) {
        put_arms(s, depth, width, 0.38, wood);
    }
}

/* ---- all ----------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*put)(solid *s, chances *c);
} kinds[] = {{"car", put_car}, {"plane", put_plane}, {"chair", put_chair}};

solid *shapes_new(const char *kind, int64_t i)
{
    chances c = {.next = 0};
    solid *s = malloc(sizeof *s);
    if (!s) {
        eg_fail(EG_ENOMEM, "keypoints", "out of memory for a shape");
        return NULL;
    }
    s->count = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (!strcmp(kinds[k].name, kind)) {
            if (chance(1000003 * (k + 1) + (uint64_t)i, c.at, CHANCES)) {
                free(s);
                return NULL;
            }
            kinds[k].put(s, &c);
        }
    }
    solid_fit(s, 1);
    return s;
}
