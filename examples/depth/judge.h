/* judge.h - what depths and motions are worth on videos that were not learned from. */
#ifndef EXAMPLES_DEPTH_JUDGE_H
#define EXAMPLES_DEPTH_JUDGE_H

#include "frames.h"
#include "loss.h"

/* The way of a camera through a video, [1, T, 3], as found and as it was; NULL: it is not known. */
typedef struct track {
    int64_t video;
    eg_tensor *found, *truth;
} track;

typedef struct judge {
    eg_metrics *scores; /* "loss"; "depth", "snippets" and "path" where the truth is known */
    track *tracks;
    int64_t count, room;
} judge;

/* The run's. */
judge *judge_new(eg_run *run, int64_t videos);
/* A pass over the videos, in eval mode, in which the nets are left. */
eg_status judge_videos(eg_run *run, eg_module *nets, eg_dataset *others, const loss_weights *by, judge *j);
/* Whether a score of that name was gathered. */
bool judge_has(const judge *j, const char *name);
/* What says which nets are best, the lower the better: the mean relative error of depths, or where none is known the
 * loss. */
double judge_worth(const judge *j);
/* The numbers as "valid/..." of the epoch; all of them for people. */
eg_status judge_log(eg_run *run, const judge *j);
void judge_tell(eg_run *run, const judge *j);

#endif
