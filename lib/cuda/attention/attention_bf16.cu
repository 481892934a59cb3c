/* attention_bf16.cu - attention of bf16. */
#include "lib/cuda/attention/attention_halves.cuh"

cudaError_t eg__launch_attention_bf16(const eg__attention *a, cudaStream_t s)
{
    return eg__attend_halves<EG_BF16>(*a, s);
}

cudaError_t eg__launch_attention_grad_bf16(const eg__attention *a, cudaStream_t s)
{
    return eg__attend_halves_back<EG_BF16>(*a, s);
}
