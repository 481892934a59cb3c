/* match.h - what two sequences have in common, and what they differ in. */
#ifndef EGRET_LANGUAGE_MATCH_H
#define EGRET_LANGUAGE_MATCH_H

#include "run/record/language/tokens.h"

/* For each length from..to of n-grams, at `right[length - from]`: how many of s are in a reference, each at most as
 * often as in the one that has it most often. */
eg_status eg__match_grams(const char *op, const eg__sequence *s, const eg__sequence *references, int n, int from,
                          int to, double *right);
/* How many n-grams of that length there are. */
int64_t eg__count_grams(const eg__sequence *s, int length);
/* The length of the longest common subsequence, and the least number of edits; -1: no memory, in words. */
int64_t eg__match_common(const char *op, const eg__sequence *a, const eg__sequence *b);
int64_t eg__match_edits(const char *op, const eg__sequence *a, const eg__sequence *b);

#endif
