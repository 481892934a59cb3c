/* tone_loops.c - changes of colours, built for each instruction set: a block of pixels is sorted by channel, so that
 * whole registers are of one, changed, and put back. No loop over pixels has a branch. */
#include <math.h>

#include "data/image/tones.h"
#include "lib/core/isa.h"

eg__tone_fn ISA(eg__tone_run);

enum { BLOCK = 64 };

typedef struct block {
    float c[3][BLOCK];
} block;

static inline float larger(float a, float b)
{
    return a > b ? a : b;
}

static inline float smaller(float a, float b)
{
    return a < b ? a : b;
}

static void line(float *x, float a, float b)
{
    for (int i = 0; i < BLOCK; i++) {
        x[i] = a * x[i] + b;
    }
}

static void limit(float *x, float low, float high)
{
    for (int i = 0; i < BLOCK; i++) {
        x[i] = smaller(larger(x[i], low), high);
    }
}

/* The largest component stays, the others move away from it: up to 0, where the saturation is 1. What is black or
 * below is gray. */
static void saturate(block *p, float factor)
{
    for (int i = 0; i < BLOCK; i++) {
        float r = p->c[0][i], g = p->c[1][i], b = p->c[2][i];
        float most = larger(r, larger(g, b)), range = most - smaller(r, smaller(g, b));
        float share = smaller(factor, larger(most, 0) / larger(range, 0x1p-100f));
        p->c[0][i] = most - (most - r) * share;
        p->c[1][i] = most - (most - g) * share;
        p->c[2][i] = most - (most - b) * share;
    }
}

/* A component of hue k sixths of a turn from its own opposite, k in 0..18. */
static inline float component(float most, float range, float k)
{
    k = k >= 12 ? k - 12 : k;
    k = k >= 6 ? k - 6 : k;
    return most - range * smaller(larger(smaller(k, 4 - k), 0), 1);
}

/* Largest and smallest component stay, the one between follows the hue round the hexagon. */
static void shift(block *p, float turns)
{
    float sixths = 6 * turns;
    for (int i = 0; i < BLOCK; i++) {
        float r = p->c[0][i], g = p->c[1][i], b = p->c[2][i];
        float most = larger(r, larger(g, b)), range = most - smaller(r, smaller(g, b));
        float part = r - g, base = 4;
        part = g == most ? b - r : part;
        base = g == most ? 2 : base;
        part = r == most ? g - b : part;
        base = r == most ? 0 : base;
        float h = part / larger(range, 0x1p-100f) + base + sixths;
        p->c[0][i] = component(most, range, h + 5);
        p->c[1][i] = component(most, range, h + 3);
        p->c[2][i] = component(most, range, h + 1);
    }
}

static void blend_with_gray(block *p, float a, float b)
{
    for (int i = 0; i < BLOCK; i++) {
        float gray = b * (0.2989f * p->c[0][i] + 0.587f * p->c[1][i] + 0.114f * p->c[2][i]);
        p->c[0][i] = a * p->c[0][i] + gray;
        p->c[1][i] = a * p->c[1][i] + gray;
        p->c[2][i] = a * p->c[2][i] + gray;
    }
}

static void change(block *p, const eg__tone *t, int channels)
{
    switch (t->kind) {
    case EG__TONE_LINE:
        for (int k = 0; k < channels; k++) {
            line(p->c[k], t->a[k], t->b[k]);
        }
        break;
    case EG__TONE_LIMIT:
        for (int k = 0; k < channels; k++) {
            limit(p->c[k], t->a[0], t->b[0]);
        }
        break;
    case EG__TONE_SATURATION:
        saturate(p, t->a[0]);
        break;
    case EG__TONE_HUE:
        shift(p, t->a[0]);
        break;
    case EG__TONE_GRAY:
        blend_with_gray(p, t->a[0], t->b[0]);
        break;
    }
}

static void take(block *to, const float *p, int64_t n, int channels)
{
    if (n == BLOCK && channels == 3) {
        for (int i = 0; i < BLOCK; i++) {
            to->c[0][i] = p[3 * i];
            to->c[1][i] = p[3 * i + 1];
            to->c[2][i] = p[3 * i + 2];
        }
        return;
    }
    for (int64_t i = 0; i < n * channels; i++) {
        to->c[i % channels][i / channels] = p[i];
    }
}

static void put(float *p, const block *from, int64_t n, int channels)
{
    if (n == BLOCK && channels == 3) {
        for (int i = 0; i < BLOCK; i++) {
            p[3 * i] = from->c[0][i];
            p[3 * i + 1] = from->c[1][i];
            p[3 * i + 2] = from->c[2][i];
        }
        return;
    }
    for (int64_t i = 0; i < n * channels; i++) {
        p[i] = from->c[i % channels][i / channels];
    }
}

static void take_bytes(block *to, const uint8_t *p, int64_t n, int channels)
{
    if (n == BLOCK && channels == 3) {
        for (int i = 0; i < BLOCK; i++) {
            to->c[0][i] = p[3 * i];
            to->c[1][i] = p[3 * i + 1];
            to->c[2][i] = p[3 * i + 2];
        }
        return;
    }
    for (int64_t i = 0; i < n * channels; i++) {
        to->c[i % channels][i / channels] = p[i];
    }
}

static inline uint8_t as_byte(float x)
{
    return (uint8_t)(int)(smaller(larger(x, 0), 255) + 0.5f);
}

static void put_bytes(uint8_t *p, const block *from, int64_t n, int channels)
{
    if (n == BLOCK && channels == 3) {
        for (int i = 0; i < BLOCK; i++) {
            p[3 * i] = as_byte(from->c[0][i]);
            p[3 * i + 1] = as_byte(from->c[1][i]);
            p[3 * i + 2] = as_byte(from->c[2][i]);
        }
        return;
    }
    for (int64_t i = 0; i < n * channels; i++) {
        p[i] = as_byte(from->c[i % channels][i / channels]);
    }
}

/* Of a whole block in lanes, which keep the order of additions whatever the registers. */
static float sum(const float *x, int64_t n)
{
    enum { LANES = 16 };
    float lane[LANES] = {0}, all = 0;
    for (int i = 0; i < BLOCK && n == BLOCK; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            lane[k] += x[i + k];
        }
    }
    for (int k = 0; k < LANES && n == BLOCK; k++) {
        all += lane[k];
    }
    for (int64_t i = 0; i < n && n < BLOCK; i++) {
        all += x[i];
    }
    return all;
}

void ISA(eg__tone_run)(eg__toning *t)
{
    block b = {{{0}}};
    for (int64_t at = 0; at < t->pixels; at += BLOCK) {
        int64_t n = t->pixels - at < BLOCK ? t->pixels - at : BLOCK, from = at * t->channels;
        if (t->bytes) {
            take_bytes(&b, t->bytes + from, n, t->channels);
        } else {
            take(&b, t->p + from, n, t->channels);
        }
        for (int k = 0; k < t->tones; k++) {
            change(&b, &t->tone[k], t->channels);
        }
        if (t->bytes && t->tones) {
            put_bytes(t->bytes + from, &b, n, t->channels);
        } else if (t->tones) {
            put(t->p + from, &b, n, t->channels);
        }
        for (int c = 0; c < t->channels && t->sums; c++) {
            t->sum[c] += (double)sum(b.c[c], n);
        }
    }
}
