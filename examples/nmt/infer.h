/* infer.h - translating with a translator that has learned. */
#ifndef EXAMPLES_NMT_INFER_H
#define EXAMPLES_NMT_INFER_H

#include "translator.h"

/* Translates a sentence, says it, and draws what was looked at as a picture of the run. EG_EINDEX for words that were
 * never read. */
eg_status nmt_show(eg_run *run, const translator *t, const char *sentence, const char *picture);

/* Writes the translation of each line of a file as a line of another one, by a checkpoint as nmt_infer has it. A line
 * with words that were never read is an error. */
eg_status nmt_infer_file(eg_run *run, const char *from, const char *to, const char *model);

/* The same with a checkpoint, NULL: the newest of the run's folder; the picture is attention.png. */
eg_status nmt_infer(eg_run *run, const char *sentence, const char *model);

#endif
