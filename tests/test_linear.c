/* test_linear.c - matrix products beyond the sweep: words, every instruction set on every path, weights that
 * change under their packed copies, threads. */
#include <pthread.h>

#include "tests/egt.h"

#define OPS(...) ((eg_tensor *[]){__VA_ARGS__})

static eg_tensor *f32(int64_t rows, int64_t cols)
{
    return egt_random(EG_SHAPE(rows, cols), EG_F32, -1, 1);
}

/* The same call by the reference loops. */
static eg_tensor *reference(eg_tensor *a, eg_tensor *b)
{
    eg_debug("ref");
    eg_tensor *y = eg_matmul(a, b);
    eg_debug("");
    return y;
}

/* ---- words ------------------------------------------------------------------------------------ */

EGT(refusals)
{
    eg_tensor *a = f32(2, 3), *b = f32(4, 5), *v = eg_ones(EG_SHAPE(3), EG_F32);
    eg_tensor *s = eg_scalar(1, EG_F32);
    EGT_REFUSED(eg_matmul(a, b), EG_ESHAPE, "inner sizes differ: [2, 3] x [4, 5]");
    EGT_REFUSED(eg_matmul(s, a), EG_ESHAPE, "0-dim");
    EGT_REFUSED(eg_matmul(eg_ones(EG_SHAPE(2, 1, 3), EG_F32), eg_ones(EG_SHAPE(3, 3, 1), EG_F32)), EG_ESHAPE,
                "batch axes do not broadcast");
    EGT_REFUSED(eg_matmul(NULL, a), EG_EINVAL, "matmul");
    EGT_REFUSED(eg_dot(a, v), EG_ESHAPE, "two vectors: [2, 3] and [3]");
    EGT_REFUSED(eg_dot(v, eg_ones(EG_SHAPE(2), EG_F32)), EG_ESHAPE, "inner sizes");
    EGT_REFUSED(eg_outer(v, a), EG_ESHAPE, "outer");
    EGT_REFUSED(eg_outer(v, NULL), EG_EINVAL, "outer");
    EGT_REFUSED(eg_linear(a, b, NULL), EG_ESHAPE, "3 columns, weight [4, 5] needs 5");
    EGT_REFUSED(eg_linear(a, v, v), EG_ESHAPE, "bias is [3], must be 0-dim for a weight [3]");
    EGT_REFUSED(eg_linear(b, v, NULL), EG_ESHAPE, "5 columns, weight [1, 3]");
    EGT_REFUSED(eg_linear(a, s, NULL), EG_ESHAPE, "weight []");
    EGT_REFUSED(eg_linear(s, a, NULL), EG_ESHAPE, "0-dim");
    EGT_REFUSED(eg_linear(a, eg_ones(EG_SHAPE(4, 3), EG_F32), v), EG_ESHAPE, "must be [4]");
    EGT_REFUSED(eg_linear(a, eg_ones(EG_SHAPE(4, 3), EG_F32), s), EG_ESHAPE, "bias is []");
    EGT_REFUSED(eg_linear(a, NULL, NULL), EG_EINVAL, "weight");
    EGT_REFUSED(eg_linear(NULL, a, NULL), EG_EINVAL, "x");
    EGT_REFUSED(eg_diagonal(a, 0, 0, 0), EG_ESHAPE, "both axes are axis 0");
    EGT_REFUSED(eg_diagonal(a, 0, 0, 2), EG_ESHAPE, "axis 2 is outside rank 2");
    EGT_REFUSED(eg_diagonal(v, 0, 0, 1), EG_ESHAPE, "diagonal");
}

EGT(extreme_diagonals)
{
    eg_tensor *a = f32(3, 4);
    EGT_EQ(eg_numel(eg_diagonal(a, INT64_MIN, 0, 1)), 0);
    EGT_EQ(eg_numel(eg_diagonal(a, INT64_MAX, 0, 1)), 0);
    EGT_EQ(eg_numel(eg_diagonal(a, -2, 0, 1)), 1);
    EGT_EQ(eg_get(eg_diagonal(a, 3, 0, 1), 0), eg_get(a, 3));
}

/* ---- values ------------------------------------------------------------------------------------ */

/* Sizes around the borders between the ways of lib/cpu/matrix/product.c and around its blocks. */
static void all_sizes(double tolerance, eg_dtype dtype)
{
    static const int64_t sizes[][3] = {
        {1, 1, 1},     {4, 4, 4},     {20, 20, 20},  {21, 20, 20},   {3, 64, 42},    {3, 65, 42},
        {4, 80, 200},  {5, 80, 200},  {1, 3000, 9},  {9, 3000, 1},   {12, 100, 32},  {13, 100, 33},
        {96, 256, 64}, {97, 257, 65}, {200, 30, 31}, {8, 300, 1025}, {40, 513, 100}, {2, 1, 700},
        {700, 1, 2},   {1, 1, 70},    {70, 1, 1},    {1, 70, 1},     {6, 2, 1100},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t m = sizes[i][0], k = sizes[i][1], n = sizes[i][2];
        for (int way = 0; way < 6; way++) {
            EG_SCOPE {
                eg_tensor *a = egt_random(EG_SHAPE(way & 1 ? k : m, way & 1 ? m : k), dtype, -1, 1);
                eg_tensor *b = egt_random(EG_SHAPE(way & 2 ? n : k, way & 2 ? k : n), dtype, -1, 1);
                a = way & 1 ? eg_transpose(a, 0, 1) : a;
                b = way & 2 ? eg_transpose(b, 0, 1) : b;
                if (way & 4) { /* backwards: strides that are negative */
                    a = eg_slice(a, 0, EG_END, EG_END, -1);
                    b = eg_slice(b, 1, EG_END, EG_END, -1);
                }
                double d = egt_distance(eg_matmul(a, b), reference(a, b));
                if (!(d <= tolerance)) {
                    egt_fail(__FILE__, __LINE__, "%s, [%d, %d] x [%d, %d], way %d: off by %g", eg_cpu_isa(), (int)m,
                             (int)k, (int)k, (int)n, way, d);
                }
            }
        }
    }
}

EGT(every_instruction_set)
{
    static const char *const sets[] = {"base", "avx2", "avx512"};
    const char *best = eg_cpu_isa();
    int tried = 0;
    for (int i = 0; i < 3; i++) {
        if (eg_debug_isa(sets[i]) == EG_OK) {
            all_sizes(2e-5, EG_F32);
            all_sizes(1e-13, EG_F64);
            tried++;
        }
        eg_clear_error();
    }
    EGT_OK(eg_debug_isa(best));
    EGT_CHECK(tried > 0);
}

EGT(halves)
{
    all_sizes(1e-2, EG_BF16);
    all_sizes(2e-3, EG_F16);
}

/* Matrices of a batch from the last to the first, and ones that share rows. */
EGT(batches_of_any_strides)
{
    for (int way = 0; way < 8; way++) {
        EG_SCOPE {
            const eg_dtype dtype = way / 4 ? EG_F64 : EG_F32;
            eg_tensor *a = egt_random(EG_SHAPE(3, 70, 80), dtype, -1, 1);
            eg_tensor *b = egt_random(EG_SHAPE(3, 80, 90), dtype, -1, 1);
            const int64_t strides[] = {80, 80, 1};
            snprintf(egt_case, sizeof egt_case, "batches of any strides, %d", way);
            a = way % 4 == 0   ? eg_flip(a, EG_AXES(0))
                : way % 4 == 3 ? eg_as_strided(a, EG_SHAPE(3, 70, 80), strides, 0)
                               : a;
            b = way % 4 == 1 ? eg_flip(b, EG_AXES(0)) : way % 4 == 2 ? eg_flip(b, EG_AXES(0, 1, 2)) : b;
            eg_tensor *y = eg_matmul(a, b), *want = eg_matmul(eg_contiguous(a), eg_contiguous(b));
            EGT_CHECK(y && egt_distance(y, want) < 1e-5);
        }
    }
}

EGT(expanded_operands)
{
    eg_tensor *row = f32(1, 40), *a = eg_expand(row, EG_SHAPE(30, 40)), *b = f32(40, 50);
    EGT_CHECK(egt_distance(eg_matmul(a, b), reference(a, b)) < 1e-5);
    eg_tensor *c = eg_expand(f32(40, 1), EG_SHAPE(40, 50));
    EGT_CHECK(egt_distance(eg_matmul(a, c), reference(a, c)) < 1e-5);
    eg_tensor *stack = eg_expand(f32(30, 40), EG_SHAPE(5, 30, 40));
    eg_tensor *many = egt_random(EG_SHAPE(5, 40, 50), EG_F32, -1, 1);
    EGT_CHECK(egt_distance(eg_matmul(stack, many), reference(stack, many)) < 1e-5);
}

/* Heads of attention as they come: [N, T, H, D] seen as [N, H, T, D]. */
EGT(heads)
{
    eg_tensor *q = eg_permute(egt_random(EG_SHAPE(2, 40, 3, 16), EG_F32, -1, 1), EG_AXES(0, 2, 1, 3));
    eg_tensor *k = eg_permute(egt_random(EG_SHAPE(2, 50, 3, 16), EG_F32, -1, 1), EG_AXES(0, 2, 3, 1));
    EGT_CHECK(egt_distance(eg_matmul(q, k), reference(q, k)) < 1e-5);
}

EGT(not_a_number_spreads)
{
    eg_tensor *a = f32(30, 40), *b = f32(40, 50);
    eg_set(a, 5 * 40 + 3, (double)NAN);
    eg_tensor *y = eg_matmul(a, b);
    for (int64_t i = 0; i < eg_numel(y); i++) {
        EGT_EQ(isnan(eg_get(y, i)) != 0, i / 50 == 5);
    }
    eg_tensor *(*const functions[])(eg_tensor *) = {eg_relu, eg_tanh, eg_sigmoid, eg_gelu, eg_gelu_tanh, eg_silu};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        eg_tensor *r = eg_linear(a, eg_transpose(b, 0, 1), NULL, .activation = functions[i]);
        EGT_CHECK(isnan(eg_get(r, 5 * 50)));
        EGT_CHECK(egt_distance(r, functions[i](reference(a, b))) < 1e-5);
    }
}

EGT(same_numbers_every_time)
{
    eg_tensor *a = f32(70, 300), *b = f32(300, 90);
    EGT_EQ(egt_distance(eg_matmul(a, b), eg_matmul(a, b)), 0);
}

EGT(one_thread_or_all)
{
    eg_tensor *a = f32(130, 70), *b = f32(70, 110), *d = eg_cast(a, EG_F64), *e = eg_cast(b, EG_F64);
    int all = eg_threads();
    eg_tensor *y = eg_matmul(a, b), *z = eg_matmul(d, e);
    EGT_OK(eg_set_threads(1));
    EGT_CHECK(egt_distance(eg_matmul(a, b), y) < 1e-5);
    EGT_CHECK(egt_distance(eg_matmul(d, e), z) < 1e-13);
    EGT_OK(eg_set_threads(all));
}

/* ---- weights and their packed copies ------------------------------------------------------------ */

static eg_tensor *plain_linear(eg_tensor *x, eg_tensor *w, eg_tensor *b)
{
    return eg_add(reference(x, eg_transpose(w, 0, 1)), b);
}

/* Enough uses that a packed copy serves, at several numbers of rows. */
static void use_often(eg_tensor *w, eg_tensor *b)
{
    for (int i = 0; i < 12; i++) {
        EG_SCOPE {
            eg_tensor *x = f32(i % 3 == 0 ? 20 : 33, eg_size(w, 1));
            EGT_CHECK(egt_distance(eg_linear(x, w, b), plain_linear(x, w, b)) < 1e-5);
        }
    }
}

EGT(weights_that_change)
{
    eg_tensor *w = f32(60, 80), *b = egt_random(EG_SHAPE(60), EG_F32, -1, 1);
    use_often(w, b);
    eg_set(w, 17, 5);
    use_often(w, b);
    eg_add_scalar_(w, 0.25);
    use_often(w, b);
    eg_tensor *view = eg_slice(w, 0, 10, 50, 1), *bias = eg_slice(b, 0, 10, 50, 1);
    use_often(view, bias);
    eg_mul_scalar_(view, 2);
    use_often(view, bias);
    use_often(w, b);
    use_often(eg_slice(w, 0, 20, 60, 1), eg_slice(b, 0, 20, 60, 1));
    use_often(eg_slice(w, 1, 5, 70, 1), b);
    use_often(eg_slice(w, 0, EG_END, EG_END, -1), b);
}

EGT(weights_that_come_and_go)
{
    for (int i = 0; i < 40; i++) {
        EG_SCOPE {
            eg_tensor *w = f32(40, 50), *b = egt_random(EG_SHAPE(40), EG_F32, -1, 1), *x = f32(20, 50);
            for (int k = 0; k < 4; k++) {
                EGT_CHECK(egt_distance(eg_linear(x, w, b), plain_linear(x, w, b)) < 1e-5);
            }
        }
    }
}

/* Memory of the caller's may change without telling. */
EGT(wrapped_weights)
{
    static float data[40 * 50];
    eg_tensor *w = eg_wrap(data, EG_SHAPE(40, 50), EG_F32, NULL, NULL);
    eg_tensor *b = eg_zeros(EG_SHAPE(40), EG_F32), *x = f32(20, 50);
    for (int i = 0; i < 10; i++) {
        for (int k = 0; k < 40 * 50; k++) {
            data[k] = (float)((k * 7 + i) % 11);
        }
        EGT_CHECK(egt_distance(eg_linear(x, w, b), plain_linear(x, w, b)) < 1e-5);
    }
}

EGT(strided_bias)
{
    eg_tensor *x = f32(20, 30), *w = f32(40, 30);
    eg_tensor *b = eg_select(f32(40, 3), 1, 1);
    eg_tensor *z = plain_linear(x, w, b);
    EGT_CHECK(egt_distance(eg_linear(x, w, b), z) < 1e-5);
    EGT_CHECK(egt_distance(eg_linear(x, w, b, .activation = eg_tanh), eg_tanh(z)) < 1e-5);
    b = eg_expand(eg_ones(EG_SHAPE(1), EG_F32), EG_SHAPE(40));
    EGT_CHECK(egt_distance(eg_linear(x, w, b, .activation = eg_relu), eg_relu(plain_linear(x, w, b))) < 1e-5);
}

typedef struct work {
    eg_tensor *w, *b, *x, *want;
    bool good;
} work;

static void *use_shared(void *user)
{
    work *k = user;
    k->good = true;
    for (int i = 0; i < 50; i++) {
        EG_SCOPE {
            eg_tensor *x = i % 2 ? k->x : eg_slice(k->x, 0, 0, 20, 1);
            eg_tensor *want = i % 2 ? k->want : eg_slice(k->want, 0, 0, 20, 1);
            k->good = k->good && egt_distance(eg_linear(x, k->w, k->b), want) < 1e-5;
        }
    }
    return NULL;
}

EGT(threads_share_weights)
{
    eg_tensor *w = f32(60, 80), *b = egt_random(EG_SHAPE(60), EG_F32, -1, 1), *x = f32(40, 80);
    work k[3];
    pthread_t t[3];
    for (int i = 0; i < 3; i++) {
        k[i] = (work){w, b, x, plain_linear(x, w, b), false};
        EGT_EQ(pthread_create(&t[i], NULL, use_shared, &k[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(t[i], NULL);
    }
    EGT_CHECK(k[0].good && k[1].good && k[2].good);
}

/* A fused activation changes neither what is computed nor whether a walk can follow. */
EGT(activation_with_and_without_tape)
{
    eg_tensor *(*const functions[])(eg_tensor *) = {eg_relu,      eg_tanh, eg_sigmoid, eg_gelu,
                                                    eg_gelu_tanh, eg_silu, eg_exp};
    eg_tensor *x = f32(20, 30), *w = f32(40, 30), *b = egt_random(EG_SHAPE(40), EG_F32, -1, 1);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        EG_SCOPE {
            eg_tensor *y = eg_linear(x, w, b, .activation = functions[i]);
            eg_tape tape = eg_tape_open();
            eg_tape_watch(tape, w);
            eg_tensor *z = eg_linear(x, w, b, .activation = functions[i]), *g = NULL;
            eg_tensor *loss = eg_sum(z);
            EGT_OK(eg_tape_gradients(tape, loss, OPS(w), 1, &g));
            EGT_CHECK(egt_distance(y, z) < 1e-5);
            EGT_CHECK(egt_distance(y, functions[i](plain_linear(x, w, b))) < 1e-5);
            EGT_CHECK(eg_numel(g) == 40 * 30);
        }
    }
}

/* ---- weights used again and again -------------------------------------------------------------- */

/* The loss of a loop over shared operands. */
static eg_tensor *loop_loss(eg_tensor *const *t, int uses)
{
    eg_tensor *h = t[0], *sum = NULL;
    for (int i = 0; i < uses; i++) {
        h = eg_tanh(eg_linear(h, t[1], t[2]));
        eg_tensor *y = eg_matmul(eg_unsqueeze(h, 1), t[3]); /* [N, 1, H] x [N, H, H] */
        y = eg_sum(eg_mul(eg_matmul(y, t[4]), eg_unsqueeze(h, 1)));
        sum = sum ? eg_add(sum, y) : y;
    }
    return sum;
}

static eg_tensor *loop_for_check(eg_tensor *const *t, int n, void *user)
{
    (void)n;
    return loop_loss(t, *(int *)user);
}

EGT(products_are_added_to_gradients)
{
    int uses = 3;
    enum { H = 5, N = 4 };
    eg_tensor *t[5] = {egt_random(EG_SHAPE(N, H), EG_F64, -1, 1), egt_random(EG_SHAPE(H, H), EG_F64, -1, 1),
                       egt_random(EG_SHAPE(H), EG_F64, -1, 1), egt_random(EG_SHAPE(N, H, H), EG_F64, -1, 1),
                       egt_random(EG_SHAPE(H, H), EG_F64, -1, 1)};
    EGT_OK(eg_gradcheck(loop_for_check, t, 5, &uses));
    EGT_OK(eg_gradcheck(loop_for_check, t, 5, &uses, .second = true));
    /* Large enough for the blocked and oneDNN's ways, against f64. */
    const eg_shape shapes[5] = {EG_SHAPE(40, 96), EG_SHAPE(96, 96), EG_SHAPE(96), EG_SHAPE(40, 96, 96),
                                EG_SHAPE(96, 96)};
    eg_tensor *narrow[5], *wide[5], *g[5], *want[5];
    for (int i = 0; i < 5; i++) {
        narrow[i] = egt_random(shapes[i], EG_F32, -0.1, 0.1);
        wide[i] = eg_cast(narrow[i], EG_F64);
    }
    for (int k = 0; k < 2; k++) {
        eg_tensor *const *x = k ? wide : narrow;
        eg_tape tape = eg_tape_open();
        for (int i = 0; i < 5; i++) {
            EGT_OK(eg_tape_watch(tape, x[i]));
        }
        EGT_OK(eg_tape_gradients(tape, loop_loss(x, uses), x, 5, k ? want : g));
    }
    for (int i = 0; i < 5; i++) {
        double most = eg_item(eg_max(eg_abs(want[i])));
        EGT_CHECK(eg_item(eg_max(eg_abs(eg_sub(eg_cast(g[i], EG_F64), want[i])))) < 1e-5 * most);
    }
}

EGT(a_product_added_to_a_gradient_is_looked_at_too)
{
    /* d/dw of sum(x w) twice: the second product overflows, whichever comes first in the walk. */
    eg_tensor *w = egt_random(EG_SHAPE(4, 4), EG_F32, 0.5, 1), *dw;
    eg_tensor *x = eg_ones(EG_SHAPE(4, 4), EG_F32), *huge = eg_full(EG_SHAPE(4, 4), 3e38, EG_F32);
    EGT_OK(eg_debug("nan"));
    for (int first = 0; first < 2; first++) {
        eg_tape tape = eg_tape_open();
        eg_tape_watch(tape, w);
        eg_tensor *small = eg_mul_scalar(w, 1e-3);
        eg_tensor *a = eg_sum(eg_matmul(first ? huge : x, small)), *b = eg_sum(eg_matmul(first ? x : huge, small));
        EGT_REFUSED(eg_tape_gradients(tape, eg_add(eg_mul_scalar(a, 1e-3), eg_mul_scalar(b, 1e-3)), &w, 1, &dw,
                                      .dy = eg_scalar(1e4, EG_F32)),
                    EG_EUSER, "non-finite");
    }
    EGT_OK(eg_debug(NULL));
}

/* ---- integers and bools ------------------------------------------------------------------------ */

/* A product as written on paper, in the arithmetic of the dtype. */
static void expect_product(eg_tensor *a, eg_tensor *b, eg_tensor *y)
{
    const int64_t m = eg_size(a, 0), k = eg_size(a, 1), n = eg_size(b, 1);
    const eg_dtype dtype = eg_dtype_of(a);
    a = eg_contiguous(eg_cast(a, EG_I64)), b = eg_contiguous(eg_cast(b, EG_I64));
    eg_tensor *want = eg_zeros(EG_SHAPE(m, n), EG_I64);
    const uint64_t *p = eg_data(a), *q = eg_data(b);
    uint64_t *to = eg_data_mut(want);
    for (int64_t i = 0; i < m * n; i++) {
        for (int64_t l = 0; l < k; l++) {
            const uint64_t term = p[i / n * k + l] * q[l * n + i % n];
            to[i] = dtype == EG_BOOL ? to[i] | term : to[i] + term;
        }
    }
    EGT_EQ(eg_dtype_of(y), dtype);
    EGT_EQ(egt_distance(eg_eq(y, eg_cast(want, dtype)), eg_ones(EG_SHAPE(m, n), EG_BOOL)), 0);
}

/* Exact, and around as the dtype is; bools or over and, as NumPy's. */
EGT(products_of_integers)
{
    static const eg_dtype kinds[] = {EG_I64, EG_I32, EG_U8, EG_BOOL};
    static const double most[] = {9e18, 2e9, 255, 1.6};
    static const int64_t sizes[][3] = {{3, 5, 4}, {1, 40, 1}, {37, 66, 130}};
    for (int k = 0; k < 4; k++) {
        for (int s = 0; s < 3; s++) {
            const int64_t *z = sizes[s];
            eg_tensor *a = eg_cast(egt_random(EG_SHAPE(z[0], z[1]), EG_F64, k < 2 ? -most[k] : 0, most[k]), kinds[k]);
            eg_tensor *b = eg_cast(egt_random(EG_SHAPE(z[2], z[1]), EG_F64, k < 2 ? -most[k] : 0, most[k]), kinds[k]);
            if (kinds[k] == EG_BOOL) { /* few that are true */
                a = eg_gt_scalar(egt_random(EG_SHAPE(z[0], z[1]), EG_F64, 0, 1), 0.8);
                b = eg_gt_scalar(egt_random(EG_SHAPE(z[2], z[1]), EG_F64, 0, 1), 0.8);
            }
            eg_tensor *t = eg_transpose(b, 0, 1);
            expect_product(a, t, eg_matmul(a, t));
            expect_product(a, t, eg_matmul(a, eg_contiguous(t)));
            expect_product(a, t, eg_linear(a, b, NULL));
            expect_product(a, t, reference(a, t));
            EGT_EQ(egt_distance(eg_matmul(eg_select(a, 0, 0), t), eg_select(eg_matmul(a, t), 0, 0)), 0);
        }
    }
    eg_tensor *far = eg_from(EG_SHAPE(2), EG_I64, ((const int64_t[]){((int64_t)1 << 53) + 1, 1}));
    EGT_EQ(*(const int64_t *)eg_data(eg_dot(far, eg_ones(EG_SHAPE(2), EG_I64))), ((int64_t)1 << 53) + 2);
    EGT_EQ(eg_item(eg_dot(eg_full(EG_SHAPE(2), 200, EG_U8), eg_ones(EG_SHAPE(2), EG_U8))), 144);
    EGT_EQ(eg_dtype_of(eg_matmul(eg_ones(EG_SHAPE(2, 2), EG_U8), eg_ones(EG_SHAPE(2, 2), EG_I32))), EG_I32);
    EGT_EQ(eg_dtype_of(eg_matmul(eg_ones(EG_SHAPE(2, 2), EG_BOOL), eg_ones(EG_SHAPE(2, 2), EG_F16))), EG_F16);
}

/* f32 is added up as f64 is and rounded once, whatever the number of threads and wherever the vectors begin. */
EGT(products_of_two_vectors_are_rounded_once)
{
    static const int64_t sizes[] = {1, 7, 64, 4095, 4096, 4097, 300001};
    const int threads = eg_threads();
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) {
        eg_tensor *a = eg_add_scalar(f32(1, sizes[i] + 1), 100), *b = f32(1, sizes[i] + 1);
        a = eg_slice(eg_select(a, 0, 0), 0, 1, EG_END, 1);
        b = eg_slice(eg_select(b, 0, 0), 0, 1, EG_END, 1);
        const double want = eg_item(eg_dot(eg_cast(a, EG_F64), eg_cast(b, EG_F64)));
        for (int n = 1; n <= 3; n++) {
            EGT_OK(eg_set_threads(n));
            EGT_EQ(eg_item(eg_dot(a, b)), (double)(float)want);
            EGT_EQ(eg_item(eg_dot(eg_cast(a, EG_F64), eg_cast(b, EG_F64))), want);
        }
        EGT_OK(eg_set_threads(threads));
        EGT_NEAR(want, eg_item(eg_sum(eg_mul(eg_cast(a, EG_F64), eg_cast(b, EG_F64)))), 1e-11);
    }
}

EGT(linear_layers_of_integers)
{
    eg_tensor *x = eg_cast(egt_random(EG_SHAPE(2, 3, 5), EG_F64, -9, 9), EG_I32);
    eg_tensor *w = eg_cast(egt_random(EG_SHAPE(4, 5), EG_F64, -9, 9), EG_I32), *b = eg_arange(1, 5, 1, EG_I32);
    eg_tensor *y = eg_linear(x, w, b), *z = eg_linear(eg_cast(x, EG_F64), eg_cast(w, EG_F64), eg_cast(b, EG_F64));
    EGT_EQ(eg_dtype_of(y), EG_I32);
    EGT_EQ(egt_distance(eg_cast(y, EG_F64), z), 0);
    EGT_EQ(egt_distance(eg_cast(eg_linear(x, w, b, .activation = eg_relu), EG_F64), eg_relu(z)), 0);
    EGT_EQ(eg_ndim(eg_linear(eg_select(eg_select(x, 0, 0), 0, 0), w, b)), 1);
    EGT_EQ(eg_dtype_of(eg_linear(x, w, eg_cast(b, EG_F32))), EG_F32);
    EGT_REFUSED(eg_linear(x, w, eg_ones(EG_SHAPE(3), EG_I32)), EG_ESHAPE, "bias is [3], must be [4]");
    EGT_REFUSED(eg_linear(x, eg_ones(EG_SHAPE(4, 6), EG_I32), NULL), EG_ESHAPE, "inner sizes differ");
}

/* oneDNN multiplies bf16 in pairs along k: what lies behind a line does not count. */
EGT(bf16_lines_with_gaps_of_odd_length)
{
    eg_tensor *x = eg_ones(EG_SHAPE(4, 4), EG_BF16);
    EGT_OK(eg_set(x, 2, (double)INFINITY));
    eg_tensor *w = eg_full(EG_SHAPE(2, 1), 1.75, EG_BF16), *y = eg_linear(eg_slice(x, 1, 2, 3, 1), w, NULL);
    EGT_CHECK(isinf(eg_get(y, 0)) && isinf(eg_get(y, 1)));
    EGT_EQ(eg_get(y, 2), 1.75);
    eg_tensor *wide = eg_full(EG_SHAPE(2, 6), (double)NAN, EG_BF16);
    eg_tensor *part = eg_slice(wide, 1, 1, 4, 1);
    EGT_CHECK(eg_copy_(part, eg_ones(EG_SHAPE(2, 3), EG_BF16)) != NULL);
    y = eg_linear(eg_slice(x, 1, 0, 3, 1), part, NULL);
    EGT_CHECK(isinf(eg_get(y, 0)));
    EGT_EQ(eg_get(y, 7), 3);
    part = eg_slice(eg_ones(EG_SHAPE(2, 7, 3), EG_BF16), 1, 2, 5, 1);
    EGT_OK(eg_set(part, 14, (double)INFINITY));
    w = eg_ones(EG_SHAPE(3, 3), EG_BF16);
    EGT_CHECK(isinf(eg_get(eg_linear(part, w, NULL), 12)) && isinf(eg_get(eg_matmul(part, w), 12)));
}

/* Nor does what lies behind a matrix of a batch. */
EGT(bf16_matrices_with_gaps_of_odd_length)
{
    eg_tensor *a = eg_ones(EG_SHAPE(2, 3, 3), EG_BF16), *b = eg_ones(EG_SHAPE(2, 4, 17), EG_BF16);
    for (int64_t i = 2; i < 18; i += 3) {
        EGT_OK(eg_set(a, i, (double)INFINITY));
    }
    eg_tensor *part = eg_slice(b, 1, 0, 3, 1);
    EGT_CHECK(eg_item(eg_all(eg_isinf(eg_matmul(a, part)))) == 1);
    EGT_CHECK(eg_item(eg_all(eg_isinf(eg_matmul(a, eg_slice(part, 0, 0, 1, 1))))) == 1);
    eg_tensor *turned = eg_matmul(eg_transpose(part, 1, 2), eg_transpose(a, 1, 2));
    EGT_CHECK(turned && eg_item(eg_all(eg_isinf(turned))) == 1);
    a = eg_slice(eg_full(EG_SHAPE(2, 4, 3), (double)NAN, EG_BF16), 1, 0, 3, 1);
    EGT_CHECK(eg_copy_(a, eg_full(EG_SHAPE(2, 3, 3), 1, EG_BF16)) != NULL);
    EGT_EQ(eg_item(eg_min(eg_matmul(a, part))), 3);
}

/* A weight of f64 is never packed: however often it is used, its products have the same bits. */
EGT(products_of_f64_stay_the_same)
{
    eg_tensor *x = egt_random(EG_SHAPE(8, 300), EG_F64, -1, 1), *b = egt_random(EG_SHAPE(300, 400), EG_F64, -1, 1);
    eg_tensor *w = egt_random(EG_SHAPE(400, 300), EG_F64, -1, 1), *y[2] = {eg_matmul(x, b), eg_linear(x, w, NULL)};
    for (int again = 0; again < 4; again++) {
        EGT_EQ(egt_distance(eg_matmul(x, b), y[0]), 0);
        EGT_EQ(egt_distance(eg_linear(x, w, NULL), y[1]), 0);
    }
}

/* A weight [in] is one output without its axis. */
EGT(linear_to_one_number)
{
    eg_tensor *x = egt_random(EG_SHAPE(3, 2, 5), EG_F64, -1, 1), *w = egt_random(EG_SHAPE(1, 5), EG_F64, -1, 1);
    eg_tensor *line = eg_select(w, 0, 0), *b = eg_scalar(0.5, EG_F64), *row = eg_select(eg_select(x, 0, 1), 0, 0);
    eg_tensor *all = eg_squeeze(eg_linear(x, w, eg_full(EG_SHAPE(1), 0.5, EG_F64)), EG_AXES(-1));
    EGT_EQ(eg_ndim(eg_linear(x, line, b)), 2);
    EGT_CHECK(egt_distance(eg_linear(x, line, b), all) < 1e-12);
    EGT_CHECK(egt_distance(eg_linear(x, line, NULL), eg_sub_scalar(all, 0.5)) < 1e-12);
    EGT_CHECK(egt_distance(eg_linear(x, line, b, .activation = eg_tanh), eg_tanh(all)) < 1e-12);
    EGT_CHECK(egt_distance(eg_linear(x, line, b, .activation = eg_mish), eg_mish(all)) < 1e-12);
    EGT_EQ(eg_ndim(eg_linear(row, line, b)), 0);
    EGT_NEAR(eg_item(eg_linear(row, line, b)), eg_get(all, 2), 1e-12);
}
