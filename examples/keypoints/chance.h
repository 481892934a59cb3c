/* chance.h - numbers by chance that are always the same. */
#ifndef EXAMPLES_KEYPOINTS_CHANCE_H
#define EXAMPLES_KEYPOINTS_CHANCE_H

#include <egret/egret.h>

/* n numbers, 0..1, by the seed. The thread's random sequence is left as it was. */
eg_status chance(uint64_t seed, double *v, int64_t n);

#endif
