/* fft.c - Fourier transforms as their sums say: n^2 steps in double, angles by exact places on the
 * circle. */
#include <math.h>

#include "lib/ops/options.h"
#include "lib/ref/ref.h"

#define TWO_PI 6.283185307179586476925287

/* Places and conventions of one line: element j is at (j * inner) * parts. */
typedef struct line {
    const eg_tensor *x, *y;
    int64_t in, out, step_in, step_out; /* where they begin, from element to element */
    int64_t n;
} line;

/* cos and sin of 2 pi j k / n */
static void turn(int64_t j, int64_t k, int64_t n, double *c, double *s)
{
    double angle = TWO_PI * (double)((__int128)j * k % n) / (double)n;
    *c = cos(angle);
    *s = sin(angle);
}

/* Every line of the call: the axis has n_in elements of x and n_out of y, with so many parts each.
 */
static eg_status lines(const eg__call *c, int in_parts, int out_parts, void (*fn)(const line *, const eg__fft_opts *))
{
    const eg__fft_opts *o = c->opts;
    const eg_tensor *x = c->in[0], *y = c->out[0];
    int64_t inner = 1, outer = 1;
    for (int d = 0; d < x->ndim - (in_parts - 1); d++) {
        outer *= d < o->axis ? x->shape[d] : 1;
        inner *= d > o->axis ? x->shape[d] : 1;
    }
    for (int64_t i = 0; i < outer * inner; i++) {
        int64_t out = i / inner * y->shape[o->axis] * inner + i % inner;
        int64_t in = i / inner * x->shape[o->axis] * inner + i % inner;
        line l = {x,
                  y,
                  in * in_parts,
                  out * out_parts,
                  inner * in_parts,
                  inner * out_parts,
                  in_parts == 2 && out_parts == 1 ? o->n : x->shape[o->axis]};
        fn(&l, o);
    }
    return EG_OK;
}

/* The sum for bin k of x, real or complex. */
static void bin(const line *l, const eg__fft_opts *o, int64_t k, bool complex)
{
    double re = 0, im = 0, cosine, sine;
    for (int64_t j = 0; j < l->n; j++) {
        double a = eg__get_at(l->x, l->in + j * l->step_in);
        double b = complex ? eg__get_at(l->x, l->in + j * l->step_in + 1) : 0;
        turn(j, k, l->n, &cosine, &sine);
        sine = o->inverse ? sine : -sine;
        re += a * cosine - b * sine;
        im += a * sine + b * cosine;
    }
    eg__set_at(l->y, l->out + k * l->step_out, re * o->scale);
    eg__set_at(l->y, l->out + k * l->step_out + 1, im * o->scale);
}

static void complex_line(const line *l, const eg__fft_opts *o)
{
    for (int64_t k = 0; k < l->n; k++) {
        bin(l, o, k, true);
    }
}

static void bins_line(const line *l, const eg__fft_opts *o)
{
    for (int64_t k = 0; k <= l->n / 2; k++) {
        bin(l, o, k, false);
    }
}

/* A bin that has a conjugate besides counts twice. */
static void real_line(const line *l, const eg__fft_opts *o)
{
    for (int64_t j = 0; j < l->n; j++) {
        double sum = 0, cosine, sine;
        for (int64_t k = 0; k <= l->n / 2; k++) {
            turn(j, k, l->n, &cosine, &sine);
            bool alone = k == 0 || 2 * k == l->n;
            double re = eg__get_at(l->x, l->in + k * l->step_in);
            double im = alone ? 0 : eg__get_at(l->x, l->in + k * l->step_in + 1);
            sum += (alone ? 1 : 2) * (re * cosine - im * sine);
        }
        eg__set_at(l->y, l->out + j * l->step_out, sum * o->scale);
    }
}

eg_status eg__ref_fft(const eg__call *c)
{
    return lines(c, 2, 2, complex_line);
}

eg_status eg__ref_rfft(const eg__call *c)
{
    return lines(c, 1, 2, bins_line);
}

eg_status eg__ref_irfft(const eg__call *c)
{
    return lines(c, 2, 1, real_line);
}
