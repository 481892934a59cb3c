/* ctc.c - what the golden cases of connectionist temporal classification stand for. */
#include "tests/golden/golden.h"

static eg_tensor *ctc_loss(const golden_case *c)
{
    return eg_ctc_loss(c->x[0], c->x[1], .input_lengths = c->x[2], .target_lengths = c->x[3],
                       .blank = (int64_t)golden_number(c, "blank", 0),
                       .zero_infinity = golden_number(c, "zero_infinity", 0) != 0,
                       .reduction = golden_is(c, "reduction", "sum")    ? EG_SUM
                                    : golden_is(c, "reduction", "none") ? EG_NONE
                                                                        : EG_MEAN);
}

GOLDEN_ROWS(ctc, {.op = "ctc_loss", .one = ctc_loss})
