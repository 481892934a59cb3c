/* position.cuh - which element of images [N, C, d, h, w] a thread makes. */
#ifndef EGRET_CUDA_POSITION_CUH
#define EGRET_CUDA_POSITION_CUH

#include "lib/cuda/common/grid.cuh"
#include "lib/cuda/common/math.cuh"
#include "lib/cuda/common/positions.h"

struct eg__position {
    int64_t image, channel;
    int p[3];

    /* Element i as they lie. */
    EG__FN eg__position(const eg__positions &k, int64_t i)
    {
        if (k.last) {
            const int64_t q = eg__divide(i, k.channels);
            channel = i - q * k.channels.d;
            i = q;
        }
#pragma unroll
        for (int d = 2; d >= 0; d--) {
            const int64_t q = eg__divide(i, k.size[d]);
            p[d] = (int)(i - q * k.size[d].d);
            i = q;
        }
        image = i;
        if (!k.last) {
            image = eg__divide(i, k.channels);
            channel = i - image * k.channels.d;
        }
    }
    /* Where place (a, b, c) of the same plane lies among images of other sizes. */
    EG__FN int64_t at(const eg__positions &k, const int64_t *size, int a, int b, int c) const
    {
        const int64_t plane = k.last ? image : image * k.channels.d + channel;
        const int64_t cell = ((plane * size[0] + a) * size[1] + b) * size[2] + c;
        return k.last ? cell * k.channels.d + channel : cell;
    }
};

#endif
