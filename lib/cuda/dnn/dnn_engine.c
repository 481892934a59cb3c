/* dnn_engine.c - plans of graphs: which engine cuDNN has for one. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/cuda/dnn/dnn_api.h"

enum { RESULTS = 64 }; /* engines looked at */

/* Whatever fails while an engine is tried only means that it is not the one. */
static cudnnStatus_t make(cudnnBackendDescriptorType_t type, eg__dnn *d)
{
    return eg__cudnn.cudnnBackendCreateDescriptor(type, d);
}

static cudnnStatus_t set(eg__dnn d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t n,
                         const void *values)
{
    return eg__cudnn.cudnnBackendSetAttribute(d, name, type, n, values);
}

static cudnnStatus_t get(eg__dnn d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t room,
                         int64_t *n, void *values)
{
    return eg__cudnn.cudnnBackendGetAttribute(d, name, type, room, n, values);
}

/* The first failure of several calls. */
#define TRY(call) e = e ? e : (call)

/* ---- the graph ------------------------------------------------------------------------------- */

static cudnnStatus_t whole(const eg__graph *g, eg__dnn *d)
{
    cudnnStatus_t e = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, d);
    if (!g->card) {
        TRY(set(*d, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &g->handle));
    }
    TRY(set(*d, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, g->nops, g->ops));
    TRY(eg__cudnn.cudnnBackendFinalize(*d));
    return e;
}

/* ---- one engine ------------------------------------------------------------------------------ */

/* Whether an engine keeps to the rules, as far as it says what it does. */
static bool obeys(eg__dnn config, unsigned rules)
{
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    int64_t n = 0;
    eg__dnn engine = NULL;
    cudnnStatus_t e = make(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine);
    TRY(get(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n, &engine));
    n = 0;
    TRY(get(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &n,
            notes));
    eg__dnn_end(engine);
    bool obeying = !e;
    for (int i = 0; i < n && i < CUDNN_NUMERICAL_NOTE_TYPE_COUNT && obeying; i++) {
        switch (notes[i]) {
        case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
        case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13: /* loses too many digits */
            obeying = false;
            break;
        case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
        case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
            obeying = !(rules & EG__DNN_NO_TENSOR_CORES);
            break;
        default:
            break;
        }
    }
    return obeying;
}

/* A plan by this engine, if it can be built. */
static void plan_by(const eg__graph *g, eg__dnn config, eg__dnn_plan *p)
{
    int64_t n = 0;
    eg__dnn d = NULL;
    cudnnStatus_t e = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &d);
    if (g->card) {
        TRY(set(d, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &g->card));
    } else {
        TRY(set(d, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &g->handle));
    }
    TRY(set(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config));
    TRY(eg__cudnn.cudnnBackendFinalize(d));
    TRY(get(d, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &n, &p->workspace));
    if (!e && p->workspace <= EG__DNN_WORK) {
        p->made = d;
    } else {
        eg__dnn_end(d);
    }
}

/* ---- engines in the order cuDNN recommends them ---------------------------------------------- */

static cudnnStatus_t ask(const eg__graph *g, eg__dnn graph, cudnnBackendHeurMode_t mode, eg__dnn *d)
{
    cudnnStatus_t e = make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, d);
    TRY(set(*d, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph));
    TRY(set(*d, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode));
    if (g->card) {
        TRY(set(*d, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &g->card));
    }
    TRY(eg__cudnn.cudnnBackendFinalize(*d));
    return e;
}

/* The first engine of a mode's that will do. Not having any is no failure. */
static cudnnStatus_t first_of(const eg__graph *g, eg__dnn graph, cudnnBackendHeurMode_t mode, unsigned rules,
                              eg__dnn_plan *p)
{
    eg__dnn heuristics = NULL, config[RESULTS];
    int64_t n = 0, room = 0;
    cudnnStatus_t e = ask(g, graph, mode, &heuristics);
    while (!e && room < RESULTS && !(e = make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &config[room]))) {
        room++;
    }
    TRY(get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, room, &n, config));
    for (int64_t i = 0; !e && i < n && i < room && !p->made; i++) {
        if (obeys(config[i], rules)) {
            plan_by(g, config[i], p);
        }
    }
    while (room) {
        eg__dnn_end(config[--room]);
    }
    eg__dnn_end(heuristics);
    return e;
}

/* A mode that has nothing does not keep the other from having something. */
static bool code_is_soft(eg_status st)
{
    return !st || st == EG_ENOKERNEL;
}

eg_status eg__graph_plan(eg__graph *g, unsigned rules, eg__dnn_plan *p)
{
    static const cudnnBackendHeurMode_t modes[] = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK};
    eg__dnn graph = NULL;
    memset(p, 0, sizeof *p);
    if (!g->status) {
        cudnnStatus_t e = whole(g, &graph);
        if (e) {
            eg__dnn_note(g, e, "a graph");
        }
        const bool drawn = !e;
        for (int i = 0; drawn && i < EG__COUNT(modes) && !p->made && code_is_soft(g->status); i++) {
            g->status = EG_OK; /* what the mode before had to say */
            if ((e = first_of(g, graph, modes[i], rules, p))) {
                eg__dnn_note(g, e, "choosing an engine");
            }
        }
        eg__dnn_end(graph);
    }
    if (p->made) {
        return EG_OK;
    }
    if (!code_is_soft(g->status)) {
        return eg__fail(g->status, g->op, "cuDNN: %s", g->why);
    }
    snprintf(p->why, sizeof p->why, "%s", g->status ? g->why : "none of its engines can be used");
    return EG_OK;
}

/* ---- plans as text --------------------------------------------------------------------------- */

char *eg__dnn_plan_text(const eg__dnn_plan *p, int64_t *bytes)
{
    int64_t n = 0, got = 0;
    char *text = NULL;
    cudnnStatus_t e = get(p->made, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 0, &n, NULL);
    if (e || n <= 0 || !(text = malloc((size_t)n))) {
        return NULL;
    }
    if (get(p->made, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, n, &got, text) || got > n) {
        free(text);
        return NULL;
    }
    *bytes = got;
    return text;
}

bool eg__dnn_plan_of_text(cudnnHandle_t handle, const char *text, int64_t bytes, eg__dnn_plan *p)
{
    int64_t n = 0;
    eg__dnn d = NULL;
    memset(p, 0, sizeof *p);
    cudnnStatus_t e = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &d);
    TRY(set(d, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle));
    TRY(set(d, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, bytes, text));
    TRY(eg__cudnn.cudnnBackendFinalize(d));
    TRY(get(d, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &n, &p->workspace));
    if (e || p->workspace > EG__DNN_WORK) {
        eg__dnn_end(d);
        return false;
    }
    p->made = d;
    return true;
}

void eg__dnn_plan_end(eg__dnn_plan *p)
{
    eg__dnn_end(p->made);
    p->made = NULL;
}

eg__dnn eg__dnn_card(const char *json)
{
    eg__dnn d = NULL;
    cudnnStatus_t e = make(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &d);
    TRY(set(d, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, (int64_t)strlen(json), json));
    TRY(eg__cudnn.cudnnBackendFinalize(d));
    if (e) {
        eg__dnn_end(d);
    }
    return e ? NULL : d;
}
