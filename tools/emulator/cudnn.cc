/* cudnn.cc - cuDNN on fake devices: descriptors of its graphs, engines of several kinds, and plans
 * that run what cudnn_graph.cc computes. It holds callers to what the real one asks for:
 * descriptors finished before they are used, attributes of the right type and number, tensors on
 * the device and aligned as promised, the work area. */
#include <stdio.h>
#include <stdlib.h>

#include "tools/emulator/cudnn.h"

/* ---- what the last failure was --------------------------------------------------------------- */

static thread_local std::string reason;

static cudnnStatus_t refuse(cudnnStatus_t e, const std::string &why)
{
    reason = why;
    return e;
}

void cudnnGetLastErrorString(char *message, size_t size)
{
    snprintf(message, size, "%s", reason.c_str());
}

const char *cudnnGetErrorString(cudnnStatus_t e)
{
    switch (e) {
    case CUDNN_STATUS_SUCCESS:
        return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_SUPPORTED:
        return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_NOT_INITIALIZED:
        return "CUDNN_STATUS_NOT_INITIALIZED";
    default:
        return CUDNN_STATUS_CATEGORY(int(e)) == CUDNN_STATUS_EXECUTION_FAILED ? "CUDNN_STATUS_EXECUTION_FAILED"
               : CUDNN_STATUS_CATEGORY(int(e)) == CUDNN_STATUS_INTERNAL_ERROR ? "CUDNN_STATUS_INTERNAL_ERROR"
                                                                              : "CUDNN_STATUS_BAD_PARAM";
    }
}

size_t cudnnGetVersion(void)
{
    const char *other = getenv("EG_FAKE_CUDNN_VERSION");
    return other ? size_t(strtoul(other, nullptr, 10)) : CUDNN_VERSION;
}

/* Of the runtime's error a call begins with; injected ones are statuses already. */
static cudnnStatus_t status_of(cudaError_t e)
{
    return e == cudaErrorNoDevice || e == cudaErrorInsufficientDriver
               ? refuse(CUDNN_STATUS_NOT_INITIALIZED, "no device")
           : int(e) > 1000 ? refuse(cudnnStatus_t(e), "injected")
                           : refuse(CUDNN_STATUS_EXECUTION_FAILED_CUDART, "the device is broken");
}

#define CUDNN_CALL()                          \
    eg__call call(__func__, eg__fake_device); \
    if (call.error) {                         \
        return status_of(call.error);         \
    }

/* ---- handles: they stay ---------------------------------------------------------------------- */

static std::set<cudnnHandle_t> &handles(void)
{
    static std::set<cudnnHandle_t> *all = new std::set<cudnnHandle_t>;
    return *all;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    CUDNN_CALL()
    if (eg__capture_forbids(call.fake)) {
        return refuse(CUDNN_STATUS_INTERNAL_ERROR, "a capture is under way");
    }
    *handle = *handles().insert(new cudnnContext{eg__fake_device, nullptr}).first;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    eg__call call(__func__, EG__NO_DEVICE);
    if (!handles().erase(handle)) {
        return refuse(CUDNN_STATUS_BAD_PARAM, "the handle");
    }
    delete handle;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    CUDNN_CALL()
    if (!handles().count(handle) || !eg__stream_alive(call.fake, stream)) {
        return refuse(CUDNN_STATUS_BAD_PARAM, "the handle or the stream");
    }
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

struct descriptor {
    std::shared_ptr<eg__part> part;
};

static std::set<descriptor *> &descriptors(void)
{
    static std::set<descriptor *> *all = new std::set<descriptor *>;
    return *all;
}

static descriptor *alive(cudnnBackendDescriptor_t d)
{
    descriptor *p = static_cast<descriptor *>(d);
    return descriptors().count(p) ? p : nullptr;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *d)
{
    CUDNN_CALL()
    call.fake.counts.dnn_parts++;
    *d = *descriptors().insert(new descriptor{std::make_shared<eg__part>(eg__part{int(type), false, {}})}).first;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t d)
{
    eg__call call("cudnnBackendDestroyDescriptor", EG__NO_DEVICE);
    descriptor *p = alive(d);
    if (!p) {
        return refuse(CUDNN_STATUS_BAD_PARAM, "no descriptor");
    }
    call.fake.counts.dnn_parts--;
    descriptors().erase(p);
    delete p;
    return CUDNN_STATUS_SUCCESS;
}

/* The type an attribute has to be given as; those not named are enumerations of their own. */
static bool type_fits(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type)
{
    switch (name) {
    case CUDNN_ATTR_TENSOR_DATA_TYPE:
    case CUDNN_ATTR_CONVOLUTION_COMP_TYPE:
    case CUDNN_ATTR_POINTWISE_MATH_PREC:
    case CUDNN_ATTR_MATMUL_COMP_TYPE:
    case CUDNN_ATTR_REDUCTION_COMP_TYPE:
        return type == CUDNN_TYPE_DATA_TYPE;
    case CUDNN_ATTR_TENSOR_DIMENSIONS:
    case CUDNN_ATTR_TENSOR_STRIDES:
    case CUDNN_ATTR_TENSOR_UNIQUE_ID:
    case CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT:
    case CUDNN_ATTR_CONVOLUTION_DILATIONS:
    case CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES:
    case CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS:
    case CUDNN_ATTR_CONVOLUTION_POST_PADDINGS:
    case CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS:
    case CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS:
    case CUDNN_ATTR_POINTWISE_AXIS:
        return type == CUDNN_TYPE_INT64;
    case CUDNN_ATTR_TENSOR_IS_VIRTUAL:
    case CUDNN_ATTR_TENSOR_IS_BY_VALUE:
        return type == CUDNN_TYPE_BOOLEAN;
    case CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS:
    case CUDNN_ATTR_VARIANT_PACK_WORKSPACE:
        return type == CUDNN_TYPE_VOID_PTR;
    case CUDNN_ATTR_POINTWISE_NAN_PROPAGATION:
        return type == CUDNN_TYPE_NAN_PROPOGATION;
    case CUDNN_ATTR_POINTWISE_MODE:
        return type == CUDNN_TYPE_POINTWISE_MODE;
    case CUDNN_ATTR_REDUCTION_OPERATOR:
        return type == CUDNN_TYPE_REDUCTION_OPERATOR_TYPE;
    case CUDNN_ATTR_CONVOLUTION_CONV_MODE:
        return type == CUDNN_TYPE_CONVOLUTION_MODE;
    case CUDNN_ATTR_ENGINEHEUR_MODE:
        return type == CUDNN_TYPE_HEUR_MODE;
    case CUDNN_ATTR_EXECUTION_PLAN_HANDLE:
    case CUDNN_ATTR_OPERATIONGRAPH_HANDLE:
        return type == CUDNN_TYPE_HANDLE;
    case CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION:
        return type == CUDNN_TYPE_CHAR;
    default:
        return true;
    }
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t n, const void *values)
{
    CUDNN_CALL()
    descriptor *p = alive(d);
    if (!p || p->part->done || n < 0 || (n && !values)) {
        return refuse(CUDNN_STATUS_BAD_PARAM, "no descriptor, a finished one, or no values");
    }
    if (!type_fits(name, type)) {
        return refuse(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "the attribute's type");
    }
    eg__part::value v{int(type), n, "", {}};
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        for (int64_t i = 0; i < n; i++) {
            descriptor *other = alive(static_cast<void *const *>(values)[i]);
            if (!other || !other->part->done) {
                return refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a part that is not finished");
            }
            v.parts.push_back(other->part);
        }
    } else {
        v.bytes.assign(static_cast<const char *>(values), size_t(n) * eg__attribute_size(type));
    }
    p->part->values[int(name)] = v;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- engines --------------------------------------------------------------------------------- */

struct plan_engine {
    std::vector<cudnnBackendNumericalNote_t> notes;
    int64_t workspace;
    bool wide, half; /* takes f64; takes halves */
};

enum { RECOMMENDED = 4 }; /* the others are for when those fail */
static const std::vector<plan_engine> &engines(void)
{
    static const std::vector<plan_engine> *all = new std::vector<plan_engine>{
        {{CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, 0, true, true},
        {{CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, int64_t(3) << 30, false, true},
        {{CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, 5000, false, true},
        {{}, 1000, true, false},
        {{}, 0, true, true},
    };
    return *all;
}

/* Whether an engine runs the graph: fused formulas only where numbers are not f64. */
static bool runs(const plan_engine &e, const eg__part &graph)
{
    const std::vector<eg__part_ref> &ops = graph.values.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).parts;
    for (const eg__part_ref &op : ops) {
        std::vector<eg__part_ref> tensors = eg__graph_reads(*op);
        tensors.push_back(eg__graph_writes(*op));
        for (const eg__part_ref &t : tensors) {
            const cudnnDataType_t type = t->get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
            const bool half = type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16;
            if ((type == CUDNN_DATA_DOUBLE && (!e.wide || ops.size() > 1)) || (half && !e.half)) {
                return false;
            }
        }
    }
    return true;
}

static eg__part::value one_part(const eg__part_ref &p)
{
    return eg__part::value{CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, "", {p}};
}

static std::shared_ptr<eg__part> config_of(const eg__part_ref &graph, int64_t index)
{
    std::shared_ptr<eg__part> e = eg__part_new(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    std::shared_ptr<eg__part> c = eg__part_new(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    e->values[CUDNN_ATTR_ENGINE_OPERATION_GRAPH] = one_part(graph);
    e->values[CUDNN_ATTR_ENGINE_GLOBAL_INDEX] =
        eg__part::value{CUDNN_TYPE_INT64, 1, std::string(reinterpret_cast<const char *>(&index), sizeof index), {}};
    c->values[CUDNN_ATTR_ENGINECFG_ENGINE] = one_part(e);
    return c;
}

static const plan_engine &engine_of(const eg__part &e)
{
    return engines()[size_t(e.get<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX))];
}

static const eg__part &engine_of_plan(const eg__part &plan)
{
    return plan.at(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).at(CUDNN_ATTR_ENGINECFG_ENGINE);
}

/* ---- finishing ------------------------------------------------------------------------------- */

static std::string tensor_lacks(const eg__part &t)
{
    const std::vector<int64_t> size = t.numbers(CUDNN_ATTR_TENSOR_DIMENSIONS);
    if (!t.has(CUDNN_ATTR_TENSOR_UNIQUE_ID) || !t.has(CUDNN_ATTR_TENSOR_DATA_TYPE) ||
        !t.has(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT) || size.size() < 3 ||
        size.size() != t.numbers(CUDNN_ATTR_TENSOR_STRIDES).size()) {
        return "a tensor of fewer than 3 axes, or without all it needs";
    }
    for (int64_t s : size) {
        if (s < 1) {
            return "a tensor with nothing in it";
        }
    }
    return "";
}

static cudnnStatus_t finish_plan(eg__call &call, eg__part &plan)
{
    if (plan.has(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION)) {
        const std::string text = plan.values.at(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION).bytes;
        const char *at = text.c_str();
        std::shared_ptr<eg__part> config = eg__part_read(&at);
        if (!config || config->type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR) {
            return refuse(CUDNN_STATUS_BAD_PARAM, "the text of a plan");
        }
        plan.values[CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG] = one_part(config);
        call.fake.counts.dnn_read++;
    }
    if (!plan.has(CUDNN_ATTR_EXECUTION_PLAN_HANDLE) || !plan.has(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)) {
        return refuse(CUDNN_STATUS_BAD_PARAM, "a plan needs a handle and an engine");
    }
    const eg__part &e = engine_of_plan(plan);
    if (!runs(engine_of(e), e.at(CUDNN_ATTR_ENGINE_OPERATION_GRAPH))) {
        return refuse(CUDNN_STATUS_NOT_SUPPORTED, "not by this engine");
    }
    call.fake.counts.dnn_plans++;
    return CUDNN_STATUS_SUCCESS;
}

/* What the descriptor is for injected failures: "cudnnBackendFinalize/plan". */
static const char *kind_of(int type)
{
    return type == CUDNN_BACKEND_TENSOR_DESCRIPTOR           ? "cudnnBackendFinalize/tensor"
           : type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR ? "cudnnBackendFinalize/graph"
           : type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR     ? "cudnnBackendFinalize/heuristics"
           : type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ? "cudnnBackendFinalize/plan"
           : type == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR   ? "cudnnBackendFinalize/pack"
                                                             : "cudnnBackendFinalize/other";
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t d)
{
    CUDNN_CALL()
    descriptor *p = alive(d);
    if (!p || p->part->done) {
        return refuse(CUDNN_STATUS_BAD_PARAM, "no descriptor, or a finished one");
    }
    const int injected = eg__injected(call.fake, kind_of(p->part->type));
    if (injected) {
        return refuse(cudnnStatus_t(injected), "injected");
    }
    eg__part &part = *p->part;
    std::string why;
    cudnnStatus_t e = CUDNN_STATUS_SUCCESS;
    switch (part.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
        why = tensor_lacks(part);
        break;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
        why = part.length(CUDNN_ATTR_OPERATIONGRAPH_OPS) && part.has(CUDNN_ATTR_OPERATIONGRAPH_HANDLE)
                  ? ""
                  : "a graph needs operations and a handle";
        break;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
        why = part.has(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH) && part.has(CUDNN_ATTR_ENGINEHEUR_MODE)
                  ? ""
                  : "heuristics need a graph and a mode";
        call.fake.counts.heuristics++;
        break;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
        e = finish_plan(call, part);
        break;
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
        why = part.length(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS) == part.length(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)
                  ? ""
                  : "a pack of more or fewer addresses";
        break;
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
    case CUDNN_BACKEND_MATMUL_DESCRIPTOR:
    case CUDNN_BACKEND_REDUCTION_DESCRIPTOR:
        break;
    default:
        why = eg__graph_refuses(part);
    }
    if (!why.empty()) {
        return refuse(CUDNN_STATUS_BAD_PARAM, why);
    }
    part.done = !e;
    return e;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Descriptors that the caller made become these parts; how many there are. */
static cudnnStatus_t give_parts(const std::vector<std::shared_ptr<eg__part>> &all, int64_t room, int64_t *n, void *to)
{
    for (size_t i = 0; i < all.size() && int64_t(i) < room; i++) {
        descriptor *p = alive(static_cast<void **>(to)[i]);
        if (!p || p->part->type != all[i]->type) {
            return refuse(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "a descriptor for a result");
        }
        p->part = all[i];
    }
    if (n) {
        *n = room ? int64_t(all.size()) : int64_t(all.size()) + 9; /* at first as a bound */
    }
    return CUDNN_STATUS_SUCCESS;
}

template <class T> static cudnnStatus_t give(const T *from, size_t count, int64_t room, int64_t *n, void *to)
{
    for (size_t i = 0; i < count && int64_t(i) < room; i++) {
        static_cast<T *>(to)[i] = from[i];
    }
    *n = int64_t(count);
    return CUDNN_STATUS_SUCCESS;
}

static std::vector<std::shared_ptr<eg__part>> recommended(const eg__part &heuristics)
{
    std::vector<std::shared_ptr<eg__part>> all;
    const bool last = heuristics.get<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE) == CUDNN_HEUR_MODE_FALLBACK;
    const size_t first = last ? RECOMMENDED : 0, end = last ? engines().size() : size_t(RECOMMENDED);
    for (size_t i = first; i < end; i++) {
        all.push_back(config_of(heuristics.values.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH).parts[0], int64_t(i)));
    }
    return all;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const d, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t room, int64_t *n, void *to)
{
    CUDNN_CALL()
    descriptor *p = alive(d);
    if (!p || !p->part->done) {
        return refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "assert_finalized");
    }
    const eg__part &part = *p->part;
    if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS && type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        return give_parts(recommended(part), room, n, to);
    }
    if (name == CUDNN_ATTR_ENGINECFG_ENGINE && type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        eg__part copy = part.at(CUDNN_ATTR_ENGINECFG_ENGINE);
        return give_parts({std::make_shared<eg__part>(copy)}, room, n, to);
    }
    if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && type == CUDNN_TYPE_NUMERICAL_NOTE) {
        const std::vector<cudnnBackendNumericalNote_t> &notes = engine_of(part).notes;
        return give(notes.data(), notes.size(), room, n, to);
    }
    if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && type == CUDNN_TYPE_INT64) {
        return give(&engine_of(engine_of_plan(part)).workspace, 1, room, n, to);
    }
    if (name == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION && type == CUDNN_TYPE_CHAR) {
        std::string text;
        eg__part_write(part.at(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG), text);
        return give(text.data(), text.size(), room, n, to);
    }
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "the fake does not tell this");
}

/* ---- running --------------------------------------------------------------------------------- */

/* Whether memory of this tensor is where it has to be. */
static bool placed(const eg__part &t, const char *at)
{
    const std::vector<int64_t> size = t.numbers(CUDNN_ATTR_TENSOR_DIMENSIONS);
    const std::vector<int64_t> stride = t.numbers(CUDNN_ATTR_TENSOR_STRIDES);
    int64_t last = 0;
    for (size_t d = 0; d < size.size(); d++) {
        last += (size[d] - 1) * stride[d];
    }
    const int64_t bytes = (last + 1) * eg__graph_size_of(t.get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE));
    return reinterpret_cast<uintptr_t>(at) % uint64_t(t.get<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT)) == 0 &&
           eg__place_of(at, size_t(bytes)).kind == EG__DEVICE;
}

/* The addresses of all tensors of the graph; numbers are copied now. */
static std::string addresses(const eg__part &graph, const eg__part &pack, std::map<int64_t, char *> &at,
                             std::map<int64_t, std::vector<char>> &given)
{
    for (int64_t i = 0; i < pack.length(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS); i++) {
        at[pack.get<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, i)] =
            pack.get<char *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, i);
    }
    for (const eg__part_ref &op : graph.values.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).parts) {
        std::vector<eg__part_ref> tensors = eg__graph_reads(*op);
        tensors.push_back(eg__graph_writes(*op));
        for (const eg__part_ref &t : tensors) {
            const int64_t id = t->get<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
            if (t->has(CUDNN_ATTR_TENSOR_IS_VIRTUAL)) {
                continue;
            }
            if (!at.count(id)) {
                return "a tensor without an address";
            }
            if (t->has(CUDNN_ATTR_TENSOR_IS_BY_VALUE)) {
                if (!given.count(id)) {
                    given[id].assign(at[id],
                                     at[id] + eg__graph_size_of(t->get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE)));
                }
            } else if (!placed(*t, at[id])) {
                return "a tensor that is not on the device, or not aligned as said";
            }
        }
    }
    return "";
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack)
{
    CUDNN_CALL()
    descriptor *p = alive(plan), *v = alive(pack);
    if (!p || !v || !p->part->done || !v->part->done || !handles().count(handle) || handle->device != eg__fake_device) {
        return refuse(CUDNN_STATUS_BAD_PARAM, "the handle, the plan or the pack");
    }
    const eg__part_ref e =
        p->part->at(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).values.at(CUDNN_ATTR_ENGINECFG_ENGINE).parts[0];
    const eg__part_ref graph = e->values.at(CUDNN_ATTR_ENGINE_OPERATION_GRAPH).parts[0];
    const plan_engine &by = engine_of(*e);
    std::map<int64_t, char *> at;
    std::map<int64_t, std::vector<char>> given;
    std::string why = addresses(*graph, *v->part, at, given);
    char *area = v->part->get<char *>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
    if (by.workspace &&
        (reinterpret_cast<uintptr_t>(area) % 256 || eg__place_of(area, size_t(by.workspace)).kind != EG__DEVICE)) {
        why = "the work area";
    }
    if (!why.empty()) {
        return refuse(CUDNN_STATUS_BAD_PARAM, why);
    }
    bool narrow = false;
    for (cudnnBackendNumericalNote_t note : by.notes) {
        narrow |= note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    }
    const int64_t bytes = by.workspace;
    eg__task task;
    task.reach = 1u << eg__fake_device;
    task.run = [graph, at, given, area, bytes, narrow]() mutable {
        for (auto &number : given) {
            at[number.first] = number.second.data();
        }
        if (bytes) {
            memset(area, 0x5a, size_t(bytes));
        }
        eg__graph_run(*graph, at, narrow);
    };
    call.fake.counts.dnn_runs++;
    return eg__push(call, handle->stream, std::move(task)) ? refuse(CUDNN_STATUS_EXECUTION_FAILED, "queueing")
                                                           : CUDNN_STATUS_SUCCESS;
}
