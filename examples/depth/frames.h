/* frames.h - videos as frames in threes: flights that are drawn, or files as KITTI's odometry has them. */
#ifndef EXAMPLES_DEPTH_FRAMES_H
#define EXAMPLES_DEPTH_FRAMES_H

#include <egret/run.h>

#include "net.h"

/* What a sample has, of three frames or a batch of them: the frames, f32 [9, H, W] of 0..1; fx, fy, cx, cy in pixels,
 * f32 [4]; of data to be judged by also depths of the one in the middle, f32 [1, H, W], 0 where none is known; where
 * the second camera is as the first has it, and the third as the second, f32 [2, 3, 4], zeros where it is not known;
 * and the number of the video, i64 [1]. */
enum { IMAGES, LENS, DEPTHS, WAYS, VIDEO };

typedef struct frames_options {
    int64_t height, width; /* that frames get */
    int64_t drawn;         /* flights where there are no files */
    int64_t held_out;      /* videos, the last ones, that are not learned from; 0: every seventh */
    int64_t batch;
} frames_options;

typedef struct frames frames;

/* Of a folder with sequences/NN/image_2, or image_0, 1, 3, and calib.txt, and poses/NN.txt; or of one video, with
 * calib.txt and poses.txt beside the frames, of which the last quarter is not learned from. depth/NNNNNN.npy beside
 * them are true depths. Without a folder flights are drawn. The run's. */
frames *frames_open(eg_run *run, const char *folder, const frames_options *o);
/* Batches to learn from, in another order in each pass and changed by chance, or to be judged by, a video after the
 * other and from frame to frame. */
eg_dataset *frames_dataset(frames *f, bool learned_from, uint64_t seed);
/* How many videos and threes of frames are learned from, or are not. */
void frames_count(const frames *f, bool learned_from, int64_t *count, int64_t *threes);
/* Writes drawn flights as files in that layout. */
eg_status frames_write(const frames *f, const char *folder);

#endif
