/* options.h - the options ops carry through dispatch and into the record, copied by value. */
#ifndef EGRET_OPTIONS_H
#define EGRET_OPTIONS_H

#include "lib/ops/dispatch.h"
#include "lib/ops/ctc.h"
#include "lib/ops/pool.h"
#include "lib/ops/sample.h"
#include "lib/ops/terms.h"
#include "lib/ops/update.h"

/* Pointwise ops with parameters: of floats p and q, of integers ip and iq. */
typedef union eg__params {
    struct {
        double p, q;
    };
    struct {
        int64_t ip, iq;
    };
} eg__params;

enum { EG__KEEP_LAYOUT, EG__TO_DENSE, EG__TO_CHANNELS_LAST };

typedef struct eg__copy_opts {
    int layout;
} eg__copy_opts;

typedef struct eg__cast_opts {
    int dtype;
} eg__cast_opts;

typedef struct eg__to_opts {
    uint8_t device;
} eg__to_opts;

typedef struct eg__shape_opts {
    int ndim;
    int64_t shape[EG_MAX_DIMS];
} eg__shape_opts;

typedef struct eg__stride_opts {
    int ndim;
    int64_t shape[EG_MAX_DIMS], strides[EG_MAX_DIMS], offset; /* of the storage */
} eg__stride_opts;

typedef struct eg__permute_opts {
    int ndim, axis[EG_MAX_DIMS]; /* output axis d is input axis axis[d] */
} eg__permute_opts;

/* out = x[..., start : start + step * count : step, ...] along one axis; count is exact. */
typedef struct eg__slice_opts {
    int axis;
    int64_t start, step, count;
} eg__slice_opts;

/* Zeros of size `size` along the axis, with dy written where the slice read. */
typedef struct eg__slice_grad_opts {
    eg__slice_opts slice;
    int64_t size;
} eg__slice_grad_opts;

typedef struct eg__reduce_opts {
    unsigned axes; /* bit mask */
    bool keepdim;
    bool biased; /* var, std: divide by n */
    double p;    /* norm */
} eg__reduce_opts;

typedef struct eg__scan_opts {
    int axis;
    bool reverse; /* recurrence: from the far end */
} eg__scan_opts;

/* Of rows of logits with a label each; one of -1 makes its row count for nothing. Devices take labels as they are:
 * there it is ignore_index, if there is one, and others out of range are found by the kernel. */
typedef struct eg__cross_entropy_opts {
    double smoothing;
    bool weight, ignore; /* whether there is one */
    int64_t ignore_index;
} eg__cross_entropy_opts;

/* What a convolution is over; that of a transposed one or of a gradient is the same. Axes that are not there come
 * first, with size and step 1. */
typedef struct eg__conv_geometry {
    int64_t n, c, o, groups; /* batch, channels of x and of y */
    int64_t in[3], k[3], out[3];
    int64_t stride[3], dilation[3], before[3], after[3];
} eg__conv_geometry;

typedef struct eg__conv_opts {
    eg__conv_geometry g;
    int64_t act; /* an eg__act; of conv_act alone */
} eg__conv_opts;

/* How elements of a random tensor are made of words of the stream (lib/math/philox.h). */
enum {
    EG__RANDOM_UNIFORM,     /* a <= y < b */
    EG__RANDOM_NORMAL,      /* mean a, standard deviation b */
    EG__RANDOM_TRUNCATED,   /* the same within two deviations */
    EG__RANDOM_BERNOULLI,   /* 1 with probability a */
    EG__RANDOM_INTEGERS,    /* low <= y < low + range; a range of 0 is 2^64 */
    EG__RANDOM_PERMUTATION, /* of 0..n-1 */
};

/* The row arange. */
typedef struct eg__arange_opts {
    eg__terms terms;
    int64_t n;
    int dtype;
} eg__arange_opts;

typedef struct eg__random_opts {
    int kind, dtype, ndim;
    int64_t shape[EG_MAX_DIMS];
    double a, b;
    int64_t low;
    uint64_t range;
    eg_random_state from;
} eg__random_opts;

typedef struct eg__categorical_opts {
    int64_t n;
    bool logits;
    eg_random_state from;
} eg__categorical_opts;

/* Normalisation. Which of weight and bias there are tells rules what they saved. */
typedef struct eg__norm_opts {
    double eps;
    double momentum, factor; /* batch norm: of running statistics; what its variance is multiplied with for them */
    int64_t groups;          /* group norm */
    int axes;                /* layer norm: how many trailing axes */
    bool relu;               /* batch norm: in the same pass */
    bool root;               /* layer norm: the mean is not subtracted */
    bool weight, bias;
} eg__norm_opts;

/* Element i in memory of the output is dropped by word i. */
typedef struct eg__dropout_opts {
    double p;
    bool channels_last; /* of the output, else row-major */
    eg_random_state from;
} eg__dropout_opts;
/* Attention (q, k, v, mask or NULL); the weights, row-major, are dropped as dropout does it. */
typedef struct eg__attention_opts {
    double scale, dropout, softcap;
    int64_t window;          /* 0: none */
    bool causal, upper_left; /* upper_left: where queries stand, an eg_attention_corner */
    bool mask, slopes;       /* there are some */
    eg_random_state from;
} eg__attention_opts;

typedef struct eg__rotary_opts {
    bool interleaved;
} eg__rotary_opts;

/* One axis of the op: concat, gather. */
typedef struct eg__axis_opts {
    int axis;
} eg__axis_opts;

typedef struct eg__pad_opts {
    int mode; /* an eg_pad_mode */
    double value;
    int64_t before[EG_MAX_DIMS], after[EG_MAX_DIMS];
} eg__pad_opts;

/* Of indices into one axis, or of places: an index into each of so many axes, along their last axis. */
typedef struct eg__check_opts {
    const char *name; /* of the function called, for words; a literal */
    bool strict;      /* none counts from the end */
    int axes;         /* 0: one axis, size[0] */
    int64_t size[EG_MAX_DIMS];
} eg__check_opts;

/* index_select and index_add; size: of the axis of index_add's result; skip: the index that counts for
 * nothing in index_add and in the gradient of index_select, -1: none. */
typedef struct eg__index_opts {
    int axis;
    int64_t size, skip;
    int raw;          /* on devices: EG__RAW_..., for kernels that check indices themselves */
    const char *name; /* of the function called, for what they say; a literal. NULL: nothing is said */
} eg__index_opts;
enum { EG__RAW_NOT, EG__RAW_STRICT, EG__RAW_FROM_END }; /* checked; in 0..size-1; or negative ones from the end */

/* The scatter ops; shape: of the result. */
typedef struct eg__scatter_opts {
    int axis, mode, ndim; /* mode: an eg_scatter_mode, of scatter_reduce */
    int64_t shape[EG_MAX_DIMS];
} eg__scatter_opts;

typedef struct eg__nonzero_opts {
    int64_t count;
} eg__nonzero_opts;

typedef struct eg__one_hot_opts {
    int64_t depth;
    double on, off;
    int dtype;
} eg__one_hot_opts;

/* What kernels can do to a result before they store it. */
typedef enum eg__act {
    EG__ACT_NONE,
    EG__ACT_RELU,
    EG__ACT_TANH,
    EG__ACT_SIGMOID,
    EG__ACT_GELU,
    EG__ACT_GELU_TANH,
    EG__ACT_SILU,
} eg__act;

/* A function that is one of them; of_y: its derivative can be had from its result. */
typedef struct eg__fusible {
    eg_tensor *(*function)(eg_tensor *);
    eg__act act;
    bool of_y;
} eg__fusible;
/* NULL: none of them. */
const eg__fusible *eg__fusible_of(eg_tensor *(*function)(eg_tensor *));
/* y after the activation, if there is one. */
eg_tensor *eg__activated(const char *op, eg_tensor *y, eg_tensor *(*activation)(eg_tensor *));

typedef struct eg__linear_opts {
    int act;
} eg__linear_opts;

/* The axes whose diagonal is taken; it becomes the last axis. */
typedef struct eg__diagonal_opts {
    int first, second;
} eg__diagonal_opts;

/* sort and topk; descending: the largest of topk; k: of topk. */
typedef struct eg__sort_opts {
    int axis;
    bool descending;
    int64_t k;
} eg__sort_opts;

/* y[k] = scale * sum over j of x[j] e^(-2 pi i j k / n), or with +i; axis: of the tensor as it lies. */
typedef struct eg__fft_opts {
    int axis;
    bool inverse; /* fft: +i */
    int64_t n;    /* irfft: of the result */
    double scale;
} eg__fft_opts;

typedef struct eg__searchsorted_opts {
    bool right;
} eg__searchsorted_opts;

/* Small linear algebra. */
typedef struct eg__matrix_opts {
    const char *strict; /* lu: the function that refuses singular matrices, a literal, or NULL */
    bool columns;       /* the last input is right-hand sides */
    bool transpose, adjugate;
    bool upper, unit;
    bool log; /* lu_det: it is asked for */
} eg__matrix_opts;

/* Optimizer updates of all parameters in one pass: of parameter i, in[EG__OPTIM_SLOTS * i + slot]. */
enum {
    EG__OPTIM_PARAMETER,
    EG__OPTIM_GRADIENT, /* NULL: leave it alone */
    EG__OPTIM_MASTER,   /* of a parameter in halves its copy in f32, whose rounding it is; else NULL */
    EG__OPTIM_STATE,    /* from here on, f32 for halves; NULL where the rule's options need none */
    EG__OPTIM_STATES = 3,
    EG__OPTIM_SLOTS = EG__OPTIM_STATE + EG__OPTIM_STATES,
};

typedef struct eg__optim_opts {
    const eg__optim_group *groups;
    const int *group; /* of each parameter */
    /* On devices: `sets` times `ngroups` groups. Without a gate the first set is meant and the step is done;
     * with one it decides, and as many sets are passed over as steps were skipped since there were `skipped`. */
    const eg_tensor *gate;
    double skipped;
    int ngroups, sets;
    /* While a step is captured on the call's device: where an eg__optim_now is in the capture's memory, which is
     * what counts; else 0. */
    uint32_t now;
} eg__optim_opts;

/* The norm of all inputs as one vector, NULL ones left out; p: 1, 2 or infinity. Its results are written over
 * what is there, NULL where nobody asks: the norm (0-dim f64), and what eg__judge makes of it. */
enum { EG__NORM_ITSELF, EG__NORM_GATE, EG__NORM_SCALER, EG__NORM_RESULTS };
typedef struct eg__total_norm_opts {
    double p;
    eg__gate_rule rule;
} eg__total_norm_opts;

/* The end of its kernels on the CPU. */
static inline void eg__norm_known(const eg__call *c, double norm)
{
    const eg_tensor *gate = c->out[EG__NORM_GATE], *scaler = c->out[EG__NORM_SCALER];
    if (c->out[EG__NORM_ITSELF]) {
        *(double *)eg__ptr(c->out[EG__NORM_ITSELF]) = norm;
    }
    if (gate) {
        eg__judge(&((const eg__total_norm_opts *)c->opts)->rule, norm, (double *)eg__ptr(gate),
                  scaler ? (double *)eg__ptr(scaler) : NULL);
    }
}

/* Of matmul, only from the gradient walk: public calls give none. */
typedef struct eg__matmul_opts {
    bool add; /* y += a b; f32 and f64 */
} eg__matmul_opts;

/* Inputs of the rows lstm and gru, and which of the optional ones there are; the latter two lstm's alone. */
enum {
    EG__RNN_X,
    EG__RNN_W_IH,
    EG__RNN_W_HH,
    EG__RNN_B_IH,
    EG__RNN_B_HH,
    EG__RNN_H0,
    EG__RNN_LENGTHS,
    EG__RNN_C0,
    EG__RNN_W_HR,
    EG__RNN_INPUTS
};
typedef struct eg__rnn_opts {
    unsigned has; /* bit per input */
    bool reverse, reset_before;
    double clip; /* 0: none */
} eg__rnn_opts;

/* Inputs of lstm_grad and gru_grad: what the forward row left behind, then gradients of its results. */
enum {
    EG__RNN_GRAD_RESERVE,
    EG__RNN_GRAD_W_HH,
    EG__RNN_GRAD_DY,
    EG__RNN_GRAD_DH,
    EG__RNN_GRAD_DC,
    EG__RNN_GRAD_W_HR,
    EG__RNN_GRAD_LENGTHS,
    EG__RNN_GRAD_X, /* from here on where the reserve is packed, see lib/ops/rnn.h */
    EG__RNN_GRAD_H0,
    EG__RNN_GRAD_C0,
    EG__RNN_GRAD_INPUTS
};
typedef struct eg__rnn_grad_opts {
    eg__rnn_opts forward;
    int64_t steps, rows;
} eg__rnn_grad_opts;

/* Of the forward way, also in its adjoint; spatial axes only. */
typedef struct eg__resize_opts {
    int naxes, mode, grid;
    bool antialias;
    double cubic;    /* resolved */
    double ratio[3]; /* input pixels per output pixel on the grid */
    int64_t in[3], out[3];
} eg__resize_opts;

/* (boxes [N, 4], order [N], candidate [N], class [N] or NULL) -> whether box order[i] stays. */
typedef struct eg__nms_opts {
    double threshold;
    int64_t most; /* stay */
} eg__nms_opts;

#endif
