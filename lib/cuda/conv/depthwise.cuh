/* depthwise.cuh - where threads are in convolutions of which every channel is a group of its own. */
#ifndef EGRET_CUDA_DEPTHWISE_CUH
#define EGRET_CUDA_DEPTHWISE_CUH

#include "lib/cuda/conv/conv.cuh"

namespace
{

/* A channel, the first of G, and the rows of threads. */
struct here {
    int64_t block, channel; /* of positions or runs; of the result */
    int row, rows, lane;
    template <int G> static EG__FN here of(const eg__depthwise &k)
    {
        here h;
        h.rows = EG__BLOCK / k.lanes;
        h.row = threadIdx.x / k.lanes;
        h.lane = threadIdx.x - h.row * k.lanes;
        const int64_t wide = (int64_t)k.lanes * G, across = (k.channels + wide - 1) / wide;
        h.block = blockIdx.x / across;
        h.channel = (blockIdx.x - h.block * across) * wide + h.lane * G;
        return h;
    }
};

/* Blocks that are beside each other. */
template <int G> int64_t blocks_across(const eg__depthwise *k)
{
    return (k->channels + (int64_t)k->lanes * G - 1) / ((int64_t)k->lanes * G);
}

} // namespace

#endif
