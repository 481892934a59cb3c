/* pad.h - where padded elements come from. */
#ifndef EGRET_PAD_H
#define EGRET_PAD_H

#include <egret/ops/join.h>

#include "lib/math/hd.h"

/* The element of an axis of size n that place i, counted from the axis's first element, shows; -1:
 * none, the constant. */
EG__HD int64_t eg__pad_source(int mode, int64_t i, int64_t n)
{
    if (i >= 0 && i < n) {
        return i;
    }
    switch (mode) {
    case EG_PAD_REFLECT:
        return i < 0 ? -i : 2 * (n - 1) - i;
    case EG_PAD_REPLICATE:
        return i < 0 ? 0 : n - 1;
    case EG_PAD_CIRCULAR:
        return i % n + (i % n < 0 ? n : 0);
    default:
        return -1;
    }
}

#endif
