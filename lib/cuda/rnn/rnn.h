/* rnn.h - between the kernels of recurrent layers and their host side. Plain C and CUDA.
 *
 * What stays from step to step, the reserve, is f64 for f64 and f32 for all else; what goes into a
 * product is of the row's dtype. A thread makes one cell of one row. */
#ifndef EGRET_CUDA_RNN_H
#define EGRET_CUDA_RNN_H

#include <cuda_runtime_api.h>

#include "lib/cuda/common/divide.h"
#include "lib/cuda/runtime/fault.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The cells of one step, and which rows take it: t is below their length. */
typedef struct eg__rnn_cells {
    int64_t n;         /* rows x width */
    eg__divisor width; /* of what the kernel makes: cells, or projected states */
    int64_t t;
    const char *lengths; /* NULL: all rows take it */
    int long_lengths;    /* i64, else i32 */
    int wide;            /* the reserve is f64 */
    int dtype, size;     /* of the row */
} eg__rnn_cells;

/* Forwards. Of an LSTM `gates` are the four, of a GRU the three; they hold the product with x and, of an LSTM and
 * of gates that meet h first, with h. Absent are NULL: h_before and h where it is projected, feed where the next
 * product reads h itself. */
typedef struct eg__rnn_step {
    eg__rnn_cells at;
    char *gates;
    const char *b_ih, *b_hh; /* dtype */
    const char *c_before, *h_before;
    char *c, *h;         /* after the step */
    char *met;           /* GRU: what the reset gate met */
    const char *product; /* GRU: of w_hh and h, if the reset gate comes after; NULL: 0 */
    char *feed, *y;      /* dtype: for the next product; the result */
    double clip;         /* NaN: none */
} eg__rnn_step;

cudaError_t eg__launch_lstm_step(const eg__rnn_step *k, cudaStream_t s);
/* The projected h, made by a product: rows that do not take the step keep theirs; feed and y of it. */
cudaError_t eg__launch_lstm_project(const eg__rnn_step *k, cudaStream_t s);
cudaError_t eg__launch_gru_step(const eg__rnn_step *k, cudaStream_t s);
/* In two, around the product of w_hh and r h, which is added to the third gate: feed is r h. */
cudaError_t eg__launch_gru_gates(const eg__rnn_step *k, cudaStream_t s);
cudaError_t eg__launch_gru_candidate(const eg__rnn_step *k, cudaStream_t s);

/* Backwards. */
typedef struct eg__rnn_back {
    eg__rnn_cells at;
    const char *gates, *met;
    const char *c_before, *c, *h_before;
    const char *dh;  /* of the state after the step, but for what comes from y */
    const char *dy;  /* dtype; NULL: 0 */
    char *dc;        /* of the state after it, then of the state before it */
    char *dz;        /* dtype: before the gates' activations, of a GRU on x's side */
    char *dm;        /* GRU, dtype: on h's side */
    const char *drh; /* GRU, the reset gate before the product: of r h; NULL: 0 */
    char *past;      /* of the state before, but for what goes through gates; LSTM: NULL if nothing does */
    double clip;
} eg__rnn_back;

cudaError_t eg__launch_lstm_back(const eg__rnn_back *k, cudaStream_t s);
/* dz = dh + dy of the projected state, 0 in rows that do not take the step. */
cudaError_t eg__launch_lstm_project_back(const eg__rnn_back *k, cudaStream_t s);
cudaError_t eg__launch_gru_back(const eg__rnn_back *k, cudaStream_t s);
/* In two, around the product that makes drh. */
cudaError_t eg__launch_gru_candidate_back(const eg__rnn_back *k, cudaStream_t s);
cudaError_t eg__launch_gru_gates_back(const eg__rnn_back *k, cudaStream_t s);

/* Copies between the dtypes before the first step and after the last, and a look at the lengths. */
typedef struct eg__rnn_copies {
    int jobs;
    struct {
        const char *from; /* NULL: zeros */
        char *to;
        int from_dtype, to_dtype;
        int64_t n;
    } job[3];
    int wide;
    const char *lengths; /* NULL: none to look at */
    int long_lengths;
    int64_t rows, steps;
    int op;
    eg__fault *fault;
} eg__rnn_copies;

cudaError_t eg__launch_rnn_copies(const eg__rnn_copies *k, cudaStream_t s);

/* Copies of bytes, or zeros, in one launch. */
enum { EG__RNN_PIECES = 17 };
typedef struct eg__rnn_pieces {
    int n, unit; /* unit: filled in by the launch */
    struct {
        const char *from; /* NULL: zeros */
        char *to;
        int64_t bytes; /* a multiple of 2 */
    } piece[EG__RNN_PIECES];
} eg__rnn_pieces;

cudaError_t eg__launch_rnn_pieces(const eg__rnn_pieces *k, cudaStream_t s);

#ifdef __cplusplus
}
#endif
#endif
