/* judge.h - what keypoints are worth on objects that were not learned from, and pictures of them. */
#ifndef EXAMPLES_KEYPOINTS_JUDGE_H
#define EXAMPLES_KEYPOINTS_JUDGE_H

#include "loss.h"
#include "pairs.h"

/* A batch of pairs, first views before second ones. */
typedef struct batch {
    eg_tensor *pictures; /* [N, 3, H, W] */
    eg_tensor *inside;   /* [N, H, W], 1 where the object is */
    views v;
} batch;
batch batch_of(eg_tensor *const *sample, double focal);

typedef struct worth {
    double angle,
        median;    /* degrees between the true rotation from view to view and that of the keypoints: mean, median */
    double apart;  /* mean degrees between the views themselves: what one reaches who says that nothing turned */
    double pixels; /* between a keypoint and where the other view says that it is */
    double inside; /* share of keypoints that are on the object */
    double facing; /* share of views whose direction was told right */
} worth;

/* A pass over the pairs, in eval mode, in which the net is left. The run's status. */
eg_status judge_pairs(eg_run *run, eg_module *net, eg_dataset *others, double focal, worth *w);
eg_status judge_log(eg_run *run, const worth *w);
void judge_tell(eg_run *run, const worth *w);
/* What became of each loss: losses.png. */
eg_status judge_curves(eg_run *run);

/* Keypoints on some of the pairs: pairs.png. */
eg_status judge_show(eg_run *run, eg_module *net, eg_dataset *others);
/* On shapes that were not learned from, and turn around: turn.png, and a film, turn.gif. */
eg_status judge_turn(eg_run *run, eg_module *net, const pairs_options *o);
/* A picture, u8 [3, H, W], of what the net sees, f32 [3, h, w], with the keypoints that it finds. */
eg_tensor *judge_draw(eg_module *net, eg_tensor *picture, eg_tensor *seen, int scale);

#endif
