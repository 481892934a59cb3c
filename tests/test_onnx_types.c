/* test_onnx_types.c - small types of ONNX, of fewer bits than any of Egret's: in files, cast, quantized, in graphs. */
#include "tests/onnx_models.h"

#include <egret/io.h>

/* x cast to a type, and that to another. */
static eg_tensor *cast_and_back(int version, eg_tensor *x, int type, const char *how, int back)
{
    char to[16], from[16];
    snprintf(to, sizeof to, "to=%d", type);
    snprintf(from, sizeof from, "to=%d", back);
    const spec nodes[] = {{"Cast", 0, "x", "t", {to, how}, {0}}, {"Cast", 0, "t", "y", {from}, {0}}};
    return chain(version, onnx_type(x), x, nodes, 2);
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

/* "s n" -> "t u" of one node and Identity; a Loop's has a number and a condition too. */
static bytes body_of(const char *op, bool loop)
{
    bytes graph = {.n = 0};
    const spec inner[] = {{op, 0, "s n", "t", {NULL}, {0}}, {"Identity", 0, "t", "u", {NULL}, {0}}};
    put_spec(&graph, &inner[0]);
    put_spec(&graph, &inner[1]);
    put_text(&graph, 2, "body");
    if (loop) {
        put_value_of(&graph, 11, "i", INT64);
        put_value_of(&graph, 11, "on", BOOL);
        put_value_of(&graph, 12, "on", BOOL);
    }
    put_value_of(&graph, 11, "s", INT8);
    put_value_of(&graph, 11, "n", INT8);
    put_value_of(&graph, 12, "t", INT8);
    if (loop) {
        put_value_of(&graph, 12, "n", INT8);
    }
    put_value_of(&graph, 12, "u", INT8);
    return graph;
}

/* Sums in a body and those behind it go round at 128. */
EGT(small_types_go_through_graphs)
{
    for (int loop = 0; loop < 2; loop++) {
        bytes graph = {.n = 0}, made = {.n = 0}, a = {.n = 0}, body = body_of("Add", loop);
        put_words(&made, 1, loop ? "most - x x" : "first x");
        put_words(&made, 2, loop ? "last every all" : "last all");
        put_text(&made, 4, loop ? "Loop" : "Scan");
        put_text(&a, 1, "body");
        put_part(&a, 6, &body);
        put_int(&a, 20, 5);
        put_part(&made, 5, &a);
        with_int(&made, "num_scan_inputs", 1);
        put_part(&graph, 1, &made);
        const spec twice = {"Add", 0, "all all", "y", {NULL}, {0}};
        put_spec(&graph, &twice);
        put_text(&graph, 2, "g");
        put_tensor(&graph, "most", I64(EG_SCALAR, 2));
        put_value_of(&graph, 11, "x", INT8);
        put_value_of(&graph, 11, "first", INT8);
        put_value_of(&graph, 12, "y", INT8);
        put_value_of(&graph, 12, "last", INT8);
        eg_module *m = eg_onnx_load(write_graph(&graph, 25));
        eg_tensor *x = eg_full_int(EG_SHAPE(2), 60, EG_I32), *in[] = {x, eg_scalar_int(50, EG_I32)}, *out[2];
        EGT_CHECK(m && !eg_onnx_forward(m, in, 2, out));
        EGT_OK(eg_module_free(m));
        /* of the loop 60 + 60, 120 + 60; of the scan 50 + 60, 110 + 60 */
        EGT_CHECK(loop ? VALUES(out[0], -16, -16, 104, 104) : VALUES(out[0], -36, 84));
        EGT_CHECK(loop ? VALUES(out[1], -76, -76) : VALUES(out[1], -86));
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
        eg_tensor *read = stored(floats[i], 256, 9, eg_data(eg_to(all, eg_cpu())), 256);
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
