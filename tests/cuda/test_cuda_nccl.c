/* test_cuda_nccl.c - ranks whose cards go by a fake NCCL: what is sent and by which way, and what becomes of a rank's
 * failure. What is exchanged is looked at by the tests of ranks, which run by NCCL too. */
#define _DEFAULT_SOURCE
#include "tests/cuda/module.h"
#include "tests/ranks.h"

enum { COUNT = 50000 };
#ifdef EG_TINY_LIMITS
enum { PIECES = 67 }; /* of 3000 bytes at most */
#else
enum { PIECES = 1 };
#endif

static eg_device *card_of(int number)
{
    char name[32];
    snprintf(name, sizeof name, "cuda:%d", number);
    return eg_device_open(name);
}

static eg_device *all_on_cards(rank *r)
{
    eg_device *card = card_of(r->i);
    RANK_CHECK(card && !eg_comm_use_nccl(r->comm, card));
    RANK_CHECK(!strcmp(eg_comm_transport(r->comm), "nccl"));
    eg_use_device(card);
    return card;
}

static eg_status joins(rank *r, int card)
{
    return eg_comm_use_nccl(r->comm, card_of(card));
}

/* The communicator is what it was. */
static void still_whole(rank *r)
{
    EG_SCOPE {
        eg_tensor *x = eg_to(eg_full(EG_SHAPE(100), r->i, EG_F32), eg_device_open("cuda"));
        RANK_CHECK(!strcmp(eg_comm_transport(r->comm), "threads"));
        RANK_CHECK(!eg_comm_all_reduce(r->comm, &x, 1, EG_COMM_SUM));
        RANK_CHECK(eg_get(x, 0) == r->n * (r->n - 1) / 2);
    }
}

static void without_library(rank *r)
{
    RANK_CHECK(joins(r, r->i) == EG_ENOKERNEL);
    RANK_CHECK(strstr(eg_last_error()->message, "needs NCCL, but there is no libnccl.so.2"));
    still_whole(r);
}

/* First of all, as libraries that were opened stay so. */
EGT(a_library_that_is_not_there)
{
    emulated(0);
    FAKE(eg_fake_has_library)("libnccl.so.2", 0);
    on_ranks(2, 60, without_library);
    FAKE(eg_fake_has_library)("libnccl.so.2", 1);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Counts are of all ranks: read while none does anything. */
static void sum_up(rank *r)
{
    eg_device *card = all_on_cards(r);
    EG_SCOPE {
        eg_tensor *x = eg_full(EG_SHAPE(COUNT), r->i + 1, EG_F32);
        RANK_CHECK(!eg_device_synchronize(card));
        RANK_CHECK(!eg_comm_barrier(r->comm));
        if (r->i == 0) {
            FAKE(eg_fake_zero)();
        }
        RANK_CHECK(!eg_comm_barrier(r->comm));
        RANK_CHECK(!eg_comm_all_reduce(r->comm, &x, 1, EG_COMM_SUM));
        RANK_CHECK(!eg_comm_barrier(r->comm));
        const eg_fake_counts n = FAKE(eg_fake_read)();
        RANK_CHECK(!eg_comm_barrier(r->comm));
        const int64_t most = 2 * (int64_t)(r->n - 1) * COUNT * 4;
        RANK_CHECK(n.nccl_bytes == most); /* 2 (n - 1) / n of the tensor from each of n ranks: no way needs fewer */
        RANK_CHECK(n.nccl_sends == 2 * r->n * (r->n - 1) * PIECES && n.nccl_receives == n.nccl_sends);
        RANK_CHECK(n.nccl_groups == 2 * r->n * PIECES);
        RANK_CHECK(n.copies_in == 0 && n.copies_out == 0); /* not by way of the CPU's memory */
        RANK_CHECK(eg_get(x, COUNT - 1) == r->n * (r->n + 1) / 2);
    }
}

EGT(as_few_bytes_as_can_be_and_none_by_the_cpu)
{
    emulated(0);
    for (int n = 2; n <= 4; n++) {
        on_ranks(n, 60, sum_up);
    }
}

/* Begun works do not wait for what is queued behind them. */
static void while_it_computes(rank *r)
{
    all_on_cards(r);
    EG_SCOPE {
        eg_tensor *x[4], *y = eg_full(EG_SHAPE(1000), r->i, EG_F32);
        eg_work *w[4];
        for (int k = 0; k < 4; k++) {
            x[k] = eg_add_scalar(y, 10 * k);
            w[k] = eg_comm_all_reduce_start(r->comm, &x[k], 1, EG_COMM_SUM);
            RANK_CHECK(w[k]);
            y = eg_mul_scalar(y, 1);
        }
        for (int k = 0; k < 4; k++) {
            RANK_CHECK(!eg_work_wait(w[k]));
            RANK_CHECK(eg_get(x[k], 999) == 10 * k * r->n + r->n * (r->n - 1) / 2);
        }
        RANK_CHECK(eg_get(y, 0) == r->i);
    }
}

EGT(works_in_line)
{
    emulated(0);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        FAKE(eg_fake_seed)(seed);
        on_ranks(3, 60, while_it_computes);
    }
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

static void one_card(rank *r)
{
    RANK_CHECK(joins(r, 0) == EG_EIO);
    RANK_CHECK(strstr(eg_last_error()->message, "two ranks share a card"));
    still_whole(r);
}

static _Atomic bool refused;

/* A pending receive keeps the transport from being replaced: rank 1 sends only after rank 0 has been refused. */
static void while_busy(rank *r)
{
    EG_SCOPE {
        eg_tensor *x = eg_zeros(EG_SHAPE(3), EG_F32);
        eg_work *w = r->i ? NULL : eg_comm_receive_start(r->comm, x, 1);
        RANK_CHECK(r->i || joins(r, 0) == EG_ESTATE);
        RANK_CHECK(r->i || strstr(eg_last_error()->message, "something is under way"));
        refused = refused || !r->i;
        while (!refused) {
            usleep(100);
        }
        RANK_CHECK(r->i ? !eg_comm_send(r->comm, x, 0) : !eg_work_wait(w));
    }
    all_on_cards(r);
    RANK_CHECK(joins(r, r->i) == EG_ESTATE && strstr(eg_last_error()->message, "uses NCCL already"));
}

static void one_cannot(rank *r)
{
    RANK_CHECK((r->i == 1 ? eg_comm_use_nccl(r->comm, eg_cpu()) : joins(r, r->i)) == (r->i == 1 ? EG_EDEVICE : EG_EIO));
    RANK_CHECK(strstr(eg_last_error()->message, r->i == 1 ? "cpu has no NCCL" : "rank 1 has failed"));
    still_whole(r);
}

EGT(all_join_or_none)
{
    emulated(0);
    on_ranks(2, 60, one_card);
    on_ranks(3, 60, one_cannot);
    on_ranks(2, 60, while_busy);
}

static const char *failing;

static void joining_fails(rank *r)
{
    RANK_CHECK(joins(r, r->i) == EG_EIO);
    still_whole(r);
}

static void exchange_fails(rank *r)
{
    all_on_cards(r);
    RANK_CHECK(!eg_comm_barrier(r->comm));
    if (r->i == 0) {
        FAKE(eg_fake_fail)(failing, 1, 1); /* ncclUnhandledCudaError */
    }
    eg_comm_barrier(r->comm); /* others may fail before this one is through */
    EG_SCOPE {
        eg_tensor *x = eg_ones(EG_SHAPE(COUNT), EG_F32);
        RANK_CHECK(eg_comm_all_reduce(r->comm, &x, 1, EG_COMM_SUM) == EG_EIO);
        RANK_CHECK(strstr(eg_last_error()->message, "unhandled cuda error"));
        RANK_CHECK(eg_comm_barrier(r->comm) == EG_EIO);
    }
}

EGT(failures_of_nccl_reach_all)
{
    static const char *const at_first[] = {"ncclGetUniqueId", "ncclCommInitRankConfig"};
    static const char *const later[] = {"ncclGroupStart", "ncclSend", "ncclRecv", "ncclGroupEnd",
                                        "ncclCommGetAsyncError"};
    emulated(0);
    for (int i = 0; i < 2; i++) {
        FAKE(eg_fake_fail)(at_first[i], 1, 1);
        on_ranks(2, i ? 2 : 60, joining_fails); /* who joins alone waits half as long */
        FAKE(eg_fake_mend)();
    }
    for (int i = 0; i < 5; i++) {
        failing = later[i];
        on_ranks(3, 60, exchange_fails);
        FAKE(eg_fake_mend)();
    }
}

/* ---- without another way ----------------------------------------------------------------------- */

static char file[64];
static int who_comes;

static void by_file(rank *r)
{
    eg_comm_free(r->comm);
    r->comm = NULL;
    if (r->i >= who_comes) {
        return;
    }
    r->comm = eg_comm_nccl_new(card_of(r->i), r->i, r->n, .file = file, .timeout = 2);
    RANK_CHECK(who_comes < r->n ? !r->comm && eg_last_error()->code == EG_EIO : r->comm != NULL);
    EG_SCOPE {
        eg_tensor *x = eg_full(EG_SHAPE(100), r->i, EG_F32); /* of the CPU */
        RANK_CHECK(!r->comm || !eg_comm_all_reduce(r->comm, &x, 1, EG_COMM_MEAN));
        RANK_CHECK(!r->comm || eg_get(x, 99) == (r->n - 1) / 2.0);
    }
}

EGT(found_by_a_file)
{
    emulated(0);
    snprintf(file, sizeof file, "/tmp/egt-nccl-%d", (int)getpid());
    who_comes = 3;
    on_ranks(3, 60, by_file);
    EGT_CHECK(access(file, F_OK) != 0);
    who_comes = 2; /* of three */
    on_ranks(3, 60, by_file);
    EGT_CHECK(access(file, F_OK) == 0);
    EGT_REFUSED(eg_comm_nccl_new(cuda(0), 0, 2, .file = file, .timeout = 1), EG_EIO, "is there already");
    remove(file);
    EGT_REFUSED(eg_comm_nccl_new(cuda(1), 1, 2, .file = file, .timeout = 0.1), EG_EIO, "is not there within 0.1 s");
    EGT_REFUSED(eg_comm_nccl_new(cuda(0), 0, 2, .timeout = 1), EG_EINVAL, "NCCL_COMM_ID");
    EGT_REFUSED(eg_comm_nccl_new(cuda(0), 2, 2, .file = file), EG_EINVAL, "rank 2 of 2");
    EGT_REFUSED(eg_comm_nccl_new(eg_cpu(), 0, 2, .file = file), EG_EDEVICE, "no NCCL");
    eg_comm *one = eg_comm_nccl_new(cuda(0), 0, 1);
    EGT_CHECK(one && !strcmp(eg_comm_transport(one), "alone"));
    eg_comm_free(one);
}

static void by_address(rank *r)
{
    eg_comm_free(r->comm);
    r->comm = eg_comm_nccl_new(card_of(r->i), r->i, r->n, .timeout = 20);
    RANK_CHECK(r->comm && !eg_comm_barrier(r->comm));
}

EGT(found_by_an_address)
{
    emulated(0);
    setenv("NCCL_COMM_ID", "127.0.0.1:3000", 1);
    on_ranks(2, 60, by_address);
    unsetenv("NCCL_COMM_ID");
}
