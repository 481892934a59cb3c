/* start.h - weights that a detector begins with, and names of classes that outlive a training. */
#ifndef EXAMPLES_DETECT_START_H
#define EXAMPLES_DETECT_START_H

#include <egret/run.h>

/* Puts what a file has into the net: weights of a detector, where sizes agree, or of a classifier into its residual
 * net; torchvision's, or this library's, also as a checkpoint. EG_EFORMAT: it has none of either. */
eg_status start_from(eg_run *run, eg_module *net, const char *path);

/* The names as classes.txt in the run's folder, and back from there; the caller frees the list, whose texts are behind
 * it. */
eg_status start_note_classes(eg_run *run, const char *const *classes, int64_t count);
char **start_classes(eg_run *run, int64_t *count);

#endif
