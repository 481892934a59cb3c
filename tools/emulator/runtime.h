/* runtime.h - what the files of the fake CUDA runtime share. One lock guards it all; who runs
 * queued work holds it, but for host functions. */
#ifndef EGRET_EMULATOR_RUNTIME_H
#define EGRET_EMULATOR_RUNTIME_H

#include <stdint.h>
#include <string.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "tools/emulator/fake.h"

/* Of an event, alive as long as a stream has it queued. */
struct eg__event {
    int device;
    unsigned flags;
    uint64_t asked, done; /* which of its records */
    double time;
    std::shared_ptr<struct eg__capture> capture; /* it was recorded in */
    std::set<size_t> after;                      /* nodes before that record */
};

struct CUevent_st {
    std::shared_ptr<eg__event> state;
};

/* A piece of queued work. */
struct eg__task {
    std::function<void()> run;
    bool host = false;   /* runs without the lock and without devices' memory */
    bool broken = false; /* breaks its device */
    unsigned reach = 0;  /* devices whose memory it may touch, as bits */
    std::shared_ptr<eg__event> wait, record;
    uint64_t wait_for = 0, record_as = 0;
    std::shared_ptr<struct eg__replay> replay;
};

/* A graph's node runs after others. */
struct eg__node {
    eg__task task;
    std::set<size_t> after;
};

struct CUgraph_st {
    std::vector<eg__node> nodes;
};

/* Nodes by number: what runs, how many it runs after, and which run after it. */
struct eg__plan {
    std::vector<eg__node> nodes;
    std::vector<unsigned> needs;
    std::vector<std::vector<size_t>> next;
};

struct CUgraphExec_st {
    std::shared_ptr<const eg__plan> plan;
    std::shared_ptr<eg__event> last; /* recorded by each launch, which waits for the one before */
};

/* What is left of a graph's launch. */
struct eg__replay {
    std::shared_ptr<const eg__plan> plan;
    std::vector<unsigned> needs;
    std::vector<size_t> ready;
};

struct eg__capture {
    unsigned long long id;
    cudaStreamCaptureMode mode;
    uint64_t thread;
    bool valid; /* under way, and nothing has broken it */
    cudaStream_t origin;
    int device;
    std::vector<eg__node> nodes;
};

struct CUstream_st {
    int device, priority;
    unsigned flags;
    bool busy, destroyed;
    std::deque<eg__task> queue;
    std::shared_ptr<eg__capture> capture;
    std::set<size_t> after; /* nodes its next one runs after */
};

struct eg__device {
    cudaError_t broken;
    unsigned peers; /* devices whose memory it may touch, as bits */
    int64_t used, peak;
};

struct eg__injection {
    std::string function;
    int64_t nth;
    int error;
};

struct eg__fake {
    std::mutex lock;
    std::condition_variable ended; /* a host function has */
    int devices;
    int64_t memory;
    bool defer, no_virtual_memory;
    double clock_rate, clock_offset;
    uint64_t random;
    eg_fake_counts counts;
    eg__device device[EG_FAKE_MAX_DEVICES];
    std::vector<cudaStream_t> streams;
    std::set<cudaEvent_t> events;
    std::set<cudaGraph_t> graphs;
    std::set<cudaGraphExec_t> execs;
    std::vector<std::shared_ptr<eg__capture>> captures; /* under way */
    std::vector<eg__injection> injections;
    int64_t fault; /* launches until one breaks its device; 0: none will */
    unsigned long long captures_begun;
    std::map<const void *, int> opted_in; /* dynamic shared memory by kernel */
    eg__fake();
};

eg__fake &eg__fake_all(void);

/* Of the thread that calls. */
extern thread_local int eg__fake_device;
extern thread_local cudaStreamCaptureMode eg__fake_mode;
enum eg__where { EG__OUTSIDE, EG__IN_KERNEL, EG__IN_HOST_FUNCTION };
extern thread_local eg__where eg__inside;
uint64_t eg__fake_thread(void);

/* A call of the runtime: holds the lock while it is alive. */
struct eg__call {
    eg__fake &fake;
    std::unique_lock<std::mutex> lock;
    cudaError_t error; /* what the call gives before it has begun */
    /* Of no device: it works on a broken one. */
    eg__call(const char *function, int device);
    /* Gives the error, and keeps it as the thread's last one. */
    cudaError_t done(cudaError_t e);
};

enum { EG__NO_DEVICE = -1 };

/* Starts a function of the runtime's interface, of a device or EG__NO_DEVICE. */
#define EG__CALL(of)                  \
    eg__call call(__func__, of);      \
    eg__fake &fake = call.fake;       \
    (void)fake;                       \
    if (call.error) {                 \
        return call.done(call.error); \
    }
/* And one that no capture under way allows. */
#define EG__UNSAFE_CALL(of)                                  \
    EG__CALL(of)                                             \
    if (eg__capture_forbids(fake)) {                         \
        return call.done(cudaErrorStreamCaptureUnsupported); \
    }

/* The error that is to be injected into this call of a function, else 0. */
int eg__injected(eg__fake &fake, const char *function);
uint32_t eg__draw(eg__fake &fake, uint32_t below);

/* streams.cc */
bool eg__stream_alive(const eg__fake &fake, cudaStream_t s);
cudaError_t eg__push(eg__call &call, cudaStream_t s, eg__task task);
/* Runs queued work until the condition holds. */
void eg__run_until(eg__call &call, const std::function<bool()> &enough);
void eg__drain(eg__call &call);
/* A few pieces of work, or none, as it would be while a query is made. */
void eg__run_a_little(eg__call &call);
/* Lets go of the lock while it is a host function. */
void eg__run_task(eg__call &call, int device, const eg__task &task);
std::shared_ptr<eg__event> eg__event_new(int device, unsigned flags);

/* nccl.cc: whether ranks wait for each other's messages, which other threads may yet send. */
bool eg__nccl_waits(void);

/* capture.cc */
/* Whether the thread may not do now what could break a capture; those it would break are. */
bool eg__capture_forbids(eg__fake &fake);
void eg__capture_add(cudaStream_t s, eg__task task);
/* Runs one node that can; true: it was the last. */
bool eg__replay_step(eg__call &call, int device, eg__replay &r);
/* A capture can only fail from now on. */
void eg__invalidate(const std::shared_ptr<eg__capture> &c);
/* A stream that is destroyed leaves its capture. */
void eg__abandon(eg__fake &fake, cudaStream_t s);

/* memory.cc: where an address belongs. */
enum eg__kind { EG__HOST, EG__DEVICE, EG__NOWHERE };
struct eg__place {
    eg__kind kind;
    int device;
    bool pinned;
};
eg__place eg__place_of(const void *at, size_t bytes);
/* The memory of devices whose bits are set can be touched from now on, no other. */
void eg__open_memory(unsigned reach);
/* Fills fresh pages for these devices, and hides them as others are hidden now. */
void eg__fresh_pages(char *at, size_t bytes, unsigned access);
bool eg__take_memory(eg__fake &fake, int device, int64_t bytes);
void eg__give_memory(eg__fake &fake, int device, int64_t bytes);
int64_t eg__memory_alive(void);
/* All devices that one may reach. */
unsigned eg__reach(const eg__fake &fake, int device);

enum : size_t { EG__REGION = size_t(256) << 30, EG__PAGE = size_t(2) << 20 };
/* The addresses of a device's memory: their first half is cudaMalloc's, their second for virtual
 * memory. */
char *eg__region(int device);

/* virtual.cc */
/* Pages that are mapped and who may touch them, by address. */
struct eg__mapping {
    size_t bytes;
    int device;
    unsigned access; /* devices, as bits */
    CUmemGenericAllocationHandle handle;
};
std::map<char *, eg__mapping> &eg__mappings(void);
int64_t eg__virtual_alive(void);

#endif
