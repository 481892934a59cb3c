/* flight.c - see flight.h. */
#include "flight.h"

#include <math.h>
#include <string.h>

enum { SEGMENTS = 32, OCTAVES = 5, RAYS = 2 }; /* of a pixel RAYS x RAYS are cast */

static const double segment_length = 2.5, wide = 0.75; /* wide: focal length over the width of a frame */

/* ---- the hall ---------------------------------------------------------------------------------- */

static void add_box(flight *f, double x0, double x1, double y0, double y1, double z0, double z1)
{
    flight_box *b = &f->boxes[f->count++];
    *b = (flight_box){{x0, y0, z0}, {x1, y1, z1}, f->skin + 7919u * (uint32_t)f->count};
}

/* Pillars on either side, some of them not up to the ceiling, and crates that the camera flies over. */
static void furnish(flight *f, int segment, const double *c)
{
    const double z = (segment + 0.2 + 0.4 * c[0]) * segment_length, left = f->low[0], right = f->high[0];
    if (c[1] < 0.7) {
        add_box(f, left, left + 0.25 + 0.6 * c[2], c[3] < 0.4 ? -0.6 + 0.9 * c[4] : f->low[1], f->high[1], z,
                z + 0.3 + 0.8 * c[5]);
    }
    if (c[6] < 0.7) {
        add_box(f, right - 0.25 - 0.6 * c[7], right, c[8] < 0.4 ? -0.6 + 0.9 * c[9] : f->low[1], f->high[1], z + 0.5,
                z + 0.8 + 0.8 * c[10]);
    }
    if (c[11] < 0.6) {
        const double x = -1 + 1.5 * c[12];
        add_box(f, x, x + 0.3 + 0.4 * c[13], f->high[1] - 0.15 - 0.4 * c[14], f->high[1], z, z + 0.3 + 0.5 * c[15]);
    }
}

eg_status flight_new(flight *f, int64_t i)
{
    double c[(SEGMENTS + 1) * FLIGHT_NUMBERS];
    eg_random_state before = eg_random_get_state();
    eg_seed(0xf11e5u + (uint64_t)i);
    eg_tensor *chance = eg_uniform(EG_SHAPE((SEGMENTS + 1) * FLIGHT_NUMBERS), 0, 1, EG_F64);
    eg_random_set_state(before);
    if (!chance || eg_to_values(chance, c)) {
        return eg_last_error()->code;
    }
    *f = (flight){.low = {-1.7 - 0.8 * c[0], -1.5 - 0.8 * c[1], -10},
                  .high = {1.7 + 0.8 * c[2], 0.9 + 0.3 * c[3], (SEGMENTS - 4) * segment_length},
                  .skin = (uint32_t)(i * 131 + 17)};
    memcpy(f->chance, c, sizeof f->chance);
    for (int k = 0; k < SEGMENTS; k++) {
        furnish(f, k - 2, c + (k + 1) * FLIGHT_NUMBERS);
    }
    return EG_OK;
}

/* ---- the way ------------------------------------------------------------------------------------- */

void flight_pose(const flight *f, int64_t frame, double pose[12])
{
    const double *c = f->chance + 4, t = (double)frame, z = t * (0.2 + 0.15 * c[0]);
    const double a = 0.3 * c[1], b = 0.3 + 0.4 * c[2], p = 6.283 * c[3], q = 6.283 * c[4];
    const double x = a * sin(b * z + p) + 0.3 * (c[5] - 0.5), y = 0.12 * sin(0.9 * z + q) - 0.1;
    /* It looks about where it goes, and nods and leans a little. */
    const double yaw = atan(0.8 * a * b * cos(b * z + p)) + 0.04 * sin(0.23 * t + q) + 0.2 * (c[6] - 0.5);
    const double pitch = 0.02 * sin(0.31 * t + p) + 0.08 * (c[7] - 0.5), roll = 0.02 * sin(0.27 * t + p + q);
    const double s1 = sin(yaw), c1 = cos(yaw), s2 = sin(pitch), c2 = cos(pitch), s3 = sin(roll), c3 = cos(roll);
    const double rows[12] = {c1 * c3 + s1 * s2 * s3,
                             -c1 * s3 + s1 * s2 * c3,
                             s1 * c2,
                             x, /* yaw, pitch, roll */
                             c2 * s3,
                             c2 * c3,
                             -s2,
                             y,
                             -s1 * c3 + c1 * s2 * s3,
                             s1 * s3 + c1 * s2 * c3,
                             c1 * c2,
                             z};
    memcpy(pose, rows, sizeof rows);
}

void flight_intrinsics(int64_t height, int64_t width, double k[4])
{
    k[0] = k[1] = wide * (double)width;
    k[2] = 0.5 * (double)width - 0.5;
    k[3] = 0.5 * (double)height - 0.5;
}

/* ---- skins --------------------------------------------------------------------------------------- */

static double hashed(int32_t x, int32_t y, int32_t z, uint32_t seed)
{
    uint32_t v = (uint32_t)x * 0x8da6b343u ^ (uint32_t)y * 0xd8163841u ^ (uint32_t)z * 0xcb1ab31fu ^ seed * 0x9e3779b9u;
    v = (v ^ v >> 15) * 0x2c1b3c6du;
    v = (v ^ v >> 12) * 0x297a2d39u;
    return (double)(v ^ v >> 15) * 0x1p-32;
}

static double mixed(double a, double b, double t)
{
    return a + (b - a) * t;
}

/* Numbers at whole places, smooth between them. */
static double noise(const double at[3], double scale, uint32_t seed)
{
    int32_t i[3];
    double t[3], row[4];
    for (int k = 0; k < 3; k++) {
        const double v = at[k] * scale, whole = floor(v);
        i[k] = (int32_t)whole;
        t[k] = (v - whole) * (v - whole) * (3 - 2 * (v - whole));
    }
    for (int k = 0; k < 4; k++) {
        const int32_t y = i[1] + (k & 1), z = i[2] + (k >> 1);
        row[k] = mixed(hashed(i[0], y, z, seed), hashed(i[0] + 1, y, z, seed), t[0]);
    }
    return mixed(mixed(row[0], row[1], t[1]), mixed(row[2], row[3], t[1]), t[2]);
}

/* Several octaves of it, -1..1 or so; those too fine for a pixel of that size are left out, or they would swarm. */
static double grain(const double at[3], double pixel, uint32_t seed)
{
    double sum = 0, gain = 0.8, scale = 1.1;
    for (int k = 0; k < OCTAVES; k++, gain *= 0.72, scale *= 2.1) {
        const double clear = fmin(1, 0.5 / (scale * pixel) - 0.5);
        if (clear <= 0) {
            break;
        }
        sum += gain * clear * (2 * noise(at, scale, seed + (uint32_t)k) - 1);
    }
    return sum;
}

/* Two colours of the skin, one where the grain is low and one where it is high, darker on some sides. */
static void paint(const double at[3], double pixel, uint32_t skin, int axis, bool under, double rgb[3])
{
    const double t = fmin(1, fmax(0, 0.5 + 0.75 * grain(at, pixel, skin)));
    const double light = axis == 1 ? (under ? 0.7 : 1) : axis == 0 ? 0.9 : 0.78;
    for (int c = 0; c < 3; c++) {
        const double dark = 0.05 + 0.3 * hashed((int32_t)skin, c, 1, 5),
                     bright = 0.55 + 0.45 * hashed((int32_t)skin, c, 2, 5);
        rgb[c] += light * mixed(dark, bright, t);
    }
}

/* ---- rays ---------------------------------------------------------------------------------------- */

typedef struct hit {
    double way;
    int axis;
    bool under; /* seen from below */
    uint32_t skin;
} hit;

/* Where a ray comes into a box, if that is nearer than what was hit. */
static void meet(const flight_box *b, const double from[3], const double inverse[3], hit *best)
{
    double in = 0, out = best->way;
    int axis = -1;
    for (int k = 0; k < 3; k++) {
        const double a = (b->low[k] - from[k]) * inverse[k], z = (b->high[k] - from[k]) * inverse[k];
        if (fmin(a, z) > in) {
            in = fmin(a, z);
            axis = k;
        }
        out = fmin(out, fmax(a, z));
    }
    if (axis >= 0 && in < out) {
        *best = (hit){in, axis, axis == 1 && inverse[1] < 0, b->skin};
    }
}

static hit cast(const flight *f, const double from[3], const double ray[3])
{
    double inverse[3];
    hit best = {INFINITY, 0, false, f->skin};
    for (int k = 0; k < 3; k++) {
        inverse[k] = 1 / (fabs(ray[k]) > 1e-12 ? ray[k] : 1e-12);
        const double way = fmax((f->low[k] - from[k]) * inverse[k], (f->high[k] - from[k]) * inverse[k]);
        if (way < best.way) { /* the hall is left there */
            best = (hit){way, k, k == 1 && inverse[1] < 0, f->skin + 2u * (uint32_t)k + (inverse[k] > 0)};
        }
    }
    for (int i = 0; i < f->count; i++) {
        if (f->boxes[i].low[2] < from[2] + best.way * ray[2] && f->boxes[i].high[2] > from[2]) {
            meet(&f->boxes[i], from, inverse, &best);
        }
    }
    return best;
}

static hit look(const flight *f, const double pose[12], const double k[4], double u, double v, double at[3])
{
    const double x = (u - k[2]) / k[0], y = (v - k[3]) / k[1];
    double from[3], ray[3];
    for (int i = 0; i < 3; i++) {
        from[i] = pose[4 * i + 3];
        ray[i] = pose[4 * i] * x + pose[4 * i + 1] * y + pose[4 * i + 2];
    }
    hit h = cast(f, from, ray);
    for (int i = 0; i < 3; i++) {
        at[i] = from[i] + h.way * ray[i];
    }
    return h;
}

void flight_draw(const flight *f, int64_t frame, int64_t height, int64_t width, uint8_t *rgb, float *depth)
{
    double pose[12], k[4], at[3];
    flight_pose(f, frame, pose);
    flight_intrinsics(height, width, k);
    for (int64_t i = 0; i < height * width; i++) {
        const double u = (double)(i % width), v = (double)(i / width);
        double sum[3] = {0};
        for (int r = 0; r < RAYS * RAYS; r++) {
            hit h = look(f, pose, k, u + (r % RAYS + 0.5) / RAYS - 0.5, v + (r / RAYS + 0.5) / RAYS - 0.5, at);
            paint(at, h.way / k[0], h.skin, h.axis, h.under, sum);
        }
        for (int c = 0; c < 3; c++) {
            rgb[c * height * width + i] = (uint8_t)(255 * fmin(1, sum[c] / (RAYS * RAYS)) + 0.5);
        }
        depth[i] = (float)look(f, pose, k, u, v, at).way; /* rays are 1 long along the camera's axis */
    }
}
