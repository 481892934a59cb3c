/* rnn.h - recurrent layers over whole sequences, and single steps of them.
 *
 * Sizes: T steps, N rows (sequences), I inputs, H cells, R = H outputs unless an LSTM projects. x
 * is [T, N, I], or one sequence [T, I]: then y, states and lengths have no axis N either. Weights
 * and biases are stacked by gate as PyTorch and cuDNN store them: LSTM i, f, g, o; GRU r, z, n. All operands have one
 * float dtype. Every step is one product and one fused loop; the products with x, and all gradients of weights, are
 * one product over all steps.
 *
 * Rows may have lengths of their own (i64, i32 or u8 [N], each 0..T, in any order): past its length a
 * row's y is 0 and its state stays. They may be on the CPU wherever x is: there one that is outside is
 * refused at once; another device takes it for the nearest inside and says so (EG_EINDEX) at the next
 * call that waits. With .reverse the steps run backwards, each row from its
 * own end; two directions make a bidirectional layer: eg_rnn_join. */
#ifndef EGRET_OPS_RNN_H
#define EGRET_OPS_RNN_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

/* All results of a layer; all NULL after a failure. */
typedef struct eg_rnn {
    eg_tensor *y; /* [T, N, R], or [N, T, R] with .batch_first: h after every step */
    eg_tensor *h; /* [N, R]: h after each row's last step */
    eg_tensor *c; /* [N, H]: the same of c; NULL from a GRU */
} eg_rnn;

/* Zero-initialised: states of zeros, no biases, no projection, all rows of T steps, forwards. */
typedef struct eg_lstm_options {
    size_t size;
    eg_tensor *h0, *c0;     /* [N, R], [N, H]: states before the first step */
    eg_tensor *b_ih, *b_hh; /* [4 H]: both are added; a forget bias is part of them */
    eg_tensor *w_hr;        /* [R, H]: h = w_hr (o tanh c); without it R = H */
    eg_tensor *lengths;     /* [N] */
    double clip;            /* c is held in -clip..clip after every step; 0: not at all */
    bool batch_first;       /* x is [N, T, I] */
    bool reverse;
} eg_lstm_options;

/* Long short-term memory (Hochreiter and Schmidhuber 1997; forget gate of Gers et al. 2000, no
 * peepholes):
 *     i, f, o = sigmoid(w_ih x + b_ih + w_hh h + b_hh), g = tanh(the same)
 *     c' = f c + i g, clipped;  h' = o tanh(c'), projected
 * w_ih [4 H, I], w_hh [4 H, R]. grad: of every float operand, of y, h and c together; where c was
 * clipped nothing flows. Saves the operands and T N (5 H + R) numbers. Errors: EG_ESHAPE naming the
 * sizes that do not meet, EG_EDTYPE, EG_EINDEX for a length outside 0..T (on
 * a device: when it is waited for), EG_EINVAL for a negative clip. */
EG_API eg_rnn eg_lstm_with(eg_tensor *x, eg_tensor *w_ih, eg_tensor *w_hh, const eg_lstm_options *options);
#define eg_lstm(...)                           EG_LSTM_(eg_lstm_with, __VA_ARGS__, )
#define EG_LSTM_(function, x, w_ih, w_hh, ...) function(x, w_ih, w_hh, EG_OPTIONS_(eg_lstm_options, __VA_ARGS__))

typedef struct eg_gru_options {
    size_t size;
    eg_tensor *h0;          /* [N, H] */
    eg_tensor *b_ih, *b_hh; /* [3 H] */
    eg_tensor *lengths;     /* [N] */
    bool batch_first;       /* x is [N, T, I] */
    bool reverse;
    bool reset_before; /* the reset gate meets h before the product with w_hh, not after */
} eg_gru_options;

/* Gated recurrent unit (Cho et al. 2014):
 *     r, z = sigmoid(w_ih x + b_ih + w_hh h + b_hh)
 *     n = tanh(w_ih x + b_ih + r (w_hh h + b_hh))       PyTorch's and cuDNN's form
 *     n = tanh(w_ih x + b_ih + w_hh (r h) + b_hh)       .reset_before: the paper's form
 *     h' = (1 - z) n + z h
 * w_ih [3 H, I], w_hh [3 H, H]. Gradients and errors as for eg_lstm; saves the operands and T N 5 H
 * numbers. */
EG_API eg_rnn eg_gru_with(eg_tensor *x, eg_tensor *w_ih, eg_tensor *w_hh, const eg_gru_options *options);
#define eg_gru(...)                           EG_GRU_(eg_gru_with, __VA_ARGS__, )
#define EG_GRU_(function, x, w_ih, w_hh, ...) function(x, w_ih, w_hh, EG_OPTIONS_(eg_gru_options, __VA_ARGS__))

/* One step: x is [N, I] or [I], y is h. Options as above; batch_first, reverse and lengths must not be
 * given. */
EG_API eg_rnn eg_lstm_cell_with(eg_tensor *x, eg_tensor *w_ih, eg_tensor *w_hh, const eg_lstm_options *options);
#define eg_lstm_cell(...) EG_LSTM_(eg_lstm_cell_with, __VA_ARGS__, )
EG_API eg_rnn eg_gru_cell_with(eg_tensor *x, eg_tensor *w_ih, eg_tensor *w_hh, const eg_gru_options *options);
#define eg_gru_cell(...) EG_GRU_(eg_gru_cell_with, __VA_ARGS__, )

/* Both directions of a layer as one: y [T, N, 2 R] side by side, h and c [2, N, .] one behind the
 * other. */
EG_API eg_rnn eg_rnn_join(eg_rnn forwards, eg_rnn backwards);

EG_END_DECLS

#endif
