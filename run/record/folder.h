/* folder.h - the files of a saver's folder. */
#ifndef EGRET_RECORD_FOLDER_H
#define EGRET_RECORD_FOLDER_H

#include "lib/ops/dispatch.h"

/* Makes the folder with those above it, and sees that it can be written to. */
eg_status eg__folder_make(const char *op, const char *folder);
/* Removes temporary files of checkpoints whose process is gone. */
void eg__folder_clean(const char *folder);

/* Paths, for free; NULL: out of memory, with words. */
char *eg__folder_path(const char *op, const char *folder, const char *name);
char *eg__folder_checkpoint(const char *op, const char *folder, int64_t step);

/* The steps there are checkpoints of, rising, for free. */
eg_status eg__folder_steps(const char *op, const char *folder, int64_t **steps, int64_t *count);
/* Removes all but the `keep` latest checkpoints up to this step. */
eg_status eg__folder_prune(const char *op, const char *folder, int64_t step, int64_t keep);

#endif
