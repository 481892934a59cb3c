/* element.c - see element.h. */
#include "lib/io/element.h"

#include <math.h>
#include <stdlib.h>

#include "lib/core/layout.h"
#include "lib/math/half.h"

/* NATIVE: as in memory. SIGNED, UNSIGNED: integers that become wider. SMALL: floats of 8 bits or less. Numbers of less
 * than 8 bits lie one behind the other, each from the low end of what is left of a byte up. COMPLEX: real and imaginary
 * part. */
typedef enum kind { NATIVE, SIGNED, UNSIGNED, SMALL, COMPLEX } kind;

static const struct element {
    const char *word;
    int bits;
    kind kind;
    eg_dtype dtype;
} elements[EG__ELEMENTS] = {
#define E(word, bits, kind, dtype) {#word, bits, kind, dtype},
#include "lib/io/element.def"
#undef E
};

const char *eg__element_word(eg__element e)
{
    return elements[e].word;
}

eg__element eg__element_named(const char *word)
{
    int e = 0;
    while (e < EG__ELEMENTS && strcmp(elements[e].word, word)) {
        e++;
    }
    return (eg__element)e;
}

eg_dtype eg__element_dtype(eg__element e)
{
    return elements[e].dtype;
}

int eg__element_bits(eg__element e)
{
    return elements[e].bits;
}

bool eg__element_as_is(eg__element e)
{
    return elements[e].kind == NATIVE || elements[e].kind == COMPLEX;
}

eg_status eg__element_about(const char *op, eg__element e, const eg_shape *shape, eg_tensor_about *about)
{
    int64_t n = 0;
    const struct element *how = &elements[e];
    *about = (eg_tensor_about){.dtype = how->dtype, .shape = *shape, .stored = how->word};
    if (how->kind == COMPLEX && shape->ndim == EG_MAX_DIMS) {
        return eg__fail(EG_ESHAPE, op, "a complex tensor of %d axes has no room for one more", EG_MAX_DIMS);
    }
    if (how->kind == COMPLEX) {
        about->shape.dim[about->shape.ndim++] = 2;
    }
    eg_status st = eg__check_shape(op, about->shape.ndim, about->shape.dim, (int)how->dtype, &n);
    n /= how->kind == COMPLEX ? 2 : 1;
    /* The last byte may be filled in part. */
    about->bytes = st ? 0 : n / 8 * how->bits + (n % 8 * how->bits + 7) / 8;
    return st;
}

/* ---- numbers of few bits ---------------------------------------------------------------------- */

/* What the bits of a small float mean: arxiv.org/abs/2209.05433 for E4M3 and E5M2, ONNX's description of FNUZ, the
 * OCP's Microscaling Formats for the rest. */
static double small_value(eg__element e, unsigned bits)
{
    static const struct {
        int exponent, mantissa, bias;
    } forms[EG__ELEMENTS] = {
        [EG__F8_E4M3] = {4, 3, 7},      [EG__F8_E5M2] = {5, 2, 15}, [EG__F8_E4M3FNUZ] = {4, 3, 8},
        [EG__F8_E5M2FNUZ] = {5, 2, 16}, [EG__F4] = {2, 1, 1},       [EG__F6_E2M3] = {2, 3, 1},
        [EG__F6_E3M2] = {3, 2, 3},
    };
    if (e == EG__F8_E8M0) {
        return bits == 255 ? (double)NAN : ldexp(1, (int)bits - 127);
    }
    const int m = forms[e].mantissa, width = forms[e].exponent + m;
    const unsigned magnitude = bits & ((1u << width) - 1), fraction = bits & ((1u << m) - 1);
    const int exponent = (int)(magnitude >> m);
    const bool negative = bits >> width & 1;
    const bool fnuz = e == EG__F8_E4M3FNUZ || e == EG__F8_E5M2FNUZ;
    if ((fnuz && negative && !magnitude) || (e == EG__F8_E4M3 && magnitude == 127)) {
        return (double)NAN;
    }
    double v = exponent ? ldexp((double)(fraction + (1u << m)), exponent - forms[e].bias - m)
                        : ldexp((double)fraction, 1 - forms[e].bias - m);
    if (e == EG__F8_E5M2 && exponent == 31) {
        v = fraction ? (double)NAN : (double)INFINITY;
    }
    return negative ? -v : v;
}

/* Number i of 2, 4, 6 or 8 bits; one of 6 may lie in two bytes. */
static unsigned few_bits(const uint8_t *from, int64_t i, int bits)
{
    const uint8_t *at = from + i * bits / 8;
    const int low = (int)(i * bits % 8);
    const unsigned v = low + bits > 8 ? *at | (unsigned)at[1] << 8 : *at;
    return v >> low & ((1u << bits) - 1);
}

static void small_floats(eg__element e, const uint8_t *from, void *to, int64_t n)
{
    const int bits = elements[e].bits;
    const bool half = elements[e].dtype == EG_F16;
    uint16_t halves[256];
    float floats[256];
    for (unsigned i = 0; i < 1u << bits; i++) {
        floats[i] = (float)small_value(e, i);
        halves[i] = eg__f32_to_f16(floats[i]);
    }
    for (int64_t i = 0; i < n; i++) {
        const unsigned v = few_bits(from, i, bits);
        if (half) {
            ((uint16_t *)to)[i] = halves[v];
        } else {
            ((float *)to)[i] = floats[v];
        }
    }
}

/* ---- integers that Egret has not -------------------------------------------------------------- */

static uint64_t wide_bits(const uint8_t *from, int64_t i, int bytes)
{
    uint64_t v = 0;
    for (int b = bytes; b-- > 0;) {
        v = v << 8 | from[i * bytes + b];
    }
    return v;
}

/* Whether all fit. */
static bool integers(eg__element e, const uint8_t *from, void *to, int64_t n)
{
    const int bits = elements[e].bits;
    const uint64_t sign = elements[e].kind == SIGNED ? (uint64_t)1 << (bits - 1) : 0;
    uint64_t beyond = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t v = bits < 8 ? few_bits(from, i, bits) : wide_bits(from, i, bits / 8);
        beyond |= v;
        v = (v ^ sign) - sign;
        if (elements[e].dtype == EG_I64) {
            ((int64_t *)to)[i] = (int64_t)v;
        } else if (elements[e].dtype == EG_I32) {
            ((int32_t *)to)[i] = (int32_t)v;
        } else {
            ((uint8_t *)to)[i] = (uint8_t)v;
        }
    }
    return e != EG__U64 || !(beyond >> 63);
}

/* ---- reading ----------------------------------------------------------------------------------- */

/* Piece by piece, so that nothing is in memory twice. */
static eg_status convert(const eg__source *s, int64_t at, eg__element e, char *to, int64_t n)
{
    enum { PIECE = 1 << 16 };
    const int bits = elements[e].bits;
    const size_t element = eg__dtype_sizes[elements[e].dtype];
    uint8_t *piece = eg__malloc((size_t)PIECE * 8);
    eg_status st = piece ? EG_OK : eg__no_memory(s->op, (int64_t)PIECE * 8);
    for (int64_t done = 0; done < n && !st; done += PIECE) {
        const int64_t some = eg__min(n - done, PIECE), place = at + done / 8 * bits;
        st = eg__source_read(s, place, piece, (some * bits + 7) / 8);
        char *there = to + (size_t)done * element;
        if (!st && elements[e].kind == SMALL) {
            small_floats(e, piece, there, some);
        } else if (!st && !integers(e, piece, there, some)) {
            st = eg__source_bad(s, place, "a number beyond those of i64");
        }
    }
    free(piece);
    return st;
}

eg_tensor *eg__element_read(const eg__source *s, int64_t at, eg__element e, const eg_shape *shape)
{
    eg_tensor_about about;
    if (eg__element_about(s->op, e, shape, &about)) {
        return NULL;
    }
    if (at < 0 || about.bytes > s->size - at) {
        return eg__source_bad(s, s->size, "the file ends before what it says"), NULL;
    }
    eg_tensor *t = eg__empty_on(0, about.shape, about.dtype);
    if (!t) {
        return NULL;
    }
    const bool as_is = eg__element_as_is(e);
    eg_status st = as_is ? eg__source_read(s, at, eg__ptr(t), about.bytes) : convert(s, at, e, eg__ptr(t), t->n);
    if (!st && as_is && eg__big_endian()) {
        eg__swap_bytes(eg__ptr(t), t->n, eg__esize(t));
    }
    return st ? NULL : t;
}
