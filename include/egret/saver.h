/* saver.h - checkpoints that a training run can be continued from.
 *
 *     int64_t epoch = 0, step = 0;
 *     eg_saver *saver = eg_saver_new("egret-out/dcgan", .keep = 3);
 *     eg_saver_module(saver, "generator", generator);
 *     eg_saver_optim(saver, "adam", adam);
 *     eg_saver_dataset(saver, "train", train);
 *     eg_saver_number(saver, "epoch", &epoch);
 *     if (eg_saver_restore(saver, &step) != EG_OK) {
 *         return eg_error_print(stderr);
 *     }
 *     while (step < steps) {
 *         ...
 *         if (++step % 1000 == 0 && eg_saver_save(saver, step) != EG_OK) ...
 *     }
 *     eg_saver_free(saver);
 *
 * A run that was killed and is started again like this goes on bit for bit as if nothing had been, on the
 * CPU with the same build, instruction set and number of threads; the latter two are the machine's unless they are
 * chosen (eg_set_threads, in tensor.h, says what depends on it). (Recomputing instead of saving activations is
 * eg_checkpoint, in tape.h.) */
#ifndef EGRET_SAVER_H
#define EGRET_SAVER_H

#include <egret/base.h>
#include <egret/comm.h>
#include <egret/data.h>
#include <egret/io.h>
#include <egret/metrics.h>
#include <egret/nn.h>
#include <egret/optim.h>

EG_BEGIN_DECLS

/* Knows the parts of a run and writes them into files of a folder, "checkpoint-0000001000.safetensors" for
 * step 1000 and "best.safetensors": safetensors files (io.h) with CRC-32C checksums over header and every
 * tensor, so that no damaged bit goes unnoticed. They are replaced whole or not at all: whenever the process
 * dies or the disk is full, what was there before is still there. The random sequence of the calling thread
 * is always a part. */
typedef struct eg_saver eg_saver;

typedef struct eg_saver_options {
    size_t size;
    int64_t keep; /* checkpoints to keep: this many of the latest steps; 0: all */
    bool highest; /* eg_saver_save_best: the higher score is the better one; else the lower */
    /* Then each call below is all ranks': rank 0 writes, and what it restores it sends to the others, who need not see
     * its folder; a failure is all ranks'. The scores must be the same on all of them. NULL: of this process alone. */
    eg_comm *comm;
} eg_saver_options;

/* Makes the folder and those above it if need be. The caller frees the saver. EG_EIO if the folder cannot be
 * made or written to; EG_EFORMAT if there is a damaged best.safetensors. Removes what processes that died
 * while saving left behind, once it is an hour old. */
EG_API eg_saver *eg_saver_new_with(const char *folder, const eg_saver_options *options);
#define eg_saver_new(...)          EG_SAVER_NEW_(__VA_ARGS__, )
#define EG_SAVER_NEW_(folder, ...) eg_saver_new_with(folder, EG_OPTIONS_(eg_saver_options, __VA_ARGS__))
/* Frees the saver, none of its parts; NULL is fine. */
EG_API void eg_saver_free(eg_saver *s);

/* ---- parts --------------------------------------------------------------------------------- */

/* Each takes a name of its own (UTF-8, at most 100 bytes, without '/', not "checksums", "random" or "score";
 * EG_EINVAL) and a part that must outlive the saver. In the file a module's tensor is named
 * "generator/0.weight", a number or a tensor as the part is. */
EG_API eg_status eg_saver_module(eg_saver *s, const char *name, eg_module *m);
EG_API eg_status eg_saver_number(eg_saver *s, const char *name, int64_t *number);
EG_API eg_status eg_saver_real(eg_saver *s, const char *name, double *number);
EG_API eg_status eg_saver_tensor(eg_saver *s, const char *name, eg_tensor *t);
/* What optim.h says is the state of each; options, groups and schedules are not in it. */
EG_API eg_status eg_saver_optim(eg_saver *s, const char *name, eg_optim *optim);
EG_API eg_status eg_saver_scaler(eg_saver *s, const char *name, eg_scaler *scaler);
EG_API eg_status eg_saver_ema(eg_saver *s, const char *name, eg_ema *ema);
/* What is gathered so far (metrics.h). */
EG_API eg_status eg_saver_metrics(eg_saver *s, const char *name, eg_metrics *metrics);
/* Where the consumer of a dataset stands (data.h, positions). */
EG_API eg_status eg_saver_dataset(eg_saver *s, const char *name, eg_dataset *d);

/* Any other part. state makes a map of what must be saved, at least one tensor, for eg_tensors_free. load
 * takes such a map, names without the part's; it changes all or, if it refuses, nothing. Failures without a
 * record become EG_EUSER. */
typedef struct eg_saver_part {
    size_t size;
    eg_tensors *(*state)(void *user);
    eg_status (*load)(void *user, const eg_tensors *state);
    void *user;
} eg_saver_part;
EG_API eg_status eg_saver_add(eg_saver *s, const char *name, const eg_saver_part *part);

/* ---- saving -------------------------------------------------------------------------------- */

/* Writes the checkpoint of this step (0 or more), then removes what there is too many of: checkpoints of
 * smaller steps. Those of larger steps stay. EG_EIO, and the old ones are there, if it cannot be written. */
EG_API eg_status eg_saver_save(eg_saver *s, int64_t step);

/* Writes best.safetensors if the score is better than that of the file there is, from this run or one
 * before; a NaN never is. Of several ranks rank 0's score counts. The file can be restored as the others can. */
EG_API eg_status eg_saver_save_best(eg_saver *s, int64_t step, double score);
/* The best score so far; NaN: none yet. */
EG_API double eg_saver_best_score(const eg_saver *s);

/* ---- restoring ----------------------------------------------------------------------------- */

typedef struct eg_restore_options {
    size_t size;
    bool fall_back;    /* pass over checkpoints that are damaged (EG_EFORMAT, EG_EIO), latest first; eg_saver_path
                          tells which was taken */
    bool allow_others; /* read only the parts named here, whatever else the file holds, and leave the random
                          sequence alone: to use one part of a trained model */
} eg_restore_options;

/* Puts all parts back to the checkpoint of the largest step, and says which in step (NULL: not wanted). If there is
 * no checkpoint nothing changes, and step neither. All is checked before anything changes: EG_EFORMAT for a
 * damaged file, a newer format, another random algorithm, tensors missing or unexpected, EG_ESHAPE and
 * EG_EDTYPE for one that does not fit, each by name; a part's own refusals. */
EG_API eg_status eg_saver_restore_with(eg_saver *s, int64_t *step, const eg_restore_options *options);
#define eg_saver_restore(...)           EG_SAVER_RESTORE_(__VA_ARGS__, )
#define EG_SAVER_RESTORE_(s, step, ...) eg_saver_restore_with(s, step, EG_OPTIONS_(eg_restore_options, __VA_ARGS__))
/* The same from a file of the caller's choice; fall_back has nothing to fall back to. */
EG_API eg_status eg_saver_restore_from_with(eg_saver *s, const char *path, int64_t *step,
                                            const eg_restore_options *options);
#define eg_saver_restore_from(...) EG_SAVER_RESTORE_FROM_(__VA_ARGS__, )
#define EG_SAVER_RESTORE_FROM_(s, path, step, ...) \
    eg_saver_restore_from_with(s, path, step, EG_OPTIONS_(eg_restore_options, __VA_ARGS__))

/* The largest step there is a checkpoint of, -1 if there is none or the folder cannot be read. */
EG_API int64_t eg_saver_latest(const eg_saver *s);
/* The file last saved or restored, "" if none was; the saver's, until the next. */
EG_API const char *eg_saver_path(const eg_saver *s);

EG_END_DECLS

#endif
