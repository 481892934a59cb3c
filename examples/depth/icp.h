/* icp.h - clouds of points laid on each other by iterative closest points (Besl and McKay 1992). */
#ifndef EXAMPLES_DEPTH_ICP_H
#define EXAMPLES_DEPTH_ICP_H

#include <egret/egret.h>

typedef struct icp_result {
    eg_tensor *motions; /* [N, 6] as in net.h: what lays the points on the others; NULL: a failure */
    eg_tensor *left;    /* [N, 3, n]: from each point, so moved, to its neighbour among the others */
} icp_result;

/* Of points [N, 3, n] and others [N, 3, m]. Without gradients. */
icp_result icp_fit(eg_tensor *points, eg_tensor *others);

#endif
