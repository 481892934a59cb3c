/* net.h - reads drawings point by point (Ha and Eck 2017's data; the net of TensorFlow's tutorial). */
#ifndef EXAMPLES_QUICKDRAW_NET_H
#define EXAMPLES_QUICKDRAW_NET_H

#include <egret/nn.h>

enum { CONVS_MAX = 8 };

typedef struct quickdraw_options {
    int64_t features[CONVS_MAX], kernels[CONVS_MAX]; /* of the convolutions */
    int convs;
    int64_t layers, nodes;
    const char *cell; /* lstm, block_lstm: with lengths; cudnn_lstm: without, dropout between its layers */
    double dropout;
    bool batch_norm;
} quickdraw_options;

eg_module *quickdraw_net(int64_t classes, const quickdraw_options *o);
/* ink, f32 [N, T, 3], of which each row's first lengths, i64 [N], count: logits [N, classes]. */
eg_tensor *quickdraw_forward(eg_module *net, eg_tensor *ink, eg_tensor *lengths);

#endif
