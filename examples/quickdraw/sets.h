/* sets.h - drawings in TFRecord files, written and read as TensorFlow's tutorial has them. */
#ifndef EXAMPLES_QUICKDRAW_SETS_H
#define EXAMPLES_QUICKDRAW_SETS_H

#include <egret/run.h>

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct sets_options {
    const char *from, *to;       /* a folder with *.ndjson, a class each; a folder */
    int64_t train, eval, shards; /* drawings of a class, files of each set */
    int64_t seed;
} sets_options;

/* Writes training.tfrecord-00000-of-00010 and so on, eval.tfrecord-..., and the names of the classes behind each,
 * training.tfrecord.classes: of each class the first `train` drawings and the next `eval`; of one with fewer than both
 * so much of each set. Drawings go to files drawn at random. */
eg_status sets_write(const sets_options *o, int64_t *classes, int64_t *train, int64_t *eval);

/* ---- reading --------------------------------------------------------------------------------- */

/* Batches of ink, f32 [N, longest, 3] with zeros behind, lengths, i64 [N], and classes, i64 [N], from the files of a
 * pattern. To learn from they come shuffled, ten files by turns. */
eg_dataset *sets_read(const char *pattern, int64_t batch, bool learned, uint64_t seed);
/* The same of drawn ones. */
eg_dataset *sets_drawn(int64_t count, int64_t batch, bool learned, uint64_t seed);

/* The lines of a file of classes, or of drawn ones for NULL; the caller frees it with sets_free_classes. */
typedef struct sets_classes {
    char *text;
    const char **names;
    int64_t count;
} sets_classes;
eg_status sets_load_classes(const char *path, sets_classes *c);
void sets_free_classes(sets_classes *c);

#endif
