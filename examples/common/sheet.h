/* sheet.h - a batch of images as one picture, and such pictures as a film. */
#ifndef EXAMPLES_SHEET_H
#define EXAMPLES_SHEET_H

#include <egret/egret.h>

#include "run_folder.h"

/* images [N, C, H, W], whose values low..high become 0..255, `columns` beside each other: u8 [C, ...], each
 * pixel `scale` wide and high. N must be a multiple of columns. */
eg_tensor *sheet_of(eg_tensor *images, double low, double high, int columns, int scale);

/* The file of a sheet after an epoch: "epoch-0012.png". */
run_path sheet_path(const run_folder *folder, int64_t epoch);

/* Reads the sheets of epochs first..last that are there and makes "epochs.gif" of them: early ones all, later
 * ones more and more rarely, and the last. Without giflib there is no film, which is no failure. */
eg_status sheet_film(const run_folder *folder, int64_t first, int64_t last);

#endif
