/* shape.c - what the golden cases of joining, padding and rearranging stand for. */
#include "tests/golden/golden.h"

static int number(const golden_case *c, const char *key)
{
    return (int)golden_number(c, key, 0);
}

static eg_tensor *concat(const golden_case *c)
{
    return eg_concat(c->x, c->nx, number(c, "axis"));
}

static eg_tensor *stack(const golden_case *c)
{
    return eg_stack(c->x, c->nx, number(c, "axis"));
}

static bool split(const golden_case *c, eg_tensor **out)
{
    int64_t sizes[GOLDEN_LIST];
    int n = golden_list(c, "sizes", sizes);
    return eg_split(c->x[0], sizes, n, number(c, "axis"), out) == EG_OK;
}

static bool chunk(const golden_case *c, eg_tensor **out)
{
    return eg_chunk(c->x[0], number(c, "chunks"), number(c, "axis"), out) == EG_OK;
}

static bool unbind(const golden_case *c, eg_tensor **out)
{
    return eg_unbind(c->x[0], number(c, "axis"), out) == EG_OK;
}

static bool meshgrid(const golden_case *c, eg_tensor **out)
{
    return eg_meshgrid(c->x, c->nx, out) == EG_OK;
}

static eg_tensor *pad(const golden_case *c)
{
    static const char *const modes[] = {[EG_PAD_CONSTANT] = "constant",
                                        [EG_PAD_REFLECT] = "reflect",
                                        [EG_PAD_REPLICATE] = "replicate",
                                        [EG_PAD_CIRCULAR] = "circular"};
    eg_pad_options o = {.size = sizeof o, .value = golden_number(c, "value", 0)};
    int mode = 0;
    while (!golden_is(c, "mode", modes[mode])) {
        mode++;
    }
    o.mode = (eg_pad_mode)mode;
    golden_list(c, "pad_front", o.before);
    golden_list(c, "pad_end", o.after);
    return eg_pad_with(c->x[0], &o);
}

static eg_tensor *tile(const golden_case *c)
{
    return eg_tile(c->x[0], golden_shape(c, "reps"));
}

static eg_tensor *repeat_interleave(const golden_case *c)
{
    return eg_repeat_interleave(c->x[0], number(c, "repeats"), number(c, "axis"));
}

static eg_tensor *flip(const golden_case *c)
{
    return eg_flip(c->x[0], golden_axes(c, "axes"));
}

/* Without axes, the elements in row-major order. */
static eg_tensor *roll(const golden_case *c)
{
    int64_t shifts[GOLDEN_LIST];
    int n = golden_list(c, "shifts", shifts);
    eg_axes axes = golden_axes(c, "axes");
    eg_tensor *y = c->x[0];
    if (!axes.count) {
        return eg_reshape(eg_roll(eg_reshape(y, EG_SHAPE(-1)), shifts[0], 0), eg_shape_of(y));
    }
    for (int i = 0; i < n; i++) {
        y = eg_roll(y, shifts[i], axes.axis[i]);
    }
    return y;
}

static eg_tensor *permute(const golden_case *c)
{
    return eg_permute(c->x[0], golden_axes(c, "order"));
}

static eg_tensor *transpose(const golden_case *c)
{
    return eg_transpose(c->x[0], number(c, "axis0"), number(c, "axis1"));
}

static eg_tensor *movedim(const golden_case *c)
{
    return eg_movedim(c->x[0], golden_axes(c, "source"), golden_axes(c, "destination"));
}

static eg_tensor *reshape(const golden_case *c)
{
    return eg_reshape(c->x[0], golden_shape(c, "shape"));
}

static eg_tensor *expand(const golden_case *c)
{
    return eg_expand(c->x[0], golden_shape(c, "shape"));
}

static eg_tensor *squeeze(const golden_case *c)
{
    return eg_squeeze(c->x[0], golden_axes(c, "axes"));
}

static eg_tensor *unsqueeze(const golden_case *c)
{
    return eg_unsqueeze(c->x[0], number(c, "axis"));
}

static eg_tensor *flatten(const golden_case *c)
{
    return eg_flatten(c->x[0], number(c, "start"), number(c, "end"));
}

static eg_tensor *slice(const golden_case *c)
{
    int64_t start[GOLDEN_LIST], stop[GOLDEN_LIST], step[GOLDEN_LIST];
    int n = golden_list(c, "start", start);
    eg_tensor *y = c->x[0];
    golden_list(c, "stop", stop);
    golden_list(c, "step", step);
    for (int d = 0; d < n; d++) {
        y = eg_slice(y, d, start[d], stop[d], step[d]);
    }
    return y;
}

static eg_tensor *select(const golden_case *c)
{
    return eg_select(c->x[0], number(c, "axis"), number(c, "index"));
}

static eg_tensor *narrow(const golden_case *c)
{
    int64_t start = number(c, "start");
    return eg_slice(c->x[0], number(c, "axis"), start, start + number(c, "length"), 1);
}

static eg_tensor *tril(const golden_case *c)
{
    return eg_tril(c->x[0], number(c, "diagonal"));
}

static eg_tensor *triu(const golden_case *c)
{
    return eg_triu(c->x[0], number(c, "diagonal"));
}

static eg_tensor *diagonal(const golden_case *c)
{
    return eg_diagonal(c->x[0], number(c, "offset"), -2, -1);
}

static eg_tensor *pixel_shuffle(const golden_case *c)
{
    return eg_pixel_shuffle(c->x[0], number(c, "block"));
}

static eg_tensor *pixel_unshuffle(const golden_case *c)
{
    return eg_pixel_unshuffle(c->x[0], number(c, "block"));
}

#define ROW(name)                \
    {                            \
        .op = #name, .one = name \
    }
GOLDEN_ROWS(shape, ROW(concat), ROW(stack), {.op = "split", .many = split}, {.op = "chunk", .many = chunk},
            {.op = "unbind", .many = unbind}, {.op = "meshgrid", .many = meshgrid}, ROW(pad), ROW(tile),
            ROW(repeat_interleave), ROW(flip), ROW(roll), ROW(permute), ROW(transpose), ROW(movedim), ROW(reshape),
            ROW(expand), ROW(squeeze), ROW(unsqueeze), ROW(flatten), ROW(slice), ROW(select), ROW(narrow), ROW(tril),
            ROW(triu), ROW(diagonal), ROW(pixel_shuffle), ROW(pixel_unshuffle))
