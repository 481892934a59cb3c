/* logo.c - a white egret before a lake. The picture is a list of strokes that grow or shrink on
 * their way along a curve, in a square from 0 to 1 with y downwards. */
#include "logo.h"

#include <math.h>

enum { SAMPLES = 4, STEPS = 48 }; /* per side of a pixel; per curve */

typedef struct colour {
    double r, g, b;
} colour;

/* A cubic Bezier curve, and half the width at its start, middle and end. */
typedef struct stroke {
    double x[4], y[4], w[3];
    colour paint;
} stroke;

/* clang-format off */
#define WHITE  {250, 250, 246}
#define YELLOW {245, 184, 46}
#define DARK   {30, 34, 40}
/* clang-format on */

static const colour water = {23, 102, 120};

static const stroke strokes[] = {
    /* legs */
    {{.47, .46, .46, .47}, {.70, .78, .84, .95}, {.014, .012, .010}, DARK},
    {{.54, .56, .55, .55}, {.68, .76, .84, .94}, {.014, .012, .010}, DARK},
    /* tail and body */
    {{.17, .24, .36, .60}, {.79, .71, .62, .60}, {.010, .095, .085}, WHITE},
    /* neck, from the breast in an S to the head */
    {{.60, .80, .40, .52}, {.60, .42, .40, .21}, {.085, .048, .040}, WHITE},
    {{.51, .53, .55, .57}, {.21, .20, .20, .205}, {.045, .052, .040}, WHITE},
    /* beak, eye */
    {{.60, .68, .76, .86}, {.208, .215, .228, .25}, {.026, .018, .004}, YELLOW},
    {{.565, .565, .565, .565}, {.19, .19, .19, .19}, {.014, .014, .014}, DARK},
};

static double along(const double p[4], double t)
{
    double u = 1 - t;
    return u * u * u * p[0] + 3 * u * u * t * p[1] + 3 * u * t * t * p[2] + t * t * t * p[3];
}

/* Through the three widths, smoothly. */
static double width_at(const double w[3], double t)
{
    return w[0] * (1 - t) * (1 - 2 * t) + w[1] * 4 * t * (1 - t) + w[2] * t * (2 * t - 1);
}

static bool covers(const stroke *s, double x, double y)
{
    for (int i = 0; i <= STEPS; i++) {
        double t = (double)i / STEPS;
        if (hypot(along(s->x, t) - x, along(s->y, t) - y) <= width_at(s->w, t)) {
            return true;
        }
    }
    return false;
}

/* Adds what is seen at a point; outside the disc that is nothing. */
static void look_at(double x, double y, double sum[4])
{
    const colour *seen = &water;
    if (hypot(x - .5, y - .5) > .5) {
        return;
    }
    for (size_t i = 0; i < sizeof strokes / sizeof strokes[0]; i++) {
        if (covers(&strokes[i], x, y)) {
            seen = &strokes[i].paint;
        }
    }
    sum[0] += seen->r;
    sum[1] += seen->g;
    sum[2] += seen->b;
    sum[3] += 1;
}

eg_tensor *logo_draw(int size)
{
    eg_tensor *picture = eg_zeros(EG_SHAPE(4, size, size), EG_U8);
    unsigned char *pixels = eg_data_mut(picture);
    for (int i = 0; pixels && i < size * size; i++) {
        double sum[4] = {0};
        for (int k = 0; k < SAMPLES * SAMPLES; k++) {
            look_at((i % size + (k % SAMPLES + .5) / SAMPLES) / size,
                    ((double)(i / size) + (k / SAMPLES + .5) / SAMPLES) / size, sum);
        }
        for (int c = 0; c < 3 && sum[3] > 0; c++) {
            pixels[c * size * size + i] = (unsigned char)(sum[c] / sum[3] + .5);
        }
        pixels[3 * size * size + i] = (unsigned char)(255 * sum[3] / (SAMPLES * SAMPLES) + .5);
    }
    return picture;
}
