/* ctc.h - what the kernels of connectionist temporal classification have in common. A row of L labels has 2 L + 1
 * states: blank, label, blank, ..., label, blank. Plain C and CUDA. */
#ifndef EGRET_OPS_CTC_INTERNAL_H
#define EGRET_OPS_CTC_INTERNAL_H

#include <stdint.h>

/* The logarithm of 0: alphas stay finite, and nothing that counts comes near. */
#define EG__CTC_NEVER (-1e30)

/* Whether a loss is of paths there are; NaN is. */
#define EG__CTC_POSSIBLE(loss) (!((loss) > 1e29))

typedef struct eg__ctc_opts {
    int64_t blank;
    int64_t longest;     /* number of labels that a row may have; more than frames are hopeless, and not looked at */
    int frames, lengths; /* whether there are input_lengths, target_lengths */
    int zero_infinity;
    int shares; /* losses are divided by the number of labels */
} eg__ctc_opts;

/* The states that alphas have room for. */
static inline int64_t eg__ctc_states(int64_t frames, int64_t longest)
{
    return 2 * (longest < frames ? longest : frames) + 1;
}

#endif
