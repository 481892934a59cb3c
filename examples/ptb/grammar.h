/* grammar.h - sentences in the manner of a newspaper's pages of business, from a small grammar. */
#ifndef EXAMPLES_PTB_GRAMMAR_H
#define EXAMPLES_PTB_GRAMMAR_H

#include <stdint.h>
#include <stdio.h>

/* Writes a sentence, its words between blanks, by numbers from `draw` (0..n - 1, all alike). Returns how surprising it
 * is: minus the logarithm of how likely. */
double grammar_write(FILE *to, int (*draw)(int n, void *user), void *user);

#endif
