/* step.c - runs the steps of one model in a process of its own, so that its memory is its own. */
#include "step.h"

#include <egret/profile.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench.h"

enum { WARM_UP = 3, MOST_STEPS = 10000, MOST_TOTALS = 40 };

static const step_model *const families[] = {step_images, step_generators, step_texts};
static double sample[MOST_STEPS];

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

/* Runs steps for about `budget` microseconds, at least one; their number, or -1. */
static int measure(const step_model *m, step *s, double budget, double *loss)
{
    double start = bench_now();
    int n = 0;
    while (n < MOST_STEPS && (n == 0 || bench_now() - start < budget * 1e-6)) {
        double before = bench_now();
        eg_status st = EG_OK;
        EG_SCOPE {
            st = m->run(s, loss);
        }
        sample[n++] = (bench_now() - before) * 1e6;
        if (st != EG_OK) {
            return -1;
        }
    }
    return n;
}

static void answer(const step_model *m, step *s, double budget)
{
    struct rusage use;
    double loss = 0;
    int n = measure(m, s, budget, &loss);
    if (n < 0) {
        printf("{\"error\": \"a step failed: %s\"}\n", eg_last_error()->code ? "see stderr" : "?");
        eg_error_print(stderr);
        return;
    }
    getrusage(RUSAGE_SELF, &use);
    printf("{\"steps_us\": [");
    for (int i = 0; i < n; i++) {
        printf("%s%.1f", i ? ", " : "", sample[i]);
    }
    printf("], \"loss\": %.6g, \"peak_kib\": %ld}\n", loss, use.ru_maxrss);
}

/* Where the time of one step goes: ops that took longest first. */
static void answer_profile(const step_model *m, step *s)
{
    eg_profile_total totals[MOST_TOTALS];
    double loss;
    eg_profile_begin();
    measure(m, s, 0, &loss);
    int n = eg_profile_totals(totals, MOST_TOTALS);
    eg_profile_end(NULL);
    printf("[");
    for (int i = 0; i < n && i < MOST_TOTALS; i++) {
        printf("%s{\"op\": \"%s%s\", \"calls\": %lld, \"us\": %.0f}", i ? ", " : "", totals[i].name,
               totals[i].backward ? " (backward)" : "", (long long)totals[i].calls,
               totals[i].seconds * 1e6);
    }
    printf("]\n");
}

static void drop(step *s)
{
    eg_optim_free(s->optim[0]);
    eg_optim_free(s->optim[1]);
    for (int i = 0; i < STEP_PARTS; i++) {
        eg_module_free(s->net[i]);
        eg_release(s->x[i]);
    }
}

int bench_step(const char *name)
{
    const step_model *m = find(name);
    step s = {0};
    char line[256];
    double budget, loss;
    if (!m) {
        fprintf(stderr, "egret-bench: no model is called %s\n", name);
        return 1;
    }
    m->make(&s);
    for (int i = 0; i < WARM_UP && !eg_last_error()->code; i++) {
        measure(m, &s, 0, &loss);
    }
    int status = eg_last_error()->code ? 1 : 0;
    eg_error_print(stderr);
    while (!status && fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "run %lf", &budget) == 1) {
            answer(m, &s, budget);
        } else if (!strcmp(line, "profile\n")) {
            answer_profile(m, &s);
        } else if (!strcmp(line, "about\n")) {
            printf("{\"library\": \"Egret %s (%s)\", \"threads\": %d}\n", eg_version(), eg_cpu_isa(),
                   eg_threads());
        } else {
            printf("{\"error\": \"unknown request\"}\n");
        }
        fflush(stdout);
    }
    drop(&s);
    return status;
}
