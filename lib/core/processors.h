/* processors.h - how many threads this process should have by default. */
#ifndef EGRET_PROCESSORS_H
#define EGRET_PROCESSORS_H

/* The least of what OMP_NUM_THREADS says (the name all numeric libraries share), the processors the calling thread may
 * run on, and the quotas of its control groups, rounded up; at least 1. root: where proc and sys are, "" or a test's
 * folder. */
int eg__processors(const char *root);

#endif
