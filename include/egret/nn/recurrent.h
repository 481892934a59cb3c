/* recurrent.h - LSTM and GRU layers over whole sequences (ops/rnn.h), several deep, one or both ways, and what is put
 * around them.
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
    bool one_bias;      /* lstm: bias_ih alone, as TensorFlow's cells have it */
    /* While training each call drops so many of weight_hh's numbers, the same ones at all steps (DropConnect, Wan et
     * al. 2013; Merity et al. 2017). A probability. */
    double weight_dropout;
} eg_rnn_layer_options;

/* EG_EINVAL for sizes below 1, a probability outside 0..1, an option of the other kind. */
EG_API eg_module *eg_lstm_new_with(int64_t in, int64_t hidden, const eg_rnn_layer_options *options);
EG_API eg_module *eg_gru_new_with(int64_t in, int64_t hidden, const eg_rnn_layer_options *options);
#define eg_lstm_new(...)                       EG_RNN_NEW_(eg_lstm_new_with, __VA_ARGS__, )
#define eg_gru_new(...)                        EG_RNN_NEW_(eg_gru_new_with, __VA_ARGS__, )
#define EG_RNN_NEW_(function, in, hidden, ...) function(in, hidden, EG_OPTIONS_(eg_rnn_layer_options, __VA_ARGS__))

/* Where a sequence begins. Zero-initialised: states of zeros, all rows of T steps, forwards. */
typedef struct eg_rnn_start {
    size_t size;
    eg_tensor *h0, *c0; /* as r.h and r.c; c0 for an lstm only */
    eg_tensor *lengths; /* [N]: steps of each row, ops/rnn.h */
    bool reverse;       /* the steps run backwards, each row from its own end; y is in x's order */
} eg_rnn_start;

/* A lstm or gru, or what stands below; all results borrowed, all NULL after a failure. EG_EINVAL for another module. */
EG_API eg_rnn eg_rnn_forward_with(eg_module *m, eg_tensor *x, const eg_rnn_start *start);
#define eg_rnn_forward(...)        EG_RNN_FORWARD_(__VA_ARGS__, )
#define EG_RNN_FORWARD_(m, x, ...) eg_rnn_forward_with(m, x, EG_OPTIONS_(eg_rnn_start, __VA_ARGS__))

/* ---- around recurrent layers -----------------------------------------------------------------
 *
 *     eg_module *reader = eg_rnn_stack_new(
 *         eg_bidirectional_new(eg_lstm_new(64, 128), eg_lstm_new(64, 128)), eg_lstm_new(256, 128),
 *         eg_rnn_dropout_new(eg_rnn_residual_new(eg_lstm_new(128, 128)), .input = 0.2));
 *     eg_rnn r = eg_rnn_forward(reader, x, .lengths = lengths); // r.y [T, N, 128], r.h [4, N, 128]
 *
 * A recurrent module is a lstm, a gru, or what these functions make of recurrent modules, in any order inside each
 * other. Each is called as a lstm is: eg_rnn_forward takes and gives the states of all layers in it, eg_module_forward
 * gives y alone; x, lengths and a sequence alone are as its layers have them; y is 0 past a row's length. Gradients
 * are those of what it is made of. What is given belongs to the result, or is freed with a failure: EG_EINVAL for a
 * NULL or a module that is not recurrent, EG_ESTATE for one that another owns. */

/* y = x + rnn(x), which has as many columns as x (else EG_ESHAPE); states pass through. Child "rnn". Wu et al. 2016;
 * TensorFlow's ResidualWrapper. */
EG_API eg_module *eg_rnn_residual_new(eg_module *rnn);

typedef struct eg_rnn_dropout_options {
    size_t size;
    double input, output; /* with which probability numbers of x, and of y, are dropped; 0: not at all */
    bool variational;     /* of each row the same columns in all steps */
} eg_rnn_dropout_options;

/* eg_dropout of x and of y while training; states pass through. Every step has numbers of its own (Zaremba et al.
 * 2014) or, variational, each row one mask for all its steps, which is drawn anew by every call (Gal and Ghahramani
 * 2016, without that between the steps of h). Child "rnn". EG_EINVAL for a probability outside 0..1. TensorFlow's
 * DropoutWrapper. */
EG_API eg_module *eg_rnn_dropout_new_with(eg_module *rnn, const eg_rnn_dropout_options *options);
#define eg_rnn_dropout_new(...)       EG_RNN_DROPOUT_NEW_(__VA_ARGS__, )
#define EG_RNN_DROPOUT_NEW_(rnn, ...) eg_rnn_dropout_new_with(rnn, EG_OPTIONS_(eg_rnn_dropout_options, __VA_ARGS__))

/* 1 to 64 recurrent modules, each of which reads what the one before has made; h and c are those of all, one behind the
 * other. Children are named "0", "1", ..., or as eg_named has it. EG_ESHAPE where columns do not meet, and where h and
 * c are not of one size in all, which eg_sequential_new can have, y alone; EG_EINVAL where only some are batch_first.
 * TensorFlow's MultiRNNCell. */
EG_API eg_module *eg_rnn_stack_new_with(eg_module *const *modules, int count);
#define eg_rnn_stack_new(...) \
    eg_rnn_stack_new_with(EG_ARRAY_(eg_module *, __VA_ARGS__), EG_COUNT_(eg_module *, __VA_ARGS__))

/* Two modules that read sequences [T, N, ...], one of them backwards: what each makes of x, joined along the last axis,
 * steps in x's order. Children "there" and "back". Two recurrent ones with the same columns of x, h and c make a
 * recurrent module: h and c are there's, then back's, and back reads each row from its own end. Of two layers one
 * deep it is what .bidirectional makes. Other modules get x turned round along axis 0, or along axis 1 if one of them
 * is a batch_first layer; then there is y alone. EG_EINVAL if one of two recurrent modules is batch_first. Schuster and
 * Paliwal 1997. */
EG_API eg_module *eg_bidirectional_new(eg_module *there, eg_module *back);

/* ---- over maps ------------------------------------------------------------------------------- */

typedef struct eg_conv_rnn_layer_options {
    size_t size;
    int axes;           /* of places, 1..3; 0: 2 */
    int64_t kernel;     /* cells, with zeros around (EG_SAME); 0: 3 */
    int64_t kernels[3]; /* instead, per axis */
    bool batch_first, no_bias;
    double forget_bias; /* conv_lstm: what the forget gate's part of bias_ih begins with more */
    bool reset_before;  /* conv_gru: the reset gate meets h before the convolution; with one bias only, bias_ih */
    eg_dtype dtype;     /* 0: f32 */
} eg_conv_rnn_layer_options;

/* LSTM (Shi et al. 2015, without peepholes) and GRU (Ballas et al. 2015) as in ops/rnn.h with convolutions for products
 * and maps for states: x [T, N, in, places...], or [N, T, ...] with .batch_first; y the same with `hidden` channels.
 * Parameters weight_ih [gates hidden, in, kernel...], weight_hh [gates hidden, hidden, kernel...], bias_ih, bias_hh,
 * gates stacked as there, uniform within 1 / sqrt(hidden cells of the kernel). EG_EINVAL for sizes below 1, an option
 * of the other kind. */
EG_API eg_module *eg_conv_lstm_new_with(int64_t in, int64_t hidden, const eg_conv_rnn_layer_options *options);
EG_API eg_module *eg_conv_gru_new_with(int64_t in, int64_t hidden, const eg_conv_rnn_layer_options *options);
#define eg_conv_lstm_new(...) EG_CONV_RNN_NEW_(eg_conv_lstm_new_with, __VA_ARGS__, )
#define eg_conv_gru_new(...)  EG_CONV_RNN_NEW_(eg_conv_gru_new_with, __VA_ARGS__, )
#define EG_CONV_RNN_NEW_(function, in, hidden, ...) \
    function(in, hidden, EG_OPTIONS_(eg_conv_rnn_layer_options, __VA_ARGS__))

/* One of these from given states, h0 and c0 [N, hidden, places...]: r.y, r.h and r.c, as of eg_rnn_forward. EG_EINVAL
 * for another module. */
EG_API eg_rnn eg_conv_rnn_forward_with(eg_module *m, eg_tensor *x, const eg_rnn_start *start);
#define eg_conv_rnn_forward(...)        EG_CONV_RNN_FORWARD_(__VA_ARGS__, )
#define EG_CONV_RNN_FORWARD_(m, x, ...) eg_conv_rnn_forward_with(m, x, EG_OPTIONS_(eg_rnn_start, __VA_ARGS__))

EG_END_DECLS

#endif
