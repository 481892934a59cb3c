/* test_comm.c - ranks: sums in their order, everything that is exchanged, failures that reach all, limits that hold. */
#define _DEFAULT_SOURCE
#include <signal.h>

#include "tests/ranks.h"

/* ---- what is exchanged ----------------------------------------------------------------------- */

/* Element i of rank r: numbers whose sum depends on the order in which it is made. */
static double element(int r, int64_t i)
{
    return (r % 2 ? 1e8 : -1e8) + (double)((i * 7 + r * 3) % 101) / 8;
}

static eg_tensor *elements(int r, int64_t n, eg_dtype dtype)
{
    double *v = malloc((size_t)(n ? n : 1) * sizeof *v);
    for (int64_t i = 0; i < n; i++) {
        v[i] = dtype == EG_F16 || dtype == EG_U8 ? (double)((i + r) % 17) : element(r, i);
    }
    eg_tensor *t = eg_from_values(EG_SHAPE(n), dtype, v);
    free(v);
    return t;
}

/* The same sum in the order of the ranks, as ops make it. */
static eg_tensor *sum_of(int n, int64_t count, eg_dtype dtype)
{
    eg_dtype wide = dtype == EG_F16 || dtype == EG_BF16 ? EG_F32 : dtype;
    eg_tensor *sum = eg_cast(elements(0, count, dtype), wide);
    for (int r = 1; r < n; r++) {
        sum = eg_add(sum, eg_cast(elements(r, count, dtype), wide));
    }
    return eg_cast(sum, dtype);
}

static const int64_t sizes[] = {0, 1, 3, 63, 1000, 5000, 60001};
static const eg_dtype dtypes[] = {EG_F32, EG_F64, EG_F16, EG_BF16, EG_I64, EG_I32, EG_U8};

static void all_reduce(rank *r)
{
    for (int k = 0; k < (int)(sizeof sizes / sizeof *sizes); k++) {
        for (int d = 0; d < (int)(sizeof dtypes / sizeof *dtypes); d++) {
            EG_SCOPE {
                eg_tensor *x = elements(r->i, sizes[k], dtypes[d]);
                RANK_CHECK(!eg_comm_all_reduce(r->comm, &x, 1, EG_COMM_SUM));
                RANK_CHECK(egt_same_bits(x, sum_of(r->n, sizes[k], dtypes[d])));
            }
        }
    }
}

EGT(sums_are_added_in_the_order_of_ranks)
{
    for (int n = 1; n <= MOST; n += n < 4 ? 1 : 4) {
        on_ranks(n, 60, all_reduce);
    }
}

/* Some at once, views and such without gaps; means and the largest. */
static void several(rank *r)
{
    EG_SCOPE {
        eg_tensor *a = eg_add_scalar(eg_arange(0, 12, 1, EG_F32), r->i), *b = eg_zeros(EG_SHAPE(3, 4), EG_F32);
        eg_tensor *column = eg_select(b, 1, 2);
        RANK_CHECK(eg_copy_(column, eg_full(EG_SHAPE(3), 10.0 * r->i, EG_F32)));
        eg_tensor *x[] = {a, column, eg_scalar(r->i, EG_F32)};
        RANK_CHECK(!eg_comm_all_reduce(r->comm, x, 3, EG_COMM_MEAN));
        const double mean = (r->n - 1) / 2.0;
        for (int i = 0; i < 12; i++) {
            RANK_CHECK(eg_get(a, i) == i + mean);
            RANK_CHECK(eg_get(b, i) == (i % 4 == 2 ? 10 * mean : 0));
        }
        RANK_CHECK(eg_item(x[2]) == mean);
        double values[] = {r->i, -r->i, r->i == 1 ? NAN : 0};
        eg_tensor *most = eg_from_values(EG_SHAPE(3), EG_F64, values);
        RANK_CHECK(!eg_comm_all_reduce(r->comm, &most, 1, EG_COMM_MAX));
        RANK_CHECK(eg_get(most, 0) == r->n - 1 && eg_get(most, 1) == 0 && isnan(eg_get(most, 2)));
        eg_tensor *any = eg_cast(eg_scalar(r->i == 1, EG_F32), EG_BOOL);
        RANK_CHECK(!eg_comm_all_reduce(r->comm, &any, 1, EG_COMM_MAX));
        RANK_CHECK(eg_item_int(any) == 1);
    }
}

EGT(several_tensors_means_and_the_largest)
{
    on_ranks(2, 60, several);
    on_ranks(3, 60, several);
}

static void rest(rank *r)
{
    const int n = r->n, me = r->i;
    for (int64_t rows = 0; rows <= 3000; rows = rows ? rows * 30 : 1) {
        EG_SCOPE {
            eg_tensor *mine = eg_full(EG_SHAPE(rows, 2), me, EG_F64), *all = eg_zeros(EG_SHAPE(n * rows, 2), EG_F64);
            RANK_CHECK(!eg_comm_all_gather(r->comm, mine, all));
            eg_tensor *whole = eg_add_scalar(eg_copy(all), 100 * me), *part = eg_empty(EG_SHAPE(rows, 2), EG_F64);
            RANK_CHECK(!eg_comm_reduce_scatter(r->comm, whole, part, EG_COMM_SUM));
            eg_tensor *turned = eg_empty(EG_SHAPE(n * rows, 2), EG_F64);
            RANK_CHECK(!eg_comm_all_to_all(r->comm, whole, turned));
            eg_tensor *news = eg_full(EG_SHAPE(rows, 2), me, EG_F64);
            RANK_CHECK(!eg_comm_broadcast(r->comm, &news, 1, n - 1));
            for (int64_t i = 0; i < 2 * n * rows; i++) {
                const int from = (int)(i / (2 * rows));
                RANK_CHECK(eg_get(all, i) == from);
                RANK_CHECK(eg_get(turned, i) == me + 100 * from);
            }
            for (int64_t i = 0; i < 2 * rows; i++) {
                RANK_CHECK(eg_get(part, i) == n * me + 50.0 * n * (n - 1));
                RANK_CHECK(eg_get(news, i) == n - 1);
            }
            RANK_CHECK(!eg_comm_barrier(r->comm));
        }
    }
}

EGT(gathered_scattered_turned_and_told)
{
    on_ranks(1, 60, rest);
    on_ranks(3, 60, rest);
    on_ranks(4, 60, rest);
}

/* Around a ring, everybody sending at once; begun works are done in any order with messages. */
static void ring(rank *r)
{
    const int next = (r->i + 1) % r->n, before = (r->i + r->n - 1) % r->n;
    EG_SCOPE {
        eg_tensor *got[3], *sum = eg_full(EG_SHAPE(40000), r->i, EG_F32);
        eg_work *sent[3], *received[3];
        for (int k = 0; k < 3; k++) {
            got[k] = eg_zeros(EG_SHAPE(10, 50), EG_F32);
            received[k] = eg_comm_receive_start(r->comm, got[k], before);
        }
        eg_work *together = eg_comm_all_reduce_start(r->comm, &sum, 1, EG_COMM_SUM);
        for (int k = 0; k < 3; k++) {
            sent[k] = eg_comm_send_start(r->comm, eg_full(EG_SHAPE(500), 10 * r->i + k, EG_F32), next);
        }
        RANK_CHECK(!eg_work_wait(together));
        RANK_CHECK(eg_get(sum, 39999) == r->n * (r->n - 1) / 2);
        for (int k = 2; k >= 0; k--) {
            RANK_CHECK(!eg_work_wait(sent[k]));
            RANK_CHECK(!eg_work_wait(received[k]));
            RANK_CHECK(eg_get(got[k], 499) == 10 * before + k);
        }
    }
}

EGT(messages_go_beside_the_rest)
{
    on_ranks(2, 60, ring);
    on_ranks(4, 60, ring);
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

static void one_is_late(rank *r)
{
    if (r->i == 2) {
        usleep(2500000);
    }
    EG_SCOPE {
        eg_tensor *x = eg_ones(EG_SHAPE(5000), EG_F32);
        RANK_CHECK(eg_comm_all_reduce(r->comm, &x, 1, EG_COMM_SUM) == EG_EIO);
        const char *who = getenv("EGT_NCCL") ? "not all ranks have come within 1 s" : "rank 2 has not come within 1 s";
        RANK_CHECK(strstr(eg_last_error()->message, who) != NULL);
        RANK_CHECK(eg_comm_barrier(r->comm) == EG_EIO);
        RANK_CHECK(strstr(eg_last_error()->message, who) != NULL);
    }
}

EGT(who_does_not_come_in_time_is_named)
{
    on_ranks(3, 1, one_is_late);
}

/* A process that stands still, which a thread cannot alone. */
static void one_is_frozen(rank *r)
{
    RANK_CHECK(!eg_comm_barrier(r->comm));
    if (r->i == 1) {
        raise(SIGSTOP);
    }
    EG_SCOPE {
        eg_tensor *x = eg_ones(EG_SHAPE(100000), EG_F32);
        RANK_CHECK(eg_comm_all_reduce(r->comm, &x, 1, EG_COMM_SUM) == EG_EIO);
        RANK_CHECK(strstr(eg_last_error()->message, "rank 1 has not come within 2 s") != NULL);
    }
}

EGT(who_is_frozen_is_named)
{
    if (!getenv("EGT_MPI")) {
        egt_skip("ranks are threads");
    }
    on_ranks(3, 2, one_is_frozen);
}

static void one_gives_up(rank *r)
{
    if (r->i == 1) {
        usleep(100000); /* the others have joined */
        eg_fail(EG_EIO, "load", "no such file");
        RANK_CHECK(!eg_comm_give_up(r->comm));
        RANK_CHECK(eg_comm_barrier(r->comm) == EG_EIO);
        usleep(100000); /* the others hear of it before it is gone */
        return;
    }
    RANK_CHECK(eg_comm_barrier(r->comm) == EG_EIO);
    RANK_CHECK(strstr(eg_last_error()->message, "rank 1 has failed: load: no such file") != NULL);
}

EGT(what_one_gives_up_for_reaches_all)
{
    on_ranks(4, 60, one_gives_up);
}

static void one_leaves(rank *r)
{
    eg_work *w = NULL;
    if (r->i) {
        eg_status st = eg_comm_barrier(r->comm);
        RANK_CHECK(st == EG_EIO && strstr(eg_last_error()->message, "is gone"));
    } else {
        EG_SCOPE { /* what is under way when it is freed fails */
            w = eg_comm_receive_start(r->comm, eg_zeros(EG_SHAPE(3), EG_F32), 1);
            eg_comm_free(r->comm);
            r->comm = NULL;
            RANK_CHECK(eg_work_wait(w) == EG_ESTATE);
        }
    }
}

EGT(who_leaves_is_missed)
{
    on_ranks(3, 60, one_leaves);
}

/* Who is gone is missed by those alone that wait for it. */
static void two_go_on(rank *r)
{
    if (r->i == 2) {
        return;
    }
    EG_SCOPE {
        eg_tensor *x = eg_full(EG_SHAPE(100), r->i, EG_F32);
        if (r->i) {
            usleep(1200000);
            RANK_CHECK(!eg_comm_send(r->comm, x, 0));
        } else {
            RANK_CHECK(!eg_comm_receive(r->comm, x, 1));
            RANK_CHECK(eg_get(x, 99) == 1);
        }
    }
}

EGT(two_go_on_without_a_third)
{
    on_ranks(3, 60, two_go_on);
}

static void they_differ(rank *r)
{
    EG_SCOPE {
        eg_tensor *x = eg_ones(EG_SHAPE(r->i ? 50 : 60), EG_F32);
        const eg_status st = eg_comm_broadcast(r->comm, &x, 1, 0);
        const char *what = getenv("EGT_NCCL") ? "NCCL" : "rank 0 does something else";
        RANK_CHECK(st == EG_EIO || !r->i);
        RANK_CHECK(!r->i || strstr(eg_last_error()->message, what));
    }
}

EGT(other_sizes_are_noticed)
{
    on_ranks(2, 60, they_differ);
}

EGT(what_is_refused)
{
    eg_comm *one = eg_comm_threads_new(1), *two = eg_comm_threads_new(2);
    eg_tensor *x = eg_ones(EG_SHAPE(4), EG_F32), *i = eg_ones(EG_SHAPE(4), EG_I32), *y = eg_ones(EG_SHAPE(8), EG_F32);
    eg_tensor *mixed[] = {x, i}, *flag = eg_cast(x, EG_BOOL);
    EGT_EQ(eg_comm_rank(two), 0);
    EGT_EQ(eg_comm_size(two), 2);
    EGT_CHECK(!strcmp(eg_comm_transport(two), "threads") && !strcmp(eg_comm_transport(one), "alone"));
    EGT_REFUSED(eg_comm_all_reduce(NULL, &x, 1, EG_COMM_SUM), EG_EINVAL, "comm is NULL");
    EGT_REFUSED(eg_comm_all_reduce(two, mixed, 2, EG_COMM_SUM), EG_EDTYPE, "f32 and i32");
    EGT_REFUSED(eg_comm_all_reduce(two, &i, 1, EG_COMM_MEAN), EG_EDTYPE, "mean of i32");
    EGT_REFUSED(eg_comm_all_reduce(two, &flag, 1, EG_COMM_SUM), EG_EDTYPE, "sum of bool");
    EGT_REFUSED(eg_comm_all_reduce(two, &x, 1, (eg_comm_reduction)9), EG_EINVAL, "9");
    EGT_REFUSED(eg_comm_all_reduce(two, NULL, 1, EG_COMM_SUM), EG_EINVAL, "array");
    EGT_REFUSED(eg_comm_broadcast(two, &x, 1, 2), EG_EINDEX, "rank 2 of 2");
    EGT_REFUSED(eg_comm_send(two, x, 0), EG_EINVAL, "this one");
    EGT_REFUSED(eg_comm_all_gather(two, x, i), EG_EDTYPE, "i32");
    EGT_REFUSED(eg_comm_all_gather(two, y, x), EG_ESHAPE, "2 ranks");
    EGT_REFUSED(eg_comm_all_gather(two, x, x), EG_EINVAL, "share");
    EGT_REFUSED(eg_comm_all_to_all(two, x, y), EG_ESHAPE, "2 ranks");
    EGT_CHECK(!eg_comm_other(two, 2) && egt_said(EG_EINDEX, "rank 2"));
    EGT_CHECK(!eg_comm_other(two, 0) && egt_said(EG_ESTATE, "taken"));
    EGT_CHECK(!eg_comm_other(one, 0) && egt_said(EG_ESTATE, "threads"));
    EGT_CHECK(!eg_comm_threads_new(0) && egt_said(EG_EINVAL, "ranks"));
    EGT_CHECK(!eg_comm_threads_new(2, .timeout = -1) && egt_said(EG_EINVAL, "timeout"));
    eg_tape tape = eg_tape_open();
    eg_tape_watch(tape, x);
    EGT_REFUSED(eg_comm_all_reduce(two, &x, 1, EG_COMM_SUM), EG_ESTATE, "");
    eg_tape_close(tape);
    eg_comm_free(one);
    eg_comm_free(two);
    EGT_CHECK(eg_work_done(NULL));
}

static bool exchange(void *user)
{
    (void)user;
    bool ok = false;
    eg_comm *two = eg_comm_threads_new(2, .timeout = 20), *other = two ? eg_comm_other(two, 1) : NULL;
    EG_SCOPE {
        eg_tensor *x = other ? eg_ones(EG_SHAPE(5000), EG_F32) : NULL, *y = x ? eg_ones(EG_SHAPE(5000), EG_F32) : NULL;
        eg_work *a = y ? eg_comm_all_reduce_start(two, &x, 1, EG_COMM_SUM) : NULL;
        eg_work *b = a ? eg_comm_all_reduce_start(other, &y, 1, EG_COMM_SUM) : NULL;
        if (a && !b) {
            const eg_error why = *eg_last_error();
            eg_comm_give_up(other);
            eg_work_wait(a);
            eg_fail(why.code, "test", why.message);
        } else if (b) {
            const eg_status st = eg_work_wait(a), other_st = eg_work_wait(b);
            ok = !st && !other_st && eg_get(y, 0) == 2;
        }
    }
    const eg_error why = *eg_last_error();
    eg_comm_free(two);
    eg_comm_free(other);
    if (!ok) {
        eg_fail(strstr(why.message, "memory") ? EG_ENOMEM : why.code, "test", why.message);
    }
    return ok;
}

/* Those that went well learn of one that did not, and go on. */
static void agrees(rank *r)
{
    RANK_CHECK(!eg_comm_agree(r->comm, EG_OK));
    eg_clear_error();
    eg_status own = r->i == 1 ? eg_fail(EG_EFORMAT, "reader", "torn") : EG_OK, all = eg_comm_agree(r->comm, own);
    RANK_CHECK(all == (r->i == 1 ? EG_EFORMAT : EG_EIO));
    RANK_CHECK(strstr(eg_last_error()->message, r->i == 1 ? "torn" : "rank 1 has failed"));
    RANK_CHECK(!eg_comm_agree(r->comm, EG_OK));
}

EGT(what_all_agree_on)
{
    on_ranks(3, 20, agrees);
}

EGT(no_memory)
{
    EGT_CHECK(egt_fail_allocations(exchange, NULL) > 5);
}
