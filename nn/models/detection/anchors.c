/* anchors.c - anchors of all levels, and what heads make of them as rows. */
#include <math.h>

#include "nn/models/detection/detection.h"

eg_tensor *eg__anchors(const eg__levels *l, const eg__batch *b, const eg__anchor_plan *plan, int64_t *counts)
{
    eg_tensor *all[EG__LEVELS_MOST];
    for (int k = 0; k < l->count; k++) {
        int64_t height = eg_size(l->x[k], 2), width = eg_size(l->x[k], 3);
        eg_anchors_options o = {
            .size = sizeof o,
            .ratios = {0.5, 1, 2},
            .stride = {(double)(eg_size(b->images, 2) / height), (double)(eg_size(b->images, 3) / width)},
            .rounded = plan->rounded};
        for (int i = 0; i < plan->each; i++) {
            double size = ldexp(plan->smallest, k) * pow(plan->growth, i);
            o.sizes[i] = plan->rounded && i ? floor(size + 1e-9) : size;
        }
        eg_tensor *anchors = eg_anchors_with(height, width, &o);
        all[k] = anchors ? eg_cast(eg_to(anchors, eg_device_of(b->images)), b->dtype) : NULL;
        counts[k] = height * width * 3 * plan->each;
    }
    return eg__rows_joined(all, l->count);
}

eg_tensor *eg__rows_of(eg_tensor *x, int64_t last, eg_dtype dtype)
{
    if (!x) {
        return NULL;
    }
    int64_t n = eg_size(x, 0), height = eg_size(x, 2), width = eg_size(x, 3), anchors = eg_size(x, 1) / last;
    x = eg_cast(eg_permute(x, EG_AXES(0, 2, 3, 1)), dtype);
    return x ? eg_reshape(x, EG_SHAPE(n, height * width * anchors, last)) : NULL;
}

eg_tensor *eg__rows_joined(eg_tensor *const *rows, int count)
{
    return eg_concat(rows, count, eg_ndim(rows[0]) - 2);
}

eg_tensor *eg__rows_of_labels(eg_tensor *x, eg_tensor *labels, int64_t classes)
{
    eg_tensor *first = eg_arange(0, (double)eg_size(labels, 0), 1, EG_I64);
    first = first ? eg_mul_int(eg_to(first, eg_device_of(labels)), classes) : NULL;
    return eg_index_select(x, 0, eg_add(first, labels));
}

bool eg__likeliest(const eg__dense *made, eg_tensor *scores, int64_t each, int64_t most, eg_tensor **which,
                   eg_tensor **level)
{
    eg_tensor *at[EG__LEVELS_MOST], *of[EG__LEVELS_MOST];
    int64_t first = 0;
    for (int k = 0; k < made->levels; k++) {
        int64_t n = made->counts[k] * each;
        if (eg_topk(eg_slice(scores, 0, first, first + n, 1), eg__min(n, most), 0, true, NULL, &at[k])) {
            return false;
        }
        at[k] = eg_add_int(at[k], first);
        of[k] = at[k] && level ? eg_full_like(at[k], k) : at[k];
        if (!of[k]) {
            return false;
        }
        first += n;
    }
    *which = eg__rows_joined(at, made->levels);
    if (level) {
        *level = eg__rows_joined(of, made->levels);
    }
    return *which && (!level || *level);
}

eg_module *eg__tower_new(int64_t in, int64_t width, int convs, int64_t out)
{
    eg__stack s = {.count = 0};
    for (int i = 0; i < convs; i++) {
        eg__stack_add_numbered(&s, "conv", i + 1, eg_conv2d_new(i ? width : in, width, .kernel = 3, .padding = 1));
        eg__stack_add_numbered(&s, "relu", i + 1, eg_activation_new(eg_relu));
    }
    eg__stack_add(&s, eg_named("out", eg_conv2d_new(width, out, .kernel = 3, .padding = 1)));
    return eg__stack_end(&s);
}
