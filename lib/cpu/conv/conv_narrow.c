/* conv_narrow.c - the gradient of an x with few channels, which is how a generator's last
 * transposed convolution makes its image. oneDNN pads the channels to a whole vector; here the taps
 * fill it: a row of dy times the weight seen as [channels of y, taps x channels of x] gives what
 * each window adds to each cell under it, and that is added while it is still in the first cache.
 */
#include "lib/cpu/conv/conv.h"
#include "lib/cpu/common/lanes.h"

eg__conv_way ISA(eg__conv_narrow_data);

typedef eg__f32s vec;
/* Windows by vectors of sums that stay in registers. */
enum { LANES = sizeof(vec) / sizeof(float), WIDE = 3, SIDE = EG__VECTORS >= 32 ? 8 : 4 };

typedef struct job {
    const eg__conv_geometry *g;
    const float *y, *bias;
    float *x, *w;         /* w: [channels of y][width] */
    float *columns;       /* per band: a row of windows, [out][width] */
    int64_t width, bands; /* taps x channels, whole vectors; bands of an image's rows */
    int64_t pieces;
} job;

/* `side` windows from dy, `wide` vectors of what they add. */
static EG__INLINE void tile(const float *dy, const float *w, int64_t channels, int64_t width, float *to, const int side,
                            const int wide)
{
    vec sum[SIDE][WIDE];
    for (int p = 0; p < side; p++) {
        for (int v = 0; v < wide; v++) {
            sum[p][v] = (vec){0};
        }
    }
    for (int64_t o = 0; o < channels; o++, w += width) {
        for (int p = 0; p < side; p++) {
            float f = dy[p * channels + o];
            for (int v = 0; v < wide; v++) {
                sum[p][v] += *(const vec *)(w + v * LANES) * f;
            }
        }
    }
    for (int p = 0; p < side; p++) {
        for (int v = 0; v < wide; v++) {
            *(vec *)(to + p * width + v * LANES) = sum[p][v];
        }
    }
}

static EG__INLINE void tiles(const job *d, const float *dy, float *to, const int side)
{
    int64_t channels = d->g->o, width = d->width, at = 0;
    for (; at + WIDE * LANES <= width; at += WIDE * LANES) {
        tile(dy, d->w + at, channels, width, to + at, side, WIDE);
    }
    if (at + 2 * LANES <= width) {
        tile(dy, d->w + at, channels, width, to + at, side, 2);
    } else if (at < width) {
        tile(dy, d->w + at, channels, width, to + at, side, 1);
    }
}

/* What row `oy` of windows adds, to the cells of rows begin..end-1 of the image x. */
static void add_row(const job *d, const float *columns, int64_t oy, int64_t begin, int64_t end, float *x)
{
    const eg__conv_geometry *g = d->g;
    int64_t c = g->c, step = g->stride[2] * c;
    for (int64_t ky = 0; ky < g->k[1]; ky++) {
        int64_t iy = eg__conv_at(g, 1, oy, ky);
        if (iy < begin || iy >= end) {
            continue;
        }
        for (int64_t kx = 0; kx < g->k[2]; kx++) {
            int64_t low, high;
            eg__conv_inside(g, 2, kx, &low, &high);
            float *to = x + (iy * g->in[2] + eg__conv_at(g, 2, low, kx)) * c;
            const float *from = columns + low * d->width + (ky * g->k[2] + kx) * c;
            if (c == 1) {
                for (int64_t q = low; q < high; q++, to += step, from += d->width) {
                    *to += *from;
                }
                continue;
            }
            for (int64_t q = low; q < high; q++, to += step, from += d->width) {
                for (int64_t i = 0; i < c; i++) {
                    to[i] += from[i];
                }
            }
        }
    }
}

/* Rows begin..end-1 of image n of x. */
static void band(const job *d, int64_t n, int64_t begin, int64_t end, float *columns)
{
    const eg__conv_geometry *g = d->g;
    float *x = d->x + n * g->in[1] * g->in[2] * g->c;
    int64_t reach = (g->k[1] - 1) * g->dilation[1], first = begin + g->before[1] - reach;
    int64_t from = first > 0 ? (first + g->stride[1] - 1) / g->stride[1] : 0;
    int64_t to = eg__min((end - 1 + g->before[1]) / g->stride[1] + 1, g->out[1]);
    for (int64_t i = begin * g->in[2] * g->c; i < end * g->in[2] * g->c; i++) {
        x[i] = d->bias ? d->bias[i % g->c] : 0;
    }
    for (int64_t oy = from; oy < to; oy++) {
        const float *dy = d->y + (n * g->out[1] + oy) * g->out[2] * g->o;
        int64_t q = 0;
        for (; q + SIDE <= g->out[2]; q += SIDE) {
            tiles(d, dy + q * g->o, columns + q * d->width, SIDE);
        }
        for (; q + 2 <= g->out[2]; q += 2) {
            tiles(d, dy + q * g->o, columns + q * d->width, 2);
        }
        for (; q < g->out[2]; q++) {
            tiles(d, dy + q * g->o, columns + q * d->width, 1);
        }
        add_row(d, columns, oy, begin, end, x);
    }
}

static void piece(void *ctx, int64_t begin, int64_t end)
{
    const job *d = ctx;
    int64_t rows = d->g->in[1], all = d->g->n * d->bands;
    for (int64_t p = begin; p < end; p++) {
        float *columns = d->columns + p * d->g->out[2] * d->width;
        for (int64_t b = all * p / d->pieces; b < all * (p + 1) / d->pieces; b++) {
            int64_t i = b % d->bands;
            band(d, b / d->bands, rows * i / d->bands, rows * (i + 1) / d->bands, columns);
        }
    }
}

/* w [o, c, k, k] as [o][k][k][c], zeros up to the width. */
static void pack(const job *d, const eg_tensor *w)
{
    const eg__conv_geometry *g = d->g;
    const float *from = (const float *)eg__ptr(w);
    int64_t at[5];
    eg__conv_strides(w, at);
    memset(d->w, 0, (size_t)(g->o * d->width) * sizeof *d->w);
    for (int64_t o = 0; o < g->o; o++) {
        float *to = d->w + o * d->width;
        for (int64_t t = 0; t < g->k[1] * g->k[2]; t++) {
            for (int64_t c = 0; c < g->c; c++) {
                *to++ = from[o * at[0] + c * at[1] + t / g->k[2] * at[3] + t % g->k[2] * at[4]];
            }
        }
    }
}

eg_status ISA(eg__conv_narrow_data)(const eg__conv_job *j)
{
    const eg__conv_geometry *g = &j->g;
    int64_t width = (g->k[1] * g->k[2] * g->c + LANES - 1) / LANES * LANES, threads = eg_threads();
    job d = {.g = g, .y = (const float *)eg__ptr(j->y), .x = (float *)eg__ptr(j->x), .width = width};
    d.bias = j->bias ? (const float *)eg__ptr(j->bias) : NULL;
    /* Bands of one image both compute the windows that reach over their border. */
    d.bands = g->n >= 2 * threads ? 1 : eg__min(threads, g->in[1]);
    bool small = g->n * g->out[1] * g->out[2] * g->o * width < 1 << 17;
    d.pieces = small ? 1 : eg__min(threads, g->n * d.bands);
    eg__scratch scratch;
    if (eg__scratch_get(j->c, (size_t)((g->o + d.pieces * g->out[2]) * width) * sizeof(float), &scratch)) {
        return EG_ENOMEM;
    }
    d.w = scratch.data;
    d.columns = d.w + g->o * width;
    pack(&d, j->w);
    eg__parallel(d.pieces, 1, piece, &d);
    eg__scratch_put(j->c, &scratch);
    return EG_OK;
}
