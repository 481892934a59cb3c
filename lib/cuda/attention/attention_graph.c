/* attention_graph.c - the graphs of cuDNN that are attention, in the order its engines know them by. */
#include "lib/cuda/attention/attention_dnn.h"

_Static_assert(sizeof(eg__attention_key) == 6 * 8 + 8 * 3 * 8 + 8, "a key has no padding");
_Static_assert(sizeof(eg__attention_key) <= EG__DNN_KEY, "a key can be kept");

typedef struct drawing {
    eg__graph *g;
    const eg__attention_key *k;
    cudnnDataType_t type;
    eg__dnn_shape scores, turned, row; /* [b, h, t, s], with its strides exchanged, and [b, h, t, 1] */
} drawing;

static eg__dnn_shape shape_of(const eg__attention_key *k, int matrix)
{
    const bool keys = matrix == EG__ATTENTION_K || matrix == EG__ATTENTION_V || matrix == EG__ATTENTION_DK ||
                      matrix == EG__ATTENTION_DV;
    const bool values = matrix == EG__ATTENTION_V || matrix == EG__ATTENTION_Y || matrix == EG__ATTENTION_DY ||
                        matrix == EG__ATTENTION_DV;
    const int64_t *stride = k->stride[matrix];
    return (eg__dnn_shape){
        4, {k->b, k->h, keys ? k->s : k->t, values ? k->v : k->d}, {stride[0], stride[1], stride[2], 1}};
}

static eg__dnn_shape transposed(eg__dnn_shape s)
{
    const int64_t size = s.size[2], stride = s.stride[2];
    s.size[2] = s.size[3];
    s.stride[2] = s.stride[3];
    s.size[3] = size;
    s.stride[3] = stride;
    return s;
}

static eg__dnn matrix(const drawing *d, int matrix, bool turned)
{
    const eg__dnn_shape s = shape_of(d->k, matrix), other = transposed(s);
    return eg__graph_tensor(d->g, turned ? &other : &s, d->type, matrix + 1, 16);
}

static eg__dnn rows_of(const drawing *d, int64_t id)
{
    return eg__graph_tensor(d->g, &d->row, CUDNN_DATA_FLOAT, id, id == EG__ATTENTION_STATS ? d->k->align : 16);
}

static eg__dnn number(const drawing *d, int64_t id)
{
    return eg__graph_number(d->g, 4, CUDNN_DATA_FLOAT, id);
}

/* A new tensor of a formula of f32. */
static eg__dnn point(const drawing *d, cudnnPointwiseMode_t mode, const eg__dnn_shape *s, cudnnDataType_t type,
                     eg__dnn x, eg__dnn b)
{
    eg__dnn y = eg__graph_between(d->g, s, type);
    eg__graph_point(d->g, mode, CUDNN_DATA_FLOAT, x, b, NULL, y);
    return y;
}

static eg__dnn scores_of(const drawing *d, eg__dnn a, eg__dnn b)
{
    eg__dnn y = eg__graph_between(d->g, &d->scores, CUDNN_DATA_FLOAT);
    eg__graph_matmul(d->g, CUDNN_DATA_FLOAT, a, b, y);
    return y;
}

static eg__dnn reduced(const drawing *d, cudnnReduceTensorOp_t mode, eg__dnn x)
{
    eg__dnn y = eg__graph_between(d->g, &d->row, CUDNN_DATA_FLOAT);
    eg__graph_reduce(d->g, mode, CUDNN_DATA_FLOAT, x, y);
    return y;
}

/* -infinity where the key comes after the query. */
static eg__dnn hide(const drawing *d, eg__dnn x)
{
    if (!d->k->causal) {
        return x;
    }
    eg__dnn row = eg__graph_between(d->g, &d->scores, CUDNN_DATA_INT32);
    eg__dnn column = eg__graph_between(d->g, &d->scores, CUDNN_DATA_INT32);
    eg__dnn seen = eg__graph_between(d->g, &d->scores, CUDNN_DATA_BOOLEAN);
    eg__dnn y = eg__graph_between(d->g, &d->scores, CUDNN_DATA_FLOAT);
    eg__graph_index(d->g, 2, x, row);
    eg__graph_index(d->g, 3, x, column);
    eg__graph_point(d->g, CUDNN_POINTWISE_CMP_GE, CUDNN_DATA_BOOLEAN, row, column, NULL, seen);
    eg__graph_point(d->g, CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, x, number(d, EG__ATTENTION_HIDDEN), seen, y);
    return y;
}

static void draw_forward(const drawing *d)
{
    const cudnnDataType_t f32 = CUDNN_DATA_FLOAT;
    eg__dnn q = matrix(d, EG__ATTENTION_Q, false), k = matrix(d, EG__ATTENTION_K, true);
    eg__dnn v = matrix(d, EG__ATTENTION_V, false), y = matrix(d, EG__ATTENTION_Y, false);
    eg__dnn x = point(d, CUDNN_POINTWISE_MUL, &d->scores, f32, scores_of(d, q, k), number(d, EG__ATTENTION_SCALE));
    x = hide(d, x);
    eg__dnn top = reduced(d, CUDNN_REDUCE_TENSOR_MAX, x);
    eg__dnn less = point(d, CUDNN_POINTWISE_SUB, &d->scores, f32, x, top);
    eg__dnn power = point(d, CUDNN_POINTWISE_EXP, &d->scores, f32, less, NULL);
    eg__dnn sum = reduced(d, CUDNN_REDUCE_TENSOR_ADD, power);
    eg__dnn logarithm = point(d, CUDNN_POINTWISE_LOG, &d->row, f32, sum, NULL);
    eg__graph_point(d->g, CUDNN_POINTWISE_ADD, f32, top, logarithm, NULL, rows_of(d, EG__ATTENTION_STATS));
    eg__dnn weights = point(d, CUDNN_POINTWISE_DIV, &d->scores, d->type, power, sum);
    eg__graph_matmul(d->g, f32, weights, v, y);
}

/* a^T b into a matrix, where a is of scores. */
static void into_keys(const drawing *d, eg__dnn a, eg__dnn b, int to)
{
    eg__dnn turned = eg__graph_between(d->g, &d->turned, d->type);
    eg__graph_reshape(d->g, a, turned);
    eg__graph_matmul(d->g, CUDNN_DATA_FLOAT, turned, b, matrix(d, to, false));
}

static void draw_backward(const drawing *d)
{
    const cudnnDataType_t f32 = CUDNN_DATA_FLOAT;
    const eg__dnn_shape dense = eg__dnn_dense(4, (int64_t[]){d->k->b, d->k->h, d->k->t, d->k->v});
    const eg__dnn_shape keys = shape_of(d->k, EG__ATTENTION_K);
    eg__dnn q = matrix(d, EG__ATTENTION_Q, false), k = matrix(d, EG__ATTENTION_K, true);
    eg__dnn v = matrix(d, EG__ATTENTION_V, true), y = matrix(d, EG__ATTENTION_Y, false);
    eg__dnn dy = matrix(d, EG__ATTENTION_DY, false), scale = number(d, EG__ATTENTION_SCALE);
    eg__dnn sums = rows_of(d, EG__ATTENTION_SUMS);
    eg__dnn both = point(d, CUDNN_POINTWISE_MUL, &dense, f32, dy, y);
    eg__graph_point(d->g, CUDNN_POINTWISE_MUL, f32, reduced(d, CUDNN_REDUCE_TENSOR_ADD, both),
                    number(d, EG__ATTENTION_ONE), NULL, sums);
    eg__dnn x = point(d, CUDNN_POINTWISE_MUL, &d->scores, f32, scores_of(d, q, k), scale);
    x = hide(d, point(d, CUDNN_POINTWISE_SUB, &d->scores, f32, x, rows_of(d, EG__ATTENTION_STATS)));
    eg__dnn weights = point(d, CUDNN_POINTWISE_EXP, &d->scores, f32, x, NULL);
    into_keys(d, weights, dy, EG__ATTENTION_DV);
    eg__dnn slope = point(d, CUDNN_POINTWISE_SUB, &d->scores, f32, scores_of(d, dy, v), sums);
    slope = point(d, CUDNN_POINTWISE_MUL, &d->scores, f32, slope, weights);
    slope = point(d, CUDNN_POINTWISE_MUL, &d->scores, d->type, slope, scale);
    into_keys(d, slope, q, EG__ATTENTION_DK);
    eg__dnn upright = eg__graph_between(d->g, &keys, d->type);
    eg__graph_reshape(d->g, k, upright);
    eg__graph_matmul(d->g, f32, slope, upright, matrix(d, EG__ATTENTION_DQ, false));
}

void eg__attention_draw(eg__graph *g, const void *key)
{
    const eg__attention_key *k = key;
    drawing d = {g, k, eg__dnn_type(k->dtype), .scores = eg__dnn_dense(4, (int64_t[]){k->b, k->h, k->t, k->s}),
                 .row = eg__dnn_dense(4, (int64_t[]){k->b, k->h, k->t, 1})};
    const int64_t turned[4] = {k->b, k->h, k->s, k->t};
    d.turned = d.scores;
    memcpy(d.turned.size, turned, sizeof turned);
    d.turned.stride[2] = 1;
    d.turned.stride[3] = k->s;
    if (k->backward) {
        draw_backward(&d);
    } else {
        draw_forward(&d);
    }
}
