/* step_images.c - classifiers of images: a perceptron, a small net, residual nets. */
#include <egret/models.h>

#include "step.h"

static eg_status classify(training *s, eg_tensor **loss)
{
    eg_tape tape = eg_tape_open();
    eg_tensor *l = eg_cross_entropy(eg_module_forward(s->net[0], s->x[0]), s->x[1]);
    *loss = l;
    return s->optim[0] ? eg_optim_minimize(s->optim[0], tape, l) : step_gradients(s->net[0], NULL, tape, l);
}

static void perceptron(training *s)
{
    s->net[0] = eg_sequential_new(eg_linear_new(784, 512), eg_activation_new(eg_relu), eg_dropout_new(0.2),
                                  eg_linear_new(512, 10));
    s->optim[0] = eg_adam_new(eg_module_parameters(s->net[0]));
    s->x[0] = step_random(EG_SHAPE(step_size(128, 8), 784));
    s->x[1] = step_integers(EG_SHAPE(step_size(128, 8)), 10);
}

static void small_net(training *s)
{
    s->net[0] = eg_sequential_new(eg_conv2d_new(1, 32, .kernel = 5, .padding = 2), eg_activation_new(eg_relu),
                                  eg_max_pool2d_new(.kernel = 2), eg_conv2d_new(32, 64, .kernel = 5, .padding = 2),
                                  eg_activation_new(eg_relu), eg_max_pool2d_new(.kernel = 2), eg_flatten_new(),
                                  eg_linear_new(3136, 1024), eg_activation_new(eg_relu), eg_dropout_new(0.4),
                                  eg_linear_new(1024, 10));
    s->optim[0] = eg_sgd_new(eg_module_parameters(s->net[0]), .lr = 1e-3);
    s->x[0] = step_random(EG_SHAPE(step_size(64, 2), 1, 28, 28));
    s->x[1] = step_integers(EG_SHAPE(step_size(64, 2)), 10);
}

/* ---- residual nets (He et al. 2015) ----------------------------------------------------------- */

static eg_module *conv(int64_t in, int64_t out, int64_t kernel, int64_t stride)
{
    return eg_conv2d_new(in, out, .kernel = kernel, .stride = stride, .padding = kernel / 2, .no_bias = true);
}

static eg_module *norm_relu(int64_t channels)
{
    return eg_batch_norm_new(channels, .relu = true);
}

static eg_module *shortcut(int64_t in, int64_t out, int64_t stride)
{
    return stride == 1 && in == out ? eg_identity_new()
                                    : eg_sequential_new(conv(in, out, 1, stride), eg_batch_norm_new(out));
}

static eg_module *basic(int64_t in, int64_t out, int64_t stride)
{
    eg_module *body =
        eg_sequential_new(conv(in, out, 3, stride), norm_relu(out), conv(out, out, 3, 1), eg_batch_norm_new(out));
    return eg_sequential_new(eg_residual_new(body, shortcut(in, out, stride)), eg_activation_new(eg_relu));
}

static void resnet20(training *s)
{
    eg_module *parts[14];
    int64_t in = 16;
    int n = 0;
    parts[n++] = conv(3, 16, 3, 1);
    parts[n++] = norm_relu(16);
    for (int block = 0; block < 9; block++) {
        int64_t out = 16 << block / 3;
        parts[n++] = basic(in, out, in == out ? 1 : 2);
        in = out;
    }
    parts[n++] = eg_global_avg_pool_new();
    parts[n++] = eg_linear_new(64, 10);
    s->net[0] = eg_sequential_new_with(parts, n);
    s->optim[0] = eg_sgd_new(eg_module_parameters(s->net[0]), .lr = 0.1, .momentum = 0.9, .weight_decay = 1e-4);
    s->x[0] = step_random(EG_SHAPE(step_size(128, 2), 3, step_size(32, 8), step_size(32, 8)));
    s->x[1] = step_integers(EG_SHAPE(step_size(128, 2)), 10);
}

/* ---- nets of the library of models, as torchvision has them ------------------------------------- */

static void net_of(training *s, const char *name, const eg_model_options *o, int64_t images, int64_t side)
{
    s->net[0] = eg_model_new_with(name, o);
    s->x[0] = step_random(EG_SHAPE(images, 3, side, side));
    s->x[1] = step_integers(EG_SHAPE(images), 1000);
}

static eg_status classify_twice(training *s, eg_tensor **loss)
{
    eg_tape tape = eg_tape_open();
    eg_logits r = eg_model_forward(s->net[0], s->x[0]);
    eg_tensor *l = eg_cross_entropy(r.logits, s->x[1]);
    l = eg_add(l, eg_mul_scalar(eg_cross_entropy(r.aux, s->x[1]), 0.4));
    *loss = l;
    return step_gradients(s->net[0], NULL, tape, l);
}

#define NET(function, name, images, small, side, small_side)                        \
    static void function(training *s)                                               \
    {                                                                               \
        const eg_model_options o = {.size = sizeof o, .classes = 1000};             \
        net_of(s, name, &o, step_size(images, small), step_size(side, small_side)); \
    }
NET(vgg16, "vgg_16", 4, 1, 224, 224)
NET(resnet50, "resnet50", 8, 2, 224, 32)
NET(resnet152, "resnet152", 4, 2, 224, 32)
NET(inception_v3, "inception_v3", 4, 2, 299, 299)
NET(mobilenet_v2, "mobilenet_v2", 16, 2, 224, 32)

/* With the update, and as many images as keep a large card busy. */
static void resnet50_train(training *s)
{
    net_of(s, "resnet50", NULL, step_size(128, 2), step_size(224, 32));
    s->optim[0] = eg_sgd_new(eg_module_parameters(s->net[0]), .lr = 0.1, .momentum = 0.9, .weight_decay = 1e-4);
}

const step_model step_images[] = {
    {"mlp", perceptron, classify},
    {"cnn", small_net, classify},
    {"resnet20", resnet20, classify},
    {"vgg16", vgg16, classify},
    {"resnet50", resnet50, classify},
    {"resnet152", resnet152, classify},
    {"inception-v3", inception_v3, classify_twice},
    {"mobilenet-v2", mobilenet_v2, classify},
    {"resnet50-train", resnet50_train, classify},
    {NULL, NULL, NULL},
};
