/* parallel.h - optimizers of several ranks from inside: the exchange of gradients, and states shared out. */
#ifndef EGRET_OPTIM_PARALLEL_H
#define EGRET_OPTIM_PARALLEL_H

#include <egret/parallel.h>

#include "optim/optim.h"

/* What an optimizer of several ranks knows of them. */
struct eg__ranks {
    eg_comm *comm;
    int rank, ranks;
    int64_t bucket, check_every;
    int64_t updates; /* since the last look */
    int zero;
    /* With states of whole parameters shared out what the kernel gets: this rank's part of everything. Else NULL. */
    eg_tensor **in;
};

/* ---- parallel.c ---- */

/* The parameters' digests are compared, if it is time. */
eg_status eg__parallel_check(eg_optim *o);
/* A failure on record that other ranks do not know of yet is told to them; passes st on. */
eg_status eg__parallel_tell(const eg_optim *o, eg_status st);
void eg__parallel_free(eg_optim *o);

/* Whether gradients have yet to be averaged: those of parameters shared out come so. */
static inline bool eg__exchanges(const eg_optim *o)
{
    return o->parallel && o->parallel->zero < 3;
}

/* ---- exchange.c ---- */

/* Gradients on their way to being averaged. */
typedef struct eg__exchange {
    eg_optim *o;
    int n; /* gradients */
    eg_tensor **like, **x;
    eg_tensor *used;    /* u8 [n]: which of them there are */
    eg_tensor **shared; /* with gradients shared out, by bucket: what has come of it */
    eg_work **work;
    int *end;                  /* of each bucket: the first behind it */
    int buckets, begun, ended; /* ended: of those begun, waited for, in order */
    int64_t in_flight;         /* bytes of gradients of those begun and not ended */
    int64_t *at;               /* with gradients shared out: where each of x begins in a row of its bucket */
} eg__exchange;

/* Of gradients for n parameters, which are not NULL. */
eg_status eg__exchange_begin(eg__exchange *e, eg_optim *o, eg_tensor *const *parameters, int n);
/* Gradient i is there, NULL: there is none. For eg_tape_gradients' .ready; `user` is the exchange. */
eg_status eg__exchange_ready(int i, eg_tensor *gradient, void *user);
/* Those that were not said to be ready are none; st: what has failed so far. On success means[i] is the average, or
 * with gradients shared out this rank's part of it as a vector, in the scope; NULL: no rank had one. Frees the
 * exchange. */
eg_status eg__exchange_end(eg__exchange *e, eg_status st, eg_tensor **means);
/* All of it for gradients in hand, one for each parameter, NULL ones among them; they stay as they are unless they are
 * our own. */
eg_status eg__exchange_all(eg_optim *o, eg_tensor *const *gradients, bool own, eg_tensor **means);

/* ---- sharded.c ---- */

/* Elements of each rank's part of n, the last ranks' fewer or none; and of rank r's: from *first on. */
int64_t eg__shared_most(const eg__ranks *p, int64_t n);
int64_t eg__shared_at(const eg__ranks *p, int64_t n, int rank, int64_t *first);
/* Rank r's part of t, a vector that is a view. */
eg_tensor *eg__shared_part(const eg__ranks *p, eg_tensor *t, int rank);
/* States become those of this rank's part. */
eg_status eg__sharded_begin(eg_optim *o);
/* Fills p->in in the scope. */
eg_status eg__sharded_list(eg_optim *o);
/* The ranks' norms of their parts of the gradients, f64 [ranks] beside the parameters. */
eg_tensor *eg__sharded_norms(eg_optim *o, eg_tensor **gradients, double p);
/* All ranks' parts of the parameters that have moved. */
eg_status eg__sharded_gather(eg_optim *o);
/* A state as one of a single process, on the CPU; and the other way round. */
eg_tensor *eg__sharded_whole(const eg_optim *o, int i, int slot);
eg_status eg__sharded_put(eg_optim *o, int i, int slot, eg_tensor *whole);

#endif
