/* convert.h - sets of labelled images as files of records, laid out as trainers of image classifiers know them.
 *
 * A record is an Example (records.h) with image/encoded, the bytes of a PNG or JPEG file; image/format, "png" or "jpg";
 * image/class/label, image/height and image/width. Beside the records lies labels.txt, a line `NUMBER:NAME` for each
 * class. Folders of results are made. */
#ifndef EXAMPLES_CONVERT_H
#define EXAMPLES_CONVERT_H

#include <egret/egret.h>

/* How a set without parts of its own is cut. */
typedef struct convert_split {
    int64_t validation; /* images; 0: 350, of fewer than 3,500 a tenth */
    uint64_t seed;      /* of the order they are in */
    int64_t shards;     /* files of each part */
} convert_split;

/* The four files of MNIST in `from`, plain or .gz: mnist_train.tfrecord, mnist_test.tfrecord; PNG. */
eg_status convert_mnist(const char *from, const char *to, const convert_split *split);

/* The binary files of CIFAR-10 in `from`, or in its folder cifar-10-batches-bin: data_batch*.bin and test_batch*.bin
 * become cifar10_train.tfrecord and cifar10_test.tfrecord; PNG. One of the two may be missing: its file is not written.
 */
eg_status convert_cifar10(const char *from, const char *to, const convert_split *split);

/* A folder of photos for each class in `from`, or in its folder flower_photos, drawn in one order for all:
 * flowers_validation_00000-of-00005.tfrecord and so on have the first of them, flowers_train_... the rest; files as
 * they are. */
eg_status convert_flowers(const char *from, const char *to, const convert_split *split);

#endif
