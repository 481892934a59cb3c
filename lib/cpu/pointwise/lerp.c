/* lerp.c - linear interpolation between two tensors. */
#include "lib/cpu/common/isa.h"
#include "lib/cpu/pointwise/blocks.h"
#include "lib/math/scalar.h"

eg__kernel ISA(eg__cpu_lerp);

enum { BLOCK = EG__BLOCK_ELEMENTS };
typedef double block[BLOCK]; /* of either type */

typedef struct job {
    eg__blocks blocks; /* of all operands */
    bool wide;         /* f64 */
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

static void lerp_row(void *ctx, int64_t n, char *const *ptr, const int64_t *s)
{
    const job *j = ctx;
    const bool direct = eg__block_is_direct(&j->blocks, s[0]);
    block of[3], buffer;
    for (int64_t i = 0; i < n; i += BLOCK) {
        const int64_t k = eg__min(BLOCK, n - i);
        const void *x[3];
        char *y = ptr[0] + i * s[0];
        for (int t = 0; t < 3; t++) {
            x[t] = eg__block_fetch(&j->blocks, i, k, ptr[t + 1], s[t + 1], of[t]);
        }
        void *to = direct ? (void *)y : buffer;
        if (j->wide) {
            lerp_f64(k, x[0], x[1], x[2], to);
        } else {
            lerp_f32(k, x[0], x[1], x[2], to);
        }
        if (!direct) {
            eg__block_store(&j->blocks, k, to, y, s[0]);
        }
    }
}

/* a, b, weight -> y */
eg_status ISA(eg__cpu_lerp)(const eg__call *c)
{
    eg_tensor *y = c->out[0];
    const bool half = y->dtype == EG_F16 || y->dtype == EG_BF16;
    job j = {{(int64_t)eg__esize(y), half ? y->dtype : 0, eg__streams(y)}, y->dtype == EG_F64};
    eg__iter it;
    eg__iter_init(&it, (eg_tensor *[]){y, c->in[0], c->in[1], c->in[2]}, 4);
    eg__iter_run(&it, EG__GRAIN / 2, lerp_row, &j);
    return EG_OK;
}
