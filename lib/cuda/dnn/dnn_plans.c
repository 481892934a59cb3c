/* dnn_plans.c - cuDNN's plans: kept by what they are for, in memory and, if asked, in files; and
 * running them. */
#include <stdlib.h>

#include "lib/core/capture.h"
#include "lib/cuda/dnn/dnn_api.h"
#include "lib/cuda/dnn/dnn_files.h"

/* ---- a handle for every stream --------------------------------------------------------------- */

/* Handles stay until the process ends: at its end the library may be gone before us. */
typedef struct lane {
    struct lane *next;
    cudnnHandle_t handle;
    pthread_mutex_t lock; /* two threads may use a stream, but not its handle */
} lane;

/* A capture under way, of this thread or of others, is not to mind what cuDNN does meanwhile: how
 * it was before. */
static enum cudaStreamCaptureMode relaxed(void)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

static eg_status lane_new(const eg__call *c, eg_stream *s, lane **to)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static lane *all;
    eg_status st = EG_OK;
    pthread_mutex_lock(&lock);
    lane *l = s->dnn;
    if (!l && !(l = eg__malloc(sizeof *l))) {
        st = eg__no_memory(c->op->name, (int64_t)sizeof *l);
    } else if (!s->dnn) {
        *l = (lane){.next = all, .lock = PTHREAD_MUTEX_INITIALIZER};
        enum cudaStreamCaptureMode mode = relaxed();
        cudnnStatus_t e = eg__cudnn.cudnnCreate(&l->handle);
        e = e ? e : eg__cudnn.cudnnSetStream(l->handle, s->handle);
        cudaThreadExchangeStreamCaptureMode(&mode);
        if (e) {
            st = eg__dnn_failed(c->op->name, e, "starting");
            if (l->handle) {
                eg__cudnn.cudnnDestroy(l->handle);
            }
            free(l);
            l = NULL;
        } else {
            s->dnn = all = l;
        }
    }
    pthread_mutex_unlock(&lock);
    *to = l;
    return st;
}

static eg_status lane_of(const eg__call *c, lane **l)
{
    eg_stream *s = c->T->lane[c->device].now;
    *l = s->dnn;
    return likely(*l != NULL) ? EG_OK : lane_new(c, s, l);
}

eg_status eg__dnn_hold(const eg__call *c, cudnnHandle_t *handle)
{
    lane *l;
    eg_status st = lane_of(c, &l);
    if (!st) {
        pthread_mutex_lock(&l->lock);
        *handle = l->handle;
    }
    return st;
}

void eg__dnn_let_go(const eg__call *c)
{
    lane *l = c->T->lane[c->device].now->dnn;
    pthread_mutex_unlock(&l->lock);
}

/* ---- plans kept: a table of sets, in each the plans used last -------------------------------- */

enum { SETS = 128, WAYS = 8 };

typedef struct kept {
    uint64_t hash; /* 0: empty */
    uint64_t used;
    const char *title;
    unsigned rules;
    int ordinal;
    size_t bytes;
    char key[EG__DNN_KEY];
    eg__dnn_plan *plan;
} kept;

static struct {
    pthread_mutex_t lock;
    uint64_t clock;
    kept set[SETS][WAYS];
    eg__dnn_plan *stay; /* forgotten, but graphs of CUDA may run them at any time */
} plans = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t hash_of(const eg__dnn_ask *a, int ordinal)
{
    const char *key = a->key;
    uint64_t word, h = (uint64_t)(uintptr_t)a->title ^ ((uint64_t)a->rules << 8 | (uint64_t)ordinal);
    for (size_t at = 0; at < a->bytes; at += sizeof word) {
        word = 0;
        memcpy(&word, key + at, a->bytes - at < sizeof word ? a->bytes - at : sizeof word);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h | 1;
}

static bool holds(const kept *k, uint64_t hash, const eg__dnn_ask *a, int ordinal)
{
    return k->hash == hash && k->title == a->title && k->rules == a->rules && k->ordinal == ordinal &&
           k->bytes == a->bytes && !memcmp(k->key, a->key, a->bytes);
}

/* Its place, or the one to put it in. Under the lock. */
static kept *place_of(uint64_t hash, const eg__dnn_ask *a, int ordinal)
{
    kept *set = plans.set[(hash >> 32) % SETS], *oldest = set;
    for (int i = 0; i < WAYS; i++) {
        if (holds(&set[i], hash, a, ordinal)) {
            return &set[i];
        }
        oldest = set[i].used < oldest->used ? &set[i] : oldest;
    }
    return oldest;
}

static eg__dnn_plan *look_up(uint64_t hash, const eg__dnn_ask *a, int ordinal)
{
    eg__dnn_plan *plan = NULL;
    pthread_mutex_lock(&plans.lock);
    kept *k = place_of(hash, a, ordinal);
    if (holds(k, hash, a, ordinal)) {
        k->used = ++plans.clock;
        plan = k->plan;
        eg__ref_inc(&plan->refs);
    }
    pthread_mutex_unlock(&plans.lock);
    return plan;
}

/* Takes one reference, or two, of which one is the caller's; another thread may have been first. */
static eg__dnn_plan *keep(uint64_t hash, const eg__dnn_ask *a, int ordinal, eg__dnn_plan *plan)
{
    pthread_mutex_lock(&plans.lock);
    kept *k = place_of(hash, a, ordinal);
    eg__dnn_plan *gone = k->plan;
    if (holds(k, hash, a, ordinal)) {
        gone = plan;
        plan = k->plan;
    } else {
        *k = (kept){hash, 0, a->title, a->rules, ordinal, a->bytes, {0}, plan};
        memcpy(k->key, a->key, a->bytes);
    }
    k->used = ++plans.clock;
    eg__ref_inc(&plan->refs);
    pthread_mutex_unlock(&plans.lock);
    eg__dnn_leave(gone);
    return plan;
}

void eg__dnn_leave(eg__dnn_plan *plan)
{
    if (!plan || !eg__ref_dec(&plan->refs)) {
        return;
    }
    if (plan->captured) {
        pthread_mutex_lock(&plans.lock);
        plan->next = plans.stay;
        plans.stay = plan;
        pthread_mutex_unlock(&plans.lock);
    } else {
        eg__dnn_plan_end(plan);
        free(plan);
    }
}

/* ---- finding --------------------------------------------------------------------------------- */

static eg_status draw_plan(const eg__call *c, const eg__dnn_ask *a, cudnnHandle_t handle, eg__dnn_plan *plan)
{
    eg__graph *g = eg__malloc(sizeof *g); /* large for a stack */
    if (!g) {
        return eg__no_memory(c->op->name, (int64_t)sizeof *g);
    }
    eg__graph_begin(g, c->op->name, handle, NULL);
    a->draw(g, a->key);
    eg_status st = eg__graph_plan(g, a->rules, plan);
    eg__graph_end(g);
    free(g);
    return st;
}

static eg_status make(const eg__call *c, const eg__dnn_ask *a, eg__dnn_plan *plan)
{
    lane *l;
    eg_status st = lane_of(c, &l);
    if (st) {
        return st;
    }
    eg__dnn_file file;
    const bool filed = eg__dnn_file_of(&file, eg__cuda_at(c->device)->ordinal, a);
    pthread_mutex_lock(&l->lock);
    if (!filed || !eg__dnn_file_read(&file, l->handle, plan)) {
        st = draw_plan(c, a, l->handle, plan);
        if (!st && filed && plan->made) {
            eg__dnn_file_write(&file, plan);
        }
    }
    pthread_mutex_unlock(&l->lock);
    return st;
}

static eg_status make_and_keep(const eg__call *c, const eg__dnn_ask *a, uint64_t hash, int ordinal, eg__dnn_plan **plan)
{
    eg_status st = eg__dnn_open(c->op->name);
    eg__dnn_plan *p = st ? NULL : eg__malloc(sizeof *p);
    if (!p) {
        return st ? st : eg__no_memory(c->op->name, (int64_t)sizeof *p);
    }
    const double start = eg__seconds();
    st = make(c, a, p);
    if (st) {
        free(p);
        return st;
    }
    eg__took(c->op->name, "choosing cuDNN's engine", eg__seconds() - start);
    if (!p->made) {
        eg__log_words(EG__DEBUG_FALLBACK, c->op->name, "cuDNN has no way for it, own kernels are taken");
    }
    eg__ref_init(&p->refs);
    *plan = keep(hash, a, ordinal, p);
    return EG_OK;
}

eg_status eg__dnn_find(const eg__call *c, const eg__dnn_ask *a, eg__dnn_plan **plan)
{
    const int ordinal = eg__cuda_at(c->device)->ordinal;
    const uint64_t hash = hash_of(a, ordinal);
    *plan = look_up(hash, a, ordinal);
    if (likely(*plan != NULL)) {
        return EG_OK;
    }
    enum cudaStreamCaptureMode mode = relaxed();
    eg_status st = make_and_keep(c, a, hash, ordinal, plan);
    cudaThreadExchangeStreamCaptureMode(&mode);
    return st;
}

/* ---- running --------------------------------------------------------------------------------- */

/* The first failure of several calls. */
#define TRY(call) e = e ? e : (call)

static cudnnStatus_t execute(lane *l, const eg__dnn_plan *plan, int n, const int64_t *ids, void *const *at,
                             void *workspace)
{
    eg__dnn pack = NULL;
    cudnnStatus_t e = eg__cudnn.cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack);
    TRY(eg__cudnn.cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, n, ids));
    TRY(eg__cudnn.cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, n, at));
    TRY(eg__cudnn.cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
                                           &workspace));
    TRY(eg__cudnn.cudnnBackendFinalize(pack));
    if (!e) {
        pthread_mutex_lock(&l->lock);
        e = eg__cudnn.cudnnBackendExecute(l->handle, plan->made, pack);
        pthread_mutex_unlock(&l->lock);
    }
    eg__dnn_end(pack);
    return e;
}

eg_status eg__dnn_run(const eg__call *c, eg__dnn_plan *plan, int n, const int64_t *ids, void *const *at)
{
    lane *l;
    eg__block *work = NULL;
    eg_status st = lane_of(c, &l);
    if (!st && plan->workspace > 0) {
        st = eg__cuda_scratch(c, (size_t)plan->workspace, &work);
    }
    if (st) {
        return st;
    }
    if (unlikely(c->T->capture != NULL)) {
        atomic_store(&plan->captured, true);
    }
    cudnnStatus_t e = execute(l, plan, n, ids, at, work ? work->data : NULL);
    eg__cuda_scratch_end(work);
    if (unlikely(e)) {
        st = eg__cuda_check(eg__cuda_at(c->device), c->op->name, cudaGetLastError(), "running cuDNN");
        st = st ? st : eg__dnn_failed(c->op->name, e, "running a plan");
    }
    return st;
}
