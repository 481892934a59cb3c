/* show.h - pictures of what was found. */
#ifndef EXAMPLES_DEPTH_SHOW_H
#define EXAMPLES_DEPTH_SHOW_H

#include "judge.h"

/* depth.png, frames with disparities as found and as they are; warped.png, frames, their neighbours, and these seen
 * from where the frames were taken; trajectory.png, the way through a video from above. */
eg_status show_all(eg_run *run, eg_module *nets, eg_dataset *others, const judge *j);
/* A photo, u8 [3, H, W], over its disparities, found at this size. */
eg_tensor *show_photo(eg_module *nets, eg_tensor *photo, int64_t height, int64_t width);

#endif
