/* dice.h - random numbers of the calling thread's stream one at a time, without a tensor around each. */
#ifndef EGRET_DICE_H
#define EGRET_DICE_H

#include "lib/core/capture.h"
#include "lib/math/philox.h"

typedef struct eg__dice {
    eg_random_state from;
    int64_t next; /* word */
} eg__dice;

/* The next `words` words of the stream, which moves behind them. They are drawn on the host, so no captured step can
 * draw them again. */
static inline eg__dice eg__dice_take(const char *op, int64_t words)
{
    eg__thread *T = eg__thread_get();
    eg__dice d = {.from = T->random};
    if (unlikely(T->capture != NULL)) {
        (void)eg__capture_stop(op, "random numbers are drawn on the host");
    }
    T->random.offset += (uint64_t)(words + 3) / 4;
    return d;
}

static inline uint32_t eg__dice_word(eg__dice *d)
{
    return eg__philox_word(d->from.seed, d->from.offset, d->next++);
}

/* In low <= y < high: 2^24 steps. */
static inline double eg__dice_between(eg__dice *d, double low, double high)
{
    return low + (high - low) * eg__word_uniform(eg__dice_word(d));
}

/* One of 0..n-1, n at most 2^32. */
static inline int64_t eg__dice_below(eg__dice *d, int64_t n)
{
    return (int64_t)((uint64_t)eg__dice_word(d) * (uint64_t)n >> 32);
}

/* Whether something of probability p happens. */
static inline bool eg__dice_chance(eg__dice *d, double p)
{
    return eg__word_uniform(eg__dice_word(d)) < p;
}

#endif
