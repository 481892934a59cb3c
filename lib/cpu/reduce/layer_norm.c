/* layer_norm.c - layer and root-mean-square normalisation, row by row. */
#include <math.h>

#include "lib/cpu/common/stream.h"
#include "lib/ops/norm.h"
#include "lib/ops/options.h"

eg__kernel ISA(eg__cpu_layer_norm), ISA(eg__cpu_layer_norm_grad);

#if defined(__AVX512F__)
#define VECTOR 64
#elif defined(__AVX2__)
#define VECTOR 32
#else
#define VECTOR 16
#endif

enum { FLUSH = 64, BUFFERED = 4096 };

typedef struct job {
    int64_t rows, width, block;
    int dtype;
    bool root, stream;
    double eps;
    const void *x, *w, *b, *dy;
    void *y, *mean, *var;
    double *sums; /* of dweight and dbias, for each block of rows */
    char *few;    /* the same of FLUSH rows */
} job;

#define T        float
#define FN(name) name##_f32
#define root_f32 sqrtf
#include "lib/cpu/reduce/layer_norm_loops.h"
#undef T
#undef FN
#define T        double
#define FN(name) name##_f64
#define root_f64 sqrt
#include "lib/cpu/reduce/layer_norm_loops.h"
#undef T
#undef FN

static void values(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    (j->dtype == EG_F32 ? rows_f32 : rows_f64)(j, begin, end);
}

static void slopes(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    (j->dtype == EG_F32 ? blocks_f32 : blocks_f64)(j, begin, end);
}

static const void *data(const eg_tensor *t)
{
    return t ? eg__ptr(t) : NULL;
}

static job job_of(const eg__norm_opts *o, const eg_tensor *x, int64_t rows)
{
    return (job){.rows = rows,
                 .width = rows ? x->n / rows : 0,
                 .dtype = x->dtype,
                 .root = o->root,
                 .eps = o->eps,
                 .x = eg__ptr(x)};
}

/* x, weight, bias -> y, mean, var */
eg_status ISA(eg__cpu_layer_norm)(const eg__call *c)
{
    job j = job_of(c->opts, c->in[0], c->out[1]->n);
    j.w = data(c->in[1]);
    j.b = data(c->in[2]);
    j.y = eg__ptr(c->out[0]);
    j.stream = eg__streams(c->out[0]) && j.width <= BUFFERED;
    j.mean = eg__ptr(c->out[1]);
    j.var = eg__ptr(c->out[2]);
    if (j.rows) {
        eg__parallel(j.rows, EG__GRAIN / 2 / j.width + 1, values, &j);
    }
    return unlikely(eg__norm_leaves_f32(c->in[0], c->out[2], j.eps)) ? eg__norm_in_f64(c, ISA(eg__cpu_layer_norm), NULL)
                                                                     : EG_OK;
}

/* dy, x, mean, var, weight -> dx, dweight, dbias */
eg_status ISA(eg__cpu_layer_norm_grad)(const eg__call *c)
{
    enum { MOST = 32 };
    const eg_tensor *dw = c->out[1], *db = c->out[2];
    job j = job_of(c->opts, c->in[1], c->in[2]->n);
    if (unlikely(eg__norm_leaves_f32(c->in[1], c->in[3], j.eps))) {
        return eg__norm_in_f64(c, ISA(eg__cpu_layer_norm), ISA(eg__cpu_layer_norm_grad));
    }
    int64_t blocks = eg__max(1, eg__min(MOST, j.rows * j.width / EG__GRAIN)), n = dw->n;
    j.block = (j.rows + blocks - 1) / blocks;
    j.dy = data(c->in[0]);
    j.mean = eg__ptr(c->in[2]);
    j.var = eg__ptr(c->in[3]);
    j.w = data(c->in[4]);
    j.y = eg__ptr(c->out[0]);
    eg__scratch s;
    if (eg__scratch_get(c, (size_t)(blocks * 2 * n) * 2 * sizeof(double), &s)) {
        return EG_ENOMEM;
    }
    j.sums = s.data;
    j.few = (char *)(j.sums + blocks * 2 * n);
    memset(j.sums, 0, (size_t)(blocks * 2 * n) * sizeof *j.sums);
    if (j.rows) {
        eg__parallel(blocks, 1, slopes, &j);
    }
    for (int64_t i = 0; i < n; i++) {
        double w = 0, b = 0;
        for (int64_t k = 0; k < blocks; k++) {
            w += j.sums[2 * n * k + i];
            b += j.sums[2 * n * k + n + i];
        }
        eg__store(eg__ptr(dw), j.dtype, i, w);
        eg__store(eg__ptr(db), j.dtype, i, b);
    }
    eg__scratch_put(c, &s);
    return EG_OK;
}
