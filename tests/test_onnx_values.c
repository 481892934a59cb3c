/* test_onnx_values.c - values of ONNX operators at the ends of their definitions: scalars, empty lists of axes, axes
 * and groups of one element, integers beyond 2^53, sums of halves beyond their range, indices out of range. */
#include "tests/onnx_models.h"

/* A node with attributes "name=value"; NULL as refused. */
#define APPLY(op, version, attributes, ...)                                                   \
    apply(op, version, (const char *const[]){attributes, NULL}, (eg_tensor *[]){__VA_ARGS__}, \
          (int)(sizeof(eg_tensor *[]){__VA_ARGS__} / sizeof(eg_tensor *)))
static eg_tensor *apply(const char *op, int version, const char *const *attributes, eg_tensor *const *in, int nin)
{
    bytes all = {.n = 0};
    for (int i = 0; attributes[i]; i++) {
        with(&all, attributes[i]);
    }
    return run_node(op, version, &all, in, nin);
}

static bool integers(const eg_tensor *t, const int64_t *wanted, int n)
{
    bool same = t && eg_numel(t) == n;
    for (int i = 0; same && i < n; i++) {
        same = eg_get_int(t, i) == wanted[i];
    }
    return same;
}
#define INTEGERS(t, ...) \
    integers(t, (const int64_t[]){__VA_ARGS__}, (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

static eg_tensor *halves(eg_tensor *t)
{
    return eg_cast(t, EG_F16);
}

static bool near_values(const eg_tensor *t, const double *wanted, int n, double within)
{
    bool near = t && eg_numel(t) == n;
    for (int i = 0; near && i < n; i++) {
        near = fabs(eg_get(t, i) - wanted[i]) <= within;
    }
    return near;
}
#define NEAR_VALUES(t, within, ...) \
    near_values(t, (const double[]){__VA_ARGS__}, (int)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)), within)

/* ---- reductions ----------------------------------------------------------------------------------------- */

EGT(reductions_of_scalars_do_all_their_steps)
{
    eg_tensor *x = F32(EG_SCALAR, -3), *four = F32(EG_SCALAR, 4);
    EGT_CHECK(VALUES(APPLY("ReduceL1", 13, NULL, x), 3));
    EGT_CHECK(VALUES(APPLY("ReduceL2", 13, NULL, x), 3));
    EGT_CHECK(VALUES(APPLY("ReduceSumSquare", 13, NULL, x), 9));
    EGT_CHECK(NEAR_VALUES(APPLY("ReduceLogSum", 13, NULL, four), 1e-6, log(4)));
    EGT_CHECK(VALUES(APPLY("ReduceLogSumExp", 13, NULL, x), -3));
    EGT_CHECK(VALUES(APPLY("ReduceMean", 13, NULL, x), -3));
    EGT_CHECK(VALUES(APPLY("ReduceMax", 13, NULL, x), -3));
}

EGT(reductions_of_no_axes_do_their_other_steps)
{
    eg_tensor *x = F32(EG_SHAPE(2), -3, 4), *axes = eg_zeros(EG_SHAPE(0), EG_I64);
    const char *noop = "noop_with_empty_axes=1";
    EGT_CHECK(VALUES(APPLY("ReduceL1", 18, noop, x, axes), 3, 4));
    EGT_CHECK(VALUES(APPLY("ReduceL2", 18, noop, x, axes), 3, 4));
    EGT_CHECK(VALUES(APPLY("ReduceSumSquare", 18, noop, x), 9, 16));
    EGT_CHECK(NEAR_VALUES(APPLY("ReduceLogSum", 18, noop, F32(EG_SHAPE(2), 2, 4), axes), 1e-6, log(2), log(4)));
    EGT_CHECK(VALUES(APPLY("ReduceLogSumExp", 18, noop, x, axes), -3, 4));
    EGT_CHECK(VALUES(APPLY("ReduceSum", 13, noop, x, axes), -3, 4));
    EGT_CHECK(VALUES(APPLY("ReduceSum", 13, NULL, x, axes), 1));
    EGT_REFUSED(APPLY("ReduceSum", 13, NULL, x, I64(EG_SHAPE(2), 0, -1)), EG_ESHAPE, "named twice");
}

EGT(reductions_of_halves_keep_their_range)
{
    eg_tensor *x = halves(F32(EG_SHAPE(2), 300, 400));
    EGT_CHECK(VALUES(APPLY("ReduceL2", 18, NULL, x), 500));
    EGT_CHECK(NEAR_VALUES(APPLY("ReduceLogSum", 18, NULL, halves(F32(EG_SHAPE(2), 60000, 60000))), 0.01, log(120000)));
    eg_tensor *far = halves(F32(EG_SHAPE(1), 60000));
    EGT_CHECK(VALUES(APPLY("Mean", 13, NULL, far, far, far), 60000));
    EGT_CHECK(VALUES(APPLY("Sum", 13, NULL, far, far, eg_neg(far)), 60000));
    EGT_CHECK(NEAR_VALUES(APPLY("LpNormalization", 22, NULL, x), 1e-3, 0.6, 0.8));
    EGT_CHECK(NEAR_VALUES(APPLY("GlobalLpPool", 2, NULL, eg_reshape(x, EG_SHAPE(1, 1, 2))), 0.5, 500));
    EGT_CHECK(NEAR_VALUES(APPLY("LpPool", 18, "kernel_shape=[2]", eg_reshape(x, EG_SHAPE(1, 1, 2))), 0.5, 500));
    eg_tensor *image = eg_reshape(x, EG_SHAPE(1, 1, 1, 2));
    EGT_CHECK(VALUES(APPLY("MeanVarianceNormalization", 13, NULL, eg_mul_scalar(image, 100)), -1, 1));
    eg_tensor *row = halves(F32(EG_SHAPE(1, 2), 300, 300)), *column = halves(F32(EG_SHAPE(2, 1), 300, 300));
    EGT_CHECK(VALUES(APPLY("Gemm", 13, "alpha=0.25", row, column), 44992));
}

EGT(reductions_of_integers_keep_their_digits)
{
    eg_tensor *x = eg_from(EG_SHAPE(2), EG_I32, (int32_t[]){16777217, 16777217});
    EGT_CHECK(INTEGERS(APPLY("ReduceMean", 13, NULL, x), 16777217));
    EGT_CHECK(INTEGERS(APPLY("ReduceMean", 13, NULL, eg_from(EG_SHAPE(2), EG_I32, (int32_t[]){-1, -2})), -1));
    const int64_t large = ((int64_t)1 << 53) + 1;
    EGT_CHECK(INTEGERS(APPLY("ReduceMean", 13, NULL, I64(EG_SHAPE(2), large, large)), large));
    EGT_CHECK(INTEGERS(APPLY("ReduceL1", 13, NULL, I64(EG_SHAPE(2), -large, 1)), large + 1));
    EGT_CHECK(INTEGERS(APPLY("ReduceL2", 13, NULL, eg_from(EG_SHAPE(2), EG_I32, (int32_t[]){60000, 80000})), 100000));
}

/* ---- indices -------------------------------------------------------------------------------------------- */

EGT(indices_are_counted_from_the_end_once)
{
    eg_tensor *x = F32(EG_SHAPE(4), 1, 2, 3, 4), *one = F32(EG_SHAPE(1), 9);
    for (int64_t i = -5; i <= 4; i += 9) { /* the first ones outside */
        eg_tensor *at = I64(EG_SHAPE(1), i), *place = I64(EG_SHAPE(1, 1), i);
        EGT_REFUSED(APPLY("Gather", 13, NULL, x, at), EG_EINDEX, i < 0 ? "-5" : "4");
        EGT_REFUSED(APPLY("GatherElements", 13, NULL, x, at), EG_EINDEX, "outside");
        EGT_REFUSED(APPLY("GatherND", 13, NULL, x, place), EG_EINDEX, "outside");
        EGT_REFUSED(APPLY("ScatterElements", 18, NULL, x, at, one), EG_EINDEX, "outside");
        EGT_REFUSED(APPLY("ScatterElements", 18, "reduction=add", x, at, one), EG_EINDEX, "outside");
        EGT_REFUSED(APPLY("ScatterElements", 18, "reduction=max", x, at, one), EG_EINDEX, "outside");
        EGT_REFUSED(APPLY("ScatterND", 18, NULL, x, place, one), EG_EINDEX, "outside");
        EGT_REFUSED(APPLY("ScatterND", 18, "reduction=add", x, place, one), EG_EINDEX, "outside");
        EGT_REFUSED(APPLY("ScatterND", 18, "reduction=mul", x, place, one), EG_EINDEX, "outside");
    }
    EGT_CHECK(VALUES(APPLY("Gather", 13, NULL, x, I64(EG_SHAPE(2), -4, -1)), 1, 4));
    EGT_CHECK(VALUES(APPLY("GatherND", 13, NULL, x, I64(EG_SHAPE(2, 1), -4, -1)), 1, 4));
    EGT_CHECK(VALUES(APPLY("ScatterND", 18, NULL, x, I64(EG_SHAPE(1, 1), -4), one), 9, 2, 3, 4));
    eg_tensor *rows = F32(EG_SHAPE(2, 2), 1, 2, 3, 4), *which = I64(EG_SHAPE(2, 1), -2, -1);
    EGT_CHECK(VALUES(APPLY("GatherND", 13, "batch_dims=1", rows, which), 1, 4));
}

EGT(indices_that_only_count_from_the_front_are_not_negative)
{
    eg_tensor *cache = eg_zeros(EG_SHAPE(1, 3, 1), EG_F32), *update = eg_ones(EG_SHAPE(1, 1, 1), EG_F32);
    EGT_REFUSED(APPLY("TensorScatter", 24, "axis=1", cache, update, I64(EG_SHAPE(1), -1)), EG_EINDEX, "outside");
    EGT_CHECK(VALUES(APPLY("TensorScatter", 24, "axis=1", cache, update, I64(EG_SHAPE(1), 2)), 0, 0, 1));
    eg_tensor *x = eg_ones(EG_SHAPE(1, 1, 1), EG_F32);
    const char *kernel = "kernel_shape=[2]";
    EGT_REFUSED(APPLY("MaxUnpool", 11, kernel, x, I64(EG_SHAPE(1, 1, 1), -1)), EG_EINDEX, "outside");
    eg_tensor *image = eg_ones(EG_SHAPE(1, 1, 2, 2), EG_F32), *box = F32(EG_SHAPE(1, 4), 0, 0, 1, 1);
    EGT_REFUSED(APPLY("RoiAlign", 16, "mode=max", image, box, I64(EG_SHAPE(1), -1)), EG_EINDEX, "outside");
}

EGT(axes_are_not_cut_to_32_bits)
{
    eg_tensor *x = F32(EG_SHAPE(2, 2), 1, 2, 3, 4);
    EGT_REFUSED(APPLY("Concat", 13, "axis=4294967296", x, x), EG_ESHAPE, "axis 4294967296");
    EGT_REFUSED(APPLY("Transpose", 13, "perm=[4294967297,0]", x), EG_ESHAPE, "axis 4294967297");
    EGT_REFUSED(APPLY("MeanVarianceNormalization", 13, "axes=[4294967296]", x), EG_ESHAPE, "axis 4294967296");
    EGT_REFUSED(APPLY("Transpose", 13, "perm=[0,0]", x), EG_ESHAPE, "named twice");
    const char *batch[] = {"batch_axis=4294967296", "time_axis=1", NULL};
    EGT_REFUSED(apply("ReverseSequence", 10, batch, (eg_tensor *[]){x, I64(EG_SHAPE(2), 1, 2)}, 2), EG_EINVAL, "axis");
}

/* ---- ends of ranges --------------------------------------------------------------------------------------- */

EGT(slices_end_at_any_integer)
{
    eg_tensor *x = F32(EG_SHAPE(4), 0, 1, 2, 3), *axis = I64(EG_SHAPE(1), 0);
    static const struct {
        int64_t start, end, step;
        int count, first;
    } cases[] = {
        {INT64_MAX, INT64_MAX, 1, 0, 0},
        {INT64_MIN, INT64_MAX, 1, 4, 0},
        {INT64_MIN, INT64_MIN, 1, 0, 0},
        {INT64_MAX, INT64_MIN, -1, 4, 3},
        {INT64_MAX, INT64_MAX, -1, 0, 0},
        {INT64_MIN, INT64_MIN, -1, 1, 0},
        {0, INT64_MAX, INT64_MAX, 1, 0},
        {-1, INT64_MIN, INT64_MIN, 1, 3},
        {2, INT64_MAX, -1, 0, 0},
        {-1, -5, -1, 4, 3},
        {3, 0, -3, 1, 3},
        {1, INT64_MAX - 1, 2, 2, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        eg_tensor *y = APPLY("Slice", 13, NULL, x, I64(EG_SHAPE(1), cases[i].start), I64(EG_SHAPE(1), cases[i].end),
                             axis, I64(EG_SHAPE(1), cases[i].step));
        EGT_CHECK(y);
        EGT_EQ(eg_numel(y), cases[i].count);
        if (cases[i].count) {
            EGT_EQ((int64_t)eg_get(y, 0), cases[i].first);
        }
    }
    EGT_REFUSED(APPLY("Slice", 13, NULL, x, axis, axis, axis, axis), EG_EINVAL, "step");
    eg_tensor *twice = I64(EG_SHAPE(2), 0, -1), *zeros = I64(EG_SHAPE(2), 0, 0);
    EGT_REFUSED(APPLY("Slice", 13, NULL, x, zeros, zeros, twice), EG_ESHAPE, "named twice");
}

EGT(large_integers_pass_unchanged)
{
    const int64_t large = ((int64_t)1 << 53) + 1;
    eg_tensor *x = I64(EG_SHAPE(1), 5), *value = I64(EG_SCALAR, large), *pads = I64(EG_SHAPE(2), 1, 1);
    EGT_CHECK(INTEGERS(APPLY("Pad", 18, NULL, x, pads, value), large, 5, large));
    EGT_CHECK(INTEGERS(APPLY("Pad", 18, NULL, x, pads, eg_neg(value)), -large, 5, -large));
    EGT_CHECK(INTEGERS(APPLY("Clip", 13, NULL, I64(EG_SHAPE(2), 0, INT64_MAX), value, I64(EG_SCALAR, large + 2)), large,
                       large + 2));
    eg_tensor *exponent = eg_from(EG_SHAPE(1), EG_I32, (int32_t[]){1});
    EGT_CHECK(INTEGERS(APPLY("Pow", 15, NULL, I64(EG_SHAPE(1), large), exponent), large));
    EGT_CHECK(INTEGERS(APPLY("TopK", 11, NULL, I64(EG_SHAPE(2), large, large - 1), I64(EG_SHAPE(1), 1)), large));
    eg_tensor *image = eg_reshape(I64(EG_SHAPE(2), 16777217, 16777217), EG_SHAPE(1, 1, 1, 2));
    EGT_CHECK(INTEGERS(APPLY("Resize", 13, "mode=linear", image, NULL, NULL, I64(EG_SHAPE(4), 1, 1, 1, 4)), 16777217,
                       16777217, 16777217, 16777217));
}

EGT(powers_are_of_the_richer_type)
{
    eg_tensor *y = APPLY("Pow", 15, NULL, halves(F32(EG_SHAPE(1), 1.5)), F32(EG_SHAPE(1), 10.003));
    EGT_CHECK(y && eg_dtype_of(y) == EG_F16);
    EGT_CHECK(NEAR_VALUES(y, 0.016, pow(1.5, 10.003)));
    EGT_CHECK(VALUES(APPLY("Pow", 15, NULL, F32(EG_SHAPE(1), -1), I64(EG_SHAPE(1), 16777217)), -1));
    EGT_CHECK(VALUES(APPLY("Pow", 15, NULL, F32(EG_SHAPE(2), 3, -2), I64(EG_SCALAR, 3)), 27, -8));
}

EGT(older_clips_without_limits_have_none)
{
    EGT_CHECK(VALUES(APPLY("Clip", 6, NULL, F64(EG_SHAPE(2), 1e300, -1e300)), 1e300, -1e300));
}

/* ---- norms ------------------------------------------------------------------------------------------------ */

EGT(even_windows_of_lrn_have_one_more_after)
{
    eg_tensor *x = eg_reshape(F32(EG_SHAPE(5), 1, 2, 4, 8, 16), EG_SHAPE(1, 5, 1, 1));
    const char *attributes[] = {"size=2", "alpha=2.0", "beta=1.0", "bias=1.0", NULL};
    const double sums[] = {5, 20, 80, 320, 256};
    double wanted[5];
    for (int i = 0; i < 5; i++) {
        wanted[i] = ldexp(1, i) / (1 + sums[i]);
    }
    EGT_CHECK(near_values(apply("LRN", 13, attributes, &x, 1), wanted, 5, 1e-6));
}

EGT(norms_of_single_values_give_the_bias)
{
    eg_tensor *x = F32(EG_SHAPE(1, 2, 1), 1, 2), *scale = F32(EG_SHAPE(2), 3, 4), *bias = F32(EG_SHAPE(2), 5, 7);
    EGT_CHECK(VALUES(APPLY("InstanceNormalization", 6, NULL, x, scale, bias), 5, 7));
    EGT_CHECK(VALUES(APPLY("GroupNormalization", 21, "num_groups=2", x, scale, bias), 5, 7));
    eg_tensor *row = F32(EG_SHAPE(2), 1, 3), *one = F32(EG_SHAPE(1), 2), *zero = F32(EG_SHAPE(1), 0);
    const char *exact = "epsilon=0.0";
    EGT_CHECK(VALUES(APPLY("BatchNormalization", 15, exact, row, one, zero, one, F32(EG_SHAPE(1), 4)), -1, 1));
}

EGT(windows_that_do_not_fit_give_nothing)
{
    eg_tensor *x = eg_ones(EG_SHAPE(1, 2, 2), EG_F32);
    const char *attributes[] = {"kernel_shape=[2]", "dilations=[2]", NULL};
    for (int i = 0; i < 3; i++) {
        eg_tensor *y = apply(((const char *[]){"MaxPool", "AveragePool", "LpPool"})[i], 22, attributes, &x, 1);
        EGT_CHECK(y);
        EGT_EQ(eg_ndim(y), 3);
        EGT_EQ(eg_size(y, 2), 0);
    }
    const char *ceiled[] = {"kernel_shape=[3]", "strides=[3]", "ceil_mode=1", NULL};
    eg_tensor *pair = eg_reshape(F32(EG_SHAPE(2), 1, 4), EG_SHAPE(1, 1, 2));
    EGT_CHECK(VALUES(apply("MaxPool", 22, ceiled, &pair, 1), 4));
    EGT_CHECK(VALUES(apply("AveragePool", 22, ceiled, &pair, 1), 2.5));
    const char *exclusive = "exclusive=1";
    EGT_EQ(eg_numel(APPLY("CumSum", 14, exclusive, eg_zeros(EG_SHAPE(0), EG_F32), I64(EG_SCALAR, 0))), 0);
}
