/* data.h - datasets: a source of samples and what is chained behind it.
 *
 *     eg_dataset *train = eg_dataset_batch(eg_dataset_shuffle(eg_mnist_new(dir, EG_TRAIN), 10000, .seed = 1),
 *                                          64);
 *     EG_FOR_EACH(sample, train) {
 *         ... sample[0], sample[1] ...
 *     }
 *
 * A sample is a few tensors. This page has the sources, walking and positions; data/chain.h what is chained
 * behind a source: map, shuffle, batch and so on. Each constructor takes over the datasets it is given, also when
 * it fails: freeing the last one frees the chain, and a NULL among them frees the others and gives NULL.
 * One that was given away already, or freed, is refused (EG_ESTATE) and left as it is; so is freeing it. That it was
 * freed is known until another dataset is made at its address.
 *
 * Everything is deterministic from the seeds and the number of the pass, however many threads make samples: the
 * user's functions find the thread's random numbers (eg_uniform and the like) started anew at each call, by the
 * pass, the number of the sample and the function's place in the chain; those of datasets that are joined may
 * find the same ones. Samples may share memory with the source or a cache: change copies. */
#ifndef EGRET_DATA_H
#define EGRET_DATA_H

#include <egret/base.h>
#include <egret/data/audio.h>
#include <egret/data/augment.h>
#include <egret/data/corpora.h>
#include <egret/data/image.h>
#include <egret/data/image_ops.h>
#include <egret/data/ngram.h>
#include <egret/data/photos.h>
#include <egret/data/preprocess.h>
#include <egret/error.h>
#include <egret/data/readers.h>
#include <egret/data/records.h>
#include <egret/data/text.h>
#include <egret/data/tokenizer.h>
#include <egret/tensor.h>

EG_BEGIN_DECLS

typedef struct eg_dataset eg_dataset;

enum { EG_SAMPLE_MAX = 8 }; /* tensors of one sample */

/* ---- sources --------------------------------------------------------------------------------- */

/* Fills sample[0..*n-1] with borrowed tensors for one index. Called in a scope of its own, possibly from
 * another thread, one call at a time. A failure without a record becomes EG_EUSER; its words end with the
 * sample's number, " (sample 17)". */
typedef eg_status (*eg_sample_fn)(int64_t index, eg_tensor **sample, int *n, void *user);

/* `count` samples made by a function. free_user(user) is called when the dataset is freed; may be NULL. After a
 * failure `user` is still the caller's. */
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

/* ---- walking ----------------------------------------------------------------------------------- */

/* One pass: the body runs once per sample in a scope of its own, `sample` being an array of tensors that
 * belong to that scope. Ends early on a failure: look at eg_dataset_status afterwards. A `break` or `return`
 * leaves the scope to the one outside; the next pass starts anew. */
#define EG_FOR_EACH(sample, dataset) \
    for (eg_tensor *const *sample = eg_dataset_first(dataset); sample; sample = eg_dataset_next(dataset))

/* What EG_FOR_EACH is made of: open a scope and give the first, next sample, or NULL at the end. */
EG_API eg_tensor *const *eg_dataset_first(eg_dataset *d);
EG_API eg_tensor *const *eg_dataset_next(eg_dataset *d);
/* Goes on behind the next n samples, which are made only where there is no other way; behind the last there are none.
 * For eg_dataset_next, within a pass. */
EG_API eg_status eg_dataset_pass(eg_dataset *d, int64_t n);
/* How the latest pass went so far: EG_OK, or the failure that ended it. Its words end with where the sample came
 * from if that is known: " (digits.rec, offset 1234)", " (sample 17)". */
EG_API eg_status eg_dataset_status(const eg_dataset *d);

/* Tensors of the sample given last; 0 before the first, and for NULL. */
EG_API int eg_dataset_width(const eg_dataset *d);

/* Samples of one pass; -1 if that is not known beforehand, or there is no end. */
EG_API int64_t eg_dataset_count(const eg_dataset *d);
/* Returns the number of samples in one pass of d or, if d has none, of the nearest dataset before it in the chain that
 * has some: the available samples when they do not fill one batch. -1: unknown; 0 for NULL. */
EG_API int64_t eg_dataset_count_before(const eg_dataset *d);

/* What eg_dataset_tolerate has left out of the latest pass, in the whole chain up to d. With threads that make
 * samples ahead it includes what they came across. */
typedef struct eg_left_out {
    int64_t count;
    eg_error first; /* one of the first failures; code EG_OK if there was none */
} eg_left_out;
EG_API eg_left_out eg_dataset_left_out(const eg_dataset *d);

/* Stops threads and waits for them. NULL is fine; on record is EG_ESTATE for a dataset that another one owns, or that
 * was freed, and nothing is done. */
EG_API void eg_dataset_free(eg_dataset *d);

/* ---- positions --------------------------------------------------------------------------------- */

/* Where the consumer of a chain stands: the pass, from 0, and the samples it has been given of it. Two integers
 * to save with a model. After the last sample of a pass it is the beginning of the next one. */
typedef struct eg_dataset_position {
    int64_t epoch, sample;
} eg_dataset_position;
EG_API eg_dataset_position eg_dataset_position_of(const eg_dataset *d);

/* Ends the pass under way; eg_dataset_first goes on at the position with the samples that an uninterrupted walk
 * of a chain built alike gives from there, bit for bit, whatever the number of workers: in the middle of a pass
 * its remainder, or the next pass if nothing remains. Samples before it are passed over without making them,
 * except by links that must see them: filter, bucket, tolerate, and shuffle behind these. EG_EINVAL for a negative
 * number or one past the samples of a pass, where those are not known before by eg_dataset_first. */
EG_API eg_status eg_dataset_seek(eg_dataset *d, eg_dataset_position position);

EG_END_DECLS

#include <egret/data/chain.h>

#endif
