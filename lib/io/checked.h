/* checked.h - safetensors files in which no bit can change unnoticed.
 *
 * The first tensor, "checksums", is i64 [1 + n]: the CRC-32C of the file up to the end of its header, then
 * that of the bytes of each other tensor, in the file's order. Other readers see one tensor more. */
#ifndef EGRET_CHECKED_H
#define EGRET_CHECKED_H

#include <egret/io.h>

/* Fails if the map has a tensor of that name. */
eg_status eg__checked_save(const char *op, const eg_tensors *map, const char *path);
/* Without the checksums; EG_EFORMAT names the tensor that is damaged, or the header. */
eg_tensors *eg__checked_load(const char *op, const char *path);

#endif
