/* number.h - decimal numbers out of text, whatever the locale. */
#ifndef EGRET_NUMBER_H
#define EGRET_NUMBER_H

#include <egret/tensor.h>
#include <stdbool.h>
#include <stdint.h>

/* All n bytes are a number: sign, digits, point, exponent; nan, inf. Rounded to nearest; false too where
 * that is infinite in the dtype without being called so. */
bool eg__parse_real(const char *s, int64_t n, eg_dtype dtype, double *v);
/* All n bytes are an integer that fits. */
bool eg__parse_integer(const char *s, int64_t n, int64_t *v);

#endif
