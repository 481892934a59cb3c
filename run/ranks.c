/* ranks.c - a run of several ranks: joining and leaving, and what they must agree on. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/core/base.h"
#include "lib/core/environment.h"
#include "run/flags.h"
#include "run/run.h"

/* ---- joining ---- */

eg_status run_be_silent(eg_run *run)
{
    eg_comm *comm = run->options.comm;
    run->rank = comm ? eg_comm_rank(comm) : eg_comm_launched().rank;
    run->failures = run->err;
    if (run->rank > 0) {
        run->null = fopen("/dev/null", "w");
        run->out = run->err = run->null;
    }
    return run->rank == 0 || run->null ? EG_OK : eg_fail(EG_EIO, "eg_run_begin", "cannot open /dev/null");
}

static bool has_batch(const eg_run *run)
{
    for (int i = 0; i < run->line.count; i++) {
        if (run->table[i].as.integer.into == &run->settings.batch && run->table[i].kind == EG_FLAG_IS_INTEGER) {
            return true;
        }
    }
    return false;
}

bool run_join(eg_run *run, int *status)
{
    eg_run_settings *s = &run->settings;
    run->comm = run->options.comm ? run->options.comm : eg_comm_mpi_new(.timeout = s->rank_timeout);
    if (!run->comm) {
        *status = eg_error_print(run->failures);
        return false;
    }
    run->rank = eg_comm_rank(run->comm);
    run->ranks = eg_comm_size(run->comm);
    s->rank = run->rank;
    s->ranks = run->ranks;
    if (run->ranks == 1) {
        run_leave(run);
        return true;
    }
    if (has_batch(run) && s->batch % run->ranks != 0) {
        *status = 2;
        flags_refuse(&run->line, "--batch %lld cannot be shared out among %d ranks", (long long)s->batch, run->ranks);
        return false;
    }
    run->whole_batch = has_batch(run) ? s->batch : 0;
    s->batch = has_batch(run) ? s->batch / run->ranks : s->batch;
    return true;
}

/* ---- what is a rank's own ---- */

/* Made when it is needed, and removed with the run. */
static eg_status make_folder(eg_run *run)
{
    const char *temporary = eg__getenv("TMPDIR");
    char name[EG_NAME_MOST];
    snprintf(name, sizeof name, "egret-%.100s-rank-%d-XXXXXX", run->options.name, run->rank);
    run->own = eg_path_in(temporary && *temporary ? temporary : "/tmp", name);
    if (!mkdtemp(run->own.text)) {
        *run->own.text = '\0';
        return eg_failf(EG_EIO, "eg_run_begin", "cannot make a folder for rank %d: %s", run->rank, strerror(errno));
    }
    return EG_OK;
}

eg_status run_settle_in(eg_run *run)
{
    const eg_comm_launch launch = eg_comm_launched();
    const int local = run->options.comm ? 1 : launch.local_ranks;
    eg_status st = run->rank > 0 ? make_folder(run) : EG_OK;
    if (!st && !run->settings.threads && local > 1) {
        const long all = sysconf(_SC_NPROCESSORS_ONLN);
        const int share = all > local ? (int)(all / local) : 1, now = eg_threads();
        st = eg_set_threads(share < now ? share : now);
    }
    return st;
}

void run_link_cards(eg_run *run)
{
    const bool wanted = run->device != eg_cpu() && strcmp(eg_comm_transport(run->comm), "mpi") == 0;
    if (wanted && eg_comm_use_nccl(run->comm, run->device)) {
        fprintf(run->err, "ranks exchange by way of the CPU's memory: %s\n", eg_last_error()->message);
        eg_clear_error();
    }
}

void run_part_random(const eg_run *run)
{
    if (run->rank > 0) {
        eg_random_state state = eg_random_get_state();
        state.seed ^= (uint64_t)run->rank * 0x9e3779b97f4a7c15u;
        eg_random_set_state(state);
    }
}

/* ---- leaving ---- */

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

void run_leave(eg_run *run)
{
    if (run->asking) {
        eg_work_wait(run->asking);
    }
    eg_release(run->came);
    if (*run->own.text) {
        nftw(run->own.text, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    }
    if (!run->options.comm) {
        eg_comm_free(run->comm);
    }
    run->comm = NULL;
    run->asking = NULL;
    run->came = NULL;
    *run->own.text = '\0';
}

bool run_failed_elsewhere(const eg_run *run)
{
    return run->ranks > 1 && run->failure.code == EG_EIO && strncmp(run->failure.message, "rank ", 5) == 0 &&
           strstr(run->failure.message, " has failed");
}

/* ---- agreeing ---- */

eg_status eg_run_all_reduce(eg_run *run, double *numbers, int n, eg_comm_reduction how)
{
    eg_status st = run->status;
    if (run->ranks == 1 || n == 0 || st) {
        return st;
    }
    EG_SCOPE {
        eg_device *here = eg_use_device(eg_cpu());
        eg_tensor *t = eg_from_values(EG_SHAPE(n), EG_F64, numbers);
        st = t ? eg_comm_all_reduce(run->comm, &t, 1, how) : eg_last_error()->code;
        st = st ? st : eg_to_values(t, numbers);
        eg_use_device(here);
    }
    return eg_run_heed(run, st);
}

/* ---- shares of a tensor ---- */

static const char whole[] = "all";

/* The ranks' shares behind each other, with the axis in front. */
static eg_tensor *gathered(const run_part *p)
{
    eg_tensor *own = eg_contiguous(eg_transpose(eg_detach(p->tensor), 0, p->axis));
    if (!own || p->run->ranks == 1) {
        return own;
    }
    eg_shape shape = eg_shape_of(own);
    shape.dim[0] *= p->run->ranks;
    eg_tensor *all = eg_empty(shape, eg_dtype_of(own));
    return all && eg_comm_all_gather(p->run->comm, own, all) == EG_OK ? all : NULL;
}

eg_tensors *run_share_state(void *user)
{
    eg_tensors *map = eg_tensors_new();
    eg_status st = map ? EG_OK : eg_last_error()->code;
    EG_SCOPE {
        eg_tensor *all = gathered(user);
        st = st || !all ? eg_last_error()->code : eg_tensors_set(map, whole, all);
    }
    if (st) {
        eg_tensors_free(map);
    }
    return st ? NULL : map;
}

eg_status run_share_load(void *user, const eg_tensors *state)
{
    const run_part *p = user;
    const int64_t rows = eg_size(p->tensor, p->axis);
    eg_status st = EG_OK;
    EG_SCOPE {
        eg_tensor *all = eg_tensors_get(state, whole);
        if (all && eg_size(all, 0) != rows * p->run->ranks) {
            st = eg_failf(EG_ESHAPE, "eg_run", "%s was of %lld rows, %d ranks have %lld", p->name,
                          (long long)eg_size(all, 0), p->run->ranks, (long long)(rows * p->run->ranks));
            break;
        }
        eg_tensor *own = all ? eg_slice(all, 0, p->run->rank * rows, (p->run->rank + 1) * rows, 1) : NULL;
        own = eg_transpose(own, 0, p->axis);
        st = own && eg_copy_(p->tensor, eg_to(own, eg_device_of(p->tensor))) ? EG_OK : eg_last_error()->code;
    }
    return st;
}

/* ---- buffers and signals ---- */

/* Those of one dtype, as many in a message as there is room for. */
static eg_status send_buffers(const eg_run *run, const eg_tensors *state, eg_dtype dtype)
{
    enum { MOST = 256 };
    eg_tensor *list[MOST];
    const int64_t count = eg_tensors_count(state);
    eg_status st = EG_OK;
    int n = 0;
    for (int64_t i = 0; i <= count && !st; i++) {
        if (n && (i == count || n == MOST)) {
            st = eg_comm_broadcast(run->comm, list, n, 0);
            n = 0;
        }
        eg_tensor *t = i < count ? eg_tensors_at(state, i) : NULL;
        if (t && !eg_is_parameter(t) && eg_dtype_of(t) == dtype) {
            list[n++] = t;
        }
    }
    return st;
}

eg_status run_same_buffers(eg_run *run)
{
    eg_status st = run->status;
    for (int i = 0; i < run->part_count && run->ranks > 1 && !st; i++) {
        if (run->parts[i].kind == RUN_MODULE) {
            eg_tensors *state = eg_module_state(run->parts[i].module);
            st = state ? EG_OK : eg_last_error()->code;
            for (int dtype = 0; dtype < EG_DTYPE_COUNT && !st; dtype++) {
                st = send_buffers(run, state, (eg_dtype)dtype);
            }
            eg_tensors_free(state);
        }
    }
    return eg_run_heed(run, st);
}

/* Asked behind a step and answered behind the next, so that nobody waits. */
int run_agreed_signal(eg_run *run, int own)
{
    eg_status st = EG_OK;
    int agreed = own;
    if (run->ranks == 1) {
        return own;
    }
    EG_SCOPE {
        eg_device *here = eg_use_device(eg_cpu());
        if (!run->came) {
            run->came = eg_keep(eg_zeros(EG_SHAPE(1), EG_I32));
        } else {
            st = eg_work_wait(run->asking);
            run->asking = NULL;
        }
        st = st || run->came ? st : eg_last_error()->code;
        agreed = st ? 0 : (int)eg_get(run->came, 0);
        if (!st && !agreed) {
            st = eg_set(run->came, 0, own);
            run->asking = st ? NULL : eg_comm_all_reduce_start(run->comm, &run->came, 1, EG_COMM_MAX);
            st = st || run->asking ? st : eg_last_error()->code;
        }
        eg_use_device(here);
    }
    return eg_run_heed(run, st) ? 0 : agreed;
}

eg_comm *eg_run_comm(const eg_run *run)
{
    return run->comm;
}
