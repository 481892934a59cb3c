/* dnn.h - cuDNN: graphs of operations drawn with a few calls, plans that run them, and where plans
 * are kept.
 *
 * A family that runs on cuDNN has a key, plain data without padding that says all of a shape, and a
 * function that draws the graph of a key:
 *
 *     static void draw(eg__graph *g, const void *key)
 *     {
 *         eg__dnn x = eg__graph_tensor(g, &x_shape, CUDNN_DATA_HALF, X, 16);
 *         eg__dnn y = eg__graph_between(g, &y_shape, CUDNN_DATA_FLOAT);
 *         ...
 *         eg__graph_point(g, CUDNN_POINTWISE_ADD, CUDNN_DATA_FLOAT, y, bias, NULL, z);
 *     }
 *     const eg__dnn_ask ask = {"attention", draw, &key, sizeof key, 0};
 *     eg__dnn_plan *plan;
 *     eg_status st = eg__dnn_find(c, &ask, &plan);
 *     if (!st && plan->made) {
 *         st = eg__dnn_run(c, plan, 3, (int64_t[]){X, BIAS, Z}, (void *[]){x, bias, z});
 *     } else if (!st) {
 *         ... cuDNN has nothing for it: plan->why says so
 *     }
 *     eg__dnn_leave(plan);
 *
 * Drawing calls need no checks: after the first one that fails the others do nothing, and the plan
 * is not made. */
#ifndef EGRET_CUDA_DNN_H
#define EGRET_CUDA_DNN_H

#include <cudnn_graph.h>

#include "lib/cuda/runtime/cuda.h"

typedef cudnnBackendDescriptor_t eg__dnn;

/* EG_OK if cuDNN 9 is there. Where it is not, EG_ENOKERNEL with words; it is looked for once. */
eg_status eg__dnn_open(const char *op);
/* The same for who can do without: no words are left. */
bool eg__dnn_there(const eg__call *c);
/* As cudnnGetVersion has it: 91900 is 9.19.0. Once it is open. */
size_t eg__dnn_version(void);

/* ---- drawing graphs -------------------------------------------------------------------------- */

enum { EG__DNN_DIMS = 5, EG__GRAPH_OPS = 48, EG__GRAPH_PARTS = 192 };

typedef struct eg__dnn_shape {
    int ndim; /* at least 3 for most of cuDNN */
    int64_t size[EG__DNN_DIMS], stride[EG__DNN_DIMS];
} eg__dnn_shape;

typedef struct eg__graph {
    const char *op;       /* for messages */
    cudnnHandle_t handle; /* of the card plans are for, or */
    eg__dnn card;         /* properties of a card that need not be there; NULL: the handle's */
    eg_status status;     /* of the first failure: EG_ENOKERNEL if cuDNN does not take what was drawn */
    char why[240];
    int nparts, nops, between;
    eg__dnn parts[EG__GRAPH_PARTS], ops[EG__GRAPH_OPS];
} eg__graph;

static inline cudnnDataType_t eg__dnn_type(int dtype)
{
    return dtype == EG_F64   ? CUDNN_DATA_DOUBLE
           : dtype == EG_F32 ? CUDNN_DATA_FLOAT
           : dtype == EG_F16 ? CUDNN_DATA_HALF
                             : CUDNN_DATA_BFLOAT16;
}

/* Rows behind each other. */
eg__dnn_shape eg__dnn_dense(int ndim, const int64_t *size);
/* Axis 1 innermost. */
eg__dnn_shape eg__dnn_channels_last(int ndim, const int64_t *size);
/* What `align` is of an address: a power of 2, 16 at most. */
int eg__dnn_align(const void *address);

/* A tensor in memory on the device: id, above 0, is what runs of the plan know it by. */
eg__dnn eg__graph_tensor(eg__graph *g, const eg__dnn_shape *s, cudnnDataType_t type, int64_t id, int align);
/* One that only leads from one operation to another. */
eg__dnn eg__graph_between(eg__graph *g, const eg__dnn_shape *s, cudnnDataType_t type);
/* A number, of ndim axes of size 1. A run gives an address in host memory, read during the call. */
eg__dnn eg__graph_number(eg__graph *g, int ndim, cudnnDataType_t type, int64_t id);

typedef enum eg__dnn_conv_kind { EG__DNN_FORWARD, EG__DNN_DATA, EG__DNN_WEIGHT } eg__dnn_conv_kind;
typedef struct eg__dnn_conv {
    int axes; /* of space */
    int64_t stride[3], dilation[3], before[3], after[3];
    cudnnDataType_t compute;
} eg__dnn_conv;

/* y = x * w, or x from w and y, or w from x and y. */
void eg__graph_conv(eg__graph *g, eg__dnn_conv_kind kind, const eg__dnn_conv *v, eg__dnn x, eg__dnn w, eg__dnn y);
/* y = mode(x, b, t); b and t NULL where the mode takes fewer. CUDNN_POINTWISE_BINARY_SELECT: t ? x
 * : b. */
void eg__graph_point(eg__graph *g, cudnnPointwiseMode_t mode, cudnnDataType_t compute, eg__dnn x, eg__dnn b, eg__dnn t,
                     eg__dnn y);
/* y = the index of each element of x along the axis; y is i32. */
void eg__graph_index(eg__graph *g, int axis, eg__dnn x, eg__dnn y);
/* y[..., m, n] = a[..., m, k] b[..., k, n] */
void eg__graph_matmul(eg__graph *g, cudnnDataType_t compute, eg__dnn a, eg__dnn b, eg__dnn y);
/* Over the axes where y has size 1 and x has not. */
void eg__graph_reduce(eg__graph *g, cudnnReduceTensorOp_t mode, cudnnDataType_t compute, eg__dnn x, eg__dnn y);
/* The same elements in y's shape and strides: how a transpose is said too. */
void eg__graph_reshape(eg__graph *g, eg__dnn x, eg__dnn y);

/* ---- engines --------------------------------------------------------------------------------- */

/* What engines must not do, beside adding in an order of chance. */
enum {
    EG__DNN_NO_TENSOR_CORES = 1, /* f32 that stays f32 */
};
/* Work areas are at most this large. */
enum { EG__DNN_WORK = 1 << 30 };

typedef struct eg__dnn_plan {
    eg__dnn made;      /* NULL: cuDNN has none */
    int64_t workspace; /* bytes */
    eg__refs refs;
    struct eg__dnn_plan *next; /* of those that stay */
    _Atomic bool captured;     /* a graph of CUDA may run it at any time: it stays */
    char why[240];             /* there is none */
} eg__dnn_plan;

/* Begins a graph and ends it, with all its parts, whatever happened in between. */
void eg__graph_begin(eg__graph *g, const char *op, cudnnHandle_t handle, eg__dnn card);
void eg__graph_end(eg__graph *g);
/* A plan of what was drawn: of the engines cuDNN recommends for the card the first that obeys
 * `rules` and can be built. p->made is NULL, and p->why says why, if there is none. */
eg_status eg__graph_plan(eg__graph *g, unsigned rules, eg__dnn_plan *p);
/* The engine's text for a plan, to be kept by whoever wants it, malloc'ed; NULL: cuDNN gives none.
 * And back: false if it is not one for this card and version. */
char *eg__dnn_plan_text(const eg__dnn_plan *p, int64_t *bytes);
bool eg__dnn_plan_of_text(cudnnHandle_t handle, const char *text, int64_t bytes, eg__dnn_plan *p);
void eg__dnn_plan_end(eg__dnn_plan *p);
/* A description of a card, cuDNN's JSON: NULL if it is not one. For plans without a card; end it
 * after them. */
eg__dnn eg__dnn_card(const char *json);
void eg__dnn_end(eg__dnn part);

/* ---- plans kept, and run --------------------------------------------------------------------- */

enum { EG__DNN_KEY = 320 }; /* bytes at most */

typedef struct eg__dnn_ask {
    const char *title; /* of the family: a string of the program */
    void (*draw)(eg__graph *g, const void *key);
    const void *key; /* all that draw looks at */
    size_t bytes;
    unsigned rules;
} eg__dnn_ask;

/* The plan kept for the card of c, or a new one. Leave it after its last run. */
eg_status eg__dnn_find(const eg__call *c, const eg__dnn_ask *a, eg__dnn_plan **plan);
void eg__dnn_leave(eg__dnn_plan *plan); /* NULL is fine */
/* Queues it on the call's stream, with scratch for its work area. */
eg_status eg__dnn_run(const eg__call *c, eg__dnn_plan *plan, int n, const int64_t *ids, void *const *at);

/* ---- calls of cuDNN that are no graphs ------------------------------------------------------- */

/* The handle of the call's stream, nobody else's until it is let go. */
eg_status eg__dnn_hold(const eg__call *c, cudnnHandle_t *handle);
void eg__dnn_let_go(const eg__call *c);

#endif
