/* curves.h - what a run's journal (log.jsonl) says about its steps, as numbers and as a picture. A run that
 * was killed and resumed has some steps twice there: the later row counts. */
#ifndef EXAMPLES_CURVES_H
#define EXAMPLES_CURVES_H

#include "run.h"

/* The field's value at steps 1..: f64 [steps], NaN for a step without it; borrowed. */
eg_tensor *curve_of(const run *r, const char *field);

/* The mean of the values first..last-1 of a curve, NaN left out; a negative place counts from the end. */
double curve_mean(eg_tensor *curve, int64_t first, int64_t last);

/* The fields as curves of one picture; a missing one is left out. */
eg_status curves_draw(const run *r, const char *title, const char *const *fields, int count, const char *name);

#endif
