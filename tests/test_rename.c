/* test_rename.c - tensors under other names: which rule fits, what layouts make of them, what is no map. */
#include <egret/io.h>

#include "tests/egt.h"

/* Tensors of one number each, 0, 1, ..., under these names. */
static eg_tensors *named(const char *const *names, int n)
{
    eg_tensors *m = eg_tensors_new();
    EG_SCOPE {
        for (int i = 0; i < n; i++) {
            EGT_OK(eg_tensors_set(m, names[i], eg_scalar(i, EG_F32)));
        }
    }
    return m;
}
#define NAMED(...) named((const char *[]){__VA_ARGS__}, EG_COUNT_(const char *, __VA_ARGS__))

/* What becomes of one name; "" if it is left out. Valid until the second call from now. */
static const char *becomes(const char *name, const char *map)
{
    static char made[2][1024];
    static int at;
    eg_tensors *from = named(&name, 1), *to = eg_tensors_renamed(from, map), *rest = eg_tensors_left_out(from, map);
    EGT_CHECK(to && rest && eg_tensors_count(to) <= 1 && eg_tensors_count(to) + eg_tensors_count(rest) == 1);
    at = !at;
    snprintf(made[at], sizeof made[at], "%s", eg_tensors_count(to) ? eg_tensors_name(to, 0) : "");
    eg_tensors_free(from);
    eg_tensors_free(to);
    eg_tensors_free(rest);
    return made[at];
}

/* ---- names ---------------------------------------------------------------------------------------- */

EGT(stars_stand_for_names)
{
    EGT_STR(becomes("a", "a b"), "b");
    EGT_STR(becomes("a", "ab b"), "");
    EGT_STR(becomes("ab", "a b"), "");
    EGT_STR(becomes("a.b", "* x"), "");
    EGT_STR(becomes("a.b", "*.* {2}/{1}"), "b/a");
    EGT_STR(becomes("a/b", "*.* x"), "");
    EGT_STR(becomes("layer2.10.conv3.weight", "layer*.*.conv*.* {1},{2},{3},{4}"), "2,10,3,weight");
    EGT_STR(becomes("sep_5x5_1", "sep_*_* {1} # x and y"), "5x5");
    EGT_STR(becomes("a_b_c", "*_* {1}-{2}"), "a-b_c");
    EGT_STR(becomes("aab", "*ab {1}"), "a");
    EGT_STR(becomes("aab.aab", "*ab.*ab {1}{2}"), "aa");
    EGT_STR(becomes("aab.ac", "*a*.*c {1},{2},{3}"), ",ab,a");
    EGT_STR(becomes("x.y", "*x*.y{} x"), "");
    EGT_STR(becomes("unit", "unit* x{1}x"), "xx"); /* none */
    EGT_STR(becomes("a*", "a* {1}"), "*");
    EGT_STR(becomes("aXbXc", "a*b*c*d x"), "");
    EGT_STR(becomes("1.2.3.4.5.6.7.8.9", "*.*.*.*.*.*.*.*.* {9}{8}{7}{6}{5}{4}{3}{2}{1}"), "987654321");
}

EGT(numbers_and_lists)
{
    EGT_STR(becomes("u0", "u* v{1+1}"), "v1");
    EGT_STR(becomes("u9", "u* v{1+1}"), "v10");
    EGT_STR(becomes("u09", "u* v{1-2}"), "v7");
    EGT_STR(becomes("u1", "u* v{1-2}"), ""); /* -1 */
    EGT_STR(becomes("u", "u* v{1+1}"), "");
    EGT_STR(becomes("u1b", "u* v{1+1}"), "");
    EGT_STR(becomes("u1234567890", "u* v{1+0}"), "");
    EGT_STR(becomes("u1b", "u* v{1+1}\nu* w{1}"), "w1b"); /* goes on to the next */
    EGT_STR(becomes("a.gamma", "norm: gamma=weight beta=bias\n*.* {1}.{2:norm}"), "a.weight");
    EGT_STR(becomes("a.beta", "*.* {1}.{2:norm}\nnorm: gamma=weight beta=bias"), "a.bias");
    EGT_STR(becomes("a.delta", "norm: gamma=weight beta=bias\n*.* {1}.{2:norm}"), "");
    EGT_STR(becomes("a.b", "one: b=1\ntwo: b= a=b=c\n*.* x{2:two}{2:one}"), "x1");
    EGT_STR(becomes("a.b", "two: b= a=b=c\n*.* {1:two}{2:two}"), "b=c");
}

EGT(lines_are_read_as_they_look)
{
    EGT_STR(becomes("a", ""), "");
    EGT_STR(becomes("a", "# nothing\n\n  \t\r\n"), "");
    EGT_STR(becomes("a", "\n\n \ta\t\tb \t# why\r\n"), "b");
    EGT_STR(becomes("a#", "a# b#c"), "b#c");
    EGT_STR(becomes("a", "a b\na c"), "b"); /* the first one */
    EGT_STR(becomes("a", "b a\r\na c\r"), "c");
    EGT_STR(becomes("w:0", "*:0 {1}"), "w");
}

EGT(what_is_renamed_and_what_is_left)
{
    static const char map[] = "conv* c.{1}\n"
                              "*.mean {1}.running_mean\n"
                              "+ {1}.batches zero\n"
                              "+ {1+1}.more";
    eg_tensors *from = NAMED("conv1", "other", "a.mean", "conv2", "4.mean");
    EGT_OK(eg_tensors_set_text(from, "format", "pt"));
    eg_tensors *to = eg_tensors_renamed(from, map), *rest = eg_tensors_left_out(from, map);
    static const char *const names[] = {"c.1",       "a.running_mean", "a.batches", "c.2", "4.running_mean",
                                        "4.batches", "5.more"};
    static const double values[] = {0, 2, 0, 3, 4, 0, 4};
    EGT_EQ(eg_tensors_count(to), 7);
    for (int i = 0; i < 7; i++) {
        EGT_STR(eg_tensors_name(to, i), names[i]);
        EGT_EQ(eg_item(eg_tensors_at(to, i)), values[i]);
    }
    EGT_EQ(eg_dtype_of(eg_tensors_get(to, "a.batches")), EG_I64);
    EGT_CHECK(eg_tensors_get(to, "c.1") == eg_tensors_get(from, "conv1"));
    EGT_STR(eg_tensors_text(to, "c.2"), "conv2");
    EGT_STR(eg_tensors_text(to, "a.batches"), "a.mean");
    EGT_EQ(eg_tensors_text_count(to), 7);
    EGT_EQ(eg_tensors_count(rest), 1);
    EGT_STR(eg_tensors_name(rest, 0), "other");
    eg_tensors_free(from);
    EGT_EQ(eg_item(eg_tensors_get(to, "c.2")), 3); /* outlives where it came from */
    eg_tensors_free(to);
    eg_tensors_free(rest);
}

/* ---- layouts -------------------------------------------------------------------------------------- */

/* Counts up, in a layout. */
static eg_tensor *laid_out(eg_shape shape, const char *layout)
{
    char map[100];
    snprintf(map, sizeof map, "t t %s", layout);
    eg_tensors *from = eg_tensors_new(), *to;
    eg_tensor *t = NULL, *counting = eg_arange_int(0, eg_numel(eg_zeros(shape, EG_F32)), 1, EG_F32);
    EGT_OK(eg_tensors_set(from, "t", eg_reshape(counting, shape)));
    to = eg_tensors_renamed(from, map);
    t = to ? eg_copy(eg_tensors_get(to, "t")) : NULL;
    eg_tensors_free(from);
    eg_tensors_free(to);
    return t;
}

static double at(eg_tensor *t, const char *index)
{
    return eg_item(eg_index(t, index));
}

EGT(layouts_of_kernels)
{
    eg_tensor *t = laid_out(EG_SHAPE(2, 3, 4, 5), "hwio");
    EGT_CHECK(t && eg_size(t, 0) == 5 && eg_size(t, 1) == 4 && eg_size(t, 2) == 2 && eg_size(t, 3) == 3);
    EGT_EQ(at(t, "4, 3, 1, 0"), ((1 * 3 + 0) * 4 + 3) * 5 + 4);
    t = laid_out(EG_SHAPE(2, 3, 4, 5), "depthwise");
    EGT_CHECK(t && eg_size(t, 0) == 20 && eg_size(t, 1) == 1 && eg_size(t, 2) == 2 && eg_size(t, 3) == 3);
    EGT_EQ(at(t, "17, 0, 1, 2"), ((1 * 3 + 2) * 4 + 3) * 5 + 2); /* channel 3, its number 2 */
    EGT_CHECK(eg_numel(laid_out(EG_SHAPE(2, 3, 0, 5), "depthwise")) == 0);
    EGT_REFUSED(laid_out(EG_SHAPE(2, 3), "hwio"), EG_ESHAPE, "\"t\" is [2, 3], and no hwio");
    EGT_REFUSED(laid_out(EG_SHAPE(2, 3, 4), "depthwise"), EG_ESHAPE, "[H, W, in, n]");
}

EGT(layouts_of_dense_layers)
{
    eg_tensor *t = laid_out(EG_SHAPE(2, 3), "dense"), *same = laid_out(EG_SHAPE(1, 1, 2, 3), "dense");
    EGT_CHECK(t && eg_size(t, 0) == 3 && at(t, "2, 1") == 5 && egt_distance(t, same) == 0);
    EGT_EQ(eg_ndim(laid_out(EG_SHAPE(1, 1, 4, 1), "dense")), 2);
    EGT_REFUSED(laid_out(EG_SHAPE(1, 2, 2, 3), "dense"), EG_ESHAPE, "dense");
    t = laid_out(EG_SHAPE(2 * 2 * 3, 5), "places=3");
    EGT_CHECK(t && eg_ndim(t) == 2 && eg_size(t, 0) == 5 && eg_size(t, 1) == 12);
    EGT_EQ(at(t, "4, 6"), (1 * 2 + 0) * 3 * 5 + 1 * 5 + 4); /* channel 1, place (1, 0) */
    EGT_REFUSED(laid_out(EG_SHAPE(2 * 3 * 3, 5), "places=3"), EG_ESHAPE, "places=3");
    EGT_REFUSED(laid_out(EG_SHAPE(12, 5), "places=5"), EG_ESHAPE, "[12, 5]");
    t = laid_out(EG_SHAPE(5, 12), "kernel=2");
    EGT_CHECK(t && eg_ndim(t) == 4 && eg_size(t, 1) == 3 && eg_size(t, 2) == 2);
    EGT_EQ(at(t, "4, 1, 1, 0"), 4 * 12 + 6);
    EGT_REFUSED(laid_out(EG_SHAPE(5, 10), "kernel=2"), EG_ESHAPE, "kernel=2");
    EGT_REFUSED(laid_out(EG_SHAPE(5, 10), "kernel=999999999"), EG_ESHAPE, "kernel");
}

EGT(layouts_one_behind_the_other)
{
    EGT_EQ(eg_ndim(laid_out(EG_SHAPE(1, 3, 1, 2), "squeeze")), 2);
    EGT_EQ(eg_ndim(laid_out(EG_SHAPE(1, 1), "squeeze")), 0);
    eg_tensor *t = laid_out(EG_SHAPE(1, 2, 1, 3), "squeeze dense # both");
    EGT_CHECK(t && eg_size(t, 0) == 3 && at(t, "2, 1") == 5);
    EGT_REFUSED(laid_out(EG_SHAPE(2, 3), "dense hwio"), EG_ESHAPE, "[3, 2], and no hwio");
    t = laid_out(EG_SHAPE(2, 3), "zero");
    EGT_CHECK(t && !eg_ndim(t) && eg_dtype_of(t) == EG_I64 && !eg_item(t));
}

/* ---- parts -------------------------------------------------------------------------------------- */

/* Whether a tensor has these numbers, row by row. */
static bool is(eg_tensor *t, int n, const double *numbers)
{
    bool same = t && eg_numel(t) == n;
    for (int i = 0; same && i < n; i++) {
        same = eg_get(eg_contiguous(t), i) == numbers[i];
    }
    return same;
}
#define IS(t, ...) is(t, EG_COUNT_(double, __VA_ARGS__), (const double[]){__VA_ARGS__})

EGT(layouts_of_axes_and_parts)
{
    eg_tensor *t = laid_out(EG_SHAPE(2, 3, 4), "axes=210");
    EGT_CHECK(t && eg_size(t, 0) == 4 && eg_size(t, 1) == 3 && eg_size(t, 2) == 2 && at(t, "3, 1, 0") == 7);
    EGT_CHECK(egt_distance(laid_out(EG_SHAPE(2, 3, 4, 5), "axes=3201"), laid_out(EG_SHAPE(2, 3, 4, 5), "hwio")) == 0);
    t = laid_out(EG_SHAPE(5, 2, 3), "axes=120 merge=0"); /* in, heads, size */
    EGT_CHECK(t && eg_ndim(t) == 2 && eg_size(t, 0) == 6 && at(t, "4, 3") == 3 * 6 + 4);
    t = laid_out(EG_SHAPE(2, 3, 5), "axes=201 merge=1"); /* heads, size, out */
    EGT_CHECK(t && eg_ndim(t) == 2 && eg_size(t, 1) == 6 && at(t, "3, 4") == 4 * 5 + 3);
    EGT_CHECK(IS(laid_out(EG_SHAPE(3, 2), "part=1/3"), 2, 3));
    EGT_CHECK(IS(laid_out(EG_SHAPE(2, 3), "part=1/2 squeeze"), 3, 4, 5));
    EGT_CHECK(IS(laid_out(EG_SHAPE(2, 3), "dense part=2/3"), 2, 5));
    EGT_CHECK(IS(laid_out(EG_SHAPE(6), "cut=1:3"), 1, 2));
    EGT_CHECK(IS(laid_out(EG_SHAPE(6), "cut=4:"), 4, 5));
    EGT_EQ(eg_numel(laid_out(EG_SHAPE(6), "cut=6:")), 0);
    EGT_CHECK(IS(laid_out(EG_SHAPE(8), "gates=0213"), 0, 1, 4, 5, 2, 3, 6, 7));
    EGT_CHECK(IS(laid_out(EG_SHAPE(3, 2), "gates=102"), 2, 3, 0, 1, 4, 5));
    EGT_CHECK(IS(laid_out(EG_SHAPE(4), "gates=2301 add=10"), 12, 13, 10, 11));
    EGT_EQ(eg_numel(laid_out(EG_SHAPE(0, 3), "gates=0231")), 0);
    EGT_REFUSED(laid_out(EG_SHAPE(2, 3), "axes=210"), EG_ESHAPE, "line 1: \"t\" is [2, 3], and no axes=210");
    EGT_REFUSED(laid_out(EG_SHAPE(2, 3), "merge=1"), EG_ESHAPE, "no merge=1");
    EGT_REFUSED(laid_out(EG_SHAPE(2, 3), "merge=999999999"), EG_ESHAPE, "no merge");
    EGT_REFUSED(laid_out(EG_SHAPE(4, 3), "part=0/3"), EG_ESHAPE, "[4, 3], and no part=0/3: that is of a first axis");
    EGT_REFUSED(laid_out(EG_SCALAR, "part=0/3"), EG_ESHAPE, "part");
    EGT_REFUSED(laid_out(EG_SHAPE(4), "cut=1:5"), EG_ESHAPE, "no cut=1:5");
    EGT_REFUSED(laid_out(EG_SHAPE(4), "cut=5:"), EG_ESHAPE, "no cut=5:");
    EGT_REFUSED(laid_out(EG_SCALAR, "cut=0:"), EG_ESHAPE, "cut");
    EGT_REFUSED(laid_out(EG_SHAPE(6), "gates=0213"), EG_ESHAPE, "no gates=0213");
    EGT_REFUSED(laid_out(EG_SHAPE(2), "zero add=1"), EG_ESHAPE, "of floats");
}

/* Counts up from `first`. */
static void set_counting(eg_tensors *map, const char *name, eg_shape shape, double first)
{
    EG_SCOPE {
        eg_tensor *t = eg_arange_int(0, eg_numel(eg_zeros(shape, EG_F32)), 1, EG_F32);
        EGT_OK(eg_tensors_set(map, name, eg_reshape(eg_add_scalar(t, first), shape)));
    }
}

EGT(one_becomes_several)
{
    eg_tensors *from = eg_tensors_new();
    set_counting(from, "0.attn.in_proj_weight", EG_SHAPE(6, 2), 0);
    eg_tensors *to = eg_tensors_renamed(from, "*.attn.in_proj_weight {1}.q part=0/3\n"
                                              "+ {1}.k part=1/3\n"
                                              "+ {1}.v part=2/3");
    EGT_EQ(eg_tensors_count(to), 3);
    EGT_CHECK(IS(eg_tensors_get(to, "0.q"), 0, 1, 2, 3));
    EGT_CHECK(IS(eg_tensors_get(to, "0.k"), 4, 5, 6, 7));
    EGT_CHECK(IS(eg_tensors_get(to, "0.v"), 8, 9, 10, 11));
    EGT_STR(eg_tensors_text(to, "0.v"), "0.attn.in_proj_weight");
    eg_tensors_free(from);
    eg_tensors_free(to);
}

/* In whatever order they come; the parts may differ in their first axis, and the last line's is not of the others. */
EGT(several_become_one)
{
    static const char map[] = "*.q.* {1}.in_{2} join=0/3\n*.k.* {1}.in_{2} join=1/3\n*.v.* {1}.in_{2} join=2/3\n* {1}";
    eg_tensors *from = eg_tensors_new();
    set_counting(from, "a.v.w", EG_SHAPE(2, 2), 20);
    set_counting(from, "a.q.w", EG_SHAPE(1, 2), 0);
    set_counting(from, "b.q.w", EG_SHAPE(1), 7);
    set_counting(from, "a.k.w", EG_SHAPE(1, 2), 10);
    set_counting(from, "b.k.w", EG_SHAPE(1), 8);
    set_counting(from, "other", EG_SHAPE(1), 5);
    set_counting(from, "b.v.w", EG_SHAPE(1), 9);
    eg_tensors *to = eg_tensors_renamed(from, map), *rest = eg_tensors_left_out(from, map);
    EGT_EQ(eg_tensors_count(to), 3);
    EGT_EQ(eg_tensors_count(rest), 0);
    EGT_EQ(eg_tensors_text_count(to), 3);
    EGT_CHECK(IS(eg_tensors_get(to, "a.in_w"), 0, 1, 10, 11, 20, 21, 22, 23));
    EGT_EQ(eg_size(eg_tensors_get(to, "a.in_w"), 0), 4);
    EGT_CHECK(IS(eg_tensors_get(to, "b.in_w"), 7, 8, 9));
    EGT_STR(eg_tensors_text(to, "a.in_w"), "a.q.w");
    eg_tensors_free(from);
    eg_tensors_free(to);
    eg_tensors_free(rest);
}

/* io.h's example: 2 of x, 1 of h, gates i, g, f, o. */
EGT(a_cell_of_tensorflow)
{
    eg_tensors *from = eg_tensors_new();
    set_counting(from, "cell/kernel", EG_SHAPE(3, 4), 0);
    set_counting(from, "cell/bias", EG_SHAPE(4), 0);
    eg_tensors *to = eg_tensors_renamed(from, "cell/kernel weight_ih_l0 cut=0:2 dense gates=0213\n"
                                              "+ weight_hh_l0 cut=2: dense gates=0213\n"
                                              "cell/bias bias_ih_l0 part=0/4 join=0/4\n"
                                              "+ bias_ih_l0 part=2/4 add=1 join=1/4\n"
                                              "+ bias_ih_l0 part=1/4 join=2/4\n"
                                              "+ bias_ih_l0 part=3/4 join=3/4\n");
    EGT_EQ(eg_tensors_count(to), 3);
    EGT_CHECK(IS(eg_tensors_get(to, "weight_ih_l0"), 0, 4, 2, 6, 1, 5, 3, 7));
    EGT_CHECK(IS(eg_tensors_get(to, "weight_hh_l0"), 8, 10, 9, 11));
    EGT_EQ(eg_ndim(eg_tensors_get(to, "weight_hh_l0")), 2);
    EGT_CHECK(IS(eg_tensors_get(to, "bias_ih_l0"), 0, 3, 1, 3));
    eg_tensors_free(from);
    eg_tensors_free(to);
}

EGT(parts_that_do_not_join)
{
    eg_tensors *from = NAMED("a.x", "b.x");
    EGT_REFUSED(eg_tensors_renamed(from, "a.* q join=0/2"), EG_EINVAL,
                "\"a.x\" is a part of \"q\", which has not all of its 2 parts");
    EGT_REFUSED(eg_tensors_renamed(from, "a.* q join=0/2\nb.* q join=1/3"), EG_EINVAL, "\"q\"");
    EGT_REFUSED(eg_tensors_renamed(from, "*.x q join=1/2"), EG_EINVAL,
                "\"a.x\" and \"b.x\" both become part 1 of \"q\"");
    EGT_REFUSED(eg_tensors_renamed(from, "a.x q join=0/1\nb.x q"), EG_ESHAPE, "\"a.x\" is [], which does not join");
    EGT_REFUSED(eg_tensors_renamed(from, "a.x q\nb.x q join=0/1"), EG_EINVAL, "both become \"q\"");
    EGT_REFUSED(eg_tensors_renamed(from, "a.x q join=0/2\nb.x q"), EG_EINVAL, "not all of its 2 parts");
    set_counting(from, "a.x", EG_SHAPE(2, 3), 0);
    set_counting(from, "b.x", EG_SHAPE(2, 2), 0);
    EGT_REFUSED(eg_tensors_renamed(from, "a.x q join=0/2\nb.x q join=1/2"), EG_ESHAPE,
                "\"b.x\" is [2, 2], which does not join \"a.x\", [2, 3]");
    EGT_REFUSED(eg_tensors_renamed(from, "a.x q join=0/1\nb.x q"), EG_EINVAL, "both become \"q\"");
    EGT_REFUSED(eg_tensors_renamed(from, "a.x q join=0/2\n\nb.x q cut=1:4 join=1/2"), EG_ESHAPE, "line 3: \"b.x\"");
    eg_tensors_free(from);
}

/* ---- what is refused ------------------------------------------------------------------------------ */

EGT(what_is_no_map)
{
    static const struct {
        const char *map, *word;
    } rows[] = {
        {"a", "line 1: \"a\" has no other name"},
        {"\n# x\na #b c", "line 3"},
        {"+ b", "no rule above"},
        {"a b\nl: c=d\n+ c", "line 3: \"+\" has no rule above"},
        {"a b turned", "no layout \"turned\""},
        {"a b places", "\"places\""},
        {"a b places=", "\"places=\""},
        {"a b places=0", "\"places=0\""},
        {"a b places=-1", "\"places=-1\""},
        {"a b places=1234567890", "\"places=1234567890\""},
        {"a b hwio=1", "\"hwio=1\""},
        {"a b part=3/3", "\"part=3/3\""},
        {"a b part=0/0", "\"part=0/0\""},
        {"a b part=1", "\"part=1\""},
        {"a b part=1/", "\"part=1/\""},
        {"a b part=/2", "\"part=/2\""},
        {"a b part=1/2/3", "\"part=1/2/3\""},
        {"a b cut=3:2", "\"cut=3:2\""},
        {"a b cut=3", "\"cut=3\""},
        {"a b cut=:3", "\"cut=:3\""},
        {"a b gates=0223", "\"gates=0223\""},
        {"a b gates=124", "\"gates=124\""},
        {"a b gates=", "\"gates=\""},
        {"a b gates=0a", "\"gates=0a\""},
        {"a b gates=01234567890", "\"gates=01234567890\""},
        {"a b axes=x", "\"axes=x\""},
        {"a b add=-1", "\"add=-1\""},
        {"a b merge", "\"merge\""},
        {"a b join", "\"join\""},
        {"a b join=2/2", "\"join=2/2\""},
        {"a b join=0/65", "\"join=0/65\""},
        {"a b\n+ c join=0/2 hwio", "line 2: \"hwio\" is behind what joins"},
        {"a b hwi", "\"hwi\""},
        {"a {1}", "\"{1}\" does not say which of 0 stars"},
        {"a* {2}", "which of 1 stars"},
        {"a* b{0}", "\"{0}\""},
        {"a* {}", "\"{}\""},
        {"a* {1", "\"{1\""},
        {"a* {", "\"{\""},
        {"a* {1 }", "\"{1\""},
        {"a* {1+}", "\"{1+}\""},
        {"a* {1*2}", "\"{1*2}\""},
        {"a* {1+x}", "\"{1+x}\""},
        {"a* {1+1234567890}", "{1+"},
        {"a* {1:norm}", "{1:norm}"},
        {"a* {1:}", "{1:}"},
        {"a* {1}\n+ {2}", "line 2"},
        {"l: a=b c", "\"c\" in a list is not theirs=ours"},
        {"l: =b", "\"=b\""},
        {"********** b", "more than nine stars"},
    };
    eg_tensors *from = NAMED("x");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(egt_case, sizeof egt_case, "what_is_no_map: %s", rows[i].map);
        EGT_REFUSED(eg_tensors_renamed(from, rows[i].map), EG_EINVAL, rows[i].word);
        EGT_REFUSED(eg_tensors_left_out(from, rows[i].map), EG_EINVAL, rows[i].word);
    }
    EGT_REFUSED(eg_tensors_renamed(NULL, "a b"), EG_EINVAL, "from");
    EGT_REFUSED(eg_tensors_renamed(from, NULL), EG_EINVAL, "map");
    EGT_REFUSED(eg_tensors_left_out(NULL, "a b"), EG_EINVAL, "from");
    EGT_REFUSED(eg_tensors_left_out(from, NULL), EG_EINVAL, "map");
    eg_tensors_free(from);
}

EGT(names_that_do_not_fit)
{
    eg_tensors *from = NAMED("a.x", "b.x");
    EGT_REFUSED(eg_tensors_renamed(from, "*.x y"), EG_EINVAL, "\"a.x\" and \"b.x\" both become \"y\"");
    EGT_REFUSED(eg_tensors_renamed(from, "a.x y\n+ y"), EG_EINVAL, "\"a.x\" and \"a.x\"");
    eg_tensors_free(from);
    char name[512], longer[1025];
    memset(name, 'n', 511);
    name[511] = '\0';
    snprintf(longer, sizeof longer, "%s%s", name, name);
    EGT_STR(becomes(name, "* {1}"), name);
    EGT_STR(becomes(longer, "* short"), "short");
    const char *const names[] = {name};
    from = named(names, 1);
    EGT_REFUSED(eg_tensors_renamed(from, "* {1}{1}"), EG_EINVAL, "more than 511 bytes");
    EGT_REFUSED(eg_tensors_renamed(from, "\n* {1}."), EG_EINVAL, "line 2");
    eg_tensors_free(from);
}

static bool renames(void *user)
{
    eg_tensors *to = eg_tensors_renamed(user, "k* c{1}.weight hwio\n+ c{1}.n zero\nd d depthwise\n"
                                              "f f places=2\n+ g gates=10 join=0/2\nother g join=1/2");
    eg_tensors *rest = to ? eg_tensors_left_out(user, "k* c{1}") : NULL;
    bool done = rest && eg_tensors_count(to) == 7 && eg_tensors_count(rest) == 3;
    eg_tensors_free(to);
    eg_tensors_free(rest);
    return done;
}

EGT(without_memory)
{
    eg_tensors *from = eg_tensors_new();
    EG_SCOPE {
        EGT_OK(eg_tensors_set(from, "k1", egt_random(EG_SHAPE(3, 3, 2, 4), EG_F32, -1, 1)));
        EGT_OK(eg_tensors_set(from, "k2", egt_random(EG_SHAPE(1, 3, 2, 4), EG_F32, -1, 1)));
        EGT_OK(eg_tensors_set(from, "d", egt_random(EG_SHAPE(3, 3, 2, 4), EG_F32, -1, 1)));
        EGT_OK(eg_tensors_set(from, "f", egt_random(EG_SHAPE(8, 4), EG_F32, -1, 1)));
        EGT_OK(eg_tensors_set(from, "other", egt_random(EG_SHAPE(8, 4), EG_F32, -1, 1)));
    }
    EGT_CHECK(egt_fail_allocations(renames, from) > 10);
    eg_tensors_free(from);
}
