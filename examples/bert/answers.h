/* answers.h - answers out of what the net says of windows (the authors' run_squad.py). */
#ifndef EXAMPLES_BERT_ANSWERS_H
#define EXAMPLES_BERT_ANSWERS_H

#include <egret/run.h>

#include "windows.h"

typedef struct answers_options {
    int64_t best;    /* beginnings and ends of a window that are looked at, and answers of a question that are told */
    int64_t longest; /* tokens of an answer */
} answers_options;

typedef struct answers answers;

/* For the windows' questions, none of which has one yet; for answers_free. */
answers *answers_new(const windows *w, const answers_options *o);
void answers_free(answers *a);
/* What the net says of the windows of these numbers, i64 [N]: logits [N, length, 2]. */
eg_status answers_add(answers *a, eg_tensor *numbers, eg_tensor *logits);

/* In percent. */
typedef struct scores {
    eg_status st;
    double exact, f1;
} scores;
scores answers_score(const answers *a);
/* predictions.json, and nbest_predictions.json with what else it thought of. */
eg_status answers_write(const answers *a, eg_run *run);

#endif
