/* sentences.h - sentences with tags, chunks and arcs of their words, and without. */
#ifndef EXAMPLES_CVT_SENTENCES_H
#define EXAMPLES_CVT_SENTENCES_H

#include <egret/run.h>

/* What is said of words: their part of speech; which phrase they begin, end, or are in; what they hang on. */
typedef enum task { TAGS, CHUNKS, ARCS, TASKS } task;
extern const char *const task_names[TASKS];

typedef enum part { TRAIN, DEV, TEST } part;

/* Where sentences come from. */
typedef struct source {
    const char *folder; /* NULL: of a small grammar */
    uint64_t seed;
    int64_t held_out; /* sentences of the training that are DEV where no file is; 0: as many as a tenth */
} source;

/* Sentences of a part. A folder has train.txt and test.txt of CoNLL-2000 (word, tag, chunk), or files of CoNLL-U that
 * end in train.conllu, dev.conllu and test.conllu. Samples are the words as a text, the tags, the chunks and the names
 * of the relations likewise, and the numbers of the heads, i64 [words], from 1, 0 for the root; a folder has either
 * chunks or arcs, and for what it has not an empty text stands, or an empty tensor. */
enum { TEXT, TAG_TEXT, CHUNK_TEXT, RELATION_TEXT, HEADS, SENTENCE_TENSORS };
eg_dataset *sentences_open(const source *s, part of);
/* How many there are, in one pass; -1 after a failure. */
int64_t sentences_count(eg_dataset *d);
/* Which of the tasks a source has. */
void sentences_tasks(const source *s, bool has[TASKS]);

#endif
