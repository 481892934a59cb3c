/* table.c - the rows of ops.def as descriptors. */
#include "lib/core/device.h"
#include "lib/ops/infer.h"
#include "lib/ops/options.h"

#define SAVE_X EG__IN(0)
#define SAVE_A EG__IN(0)
#define SAVE_B EG__IN(1)
#define SAVE_Y EG__OUT(0)

#define CAST_keep(name)
#define CAST_full(name) .cast = EG__CAST_FULL,
#define CAST_low(name)  .cast = EG__CAST_LOW, .macs = eg__macs_##name,

#define EG_OP(name_, kernel, grad, cast, least, most, outputs, dtypes_, flags_, size, infer_, ...) \
    const eg__op eg__op_##name_ = {.name = #name_,                                                 \
                                   .id = EG__ID_##name_,                                           \
                                   .opts_size = size,                                              \
                                   .flags = flags_,                                                \
                                   .dtypes = dtypes_,                                              \
                                   .nin_min = least,                                               \
                                   .nin_max = most,                                                \
                                   .nout = outputs,                                                \
                                   .infer = infer_,                                                \
                                   CAST_##cast(name_).saves = {__VA_ARGS__}};
#include "lib/ops/ops.def"
#undef EG_OP

const eg__op *const eg__ops[EG__OP_COUNT] = {
#define EG_OP(name, ...) &eg__op_##name,
#include "lib/ops/ops.def"
#undef EG_OP
};

bool eg_device_runs(eg_device *device, const char *op)
{
    for (int i = 0; device && op && i < EG__OP_COUNT; i++) {
        if (!strcmp(eg__ops[i]->name, op)) {
            return !device->id || eg__ops[i]->flags & EG__VIEW || device->engine->kernels[i];
        }
    }
    return false;
}

void eg_op_walk(void (*f)(const eg_op_info *info, void *user), void *user)
{
    enum { grad = 1, none = 0, ref = 0, cpu = 1, isa = 1 };
    static const struct {
        bool tuned, differentiable;
    } columns[EG__OP_COUNT] = {
#define EG_OP(name, kernel, rule, ...) {kernel, rule},
#include "lib/ops/ops.def"
#undef EG_OP
    };
    static const char *const casts[] = {"", [EG__CAST_LOW] = "low", [EG__CAST_FULL] = "f32"};
    for (int i = 0; f && i < EG__OP_COUNT; i++) {
        const eg__op *op = eg__ops[i];
        f(&(eg_op_info){.name = op->name,
                        .kind = op->flags & EG__POINTWISE ? "pointwise"
                                : op->flags & EG__VIEW    ? "view"
                                                          : "primitive",
                        .min_inputs = op->nin_min,
                        .max_inputs = op->nin_max,
                        .outputs = op->nout,
                        .dtypes = op->dtypes,
                        .strided = op->flags & EG__STRIDED,
                        .tuned = columns[i].tuned,
                        .differentiable = columns[i].differentiable,
                        .autocast = casts[op->cast]},
          user);
    }
}
