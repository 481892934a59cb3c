/* recurrent.h - LSTM and GRU layers over whole sequences (ops/rnn.h), several deep, one or both ways.
 *
 *     eg_module *lstm = eg_lstm_new(256, 512, .layers = 2, .dropout = 0.5);
 *     eg_rnn r = eg_rnn_forward(lstm, x, .h0 = h, .c0 = c);    // r.y, r.h, r.c
 *
 * eg_module_forward gives y alone, from states of zeros. Sizes: x [T, N, in], or [N, T, in] with
 * .batch_first; y the same with 2 R or R columns (R = hidden or the projection; 2 R if bidirectional);
 * states [layers x directions, N, R or hidden], a layer's two directions one behind the other. An x [T, in] is one
 * sequence, and y and the states have no axis N. Parameters
 * are PyTorch's: weight_ih_l0 [gates hidden, in], weight_hh_l0 [gates hidden, R], bias_ih_l0, bias_hh_l0,
 * weight_hr_l0 [R, hidden], "_reverse" behind those of the way back; all uniform within 1 / sqrt(hidden). */
#ifndef EGRET_NN_RECURRENT_H
#define EGRET_NN_RECURRENT_H

#include <egret/nn/module.h>
#include <egret/ops/rnn.h>

EG_BEGIN_DECLS

typedef struct eg_rnn_layer_options {
    size_t size;
    int layers; /* 0: 1 */
    bool bidirectional, batch_first, no_bias;
    double dropout;     /* of each layer's y but the last's, while training */
    int64_t projection; /* lstm: h has so many columns (weight_hr); 0: hidden */
    double clip;        /* lstm: c is held in -clip..clip; 0: not at all */
    double forget_bias; /* lstm: what the forget gate's part of bias_ih begins with more */
    bool reset_before;  /* gru: ops/rnn.h; with one bias only, bias_ih */
    eg_dtype dtype;     /* 0: f32 */
} eg_rnn_layer_options;

/* EG_EINVAL for sizes below 1, a dropout outside 0..1, an option of the other kind. */
EG_API eg_module *eg_lstm_new_with(int64_t in, int64_t hidden, const eg_rnn_layer_options *options);
EG_API eg_module *eg_gru_new_with(int64_t in, int64_t hidden, const eg_rnn_layer_options *options);
#define eg_lstm_new(...)                       EG_RNN_NEW_(eg_lstm_new_with, __VA_ARGS__, )
#define eg_gru_new(...)                        EG_RNN_NEW_(eg_gru_new_with, __VA_ARGS__, )
#define EG_RNN_NEW_(function, in, hidden, ...) function(in, hidden, EG_OPTIONS_(eg_rnn_layer_options, __VA_ARGS__))

/* Where a sequence begins. Zero-initialised: states of zeros, all rows of T steps. */
typedef struct eg_rnn_start {
    size_t size;
    eg_tensor *h0, *c0; /* as r.h and r.c; c0 for an lstm only */
    eg_tensor *lengths; /* [N]: steps of each row, ops/rnn.h */
} eg_rnn_start;

/* A lstm or gru; all results borrowed, all NULL after a failure. */
EG_API eg_rnn eg_rnn_forward_with(eg_module *m, eg_tensor *x, const eg_rnn_start *start);
#define eg_rnn_forward(...)        EG_RNN_FORWARD_(__VA_ARGS__, )
#define EG_RNN_FORWARD_(m, x, ...) eg_rnn_forward_with(m, x, EG_OPTIONS_(eg_rnn_start, __VA_ARGS__))

EG_END_DECLS

#endif
