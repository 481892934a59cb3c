/* drawn.c - see drawn.h. A thing is a few curves of an angle or a length t in 0..1. */
#include "drawn.h"

#include <egret/egret.h>
#include <math.h>

const char *const drawn_names[DRAWN_KINDS] = {"circle", "square",   "triangle", "star",      "spiral",
                                              "wave",   "lollipop", "face",     "crossroad", "stairs"};

enum { STROKES = 4, POINTS = 24 };

static const double round_once = 6.283185307179586;

/* Of a polygon of n corners. */
static void along(const double (*corner)[2], int n, double t, double *x, double *y)
{
    int i = (int)fmin(t * n, n - 1e-9);
    double share = t * n - i;
    const double *a = corner[i], *b = corner[(i + 1) % n];
    *x = a[0] + share * (b[0] - a[0]);
    *y = a[1] + share * (b[1] - a[1]);
}

static void ring(double t, double at_x, double at_y, double r, double *x, double *y)
{
    *x = at_x + r * cos(round_once * t);
    *y = at_y + r * sin(round_once * t);
}

/* Where stroke k of a kind is at t; false: there is no such stroke. */
static bool place(int kind, int k, double t, double *x, double *y)
{
    static const double square[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}},
                        triangle[3][2] = {{0, -1}, {1, 1}, {-1, 1}};
    static const double star[5][2] = {{0, -1}, {0.6, 0.8}, {-0.95, -0.3}, {0.95, -0.3}, {-0.6, 0.8}};
    switch (kind) {
    case 0:
        ring(t, 0, 0, 1, x, y);
        return k < 1;
    case 1:
        along(square, 4, t, x, y);
        return k < 1;
    case 2:
        along(triangle, 3, t, x, y);
        return k < 1;
    case 3:
        along(star, 5, t, x, y);
        return k < 1;
    case 4:
        ring(3 * t, 0, 0, t, x, y);
        return k < 1;
    case 5:
        *x = 2 * t - 1;
        *y = 0.5 * sin(3 * round_once * t);
        return k < 1;
    case 6:
        ring(t, 0, -0.5, 0.5, x, y);
        *x = k ? 0 : *x;
        *y = k ? t : *y;
        return k < 2;
    case 7:
        ring(k == 3 ? t / 2 : t,
             k == 1   ? -0.4
             : k == 2 ? 0.4
                      : 0,
             k == 3 ? 0.3
             : k    ? -0.3
                    : 0,
             k == 0   ? 1
             : k == 3 ? 0.4
                      : 0.12,
             x, y);
        return k < 4;
    case 8:
        *x = k ? 0 : 2 * t - 1;
        *y = k ? 2 * t - 1 : 0;
        return k < 2;
    default:
        *x = fmin(1, floor(t * 4) / 2 - 1 + fmax(0, fmod(t * 4, 1) - 0.5));
        *y = 1 - floor(t * 4) / 2 - fmin(0.5, fmod(t * 4, 1));
        return k < 1;
    }
}

eg_tensor *drawn_strokes(int64_t i)
{
    double c[8 + 2 * STROKES * POINTS], points[STROKES * POINTS * 3];
    int kind = (int)(i % DRAWN_KINDS), n = 0;
    eg_seed(0xd4a3 + (uint64_t)i);
    if (eg_to_values(eg_uniform(EG_SHAPE(8 + 2 * STROKES * POINTS), -1, 1, EG_F64), c)) {
        return NULL;
    }
    double turn = 0.25 * c[0], shear = 0.2 * c[1], begin = kind == 0 || kind == 7 ? 0.5 * c[2] : 0;
    for (int k = 0; k < STROKES; k++) {
        int count = 8 + (int)(7 * fabs(c[3 + k]));
        for (int p = 0; p < count; p++) {
            double x, y, t = (double)p / (count - 1);
            if (!place(kind, k, t * (1 + 0.05 * c[7]) + begin * (kind == 0), &x, &y)) {
                break;
            }
            const double *shake = &c[8 + 2 * (k * POINTS + p)];
            x += 0.04 * shake[0];
            y += 0.04 * shake[1] + shear * x;
            points[3 * n] = x * cos(turn) - y * sin(turn);
            points[3 * n + 1] = x * sin(turn) + y * cos(turn);
            points[3 * n++ + 2] = p + 1 == count;
        }
    }
    return eg_from_values(EG_SHAPE(n, 3), EG_F32, points);
}
