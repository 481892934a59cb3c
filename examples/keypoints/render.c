/* render.c - see render.h. */
#include "render.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FINER = 3 }; /* samples of a pixel along each side */

static const double light[3] = {0.46, 0.78, 0.42}; /* where it comes from; it stays with the solid */

view render_view(double around, double up)
{
    const double ca = cos(around), sa = sin(around), cu = cos(up), su = sin(up), d = RENDER_DISTANCE;
    return (view){
        {ca, 0, sa, 0, su * sa, cu, -su * ca, 0, -cu * sa, su, cu * ca, -d, 0, 0, 0, 1},
        {ca, su * sa, -cu * sa, -cu * sa * d, 0, cu, su, su * d, sa, -su * ca, cu * ca, cu * ca * d, 0, 0, 0, 1}};
}

/* The samples of a picture: how near the nearest thing there is, 1 / distance, and its colour. */
typedef struct samples {
    int64_t side;
    float *near, *colour;
} samples;

/* A corner of a triangle as it is seen: sample coordinates, and 1 / distance. */
typedef struct seen {
    double x, y, near;
} seen;

static seen see(const double *at, const view *v, int64_t side)
{
    double p[3];
    for (int i = 0; i < 3; i++) {
        const double *row = v->into + 4 * i;
        p[i] = row[0] * at[0] + row[1] * at[1] + row[2] * at[2] + row[3];
    }
    const double half = (double)side / 2, near = -1 / p[2];
    return (seen){half * (1 + RENDER_FOCAL * p[0] * near), half * (1 - RENDER_FOCAL * p[1] * near), near};
}

/* Twice the area of a triangle, negative if it is seen clockwise. */
static double area(const seen *a, const seen *b, double x, double y)
{
    return (b->x - a->x) * (y - a->y) - (b->y - a->y) * (x - a->x);
}

/* How bright a place is whose normal is a mix of the corners'. */
static double shade(const triangle *t, const double *part)
{
    double along = 0, square = 0;
    for (int i = 0; i < 3; i++) {
        double n = 0;
        for (int k = 0; k < 3; k++) {
            n += part[k] * t->corner[k].normal[i];
        }
        along += n * light[i];
        square += n * n;
    }
    along /= sqrt(square) + 1e-12;
    return 0.62 + (along > 0 ? 0.38 : 0.2) * along;
}

static void paint(samples *to, const triangle *t, const seen *c)
{
    const double whole = area(&c[0], &c[1], c[2].x, c[2].y), last = (double)to->side - 1;
    if (whole == 0) {
        return;
    }
    const int left = (int)fmax(0, floor(fmin(fmin(c[0].x, c[1].x), c[2].x)));
    const int right = (int)fmin(last, ceil(fmax(fmax(c[0].x, c[1].x), c[2].x)));
    const int top = (int)fmax(0, floor(fmin(fmin(c[0].y, c[1].y), c[2].y)));
    const int bottom = (int)fmin(last, ceil(fmax(fmax(c[0].y, c[1].y), c[2].y)));
    for (int y = top; y <= bottom; y++) {
        for (int x = left; x <= right; x++) {
            double part[3], near = 0;
            bool inside = true;
            for (int i = 0; i < 3; i++) {
                part[i] = area(&c[(i + 1) % 3], &c[(i + 2) % 3], x + 0.5, y + 0.5) / whole;
                inside = inside && part[i] >= 0;
                part[i] *= c[i].near;
                near += part[i];
            }
            const int64_t at = y * to->side + x;
            if (inside && near > (double)to->near[at]) {
                const double bright = shade(t, part);
                to->near[at] = (float)near;
                for (int i = 0; i < 3; i++) {
                    to->colour[3 * at + i] = (float)(bright * t->colour[i]);
                }
            }
        }
    }
}

/* The mean of a pixel's samples; those where nothing is are white. */
static void gather(const samples *from, int64_t x, int64_t y, uint8_t *to, int64_t plane)
{
    double sum[4] = {0};
    for (int i = 0; i < FINER * FINER; i++) {
        const int64_t at = (FINER * y + i / FINER) * from->side + FINER * x + i % FINER;
        const bool solid_there = from->near[at] > 0;
        for (int k = 0; k < 3; k++) {
            sum[k] += solid_there ? (double)from->colour[3 * at + k] : 1;
        }
        sum[3] += solid_there;
    }
    for (int k = 0; k < 4; k++) {
        to[k * plane] = (uint8_t)fmin(255, round(255 * sum[k] / (FINER * FINER)));
    }
}

eg_tensor *render_solid(const solid *s, const view *v, int64_t side)
{
    samples all = {.side = side * FINER};
    const size_t count = (size_t)(all.side * all.side);
    all.near = calloc(4 * count, sizeof *all.near);
    uint8_t *pixel = malloc((size_t)(4 * side * side));
    eg_tensor *image = NULL;
    if (all.near && pixel) {
        all.colour = all.near + count;
        for (int i = 0; i < s->count; i++) {
            seen corner[3];
            for (int k = 0; k < 3; k++) {
                corner[k] = see(s->at[i].corner[k].at, v, all.side);
            }
            paint(&all, &s->at[i], corner);
        }
        for (int64_t i = 0; i < side * side; i++) {
            gather(&all, i % side, i / side, pixel + i, side * side);
        }
        image = eg_from(EG_SHAPE(4, side, side), EG_U8, pixel);
    } else {
        eg_fail(EG_ENOMEM, "keypoints", "out of memory for a picture");
    }
    free(all.near);
    free(pixel);
    return image;
}
