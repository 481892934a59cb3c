/* heatmap_scale.c - see heatmap.h: what needs no letters, for maps of characters too. */
#include <float.h>
#include <math.h>

#include "heatmap.h"

rgb heatmap_colour(double share)
{
    static const rgb stops[] = {{68, 1, 84},    {71, 44, 122}, {59, 81, 139},  {44, 113, 142}, {33, 144, 141},
                                {39, 173, 129}, {92, 200, 99}, {170, 220, 50}, {253, 231, 37}};
    enum { LAST = sizeof stops / sizeof *stops - 1 };
    double place = share * LAST;
    int k = place < LAST ? (int)place : LAST - 1;
    double t = place - k;
    const rgb *a = &stops[k], *b = &stops[k + 1];
    return (rgb){(uint8_t)(a->r + t * (b->r - a->r) + 0.5), (uint8_t)(a->g + t * (b->g - a->g) + 0.5),
                 (uint8_t)(a->b + t * (b->b - a->b) + 0.5)};
}

void heatmap_range(const heatmap *h, double *least, double *most)
{
    *least = h->least;
    *most = h->most;
    if (h->least == 0 && h->most == 0) {
        *least = INFINITY;
        *most = -INFINITY;
        for (int64_t i = 0; i < (int64_t)h->rows * h->columns; i++) {
            if (isfinite(h->values[i])) {
                *least = fmin(*least, h->values[i]);
                *most = fmax(*most, h->values[i]);
            }
        }
    }
    if (!(*least < *most)) { /* one value only, or none */
        double middle = isfinite(*least) ? *least : 0.5, half = fmax(0.5, fabs(middle) / 4);
        *least = fmax(middle - half, -DBL_MAX);
        *most = fmin(middle + half, DBL_MAX);
    }
}

double heatmap_share(double value, double least, double most)
{
    double share = (value / 2 - least / 2) / (most / 2 - least / 2); /* the whole may be beyond all numbers */
    return share < 0 ? 0 : share > 1 ? 1 : share;
}
