/* peaks.c - what the machine can do: fused multiply-adds, copying and reading at several sizes.
 * The best of one and of all threads, of plain and of non-temporal stores: a roof, not a rule. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#if defined(_OPENMP)
#include <omp.h>
#else
#define omp_get_max_threads() 1
#define omp_get_num_threads() 1
#define omp_get_thread_num()  0
#endif

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static volatile float sink, seeds[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

typedef void (*copy_fn)(float *to, const float *from, int64_t n);
typedef float (*read_fn)(const float *from, int64_t n);
typedef struct loops {
    float (*fma)(int64_t times); /* 24 * lanes flops per turn, in registers */
    int lanes;
    copy_fn copy, stream;
    read_fn read;
} loops;

#if defined(__x86_64__)
#define TARGET512 __attribute__((target("avx512f")))
#define TARGET256 __attribute__((target("avx2,fma")))

/* Twelve chains that do not wait for each other hide the latency of the multiply-add. */
TARGET512 static float fma512(int64_t times)
{
    __m512 x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(0.001f), a[12];
#pragma GCC unroll 16
    for (int k = 0; k < 12; k++) {
        a[k] = _mm512_set1_ps(seeds[k]);
    }
    for (int64_t i = 0; i < times; i++) {
#pragma GCC unroll 16
        for (int k = 0; k < 12; k++) {
            a[k] = _mm512_fmadd_ps(a[k], x, y);
        }
    }
#pragma GCC unroll 16
    for (int k = 0; k < 12; k++) {
        x = _mm512_add_ps(x, a[k]);
    }
    return _mm512_cvtss_f32(x);
}

TARGET256 static float fma256(int64_t times)
{
    __m256 x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(0.001f), a[12];
#pragma GCC unroll 16
    for (int k = 0; k < 12; k++) {
        a[k] = _mm256_set1_ps(seeds[k]);
    }
    for (int64_t i = 0; i < times; i++) {
#pragma GCC unroll 16
        for (int k = 0; k < 12; k++) {
            a[k] = _mm256_fmadd_ps(a[k], x, y);
        }
    }
#pragma GCC unroll 16
    for (int k = 0; k < 12; k++) {
        x = _mm256_add_ps(x, a[k]);
    }
    return _mm256_cvtss_f32(x);
}

TARGET512 static void copy512(float *to, const float *from, int64_t n)
{
    for (int64_t i = 0; i < n; i += 64) {
#pragma GCC unroll 16
        for (int k = 0; k < 64; k += 16) {
            _mm512_store_ps(to + i + k, _mm512_load_ps(from + i + k));
        }
    }
}

TARGET512 static void stream512(float *to, const float *from, int64_t n)
{
    for (int64_t i = 0; i < n; i += 64) {
#pragma GCC unroll 16
        for (int k = 0; k < 64; k += 16) {
            _mm512_stream_ps(to + i + k, _mm512_load_ps(from + i + k));
        }
    }
    _mm_sfence();
}

TARGET512 static float read512(const float *from, int64_t n)
{
    __m512 a[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps()};
    for (int64_t i = 0; i < n; i += 64) {
#pragma GCC unroll 16
        for (int k = 0; k < 4; k++) {
            a[k] = _mm512_add_ps(a[k], _mm512_load_ps(from + i + 16 * k));
        }
    }
    return _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(a[0], a[1]), _mm512_add_ps(a[2], a[3])));
}

TARGET256 static void copy256(float *to, const float *from, int64_t n)
{
    for (int64_t i = 0; i < n; i += 64) {
#pragma GCC unroll 16
        for (int k = 0; k < 64; k += 8) {
            _mm256_store_ps(to + i + k, _mm256_load_ps(from + i + k));
        }
    }
}

TARGET256 static void stream256(float *to, const float *from, int64_t n)
{
    for (int64_t i = 0; i < n; i += 64) {
#pragma GCC unroll 16
        for (int k = 0; k < 64; k += 8) {
            _mm256_stream_ps(to + i + k, _mm256_load_ps(from + i + k));
        }
    }
    _mm_sfence();
}

TARGET256 static float read256(const float *from, int64_t n)
{
    __m256 a[8], sum = _mm256_setzero_ps();
#pragma GCC unroll 16
    for (int k = 0; k < 8; k++) {
        a[k] = _mm256_setzero_ps();
    }
    for (int64_t i = 0; i < n; i += 64) {
#pragma GCC unroll 16
        for (int k = 0; k < 8; k++) {
            a[k] = _mm256_add_ps(a[k], _mm256_load_ps(from + i + 8 * k));
        }
    }
#pragma GCC unroll 16
    for (int k = 0; k < 8; k++) {
        sum = _mm256_add_ps(sum, a[k]);
    }
    return _mm256_cvtss_f32(sum);
}
#endif

typedef float four __attribute__((vector_size(16)));

static float fma_plain(int64_t times)
{
    four x = {0.999f, 0.999f, 0.999f, 0.999f}, y = {0.001f, 0.001f, 0.001f, 0.001f}, a[12];
#pragma GCC unroll 16
    for (int k = 0; k < 12; k++) {
        a[k] = x * seeds[k];
    }
    for (int64_t i = 0; i < times; i++) {
#pragma GCC unroll 16
        for (int k = 0; k < 12; k++) {
            a[k] = a[k] * x + y;
        }
    }
#pragma GCC unroll 16
    for (int k = 0; k < 12; k++) {
        x += a[k];
    }
    return x[0];
}

static void copy_plain(float *to, const float *from, int64_t n)
{
    memcpy(to, from, (size_t)n * sizeof(float));
}

static float read_plain(const float *from, int64_t n)
{
    four a[8] = {{0}};
    for (int64_t i = 0; i < n; i += 32) {
#pragma GCC unroll 16
        for (int k = 0; k < 8; k++) {
            a[k] += *(const four *)(from + i + 4 * k);
        }
    }
#pragma GCC unroll 16
    for (int k = 1; k < 8; k++) {
        a[0] += a[k];
    }
    return a[0][0];
}

static loops best_loops(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        return (loops){fma512, 16, copy512, stream512, read512};
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return (loops){fma256, 8, copy256, stream256, read256};
    }
#endif
    return (loops){fma_plain, 4, copy_plain, copy_plain, read_plain};
}

static double fma_gflops(const loops *l)
{
    double best = 0;
    int threads = omp_get_max_threads();
    int64_t times = 4000000;
    for (int round = 0; round < 9; round++) {
        double slowest = 0;
#pragma omp parallel reduction(max : slowest)
        {
#pragma omp barrier
            double start = bench_now();
            sink = l->fma(times);
            slowest = bench_now() - start;
        }
        double speed = 24.0 * l->lanes * (double)times * threads / slowest * 1e-9;
        best = speed > best ? speed : best;
    }
    return best;
}

static void part(const loops *l, int kind, float *to, const float *from, int64_t n)
{
    if (kind == 0) {
        l->copy(to, from, n);
    } else if (kind == 1) {
        l->stream(to, from, n);
    } else {
        sink = l->read(from, n);
    }
}

/* One pass over arrays of n floats: by this thread, or by all of them, each its own part. */
static void pass(const loops *l, int kind, bool alone, float *to, const float *from, int64_t n)
{
    if (alone) {
        part(l, kind, to, from, n);
        return;
    }
#pragma omp parallel
    {
        int64_t each = n / omp_get_num_threads() / 64 * 64, at = each * omp_get_thread_num();
        part(l, kind, to + at, from + at, each);
    }
}

static double pass_gbs(const loops *l, int kind, bool alone, float *to, const float *from, int64_t n, int64_t bytes)
{
    double best = 1e9, until = bench_now() + 0.06;
    for (int done = 0; done < 3 || bench_now() < until; done++) {
        int calls = bytes < 1 << 20 ? 64 : 1;
        double start = bench_now();
        for (int i = 0; i < calls; i++) {
            pass(l, kind, alone, to, from, n);
        }
        double one = (bench_now() - start) / calls;
        best = one < best ? one : best;
    }
    return (double)bytes / best * 1e-9;
}

static void print_curve(FILE *out, const loops *l, bool reading, float *a, float *b)
{
    const char *separator = "";
    fprintf(out, "\"%s\": [", reading ? "read" : "copy");
    for (int shift = 15; shift <= 29; shift += 2) {
        int64_t bytes = (int64_t)1 << shift, n = bytes / 4 / (reading ? 1 : 2);
        double best = 0;
        for (int kind = reading ? 2 : 0; kind < (reading ? 3 : 2); kind++) {
            for (int alone = 0; alone < 2; alone++) {
                double speed = pass_gbs(l, kind, alone, b, a, n, bytes);
                best = speed > best ? speed : best;
            }
        }
        fprintf(out, "%s[%lld, %.2f]", separator, (long long)bytes, best);
        separator = ", ";
    }
    fputs("]", out);
}

void bench_peaks(FILE *out)
{
    enum { ALIGN = 2 << 20 };
    size_t bytes = (size_t)1 << 29;
    loops l = best_loops();
    float *a = aligned_alloc(ALIGN, bytes), *b = aligned_alloc(ALIGN, bytes / 2);
    if (a && b) {
        memset(a, 0, bytes);
        memset(b, 0, bytes / 2);
        fprintf(out, "{\"fma_gflops\": %.2f, ", fma_gflops(&l));
        print_curve(out, &l, false, a, b);
        fputs(", ", out);
        print_curve(out, &l, true, a, b);
        fputs("}\n", out);
    } else {
        fputs("{\"error\": \"no memory for the bandwidth arrays\"}\n", out);
    }
    free(a);
    free(b);
}
