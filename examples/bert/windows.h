/* windows.h - questions beside the windows of their passages, as numbers (the authors' run_squad.py). */
#ifndef EXAMPLES_BERT_WINDOWS_H
#define EXAMPLES_BERT_WINDOWS_H

#include <egret/egret.h>

typedef struct windows_options {
    int64_t length;   /* ids of a window, its question and special ones too */
    int64_t step;     /* of the passage from one window to the next */
    int64_t question; /* ids of a question that count */
} windows_options;

typedef struct question {
    eg_tensor *id, *context, *answers; /* texts, and u8 [k, longest]; kept */
} question;

/* One window: tokens first..used - 1 are of the passage. */
typedef struct window {
    int64_t question;
    int32_t first, used;
    int32_t begin, end; /* tokens of the answer; 0 where it is not in this window */
} window;

typedef struct windows {
    question *questions;
    window *at;
    int32_t *ids, *offsets; /* [count, length], [count, length, 2]: bytes of the passage */
    int64_t question_count, count, length, question_room, room;
} windows;

/* Of samples as eg_squad_new has them, at most so many questions; frees the dataset. */
eg_status windows_read(windows *w, eg_dataset *questions, const eg_tokenizer *words, const windows_options *o,
                       int64_t most);
void windows_free(windows *w);

/* Samples are ids, types and mask [length], i64, and begin, end and the window's number, i64 []. */
eg_dataset *windows_dataset(const windows *w);

#endif
