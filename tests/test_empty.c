/* test_empty.c - layers of which one size after the other is 0, in both layouts: forward and backward the CPU's kernels
 * say what the reference says, a refusal or a result, and gradients have the shapes of what they are of. */
#include <ctype.h>

#include "tests/egt.h"

enum { MOST = 5 };

/* Shapes by the letters of their sizes, a digit before one multiplies it, _ is 1; '#' in front: labels. */
typedef struct row {
    const char *name;
    eg_tensor *(*f)(eg_tensor *const *x);
    const char *in[MOST];
} row;

/* ---- layers ---------------------------------------------------------------------------------------- */

#define LAYER(name, ...)                        \
    static eg_tensor *name(eg_tensor *const *x) \
    {                                           \
        return __VA_ARGS__;                     \
    }
LAYER(batch_norm, eg_batch_norm(x[0], x[1], x[2], NULL, NULL, .training = true))
LAYER(batch_norm_relu, eg_batch_norm(x[0], x[1], x[2], NULL, NULL, .training = true, .relu = true))
LAYER(fixed_norm, eg_batch_norm(x[0], x[1], x[2], x[3], eg_square(x[4])))
LAYER(group_norm, eg_group_norm(x[0], 2, x[1], x[2]))
LAYER(instance_norm, eg_instance_norm(x[0], x[1], x[2]))
LAYER(layer_norm, eg_layer_norm(x[0], x[1], x[2]))
LAYER(layer_norm_2, eg_layer_norm(x[0], NULL, NULL, .axes = 2))
LAYER(rms_norm, eg_rms_norm(x[0], x[1]))
LAYER(response_norm, eg_local_response_norm(x[0]))
LAYER(max_pool1, eg_max_pool1d(x[0], .kernel = 2, .padding = 1))
LAYER(max_pool2, eg_max_pool2d(x[0], .kernel = 2, .stride = 1, .dilation = 2, .padding = 1))
LAYER(max_pool3, eg_max_pool3d(x[0], .kernel = 2))
LAYER(avg_pool1, eg_avg_pool1d(x[0], .kernel = 2))
LAYER(avg_pool2, eg_avg_pool2d(x[0], .kernel = 3, .stride = 2, .padding = 1))
LAYER(avg_pool3, eg_avg_pool3d(x[0], .kernel = 2, .padding = EG_SAME))
LAYER(adaptive_max, eg_adaptive_max_pool(x[0], EG_SHAPE(3, 2)))
LAYER(adaptive_avg, eg_adaptive_avg_pool(x[0], EG_SHAPE(3, 2)))
LAYER(conv1, eg_conv1d(x[0], x[1], x[2], .padding = 1))
LAYER(conv2, eg_conv2d(x[0], x[1], x[2], .stride = 2, .padding = 1))
LAYER(conv2_same, eg_conv2d(x[0], x[1], NULL, .padding = EG_SAME))
LAYER(conv3, eg_conv3d(x[0], x[1], x[2]))
LAYER(depthwise, eg_conv2d(x[0], x[1], x[2], .groups = eg_size(x[0], 1) ? eg_size(x[0], 1) : 1))
LAYER(pointwise, eg_conv2d(x[0], x[1], x[2]))
LAYER(transpose1, eg_conv_transpose1d(x[0], x[1], x[2]))
LAYER(transpose2, eg_conv_transpose2d(x[0], x[1], x[2], .stride = 2))
LAYER(transpose3, eg_conv_transpose3d(x[0], x[1], x[2]))
LAYER(softmax_last, eg_softmax(x[0], -1))
LAYER(softmax_first, eg_softmax(x[0], 0))
LAYER(log_softmax_1, eg_log_softmax(x[0], 1))
LAYER(mse, eg_mse_loss(x[0], x[1]))
LAYER(huber, eg_huber_loss(x[0], x[1]))
LAYER(focal, eg_sigmoid_focal_loss(x[0], x[1]))
LAYER(bce, eg_bce_with_logits(x[0], x[1]))
LAYER(kl, eg_kl_div(x[0], eg_square(x[1]), .reduction = EG_BATCH_MEAN))
LAYER(labels, eg_cross_entropy(x[0], x[1], .label_smoothing = 0.1))
LAYER(weighted, eg_cross_entropy(x[0], x[1], .weight = eg_detach(x[2])))
LAYER(targets, eg_cross_entropy(x[0], x[1], .label_smoothing = 0.1))
LAYER(nll, eg_nll_loss(x[0], x[1], .weight = eg_detach(x[2]), .label_smoothing = 0.1))
LAYER(lstm, eg_lstm(x[0], x[1], x[2], .b_ih = x[3], .h0 = x[4]).y)
LAYER(lstm_state, eg_lstm(x[0], x[1], x[2], .b_ih = x[3], .w_hr = x[4]).c)
LAYER(gru, eg_gru(x[0], x[1], x[2], .b_hh = x[3], .h0 = x[4]).y)
LAYER(gru_back, eg_gru(x[0], x[1], x[2], .reverse = true, .batch_first = true, .lengths = x[3]).h)
LAYER(linear, eg_linear(x[0], x[1], x[2]))
LAYER(product, eg_matmul(x[0], x[1]))
LAYER(attention, eg_attention(x[0], x[1], x[2], .causal = true))
LAYER(enlarged, eg_resize(x[0], EG_SHAPE(7, 6)))
LAYER(picked, eg_embedding(x[0], x[1]))
#undef LAYER

static const row rows[] = {
    {"batch_norm [N, C]", batch_norm, {"NC", "C", "C"}},
    {"batch_norm [N, C, L]", batch_norm, {"NCL", "C", "C"}},
    {"batch_norm, images", batch_norm_relu, {"NCHW", "C", "C"}},
    {"batch_norm, fixed", fixed_norm, {"NCHW", "C", "C", "C", "C"}},
    {"group_norm", group_norm, {"NCHW", "C", "C"}},
    {"instance_norm", instance_norm, {"NCL", "C", "C"}},
    {"layer_norm", layer_norm, {"NTC", "C", "C"}},
    {"layer_norm, two axes", layer_norm_2, {"NTC"}},
    {"rms_norm", rms_norm, {"NTC", "C"}},
    {"local_response_norm", response_norm, {"NCHW"}},
    {"max_pool1d", max_pool1, {"NCL"}},
    {"max_pool2d", max_pool2, {"NCHW"}},
    {"max_pool3d", max_pool3, {"NCDHW"}},
    {"avg_pool1d", avg_pool1, {"NCL"}},
    {"avg_pool2d", avg_pool2, {"NCHW"}},
    {"avg_pool3d", avg_pool3, {"NCDHW"}},
    {"adaptive_max_pool", adaptive_max, {"NCHW"}},
    {"adaptive_avg_pool", adaptive_avg, {"NCHW"}},
    {"conv1d", conv1, {"NCL", "OCk", "O"}},
    {"conv2d", conv2, {"NCHW", "OCkl", "O"}},
    {"conv2d, same", conv2_same, {"NCHW", "OCkl"}},
    {"conv3d", conv3, {"NCDHW", "OCklm", "O"}},
    {"conv2d, depthwise", depthwise, {"NCHW", "C_kl", "C"}},
    {"conv2d, pointwise", pointwise, {"NCHW", "OC__", "O"}},
    {"conv_transpose1d", transpose1, {"NCL", "COk", "O"}},
    {"conv_transpose2d", transpose2, {"NCHW", "COkl", "O"}},
    {"conv_transpose3d", transpose3, {"NCDHW", "COklm", "O"}},
    {"softmax", softmax_last, {"NTC"}},
    {"softmax over rows", softmax_first, {"NTC"}},
    {"log_softmax", log_softmax_1, {"NCHW"}},
    {"mse_loss", mse, {"NTC", "NTC"}},
    {"huber_loss", huber, {"NTC", "TC"}},
    {"sigmoid_focal_loss", focal, {"NTC", "TC"}},
    {"bce_with_logits", bce, {"NTC", "NTC"}},
    {"kl_div", kl, {"NC", "NC"}},
    {"cross_entropy", labels, {"NC", "#N"}},
    {"cross_entropy, images", weighted, {"NCHW", "#NHW", "C"}},
    {"cross_entropy, targets", targets, {"NCL", "NCL"}},
    {"nll_loss", nll, {"NCL", "#NL", "C"}},
    {"lstm", lstm, {"TNI", "4GI", "4GG", "4G", "NG"}},
    {"lstm, projected", lstm_state, {"TNI", "4GI", "4GR", "4G", "RG"}},
    {"gru", gru, {"TNI", "3GI", "3GG", "3G", "NG"}},
    {"gru, back", gru_back, {"NTI", "3GI", "3GG", "#N"}},
    {"linear", linear, {"NTI", "OI", "O"}},
    {"matmul", product, {"NTI", "NIO"}},
    {"attention", attention, {"NTI", "NRI", "NRO"}},
    {"resize", enlarged, {"NCHW"}},
    {"embedding", picked, {"OI", "#NT"}},
};

/* ---- sizes ----------------------------------------------------------------------------------------- */

static const char letters[] = "NCHWDLTIOGRklm";
static const int64_t sizes[] = {2, 4, 5, 4, 3, 6, 3, 3, 5, 2, 3, 3, 2, 2};

static eg_tensor *made(const char *shape, char none, eg_dtype dtype)
{
    eg_shape s = {0};
    int64_t times = 1;
    const bool integers = *shape == '#';
    for (const char *p = shape + integers; *p; p++) {
        if (isdigit((unsigned char)*p)) {
            times = *p - '0';
            continue;
        }
        s.dim[s.ndim++] = *p == none ? 0 : *p == '_' ? 1 : times * sizes[strchr(letters, *p) - letters];
        times = 1;
    }
    return integers ? eg_cast(egt_random(s, EG_F32, 0, 2), EG_I64) : egt_random(s, dtype, -1, 1);
}

typedef struct answer {
    bool refused;
    eg_tensor *y, *g[MOST];
} answer;

static answer ask(const row *r, eg_tensor *const *x, int n, const char *words)
{
    answer a = {false, NULL, {NULL}};
    eg_tensor *floats[MOST];
    int k = 0;
    EGT_OK(eg_debug(words));
    eg_tape tape = eg_tape_open();
    for (int i = 0; i < n; i++) {
        if (eg_dtype_of(x[i]) != EG_I64) {
            EGT_OK(eg_tape_watch(tape, x[i]));
            floats[k++] = x[i];
        }
    }
    a.y = r->f(x);
    a.refused = !a.y || eg_tape_gradients(tape, eg_sum(eg_square(a.y)), floats, k, a.g) != EG_OK;
    EGT_CHECK(!a.refused || eg_last_error()->code != EG_OK);
    eg_clear_error();
    EGT_OK(eg_debug(NULL));
    for (int i = 0; i < k && !a.refused; i++) {
        EGT_EQ(egt_distance(eg_mul_scalar(a.g[i], 0), eg_mul_scalar(floats[i], 0)), 0); /* of one shape, and finite */
    }
    return a;
}

static void compare(const row *r, char none, eg_dtype dtype, bool last)
{
    eg_tensor *x[MOST];
    int n = 0;
    for (; n < MOST && r->in[n]; n++) {
        x[n] = made(r->in[n], none, dtype);
        x[n] = last && eg_ndim(x[n]) > 2 ? eg_channels_last(x[n]) : x[n];
    }
    answer fast = ask(r, x, n, NULL), plain = ask(r, x, n, "ref");
    EGT_EQ(fast.refused, plain.refused);
    if (fast.refused) {
        return;
    }
    EGT_CHECK(egt_distance(fast.y, plain.y) < 1e-5);
    for (int i = 0; i < n && fast.g[i]; i++) {
        EGT_CHECK(egt_distance(fast.g[i], plain.g[i]) < 1e-5);
        EGT_CHECK(eg_numel(fast.y) || eg_item(eg_sum(eg_ne_scalar(fast.g[i], 0))) == 0);
    }
}

EGT(every_size_of_0)
{
    for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++) {
        for (const char *none = letters; *none; none++) {
            bool has = false;
            for (int k = 0; k < MOST && rows[i].in[k]; k++) {
                has |= strchr(rows[i].in[k], *none) != NULL;
            }
            for (int way = 0; way < 4 && has; way++) {
                EG_SCOPE {
                    snprintf(egt_case, sizeof egt_case, "%s, %c is 0, %s, %s", rows[i].name, *none,
                             way & 1 ? "f64" : "f32", way & 2 ? "channels-last" : "row-major");
                    compare(&rows[i], *none, way & 1 ? EG_F64 : EG_F32, way & 2);
                }
            }
        }
    }
}
