/* sounds.c - how fast a folder of clips becomes training batches: decoded, cut to a second, cepstra, stacked. */
#include <stdio.h>

#include <egret/egret.h>

#include "bench.h"

enum { RATE = 16000, BATCH = 100 };

/* user: the features. */
static eg_status prepare(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    int64_t rate;
    (void)n;
    eg_tensor *x = eg_audio_parse(eg_data(in[1]), (size_t)eg_numel(in[1]), &rate);
    out[0] = eg_module_forward(user, x ? eg_audio_fit(x, RATE) : NULL);
    *m = 1;
    return out[0] ? EG_OK : eg_last_error()->code;
}

int bench_sounds(const char *folder, int workers)
{
    char pattern[1024];
    snprintf(pattern, sizeof pattern, "%s/*/*.wav", folder);
    eg_module *features = eg_audio_features_new(RATE, .frame = 400, .hop = 160, .n_fft = 400, .center = true,
                                                .bands = 64, .offset = 1e-6, .coefficients = 40);
    eg_dataset *d = eg_dataset_shuffle(eg_files_new(pattern), 10000, .seed = 1);
    d = eg_dataset_map(d, prepare, features, .workers = workers, .seed = 1);
    int status = features ? bench_batches(eg_dataset_batch(d, BATCH)) : eg_error_print(stderr);
    eg_module_free(features);
    return status;
}
