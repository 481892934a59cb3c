/* fault.h - what kernels tell the host: an index out of range, found while they run. Plain C and CUDA. */
#ifndef EGRET_CUDA_FAULT_H
#define EGRET_CUDA_FAULT_H

/* What was wrong. */
enum {
    EG__FAULT_INDEX,        /* value was not in low..high-1 */
    EG__FAULT_WEIGHT,       /* class `low` of row `value` is no weight */
    EG__FAULT_SUM,          /* the weights of row `value` sum to 0 */
    EG__FAULT_NAN,          /* element `value` of a line in order is NaN */
    EG__FAULT_FALL,         /* or less than the one before */
    EG__FAULT_SINGULAR,     /* matrix `value` of `high` is singular, by pivot `low` */
    EG__FAULT_NOT_POSITIVE, /* or not positive definite */
    EG__FAULT_LENGTH,       /* length `value` of row `low` is not in 0..high */
    EG__FAULT_BLANK,        /* label `low` of row `high` is the blank, value */
};

/* In pinned memory the device writes to; the first finder's words stay until the host has read them. */
typedef struct eg__fault {
    unsigned int taken;   /* all of what follows is there */
    unsigned int claimed; /* by the first finder */
    int op, kind;         /* id; one of the above */
    const char *name;     /* what was called, a string of the host's; NULL: the op itself */
    long long value, low, high;
} eg__fault;

/* Indices that kernels check as they use them. */
typedef struct eg__raw_index {
    long long low, size; /* they are in low..size-1, negative ones from the end; size 0: checked already */
    int op;
    const char *name;
    eg__fault *fault; /* NULL: nothing is said of others, which become 0 */
} eg__raw_index;

#endif
