/* amx.h - of attention of bf16, products of tiles where the processor has instructions for them (AMX): forwards, where
 * they are most of the work. Scores lie as in tiles.h; sums of values lie as they do, y[column][query], so that
 * exponentials are already in the order in which a product takes them, pairs of keys in a word. */
#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WITH_TILES __attribute__((target("amx-tile,amx-bf16,avx512bf16")))

enum { SIDE = 16, PAIR = 2 * SIDE }; /* of a tile, in rows and in words of two halves; and of two tiles */

/* Whether there are tiles, and the system lets the process use them. */
static bool has_tiles(void)
{
    enum { NO = 1, YES, REQUEST = 0x1023, TILE_DATA = 18 };
    static _Atomic int known;
    int is = atomic_load_explicit(&known, memory_order_relaxed);
    if (!is) {
        unsigned a, b, c, d = 0, bf16 = 0;
        const unsigned wanted = 1u << 22 | 1u << 24; /* AMX-BF16, AMX-TILE */
        is = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & wanted) == wanted &&
                     __get_cpuid_count(7, 1, &bf16, &b, &c, &d) && bf16 >> 5 & 1 && /* AVX512-BF16 */
                     !syscall(SYS_arch_prctl, REQUEST, TILE_DATA)
                 ? YES
                 : NO;
        atomic_store_explicit(&known, is, memory_order_relaxed);
    }
    return is == YES;
}

/* gcc does not see what memory the instructions read and write. */
#define MEMORY_AS_IT_IS() __asm__ volatile("" ::: "memory")

WITH_TILES static void tiles_begin(void)
{
    static const struct {
        uint8_t palette, start, unused[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } eight = {.palette = 1,
               .bytes = {64, 64, 64, 64, 64, 64, 64, 64},
               .rows = {SIDE, SIDE, SIDE, SIDE, SIDE, SIDE, SIDE, SIDE}};
    _tile_loadconfig(&eight);
}

WITH_TILES static void tiles_end(void)
{
    _tile_release();
}

/* y[m, n] (+)= a[m, k] b[k, n], rows of a and of pairs of b so many bytes apart; m, n, k multiples of PAIR. */
WITH_TILES static void tiles_product(int64_t m, int64_t n, int64_t k, const char *a, int64_t ra, const char *b,
                                     int64_t rb, float *y, int64_t ry, bool add)
{
    MEMORY_AS_IT_IS();
    for (int64_t i = 0; i < m; i += PAIR) {
        for (int64_t j = 0; j < n; j += PAIR) {
            float *at = y + i * ry + j;
            const int64_t step = ry * 4;
            if (add) {
                _tile_loadd(0, at, step);
                _tile_loadd(1, at + SIDE, step);
                _tile_loadd(2, at + SIDE * ry, step);
                _tile_loadd(3, at + SIDE * ry + SIDE, step);
            } else {
                _tile_zero(0);
                _tile_zero(1);
                _tile_zero(2);
                _tile_zero(3);
            }
            for (int64_t l = 0; l < k; l += PAIR) {
                const char *from = a + i * ra + 2 * l, *with = b + l / 2 * rb + 4 * j;
                _tile_loadd(4, from, ra);
                _tile_loadd(6, with, rb);
                _tile_loadd(7, with + 4 * SIDE, rb);
                _tile_dpbf16ps(0, 4, 6);
                _tile_dpbf16ps(1, 4, 7);
                _tile_loadd(5, from + SIDE * ra, ra);
                _tile_dpbf16ps(2, 5, 6);
                _tile_dpbf16ps(3, 5, 7);
            }
            _tile_stored(0, at, step);
            _tile_stored(1, at + SIDE, step);
            _tile_stored(2, at + SIDE * ry, step);
            _tile_stored(3, at + SIDE * ry + SIDE, step);
        }
    }
    MEMORY_AS_IT_IS();
}

/* e^x of an x that is not above 0 but for roundings, to the bits that halves have and some more. */
WITH_TILES static inline __m512 power_of(__m512 x)
{
    const __m512 one = _mm512_set1_ps(1);
    const __m512 z = _mm512_max_ps(_mm512_set1_ps(-200), x); /* a NaN stays */
    const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(z, _mm512_set1_ps(EG__LOG2E)), 8);
    const __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693147181f), z);
    __m512 p = _mm512_fmadd_ps(r, _mm512_set1_ps(4.166664e-2f), _mm512_set1_ps(1.666667e-1f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.5f));
    p = _mm512_fmadd_ps(p, r, one);
    return _mm512_scalef_ps(_mm512_fmadd_ps(p, r, one), n);
}

/* Pairs of keys in words of bf16. */
WITH_TILES static inline __m512i words_of(__m512 a, __m512 b, __m512i order)
{
    return _mm512_permutexvar_epi16(order, (__m512i)_mm512_cvtne2ps_pbh(b, a));
}

static __m512i order_of_pairs(void)
{
    uint16_t order[PAIR];
    for (int i = 0; i < PAIR; i++) {
        order[i] = (uint16_t)(i / 2 + i % 2 * SIDE);
    }
    return _mm512_loadu_si512(order);
}

/* Rows of x[keys, width] in words, up to `padded` keys with zeros. */
WITH_TILES static void pairs_of_rows(int64_t keys, int64_t padded, int64_t width, const float *x, uint32_t *to)
{
    const __m512i order = order_of_pairs();
    for (int64_t k = 0; k < padded; k += 2, x += 2 * width, to += width) {
        for (int64_t i = 0; i < width; i += SIDE) {
            const __m512 a = k < keys ? _mm512_loadu_ps(x + i) : _mm512_setzero_ps();
            const __m512 b = k + 1 < keys ? _mm512_loadu_ps(x + width + i) : _mm512_setzero_ps();
            _mm512_storeu_si512(to + i, words_of(a, b, order));
        }
    }
}

/* soften_tile_f32 and pairs_of_rows at once, which leaves x as it is. */
WITH_TILES static bool soften_pairs(const place_f32 *p, int64_t padded, const room_f32 *r)
{
    const int64_t w = p->height;
    const __m512i order = order_of_pairs();
    __mmask16 moved = 0;
    for (int64_t i = 0; i < w; i += SIDE) {
        const float *x = r->x + i;
        const __m512 before = _mm512_loadu_ps(r->top + i), none = _mm512_set1_ps(-INFINITY);
        __m512 top = before, other = before, sum = _mm512_setzero_ps(), more = sum;
        for (int64_t k = 0; k + 1 < p->keys; k += 2) {
            top = _mm512_max_ps(_mm512_loadu_ps(x + k * w), top);
            other = _mm512_max_ps(_mm512_loadu_ps(x + (k + 1) * w), other);
        }
        top = _mm512_max_ps(other, top);
        if (p->keys % 2) {
            top = _mm512_max_ps(_mm512_loadu_ps(x + (p->keys - 1) * w), top);
        }
        const __m512 from = _mm512_mask_blend_ps(_mm512_cmpeq_ps_mask(top, none), top, _mm512_setzero_ps());
        const __m512 scale = power_of(_mm512_sub_ps(before, from));
        uint32_t *to = r->pairs + i;
        for (int64_t k = 0; k < padded; k += 2, to += w) {
            __m512 a = _mm512_setzero_ps(), b = a;
            if (k < p->keys) {
                a = power_of(_mm512_sub_ps(_mm512_loadu_ps(x + k * w), from));
                sum = _mm512_add_ps(sum, a);
            }
            if (k + 1 < p->keys) {
                b = power_of(_mm512_sub_ps(_mm512_loadu_ps(x + (k + 1) * w), from));
                more = _mm512_add_ps(more, b);
            }
            _mm512_storeu_si512(to, words_of(a, b, order));
        }
        moved |= _mm512_cmpneq_ps_mask(top, before);
        sum = _mm512_fmadd_ps(_mm512_loadu_ps(r->sum + i), scale, _mm512_add_ps(sum, more));
        _mm512_storeu_ps(r->sum + i, sum);
        _mm512_storeu_ps(r->top + i, top);
        _mm512_storeu_ps(r->scale + i, scale);
    }
    return moved != 0;
}

/* The block of queries in words, [pairs of columns, queries], times the power of two that is in scale; gives the rest
 * of it. */
static float take_words(const job *j, const place_f32 *p, const room_f32 *r)
{
    const int64_t d = j->g.d;
    int power;
    const float rest = 2 * frexpf((float)j->o->scale, &power), factor = ldexpf(1, power - 1);
    const float *q = rows_f32(&j->q, at_matrix(j, &j->q, p->b) + p->t * j->q.row, p->rows, d, r->q);
    uint16_t *halves = r->halves;
    for (int64_t i = 0; i < p->rows * d; i++) {
        halves[i] = eg__f32_to_bf16(q[i] * factor);
    }
    memset(halves + p->rows * d, 0, (size_t)((p->height - p->rows) * d) * 2);
    for (int64_t i = 0; i < p->height; i += SIDE) {
        for (int64_t c = 0; c < d; c += PAIR) {
            square_f32 s;
            for (int l = 0; l < SIDE; l++) {
                memcpy(s.from[l], halves + (i + l) * d + c, 64);
            }
            turn_square_f32(&s);
            for (int l = 0; l < SIDE; l++) {
                memcpy(r->words + (c / 2 + l) * p->height + i, s.to[l], 64);
            }
        }
    }
    return rest;
}

/* Values of a matrix, [columns, keys], and zeros behind the last key; kept while the thread stays with the matrix. */
static void take_values(const job *j, const char *from, const room_f32 *r)
{
    const int64_t step = j->keys_padded, v = j->g.v;
    if (*r->taken == from) {
        return;
    }
    *r->taken = from;
    for (int64_t k = 0; k < step; k += PAIR) {
        for (int64_t c = 0; c < v; c += SIDE) {
            square_f32 s;
            for (int l = 0; l < SIDE; l++) {
                uint16_t pair[2][SIDE] = {{0}};
                uint32_t word[SIDE];
                for (int h = 0; h < 2; h++) {
                    if (k + 2 * l + h < j->g.s) {
                        ISA(eg__copy_row)
                        (SIDE, 2, from + (k + 2 * l + h) * j->v.row + c * j->v.column, j->v.column, (char *)pair[h], 2);
                    }
                }
                for (int i = 0; i < SIDE; i++) {
                    word[i] = pair[0][i] | (uint32_t)pair[1][i] << 16;
                }
                memcpy(s.from[l], word, sizeof word);
            }
            turn_square_f32(&s);
            for (int l = 0; l < SIDE; l++) {
                memcpy(r->values + (c + l) * step + k, s.to[l], 64);
            }
        }
    }
}

/* Keys as a product takes them: as they lie, or copies with zeros behind them. */
static const char *take_keys(const job *j, const char *from, int64_t keys, uint16_t *copy, int64_t *step)
{
    const int64_t d = j->g.d, padded = (keys + PAIR - 1) / PAIR * PAIR;
    *step = j->k.row;
    if (keys == padded && j->k.column == 2) {
        return from;
    }
    for (int64_t i = 0; i < keys; i++) {
        ISA(eg__copy_row)(d, 2, from + i * j->k.row, j->k.column, (char *)(copy + i * d), 2);
    }
    memset(copy + keys * d, 0, (size_t)((padded - keys) * d) * 2);
    *step = 2 * d;
    return (const char *)copy;
}

/* What see_f32 of forward.h does. */
static void see_by_tiles(const job *j, place_f32 p, int64_t end, const room_f32 *r)
{
    const int64_t v = j->g.v, w = p.height;
    const char *k0 = at_matrix(j, &j->k, p.b);
    const float rest = take_words(j, &p, r);
    take_values(j, at_matrix(j, &j->v, p.b), r);
    clear_f32(v * w, r->turned);
    tiles_begin();
    for (; p.s < end; p.s += p.keys) {
        p.keys = eg__min(KEYS, end - p.s);
        const int64_t padded = (p.keys + PAIR - 1) / PAIR * PAIR;
        int64_t step;
        const char *keys = take_keys(j, k0 + p.s * j->k.row, p.keys, r->halves, &step);
        tiles_product(padded, w, j->g.d, keys, step, (const char *)r->words, 4 * w, r->x, w, false);
        for (int64_t i = 0; i < p.keys * w && rest != 1; i++) {
            r->x[i] *= rest;
        }
        bend_scores_f32(j, &p, r, NULL);
        const bool drops = j->o->dropout > 0;
        if (drops ? soften_tile_f32(&p, r) : soften_pairs(&p, padded, r)) {
            for (int64_t c = 0; c < v; c++) {
                times_f32(w, r->scale, r->turned + c * w);
            }
        }
        if (drops) {
            times_f32(p.keys * w, kept_f32(j, &p, r), r->x);
            pairs_of_rows(p.keys, padded, w, r->x, r->pairs);
        }
        tiles_product(v, w, padded, (const char *)(r->values + p.s), 2 * j->keys_padded, (const char *)r->pairs, 4 * w,
                      r->turned, w, true);
    }
    tiles_end();
    turn_f32(r->turned, v, w, w, r->dy, v, 1);
    memcpy(r->y, r->dy, (size_t)(p.rows * v) * sizeof *r->y);
}
