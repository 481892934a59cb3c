/* npz.h - the two halves of the format: npz.c reads it, npz_save.c writes it. */
#ifndef EGRET_NPZ_H
#define EGRET_NPZ_H

#include <egret/io.h>

eg_status eg__npz_save(const char *op, const eg_tensors *map, const char *path, const eg_save_options *o);

#endif
