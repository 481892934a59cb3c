/* sample.c - images read at points, one point after the other. */
#include <tgmath.h>

#include <egret/ops/sample.h>

#include "lib/math/hd.h"
#include "lib/ops/options.h"
#include "lib/ref/ref.h"

#define T       double
#define LANE(x) x
#include "lib/ops/sample_taps.h"
#undef T
#undef LANE

/* The points of a call and which images they read. */
typedef struct points {
    const eg__sample_opts *o;
    const eg_tensor *px, *py, *image;
    int64_t h, w; /* of an image */
} points;

/* Pixels for point (row, col) of picture b; false: it lies nowhere. */
static bool find(const points *p, int64_t b, int64_t row, int64_t col, taps *x, taps *y)
{
    int64_t at = (b * p->px->shape[1] + row) * p->px->shape[2] + col;
    taps_at(p->o, 0, eg__get_at(p->px, eg__at(p->px, p->px, at)), p->w, x);
    taps_at(p->o, 1, eg__get_at(p->py, eg__at(p->py, p->py, at)), p->h, y);
    return x->n && y->n;
}

static int64_t image_of(const points *p, int64_t b)
{
    return p->image ? eg__get_int_at(p->image, eg__at(p->image, p->image, b)) : b;
}

static int64_t place(const eg_tensor *t, int64_t n, int64_t c, int64_t row, int64_t col)
{
    return n * t->strides[0] + c * t->strides[1] + row * t->strides[2] + col * t->strides[3];
}

/* All of one point and channel: what the picture's pixel gets of it. */
static double read_point(const points *p, const eg_tensor *x, int64_t b, int64_t c, const taps *tx, const taps *ty)
{
    double sum = 0;
    for (int k = 0; k < tx->n * ty->n; k++) {
        int i = k / tx->n, j = k % tx->n;
        double weight = ty->w[i] * tx->w[j];
        if (weight != 0) {
            sum += weight * eg__get_at(x, place(x, image_of(p, b), c, ty->at[i], tx->at[j]));
        }
    }
    return sum;
}

eg_status eg__ref_grid_sample(const eg__call *c)
{
    const eg__sample_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *y = c->out[0];
    points p = {o, c->in[1], c->in[2], c->nin > 3 ? c->in[3] : NULL, x->shape[2], x->shape[3]};
    for (int64_t i = 0; i < y->n; i++) {
        int64_t col = i % y->shape[3], row = i / y->shape[3] % y->shape[2];
        int64_t channel = i / y->shape[3] / y->shape[2] % y->shape[1], b = i / y->shape[3] / y->shape[2] / y->shape[1];
        double sum = 0;
        for (int64_t k = 0; k < o->block[0] * o->block[1]; k++) {
            taps tx, ty;
            bool there =
                find(&p, b, row * o->block[1] + k / o->block[0], col * o->block[0] + k % o->block[0], &tx, &ty);
            sum += there ? o->share * read_point(&p, x, b, channel, &tx, &ty) : o->fill;
        }
        eg__set_at(y, place(y, b, channel, row, col), sum);
    }
    return EG_OK;
}

eg_status eg__ref_grid_sample_grad(const eg__call *c)
{
    const eg__sample_opts *o = c->opts;
    const eg_tensor *dy = c->in[0], *dx = c->out[0];
    points p = {o, c->in[1], c->in[2], c->nin > 3 ? c->in[3] : NULL, o->size[2], o->size[3]};
    for (int64_t i = 0; i < dx->n; i++) {
        eg__set_at(dx, eg__at(dx, dx, i), 0);
    }
    int64_t rows = p.px->shape[1], cols = p.px->shape[2];
    for (int64_t i = 0; i < p.px->n * dy->shape[1]; i++) {
        int64_t col = i % cols, row = i / cols % rows, channel = i / cols / rows % dy->shape[1];
        int64_t b = i / cols / rows / dy->shape[1];
        double d = o->share * eg__get_at(dy, place(dy, b, channel, row / o->block[1], col / o->block[0]));
        taps tx, ty;
        for (int k = 0; find(&p, b, row, col, &tx, &ty) && k < tx.n * ty.n; k++) {
            int a = k / tx.n, j = k % tx.n;
            int64_t at = place(dx, image_of(&p, b), channel, ty.at[a], tx.at[j]);
            if (ty.w[a] * tx.w[j] != 0) {
                eg__set_at(dx, at, eg__get_at(dx, at) + d * ty.w[a] * tx.w[j]);
            }
        }
    }
    return EG_OK;
}

/* The value of a pixel counts where its weight moves with the point. */
static double moved(double weight, double value)
{
    return weight != 0 ? weight * value : 0;
}

eg_status eg__ref_grid_sample_points(const eg__call *c)
{
    const eg_tensor *dy = c->in[0], *x = c->in[1];
    points p = {c->opts, c->in[2], c->in[3], c->nin > 4 ? c->in[4] : NULL, x->shape[2], x->shape[3]};
    int64_t rows = p.px->shape[1], cols = p.px->shape[2];
    for (int64_t i = 0; i < p.px->n; i++) {
        int64_t col = i % cols, row = i / cols % rows, b = i / cols / rows;
        double sum[2] = {0, 0};
        taps tx, ty;
        bool there = find(&p, b, row, col, &tx, &ty);
        for (int64_t k = 0; there && k < tx.n * ty.n * x->shape[1]; k++) {
            int64_t channel = k / (tx.n * ty.n), a = k / tx.n % ty.n, j = k % tx.n;
            double v = eg__get_at(x, place(x, image_of(&p, b), channel, ty.at[a], tx.at[j]));
            double d = eg__get_at(dy, place(dy, b, channel, row, col));
            sum[0] += moved(ty.w[a] * tx.d[j], v * d);
            sum[1] += moved(ty.d[a] * tx.w[j], v * d);
        }
        eg__set_at(c->out[0], i, sum[0]);
        eg__set_at(c->out[1], i, sum[1]);
    }
    return EG_OK;
}
