/* stream.h - results larger than what caches keep are written past them, so that memory is not read
 * before it is overwritten: a third of the traffic of a copy. */
#ifndef EGRET_STREAM_H
#define EGRET_STREAM_H

#include "lib/core/parallel.h"
#include "lib/cpu/common/isa.h"
#ifdef __SSE2__
#include <immintrin.h>
#endif

/* The test build streams what fills a few lines. */
#ifdef EG_TINY_LIMITS
enum { EG__STREAM_BYTES = 512 };
#else
enum { EG__STREAM_BYTES = 28 << 20 };
#endif

static inline bool eg__streams(const eg_tensor *y)
{
#ifdef __SSE2__
    return y->n * (int64_t)eg__esize(y) > EG__STREAM_BYTES;
#else
    return (void)y, false;
#endif
}

/* 64 bytes to an address that is a multiple of 64. */
static inline void eg__stream_line(void *to, const void *from)
{
#if defined(__AVX512F__)
    _mm512_stream_si512(to, _mm512_loadu_si512(from));
#elif defined(__AVX__)
    for (int k = 0; k < 2; k++) {
        _mm256_stream_si256((__m256i *)to + k, _mm256_loadu_si256((const __m256i *)from + k));
    }
#elif defined(__SSE2__)
    for (int k = 0; k < 4; k++) {
        _mm_stream_si128((__m128i *)to + k, _mm_loadu_si128((const __m128i *)from + k));
    }
#else
    memcpy(to, from, 64);
#endif
}

/* memcpy, past the caches. */
static inline void eg__stream(void *to, const void *from, int64_t bytes)
{
    char *t = to;
    const char *f = from;
    int64_t head = eg__min(bytes, (int64_t)(-(uintptr_t)t & 63));
    memcpy(t, f, (size_t)head);
    for (; head + 64 <= bytes; head += 64) {
        eg__stream_line(t + head, f + head);
    }
    memcpy(t + head, f + head, (size_t)(bytes - head));
}

static inline void eg__stream_zeros(void *to, int64_t bytes)
{
    static const char zeros[64];
    char *t = to;
    int64_t head = eg__min(bytes, (int64_t)(-(uintptr_t)t & 63));
    memset(t, 0, (size_t)head);
    for (; head + 64 <= bytes; head += 64) {
        eg__stream_line(t + head, zeros);
    }
    memset(t + head, 0, (size_t)(bytes - head));
}

/* Starts to read what is needed soon: writes past the caches come in bursts, during which memory
 * would otherwise only be written. */
static inline void eg__look_ahead(const void *from, int64_t bytes)
{
    for (int64_t i = 0; i < bytes; i += 64) {
        __builtin_prefetch((const char *)from + i, 0, 2);
    }
}

#endif
