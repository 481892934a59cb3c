/* test_cuda_matmul.c - products on a CUDA device as the sweep does not see them: how many calls of
 * cuBLASLt they take, plans that are kept, modes of arithmetic, what goes wrong. */
#include <cublas_api.h>
#include <pthread.h>

#include "tests/cuda/module.h"

static eg_tensor *random_of(eg_shape shape, eg_dtype dtype)
{
    return egt_random(shape, dtype, -1, 1);
}

static eg_tensor *there(eg_tensor *x)
{
    return eg_to(x, cuda(0));
}

static eg_tensor *here(eg_tensor *x)
{
    return eg_to(x, eg_cpu());
}

/* How far the device's result is from the CPU's. */
static double apart(eg_tensor *on_device, eg_tensor *on_cpu)
{
    eg_tensor *got = here(on_device);
    EGT_CHECK(got && on_cpu);
    return egt_distance(got, on_cpu);
}

static int64_t heuristics(void)
{
    return FAKE(eg_fake_read)().heuristics;
}

static int64_t products(void)
{
    return FAKE(eg_fake_read)().products;
}

/* ---- before the library was ever needed ---------------------------------------------------------
 */

EGT(no_library)
{
    eg_device *d = cuda(0);
    __typeof__(eg_fake_has_library) *has = FAKE(eg_fake_has_library);
    EG_SCOPE {
        eg_tensor *a = eg_to(random_of(EG_SHAPE(3, 4), EG_F32), d);
        eg_tensor *b = eg_to(random_of(EG_SHAPE(4, 2), EG_F32), d);
        has("libcublasLt.so.13", 0);
        EGT_REFUSED(eg_matmul(a, b), EG_ENOKERNEL, "libcublasLt.so.13 or libcublasLt.so.12");
        EGT_REFUSED(eg_matmul(a, b), EG_ENOKERNEL, "EGRET_CUDA_PATH");
        EGT_CHECK(eg_add(a, a)); /* all else works */
        FAKE(eg_fake_fail)("cublasLtCreate", 1, CUBLAS_STATUS_NOT_INITIALIZED);
        has("libcublasLt.so.12", 1); /* an older one will do */
        EGT_REFUSED(eg_matmul(a, b), EG_EFAULT, "starting");
        EGT_CHECK(apart(eg_matmul(a, b), eg_matmul(here(a), here(b))) < 1e-6);
        has("libcublasLt.so.13", 1);
    }
}

/* ---- calls and plans ------------------------------------------------------------------------- */

EGT(plans_are_kept)
{
    EG_SCOPE {
        eg_tensor *a = there(random_of(EG_SHAPE(20, 40), EG_F32));
        eg_tensor *b = there(random_of(EG_SHAPE(40, 30), EG_F32));
        EGT_CHECK(eg_matmul(a, b));
        int64_t asked = heuristics(), queued = products();
        for (int i = 0; i < 3; i++) {
            EGT_CHECK(eg_matmul(a, b));
        }
        EGT_EQ(heuristics(), asked);
        EGT_EQ(products(), queued + 3);
        eg_tensor *t = eg_transpose(there(random_of(EG_SHAPE(30, 40), EG_F32)), 0, 1);
        EGT_CHECK(eg_matmul(a, t)); /* lies otherwise: another plan, no copy */
        EGT_EQ(heuristics(), asked + 1);
        EGT_CHECK(eg_matmul(a, t) && eg_matmul(a, b));
        EGT_EQ(heuristics(), asked + 1);
        EGT_CHECK(apart(eg_matmul(a, t), eg_matmul(here(a), here(t))) < 1e-5);
    }
}

/* The product of the first m rows of a and the first n columns of b is that part of `all`. */
static void check_part(eg_tensor *a, eg_tensor *b, eg_tensor *all, int m, int n)
{
    EG_SCOPE {
        eg_tensor *y = eg_matmul(eg_slice(a, 0, 0, m, 1), eg_slice(b, 1, 0, n, 1));
        EGT_CHECK(apart(y, eg_slice(eg_slice(all, 0, 0, m, 1), 1, 0, n, 1)) < 1e-6);
    }
}

/* More shapes than there is room for plans: the first are asked for again. */
EGT(plans_are_forgotten)
{
    enum { SIDE = 64 };
    EG_SCOPE {
        eg_tensor *a = random_of(EG_SHAPE(SIDE, 3), EG_F32);
        eg_tensor *b = random_of(EG_SHAPE(3, SIDE), EG_F32);
        eg_tensor *da = there(a), *db = there(b), *all = eg_matmul(a, b);
        int64_t asked = heuristics();
        for (int i = 0; i < SIDE * SIDE; i++) {
            check_part(da, db, all, 1 + i / SIDE, 1 + i % SIDE);
        }
        EGT_EQ(heuristics(), asked + SIDE * SIDE);
        for (int m = 1; m <= SIDE; m++) {
            check_part(da, db, all, m, 1);
        }
        EGT_CHECK(heuristics() > asked + SIDE * SIDE);
    }
}

/* Products of a and b take so many calls and are right. */
static void check_calls(eg_tensor *a, eg_tensor *b, int64_t calls)
{
    int64_t before = products();
    eg_tensor *y = eg_matmul(there(a), there(b));
    EGT_EQ(products() - before, calls);
    EGT_CHECK(apart(y, eg_matmul(a, b)) < 1e-5);
}

/* As check_calls, of views that eg_to would straighten. */
static void check_permuted(eg_shape a_shape, eg_axes a_axes, eg_shape b_shape, eg_axes b_axes, int64_t calls)
{
    eg_tensor *a = random_of(a_shape, EG_F32), *b = random_of(b_shape, EG_F32);
    int64_t before = products();
    eg_tensor *y = eg_matmul(eg_permute(there(a), a_axes), eg_permute(there(b), b_axes));
    EGT_EQ(products() - before, calls);
    EGT_CHECK(apart(y, eg_matmul(eg_permute(a, a_axes), eg_permute(b, b_axes))) < 1e-5);
}

EGT(few_calls)
{
    cuda(0);
    EG_SCOPE {
        check_calls(random_of(EG_SHAPE(2, 3, 5, 6), EG_F32), random_of(EG_SHAPE(2, 3, 6, 4), EG_F32), 1);
        check_calls(random_of(EG_SHAPE(2, 3, 5, 6), EG_F32), random_of(EG_SHAPE(6, 4), EG_F32), 1);
        check_calls(random_of(EG_SHAPE(5, 6), EG_F32), random_of(EG_SHAPE(2, 3, 6, 4), EG_F32), 1);
        check_calls(random_of(EG_SHAPE(2, 1, 5, 6), EG_F32), random_of(EG_SHAPE(1, 3, 6, 4), EG_F32), 2);
        check_calls(random_of(EG_SHAPE(7, 1, 6), EG_F32), random_of(EG_SHAPE(6, 4), EG_F32), 1);
        check_calls(random_of(EG_SHAPE(6), EG_F32), random_of(EG_SHAPE(3, 6, 4), EG_F32), 1);
        /* heads of attention, [b, s, h, d] seen as [b, h, s, d]: by strides where that takes few */
        check_permuted(EG_SHAPE(2, 5, 3, 4), EG_AXES(0, 2, 1, 3), EG_SHAPE(2, 7, 3, 4), EG_AXES(0, 2, 3, 1), 2);
        check_permuted(EG_SHAPE(11, 3, 12, 4), EG_AXES(0, 2, 1, 3), EG_SHAPE(11, 3, 12, 4), EG_AXES(0, 2, 3, 1), 1);
        /* all rows with one matrix, in an order of their own */
        check_permuted(EG_SHAPE(3, 5, 2, 4), EG_AXES(2, 0, 1, 3), EG_SHAPE(4, 20), EG_AXES(0, 1), 1);
        check_permuted(EG_SHAPE(3, 5, 2, 4), EG_AXES(2, 0, 1, 3), EG_SHAPE(4, 2), EG_AXES(0, 1), 1);
    }
}

EGT(no_call_at_all)
{
    EG_SCOPE {
        int64_t before = products();
        EGT_CHECK(eg_matmul(there(eg_zeros(EG_SHAPE(3, 0), EG_F32)), there(eg_zeros(EG_SHAPE(0, 2), EG_F32))));
        EGT_CHECK(eg_matmul(there(eg_zeros(EG_SHAPE(0, 3), EG_F32)), there(eg_zeros(EG_SHAPE(3, 2), EG_F32))));
        EGT_EQ(products(), before);
    }
}

/* ---- strides and places a product cannot have everything from -------------------------------- */

EGT(odd_places)
{
    static const eg_dtype dtypes[] = {EG_F32, EG_F64, EG_F16, EG_BF16};
    for (int i = 0; i < 4; i++) {
        EG_SCOPE {
            double tolerance = dtypes[i] == EG_F32 || dtypes[i] == EG_F64 ? 1e-5 : 2e-2;
            eg_tensor *a = random_of(EG_SHAPE(9, 41), dtypes[i]);
            eg_tensor *b = random_of(EG_SHAPE(82, 10), dtypes[i]);
            eg_tensor *da = there(a), *db = there(b), *row = eg_slice(a, 0, 2, 3, 1);
            /* one element on; every other row; rows all the same; rows backwards in memory */
            EGT_CHECK(apart(eg_matmul(eg_slice(da, 1, 1, 41, 1), eg_slice(db, 0, 1, 41, 1)),
                            eg_matmul(eg_slice(a, 1, 1, 41, 1), eg_slice(b, 0, 1, 41, 1))) < tolerance);
            EGT_CHECK(apart(eg_matmul(da, eg_slice(db, 0, 0, 82, 2)), eg_matmul(a, eg_slice(b, 0, 0, 82, 2))) <
                      tolerance);
            EGT_CHECK(apart(eg_matmul(eg_slice(da, 1, 0, 41, 2), eg_slice(db, 0, 0, 21, 1)),
                            eg_matmul(eg_slice(a, 1, 0, 41, 2), eg_slice(b, 0, 0, 21, 1))) < tolerance);
            EGT_CHECK(apart(eg_matmul(eg_expand(eg_slice(da, 0, 2, 3, 1), EG_SHAPE(6, 41)), eg_slice(db, 0, 0, 41, 1)),
                            eg_matmul(eg_expand(row, EG_SHAPE(6, 41)), eg_slice(b, 0, 0, 41, 1))) < tolerance);
            EGT_CHECK(apart(eg_matmul(eg_slice(da, 0, 8, EG_END, -1), eg_slice(db, 0, 0, 41, 1)),
                            eg_matmul(eg_slice(a, 0, 8, EG_END, -1), eg_slice(b, 0, 0, 41, 1))) < tolerance);
        }
    }
}

EGT(bias_with_gaps)
{
    EG_SCOPE {
        eg_tensor *x = random_of(EG_SHAPE(5, 8), EG_F32), *w = random_of(EG_SHAPE(6, 8), EG_F32);
        eg_tensor *b = random_of(EG_SHAPE(13), EG_F32);
        eg_tensor *gaps = eg_slice(b, 0, 1, 13, 2), *dgaps = eg_slice(there(b), 0, 1, 13, 2);
        eg_tensor *on = eg_slice(b, 0, 1, 7, 1), *don = eg_slice(there(b), 0, 1, 7, 1);
        EGT_CHECK(apart(eg_linear(there(x), there(w), dgaps), eg_linear(x, w, gaps)) < 1e-5);
        EGT_CHECK(apart(eg_linear(there(x), there(w), don, .activation = eg_relu),
                        eg_linear(x, w, on, .activation = eg_relu)) < 1e-5);
    }
}

/* Algorithms ask more of a bias than of what lies beside it: one is chosen that takes it where it is. */
EGT(a_bias_between_others)
{
    cuda(0);
    EG_SCOPE {
        eg_tensor *x = random_of(EG_SHAPE(42, 70), EG_BF16), *w = random_of(EG_SHAPE(67, 70), EG_BF16);
        eg_tensor *b = random_of(EG_SHAPE(70), EG_BF16), *on = eg_slice(b, 0, 1, 68, 1);
        eg_tensor *dx = there(x), *dw = there(w), *don = eg_slice(there(b), 0, 1, 68, 1);
        const int64_t before = products();
        eg_tensor *y = eg_linear(dx, dw, don, .activation = eg_relu);
        EGT_EQ(products(), before + 1);
        EGT_CHECK(apart(y, eg_linear(x, w, on, .activation = eg_relu)) < 5e-2);
    }
}

EGT(nan_stays)
{
    EG_SCOPE {
        eg_tensor *x = eg_ones(EG_SHAPE(2, 3), EG_F32), *w = eg_ones(EG_SHAPE(2, 3), EG_F32);
        eg_tensor *b = eg_from(EG_SHAPE(2), EG_F32, (float[]){NAN, -4});
        EGT_CHECK(apart(eg_linear(there(x), there(w), there(b), .activation = eg_relu),
                        eg_linear(x, w, b, .activation = eg_relu)) == 0);
    }
}

/* ---- gradients that add up ------------------------------------------------------------------- */

static void gradients_of(eg_device *d, eg_dtype dtype, eg_tensor *a, eg_tensor *b, eg_tensor *c, eg_tensor *dy,
                         eg_tensor **out)
{
    eg_tensor *xs[3] = {eg_to(a, d), eg_to(b, d), eg_to(c, d)};
    eg_tape tape = eg_tape_open();
    for (int i = 0; i < 3; i++) {
        xs[i] = eg_cast(xs[i], dtype);
        EGT_OK(eg_tape_watch(tape, xs[i]));
    }
    eg_tensor *y = eg_add(eg_matmul(xs[0], xs[1]), eg_matmul(xs[0], xs[2]));
    EGT_OK(eg_tape_gradients(tape, y, xs, 3, out, .dy = eg_cast(eg_to(dy, d), dtype)));
}

EGT(gradients_add_up)
{
    static const eg_dtype dtypes[] = {EG_F32, EG_F64, EG_BF16};
    for (int i = 0; i < 3; i++) {
        EG_SCOPE {
            eg_tensor *a = random_of(EG_SHAPE(2, 5, 33), EG_F32), *b = random_of(EG_SHAPE(2, 33, 4), EG_F32);
            eg_tensor *c = random_of(EG_SHAPE(2, 33, 4), EG_F32), *dy = random_of(EG_SHAPE(2, 5, 4), EG_F32);
            eg_tensor *there_[3], *here_[3];
            gradients_of(cuda(0), dtypes[i], a, b, c, dy, there_);
            gradients_of(eg_cpu(), dtypes[i], a, b, c, dy, here_);
            for (int k = 0; k < 3; k++) {
                EGT_CHECK(apart(there_[k], here_[k]) < (dtypes[i] == EG_BF16 ? 3e-2 : 1e-5));
            }
        }
    }
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

EGT(math_modes)
{
    EG_SCOPE {
        eg_tensor *a = random_of(EG_SHAPE(30, 64), EG_F32), *b = random_of(EG_SHAPE(64, 20), EG_F32);
        eg_tensor *da = there(a), *db = there(b), *want = eg_matmul(a, b), *wide = eg_cast(da, EG_F64);
        eg_tensor *wide_product = here(eg_matmul(wide, eg_cast(db, EG_F64)));
        EGT_CHECK(eg_get_math_mode() == EG_MATH_DEFAULT);
        EGT_CHECK(apart(eg_matmul(da, db), want) < 1e-6);
        EGT_OK(eg_set_math_mode(EG_MATH_TF32));
        EGT_CHECK(eg_get_math_mode() == EG_MATH_TF32);
        double off = apart(eg_matmul(da, db), want);
        EGT_CHECK(off > 1e-5 && off < 3e-3);
        EGT_CHECK(apart(eg_matmul(wide, eg_cast(db, EG_F64)), wide_product) == 0);
        EGT_CHECK(egt_distance(eg_matmul(a, b), want) == 0); /* the CPU computes as before */
        EGT_REFUSED(eg_set_math_mode((eg_math_mode)7), EG_EINVAL, "7");
        EGT_CHECK(eg_get_math_mode() == EG_MATH_TF32);
        EGT_OK(eg_set_math_mode(EG_MATH_DEFAULT));
        EGT_CHECK(apart(eg_matmul(da, db), want) < 1e-6);
    }
}

static void *math_mode_of_thread(void *user)
{
    *(eg_math_mode *)user = eg_get_math_mode();
    return NULL;
}

EGT(math_mode_is_a_threads)
{
    pthread_t thread;
    eg_math_mode mode = EG_MATH_TF32;
    EGT_OK(eg_set_math_mode(EG_MATH_TF32));
    EGT_CHECK(!pthread_create(&thread, NULL, math_mode_of_thread, &mode));
    pthread_join(thread, NULL);
    EGT_OK(eg_set_math_mode(EG_MATH_DEFAULT));
    EGT_CHECK(mode == EG_MATH_DEFAULT);
}

/* One plan for all, each with a bias of its own. */
typedef struct linear_job {
    int number;
    bool right;
} linear_job;

static void *linear_thread(void *user)
{
    linear_job *job = user;
    job->right = true;
    for (int i = 0; i < 40 && job->right; i++) {
        EG_SCOPE {
            eg_tensor *x = eg_ones(EG_SHAPE(3, 37), EG_F32), *w = eg_ones(EG_SHAPE(9, 37), EG_F32);
            eg_tensor *b = eg_full(EG_SHAPE(9), job->number, EG_F32);
            eg_tensor *y = eg_linear(there(x), there(w), there(b));
            eg_tensor *want = eg_full(EG_SHAPE(3, 9), 37 + job->number, EG_F32);
            y = y ? here(y) : NULL;
            job->right = y && egt_distance(y, want) == 0;
        }
    }
    return NULL;
}

EGT(threads)
{
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    linear_job job[THREADS];
    cuda(0);
    for (int i = 0; i < THREADS; i++) {
        job[i] = (linear_job){.number = i};
        EGT_CHECK(!pthread_create(&thread[i], NULL, linear_thread, &job[i]));
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        EGT_CHECK(job[i].right);
    }
}

/* ---- failing --------------------------------------------------------------------------------- */

EGT(no_algorithm)
{
    __typeof__(eg_fake_fail) *fail = FAKE(eg_fake_fail);
    EG_SCOPE {
        eg_tensor *x = random_of(EG_SHAPE(71, 8), EG_F32), *w = random_of(EG_SHAPE(6, 8), EG_F32);
        eg_tensor *b = random_of(EG_SHAPE(6), EG_F32), *t = eg_transpose(w, 0, 1);
        fail("cublasLtMatmulAlgoGetHeuristic", 1, CUBLAS_STATUS_NOT_SUPPORTED);
        EGT_REFUSED(eg_matmul(there(x), there(t)), EG_ENOKERNEL, "f32 [1, 71, 8] x [1, 8, 6]");
        EGT_REFUSED(eg_matmul(there(x), there(t)), EG_ENOKERNEL, "no algorithm"); /* kept */
        /* With a bias: without fusing it. */
        fail("cublasLtMatmulAlgoGetHeuristic", 1, CUBLAS_STATUS_NOT_SUPPORTED);
        x = random_of(EG_SHAPE(72, 8), EG_F32);
        for (int i = 0; i < 2; i++) {
            EGT_CHECK(apart(eg_linear(there(x), there(w), there(b), .activation = eg_relu),
                            eg_linear(x, w, b, .activation = eg_relu)) < 1e-5);
        }
        /* An algorithm that turns out not to do it. */
        x = there(random_of(EG_SHAPE(74, 8), EG_F32));
        fail("cublasLtMatmul", 1, CUBLAS_STATUS_NOT_SUPPORTED);
        EGT_REFUSED(eg_matmul(x, there(t)), EG_ENOKERNEL, "a product");
        eg_clear_error();
        fail("cublasLtMatmul", 1, CUBLAS_STATUS_NOT_SUPPORTED);
        EGT_CHECK(apart(eg_linear(x, there(w), there(b), .activation = eg_relu),
                        eg_linear(here(x), w, b, .activation = eg_relu)) < 1e-5);
        EGT_EQ(eg_last_error()->code, EG_OK);
        const int64_t before = products(); /* it is not asked again */
        EGT_CHECK(eg_linear(x, there(w), there(b), .activation = eg_relu));
        EGT_EQ(products(), before + 1);
    }
}

EGT(failing_calls)
{
    __typeof__(eg_fake_fail) *fail = FAKE(eg_fake_fail);
    EG_SCOPE {
        eg_tensor *a = random_of(EG_SHAPE(73, 40), EG_F32), *b = random_of(EG_SHAPE(40, 5), EG_F32);
        eg_tensor *da = there(a), *db = there(b);
        fail("cublasLtMatmulAlgoGetHeuristic", 1, CUBLAS_STATUS_ALLOC_FAILED);
        EGT_REFUSED(eg_matmul(da, db), EG_ENOMEM, "cuBLASLt");
        fail("cublasLtMatmulAlgoGetHeuristic", 1, CUBLAS_STATUS_INTERNAL_ERROR);
        EGT_REFUSED(eg_matmul(da, db), EG_EFAULT, "choosing");
        fail("cublasLtMatmul", 1, CUBLAS_STATUS_EXECUTION_FAILED);
        EGT_REFUSED(eg_matmul(da, db), EG_EFAULT, "failed to launch");
        fail("eg_fake_enqueue", 1, cudaErrorInvalidValue);
        EGT_REFUSED(eg_matmul(da, db), EG_EFAULT, "a product");
        EGT_CHECK(apart(eg_matmul(da, db), eg_matmul(a, b)) < 1e-5);
    }
}
