/* images.h - what the net learns from: CIFAR-10's images, or ten kinds of shapes that are drawn here. */
#ifndef EXAMPLES_CIFAR10_IMAGES_H
#define EXAMPLES_CIFAR10_IMAGES_H

#include <egret/run.h>

extern const char *const cifar10_classes[10];

/* Images, f32 [3, 32, 32] of 0..255, and labels, i64 []. In the folder are data_batch*.bin to train with (or it has
 * them in cifar-10-batches-bin), and to test with test_batch.bin or jpeg-test.tar, of members SPLIT/CLASS/NUMBER.jpg;
 * where neither is there, the last tenth of the others, which is then not trained with. Without a folder `drawn`
 * images, which are others in each pass; to test with, the same ones each time. */
eg_dataset *cifar10_images(const char *folder, bool train, int64_t drawn);

/* To -1..1, as the net wants them; with `distort` after 4 zeros around, a random 32 x 32 of it, mirrored by chance. For
 * eg_dataset_map, whose user is `distort` (any pointer) or NULL. */
eg_status cifar10_prepare(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user);

/* Fetches the binary files into the folder, from where `url` says (NULL: their author). A run's get_data. */
eg_status cifar10_get(const char *folder, const char *url, void *user);

/* The first images of a pass with what the net takes them for; mistakes in red. In the scope. */
eg_tensor *cifar10_sheet(eg_run *run, eg_module *net, eg_dataset *images);

#endif
