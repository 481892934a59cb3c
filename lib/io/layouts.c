/* layouts.c - see layouts.h. */
#include "lib/io/layouts.h"

#include <math.h>

#include <egret/ops.h>

#include "lib/core/tensor.h"

/* ---- kernels ---------------------------------------------------------------------------------- */

static bool four_axes(const eg_tensor *t, int64_t n)
{
    (void)n;
    return t->ndim == 4;
}

static eg_tensor *from_hwio(eg_tensor *t, int64_t n)
{
    (void)n;
    return eg_permute(t, EG_AXES(3, 2, 0, 1));
}

/* Of channel c of the input, output m is c * n + m on both sides. */
static eg_tensor *from_depthwise(eg_tensor *t, int64_t n)
{
    (void)n;
    return eg_unsqueeze(eg_flatten(eg_permute(t, EG_AXES(2, 3, 0, 1)), 0, 1), 1);
}

/* ---- dense layers ----------------------------------------------------------------------------- */

static bool is_dense(const eg_tensor *t, int64_t n)
{
    (void)n;
    return t->ndim == 2 || (t->ndim == 4 && t->shape[0] == 1 && t->shape[1] == 1);
}

static eg_tensor *from_dense(eg_tensor *t, int64_t n)
{
    (void)n;
    return eg_transpose(t->ndim == 4 ? eg_flatten(t, 0, 2) : t, 0, 1);
}

/* The side of a square of so many places; -1: they are none. */
static int64_t side_of(int64_t places)
{
    int64_t side = (int64_t)(sqrt((double)places) + 0.5);
    return side * side == places ? side : -1;
}

static bool is_behind_places(const eg_tensor *t, int64_t channels)
{
    return t->ndim == 2 && channels > 0 && t->shape[0] % channels == 0 && side_of(t->shape[0] / channels) >= 0;
}

static eg_tensor *from_places(eg_tensor *t, int64_t channels)
{
    const int64_t side = side_of(t->shape[0] / channels);
    return eg_flatten(eg_permute(eg_reshape(t, EG_SHAPE(side, side, channels, t->shape[1])), EG_AXES(3, 2, 0, 1)), 1,
                      -1);
}

static bool is_of_kernel(const eg_tensor *t, int64_t kernel)
{
    return t->ndim == 2 && kernel > 0 && t->shape[1] % (kernel * kernel) == 0;
}

static eg_tensor *to_kernel(eg_tensor *t, int64_t kernel)
{
    return eg_reshape(t, EG_SHAPE(t->shape[0], t->shape[1] / (kernel * kernel), kernel, kernel));
}

/* ---- others ----------------------------------------------------------------------------------- */

static bool any_axes(const eg_tensor *t, int64_t n)
{
    (void)t, (void)n;
    return true;
}

static eg_tensor *without_ones(eg_tensor *t, int64_t n)
{
    (void)n;
    return eg_squeeze(t, (eg_axes){0});
}

static eg_tensor *zero(eg_tensor *t, int64_t n)
{
    (void)t, (void)n;
    return eg_zeros(EG_SCALAR, EG_I64);
}

/* ---- by name ---------------------------------------------------------------------------------- */

static const struct layout {
    const char *name, *wants;
    bool numbered;
    bool (*fits)(const eg_tensor *t, int64_t n);
    eg_tensor *(*undo)(eg_tensor *t, int64_t n);
} layouts[] = {
    {"hwio", "[H, W, in, out]", false, four_axes, from_hwio},
    {"depthwise", "[H, W, in, n]", false, four_axes, from_depthwise},
    {"dense", "[in, out] or [1, 1, in, out]", false, is_dense, from_dense},
    {"places", "[H * H * channels, out]", true, is_behind_places, from_places},
    {"kernel", "[out, in * side * side]", true, is_of_kernel, to_kernel},
    {"squeeze", "anything", false, any_axes, without_ones},
    {"zero", "anything", false, any_axes, zero},
};

enum { COUNT = sizeof layouts / sizeof *layouts };

/* The layout of a word, and the number behind its "="; NULL if there is none. */
static const struct layout *find(eg__span word, int64_t *n)
{
    eg__span name = word, number;
    const bool numbered = eg__map_pair(word, &name, &number);
    *n = numbered ? eg__map_number(number) : 0;
    for (int i = 0; i < COUNT; i++) {
        const struct layout *way = &layouts[i];
        if (eg__span_is(name, (eg__span){way->name, strlen(way->name)})) {
            return way->numbered == numbered && (!numbered || *n > 0) ? way : NULL;
        }
    }
    return NULL;
}

bool eg__layout_known(eg__span word)
{
    int64_t n;
    return find(word, &n) != NULL;
}

eg_tensor *eg__layout_undone(const char *op, const char *name, eg_tensor *t, eg__span word)
{
    int64_t n;
    const struct layout *way = find(word, &n);
    if (!way->fits(t, n)) {
        return eg__fail_null(EG_ESHAPE, op, "\"%.80s\" is %s, and no %.*s: that is %s", name, EG__SHAPE_OF(t),
                             (int)word.length, word.text, way->wants);
    }
    return way->undo(t, n);
}
