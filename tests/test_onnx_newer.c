/* test_onnx_newer.c - operators that ONNX has from version 20 of its operators on, and changed ones. */
#include "tests/onnx_models.h"

#include <egret/data/image.h>

/* ---- caches, gates, blocks, extremes ----------------------------------------------------------------------- */

EGT(caches_are_written_from_places_on)
{
    eg_tensor *cache = eg_zeros(EG_SHAPE(2, 3, 1), EG_F32), *update = F32(EG_SHAPE(2, 2, 1), 1, 2, 3, 4);
    eg_tensor *from = I64(EG_SHAPE(2), 1, 0);
    EGT_CHECK(VALUES(RUN("TensorScatter", 24, &none, cache, update), 1, 2, 0, 3, 4, 0));
    EGT_CHECK(VALUES(RUN("TensorScatter", 24, &none, cache, update, from), 0, 1, 2, 3, 4, 0));
    bytes round = {0};
    with_text(&round, "mode", "circular");
    EGT_CHECK(VALUES(RUN("TensorScatter", 24, &round, cache, update, I64(EG_SHAPE(2), 2, 4)), 2, 0, 1, 0, 3, 4));
    bytes last = {0};
    with_int(&last, "axis", -1);
    EGT_CHECK(VALUES(RUN("TensorScatter", 24, &last, eg_zeros(EG_SHAPE(1, 3), EG_I32), eg_ones(EG_SHAPE(1, 1), EG_I32),
                         I64(EG_SHAPE(1), 2)),
                     0, 0, 1));
    eg_tensor *in[] = {noise(EG_SHAPE(2, 3, 4)), noise(EG_SHAPE(2, 2, 4)), from};
    check_gradients("TensorScatter", 24, &round, in, 3, 3);
    EGT_REFUSED(RUN("TensorScatter", 24, &none, cache, update, I64(EG_SHAPE(2), 2, 0)), EG_EINDEX, "3");
    EGT_REFUSED(RUN("TensorScatter", 24, &none, cache, update, I64(EG_SHAPE(1), 0)), EG_EINVAL, "one for each image");
    EGT_REFUSED(RUN("TensorScatter", 24, &none, update, cache, from), EG_EINVAL, "longer than the cache");
    bytes first = {0};
    with_int(&first, "axis", 0);
    EGT_REFUSED(RUN("TensorScatter", 24, &first, cache, update, from), EG_EINVAL, "axis is 0");
    bytes odd = {0};
    with_text(&odd, "mode", "folded");
    EGT_REFUSED(RUN("TensorScatter", 24, &odd, cache, update, from), EG_EINVAL, "folded");
}

EGT(gates_let_through)
{
    bytes a = {0};
    with_float(&a, "alpha", 1.5f);
    eg_tensor *in[] = {noise(EG_SHAPE(3, 4)), noise(EG_SHAPE(3, 4))};
    eg_tensor *y = eg_mul(eg_mul(in[0], eg_sigmoid(eg_mul_scalar(in[0], 1.5))), in[1]);
    EGT_CHECK(egt_distance(RUN("SwiGLU", 28, &a, in[0], in[1]), y) < 1e-14);
    EGT_CHECK(egt_distance(RUN("SwiGLU", 28, &none, in[0], in[1]), eg_mul(eg_silu(in[0]), in[1])) < 1e-14);
    check_gradients("SwiGLU", 28, &a, in, 2, 3);
    EGT_REFUSED(RUN("SwiGLU", 28, &a, in[0], noise(EG_SHAPE(4))), EG_EINVAL, "one shape");
}

EGT(blocks_come_back_in_their_order)
{
    eg_tensor *in[] = {noise(EG_SHAPE(2, 3, 4, 6))};
    bytes a = {0};
    with_int(&a, "blocksize", 2);
    with_text(&a, "mode", "CRD");
    eg_tensor *y = RUN("SpaceToDepth", 28, &a, in[0]);
    EGT_EQ(egt_distance(RUN("DepthToSpace", 28, &a, y), in[0]), 0);
    EGT_EQ(eg_get(y, 6), eg_get(in[0], 1)); /* the block is the fast part of the channels */
    check_gradients("SpaceToDepth", 28, &a, in, 1, 1);
}

EGT(extremes_of_nothing_are_those_of_the_type)
{
    bytes a = {0};
    with_int(&a, "keepdims", 0);
    eg_tensor *no = eg_zeros(EG_SHAPE(2, 0), EG_BOOL), *axis = I64(EG_SHAPE(1), 1);
    EGT_CHECK(VALUES(RUN("ReduceMax", 20, &a, no, axis), 0, 0) && VALUES(RUN("ReduceMin", 20, &a, no, axis), 1, 1));
    const spec of_bytes[] = {{"Cast", 0, "x", "t", {"to=3"}, {0}}, {"ReduceMax", 0, "t", "y", {"keepdims=0"}, {0}}};
    EGT_CHECK(VALUES(chain(17, FLOAT, eg_zeros(EG_SHAPE(0), EG_F32), of_bytes, 2), -128));
}

EGT(all_shifts_are_defined)
{
    eg_tensor *x = I64(EG_SHAPE(5), -8, -8, 8, 8, -1), *by = I64(EG_SHAPE(5), 1, 64, -1, 64, -3);
    bytes right = {0}, left = {0};
    with_text(&right, "direction", "RIGHT");
    with_text(&left, "direction", "LEFT");
    EGT_CHECK(VALUES(RUN("BitShift", 28, &right, x, by), -4, -1, 0, 0, -1));
    EGT_CHECK(VALUES(RUN("BitShift", 28, &left, x, by), -16, 0, 0, 0, 0));
    const spec small[] = {{"Cast", 0, "x", "t", {"to=3"}, {0}}, {"BitShift", 0, "t t", "y", {"direction=LEFT"}, {0}}};
    EGT_CHECK(VALUES(chain(28, INT64, I64(EG_SHAPE(4), 5, 6, 7, 8), small, 2), -96, -128, -128, 0));
}

EGT(remainders_of_floats_have_the_divisors_sign)
{
    eg_tensor *x = F32(EG_SHAPE(7), -7, 7, 0, -3, 3, INFINITY, 5),
              *by = F32(EG_SHAPE(7), 3, -3, -2, INFINITY, INFINITY, 2, 0);
    EGT_CHECK(VALUES(RUN("Mod", 28, &none, x, by), 2, -2, -0.0, INFINITY, 3, NAN, NAN));
}

/* Sums of steps in halves would stand still at 2048. */
EGT(ranges_of_halves_go_on)
{
    eg_tensor *edge[] = {eg_scalar(2040, EG_F16), eg_scalar(2060, EG_F16), eg_scalar(1, EG_F16)};
    eg_tensor *y = RUN("Range", 27, &none, edge[0], edge[1], edge[2]);
    EGT_CHECK(y && eg_numel(y) == 20 && eg_dtype_of(y) == EG_F16 && eg_get(y, 18) == 2058);
}

/* Operators that have taken bf16 since version 24 or 28. */
EGT(bf16_goes_everywhere)
{
    eg_tensor *x = eg_cast(F32(EG_SHAPE(2, 3), 3, 1, 2, 3, 5, 4), EG_BF16);
    eg_tensor *lengths = I64(EG_SHAPE(2), 3, 2);
    bytes batch = {0}, join = {0};
    with_int(&batch, "batch_axis", 0);
    with_int(&batch, "time_axis", 1);
    with_text(&join, "equation", "ij->i");
    eg_tensor *ys[] = {RUN("Celu", 28, &none, x),
                       RUN("Compress", 28, &none, x, eg_from(EG_SHAPE(3), EG_BOOL, (bool[]){1, 0, 1})),
                       RUN("Einsum", 28, &join, x),
                       RUN("OneHot", 28, &none, lengths, I64(EG_SCALAR, 4), eg_cast(F32(EG_SHAPE(2), 0, 1), EG_BF16)),
                       RUN("ReverseSequence", 28, &batch, x, lengths),
                       RUN("TopK", 24, &none, x, I64(EG_SHAPE(1), 1)),
                       RUN("Unique", 28, &none, x)};
    for (int i = 0; i < 7; i++) {
        EGT_CHECK(ys[i] && eg_dtype_of(ys[i]) == EG_BF16);
    }
    EGT_CHECK(VALUES(ys[1], 3, 2) && VALUES(ys[4], 2, 1, 3, 5, 3, 4) && VALUES(ys[5], 3, 5));
    EGT_CHECK(VALUES(ys[6], 1, 2, 3, 4, 5));
}

/* ---- layers with a state ------------------------------------------------------------------------------------ */

EGT(convolutions_hand_their_end_on)
{
    bytes a = {0};
    with_text(&a, "activation", "silu");
    eg_tensor *x = noise(EG_SHAPE(2, 3, 7)), *w = noise(EG_SHAPE(3, 1, 4)), *b = noise(EG_SHAPE(3));
    eg_tensor *past = noise(EG_SHAPE(2, 3, 3)), *in[] = {x, w, b, past}, *whole[2], *one[2], *two[2];
    EGT_OK(run_some("CausalConvWithState", 27, &a, in, 4, whole, 2));
    in[0] = eg_slice(x, 2, 0, 2, 1); /* shorter than the state */
    EGT_OK(run_some("CausalConvWithState", 27, &a, in, 4, one, 2));
    in[0] = eg_slice(x, 2, 2, EG_END, 1);
    in[3] = one[1];
    EGT_OK(run_some("CausalConvWithState", 27, &a, in, 4, two, 2));
    eg_tensor *parts[] = {one[0], two[0]};
    EGT_CHECK(egt_distance(eg_concat(parts, 2, 2), whole[0]) < 1e-12 && egt_distance(two[1], whole[1]) == 0);
    eg_tensor *long_past[] = {past, x};
    eg_tensor *y = eg_silu(eg_conv1d(eg_concat(long_past, 2, 2), w, b, .groups = 3));
    EGT_CHECK(egt_distance(whole[0], y) < 1e-12 && eg_size(whole[0], 2) == 7);
    in[0] = x;
    in[3] = past;
    check_gradients("CausalConvWithState", 27, &a, in, 4, 15);
    in[3] = NULL;
    EGT_OK(run_some("CausalConvWithState", 27, &none, in, 3, one, 2));
    EGT_CHECK(egt_distance(one[1], whole[1]) == 0 && egt_distance(one[0], whole[0]) > 0.01);
}

EGT(causal_convolutions_are_refused)
{
    eg_tensor *x = noise(EG_SHAPE(1, 2, 3)), *w = noise(EG_SHAPE(2, 1, 2));
    EGT_REFUSED(RUN("CausalConvWithState", 27, &none, x, noise(EG_SHAPE(3, 1, 2))), EG_EINVAL, "weight");
    EGT_REFUSED(RUN("CausalConvWithState", 27, &none, x, noise(EG_SHAPE(2, 1, 0))), EG_EINVAL, "weight");
    EGT_REFUSED(RUN("CausalConvWithState", 27, &none, noise(EG_SHAPE(2, 3)), w), EG_EINVAL, "input");
    EGT_REFUSED(RUN("CausalConvWithState", 27, &none, x, w, NULL, noise(EG_SHAPE(1, 2, 2))), EG_EINVAL, "past_state");
    bytes a = {0};
    with_text(&a, "activation", "tanh");
    EGT_REFUSED(RUN("CausalConvWithState", 27, &a, x, w), EG_EINVAL, "tanh");
}

static bytes linear_of(const char *rule, int queries, int heads)
{
    bytes a = {0};
    with_text(&a, "update_rule", rule);
    with_int(&a, "q_num_heads", queries);
    with_int(&a, "kv_num_heads", heads);
    return a;
}

/* The sum of all before is a causal attention without softmax. */
EGT(linear_attention_sums_up)
{
    const bytes a = linear_of("linear", 1, 1);
    eg_tensor *q = noise(EG_SHAPE(2, 5, 3)), *k = noise(EG_SHAPE(2, 5, 3)), *v = noise(EG_SHAPE(2, 5, 4));
    eg_tensor *seen = eg_tril(eg_matmul(q, eg_transpose(k, 1, 2)), 0);
    eg_tensor *y = eg_mul_scalar(eg_matmul(seen, v), 1 / sqrt(3));
    EGT_CHECK(egt_distance(RUN("LinearAttention", 27, &a, q, k, v), y) < 1e-12);
    EGT_EQ(eg_size(RUN("LinearAttention", 27, &a, eg_slice(q, 1, 0, 0, 1), eg_slice(k, 1, 0, 0, 1),
                       eg_slice(v, 1, 0, 0, 1)),
                   1),
           0);
}

/* With all of beta, what stands under a key is replaced; a decay shrinks what is there before. */
EGT(linear_attention_replaces_and_forgets)
{
    eg_tensor *e = F64(EG_SHAPE(1, 3, 2), 1, 0, 1, 0, 1, 0), *v = F64(EG_SHAPE(1, 3, 1), 5, 7, 11);
    eg_tensor *beta = eg_ones(EG_SHAPE(1, 3, 1), EG_F64), *decay = eg_full(EG_SHAPE(1, 3, 1), log(0.5), EG_F64);
    bytes a = linear_of("delta", 1, 1);
    with_float(&a, "scale", 1);
    EGT_CHECK(egt_distance(RUN("LinearAttention", 27, &a, e, e, v, NULL, NULL, beta), v) < 1e-15);
    a = linear_of("gated", 1, 1);
    with_float(&a, "scale", 2);
    eg_tensor *y = F64(EG_SHAPE(1, 3, 1), 10, 19, 31.5); /* 5, 2.5 + 7, 4.75 + 11 */
    EGT_CHECK(egt_distance(RUN("LinearAttention", 27, &a, e, e, v, NULL, decay), y) < 1e-12);
}

static eg_tensor *steps_of(eg_tensor *t, int64_t first, int64_t end)
{
    return eg_slice(t, 1, first, end, 1);
}

EGT(linear_attention_goes_on_from_its_state)
{
    const bytes a = linear_of("gated_delta", 4, 2);
    eg_tensor *in[] = {noise(EG_SHAPE(2, 5, 12)),   noise(EG_SHAPE(2, 5, 6)), noise(EG_SHAPE(2, 5, 4)),
                       noise(EG_SHAPE(2, 2, 3, 2)), noise(EG_SHAPE(2, 5, 6)), noise(EG_SHAPE(2, 5, 2))};
    eg_tensor *whole[2], *one[2], *two[2], *some[6];
    EGT_OK(run_some("LinearAttention", 27, &a, in, 6, whole, 2));
    for (int i = 0; i < 6; i++) {
        some[i] = i == 3 ? in[3] : steps_of(in[i], 0, 2);
    }
    EGT_OK(run_some("LinearAttention", 27, &a, some, 6, one, 2));
    for (int i = 0; i < 6; i++) {
        some[i] = i == 3 ? one[1] : steps_of(in[i], 2, 5);
    }
    EGT_OK(run_some("LinearAttention", 27, &a, some, 6, two, 2));
    eg_tensor *parts[] = {one[0], two[0]};
    EGT_CHECK(egt_distance(eg_concat(parts, 2, 1), whole[0]) < 1e-12 && egt_distance(two[1], whole[1]) < 1e-12);
    check_gradients("LinearAttention", 27, &a, in, 6, 63);
}

/* Of two heads of queries for each of keys, the first two see the first. */
EGT(linear_attention_shares_its_heads)
{
    eg_tensor *q = noise(EG_SHAPE(1, 3, 8)), *k = noise(EG_SHAPE(1, 3, 4)), *v = noise(EG_SHAPE(1, 3, 2));
    const bytes shared = linear_of("linear", 4, 2), single = linear_of("linear", 1, 1);
    eg_tensor *y = RUN("LinearAttention", 27, &shared, q, k, v);
    for (int h = 0; h < 4; h++) {
        eg_tensor *one = RUN("LinearAttention", 27, &single, eg_slice(q, 2, 2 * h, 2 * h + 2, 1),
                             eg_slice(k, 2, h / 2 * 2, h / 2 * 2 + 2, 1), eg_slice(v, 2, h / 2, h / 2 + 1, 1));
        EGT_CHECK(egt_distance(eg_slice(y, 2, h, h + 1, 1), one) < 1e-12);
    }
}

EGT(linear_attention_is_refused)
{
    eg_tensor *q = noise(EG_SHAPE(1, 3, 4)), *v = noise(EG_SHAPE(1, 3, 2)), *g = noise(EG_SHAPE(1, 3, 1));
    const bytes plain = linear_of("linear", 1, 1), gated = linear_of("gated", 1, 1), odd = linear_of("rwkv", 1, 1);
    const bytes heads = linear_of("linear", 3, 2), delta = linear_of("delta", 1, 1), no = {0};
    EGT_REFUSED(RUN("LinearAttention", 27, &odd, q, q, v), EG_EINVAL, "rwkv");
    EGT_REFUSED(RUN("LinearAttention", 27, &no, q, q, v), EG_EINVAL, "q_num_heads");
    EGT_REFUSED(RUN("LinearAttention", 27, &heads, q, q, v), EG_EINVAL, "q_num_heads");
    EGT_REFUSED(RUN("LinearAttention", 27, &gated, q, q, v), EG_EINVAL, "decay or beta is missing");
    EGT_REFUSED(RUN("LinearAttention", 27, &plain, q, q, v, NULL, g), EG_EINVAL, "without it");
    EGT_REFUSED(RUN("LinearAttention", 27, &gated, q, q, v, NULL, v), EG_EINVAL, "each feature");
    EGT_REFUSED(RUN("LinearAttention", 27, &delta, q, q, v, NULL, NULL, v), EG_EINVAL, "beta has");
    EGT_REFUSED(RUN("LinearAttention", 27, &plain, q, v, v), EG_EINVAL, "do not fit");
    EGT_REFUSED(RUN("LinearAttention", 27, &plain, q, q, v, noise(EG_SHAPE(1, 1, 2, 2))), EG_EINVAL, "do not fit");
}

static bool attends(void *user)
{
    eg_tensor *const *in = user, *out[2];
    EG_SCOPE {
        return eg_onnx_forward((eg_module *)in[3], in, 3, out) == EG_OK;
    }
    return false;
}

EGT(linear_attention_runs_out_of_memory)
{
    const bytes a = linear_of("linear", 1, 1);
    eg_tensor *in[4] = {noise(EG_SHAPE(1, 3, 2)), noise(EG_SHAPE(1, 3, 2)), noise(EG_SHAPE(1, 3, 2))};
    eg_module *m = one_node("LinearAttention", 27, &a, in, 3, 2);
    in[3] = (eg_tensor *)m;
    egt_fail_allocations(attends, in);
    EGT_OK(eg_module_free(m));
}

/* ---- FlexAttention ------------------------------------------------------------------------------------------ */

/* An attribute of a graph "s" -> "t" of one node, whose other input is the number. */
static void with_graph(bytes *to, const char *name, const char *op, double number)
{
    bytes graph = {0}, a = {0};
    const spec inner = {op, 0, "s n", "t", {NULL}, {0}};
    put_spec(&graph, &inner);
    put_text(&graph, 2, "inner");
    put_tensor(&graph, "n", eg_scalar(number, EG_F64));
    put_value_of(&graph, 11, "s", DOUBLE);
    put_value_of(&graph, 12, "t", DOUBLE);
    put_text(&a, 1, name);
    put_part(&a, 6, &graph);
    put_int(&a, 20, 5);
    put_part(to, 5, &a);
}

static bytes flex(void)
{
    bytes a = {0};
    put_text(&a, 7, "ai.onnx.preview");
    return a;
}

EGT(attention_is_bent_by_graphs)
{
    eg_tensor *in[] = {noise(EG_SHAPE(2, 4, 3, 5)), noise(EG_SHAPE(2, 2, 6, 5)), noise(EG_SHAPE(2, 2, 6, 3))};
    eg_tensor *k = eg_repeat_interleave(in[1], 2, 1), *v = eg_repeat_interleave(in[2], 2, 1);
    bytes a = flex();
    EGT_CHECK(egt_distance(RUN("FlexAttention", 26, &a, in[0], in[1], in[2]), eg_attention(in[0], k, v)) < 1e-12);
    with_float(&a, "scale", 0.5f);
    with_graph(&a, "score_mod", "Mul", 3);
    EGT_CHECK(egt_distance(RUN("FlexAttention", 26, &a, in[0], in[1], in[2]), eg_attention(in[0], k, v, .scale = 1.5)) <
              1e-12);
    with_graph(&a, "prob_mod", "Sub", 0.25);
    eg_tensor *y = eg_attention(in[0], k, v, .scale = 1.5);
    y = eg_sub(y, eg_mul_scalar(eg_sum(v, .axes = EG_AXES(2), .keepdim = true), 0.25));
    EGT_CHECK(egt_distance(RUN("FlexAttention", 26, &a, in[0], in[1], in[2]), y) < 1e-12);
    check_gradients("FlexAttention", 26, &a, in, 3, 7);
}

EGT(flexible_attention_is_refused)
{
    eg_tensor *q = noise(EG_SHAPE(1, 2, 3, 4)), *k = noise(EG_SHAPE(1, 3, 3, 4));
    bytes a = flex(), wide = flex(), whole = flex(), text = flex();
    EGT_REFUSED(RUN("FlexAttention", 26, &a, q, k, k), EG_EINVAL, "heads");
    EGT_REFUSED(RUN("FlexAttention", 26, &a, q, q, noise(EG_SHAPE(3, 4))), EG_EINVAL, "4 axes");
    with_graph(&wide, "score_mod", "Unsqueeze", 0);
    EGT_REFUSED(RUN("FlexAttention", 26, &wide, q, q, q), EG_EINVAL, "shape of its input");
    with_int(&whole, "softmax_precision", INT32);
    EGT_REFUSED(RUN("FlexAttention", 26, &whole, q, q, q), EG_EINVAL, "softmax_precision");
    /* each operator is of its domain */
    EGT_REFUSED(RUN("FlexAttention", 26, &none, q, q, q), EG_ENOKERNEL, "FlexAttention");
    EGT_REFUSED(RUN("Abs", 26, &text, q), EG_ENOKERNEL, "Abs");
}

/* ---- ImageDecoder ------------------------------------------------------------------------------------------- */

static eg_tensor *decoded(const char *format, eg_tensor *file)
{
    bytes a = {0};
    with_text(&a, "pixel_format", format);
    return RUN("ImageDecoder", 20, &a, file);
}

EGT(images_are_decoded)
{
    eg_tensor *image = eg_cast(egt_random(EG_SHAPE(3, 4, 5), EG_F32, 0, 256), EG_U8), *file = eg_png_encode(image);
    egt_need(file, "libpng");
    eg_tensor *rgb = eg_permute(image, EG_AXES(1, 2, 0));
    EGT_EQ(egt_distance(decoded("RGB", file), rgb), 0);
    EGT_EQ(egt_distance(decoded("BGR", file), eg_flip(rgb, EG_AXES(2))), 0);
    eg_tensor *gray = decoded("Grayscale", file);
    EGT_EQ(egt_distance(gray, eg_permute(eg_image_decode(eg_data(file), (size_t)eg_numel(file), .channels = 1),
                                         EG_AXES(1, 2, 0))),
           0);
    EGT_CHECK(eg_size(gray, 2) == 1);
    EGT_REFUSED(decoded("CMYK", file), EG_EINVAL, "CMYK");
}

EGT(other_images_are_named)
{
    static const struct {
        const char *name, *begin;
    } rows[] = {{"TIFF", "II*\0........"},
                {"TIFF", "MM\0*........"},
                {"WebP", "RIFF....WEBP"},
                {"JPEG 2000", "\0\0\0\x0cjP  \r\n\x87\n"},
                {"JPEG 2000", "\xff\x4f\xff\x51........"}};
    for (int i = 0; i < 5; i++) {
        EGT_REFUSED(decoded("RGB", eg_from(EG_SHAPE(12), EG_U8, rows[i].begin)), EG_ENOKERNEL, rows[i].name);
    }
    EGT_REFUSED(decoded("RGB", F32(EG_SHAPE(1), 0)), EG_EINVAL, "bytes");
}

/* As ONNX has it: what cannot be decoded is an image of no pixels. */
EGT(what_is_no_image_has_no_pixels)
{
    eg_tensor *y = decoded("RGB", eg_from(EG_SHAPE(4), EG_U8, "\xff\xd8\xff\0"));
    egt_need(y, "libjpeg");
    EGT_CHECK(eg_ndim(y) == 3 && eg_size(y, 0) == 0 && eg_size(y, 2) == 3);
    EGT_EQ(eg_numel(decoded("Grayscale", eg_zeros(EG_SHAPE(0), EG_U8))), 0);
}

EGT(newer_models_are_refused)
{
    EGT_REFUSED(RUN("Abs", EG_ONNX_OPSET + 1, &none, F32(EG_SHAPE(1), 1)), EG_ENOKERNEL, "29");
}
