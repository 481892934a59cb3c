/* lazy.h - maps whose tensors are read when they are asked for. */
#ifndef EGRET_LAZY_H
#define EGRET_LAZY_H

#include <egret/io.h>

#include "lib/io/file.h"

/* How a format's tensors are read, once what the file says of them is known. */
typedef struct eg__lazy {
    const char *format; /* its name, as eg_tensors_format gives it */
    /* The tensor that was promised under this number, of the dtype and shape that were; borrowed. */
    eg_tensor *(*read)(void *reader, int64_t number);
    void (*close)(void *reader);
} eg__lazy;

/* A new map, which owns the reader; NULL: the reader was closed. */
eg_tensors *eg__lazy_new(const eg__lazy *how, void *reader);
/* A name whose tensor is to be read. EG_EINDEX, without words, if it is there already. */
eg_status eg__lazy_promise(eg_tensors *map, const char *name, const eg_tensor_about *about, int64_t number);
/* Notes that the reader of a file left out the entry of that name, and why: as a text of the map, "left out: string".
 */
eg_status eg__lazy_left_out(eg_tensors *map, const char *name, const char *why);
/* Why the entry of a map that was read from a file was left out; NULL: it was not. */
const char *eg__lazy_why_left_out(const eg_tensors *map, const char *name);
/* Which of the map's tensors has that name; -1: none. */
int64_t eg__lazy_number(const eg_tensors *map, const char *name);
/* The i-th tensor, borrowed; the map does not keep it if it had not been read. */
eg_tensor *eg__lazy_read(const eg_tensors *map, int64_t i);
/* Whoever is told of each tensor that eg__lazy_read gives, of one map at a time; NULL: nobody. */
typedef struct eg__telling {
    void (*told)(int64_t done, int64_t all, void *user);
    void *user;
    int64_t done, all; /* bytes */
} eg__telling;
void eg__lazy_tell(const eg_tensors *map, eg__telling *telling);
/* Writes its elements, row-major and little-endian. */
eg_status eg__target_write_lazy(eg__target *t, const eg_tensors *map, int64_t i);

#endif
