/* reach.c - a program that uses every library of Egret and asks for every module and for libraries of others.
 * With the argument "static" it expects that none can be loaded: it is linked statically. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <egret/draw.h>
#include <egret/egret.h>
#include <egret/models.h>
#include <egret/run.h>

static bool is_static;

/* Returns true if something was found, or if an error message gives the reason. */
static bool found_or_refused(bool found, const char *name)
{
    const eg_error *e = eg_last_error();
    const bool refused = e->code && e->message[0] && (!is_static || strstr(e->message, "statically linked"));
    if (!found && !refused) {
        printf("%s: %s: %s\n", name, e->op, e->message);
    }
    eg_clear_error();
    return is_static ? !found && refused : found || refused;
}

static bool multiplies(void)
{
    eg_tensor *a = eg_ones(EG_SHAPE(512, 512), EG_F32);
    eg_tensor *y = eg_matmul(a, a);
    return y && eg_get(y, 5) == 512 && eg_item(eg_min(y)) == 512;
}

static bool convolves(void)
{
    eg_tensor *y = eg_conv2d(eg_ones(EG_SHAPE(8, 64, 32, 32), EG_F32), eg_ones(EG_SHAPE(64, 64, 3, 3), EG_F32), NULL);
    return y && eg_item(eg_min(y)) == 64 * 9;
}

static bool differentiates(void)
{
    eg_tensor *x = eg_ones(EG_SHAPE(256, 256), EG_F32), *dx;
    eg_tape tape = eg_tape_open();
    return !eg_tape_watch(tape, x) && !eg_tape_gradients(tape, eg_sum(eg_matmul(x, x)), &x, 1, &dx) &&
           eg_get(dx, 0) == 512;
}

static bool asks_for_modules(void)
{
    static const char *const names[] = {"dnnl", "cuda", "mpi", "none"};
    bool ok = true;
    for (int i = 0; i < 4; i++) {
        ok = found_or_refused(eg_find_module(names[i]) == EG_OK, names[i]) && ok;
    }
    return found_or_refused(eg_cuda(0) != NULL, "eg_cuda") && ok;
}

/* One process alone needs no MPI. */
static bool asks_for_processes(void)
{
    eg_comm *comm = eg_comm_mpi_new();
    const bool ok = comm ? eg_comm_size(comm) == 1 : found_or_refused(false, "eg_comm_mpi_new");
    eg_comm_free(comm);
    return ok;
}

/* Of a build that lacks the library there is another error, so its message is not looked at. */
static bool encodes(void)
{
    eg_tensor *image = eg_zeros(EG_SHAPE(3, 4, 4), EG_U8);
    const bool made = eg_png_encode(image) && eg_jpeg_encode(image);
    const eg_status code = eg_last_error()->code;
    eg_clear_error();
    return is_static ? !made && code == EG_ENOKERNEL : made || code == EG_ENOKERNEL;
}

static bool has_models(void)
{
    eg_module *m = eg_bert_new(EG_BERT_TINY), *net = eg_model_new("lenet", .classes = 3);
    const bool ok = m && net;
    eg_module_free(m);
    eg_module_free(net);
    return ok;
}

static bool reads_texts(void)
{
    eg_tensor *words = eg_text_words(eg_text("Ab b"));
    const eg_status code = eg_last_error()->code;
    eg_clear_error();
    return words || code == EG_ENOKERNEL;
}

static bool has_flags_and_pictures(void)
{
    int64_t n = 0;
    int status = 0;
    const eg_flag table[] = {EG_FLAG_INTEGER("n", &n, "1", 1, 9, "a number")};
    eg_flags line = {.program = "reach", .about = "Uses every library.", .table = table, .count = 1};
    char *words[] = {"reach", "--n", "5", NULL};
    const bool ok = eg_flags_parse(&line, 3, words, &status) && n == 5;
    eg_flags_free(&line);
    return ok && eg_draw_grid(eg_zeros(EG_SHAPE(2, 1, 4, 4), EG_F32));
}

int main(int argc, char **argv)
{
    const struct {
        const char *what;
        bool (*holds)(void);
    } cases[] = {{"a product", multiplies},
                 {"a convolution", convolves},
                 {"gradients", differentiates},
                 {"modules", asks_for_modules},
                 {"processes over MPI", asks_for_processes},
                 {"pictures in files", encodes},
                 {"models", has_models},
                 {"texts", reads_texts},
                 {"flags and drawings", has_flags_and_pictures}};
    int passed = 0, n = sizeof cases / sizeof cases[0];
    is_static = argc > 1 && strcmp(argv[1], "static") == 0;
    for (int i = 0; i < n; i++) {
        EG_SCOPE {
            const bool holds = cases[i].holds();
            passed += holds;
            if (!holds) {
                printf("FAIL %s\n", cases[i].what);
                eg_error_print(stdout);
                eg_clear_error();
            }
        }
    }
    printf("%d passed, %d failed, 0 skipped\n", passed, n - passed);
    return passed < n;
}
