/* dnn_rnn.h - recurrent layers by cuDNN, where a program asks for them and it has them. */
#ifndef EGRET_CUDA_DNN_RNN_H
#define EGRET_CUDA_DNN_RNN_H

#include "lib/cuda/runtime/cuda.h"

#ifdef EG_CUDNN

/* What an lstm or gru, whose results are not made yet, leaves for its gradient when cuDNN runs it, in bytes; 0: it does
 * not. That is cuDNN's own reserve, the weights as it wants them, and y. */
int64_t eg__dnn_rnn_reserve(const eg__call *c);
/* The rows lstm and gru, and lstm_grad and gru_grad: of such a reserve. */
eg_status eg__dnn_rnn(const eg__call *c);
eg_status eg__dnn_rnn_grad(const eg__call *c);

#else

static inline int64_t eg__dnn_rnn_reserve(const eg__call *c)
{
    (void)c;
    return 0;
}
static inline eg_status eg__dnn_rnn(const eg__call *c)
{
    return eg__fail(EG_ENOKERNEL, c->op->name, "this module was built without cuDNN");
}
static inline eg_status eg__dnn_rnn_grad(const eg__call *c)
{
    return eg__dnn_rnn(c);
}

#endif
#endif
