/* pixel_loops.c - pixels met at other places, and neighbours weighed. */
#include <stdbool.h>
#include <string.h>

#include "data/image/pixels.h"
#include "lib/core/isa.h"

eg__meet_fn ISA(eg__meet_run);
eg__sharpen_fn ISA(eg__sharpen_run);

/* ---- other places ---------------------------------------------------------------------------------- */

/* rint of what is below 2^51, without asking a library. */
static inline double nearest(double x)
{
    const double large = 0x1.8p52;
    return (x + large) - large;
}

static void find_row(const eg__meeting *t, int64_t i)
{
    const double right = t->m[1] * (double)i + t->m[2], down = t->m[4] * (double)i + t->m[5];
    const double height = (double)t->height, width = (double)t->width, across = t->m[0], along = t->m[3];
    const int64_t n = t->columns;
    int32_t *restrict place = t->place;
    for (int64_t j = 0; j < n; j++) {
        double column = nearest(across * (double)j + right), row = nearest(along * (double)j + down);
        double found = row * width + column;
        found = column >= 0 ? found : -1;
        found = row >= 0 ? found : -1;
        found = column < width ? found : -1;
        found = row < height ? found : -1;
        place[j] = (int32_t)found;
    }
}

static inline __attribute__((always_inline)) void copy_row(const eg__meeting *t, size_t bytes, uint8_t *to)
{
    const int64_t n = t->columns;
    const int32_t *place = t->place;
    const uint8_t *from = t->from, *fill = t->fill;
    for (int64_t j = 0; j < n; j++, to += bytes) {
        memcpy(to, place[j] < 0 ? fill : from + (size_t)place[j] * bytes, bytes);
    }
}

void ISA(eg__meet_run)(const eg__meeting *t)
{
    uint8_t *to = t->to;
    for (int64_t i = 0; i < t->rows; i++, to += (size_t)t->columns * t->bytes) {
        find_row(t, i);
        switch (t->bytes) {
        case 1:
            copy_row(t, 1, to);
            break;
        case 3:
            copy_row(t, 3, to);
            break;
        case 12:
            copy_row(t, 12, to);
            break;
        default:
            copy_row(t, t->bytes, to);
        }
    }
}

/* ---- neighbours ------------------------------------------------------------------------------------ */

#define SHARPEN(type, most, round)                                                                  \
    const type *restrict a = s->above, *restrict p = s->row, *restrict b = s->below;                \
    type *restrict to = s->to;                                                                      \
    const int64_t step = s->step, n = s->n;                                                         \
    const float centre = s->centre, side = s->side;                                                 \
    for (int64_t i = 0; i < n; i++) {                                                               \
        float around = (float)a[i - step] + (float)a[i] + (float)a[i + step] + (float)p[i - step] + \
                       (float)p[i + step] + (float)b[i - step] + (float)b[i] + (float)b[i + step];  \
        float v = centre * (float)p[i] + side * around + round;                                     \
        v = v > 0 ? v : 0;                                                                          \
        v = v < most ? v : most;                                                                    \
        to[i] = (type)v;                                                                            \
    }

static void sharpen_bytes(const eg__sharpening *s)
{
    SHARPEN(uint8_t, 255.0f, 0.5f)
}

static void sharpen_floats(const eg__sharpening *s)
{
    SHARPEN(float, 1.0f, 0.0f)
}

void ISA(eg__sharpen_run)(const eg__sharpening *s)
{
    if (s->bytes) {
        sharpen_bytes(s);
    } else {
        sharpen_floats(s);
    }
}
