/* records.h - pairs of views in files, as KeypointNet's data come: for each object NAME.tfrecord with its pairs,
 * dev.txt with the names of those to be judged by, test.txt, if it is there, with those that are left alone,
 * projection.txt with the camera's matrix. */
#ifndef EXAMPLES_KEYPOINTS_RECORDS_H
#define EXAMPLES_KEYPOINTS_RECORDS_H

#include "pairs.h"

/* How large the camera of a folder shows what is there (loss.h). */
eg_status records_focal(const char *folder, double *focal);
/* The records to learn from, or to be judged by. */
eg_dataset *records_open(const char *folder, bool train);
/* The pair in a record: pictures u8 [4, H, W], matrices f32 [4, 4] into the camera's coordinates and back. */
eg_status records_read(eg_tensor *record, eg_tensor **picture, eg_tensor **into, eg_tensor **back);

/* Puts all that is drawn into a folder. */
eg_status records_write(const pairs_options *o, const char *folder);

#endif
