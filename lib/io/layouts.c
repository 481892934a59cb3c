/* layouts.c - see layouts.h. */
#include "lib/io/layouts.h"

#include <math.h>

#include <egret/ops.h>

#include "lib/core/tensor.h"

/* ---- what is behind the "=" ------------------------------------------------------------------- */

enum { ORDER_MOST = 10 };

typedef struct said {
    int64_t a, b;             /* numbers; b < 0: to the end */
    int count;                /* of what is in order */
    int8_t order[ORDER_MOST]; /* 0 ... count - 1, each once */
} said;

static bool says_nothing(eg__span word, said *s)
{
    (void)word, (void)s;
    return false;
}

static bool says_number(eg__span word, said *s)
{
    s->a = eg__map_number(word);
    return s->a >= 0;
}

static bool says_size(eg__span word, said *s)
{
    return says_number(word, s) && s->a > 0;
}

/* Two numbers with that in between; without the second b is -1. */
static bool says_two(eg__span word, char between, said *s)
{
    const char *at = memchr(word.text, between, word.length);
    const size_t first = at ? (size_t)(at - word.text) : word.length;
    const eg__span second = {word.text + first + 1, at ? word.length - first - 1 : 0};
    s->b = eg__map_number(second);
    return at && says_number((eg__span){word.text, first}, s) && (s->b >= 0 || !second.length);
}

static bool says_part(eg__span word, said *s)
{
    return says_two(word, '/', s) && s->a < s->b;
}

static bool says_cut(eg__span word, said *s)
{
    return says_two(word, ':', s) && (s->b < 0 || s->a <= s->b);
}

static bool says_order(eg__span word, said *s)
{
    unsigned seen = 0;
    s->count = word.length <= ORDER_MOST ? (int)word.length : 0;
    for (int i = 0; i < s->count; i++) {
        s->order[i] = (int8_t)(word.text[i] - '0');
        seen |= word.text[i] >= '0' && word.text[i] <= '9' ? 1u << s->order[i] : 0;
    }
    return s->count > 0 && seen == (1u << s->count) - 1;
}

/* ---- kernels ---------------------------------------------------------------------------------- */

static bool four_axes(const eg_tensor *t, const said *s)
{
    (void)s;
    return t->ndim == 4;
}

static eg_tensor *from_hwio(eg_tensor *t, const said *s)
{
    (void)s;
    return eg_permute(t, EG_AXES(3, 2, 0, 1));
}

/* Of channel c of the input, output m is c * n + m on both sides. */
static eg_tensor *from_depthwise(eg_tensor *t, const said *s)
{
    (void)s;
    return eg_unsqueeze(eg_flatten(eg_permute(t, EG_AXES(2, 3, 0, 1)), 0, 1), 1);
}

/* ---- dense layers ----------------------------------------------------------------------------- */

static bool is_dense(const eg_tensor *t, const said *s)
{
    (void)s;
    return t->ndim == 2 || (t->ndim == 4 && t->shape[0] == 1 && t->shape[1] == 1);
}

static eg_tensor *from_dense(eg_tensor *t, const said *s)
{
    (void)s;
    return eg_transpose(t->ndim == 4 ? eg_flatten(t, 0, 2) : t, 0, 1);
}

/* The side of a square of so many places; -1: they are none. */
static int64_t side_of(int64_t places)
{
    int64_t side = (int64_t)(sqrt((double)places) + 0.5);
    return side * side == places ? side : -1;
}

static bool is_behind_places(const eg_tensor *t, const said *s)
{
    return t->ndim == 2 && t->shape[0] % s->a == 0 && side_of(t->shape[0] / s->a) >= 0;
}

static eg_tensor *from_places(eg_tensor *t, const said *s)
{
    const int64_t side = side_of(t->shape[0] / s->a);
    return eg_flatten(eg_permute(eg_reshape(t, EG_SHAPE(side, side, s->a, t->shape[1])), EG_AXES(3, 2, 0, 1)), 1, -1);
}

static bool is_of_kernel(const eg_tensor *t, const said *s)
{
    return t->ndim == 2 && t->shape[1] % (s->a * s->a) == 0;
}

static eg_tensor *to_kernel(eg_tensor *t, const said *s)
{
    return eg_reshape(t, EG_SHAPE(t->shape[0], t->shape[1] / (s->a * s->a), s->a, s->a));
}

/* ---- axes and blocks --------------------------------------------------------------------------- */

static bool has_order(const eg_tensor *t, const said *s)
{
    return t->ndim == s->count;
}

static eg_tensor *in_order(eg_tensor *t, const said *s)
{
    eg_axes axes = {.count = s->count};
    for (int i = 0; i < s->count; i++) {
        axes.axis[i] = s->order[i];
    }
    return eg_permute(t, axes);
}

static bool has_two(const eg_tensor *t, const said *s)
{
    return s->a + 1 < t->ndim;
}

static eg_tensor *as_one(eg_tensor *t, const said *s)
{
    return eg_flatten(t, (int)s->a, (int)s->a + 1);
}

static bool has_parts(const eg_tensor *t, const said *s)
{
    return t->ndim && t->shape[0] % s->b == 0;
}

static eg_tensor *one_part(eg_tensor *t, const said *s)
{
    const int64_t n = t->shape[0] / s->b;
    return eg_slice(t, 0, s->a * n, (s->a + 1) * n, 1);
}

static bool has_places(const eg_tensor *t, const said *s)
{
    return t->ndim && (s->b < 0 ? s->a : s->b) <= t->shape[0];
}

static eg_tensor *cut_out(eg_tensor *t, const said *s)
{
    return eg_slice(t, 0, s->a, s->b < 0 ? t->shape[0] : s->b, 1);
}

static bool has_gates(const eg_tensor *t, const said *s)
{
    return t->ndim && t->shape[0] % s->count == 0;
}

static eg_tensor *gates_in_order(eg_tensor *t, const said *s)
{
    eg_tensor *gates[ORDER_MOST];
    for (int i = 0; i < s->count; i++) {
        gates[i] = one_part(t, &(said){.a = s->order[i], .b = s->count});
        if (!gates[i]) {
            return NULL;
        }
    }
    return eg_concat(gates, s->count, 0);
}

static bool is_float(const eg_tensor *t, const said *s)
{
    (void)s;
    return eg__is_float((eg_dtype)t->dtype);
}

static eg_tensor *with_more(eg_tensor *t, const said *s)
{
    return eg_add_scalar(t, (double)s->a);
}

/* ---- others ----------------------------------------------------------------------------------- */

static bool any_axes(const eg_tensor *t, const said *s)
{
    (void)t, (void)s;
    return true;
}

static eg_tensor *without_ones(eg_tensor *t, const said *s)
{
    (void)s;
    return eg_squeeze(t, (eg_axes){0});
}

static eg_tensor *zero(eg_tensor *t, const said *s)
{
    (void)t, (void)s;
    return eg_zeros(EG_SCALAR, EG_I64);
}

/* ---- by name ---------------------------------------------------------------------------------- */

static const struct layout {
    const char *name, *wants;
    bool (*says)(eg__span word, said *s); /* false: that says nothing; says_nothing: there is no "=" */
    bool (*fits)(const eg_tensor *t, const said *s);
    eg_tensor *(*undo)(eg_tensor *t, const said *s);
} layouts[] = {
    {"hwio", "[H, W, in, out]", says_nothing, four_axes, from_hwio},
    {"depthwise", "[H, W, in, n]", says_nothing, four_axes, from_depthwise},
    {"dense", "[in, out] or [1, 1, in, out]", says_nothing, is_dense, from_dense},
    {"places", "[H * H * channels, out]", says_size, is_behind_places, from_places},
    {"kernel", "[out, in * side * side]", says_size, is_of_kernel, to_kernel},
    {"axes", "of as many axes", says_order, has_order, in_order},
    {"merge", "of that axis and one behind it", says_number, has_two, as_one},
    {"part", "of a first axis in so many equal parts", says_part, has_parts, one_part},
    {"cut", "of a first axis with such places", says_cut, has_places, cut_out},
    {"gates", "of a first axis in so many equal parts", says_order, has_gates, gates_in_order},
    {"add", "of floats", says_number, is_float, with_more},
    {"squeeze", "anything", says_nothing, any_axes, without_ones},
    {"zero", "anything", says_nothing, any_axes, zero},
};

enum { COUNT = sizeof layouts / sizeof *layouts };

/* The layout of a word, and what is said behind its "="; NULL if there is none. */
static const struct layout *find(eg__span word, said *s)
{
    eg__span name = word, behind;
    const bool more = eg__map_pair(word, &name, &behind);
    *s = (said){.a = 0};
    for (int i = 0; i < COUNT; i++) {
        const struct layout *way = &layouts[i];
        if (eg__span_is(name, (eg__span){way->name, strlen(way->name)})) {
            return (more ? way->says(behind, s) : way->says == says_nothing) ? way : NULL;
        }
    }
    return NULL;
}

bool eg__layout_known(eg__span word)
{
    said s;
    return find(word, &s) != NULL;
}

bool eg__layout_is_join(eg__span word, int64_t *i, int64_t *of)
{
    eg__span name, behind;
    said s = {.a = 0};
    const bool is = eg__map_pair(word, &name, &behind) && eg__span_is(name, (eg__span){"join", 4}) &&
                    says_part(behind, &s) && s.b <= EG__JOIN_MOST;
    *i = s.a;
    *of = s.b;
    return is;
}

eg_tensor *eg__layout_undone(const char *op, const char *name, eg_tensor *t, eg__span word, int line)
{
    said s;
    const struct layout *way = find(word, &s);
    if (!way->fits(t, &s)) {
        return eg__fail_null(EG_ESHAPE, op, "line %d: \"%.80s\" is %s, and no %.*s: that is %s", line, name,
                             EG__SHAPE_OF(t), (int)word.length, word.text, way->wants);
    }
    return way->undo(t, &s);
}
