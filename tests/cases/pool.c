/* pool.c - cases of pooling. */
#include "tests/cases.h"

static eg_tensor *max_pool(eg_tensor *const *x, int n, void *user)
{
    (void)n;
    return eg_ndim(x[0]) == 3   ? eg_max_pool1d_with(x[0], user)
           : eg_ndim(x[0]) == 4 ? eg_max_pool2d_with(x[0], user)
                                : eg_max_pool3d_with(x[0], user);
}

static eg_tensor *avg_pool(eg_tensor *const *x, int n, void *user)
{
    (void)n;
    return eg_ndim(x[0]) == 3   ? eg_avg_pool1d_with(x[0], user)
           : eg_ndim(x[0]) == 4 ? eg_avg_pool2d_with(x[0], user)
                                : eg_avg_pool3d_with(x[0], user);
}

/* Smooth in x, so that the second derivative sees max_pool_grad and max_pool_take. */
CASE_FUNCTION(max_of_squares, eg_square(eg_max_pool2d_with(eg_square(x[0]), user)))

static eg_tensor *places(eg_tensor *const *x, int n, void *user)
{
    (void)n;
    eg_tensor *indices;
    eg_pool_options o = *(eg_pool_options *)user;
    o.indices = &indices;
    return eg_max_pool2d_with(x[0], &o) ? indices : NULL;
}

CASE_FUNCTION(adaptive_max, eg_adaptive_max_pool(x[0], *(eg_shape *)user))
CASE_FUNCTION(adaptive_avg, eg_adaptive_avg_pool(x[0], *(eg_shape *)user))
CASE_FUNCTION(unpool, eg_max_unpool(x[0], x[1], EG_SHAPE(5, 4)))

#define OPTIONS(name, ...) static eg_pool_options name = {.size = sizeof(eg_pool_options), __VA_ARGS__};
OPTIONS(k2, .kernel = 2)
OPTIONS(k3s2p1, .kernel = 3, .stride = 2, .padding = 1)
OPTIONS(k3s1same, .kernel = 3, .stride = 1, .padding = EG_SAME)
OPTIONS(k3s2same, .kernel = 3, .stride = 2, .padding = EG_SAME)
OPTIONS(k3s2ceil, .kernel = 3, .stride = 2, .padding = 1, .ceil_mode = true)
OPTIONS(k2d2, .kernel = 2, .stride = 1, .dilation = 2)
OPTIONS(k3s3p1, .kernel = 3, .padding = 1)
OPTIONS(k2s3, .kernel = 2, .stride = 3)
OPTIONS(uneven, .kernels = {3, 2}, .strides = {1, 2}, .pads = {{2, 0}, {0, 1}})
OPTIONS(excluded, .kernel = 3, .stride = 2, .padding = 1, .exclude_pad = true)
OPTIONS(wide, .kernels = {17, 18}, .strides = {5, 3}, .padding = 4)
OPTIONS(long_row, .kernels = {1, 40}, .strides = {1, 7})
static eg_shape whole = DIMS(1, 1), three_two = DIMS(3, 2), five = DIMS(5), cube = DIMS(2, 1, 3);

#define MAX "max_pool max_pool_grad"
#define AVG "avg_pool avg_pool_grad"
#define IN(...)                     \
    {                               \
        DIMS(__VA_ARGS__), -2, 2, 0 \
    }

EGT_CASES(pool, {MAX, "2x2", max_pool, {IN(2, 3, 6, 7)}, .user = &k2},
          {MAX, "integers", max_pool, {IN(2, 3, 6, 7)}, .flags = EGT_INTS | EGT_BOOL, .user = &k3s2p1},
          {"max_pool_places",
           "of integers",
           places,
           {IN(2, 3, 7, 6)},
           .flags = EGT_NO_GRAD | EGT_NO_FLOAT | EGT_INTS,
           .user = &k2},
          {MAX, "no batch", adaptive_max, {IN(3, 7, 5)}, .user = &three_two},
          {AVG, "no batch", adaptive_avg, {IN(3, 7, 5)}, .user = &three_two},
          {MAX, "3x3 s2 p1", max_pool, {IN(2, 3, 7, 6)}, .user = &k3s2p1},
          {MAX, "3x3 SAME", max_pool, {IN(1, 5, 5, 4)}, .user = &k3s1same},
          {MAX, "3x3 s2 SAME", max_pool, {IN(1, 5, 6, 5)}, .user = &k3s2same},
          {MAX, "ceil", max_pool, {IN(1, 2, 6, 8)}, .user = &k3s2ceil},
          {MAX, "dilated", max_pool, {IN(1, 2, 5, 6)}, .user = &k2d2},
          {MAX, "gaps", max_pool, {IN(1, 2, 8, 8)}, .user = &k2s3},
          {MAX, "stride 3", max_pool, {IN(1, 2, 8, 9)}, .user = &k3s3p1},
          {MAX, "uneven", max_pool, {IN(1, 2, 5, 6)}, .user = &uneven},
          {MAX, "line", max_pool, {IN(2, 3, 9)}, .user = &k3s2p1},
          {MAX, "volume", max_pool, {IN(1, 2, 4, 5, 4)}, .user = &k3s2p1},
          {MAX, "window of 306 cells", max_pool, {IN(1, 3, 20, 21)}, .flags = EGT_NO_HALF, .user = &wide},
          {MAX, "many channels", max_pool, {IN(1, 300, 4, 5)}, .flags = EGT_NO_HALF, .user = &k2},
          {MAX, "long rows", max_pool, {IN(1, 1, 2, 700)}, .flags = EGT_NO_HALF, .user = &k2},
          {MAX, "no images", max_pool, {IN(0, 3, 6, 6)}, .user = &k2},
          {MAX, "no cells", max_pool, {IN(2, 3, 0, 6)}, .user = &k2},
          {"max_pool_take", "squares", max_of_squares, {IN(1, 2, 5, 4)}, .flags = EGT_NO_HALF, .user = &k3s2p1},
          {"max_pool_take", "large squares", max_of_squares, {IN(1, 2, 18, 19)}, .flags = EGT_NO_HALF, .user = &wide},
          {"max_pool_places", "indices", places, {IN(2, 3, 7, 6)}, .flags = EGT_NO_GRAD | EGT_NO_HALF, .user = &k3s2p1},
          {MAX, "adaptive", adaptive_max, {IN(2, 3, 7, 5)}, .user = &three_two},
          {MAX, "adaptive line", adaptive_max, {IN(2, 2, 7)}, .user = &five},
          {MAX, "all", adaptive_max, {IN(2, 3, 4, 5)}, .user = &whole},
          {AVG, "2x2", avg_pool, {IN(2, 3, 6, 7)}, .user = &k2},
          {AVG, "3x3 s2 p1", avg_pool, {IN(2, 3, 7, 6)}, .user = &k3s2p1},
          {AVG, "excluded", avg_pool, {IN(2, 3, 7, 6)}, .user = &excluded},
          {AVG, "SAME", avg_pool, {IN(2, 3, 6, 5)}, .user = &k3s2same},
          {AVG, "ceil", avg_pool, {IN(1, 2, 6, 8)}, .user = &k3s2ceil},
          {AVG, "uneven", avg_pool, {IN(1, 2, 5, 6)}, .user = &uneven},
          {AVG, "line", avg_pool, {IN(2, 3, 9)}, .user = &k3s1same},
          {AVG, "volume", avg_pool, {IN(1, 2, 4, 5, 4)}, .user = &excluded},
          {AVG, "wide", avg_pool, {IN(1, 3, 20, 21)}, .flags = EGT_NO_HALF, .user = &wide},
          {AVG, "long rows", avg_pool, {IN(1, 2, 2, 700)}, .flags = EGT_NO_HALF, .user = &long_row},
          {AVG, "many channels", avg_pool, {IN(1, 300, 4, 5)}, .flags = EGT_NO_HALF, .user = &k2},
          {AVG, "no cells", avg_pool, {IN(2, 3, 6, 0)}, .user = &k2},
          {AVG, "adaptive", adaptive_avg, {IN(2, 3, 7, 5)}, .user = &three_two},
          {AVG, "adaptive volume", adaptive_avg, {IN(1, 2, 3, 2, 4)}, .user = &cube},
          {AVG, "all", adaptive_avg, {IN(2, 3, 4, 5)}, .user = &whole},
          {"scatter_add", "unpool", unpool, {IN(2, 2, 2, 3), {DIMS(2, 2, 2, 3), 0, 20, 1 + EG_I64}}, .skip = 2})
