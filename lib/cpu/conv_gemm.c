/* conv_gemm.c - convolutions as products of matrices, for f64, for shapes oneDNN has no kernel for
 * and for builds without it. The cells under each window become a row (taps outermost, channels
 * innermost) of a matrix, made and used a block of windows at a time. */
#include "lib/cpu/conv.h"
#include "lib/optable.h"

enum { BLOCK_BYTES = 4 << 20 };

/* Windows of a block: whole images, or of one image a slab along its outermost axis. */
typedef struct block {
    const eg__conv_job *j;
    int axis;             /* outermost of the spatial ones */
    int64_t group, n0, n; /* images */
    int64_t p0, p;        /* windows along the axis */
    int64_t rest;         /* windows of one such row */
    int64_t first;        /* cell row of x that col2im begins with */
    size_t run;           /* bytes of a group's channels */
    char *col, *image;
} block;

static int64_t taps_of(const eg__conv_shape *s)
{
    return s->k[0] * s->k[1] * s->k[2];
}

static int64_t rows_of(const block *b)
{
    return b->n * b->p * b->rest;
}

/* Where cell (n, in[]) of the block's group lies. */
static char *cell(const block *b, char *x, int64_t n, const int64_t in[3])
{
    const eg__conv_shape *s = &b->j->s;
    int64_t at = ((n * s->in[0] + in[0]) * s->in[1] + in[1]) * s->in[2] + in[2];
    return x + (at * s->groups + b->group) * (int64_t)b->run;
}

/* Image and window of row r of the block. */
static int64_t window(const block *b, int64_t r, int64_t at[3])
{
    const int64_t *out = b->j->s.out;
    int64_t slab = r / b->rest, in = r % b->rest;
    at[2] = in % out[2];
    at[1] = b->axis == 1 ? slab % b->p + b->p0 : in / out[2];
    at[0] = b->axis == 1 ? 0 : slab % b->p + b->p0;
    return b->n0 + slab / b->p;
}

static void gather_rows(void *ctx, int64_t begin, int64_t end)
{
    const block *b = ctx;
    const eg__conv_shape *s = &b->j->s;
    char *to = b->col + begin * taps_of(s) * (int64_t)b->run;
    for (int64_t r = begin; r < end; r++) {
        int64_t p[3], in[3], n = window(b, r, p);
        for (int64_t t = 0; t < taps_of(s); t++, to += b->run) {
            const int64_t tap[3] = {t / (s->k[1] * s->k[2]), t / s->k[2] % s->k[1], t % s->k[2]};
            bool inside = true;
            for (int d = 0; d < 3; d++) {
                in[d] = eg__conv_at(s, d, p[d], tap[d]);
                inside &= in[d] >= 0 && in[d] < s->in[d];
            }
            if (inside) {
                memcpy(to, cell(b, b->image, n, in), b->run);
            } else {
                memset(to, 0, b->run);
            }
        }
    }
}

static void add_run(const block *b, char *to, const char *from)
{
    if (b->j->x->dtype == EG_F64) {
        for (size_t i = 0; i < b->run / sizeof(double); i++) {
            ((double *)to)[i] += ((const double *)from)[i];
        }
    } else {
        for (size_t i = 0; i < b->run / sizeof(float); i++) {
            ((float *)to)[i] += ((const float *)from)[i];
        }
    }
}

/* The window whose tap t lies on cell i along axis d, -1 if none. */
static int64_t window_over(const eg__conv_shape *s, int d, int64_t i, int64_t t)
{
    int64_t at = i + s->before[d] - t * s->dilation[d];
    return at >= 0 && at % s->stride[d] == 0 && at / s->stride[d] < s->out[d] ? at / s->stride[d]
                                                                              : -1;
}

/* Adds to each cell what the block's rows hold for it; begin..end count cells from row `first` on.
 */
static void add_cells(void *ctx, int64_t begin, int64_t end)
{
    const block *b = ctx;
    const eg__conv_shape *s = &b->j->s;
    int64_t plane = s->in[2] * (b->axis == 1 ? 1 : s->in[1]),
            per = plane * (s->in[b->axis] - b->first);
    for (int64_t i = begin; i < end; i++) {
        int64_t n = b->n > 1 ? i / per : 0, r = b->n > 1 ? i % per : i, p[3];
        int64_t in[3] = {0, r / s->in[2] % s->in[1], r % s->in[2]};
        in[b->axis] = b->first + r / plane;
        char *to = cell(b, b->image, b->n0 + n, in);
        for (int64_t t = 0; t < taps_of(s); t++) {
            p[0] = window_over(s, 0, in[0], t / (s->k[1] * s->k[2]));
            p[1] = window_over(s, 1, in[1], t / s->k[2] % s->k[1]);
            p[2] = window_over(s, 2, in[2], t % s->k[2]);
            int64_t slab = p[b->axis] - b->p0;
            if (p[0] >= 0 && p[1] >= 0 && p[2] >= 0 && slab >= 0 && slab < b->p) {
                int64_t in_slab = b->axis == 1 ? p[2] : p[1] * s->out[2] + p[2];
                int64_t row = (n * b->p + slab) * b->rest + in_slab;
                add_run(b, to, b->col + (row * taps_of(s) + t) * (int64_t)b->run);
            }
        }
    }
}

static void scatter_rows(block *b)
{
    const eg__conv_shape *s = &b->j->s;
    int a = b->axis;
    int64_t end = s->in[a], plane = s->in[2] * (a == 1 ? 1 : s->in[1]);
    b->first = 0;
    if (b->n == 1) {
        b->first = eg__min(eg__max(eg__conv_at(s, a, b->p0, 0), 0), end);
        end = eg__min(end, eg__max(eg__conv_at(s, a, b->p0 + b->p - 1, s->k[a] - 1) + 1, b->first));
    }
    eg__parallel(b->n * (end - b->first) * plane, 256, add_cells, b);
}

/* ---- the weight as a matrix ---------------------------------------------------------------- */

/* w seen as [k, k, k, channels of a group, o] or, turned, as [o, k, k, k, channels of a group]. */
static void weight_view(const eg__conv_job *j, bool turned, eg_tensor *v)
{
    const eg__conv_shape *s = &j->s;
    int64_t at[5], each = s->c / s->groups;
    eg__conv_strides(j->w, at);
    if (turned) {
        eg__conv_view(v, j->w, 5, (int64_t[]){s->o, s->k[0], s->k[1], s->k[2], each},
                      (int64_t[]){at[0], at[2], at[3], at[4], at[1]}, 0);
    } else {
        eg__conv_view(v, j->w, 5, (int64_t[]){s->k[0], s->k[1], s->k[2], each, s->o},
                      (int64_t[]){at[2], at[3], at[4], at[1], at[0]}, 0);
    }
}

/* Temporaries of one convolution. */
typedef struct work {
    eg_tensor *w;    /* the weight, or its gradient so far, as weight_view */
    eg_tensor *col;  /* rows of a block; NULL: x itself is that matrix */
    eg_tensor *part; /* a product that is not yet where it belongs */
} work;

/* y's rows of the block, of its group. */
static void rows_view(const block *b, eg_tensor *v)
{
    const eg__conv_shape *s = &b->j->s;
    int64_t first = b->n0 * s->out[b->axis] * b->rest + b->p0 * b->rest, each = s->o / s->groups;
    eg__conv_view(v, b->j->y, 2, (int64_t[]){rows_of(b), each}, (int64_t[]){s->o, 1},
                  first * s->o + b->group * each);
}

static void col_view(const block *b, const work *t, eg_tensor *v)
{
    const eg__conv_shape *s = &b->j->s;
    int64_t each = s->c / s->groups, width = taps_of(s) * each;
    if (t->col) {
        eg__conv_view(v, t->col, 2, (int64_t[]){rows_of(b), width}, (int64_t[]){width, 1}, 0);
    } else {
        int64_t first = (b->n0 * s->out[b->axis] + b->p0) * b->rest;
        eg__conv_view(v, b->j->x, 2, (int64_t[]){rows_of(b), each}, (int64_t[]){s->c, 1},
                      first * s->c + b->group * each);
    }
}

/* to = a b; a product goes to memory without gaps first and is copied or added from there. */
static eg_status product(eg_tensor *a, eg_tensor *b, eg_tensor *to, bool add, const work *t)
{
    if (!add && to->flags & EG__DENSE) {
        return eg__run(&eg__op_matmul, (eg_tensor *[]){a, b}, 2, NULL, to);
    }
    if (!t->part) {
        return eg__why(); /* allocate has said */
    }
    eg_tensor part, *p = &part;
    eg__conv_view(p, t->part, 2, to->shape, (int64_t[]){to->shape[1], 1}, 0);
    eg_status st = eg__run(&eg__op_matmul, (eg_tensor *[]){a, b}, 2, NULL, p);
    if (st) {
        return st;
    }
    return add ? eg__run(&eg__op_add, (eg_tensor *[]){to, p}, 2, NULL, to)
               : eg__run(&eg__op_copy, &p, 1, &(eg__copy_opts){EG__KEEP_LAYOUT}, to);
}

static eg_status run_block(block *b, const work *t)
{
    const eg__conv_job *j = b->j;
    const eg__conv_shape *s = &j->s;
    int64_t each = s->c / s->groups, out = s->o / s->groups, width = taps_of(s) * each;
    eg_tensor rows, col, w, turned;
    rows_view(b, &rows);
    col_view(b, t, &col);
    b->col = t->col ? eg__ptr(t->col) : NULL;
    b->image = eg__ptr(j->x);
    if (j->result != EG__CONV_X && t->col) {
        eg__parallel(rows_of(b), 64, gather_rows, b);
    }
    if (j->result == EG__CONV_Y) {
        eg__conv_view(&w, t->w, 2, (int64_t[]){width, out}, (int64_t[]){s->o, 1}, b->group * out);
        return product(&col, &w, &rows, false, t);
    }
    eg__conv_view(&w, t->w, 2, (int64_t[]){out, width}, (int64_t[]){width, 1},
                  b->group * out * width);
    if (j->result == EG__CONV_W) {
        eg__conv_view(&turned, &rows, 2, (int64_t[]){out, rows_of(b)}, (int64_t[]){1, s->o}, 0);
        return product(&turned, &col, &w, b->n0 + b->p0 > 0, t);
    }
    eg_status st = product(&rows, &w, &col, false, t);
    if (!st && t->col) {
        scatter_rows(b);
    }
    return st;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Whether x, as it is, is the matrix of windows. */
static bool pointwise(const eg__conv_shape *s)
{
    bool plain = true;
    for (int d = 0; d < 3; d++) {
        plain = plain && s->k[d] == 1 && s->stride[d] == 1 && s->in[d] == s->out[d] &&
                s->before[d] == 0;
    }
    return plain;
}

static eg_status allocate(const eg__conv_job *j, int64_t rows, work *t)
{
    const eg__conv_shape *s = &j->s;
    int dt = j->x->dtype;
    int64_t each = s->c / s->groups, out = s->o / s->groups, width = taps_of(s) * each;
    bool direct = pointwise(s), weight = j->result == EG__CONV_W;
    eg_tensor v, *p = &v;
    weight_view(j, j->result != EG__CONV_Y, p);
    t->w = eg__conv_temp(j, dt, 5, p->shape);
    t->col = direct ? NULL : eg__conv_temp(j, dt, 2, (int64_t[]){rows, width});
    t->part = NULL;
    if (weight || (s->groups > 1 && (direct || j->result == EG__CONV_Y))) {
        bool x = j->result == EG__CONV_X;
        t->part = eg__conv_temp(j, dt, 2, (int64_t[]){weight ? width : rows, x ? width : out});
    }
    if (!t->w || (!direct && !t->col) || (weight && !t->part)) {
        return EG_ENOMEM;
    }
    return weight ? EG_OK : eg__run(&eg__op_copy, &p, 1, &(eg__copy_opts){EG__KEEP_LAYOUT}, t->w);
}

static eg_status all_blocks(block b, const work *t, int64_t images, int64_t slab)
{
    const eg__conv_shape *s = &b.j->s;
    eg_status st = EG_OK;
    for (b.group = 0; b.group < s->groups && !st; b.group++) {
        for (b.n0 = 0; b.n0 < s->n && !st; b.n0 += images) {
            b.n = eg__min(images, s->n - b.n0);
            for (b.p0 = 0; b.p0 < s->out[b.axis] && !st; b.p0 += slab) {
                b.p = eg__min(slab, s->out[b.axis] - b.p0);
                st = run_block(&b, t);
            }
        }
    }
    return st;
}

eg_status eg__conv_gemm(const eg__conv_job *j)
{
    const eg__conv_shape *s = &j->s;
    block b = {.j = j,
               .axis = j->x->ndim == 5 ? 0 : 1,
               .run = (size_t)(s->c / s->groups) * eg__esize(j->x)};
    work t;
    b.rest = s->out[2] * (b.axis == 1 ? 1 : s->out[1]);
    int64_t fit =
        eg__max(BLOCK_BYTES / taps_of(s) / (int64_t)b.run / b.rest, 1); /* rows of windows */
    int64_t slab = eg__min(fit, s->out[b.axis]);
    int64_t images = slab < s->out[b.axis] ? 1 : eg__min(fit / slab, s->n);
    eg_status st = allocate(j, images * slab * b.rest, &t);
    if (!st && j->result == EG__CONV_X && t.col) {
        memset(eg__ptr(j->x), 0, (size_t)j->x->n * eg__esize(j->x));
    }
    st = st ? st : all_blocks(b, &t, images, slab);
    if (!st && j->result == EG__CONV_W) {
        eg_tensor v, *p = t.w;
        weight_view(j, true, &v);
        st = eg__run(&eg__op_copy, &p, 1, &(eg__copy_opts){EG__KEEP_LAYOUT}, &v);
    }
    return st;
}
