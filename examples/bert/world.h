/* world.h - a small world of people, things and places, for whom has no files: what is the case in it, said in two
 * ways, and questions about it. */
#ifndef EXAMPLES_BERT_WORLD_H
#define EXAMPLES_BERT_WORLD_H

#include <egret/egret.h>

/* A tokenizer that knows all its words. */
eg_tokenizer *world_words(void);
/* So many pairs of sentences, the same ones for a seed: samples as eg_glue_new has those of MRPC. */
eg_dataset *world_pairs(int64_t count, uint64_t seed);
/* So many questions: samples as eg_squad_new has them, each with one answer. */
eg_dataset *world_questions(int64_t count, uint64_t seed);

/* Lines, a sentence each, with an empty line behind each of so many documents. */
eg_dataset *world_lines(int64_t documents, uint64_t seed);

#endif
