/* pictures.c - how fast a folder of photos becomes training batches: decoded, a random part of each scaled to
 * 224 x 224, mirrored by chance, normalised, stacked; or by a recipe, such as inception. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <egret/egret.h>

#include "bench.h"

enum { SIDE = 224, BATCH = 32 };

static eg_status prepare(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n, (void)user;
    out[0] = eg_image_decode_crop(eg_data(in[0]), (size_t)eg_numel(in[0]), SIDE, SIDE, .exact = true,
                                  .mean = {.485, .456, .406}, .std = {.229, .224, .225});
    out[1] = in[1];
    *m = 2;
    return out[0] ? EG_OK : eg_last_error()->code;
}

/* user: the recipe's name, behind it a + for slim's slow way. */
static eg_status prepare_by_recipe(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    char name[32];
    size_t length = strcspn(user, "+");
    (void)n;
    snprintf(name, sizeof name, "%.*s", (int)length, (const char *)user);
    out[0] = eg_preprocess_decode(name, eg_data(in[0]), (size_t)eg_numel(in[0]), .side = SIDE, .train = true,
                                  .thorough = ((const char *)user)[length] == '+');
    out[1] = in[1];
    *m = 2;
    return out[0] ? EG_OK : eg_last_error()->code;
}

/* ---- batches ---------------------------------------------------------------------------------------- */

static double processor_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* Passes for about `budget` microseconds, at least one. */
static eg_status measure(eg_dataset *d, double budget)
{
    double start = bench_now(), used = processor_seconds();
    int64_t samples = 0;
    do {
        EG_FOR_EACH(sample, d) {
            samples += eg_size(sample[0], 0);
        }
    } while (eg_dataset_status(d) == EG_OK && bench_now() - start < budget * 1e-6);
    printf("{\"samples\": %lld, \"seconds\": %.4f, \"processor\": %.4f}\n", (long long)samples, bench_now() - start,
           processor_seconds() - used);
    return eg_dataset_status(d);
}

int bench_batches(eg_dataset *d)
{
    char line[256];
    double budget;
    eg_status st = d ? EG_OK : eg_last_error()->code;
    while (!st && fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "run %lf", &budget) == 1) {
            st = measure(d, budget);
        } else {
            printf("{\"library\": \"Egret %s\"}\n", eg_version());
        }
        fflush(stdout);
    }
    eg_dataset_free(d);
    return st ? eg_error_print(stderr) : 0;
}

int bench_pictures(const char *folder, int workers, char *recipe)
{
    eg_dataset *d = eg_dataset_shuffle(eg_image_folder_new(folder), 10000, .seed = 1);
    d = eg_dataset_map(d, recipe ? prepare_by_recipe : prepare, recipe, .workers = workers, .seed = 1);
    return bench_batches(eg_dataset_batch(d, BATCH));
}
