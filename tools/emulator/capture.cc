/* capture.cc - the fake runtime's captures and graphs. A graph's nodes run in any order that what
 * was recorded between their streams allows, mixed with the work of other streams. */
#include "tools/emulator/runtime.h"

void eg__invalidate(const std::shared_ptr<eg__capture> &c)
{
    c->valid = false;
    c->nodes.clear();
}

bool eg__capture_forbids(eg__fake &fake)
{
    bool forbidden = false;
    if (eg__fake_mode == cudaStreamCaptureModeRelaxed) {
        return false;
    }
    for (auto &c : fake.captures) {
        bool own = c->thread == eg__fake_thread() && c->mode != cudaStreamCaptureModeRelaxed;
        bool global = c->mode == cudaStreamCaptureModeGlobal && eg__fake_mode == cudaStreamCaptureModeGlobal;
        if (own || global) {
            eg__invalidate(c);
            forbidden = true;
        }
    }
    return forbidden;
}

void eg__capture_add(cudaStream_t s, eg__task task)
{
    auto &nodes = s->capture->nodes;
    nodes.push_back({std::move(task), s->after});
    s->after = {nodes.size() - 1};
}

static void forget(eg__fake &fake, const std::shared_ptr<eg__capture> &c)
{
    for (size_t i = 0; i < fake.captures.size(); i++) {
        if (fake.captures[i] == c) {
            fake.captures.erase(fake.captures.begin() + long(i));
            break;
        }
    }
    for (cudaStream_t s : fake.streams) {
        if (s->capture == c) {
            s->capture.reset();
            s->after.clear();
        }
    }
}

void eg__abandon(eg__fake &fake, cudaStream_t s)
{
    std::shared_ptr<eg__capture> c = s->capture;
    eg__invalidate(c);
    if (c->origin == s) {
        forget(fake, c);
    }
    s->capture.reset();
}

cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode mode)
{
    EG__CALL(eg__fake_device)
    if (!s || !eg__stream_alive(fake, s)) {
        return call.done(s ? cudaErrorInvalidResourceHandle : cudaErrorStreamCaptureUnsupported);
    }
    if (s->capture) {
        return call.done(cudaErrorIllegalState);
    }
    auto c = std::make_shared<eg__capture>();
    c->id = ++fake.captures_begun;
    c->mode = mode;
    c->thread = eg__fake_thread();
    c->valid = true;
    c->origin = s;
    c->device = s->device;
    s->capture = c;
    s->after.clear();
    fake.captures.push_back(c);
    return cudaSuccess;
}

/* Whether all that joined streams did comes before what the origin does next. */
static bool all_joined(const eg__fake &fake, const eg__capture &c)
{
    std::vector<bool> before(c.nodes.size());
    std::vector<size_t> open(c.origin->after.begin(), c.origin->after.end());
    while (!open.empty()) {
        size_t n = open.back();
        open.pop_back();
        if (!before[n]) {
            before[n] = true;
            open.insert(open.end(), c.nodes[n].after.begin(), c.nodes[n].after.end());
        }
    }
    for (cudaStream_t s : fake.streams) {
        for (size_t n : s->after) {
            if (s->capture.get() == &c && !before[n]) {
                return false;
            }
        }
    }
    return true;
}

cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *graph)
{
    *graph = nullptr;
    EG__CALL(eg__fake_device)
    if (!s || !eg__stream_alive(fake, s) || !s->capture) {
        return call.done(cudaErrorIllegalState);
    }
    std::shared_ptr<eg__capture> c = s->capture;
    if (c->origin != s) {
        return call.done(cudaErrorStreamCaptureUnmatched);
    }
    if (c->mode != cudaStreamCaptureModeRelaxed && c->thread != eg__fake_thread()) {
        return call.done(cudaErrorStreamCaptureWrongThread);
    }
    cudaError_t e = !c->valid               ? cudaErrorStreamCaptureInvalidated
                    : !all_joined(fake, *c) ? cudaErrorStreamCaptureUnjoined
                                            : cudaSuccess;
    if (!e) {
        *graph = new CUgraph_st{std::move(c->nodes)};
        fake.graphs.insert(*graph);
    }
    eg__invalidate(c);
    forget(fake, c);
    return call.done(e);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode *mode)
{
    std::swap(*mode, eg__fake_mode);
    return cudaSuccess;
}

static cudaStreamCaptureStatus status_of(cudaStream_t s)
{
    return !s || !s->capture   ? cudaStreamCaptureStatusNone
           : s->capture->valid ? cudaStreamCaptureStatusActive
                               : cudaStreamCaptureStatusInvalidated;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t s, cudaStreamCaptureStatus *status)
{
    EG__CALL(EG__NO_DEVICE)
    *status = status_of(s);
    return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t s, cudaStreamCaptureStatus *status, unsigned long long *id,
                                     cudaGraph_t *graph, const cudaGraphNode_t **dependencies,
                                     const cudaGraphEdgeData **edges, size_t *count)
{
    EG__CALL(EG__NO_DEVICE)
    if (graph || dependencies || edges || count) {
        return call.done(cudaErrorNotSupported);
    }
    *status = status_of(s);
    if (id && *status == cudaStreamCaptureStatusActive) {
        *id = s->capture->id;
    }
    return cudaSuccess;
}

/* Graphs. */

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    EG__CALL(EG__NO_DEVICE)
    if (nodes || !fake.graphs.count(graph)) {
        return call.done(nodes ? cudaErrorNotSupported : cudaErrorInvalidValue);
    }
    *count = graph->nodes.size();
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long)
{
    EG__UNSAFE_CALL(eg__fake_device)
    if (!fake.graphs.count(graph)) {
        return call.done(cudaErrorInvalidValue);
    }
    auto plan = std::make_shared<eg__plan>();
    plan->nodes = graph->nodes;
    plan->needs.resize(plan->nodes.size());
    plan->next.resize(plan->nodes.size());
    for (size_t i = 0; i < plan->nodes.size(); i++) {
        plan->needs[i] = unsigned(plan->nodes[i].after.size());
        for (size_t before : plan->nodes[i].after) {
            plan->next[before].push_back(i);
        }
    }
    *exec = new CUgraphExec_st{plan, eg__event_new(eg__fake_device, cudaEventDisableTiming)};
    fake.execs.insert(*exec);
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    return cudaGraphInstantiate(exec, graph, flags);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    EG__CALL(EG__NO_DEVICE)
    if (!fake.graphs.erase(graph)) {
        return call.done(cudaErrorInvalidValue);
    }
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    EG__CALL(EG__NO_DEVICE)
    if (!fake.execs.erase(exec)) {
        return call.done(cudaErrorInvalidValue);
    }
    delete exec;
    return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t s)
{
    EG__CALL(eg__fake_device)
    bool known = fake.execs.count(exec) && s && eg__stream_alive(fake, s);
    return call.done(known ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t s)
{
    EG__CALL(eg__fake_device)
    if (!fake.execs.count(exec) || !s || !eg__stream_alive(fake, s)) {
        return call.done(cudaErrorInvalidValue);
    }
    if (s->capture) {
        eg__invalidate(s->capture);
        return call.done(cudaErrorStreamCaptureUnsupported);
    }
    fake.counts.graph_launches++;
    auto replay = std::make_shared<eg__replay>();
    replay->plan = exec->plan;
    replay->needs = exec->plan->needs;
    for (size_t i = 0; i < replay->needs.size(); i++) {
        if (!replay->needs[i]) {
            replay->ready.push_back(i);
        }
    }
    eg__task task;
    task.replay = replay;
    task.wait = task.record = exec->last;
    task.wait_for = exec->last->asked;
    task.record_as = ++exec->last->asked;
    return call.done(eg__push(call, s, std::move(task)));
}

bool eg__replay_step(eg__call &call, int device, eg__replay &r)
{
    if (r.ready.empty()) {
        return true;
    }
    size_t &drawn = r.ready[eg__draw(call.fake, uint32_t(r.ready.size()))], n = drawn;
    drawn = r.ready.back();
    r.ready.pop_back();
    eg__run_task(call, device, r.plan->nodes[n].task);
    for (size_t next : r.plan->next[n]) {
        if (--r.needs[next] == 0) {
            r.ready.push_back(next);
        }
    }
    return r.ready.empty();
}
