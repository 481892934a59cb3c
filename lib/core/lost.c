/* lost.c - the engine of devices that the parent of this process opened: no driver can be used in both. */
#include "lib/core/engine.h"
#include "lib/core/error.h"

eg_status eg__lost(const char *op)
{
    return eg__fail(EG_EDEVICE, op,
                    "the device is the parent's: a process made by fork cannot use one that was "
                    "opened before; fork first");
}

static eg_status run(const eg__call *c, eg__kernel *k)
{
    (void)k;
    return eg__lost(c->op->name);
}

static eg_status kernel(const eg__call *c)
{
    return eg__lost(c->op->name);
}

static int count(char *why, size_t size)
{
    snprintf(why, size, "the devices are the parent's: it looked for them before it forked");
    return -1;
}

/* X(result, name, parameters, what it does) */
#define FUNCTIONS(X)                                                                                                   \
    X(eg_status, open, (eg_device * d, int64_t bytes), (void)d; (void)bytes; return eg__lost("eg_device_split"))       \
    X(void, close, (eg_device * d), (void)d)                                                                           \
    X(eg_status, describe, (eg_device * d, eg_device_info * i), (void)d; (void)i;                                      \
      return eg__lost("eg_device_describe"))                                                                           \
    X(void *, reserve, (eg_device * d, eg__thread * T, size_t n, uint16_t by, char **data), (void)d; (void)T; (void)n; \
      (void)by; (void)data; return NULL)                                                                               \
    X(void, release, (eg_device * d, void *block), (void)d; (void)block)                                               \
    X(void, memory, (eg_device * d, eg_memory * m), (void)d; *m = (eg_memory){0})                                      \
    X(void, limit, (eg_device * d, int64_t bytes), (void)d; (void)bytes)                                               \
    X(void, reset_peak, (eg_device * d), (void)d)                                                                      \
    X(void, trim, (eg_device * d), (void)d)                                                                            \
    X(void, holders, (eg_device * d, int64_t * by_op, int n), (void)d; (void)by_op; (void)n)                           \
    X(int64_t, rnn_reserve, (const eg__call *c), (void)c; return 0)                                                    \
    X(eg_status, fill, (const char *op, eg__thread *T, eg_tensor *t, uint64_t bits), (void)T; (void)t; (void)bits;     \
      return eg__lost(op))                                                                                             \
    X(eg_status, upload, (const char *op, eg__thread *T, eg_tensor *t, const void *from, size_t n), (void)T; (void)t;  \
      (void)from; (void)n; return eg__lost(op))                                                                        \
    X(eg_status, download, (const char *op, eg__thread *T, const eg_tensor *t, void *to, size_t n), (void)T; (void)t;  \
      (void)to; (void)n; return eg__lost(op))                                                                          \
    X(eg_status, synchronize, (eg_device * d), (void)d; return eg__lost("eg_device_synchronize"))                      \
    X(void, thread_end, (eg_device * d, eg__thread * T), (void)d; (void)T)

#define STREAMS(X)                                                                                                   \
    X(eg_stream *, make, (eg_device * d), (void)d; eg__lost("eg_stream_new"); return NULL)                           \
    X(eg_status, free, (eg_stream * s), (void)s; return EG_OK)                                                       \
    X(eg_stream *, use, (eg__thread * T, eg_stream * s), (void)T; (void)s; eg__lost("eg_use_stream"); return NULL)   \
    X(eg_stream *, own, (eg__thread * T, eg_device * d), (void)T; (void)d; eg__lost("eg_stream_own"); return NULL)   \
    X(eg_status, synchronize, (eg_stream * s), (void)s; return eg__lost("eg_stream_synchronize"))                    \
    X(void *, handle, (eg_stream * s), (void)s; eg__lost("eg_stream_handle"); return NULL)                           \
    X(eg_event *, event_make, (eg_device * d), (void)d; eg__lost("eg_event_new"); return NULL)                       \
    X(eg_status, event_free, (eg_event * e), (void)e; return EG_OK)                                                  \
    X(eg_status, event_record, (eg__thread * T, eg_event * e), (void)T; (void)e; return eg__lost("eg_event_record")) \
    X(eg_status, event_wait, (eg__thread * T, eg_event * e), (void)T; (void)e; return eg__lost("eg_event_wait"))     \
    X(eg_status, event_synchronize, (eg_event * e), (void)e; return eg__lost("eg_event_synchronize"))                \
    X(eg_status, event_elapsed, (eg_event * a, eg_event * b, double *ms), (void)a; (void)b; (void)ms;                \
      return eg__lost("eg_event_elapsed"))

#define TIMING(X)                                                                                              \
    X(bool, clock, (eg_device * d, bool restart, int64_t *ns), (void)d; (void)restart; (void)ns; return false) \
    X(eg__timer *, begin, (eg__thread * T, eg_device * d), (void)T; (void)d; return NULL)                      \
    X(void, end, (eg__thread * T, eg__timer * s), (void)T; (void)s)                                            \
    X(int, read, (eg__timer * s, bool wait, int64_t *start, int64_t *time), (void)s; (void)wait; (void)start;  \
      (void)time; return -1)                                                                                   \
    X(void, drop, (eg__timer * s), (void)s)

#define GRAPHS(X)                                                                                                    \
    X(eg_status, begin, (eg__thread * T, struct eg__capture * c), (void)T; (void)c; return eg__lost("eg_step_run"))  \
    X(eg_status, end, (struct eg__capture * c), (void)c; return eg__lost("eg_step_run"))                             \
    X(eg_status, launch, (eg__thread * T, struct eg__capture * c), (void)T; (void)c; return eg__lost("eg_step_run")) \
    X(int, left, (struct eg__capture * c, const struct eg__storages *held), (void)c; (void)held; return -1)          \
    X(void, free, (struct eg__capture * c), (void)c)                                                                 \
    X(void, pool_free, (eg_device * d, void *pool), (void)d; (void)pool)

#define DEFINE(kind, result, name, parameters, ...) \
    static result kind##_##name parameters          \
    {                                               \
        __VA_ARGS__;                                \
    }
#define OF_ENGINE(...)  DEFINE(engine, __VA_ARGS__)
#define OF_STREAMS(...) DEFINE(streams, __VA_ARGS__)
#define OF_TIMING(...)  DEFINE(timing, __VA_ARGS__)
#define OF_GRAPHS(...)  DEFINE(graphs, __VA_ARGS__)
FUNCTIONS(OF_ENGINE)
STREAMS(OF_STREAMS)
TIMING(OF_TIMING)
GRAPHS(OF_GRAPHS)

#define IN_ENGINE(result, name, parameters, ...)  .name = engine_##name,
#define IN_STREAMS(result, name, parameters, ...) .name = streams_##name,
#define IN_TIMING(result, name, parameters, ...)  .name = timing_##name,
#define IN_GRAPHS(result, name, parameters, ...)  .name = graphs_##name,
static const eg__streams streams = {STREAMS(IN_STREAMS)};
static const eg__timing timing = {TIMING(IN_TIMING)};
static const eg__graphs graphs = {GRAPHS(IN_GRAPHS)};
static eg__kernel *kernels[EG__MAX_OPS];
static const eg__engine engine = {.kernels = kernels,
                                  .count = count,
                                  .run = run,
                                  FUNCTIONS(IN_ENGINE).streams = &streams,
                                  .timing = &timing,
                                  .graphs = &graphs};

const eg__engine *eg__lost_engine(void)
{
    for (int i = 0; i < EG__MAX_OPS; i++) {
        kernels[i] = kernel;
    }
    return &engine;
}

bool eg__is_lost(const eg_device *d)
{
    return d->engine == &engine;
}
