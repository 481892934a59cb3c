/* setup.h - what a checkpoint does not tell: which trunk looked, and the sizes of the net. */
#ifndef EXAMPLES_CAPTION_SETUP_H
#define EXAMPLES_CAPTION_SETUP_H

#include "look.h"

typedef struct setup {
    look_options look;
    int64_t embedding, units;
    bool remembers;
    char net[64], tap[64], weights[2048]; /* what `look` points to, once it was read */
} setup;

/* setup.json in the run's folder. */
eg_status setup_save(eg_run *run, const look_options *given, int64_t embedding, int64_t units, bool remembers);
/* What `given` tells already stays. */
eg_status setup_load(setup *s, eg_run *run, const look_options *given);

#endif
