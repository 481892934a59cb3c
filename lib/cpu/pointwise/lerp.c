/* lerp.c - linear interpolation between two tensors. */
#include "lib/cpu/common/isa.h"
#include "lib/cpu/common/stream.h"
#include "lib/cpu/pointwise/convert.h"
#include "lib/math/scalar.h"

eg__kernel ISA(eg__cpu_lerp);

enum { BLOCK = 512 };
typedef double block[BLOCK]; /* of either type */

typedef struct job {
    int64_t bytes; /* of an element */
    int half;      /* EG_F16 or EG_BF16, else 0 */
    bool wide;     /* f64 */
    bool stream;
} job;

#define T        float
#define U        uint32_t
#define EXPONENT 0x7f800000u
#define FN(name) name##_f32
#include "lib/cpu/pointwise/lerp_loops.h"
#undef T
#undef U
#undef EXPONENT
#undef FN
#define T        double
#define U        uint64_t
#define EXPONENT (UINT64_C(0x7ff) << 52)
#define FN(name) name##_f64
#include "lib/cpu/pointwise/lerp_loops.h"
#undef T
#undef U
#undef EXPONENT
#undef FN

/* Elements i..i+k-1 of an operand, contiguous: where they are, or in the buffer. */
static const void *fetch(const job *j, int64_t i, int64_t k, const char *x, int64_t s, void *buffer)
{
    const char *from = x + i * s;
    if (!j->half && s == j->bytes) {
        return from;
    }
    if (s == 0 && i) {
        return buffer; /* there since the first block */
    }
    if (j->half) {
        ISA(eg__halves_to_f32)(s ? k : BLOCK, j->half, from, s, buffer);
    } else {
        ISA(eg__copy_row)(s ? k : BLOCK, j->bytes, from, s, buffer, j->bytes);
    }
    return buffer;
}

static void lerp_row(void *ctx, int64_t n, char *const *ptr, const int64_t *s)
{
    const job *j = ctx;
    const bool whole = s[0] == j->bytes, direct = whole && !j->half && !j->stream;
    block of[3], buffer;
    for (int64_t i = 0; i < n; i += BLOCK) {
        const int64_t k = eg__min(BLOCK, n - i);
        const void *x[3];
        char *y = ptr[0] + i * s[0];
        for (int t = 0; t < 3; t++) {
            x[t] = fetch(j, i, k, ptr[t + 1], s[t + 1], of[t]);
        }
        void *to = direct ? (void *)y : buffer;
        if (j->wide) {
            lerp_f64(k, x[0], x[1], x[2], to);
        } else {
            lerp_f32(k, x[0], x[1], x[2], to);
        }
        if (j->half) {
            ISA(eg__f32_to_halves)(k, j->half, to, y, s[0]);
        } else if (j->stream && whole) {
            eg__stream(y, to, k * j->bytes);
        } else if (!direct) {
            ISA(eg__copy_row)(k, j->bytes, to, j->bytes, y, s[0]);
        }
    }
}

/* a, b, weight -> y */
eg_status ISA(eg__cpu_lerp)(const eg__call *c)
{
    eg_tensor *y = c->out[0];
    const bool half = y->dtype == EG_F16 || y->dtype == EG_BF16;
    job j = {(int64_t)eg__esize(y), half ? y->dtype : 0, y->dtype == EG_F64, eg__streams(y)};
    eg__iter it;
    eg__iter_init(&it, (eg_tensor *[]){y, c->in[0], c->in[1], c->in[2]}, 4);
    eg__iter_run(&it, EG__GRAIN / 2, lerp_row, &j);
    return EG_OK;
}
