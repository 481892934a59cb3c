/* net.h - Deep Speech 2 (Amodei et al. 2015), as TensorFlow's research model has it: convolutions over spectra, then
 * bidirectional recurrent layers, then a letter or nothing for each frame. */
#ifndef EXAMPLES_DEEPSPEECH_NET_H
#define EXAMPLES_DEEPSPEECH_NET_H

#include <egret/nn.h>

typedef struct deepspeech_options {
    int64_t filters, hidden, layers; /* of each convolution; units of a direction; recurrent layers */
    const char *cell;                /* gru or lstm */
    double decay;                    /* of the norms' statistics */
    bool one_way;
} deepspeech_options;

/* 62,699,133 parameters of 32 filters, 5 layers of 800 GRU units both ways, 161 bins and 29 classes. */
eg_module *deepspeech_net(int64_t bins, int64_t classes, const deepspeech_options *o);
/* x, f32 [N, frames, bins], of which each row's first lengths, i64 [N], count: log probabilities [T, N, classes], f32,
 * and how many of the T frames count, i64 [N]. */
eg_tensor *deepspeech_forward(eg_module *net, eg_tensor *x, eg_tensor *lengths, eg_tensor **frames);

#endif
