/* npy.h - an array of NumPy's in what other formats hold. */
#ifndef EGRET_NPY_H
#define EGRET_NPY_H

#include "lib/io/file.h"

/* The array that the source is; NULL with words that name the source. */
eg_tensor *eg__npy_read(eg__source *s);

#endif
