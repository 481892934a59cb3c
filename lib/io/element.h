/* element.h - the types that elements have in files, and what they become here. */
#ifndef EGRET_ELEMENT_H
#define EGRET_ELEMENT_H

#include <egret/io.h>

#include "lib/io/file.h"

/* The first EG_DTYPE_COUNT are the dtypes, in their order. */
typedef enum eg__element {
#define E(word, bits, kind, dtype) EG__##word,
#include "lib/io/element.def"
#undef E
    EG__ELEMENTS
} eg__element;

/* "F32": what safetensors calls it. */
const char *eg__element_word(eg__element e);
/* The element of that word; EG__ELEMENTS: there is none. */
eg__element eg__element_named(const char *word);
eg_dtype eg__element_dtype(eg__element e);
int eg__element_bits(eg__element e);
/* Whether its little-endian bytes are those of a tensor. */
bool eg__element_as_is(eg__element e);

/* What there is to say of elements of a shape in a file; of complex ones the tensor has one axis more, of size 2.
 * EG_ESHAPE with words if no tensor can be of it. */
eg_status eg__element_about(const char *op, eg__element e, const eg_shape *shape, eg_tensor_about *about);

/* Bytes of the tensor here. */
static inline int64_t eg__about_bytes(const eg_tensor_about *about)
{
    int64_t n = (int64_t)eg_dtype_size(about->dtype);
    for (int d = 0; d < about->shape.ndim; d++) {
        n *= about->shape.dim[d];
    }
    return n;
}

/* Elements of that shape at a place of the source, little-endian and row-major, as a tensor of the CPU, borrowed.
 * EG_EFORMAT for a U64 beyond i64. */
eg_tensor *eg__element_read(const eg__source *s, int64_t at, eg__element e, const eg_shape *shape);

#endif
