/* models.h - the nets by the names that benchmarks have for them: a row each, with what they are trained with. */
#ifndef EXAMPLES_CNN_BENCH_MODELS_H
#define EXAMPLES_CNN_BENCH_MODELS_H

#include <egret/egret.h>
#include <egret/models.h>

/* What the rate is where no flag says it. */
typedef enum model_plan {
    PLAN_FIXED,    /* .rate */
    PLAN_RESNET,   /* a tenth from epochs 30, 60, 80 and 90 on, a rise in the first 5 */
    PLAN_OFFICIAL, /* the same without the rise */
    PLAN_CIFAR,    /* 0.1, 0.01, 0.001, 0.0002 from epochs 82, 123 and 300 on */
    PLAN_ALEXNET   /* a tenth every 100 epochs of CIFAR-10 */
} model_plan;

/* To add a net, write a row in models.c. */
typedef struct model {
    const char *name;
    const char *of;                                /* the data set it is for; NULL: any */
    const char *net;                               /* of the library, or */
    eg_module *(*make)(const eg_model_options *o); /* one that it does not name */
    int64_t side, batch;                           /* of images; images of a step */
    double rate;
    int64_t per; /* the rate is of so many images; 0: of a step */
    model_plan plan;
} model;

/* The row of that name for the data set, or the library's net. EG_EINDEX if there is none. */
eg_status models_find(const char *name, const char *set, model *out);

/* Makes it for images of three channels; with `auxiliary` a second head, if it has one. */
eg_module *models_make(const model *m, int64_t classes, int64_t side, bool auxiliary);

#endif
