/* masks.c - polygons and runs, as COCO's tools (maskApi) read and write them.
 *
 * Runs go down the columns, from left to right: so many zeros, so many ones, and so on. In letters each is 5 bits to
 * one, from '0' up, 32 more where another follows, with a sign; from the third on it is what a run is longer than the
 * one before the last. */
#include <math.h>
#include <stdlib.h>

#include "data/photos/photos.h"
#include "lib/core/counted.h"
#include "lib/core/device.h"
#include "lib/core/memory.h"

/* ---- polygons ------------------------------------------------------------------------------------ */

enum { FINE = 5, FAR = 8 }; /* a pixel is 5 x 5; no corner is further away than so many times both sides */

/* Where the inside begins or ends, column by column: `turns` in the order of runs, one more than there are pixels. */
typedef struct canvas {
    int64_t height, width;
    uint8_t *turns;
} canvas;

static eg_status canvas_new(const char *op, canvas *c, int64_t height, int64_t width)
{
    const int64_t n = height * width + 1;
    *c = (canvas){height, width, eg__counted_alloc((size_t)n)};
    if (!c->turns) {
        return eg__no_memory(op, n);
    }
    memset(c->turns, 0, (size_t)n);
    return EG_OK;
}

/* Puts ones where an odd number of turns lies behind, and forgets them. */
static void fill(canvas *c, uint8_t *mask)
{
    uint8_t inside = 0;
    for (int64_t x = 0, i = 0; x < c->width; x++) {
        for (int64_t y = 0; y < c->height; y++, i++) {
            inside ^= c->turns[i];
            mask[y * c->width + x] |= inside;
        }
    }
    memset(c->turns, 0, (size_t)(c->height * c->width + 1));
}

/* The outline comes from (u, v) to (u1, v1), a fine step away: where it crosses the middle of a column of pixels, the
 * pixels from there on turn. */
static void step(canvas *c, int64_t u, int64_t v, int64_t u1, int64_t v1)
{
    if (u1 == u) {
        return;
    }
    const double x = ((double)(u1 < u ? u1 : u1 - 1) + 0.5) / FINE - 0.5;
    if (floor(x) != x || x < 0 || x > (double)(c->width - 1)) {
        return;
    }
    const double y = ((double)eg__min(v, v1) + 0.5) / FINE - 0.5;
    const int64_t row = (int64_t)ceil(fmin(fmax(y, 0), (double)c->height));
    c->turns[(int64_t)x * c->height + row] ^= 1;
}

typedef struct pen {
    canvas *c;
    int64_t u, v;
    bool down;
} pen;

static void go_to(pen *p, int64_t u, int64_t v)
{
    if (p->down) {
        step(p->c, p->u, p->v, u, v);
    }
    p->u = u;
    p->v = v;
    p->down = true;
}

/* Along one side, in fine steps of the axis it is longer in; always computed from its lower end. */
static void draw_side(pen *p, const int64_t *a, const int64_t *b)
{
    const int64_t dx = llabs(b[0] - a[0]), dy = llabs(b[1] - a[1]), n = eg__max(dx, dy);
    const bool flat = dx >= dy, back = flat ? a[0] > b[0] : a[1] > b[1];
    const int64_t *from = back ? b : a, *to = back ? a : b;
    const double slope = !n     ? 0
                         : flat ? (double)(to[1] - from[1]) / (double)dx
                                : (double)(to[0] - from[0]) / (double)dy;
    for (int64_t i = 0; i <= n; i++) {
        const int64_t t = back ? n - i : i;
        const int64_t beside = (int64_t)((double)from[flat] + slope * (double)t + 0.5);
        go_to(p, flat ? from[0] + t : beside, flat ? beside : from[1] + t);
    }
}

/* A polygon; false: it has a corner that is not finite, or far away, for which steps would not end. */
static bool draw(canvas *c, const double *corner, int64_t n)
{
    pen p = {.c = c};
    for (int64_t i = 0; i < 2 * n; i++) {
        if (!(fabs(corner[i]) <= FAR * (double)(c->height + c->width))) {
            return false;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        const double *a = corner + 2 * i, *b = corner + 2 * ((i + 1) % n);
        draw_side(&p, (int64_t[]){(int64_t)(FINE * a[0] + 0.5), (int64_t)(FINE * a[1] + 0.5)},
                  (int64_t[]){(int64_t)(FINE * b[0] + 0.5), (int64_t)(FINE * b[1] + 0.5)});
    }
    return true;
}

static eg_status check_sides(const char *op, int64_t height, int64_t width)
{
    return height >= 1 && width >= 1 && height <= EG__MASK_MOST && width <= EG__MASK_MOST
               ? EG_OK
               : eg__fail(EG_EINVAL, op, "a mask of %lld x %lld: 1 to %d can be", (long long)height, (long long)width,
                          EG__MASK_MOST);
}

static eg_tensor *zeros(int64_t height, int64_t width)
{
    return eg__full_on(0, EG_SHAPE(height, width), 0, EG_U8);
}

eg_tensor *eg_mask_polygon(eg_tensor *corners, int64_t height, int64_t width)
{
    static const char op[] = "eg_mask_polygon";
    canvas c;
    if (eg__check(corners, op, "corners") || check_sides(op, height, width) || eg__host_only(corners, op, "corners")) {
        return NULL;
    }
    if (corners->ndim != 2 || corners->shape[1] != 2 || corners->shape[0] < 1) {
        return eg__fail_null(EG_ESHAPE, op, "corners has shape %s, not [k, 2]", EG__SHAPE_OF(corners));
    }
    if (corners->dtype == EG_BOOL) {
        return eg__fail_null(EG_EDTYPE, op, "corners is bool");
    }
    eg_scope scope = eg_scope_push();
    eg_tensor *exact = scope.depth ? eg_contiguous(eg_cast(eg_detach(corners), EG_F64)) : NULL;
    eg_tensor *mask = exact ? zeros(height, width) : NULL;
    if (mask && !canvas_new(op, &c, height, width)) {
        if (draw(&c, (const double *)eg__ptr(exact), exact->shape[0])) {
            fill(&c, (uint8_t *)eg__ptr(mask));
        } else {
            eg__fail(EG_EINVAL, op, "a corner is not finite, or further away than %d times both sides", FAR);
            mask = NULL;
        }
        eg__counted_free(c.turns);
    } else {
        mask = NULL;
    }
    return scope.depth ? eg_scope_pop(scope, mask) : NULL;
}

/* ---- runs ------------------------------------------------------------------------------------------ */

/* Puts ones from place `at` on, in the order of runs; false: there is no such place. */
static bool put_run(int64_t *at, int64_t n, bool ones, int64_t height, int64_t width, uint8_t *mask)
{
    if (n < 0 || n > height * width - *at) {
        return false;
    }
    for (int64_t i = *at; ones && i < *at + n; i++) {
        mask[i % height * width + i / height] = 1;
    }
    *at += n;
    return true;
}

/* The number at *s, which moves on; false: there is none. */
static bool read_number(const char **s, int64_t *v)
{
    uint64_t bits = 0;
    for (int k = 0; k < 60; k += 5) {
        const int c = **s - '0';
        if (c < 0 || c > 63) {
            return false;
        }
        ++*s;
        bits |= (uint64_t)(c & 31) << k;
        if (!(c & 32)) {
            *v = c & 16 ? (int64_t)(bits | ~(uint64_t)0 << (k + 5)) : (int64_t)bits;
            return true;
        }
    }
    return false;
}

static bool put_letters(const char *s, size_t bytes, int64_t height, int64_t width, uint8_t *mask)
{
    const char *end = s + bytes;
    int64_t at = 0, before[2] = {0, 0};
    for (int64_t k = 0; s < end; k++) {
        int64_t n;
        if (!read_number(&s, &n) || s > end) {
            return false;
        }
        n += k > 2 ? before[0] : 0;
        before[0] = before[1];
        before[1] = n;
        if (!put_run(&at, n, k % 2, height, width, mask)) {
            return false;
        }
    }
    return at == height * width;
}

eg_tensor *eg_mask_decode(const char *runs, int64_t height, int64_t width)
{
    static const char op[] = "eg_mask_decode";
    if (!runs) {
        return eg__null_argument(op, "runs"), NULL;
    }
    if (check_sides(op, height, width)) {
        return NULL;
    }
    eg_scope scope = eg_scope_push();
    eg_tensor *mask = scope.depth ? zeros(height, width) : NULL;
    if (mask && !put_letters(runs, strlen(runs), height, width, (uint8_t *)eg__ptr(mask))) {
        eg__fail(EG_EFORMAT, op, "these are no runs of %lld x %lld pixels", (long long)height, (long long)width);
        mask = NULL;
    }
    return scope.depth ? eg_scope_pop(scope, mask) : NULL;
}

static bool write_number(eg__bytes *out, int64_t v)
{
    for (;;) {
        const uint8_t five = v & 31;
        v >>= 5;
        const bool more = five & 16 ? v != -1 : v != 0;
        const uint8_t c = (uint8_t)('0' + five + (more ? 32 : 0));
        if (!eg__bytes_add(out, &c, 1) || !more) {
            return out->n > 0;
        }
    }
}

/* Behind each run that ends. */
static bool write_run(eg__bytes *out, int64_t k, int64_t n, int64_t *before)
{
    const bool ok = write_number(out, n - (k > 2 ? before[0] : 0));
    before[0] = before[1];
    before[1] = n;
    return ok;
}

static bool write_runs(const uint8_t *mask, int64_t height, int64_t width, eg__bytes *out)
{
    int64_t k = 0, n = 0, before[2] = {0, 0};
    bool ok = true;
    for (int64_t i = 0; i < height * width && ok; i++) {
        const bool one = mask[i % height * width + i / height] != 0;
        if (one != (k % 2 == 1)) {
            ok = write_run(out, k++, n, before);
            n = 0;
        }
        n++;
    }
    return ok && write_run(out, k, n, before);
}

eg_tensor *eg_mask_encode(eg_tensor *mask)
{
    static const char op[] = "eg_mask_encode";
    if (eg__check(mask, op, "mask") || eg__host_only(mask, op, "mask")) {
        return NULL;
    }
    if (mask->ndim != 2) {
        return eg__fail_null(EG_ESHAPE, op, "mask has shape %s, not [H, W]", EG__SHAPE_OF(mask));
    }
    if (mask->dtype != EG_U8 && mask->dtype != EG_BOOL) {
        return eg__fail_null(EG_EDTYPE, op, "mask is %s, not u8 or bool", eg_dtype_name((eg_dtype)mask->dtype));
    }
    if (check_sides(op, mask->shape[0], mask->shape[1])) {
        return NULL;
    }
    eg_scope scope = eg_scope_push();
    eg_tensor *dense = scope.depth ? eg_contiguous(mask) : NULL, *text = NULL;
    eg__bytes out = {0};
    if (dense && write_runs((const uint8_t *)eg__ptr(dense), mask->shape[0], mask->shape[1], &out)) {
        text = eg__bytes_tensor(out.p, out.n);
    } else if (dense) {
        eg__no_memory(op, out.n);
    }
    eg__bytes_free(&out);
    return scope.depth ? eg_scope_pop(scope, text) : NULL;
}

/* ---- what COCO's files say ----------------------------------------------------------------------------- */

static bool add_polygon(const char *op, const eg_json *list, canvas *c, uint8_t *mask, eg_status *st)
{
    const int64_t n = eg_json_kind_of(list) == EG_JSON_ARRAY ? eg_json_count(list) : 0;
    double *corner = n >= 6 && n % 2 == 0 ? eg__counted_alloc((size_t)n * sizeof *corner) : NULL;
    if (!corner) {
        *st = n >= 6 && n % 2 == 0 ? eg__no_memory(op, n) : EG_OK;
        return false;
    }
    for (int64_t i = 0; i < n; i++) {
        corner[i] = eg_json_kind_of(eg_json_at(list, i)) == EG_JSON_NUMBER ? eg_json_number(eg_json_at(list, i)) : NAN;
    }
    const bool drawn = draw(c, corner, n / 2);
    eg__counted_free(corner);
    fill(c, mask);
    return drawn;
}

static bool add_polygons(const char *op, const eg_json *all, int64_t height, int64_t width, uint8_t *mask,
                         eg_status *st)
{
    canvas c;
    *st = canvas_new(op, &c, height, width);
    bool ok = !*st && eg_json_count(all) > 0;
    for (int64_t i = 0; ok && i < eg_json_count(all); i++) {
        ok = add_polygon(op, eg_json_at(all, i), &c, mask, st);
    }
    eg__counted_free(c.turns);
    return ok;
}

static bool add_numbers(const eg_json *list, int64_t height, int64_t width, uint8_t *mask)
{
    int64_t at = 0, n;
    for (int64_t k = 0; k < eg_json_count(list); k++) {
        const eg_json *v = eg_json_at(list, k);
        if (eg_json_kind_of(v) != EG_JSON_NUMBER || eg_json_integer(v, &n) ||
            !put_run(&at, n, k % 2, height, width, mask)) {
            return false;
        }
    }
    return at == height * width;
}

static bool add_runs(const eg_json *runs, int64_t height, int64_t width, uint8_t *mask)
{
    const eg_json *counts = eg_json_get(runs, "counts");
    if (counts && eg_json_kind_of(counts) == EG_JSON_TEXT) {
        size_t bytes;
        const char *text = eg_json_text(counts, &bytes);
        return put_letters(text, bytes, height, width, mask);
    }
    return counts && eg_json_kind_of(counts) == EG_JSON_ARRAY && add_numbers(counts, height, width, mask);
}

eg_status eg__mask_add(const char *op, const eg_json *outline, int64_t height, int64_t width, uint8_t *mask)
{
    eg_status st = check_sides(op, height, width);
    if (st || !outline) {
        return st;
    }
    const bool ok = eg_json_kind_of(outline) == EG_JSON_ARRAY ? add_polygons(op, outline, height, width, mask, &st)
                                                              : add_runs(outline, height, width, mask);
    return st || ok ? st : eg__fail(EG_EFORMAT, op, "a segmentation is neither polygons nor runs of the photo's size");
}
