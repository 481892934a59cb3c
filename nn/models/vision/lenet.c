/* lenet.c - LeNet (LeCun et al. 1998) and Krizhevsky's net for CIFAR-10, as TF-Slim has them. */
#include "nn/models/vision/parts.h"

static eg_module *dense(const char *name, int64_t in, int64_t out)
{
    return eg_named(name, eg_sequential_new(eg_named("fc", eg_linear_new(in, out)), eg_activation_new(eg_relu)));
}

eg_module *eg_lenet_new_with(const eg_model_options *given)
{
    eg_model_options o;
    if (!eg__model_options("lenet", given, 10, 1, EG__TAKES_SIDE | EG__TAKES_NO_NORM | EG__TAKES_WHOLE, &o)) {
        return NULL;
    }
    const eg__style s = {.activation = eg_relu};
    int64_t side = (o.side ? o.side : 28) / 4;
    eg_module *net = eg_sequential_new(
        eg__conv_new(&s, "conv1", o.channels, 32, 5, .no_norm = true), eg__max_pool_new(2, 2, EG_VALID),
        eg__conv_new(&s, "conv2", 32, 64, 5, .no_norm = true), eg__max_pool_new(2, 2, EG_VALID), eg_flatten_new(),
        dense("fc3", 64 * side * side, 1024), eg__head_new("fc4", 1024, o.classes, 0.5, &o));
    return eg__begin(net, EG_TRUNCATED_NORMAL, .std = 0.1);
}

/* TensorFlow's radius 4, alpha 0.001 / 9. */
static eg_module *response_norm(void)
{
    return eg_local_response_norm_new(.channels = 9, .alpha = 0.001, .beta = 0.75, .k = 1);
}

eg_module *eg_cifarnet_new_with(const eg_model_options *given)
{
    eg_model_options o;
    if (!eg__model_options("cifarnet", given, 10, 3, EG__TAKES_SIDE | EG__TAKES_NO_NORM | EG__TAKES_WHOLE, &o)) {
        return NULL;
    }
    const eg__style s = {.activation = eg_relu};
    int64_t side = (o.side ? o.side : 32) / 4;
    eg_model_options last = o;
    last.dropout = EG_ZERO; /* it is behind the first dense layer */
    eg_module *net = eg_sequential_new(eg__conv_new(&s, "conv1", o.channels, 64, 5, .no_norm = true),
                                       eg__max_pool_new(2, 2, EG_VALID), response_norm(),
                                       eg__conv_new(&s, "conv2", 64, 64, 5, .no_norm = true), response_norm(),
                                       eg__max_pool_new(2, 2, EG_VALID), eg_flatten_new(),
                                       dense("fc3", 64 * side * side, 384), eg_dropout_new(eg__or(o.dropout, 0.5)),
                                       dense("fc4", 384, 192), eg__head_new("logits", 192, o.classes, 0, &last));
    return eg__begin(net, EG_TRUNCATED_NORMAL, .std = 0.05);
}
