/* chance.c - see chance.h. */
#include "chance.h"

eg_status chance(uint64_t seed, double *v, int64_t n)
{
    const eg_random_state before = eg_random_get_state();
    eg_status st = EG_OK;
    EG_SCOPE {
        eg_seed(seed);
        eg_tensor *t = eg_uniform(EG_SHAPE(n), 0, 1, EG_F64);
        st = t ? eg_to_values(t, v) : eg_last_error()->code;
    }
    eg_random_set_state(before);
    return st;
}
