/* weights.h - what egret-weights does with files of named tensors. */
#ifndef EXAMPLES_WEIGHTS_H
#define EXAMPLES_WEIGHTS_H

#include <egret/egret.h>

#include "../common/tools.h"

typedef struct weights_options {
    const char *format; /* of the files read; NULL: what they show themselves to be */
    const char *to;     /* of the file written; NULL: by its ending */
    const char *map;    /* a file with a map of names */
    const char *net;    /* the net of the zoo whose map it is */
    const char *only;   /* words in names, between commas */
    const char *dtype;  /* that floats become */
    double tolerance;   /* of diff */
    int64_t shard_mib;
    bool copy;
} weights_options;

/* The file's tensors under the names asked for; the caller frees them. */
eg_tensors *weights_open(const char *path, const weights_options *o);
/* Whether a name is among those asked for. */
bool weights_wanted(const char *name, const weights_options *o);

eg_status weights_list(char *const *paths, const void *options);
eg_status weights_show(char *const *paths, const void *options);
eg_status weights_sum(char *const *paths, const void *options);
/* EG_EUSER, without words, if the files differ. */
eg_status weights_diff(char *const *paths, const void *options);
eg_status weights_convert(char *const *paths, const void *options);

#endif
