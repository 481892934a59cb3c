/* gguf_blocks.c - the types of GGUF's tensors, and what becomes of blocks of numbers with few bits
 * (github.com/ggml-org/ggml).
 *
 * A function takes whole numbers out of a block, then gives them their scale. Products are exact before something is
 * added to them, so that processors which do both at once agree with those that do not. */
#include "lib/io/gguf.h"
#include "lib/math/half.h"

/* A scale in f16. */
static inline float half(const uint8_t *p)
{
    return eg__f16_to_f32((uint16_t)(p[0] | p[1] << 8));
}

/* Some bits of each of n bytes. */
static inline void bits(const uint8_t *p, int n, int shift, int mask, int8_t *q)
{
    for (int i = 0; i < n; i++) {
        q[i] = (int8_t)(p[i] >> shift & mask);
    }
}

/* More bits, above those that are there. */
static inline void add_bits(const uint8_t *p, int n, int shift, int mask, int above, int8_t *q)
{
    for (int i = 0; i < n; i++) {
        q[i] = (int8_t)(q[i] | (p[i] >> shift & mask) << above);
    }
}

/* n numbers of the lower halves of bytes, then n of the upper ones. */
static inline void halves(const uint8_t *p, int n, int8_t *q)
{
    bits(p, n, 0, 15, q);
    bits(p, n, 4, 15, q + n);
}

static inline void less(int8_t *q, int n, int by)
{
    for (int i = 0; i < n; i++) {
        q[i] = (int8_t)(q[i] - by);
    }
}

static inline void scaled(const int8_t *restrict q, int n, float scale, float *restrict to)
{
    for (int i = 0; i < n; i++) {
        to[i] = scale * (float)q[i];
    }
}

static inline void scaled_and(const int8_t *q, int n, float scale, float more, float *to)
{
    for (int i = 0; i < n; i++) {
        to[i] = scale * (float)q[i] + more;
    }
}

/* ---- one scale for few ------------------------------------------------------------------------- */

static void q4_0(const uint8_t *p, float *to)
{
    int8_t q[32];
    halves(p + 2, 16, q);
    less(q, 32, 8);
    scaled(q, 32, half(p), to);
}

static void q4_1(const uint8_t *p, float *to)
{
    int8_t q[32];
    halves(p + 4, 16, q);
    scaled_and(q, 32, half(p), half(p + 2), to);
}

/* Halves of bytes, and of each number its fifth bit, in four bytes before them. */
static inline void fives(const uint8_t *p, int8_t *q)
{
    halves(p + 4, 16, q);
    for (int i = 0; i < 32; i++) {
        q[i] = (int8_t)(q[i] | (p[i / 8] >> i % 8 & 1) << 4);
    }
}

static void q5_0(const uint8_t *p, float *to)
{
    int8_t q[32];
    fives(p + 2, q);
    less(q, 32, 16);
    scaled(q, 32, half(p), to);
}

static void q5_1(const uint8_t *p, float *to)
{
    int8_t q[32];
    fives(p + 4, q);
    scaled_and(q, 32, half(p), half(p + 2), to);
}

static void q8_0(const uint8_t *p, float *to)
{
    scaled((const int8_t *)p + 2, 32, half(p), to);
}

/* Behind the scale the sum, which nobody needs here. */
static void q8_1(const uint8_t *p, float *to)
{
    scaled((const int8_t *)p + 4, 32, half(p), to);
}

/* Only signs. */
static void q1_0(const uint8_t *p, float *to)
{
    const float scale = half(p);
    for (int i = 0; i < 128; i++) {
        to[i] = p[2 + i / 8] >> i % 8 & 1 ? scale : -scale;
    }
}

static void q2_0(const uint8_t *p, float *to)
{
    const float scale = half(p);
    for (int i = 0; i < 64; i++) {
        to[i] = scale * (float)((p[2 + i / 4] >> 2 * (i % 4) & 3) - 1);
    }
}

/* ---- scales of scales: 256 numbers, in parts of 32 or 16 ------------------------------------------ */

static void q2_k(const uint8_t *p, float *to)
{
    const float scale = half(p + 80), least = half(p + 82);
    int8_t q[32];
    for (int s = 0; s < 16; s++) {
        if (s % 2 == 0) {
            bits(p + 16 + 32 * (s / 8), 32, s % 8, 3, q);
        }
        scaled_and(q + 16 * (s % 2), 16, scale * (float)(p[s] & 15), -(least * (float)(p[s] >> 4)), to + 16 * s);
    }
}

static void q3_k(const uint8_t *p, float *to)
{
    const uint8_t *scales = p + 96;
    const float scale = half(p + 108);
    int8_t q[32];
    for (int s = 0; s < 16; s++) {
        if (s % 2 == 0) {
            bits(p + 32 + 32 * (s / 8), 32, s % 8, 3, q);
            add_bits(p, 32, s / 2, 1, 2, q);
            less(q, 32, 4);
        }
        const int some = (scales[s % 8] >> (s < 8 ? 0 : 4) & 15) | (scales[8 + s % 4] >> 2 * (s / 4) & 3) << 4;
        scaled(q + 16 * (s % 2), 16, scale * (float)(some - 32), to + 16 * s);
    }
}

/* The s-th of eight pairs of six bits each: scale and minimum. */
static inline void pair(const uint8_t *p, int s, float *scale, float *least)
{
    const int a = s < 4 ? p[s] & 63 : (p[s + 4] & 15) | p[s - 4] >> 6 << 4;
    const int b = s < 4 ? p[s + 4] & 63 : p[s + 4] >> 4 | p[s] >> 6 << 4;
    *scale *= (float)a;
    *least *= (float)b;
}

static void q4_k(const uint8_t *p, float *to)
{
    int8_t q[32];
    for (int s = 0; s < 8; s++) {
        float scale = half(p), least = half(p + 2);
        pair(p + 4, s, &scale, &least);
        bits(p + 16 + 32 * (s / 2), 32, 4 * (s % 2), 15, q);
        scaled_and(q, 32, scale, -least, to + 32 * s);
    }
}

static void q5_k(const uint8_t *p, float *to)
{
    int8_t q[32];
    for (int s = 0; s < 8; s++) {
        float scale = half(p), least = half(p + 2);
        pair(p + 4, s, &scale, &least);
        bits(p + 48 + 32 * (s / 2), 32, 4 * (s % 2), 15, q);
        add_bits(p + 16, 32, s, 1, 4, q);
        scaled_and(q, 32, scale, -least, to + 32 * s);
    }
}

static void q6_k(const uint8_t *p, float *to)
{
    const int8_t *scales = (const int8_t *)p + 192;
    const float scale = half(p + 208);
    int8_t q[32];
    for (int s = 0; s < 8; s++) {
        bits(p + 64 * (s / 4) + 32 * (s % 2), 32, 4 * (s % 4 / 2), 15, q);
        add_bits(p + 128 + 32 * (s / 4), 32, 2 * (s % 4), 3, 4, q);
        less(q, 32, 32);
        scaled(q, 16, scale * (float)scales[2 * s], to + 32 * s);
        scaled(q + 16, 16, scale * (float)scales[2 * s + 1], to + 32 * s + 16);
    }
}

/* Its scale is in f32; sums, which nobody needs here, are behind the numbers. */
static void q8_k(const uint8_t *p, float *to)
{
    const uint32_t scale = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    scaled((const int8_t *)p + 4, 256, eg__bits_float(scale), to);
}

/* ---- -1, 0 and 1 -------------------------------------------------------------------------------- */

/* `count` numbers to a byte, as digits of base 3 of a fraction. */
static inline void digits(const uint8_t *p, int n, int count, float scale, float *to)
{
    for (int k = 0, power = 1; k < count; k++, power *= 3) {
        for (int i = 0; i < n; i++) {
            *to++ = scale * (float)((p[i] * power % 256 * 3 >> 8) - 1);
        }
    }
}

static void tq1_0(const uint8_t *p, float *to)
{
    const float scale = half(p + 52);
    digits(p, 32, 5, scale, to);
    digits(p + 32, 16, 5, scale, to + 160);
    digits(p + 48, 4, 4, scale, to + 240);
}

static void tq2_0(const uint8_t *p, float *to)
{
    int8_t q[32];
    for (int s = 0; s < 8; s++) {
        bits(p + 32 * (s / 4), 32, 2 * (s % 4), 3, q);
        less(q, 32, 1);
        scaled(q, 32, half(p + 64), to + 32 * s);
    }
}

/* ---- numbers of a table --------------------------------------------------------------------------- */

/* Denser around 0; and twice the floats of four bits, of a sign, two bits of exponent and one more. */
static const int8_t uneven[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
static const int8_t e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

static inline void of_table(const uint8_t *p, int n, const int8_t *table, float scale, float *to)
{
    for (int i = 0; i < n; i++) {
        to[i] = scale * (float)table[p[i] & 15];
        to[i + n] = scale * (float)table[p[i] >> 4];
    }
}

static void iq4_nl(const uint8_t *p, float *to)
{
    of_table(p + 2, 16, uneven, half(p), to);
}

static void iq4_xs(const uint8_t *p, float *to)
{
    for (int s = 0; s < 8; s++) {
        const int some = (p[4 + s / 2] >> 4 * (s % 2) & 15) | (p[2 + s / 4] >> 2 * (s % 4) & 3) << 4;
        of_table(p + 8 + 16 * s, 16, uneven, half(p) * (float)(some - 32), to + 32 * s);
    }
}

/* A power of two, halved for the table. */
static void mxfp4(const uint8_t *p, float *to)
{
    const uint32_t scale = *p < 2 ? 0x00200000u << *p : (*p - 1u) << 23;
    of_table(p + 1, 16, e2m1, eg__bits_float(scale), to);
}

/* A float without sign, of four bits of exponent and three more, halved for the table; 127, its NaN, is 0. */
static float small_scale(uint8_t byte)
{
    const int exponent = byte >> 3 & 15, fraction = byte & 7;
    const uint32_t power = (uint32_t)(127 - 11 + (exponent ? exponent : 1)) << 23;
    return byte == 127 ? 0 : eg__bits_float(power) * (float)(exponent ? 8 + fraction : fraction);
}

static void nvfp4(const uint8_t *p, float *to)
{
    for (int s = 0; s < 4; s++) {
        of_table(p + 4 + 8 * s, 8, e2m1, small_scale(p[s]), to + 16 * s);
    }
}

/* ---- the table ---------------------------------------------------------------------------------- */

#define PLAIN(word)                   \
    {                                 \
#word, EG__##word, 0, 0, NULL \
    }
#define BLOCKS(word, elements, bytes, function)   \
    {                                             \
#word, EG__F32, elements, bytes, function \
    }
#define BYTES(word, elements, bytes)         \
    {                                        \
#word, EG__U8, elements, bytes, NULL \
    }

/* By their numbers in files; some are no more. BYTES have books of codes. */
static const eg__gguf_type types[] = {
    [0] = PLAIN(F32),
    [1] = PLAIN(F16),
    [2] = BLOCKS(Q4_0, 32, 18, q4_0),
    [3] = BLOCKS(Q4_1, 32, 20, q4_1),
    [6] = BLOCKS(Q5_0, 32, 22, q5_0),
    [7] = BLOCKS(Q5_1, 32, 24, q5_1),
    [8] = BLOCKS(Q8_0, 32, 34, q8_0),
    [9] = BLOCKS(Q8_1, 32, 36, q8_1),
    [10] = BLOCKS(Q2_K, 256, 84, q2_k),
    [11] = BLOCKS(Q3_K, 256, 110, q3_k),
    [12] = BLOCKS(Q4_K, 256, 144, q4_k),
    [13] = BLOCKS(Q5_K, 256, 176, q5_k),
    [14] = BLOCKS(Q6_K, 256, 210, q6_k),
    [15] = BLOCKS(Q8_K, 256, 292, q8_k),
    [16] = BYTES(IQ2_XXS, 256, 66),
    [17] = BYTES(IQ2_XS, 256, 74),
    [18] = BYTES(IQ3_XXS, 256, 98),
    [19] = BYTES(IQ1_S, 256, 50),
    [20] = BLOCKS(IQ4_NL, 32, 18, iq4_nl),
    [21] = BYTES(IQ3_S, 256, 110),
    [22] = BYTES(IQ2_S, 256, 82),
    [23] = BLOCKS(IQ4_XS, 256, 136, iq4_xs),
    [24] = PLAIN(I8),
    [25] = PLAIN(I16),
    [26] = PLAIN(I32),
    [27] = PLAIN(I64),
    [28] = PLAIN(F64),
    [29] = BYTES(IQ1_M, 256, 56),
    [30] = PLAIN(BF16),
    [34] = BLOCKS(TQ1_0, 256, 54, tq1_0),
    [35] = BLOCKS(TQ2_0, 256, 66, tq2_0),
    [39] = BLOCKS(MXFP4, 32, 17, mxfp4),
    [40] = BLOCKS(NVFP4, 64, 36, nvfp4),
    [41] = BLOCKS(Q1_0, 128, 18, q1_0),
    [42] = BLOCKS(Q2_0, 64, 18, q2_0),
};

const eg__gguf_type *eg__gguf_type_of(uint64_t number)
{
    return number < EG__COUNT(types) && types[number].word ? &types[number] : NULL;
}

uint32_t eg__gguf_number(eg__element e)
{
    uint32_t number = 0;
    while (types[number].elements || types[number].element != e) {
        number++;
    }
    return number;
}
