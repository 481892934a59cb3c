/* report.h - what egret-cnn-bench says: what is run, how fast each step was, how fast all were. */
#ifndef EXAMPLES_CNN_BENCH_REPORT_H
#define EXAMPLES_CNN_BENCH_REPORT_H

#include "input.h"

/* What is measured. A step lasts from the moment its batch is asked for until the device has done all of it. */
typedef struct report {
    eg_run *run;
    const options *o;
    int64_t batch;
    int64_t count;  /* steps that were timed */
    double seconds; /* of them */
    double *speeds; /* of each, images per second, and room for as many */
    int64_t room;
    double asked, began; /* when the step's batch was asked for, and the first of those that are timed */
} report;

/* Seconds of a steady clock. */
double report_now(void);

/* The first lines; `batches` of `examples` of an epoch. */
void report_header(eg_run *run, const options *o, const input *in, int64_t batches, int64_t examples);

/* The warm-up is over: what comes is timed. */
void report_begin(report *r);
/* Another step that lasted so long. */
eg_status report_add(report *r, double seconds);
/* A line of the steps so far: the latest loss, and accuracies unless `accuracies` is NULL. */
void report_line(report *r, double loss, const double *accuracies);
/* The last lines, of so many images in so long. */
void report_total(eg_run *run, double images, double seconds);
/* Frees what it keeps. */
void report_end(report *r);

#endif
