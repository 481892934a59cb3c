/* conv_graph.c - the graphs of cuDNN that are convolutions, and what its engines may do. */
#include <egret/precision.h>

#include "lib/cuda/conv/conv_dnn.h"

unsigned eg__conv_rules(int dtype, int math)
{
    return dtype == EG_F32 && math != EG_MATH_TF32 ? EG__DNN_NO_TENSOR_CORES : 0;
}

static eg__dnn_shape shape_of(const eg__conv_key *k, int64_t first, int64_t second, const int64_t *space)
{
    int64_t size[EG__DNN_DIMS] = {first, second};
    for (int d = 0; d < k->axes; d++) {
        size[2 + d] = space ? space[3 - k->axes + d] : 1;
    }
    return eg__dnn_channels_last(2 + k->axes, size);
}

void eg__conv_draw(eg__graph *g, const void *key)
{
    static const eg__dnn_conv_kind kinds[] = {EG__DNN_FORWARD, EG__DNN_DATA, EG__DNN_WEIGHT};
    const eg__conv_key *k = key;
    const eg__conv_geometry *c = &k->g;
    const int skip = 3 - k->axes;
    const size_t bytes = (size_t)k->axes * sizeof(int64_t);
    const cudnnDataType_t type = eg__dnn_type(k->dtype);
    eg__dnn_conv v = {.axes = k->axes, .compute = k->dtype == EG_F64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT};
    memcpy(v.stride, c->stride + skip, bytes);
    memcpy(v.dilation, c->dilation + skip, bytes);
    memcpy(v.before, c->before + skip, bytes);
    memcpy(v.after, c->after + skip, bytes);
    const eg__dnn_shape xs = shape_of(k, c->n, c->c, c->in), ws = shape_of(k, c->o, c->c / c->groups, c->k);
    const eg__dnn_shape ys = shape_of(k, c->n, c->o, c->out), bs = shape_of(k, 1, c->o, NULL);
    eg__dnn x = eg__graph_tensor(g, &xs, type, EG__DNN_X, k->align_x);
    eg__dnn w = eg__graph_tensor(g, &ws, type, EG__DNN_W, k->align_w);
    eg__dnn y = eg__graph_tensor(g, &ys, type, EG__DNN_Y, k->align_y);
    const bool relu = k->act == EG__ACT_RELU;
    eg__dnn product = k->bias || relu ? eg__graph_between(g, &ys, v.compute) : y, sum = product;
    eg__graph_conv(g, kinds[k->result], &v, x, w, product);
    if (k->bias) {
        eg__dnn bias = eg__graph_tensor(g, &bs, type, EG__DNN_BIAS, k->align_bias);
        sum = relu ? eg__graph_between(g, &ys, v.compute) : y;
        eg__graph_point(g, CUDNN_POINTWISE_ADD, v.compute, product, bias, NULL, sum);
    }
    if (relu) {
        eg__graph_point(g, CUDNN_POINTWISE_RELU_FWD, v.compute, sum, NULL, NULL, y);
    }
}
