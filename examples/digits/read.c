/* read.c - digits-read: reads digits with a network that digits has trained. */
#include <stdlib.h>

#include <egret/run/flags.h>

#include "net.h"
#include "source.h"
#include "results.h"

static void print(const results *r)
{
    for (int i = 0; i < r->first_count; i++) {
        const result *d = &r->first[i];
        printf("%d%s", d->guess, d->guess == d->label ? " " : "!");
        if (i % 24 == 23 || i == r->first_count - 1) {
            printf("\n");
        }
    }
    printf("%lld of %lld read right (%.2f %%); the first are above, a ! marks a wrong one\n", (long long)r->right,
           (long long)r->seen, results_accuracy(r));
}

static int run(const char *model, const char *data, int64_t count, int64_t seed, const char *picture)
{
    eg_module *net = digits_net();
    eg_dataset *digits =
        eg_dataset_batch(eg_dataset_take(digits_source(data, EG_TEST, (uint64_t)seed, count), count), 100);
    results *r = malloc(sizeof *r);
    eg_status st = r ? EG_OK : eg_fail(EG_ENOMEM, "digits-read", "out of memory");
    st = digits ? st : eg_last_error()->code;
    st = st ? st : eg_module_load(net, model);
    st = st ? st : results_collect(r, net, digits, eg_cpu());
    if (!st) {
        print(r);
        st = picture ? results_grid(r, picture) : EG_OK;
    }
    free(r);
    eg_dataset_free(digits);
    eg_module_free(net);
    return st ? eg_error_print(stderr) : 0;
}

int main(int argc, char **argv)
{
    const char *model, *data, *picture;
    int64_t count, seed;
    const eg_flag table[] = {
        EG_FLAG_TEXT("model", &model, "egret-out/digits/digits.safetensors", "FILE", "what digits has saved"),
        EG_FLAG_TEXT("data", &data, NULL, "DIR", "folder with MNIST's test files; without it digits are drawn"),
        EG_FLAG_INTEGER("count", &count, "1000", 1, 10000000, "how many digits to read"),
        EG_FLAG_INTEGER("seed", &seed, "1000", 0, 1000000000, "of the drawing"),
        EG_FLAG_TEXT("picture", &picture, NULL, "FILE", "a PNG of the first digits and of the wrong ones"),
    };
    eg_flags line = {.program = "digits-read",
                     .about = "Reads digits with a network that digits has trained.",
                     .table = table,
                     .count = EG_FLAG_COUNT(table)};
    int status;
    if (eg_flags_parse(&line, argc, argv, &status)) {
        status = run(model, data, count, seed, picture);
        eg_flags_free(&line);
    }
    return status;
}
