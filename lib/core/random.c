/* random.c - the thread's place in its random sequence. */
#include "lib/core/capture.h"

/* A failure to go on is the step's, which looks for it when the function is done. */
static void begin_anew(const char *op)
{
    if (unlikely(eg__thread_get()->capture != NULL)) {
        (void)eg__capture_stop(op, "the sequence of random numbers begins anew");
    }
}

void eg_seed(uint64_t seed)
{
    begin_anew("eg_seed");
    eg__thread_get()->random = (eg_random_state){seed, 0};
}

eg_random_state eg_random_get_state(void)
{
    return eg__thread_get()->random;
}

void eg_random_set_state(eg_random_state state)
{
    const eg__capture *c = eg__thread_get()->capture;
    if (c && (state.seed != c->from.seed || state.offset < c->from.offset)) {
        begin_anew("eg_random_set_state");
    }
    eg__thread_get()->random = state;
}
