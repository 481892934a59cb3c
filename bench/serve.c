/* serve.c - prepares, measures and drops cases. */
#include "work.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 20000 };

/* Microseconds per call, and of the host alone while a device computes. */
static double sample[SAMPLES], host_sample[SAMPLES];
static eg_dtype dtype; /* of the case being prepared */
static const work_op *const families[] = {work_basic, work_layers, work_train};

/* ---- what the families use ------------------------------------------------------------------ */

eg_tensor *work_random(eg_shape shape, double low, double high)
{
    eg_scope scope = eg_scope_push();
    eg_device *there = eg_use_device(eg_cpu());
    eg_tensor *t = eg_empty(shape, EG_F32);
    float *values = t ? eg_data_mut(t) : NULL;
    uint32_t state = 12345;
    for (int64_t i = 0; values && i < eg_numel(t); i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)(low + (high - low) * (state >> 8) * 0x1p-24);
    }
    eg_use_device(there);
    return eg_scope_pop(scope, values ? eg_cast(eg_to(t, there), dtype) : NULL);
}

eg_tensor *work_indices(int64_t count, int64_t below)
{
    eg_dtype kept = dtype;
    dtype = EG_F32;
    eg_tensor *t = eg_cast(work_random(EG_SHAPE(count), 0, (double)below), EG_I64);
    dtype = kept;
    return t;
}

int64_t work_done(eg_scope scope, eg_tensor *y)
{
    int64_t made = y ? eg_numel(y) : -1;
    eg_scope_pop(scope, NULL);
    return made;
}

bool work_watch(work *w, int wanted)
{
    w->tape = eg_tape_open(.persistent = true);
    w->wanted = wanted;
    for (int i = 0; i < wanted; i++) {
        if (eg_tape_watch(w->tape, w->x[i]) != EG_OK) {
            return false;
        }
    }
    return true;
}

static int64_t step_walk(work *w)
{
    eg_scope scope = eg_scope_push();
    eg_tensor *out[WORK_TENSORS];
    int64_t made = 0;
    eg_status status = eg_tape_gradients(w->tape, w->y, w->x, w->wanted, out, .dy = w->dy);
    for (int i = 0; status == EG_OK && i < w->wanted; i++) {
        made += eg_numel(out[i]);
    }
    eg_scope_pop(scope, NULL);
    return status == EG_OK ? made : -1;
}

bool work_walk(work *w, eg_tensor *y)
{
    w->y = y;
    w->dy = y ? work_random(eg_shape_of(y), -0.5, 0.5) : NULL;
    if (y && eg_is_channels_last(y) && !eg_is_contiguous(y)) {
        w->dy = eg_channels_last(w->dy);
    }
    w->step = step_walk;
    return w->dy != NULL;
}

/* ---- measuring ------------------------------------------------------------------------------ */

/* Where this thread computes. */
static eg_device *where(void)
{
    eg_device *d = eg_use_device(eg_cpu());
    eg_use_device(d);
    return d;
}

static void drop(work *w)
{
    if (w->c) {
        eg_optim_free(w->optim);
        eg_scope_pop(w->scope, NULL);
        w->c = NULL;
        if (where() != eg_cpu()) { /* others use the card too */
            eg_device_memory_trim(where());
        }
    }
}

static const char *failure(void)
{
    const char *words = eg_last_error()->message;
    return words[0] ? words : "no such case for Egret";
}

/* NULL, or why the case cannot run. */
static const char *prepare(work *w, const bench_case *c)
{
    make_fn make = NULL;
    drop(w);
    eg_clear_error();
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        for (const work_op *op = families[f]; op->name; op++) {
            make = strcmp(op->name, c->op) ? make : op->make;
        }
    }
    *w = (work){.c = c, .scope = eg_scope_push()};
    dtype = bench_is(c, "dtype", "bf16") ? EG_BF16 : EG_F32;
    eg_set_math_mode(bench_is(c, "math", "tf32") ? EG_MATH_TF32 : EG_MATH_DEFAULT);
    if (!make || !make(w) || !w->step || w->step(w) < 0 || w->step(w) < 0 || eg_device_synchronize(where()) != EG_OK) {
        const char *words = failure();
        drop(w);
        return words;
    }
    return NULL;
}

/* Microseconds per call, rising, in `sample`; their number, or -1 after a failure. Samples of at
 * least 20 us, at least 3, for about `budget` microseconds. */
static int measure(work *w, double budget)
{
    double start = bench_now();
    if (w->step(w) < 0) {
        return -1;
    }
    double once = bench_now() - start;
    int batch = once < 20e-6 ? (int)(20e-6 / (once > 1e-8 ? once : 1e-8)) + 1 : 1, n = 0;
    for (start = bench_now(); n < SAMPLES && (n < 3 || bench_now() - start < budget * 1e-6); n++) {
        double before = bench_now();
        for (int i = 0; i < batch; i++) {
            if (w->step(w) < 0) {
                return -1;
            }
        }
        sample[n] = (bench_now() - before) / batch * 1e6;
    }
    bench_sort(sample, n);
    return n;
}

/* A sample on a CUDA device: calls between two events, queued at once and then waited for. */
static bool queued(work *w, eg_event *from, eg_event *to, int calls, double *us, double *host_us)
{
    double ms = 0, before = bench_now();
    bool ok = eg_event_record(from) == EG_OK;
    for (int i = 0; ok && i < calls; i++) {
        ok = w->step(w) >= 0;
    }
    *host_us = (bench_now() - before) / calls * 1e6;
    ok = ok && !eg_event_record(to) && !eg_event_synchronize(to) && !eg_event_elapsed(from, to, &ms);
    *us = ms / calls * 1e3;
    return ok;
}

/* As measure, there: samples of about 2 ms, of at most as many calls as fit into the queue of a device. */
static int measure_queued(work *w, double budget)
{
    enum { MOST_CALLS = 200 };
    eg_event *from = eg_event_new(where()), *to = eg_event_new(where());
    double once, host;
    bool ok = from && to && queued(w, from, to, 3, &once, &host);
    int n = 0, calls = !ok ? 1 : once * MOST_CALLS < 2e3 ? MOST_CALLS : (int)(2e3 / once) + 1;
    double start = bench_now();
    for (; ok && n < SAMPLES && (n < 3 || bench_now() - start < budget * 1e-6); n++) {
        ok = queued(w, from, to, calls, &sample[n], &host_sample[n]);
    }
    eg_event_free(from);
    eg_event_free(to);
    bench_sort(sample, n);
    bench_sort(host_sample, n);
    return ok ? n : -1;
}

static int measure_there(work *w, double budget)
{
    return where() == eg_cpu() ? measure(w, budget) : measure_queued(w, budget);
}

static const bench_case *find(const bench_case *cases, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if (!strcmp(cases[i].name, name)) {
            return &cases[i];
        }
    }
    return NULL;
}

/* A JSON string: the error words hold shapes and names, never control characters. */
static void print_error(const char *words)
{
    printf("{\"no_kernel\": %s, \"error\": \"", eg_last_error()->code == EG_ENOKERNEL ? "true" : "false");
    for (; *words; words++) {
        if (*words == '"' || *words == '\\') {
            putchar('\\');
        }
        putchar(*words);
    }
    fputs("\"}\n", stdout);
}

static void answer_run(work *w, const bench_case *c, double budget)
{
    const char *words = !c ? "no such case" : w->c == c ? NULL : prepare(w, c);
    int n = words ? 0 : measure_there(w, budget);
    if (words || n < 0) {
        print_error(words ? words : failure());
        return;
    }
    printf("{\"min_us\": %.3f, \"median_us\": %.3f, \"host_us\": %.3f, \"calls\": %d, "
           "\"elements\": %lld}\n",
           sample[0], sample[n / 2], where() == eg_cpu() ? sample[n / 2] : host_sample[n / 2], n,
           (long long)w->step(w));
}

static void about(void)
{
    eg_device_info i = {.major = 0};
    eg_device_describe(where(), &i);
    printf("{\"library\": \"Egret %s (%s)\", \"threads\": %d, \"device\": \"%s\", \"capability\": "
           "\"%d.%d\", \"processors\": %d, \"memory_bytes\": %lld, \"driver\": %d, \"runtime\": %d}\n",
           eg_version(), eg_cpu_isa(), eg_threads(), i.name, i.major, i.minor, i.processors, (long long)i.memory_bytes,
           i.driver, i.runtime);
}

int bench_serve(const bench_case *cases, int count)
{
    work w = {0};
    char line[256], name[BENCH_NAME];
    double budget;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "run %63s %lf", name, &budget) == 2) {
            answer_run(&w, find(cases, count, name), budget);
        } else if (!strcmp(line, "peaks\n")) {
            drop(&w);
            bench_peaks(stdout);
        } else if (!strcmp(line, "about\n")) {
            about();
        } else {
            print_error("unknown request");
        }
        fflush(stdout);
    }
    drop(&w);
    return 0;
}

int bench_list(const bench_case *cases, int count)
{
    work w = {0};
    int missing = 0;
    for (int i = 0; i < count; i++) {
        const char *words = prepare(&w, &cases[i]);
        printf("%-40s %s\n", cases[i].name, words ? words : "ready");
        missing += words != NULL;
    }
    drop(&w);
    printf("%d cases, %d cannot run\n", count, missing);
    return missing != 0;
}

int bench_run(const bench_case *cases, int count, char **names, int name_count)
{
    work w = {0};
    int failed = 0;
    for (int i = 0; i < name_count; i++) {
        const bench_case *c = find(cases, count, names[i]);
        const char *words = c ? prepare(&w, c) : "no such case";
        int n = words ? -1 : measure_there(&w, 300e3);
        if (n < 0) {
            fprintf(stderr, "%s: %s\n", names[i], words ? words : failure());
            failed = 1;
        } else {
            printf("%-40s least %.2f us, median %.2f us, %d samples\n", names[i], sample[0], sample[n / 2], n);
        }
    }
    drop(&w);
    return failed;
}
