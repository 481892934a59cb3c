/* data.h - datasets: a source of samples and what is chained behind it.
 *
 *     eg_dataset *train = eg_dataset_batch(eg_dataset_shuffle(eg_mnist_new(dir, EG_TRAIN), 10000, .seed = 1),
 *                                          64);
 *     EG_FOR_EACH(sample, train) {
 *         ... sample[0], sample[1] ...
 *     }
 *
 * A sample is a few tensors. Each constructor takes over the dataset it is given: freeing the last one frees
 * the chain, and a NULL given frees nothing and gives NULL. Everything is deterministic from the seeds. */
#ifndef EGRET_DATA_H
#define EGRET_DATA_H

#include <egret/base.h>
#include <egret/data/image.h>
#include <egret/data/image_ops.h>
#include <egret/tensor.h>

EG_BEGIN_DECLS

typedef struct eg_dataset eg_dataset;

enum { EG_SAMPLE_MAX = 8 }; /* tensors of one sample */

/* ---- sources --------------------------------------------------------------------------------- */

/* Fills sample[0..*n-1] with borrowed tensors for one index. Called in a scope of its own, possibly from
 * another thread, one call at a time. A failure without a record becomes EG_EUSER; its words end with the
 * sample's number, " (sample 17)". */
typedef eg_status (*eg_sample_fn)(int64_t index, eg_tensor **sample, int *n, void *user);

/* `count` samples made by a function. free_user(user) is called when the dataset is freed; may be NULL. */
EG_API eg_dataset *eg_dataset_from(eg_sample_fn f, int64_t count, void *user, void (*free_user)(void *));

/* Slices along axis 0 of tensors of one length, which are kept: sample i is tensors[k][i]. */
EG_API eg_dataset *eg_dataset_from_tensors(eg_tensor *const *tensors, int n);

typedef enum eg_split_name { EG_TRAIN, EG_TEST } eg_split_name;

/* The four files of the MNIST digits (LeCun et al. 1998) in a folder, plain or .gz: samples are an image,
 * f32 [1, 28, 28] in 0..1, and its label, i64 []. EG_EIO, EG_EFORMAT naming file and offset. */
EG_API eg_dataset *eg_mnist_new(const char *folder, eg_split_name split);

/* One idx file as a tensor (the format of the MNIST page): u8 as u8; i8, i16, i32 as i32; f32; f64. Plain, or
 * gzip where zlib was there at build time. The memory asked for is bounded by the file's size (gzip: 1,100
 * times). EG_EFORMAT for a wrong magic, dtype code, rank or length, with the offset. */
EG_API eg_tensor *eg_idx_read(const char *path);

/* ---- chains ------------------------------------------------------------------------------------ */

/* Turns a sample into another: reads in[0..n-1], fills out[0..*m-1] with borrowed tensors. */
typedef eg_status (*eg_map_fn)(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user);
EG_API eg_dataset *eg_dataset_map(eg_dataset *d, eg_map_fn f, void *user);

typedef struct eg_shuffle_options {
    size_t size;
    uint64_t seed; /* the epoch's number is mixed in, so that each has its own order */
} eg_shuffle_options;
/* Draws each sample at random from a buffer of `buffer` samples; at least the dataset's size: a uniform
 * permutation. */
EG_API eg_dataset *eg_dataset_shuffle_with(eg_dataset *d, int64_t buffer,
                                           const eg_shuffle_options *options);
#define eg_dataset_shuffle(...) EG_DATASET_SHUFFLE_(__VA_ARGS__, .size = sizeof(eg_shuffle_options))
#define EG_DATASET_SHUFFLE_(d, buffer, ...)                                                        \
    eg_dataset_shuffle_with(d, buffer, &(eg_shuffle_options){__VA_ARGS__})

typedef struct eg_batch_options {
    size_t size;
    bool drop_last; /* leave out the last batch if it is short */
} eg_batch_options;
/* Stacks `batch` samples into one with a new axis 0. */
EG_API eg_dataset *eg_dataset_batch_with(eg_dataset *d, int64_t batch,
                                         const eg_batch_options *options);
#define eg_dataset_batch(...) EG_DATASET_BATCH_(__VA_ARGS__, .size = sizeof(eg_batch_options))
#define EG_DATASET_BATCH_(d, batch, ...)                                                           \
    eg_dataset_batch_with(d, batch, &(eg_batch_options){__VA_ARGS__})

/* Only the first `count` samples. */
EG_API eg_dataset *eg_dataset_take(eg_dataset *d, int64_t count);

/* Makes up to `depth` samples ahead in a thread of its own. Same samples, same order; a failure there reaches
 * the consumer with its words. */
EG_API eg_dataset *eg_dataset_prefetch(eg_dataset *d, int depth);

/* Samples of one pass; -1 if that is not known. */
EG_API int64_t eg_dataset_count(const eg_dataset *d);
/* NULL is fine. Stops threads and waits for them. */
EG_API void eg_dataset_free(eg_dataset *d);

/* ---- walking ----------------------------------------------------------------------------------- */

/* One pass: the body runs once per sample in a scope of its own, `sample` being an array of tensors that
 * belong to that scope. Ends early on a failure: look at eg_dataset_status afterwards. A `break` or `return`
 * leaves the scope to the one outside; the next pass starts anew. */
#define EG_FOR_EACH(sample, dataset)                                                               \
    for (eg_tensor *const *sample = eg_dataset_first(dataset); sample;                             \
         sample = eg_dataset_next(dataset))

/* What EG_FOR_EACH is made of: open a scope and give the first, next sample, or NULL at the end. */
EG_API eg_tensor *const *eg_dataset_first(eg_dataset *d);
EG_API eg_tensor *const *eg_dataset_next(eg_dataset *d);
/* How the latest pass went so far: EG_OK, or the failure that ended it. */
EG_API eg_status eg_dataset_status(const eg_dataset *d);

EG_END_DECLS

#endif
