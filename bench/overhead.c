/* overhead.c - what the smallest things cost: ops on one element, a start, idle memory; and what a
 * training step asks of the system. */
#define _GNU_SOURCE
#include "bench.h"

#include <egret/egret.h>

#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { ROUNDS = 25, STARTS = 25, ADDS = 100 };

typedef bool (*body_fn)(eg_tensor *a, eg_tensor *b);

static bool add_untaped(eg_tensor *a, eg_tensor *b)
{
    eg_scope scope = eg_scope_push();
    eg_tensor *y = a;
    for (int i = 0; i < ADDS; i++) {
        y = eg_add(a, b);
    }
    eg_scope_pop(scope, NULL);
    return y != NULL;
}

static bool add_taped(eg_tensor *a, eg_tensor *b)
{
    eg_scope scope = eg_scope_push();
    eg_tensor *y = a;
    eg_tape_open();
    for (int i = 0; i < ADDS; i++) {
        y = eg_add(a, b);
    }
    eg_scope_pop(scope, NULL);
    return y != NULL;
}

static bool there_and_back(eg_tensor *g, eg_tensor *b)
{
    eg_scope scope = eg_scope_push();
    eg_tape tape = eg_tape_open();
    eg_tensor *dg = NULL;
    eg_status status = eg_tape_gradients(tape, eg_sum(eg_mul(eg_add(g, b), g)), &g, 1, &dg);
    eg_scope_pop(scope, NULL);
    return status == EG_OK;
}

/* The least nanoseconds of one of `per` operations in `body`, over ROUNDS rounds of 2 ms. */
static double least_ns(body_fn body, eg_tensor *a, eg_tensor *b, int per)
{
    double best = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t calls = 0;
        double start = bench_now(), until = start + 2e-3, end;
        do {
            for (int i = 0; i < 16; i++, calls++) {
                if (!body(a, b)) {
                    return -1;
                }
            }
            end = bench_now();
        } while (end < until);
        double one = (end - start) * 1e9 / (double)calls / per;
        best = one < best ? one : best;
    }
    return best;
}

int bench_hello(void)
{
    eg_scope scope = eg_scope_push();
    eg_tensor *x = eg_ones(EG_SHAPE(2, 3), EG_F32);
    double sum = eg_item(eg_sum(eg_add(x, x)));
    eg_scope_pop(scope, NULL);
    char line[256];
    long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) {
        sscanf(line, "VmHWM: %ld", &kib);
    }
    if (status) {
        fclose(status);
    }
    printf("%ld\n", kib);
    return sum == 12 ? 0 : 1;
}

/* Starts `self hello`, waits for its end; false if it cannot be started or fails. */
static bool start_once(const char *self, double *seconds, double *mib)
{
    char *arguments[] = {(char *)self, "hello", NULL}, text[32] = "";
    int ends[2], status = -1;
    pid_t child;
    posix_spawn_file_actions_t actions;
    if (pipe(ends) != 0) {
        return false;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    double start = bench_now();
    bool started = posix_spawn(&child, self, &actions, NULL, arguments, environ) == 0;
    close(ends[1]);
    bool ended = started && waitpid(child, &status, 0) == child;
    *seconds = bench_now() - start;
    bool read_it = ended && read(ends[0], text, sizeof text - 1) > 0;
    close(ends[0]);
    posix_spawn_file_actions_destroy(&actions);
    *mib = (double)strtol(text, NULL, 10) / 1024;
    return read_it && status == 0;
}

static int start_cost(const char *self, double *ms, double *mib)
{
    *ms = 1e9;
    for (int i = 0; i < STARTS; i++) {
        double seconds;
        if (!start_once(self, &seconds, mib)) {
            fprintf(stderr, "%s hello did not run\n", self);
            return 1;
        }
        *ms = seconds * 1e3 < *ms ? seconds * 1e3 : *ms;
    }
    return 0;
}

static eg_module *small_net(void)
{
    return eg_sequential_new(eg_conv2d_new(1, 16, .kernel = 3, .padding = EG_SAME), eg_batch_norm_new(16),
                             eg_activation_new(eg_relu), eg_max_pool2d_new(.kernel = 2),
                             eg_conv2d_new(16, 32, .kernel = 3, .padding = EG_SAME), eg_activation_new(eg_relu),
                             eg_max_pool2d_new(.kernel = 2), eg_flatten_new(), eg_dropout_new(0.5),
                             eg_linear_new(32 * 7 * 7, 10));
}

/* Page faults of a step of a small convolutional net and Adam, and memory asked of the system, after
 * WARM steps. */
static bool step_cost(double *faults, double *calls)
{
    enum { WARM = 20, STEPS = 50 };
    struct rusage before, after;
    eg_memory had = {0};
    eg_scope scope = eg_scope_push();
    eg_module *net = small_net();
    eg_optim *adam = net ? eg_adam_new(eg_module_parameters(net)) : NULL;
    eg_tensor *x = eg_normal(EG_SHAPE(64, 1, 28, 28), 0, 1, EG_F32);
    eg_tensor *labels = eg_randint(EG_SHAPE(64), 0, 10, EG_I64);
    bool ok = adam && x && labels;
    for (int i = 0; ok && i < WARM + STEPS; i++) {
        if (i == WARM) {
            had = eg_memory_stats();
            getrusage(RUSAGE_SELF, &before);
        }
        eg_scope step = eg_scope_push();
        eg_tape tape = eg_tape_open();
        eg_tensor *loss = eg_cross_entropy(eg_module_forward(net, x), labels);
        ok = eg_optim_minimize(adam, tape, loss) == EG_OK;
        eg_scope_pop(step, NULL);
    }
    getrusage(RUSAGE_SELF, &after);
    *faults = ok ? (double)(after.ru_minflt - before.ru_minflt) / STEPS : 0;
    *calls = (double)(eg_memory_stats().system_calls - had.system_calls) / STEPS;
    eg_optim_free(adam);
    eg_module_free(net);
    eg_scope_pop(scope, NULL);
    return ok;
}

int bench_overhead(FILE *out, const char *self)
{
    double ms, mib, faults, calls;
    if (start_cost(self, &ms, &mib)) {
        return 1;
    }
    eg_scope scope = eg_scope_push();
    eg_tensor *a = eg_ones(EG_SHAPE(1), EG_F32), *b = eg_full(EG_SHAPE(1), 2, EG_F32);
    eg_tensor *g = eg_parameter(eg_ones(EG_SHAPE(1), EG_F32));
    double untaped = least_ns(add_untaped, a, b, ADDS), taped = least_ns(add_taped, g, b, ADDS);
    double backward = least_ns(there_and_back, g, b, 1);
    eg_release(g);
    eg_scope_pop(scope, NULL);
    if (untaped < 0 || taped < 0 || backward < 0 || !step_cost(&faults, &calls)) {
        eg_error_print(stderr);
        return 1;
    }
    fprintf(out,
            "{\"add_ns\": %.1f, \"add_taped_ns\": %.1f, \"backward_ns\": %.1f, \"start_ms\": %.2f, "
            "\"rss_mib\": %.1f, \"step_page_faults\": %.1f, \"step_system_calls\": %.1f}\n",
            untaped, taped, backward, ms, mib, faults, calls);
    return 0;
}
