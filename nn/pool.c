/* pool.c - pooling layers over one, two or three axes. */
#include "lib/ops/infer.h"
#include "lib/ops/optable.h"
#include "nn/nn.h"

typedef struct pool {
    eg_module base;
    eg_tensor *(*function)(eg_tensor *x, const eg_pool_options *options);
    eg_pool_options options;
} pool;

static eg_tensor *pool_forward(eg_module *m, eg_tensor *x)
{
    pool *p = (pool *)m;
    return p->function(x, &p->options);
}

static const eg_module_kind pool_kind = {.size = sizeof(eg_module_kind), .name = "pool", .forward = pool_forward};

/* What depends on x alone is left to the first forward. */
static eg_module *make(const char *op, int axes, eg_tensor *(*function)(eg_tensor *x, const eg_pool_options *options),
                       const eg_pool_options *given)
{
    eg_pool_options o;
    eg__options(&o, sizeof o, given);
    o.size = sizeof o;
    if (o.indices) {
        return eg__fail_null(EG_EINVAL, op, "a layer has one result: no indices");
    }
    for (int d = 0; d < axes; d++) {
        int64_t k = o.kernels[d] ? o.kernels[d] : o.kernel;
        if (k < 1) {
            return eg__fail_null(EG_EINVAL, op,
                                 "the kernel's size along axis %d is %lld, must be "
                                 "at least 1",
                                 d, (long long)k);
        }
    }
    if (eg__check_pool_options(op, axes, &o)) {
        return NULL;
    }
    pool *p = eg_module_new(sizeof *p, &pool_kind);
    if (p) {
        p->function = function;
        p->options = o;
    }
    return p ? &p->base : NULL;
}

#define POOL(name, axes)                                                      \
    eg_module *eg_##name##axes##d_new_with(const eg_pool_options *options)    \
    {                                                                         \
        return make(#name #axes "d", axes, eg_##name##axes##d_with, options); \
    }
POOL(max_pool, 1)
POOL(max_pool, 2)
POOL(max_pool, 3)
POOL(avg_pool, 1)
POOL(avg_pool, 2)
POOL(avg_pool, 3)

/* ---- over whole axes ------------------------------------------------------------------------ */

static eg_tensor *global_forward(eg_module *m, eg_tensor *x)
{
    eg_axes axes = {0};
    (void)m;
    if (eg__check(x, "global_avg_pool", "x")) {
        return NULL;
    }
    for (int d = 2; d < x->ndim; d++) {
        axes.axis[axes.count++] = d;
    }
    return axes.count
               ? eg_mean(x, .axes = axes)
               : eg__fail_null(EG_ESHAPE, "global_avg_pool", "x %s must be [N, C] and spatial axes", EG__SHAPE_OF(x));
}

static const eg_module_kind global_kind = {
    .size = sizeof(eg_module_kind), .name = "global_avg_pool", .forward = global_forward};

eg_module *eg_global_avg_pool_new(void)
{
    return eg_module_new(sizeof(eg_module), &global_kind);
}
