/* index.c - what the golden cases of picking, putting and masking stand for. */
#include "tests/golden/golden.h"

static int axis(const golden_case *c)
{
    return (int)golden_number(c, "axis", 0);
}

static eg_tensor *embedding(const golden_case *c)
{
    return eg_embedding(c->x[0], c->x[1], .padded = golden_has(c, "padding_idx"),
                        .padding = (int64_t)golden_number(c, "padding_idx", 0));
}

#define PICK(name)                                   \
    static eg_tensor *name(const golden_case *c)     \
    {                                                \
        return eg_##name(c->x[0], axis(c), c->x[1]); \
    }
#define PUT(name)                                             \
    static eg_tensor *name(const golden_case *c)              \
    {                                                         \
        return eg_##name(c->x[0], axis(c), c->x[1], c->x[2]); \
    }
PICK(gather)
PICK(take_along)
PICK(index_select)
PUT(scatter)
PUT(scatter_add)
PUT(index_copy)

static eg_tensor *scatter_reduce(const golden_case *c)
{
    static const char *const modes[] = {
        [EG_SCATTER_MUL] = "prod", [EG_SCATTER_MEAN] = "mean", [EG_SCATTER_MAX] = "amax", [EG_SCATTER_MIN] = "amin"};
    int mode = 0;
    while (!golden_is(c, "reduce", modes[mode])) {
        mode++;
    }
    return eg_scatter_reduce(c->x[0], axis(c), c->x[1], c->x[2], (eg_scatter_mode)mode);
}

static eg_tensor *index_add(const golden_case *c)
{
    eg_tensor *source = eg_mul_scalar(c->x[2], golden_number(c, "alpha", 1));
    return eg_index_add(c->x[0], axis(c), c->x[1], source);
}

static eg_tensor *index_fill(const golden_case *c)
{
    return eg_index_fill(c->x[0], axis(c), c->x[1], golden_number(c, "value", 0));
}

static eg_tensor *scatter_nd_add(const golden_case *c)
{
    return eg_scatter_nd_add(c->x[0], c->x[1], c->x[2]);
}

static eg_tensor *masked_fill(const golden_case *c)
{
    return eg_masked_fill(c->x[0], c->x[1], golden_number(c, "value", 0));
}

static eg_tensor *masked_scatter(const golden_case *c)
{
    return eg_masked_scatter(c->x[0], c->x[1], c->x[2]);
}

static eg_tensor *one_hot(const golden_case *c)
{
    return eg_one_hot(c->x[0], (int64_t)golden_number(c, "classes", 0), .dtype = EG_I64);
}

#define ROW(name)                \
    {                            \
        .op = #name, .one = name \
    }
GOLDEN_ROWS(index, ROW(embedding), ROW(gather), ROW(take_along), ROW(index_select), GOLDEN_2(gather_nd), GOLDEN_2(take),
            ROW(scatter), ROW(scatter_add), ROW(scatter_reduce), ROW(index_add), ROW(index_copy), ROW(index_fill),
            ROW(scatter_nd_add), ROW(masked_fill), GOLDEN_2(masked_select), ROW(masked_scatter), GOLDEN_1(nonzero),
            ROW(one_hot))
