/* trunk.h - the layers of a published net up to the last one that is wanted. */
#ifndef EXAMPLES_TRUNK_H
#define EXAMPLES_TRUNK_H

#include <egret/run.h>

typedef struct trunk_options {
    const char *net;     /* a name of models.h */
    const char *weights; /* a file of them, as this net or those who published them call them; NULL: by chance */
    const char *pool;    /* "max", as it is published, or "avg": means of 2 x 2 instead of maxima */
} trunk_options;

/* A sequence of its own, frozen and in eval mode, up to the last layer of `taps`: paths of layers between commas, as
 * eg_module_forward_taps takes them. What is by chance has He's deviations, so that it passes on as much as it is
 * given. The caller's. */
eg_module *trunk_new(const trunk_options *o, const char *taps);

#endif
