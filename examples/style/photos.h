/* photos.h - photos for a painter to learn from. */
#ifndef EXAMPLES_STYLE_PHOTOS_H
#define EXAMPLES_STYLE_PHOTOS_H

#include <egret/run.h>

/* Batches of canvases (pictures.h), the middle squares of the photos in the run's --data, *.jpg or in folders there, in
 * another order in each pass; without it of `drawn` landscapes. */
eg_dataset *photos_dataset(eg_run *run, int64_t side, int64_t drawn);

#endif
