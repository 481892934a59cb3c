/* pairs.h - plans of house fronts with their photos, as files or drawn, and what is made of them
 * before the nets see them. */
#ifndef EXAMPLES_PIX2PIX_PAIRS_H
#define EXAMPLES_PIX2PIX_PAIRS_H

#include <egret/egret.h>

enum { PAIRS_SIDE = 256 };

typedef struct pairs pairs;

/* The pictures (.jpg, .jpeg, .png) in the folder's "train", or in its "test" or, without that, its
 * "val"; they have the photo in their left half and the plan in the right one. Without a folder
 * `drawn` pairs of the series `seed` that the other split does not have. */
pairs *pairs_open(const char *folder, eg_split_name split, uint64_t seed, int64_t drawn);
void pairs_free(pairs *p);
int64_t pairs_count(const pairs *p);

/* Their numbers, i64 [], as a dataset; p must outlive it. */
eg_dataset *pairs_numbers(pairs *p);

/* For eg_dataset_map, with the pairs as user: a number becomes the plan and the photo, f32 [3, 256,
 * 256] of -1..1 each. Both are resized to 286 x 286, cut to 256 x 256 and mirrored alike, where and
 * whether by chance; */
eg_status pairs_jittered(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user);
/* or they are only resized. */
eg_status pairs_plain(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user);

/* Images of 0..255 at another size: u8 [N, 3, H, W] to f32 [N, 3, side, side], by TensorFlow 1's
 * bicubic filter with corners on corners. */
eg_tensor *pairs_resized(eg_tensor *images, int64_t side);
/* 0..255 to -1..1. */
eg_tensor *pairs_centred(eg_tensor *x);

#endif
