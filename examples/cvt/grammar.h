/* grammar.h - sentences of a small grammar, with all that is to be said of their words. */
#ifndef EXAMPLES_CVT_GRAMMAR_H
#define EXAMPLES_CVT_GRAMMAR_H

#include <egret/egret.h>

/* So many sentences, the same ones for a seed: samples as treebank_open has them. Many of the words are rare, or are
 * nouns in one place and verbs in another. */
eg_dataset *grammar_dataset(int64_t count, uint64_t seed);

#endif
