/* loss.h - what depths and motions are worth without anybody who knows them: frames must look alike when one is seen
 * from where the other was taken, and their points must lie on each other (Mahjourian et al. 2018). */
#ifndef EXAMPLES_DEPTH_LOSS_H
#define EXAMPLES_DEPTH_LOSS_H

#include <egret/egret.h>

#include "net.h"

/* Points seen through pixels of disparities [N, 1, h, w], f32 or f64 [N, 3, h w]: x to the right, y down, z ahead.
 * intrinsics [N, 4]: focal lengths and centre in pixels, fx, fy, cx, cy. */
eg_tensor *loss_points(eg_tensor *disparity, eg_tensor *intrinsics);
/* Intrinsics of a frame made smaller by this, pixels being areas. */
eg_tensor *loss_intrinsics(eg_tensor *intrinsics, double by);
/* The rotations of motions [N, 6], [N, 3, 3], about x after y after z; points moved by motions. */
eg_tensor *loss_rotations(eg_tensor *motions);
eg_tensor *loss_moved(eg_tensor *points, eg_tensor *motions);

/* What a camera at the target saw, put together from what one at the source saw: images [N, C, h, w], the target's
 * disparity, the motion by which the target's points come to the source. mask [N, 1, h, w]: 1 where the source shows
 * the point. */
eg_tensor *loss_warp(eg_tensor *source, eg_tensor *disparity, eg_tensor *motions, eg_tensor *intrinsics,
                     eg_tensor **mask);
/* Means over all pixels: of what differs; of (1 - SSIM) / 2 of 3 x 3 pixels (Wang et al. 2004), either where the mask
 * is; of steps of the disparity where the image has none. */
eg_tensor *loss_difference(eg_tensor *warped, eg_tensor *target, eg_tensor *mask);
eg_tensor *loss_dissimilarity(eg_tensor *warped, eg_tensor *target, eg_tensor *mask);
eg_tensor *loss_roughness(eg_tensor *disparity, eg_tensor *image);

/* How far the source's points, moved, are from lying on the target's: the mean size of the six numbers of the motion
 * that ICP would add, and of what is left of the way from each point to its neighbour then. Its gradients are the
 * paper's: the motion is to become more by what would be added, the points are to go what is left. */
eg_tensor *loss_clouds(eg_tensor *source, eg_tensor *motions, eg_tensor *target);

typedef struct losses {
    eg_tensor *loss, *warp, *ssim, *smooth, *icp; /* icp: NULL without */
} losses;

typedef struct loss_weights {
    double smooth, icp; /* of roughness; of clouds, 0: without */
} loss_weights;

/* Of frames [N, 9, H, W], all pairs of neighbours both ways, on four scales. loss NULL: a failure. */
losses loss_of(eg_module *nets, eg_tensor *frames, eg_tensor *intrinsics, const loss_weights *by);

#endif
