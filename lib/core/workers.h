/* workers.h - the threads that share a call's work: the caller, and workers that stay for the next one. The work is
 * numbered, and each number is done once by whoever is free, so that nobody waits for a thread that has yet to wake.
 * One caller at a time has the workers. */
#ifndef EGRET_WORKERS_H
#define EGRET_WORKERS_H

#include <stdbool.h>

typedef void eg__member_fn(void *ctx, int number, int n);

/* fn for each number below n. While another caller has the workers, or from within fn, all are done by the caller. */
void eg__workers_run(int n, eg__member_fn *fn, void *ctx);
/* The same for an fn that may call eg__workers_barrier, as often for each number; n is at most what eg__workers_ready
 * gave. It waits for the workers; from within fn there is one number alone. */
void eg__workers_run_together(int n, eg__member_fn *fn, void *ctx);
/* Waits for all numbers of the call. */
void eg__workers_barrier(void);
/* How many threads, up to n, can be together: workers that lack are started. */
int eg__workers_ready(int n);

/* Whether others have wanted the processors lately, as far as this thread has seen: to wait for another thread then
 * takes longer than much of what it could do. */
bool eg__workers_crowded(void);

/* Of the fn that this thread is in: 0 and 1 outside. */
int eg__workers_number(void);
int eg__workers_size(void);
bool eg__workers_inside(void);

/* Ends all that there are, which must be idle; the next call starts new ones. */
void eg__workers_end(void);

#endif
