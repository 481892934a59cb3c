/* nccl_none.cc - where there is no header of NCCL to fake. */
#include "tools/emulator/runtime.h"

bool eg__nccl_waits(void)
{
    return false;
}
