/* norm.c - cases of normalisation. */
#include "tests/cases.h"

/* x alone, or with weight and bias. */
CASE_FUNCTION(batch_norm, eg_batch_norm_with(x[0], n > 1 ? x[1] : NULL, n > 2 ? x[2] : NULL, NULL, NULL, user))

/* Running statistics written on the way, and read again. */
static eg_tensor *batch_norm_updates(eg_tensor *const *x, int n, void *user)
{
    (void)n;
    eg_dtype dt = eg_dtype_of(x[0]);
    int64_t channels = eg_size(x[0], 1);
    eg_tensor *mean = eg_zeros(EG_SHAPE(channels), dt), *var = eg_ones(EG_SHAPE(channels), dt);
    eg_tensor *y = eg_batch_norm_with(x[0], x[1], x[2], mean, var, user);
    eg_shape along = {.ndim = eg_ndim(x[0])};
    for (int d = 0; d < along.ndim; d++) {
        along.dim[d] = d == 1 ? channels : 1;
    }
    return eg_add(y, eg_reshape(eg_add(mean, var), along));
}

CASE_FUNCTION(batch_norm_fixed, eg_batch_norm_with(x[0], x[1], x[2], x[3], x[4], user))
CASE_FUNCTION(scale_channels, eg_scale_channels(x[0], x[1], n > 2 ? x[2] : NULL))

static eg_tensor *group_norm(eg_tensor *const *x, int n, void *user)
{
    return eg_group_norm(x[0], *(int64_t *)user, n > 1 ? x[1] : NULL, n > 2 ? x[2] : NULL, .eps = 1e-3);
}

CASE_FUNCTION(instance_norm, eg_instance_norm(x[0], n > 1 ? x[1] : NULL, n > 2 ? x[2] : NULL))

static eg_tensor *layer_norm(eg_tensor *const *x, int n, void *user)
{
    return eg_layer_norm(x[0], n > 1 ? x[1] : NULL, n > 2 ? x[2] : NULL, .axes = user ? *(int *)user : 0);
}

CASE_FUNCTION(layer_norm_bias, eg_layer_norm(x[0], NULL, x[1]))
CASE_FUNCTION(rms_norm, eg_rms_norm(x[0], n > 1 ? x[1] : NULL, .axes = user ? *(int *)user : 0, .eps = 1e-3))

CASE_FUNCTION(response, eg_local_response_norm(x[0], .channels = *(int64_t *)user, .alpha = 0.5))

#define OPTIONS(name, ...) static eg_batch_norm_options name = {.size = sizeof(eg_batch_norm_options), __VA_ARGS__};
OPTIONS(training, .training = true)
OPTIONS(training_relu, .training = true, .relu = true)
OPTIONS(training_slow, .training = true, .momentum = 0.01, .eps = 1e-3, .biased = true)
OPTIONS(fixed, .eps = 1e-3)
OPTIONS(fixed_relu, .relu = true)
static int64_t two = 2, three = 3;
static int axes2 = 2;

#define BATCH "batch_norm batch_norm_grad"
#define GROUP "group_norm group_norm_grad"
#define LAYER "layer_norm layer_norm_grad"
#define IN(...)                     \
    {                               \
        DIMS(__VA_ARGS__), -2, 2, 0 \
    }
#define W(...)                       \
    {                                \
        DIMS(__VA_ARGS__), 0.5, 2, 0 \
    }

EGT_CASES(
    norm, {BATCH, "rows", batch_norm, {IN(7, 3), W(3), IN(3)}, .user = &training},
    {BATCH, "images", batch_norm, {IN(3, 4, 5, 2), W(4), IN(4)}, .user = &training},
    {BATCH, "plain images", batch_norm, {IN(2, 3, 4, 4)}, .user = &training},
    {BATCH, "weight only", batch_norm, {IN(2, 3, 4), W(3)}, .user = &training},
    {BATCH, "volumes", batch_norm, {IN(2, 2, 3, 2, 3), W(2), IN(2)}, .user = &training},
    {BATCH, "relu", batch_norm, {IN(3, 4, 5, 2), W(4), IN(4)}, .flags = EGT_NO_HALF, .user = &training_relu},
    {BATCH, "many channels", batch_norm, {IN(5, 1030), W(1030), IN(1030)}, .flags = EGT_NO_HALF, .user = &training},
    {BATCH, "wide images", batch_norm, {IN(2, 3, 40, 31), W(3), IN(3)}, .flags = EGT_NO_HALF, .user = &training},
    {BATCH, "updates", batch_norm_updates, {IN(3, 4, 5), W(4), IN(4)}, .flags = EGT_NO_GRAD, .user = &training},
    {BATCH, "slow updates", batch_norm_updates, {IN(9, 4), W(4), IN(4)}, .flags = EGT_NO_GRAD, .user = &training_slow},
    {BATCH, "empty batch", batch_norm, {IN(0, 4, 3, 3), W(4), IN(4)}, .user = &training},
    {"scale_channels", "fixed statistics", batch_norm_fixed, {IN(3, 4, 5), W(4), IN(4), IN(4), W(4)}, .user = &fixed},
    {"scale_channels",
     "fixed, relu",
     batch_norm_fixed,
     {IN(3, 4, 5, 2), W(4), IN(4), IN(4), W(4)},
     .flags = EGT_NO_HALF,
     .user = &fixed_relu},
    {"scale_channels", "both", scale_channels, {IN(3, 4, 5, 2), W(4), IN(4)}},
    {"scale_channels", "scale", scale_channels, {IN(6, 4), W(4)}},
    {GROUP, "two groups", group_norm, {IN(2, 4, 3, 5), W(4), IN(4)}, .user = &two},
    {GROUP, "three groups of rows", group_norm, {IN(3, 6), W(6), IN(6)}, .user = &three},
    {GROUP, "plain", group_norm, {IN(2, 4, 7)}, .user = &two},
    {GROUP, "wide", group_norm, {IN(2, 4, 30, 33), W(4), IN(4)}, .flags = EGT_NO_HALF, .user = &two},
    {GROUP, "no images", group_norm, {IN(0, 4, 3), W(4), IN(4)}, .user = &two},
    {GROUP, "instances", instance_norm, {IN(2, 3, 4, 5), W(3), IN(3)}},
    {GROUP, "plain instances", instance_norm, {IN(2, 3, 9)}}, {LAYER, "rows", layer_norm, {IN(5, 7), W(7), IN(7)}},
    {LAYER, "plain", layer_norm, {IN(2, 3, 6)}},
    {LAYER, "two axes", layer_norm, {IN(3, 2, 5), W(2, 5), IN(2, 5)}, .user = &axes2},
    {LAYER, "weight", layer_norm, {IN(4, 5), W(5)}}, {LAYER, "bias", layer_norm_bias, {IN(4, 5), IN(5)}},
    {LAYER, "wide", layer_norm, {IN(70, 1029), W(1029), IN(1029)}, .flags = EGT_NO_HALF},
    {LAYER, "no rows", layer_norm, {IN(0, 5), W(5), IN(5)}}, {LAYER, "rms", rms_norm, {IN(4, 5), W(5)}},
    {LAYER, "plain rms", rms_norm, {IN(2, 3, 4)}, .user = &axes2},
    {"avg_pool", "local response", response, {IN(2, 6, 3, 2)}, .user = &three},
    {"avg_pool", "even local response", response, {IN(2, 5, 3)}, .user = &two})
