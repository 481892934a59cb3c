/* library.h - NVIDIA's libraries beside the runtime: large, and not on every machine, so each is
 * opened when something first needs it. */
#ifndef EGRET_CUDA_LIBRARY_H
#define EGRET_CUDA_LIBRARY_H

#include "lib/cuda/cuda.h"

typedef struct eg__symbol {
    const char *name;
    void *to; /* the pointer to a function that gets its address */
} eg__symbol;

typedef struct eg__library {
    const char *title;    /* for messages */
    const char *files[3]; /* what it may be called, the best first; then NULL */
    const eg__symbol *symbols;
    int nsymbols;
    _Atomic bool open;
} eg__library;

/* Opens it, unless it is open, and looks its functions up: in the folder EGRET_CUDA_PATH names or
 * lib64 or lib of it, where the loader looks, in the toolkit's usual place. EG_ENOKERNEL with words
 * if it is nowhere or too old; the next call looks again. It stays open: its threads run in it. */
eg_status eg__library_open(eg__library *l, const char *op);

#endif
