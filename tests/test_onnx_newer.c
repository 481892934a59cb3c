/* test_onnx_newer.c - operators and types that ONNX has from version 24 of its operators on. */
#include "tests/onnx_gradients.h"

#include <egret/data/image.h>
#include <egret/io.h>

/* ONNX's numbers of types. */
enum {
    FLOAT = 1,
    UINT8,
    INT8,
    UINT16,
    INT16,
    INT32,
    INT64,
    BOOL = 9,
    DOUBLE = 11,
    UINT32,
    UINT64,
    E4M3 = 17,
    E5M2 = 19
};
enum { UINT4 = 21, INT4, F4, E8M0, UINT2, INT2, F6_E2M3, F6_E3M2 };

#define VALUES(t, ...) \
    same_values(t, (const double[]){__VA_ARGS__}, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)))
static bool same_values(const eg_tensor *t, const double *wanted, int n)
{
    bool same = t && eg_numel(t) == n;
    for (int i = 0; same && i < n; i++) {
        const double x = eg_get(t, i);
        same = isnan(wanted[i]) ? isnan(x) : x == wanted[i] && !signbit(x) == !signbit(wanted[i]);
    }
    return same;
}

/* Nodes one after the other, from "x", of an ONNX type, to "y"; NULL as refused. */
static eg_tensor *chain(int version, int type, eg_tensor *x, const spec *nodes, int count)
{
    bytes graph = {.n = 0};
    eg_tensor *y = NULL;
    for (int i = 0; i < count; i++) {
        put_spec(&graph, &nodes[i]);
    }
    put_text(&graph, 2, "g");
    put_value_of(&graph, 11, "x", type);
    put_value_of(&graph, 12, "y", FLOAT);
    eg_module *m = eg_onnx_load(write_graph(&graph, version));
    if (m) {
        eg_onnx_forward(m, &x, 1, &y);
    }
    eg_module_free(m);
    return y;
}

/* x cast to a type, and that to another. */
static eg_tensor *cast_and_back(int version, eg_tensor *x, int type, const char *how, int back)
{
    char to[16], from[16];
    snprintf(to, sizeof to, "to=%d", type);
    snprintf(from, sizeof from, "to=%d", back);
    const spec nodes[] = {{"Cast", 0, "x", "t", {to, how}, {0}}, {"Cast", 0, "t", "y", {from}, {0}}};
    return chain(version, onnx_type(x), x, nodes, 2);
}

/* The first outputs of a node. */
static eg_status run_some(const char *op, int version, const bytes *attributes, eg_tensor *const *in, int nin,
                          eg_tensor **out, int nout)
{
    eg_tensor *given[8];
    int n = 0;
    for (int i = 0; i < nin; i++) {
        if (in[i]) {
            given[n++] = in[i];
        }
    }
    eg_module *m = one_node(op, version, attributes, in, nin, nout);
    eg_status st = m ? eg_onnx_forward(m, given, n, out) : eg_last_error()->code;
    eg_module_free(m);
    return st;
}

/* ---- small types --------------------------------------------------------------------------------------- */

EGT(integers_of_few_bits_lose_what_is_past_them)
{
    eg_tensor *x = F32(EG_SHAPE(6), -9.7, -1.5, 2.5, 15.6, 16, 300);
    EGT_CHECK(VALUES(cast_and_back(25, x, INT4, NULL, FLOAT), 7, -1, 2, -1, 0, -4));
    EGT_CHECK(VALUES(cast_and_back(25, x, UINT4, NULL, FLOAT), 7, 15, 2, 15, 0, 12));
    EGT_CHECK(VALUES(cast_and_back(25, x, INT2, NULL, INT8), -1, -1, -2, -1, 0, 0));
    EGT_CHECK(VALUES(cast_and_back(25, x, UINT2, NULL, UINT8), 3, 3, 2, 3, 0, 0));
    EGT_CHECK(VALUES(cast_and_back(25, I64(EG_SHAPE(3), 5, -1, 6), INT2, NULL, INT64), 1, -1, -2));
    EGT_CHECK(VALUES(cast_and_back(25, eg_ones(EG_SHAPE(1), EG_BOOL), INT2, NULL, INT8), 1));
    EGT_CHECK(VALUES(cast_and_back(25, eg_full_int(EG_SHAPE(1), 200, EG_U8), UINT16, NULL, INT8), -56));
    /* before, they were held */
    EGT_CHECK(VALUES(cast_and_back(23, x, INT4, NULL, FLOAT), -8, -1, 2, 7, 7, 7));
    EGT_CHECK(VALUES(cast_and_back(23, x, UINT4, NULL, FLOAT), 0, 0, 2, 15, 15, 15));
}

EGT(floats_of_few_bits_are_rounded)
{
    eg_tensor *x = F32(EG_SHAPE(7), NAN, INFINITY, -100, 3.3, 0.07, 2.5, -0.0);
    EGT_CHECK(VALUES(cast_and_back(28, x, F6_E2M3, NULL, FLOAT), -0.0, 7.5, -7.5, 3.25, 0.125, 2.5, -0.0));
    EGT_CHECK(VALUES(cast_and_back(28, x, F6_E3M2, NULL, FLOAT), -0.0, 28, -28, 3.5, 0.0625, 2.5, -0.0));
    EGT_CHECK(VALUES(cast_and_back(28, x, F4, NULL, FLOAT), -0.0, 6, -6, 3, 0, 2, -0.0));
    EGT_CHECK(VALUES(cast_and_back(23, x, F4, NULL, FLOAT), 6, 6, -6, 3, 0, 2, -0.0));
    /* integers too: 17 lies between 16 and 18 */
    EGT_CHECK(VALUES(cast_and_back(19, I64(EG_SHAPE(3), 17, 1000, -5), E4M3, NULL, FLOAT), 16, 448, -5));
}

EGT(powers_of_two_are_rounded_as_asked)
{
    const double least = ldexp(1, -127), most = ldexp(1, 127);
    eg_tensor *x = F64(EG_SHAPE(8), 0, 0.124, 0.25, 1.1, 1.5, 1e300, INFINITY, NAN);
    EGT_CHECK(VALUES(cast_and_back(24, x, E8M0, NULL, FLOAT), least, 0.125, 0.25, 2, 2, most, most, NAN));
    EGT_CHECK(VALUES(cast_and_back(24, x, E8M0, "round_mode=down", FLOAT), least, 0.0625, 0.25, 1, 1, most, most, NAN));
    EGT_CHECK(
        VALUES(cast_and_back(24, x, E8M0, "round_mode=nearest", FLOAT), least, 0.125, 0.25, 1, 2, most, most, NAN));
    EGT_CHECK(VALUES(cast_and_back(24, x, E8M0, "saturate=0", FLOAT), NAN, 0.125, 0.25, 2, 2, NAN, NAN, NAN));
    EGT_REFUSED(cast_and_back(24, x, E8M0, "round_mode=away", FLOAT), EG_EINVAL, "away");
    double powers[255], above[255], below[255];
    for (int i = 0; i < 255; i++) {
        powers[i] = ldexp(1, i - 127);
        above[i] = powers[i] * (1 + 0x1p-40);
        below[i] = powers[i] * (1 - 0x1p-40);
    }
    const eg_shape all = EG_SHAPE(255);
    eg_tensor *exact = eg_from_values(all, EG_F64, powers);
    EGT_EQ(egt_distance(cast_and_back(24, exact, E8M0, NULL, DOUBLE), exact), 0);
    EGT_EQ(egt_distance(cast_and_back(24, eg_from_values(all, EG_F64, above), E8M0, "round_mode=down", DOUBLE), exact),
           0);
    EGT_EQ(egt_distance(cast_and_back(24, eg_from_values(all, EG_F64, below), E8M0, "round_mode=up", DOUBLE), exact),
           0);
}

/* A TensorProto of n elements, in raw bytes or, `field` 5, as numbers. */
static eg_tensor *stored(int type, int64_t n, int field, const uint8_t *data, size_t count)
{
    bytes tensor = {.n = 0};
    put_int(&tensor, 1, n);
    put_int(&tensor, 2, type);
    if (field == 9) {
        put_bytes(&tensor, 9, data, count);
    }
    for (size_t i = 0; field == 5 && i < count; i++) {
        put_int(&tensor, 5, data[i]);
    }
    eg_tensors *map = eg_tensors_parse(tensor.at, tensor.n, .format = "onnx-tensor");
    eg_tensor *t = map ? eg_keep(eg_tensors_at(map, 0)) : NULL;
    eg_tensors_free(map);
    return eg_scope_adopt(t);
}
#define STORED(type, n, field, ...) \
    stored(type, n, field, (const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}))

EGT(small_types_lie_close_in_files)
{
    for (int field = 5; field <= 9; field += 4) { /* four to a byte, the first at its low end */
        EGT_CHECK(VALUES(STORED(UINT2, 5, field, 0xe4, 2), 0, 1, 2, 3, 2));
        EGT_CHECK(VALUES(STORED(INT2, 5, field, 0xe4, 2), 0, 1, -2, -1, -2));
    }
    EGT_CHECK(VALUES(STORED(F6_E2M3, 5, 9, 0x41, 0xf0, 0x81, 0x2f), 0.125, 0.125, 7.5, -0.0, -1.875));
    EGT_CHECK(VALUES(STORED(F6_E2M3, 5, 5, 1, 1, 31, 32, 47), 0.125, 0.125, 7.5, -0.0, -1.875));
    EGT_CHECK(VALUES(STORED(F6_E3M2, 5, 5, 1, 1, 31, 32, 47), 0.0625, 0.0625, 28, -0.0, -1.75));
    EGT_REFUSED(STORED(UINT2, 5, 9, 0xe4), EG_EFORMAT, "not of its shape");
    EGT_REFUSED(STORED(F6_E2M3, 5, 9, 1, 2, 3), EG_EFORMAT, "not of its shape");
    EGT_REFUSED(STORED(F6_E2M3, 5, 5, 1, 2, 3, 4), EG_EFORMAT, "fewer numbers");
    EGT_REFUSED(STORED(F6_E2M3, 5, 5, 1, 2, 3, 4, 5, 6), EG_EFORMAT, "more numbers");
    EGT_REFUSED(STORED(29, 1, 9, 1), EG_EFORMAT, "unknown type");
}

EGT(numbers_are_quantized_to_few_bits)
{
    eg_tensor *x = F32(EG_SHAPE(5), -9, -1, 0.5, 1.5, 9);
    eg_tensor *half = F32(EG_SCALAR, 0.5);
    EGT_CHECK(VALUES(RUN("QuantizeLinear", 25, &(bytes){0}, x, half), 0, 0, 1, 3, 18));
    static const struct {
        int type;
        double values[5];
    } rows[] = {{INT2, {-2, -2, 1, 1, 1}}, {UINT2, {0, 0, 1, 3, 3}}, {F6_E2M3, {-7.5, -2, 1, 3, 7.5}}};
    for (int i = 0; i < 3; i++) {
        bytes a = {0};
        with_int(&a, "output_dtype", rows[i].type);
        EGT_CHECK(same_values(RUN("QuantizeLinear", 28, &a, x, half), rows[i].values, 5));
    }
    const spec back[] = {{"Cast", 0, "x", "t", {"to=26"}, {0}},
                         {"Cast", 0, "x", "s", {"to=24", "round_mode=down"}, {0}},
                         {"DequantizeLinear", 0, "t s", "y", {"axis=0"}, {0}}};
    eg_tensor *y = chain(25, FLOAT, F32(EG_SHAPE(3), 1, 2.5, 3), back, 3); /* 1 -2 -1 by 1 2 2 */
    EGT_CHECK(VALUES(y, 1, -4, -2) && eg_dtype_of(y) == EG_F32);
}

/* "z = Constant" of one number of a type. */
static void put_constant(bytes *graph, const char *op, int type, uint8_t number)
{
    bytes made = {.n = 0}, a = {.n = 0}, tensor = {.n = 0};
    put_int(&tensor, 1, 1);
    put_int(&tensor, 2, type);
    put_bytes(&tensor, 9, &number, 1);
    put_text(&a, 1, "value");
    put_part(&a, 5, &tensor);
    put_int(&a, 20, 4);
    if (strcmp(op, "Constant") != 0) {
        put_text(&made, 1, "shape");
    }
    put_text(&made, 2, "z");
    put_text(&made, 4, op);
    put_part(&made, 5, &a);
    put_part(graph, 1, &made);
}

/* The type of a constant's tensor says to what is quantized, though Egret has no such dtype. */
EGT(constants_are_of_their_types)
{
    static const char *const ops[] = {"Constant", "ConstantOfShape"};
    for (int i = 0; i < 2; i++) {
        bytes graph = {.n = 0};
        const spec quantize = {"QuantizeLinear", 0, "x s z", "y", {NULL}, {0}};
        put_tensor(&graph, "shape", I64(EG_SHAPE(1), 1));
        put_tensor(&graph, "s", F32(EG_SCALAR, 1));
        put_constant(&graph, ops[i], INT8, 3);
        put_spec(&graph, &quantize);
        put_text(&graph, 2, "g");
        put_value_of(&graph, 11, "x", FLOAT);
        put_value_of(&graph, 12, "y", INT8);
        eg_module *m = eg_onnx_load(write_graph(&graph, 25));
        eg_tensor *x = F32(EG_SHAPE(3), -200, 0, 200), *y = NULL;
        EGT_CHECK(m && !eg_onnx_forward(m, &x, 1, &y));
        EGT_CHECK(VALUES(y, -128, 3, 127));
        EGT_OK(eg_module_free(m));
    }
}

/* The result's type is that of the product. */
EGT(products_are_as_exact_as_what_is_asked_for)
{
    bytes a = {0};
    with_int(&a, "output_dtype", FLOAT);
    eg_tensor *scale = eg_scalar(0.1, EG_F16);
    eg_tensor *y = RUN("DequantizeLinear", 23, &a, eg_full_int(EG_SHAPE(1), 251, EG_U8), scale);
    EGT_CHECK(y && eg_dtype_of(y) == EG_F32 && fabs(eg_get(y, 0) - 251 * eg_get(scale, 0)) < 1e-5);
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

/* ---- BitCast ------------------------------------------------------------------------------------------- */

static eg_tensor *bit_cast(int type, eg_tensor *x, int to, int back)
{
    char first[16], second[16];
    snprintf(first, sizeof first, "to=%d", to);
    snprintf(second, sizeof second, "to=%d", back);
    const spec nodes[] = {{"BitCast", 0, "x", back ? "t" : "y", {first}, {0}}, {"BitCast", 0, "t", "y", {second}, {0}}};
    return chain(28, type, x, nodes, back ? 2 : 1);
}

EGT(bits_are_taken_as_another_type)
{
    eg_tensor *x = F32(EG_SHAPE(2, 2), 1, -0.0, INFINITY, -2);
    EGT_CHECK(VALUES(bit_cast(FLOAT, x, INT32, 0), 0x3f800000, INT32_MIN, 0x7f800000, (double)(int32_t)0xc0000000));
    EGT_CHECK(VALUES(bit_cast(FLOAT, x, UINT32, FLOAT), 1, -0.0, INFINITY, -2));
    EGT_EQ(eg_ndim(bit_cast(FLOAT, x, INT32, 0)), 2);
    eg_tensor *one = F64(EG_SHAPE(2), 1, -1);
    EGT_EQ(eg_get_int(bit_cast(DOUBLE, one, INT64, 0), 1), (int64_t)0xbff0000000000000);
    EGT_REFUSED(bit_cast(DOUBLE, one, UINT64, 0), EG_EINVAL, "beyond");
    eg_tensor *all = eg_cast(eg_arange_int(0, 256, 1, EG_I64), EG_U8);
    EGT_CHECK(VALUES(eg_slice(bit_cast(UINT8, all, INT8, 0), 0, 126, 130, 1), 126, 127, -128, -127));
    static const int floats[] = {E4M3, 18, E5M2, 20, E8M0};
    for (int i = 0; i < 5; i++) { /* as reading has them; NaN has several codes */
        eg_tensor *y = bit_cast(UINT8, all, floats[i], 0), *codes = bit_cast(UINT8, all, floats[i], UINT8);
        eg_tensor *read = stored(floats[i], 256, 9, eg_data(all), 256);
        EGT_EQ(egt_distance(y, read), 0);
        EGT_CHECK(codes && eg_get(eg_all(eg_logical_or(eg_isnan(y), eg_eq(codes, all))), 0));
    }
    EGT_CHECK(VALUES(bit_cast(UINT8, eg_slice(all, 0, 0, 3, 1), BOOL, 0), 0, 1, 1));
    const spec four[] = {{"Cast", 0, "x", "t", {"to=23"}, {0}},
                         {"BitCast", 0, "t", "u", {"to=22"}, {0}},
                         {"Cast", 0, "u", "y", {"to=1"}, {0}}};
    EGT_CHECK(VALUES(chain(28, FLOAT, F32(EG_SHAPE(3), 0.5, -6, -0.0), four, 3), 1, -1, -8));
}

EGT(bits_of_another_width_are_refused)
{
    EGT_REFUSED(bit_cast(FLOAT, F32(EG_SHAPE(1), 1), INT64, 0), EG_EDTYPE, "32 bits");
    EGT_REFUSED(bit_cast(FLOAT, F32(EG_SHAPE(1), 1), 99, 0), EG_EDTYPE, "type 99");
    EGT_CHECK(eg_numel(bit_cast(FLOAT, eg_zeros(EG_SHAPE(0), EG_F32), INT32, 0)) == 0);
}

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
