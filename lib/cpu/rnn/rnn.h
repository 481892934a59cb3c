/* rnn.h - what the kernels of recurrent layers share: products with weights, and the way of
 * halves. */
#ifndef EGRET_CPU_RNN_H
#define EGRET_CPU_RNN_H

#include "lib/cpu/matrix/product.h"
#include "lib/ops/rnn.h"

enum { EG__CELLS_PER_THREAD = 1024 }; /* gates cost some 20 ns a cell */
enum { EG__CELLS_TOGETHER = 64 };

/* Threads share the cells of a step, rows x H, in stretches of whole vectors: a cell is computed in a vector or
 * behind the last one by its place in the row, whoever computes it, and so has the same bits. */
typedef struct eg__rnn_share {
    const eg__rnn_plan *p;
    eg__range_fn *fn; /* of cells */
    void *ctx;
    int64_t per; /* stretches of a row */
} eg__rnn_share;

static inline int64_t eg__rnn_cell(const eg__rnn_share *s, int64_t stretch)
{
    return stretch / s->per * s->p->width + stretch % s->per * EG__CELLS_TOGETHER;
}

static void eg__rnn_stretches(void *ctx, int64_t begin, int64_t end)
{
    const eg__rnn_share *s = ctx;
    s->fn(s->ctx, eg__rnn_cell(s, begin), eg__rnn_cell(s, end));
}

static inline void eg__rnn_cells(const eg__rnn_plan *p, eg__range_fn *fn, void *ctx)
{
    eg__rnn_share s = {p, fn, ctx, (p->width + EG__CELLS_TOGETHER - 1) / EG__CELLS_TOGETHER};
    int64_t each = eg__min(p->width, EG__CELLS_TOGETHER);
    if (p->rows * s.per > 0) {
        eg__parallel(p->rows * s.per, EG__CELLS_PER_THREAD / each + 1, eg__rnn_stretches, &s);
    }
}

/* A matrix of `cols` columns within something wider. */
typedef struct eg__rnn_matrix {
    void *data;
    int64_t cols, stride;
} eg__rnn_matrix;

enum { EG__RNN_OFTEN = 4 };

/* y[rows, .] (+)= a w^T with w [y.cols, a.cols], or a w with w [a.cols, y.cols]; w is made of whole
 * rows of `weight` from row `from` on. The call does that so many times. */
static inline eg_status eg__rnn_product(const eg__call *c, int64_t times, int64_t rows, eg__rnn_matrix a,
                                        const eg_tensor *weight, int64_t from, bool transposed, eg__rnn_matrix y,
                                        bool add)
{
    bool done, fused;
    int64_t stride = weight->shape[1];
    eg__product p = {.dtype = weight->dtype,
                     .add = add,
                     .m = rows,
                     .n = y.cols,
                     .k = a.cols,
                     .a = a.data,
                     .b = eg__ptr(weight) + from * stride * (int64_t)eg__esize(weight),
                     .y = y.data,
                     .ra = a.stride,
                     .ca = 1,
                     .rb = transposed ? 1 : stride,
                     .cb = transposed ? stride : 1,
                     .ry = y.stride,
                     .keep = weight->storage,
                     .often = times >= EG__RNN_OFTEN};
    return ISA(eg__product_run)(c, &p, &done, &fused);
}

/* Runs the kernel on f32 copies of halves, and rounds its results. */
static inline eg_status eg__rnn_through_f32(const eg__call *c, eg__kernel *kernel)
{
    extern const eg__op eg__op_cast;
    eg_tensor *in[EG__RNN_INPUTS];
    eg__call wide = *c;
    eg_status st = EG_OK;
    wide.in = in;
    for (int i = 0; i < c->nin + c->op->nout && !st; i++) {
        bool input = i < c->nin;
        eg_tensor *t = input ? c->in[i] : c->out[i - c->nin], *f32 = t;
        if (t && (t->dtype == EG_F16 || t->dtype == EG_BF16)) {
            eg__desc d = {.dtype = EG_F32, .ndim = t->ndim};
            memcpy(d.shape, t->shape, sizeof d.shape);
            eg__desc_dense(&d);
            f32 = eg__new(&d, c->op->name, c->op->id);
            st = !f32 ? EG_ENOMEM : input ? eg__run(&eg__op_cast, &t, 1, &(eg__cast_opts){EG_F32}, f32) : EG_OK;
        }
        *(input ? &in[i] : &wide.out[i - c->nin]) = f32;
    }
    st = st ? st : kernel(&wide);
    for (int j = 0; j < c->op->nout && !st; j++) {
        if (wide.out[j] != c->out[j]) {
            st = eg__run(&eg__op_cast, &wide.out[j], 1, &(eg__cast_opts){c->out[j]->dtype}, c->out[j]);
        }
    }
    return st;
}

/* Copies a tensor that may not be there; zeros then. */
static inline void eg__rnn_copy(void *to, const eg_tensor *from, size_t bytes)
{
    if (from) {
        memcpy(to, eg__ptr(from), bytes);
    } else {
        memset(to, 0, bytes);
    }
}

/* Rows that do not take the step keep dh; the others begin at 0. */
static inline void eg__rnn_hold(const eg__rnn_plan *p, int64_t t, const char *dh, char *to, size_t row)
{
    for (int64_t n = 0; n < p->rows; n++) {
        if (eg__rnn_takes(p, n, t)) {
            memset(to + (size_t)n * row, 0, row);
        } else {
            memcpy(to + (size_t)n * row, dh + (size_t)n * row, row);
        }
    }
}

#endif
