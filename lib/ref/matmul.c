/* matmul.c - matrix products as written on paper. */
#include "lib/ops/options.h"
#include "lib/ref/ref.h"

/* Where batch b of y lies in t, whose batch axes broadcast. */
static int64_t batch_at(const eg_tensor *t, const eg_tensor *y, int64_t b)
{
    int64_t at = 0;
    for (int d = y->ndim - 2, k = t->ndim - 2; d-- > 0; b /= y->shape[d]) {
        if (--k >= 0 && t->shape[k] != 1) {
            at += b % y->shape[d] * t->strides[k];
        }
    }
    return at;
}

/* Of floats, perhaps added to what is there; of integers, which wrap; of bools, or over and. */
static void multiply(const eg_tensor *a, const eg_tensor *b, const eg_tensor *y, int64_t to, int64_t ia, int64_t ib,
                     bool add)
{
    const int64_t k = a->shape[a->ndim - 1], da = a->strides[a->ndim - 1], db = b->strides[b->ndim - 2];
    double sum = add ? eg__get_at(y, to) : 0;
    uint64_t whole = 0;
    for (int64_t l = 0; l < k; l++) {
        if (eg__is_float(y->dtype)) {
            sum += eg__get_at(a, ia + l * da) * eg__get_at(b, ib + l * db);
        } else {
            const uint64_t term = (uint64_t)eg__get_int_at(a, ia + l * da) * (uint64_t)eg__get_int_at(b, ib + l * db);
            whole = y->dtype == EG_BOOL ? whole | term : whole + term;
        }
    }
    if (eg__is_float(y->dtype)) {
        eg__set_at(y, to, sum);
    } else {
        eg__set_int_at(y, to, (int64_t)whole);
    }
}

eg_status eg__ref_matmul(const eg__call *c)
{
    const eg__matmul_opts *o = c->opts;
    const eg_tensor *a = c->in[0], *b = c->in[1], *y = c->out[0];
    int64_t m = y->shape[y->ndim - 2], n = y->shape[y->ndim - 1];
    int64_t batches = m * n != 0 ? y->n / (m * n) : 0;
    int64_t sa = a->strides[a->ndim - 2], sb = b->strides[b->ndim - 1];
    for (int64_t p = 0; p < batches; p++) {
        int64_t ia = batch_at(a, y, p), ib = batch_at(b, y, p);
        for (int64_t i = 0; i < m; i++) {
            for (int64_t j = 0; j < n; j++) {
                multiply(a, b, y, (p * m + i) * n + j, ia + i * sa, ib + j * sb, o && o->add);
            }
        }
    }
    return EG_OK;
}
