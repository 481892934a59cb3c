/* rotary.c - pairs of columns turned by angles, a row after the other. */
#include "lib/cpu/pointwise/convert.h"
#include "lib/ops/attention.h"

eg__kernel ISA(eg__cpu_rotary);

/* Strides in bytes of y, x, cos and sin; of the tables 0 where they are repeated. */
enum { Y, X, COS, SIN, OPERANDS, PAIRS = 256 };

typedef struct job {
    int ndim; /* of rows */
    int64_t shape[EG_MAX_DIMS], strides[OPERANDS][EG_MAX_DIMS], column[OPERANDS];
    char *p[OPERANDS];
    int64_t columns, pairs, second; /* second: columns from the first of a pair to the other */
    int64_t each;                   /* columns from a pair to the next */
    int dtype, size;
} job;

#define TURN(type)                                                                                             \
    static void turn_##type(int64_t n, const type *restrict a, const type *restrict b, const type *restrict c, \
                            const type *restrict s, type *restrict u, type *restrict v, int64_t step)          \
    {                                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                                      \
            const type p = a[i * step], q = b[i * step];                                                       \
            u[i * step] = p * c[i] - q * s[i];                                                                 \
            v[i * step] = p * s[i] + q * c[i];                                                                 \
        }                                                                                                      \
    }
TURN(float)
TURN(double)

/* n pairs from the i-th on of rows at `at`, through copies that lie as the loops want them. */
static void pairs_by_copies(const job *j, char *const *at, int64_t i, int64_t n)
{
    union {
        float f[6][PAIRS];
        double d[6][PAIRS];
    } b;
    const int64_t first = i * j->each, second = first + j->second;
    if (j->dtype == EG_F64) {
        ISA(eg__copy_row)(n, 8, at[X] + first * j->column[X], j->each * j->column[X], (char *)b.d[0], 8);
        ISA(eg__copy_row)(n, 8, at[X] + second * j->column[X], j->each * j->column[X], (char *)b.d[1], 8);
        ISA(eg__copy_row)(n, 8, at[COS] + i * j->column[COS], j->column[COS], (char *)b.d[2], 8);
        ISA(eg__copy_row)(n, 8, at[SIN] + i * j->column[SIN], j->column[SIN], (char *)b.d[3], 8);
        turn_double(n, b.d[0], b.d[1], b.d[2], b.d[3], b.d[4], b.d[5], 1);
        ISA(eg__copy_row)(n, 8, (char *)b.d[4], 8, at[Y] + first * j->column[Y], j->each * j->column[Y]);
        ISA(eg__copy_row)(n, 8, (char *)b.d[5], 8, at[Y] + second * j->column[Y], j->each * j->column[Y]);
        return;
    }
    const int64_t from[2] = {first, second};
    ISA(eg__copy_row)(n, 4, at[COS] + i * j->column[COS], j->column[COS], (char *)b.f[2], 4);
    ISA(eg__copy_row)(n, 4, at[SIN] + i * j->column[SIN], j->column[SIN], (char *)b.f[3], 4);
    for (int k = 0; k < 2; k++) {
        const char *x = at[X] + from[k] * j->column[X];
        if (j->dtype == EG_F32) {
            ISA(eg__copy_row)(n, 4, x, j->each * j->column[X], (char *)b.f[k], 4);
        } else {
            ISA(eg__halves_to_f32)(n, j->dtype, x, j->each * j->column[X], b.f[k]);
        }
    }
    turn_float(n, b.f[0], b.f[1], b.f[2], b.f[3], b.f[4], b.f[5], 1);
    for (int k = 0; k < 2; k++) {
        char *y = at[Y] + from[k] * j->column[Y];
        if (j->dtype == EG_F32) {
            ISA(eg__copy_row)(n, 4, (char *)b.f[4 + k], 4, y, j->each * j->column[Y]);
        } else {
            ISA(eg__f32_to_halves)(n, j->dtype, b.f[4 + k], y, j->each * j->column[Y]);
        }
    }
}

static void row(const job *j, char *const *at)
{
    const bool plain = j->column[X] == j->size && j->column[Y] == j->size;
    const int64_t turned = 2 * j->pairs;
    if (plain && j->dtype == EG_F32 && j->column[COS] == 4 && j->column[SIN] == 4) {
        const float *x = (const float *)at[X], *c = (const float *)at[COS], *s = (const float *)at[SIN];
        float *y = (float *)at[Y];
        if (j->each == 1) {
            turn_float(j->pairs, x, x + j->second, c, s, y, y + j->second, 1);
        } else {
            turn_float(j->pairs, x, x + 1, c, s, y, y + 1, 2);
        }
    } else {
        for (int64_t i = 0; i < j->pairs; i += PAIRS) {
            pairs_by_copies(j, at, i, eg__min(PAIRS, j->pairs - i));
        }
    }
    ISA(eg__copy_row)
    (j->columns - turned, j->size, at[X] + turned * j->column[X], j->column[X], at[Y] + turned * j->column[Y],
     j->column[Y]);
}

static void rows(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    int64_t at[EG_MAX_DIMS], rest = begin;
    char *p[OPERANDS];
    memcpy(p, j->p, sizeof p);
    for (int d = j->ndim; d-- > 0; rest /= j->shape[d]) {
        at[d] = rest % j->shape[d];
        for (int k = 0; k < OPERANDS; k++) {
            p[k] += at[d] * j->strides[k][d];
        }
    }
    for (int64_t i = begin; i < end; i++) {
        row(j, p);
        for (int d = j->ndim; d-- > 0;) {
            const int64_t steps = ++at[d] < j->shape[d] ? 1 : 1 - j->shape[d];
            for (int k = 0; k < OPERANDS; k++) {
                p[k] += steps * j->strides[k][d];
            }
            if (steps == 1) {
                break;
            }
            at[d] = 0;
        }
    }
}

eg_status ISA(eg__cpu_rotary)(const eg__call *c)
{
    const eg_tensor *x = c->in[0], *all[OPERANDS] = {c->out[0], x, c->in[1], c->in[2]};
    const int last = x->ndim - 1;
    job j = {.ndim = last, .columns = x->shape[last], .pairs = eg__lead_size(c->in[1], 0), .dtype = x->dtype};
    int64_t n = 1;
    j.size = (int)eg__esize(x);
    j.each = ((const eg__rotary_opts *)c->opts)->interleaved ? 2 : 1;
    j.second = j.each == 2 ? 1 : j.pairs;
    for (int d = 0; d < last; d++) {
        j.shape[d] = x->shape[d];
        n *= x->shape[d];
    }
    for (int k = 0; k < OPERANDS; k++) {
        const int64_t size = (int64_t)eg__esize(all[k]);
        j.p[k] = eg__ptr(all[k]);
        j.column[k] = all[k]->strides[all[k]->ndim - 1] * size;
        for (int back = 1; back <= last; back++) {
            const bool there = eg__lead_size(all[k], back) > 1;
            j.strides[k][last - back] = there ? all[k]->strides[all[k]->ndim - 1 - back] * size : 0;
        }
    }
    if (x->n) {
        eg__parallel(n, EG__GRAIN / eg__max(j.columns, 1) + 1, rows, &j);
    }
    return EG_OK;
}
