/* preprocess.c - recipes by name, and images going through them. */
#include <egret/data/preprocess.h>
#include <egret/ops.h>
#include <math.h>
#include <stdio.h>

#include "data/image/checks.h"
#include "data/image/codec.h"
#include "data/image/recipe.h"

/* ---- by name --------------------------------------------------------------------------------------- */

int eg_preprocess_count(void)
{
    return eg__recipe_count;
}

eg_preprocess_info eg_preprocess_at(int i)
{
    if (i < 0 || i >= eg__recipe_count) {
        eg__fail(EG_EINDEX, "eg_preprocess_at", "there are %d recipes, none has the number %d", eg__recipe_count, i);
        return (eg_preprocess_info){.name = NULL};
    }
    return eg__recipes[i].info;
}

static const eg__recipe *find(const char *op, const char *name)
{
    char known[160] = "";
    if (!name) {
        return eg__null_argument(op, "name"), NULL;
    }
    for (int i = 0; i < eg__recipe_count; i++) {
        const char *n = eg__recipes[i].info.name;
        size_t end = strlen(known);
        if (!strcmp(n, name)) {
            return &eg__recipes[i];
        }
        snprintf(known + end, sizeof known - end, "%s%s", i ? ", " : "", n);
    }
    return eg__fail_null(EG_EINDEX, op, "there is no recipe \"%.40s\", but %s", name, known);
}

eg_preprocess_info eg_preprocess_find(const char *name)
{
    const eg__recipe *r = find("eg_preprocess_find", name);
    return r ? r->info : (eg_preprocess_info){.name = NULL};
}

/* ---- options --------------------------------------------------------------------------------------- */

enum { MOST_SIDE = 1 << 16 };

static eg_status check_options(const char *op, const eg_preprocess_options *o)
{
    const struct {
        const char *name;
        int64_t value, most;
    } counts[] = {{"side", o->side, MOST_SIDE},
                  {"height", o->height, MOST_SIDE},
                  {"width", o->width, MOST_SIDE},
                  {"shorter[0]", o->shorter[0], MOST_SIDE},
                  {"shorter[1]", o->shorter[1], MOST_SIDE},
                  {"padding", eg__or_count(o->padding, 4), MOST_SIDE},
                  {"place", o->place, INT64_MAX},
                  {"filter", (int64_t)o->filter, EG_FILTER_IN_TURN}};
    for (int i = 0; i < EG__COUNT(counts); i++) {
        if (counts[i].value < 0 || counts[i].value > counts[i].most) {
            return eg__fail(EG_EINVAL, op, "%s is %lld, must be 0..%lld", counts[i].name, (long long)counts[i].value,
                            (long long)counts[i].most);
        }
    }
    if (o->channels != 0 && o->channels != 1 && o->channels != 3) {
        return eg__fail(EG_EINVAL, op, "channels is %lld, must be 1 or 3", (long long)o->channels);
    }
    double centre = eg__or(o->centre, 0.875);
    return centre > 0 && centre <= 1 ? EG_OK : eg__fail(EG_EINVAL, op, "centre is %g, must be above 0, to 1", centre);
}

static eg_status begin(eg__preparation *p, const char *op, const char *name, const eg_preprocess_options *options)
{
    *p = (eg__preparation){.op = op};
    eg__options(&p->o, sizeof p->o, options);
    p->by = find(op, name);
    eg_status st = p->by ? check_options(op, &p->o) : eg__why();
    if (!st) {
        int64_t side = p->o.side ? p->o.side : p->by->info.side;
        p->o.channels = p->o.channels ? p->o.channels : p->by->info.channels;
        p->view.height = p->o.height ? p->o.height : side;
        p->view.width = p->o.width ? p->o.width : side;
    }
    return st;
}

/* What is looked at of an image of this size. */
static eg_status plan(eg__preparation *p, eg__sampler *s, int64_t rows, int64_t columns)
{
    if (rows < 1 || columns < 1 || rows > INT32_MAX || columns > INT32_MAX) {
        return eg__fail(EG_ESHAPE, p->op, "an image of %lld x %lld pixels", (long long)rows, (long long)columns);
    }
    p->rows = rows;
    p->columns = columns;
    eg_status st = p->o.train ? p->by->train(p) : p->by->evaluate(p);
    return st ? st : eg__sampler_make(s, p->op, &p->view);
}

/* ---- numbers --------------------------------------------------------------------------------------- */

static const double gray_of[3] = {0.2989, 0.587, 0.114};

static double gray(const double v[3])
{
    return gray_of[0] * v[0] + gray_of[1] * v[1] + gray_of[2] * v[2];
}

/* What becomes of values in units of 1 / unit: a x + b. */
static eg__tone finish(const eg__preparation *p, double unit)
{
    const eg__recipe *r = p->by;
    eg__tone t = eg__tone_line(1, 0);
    for (int c = 0; c < p->o.channels; c++) {
        bool one = p->o.channels == 1;
        double mean = one ? gray(r->mean) / gray((double[3]){1, 1, 1}) : r->mean[c];
        double std = one ? gray(r->std) / gray((double[3]){1, 1, 1}) : r->std[c];
        t.a[c] = (float)(1 / (unit * std));
        t.b[c] = (float)(-mean / std);
    }
    return t;
}

/* [H, W, n] of another number of channels. */
static eg_tensor *other_channels(const eg_tensor *from, int64_t channels)
{
    eg_tensor *to = eg__empty_on(0, EG_SHAPE(from->shape[0], from->shape[1], channels), EG_F32);
    const float *p = (const float *)eg__ptr(from);
    float *q = to ? (float *)eg__ptr(to) : NULL;
    for (int64_t i = 0; to && i < from->shape[0] * from->shape[1]; i++) {
        if (channels == 1) {
            q[i] = (float)gray_of[0] * p[3 * i] + (float)gray_of[1] * p[3 * i + 1] + (float)gray_of[2] * p[3 * i + 2];
        } else {
            q[3 * i] = q[3 * i + 1] = q[3 * i + 2] = p[i];
        }
    }
    return to;
}

/* Mean 0, deviation 1, or less where there is next to none. */
static eg__tone standard(const float *p, int64_t n)
{
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += (double)p[i];
    }
    for (int64_t i = 0; i < n; i++) {
        double d = (double)p[i] - sum / (double)n;
        squares += d * d;
    }
    double std = fmax(sqrt(squares / (double)n), 1 / sqrt((double)n));
    return eg__tone_line(1 / std, -sum / (double)n / std);
}

/* pixels begin at (top, left) of the image. */
static eg_tensor *prepare(eg__preparation *p, const eg__sampler *s, const eg_tensor *pixels, int64_t top, int64_t left)
{
    const eg__recipe *r = p->by;
    bool direct = eg__min(pixels->shape[2], 3) == p->o.channels && !p->changes && !r->standardise;
    double unit = direct ? 1 : r->unit;
    eg__tone first = direct ? finish(p, 1) : eg__tone_line(unit, 0), last[2];
    eg_tensor *y = eg__sampler_run(s, p->op, pixels, top, left, first.a, first.b);
    y = y && y->shape[2] != p->o.channels ? other_channels(y, p->o.channels) : y;
    if (y && !direct) {
        int lasts = 0, channels = (int)p->o.channels;
        eg__toning t = {.p = (float *)eg__ptr(y), .pixels = y->n / channels, .channels = channels};
        if (r->limited && p->changes) {
            last[lasts++] = (eg__tone){EG__TONE_LIMIT, {0}, {1}};
        }
        last[lasts++] = finish(p, unit);
        eg__colour_run(&t, p->change, p->changes, last, lasts);
        if (r->standardise) {
            last[0] = standard(t.p, y->n);
            eg__colour_run(&t, NULL, 0, last, 1);
        }
    }
    return eg_permute(y, EG_AXES(2, 0, 1));
}

/* ---- the calls ------------------------------------------------------------------------------------- */

eg_tensor *eg_preprocess_with(const char *name, eg_tensor *image, const eg_preprocess_options *options)
{
    static const char op[] = "eg_preprocess";
    eg__preparation p;
    eg__sampler s = {.top = 0};
    if (eg__check_image(image, op) || eg__host_only(image, op, "image") || begin(&p, op, name, options)) {
        return NULL;
    }
    int64_t channels = image->shape[0];
    if (image->ndim != 3 || image->dtype != EG_U8 || channels == 2 || channels < 1 || channels > 4) {
        return eg__fail_null(image->dtype != EG_U8 ? EG_EDTYPE : EG_ESHAPE, op,
                             "%s %s is not an image of 1, 3 or 4 channels, u8 [C, H, W]",
                             eg_dtype_name((eg_dtype)image->dtype), EG__SHAPE_OF(image));
    }
    eg_scope scope = eg_scope_push();
    eg_tensor *y = NULL;
    if (scope.depth && !plan(&p, &s, image->shape[1], image->shape[2])) {
        eg_tensor *pixels = eg_contiguous(eg_permute(image, EG_AXES(1, 2, 0)));
        y = pixels ? prepare(&p, &s, pixels, 0, 0) : NULL;
    }
    eg__sampler_free(&s);
    return scope.depth ? eg_scope_pop(scope, y) : NULL;
}

typedef struct encoded {
    eg__preparation p;
    eg__sampler s;
    eg_status st;
    bool planned;
    int64_t left; /* of the part that was asked for */
} encoded;

/* What a decoder makes at the border of a part is not what it makes there inside of the whole. */
enum { MARGIN = 4 };

/* Once the size is known: which part to decode. One that lies on its side is turned whole. */
static void choose(eg__image_job *job)
{
    encoded *e = job->user;
    if (job->orientation != 1) {
        return;
    }
    e->planned = true;
    e->st = plan(&e->p, &e->s, job->height, job->width);
    if (!e->st) {
        job->top = e->s.top;
        job->rows = e->s.rows;
        job->left = e->left = eg__max(e->s.left - MARGIN, 0);
        job->columns = eg__min(e->s.left + e->s.columns + MARGIN, job->width) - job->left;
    }
}

static eg_tensor *decode(eg__image_job *job, encoded *e)
{
    if (eg__image_run(job)) {
        return NULL;
    }
    if (e->planned) { /* job->left is now where the part begins in what was decoded */
        return e->st ? NULL : prepare(&e->p, &e->s, job->pixels, job->top, e->left - job->left);
    }
    eg_tensor *pixels = eg__image_orient(job->pixels, job->orientation);
    bool ready = pixels && !plan(&e->p, &e->s, pixels->shape[0], pixels->shape[1]);
    return ready ? prepare(&e->p, &e->s, pixels, 0, 0) : NULL;
}

eg_tensor *eg_preprocess_decode_with(const char *name, const void *data, size_t bytes,
                                     const eg_preprocess_options *options)
{
    static const char op[] = "eg_preprocess_decode";
    encoded e = {.st = EG_OK};
    eg__image_job job;
    if (begin(&e.p, op, name, options)) {
        return NULL;
    }
    eg_image_options as = {.size = sizeof as, .max_pixels = e.p.o.max_pixels};
    if (eg__image_begin(&job, op, "memory", data, bytes, &as)) {
        return NULL;
    }
    job.choose = choose;
    job.user = &e;
    eg_scope scope = eg_scope_push();
    eg_tensor *y = scope.depth ? decode(&job, &e) : NULL;
    eg__sampler_free(&e.s);
    return scope.depth ? eg_scope_pop(scope, y) : NULL;
}
