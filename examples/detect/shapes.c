/* shapes.c - see shapes.h. */
#include "shapes.h"

#include <math.h>
#include <string.h>

const char *const shapes_names[SHAPES] = {"circle", "square", "triangle"};

enum { SIDE = SHAPES_SIDE, PIXELS = SIDE * SIDE };

typedef struct shape {
    int kind;
    double x, y, radius, turn, colour[3];
} shape;

static bool covers(const shape *s, double x, double y)
{
    double u = (x - s->x) / s->radius, v = (y - s->y) / s->radius;
    double c = cos(s->turn), d = sin(s->turn), p = u * c + v * d, q = v * c - u * d;
    switch (s->kind) {
    case 0:
        return p * p + q * q < 1;
    case 1:
        return fabs(p) < 0.8 && fabs(q) < 0.8;
    default: /* equal sides */
        return q < 0.5 && fabs(p) * 1.7320508 - q < 1;
    }
}

/* Numbers by chance, 0..1. */
static eg_status chance(double *v, int64_t n)
{
    eg_tensor *t = eg_uniform(EG_SHAPE(n), 0, 1, EG_F64);
    return t ? eg_to_values(t, v) : eg_last_error()->code;
}

/* Whether it would hide so much of another one that little is to be seen. */
static bool crowds(const shape *s, int n, const shape *more)
{
    bool near = false;
    for (int i = 0; i < n; i++) {
        near = near || hypot(s[i].x - more->x, s[i].y - more->y) < 0.75 * (s[i].radius + more->radius);
    }
    return near;
}

/* Colours stand out: each channel is far from the ground's, above or below. */
static eg_status some_shapes(shape *s, const double *ground, int *count)
{
    double v[1 + 8 * SHAPES_MOST], *w = v + 1;
    eg_status st = chance(v, 1 + 8 * SHAPES_MOST);
    int wanted = st ? 0 : 1 + (int)(v[0] * SHAPES_MOST);
    *count = 0;
    for (int i = 0; i < wanted; i++, w += 8) {
        shape more = {(int)(w[0] * SHAPES), 0, 0, 16 + 24 * w[3], 6.2831853 * w[4], {0}};
        more.x = more.radius + w[1] * (SIDE - 2 * more.radius);
        more.y = more.radius + w[2] * (SIDE - 2 * more.radius);
        for (int c = 0; c < 3; c++) {
            double low = 0.2 + 0.5 * ground[c];
            more.colour[c] = w[5 + c] < 0.5 ? low - 0.2 - 0.3 * w[5 + c] : low + 0.1 + 0.3 * w[5 + c];
        }
        if (!crowds(s, *count, &more)) {
            s[(*count)++] = more;
        }
    }
    return st;
}

/* Which shape is on top at each pixel, -1: none; and how many pixels each has. */
static void fill(const shape *s, int count, int8_t *top, int64_t *seen)
{
    memset(seen, 0, SHAPES_MOST * sizeof *seen);
    for (int i = 0; i < PIXELS; i++) {
        top[i] = -1;
        for (int k = 0; k < count; k++) {
            top[i] = covers(&s[k], i % SIDE + 0.5, i / SIDE + 0.5) ? (int8_t)k : top[i];
        }
        seen[top[i] >= 0 ? top[i] : 0] += top[i] >= 0;
    }
}

static void paint(const shape *s, const int8_t *top, const double *ground, const float *noise, uint8_t *to)
{
    for (int c = 0; c < 3; c++) {
        for (int i = 0; i < PIXELS; i++) {
            double base =
                ground[c] + 0.15 * ground[3] * sin(0.15 * (i % SIDE) * ground[4] + 0.15 * (i / SIDE) * ground[5]);
            double v = top[i] < 0 ? 0.2 + 0.5 * base : s[top[i]].colour[c];
            to[c * PIXELS + i] = (uint8_t)fmin(255, fmax(0, 255 * (v + noise[c * PIXELS + i])));
        }
    }
}

/* The mask and the box of a shape. */
static void note(const int8_t *top, int k, uint8_t *mask, float *box)
{
    box[0] = box[1] = SIDE;
    box[2] = box[3] = 0;
    for (int i = 0; i < PIXELS; i++) {
        mask[i] = top[i] == k;
        if (mask[i]) {
            float x = (float)(i % SIDE), y = (float)(i / SIDE);
            box[0] = fminf(box[0], x);
            box[1] = fminf(box[1], y);
            box[2] = fmaxf(box[2], x + 1);
            box[3] = fmaxf(box[3], y + 1);
        }
    }
}

static eg_status draw(eg_tensor **image, eg_tensor **boxes, eg_tensor **labels, eg_tensor **masks)
{
    shape s[SHAPES_MOST];
    int8_t top[PIXELS];
    int64_t seen[SHAPES_MOST], label[SHAPES_MOST];
    static _Thread_local uint8_t mask[SHAPES_MOST][PIXELS], pixel[3 * PIXELS];
    float box[SHAPES_MOST][4];
    double ground[6];
    int count, n = 0;
    eg_status st = chance(ground, 6);
    st = st ? st : some_shapes(s, ground, &count);
    eg_tensor *noise = eg_normal(EG_SHAPE(3 * PIXELS), 0, 0.04, EG_F32);
    if (st || !noise) {
        return eg_last_error()->code;
    }
    fill(s, count, top, seen);
    paint(s, top, ground, eg_data(noise), pixel);
    for (int k = 0; k < count; k++) {
        if (seen[k]) {
            note(top, k, mask[n], box[n]);
            label[n++] = s[k].kind;
        }
    }
    *image = eg_from(EG_SHAPE(3, SIDE, SIDE), EG_U8, pixel);
    *boxes = eg_from(EG_SHAPE(n, 4), EG_F32, box);
    *labels = eg_from(EG_SHAPE(n), EG_I64, label);
    *masks = eg_from(EG_SHAPE(n, SIDE, SIDE), EG_U8, mask);
    return *image && *boxes && *labels && *masks ? EG_OK : eg_last_error()->code;
}

eg_status shapes_draw(int64_t i, eg_tensor **image, eg_tensor **boxes, eg_tensor **labels, eg_tensor **masks)
{
    const eg_random_state before = eg_random_get_state(); /* the changes by chance that follow are of the epoch */
    eg_seed(0x5a9e + (uint64_t)i);
    eg_status st = draw(image, boxes, labels, masks);
    eg_random_set_state(before);
    return st;
}
