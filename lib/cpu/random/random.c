/* random.c - random tensors in blocks of words. */
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "lib/cpu/pointwise/convert.h"
#include "lib/cpu/random/philox.h"
#include "lib/cpu/common/stream.h"
#include "lib/ops/options.h"

eg__kernel ISA(eg__cpu_random), eg__ref_random;

/* ---- words ---------------------------------------------------------------------------------- */

/* Lanes of 64 bits of which the lower halves count. The product of two lower halves is the one thing
 * compilers do not find by themselves: written in C, gcc 12 takes 2.5 times as long. ZIP interleaves the
 * first or the second halves of two vectors. */
#if defined(__AVX512F__)
typedef uint64_t lanes __attribute__((vector_size(64)));
#define TIMES(a, b)     (lanes) _mm512_mul_epu32((__m512i)(a), (__m512i)(b))
#define ZIP_FIRST(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define ZIP_LAST(a, b)  __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#elif defined(__AVX2__)
typedef uint64_t lanes __attribute__((vector_size(32)));
#define TIMES(a, b)     (lanes) _mm256_mul_epu32((__m256i)(a), (__m256i)(b))
#define ZIP_FIRST(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define ZIP_LAST(a, b)  __builtin_shufflevector(a, b, 2, 6, 3, 7)
#else
typedef uint64_t lanes __attribute__((vector_size(16)));
#if defined(__SSE2__)
#define TIMES(a, b) (lanes) _mm_mul_epu32((__m128i)(a), (__m128i)(b))
#else
#define TIMES(a, b) (((a)&0xffffffffu) * ((b)&0xffffffffu))
#endif
#define ZIP_FIRST(a, b) __builtin_shufflevector(a, b, 0, 2)
#define ZIP_LAST(a, b)  __builtin_shufflevector(a, b, 1, 3)
#endif

enum { LANES = sizeof(lanes) / 8, TOGETHER = 2 }; /* independent chains hide the products' latency */

/* Two words to a lane, the first in the lower half; then in the order of memory. */
static inline void put(const lanes *c, uint32_t *out)
{
    lanes a = (c[0] & 0xffffffffu) | c[1] << 32, b = (c[2] & 0xffffffffu) | c[3] << 32;
    lanes y[2] = {ZIP_FIRST(a, b), ZIP_LAST(a, b)};
    memcpy(out, y, sizeof y);
}

void ISA(eg__philox_words)(uint64_t seed, uint64_t first, int64_t count, uint32_t *out)
{
    const lanes zero = {0}, m0 = zero + EG__PHILOX_M0, m1 = zero + EG__PHILOX_M1;
    lanes step = zero;
    for (int i = 0; i < LANES; i++) {
        step[i] = (uint64_t)i;
    }
    for (int64_t b = 0; b < count; b += TOGETHER * LANES) {
        lanes c[TOGETHER][4];
        for (int t = 0; t < TOGETHER; t++) {
            c[t][0] = step + (first + (uint64_t)(b + t * LANES));
            c[t][1] = c[t][0] >> 32;
            c[t][2] = c[t][3] = zero;
        }
        uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
        for (int r = 0; r < 10; r++) {
            const lanes key0 = zero + k0, key1 = zero + k1;
            for (int t = 0; t < TOGETHER; t++) {
                lanes p0 = TIMES(c[t][0], m0), p1 = TIMES(c[t][2], m1);
                c[t][0] = p1 >> 32 ^ c[t][1] ^ key0;
                c[t][2] = p0 >> 32 ^ c[t][3] ^ key1;
                c[t][1] = p1;
                c[t][3] = p0;
            }
            k0 += EG__PHILOX_W0;
            k1 += EG__PHILOX_W1;
        }
        for (int t = 0; t < TOGETHER; t++) {
            put(c[t], out + 4 * (b + t * LANES));
        }
    }
}

/* ---- numbers -------------------------------------------------------------------------------- */

typedef struct job {
    const eg__random_opts *o;
    char *y;
    int64_t n, block; /* elements in all, and per EG__WORDS words */
    int esize;
    bool stream;
} job;

/* n numbers, n a multiple of 4, of as many words. */
static void numbers(const eg__random_opts *o, int64_t n, const uint32_t *restrict w, float *restrict v)
{
    const float a = (float)o->a, b = (float)o->b, range = b - a, last = nextafterf(b, a);
    switch (o->kind) {
    case EG__RANDOM_UNIFORM:
        for (int64_t i = 0; i < n; i++) {
            v[i] = eg__between(eg__word_uniform(w[i]), a, range, last);
        }
        break;
    case EG__RANDOM_NORMAL:
        for (int64_t i = 0; i < n; i += 2) {
            float x, y;
            eg__normal_pair(w[i], w[i + 1], &x, &y);
            v[i] = fmaf(b, x, a);
            v[i + 1] = fmaf(b, y, a);
        }
        break;
    default:
        for (int64_t i = 0; i < n; i++) {
            v[i] = fmaf(b, eg__truncated(w[i]), a);
        }
    }
}

static void chances(const job *j, int64_t n, const uint32_t *restrict w, char *y)
{
    const uint32_t threshold = eg__threshold(j->o->a);
    if (j->esize == 1) {
        for (int64_t i = 0; i < n; i++) {
            y[i] = (char)eg__chance(w[i], threshold);
        }
    } else {
        uint32_t one = 0;
        eg__store(&one, j->o->dtype, 0, 1); /* f32 or i32: see tuned() */
        uint32_t *u = (uint32_t *)y;
        for (int64_t i = 0; i < n; i++) {
            u[i] = eg__chance(w[i], threshold) ? one : 0;
        }
    }
}

/* Two words each. */
static void integers(const eg__random_opts *o, int64_t n, const uint32_t *restrict w, char *y)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t v = (uint64_t)o->low + eg__below((uint64_t)w[2 * i] << 32 | w[2 * i + 1], o->range);
        switch (o->dtype) {
        case EG_I64:
            ((uint64_t *)y)[i] = v;
            break;
        case EG_I32:
            ((uint32_t *)y)[i] = (uint32_t)v;
            break;
        default:
            ((uint8_t *)y)[i] = (uint8_t)v;
        }
    }
}

static void blocks(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    const eg__random_opts *o = j->o;
    uint32_t w[EG__WORDS];
    float v[EG__WORDS];
    for (int64_t k = begin; k < end; k++) {
        int64_t first = k * j->block, n = eg__min(j->block, j->n - first);
        int64_t count = (n * EG__WORDS / j->block + 3) / 4;
        char *y = j->y + first * j->esize;
        ISA(eg__philox_words)(o->from.seed, o->from.offset + (uint64_t)k * (EG__WORDS / 4), count, w);
        if (o->kind == EG__RANDOM_BERNOULLI) {
            chances(j, n, w, y);
        } else if (o->kind == EG__RANDOM_INTEGERS) {
            integers(o, n, w, y);
        } else {
            numbers(o, 4 * count, w, v);
            if (o->dtype == EG_F32 && j->stream) {
                eg__stream(y, v, n * (int64_t)sizeof *v);
            } else if (o->dtype == EG_F32) {
                memcpy(y, v, (size_t)n * sizeof *v);
            } else {
                ISA(eg__f32_to_halves)(n, o->dtype, v, y, 2);
            }
        }
    }
    eg__stream_end();
}

static bool tuned(const eg__random_opts *o)
{
    switch (o->kind) {
    case EG__RANDOM_UNIFORM:
    case EG__RANDOM_NORMAL:
    case EG__RANDOM_TRUNCATED:
        return o->dtype != EG_F64;
    case EG__RANDOM_BERNOULLI:
        return o->dtype == EG_BOOL || o->dtype == EG_U8 || o->dtype == EG_F32 || o->dtype == EG_I32;
    default:
        return o->kind == EG__RANDOM_INTEGERS;
    }
}

eg_status ISA(eg__cpu_random)(const eg__call *c)
{
    const eg__random_opts *o = c->opts;
    if (!tuned(o)) {
        return eg__ref_random(c);
    }
    int64_t block = o->kind == EG__RANDOM_INTEGERS ? EG__WORDS / 2 : EG__WORDS;
    job j = {o, eg__ptr(c->out[0]), c->out[0]->n, block, (int)eg__esize(c->out[0]), eg__streams(c->out[0])};
    eg__parallel((j.n + block - 1) / block, 8, blocks, &j);
    return EG_OK;
}
