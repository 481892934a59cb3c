/* reshape.c - layers that change the shape: flatten, unflatten, permute, and resizing of images. */
#include "lib/ops/infer.h"
#include "lib/ops/optable.h"
#include "nn/nn.h"

static eg_tensor *flatten_forward(eg_module *m, eg_tensor *x)
{
    (void)m;
    return eg_flatten(x, 1, -1);
}

static const eg_module_kind flatten_kind = {
    .size = sizeof(eg_module_kind), .name = "flatten", .forward = flatten_forward};

eg_module *eg_flatten_new(void)
{
    return eg_module_new(sizeof(eg_module), &flatten_kind);
}

typedef struct unflatten {
    eg_module base;
    eg_shape shape;
} unflatten;

static eg_tensor *unflatten_forward(eg_module *m, eg_tensor *x)
{
    eg_shape shape = ((unflatten *)m)->shape;
    memmove(shape.dim + 1, shape.dim, (size_t)shape.ndim * sizeof *shape.dim);
    shape.dim[0] = eg_size(x, 0);
    shape.ndim++;
    return eg_reshape(x, shape);
}

static const eg_module_kind unflatten_kind = {
    .size = sizeof(eg_module_kind), .name = "unflatten", .forward = unflatten_forward};

eg_module *eg_unflatten_new(eg_shape shape)
{
    int64_t n;
    if (shape.ndim < 0 || shape.ndim >= EG_MAX_DIMS) {
        return eg__fail_null(EG_EINVAL, "unflatten", "to %d axes: 0..%d are possible", shape.ndim, EG_MAX_DIMS - 1);
    }
    if (eg__check_shape("unflatten", shape.ndim, shape.dim, EG_F32, &n)) {
        return NULL;
    }
    unflatten *u = eg_module_new(sizeof *u, &unflatten_kind);
    if (u) {
        u->shape = shape;
    }
    return u ? &u->base : NULL;
}

typedef struct permute {
    eg_module base;
    eg_axes axes;
} permute;

static eg_tensor *permute_forward(eg_module *m, eg_tensor *x)
{
    return eg_permute(x, ((permute *)m)->axes);
}

static const eg_module_kind permute_kind = {
    .size = sizeof(eg_module_kind), .name = "permute", .forward = permute_forward};

/* Whether they are the axes of x is said at the first forward. */
eg_module *eg_permute_new(eg_axes axes)
{
    permute *p = eg_module_new(sizeof *p, &permute_kind);
    if (p) {
        p->axes = axes;
    }
    return p ? &p->base : NULL;
}

/* ---- resize ---------------------------------------------------------------------------------- */

typedef struct resize {
    eg_module base;
    eg_shape sizes;
    eg_resize_options options;
} resize;

static eg_tensor *resize_forward(eg_module *m, eg_tensor *x)
{
    resize *r = (resize *)m;
    return eg_resize_with(x, r->sizes, &r->options);
}

static const eg_module_kind resize_kind = {.size = sizeof(eg_module_kind), .name = "resize", .forward = resize_forward};

/* Whether there are as many sizes as axes is said at the first forward. */
eg_module *eg_resize_new_with(eg_shape sizes, const eg_resize_options *options)
{
    eg_resize_options o;
    eg__options(&o, sizeof o, options);
    o.size = sizeof o;
    resize *r = eg__check_resize_options(sizes, &o) ? NULL : eg_module_new(sizeof *r, &resize_kind);
    if (r) {
        r->sizes = sizes;
        r->options = o;
    }
    return r ? &r->base : NULL;
}
