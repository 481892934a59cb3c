/* backing.h - a file that stays open for the tensors that lie in it, which are views of its memory where they can be.
 */
#ifndef EGRET_BACKING_H
#define EGRET_BACKING_H

#include "lib/io/element.h"

typedef struct eg__backing {
    eg__source source; /* to read what says where the tensors are; never through the mapping, which a shorter file
                        * would take away */
    char *base;        /* all of it in memory, or NULL */
    bool read;         /* it is memory, not a mapping */
    bool copy;         /* no tensor is a view of it */
    eg__refs refs;
    char *name; /* of the source */
} eg__backing;

/* A file; `copy`: tensors get memory of their own. */
eg__backing *eg__backing_open(const char *op, const char *path, bool copy);
/* Room for so many bytes, at its base, called by this name in words; what is written there is the source. */
eg__backing *eg__backing_room(const char *op, const char *name, size_t bytes);
/* A copy of these bytes. */
eg__backing *eg__backing_memory(const char *op, const char *name, const void *data, size_t bytes);
eg__backing *eg__backing_keep(eg__backing *b);
/* Gives up one of the owners: the opener, a keeper, a tensor. NULL is fine. */
void eg__backing_release(eg__backing *b);

/* All its bytes: the mapping, or read into memory now; NULL with words. */
const uint8_t *eg__backing_bytes(eg__backing *b);

/* Elements of that shape at a place of the file, row-major and little-endian, borrowed: a view of the file's memory if
 * they lie there as a tensor would, else read. */
eg_tensor *eg__backing_tensor(eg__backing *b, int64_t at, eg__element e, const eg_shape *shape);

#endif
