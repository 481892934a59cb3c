/* dnn.c - cuDNN's functions, graphs, and choosing engines for them. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/cuda/dnn/dnn.h"
#include "lib/cuda/dnn/dnn_api.h"
#include "lib/cuda/runtime/library.h"

/* ---- the library ----------------------------------------------------------------------------- */

struct eg__dnn_api eg__cudnn;

EG__LIBRARY_OF(eg__cudnn, EG__DNN_FUNCTIONS, .title = "cuDNN 9", .files = {"libcudnn.so.9"});

/* Looking for it takes long where it is not. */
static _Atomic enum { UNKNOWN, THERE, ABSENT } presence;

eg_status eg__dnn_open(const char *op)
{
    if (likely(presence == THERE)) {
        return EG_OK;
    }
    if (presence == ABSENT) {
        return eg__fail(EG_ENOKERNEL, op, "needs %s, which was not found before", eg__cudnn_library.title);
    }
    eg_status st = eg__cuda_library_open(&eg__cudnn_library, op);
    if (!st && unlikely(eg__cudnn.cudnnGetVersion() < 90000)) {
        st = eg__fail(EG_ENOKERNEL, op, "needs %s, not version %zu", eg__cudnn_library.title,
                      eg__cudnn.cudnnGetVersion());
    }
    presence = st ? ABSENT : THERE;
    return st;
}

bool eg__dnn_there(const eg__call *c)
{
    if (unlikely(presence == UNKNOWN)) {
        const eg_error before = c->T->error;
        if (eg__dnn_open(c->op->name)) {
            eg__log_words(EG__DEBUG_FALLBACK, c->op->name, c->T->error.message);
            c->T->error = before;
        }
    }
    return presence == THERE;
}

size_t eg__dnn_version(void)
{
    return eg__cudnn.cudnnGetVersion();
}

/* What cuDNN says of its last failure on this thread. */
static void words_of(cudnnStatus_t e, const char *what, char *to, size_t size)
{
    char said[160] = "";
    eg__cudnn.cudnnGetLastErrorString(said, sizeof said);
    snprintf(to, size, "%s: %s%s%s", what, eg__cudnn.cudnnGetErrorString(e), said[0] ? ": " : "", said);
}

/* A failure of cuDNN or of its memory; EG_ENOKERNEL if it just does not do what is asked. */
static eg_status code_of(cudnnStatus_t e)
{
    const int category = CUDNN_STATUS_CATEGORY((int)e);
    return e == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
                   e == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED
               ? EG_ENOMEM
           : category == CUDNN_STATUS_BAD_PARAM || category == CUDNN_STATUS_NOT_SUPPORTED ? EG_ENOKERNEL
                                                                                          : EG_EFAULT;
}

eg_status eg__dnn_failed(const char *op, cudnnStatus_t e, const char *what)
{
    char why[240];
    words_of(e, what, why, sizeof why);
    eg_status code = code_of(e);
    return eg__fail(code == EG_ENOKERNEL ? EG_EFAULT : code, op, "cuDNN: %s", why);
}

/* ---- parts ----------------------------------------------------------------------------------- */

void eg__dnn_end(eg__dnn part)
{
    if (part) {
        eg__cudnn.cudnnBackendDestroyDescriptor(part);
    }
}

/* Only the first counts. */
void eg__dnn_note(eg__graph *g, cudnnStatus_t e, const char *what)
{
    if (!g->status) {
        g->status = code_of(e);
        words_of(e, what, g->why, sizeof g->why);
    }
}

static bool fine(eg__graph *g, cudnnStatus_t e, const char *what)
{
    if (unlikely(e)) {
        eg__dnn_note(g, e, what);
    }
    return !g->status;
}

static eg__dnn part(eg__graph *g, cudnnBackendDescriptorType_t type)
{
    eg__dnn d = NULL;
    if (!g->status && g->nparts == EG__GRAPH_PARTS) {
        fine(g, CUDNN_STATUS_NOT_SUPPORTED, "a graph of too many parts");
    }
    if (g->status || !fine(g, eg__cudnn.cudnnBackendCreateDescriptor(type, &d), "a descriptor")) {
        return NULL;
    }
    return g->parts[g->nparts++] = d;
}

static void set(eg__graph *g, eg__dnn d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t n,
                const void *values)
{
    if (!g->status) {
        fine(g, eg__cudnn.cudnnBackendSetAttribute(d, name, type, n, values), "an attribute");
    }
}

static void set_part(eg__graph *g, eg__dnn d, cudnnBackendAttributeName_t name, eg__dnn value)
{
    set(g, d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

static void set_type(eg__graph *g, eg__dnn d, cudnnBackendAttributeName_t name, cudnnDataType_t value)
{
    set(g, d, name, CUDNN_TYPE_DATA_TYPE, 1, &value);
}

static void set_int(eg__graph *g, eg__dnn d, cudnnBackendAttributeName_t name, int64_t value)
{
    set(g, d, name, CUDNN_TYPE_INT64, 1, &value);
}

static void finish(eg__graph *g, eg__dnn d, const char *what)
{
    if (!g->status) {
        fine(g, eg__cudnn.cudnnBackendFinalize(d), what);
    }
}

static void finish_op(eg__graph *g, eg__dnn op, const char *what)
{
    finish(g, op, what);
    if (!g->status && g->nops == EG__GRAPH_OPS) {
        fine(g, CUDNN_STATUS_NOT_SUPPORTED, "a graph of too many operations");
    }
    if (!g->status) {
        g->ops[g->nops++] = op;
    }
}

void eg__graph_begin(eg__graph *g, const char *op, cudnnHandle_t handle, eg__dnn card)
{
    g->op = op;
    g->handle = handle;
    g->card = card;
    g->status = EG_OK;
    g->why[0] = 0;
    g->nparts = g->nops = g->between = 0;
}

void eg__graph_end(eg__graph *g)
{
    while (g->nparts) {
        eg__dnn_end(g->parts[--g->nparts]);
    }
    g->nops = 0;
}

/* ---- tensors --------------------------------------------------------------------------------- */

eg__dnn_shape eg__dnn_dense(int ndim, const int64_t *size)
{
    eg__dnn_shape s = {.ndim = ndim};
    int64_t step = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        s.size[d] = size[d];
        s.stride[d] = step;
        step *= size[d];
    }
    return s;
}

eg__dnn_shape eg__dnn_channels_last(int ndim, const int64_t *size)
{
    eg__dnn_shape s = {.ndim = ndim, .size = {size[0], size[1]}, .stride = {0, 1}};
    int64_t step = size[1];
    for (int d = ndim - 1; d >= 2; d--) {
        s.size[d] = size[d];
        s.stride[d] = step;
        step *= size[d];
    }
    s.stride[0] = step;
    return s;
}

int eg__dnn_align(const void *address)
{
    const uintptr_t low = (uintptr_t)address & 15;
    return low ? (int)(low & (~low + 1)) : 16;
}

static eg__dnn tensor(eg__graph *g, const eg__dnn_shape *s, cudnnDataType_t type, int64_t id, int align,
                      cudnnBackendAttributeName_t kind)
{
    const bool yes = true;
    eg__dnn d = part(g, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    set_int(g, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
    set_type(g, d, CUDNN_ATTR_TENSOR_DATA_TYPE, type);
    set(g, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, s->ndim, s->size);
    set(g, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, s->ndim, s->stride);
    set_int(g, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, align);
    if (kind) {
        set(g, d, kind, CUDNN_TYPE_BOOLEAN, 1, &yes);
    }
    finish(g, d, "a tensor");
    return d;
}

eg__dnn eg__graph_tensor(eg__graph *g, const eg__dnn_shape *s, cudnnDataType_t type, int64_t id, int align)
{
    return tensor(g, s, type, id, align, 0);
}

eg__dnn eg__graph_between(eg__graph *g, const eg__dnn_shape *s, cudnnDataType_t type)
{
    return tensor(g, s, type, -++g->between, 16, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
}

eg__dnn eg__graph_number(eg__graph *g, int ndim, cudnnDataType_t type, int64_t id)
{
    const eg__dnn_shape one = eg__dnn_dense(ndim, (int64_t[EG__DNN_DIMS]){1, 1, 1, 1, 1});
    return tensor(g, &one, type, id, 16, CUDNN_ATTR_TENSOR_IS_BY_VALUE);
}

/* ---- operations ------------------------------------------------------------------------------ */

static eg__dnn conv_of(eg__graph *g, const eg__dnn_conv *v)
{
    static const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    eg__dnn d = part(g, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    set_int(g, d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, v->axes);
    set_type(g, d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, v->compute);
    set(g, d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    set(g, d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, v->axes, v->before);
    set(g, d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, v->axes, v->after);
    set(g, d, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, v->axes, v->dilation);
    set(g, d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, v->axes, v->stride);
    finish(g, d, "a convolution's geometry");
    return d;
}

void eg__graph_conv(eg__graph *g, eg__dnn_conv_kind kind, const eg__dnn_conv *v, eg__dnn x, eg__dnn w, eg__dnn y)
{
    static const struct {
        cudnnBackendDescriptorType_t type;
        cudnnBackendAttributeName_t alpha, beta, conv, x, w, y;
    } names[] = {
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
    };
    /* In the type that is computed in: engines read them as that, whatever they are said to be. */
    const bool wide = v->compute == CUDNN_DATA_DOUBLE;
    const cudnnBackendAttributeType_t type = wide ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT;
    const double wide_factors[] = {1, 0};
    const float factors[] = {1, 0};
    eg__dnn conv = conv_of(g, v), d = part(g, names[kind].type);
    set_part(g, d, names[kind].conv, conv);
    set_part(g, d, names[kind].x, x);
    set_part(g, d, names[kind].w, w);
    set_part(g, d, names[kind].y, y);
    set(g, d, names[kind].alpha, type, 1, wide ? (const void *)&wide_factors[0] : &factors[0]);
    set(g, d, names[kind].beta, type, 1, wide ? (const void *)&wide_factors[1] : &factors[1]);
    finish_op(g, d, "a convolution");
}

static void point(eg__graph *g, cudnnPointwiseMode_t mode, cudnnDataType_t compute, int64_t axis, eg__dnn x, eg__dnn b,
                  eg__dnn t, eg__dnn y)
{
    eg__dnn how = part(g, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    set(g, how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    set_type(g, how, CUDNN_ATTR_POINTWISE_MATH_PREC, compute);
    if (axis >= 0) {
        set_int(g, how, CUDNN_ATTR_POINTWISE_AXIS, axis);
    }
    if (mode == CUDNN_POINTWISE_RELU_FWD) {
        const cudnnNanPropagation_t stays = CUDNN_PROPAGATE_NAN;
        set(g, how, CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, 1, &stays);
    }
    finish(g, how, "a formula");
    eg__dnn d = part(g, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    set_part(g, d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    set_part(g, d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b) {
        set_part(g, d, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
    }
    if (t) {
        set_part(g, d, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, t);
    }
    set_part(g, d, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    finish_op(g, d, "a formula of elements");
}

void eg__graph_point(eg__graph *g, cudnnPointwiseMode_t mode, cudnnDataType_t compute, eg__dnn x, eg__dnn b, eg__dnn t,
                     eg__dnn y)
{
    point(g, mode, compute, -1, x, b, t, y);
}

void eg__graph_index(eg__graph *g, int axis, eg__dnn x, eg__dnn y)
{
    point(g, CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, axis, x, NULL, NULL, y);
}

void eg__graph_matmul(eg__graph *g, cudnnDataType_t compute, eg__dnn a, eg__dnn b, eg__dnn y)
{
    eg__dnn how = part(g, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    set_type(g, how, CUDNN_ATTR_MATMUL_COMP_TYPE, compute);
    finish(g, how, "a product's type");
    eg__dnn d = part(g, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    set_part(g, d, CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
    set_part(g, d, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
    set_part(g, d, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
    set_part(g, d, CUDNN_ATTR_OPERATION_MATMUL_CDESC, y);
    finish_op(g, d, "a product");
}

void eg__graph_reduce(eg__graph *g, cudnnReduceTensorOp_t mode, cudnnDataType_t compute, eg__dnn x, eg__dnn y)
{
    eg__dnn how = part(g, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    set_type(g, how, CUDNN_ATTR_REDUCTION_COMP_TYPE, compute);
    set(g, how, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &mode);
    finish(g, how, "a reduction's type");
    eg__dnn d = part(g, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    set_part(g, d, CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
    set_part(g, d, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    set_part(g, d, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
    finish_op(g, d, "a reduction");
}

void eg__graph_reshape(eg__graph *g, eg__dnn x, eg__dnn y)
{
    eg__dnn d = part(g, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    set_part(g, d, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
    set_part(g, d, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y);
    finish_op(g, d, "a reshape");
}
