/* judge.h - what a detector is worth on photos that it has not learned from, and pictures of that. */
#ifndef EXAMPLES_DETECT_JUDGE_H
#define EXAMPLES_DETECT_JUDGE_H

#include <egret/detection.h>

#include "photos.h"

/* What is gathered: as COCO counts, as Pascal VOC does, and of a net that finds masks of these, as COCO. The run's. */
typedef struct judge {
    eg_detection_scores *coco, *voc, *masks;
} judge;
judge *judge_new(eg_run *run, int64_t classes, bool masks);

/* A pass over the photos, in eval mode, in which the net is left. */
eg_status judge_photos(eg_run *run, eg_module *net, eg_dataset *others, judge *j);
/* The numbers as "valid/AP", "valid/AP50", ... of the epoch. */
eg_status judge_log(eg_run *run, const judge *j);
/* All numbers, and those of each class, for people; curves of precision over recall, precision.png. */
eg_status judge_tell(eg_run *run, const judge *j, const char *const *classes, int64_t count);
/* Some photos with what was found on them, and dashed what there is: found.png. */
eg_status judge_show(eg_run *run, eg_module *net, eg_dataset *others, const char *const *classes, int64_t count,
                     double least);
/* What is found on a photo of any size, u8 [3, H, W], drawn on it. */
eg_tensor *judge_draw(eg_module *net, eg_tensor *photo, const photos_options *o, const char *const *classes,
                      int64_t count, double least);

#endif
