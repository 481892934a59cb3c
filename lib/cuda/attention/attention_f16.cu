/* attention_f16.cu - attention of f16. */
#include "lib/cuda/attention/attention_halves.cuh"

cudaError_t eg__launch_attention_f16(const eg__attention *a, cudaStream_t s)
{
    return eg__attend_halves<EG_F16>(*a, s);
}

cudaError_t eg__launch_attention_grad_f16(const eg__attention *a, cudaStream_t s)
{
    return eg__attend_halves_back<EG_F16>(*a, s);
}
