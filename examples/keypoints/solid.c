/* solid.c - see solid.h. */
#include "solid.h"

#include <math.h>

enum { AROUND = 16, ALONG = 8 }; /* pieces of what is round */

/* What is beyond the most is left out. */
static void put(solid *s, const vertex *a, const vertex *b, const vertex *c, const double *colour)
{
    if (s->count < SOLID_MOST) {
        s->at[s->count++] = (triangle){{*a, *b, *c}, {colour[0], colour[1], colour[2]}};
    }
}

static void put_quad(solid *s, const vertex *corner, const double *colour)
{
    put(s, &corner[0], &corner[1], &corner[2], colour);
    put(s, &corner[0], &corner[2], &corner[3], colour);
}

/* The same normal at all corners: that of the plane through three of them. */
static void flatten(vertex *corner, int n)
{
    const double *p = corner[0].at, *q = corner[1].at, *r = corner[2].at;
    double normal[3], size = 0;
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        normal[i] = (q[j] - p[j]) * (r[k] - p[k]) - (q[k] - p[k]) * (r[j] - p[j]);
        size += normal[i] * normal[i];
    }
    for (int i = 0; i < 3 * n; i++) {
        corner[i / 3].normal[i % 3] = size > 0 ? normal[i % 3] / sqrt(size) : 0;
    }
}

void solid_block(solid *s, const block *b, const double *colour)
{
    /* Bits of a corner's number: x, y, z are high. Faces are seen counter-clockwise from outside. */
    static const int faces[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4}, {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
    for (int f = 0; f < 6; f++) {
        vertex corner[4];
        for (int i = 0; i < 4; i++) {
            const int n = faces[f][i], top = n >> 1 & 1;
            const double sign[3] = {n & 1 ? 1 : -1, top ? 1 : -1, n >> 2 & 1 ? 1 : -1};
            const double scale[3] = {top ? b->taper[0] : 1, 1, top ? b->taper[1] : 1};
            for (int k = 0; k < 3; k++) {
                corner[i].at[k] = b->e.middle[k] + sign[k] * scale[k] * b->e.half[k];
            }
            corner[i].at[0] += top ? b->shift : 0;
        }
        flatten(corner, 4);
        put_quad(s, corner, colour);
    }
}

void solid_box(solid *s, const extent *e, const double *colour)
{
    solid_block(s, &(block){*e, {1, 1}, 0}, colour);
}

/* The point of a profile at (t, r), t along the axis and r away from it, with a normal there, turned by an angle. */
static vertex turned(const double *profile, const double *normal, double angle, int axis, const extent *e)
{
    vertex v;
    const int b = (axis + 1) % 3, c = (axis + 2) % 3;
    v.at[axis] = profile[0];
    v.at[b] = profile[1] * cos(angle);
    v.at[c] = profile[1] * sin(angle);
    v.normal[axis] = normal[0];
    v.normal[b] = normal[1] * cos(angle);
    v.normal[c] = normal[1] * sin(angle);
    double size = 0;
    for (int i = 0; i < 3; i++) {
        v.at[i] = e->middle[i] + e->half[i] * v.at[i];
        v.normal[i] /= e->half[i];
        size += v.normal[i] * v.normal[i];
    }
    for (int i = 0; i < 3; i++) {
        v.normal[i] /= sqrt(size);
    }
    return v;
}

/* One line of a profile, from one point and normal to another, swept around the axis. */
static void sweep(solid *s, double (*line)[2][2], int axis, const extent *e, const double *colour)
{
    const double piece = 2 * acos(-1) / AROUND;
    for (int i = 0; i < AROUND; i++) {
        vertex corner[4];
        for (int k = 0; k < 4; k++) {
            const int end = k == 1 || k == 2;
            corner[k] = turned(line[end][0], line[end][1], piece * (i + (k > 1)), axis, e);
        }
        put_quad(s, corner, colour);
    }
}

void solid_round(solid *s, round_form form, int axis, const extent *e, const double *colour)
{
    /* Of each line both ends, of each end the point and the normal. */
    static double cylinder[][2][2][2] = {{{{-1, 0}, {-1, 0}}, {{-1, 1}, {-1, 0}}},
                                         {{{-1, 1}, {0, 1}}, {{1, 1}, {0, 1}}},
                                         {{{1, 1}, {1, 0}}, {{1, 0}, {1, 0}}}},
                  cone[][2][2][2] = {{{{-1, 0}, {-1, 0}}, {{-1, 1}, {-1, 0}}}, {{{-1, 1}, {1, 2}}, {{1, 0}, {1, 2}}}};
    for (int i = 0; form == CYLINDER && i < 3; i++) {
        sweep(s, cylinder[i], axis, e, colour);
    }
    for (int i = 0; form == CONE && i < 2; i++) {
        sweep(s, cone[i], axis, e, colour);
    }
    for (int i = 0; form == BALL && i < ALONG; i++) {
        const double a = acos(-1) * i / ALONG, b = acos(-1) * (i + 1) / ALONG;
        double line[2][2][2] = {{{-cos(a), sin(a)}, {-cos(a), sin(a)}}, {{-cos(b), sin(b)}, {-cos(b), sin(b)}}};
        sweep(s, line, axis, e, colour);
    }
}

void solid_fit(solid *s, double radius)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, most = 0;
    for (int i = 0; i < 9 * s->count; i++) {
        const double v = s->at[i / 9].corner[i / 3 % 3].at[i % 3];
        low[i % 3] = fmin(low[i % 3], v);
        high[i % 3] = fmax(high[i % 3], v);
    }
    for (int i = 0; i < 3 * s->count; i++) {
        double *at = s->at[i / 3].corner[i % 3].at, square = 0;
        for (int k = 0; k < 3; k++) {
            at[k] -= (low[k] + high[k]) / 2;
            square += at[k] * at[k];
        }
        most = fmax(most, sqrt(square));
    }
    for (int i = 0; i < 9 * s->count; i++) {
        s->at[i / 9].corner[i / 3 % 3].at[i % 3] *= radius / most;
    }
}
