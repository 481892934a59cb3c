/* sparse.h - products with a weight most of whose elements are zero. */
#ifndef EGRET_CPU_SPARSE_H
#define EGRET_CPU_SPARSE_H

#include "lib/cpu/matrix/product.h"

/* Where it pays; else *done is false. The elements of the weight alone say so, not how often it was used before, and
 * what is not finite in a meets the zeros too: results are those of the other ways, but for the order of sums. No bias,
 * no act. */
eg_status ISA(eg__product_sparse)(const eg__call *c, const eg__product *p, bool *done);

#endif
