/* gguf.h - the parts of GGUF: the types of its tensors, what reads its header, and its writer. */
#ifndef EGRET_GGUF_H
#define EGRET_GGUF_H

#include <egret/io.h>

#include "lib/io/buffer.h"
#include "lib/io/element.h"

enum { EG__GGUF_ALIGNMENT = 32, EG__GGUF_NAME = 65535 }; /* unless a key says another; bytes of a key or name */
#define EG__GGUF_ALIGNS "general.alignment"

/* ---- types -------------------------------------------------------------------------------------- */

typedef struct eg__gguf_type {
    const char *word;
    eg__element element;                             /* here */
    int elements, bytes;                             /* of a block, which lies in one row; 0: each element for itself */
    void (*unpack)(const uint8_t *block, float *to); /* NULL: blocks stay the bytes they are */
} eg__gguf_type;

/* The type of that number in files; NULL: there is none. */
const eg__gguf_type *eg__gguf_type_of(uint64_t number);
/* The number of the type of such elements, each for itself. */
uint32_t eg__gguf_number(eg__element e);

/* ---- the header --------------------------------------------------------------------------------- */

/* Where a header is read, and what was read there last. */
typedef struct eg__gguf_cursor {
    const eg__source *source;
    int64_t at;
    int64_t begin, end; /* of the piece of the file that is here */
    uint8_t piece[4096];
    eg__buffer name, text; /* of a zero at their ends; to be freed */
    int64_t texts;         /* bytes of all so far */
    uint64_t alignment;
} eg__gguf_cursor;

/* A number of so many bytes. */
eg_status eg__gguf_read(eg__gguf_cursor *c, int bytes, uint64_t *v);
/* A number that counts what has `least` bytes each: no more than the rest of the file holds. */
eg_status eg__gguf_count(eg__gguf_cursor *c, int64_t least, const char *what, uint64_t *n);
/* A key's or tensor's name, into `name`. */
eg_status eg__gguf_name(eg__gguf_cursor *c, const char *what);
/* So many keys and their values, as texts of the map. */
eg_status eg__gguf_texts(eg__gguf_cursor *c, uint64_t count, eg_tensors *map);

eg_status eg__gguf_save(const char *op, const eg_tensors *map, const char *path, const eg_save_options *o);

#endif
