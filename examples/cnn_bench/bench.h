/* bench.h - a run of egret-cnn-bench: its steps, and what is between them. */
#ifndef EXAMPLES_CNN_BENCH_BENCH_H
#define EXAMPLES_CNN_BENCH_BENCH_H

#include "models.h"
#include "rates.h"
#include "report.h"

/* What a run is made of. What its datasets read is freed behind it. */
typedef struct bench {
    eg_run *run;
    options o;
    input in;
    model by;
    eg_module *net;
    eg_optim *optim; /* NULL: the net is run alone */
    rates plan;
    eg_metrics *metrics; /* of the step, and of what it is judged by */
    eg_dataset *others;  /* to judge by */
    report report;
    int64_t before;     /* steps of the run that this one goes on with */
    double took, saved; /* seconds of the step; when the latest checkpoint was */
    double loss;        /* of the step */
    double accuracy[2]; /* where they are asked for: among the first, among the first five */
} bench;

/* ---- learn.c ---- */

/* Makes the optimizer and the plan of its rate. */
eg_status bench_prepare(bench *b);
/* Whether accuracies are asked for. */
bool bench_tells_accuracy(const bench *b);
/* Adds those of a batch to what is gathered. */
void bench_add_accuracy(bench *b, eg_tensor *logits, eg_tensor *labels);
/* A step, which is over when this returns. */
void bench_step(bench *b, eg_tensor *const *sample);

/* ---- between.c ---- */

/* Of --eval, and of judging while it trains. */
int64_t bench_eval_batches(const bench *b);
/* By what is not trained on; returns the share of images whose class is the first. */
double bench_judge(bench *b, int64_t batches);
/* The same of a net that trains; what it takes is not the steps' time. `what` is "" or "final ". */
void bench_judge_meanwhile(bench *b, const char *what);
/* A checkpoint; the oldest go. */
void bench_save(bench *b);
/* What is due before the first step (batches: minus those of the warm-up) and behind each. */
void bench_turn(bench *b, int64_t batches);

#endif
