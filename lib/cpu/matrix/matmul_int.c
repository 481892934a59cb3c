/* matmul_int.c - matrix products of integers, which wrap, and of bools, or over and. */
#include "lib/cpu/matrix/product.h"
#include "lib/ops/options.h"

extern const eg__op eg__op_copy;

typedef void row_fn(const eg__product *p, const char *a, const char *b, char *y);

/* A row of y, of b's rows as a's row weighs them; rows of b are contiguous. */
#define ROW(name, T, JOIN)                                                              \
    static void row_##name(const eg__product *p, const char *a, const char *b, char *y) \
    {                                                                                   \
        T *restrict to = (T *)y;                                                        \
        memset(y, 0, (size_t)p->n * sizeof(T));                                         \
        for (int64_t l = 0; l < p->k; l++) {                                            \
            const T weight = ((const T *)a)[l * p->ca];                                 \
            const T *restrict from = (const T *)b + l * p->rb;                          \
            for (int64_t j = 0; weight && j < p->n; j++) {                              \
                to[j] = (T)(JOIN);                                                      \
            }                                                                           \
        }                                                                               \
    }
ROW(i64, uint64_t, to[j] + weight * from[j])
ROW(i32, uint32_t, to[j] + weight * from[j])
ROW(u8, uint8_t, to[j] + weight * from[j])
ROW(bool, uint8_t, to[j] | (from[j] != 0))

typedef struct job {
    const eg__product *p;
    row_fn *row;
    int64_t size;
} job;

static void run_rows(void *ctx, int64_t begin, int64_t end)
{
    const job *w = ctx;
    const eg__product *p = w->p;
    for (int64_t i = begin; i < end; i++) {
        int64_t r = i % p->m, rest = i / p->m, a = r * p->ra, b = 0, y = r * p->ry;
        for (int d = p->nbatch; d-- > 0; rest /= p->batch[d]) {
            const int64_t at = rest % p->batch[d];
            a += at * p->sa[d];
            b += at * p->sb[d];
            y += at * p->sy[d];
        }
        w->row(p, p->a + a * w->size, p->b + b * w->size, p->y + y * w->size);
    }
}

/* b with contiguous rows, in a copy that dies with the call if need be. */
static eg_tensor *with_rows(const eg__call *c, eg_tensor *b)
{
    if (b->shape[b->ndim - 1] < 2 || b->strides[b->ndim - 1] == 1) {
        return b;
    }
    eg__desc d = {.dtype = b->dtype, .ndim = b->ndim};
    memcpy(d.shape, b->shape, sizeof d.shape);
    eg__desc_dense(&d);
    eg_tensor *copy = eg__new(&d, c->op->name, c->op->id);
    return copy && !eg__run(&eg__op_copy, &b, 1, &(eg__copy_opts){EG__TO_DENSE}, copy) ? copy : NULL;
}

eg_status ISA(eg__matmul_int)(const eg__call *c)
{
    static row_fn *const rows[EG_DTYPE_COUNT] = {
        [EG_I64] = row_i64, [EG_I32] = row_i32, [EG_U8] = row_u8, [EG_BOOL] = row_bool};
    const eg_tensor *y = c->out[0], *b = y->n ? with_rows(c, c->in[1]) : c->in[1];
    if (!b || !y->n) {
        return b ? EG_OK : eg__why();
    }
    const eg__product p = ISA(eg__product_of)(c->in[0], b, y);
    const job w = {&p, rows[y->dtype], (int64_t)eg__esize(y)};
    const double work = (double)p.n * (double)(p.k + 1);
    eg__parallel(y->n / p.n, work < EG__GRAIN ? EG__GRAIN / (int64_t)work + 1 : 1, run_rows, (void *)(uintptr_t)&w);
    return EG_OK;
}
