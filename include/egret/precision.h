/* precision.h - what precision is computed in: autocast, and how devices multiply f32. */
#ifndef EGRET_PRECISION_H
#define EGRET_PRECISION_H

#include <egret/base.h>
#include <egret/tensor.h>

EG_BEGIN_DECLS

/* ---- mixed precision ------------------------------------------------------------------------- */

/* Until the innermost open scope is popped (without one: from now on), ops that this thread calls choose their
 * precision, while parameters stay f32:
 *
 *   - products (matmul, linear, convolutions, attention, lstm, gru) take f32 and halves as `dtype`, EG_BF16 or
 *     EG_F16, and give that: half the memory, and tensor cores. Sums inside are f32.
 *   - what leaves the range of halves or adds many of them (exp, log, pow, sum, norm, softmax, losses, ...; the
 *     table docs/ops.md names all) takes halves as f32 and gives f32.
 *   - everything else computes in the dtype it is given; of unlike ones in the wider.
 *
 * f64 and integers are left as they are, and so is what is changed in place. The casts are recorded like any
 * others, so gradients of f32 parameters are f32; gradients themselves are computed without autocast, in the
 * dtypes of the forward pass: call eg_tape_gradients inside or outside, it is the same. With EG_F16 use a loss
 * scaler (eg_scaler, optim.h). (Micikevicius et al.: "Mixed Precision Training", ICLR 2018.)
 * EG_F32 switches it off. EG_EINVAL for another dtype, and nothing changes. */
EG_API eg_status eg_autocast(eg_dtype dtype);
/* What eg_autocast set; EG_F32: nothing. */
EG_API eg_dtype eg_autocast_dtype(void);

/* The same for a block:
 *
 *     EG_AUTOCAST(EG_BF16) {
 *         loss = eg_cross_entropy(eg_module_forward(net, x), labels);
 *     }
 */
#define EG_AUTOCAST(dtype) \
    for (eg_autocast_block eg_block_ = eg_autocast_begin(dtype); eg_block_.open; eg_autocast_end(&eg_block_))

typedef struct eg_autocast_block {
    eg_dtype before;
    int open;
} eg_autocast_block;
EG_API eg_autocast_block eg_autocast_begin(eg_dtype dtype);
EG_API void eg_autocast_end(eg_autocast_block *block);

/* ---- products of f32 on devices -------------------------------------------------------------- */

typedef enum eg_math_mode {
    EG_MATH_DEFAULT, /* f32 is f32 */
    EG_MATH_TF32,    /* tensor cores multiply f32 rounded to 11 significant bits and add up in f32: several times
                      * faster, relative errors near 1e-3 */
} eg_math_mode;

/* How matrix products of f32 are computed on CUDA devices by this thread from now on, those of gradients it asks
 * for too; a new thread begins with EG_MATH_DEFAULT. Other dtypes and the CPU are not concerned. EG_EINVAL for a
 * number that is no mode. */
EG_API eg_status eg_set_math_mode(eg_math_mode mode);
EG_API eg_math_mode eg_get_math_mode(void);

EG_END_DECLS

#endif
