/* test_sparse_product.c - products and convolutions with pruned weights, which go their own way: against the reference,
 * in odd sizes and layouts, with what is not finite, and after the weight has changed. */
#include "tests/egt.h"

static eg_tensor *weight(int64_t n, int64_t k, double density)
{
    eg_tensor *w = egt_random(EG_SHAPE(n, k), EG_F32, -1, 1);
    EGT_OK(eg_prune(((eg_parameters){&w, NULL, 1}), .density = density));
    return w;
}

/* The same by the reference loops. */
static void as_reference(eg_tensor *(*f)(eg_tensor *x, eg_tensor *w, eg_tensor *b), eg_tensor *x, eg_tensor *w,
                         eg_tensor *b)
{
    EG_SCOPE {
        eg_tensor *y = f(x, w, b), *again = f(x, w, b);
        EGT_OK(eg_debug("ref"));
        eg_tensor *r = f(x, w, b);
        EGT_OK(eg_debug(NULL));
        EGT_CHECK(egt_distance(y, r) < 1e-5);
        EGT_CHECK(egt_same_bits(eg_contiguous(y), eg_contiguous(again))); /* whether or not it had been used before */
    }
}

static eg_tensor *relu_linear(eg_tensor *x, eg_tensor *w, eg_tensor *b)
{
    return eg_relu(eg_linear(x, w, b));
}

static eg_tensor *cells(eg_tensor *x, eg_tensor *w, eg_tensor *b)
{
    return eg_conv2d(x, eg_reshape(w, EG_SHAPE(eg_size(w, 0), eg_size(w, 1), 1, 1)), b);
}

EGT(linear_layers_of_any_size)
{
    static const int rows[] = {1, 31, 32, 33, 48, 63, 64, 65, 100, 130},
                     sides[][2] = {{32, 32}, {40, 33}, {257, 71}, {33, 300}};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
            eg_tensor *w = weight(sides[i][0], sides[i][1], k % 2 ? 0.1 : 0.2);
            eg_tensor *x = egt_random(EG_SHAPE(rows[k], sides[i][1]), EG_F32, -1, 1);
            as_reference(relu_linear, x, w, k % 3 ? egt_random(EG_SHAPE(sides[i][0]), EG_F32, -1, 1) : NULL);
        }
    }
}

EGT(rows_and_weights_as_they_lie)
{
    eg_tensor *w = weight(64, 96, 0.1), *x = egt_random(EG_SHAPE(96, 80), EG_F32, -1, 1);
    as_reference(relu_linear, eg_transpose(x, 0, 1), w, NULL);
    as_reference(relu_linear, eg_slice(egt_random(EG_SHAPE(160, 96), EG_F32, -1, 1), 0, 0, 160, 2), w, NULL);
    as_reference(relu_linear, egt_random(EG_SHAPE(4, 5, 3, 96), EG_F32, -1, 1), w, NULL);
    as_reference(relu_linear, eg_transpose(x, 0, 1), eg_slice(weight(70, 96, 0.1), 0, 3, 67, 1), NULL);
    as_reference(relu_linear, eg_transpose(x, 0, 1), eg_slice(weight(64, 100, 0.1), 1, 2, 98, 1), NULL);
    as_reference(relu_linear, eg_transpose(x, 0, 1), eg_transpose(weight(96, 64, 0.1), 0, 1), NULL);
}

EGT(convolutions_of_single_cells)
{
    for (int k = 0; k < 3; k++) {
        eg_tensor *x = egt_random(EG_SHAPE(3, 48, 7, 5 + k), EG_F32, -1, 1);
        as_reference(cells, k == 1 ? eg_channels_last(x) : x, weight(40, 48, 0.15),
                     k ? egt_random(EG_SHAPE(40), EG_F32, -1, 1) : NULL);
    }
}

/* Zeros are multiplied too: with infinity that is NaN. */
EGT(what_is_not_finite)
{
    eg_tensor *w = weight(64, 64, 0.1), *x = egt_random(EG_SHAPE(300, 64), EG_F32, -1, 1);
    EGT_OK(eg_set(x, 70 * 64 + 5, INFINITY));
    EGT_OK(eg_set(x, 200 * 64 + 60, NAN));
    as_reference(relu_linear, x, w, NULL);
    eg_tensor *y = eg_linear(x, w, NULL);
    double nan = 0;
    for (int i = 0; i < 64; i++) {
        nan += isnan(eg_get(y, 70 * 64 + i));
        EGT_CHECK(isnan(eg_get(y, 200 * 64 + i)) && !isnan(eg_get(y, 71 * 64 + i)));
    }
    EGT_EQ(nan, eg_get(eg_sum(eg_eq_scalar(eg_select(w, 1, 5), 0)), 0));
}

/* What is kept beside it is of the weight as it is now: thinner, other, no longer thin. */
EGT(a_weight_that_changes)
{
    eg_tensor *w = weight(64, 64, 0.2), *x = egt_random(EG_SHAPE(100, 64), EG_F32, -1, 1);
    as_reference(relu_linear, x, w, NULL);
    EGT_OK(eg_prune(((eg_parameters){&w, NULL, 1}), .density = 0.05));
    as_reference(relu_linear, x, w, NULL);
    EGT_CHECK(eg_mul_(w, eg_scalar(3, EG_F32)));
    as_reference(relu_linear, x, w, NULL);
    EGT_OK(eg_copy_(w, egt_random(EG_SHAPE(64, 64), EG_F32, -1, 1)) ? EG_OK : EG_EINVAL);
    as_reference(relu_linear, x, w, NULL);
    EGT_OK(eg_prune(((eg_parameters){&w, NULL, 1}), .density = 1e-9));
    as_reference(relu_linear, x, w, NULL);
}

EGT(bits_do_not_depend_on_threads)
{
    const int threads = eg_threads();
    eg_tensor *w = weight(200, 150, 0.15), *x = egt_random(EG_SHAPE(500, 150), EG_F32, -1, 1), *first = NULL;
    for (int t = 1; t <= 5; t++) {
        EGT_OK(eg_set_threads(t));
        eg_tensor *y = eg_linear(x, w, NULL);
        first = first ? first : y;
        EGT_CHECK(egt_same_bits(first, y));
    }
    EGT_OK(eg_set_threads(threads));
}

EGT(gradients_are_those_of_any_product)
{
    eg_tensor *w = eg_parameter(weight(64, 64, 0.1)), *x = eg_parameter(egt_random(EG_SHAPE(50, 64), EG_F32, -1, 1));
    eg_tensor *asked[] = {x, w}, *g[2][2];
    for (int ref = 0; ref < 2; ref++) {
        EGT_OK(eg_debug(ref ? "ref" : NULL));
        eg_tape tape = eg_tape_open();
        eg_tensor *loss = eg_sum(eg_square(eg_linear(x, w, NULL)));
        EGT_OK(eg_tape_gradients(tape, loss, asked, 2, g[ref]));
    }
    EGT_OK(eg_debug(NULL));
    EGT_CHECK(egt_distance(g[0][0], g[1][0]) < 1e-4 && egt_distance(g[0][1], g[1][1]) < 1e-4);
    eg_release(w);
    eg_release(x);
}

static bool multiply(void *user)
{
    eg_tensor **in = user;
    bool done = false;
    EG_SCOPE {
        eg_tensor *fresh = eg_copy(in[1]); /* of which nothing is kept */
        done = fresh && eg_linear(in[0], fresh, NULL);
    }
    return done;
}

EGT(no_memory)
{
    eg_tensor *in[2] = {egt_random(EG_SHAPE(100, 64), EG_F32, -1, 1), weight(64, 64, 0.1)};
    EGT_CHECK(egt_fail_allocations(multiply, in) > 0);
}
