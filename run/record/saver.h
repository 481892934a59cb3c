/* saver.h - what saving and restoring share. */
#ifndef EGRET_RECORD_SAVER_H
#define EGRET_RECORD_SAVER_H

#include <egret/saver.h>

#include "lib/ops/dispatch.h"

typedef enum eg__part_kind {
    EG__PART_MODULE,
    EG__PART_TENSOR,
    EG__PART_NUMBER,
    EG__PART_REAL,
    EG__PART_OTHER
} eg__part_kind;

enum { EG__PART_NAME = 101 };

typedef struct eg__part {
    char name[EG__PART_NAME];
    eg__part_kind kind;
    union {
        eg_module *module;
        eg_tensor *tensor;
        int64_t *number;
        double *real;
        eg_saver_part other;
    } is;
} eg__part;

struct eg_saver {
    char *folder, *path;
    eg_saver_options options;
    eg__part *parts;
    uint32_t count, capacity;
    double best; /* NaN: none */
};

enum { EG__SAVER_FORMAT = 1 };
/* Keys of the file's texts, and what they say. */
#define EG__KEY_FORMAT "egret checkpoint"
#define EG__KEY_STEP   "step"
#define EG__KEY_RANDOM "random"
#define EG__ALGORITHM  "philox4x32-10"
/* Tensors of no part: seed and offset of the random sequence, i64 [2]; the score, f64 [], in a best file. */
#define EG__RANDOM "random"
#define EG__SCORE  "score"

/* Whether there are ranks that do not write. */
static inline bool eg__saver_shared(const eg_saver *s)
{
    return s->options.comm && eg_comm_size(s->options.comm) > 1;
}
static inline bool eg__saver_writes(const eg_saver *s)
{
    return !eg__saver_shared(s) || eg_comm_rank(s->options.comm) == 0;
}
/* st of all ranks. */
static inline eg_status eg__saver_agree(const eg_saver *s, eg_status st)
{
    return eg__saver_shared(s) ? eg_comm_agree(s->options.comm, st) : st;
}

/* Adds a part; `what` is what the caller named, NULL if it is missing. */
eg_status eg__saver_add(eg_saver *s, const char *op, const char *name, const void *what, const eg__part *part);
/* Adds the tensors of a part under the names they have in the file. */
eg_status eg__part_collect(const char *op, const eg__part *p, eg_tensors *map);
/* The map another part makes of its state. */
eg_tensors *eg__part_state(const char *op, const eg__part *p);
/* Whether the file's tensor is one of this part; if so *rest is its name inside the part. */
bool eg__part_has(const eg__part *p, const char *name, const char **rest);
/* From one file, whose path it takes over. *damaged: whether the file itself is at fault. */
eg_status eg__restore_file(eg_saver *s, const char *op, char *path, int64_t *step, const eg_restore_options *options,
                           bool *damaged);
/* Of several ranks: from the file that rank 0 names, NULL: from its latest checkpoint. Takes the path over. */
eg_status eg__restore_from_first(eg_saver *s, const char *op, char *path, int64_t *step, const eg_restore_options *o);
/* Notes the file that was used; takes the path over. */
void eg__saver_used(eg_saver *s, char *path);

#endif
