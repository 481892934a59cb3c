/* restore.h - weights of a net that was trained before. */
#ifndef EXAMPLES_CLASSIFY_RESTORE_H
#define EXAMPLES_CLASSIFY_RESTORE_H

#include "options.h"

/* Puts weights of a file, a checkpoint's or a module's, into the net: those that learn (with --restore_statistics all)
 * and are in the file under their name, or under one that --prefix_map makes of it, unless
 * --checkpoint_exclude_scopes leaves them out. Files with names of others that the net's map knows
 * (eg_model_info) are taken through it. Prints a table of what became of which. EG_ESHAPE for one of another shape;
 * EG_EFORMAT if not a single one is there. names gets texts: what the file calls the weights that it has. */
eg_status restore_weights(eg_run *run, const options *o, eg_module *net, eg_tensors *names);

/* Puts all of it back: for evaluation. */
eg_status restore_all(eg_run *run, const options *o, eg_module *net);

#endif
