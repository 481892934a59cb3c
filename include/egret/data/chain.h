/* chain.h - the links of a chain of datasets: what can be done to the samples of a source.
 *
 *     d = eg_dataset_shuffle(eg_dataset_shard(files, rank, ranks), 10000, .seed = seed);
 *     d = eg_dataset_tolerate(eg_dataset_map(d, decode, NULL, .workers = 8, .seed = seed), .most = 100);
 *     d = eg_dataset_prefetch(eg_dataset_batch(d, 64, .drop_last = true), 2);
 *
 * A failure before or in a link takes one step of a pass, as a sample does, and ends the pass unless
 * eg_dataset_tolerate stands behind. All constructors: EG_EINVAL for a number out of range, EG_ENOMEM. */
#ifndef EGRET_DATA_CHAIN_H
#define EGRET_DATA_CHAIN_H

#include <egret/data.h>

EG_BEGIN_DECLS

/* ---- one sample at a time -------------------------------------------------------------------- */

/* Turns a sample into another: reads in[0..n-1], fills out[0..*m-1] with borrowed tensors. */
typedef eg_status (*eg_map_fn)(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user);

typedef struct eg_map_options {
    size_t size;
    int workers;   /* threads that call f, 0..256; 0: the thread that asks for samples */
    int64_t ahead; /* samples the workers make ahead, up to 65535; 0: four per worker */
    uint64_t seed; /* of the random numbers that f finds, see data.h */
} eg_map_options;
/* f over every sample. With workers f runs in several threads at once, on different samples, and the ops in it
 * use no further threads; the samples are the same ones in the same order. Where threads cannot be had, fewer
 * or none do the work. */
EG_API eg_dataset *eg_dataset_map_with(eg_dataset *d, eg_map_fn f, void *user, const eg_map_options *options);
#define eg_dataset_map(...)              EG_DATASET_MAP_(__VA_ARGS__, )
#define EG_DATASET_MAP_(d, f, user, ...) eg_dataset_map_with(d, f, user, EG_OPTIONS_(eg_map_options, __VA_ARGS__))

/* Makes up to `depth` samples ahead in a thread of its own, 1..65535, in which ops use no further threads.
 * Same samples, same order; a failure there reaches the consumer with its words. */
EG_API eg_dataset *eg_dataset_prefetch(eg_dataset *d, int64_t depth);

/* Says in *keep whether a sample stays. */
typedef eg_status (*eg_filter_fn)(eg_tensor *const *in, int n, bool *keep, void *user);
/* The samples that f keeps. Of an endless dataset it must keep some: the walk does not return otherwise. */
EG_API eg_dataset *eg_dataset_filter(eg_dataset *d, eg_filter_fn f, void *user);

typedef struct eg_tolerate_options {
    size_t size;
    int64_t most; /* failures to leave out per pass, the next one ends it; 0: any number, EG_ZERO: none */
} eg_tolerate_options;
/* Leaves out and counts what fails before this link, whatever the failure but EG_ENOMEM
 * (eg_dataset_left_out). A batch with a bad record is left out whole: stand before it. */
EG_API eg_dataset *eg_dataset_tolerate_with(eg_dataset *d, const eg_tolerate_options *options);
#define eg_dataset_tolerate(...)     EG_DATASET_TOLERATE_(__VA_ARGS__, )
#define EG_DATASET_TOLERATE_(d, ...) eg_dataset_tolerate_with(d, EG_OPTIONS_(eg_tolerate_options, __VA_ARGS__))

/* ---- which samples, and in which order --------------------------------------------------------- */

typedef struct eg_shuffle_options {
    size_t size;
    uint64_t seed;   /* the epoch's number is mixed in, so that each has its own order */
    int64_t ordered; /* so many epochs, the first ones, come as they are */
} eg_shuffle_options;
/* Draws each sample at random from a buffer of `buffer` samples; at least the dataset's size: a uniform
 * permutation. Failures are drawn like samples. */
EG_API eg_dataset *eg_dataset_shuffle_with(eg_dataset *d, int64_t buffer, const eg_shuffle_options *options);
#define eg_dataset_shuffle(...) EG_DATASET_SHUFFLE_(__VA_ARGS__, )
#define EG_DATASET_SHUFFLE_(d, buffer, ...) \
    eg_dataset_shuffle_with(d, buffer, EG_OPTIONS_(eg_shuffle_options, __VA_ARGS__))

/* Only the first `count` samples. */
EG_API eg_dataset *eg_dataset_take(eg_dataset *d, int64_t count);
/* All but the first `count` samples. */
EG_API eg_dataset *eg_dataset_skip(eg_dataset *d, int64_t count);
/* Every count-th sample from number `index` on: the shards 0..count-1 have each sample once. Put it before what
 * is costly. */
EG_API eg_dataset *eg_dataset_shard(eg_dataset *d, int64_t index, int64_t count);

/* This rank's share of a chain that `ranks` ranks walk together, each with the same chain and its own share of it:
 * their batches of b samples, one behind the other, are the batch of ranks * b samples that a single process would have
 * made, in the same order and with the same random numbers, and all have as many. A sample is made by one of them: what
 * stands between a source, a shuffle or another link that looks at several samples and the end of the chain -
 * functions, prefetching, batches, and all those in a zip - works on this rank's alone. The rest at the end is dealt
 * out evenly, what cannot be is left out; where the number of samples is not known (filter, tolerate) the rest is left
 * out whole. Batches by length (eg_dataset_bucket), and samples of a chain without batches, are dealt out whole, one
 * for each rank in turn. Takes d, which may come back as it is; a pass under way ends. EG_EINVAL: rank is not one of
 * 0..ranks - 1. */
EG_API eg_dataset *eg_dataset_distribute(eg_dataset *d, int rank, int ranks);

/* `times` passes as one, or without end for 0 or -1. What is before sees new epochs: in pass e the passes
 * e * times and so on, without end those from e * 2^32. Ends where a whole pass gives no sample. */
EG_API eg_dataset *eg_dataset_repeat(eg_dataset *d, int64_t times);

/* Keeps in memory what the first pass makes and gives it again, in its order, in every pass; what is before is
 * always walked as in epoch 0. An incomplete first pass is gone on with later; samples behind a failure or
 * beyond one that was passed over are not kept. */
EG_API eg_dataset *eg_dataset_cache(eg_dataset *d);

/* ---- several datasets -------------------------------------------------------------------------- */

/* All samples of the first, then of the second, and so on; n in 1..4096, all different. */
EG_API eg_dataset *eg_dataset_concat(eg_dataset *const *datasets, int n);
/* `block` samples of each in turn; those that have ended are passed over. */
EG_API eg_dataset *eg_dataset_interleave(eg_dataset *const *datasets, int n, int64_t block);
/* One sample of each joined into one, tensors in the order of the datasets; ends with the shortest. */
EG_API eg_dataset *eg_dataset_zip(eg_dataset *const *datasets, int n);

/* ---- batches ----------------------------------------------------------------------------------- */

typedef struct eg_batch_options {
    size_t size;
    bool drop_last; /* leave out the last batch if it is short */
} eg_batch_options;
/* Stacks `batch` samples, 1..65535, into one with a new axis 0. Shapes and dtypes must be the same (EG_ESHAPE,
 * EG_EDTYPE naming the sample). The layout of the first stays: images [C, H, W] that lie with C innermost give a
 * channels-last batch. */
EG_API eg_dataset *eg_dataset_batch_with(eg_dataset *d, int64_t batch, const eg_batch_options *options);
#define eg_dataset_batch(...)            EG_DATASET_BATCH_(__VA_ARGS__, )
#define EG_DATASET_BATCH_(d, batch, ...) eg_dataset_batch_with(d, batch, EG_OPTIONS_(eg_batch_options, __VA_ARGS__))

typedef struct eg_padded_batch_options {
    size_t size;
    bool drop_last;
    double value[EG_SAMPLE_MAX];   /* per tensor: what is put behind the end of an axis */
    eg_shape sizes[EG_SAMPLE_MAX]; /* per tensor: of the padded sample; -1 or an empty shape: the longest */
} eg_padded_batch_options;
/* Like eg_dataset_batch for samples of one rank whose sizes differ: each axis is as long as the longest of the
 * batch, or as asked for (EG_ESHAPE for a longer one), and filled up behind with the value, 0 by default:
 *     eg_dataset_padded_batch(d, 32, .value = {-1}, .sizes = {EG_SHAPE(-1, 80)}). */
EG_API eg_dataset *eg_dataset_padded_batch_with(eg_dataset *d, int64_t batch, const eg_padded_batch_options *options);
#define eg_dataset_padded_batch(...) EG_DATASET_PADDED_BATCH_(__VA_ARGS__, )
#define EG_DATASET_PADDED_BATCH_(d, batch, ...) \
    eg_dataset_padded_batch_with(d, batch, EG_OPTIONS_(eg_padded_batch_options, __VA_ARGS__))

typedef struct eg_bucket_options {
    size_t size;
    int64_t batch;               /* samples of a batch, 1..65535 */
    const int64_t *batches;      /* instead: one number per bucket, n + 1 of them; copied */
    int element, axis;           /* the tensor and axis that are looked at */
    bool longest;                /* the tensor that is longest there, whichever that is */
    bool drop_last;              /* leave out what remains in the buckets at the end */
    double value[EG_SAMPLE_MAX]; /* as in eg_dataset_padded_batch */
    int64_t tokens;              /* a batch has at most so many places along the axis, padding among them: samples
                                    times the longest; or one sample. batch, batches may be 0 then; 0: any number */
} eg_bucket_options;
/* Batches of samples of similar length: bucket 0 takes those shorter than boundaries[0], the next those shorter
 * than boundaries[1], and so on, bucket n the others; boundaries ascend. A full bucket is given as a padded
 * batch; at the end the remainders, in the order of the buckets. EG_EINDEX for a sample without that tensor or
 * axis. */
EG_API eg_dataset *eg_dataset_bucket_with(eg_dataset *d, const int64_t *boundaries, int n,
                                          const eg_bucket_options *options);
#define eg_dataset_bucket(...) EG_DATASET_BUCKET_(__VA_ARGS__, )
#define EG_DATASET_BUCKET_(d, boundaries, n, ...) \
    eg_dataset_bucket_with(d, boundaries, n, EG_OPTIONS_(eg_bucket_options, __VA_ARGS__))

EG_END_DECLS

#endif
