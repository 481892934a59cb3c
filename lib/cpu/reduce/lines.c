/* lines.c - walks over lines along one axis, and halves through f32. */
#include "lib/cpu/reduce/lines.h"
#include "lib/cpu/pointwise/convert.h"

static void run(void *ctx, int64_t cols, char *const *ptr, const int64_t *across)
{
    const eg__lines *l = ctx;
    l->block(l, cols, ptr, across);
}

void ISA(eg__lines_run)(eg__lines *l, eg_tensor *const *ops, int nops, int cost)
{
    eg_tensor heads[EG__LINES_MAX], *views[EG__LINES_MAX]; /* the operands with the axis of size 1 */
    eg__iter it;
    l->n = ops[0]->shape[l->axis];
    if (l->n == 0) {
        return;
    }
    for (int k = 0; k < nops; k++) {
        memcpy(&heads[k], ops[k], sizeof heads[k]);
        heads[k].n = ops[0]->n / l->n;
        heads[k].shape[l->axis] = 1;
        views[k] = &heads[k];
        l->step[k] = ops[k]->strides[l->axis] * (int64_t)eg__esize(ops[k]);
    }
    eg__iter_init(&it, views, nops);
    eg__iter_run(&it, eg__max(1, EG__GRAIN / (l->n * cost)), run, l);
}

static void widen(void *ctx, int64_t n, char *const *ptr, const int64_t *s)
{
    ISA(eg__halves_to_f32)(n, *(int *)ctx, ptr[1], s[1], (float *)ptr[0]);
}

static void narrow(void *ctx, int64_t n, char *const *ptr, const int64_t *s)
{
    ISA(eg__f32_to_halves)(n, *(int *)ctx, (float *)ptr[1], ptr[0], s[0]);
}

/* The f32 tensors lie like the result, which is packed, so their innermost axis is contiguous. */
eg_status ISA(eg__through_f32)(const eg__call *c, eg__kernel *kernel)
{
    eg_tensor wide[EG__LINES_MAX], *in[EG__LINES_MAX], *y = c->out[0];
    eg__storage store[EG__LINES_MAX];
    eg__call call = *c;
    eg__scratch s;
    eg__iter it;
    int type = y->dtype;
    if (eg__scratch_get(c, (size_t)(y->n * (c->nin + 1)) * sizeof(float), &s)) {
        return EG_ENOMEM;
    }
    for (int k = 0; k <= c->nin; k++) {
        memcpy(&wide[k], y, sizeof wide[k]);
        wide[k].dtype = EG_F32;
        wide[k].offset = 0;
        wide[k].storage = &store[k];
        store[k].data = (char *)s.data + k * y->n * (int64_t)sizeof(float);
    }
    for (int k = 0; k < c->nin; k++) {
        in[k] = &wide[k + 1];
        eg__iter_init(&it, (eg_tensor *[]){in[k], c->in[k]}, 2);
        eg__iter_run(&it, EG__GRAIN, widen, &type);
    }
    call.in = in;
    call.out[0] = &wide[0];
    eg_status st = kernel(&call);
    if (!st) {
        eg__iter_init(&it, (eg_tensor *[]){y, &wide[0]}, 2);
        eg__iter_run(&it, EG__GRAIN, narrow, &type);
    }
    eg__scratch_put(c, &s);
    return st;
}
