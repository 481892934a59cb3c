/* dnn_rnn.c - recurrent layers by cuDNN: its descriptors, which live for a call, and weights packed for it and
 * gradients unpacked. */
#include <stdlib.h>

#include <cudnn_adv.h>

#include <egret/precision.h>

#include "lib/cuda/dnn/dnn_api.h"
#include "lib/cuda/rnn/dnn_rnn.h"
#include "lib/cuda/runtime/library.h"
#include "lib/cuda/rnn/rnn.h"
#include "lib/core/environment.h"
#include "lib/ops/rnn.h"

#define FUNCTIONS(X)                 \
    X(cudnnCreateDropoutDescriptor)  \
    X(cudnnCreateRNNDataDescriptor)  \
    X(cudnnCreateRNNDescriptor)      \
    X(cudnnCreateTensorDescriptor)   \
    X(cudnnDestroyDropoutDescriptor) \
    X(cudnnDestroyRNNDataDescriptor) \
    X(cudnnDestroyRNNDescriptor)     \
    X(cudnnDestroyTensorDescriptor)  \
    X(cudnnGetRNNTempSpaceSizes)     \
    X(cudnnGetRNNWeightParams)       \
    X(cudnnGetRNNWeightSpaceSize)    \
    X(cudnnRNNBackwardData_v8)       \
    X(cudnnRNNBackwardWeights_v8)    \
    X(cudnnRNNForward)               \
    X(cudnnSetDropoutDescriptor)     \
    X(cudnnSetRNNDataDescriptor)     \
    X(cudnnSetRNNDescriptor_v8)      \
    X(cudnnSetTensorNdDescriptor)

EG__LIBRARY(dnn, FUNCTIONS, .title = "cuDNN 9", .files = {"libcudnn.so.9"});

/* ---- a layer ------------------------------------------------------------------------------------------ */

typedef struct net {
    const eg__call *c;
    int gates, dtype;
    bool training;
    int64_t steps, rows, inputs, width, state;
    const eg_tensor *lengths; /* on the CPU; NULL: all rows take all steps */
    int *length;              /* of each row */
    cudnnHandle_t handle;
    cudnnRNNDescriptor_t rnn;
    cudnnDropoutDescriptor_t dropout;
    cudnnRNNDataDescriptor_t x, y;
    cudnnTensorDescriptor_t h, cells, matrix, bias; /* the last two are asked for and not looked at */
    size_t weights, work, reserve;                  /* bytes */
} net;

/* The first failure of several calls. */
#define TRY(call) e = e ? e : (call)

static cudnnStatus_t describe(net *n)
{
    const cudnnDataType_t type = eg__dnn_type(n->dtype);
    const cudnnMathType_t math = n->dtype != EG_F32              ? CUDNN_TENSOR_OP_MATH
                                 : n->c->T->math == EG_MATH_TF32 ? CUDNN_DEFAULT_MATH
                                                                 : CUDNN_FMA_MATH;
    const int T = (int)n->steps, N = (int)n->rows, I = (int)n->inputs, H = (int)n->width, R = (int)n->state;
    const int h[3] = {1, N, R}, cells[3] = {1, N, H}, h_step[3] = {N * R, R, 1}, cells_step[3] = {N * H, H, 1};
    double padding = 0; /* 0 in every type */
    cudnnStatus_t e = dnn.cudnnCreateRNNDescriptor(&n->rnn);
    TRY(dnn.cudnnCreateDropoutDescriptor(&n->dropout));
    TRY(dnn.cudnnCreateRNNDataDescriptor(&n->x));
    TRY(dnn.cudnnCreateRNNDataDescriptor(&n->y));
    TRY(dnn.cudnnCreateTensorDescriptor(&n->h));
    TRY(dnn.cudnnCreateTensorDescriptor(&n->cells));
    TRY(dnn.cudnnCreateTensorDescriptor(&n->matrix));
    TRY(dnn.cudnnCreateTensorDescriptor(&n->bias));
    TRY(dnn.cudnnSetDropoutDescriptor(n->dropout, n->handle, 0, NULL, 0, 0));
    TRY(dnn.cudnnSetRNNDescriptor_v8(n->rnn, CUDNN_RNN_ALGO_STANDARD, n->gates == 4 ? CUDNN_LSTM : CUDNN_GRU,
                                     CUDNN_RNN_DOUBLE_BIAS, CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, type,
                                     CUDNN_DATA_FLOAT, math, I, H, R, 1, n->dropout, CUDNN_RNN_PADDED_IO_ENABLED));
    TRY(dnn.cudnnSetRNNDataDescriptor(n->x, type, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, T, N, I, n->length,
                                      &padding));
    TRY(dnn.cudnnSetRNNDataDescriptor(n->y, type, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, T, N, R, n->length,
                                      &padding));
    TRY(dnn.cudnnSetTensorNdDescriptor(n->h, type, 3, h, h_step));
    TRY(dnn.cudnnSetTensorNdDescriptor(n->cells, type, 3, cells, cells_step));
    TRY(dnn.cudnnGetRNNWeightSpaceSize(n->handle, n->rnn, &n->weights));
    return e;
}

static void destroy(net *n)
{
    const cudnnTensorDescriptor_t tensors[] = {n->h, n->cells, n->matrix, n->bias};
    for (int i = 0; i < EG__COUNT(tensors); i++) {
        if (tensors[i]) {
            dnn.cudnnDestroyTensorDescriptor(tensors[i]);
        }
    }
    if (n->y) {
        dnn.cudnnDestroyRNNDataDescriptor(n->y);
    }
    if (n->x) {
        dnn.cudnnDestroyRNNDataDescriptor(n->x);
    }
    if (n->dropout) {
        dnn.cudnnDestroyDropoutDescriptor(n->dropout);
    }
    if (n->rnn) {
        dnn.cudnnDestroyRNNDescriptor(n->rnn);
    }
    if (n->handle) {
        eg__dnn_let_go(n->c);
    }
    free(n->length);
}

static net net_of(const eg__call *c, int gates)
{
    const eg__rnn_plan p = eg__rnn_forward_plan(c, gates);
    return (net){.c = c,
                 .gates = gates,
                 .dtype = c->in[EG__RNN_X]->dtype,
                 .training = c->T->record->recording > 0,
                 .steps = p.steps,
                 .rows = p.rows,
                 .inputs = p.inputs,
                 .width = p.width,
                 .state = p.state,
                 .lengths = p.lengths};
}

/* Of row i; with all inputs as they were given while results are not made yet. */
static int64_t length_of(const net *n, int64_t i)
{
    const eg_tensor *t = n->lengths;
    return t ? eg__load_int(eg__ptr(t), t->dtype, i * t->strides[0]) : n->steps;
}

/* Its handle, to nobody else until `destroy`, and descriptors. */
static eg_status make(net *n)
{
    const char *op = n->c->op->name;
    eg_status st = eg__dnn_open(op);
    st = st ? st : eg__cuda_library_open(&dnn_library, op);
    if (!st && !(n->length = eg__malloc((size_t)n->rows * sizeof *n->length))) {
        st = eg__no_memory(op, n->rows);
    }
    for (int64_t i = 0; i < n->rows && !st; i++) {
        n->length[i] = (int)length_of(n, i);
    }
    st = st ? st : eg__dnn_hold(n->c, &n->handle);
    if (!st) {
        cudnnStatus_t e = describe(n);
        TRY(dnn.cudnnGetRNNTempSpaceSizes(n->handle, n->rnn,
                                          n->training ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE, n->x,
                                          &n->work, &n->reserve));
        st = e ? eg__dnn_failed(op, e, "describing a recurrent layer") : EG_OK;
    }
    return st;
}

/* ---- what is kept for the gradient -------------------------------------------------------------------- */

static size_t padded(size_t bytes)
{
    return (bytes + 511) / 512 * 512;
}

static size_t weights_at(const net *n)
{
    return padded(n->reserve);
}

static size_t y_at(const net *n)
{
    return padded(n->reserve) + padded(n->weights);
}

static size_t y_bytes(const net *n)
{
    return (size_t)(n->steps * n->rows * n->state) * (n->dtype == EG_F32 ? 4 : 2);
}

/* Whether it is a layer as cuDNN has them, of sizes it counts in. Rows of no steps are left to others. */
static bool fits(const net *n, const eg__rnn_opts *o)
{
    const int64_t most = (int64_t)1 << 30;
    const bool projects = o->has >> EG__RNN_W_HR & 1;
    bool good = n->dtype != EG_F64 && !o->reverse && !o->reset_before && o->clip == 0 && n->steps > 0 && n->rows > 0 &&
                n->inputs > 0 && n->state > 0 && (!projects || n->state < n->width) && n->rows * n->width < most &&
                n->steps < most && n->inputs < most && !(n->lengths && n->lengths->device);
    for (int64_t i = 0; i < n->rows && good; i++) {
        good = length_of(n, i) > 0;
    }
    return good;
}

/* What it copies from the host would be captured as it is now. */
static bool capturing(const eg__call *c)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return cudaStreamIsCapturing(eg__stream_of(c), &status) || status != cudaStreamCaptureStatusNone;
}

/* Returns whether EGRET_RNN chooses cuDNN. Another value is reported once per process. */
static bool is_chosen(const char *asked)
{
    static atomic_bool reported;
    const bool chosen = !strcmp(asked, "cudnn");
    if (!chosen && *asked && !atomic_exchange(&reported, true)) {
        eg__log_words(EG__DEBUG_ENV, "EGRET_RNN", "its value is ignored, expected \"cudnn\"");
    }
    return chosen;
}

int64_t eg__dnn_rnn_reserve(const eg__call *c)
{
    const char *asked = eg__getenv("EGRET_RNN");
    if (likely(!asked || !is_chosen(asked))) {
        return 0;
    }
    net n = net_of(c, c->op->id == EG__ID_lstm ? 4 : 3);
    eg_device *device = eg__host_devices[c->device];
    if (!fits(&n, c->opts) || !eg__cuda_stream(c->T, device, c->op->name) ||
        eg__cuda_enter(device->state, c->op->name) || capturing(c)) {
        return 0;
    }
    const eg_error record = c->T->error;
    const int64_t bytes = make(&n) ? 0 : (int64_t)(y_at(&n) + (n.training ? y_bytes(&n) : 0));
    destroy(&n);
    if (!bytes) {
        c->T->error = record; /* there is another way */
    }
    return bytes;
}

/* ---- weights ------------------------------------------------------------------------------------------ */

/* As the layer has them, side by side where they are one tensor. */
typedef struct own {
    char *w_ih, *w_hh, *b_ih, *b_hh, *w_hr; /* NULL: there is none */
} own;

static void add_piece(eg__rnn_pieces *k, bool pack, char *packed, char *mine, int64_t at, int64_t n, int64_t size)
{
    char *at_mine = mine ? mine + at * size : NULL;
    if (pack || mine) {
        k->piece[k->n].from = pack ? at_mine : packed;
        k->piece[k->n].to = pack ? packed : at_mine;
        k->piece[k->n++].bytes = n * size;
    }
}

/* Copies into cuDNN's block of weights, zeros for biases there are none of, or out of it: the gates are in the same
 * order, but where each lies is cuDNN's affair. */
static eg_status move_weights(const net *n, bool pack, char *block, own w)
{
    const int64_t G = n->gates, H = n->width, size = n->dtype == EG_F32 ? 4 : 2;
    const int parts = 2 * n->gates + (w.w_hr != NULL);
    eg__rnn_pieces k = {.n = 0};
    cudnnStatus_t e = CUDNN_STATUS_SUCCESS;
    for (int i = 0; i < parts && !e; i++) {
        void *matrix = NULL, *bias = NULL;
        e = dnn.cudnnGetRNNWeightParams(n->handle, n->rnn, 0, n->weights, block, i, n->matrix, &matrix, n->bias, &bias);
        if (e) {
            break;
        }
        const bool recurrent = i >= G;
        const int64_t gate = i % G, across = recurrent ? n->state : n->inputs;
        if (i == 2 * G) {
            add_piece(&k, pack, matrix, w.w_hr, 0, n->state * H, size);
        } else {
            add_piece(&k, pack, matrix, recurrent ? w.w_hh : w.w_ih, gate * H * across, H * across, size);
            add_piece(&k, pack, bias, recurrent ? w.b_hh : w.b_ih, gate * H, H, size);
        }
    }
    return e ? eg__dnn_failed(n->c->op->name, e, "weights")
             : eg__launched(n->c, eg__launch_rnn_pieces(&k, eg__stream_of(n->c)));
}

/* The lengths where its kernels read them; NULL with words. Dies with the call. */
static const int32_t *lengths_there(const net *n)
{
    eg__desc d = {.dtype = EG_I32, .ndim = 1, .device = n->c->device, .shape = {n->rows}};
    eg__desc_dense(&d);
    eg_tensor *t = eg__new(&d, n->c->op->name, n->c->op->id);
    return t && !eg__cuda_upload(n->c->op->name, n->c->T, t, n->length, (size_t)n->rows * sizeof *n->length)
               ? (const int32_t *)(const void *)eg__ptr(t)
               : NULL;
}

static void *data_of(const eg_tensor *t)
{
    return t ? eg__ptr(t) : NULL;
}

/* ---- forwards ----------------------------------------------------------------------------------------- */

static cudnnStatus_t forward(const net *n, const int32_t *lengths, char *work)
{
    const eg__call *c = n->c;
    const bool lstm = n->gates == 4;
    char *kept = eg__ptr(c->out[lstm ? 3 : 2]);
    return dnn.cudnnRNNForward(
        n->handle, n->rnn, n->training ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE, lengths, n->x,
        eg__ptr(c->in[EG__RNN_X]), n->y, eg__ptr(c->out[0]), n->h, data_of(c->in[EG__RNN_H0]), eg__ptr(c->out[1]),
        n->cells, lstm ? data_of(c->in[EG__RNN_C0]) : NULL, lstm ? eg__ptr(c->out[2]) : NULL, n->weights,
        kept + weights_at(n), n->work, work, n->training ? n->reserve : 0, n->training ? kept : NULL);
}

static eg_status run(net *n, const eg_tensor *reserve)
{
    const eg__call *c = n->c;
    eg__block *work = NULL;
    char *kept = eg__ptr(reserve);
    eg_status st = make(n);
    const int32_t *lengths = st ? NULL : lengths_there(n);
    st = lengths ? eg__cuda_scratch(c, n->work ? n->work : 1, &work) : eg__why();
    st = st ? st
            : move_weights(n, true, kept + weights_at(n),
                           (own){data_of(c->in[EG__RNN_W_IH]), data_of(c->in[EG__RNN_W_HH]),
                                 data_of(c->in[EG__RNN_B_IH]), data_of(c->in[EG__RNN_B_HH]),
                                 n->gates == 4 ? data_of(c->in[EG__RNN_W_HR]) : NULL});
    if (!st) {
        cudnnStatus_t e = forward(n, lengths, work->data);
        st = e ? eg__dnn_failed(c->op->name, e, "a recurrent layer") : EG_OK;
    }
    if (!st && n->training) {
        st = eg__launched(c, cudaMemcpyAsync(kept + y_at(n), eg__ptr(c->out[0]), y_bytes(n), cudaMemcpyDeviceToDevice,
                                             eg__stream_of(c)));
    }
    eg__cuda_scratch_end(work);
    return st;
}

eg_status eg__dnn_rnn(const eg__call *c)
{
    const bool lstm = c->op->id == EG__ID_lstm;
    net n = net_of(c, lstm ? 4 : 3);
    eg_status st = run(&n, c->out[lstm ? 3 : 2]);
    destroy(&n);
    return st;
}

/* ---- backwards ---------------------------------------------------------------------------------------- */

/* Scratch: cuDNN's, zeros for a dy that is not given, gradients of packed weights. */
typedef struct back {
    eg__block *block;
    char *work, *dy, *dw;
} back;

static eg_status get_scratch(const net *n, back *b)
{
    const bool given = n->c->in[EG__RNN_GRAD_DY] != NULL;
    const size_t dy = given ? 0 : padded(y_bytes(n));
    cudaStream_t s = eg__stream_of(n->c);
    eg_status st = eg__cuda_scratch(n->c, padded(n->work) + dy + n->weights, &b->block);
    if (!st) {
        b->work = b->block->data;
        b->dy = given ? eg__ptr(n->c->in[EG__RNN_GRAD_DY]) : b->work + padded(n->work);
        b->dw = b->work + padded(n->work) + dy;
        st = eg__launched(n->c, cudaMemsetAsync(b->work + padded(n->work), 0, dy + n->weights, s));
    }
    return st;
}

static cudnnStatus_t backward(const net *n, const int32_t *lengths, const back *b)
{
    const eg__call *c = n->c;
    const bool lstm = n->gates == 4, first = c->in[EG__RNN_GRAD_H0] != NULL;
    char *kept = eg__ptr(c->in[EG__RNN_GRAD_RESERVE]), *y = kept + y_at(n);
    const void *h0 = data_of(c->in[EG__RNN_GRAD_H0]), *c0 = data_of(c->in[EG__RNN_GRAD_C0]);
    eg_tensor *dh0 = c->out[lstm ? 1 : 2];
    cudnnStatus_t e = dnn.cudnnRNNBackwardData_v8(
        n->handle, n->rnn, lengths, n->y, y, b->dy, n->x, eg__ptr(c->out[0]), n->h, h0, data_of(c->in[EG__RNN_GRAD_DH]),
        first ? eg__ptr(dh0) : NULL, n->cells, lstm ? c0 : NULL, lstm ? data_of(c->in[EG__RNN_GRAD_DC]) : NULL,
        lstm && c0 ? eg__ptr(c->out[2]) : NULL, n->weights, kept + weights_at(n), n->work, b->work, n->reserve, kept);
    TRY(dnn.cudnnRNNBackwardWeights_v8(n->handle, n->rnn, CUDNN_WGRAD_MODE_ADD, lengths, n->x,
                                       eg__ptr(c->in[EG__RNN_GRAD_X]), n->h, h0, n->y, y, n->weights, b->dw, n->work,
                                       b->work, n->reserve, kept));
    return e;
}

static eg_status run_back(net *n)
{
    const eg__call *c = n->c;
    const eg__rnn_grad_opts *o = c->opts;
    const int64_t G = n->gates, size = n->dtype == EG_F32 ? 4 : 2;
    back b = {.block = NULL};
    eg_status st = make(n);
    const int32_t *lengths = st ? NULL : lengths_there(n);
    st = lengths ? get_scratch(n, &b) : eg__why();
    if (!st) {
        cudnnStatus_t e = backward(n, lengths, &b);
        st = e ? eg__dnn_failed(c->op->name, e, "a recurrent layer's gradient") : EG_OK;
    }
    if (!st) {
        own w = {.w_ih = eg__ptr(c->out[n->gates == 4 ? 3 : 1])};
        w.w_hh = w.w_ih + G * n->width * n->inputs * size;
        w.b_ih = w.w_hh + G * n->width * n->state * size;
        w.b_hh = w.b_ih + G * n->width * size;
        w.w_hr = o->forward.has >> EG__RNN_W_HR & 1 ? w.b_hh + G * n->width * size : NULL;
        st = move_weights(n, false, b.dw, w);
    }
    eg__cuda_scratch_end(b.block);
    return st;
}

eg_status eg__dnn_rnn_grad(const eg__call *c)
{
    const int gates = c->op->id == EG__ID_lstm_grad ? 4 : 3;
    const eg_tensor *x = c->in[EG__RNN_GRAD_X];
    const eg__rnn_plan p = eg__rnn_backward_plan(c, gates);
    net n = {.c = c,
             .gates = gates,
             .dtype = x->dtype,
             .training = true,
             .steps = p.steps,
             .rows = p.rows,
             .inputs = x->shape[2],
             .width = p.width,
             .state = p.state,
             .lengths = p.lengths};
    eg_status st = run_back(&n);
    destroy(&n);
    return st;
}
