/* test_nccl.c - the fake NCCL moves what it is told to, and refuses what the real one would not do, or do later. Two
 * ranks of one thread. */
#include <nccl.h>

#include "tests/cuda/check.h"
#include "tools/emulator/fake.h"
#include "tests/cuda/test_emulator.h"

enum { BYTES = 4096 };

typedef struct card {
    ncclComm_t comm;
    cudaStream_t stream;
    char *memory;
} card;

static ncclResult_t now(ncclComm_t comm)
{
    ncclResult_t is = ncclSuccess;
    EGT_EQ(ncclCommGetAsyncError(comm, &is), ncclSuccess);
    return is;
}

/* Asked until it is not busy. */
static ncclResult_t asked(ncclComm_t comm)
{
    ncclResult_t is = ncclInProgress;
    for (int i = 0; i < 100 && is == ncclInProgress; i++) {
        is = now(comm);
    }
    return is;
}

static void join(card *c, int rank, int device, const ncclUniqueId *id)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    CU(cudaSetDevice(device));
    CU(cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking));
    CU(cudaMalloc((void **)&c->memory, 2 * BYTES));
    CU(cudaMemset(c->memory, 1 + rank, 2 * BYTES));
    EGT_EQ(ncclCommInitRankConfig(&c->comm, 2, *id, rank, &config), ncclInProgress);
}

static void two_cards(card *c, int second)
{
    ncclUniqueId id;
    eg_fake_devices(2);
    EGT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    join(&c[0], 0, 0, &id);
    EGT_EQ(now(c[0].comm), ncclInProgress);
    join(&c[1], 1, second, &id);
}

static void end(card *c)
{
    for (int i = 0; i < 2; i++) {
        if (c[i].comm) {
            EGT_EQ(ncclCommAbort(c[i].comm), ncclSuccess);
        }
        CU(cudaStreamSynchronize(c[i].stream));
        CU(cudaStreamDestroy(c[i].stream));
        CU(cudaFree(c[i].memory));
    }
    CU(cudaSetDevice(0));
}

/* Each sends its first half and receives into its second. */
static void swap(card *c, int i, size_t sent)
{
    CU(cudaSetDevice(i));
    EGT_EQ(ncclGroupStart(), ncclSuccess);
    EGT_EQ(ncclRecv(c[i].memory + BYTES, BYTES, ncclUint8, !i, c[i].comm, c[i].stream), ncclSuccess);
    EGT_EQ(ncclSend(c[i].memory, sent, ncclUint8, !i, c[i].comm, c[i].stream), ncclSuccess);
    EGT_EQ(ncclGroupEnd(), ncclInProgress);
}

static char last_of(const card *c)
{
    char last = 0;
    CU(cudaMemcpy(&last, c->memory + 2 * BYTES - 1, 1, cudaMemcpyDeviceToHost));
    return last;
}

EGT(groups_of_messages_go_together)
{
    for (uint64_t seed = 1; seed < 20; seed++) {
        card c[2] = {{0}};
        eg_fake_seed(seed);
        two_cards(c, 1);
        EGT_EQ(asked(c[0].comm), ncclSuccess);
        eg_fake_zero();
        swap(c, 0, BYTES);
        EGT_EQ(asked(c[0].comm), ncclSuccess);
        EGT_EQ(cudaStreamQuery(c[0].stream), cudaErrorNotReady);
        swap(c, 1, BYTES);
        EGT_EQ(asked(c[1].comm), ncclSuccess);
        CU(cudaStreamSynchronize(c[0].stream));
        CU(cudaStreamSynchronize(c[1].stream));
        EGT_EQ(last_of(&c[0]), 2);
        EGT_EQ(last_of(&c[1]), 1);
        const eg_fake_counts n = eg_fake_read();
        EGT_CHECK(n.nccl_groups == 2 && n.nccl_sends == 2 && n.nccl_receives == 2 && n.nccl_bytes == 2 * BYTES);
        end(c);
    }
}

EGT(messages_alone_wait_for_their_other_end)
{
    card c[2] = {{0}};
    two_cards(c, 1);
    for (int i = 0; i < 2; i++) { /* both send first */
        CU(cudaSetDevice(i));
        EGT_EQ(ncclSend(c[i].memory, BYTES, ncclUint8, !i, c[i].comm, c[i].stream), ncclInProgress);
        EGT_EQ(asked(c[i].comm), ncclSuccess);
        EGT_EQ(ncclRecv(c[i].memory + BYTES, BYTES, ncclUint8, !i, c[i].comm, c[i].stream), ncclInProgress);
        EGT_EQ(asked(c[i].comm), ncclSuccess);
    }
    for (int i = 0; i < 100; i++) {
        EGT_EQ(cudaStreamQuery(c[0].stream), cudaErrorNotReady);
        EGT_EQ(cudaStreamQuery(c[1].stream), cudaErrorNotReady);
    }
    end(c); /* which gives them up */
}

EGT(what_no_card_does_is_refused)
{
    card c[2] = {{0}};
    char on_host[4] = "";
    two_cards(c, 1);
    CU(cudaSetDevice(0));
    EGT_EQ(ncclSend(c[0].memory, 4, ncclUint8, 1, c[0].comm, c[1].stream), ncclInvalidUsage);
    EGT_EQ(ncclSend(on_host, 4, ncclUint8, 1, c[0].comm, c[0].stream), ncclInvalidArgument);
    EGT_EQ(ncclSend(c[1].memory, 4, ncclUint8, 1, c[0].comm, c[0].stream), ncclInvalidArgument);
    EGT_EQ(ncclSend(c[0].memory, 4, ncclUint8, 0, c[0].comm, c[0].stream), ncclInvalidArgument);
    EGT_EQ(ncclGroupEnd(), ncclInvalidUsage);
    CU(cudaSetDevice(1));
    EGT_EQ(ncclSend(c[0].memory, 4, ncclUint8, 1, c[0].comm, c[0].stream), ncclInvalidUsage);
    swap(c, 0, BYTES);
    EGT_EQ(ncclSend(c[0].memory, 4, ncclUint8, 1, c[0].comm, c[0].stream), ncclInvalidUsage); /* it was not asked */
    EGT_EQ(asked(c[0].comm), ncclSuccess);
    swap(c, 1, BYTES / 2);
    EGT_EQ(asked(c[1].comm), ncclInvalidArgument);
    EGT_EQ(asked(c[0].comm), ncclInvalidArgument);
    EGT_EQ(ncclCommDestroy(c[0].comm), ncclInvalidUsage);
    end(c);
}

EGT(a_card_is_one_ranks)
{
    card c[2] = {{0}};
    two_cards(c, 0);
    EGT_EQ(asked(c[0].comm), ncclInvalidUsage);
    EGT_EQ(asked(c[1].comm), ncclInvalidUsage);
    end(c);
}

EGT(who_gives_up_is_noticed)
{
    card c[2] = {{0}};
    two_cards(c, 1);
    swap(c, 0, BYTES);
    EGT_EQ(asked(c[0].comm), ncclSuccess);
    swap(c, 1, BYTES);
    EGT_EQ(asked(c[1].comm), ncclSuccess);
    EGT_EQ(ncclCommAbort(c[0].comm), ncclSuccess);
    c[0].comm = NULL;
    EGT_EQ(asked(c[1].comm), ncclRemoteError);
    end(c);
}
