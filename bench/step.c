/* step.c - runs the steps of one model in a process of its own, so that its memory is its own. */
#include "step.h"

#include <egret/profile.h>
#include <egret/step.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench.h"

enum { WARM_UP = 3, WARM_UP_CAPTURED = 6, QUEUED = 8, MOST_STEPS = 10000, MOST_TOTALS = 40 };

static const step_model *const families[] = {step_images, step_generators, step_texts, step_sounds, step_photos};
static double sample[MOST_STEPS];

int64_t step_size(int64_t full, int64_t small)
{
    return bench_smoke ? small : full;
}

eg_tensor *step_random(eg_shape shape)
{
    eg_scope s = eg_scope_push();
    eg_tensor *t = eg_keep(eg_uniform(shape, 0, 1, EG_F32));
    eg_scope_pop(s, NULL);
    return t;
}

eg_tensor *step_integers(eg_shape shape, int64_t n)
{
    eg_scope s = eg_scope_push();
    eg_tensor *t = eg_keep(eg_randint(shape, 0, n, EG_I64));
    eg_scope_pop(s, NULL);
    return t;
}

eg_status step_gradients(eg_module *net, eg_tensor *x, eg_tape tape, eg_tensor *loss)
{
    eg_parameters p = eg_module_parameters(net);
    size_t n = p.tensors ? (size_t)p.count : 0;
    eg_tensor **xs = malloc(2 * (n + 1) * sizeof *xs);
    for (size_t i = 0; xs && i < n; i++) {
        xs[i] = p.tensors[i];
    }
    if (xs && x) {
        xs[n++] = x;
    }
    eg_status st = xs ? eg_tape_gradients(tape, loss, xs, (int)n, xs + n) : EG_ENOMEM;
    free(xs);
    return st;
}

static const step_model *find(const char *name)
{
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        for (const step_model *m = families[f]; m->name; m++) {
            if (!strcmp(m->name, name)) {
                return m;
            }
        }
    }
    return NULL;
}

/* ---- measuring --------------------------------------------------------------------------------- */

/* What is run, and where. */
typedef struct bench {
    const step_model *m;
    training s;
    const step_way *way;
    eg_device *device;
    eg_dtype low;
    eg_step *captured; /* NULL: steps are run as they are */
    eg_tensor *loss;   /* of the latest one, kept; on the device */
} bench;

static eg_status body(void *user, eg_tensor *const *in, int nin, eg_tensor **out, int nout)
{
    (void)in, (void)nin, (void)nout;
    bench *b = user;
    return b->m->run(&b->s, out);
}

/* One step. Its loss stays where it is. */
static eg_status one_step(bench *b)
{
    eg_status st = EG_OK;
    EG_SCOPE {
        eg_tensor *loss = NULL;
        EG_AUTOCAST(b->low) {
            st = b->captured ? eg_step_run(b->captured, NULL, 0, &loss, 1) : body(b, NULL, 0, &loss, 1);
        }
        eg_release(b->loss);
        b->loss = loss ? eg_keep(loss) : NULL;
    }
    return st;
}

/* Runs steps for about `budget` microseconds, at least one; their number, or -1. */
static int measure_here(bench *b, double budget)
{
    double start = bench_now();
    int n = 0;
    while (n < MOST_STEPS && (n == 0 || bench_now() - start < budget * 1e-6)) {
        double before = bench_now();
        if (one_step(b) != EG_OK) {
            return -1;
        }
        sample[n++] = (bench_now() - before) * 1e6;
    }
    return n;
}

/* n steps that are queued at once, an event before each and one behind. */
static eg_status queue_steps(bench *b, eg_event **event, int n, double *taken)
{
    eg_status st = EG_OK;
    for (int i = 0; i < n && !st; i++) {
        st = eg_event_record(event[i]);
        st = st ? st : one_step(b);
    }
    st = st ? st : eg_event_record(event[n]);
    st = st ? st : eg_event_synchronize(event[n]);
    for (int i = 0; i < n && !st; i++) {
        st = eg_event_elapsed(event[i], event[i + 1], &taken[i]);
        taken[i] *= 1e3;
    }
    return st;
}

static int measure_there(bench *b, double budget)
{
    eg_event *event[QUEUED + 1];
    eg_status st = EG_OK;
    const int queued = (int)step_size(QUEUED, 2);
    int made = 0, n = 0;
    while (made <= queued && (event[made] = eg_event_new(b->device))) {
        made++;
    }
    st = made > queued ? EG_OK : eg_last_error()->code;
    double start = bench_now();
    while (!st && n + queued <= MOST_STEPS && (n == 0 || bench_now() - start < budget * 1e-6)) {
        st = queue_steps(b, event, queued, sample + n);
        n += queued;
    }
    while (made) {
        eg_event_free(event[--made]);
    }
    return st ? -1 : n;
}

static int measure(bench *b, double budget)
{
    return b->device == eg_cpu() ? measure_here(b, budget) : measure_there(b, budget);
}

/* ---- answering --------------------------------------------------------------------------------- */

static void answer_failure(void)
{
    const eg_error *e = eg_last_error();
    printf("{\"error\": \"a step failed: %s\", \"no_kernel\": %s}\n", e->code ? e->op : "?",
           e->code == EG_ENOKERNEL ? "true" : "false");
    eg_error_print(stderr);
}

static void answer(bench *b, double budget)
{
    struct rusage use;
    char loss[32];
    int n = measure(b, budget);
    if (n < 0) {
        answer_failure();
        return;
    }
    double number = eg_item(b->loss);
    snprintf(loss, sizeof loss, isfinite(number) ? "%.6g" : "null", number); /* JSON has no other word */
    getrusage(RUSAGE_SELF, &use);
    printf("{\"steps_us\": [");
    for (int i = 0; i < n; i++) {
        printf("%s%.1f", i ? ", " : "", sample[i]);
    }
    printf("], \"loss\": %s, \"peak_kib\": %ld, \"device_mib\": %.1f", loss, use.ru_maxrss,
           (double)eg_device_memory(b->device).peak_bytes / (1 << 20));
    eg_step_info info = eg_step_stats(b->captured);
    if (info.why) {
        printf(", \"variant\": \"not captured: %s: %s\"", info.op, info.why);
    }
    printf("}\n");
}

/* Where the time of one step goes: ops that took longest first. */
static void answer_profile(bench *b)
{
    eg_profile_total totals[MOST_TOTALS];
    eg_profile_begin();
    one_step(b);
    int n = eg_profile_totals(totals, MOST_TOTALS);
    eg_profile_end(NULL);
    printf("[");
    for (int i = 0; i < n && i < MOST_TOTALS; i++) {
        printf("%s{\"op\": \"%s%s\", \"calls\": %lld, \"us\": %.0f, \"device_us\": %.1f}", i ? ", " : "",
               totals[i].name, totals[i].backward ? " (backward)" : "", (long long)totals[i].calls,
               totals[i].seconds * 1e6, totals[i].device_seconds * 1e6);
    }
    printf("]\n");
}

static void drop(training *s)
{
    eg_optim_free(s->optim[0]);
    eg_optim_free(s->optim[1]);
    for (int i = 0; i < STEP_PARTS; i++) {
        eg_module_free(s->net[i]);
        eg_release(s->x[i]);
    }
}

static bool set_way(bench *b)
{
    static const struct {
        const char *name;
        eg_math_mode mode;
        eg_dtype low;
    } all[] = {{"f32", EG_MATH_DEFAULT, EG_F32}, {"tf32", EG_MATH_TF32, EG_F32}, {"bf16", EG_MATH_DEFAULT, EG_BF16}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!strcmp(all[i].name, b->way->precision)) {
            b->low = all[i].low;
            b->device = eg_device_open(b->way->device);
            return eg_use_device(b->device) && eg_set_math_mode(all[i].mode) == EG_OK;
        }
    }
    fprintf(stderr, "egret-bench: --precision is f32, tf32 or bf16\n");
    return false;
}

static void serve(bench *b)
{
    char line[256];
    double budget;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "run %lf", &budget) == 1) {
            answer(b, budget);
        } else if (!strcmp(line, "profile\n")) {
            answer_profile(b);
        } else if (!strcmp(line, "about\n")) {
            printf("{\"library\": \"Egret %s (%s)\", \"threads\": %d, \"captured\": true}\n", eg_version(),
                   eg_cpu_isa(), eg_threads());
        } else {
            printf("{\"error\": \"unknown request\"}\n");
        }
        fflush(stdout);
    }
}

/* ---- several processes ------------------------------------------------------------------------- */

static eg_status join(training *s, eg_comm *comm)
{
    eg_status st = EG_OK;
    for (int i = 0; i < 2 && !st; i++) {
        st = s->optim[i] ? eg_optim_parallel(s->optim[i], comm) : EG_OK;
    }
    return st;
}

int bench_ranks(const char *name, const step_way *way, int steps)
{
    bench b = {.m = find(name), .way = way};
    eg_comm *comm = b.m && set_way(&b) ? eg_comm_mpi_new() : NULL;
    eg_status st = comm ? EG_OK : eg_last_error()->code;
    if (!comm) {
        fprintf(stderr, "egret-bench: no ranks, or no model %s\n", name);
        return st ? eg_error_print(stderr) : 1;
    }
    eg_seed(1);
    b.m->make(&b.s);
    st = eg_last_error()->code;
    st = st ? st : join(&b.s, comm);
    for (int i = -WARM_UP; i < steps && !st; i++) {
        const double before = bench_now();
        st = one_step(&b);
        sample[i < 0 ? 0 : i] = (bench_now() - before) * 1e6;
    }
    if (!st && eg_comm_rank(comm) == 0) {
        printf("{\"steps_us\": [");
        for (int i = 0; i < steps; i++) {
            printf("%s%.1f", i ? ", " : "", sample[i]);
        }
        printf("], \"loss\": %.6g}\n", eg_item(b.loss));
    } else if (st) {
        eg_error_print(stderr);
    }
    eg_release(b.loss);
    drop(&b.s);
    eg_comm_free(comm);
    return st != EG_OK;
}

int bench_step(const char *name, const step_way *way)
{
    bench b = {.m = find(name), .way = way};
    if (!b.m) {
        fprintf(stderr, "egret-bench: no model is called %s\n", name);
        return 1;
    }
    if (!set_way(&b)) {
        return eg_last_error()->code ? eg_error_print(stderr) : 1;
    }
    eg_seed(1);
    b.m->make(&b.s);
    b.captured = way->captured ? eg_step_new(body, &b) : NULL;
    eg_status st = eg_last_error()->code;
    for (int i = 0; i < (b.captured ? WARM_UP_CAPTURED : WARM_UP) && !st; i++) {
        st = one_step(&b);
    }
    if (st == EG_ENOKERNEL) { /* that is an answer */
        answer_failure();
    } else if (st) {
        eg_error_print(stderr);
    } else {
        serve(&b);
    }
    eg_step_free(b.captured);
    eg_release(b.loss);
    drop(&b.s);
    return st && st != EG_ENOKERNEL;
}
