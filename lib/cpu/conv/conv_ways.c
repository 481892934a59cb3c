/* conv_ways.c - the convolution rows' kernels: conv.c with the ways of one instruction set. */
#include "lib/cpu/conv/conv.h"
#include "lib/cpu/common/isa.h"

eg__conv_way ISA(eg__conv_depthwise), ISA(eg__conv_narrow_data), ISA(eg__conv_gemm);
eg__conv_tiles ISA(eg__conv_winograd);
eg__conv_perhaps ISA(eg__conv_sparse);
eg__kernel ISA(eg__cpu_conv), ISA(eg__cpu_conv_act), ISA(eg__cpu_conv_data), ISA(eg__cpu_conv_weight);

static const eg__conv_ways ways = {.depthwise = ISA(eg__conv_depthwise),
                                   .narrow_data = ISA(eg__conv_narrow_data),
                                   .gemm = ISA(eg__conv_gemm),
                                   .winograd = ISA(eg__conv_winograd),
                                   .sparse = ISA(eg__conv_sparse)};

eg_status ISA(eg__cpu_conv)(const eg__call *c)
{
    return eg__conv_run(c, EG__CONV_Y, &ways);
}

eg_status ISA(eg__cpu_conv_act)(const eg__call *c)
{
    eg_status st = eg__conv_run(c, EG__CONV_Y, &ways);
    return st ? st : eg__conv_activate(c);
}

eg_status ISA(eg__cpu_conv_data)(const eg__call *c)
{
    return eg__conv_run(c, EG__CONV_X, &ways);
}

eg_status ISA(eg__cpu_conv_weight)(const eg__call *c)
{
    return eg__conv_run(c, EG__CONV_W, &ways);
}
