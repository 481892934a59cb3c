/* book.h - what words and marks are numbered by, and sentences as numbers. */
#ifndef EXAMPLES_CVT_BOOK_H
#define EXAMPLES_CVT_BOOK_H

#include "sentences.h"

typedef struct book {
    eg_vocabulary *words;        /* small letters, digits as 0; 0 is what is behind an end, 1 unknown */
    eg_vocabulary *marks[TASKS]; /* tags, chunks (BIOES), relations; NULL: no such task */
} book;

enum { LETTERS = 248, WORD_MOST = 20 }; /* bytes of UTF-8, 0 behind the end; of a word that are read */

/* An empty one; the run's, which frees it behind what reads with it. */
book *book_new(eg_run *run);
/* Of the words and marks of sentences, and the words of other texts, a line a sentence; NULL: none. */
eg_status book_make(book *b, eg_dataset *sentences, eg_dataset *others, const bool tasks[TASKS], int64_t min_count);
/* In the run's folder. What is there tells which tasks there are. */
eg_status book_save(const book *b, eg_run *run);
eg_status book_load(book *b, eg_run *run);

/* Batches of sentences of similar length: words [N, T], letters [N, T, WORD_MOST], 0 behind the ends, and for each task
 * of the book numbers [N, T], -1 behind the ends; of arcs as eg_cvt_logits has them. The book must outlive them. */
eg_dataset *sentences_batches(eg_dataset *sentences, const book *b, int64_t batch, bool all);
/* The same of the first of a sample's tensors, without marks, over and over. */
eg_dataset *texts_batches(eg_dataset *texts, const book *b, int64_t batch);
/* Words [T] and letters [T, WORD_MOST] of one sentence. */
eg_status sentence_read(const book *b, eg_tensor *text, eg_tensor *made[2]);

#endif
