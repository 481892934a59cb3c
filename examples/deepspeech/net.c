/* net.c - see net.h. */
#include "net.h"

#include <egret/egret.h>
#include <string.h>

typedef struct listener {
    eg_module base;
    eg_module *convs, *norms, *layers, *out; /* norms: one before each layer but the first, one behind the last */
} listener;

static eg_module *relu6(void)
{
    return eg_activation_new(eg_relu6);
}

static eg_module *norm(int64_t features, const deepspeech_options *o)
{
    return eg_batch_norm_new(features, .momentum = 1 - o->decay, .eps = 1e-5);
}

/* Half the frames each, and half the bins once. */
static eg_module *convolutions(const deepspeech_options *o)
{
    const int64_t filters = o->filters;
    return eg_sequential_new(
        eg_conv2d_new(1, filters, .kernels = {41, 11}, .strides = {2, 2}, .pads = {{20, 20}, {5, 5}}, .no_bias = true),
        norm(filters, o), relu6(),
        eg_conv2d_new(filters, filters, .kernels = {21, 11}, .strides = {2, 1}, .pads = {{10, 10}, {5, 5}},
                      .no_bias = true),
        norm(filters, o), relu6());
}

static eg_tensor *half(eg_tensor *lengths)
{
    return eg_floor_divide_scalar(eg_add_scalar(lengths, 1), 2);
}

/* Over all frames of all rows. */
static eg_tensor *normed(eg_module *m, eg_tensor *x)
{
    eg_tensor *y = eg_module_forward(m, eg_flatten(x, 0, 1));
    return eg_reshape(y, EG_SHAPE(eg_size(x, 0), eg_size(x, 1), eg_size(x, 2)));
}

eg_tensor *deepspeech_forward(eg_module *net, eg_tensor *x, eg_tensor *lengths, eg_tensor **frames)
{
    const listener *l = (const listener *)net;
    *frames = half(half(lengths));
    x = eg_module_forward(l->convs, eg_unsqueeze(x, 1));      /* [N, filters, T, bins] */
    x = eg_flatten(eg_permute(x, EG_AXES(0, 2, 3, 1)), 2, 3); /* [N, T, bins filters] */
    for (int i = 0; i < eg_module_count(l->layers); i++) {
        x = i ? normed(eg_module_at(l->norms, i - 1), x) : x;
        x = eg_rnn_forward(eg_module_at(l->layers, i), x, .lengths = *frames).y;
    }
    x = normed(eg_module_at(l->norms, eg_module_count(l->norms) - 1), x);
    eg_tensor *logits = eg_cast(eg_module_forward(l->out, x), EG_F32);
    return eg_transpose(eg_log_softmax(logits, 2), 0, 1);
}

static void members(eg_module *m, eg_members *all)
{
    listener *l = (listener *)m;
    eg_member_child(all, "convs", &l->convs);
    eg_member_child(all, "norms", &l->norms);
    eg_member_child(all, "layers", &l->layers);
    eg_member_child(all, "out", &l->out);
}

static const eg_module_kind kind = {.size = sizeof(eg_module_kind), .name = "deepspeech", .members = members};

static eg_module *layer(int64_t in, const deepspeech_options *o)
{
    return strcmp(o->cell, "lstm") == 0
               ? eg_lstm_new(in, o->hidden, .bidirectional = !o->one_way, .batch_first = true, .one_bias = true,
                             .forget_bias = 1)
               : eg_gru_new(in, o->hidden, .bidirectional = !o->one_way, .batch_first = true, .reset_before = true);
}

enum { LAYERS_MOST = 32 };

eg_module *deepspeech_net(int64_t bins, int64_t classes, const deepspeech_options *o)
{
    eg_module *norms[LAYERS_MOST], *layers[LAYERS_MOST];
    int64_t width = o->hidden * (o->one_way ? 1 : 2), in = (bins + 1) / 2 * o->filters;
    listener *l = eg_module_new(sizeof *l, &kind);
    if (!l) {
        return NULL;
    }
    for (int i = 0; i < o->layers; i++) {
        layers[i] = layer(i ? width : in, o);
        norms[i] = norm(width, o);
    }
    l->convs = convolutions(o);
    l->norms = eg_module_list_new_with(norms, (int)o->layers);
    l->layers = eg_module_list_new_with(layers, (int)o->layers);
    l->out = eg_linear_new(width, classes);
    return eg_module_finish(&l->base);
}
