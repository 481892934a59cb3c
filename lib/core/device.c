/* device.c - the table of devices. */
#include <pthread.h>
#include <stdlib.h>

#include "lib/core/device.h"
#include "lib/core/engines.h"
#include "lib/core/environment.h"
#include "lib/core/subsystem.h"

static eg_device cpu = {.name = "cpu", .engine = &eg__cpu_engine};
eg_device *eg__devices[EG__MAX_DEVICES] = {&cpu};

static struct {
    pthread_mutex_t lock;
    int count; /* of devices in the table */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER, .count = 1};

/* The driver's start may fork, to load a kernel module; its parts of this thread are then in order. */
static _Thread_local bool inside;

static void enter(void)
{
    pthread_mutex_lock(&table.lock);
    inside = true;
}

static void leave(void)
{
    char name[EG__ENGINE_NAME], what[64];
    const double loading = eg__engine_loading(name);
    inside = false;
    pthread_mutex_unlock(&table.lock);
    if (loading > 0) { /* who is told may well ask for devices */
        snprintf(what, sizeof what, "loading libegret-%s", name);
        eg__took("eg_device_open", what, loading);
    }
}

/* A driver's threads stay with the parent, and its state is no use without them. */
static void around_fork(eg__fork when)
{
    if (when == EG__FORK_CHILD) {
        eg__engines_fork();
        for (int i = 1; i < table.count; i++) {
            eg__devices[i]->engine = eg__lost_engine();
        }
    }
    if (!inside) {
        eg__fork_lock(&table.lock, when);
    }
}

/* ---- devices --------------------------------------------------------------------------------- */

eg_device *eg_cpu(void)
{
    return &cpu;
}

int eg_cuda_count(void)
{
    const char *none;
    char why[200];
    enter();
    const eg__engine *e = eg__engine_named("cuda", &none);
    int n = e ? e->count(why, sizeof why) : 0;
    leave();
    return n > 0 ? n : 0;
}

/* A new row of the table. Under the lock. */
static eg_device *add_locked(const char *op, const char *name, const eg__engine *e, int index, int64_t bytes)
{
    if (table.count == EG__MAX_DEVICES) {
        return eg__fail_null(EG_ENODEVICE, op, "there are %d devices already, no more are possible", EG__MAX_DEVICES);
    }
    eg_device *d = eg__malloc(sizeof *d);
    if (!d) {
        return eg__fail_null(EG_ENOMEM, op, "no memory for a device");
    }
    *d = (eg_device){.id = (uint8_t)table.count, .engine = e, .index = index};
    snprintf(d->name, sizeof d->name, "%s", name);
    if (e->open(d, bytes)) {
        free(d);
        return NULL;
    }
    return eg__devices[table.count++] = d;
}

/* What the environment says a device may take; 0: all of it. */
static eg_status most_bytes(const char *op, int64_t *bytes)
{
    const char *text = eg__getenv("EGRET_GPU_MEMORY");
    *bytes = 0;
    return !text || !*text || !eg_parse_bytes(text, bytes)
               ? EG_OK
               : eg__fail(EG_EINVAL, op, "EGRET_GPU_MEMORY is \"%.40s\", not a size such as 15500MB", text);
}

static eg_device *open_locked(const char *op, const char *kind, int index)
{
    const char *none;
    char why[200] = "", name[24];
    const eg__engine *e = eg__engine_named(kind, &none);
    if (!e) {
        return eg__fail_null(EG_ENODEVICE, op, "%s", none);
    }
    int n = e->count(why, sizeof why);
    if (n < 0) {
        return eg__fail_null(EG_ENODEVICE, op, "%s", why);
    }
    snprintf(name, sizeof name, "%s:%d", kind, index);
    for (int i = 1; i < table.count; i++) {
        if (!strcmp(eg__devices[i]->name, name)) {
            return eg__devices[i];
        }
    }
    if (index < 0 || index >= n) {
        return eg__fail_null(EG_ENODEVICE, op, "no device %s: there %s %d", name, n == 1 ? "is" : "are", n);
    }
    int64_t most;
    return most_bytes(op, &most) ? NULL : add_locked(op, name, e, index, most);
}

static eg_device *open_device(const char *op, const char *kind, int index)
{
    enter();
    eg_device *d = open_locked(op, kind, index);
    leave();
    return d;
}

eg_device *eg_cuda(int index)
{
    return open_device("eg_cuda", "cuda", index);
}

eg_device *eg_device_split(eg_device *device, int64_t bytes)
{
    if (!device) {
        return eg__null_argument("eg_device_split", "device"), NULL;
    }
    if (!device->engine->open || bytes < 1) {
        return eg__fail_null(EG_EINVAL, "eg_device_split",
                             "%s with %lld bytes: it must be another device "
                             "than the CPU, and the bytes 1 or more",
                             device->name, (long long)bytes);
    }
    int parts = 1;
    char name[24];
    enter();
    for (int i = 1; i < table.count; i++) {
        const eg_device *d = eg__devices[i];
        parts += d->engine == device->engine && d->index == device->index && strchr(d->name, '/');
    }
    snprintf(name, sizeof name, "%.*s/%d", (int)strcspn(device->name, "/"), device->name, parts);
    eg_device *d = add_locked("eg_device_split", name, device->engine, device->index, bytes);
    leave();
    return d;
}

eg_device *eg_device_open(const char *name)
{
    static const char op[] = "eg_device_open";
    if (!name) {
        return eg__null_argument(op, "name"), NULL;
    }
    if (!strcmp(name, "cpu")) {
        return &cpu;
    }
    const size_t kind = eg__engine_name(name), digits = name[kind] == ':' ? strspn(name + kind + 1, "0123456789") : 0;
    const char *end = name + kind + (name[kind] == ':') + digits;
    if (!kind || *end || digits > 4 || (name[kind] && !digits)) {
        return eg__fail_null(EG_EINVAL, op, "\"%.60s\" is no device: they are cpu, and such as cuda and cuda:1", name);
    }
    char engine[EG__ENGINE_NAME];
    snprintf(engine, sizeof engine, "%.*s", (int)kind, name);
    return open_device(op, engine, digits ? atoi(name + kind + 1) : 0);
}

eg_device *eg_device_of(const eg_tensor *t)
{
    return t ? eg__device(t) : NULL;
}

const char *eg_device_name(const eg_device *device)
{
    return device ? device->name : "none";
}

int eg__default_device(eg__thread *T, const char *op)
{
    if (unlikely(T->device == EG__MAX_DEVICES)) {
        const char *name = eg__getenv("EGRET_DEVICE");
        const eg_device *d = name && *name ? eg_device_open(name) : &cpu;
        if (!d) {
            const eg_error *e = eg_last_error();
            char why[sizeof e->message];
            memcpy(why, e->message, sizeof why);
            return eg__fail(e->code, op, "EGRET_DEVICE: %s", why), -1;
        }
        T->device = d->id;
    }
    return T->device;
}

eg_device *eg_use_device(eg_device *device)
{
    eg__thread *T = eg__thread_get();
    if (!device) {
        return eg__null_argument("eg_use_device", "device"), NULL;
    }
    const eg_error record = T->error;
    int before = eg__default_device(T, "eg_use_device");
    if (before < 0) { /* makers say that EGRET_DEVICE names none; this call leaves it behind */
        T->error = record;
        before = 0;
    }
    T->device = device->id;
    return eg__devices[before];
}

eg_status eg_device_describe(eg_device *device, eg_device_info *info)
{
    if (!device || !info) {
        return eg__null_argument("eg_device_describe", device ? "info" : "device");
    }
    *info = (eg_device_info){.name = ""};
    return device->engine->describe(device, info);
}

eg_status eg_device_synchronize(eg_device *device)
{
    if (!device) {
        return eg__null_argument("eg_device_synchronize", "device");
    }
    return device->engine->synchronize(device);
}

static void thread_end(eg__thread *T)
{
    for (int i = 0; i < table.count; i++) {
        if (T->lane[i].own || T->lane[i].state) {
            eg__devices[i]->engine->thread_end(eg__devices[i], T);
        }
    }
}

static void end(void)
{
    while (table.count > 1 && !eg__is_lost(eg__devices[table.count - 1])) { /* those keep what is the parent's */
        eg_device *d = eg__devices[--table.count];
        eg__devices[table.count] = NULL;
        d->engine->close(d);
        free(d);
    }
}

/* Takes one word off a comma list of debug words: its length n, its bit, 0 if there is no such word. */
static const char *next_word(const char **list, int *n, uint32_t *bit)
{
    const char *word = *list;
    const size_t length = strcspn(word, ",");
    *n = (int)length;
    *bit = eg__debug_bit(word, length);
    *list += length + (word[length] == ',');
    return word;
}

static void set_debug(eg__thread *T, uint32_t mode)
{
    atomic_fetch_and(&T->mode, EG__MODE_PROFILE | EG__MODE_CAPTURE);
    atomic_fetch_or(&T->mode, mode);
    T->kernels = cpu.engine->table(mode);
}

eg_status eg_debug(const char *list)
{
    uint32_t mode = 0, bit;
    int n;
    for (const char *p = list ? list : ""; *p; mode |= bit) {
        const char *word = next_word(&p, &n, &bit);
        if (n && !bit) {
            return eg__fail(EG_EINVAL, "eg_debug", "unknown word \"%.*s\", expected some of %s", n, word,
                            eg__debug_words);
        }
    }
    set_debug(eg__thread_get(), mode);
    return EG_OK;
}

/* The words of EG_DEBUG. Unknown ones are reported once per process. */
static void debug_by_environment(eg__thread *T, const char *list)
{
    static atomic_bool reported;
    const bool first = !atomic_exchange(&reported, true);
    uint32_t mode = 0, bit;
    int n;
    for (const char *p = list; *p; mode |= bit) {
        next_word(&p, &n, &bit);
        bit = n && !bit ? EG__DEBUG_ENV : bit;
    }
    set_debug(T, mode);
    for (const char *p = list; *p && first;) {
        const char *word = next_word(&p, &n, &bit);
        if (n && !bit) {
            eg__log(EG__DEBUG_ENV, "EG_DEBUG", "unknown word \"%.*s\" is ignored, expected some of %s", n, word,
                    eg__debug_words);
        }
    }
}

/* A thread that stands in for others has what is always there. */
static void thread_begin(eg__thread *T)
{
    const char *name = eg__getenv("EGRET_DEVICE"), *words = eg__getenv("EG_DEBUG");
    T->device = name && *name ? EG__MAX_DEVICES : 0;
    T->kernels = cpu.engine->table(T->dead ? EG__DEBUG_REF : 0);
    if (words && *words && !T->dead) {
        debug_by_environment(T, words);
    }
}

EG__SUBSYSTEM_OF_CORE(.order = EG__ORDER_DEVICES, .thread_begin = thread_begin, .thread_end = thread_end,
                      .fork = around_fork, .end = end)

/* ---- memory ---------------------------------------------------------------------------------- */

eg_memory eg_device_memory(eg_device *device)
{
    if (!device) {
        return (eg_memory){0};
    }
    eg_memory m = eg_memory_stats();
    device->engine->memory(device, &m);
    return m;
}

void eg_device_memory_reset_peak(eg_device *device)
{
    if (device) {
        device->engine->reset_peak(device);
    }
}

eg_status eg_device_memory_limit(eg_device *device, int64_t bytes)
{
    if (!device) {
        return eg__null_argument("eg_device_memory_limit", "device");
    }
    if (bytes < 0) {
        return eg__fail(EG_EINVAL, "eg_device_memory_limit", "bytes is %lld, must be 0 or more", (long long)bytes);
    }
    if (eg__is_lost(device)) {
        return eg__lost("eg_device_memory_limit");
    }
    device->engine->limit(device, bytes);
    return EG_OK;
}

eg_status eg_device_memory_trim(eg_device *device)
{
    if (!device) {
        return eg__null_argument("eg_device_memory_trim", "device");
    }
    if (eg__is_lost(device)) {
        return eg__lost("eg_device_memory_trim");
    }
    device->engine->trim(device);
    return EG_OK;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

eg_status eg_parse_bytes(const char *text, int64_t *bytes)
{
    static const char op[] = "eg_parse_bytes";
    static const struct {
        const char *name;
        double size;
    } units[] = {{"", 1},      {"B", 1},        {"kB", 1e3},     {"KB", 1e3},     {"MB", 1e6},    {"GB", 1e9},
                 {"TB", 1e12}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
    if (!text || !bytes) {
        return eg__null_argument(op, text ? "bytes" : "text");
    }
    double number = 0, place = 1; /* digits as they are in every locale */
    const char *at = text;
    for (bool point = false; (*at >= '0' && *at <= '9') || (*at == '.' && at > text && !point); at++) {
        point = point || *at == '.';
        place = point && *at != '.' ? place / 10 : place;
        number = *at == '.' ? number : point ? number + place * (*at - '0') : number * 10 + (*at - '0');
    }
    for (size_t i = 0; at > text && i < EG__COUNT(units); i++) {
        const double v = number * units[i].size;
        if (!strcmp(at, units[i].name) && v >= 1 && v <= 0x1p62) {
            *bytes = (int64_t)v;
            return EG_OK;
        }
    }
    return eg__fail(EG_EINVAL, op, "\"%.40s\" is not a size such as 15500MB or 1.5GiB", text);
}
