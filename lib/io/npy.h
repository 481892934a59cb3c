/* npy.h - an array of NumPy's in what other formats hold. */
#ifndef EGRET_NPY_H
#define EGRET_NPY_H

#include "lib/io/backing.h"

/* What an array says of itself. */
typedef struct eg__npy {
    eg__element element;
    bool swapped, fortran; /* big-endian; the first axis is the innermost */
    eg_shape shape;
    eg_tensor_about about;
    int64_t data; /* where its elements begin */
} eg__npy;

/* Reads that of the array which is in so many bytes from that place of the source; only what is in front of its
 * elements need be there. An array of elements or of more axes than Egret has is EG_EFORMAT where `why` is NULL, else
 * `why` says so and a->element is EG__ELEMENTS. */
enum { EG__NPY_WHY = 100 };
eg_status eg__npy_open(eg__npy *a, const eg__source *s, int64_t from, int64_t bytes, char *why);
/* Its elements in a backing, borrowed: a view where that can be, of any strides. */
eg_tensor *eg__npy_tensor(const eg__npy *a, eg__backing *b);
/* The array that the source is, row-major; NULL with words that name the source, or with `why`, as above. */
eg_tensor *eg__npy_read(const eg__source *s, char *why);

enum { EG__NPY_HEADER = 320 }; /* 8 sizes of at most 19 digits */
/* Everything before the data of such a tensor: a multiple of 64 bytes. */
size_t eg__npy_header(const eg_tensor_about *x, char to[EG__NPY_HEADER]);

#endif
