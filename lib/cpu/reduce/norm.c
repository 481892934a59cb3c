/* norm.c - batch and group normalisation and their gradients: two passes over the data each, the
 * first summing per unit and channel, the second writing. A batch of planes is passed over twice
 * channel by channel, while it is in the caches. */
#include <math.h>

#include "lib/cpu/common/isa.h"
#include "lib/ops/norm.h"
#include "lib/ops/options.h"

eg__kernel ISA(eg__cpu_batch_norm), ISA(eg__cpu_batch_norm_grad), ISA(eg__cpu_group_norm), ISA(eg__cpu_group_norm_grad),
    ISA(eg__cpu_scale_channels);

enum { LANES = 512, STRIP = 128, FLUSH = 32, CHANNELS_PER_THREAD = 256 };

#define T        float
#define FN(name) name##_f32
#include "lib/cpu/reduce/norm_loops.h"
#undef T
#undef FN
#define T        double
#define FN(name) name##_f64
#include "lib/cpu/reduce/norm_loops.h"
#undef T
#undef FN

/* ---- the passes ----------------------------------------------------------------------------- */

/* Coefficients are arrays of the tensor's type, by channel, or by image and channel if image_step
 * is set. */
typedef struct job {
    const eg__call *c;
    eg__units u;
    int dtype;
    bool relu;
    int64_t image_step;
    eg__range_fn *sum, *write;                            /* over units */
    void (*finish)(const struct job *j, int64_t channel); /* from sums to coefficients */
    const char *x, *dy;
    char *y;
    void *mean, *a, *b, *p, *q;
    double *first, *second; /* sums by unit and channel */
} job;

#define COEF(type, of) ((type *)j->of + w.image * j->image_step + w.channel)
#define DATA(type, of) ((type *)j->of + w.at)

/* `order`: the first pass goes up and the second down, to begin with what is in the caches. */
#define EACH_UNIT(name, order, call_f32, call_f64)          \
    static void name(void *ctx, int64_t begin, int64_t end) \
    {                                                       \
        const job *j = ctx;                                 \
        for (int64_t i = begin; i < end; i++) {             \
            eg__unit w = eg__unit_of(&j->u, order);         \
            if (j->dtype == EG_F32) {                       \
                call_f32;                                   \
            } else {                                        \
                call_f64;                                   \
            }                                               \
        }                                                   \
    }
#define MOMENTS(name, type) name(&w, DATA(const type, x), j->first + w.place, j->second + w.place)
#define APPLY(name, type) \
    name(&w, DATA(const type, x), COEF(type, mean), COEF(type, a), COEF(type, b), j->relu, DATA(type, y))
#define SLOPES(name, type)                                                                                       \
    name(&w, DATA(const type, dy), DATA(const type, x), COEF(type, mean), COEF(type, a), COEF(type, b), j->relu, \
         j->first + w.place, j->second + w.place)
#define DESCEND(name, type)                                                                                            \
    name(&w, DATA(const type, dy), DATA(const type, x), COEF(type, mean), COEF(type, a), COEF(type, b), COEF(type, p), \
         COEF(type, q), j->relu, DATA(type, y))
EACH_UNIT(sum_moments, i, MOMENTS(moments_f32, float), MOMENTS(moments_f64, double))
EACH_UNIT(write_values, begin + end - 1 - i, APPLY(apply_f32, float), APPLY(apply_f64, double))
EACH_UNIT(sum_slopes, i, SLOPES(slopes_f32, float), SLOPES(slopes_f64, double))
EACH_UNIT(write_slopes, begin + end - 1 - i, DESCEND(descend_f32, float), DESCEND(descend_f64, double))

static void pass(job *j, eg__range_fn *fn)
{
    int64_t elements = j->u.images * j->u.channels * j->u.spatial;
    eg__parallel(j->u.count, elements < EG__GRAIN ? j->u.count : 1, fn, j);
}

static void whole_channels(void *ctx, int64_t begin, int64_t end)
{
    job *j = ctx;
    int64_t units = j->u.count, step = j->u.channels;
    for (int64_t k = begin; k < end; k++) {
        for (int64_t i = k; i < units; i += step) {
            j->sum(j, i, i + 1);
        }
        j->finish(j, k);
        for (int64_t i = k; i < units; i += step) {
            j->write(j, i, i + 1);
        }
    }
}

static void finish_channels(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    for (int64_t k = begin; k < end; k++) {
        j->finish(j, k);
    }
}

/* Sums, coefficients and results, of a batch as one. */
static void run_batch(job *j)
{
    if (!j->u.last && j->u.channels >= 4 * eg_threads()) {
        int64_t each = eg__max(1, j->u.images * j->u.spatial);
        eg__parallel(j->u.channels, EG__GRAIN / each + 1, whole_channels, j);
        return;
    }
    if (j->u.count) {
        pass(j, j->sum);
    }
    eg__parallel(j->u.channels, CHANNELS_PER_THREAD, finish_channels, j);
    if (j->u.count) {
        pass(j, j->write);
    }
}

/* ---- scratch: five coefficients of `n` channels and the sums --------------------------------- */

static eg_status prepare(const eg__call *c, job *j, const eg_tensor *x, bool merged, eg__scratch *s)
{
    j->u = eg__units_of(x, merged);
    j->dtype = x->dtype;
    j->x = eg__ptr(x);
    int64_t n = merged ? j->u.channels : j->u.images * j->u.channels;
    int64_t sums = j->u.images * j->u.per_image * j->u.channels;
    j->image_step = merged ? 0 : j->u.channels;
    if (eg__scratch_get(c, (size_t)(5 * n + 2 * sums) * sizeof(double), s)) {
        return EG_ENOMEM;
    }
    char *at = s->data;
    j->first = (double *)at;
    j->second = j->first + sums;
    at = (char *)(j->second + sums);
    void **coefficients[] = {&j->mean, &j->a, &j->b, &j->p, &j->q};
    for (int i = 0; i < 5; i++, at += n * (int64_t)sizeof(double)) {
        *coefficients[i] = at;
    }
    return EG_OK;
}

static double get(const job *j, const void *p, int64_t i)
{
    return j->dtype == EG_F32 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

static void set(const job *j, void *p, int64_t i, double v)
{
    if (j->dtype == EG_F32) {
        ((float *)p)[i] = (float)v;
    } else {
        ((double *)p)[i] = v;
    }
}

/* An optional [C] tensor. */
static double channel_of(const eg_tensor *t, int64_t channel, double otherwise)
{
    return t ? eg__load(eg__ptr(t), t->dtype, channel * t->strides[0]) : otherwise;
}

/* Mean and sum of squared deviations of several parts. */
typedef struct moments {
    double n, mean, deviation;
} moments;

static void merge(moments *m, double n, double mean, double deviation)
{
    double d = mean - m->mean, all = m->n + n;
    m->mean += d * n / all;
    m->deviation += deviation + d * d * m->n * n / all;
    m->n = all;
}

/* Adds the parts of a channel of one image. */
static void merge_image(const job *j, int64_t image, int64_t channel, moments *m)
{
    const eg__units *u = &j->u;
    for (int64_t k = 0; k < u->per_image; k++) {
        int64_t rows = u->last ? eg__min(u->rows, u->spatial - k * u->rows) : u->spatial;
        int64_t i = (image * u->per_image + k) * u->channels + channel;
        merge(m, (double)rows, j->first[i], j->second[i]);
    }
}

static void add_image(const job *j, int64_t image, int64_t channel, double *first, double *second)
{
    for (int64_t k = 0; k < j->u.per_image; k++) {
        int64_t i = (image * j->u.per_image + k) * j->u.channels + channel;
        *first += j->first[i];
        *second += j->second[i];
    }
}

/* ---- batch norm ----------------------------------------------------------------------------- */

static void values_of(const job *j, int64_t k)
{
    const eg__call *c = j->c;
    const eg__norm_opts *o = c->opts;
    moments m = {0};
    for (int64_t i = 0; i < j->u.images && j->u.count; i++) {
        merge_image(j, i, k, &m);
    }
    double v = m.n > 0 ? m.deviation / m.n : 0;
    set(j, eg__ptr(c->out[1]), k, m.mean);
    set(j, eg__ptr(c->out[2]), k, v);
    set(j, j->mean, k, m.mean);
    set(j, j->a, k, channel_of(c->in[1], k, 1) / sqrt(v + o->eps));
    set(j, j->b, k, channel_of(c->in[2], k, 0));
}

/* x, weight, bias -> y, mean, var */
eg_status ISA(eg__cpu_batch_norm)(const eg__call *c)
{
    const eg__norm_opts *o = c->opts;
    job j = {.c = c,
             .relu = o->relu,
             .y = eg__ptr(c->out[0]),
             .sum = sum_moments,
             .finish = values_of,
             .write = write_values};
    eg__scratch s;
    if (prepare(c, &j, c->in[0], true, &s)) {
        return EG_ENOMEM;
    }
    run_batch(&j);
    eg__scratch_put(c, &s);
    eg_status st = EG_OK;
    if (unlikely(eg__norm_leaves_f32(c->in[0], c->out[2], o->eps))) {
        st = eg__norm_in_f64(c, ISA(eg__cpu_batch_norm), NULL);
    }
    if (!st) {
        eg__norm_follow(c);
    }
    return st;
}

/* Coefficients of the slopes over `n` elements from the sums of dy a and dy a (x - mean). */
static void slope_coefficients(const job *j, int64_t at, double n, double rstd, double sum, double product)
{
    set(j, j->p, at, -rstd * rstd * product / n);
    set(j, j->q, at, -sum / n);
}

static void slopes_of(const job *j, int64_t k)
{
    const eg__call *c = j->c;
    const eg__norm_opts *o = c->opts;
    double sum = 0, product = 0, rstd = 1 / sqrt(channel_of(c->in[3], k, 0) + o->eps);
    double a = get(j, j->a, k);
    for (int64_t i = 0; i < j->u.images && j->u.count; i++) {
        add_image(j, i, k, &sum, &product);
    }
    set(j, eg__ptr(c->out[1]), k, j->u.count ? product * rstd : 0); /* of nothing, with an eps of 0: no 0 * infinity */
    set(j, eg__ptr(c->out[2]), k, sum);
    slope_coefficients(j, k, (double)(j->u.images * j->u.spatial), rstd, a * sum, a * product);
}

/* dy, x, mean, var, weight, bias -> dx, dweight, dbias */
eg_status ISA(eg__cpu_batch_norm_grad)(const eg__call *c)
{
    const eg__norm_opts *o = c->opts;
    if (unlikely(eg__norm_leaves_f32(c->in[1], c->in[3], o->eps))) {
        return eg__norm_in_f64(c, ISA(eg__cpu_batch_norm), ISA(eg__cpu_batch_norm_grad));
    }
    job j = {.c = c,
             .relu = o->relu,
             .dy = eg__ptr(c->in[0]),
             .y = eg__ptr(c->out[0]),
             .sum = sum_slopes,
             .finish = slopes_of,
             .write = write_slopes};
    eg__scratch s;
    if (prepare(c, &j, c->in[1], true, &s)) {
        return EG_ENOMEM;
    }
    for (int64_t k = 0; k < j.u.channels; k++) {
        set(&j, j.mean, k, channel_of(c->in[2], k, 0));
        set(&j, j.a, k, channel_of(c->in[4], k, 1) / sqrt(channel_of(c->in[3], k, 0) + o->eps));
        set(&j, j.b, k, channel_of(c->in[5], k, 0));
    }
    run_batch(&j);
    eg__scratch_put(c, &s);
    return EG_OK;
}

/* ---- group norm ----------------------------------------------------------------------------- */

/* x, weight, bias -> y, mean, var, both [N, groups] */
eg_status ISA(eg__cpu_group_norm)(const eg__call *c)
{
    const eg__norm_opts *o = c->opts;
    const eg_tensor *x = c->in[0];
    job j = {.y = eg__ptr(c->out[0])};
    eg__scratch s;
    if (!x->n) {
        return EG_OK;
    }
    if (prepare(c, &j, x, false, &s)) {
        return EG_ENOMEM;
    }
    pass(&j, sum_moments);
    int64_t width = j.u.channels / o->groups;
    for (int64_t i = 0; i < j.u.images; i++) {
        for (int64_t g = 0; g < o->groups; g++) {
            moments m = {0};
            for (int64_t k = g * width; k < (g + 1) * width; k++) {
                merge_image(&j, i, k, &m);
            }
            double v = m.deviation / m.n;
            set(&j, eg__ptr(c->out[1]), i * o->groups + g, m.mean);
            set(&j, eg__ptr(c->out[2]), i * o->groups + g, v);
            for (int64_t k = g * width; k < (g + 1) * width; k++) {
                int64_t at = i * j.u.channels + k;
                set(&j, j.mean, at, m.mean);
                set(&j, j.a, at, channel_of(c->in[1], k, 1) / sqrt(v + o->eps));
                set(&j, j.b, at, channel_of(c->in[2], k, 0));
            }
        }
    }
    pass(&j, write_values);
    eg__scratch_put(c, &s);
    return unlikely(eg__norm_leaves_f32(x, c->out[2], o->eps)) ? eg__norm_in_f64(c, ISA(eg__cpu_group_norm), NULL)
                                                               : EG_OK;
}

/* dy, x, mean, var, weight -> dx, dweight, dbias */
eg_status ISA(eg__cpu_group_norm_grad)(const eg__call *c)
{
    const eg__norm_opts *o = c->opts;
    const eg_tensor *x = c->in[1], *mean = c->in[2], *var = c->in[3], *dw = c->out[1], *db = c->out[2];
    if (unlikely(eg__norm_leaves_f32(x, var, o->eps))) {
        return eg__norm_in_f64(c, ISA(eg__cpu_group_norm), ISA(eg__cpu_group_norm_grad));
    }
    job j = {.dy = eg__ptr(c->in[0]), .y = eg__ptr(c->out[0])};
    eg__scratch s;
    memset(eg__ptr(dw), 0, (size_t)dw->n * eg__esize(dw));
    memset(eg__ptr(db), 0, (size_t)db->n * eg__esize(db));
    if (!x->n) {
        return EG_OK;
    }
    if (prepare(c, &j, x, false, &s)) {
        return EG_ENOMEM;
    }
    int64_t width = j.u.channels / o->groups;
    for (int64_t at = 0; at < j.u.images * j.u.channels; at++) {
        int64_t k = at % j.u.channels, g = at / j.u.channels * o->groups + k / width;
        set(&j, j.mean, at, get(&j, eg__ptr(mean), g));
        set(&j, j.a, at, channel_of(c->in[4], k, 1) / sqrt(get(&j, eg__ptr(var), g) + o->eps));
    }
    pass(&j, sum_slopes);
    for (int64_t i = 0; i < j.u.images; i++) {
        for (int64_t g = 0; g < o->groups; g++) {
            double all = 0, products = 0, rstd = 1 / sqrt(get(&j, eg__ptr(var), i * o->groups + g) + o->eps);
            for (int64_t k = g * width; k < (g + 1) * width; k++) {
                double sum = 0, product = 0, a = get(&j, j.a, i * j.u.channels + k);
                add_image(&j, i, k, &sum, &product);
                set(&j, eg__ptr(dw), k, get(&j, eg__ptr(dw), k) + product * rstd);
                set(&j, eg__ptr(db), k, get(&j, eg__ptr(db), k) + sum);
                all += a * sum;
                products += a * product;
            }
            for (int64_t k = g * width; k < (g + 1) * width; k++) {
                slope_coefficients(&j, i * j.u.channels + k, (double)(width * j.u.spatial), rstd, all, products);
            }
        }
    }
    pass(&j, write_slopes);
    eg__scratch_put(c, &s);
    return EG_OK;
}

/* ---- scale_channels ------------------------------------------------------------------------- */

/* x, scale, shift -> y */
eg_status ISA(eg__cpu_scale_channels)(const eg__call *c)
{
    const eg__norm_opts *o = c->opts;
    job j = {.relu = o->relu, .y = eg__ptr(c->out[0])};
    eg__scratch s;
    if (!c->in[0]->n) {
        return EG_OK;
    }
    if (prepare(c, &j, c->in[0], true, &s)) {
        return EG_ENOMEM;
    }
    for (int64_t k = 0; k < j.u.channels; k++) {
        set(&j, j.mean, k, 0);
        set(&j, j.a, k, channel_of(c->in[1], k, 1));
        set(&j, j.b, k, channel_of(c->in[2], k, 0));
    }
    pass(&j, write_values);
    eg__scratch_put(c, &s);
    return EG_OK;
}
