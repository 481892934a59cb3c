/* crossing.c - from which size on threads pay: each family on one thread and on all, at rising sizes. */
#include "bench.h"

#include <egret/egret.h>

#include <stdlib.h>

enum { SIZES = 7, SMALLEST = 2048, WIDTH = 64, BURSTS = 15, TURNS = 3, CALLS = 8 };

static const double burst = 2e-3;

/* n numbers; the same as rows; what else the families take. */
static struct inputs {
    eg_tensor *x, *y, *rows, *square, *scale, *shift, *places, *labels;
} in;

#define FAMILY(name, call)       \
    static eg_tensor *name(void) \
    {                            \
        return call;             \
    }
FAMILY(add, eg_add(in.x, in.y))
FAMILY(relu, eg_relu(in.x))
FAMILY(exponential, eg_exp(in.x))
FAMILY(gelu, eg_gelu(in.x))
FAMILY(cast, eg_cast(in.x, EG_BF16))
FAMILY(uniform, eg_uniform(EG_SHAPE(eg_numel(in.x)), 0, 1, EG_F32))
FAMILY(dropout, eg_dropout(in.x, 0.5, true))
FAMILY(concat, eg_concat((eg_tensor *[]){in.x, in.y}, 2, 0))
FAMILY(select_rows, eg_index_select(in.rows, 0, in.places))
FAMILY(transpose, eg_contiguous(eg_transpose(in.rows, 0, 1)))
FAMILY(sum, eg_sum(in.x))
FAMILY(sum_rows, eg_sum(in.rows, .axes = EG_AXES(1)))
FAMILY(sum_columns, eg_sum(in.rows, .axes = EG_AXES(0)))
FAMILY(argmax, eg_argmax(in.rows, .axes = EG_AXES(1)))
FAMILY(softmax, eg_softmax(in.rows, 1))
FAMILY(layer_norm, eg_layer_norm(in.rows, in.scale, in.shift))
FAMILY(cross_entropy, eg_cross_entropy(in.rows, in.labels))
FAMILY(matmul, eg_matmul(in.rows, in.square))

static const struct family {
    const char *name;
    eg_tensor *(*call)(void);
} families[] = {
    {"add", add},
    {"relu", relu},
    {"exp", exponential},
    {"gelu", gelu},
    {"cast", cast},
    {"uniform", uniform},
    {"dropout", dropout},
    {"concat", concat},
    {"index_select", select_rows},
    {"transpose", transpose},
    {"sum", sum},
    {"sum of rows", sum_rows},
    {"sum of columns", sum_columns},
    {"argmax of rows", argmax},
    {"softmax", softmax},
    {"layer_norm", layer_norm},
    {"cross_entropy", cross_entropy},
    {"matmul by 64 x 64", matmul},
};

static void make_inputs(int64_t n)
{
    const int64_t rows = n / WIDTH;
    in.x = eg_normal(EG_SHAPE(n), 0, 1, EG_F32);
    in.y = eg_normal(EG_SHAPE(n), 0, 1, EG_F32);
    in.rows = eg_normal(EG_SHAPE(rows, WIDTH), 0, 1, EG_F32);
    in.square = eg_normal(EG_SHAPE(WIDTH, WIDTH), 0, 1, EG_F32);
    in.scale = eg_ones(EG_SHAPE(WIDTH), EG_F32);
    in.shift = eg_zeros(EG_SHAPE(WIDTH), EG_F32);
    in.places = eg_randint(EG_SHAPE(rows), 0, rows, EG_I64);
    in.labels = eg_randint(EG_SHAPE(rows), 0, WIDTH, EG_I64);
}

/* The median of some bursts, microseconds a call. */
static double measure(eg_tensor *(*call)(void))
{
    double took[BURSTS];
    for (int i = 0; i < BURSTS; i++) {
        int calls = 0;
        const double begin = bench_now();
        double end = begin;
        for (; end - begin < burst; end = bench_now()) {
            EG_SCOPE {
                for (int k = 0; k < CALLS; k++) {
                    call();
                }
            }
            calls += CALLS;
        }
        took[i] = 1e6 * (end - begin) / calls;
    }
    bench_sort(took, BURSTS);
    return took[BURSTS / 2];
}

int bench_crossing(void)
{
    const int all = eg_threads();
    printf("microseconds on one thread > on %d; *: less, -: more by 5 %%\n%-18s", all, "elements");
    for (int64_t i = 0; i < SIZES; i++) {
        printf("%16lld ", (long long)SMALLEST << i);
    }
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        printf("\n%-18s", families[f].name);
        for (int64_t i = 0; i < SIZES; i++) {
            double one[TURNS], more[TURNS];
            EG_SCOPE {
                make_inputs((int64_t)SMALLEST << i);
                for (int turn = 0; turn < TURNS; turn++) {
                    eg_set_threads(1);
                    one[turn] = measure(families[f].call);
                    eg_set_threads(all);
                    more[turn] = measure(families[f].call);
                }
            }
            bench_sort(one, TURNS);
            bench_sort(more, TURNS);
            const double a = one[TURNS / 2], b = more[TURNS / 2];
            printf("%7.2f >%7.2f%c", a, b, b < .95 * a ? '*' : b > 1.05 * a ? '-' : ' ');
            fflush(stdout);
        }
    }
    printf("\n");
    return eg_error_print(stderr);
}
