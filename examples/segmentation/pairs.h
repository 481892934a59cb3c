/* pairs.h - images and masks of what is to be found in them. */
#ifndef EXAMPLES_SEGMENTATION_PAIRS_H
#define EXAMPLES_SEGMENTATION_PAIRS_H

#include <egret/run.h>

typedef struct pairs pairs;

/* Images and masks of a folder: train/NAME.jpg and train_masks/NAME_mask.gif as Carvana has them, or
 * train/image/NAME.png and train/label/NAME.png; drawn ones without a folder. The run's. */
pairs *pairs_open(eg_run *run, const char *folder, int64_t side, int64_t drawn);

/* Images, f32 [3, side, side], and masks, f32 [1, side, side], both of 0..1, four fifths to train with, by an order
 * drawn once, or the rest. To train with they come with another hue, mirrored and moved by chance, both alike but for
 * the hue. */
eg_dataset *pairs_dataset(pairs *p, bool train, uint64_t seed);

/* Rows of an image, its mask, what the net makes of it, and that laid over the image: u8 [3, H, W], in the scope. */
eg_tensor *pairs_sheet(eg_run *run, eg_module *net, eg_dataset *others);

#endif
