/* net.h - reads a sign letter by letter, looking at one place and another of all its views (Wojna et al. 2017). */
#ifndef EXAMPLES_OCR_NET_H
#define EXAMPLES_OCR_NET_H

#include <egret/egret.h>

typedef struct ocr_sizes {
    int64_t side, views;      /* of a view in pixels; side by side in an image */
    int64_t classes, length;  /* letters there are, the last of which is none, and how many a text has with those */
    int64_t units;            /* of the LSTM */
    double width, norm_decay; /* of the trunk (trunk.h) */
    bool coordinates;         /* places know their row and column */
    double untold;            /* share of letters that training does not tell, so that it looks */
    bool no_feedback;         /* a letter does not know the one before it */
} ocr_sizes;

/* Children "trunk", "keys", "query", "mix", "lstm", "join", "letter", and a parameter "attend". EG_EINVAL for a side
 * below TRUNK_LEAST_SIDE. */
eg_module *ocr_new(const ocr_sizes *s);

/* Both NULL after a failure. */
typedef struct ocr_reading {
    eg_tensor *logits;  /* [N, length, classes] */
    eg_tensor *weights; /* [N, length, views, k, k]: where it looked for each letter */
} ocr_reading;

/* Of images [N, 3, side, views side]. With texts, i64 [N, length], each letter is told the true one before it; with
 * NULL the one it took that for. */
ocr_reading ocr_read(eg_module *net, eg_tensor *images, eg_tensor *texts);

/* The sum over the letters of their cross entropy, the mean over the batch; labels smoothed by so much. */
eg_tensor *ocr_loss(eg_tensor *logits, eg_tensor *texts, double smoothing);

/* A step by gradients to each of which belongs decay times the weight, of kernels of the trunk and of "letter", and of
 * which each for itself has at most a norm of clip; as TF-Slim trains. */
eg_status ocr_step(eg_module *net, eg_optim *optim, eg_tape tape, eg_tensor *loss, double decay, double clip);

#endif
