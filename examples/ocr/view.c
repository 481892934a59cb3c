/* view.c - see view.h. */
#include "view.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <egret/error.h>

enum { LEAVES = 5 };

typedef struct colour {
    double v[3]; /* 0..255 */
} colour;

/* What is in the way: a post, or leaves. */
typedef struct obstacle {
    bool post, leaves;
    double x, lean, width; /* of the post */
    double at[LEAVES][3];  /* x, y, radius */
    colour paint;
} obstacle;

typedef struct camera {
    double map[6], away[2]; /* from pixels around the middle to the plate's */
    double light, slope[2]; /* of the light */
    double shade[4];        /* a line, and how much of the light is left beyond it */
    colour tint, wall;
    double brick; /* of the wall, its height; 0: plaster */
    obstacle hides;
    double glare[4]; /* x, y, radius, strength */
    double noise;
    int blurs;
} camera;

static colour any_colour(chance *c, double low, double high, double spread)
{
    const double base = chance_between(c, low, high);
    return (colour){{base + chance_between(c, -spread, spread), base + chance_between(c, -spread, spread),
                     base + chance_between(c, -spread, spread)}};
}

/* ---- choosing ------------------------------------------------------------------------------------ */

/* Turned, sheared, and further away to one side. */
static void choose_place(camera *k, const plate *p, int side, chance *c)
{
    const double turn = chance_between(c, -0.1, 0.1), shear = chance_between(c, -0.12, 0.12);
    const double scale = PLATE_SCALE * chance_between(c, 1, 1.12), high = scale * chance_between(c, 0.95, 1.1);
    const double right = chance_between(c, -0.35, 0.35) * fmax(2, side - p->width);
    const double down = chance_between(c, -0.35, 0.35) * fmax(2, side - p->height);
    k->map[0] = scale * cos(turn);
    k->map[1] = scale * (sin(turn) + shear);
    k->map[3] = high * -sin(turn);
    k->map[4] = high * cos(turn);
    k->map[2] = k->map[0] * right + k->map[1] * down;
    k->map[5] = k->map[3] * right + k->map[4] * down;
    k->away[0] = chance_between(c, -0.22, 0.22) / side;
    k->away[1] = chance_between(c, -0.12, 0.12) / side;
}

static void choose_light(camera *k, int side, chance *c)
{
    const double turn = chance_between(c, 0, 6.2831853), strength = chance_between(c, 0, 0.5) / side;
    k->light = chance_between(c, 0.65, 1.05);
    k->slope[0] = strength * cos(turn);
    k->slope[1] = strength * sin(turn);
    for (int i = 0; i < 3; i++) {
        k->tint.v[i] = chance_between(c, 0.9, 1.08);
    }
    const double across = chance_between(c, 0, 6.2831853);
    k->shade[0] = cos(across);
    k->shade[1] = sin(across);
    k->shade[2] = chance_between(c, -0.3, 0.3) * side;
    k->shade[3] = chance_of(c, 3) ? 1 : chance_between(c, 0.5, 0.8);
    k->glare[0] = chance_between(c, -0.45, 0.45) * side;
    k->glare[1] = chance_between(c, -0.45, 0.45) * side;
    k->glare[2] = chance_between(c, 0.05, 0.16) * side;
    k->glare[3] = chance_of(c, 6) ? 0 : chance_between(c, 60, 220);
}

static void choose_obstacle(obstacle *o, int side, bool others, chance *c)
{
    const int what = chance_of(c, others ? 8 : 24);
    o->post = what == 0 || what == 1;
    o->leaves = what == 1 || what == 2;
    o->x = chance_between(c, -0.45, 0.45) * side;
    o->lean = chance_between(c, -0.2, 0.2);
    o->width = chance_between(c, 0.04, others ? 0.14 : 0.07) * side;
    o->paint = o->leaves && !o->post ? (colour){{chance_between(c, 40, 80), chance_between(c, 80, 130), 45}}
                                     : any_colour(c, 30, 150, 12);
    const double x = chance_between(c, -0.5, 0.5) * side, y = chance_between(c, -0.5, 0.5) * side;
    for (int i = 0; i < LEAVES; i++) {
        o->at[i][0] = x + chance_between(c, -0.12, 0.12) * side;
        o->at[i][1] = y + chance_between(c, -0.12, 0.12) * side;
        o->at[i][2] = chance_between(c, 0.03, others ? 0.08 : 0.05) * side;
    }
}

/* ---- seeing -------------------------------------------------------------------------------------- */

/* The mean of the four pixels of the plate around a place; false beside it. */
static bool on_plate(const canvas *face, double u, double v, colour *to)
{
    if (!(u >= 0.5 && v >= 0.5 && u < face->width - 0.5 && v < face->height - 0.5)) {
        return false;
    }
    const int x = (int)(u - 0.5), y = (int)(v - 0.5), row = 3 * face->width;
    const double a = u - 0.5 - x, b = v - 0.5 - y;
    const uint8_t *at = face->pixels + (size_t)y * (size_t)row + 3 * (size_t)x;
    for (int i = 0; i < 3; i++) {
        to->v[i] = (1 - b) * ((1 - a) * at[i] + a * at[i + 3]) + b * ((1 - a) * at[row + i] + a * at[row + i + 3]);
    }
    return true;
}

/* Plaster, or bricks with mortar between them. */
static double wall(const camera *k, double x, double y)
{
    if (k->brick == 0) {
        return 1 + 0.05 * sin(0.31 * x + 2 * sin(0.13 * y)) + 0.04 * sin(0.23 * y - 0.11 * x);
    }
    const double row = floor(y / k->brick), in = y / k->brick - row;
    const double along = x / (2.2 * k->brick) + 0.5 * fmod(row, 2);
    return in < 0.15 || along - floor(along) < 0.07 ? 1.25 : 1 + 0.08 * sin(12.9 * row + 78.2 * floor(along));
}

static bool hidden(const obstacle *o, double x, double y)
{
    bool in = o->post && fabs(x - o->x - o->lean * y) < o->width / 2;
    for (int i = 0; i < LEAVES && o->leaves && !in; i++) {
        const double dx = x - o->at[i][0], dy = y - o->at[i][1];
        in = dx * dx + dy * dy < o->at[i][2] * o->at[i][2];
    }
    return in;
}

static colour seen(const camera *k, const plate *p, double x, double y)
{
    const double middle_x = p->face->width / 2.0, middle_y = p->face->height / 2.0;
    const double depth = 1 + k->away[0] * x + k->away[1] * y;
    const double u = middle_x + (k->map[0] * x + k->map[1] * y - k->map[2]) / depth;
    const double v = middle_y + (k->map[3] * x + k->map[4] * y - k->map[5]) / depth;
    colour c = k->hides.paint;
    if (!hidden(&k->hides, x, y) && !on_plate(p->face, u, v, &c)) {
        const double rough = wall(k, x, y);
        c = (colour){{rough * k->wall.v[0], rough * k->wall.v[1], rough * k->wall.v[2]}};
    }
    return c;
}

static void expose(const camera *k, const plate *p, int side, float *to)
{
    for (int i = 0; i < side * side; i++) {
        const double x = i % side + 0.5 - side / 2.0, y = i / side + 0.5 - side / 2.0;
        const colour s = seen(k, p, x, y);
        const double far_x = (x - k->glare[0]) / k->glare[2], far_y = (y - k->glare[1]) / k->glare[2];
        const double glare = k->glare[3] > 0 ? k->glare[3] * exp(-far_x * far_x - far_y * far_y) : 0;
        const double shade = k->shade[0] * x + k->shade[1] * y > k->shade[2] ? k->shade[3] : 1;
        const double light = k->light * shade * (1 + k->slope[0] * x + k->slope[1] * y);
        for (int n = 0; n < 3; n++) {
            to[3 * i + n] = (float)(light * k->tint.v[n] * s.v[n] + glare);
        }
    }
}

/* 1 2 1 along one axis, in place; what lies beyond the edge is as the edge. */
static void blur(float *v, int side, int step, int line)
{
    for (int j = 0; j < side; j++) {
        for (int n = 0; n < 3; n++) {
            float *at = v + j * line + n, before = *at;
            for (int i = 0; i < side; i++, at += step) {
                const float here = *at, next = i + 1 < side ? at[step] : here;
                *at = (before + 2 * here + next) / 4;
                before = here;
            }
        }
    }
}

eg_status view_draw(const plate *p, int side, bool others, chance *c, uint8_t *to, int64_t row)
{
    float *seen_ = malloc(3 * (size_t)side * (size_t)side * sizeof *seen_);
    if (!seen_) {
        return eg_fail(EG_ENOMEM, "ocr", "out of memory for a view");
    }
    camera k = {.wall = any_colour(c, 90, 190, 14)};
    k.brick = chance_of(c, 2) ? chance_between(c, 0.06, 0.13) * side : 0;
    choose_place(&k, p, side, c);
    choose_light(&k, side, c);
    choose_obstacle(&k.hides, side, others, c);
    k.noise = chance_between(c, 2, 11);
    k.blurs = chance_of(c, 1 + side / 40);
    expose(&k, p, side, seen_);
    for (int i = 0; i < k.blurs; i++) {
        blur(seen_, side, 3, 3 * side);
        blur(seen_, side, 3 * side, 3);
    }
    for (int i = 0; i < 3 * side * side; i++) {
        const double v = (double)seen_[i] + chance_between(c, -k.noise, k.noise);
        to[i / (3 * side) * row + i % (3 * side)] = (uint8_t)fmin(255, fmax(0, v));
    }
    free(seen_);
    return EG_OK;
}
