/* grammar.h - a few hundred thousand Spanish sentences and what they mean in English, from a small grammar
 * with articles, numbers, genders and persons that agree. */
#ifndef EXAMPLES_NMT_GRAMMAR_H
#define EXAMPLES_NMT_GRAMMAR_H

#include <stdint.h>

enum { GRAMMAR_LINE = 256 };

/* How many different sentences there are. */
int64_t grammar_count(void);

/* Sentence number 0..count-1 as a line of the file spa.txt: English, a tab, Spanish. */
void grammar_line(int64_t number, char line[GRAMMAR_LINE]);

#endif
