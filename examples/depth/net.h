/* net.h - two nets that learn from video alone (Mahjourian et al. 2018, arXiv:1802.05522): how far away is what a frame
 * shows, and how the camera has moved between frames. */
#ifndef EXAMPLES_DEPTH_NET_H
#define EXAMPLES_DEPTH_NET_H

#include <egret/nn.h>

enum { SCALES = 4, FRAMES = 3, MOTION = 6 };

/* Both as one module, with the published channels divided by `narrower`. It has no forward of its own. */
eg_module *nets_new(int64_t narrower);

/* Disparities, 1 / depth, of images [N, 3, H, W] of 0..1, sides a multiple of 8: of 0.01 to 10.01 in no unit, each
 * [N, 1, H / 2^s, W / 2^s]. */
eg_status nets_disparities(eg_module *nets, eg_tensor *images, eg_tensor **disparities);
/* Of frames [N, 9, H, W], three in a row: motions [N, 2, 6], by which points seen by the second camera, and by the
 * third, come to where the camera before sees them: moved by the first three numbers once they are turned by the others
 * about x, y and z. */
eg_tensor *nets_motions(eg_module *nets, eg_tensor *frames);

#endif
