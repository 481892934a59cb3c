/* host.c - what engines in modules call of the library. */
#include "lib/core/capture.h"
#include "lib/core/device.h"
#include "lib/core/live.h"
#include "lib/ops/optable.h"
#include "lib/ops/resize.h"

_Static_assert((int)EG__OP_COUNT <= (int)EG__MAX_OPS, "more room for ops");

const eg__host eg__host_table = {.abi = EG__MODULE_ABI,
                                 .fail = eg__fail_list,
                                 .ops = eg__ops,
                                 .nops = EG__OP_COUNT,
                                 .devices = eg__devices,
#define HOST(result, name, parameters, arguments) .name = name,
                                 EG__HOST_FUNCTIONS(HOST) EG__HOST_PROCEDURES(HOST)
#undef HOST
};
