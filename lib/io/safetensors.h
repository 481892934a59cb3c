/* safetensors.h - the parts of the format, for files that add something to it. */
#ifndef EGRET_SAFETENSORS_H
#define EGRET_SAFETENSORS_H

#include <egret/io.h>

#include "lib/io/buffer.h"
#include "lib/io/file.h"

/* The file begins with the length of the JSON header, little-endian. */
enum { EG__SAFETENSORS_LENGTH = 8 };
/* Reads and checks that length. */
eg_status eg__safetensors_length(const eg__source *s, int64_t *length);
eg_tensors *eg__safetensors_read(eg__source *s);

/* Length and header, as bytes of the file. */
eg_status eg__safetensors_header(const eg_tensors *map, eg__buffer *b);
/* All that comes behind them. */
eg_status eg__safetensors_data(const eg_tensors *map, eg__target *file);

#endif
