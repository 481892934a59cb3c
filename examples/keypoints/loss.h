/* loss.h - what keypoints on two views of an object must be, when nobody says where they are (Suwajanakorn et al.
 * 2018).
 *
 * Of a batch of B pairs the first views come first, then the second ones: N is 2 B. A view is a matrix [4, 4] from the
 * object's coordinates to the camera's, in which it looks along -z, and there is the matrix back. */
#ifndef EXAMPLES_KEYPOINTS_LOSS_H
#define EXAMPLES_KEYPOINTS_LOSS_H

#include "net.h"

typedef struct views {
    eg_tensor *into, *back; /* [N, 4, 4] */
    double focal;           /* (x, y, z) is seen at (-focal x / z, -focal y / z) */
} views;

/* [N, K, 3]: what is seen at u, v with depth z is at (x, y, z) in the camera's coordinates; and back. */
eg_tensor *keypoints_unproject(eg_tensor *uvz, double focal);
eg_tensor *keypoints_project(eg_tensor *xyz, double focal);

/* Where the keypoints of each view are seen in the other one of its pair, [N, K, 3]. */
eg_tensor *keypoints_in_other(eg_tensor *uvz, const views *v);

/* The rotation [B, 3, 3] that brings points x [B, K, 3] nearest to y once their means are one: y = r x (orthogonal
 * Procrustes without reflections, Schoenemann 1966, Kabsch 1976). */
eg_tensor *keypoints_rotation(eg_tensor *x, eg_tensor *y);
/* What it is from first views to second ones. */
eg_tensor *views_rotation(const views *v);
/* The angle between rotations, radians [B]. */
eg_tensor *rotation_angle(eg_tensor *r, eg_tensor *s);

/* Whether (1, 0, 0) of the object is to the right of its middle, 1 or 0, [N]. */
eg_tensor *views_facing(const views *v);

typedef struct keypoint_weights {
    double consistency, pose, separation, silhouette, variance, orientation;
    double apart; /* keypoints are to be so far from each other, squared */
} keypoint_weights;
#define KEYPOINT_WEIGHTS ((keypoint_weights){1, 0.2, 1, 1, 0.5, 1, 0.05})

typedef struct keypoint_losses {
    eg_tensor *loss; /* the others' sum, weighted */
    eg_tensor *consistency, *pose, *separation, *silhouette, *variance, *orientation;
} keypoint_losses;

/* inside [N, H, W]: 1 where the object is, else 0. noise [N, K, 3], added before the rotation is found, so that
 * keypoints move apart; NULL: none. After a failure loss is NULL. */
keypoint_losses keypoint_losses_of(const keypoints *found, eg_tensor *inside, const views *v, eg_tensor *noise,
                                   const keypoint_weights *w);

#endif
