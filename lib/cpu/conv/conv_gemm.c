/* conv_gemm.c - convolutions as products of matrices: for f64, for shapes oneDNN has no kernel for,
 * for builds without it, and where there are so few windows that rearranging the weight for oneDNN
 * would cost more than the convolution. The cells under each window become a row of a matrix,
 * channels outermost and taps innermost, so that a weight [o, c, k...] is the other matrix as it
 * lies. */
#include "lib/cpu/conv/conv.h"
#include "lib/cpu/matrix/sparse.h"

eg__conv_way ISA(eg__conv_gemm);
eg__conv_perhaps ISA(eg__conv_sparse);

enum { BLOCK_BYTES = 4 << 20, TAPS = 16 };

/* Windows of a block: whole images, or of one image a slab along its outermost axis. */
typedef struct block {
    const eg__conv_job *j;
    int axis;              /* outermost of the spatial ones */
    int64_t group, n0, n;  /* images */
    int64_t p0, p;         /* windows along the axis */
    int64_t rest;          /* windows of one such row */
    int64_t first;         /* cell row of x that scattering begins with */
    int64_t each, taps;    /* channels of a group of x, taps of the kernel */
    char *col, *image, *w; /* col: NULL where x itself is the matrix */
    const char *zeros;     /* `each` of them, what lies outside x */
} block;

static int64_t rows_of(const block *b)
{
    return b->n * b->p * b->rest;
}

/* First channel of the block's group in cell (n, in[]), in elements. */
static int64_t cell(const block *b, int64_t n, const int64_t in[3])
{
    const eg__conv_geometry *g = &b->j->g;
    return (((n * g->in[0] + in[0]) * g->in[1] + in[1]) * g->in[2] + in[2]) * g->c + b->group * b->each;
}

/* Image and window of row r of the block. */
static int64_t window(const block *b, int64_t r, int64_t at[3])
{
    const int64_t *out = b->j->g.out;
    int64_t slab = r / b->rest, in = r % b->rest;
    at[2] = in % out[2];
    at[1] = b->axis == 1 ? slab % b->p + b->p0 : in / out[2];
    at[0] = b->axis == 1 ? 0 : slab % b->p + b->p0;
    return b->n0 + slab / b->p;
}

/* Element of x under tap t of the window, -1 outside. */
static int64_t under(const block *b, int64_t n, const int64_t p[3], int64_t t)
{
    const eg__conv_geometry *g = &b->j->g;
    const int64_t tap[3] = {t / (g->k[1] * g->k[2]), t / g->k[2] % g->k[1], t % g->k[2]};
    int64_t in[3];
    for (int d = 0; d < 3; d++) {
        in[d] = eg__conv_at(g, d, p[d], tap[d]);
        if (in[d] < 0 || in[d] >= g->in[d]) {
            return -1;
        }
    }
    return cell(b, n, in);
}

/* The window whose tap t lies on cell i along axis d, -1 if none. */
static int64_t window_over(const eg__conv_geometry *g, int d, int64_t i, int64_t t)
{
    int64_t at = i + g->before[d] - t * g->dilation[d];
    return at >= 0 && at % g->stride[d] == 0 && at / g->stride[d] < g->out[d] ? at / g->stride[d] : -1;
}

/* Row of the block whose tap t lies on cell in[] of image n (counted from the block's first), -1 if
 * none. */
static int64_t row_over(const block *b, int64_t n, const int64_t in[3], int64_t t)
{
    const eg__conv_geometry *g = &b->j->g;
    int64_t z = window_over(g, 0, in[0], t / (g->k[1] * g->k[2]));
    int64_t y = window_over(g, 1, in[1], t / g->k[2] % g->k[1]), x = window_over(g, 2, in[2], t % g->k[2]);
    int64_t slab = (b->axis == 1 ? y : z) - b->p0;
    if (z < 0 || y < 0 || x < 0 || slab < 0 || slab >= b->p) {
        return -1;
    }
    return (n * b->p + slab) * b->rest + (b->axis == 1 ? x : y * g->out[2] + x);
}

/* Cell i of the region that the block's windows reach: its image, counted from the block's first.
 */
static int64_t reached(const block *b, int64_t i, int64_t in[3])
{
    const int64_t *size = b->j->g.in;
    int64_t plane = size[2] * (b->axis == 1 ? 1 : size[1]), per = plane * (size[b->axis] - b->first);
    int64_t n = b->n > 1 ? i / per : 0, r = i - n * per;
    in[0] = 0;
    in[1] = r / size[2] % size[1];
    in[2] = r % size[2];
    in[b->axis] = b->first + r / plane;
    return n;
}

#define T        float
#define FN(name) name##_f32
#include "lib/cpu/conv/conv_gemm_loops.h"
#undef T
#undef FN
#define T        double
#define FN(name) name##_f64
#include "lib/cpu/conv/conv_gemm_loops.h"
#undef T
#undef FN

static void gather(block *b)
{
    int64_t grain = eg__max(EG__GRAIN / (b->each * b->taps), 1);
    eg__parallel(rows_of(b), grain, b->j->x->dtype == EG_F64 ? gather_f64 : gather_f32, b);
}

static void scatter(block *b)
{
    const eg__conv_geometry *g = &b->j->g;
    int64_t end = g->in[b->axis], grain = eg__max(EG__GRAIN / (b->each * b->taps), 1);
    b->first = 0;
    if (b->n == 1) {
        b->first = eg__min(eg__max(eg__conv_at(g, b->axis, b->p0, 0), 0), end);
        end = eg__min(end, eg__conv_at(g, b->axis, b->p0 + b->p - 1, g->k[b->axis] - 1) + 1);
    }
    int64_t cells = eg__max(end - b->first, 0) * g->in[2] * (b->axis == 1 ? 1 : g->in[1]);
    eg__parallel(b->n * cells, grain, b->j->x->dtype == EG_F64 ? scatter_f64 : scatter_f32, b);
}

/* The product of a block; rows: its windows of y, col: those of x, w: the group's weight. */
static eg_status multiply(const block *b)
{
    const eg__conv_job *j = b->j;
    const eg__conv_geometry *g = &j->g;
    int64_t size = (int64_t)eg__esize(j->x), width = b->each * b->taps, each = g->o / g->groups;
    int64_t first = (b->n0 * g->out[b->axis] + b->p0) * b->rest;
    char *rows = eg__ptr(j->y) + (first * g->o + b->group * each) * size;
    char *col = b->col ? b->col : b->image + (first * g->c + b->group * b->each) * size;
    char *w = b->w + b->group * each * width * size;
    int64_t step = b->col ? width : g->c;
    eg__product p = {.dtype = j->x->dtype};
    bool done, fused;
    switch (j->result) {
    case EG__CONV_Y: /* [rows, o] = [rows, c k] [c k, o] */
        p.m = rows_of(b), p.k = width, p.n = each;
        p.a = col, p.ra = step, p.ca = 1;
        p.b = w, p.rb = 1, p.cb = width;
        p.y = rows, p.ry = g->o;
        break;
    case EG__CONV_X: /* [rows, c k] = [rows, o] [o, c k] */
        p.m = rows_of(b), p.k = each, p.n = width;
        p.a = rows, p.ra = g->o, p.ca = 1;
        p.b = w, p.rb = width, p.cb = 1;
        p.y = col, p.ry = step;
        break;
    case EG__CONV_W: /* [o, c k] += [o, rows] [rows, c k] */
        p.m = each, p.k = rows_of(b), p.n = width;
        p.a = rows, p.ra = 1, p.ca = g->o;
        p.b = col, p.rb = step, p.cb = 1;
        p.y = w, p.ry = width;
        p.add = first > 0;
        break;
    }
    return ISA(eg__product_run)(j->c, &p, &done, &fused);
}

static eg_status run_block(block *b)
{
    if (b->col && b->j->result != EG__CONV_X) {
        gather(b);
    }
    eg_status st = multiply(b);
    if (!st && b->col && b->j->result == EG__CONV_X) {
        scatter(b);
    }
    return st;
}

static eg_status all_blocks(block *b, int64_t images, int64_t slab)
{
    const eg__conv_geometry *g = &b->j->g;
    eg_status st = EG_OK;
    for (b->group = 0; b->group < g->groups && !st; b->group++) {
        for (b->n0 = 0; b->n0 < g->n && !st; b->n0 += images) {
            b->n = eg__min(images, g->n - b->n0);
            for (b->p0 = 0; b->p0 < g->out[b->axis] && !st; b->p0 += slab) {
                b->p = eg__min(slab, g->out[b->axis] - b->p0);
                st = run_block(b);
            }
        }
    }
    return st;
}

/* Whether x, as it is, is the matrix of windows. */
static bool pointwise(const eg__conv_geometry *g)
{
    bool plain = true;
    for (int d = 0; d < 3; d++) {
        plain = plain && g->k[d] == 1 && g->stride[d] == 1 && g->in[d] == g->out[d] && g->before[d] == 0;
    }
    return plain;
}

eg_status ISA(eg__conv_gemm)(const eg__conv_job *j)
{
    const eg__conv_geometry *g = &j->g;
    block b = {.j = j,
               .axis = j->x->ndim == 5 ? 0 : 1,
               .each = g->c / g->groups,
               .taps = g->k[0] * g->k[1] * g->k[2],
               .image = eg__ptr(j->x),
               .w = eg__ptr(j->w)};
    int64_t size = (int64_t)eg__esize(j->x);
    b.rest = g->out[2] * (b.axis == 1 ? 1 : g->out[1]);
    int64_t fit = eg__max(BLOCK_BYTES / size / b.taps / b.each / b.rest, 1); /* rows of windows */
    int64_t slab = eg__min(fit, g->out[b.axis]);
    int64_t images = slab < g->out[b.axis] ? 1 : eg__min(fit / slab, g->n);
    if (pointwise(g)) {
        return all_blocks(&b, g->n, g->out[b.axis]);
    }
    const int64_t shape[3] = {images * slab * b.rest + 1, b.each, b.taps};
    eg_tensor *work = eg__conv_temp(j, j->x->dtype, 3, shape); /* one row more: zeros */
    if (!work) {
        return eg__why();
    }
    b.col = eg__ptr(work);
    b.zeros = b.col + (shape[0] - 1) * b.each * b.taps * size;
    memset((char *)b.zeros, 0, (size_t)(b.each * size));
    if (j->result == EG__CONV_X) {
        memset(b.image, 0, (size_t)j->x->n * (size_t)size);
    }
    return all_blocks(&b, images, slab);
}

eg_status ISA(eg__conv_sparse)(const eg__conv_job *j, bool *done)
{
    const eg__conv_geometry *g = &j->g;
    const eg__product p = {.dtype = j->y->dtype,
                           .m = g->n * g->out[0] * g->out[1] * g->out[2],
                           .n = g->o,
                           .k = g->c,
                           .a = eg__ptr(j->x),
                           .b = eg__ptr(j->w),
                           .y = eg__ptr(j->y),
                           .ra = g->c,
                           .ca = 1,
                           .rb = j->w->strides[1],
                           .cb = j->w->strides[0],
                           .ry = g->o,
                           .keep = j->keep};
    return ISA(eg__product_sparse)(j->c, &p, done);
}
