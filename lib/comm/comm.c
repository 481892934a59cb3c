/* comm.c - communicators: made, freed, and the thread of each that carries its works on. */
#define _POSIX_C_SOURCE 200809L
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include <egret/profile.h>

#include "lib/comm/comm.h"
#include "lib/core/device.h"
#include "lib/core/environment.h"
#include "lib/core/live.h"
#include "lib/core/memory.h"
#include "lib/core/subsystem.h"
#include "lib/core/thread.h"

/* ---- the thread ---------------------------------------------------------------------------- */

/* Takes a work out of the line, with what became of it. Under the lock. */
static void end_work(eg_comm *c, eg_work *w, const eg_error *error)
{
    eg_work **at = &c->first;
    for (; *at != w; at = &(*at)->next) {
    }
    *at = w->next;
    if (w->moving) {
        w->stays = !c->transport->is->drop(c->transport, &w->move);
        w->moving = false;
    }
    if (w->carrier && error->code && !w->stays) {
        eg__carriers_of(w->carrier)->finish(w->carrier);
    }
    if (w->seen) {
        eg_profile_pop();
    }
    w->error = *error;
    atomic_store(&w->done, true);
    pthread_cond_broadcast(&c->gone);
}

/* Whether another message goes the same way before this one, whose pieces must not be mixed. */
static bool behind_another(const eg_comm *c, const eg_work *w)
{
    const eg_work *v = c->first;
    while (v != w && (v->kind != w->kind || v->peer != w->peer)) {
        v = v->next;
    }
    return v != w;
}

/* Carries on what can be: the first work of all ranks, and messages of two. Under the lock, which it lets go meanwhile.
 * Whether one has ended. */
static bool carry_on(eg_comm *c)
{
    static const eg_error fine = {EG_OK, "", ""};
    bool ended = false, all_ranks = false;
    for (eg_work *w = c->first, *after; w && !c->broken.code && !c->ending; w = after) {
        bool done = false;
        eg_status st = EG_OK;
        if (eg__work_of_two(w) ? !behind_another(c, w) : !all_ranks) {
            all_ranks = all_ranks || !eg__work_of_two(w);
            pthread_mutex_unlock(&c->lock);
            if (!eg__work_of_two(w) && !w->seen) { /* a span in the profile, from here to its end */
                w->seen = true;
                eg_profile_push(w->op);
            }
            st = eg__work_step(w, &done);
            pthread_mutex_lock(&c->lock);
        }
        after = w->next;
        if (st && !c->broken.code) {
            c->broken = *eg_last_error();
        } else if (done) {
            end_work(c, w, &fine);
            ended = true;
        }
    }
    return ended;
}

double eg__comm_pause(double since, bool hurry)
{
    const double now = eg__seconds(), from = !hurry ? 0 : since > 0 ? since : now;
    if (hurry && now - from < 0.001) {
        sched_yield();
    } else {
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    }
    return from;
}

static bool uses_device(const eg_comm *c)
{
    const eg_work *w = c->first;
    while (w && !w->carrier) {
        w = w->next;
    }
    return w;
}

/* Until something may have happened. What devices do nobody tells. */
static void wait_a_little(eg_comm *c, bool hurry, bool on_device)
{
    if (on_device) {
        c->hurried = eg__comm_pause(c->hurried, hurry);
    } else {
        c->hurried = 0;
        c->transport->is->wait(c->transport, hurry);
    }
}

static void end_all(eg_comm *c)
{
    eg_error freed = {EG_ESTATE, "eg_comm_free", "the communicator was freed before it was done"};
    while (c->first) {
        end_work(c, c->first, c->broken.code ? &c->broken : &freed);
    }
}

static void *carry(void *user)
{
    eg_comm *c = user;
    eg__thread_get()->alone = true;
    pthread_mutex_lock(&c->lock);
    while (!c->ending && !c->broken.code) {
        if (!c->first) {
            pthread_cond_wait(&c->come, &c->lock);
        } else if (!carry_on(c) && !c->ending && !c->broken.code) {
            const bool hurry = c->waiting > 0, on_device = uses_device(c);
            pthread_mutex_unlock(&c->lock);
            wait_a_little(c, hurry, on_device);
            pthread_mutex_lock(&c->lock);
        }
    }
    if (c->broken.code) {
        char why[sizeof c->broken.message + 64];
        snprintf(why, sizeof why, "%s: %s", c->broken.op, c->broken.message);
        c->transport->is->tell(c->transport, why);
    }
    end_all(c);
    pthread_mutex_unlock(&c->lock);
    eg_thread_end();
    return NULL;
}

/* Under the lock. */
static eg_status run(eg_comm *c, const char *op)
{
    if (!c->running && (eg__fail_injected() || pthread_create(&c->thread, NULL, carry, c))) {
        return eg__fail(EG_ENOMEM, op, "no thread to be had");
    }
    c->running = true;
    return EG_OK;
}

eg_status eg__comm_check(const eg_comm *c, const char *op)
{
    if (!c) {
        return eg__null_argument(op, "comm");
    }
    if (c->forks != eg__forks()) {
        return eg__fail(EG_ESTATE, op, "the communicator is of a process that forked this one");
    }
    eg_comm *locked = (eg_comm *)c;
    pthread_mutex_lock(&locked->lock);
    const eg_error why = c->broken;
    pthread_mutex_unlock(&locked->lock);
    return why.code ? eg__fail(why.code, op, "%s", why.message) : EG_OK;
}

eg_status eg__comm_line_up(eg_work *w)
{
    eg_comm *c = w->comm;
    pthread_mutex_lock(&c->lock);
    eg_status st = run(c, w->op);
    if (!st && c->broken.code) {
        st = eg__fail(c->broken.code, w->op, "%s", c->broken.message);
    } else if (!st) {
        eg_work **end = &c->first;
        for (; *end; end = &(*end)->next) {
        }
        *end = w;
        pthread_cond_signal(&c->come);
    }
    pthread_mutex_unlock(&c->lock);
    return st;
}

eg_status eg__comm_wait(eg_work *w)
{
    eg_comm *c = w->comm;
    if (!atomic_load(&w->done)) {
        eg_profile_push("waits for ranks");
        pthread_mutex_lock(&c->lock);
        c->waiting++;
        while (!atomic_load(&w->done)) {
            pthread_cond_wait(&c->gone, &c->lock);
        }
        c->waiting--;
        pthread_mutex_unlock(&c->lock);
        eg_profile_pop();
    }
    return w->error.code ? eg__fail(w->error.code, w->op, "%s", w->error.message) : EG_OK;
}

eg_status eg_comm_give_up(eg_comm *comm)
{
    static const char op[] = "eg_comm_give_up";
    if (!comm) {
        return eg__null_argument(op, "comm");
    }
    const eg_error *why = eg_last_error();
    eg_status st = EG_OK;
    pthread_mutex_lock(&comm->lock);
    if (!comm->broken.code) {
        st = comm->transport && comm->forks == eg__forks() ? run(comm, op) : EG_OK;
        comm->broken = why->code ? *why : (eg_error){EG_EUSER, op, "this rank has given up"};
        pthread_cond_signal(&comm->come);
    }
    pthread_mutex_unlock(&comm->lock);
    return st;
}

/* ---- made and freed -------------------------------------------------------------------------- */

enum { TIMEOUT = 300 };

eg_status eg__comm_timeout(const char *op, double given, double *timeout)
{
    *timeout = eg__or(given, TIMEOUT);
    return *timeout > 0 && *timeout <= 1e9
               ? EG_OK
               : eg__fail(EG_EINVAL, op, "timeout %g is not a number of seconds above 0", given);
}

static eg_status check_options(const char *op, const eg_comm_options *options, double *timeout)
{
    eg_comm_options o;
    eg__options(&o, sizeof o, options);
    return eg__comm_timeout(op, o.timeout, timeout);
}

/* The first of these variables that is a number; `none` if there is none. */
static int number_of(const char *const *names, int count, int none)
{
    for (int i = 0; i < count; i++) {
        const char *text = eg__getenv(names[i]);
        char *end;
        const long v = text ? strtol(text, &end, 10) : -1;
        if (text && *text && !*end && v >= 0 && v < INT_MAX) {
            return (int)v;
        }
    }
    return none;
}

/* Variables of Open MPI, of MPICH, and of Slurm; the last are there too for a process that srun has not made a rank. */
eg_comm_launch eg_comm_launched(void)
{
    static const char *const rank[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
    static const char *const ranks[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"};
    static const char *const local_rank[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"};
    static const char *const local_ranks[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"};
    eg_comm_launch l = {.ranks = 1, .local_ranks = 1};
    const int own = number_of(rank, EG__COUNT(rank), -1);
    if (own >= 0) {
        l.rank = own;
        l.ranks = number_of(ranks, EG__COUNT(ranks), own ? own + 1 : 2); /* MPI will know */
        l.local_rank = number_of(local_rank, EG__COUNT(local_rank), 0);
        l.local_ranks = number_of(local_ranks, EG__COUNT(local_ranks), l.local_rank + 1);
    }
    return l;
}

eg_comm *eg__comm_made(const char *op, eg__transport *t, double timeout)
{
    eg_comm *c = eg__handle_new(sizeof *c);
    if (!c) {
        eg__no_memory(op, sizeof *c);
        if (t) {
            t->is->close(t, false, 0);
        }
        return NULL;
    }
    c->transport = t;
    c->rank = t ? t->rank : 0;
    c->ranks = t ? t->ranks : 1;
    c->timeout = timeout;
    c->forks = eg__forks();
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->come, NULL);
    pthread_cond_init(&c->gone, NULL);
    return c;
}

eg_comm *eg_comm_mpi_new_with(const eg_comm_options *options)
{
    static const char op[] = "eg_comm_mpi_new";
    double timeout;
    bool alone = eg_comm_launched().ranks == 1;
    if (check_options(op, options, &timeout)) {
        return NULL;
    }
    eg__transport *t = alone ? NULL : eg__comm_mpi(op, &alone);
    return t || alone ? eg__comm_made(op, t, timeout) : NULL;
}

eg_comm *eg_comm_threads_new_with(int ranks, const eg_comm_options *options)
{
    static const char op[] = "eg_comm_threads_new";
    double timeout;
    if (check_options(op, options, &timeout)) {
        return NULL;
    }
    if (ranks < 1 || ranks > EG__COMM_MOST) {
        return eg__fail_null(EG_EINVAL, op, "%d ranks: 1 to %d can be", ranks, EG__COMM_MOST);
    }
    eg__transport *t = ranks > 1 ? eg__comm_local(op, ranks) : NULL;
    return ranks > 1 && !t ? NULL : eg__comm_made(op, t, timeout);
}

eg_comm *eg_comm_other(eg_comm *comm, int rank)
{
    static const char op[] = "eg_comm_other";
    if (!comm) {
        eg__null_argument(op, "comm");
        return NULL;
    }
    if (rank < 0 || rank >= comm->ranks) {
        return eg__fail_null(EG_EINDEX, op, "rank %d of %d", rank, comm->ranks);
    }
    if (!comm->transport || strcmp(comm->transport->is->name, "threads") != 0) {
        return eg__fail_null(EG_ESTATE, op, "ranks are not threads of this process");
    }
    eg__transport *t = eg__comm_local_other(op, comm->transport, rank);
    return t ? eg__comm_made(op, t, comm->timeout) : NULL;
}

static void close_carriers(eg_comm *c)
{
    for (int i = 0; i < 2 * EG__MAX_DEVICES && c->forks == eg__forks(); i++) {
        eg__carrier *carrier = c->carrier[i / EG__MAX_DEVICES][i % EG__MAX_DEVICES];
        if (carrier) {
            eg__carriers_of(carrier)->close(carrier);
        }
    }
}

void eg_comm_free(eg_comm *comm)
{
    if (!eg__handle_ends(comm, "eg_comm_free")) {
        return;
    }
    if (comm->running && comm->forks == eg__forks()) {
        pthread_mutex_lock(&comm->lock);
        comm->ending = true;
        pthread_cond_signal(&comm->come);
        pthread_mutex_unlock(&comm->lock);
        pthread_join(comm->thread, NULL);
    }
    if (comm->transport && comm->forks == eg__forks()) {
        comm->transport->is->close(comm->transport, !comm->broken.code, comm->timeout);
    }
    close_carriers(comm);
    pthread_mutex_destroy(&comm->lock);
    pthread_cond_destroy(&comm->come);
    pthread_cond_destroy(&comm->gone);
    free(comm);
}

eg__carrier *eg__comm_carrier(eg_comm *c, uint8_t device, bool of_two, const char *op)
{
    eg__carrier **carrier = &c->carrier[of_two][device];
    if (!*carrier) {
        *carrier = eg__devices[device]->engine->carriers->open(eg__devices[device], op);
    }
    return *carrier;
}

int eg_comm_rank(const eg_comm *comm)
{
    return comm ? comm->rank : 0;
}

int eg_comm_size(const eg_comm *comm)
{
    return comm ? comm->ranks : 1;
}

const char *eg_comm_transport(const eg_comm *comm)
{
    return !comm ? "none" : comm->transport ? comm->transport->is->name : "alone";
}
