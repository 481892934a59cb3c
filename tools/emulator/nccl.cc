/* nccl.cc - NCCL on fake devices, for ranks that are threads of one process: the functions lib/cuda/ranks/nccl.c calls.
 * It holds callers to what the real one asks for: communicators that are not blocking are asked before they are used
 * again, streams are of the rank's device, no two ranks share one, and of each pair of ranks what one sends, in order,
 * is what the other receives. A group's messages go on together; what is not in a group waits for its other end alone.
 */
#include <stdlib.h>

#include <algorithm>

#include "tools/emulator/runtime.h"

#pragma GCC visibility push(default)
#include <nccl.h>
#pragma GCC visibility pop

/* Between two ranks; made by whichever comes first. */
struct message {
    std::shared_ptr<eg__event> there, taken;
    const void *from = nullptr;
    size_t bytes = 0;
    int device = 0; /* it comes from */
    bool sent = false, received = false, dropped = false;
    ncclComm_t ends[2] = {nullptr, nullptr};
};

struct clique {
    std::string id;
    int ranks = 0, joined = 0, finalized = 0;
    std::map<int, ncclComm_t> members;                                        /* that have not left */
    std::map<std::pair<int, int>, std::deque<std::shared_ptr<message>>> open; /* of which one end has come */
};

struct operation {
    bool sends;
    void *at;
    size_t bytes;
    int peer;
    ncclComm_t comm;
    cudaStream_t stream;
};

struct ncclComm {
    std::shared_ptr<clique> all;
    int rank, device;
    ncclResult_t error;
    bool finalized;
    std::vector<operation> begun; /* not queued yet */
    std::vector<std::shared_ptr<message>> mine;
};

/* Under the fake's lock. */
static std::map<std::string, std::shared_ptr<clique>> &cliques(void)
{
    static auto *all = new std::map<std::string, std::shared_ptr<clique>>;
    return *all;
}
static std::set<ncclComm_t> &alive(void)
{
    static auto *all = new std::set<ncclComm_t>;
    return *all;
}
static thread_local int depth;
static thread_local std::vector<operation> grouped;
static thread_local const char *words = "";

static ncclResult_t say(ncclResult_t r, const char *why)
{
    words = why;
    return r;
}

/* Injected errors are results already. */
#define NCCL_CALL()                                                                                           \
    eg__call call(__func__, EG__NO_DEVICE);                                                                   \
    if (call.error) {                                                                                         \
        return say(int(call.error) < int(ncclNumResults) ? ncclResult_t(call.error) : ncclUnhandledCudaError, \
                   "injected");                                                                               \
    }

bool eg__nccl_waits(void)
{
    for (ncclComm_t c : alive()) {
        for (auto &m : c->mine) {
            if (m->taken->done < 1 && !m->dropped) {
                return true;
            }
        }
    }
    return false;
}

static bool joining(const ncclComm &c)
{
    return c.all->joined < c.all->ranks;
}

/* ---- communicators ---- */

const char *ncclGetErrorString(ncclResult_t result)
{
    static const char *const names[] = {
        "no error",         "unhandled cuda error", "unhandled system error", "internal error",
        "invalid argument", "invalid usage",        "remote process exited",  "in progress"};
    return result < ncclNumResults ? names[result] : "unknown result code";
}

const char *ncclGetLastError(ncclComm_t)
{
    return words;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    static int made;
    NCCL_CALL()
    const char *address = getenv("NCCL_COMM_ID"), *ranks = getenv("OMPI_COMM_WORLD_SIZE");
    if (ranks && atoi(ranks) > 1) { /* that rank 0 is alone with this name it could not know */
        return say(ncclSystemError, "the fake's ranks are threads of one process");
    }
    memset(id, 0, sizeof *id);
    std::string name = address ? address : "made here " + std::to_string(++made);
    memcpy(id->internal, name.data(), name.size() < sizeof id->internal ? name.size() : sizeof id->internal - 1);
    return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t *config)
{
    NCCL_CALL()
    if (!comm || rank < 0 || rank >= ranks || !config || config->size != sizeof *config ||
        config->magic != 0xcafebeef) {
        return say(ncclInvalidArgument, "an argument");
    }
    if (config->blocking != 0) {
        return say(ncclInvalidUsage, "the fake knows no blocking communicators");
    }
    std::shared_ptr<clique> &all = cliques()[std::string(id.internal, sizeof id.internal)];
    if (!all) {
        all = std::make_shared<clique>();
        all->id = std::string(id.internal, sizeof id.internal);
        all->ranks = ranks;
    }
    if (all->ranks != ranks || all->members.count(rank)) {
        return say(ncclInvalidArgument, "another number of ranks, or the same rank twice");
    }
    *comm = new ncclComm{all, rank, eg__fake_device, ncclSuccess, false, {}, {}};
    bool twice = false;
    for (auto &other : all->members) {
        twice = twice || other.second->device == eg__fake_device;
    }
    all->members[rank] = *comm;
    all->joined++;
    alive().insert(*comm);
    for (auto &other : all->members) {
        other.second->error = twice ? ncclInvalidUsage : other.second->error;
    }
    if (!joining(**comm)) {
        cliques().erase(all->id);
    }
    return ncclInProgress;
}

/* ---- messages ---- */

static std::shared_ptr<message> message_of(ncclComm_t c, const operation &o)
{
    auto &line = c->all->open[o.sends ? std::make_pair(c->rank, o.peer) : std::make_pair(o.peer, c->rank)];
    for (auto &m : line) {
        if (!(o.sends ? m->sent : m->received)) {
            return m;
        }
    }
    auto m = std::make_shared<message>();
    m->there = eg__event_new(c->device, 0);
    m->taken = eg__event_new(c->device, 0);
    m->bytes = o.bytes;
    line.push_back(m);
    return m;
}

/* What both ends say must be the same. */
static std::shared_ptr<message> meet(ncclComm_t c, const operation &o)
{
    std::shared_ptr<message> m = message_of(c, o);
    auto &line = c->all->open[o.sends ? std::make_pair(c->rank, o.peer) : std::make_pair(o.peer, c->rank)];
    if (m->bytes != o.bytes) {
        c->error = ncclInvalidArgument;
        if (c->all->members.count(o.peer)) {
            c->all->members[o.peer]->error = ncclInvalidArgument;
        }
    }
    (o.sends ? m->sent : m->received) = true;
    m->ends[o.sends] = c;
    if (o.sends) {
        m->from = o.at;
        m->device = c->device;
    }
    while (!line.empty() && line.front()->sent && line.front()->received) {
        line.pop_front();
    }
    c->mine.push_back(m);
    return m;
}

static eg__task receiving(eg__call &call, ncclComm_t c, const operation &o, const std::shared_ptr<message> &m)
{
    eg__task task;
    void *to = o.at;
    const size_t bytes = o.bytes;
    task.wait = m->there;
    task.wait_for = 1;
    task.reach = eg__reach(call.fake, c->device);
    for (auto &other : c->all->members) {
        task.reach |= eg__reach(call.fake, other.second->device);
    }
    task.run = [m, to, bytes] {
        if (!m->dropped) {
            memcpy(to, m->from, bytes < m->bytes ? bytes : m->bytes);
            m->taken->done = 1;
        }
    };
    return task;
}

/* A group of one communicator: all that is sent is offered, then all is received, then all must have been taken. */
static void queue(eg__call &call, ncclComm_t c)
{
    std::vector<std::shared_ptr<message>> met;
    std::vector<operation> group;
    group.swap(c->begun);
    c->mine.erase(std::remove_if(c->mine.begin(), c->mine.end(), [](auto &m) { return m->taken->done == 1; }),
                  c->mine.end());
    for (const operation &o : group) {
        met.push_back(meet(c, o));
    }
    for (int turn = 0; turn < 3; turn++) {
        for (size_t i = 0; i < group.size(); i++) {
            const operation &o = group[i];
            eg__task task;
            if (turn == 0 && o.sends) {
                task.record = met[i]->there;
                task.record_as = 1;
            } else if (turn == 1 && !o.sends) {
                task = receiving(call, c, o, met[i]);
            } else if (turn == 2 && o.sends) {
                task.wait = met[i]->taken;
                task.wait_for = 1;
            } else {
                continue;
            }
            eg__push(call, o.stream, std::move(task));
        }
    }
    call.fake.ended.notify_all();
}

/* As a thread of the real one may come to it later. */
static ncclResult_t end_group(eg__call &call, std::vector<operation> &&group)
{
    for (const operation &o : group) {
        call.fake.counts.nccl_sends += o.sends;
        call.fake.counts.nccl_receives += !o.sends;
        call.fake.counts.nccl_bytes += o.sends ? int64_t(o.bytes) : 0;
        o.comm->begun.push_back(o);
    }
    call.fake.counts.nccl_groups++;
    return group.empty() ? ncclSuccess : ncclInProgress;
}

ncclResult_t ncclGroupStart(void)
{
    NCCL_CALL()
    depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    eg__call call(__func__, EG__NO_DEVICE);
    if (depth == 0) {
        return say(ncclInvalidUsage, "no group was begun");
    }
    std::vector<operation> group;
    if (--depth == 0) {
        group.swap(grouped);
    }
    return call.error ? say(ncclResult_t(call.error), "injected") : end_group(call, std::move(group));
}

static ncclResult_t add(eg__call &call, const operation &o)
{
    ncclComm_t c = o.comm;
    if (!alive().count(c) || !o.at || o.peer < 0 || o.peer >= c->all->ranks || o.peer == c->rank) {
        return say(ncclInvalidArgument, "an argument");
    }
    if (c->error || c->finalized || joining(*c) || !c->begun.empty()) {
        return say(ncclInvalidUsage, "the communicator is busy, or has failed");
    }
    if (!eg__stream_alive(call.fake, o.stream) || o.stream->device != c->device || eg__fake_device != c->device) {
        return say(ncclInvalidUsage, "a stream of another device");
    }
    const eg__place place = eg__place_of(o.at, o.bytes);
    if (place.kind != EG__DEVICE || place.device != c->device) {
        return say(ncclInvalidArgument, "memory that is not the card's");
    }
    if (depth) {
        grouped.push_back(o);
        return ncclSuccess;
    }
    return end_group(call, {o});
}

ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t s)
{
    NCCL_CALL()
    return type != ncclUint8 ? say(ncclInvalidArgument, "the fake moves bytes")
                             : add(call, {true, const_cast<void *>(from), count, peer, comm, s});
}

ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t s)
{
    NCCL_CALL()
    return type != ncclUint8 ? say(ncclInvalidArgument, "the fake moves bytes")
                             : add(call, {false, to, count, peer, comm, s});
}

/* ---- asked, and ended ---- */

ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *now)
{
    NCCL_CALL()
    if (!alive().count(c)) {
        return say(ncclInvalidArgument, "no communicator");
    }
    if (!c->error && !c->begun.empty() && eg__draw(call.fake, 2)) {
        queue(call, c);
    }
    const bool busy = joining(*c) || !c->begun.empty() || (c->finalized && c->all->finalized < c->all->ranks);
    *now = c->error ? c->error : busy ? ncclInProgress : ncclSuccess;
    words = c->error == ncclInvalidUsage      ? "two ranks share a card"
            : c->error == ncclInvalidArgument ? "two ranks do not mean the same message"
                                              : "";
    return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t c)
{
    NCCL_CALL()
    if (!alive().count(c) || c->finalized || !c->begun.empty()) {
        return say(ncclInvalidArgument, "no communicator, or one that is busy");
    }
    c->finalized = true;
    c->all->finalized++;
    return ncclInProgress;
}

/* Streams that wait for the communicator's messages go on without; the other ends of those hear of it. */
static void give_up(eg__call &call, ncclComm_t c)
{
    for (auto &m : c->mine) {
        if (m->taken->done < 1) {
            m->dropped = true;
            m->there->done = m->taken->done = 1;
            for (ncclComm_t other : m->ends) {
                if (other != c && alive().count(other)) {
                    other->error = ncclRemoteError;
                }
            }
        }
    }
    alive().erase(c);
    c->all->members.erase(c->rank);
    cliques().erase(c->all->id);
    delete c;
    call.fake.ended.notify_all();
}

ncclResult_t ncclCommDestroy(ncclComm_t c)
{
    NCCL_CALL()
    if (!alive().count(c) || !c->finalized) {
        return say(ncclInvalidUsage, "it was not finalized");
    }
    give_up(call, c);
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t c)
{
    NCCL_CALL()
    if (!alive().count(c)) {
        return say(ncclInvalidArgument, "no communicator");
    }
    give_up(call, c);
    return ncclSuccess;
}
