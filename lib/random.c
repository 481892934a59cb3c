/* random.c - the thread's place in its random sequence. */
#include "lib/internal.h"

void eg_seed(uint64_t seed)
{
    eg__thread_get()->random = (eg_random_state){seed, 0};
}

eg_random_state eg_random_get_state(void)
{
    return eg__thread_get()->random;
}

void eg_random_set_state(eg_random_state state)
{
    eg__thread_get()->random = state;
}
