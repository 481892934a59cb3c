/* samples.h - what the tests of datasets walk over, and walks to compare. */
#ifndef EGRET_TESTS_SAMPLES_H
#define EGRET_TESTS_SAMPLES_H

#include "tests/egt.h"

/* EG_OK, or the failure on record if t is NULL. */
eg_status said(const eg_tensor *t);

/* Random numbers [2] and the index. `user`: indices that fail, ended by -1, or NULL. */
eg_status numbered(int64_t index, eg_tensor **sample, int *n, void *user);
extern int64_t bad_records[]; /* 0, 4, 5, 11 */
/* Sequences of 1, 3, 5, 2, 4, 1, ... numbers, and the index. */
eg_status ragged(int64_t index, eg_tensor **sample, int *n, void *user);
/* numbered, without failures. */
eg_dataset *source(int64_t count);

/* Noise from the thread's random numbers; and a link of it. */
eg_status noisy(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user);
eg_dataset *noise(eg_dataset *d, int workers);
/* Fails in an op where in[1] is one of `user`, indices ended by -1. */
eg_status fails_at(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user);
/* Keeps the odd indices in[1]. */
eg_status odd(eg_tensor *const *in, int n, bool *keep, void *user);

/* All there is to know of a sample, in a number. */
uint64_t digest(eg_tensor *const *sample, int n);
enum { EPOCHS = 3, MOST = 32 };
typedef struct walked {
    uint64_t seen[EPOCHS + 1][MOST];
    int count[EPOCHS + 1];
} walked;
/* One pass into w from sample number k on; ends after `most` of them. */
void walk(eg_dataset *d, walked *w, int64_t epoch, int k, int most);
/* The same samples from number `from` on. */
void same(const walked *a, const walked *b, int64_t epoch, int from);

#endif
