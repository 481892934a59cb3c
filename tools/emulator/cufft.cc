/* cufft.cc - cuFFT on fake devices: the functions lib/cuda/matrix/fft.c calls, with the sums themselves
 * behind. It holds callers to what the real one may ask for: plans of one axis, data at multiples
 * of a pair, a work area, which it writes to; and it overwrites what it transforms to real numbers.
 */
#include <math.h>

#include "tools/emulator/runtime.h"

#pragma GCC visibility push(default)
#include <cufft.h>
#pragma GCC visibility pop

struct fft_plan {
    bool made, automatic;
    int device;
    int64_t n, lines, step_in, step_out, lane_in, lane_out;
    cufftType type;
    cudaStream_t stream;
    char *area;
};

/* Under the fake's lock. */
static std::map<int, fft_plan> &plans(void)
{
    static std::map<int, fft_plan> *all = new std::map<int, fft_plan>;
    return *all;
}

/* Of the runtime's error a call begins with; injected ones are results already. */
static cufftResult result_of(cudaError_t e)
{
    return e == cudaErrorNoDevice || e == cudaErrorInsufficientDriver ? CUFFT_SETUP_FAILED
           : int(e) >= MAX_CUFFT_ERROR                                ? CUFFT_EXEC_FAILED
                                                                      : cufftResult(e);
}

#define CUFFT_CALL()                          \
    eg__call call(__func__, eg__fake_device); \
    if (call.error) {                         \
        return result_of(call.error);         \
    }
#define CUFFT_PLAN(plan)           \
    CUFFT_CALL()                   \
    if (!plans().count(plan)) {    \
        return CUFFT_INVALID_PLAN; \
    }                              \
    fft_plan &p = plans()[plan];

cufftResult cufftCreate(cufftHandle *handle)
{
    static int made;
    CUFFT_CALL()
    *handle = made++;
    plans()[*handle] = fft_plan{false, true, eg__fake_device, 0, 0, 0, 0, 0, 0, CUFFT_C2C, nullptr, nullptr};
    return CUFFT_SUCCESS;
}

cufftResult cufftDestroy(cufftHandle plan)
{
    CUFFT_PLAN(plan)
    (void)p;
    plans().erase(plan);
    call.fake.counts.fft_plans_ended++;
    return CUFFT_SUCCESS;
}

cufftResult cufftSetAutoAllocation(cufftHandle plan, int automatic)
{
    CUFFT_PLAN(plan)
    p.automatic = automatic;
    return p.made ? CUFFT_INVALID_PLAN : CUFFT_SUCCESS;
}

static size_t size_of(cufftType type)
{
    return type == CUFFT_C2C || type == CUFFT_R2C || type == CUFFT_C2R ? 4 : 8;
}

/* Of a line that has no small factors only, as real ones do. */
static size_t work_of(const fft_plan &p)
{
    return p.n & (p.n - 1) ? size_t(p.n * p.lines) * 2 * size_of(p.type) : 0;
}

cufftResult cufftMakePlanMany64(cufftHandle plan, int rank, long long *n, long long *whole_in, long long step_in,
                                long long lane_in, long long *whole_out, long long step_out, long long lane_out,
                                cufftType type, long long lines, size_t *work)
{
    CUFFT_PLAN(plan)
    call.fake.counts.fft_plans++;
    if (p.made || p.automatic || rank != 1 || !whole_in || !whole_out || !work) {
        return CUFFT_NOT_IMPLEMENTED;
    }
    if (n[0] < 1 || lines < 1 || step_in < 1 || step_out < 1 || lane_in < 1 || lane_out < 1) {
        return CUFFT_INVALID_SIZE;
    }
    p.made = true;
    p.n = n[0];
    p.lines = lines;
    p.step_in = step_in;
    p.step_out = step_out;
    p.lane_in = lane_in;
    p.lane_out = lane_out;
    p.type = type;
    *work = work_of(p);
    return CUFFT_SUCCESS;
}

cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream)
{
    CUFFT_PLAN(plan)
    p.stream = stream;
    return CUFFT_SUCCESS;
}

cufftResult cufftSetWorkArea(cufftHandle plan, void *area)
{
    CUFFT_PLAN(plan)
    p.area = static_cast<char *>(area);
    return CUFFT_SUCCESS;
}

/* ---- transforms ---- */

struct fft_work {
    fft_plan p;
    void *x, *y;
    int direction;
};

static int64_t bins_of(const fft_plan &p)
{
    return p.n / 2 + 1;
}

template <class T> static void line(const fft_work &w, const std::vector<double> &turns, const T *x, T *y)
{
    const fft_plan &p = w.p;
    const bool from_real = p.type == CUFFT_R2C || p.type == CUFFT_D2Z;
    const bool to_real = p.type == CUFFT_C2R || p.type == CUFFT_Z2D;
    for (int64_t k = 0; k < (from_real ? bins_of(p) : p.n); k++) {
        double re = 0, im = 0;
        for (int64_t j = 0; j < p.n; j++) {
            const double c = turns[size_t(j * k % p.n) * 2], s = turns[size_t(j * k % p.n) * 2 + 1];
            const bool twin = to_real && j >= bins_of(p); /* the conjugate of one that is there */
            const T *at = x + (twin ? p.n - j : j) * p.step_in * (from_real ? 1 : 2);
            const double a = at[0], b = from_real ? 0 : twin ? -at[1] : at[1];
            re += a * c - b * s;
            im += a * s + b * c;
        }
        T *to = y + k * p.step_out * (to_real ? 1 : 2);
        to[0] = T(re);
        if (!to_real) {
            to[1] = T(im);
        }
    }
}

template <class T> static void compute_as(const fft_work &w)
{
    const fft_plan &p = w.p;
    const int64_t in = p.type == CUFFT_R2C || p.type == CUFFT_D2Z ? 1 : 2;
    const bool to_real = p.type == CUFFT_C2R || p.type == CUFFT_Z2D;
    T *x = static_cast<T *>(w.x), *y = static_cast<T *>(w.y);
    std::vector<double> turns; /* cos, sin */
    for (int64_t j = 0; j < p.n; j++) {
        const double angle = w.direction * 6.283185307179586 * double(j) / double(p.n);
        turns.push_back(cos(angle));
        turns.push_back(sin(angle));
    }
    for (int64_t l = 0; l < p.lines; l++) {
        line(w, turns, x + l * p.lane_in * in, y + l * p.lane_out * (to_real ? 1 : 2));
    }
    if (to_real) {
        for (int64_t i = 0; i < p.lines * bins_of(p) * 2; i++) {
            x[i] = T(NAN);
        }
    }
    if (work_of(p)) {
        memset(p.area, 0xff, work_of(p));
    }
}

static void compute(void *arguments)
{
    const fft_work &w = *static_cast<const fft_work *>(arguments);
    if (size_of(w.p.type) == 4) {
        compute_as<float>(w);
    } else {
        compute_as<double>(w);
    }
}

/* Whether this many scalars are there, at a multiple of two. */
static bool fits(const void *at, int64_t n, size_t size)
{
    return reinterpret_cast<uintptr_t>(at) % (2 * size) == 0 && eg__place_of(at, size_t(n) * size).kind == EG__DEVICE;
}

static cufftResult run(const char *name, cufftHandle plan, cufftType type, void *x, void *y, int direction)
{
    fft_work w;
    {
        eg__call call(name, eg__fake_device);
        call.fake.counts.ffts++;
        if (call.error) {
            return result_of(call.error);
        }
        if (!plans().count(plan) || !plans()[plan].made || plans()[plan].type != type) {
            return CUFFT_INVALID_PLAN;
        }
        fft_plan &p = plans()[plan];
        const bool from_real = type == CUFFT_R2C || type == CUFFT_D2Z;
        const bool to_real = type == CUFFT_C2R || type == CUFFT_Z2D;
        const int64_t in = from_real ? p.n : to_real ? 2 * bins_of(p) : 2 * p.n;
        const int64_t out = to_real ? p.n : from_real ? 2 * bins_of(p) : 2 * p.n;
        if (p.device != eg__fake_device) {
            return CUFFT_INVALID_DEVICE;
        }
        if (!fits(x, in * p.lines, size_of(type)) || !fits(y, out * p.lines, size_of(type)) || x == y ||
            (direction != CUFFT_FORWARD && direction != CUFFT_INVERSE)) {
            return CUFFT_INVALID_VALUE;
        }
        if (work_of(p) && eg__place_of(p.area, work_of(p)).kind != EG__DEVICE) {
            return CUFFT_NO_WORKSPACE;
        }
        w = fft_work{p, x, y, direction};
        p.area = nullptr; /* may be somebody else's by the next call */
    }
    return eg_fake_enqueue(w.p.stream, compute, &w, sizeof w) ? CUFFT_EXEC_FAILED : CUFFT_SUCCESS;
}

cufftResult cufftExecC2C(cufftHandle plan, cufftComplex *x, cufftComplex *y, int direction)
{
    return run(__func__, plan, CUFFT_C2C, x, y, direction);
}

cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex *x, cufftDoubleComplex *y, int direction)
{
    return run(__func__, plan, CUFFT_Z2Z, x, y, direction);
}

cufftResult cufftExecR2C(cufftHandle plan, cufftReal *x, cufftComplex *y)
{
    return run(__func__, plan, CUFFT_R2C, x, y, CUFFT_FORWARD);
}

cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal *x, cufftDoubleComplex *y)
{
    return run(__func__, plan, CUFFT_D2Z, x, y, CUFFT_FORWARD);
}

cufftResult cufftExecC2R(cufftHandle plan, cufftComplex *x, cufftReal *y)
{
    return run(__func__, plan, CUFFT_C2R, x, y, CUFFT_INVERSE);
}

cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex *x, cufftDoubleReal *y)
{
    return run(__func__, plan, CUFFT_Z2D, x, y, CUFFT_INVERSE);
}
