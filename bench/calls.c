/* calls.c - what single calls on tiny tensors cost, for lua.py, which sets it against the same calls from Lua. */
#include "bench.h"

#include <egret/egret.h>

#include <string.h>
#include <time.h>

enum { PER_SCOPE = 100 };

typedef struct tiny {
    eg_tensor *a, *b, *image, *kernel;
} tiny;

static eg_tensor *add(const tiny *t)
{
    return eg_add(t->a, t->b);
}

static eg_tensor *relu(const tiny *t)
{
    return eg_relu(t->a);
}

static eg_tensor *sum(const tiny *t)
{
    return eg_sum(t->a, .axes = EG_AXES(0));
}

static eg_tensor *conv2d(const tiny *t)
{
    return eg_conv2d(t->image, t->kernel, NULL, .stride = 2, .padding = EG_SAME);
}

static const struct {
    const char *name;
    eg_tensor *(*call)(const tiny *t);
} calls[] = {{"add", add}, {"plus", add}, {"relu", relu}, {"sum", sum}, {"conv2d", conv2d}};

/* Seconds of the processor for so many calls, or -1. */
static double seconds_of(eg_tensor *(*call)(const tiny *t), const tiny *t, long count)
{
    clock_t start = clock();
    eg_tensor *y = t->a;
    for (long done = 0; done < count && y; done += PER_SCOPE) {
        EG_SCOPE {
            for (int i = 0; i < PER_SCOPE; i++) {
                y = call(t);
            }
        }
    }
    return y ? (double)(clock() - start) / CLOCKS_PER_SEC : -1;
}

static void answer(const char *name, long count, const tiny *t)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (!strcmp(calls[i].name, name)) {
            printf("{\"seconds\": %.9f}\n", seconds_of(calls[i].call, t, count));
            return;
        }
    }
    printf("{\"error\": \"no such call\"}\n");
}

int bench_calls(void)
{
    char line[256], name[BENCH_NAME];
    long count;
    eg_scope scope = eg_scope_push();
    const tiny t = {.a = eg_ones(EG_SHAPE(4), EG_F32),
                    .b = eg_ones(EG_SHAPE(4), EG_F32),
                    .image = eg_ones(EG_SHAPE(1, 1, 4, 4), EG_F32),
                    .kernel = eg_ones(EG_SHAPE(1, 1, 3, 3), EG_F32)};
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "run %63s %ld", name, &count) == 2) {
            answer(name, count, &t);
        } else {
            printf("{\"error\": \"unknown request\"}\n");
        }
        fflush(stdout);
    }
    eg_scope_pop(scope, NULL);
    return eg_last_error()->code ? eg_error_print(stderr) : 0;
}
