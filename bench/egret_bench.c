/* egret_bench.c - the benchmarks' C side.
 *
 *   egret-bench overhead [--json FILE]      smallest ops, start, memory ("-" is stdout)
 *   egret-bench crossing                    from which size on threads pay
 *   egret-bench peaks                       what the machine can do
 *   egret-bench list [--ops FILE]           the cases and whether they can run
 *   egret-bench run NAME... [--ops FILE]    microseconds of single cases
 *   egret-bench serve [--ops FILE]          answers compare.py (the protocol stands there)
 *   egret-bench calls                       the same for single calls on tiny tensors, of lua.py
 *   egret-bench step MODEL                  the same for whole training steps of a model
 *   egret-bench ranks MODEL STEPS           so many of them by all processes of mpirun
 *   egret-bench pictures FOLDER WORKERS [RECIPE]   the same for photos made ready for training
 *   egret-bench sounds FOLDER WORKERS   the same for sounds
 *   egret-bench graph FOLDER NAME           the same for a net as an ONNX model
 *
 * Common: --threads N; for list, run and serve also --device NAME (cpu, cuda, cuda:1, ...), where inputs are made
 * and ops run, and --smoke 1, which cuts all sizes to a few; so does step, which
 * has --precision f32|tf32|bf16 and --captured 1 too. */
#include "bench.h"
#include "step.h"

#include <egret/egret.h>

#include <stdlib.h>
#include <string.h>

static bench_case cases[BENCH_CASES];

typedef struct arguments {
    const char *verb, *ops, *json;
    step_way way;
    char **names;
    int threads, name_count;
} arguments;

static int usage(void)
{
    fputs("usage: egret-bench overhead [--json FILE] | crossing | peaks | list | run NAME... | serve | calls |\n"
          "       step MODEL | ranks MODEL STEPS | pictures FOLDER WORKERS [RECIPE] | sounds FOLDER WORKERS | graph "
          "FOLDER NAME |\n"
          "       texts TOKENIZER TEXT\n"
          "       [--ops FILE] [--threads N] [--device NAME] [--precision NAME] [--captured 1] [--smoke 1]\n",
          stderr);
    return 2;
}

static bool parse(int argc, char **argv, arguments *a)
{
    *a = (arguments){.ops = "bench/ops.txt", .way = {"cpu", "f32", false}, .names = argv};
    for (int i = 1; i < argc; i++) {
        bool option = !strncmp(argv[i], "--", 2);
        if (option && i + 1 == argc) {
            return false;
        }
        if (!option && !a->verb) {
            a->verb = argv[i];
        } else if (!option) {
            a->names[a->name_count++] = argv[i];
        } else if (!strcmp(argv[i], "--ops")) {
            a->ops = argv[++i];
        } else if (!strcmp(argv[i], "--json")) {
            a->json = argv[++i];
        } else if (!strcmp(argv[i], "--threads")) {
            a->threads = atoi(argv[++i]);
        } else if (!strcmp(argv[i], "--device")) {
            a->way.device = argv[++i];
        } else if (!strcmp(argv[i], "--captured")) {
            a->way.captured = atoi(argv[++i]);
        } else if (!strcmp(argv[i], "--precision")) {
            a->way.precision = argv[++i];
        } else if (!strcmp(argv[i], "--smoke")) {
            bench_smoke = atoi(argv[++i]);
        } else {
            return false;
        }
    }
    return a->verb != NULL;
}

static int overhead(const arguments *a, const char *self)
{
    FILE *out = a->json && strcmp(a->json, "-") ? fopen(a->json, "w") : stdout;
    if (!out) {
        perror(a->json);
        return 1;
    }
    int failed = bench_overhead(out, self);
    if (out != stdout && fclose(out)) {
        perror(a->json);
        return 1;
    }
    return failed;
}

int main(int argc, char **argv)
{
    arguments a;
    if (argc == 2 && !strcmp(argv[1], "hello")) {
        return bench_hello();
    }
    char *self = argv[0];
    if (!parse(argc, argv, &a)) {
        return usage();
    }
    if (a.threads && eg_set_threads(a.threads) != EG_OK) {
        return eg_error_print(stderr);
    }
    if (!strcmp(a.verb, "overhead")) {
        return overhead(&a, self);
    }
    if (!strcmp(a.verb, "crossing")) {
        return bench_crossing();
    }
    if (!strcmp(a.verb, "peaks")) {
        bench_peaks(stdout);
        return 0;
    }
    if (!strcmp(a.verb, "calls")) {
        return bench_calls();
    }
    if (!strcmp(a.verb, "pictures")) {
        return a.name_count == 2 || a.name_count == 3
                   ? bench_pictures(a.names[0], atoi(a.names[1]), a.name_count == 3 ? a.names[2] : NULL)
                   : usage();
    }
    if (!strcmp(a.verb, "sounds")) {
        return a.name_count == 2 ? bench_sounds(a.names[0], atoi(a.names[1])) : usage();
    }
    if (!strcmp(a.verb, "texts")) {
        return a.name_count == 2 ? bench_texts(a.names[0], a.names[1]) : usage();
    }
    if (!strcmp(a.verb, "graph")) {
        return a.name_count == 2 ? bench_graph(a.names[0], a.names[1]) : usage();
    }
    if (!strcmp(a.verb, "step")) {
        return a.name_count == 1 ? bench_step(a.names[0], &a.way) : usage();
    }
    if (!strcmp(a.verb, "ranks")) {
        const int steps = a.name_count == 2 ? atoi(a.names[1]) : 0;
        return steps > 0 && steps <= 10000 ? bench_ranks(a.names[0], &a.way, steps) : usage();
    }
    int count = bench_read_cases(a.ops, cases);
    if (count < 0) {
        return 1;
    }
    if (!eg_use_device(eg_device_open(a.way.device))) {
        return eg_error_print(stderr);
    }
    if (!strcmp(a.verb, "list")) {
        return bench_list(cases, count);
    }
    if (!strcmp(a.verb, "run") && a.name_count) {
        return bench_run(cases, count, a.names, a.name_count);
    }
    return strcmp(a.verb, "serve") ? usage() : bench_serve(cases, count);
}
