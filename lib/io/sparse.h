/* sparse.h - tensors most of whose elements are zero, in files: the others, and a bit for each place.
 *
 * Of a tensor NAME of n elements there are NAME.nonzero, those of which a bit is set, in their order, and NAME.places
 * [(n + 7) / 8] u8, element i being bit i % 8 of byte i / 8; a text egret.sparse/NAME has the sizes of its axes between
 * blanks. */
#ifndef EGRET_SPARSE_H
#define EGRET_SPARSE_H

#include <egret/io.h>

/* The map with tensors of floats so where that takes fewer bytes; to be freed. */
eg_tensors *eg__sparse_packed(const char *op, const eg_tensors *map);
/* The map, which it takes, with the tensors themselves, unpacked when they are asked for; NULL passes through. */
eg_tensors *eg__sparse_opened(const char *op, eg_tensors *map);

#endif
