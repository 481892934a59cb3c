/* test_cuda_fft.c - Fourier transforms on a CUDA device as the sweep does not see them: plans of
 * cuFFT and what becomes of them, data that lies oddly, streams and threads, what goes wrong. */
#include <cufft.h>
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

/* How far the device's result is from the CPU's. */
static double apart(eg_tensor *on_device, eg_tensor *on_cpu)
{
    eg_tensor *got = eg_to(on_device, eg_cpu());
    EGT_CHECK(got && on_cpu);
    return egt_distance(got, on_cpu);
}

static int64_t made(void)
{
    return FAKE(eg_fake_read)().fft_plans;
}

static int64_t queued(void)
{
    return FAKE(eg_fake_read)().ffts;
}

/* Before the library was ever needed. */
EGT(no_library)
{
    emulated(0);
    __typeof__(eg_fake_has_library) *has = FAKE(eg_fake_has_library);
    EG_SCOPE {
        eg_tensor *x = random_of(EG_SHAPE(3, 8), EG_F32), *dx = there(x);
        has("libcufft.so.12", 0);
        EGT_REFUSED(eg_rfft(dx), EG_ENOKERNEL, "libcufft.so.12 or libcufft.so.11");
        EGT_REFUSED(eg_rfft(dx), EG_ENOKERNEL, "EGRET_CUDA_PATH");
        EGT_CHECK(eg_add(dx, dx)); /* all else works */
        has("libcufft.so.11", 1);  /* an older one will do */
        EGT_CHECK(apart(eg_rfft(dx), eg_rfft(x)) < 1e-5);
        has("libcufft.so.12", 1);
    }
}

EGT(plans_are_kept)
{
    emulated(0);
    EG_SCOPE {
        eg_tensor *x = random_of(EG_SHAPE(5, 12, 2), EG_F32), *dx = there(x);
        EGT_CHECK(eg_fft(dx));
        int64_t plans = made(), work = queued();
        EGT_CHECK(apart(eg_fft(dx), eg_fft(x)) < 1e-5);
        EGT_CHECK(apart(eg_ifft(dx, .norm = EG_FFT_ORTHO), eg_ifft(x, .norm = EG_FFT_ORTHO)) < 1e-5);
        EGT_EQ(made(), plans); /* both ways have one */
        EGT_EQ(queued(), work + 2);
        EGT_CHECK(apart(eg_fft(dx, .axes = EG_AXES(0)), eg_fft(x, .axes = EG_AXES(0))) < 1e-5);
        x = eg_cast(x, EG_F64);
        EGT_CHECK(apart(eg_fft(there(x)), eg_fft(x)) < 1e-12);
        EGT_EQ(made(), plans + 2);
    }
}

/* More lengths than there is room for plans: the first are made again, those between ended. */
EGT(plans_are_forgotten)
{
    emulated(0);
    enum { LENGTHS = 80 };
    EG_SCOPE {
        eg_tensor *x = random_of(EG_SHAPE(2 * LENGTHS), EG_F64), *dx = there(x);
        int64_t plans = made(), ended = FAKE(eg_fake_read)().fft_plans_ended;
        for (int round = 0; round < 2; round++) {
            for (int n = 1; n <= LENGTHS; n++) {
                EGT_CHECK(apart(eg_rfft(dx, .n = 100 + n), eg_rfft(x, .n = 100 + n)) < 1e-9);
            }
        }
        EGT_EQ(made(), plans + 2 * LENGTHS);
        EGT_CHECK(FAKE(eg_fake_read)().fft_plans_ended >= ended + 2 * LENGTHS - 64);
    }
}

/* Views that begin at an odd place, axes between others, lines side by side. */
EGT(data_that_lies_oddly)
{
    EG_SCOPE {
        eg_tensor *x = random_of(EG_SHAPE(3 * 10 * 4 + 1), EG_F32), *dx = there(x);
        x = eg_slice(x, 0, 1, EG_END, 1);
        dx = eg_slice(dx, 0, 1, EG_END, 1);
        eg_tensor *real = eg_reshape(x, EG_SHAPE(3, 10, 4)), *dreal = eg_reshape(dx, EG_SHAPE(3, 10, 4));
        eg_tensor *pairs = eg_reshape(x, EG_SHAPE(5, 3, 4, 2)), *dpairs = eg_reshape(dx, EG_SHAPE(5, 3, 4, 2));
        for (int axis = 0; axis < 3; axis++) {
            eg_axes a = EG_AXES(axis);
            EGT_CHECK(apart(eg_rfft(dreal, .axes = a), eg_rfft(real, .axes = a)) < 1e-5);
            EGT_CHECK(apart(eg_fft(dpairs, .axes = a), eg_fft(pairs, .axes = a)) < 1e-5);
            for (int n = 5; n < 7; n++) {
                EGT_CHECK(apart(eg_irfft(dpairs, .axes = a, .n = n), eg_irfft(pairs, .axes = a, .n = n)) < 1e-5);
            }
        }
        EGT_CHECK(apart(dx, x) == 0); /* nothing was written into */
    }
}

/* One plan on many streams, each with a work area of its own. */
typedef struct fft_job {
    int number;
    bool right;
} fft_job;

static void *transform_there(void *user)
{
    fft_job *job = user;
    job->right = true;
    for (int i = 0; i < 30 && job->right; i++) {
        EG_SCOPE {
            eg_tensor *x = eg_full(EG_SHAPE(4, 15), job->number, EG_F32);
            eg_tensor *y = eg_rfft(there(x));
            job->right = y && apart(y, eg_rfft(x)) < 1e-4;
        }
    }
    return NULL;
}

EGT(threads)
{
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    fft_job job[THREADS];
    cuda(0);
    for (int i = 0; i < THREADS; i++) {
        job[i] = (fft_job){.number = i};
        EGT_CHECK(!pthread_create(&thread[i], NULL, transform_there, &job[i]));
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        EGT_CHECK(job[i].right);
    }
}

EGT(failing_calls)
{
    emulated(0);
    __typeof__(eg_fake_fail) *fail = FAKE(eg_fake_fail);
    EG_SCOPE {
        eg_tensor *x = random_of(EG_SHAPE(3, 21), EG_F32), *dx = there(x);
        fail("cufftCreate", 1, CUFFT_SETUP_FAILED);
        EGT_REFUSED(eg_rfft(dx), EG_EFAULT, "cuFFT: starting: error 7, setup failed");
        fail("cufftMakePlanMany64", 1, CUFFT_ALLOC_FAILED);
        EGT_REFUSED(eg_rfft(dx), EG_ENOMEM, "no memory for cuFFT (planning)");
        fail("cufftMakePlanMany64", 1, CUFFT_NVRTC_FAILURE);
        EGT_REFUSED(eg_rfft(dx), EG_EFAULT, "planning: error 18");
        fail("cufftSetStream", 1, CUFFT_INVALID_PLAN);
        EGT_REFUSED(eg_rfft(dx), EG_EFAULT, "a transform: error 1, invalid plan");
        fail("cufftExecR2C", 1, CUFFT_EXEC_FAILED);
        EGT_REFUSED(eg_rfft(dx), EG_EFAULT, "a transform: error 6, execution failed");
        EGT_CHECK(apart(eg_rfft(dx), eg_rfft(x)) < 1e-5);
    }
}
