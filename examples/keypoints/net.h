/* net.h - finds keypoints in space on a picture that nobody has marked any on (Suwajanakorn et al. 2018). */
#ifndef EXAMPLES_KEYPOINTS_NET_H
#define EXAMPLES_KEYPOINTS_NET_H

#include <egret/egret.h>

typedef struct keypoint_net_options {
    int64_t filters, keypoints; /* filters: even */
    double distance;            /* of the camera: depths are learned from there */
    double momentum;            /* of the batch norms' running statistics */
} keypoint_net_options;

/* Children "trunk", "place", "depth", of half the width "orientation". */
eg_module *keypoint_net_new(const keypoint_net_options *o);

/* What it finds on N pictures. Places are u to the right and v upwards, -1..1, depth is negative in front. */
typedef struct keypoints {
    eg_tensor *uvz;      /* [N, K, 3] */
    eg_tensor *maps;     /* [N, K, H W], where each may be: their sums are 1 */
    eg_tensor *variance; /* [N, K], of places on them */
    eg_tensor *axis;     /* [N, 2, 2], where it believes the points (1, 0, 0) and (-1, 0, 0) of the object to be */
} keypoints;

/* pictures [N, 3, H, W], 0..1. Keypoints are looked for on an object that looks to the right or to the left: `facing`
 * [N] says which, 1 or 0; NULL: the net says so itself (keypoints_facing). After a failure all are NULL. */
keypoints keypoint_net_find(eg_module *net, eg_tensor *pictures, eg_tensor *facing);

/* [N], 1 where (1, 0, 0) is to the right of (-1, 0, 0); without a gradient. */
eg_tensor *keypoints_facing(eg_tensor *axis);

#endif
