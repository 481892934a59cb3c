/* update.h - the numbers of optimizer steps, and whether a step is done: what the CPU and devices share. Plain
 * C and CUDA. */
#ifndef EGRET_UPDATE_H
#define EGRET_UPDATE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/math/hd.h"

/* The numbers of one group of parameters; what they mean is in lib/ops/updates.def. */
typedef struct eg__optim_group {
    bool nesterov, centered;
    bool keep_zeros;     /* elements that are zero stay it; their gradients count as zero */
    bool lazy;           /* rows (axis 0) whose gradient is all zero are left alone, if there are 2 axes or more */
    double scale, limit; /* what comes first: the gradient times scale, then cut to -limit..limit */
    double decay;        /* then added: decay times the parameter */
    double lr, beta1, beta2, eps, inside, gain, fresh, shrink, low, high, power;
} eg__optim_group;

/* X(number, what it is of the group o): what rules and the way to them compute with, in the type of the parameter. */
#define EG__UPDATE_NUMBERS(X) \
    X(scale, o->scale)        \
    X(limit, o->limit)        \
    X(decay, o->decay)        \
    X(lr, o->lr)              \
    X(beta1, o->beta1)        \
    X(rest1, 1 - o->beta1)    \
    X(beta2, o->beta2)        \
    X(rest2, 1 - o->beta2)    \
    X(eps, o->eps)            \
    X(inside, o->inside)      \
    X(gain, o->gain)          \
    X(fresh, o->fresh)        \
    X(shrink, o->shrink)      \
    X(low, o->low)            \
    X(high, o->high)          \
    X(power, o->power)        \
    X(per_rate, 1 / o->lr)
#define EG__UPDATE_FLAGS(X) \
    X(nesterov)             \
    X(centered)             \
    X(keep_zeros)

enum { EG__OPTIM_NUMBERS = 64 }; /* the most groups of all sets of a step */

/* The numbers of a step that is captured, in the device's memory: as many groups as there is room for. */
typedef struct eg__optim_now {
    double base; /* steps that were skipped when the first set was the right one */
    int64_t sets;
    eg__optim_group group[1];
} eg__optim_now;

/* Four f64 beside the parameters: what became of the gradients of the latest step that was judged. */
enum {
    EG__GATE_SCALE,   /* what they are multiplied with */
    EG__GATE_CLOSED,  /* 1: some are not finite, the step is not done */
    EG__GATE_SKIPPED, /* how many steps were not, so far */
    EG__GATE_NORM,    /* where the norm is limited: what it was */
    EG__GATE_SIZE
};

/* Four f64: where a loss scaler stands. */
enum {
    EG__SCALER_SCALE,
    EG__SCALER_GOOD, /* steps since the scale last changed */
    EG__SCALER_SKIPPED,
    EG__SCALER_HOPELESS, /* 1: not finite at the least scale, which stayed */
    EG__SCALER_SIZE
};

typedef struct eg__gate_rule {
    double max, eps;                         /* of the norm; max 0: it is not limited */
    double growth, backoff, interval, least; /* the scaler's */
} eg__gate_rule;

/* Judges gradients by their norm; scaler: NULL where there is none. */
EG__HD void eg__judge(const eg__gate_rule *r, double norm, double *gate, double *scaler)
{
    const double unscale = scaler ? 1 / scaler[EG__SCALER_SCALE] : 1;
    norm *= unscale;
    const bool finite = norm - norm == 0;
    const double fit = r->max / (norm + r->eps);
    gate[EG__GATE_SCALE] = r->max > 0 && fit < 1 ? unscale * fit : unscale;
    gate[EG__GATE_CLOSED] = !finite;
    gate[EG__GATE_SKIPPED] += !finite;
    if (r->max > 0 && (finite || !scaler)) {
        gate[EG__GATE_NORM] = norm;
    }
    if (!scaler) {
        return;
    }
    double *scale = &scaler[EG__SCALER_SCALE], *good = &scaler[EG__SCALER_GOOD];
    if (finite) {
        *good += 1;
        if (*good >= r->interval) {
            const double grown = *scale * r->growth;
            *scale = grown - grown == 0 ? grown : *scale;
            *good = 0;
        }
    } else if (*scale <= r->least && r->backoff < 1) {
        scaler[EG__SCALER_HOPELESS] = 1;
    } else {
        *scale *= r->backoff;
        *good = 0;
        scaler[EG__SCALER_SKIPPED] += 1;
    }
}

#endif
