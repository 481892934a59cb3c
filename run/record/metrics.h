/* metrics.h - what the files of metrics share. */
#ifndef EGRET_RECORD_METRICS_H
#define EGRET_RECORD_METRICS_H

#include <egret/metrics.h>

#include "lib/core/tensor.h"

typedef enum eg__metric_kind {
#define X(kind, word, axes, fits, value) EG__METRIC_##kind,
#include "run/record/metrics.def"
#undef X
    EG__METRIC_KINDS
} eg__metric_kind;

typedef struct eg__metric {
    char *name;
    eg__metric_kind kind;
    eg_tensor *sums; /* kept */
} eg__metric;

enum { EG__AUC_BUCKETS = 4096, EG__METRIC_NAME = 100 }; /* bytes of a name, at most */

struct eg_metrics {
    eg__metric *all;
    uint32_t count, room;
};

/* Whether there are metrics, and the name can be one. */
eg_status eg__metrics_check(const char *op, const eg_metrics *m, const char *name);
/* Adds sums, f64, to those of the name: the end of every function of a batch. NULL: what is on record. */
eg_status eg__metrics_gather(eg_metrics *m, const char *op, const char *name, eg__metric_kind kind, eg_tensor *sums);
/* The same of numbers. */
eg_status eg__metrics_gather_numbers(eg_metrics *m, const char *op, const char *name, eg__metric_kind kind,
                                     eg_shape shape, const double *sums);
/* The metric of that name; kinds before `least` or behind `most` are refused. */
eg__metric *eg__metrics_asked(const char *op, eg_metrics *m, const char *name, eg__metric_kind least,
                              eg__metric_kind most);
/* The sums on the host, for free(); NULL after a failure. */
double *eg__metrics_sums(const char *op, const eg__metric *metric);

/* BLEU of sums with so many orders (metrics.def); NULL: by the defaults. */
double eg__bleu_of(const double *sums, int64_t orders, const eg_bleu_options *o);

#endif
