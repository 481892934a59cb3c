/* image_crop.c - a random part of an encoded image as a network's input, decoding no more of it
 * than that takes. */
#include <egret/data/image_ops.h>
#include <math.h>
#include <stdlib.h>

#include "data/image/codec.h"
#include "data/dice.h"
#include "data/image/loops.h"
#include "data/image/scaled_crop.h"

static const char me[] = "eg_image_decode_crop";

/* ---- where ---------------------------------------------------------------------------------- */

enum { TRIES = 10, DRAWS = 2 * TRIES + 2 };

static double between(double low, double high, double u)
{
    return low + (high - low) * u;
}

/* torchvision's RandomResizedCrop.get_params with uniform numbers u[DRAWS]. */
static void random_box(int64_t height, int64_t width, const double *scale, const double *ratio, const double *u,
                       int64_t *out)
{
    double area = (double)height * (double)width, shape = (double)width / (double)height;
    int64_t h = height, w = width;
    for (int i = 0; i < TRIES; i++) {
        double target = area * between(scale[0], scale[1], u[2 * i]);
        double aspect = exp(between(log(ratio[0]), log(ratio[1]), u[2 * i + 1]));
        w = (int64_t)rint(sqrt(target * aspect));
        h = (int64_t)rint(sqrt(target / aspect));
        if (w > 0 && w <= width && h > 0 && h <= height) {
            out[0] = (int64_t)(u[2 * TRIES] * (double)(height - h + 1));
            out[1] = (int64_t)(u[2 * TRIES + 1] * (double)(width - w + 1));
            out[2] = h;
            out[3] = w;
            return;
        }
    }
    w = width;
    h = height;
    if (shape < ratio[0]) {
        h = (int64_t)rint((double)w / ratio[0]);
    } else if (shape > ratio[1]) {
        w = (int64_t)rint((double)h * ratio[1]);
    }
    out[2] = eg__max(1, eg__min(h, height));
    out[3] = eg__max(1, eg__min(w, width));
    out[0] = (height - out[2]) / 2;
    out[1] = (width - out[3]) / 2;
}

/* As eg_uniform makes them. */
static void draw(double *u, int n)
{
    eg__dice dice = eg__dice_take(me, 2 * (int64_t)n);
    for (int i = 0; i < n; i++) {
        u[i] = eg__word_uniform64(eg__philox_word64(dice.from.seed, dice.from.offset, i));
    }
}

static eg_status check_ranges(const char *op, const double *scale, const double *ratio)
{
    bool ok = scale[0] > 0 && scale[1] >= scale[0] && scale[1] <= 1 && ratio[0] > 0 && ratio[1] >= ratio[0] &&
              isfinite(ratio[1]);
    return ok ? EG_OK
              : eg__fail(EG_EINVAL, op, "scale %g..%g must be in 0..1, ratio %g..%g above 0", scale[0], scale[1],
                         ratio[0], ratio[1]);
}

eg_status eg_image_random_box(int64_t height, int64_t width, const double *scale, const double *ratio, int64_t out[4])
{
    static const char op[] = "eg_image_random_box";
    double u[DRAWS];
    if (!scale || !ratio || !out) {
        return eg__null_argument(op, !scale ? "scale" : !ratio ? "ratio" : "out");
    }
    if (height < 1 || width < 1) {
        return eg__fail(EG_ESHAPE, op, "%lld x %lld pixels", (long long)height, (long long)width);
    }
    eg_status st = check_ranges(op, scale, ratio);
    if (!st) {
        draw(u, DRAWS);
        random_box(height, width, scale, ratio, u, out);
    }
    return st;
}

/* ---- how ------------------------------------------------------------------------------------ */

typedef struct crop {
    eg_random_crop_options o;
    double u[DRAWS + 1];
    int64_t height, width;           /* of the result, as it will lie before it is turned */
    double top, left, rows, columns; /* the part, in pixels of what is decoded */
} crop;

/* The part of the middle with the result's proportions. */
static void middle_box(const eg__image_job *job, const crop *c, int64_t *out)
{
    double h = (double)job->height, w = (double)job->width, aspect = (double)c->width / (double)c->height;
    double rows = fmin(h, w / aspect) * c->o.centre, columns = rows * aspect;
    out[2] = eg__max(1, eg__min(job->height, (int64_t)rint(rows)));
    out[3] = eg__max(1, eg__min(job->width, (int64_t)rint(columns)));
    out[0] = (job->height - out[2]) / 2;
    out[1] = (job->width - out[3]) / 2;
}

/* Once the size is known: the part, and for JPEG how much of it to decode at which scale. */
static void choose(eg__image_job *job)
{
    crop *c = job->user;
    int64_t box[4], s = 1;
    double ratio[2] = {c->o.ratio[0], c->o.ratio[1]};
    if (job->orientation > 4) { /* lies on its side */
        int64_t h = c->height;
        c->height = c->width;
        c->width = h;
        ratio[0] = 1 / c->o.ratio[1];
        ratio[1] = 1 / c->o.ratio[0];
    }
    if (c->o.centre > 0) {
        middle_box(job, c, box);
    } else {
        random_box(job->height, job->width, c->o.scale, ratio, c->u, box);
    }
    while (!c->o.exact && s < 8 && box[2] >= 2 * s * c->height && box[3] >= 2 * s * c->width) {
        s *= 2;
    }
    job->o.scale = (int)s;
    c->top = (double)box[0] / (double)s;
    c->left = (double)box[1] / (double)s;
    c->rows = (double)box[2] / (double)s;
    c->columns = (double)box[3] / (double)s;
    job->top = (int64_t)c->top;
    job->left = (int64_t)c->left;
    job->rows = (int64_t)ceil(c->top + c->rows) - job->top;
    job->columns = (int64_t)ceil(c->left + c->columns) - job->left;
}

/* The pixels that output place i reads: from *a, below the result. */
typedef struct axis {
    double start, span; /* the part, in pixels of 0..limit-1 */
    int64_t limit, count;
    double step, reach;
} axis;

static int64_t reads(const axis *t, int64_t i, int64_t *a, double *centre)
{
    *centre = t->start + ((double)i + 0.5) * t->step;
    double low = fmax(*centre - t->reach, floor(t->start));
    double high = fmin(*centre + t->reach, ceil(t->start + t->span));
    *a = eg__min(eg__max(0, (int64_t)floor(low + 0.5)), t->limit - 1);
    return eg__max(*a + 1, eg__min(t->limit, (int64_t)ceil(high - 0.5)));
}

/* Triangular filter, widened where it shrinks; pixels outside are left out. `mirror` turns the
 * places round. All memory is one block, at `first`. With `within` no place reads past the limit,
 * not even with weight 0. */
static bool make_taps(eg__taps *t, axis x, bool mirror, bool within)
{
    int64_t a, b, many = 1;
    double centre;
    x.step = x.span / (double)x.count;
    x.reach = fmax(x.step, 1);
    for (int64_t i = 0; i < x.count; i++) {
        b = reads(&x, i, &a, &centre);
        many = eg__max(many, b - a);
    }
    size_t ints = ((size_t)x.count * sizeof(int) + 63) / 64 * 64;
    size_t floats = (size_t)x.count * (size_t)many * sizeof(float);
    char *p = eg__malloc(ints + floats);
    if (!p) {
        return false;
    }
    int *first = (int *)p;
    float *weight = memset(p + ints, 0, floats);
    *t = (eg__taps){(int)x.count, (int)many, first, weight};
    for (int64_t i = 0; i < x.count; i++) {
        int64_t place = mirror ? x.count - 1 - i : i;
        b = reads(&x, i, &a, &centre);
        int64_t from = within ? eg__min(a, x.limit - many) : a;
        float *w = weight + place * many;
        double sum = 0;
        for (int64_t k = a; k < b; k++) {
            sum += fmax(0, 1 - fabs(((double)k + 0.5 - centre) / x.reach));
        }
        for (int64_t k = a; k < b; k++) {
            double v = fmax(0, 1 - fabs(((double)k + 0.5 - centre) / x.reach));
            w[k - from] = sum > 0 ? (float)(v / sum) : k == a;
        }
        first[place] = (int)from;
    }
    return true;
}

EG__LOOP(eg__shrink_fn, eg__shrink_run, best_shrink)

/* The part of job->pixels as f32 [height, width, 3]. */
static eg_tensor *shrink(const eg__image_job *job, const crop *c)
{
    int64_t rows = job->pixels->shape[0], columns = job->pixels->shape[1];
    bool mirror = !c->o.no_flip && c->o.centre <= 0 && c->u[DRAWS] < 0.5;
    eg__shrink s = {
        .from = (const uint8_t *)eg__ptr(job->pixels), .stride = 4 * columns, .columns = columns, .step = 4};
    for (int k = 0; k < 3; k++) {
        double std = c->o.std[k] ? c->o.std[k] : 1;
        s.scale[k] = (float)(1 / (255 * std));
        s.offset[k] = (float)(-c->o.mean[k] / std);
    }
    /* job->left is where the part's first whole column lies in what was decoded. */
    axis down = {c->top - floor(c->top), c->rows, rows, c->height, 0, 0};
    axis right = {(double)job->left + c->left - floor(c->left), c->columns, columns, c->width, 0, 0};
    bool lies = job->orientation > 4; /* on its side: what will be left and right is above and below */
    bool ok = make_taps(&s.down, down, mirror && lies, true) && make_taps(&s.right, right, mirror && !lies, false);
    size_t room = ok ? 4 * ((size_t)columns + (size_t)s.right.many) * sizeof(float) : 0;
    size_t line = (3 * (size_t)c->width + 1) * sizeof(float);
    s.row = ok ? eg__malloc(room + line) : NULL;
    eg_tensor *to = NULL;
    if (!s.row) {
        eg__no_memory(me, (int64_t)(room + line));
    } else if ((to = eg__empty_on(0, EG_SHAPE(c->height, c->width, 3), EG_F32))) {
        memset(s.row, 0, room);
        s.last = s.row + room / sizeof(float);
        s.to = (float *)eg__ptr(to);
        best_shrink()(&s);
    }
    free((void *)s.down.first);
    free((void *)s.right.first);
    free(s.row);
    return to;
}

static eg_tensor *decode(eg__image_job *job, crop *c)
{
    if (eg__image_run(job)) {
        return NULL;
    }
    if (!job->rows) { /* a codec that does not ask */
        c->o.exact = true;
        choose(job);
        eg_tensor *part = eg_slice(eg_slice(job->pixels, 0, job->top, job->top + job->rows, 1), 1, job->left,
                                   job->left + job->columns, 1);
        job->left = 0;
        job->pixels = eg_contiguous(part);
    }
    eg_tensor *t = job->pixels ? shrink(job, c) : NULL;
    return t ? eg_permute(eg__image_orient(t, job->orientation), EG_AXES(2, 0, 1)) : NULL;
}

static eg_status check(const eg_random_crop_options *o, int64_t height, int64_t width)
{
    eg_status st = check_ranges(me, o->scale, o->ratio);
    if (height < 1 || width < 1 || height > 1 << 20 || width > 1 << 20) {
        return eg__fail(EG_ESHAPE, me, "%lld x %lld pixels", (long long)height, (long long)width);
    }
    if (!(o->centre >= 0 && o->centre <= 1)) {
        return eg__fail(EG_EINVAL, me, "centre is %g, must be in 0..1", o->centre);
    }
    for (int c = 0; c < 3; c++) {
        if (!isfinite(o->mean[c]) || !isfinite(o->std[c])) {
            return eg__fail(EG_EINVAL, me, "mean %g, std %g", o->mean[c], o->std[c]);
        }
    }
    return st;
}

eg_tensor *eg_image_decode_crop_with(const void *data, size_t bytes, int64_t height, int64_t width,
                                     const eg_random_crop_options *options)
{
    crop c = {.height = height, .width = width};
    eg__image_job job;
    eg__options(&c.o, sizeof c.o, options);
    if (c.o.scale[0] == 0 && c.o.scale[1] == 0) {
        c.o.scale[0] = 0.08;
        c.o.scale[1] = 1;
    }
    if (c.o.ratio[0] == 0 && c.o.ratio[1] == 0) {
        c.o.ratio[0] = 3.0 / 4;
        c.o.ratio[1] = 4.0 / 3;
    }
    eg_image_options as = {.size = sizeof as, .channels = 4, .max_pixels = c.o.max_pixels};
    if (check(&c.o, height, width) || eg__image_begin(&job, me, "memory", data, bytes, &as)) {
        return NULL;
    }
    draw(c.u, DRAWS + 1);
    job.choose = choose;
    job.user = &c;
    eg_scope s = eg_scope_push();
    return s.depth ? eg_scope_pop(s, decode(&job, &c)) : NULL;
}
