/* safetensors.h - the parts of the format, for files that add something to it. */
#ifndef EGRET_SAFETENSORS_H
#define EGRET_SAFETENSORS_H

#include <egret/io.h>

#include "lib/io/buffer.h"
#include "lib/io/file.h"

/* The file begins with the length of the JSON header, little-endian; a header has at most so many bytes. */
enum { EG__SAFETENSORS_LENGTH = 8, EG__SAFETENSORS_HEADER = 100000000 };
/* Reads and checks that length. */
eg_status eg__safetensors_length(const eg__source *s, int64_t *length);
eg_tensors *eg__safetensors_read(eg__source *s);

/* The tensors of a map that go into one file: all, or those whose shard is `which`. */
typedef struct eg__part {
    const eg_tensors *map;
    const uint32_t *shard;
    uint32_t which;
} eg__part;

/* Length and header, as bytes of the file. */
eg_status eg__safetensors_header(const char *op, const eg__part *part, eg__buffer *b);
/* All that comes behind them. */
eg_status eg__safetensors_data(const eg__part *part, eg__target *file);
eg_status eg__safetensors_write(const char *op, const eg__part *part, const char *path);
/* As eg_tensors_save has it, in shards if they are wanted. */
eg_status eg__safetensors_save(const char *op, const eg_tensors *map, const char *path, const eg_save_options *o);

#endif
