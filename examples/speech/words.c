/* words.c - see words.h. */
#define _POSIX_C_SOURCE 200809L
#include "words.h"

#include <egret/data/audio.h>
#include <egret/nn/audio.h>
#include <glob.h>
#include <math.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/download.h"
#include "made.h"

enum { TAKES = 4, HUSH = -1, NOISES_MAX = 64 };

typedef struct clip {
    const char *path; /* NULL: made up */
    int label, word;
    int64_t voice, take;
} clip;

/* A part: clips by number, HUSH for silence. */
typedef struct part {
    int64_t *at, count;
} part;

struct words {
    words_options o;
    glob_t files;
    clip *clips;
    int64_t count;
    part parts[WORDS_PARTS];
    char *wanted; /* o.wanted, cut into labels */
    const char *labels[WORDS_CLASSES_MAX];
    int classes;
    eg_tensor *noises[NOISES_MAX]; /* kept */
    int noise_count;
    eg_module *features;
};

static void words_free(void *given)
{
    words *w = given;
    globfree(&w->files);
    for (int i = 0; i < WORDS_PARTS; i++) {
        free(w->parts[i].at);
    }
    for (int i = 0; i < w->noise_count; i++) {
        eg_release(w->noises[i]);
    }
    free(w->clips);
    free(w->wanted);
    eg_module_free(w->features);
    free(w);
}

/* ---- which clips ----------------------------------------------------------------------------- */

words_part words_part_of(const char *name, double validation, double test)
{
    enum { MOST = (1 << 27) - 1 };
    const char *end = strstr(name, "_nohash_");
    unsigned char md[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (!EVP_Digest(name, end ? (size_t)(end - name) : strlen(name), md, &n, EVP_sha1(), NULL) || n != 20) {
        return WORDS_LEARNED;
    }
    unsigned low = (unsigned)md[16] << 24 | (unsigned)md[17] << 16 | (unsigned)md[18] << 8 | md[19];
    double percent = (low & MOST) * (100.0 / MOST);
    return percent < validation ? WORDS_VALID : percent < validation + test ? WORDS_TEST : WORDS_LEARNED;
}

static int label_of(const words *w, const char *word, size_t bytes)
{
    for (int i = WORDS_WANTED; i < w->classes; i++) {
        if (strlen(w->labels[i]) == bytes && memcmp(w->labels[i], word, bytes) == 0) {
            return i;
        }
    }
    return WORDS_UNKNOWN;
}

static eg_status name_classes(words *w)
{
    char *rest = NULL;
    w->wanted = strdup(w->o.wanted);
    w->labels[w->classes++] = "_silence_";
    w->labels[w->classes++] = "_unknown_";
    if (!w->wanted) {
        return eg_fail(EG_ENOMEM, "speech", "out of memory");
    }
    for (char *word = strtok_r(w->wanted, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        if (w->classes == WORDS_CLASSES_MAX) {
            return eg_failf(EG_EINVAL, "speech", "more than %d words", WORDS_CLASSES_MAX - WORDS_WANTED);
        }
        w->labels[w->classes++] = word;
    }
    return EG_OK;
}

/* FOLDER/WORD/NAME.wav */
static eg_status find_clips(words *w, const char *folder)
{
    if (glob(eg_path_in(folder, "*/*.wav").text, 0, NULL, &w->files) != 0) {
        return eg_failf(EG_EIO, "speech", "%.200s has no WORD/*.wav", folder);
    }
    w->clips = calloc(w->files.gl_pathc, sizeof *w->clips);
    for (size_t i = 0; w->clips && i < w->files.gl_pathc; i++) {
        const char *path = w->files.gl_pathv[i], *name = strrchr(path, '/'), *word = name;
        while (word[-1] != '/') {
            word--;
        }
        if (*word != '_') {
            w->clips[w->count++] = (clip){.path = path, .label = label_of(w, word, (size_t)(name - word))};
        }
    }
    return w->clips ? EG_OK : eg_fail(EG_ENOMEM, "speech", "out of memory");
}

static eg_status make_clips(words *w)
{
    w->clips = calloc((size_t)(MADE_WORDS * TAKES * w->o.voices), sizeof *w->clips);
    for (int64_t i = 0; w->clips && i < MADE_WORDS * TAKES * w->o.voices; i++) {
        int word = (int)(i % MADE_WORDS);
        w->clips[w->count++] = (clip){.label = label_of(w, made_words[word], strlen(made_words[word])),
                                      .word = word,
                                      .voice = i / MADE_WORDS / TAKES,
                                      .take = i / MADE_WORDS % TAKES};
    }
    return w->clips ? EG_OK : eg_fail(EG_ENOMEM, "speech", "out of memory");
}

/* ---- parts ----------------------------------------------------------------------------------- */

static words_part part_of(const words *w, const clip *c)
{
    char voice[32];
    snprintf(voice, sizeof voice, "voice%lld", (long long)c->voice);
    return words_part_of(c->path ? strrchr(c->path, '/') + 1 : voice, w->o.validation, w->o.test);
}

/* So many of the n numbers, any of them, behind those of the part. */
static eg_status add_some(part *p, const int64_t *from, int64_t n, int64_t count)
{
    eg_status st = EG_OK;
    EG_SCOPE {
        eg_tensor *order = eg_permutation(n);
        st = order ? EG_OK : eg_last_error()->code;
        for (int64_t i = 0; order && i < n && i < count; i++) {
            p->at[p->count++] = from[(int64_t)eg_get(order, i)];
        }
    }
    return st;
}

/* The wanted words of a part, then unknown ones and silence by what there is of those, rounded up. */
static eg_status fill(words *w, words_part which)
{
    part *p = &w->parts[which];
    int64_t *others = calloc((size_t)w->count + 1, sizeof *others), n = 0;
    p->at = calloc((size_t)(3 * w->count + 2), sizeof *p->at);
    for (int64_t i = 0; others && p->at && i < w->count; i++) {
        if (part_of(w, &w->clips[i]) != which) {
            continue;
        }
        if (w->clips[i].label == WORDS_UNKNOWN) {
            others[n++] = i;
        } else {
            p->at[p->count++] = i;
        }
    }
    eg_status st = others && p->at ? EG_OK : eg_fail(EG_ENOMEM, "speech", "out of memory");
    double wanted = (double)p->count;
    st = st ? st : add_some(p, others, n, (int64_t)ceil(wanted * w->o.unknown / 100));
    for (int64_t i = 0; !st && (double)i < wanted * w->o.silence / 100; i++) {
        p->at[p->count++] = HUSH;
    }
    free(others);
    return st;
}

static eg_status fill_parts(words *w, uint64_t seed)
{
    eg_seed(59185); /* as the published program has it: the same unknown ones in every run */
    for (int i = 0; i < WORDS_PARTS; i++) {
        eg_status st = fill(w, (words_part)i);
        if (st) {
            return st;
        }
    }
    eg_seed(seed);
    return EG_OK;
}

/* ---- noises ---------------------------------------------------------------------------------- */

eg_tensor *words_load(const words *w, const char *path)
{
    int64_t rate = 0;
    eg_tensor *x = eg_audio_load(path, &rate);
    x = eg_mean(x, .axes = EG_AXES(0));
    return x && rate != w->o.rate ? eg_audio_resample(x, rate, w->o.rate) : x;
}

static eg_tensor *noise(const words *w, const char *path, int i)
{
    if (path) {
        return words_load(w, path);
    }
    eg_tensor *x = eg_normal(EG_SHAPE(10 * w->o.rate), 0, 0.2, EG_F32);
    return i == 0 ? x : eg_mul_scalar(eg_cumsum(x, 0), 0.02); /* white, and brown */
}

static eg_status load_noises(words *w, const char *folder)
{
    glob_t found;
    eg_path pattern = eg_path_in(folder ? folder : "", "_background_noise_/*.wav");
    bool any = folder && glob(pattern.text, 0, NULL, &found) == 0;
    int n = folder ? any ? (int)found.gl_pathc : 0 : 2;
    eg_status st = EG_OK;
    for (int i = 0; i < n && i < NOISES_MAX && !st; i++) {
        EG_SCOPE {
            eg_tensor *x = eg_keep(noise(w, any ? found.gl_pathv[i] : NULL, i));
            st = x ? EG_OK : eg_last_error()->code;
            w->noises[i] = x;
            w->noise_count += x != NULL;
        }
    }
    if (any) {
        globfree(&found);
    }
    return st;
}

/* ---- features -------------------------------------------------------------------------------- */

/* Cut to a whole number, as TensorFlow's program does. */
static int64_t samples_of(const words *w, double ms)
{
    return (int64_t)(ms * (double)w->o.rate / 1000);
}

static int64_t fft_of(const words *w)
{
    int64_t n = 1;
    while (n < samples_of(w, w->o.frame)) {
        n *= 2;
    }
    return n;
}

static bool averages(const words *w)
{
    return strcmp(w->o.features, "average") == 0;
}

/* As TensorFlow's kernels AudioSpectrogram and Mfcc have it. */
static eg_status open_features(words *w)
{
    int64_t n_fft = fft_of(w), first = (int64_t)(1.5 + 20.0 * (double)n_fft / (double)w->o.rate);
    double high = w->o.rate > 8000 ? 4000 : (double)w->o.rate / 2;
    w->features = eg_audio_features_new((double)w->o.rate, .frame = samples_of(w, w->o.frame),
                                        .hop = samples_of(w, w->o.hop), .n_fft = n_fft, .power = 1, .bands = w->o.bands,
                                        .low = 20, .high = high, .scale = EG_MEL_TENSORFLOW, .first = first,
                                        .floor = 1e-12, .coefficients = w->o.bands, .plain_dct = true);
    return w->features ? EG_OK : eg_last_error()->code;
}

enum { AVERAGED = 6 };

eg_tensor *words_features(const words *w, eg_tensor *sound)
{
    if (!averages(w)) {
        return eg_module_forward(w->features, sound);
    }
    int64_t frame = samples_of(w, w->o.frame);
    eg_tensor *spectra = eg_spectrogram(sound, frame, .hop = samples_of(w, w->o.hop), .n_fft = fft_of(w),
                                        .window = eg_hann_window(frame));
    spectra = eg_unsqueeze(eg_unsqueeze(spectra, 0), 0);
    return eg_select(eg_select(eg_avg_pool2d(spectra, .kernels = {1, AVERAGED}, .padding = EG_SAME), 0, 0), 0, 0);
}

int64_t words_samples(const words *w)
{
    return samples_of(w, (double)w->o.clip);
}

int64_t words_frames(const words *w)
{
    return (samples_of(w, (double)w->o.clip) - samples_of(w, w->o.frame)) / samples_of(w, w->o.hop) + 1;
}

int64_t words_width(const words *w)
{
    return averages(w) ? (fft_of(w) / 2 + AVERAGED) / AVERAGED : w->o.bands;
}

double words_hop(const words *w)
{
    return w->o.hop;
}

/* ---- datasets -------------------------------------------------------------------------------- */

/* A clip of the set, [samples], and its class. */
static eg_tensor *load_clip(const words *w, int64_t at, int64_t *label)
{
    int64_t n = samples_of(w, (double)w->o.clip);
    const clip *c = at == HUSH ? NULL : &w->clips[at];
    *label = c ? c->label : WORDS_SILENCE;
    if (!c) {
        return eg_zeros(EG_SHAPE(n), EG_F32);
    }
    return c->path ? eg_audio_fit(words_load(w, c->path), n) : made_say(c->word, c->voice, c->take, w->o.rate, n);
}

static eg_status load_sample(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    int64_t label = 0;
    (void)n;
    out[0] = load_clip(user, (int64_t)eg_item(in[0]), &label);
    out[1] = eg_full_int(EG_SCALAR, label, EG_I64);
    *m = 2;
    return out[0] && out[1] ? EG_OK : eg_last_error()->code;
}

/* Sometimes with a noise; silence always, and as loud as it may be. */
static eg_tensor *noisy(const words *w, eg_tensor *x, bool silent, bool learned, const double *chance)
{
    if (!w->noise_count || (!silent && (!learned || chance[0] >= w->o.often || w->o.volume <= 0))) {
        return x;
    }
    eg_tensor *some = w->noises[(int)(chance[1] * w->noise_count)];
    double volume = (silent ? 1 : w->o.volume) * chance[2];
    return volume > 0 ? eg_clamp(eg_audio_mix(x, some, .volume = volume), -1, 1) : x;
}

static eg_status prepare(const words *w, eg_tensor *const *in, eg_tensor **out, int *m, bool learned)
{
    double chance[4];
    eg_status st = eg_to_values(eg_uniform(EG_SHAPE(4), 0, 1, EG_F64), chance);
    bool silent = eg_item(in[1]) == WORDS_SILENCE;
    int64_t most = samples_of(w, w->o.shift), by = learned ? (int64_t)((2 * chance[3] - 1) * (double)most) : 0;
    eg_tensor *x = by ? eg_audio_shift(in[0], by) : in[0];
    out[0] = st ? NULL : eg_unsqueeze(words_features(w, noisy(w, x, silent, learned, chance)), 0);
    out[1] = in[1];
    *m = 2;
    return out[0] ? EG_OK : eg_last_error()->code;
}

static eg_status prepare_learned(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n;
    return prepare(user, in, out, m, true);
}

static eg_status prepare_plain(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n;
    return prepare(user, in, out, m, false);
}

static eg_status number(int64_t index, eg_tensor **sample, int *n, void *user)
{
    const part *p = user;
    sample[0] = eg_full_int(EG_SCALAR, p->at[index], EG_I64);
    *n = 1;
    return sample[0] ? EG_OK : eg_last_error()->code;
}

int64_t words_count(const words *w, words_part which)
{
    return w->parts[which].count;
}

eg_dataset *words_dataset(const words *w, words_part which, uint64_t seed)
{
    const part *p = &w->parts[which];
    bool learned = which == WORDS_LEARNED;
    eg_dataset *d = eg_dataset_from(number, p->count, (void *)p, NULL);
    d = learned ? eg_dataset_shuffle(d, p->count, .seed = seed) : d;
    d = eg_dataset_map(d, load_sample, (void *)w, .workers = 1);
    return eg_dataset_map(d, learned ? prepare_learned : prepare_plain, (void *)w, .workers = 1, .seed = seed);
}

const char *const *words_labels(const words *w, int *count)
{
    *count = w->classes;
    return w->labels;
}

words *words_open(eg_run *run, const char *folder, const words_options *o)
{
    words *w = calloc(1, sizeof *w);
    if (!w) {
        eg_fail(EG_ENOMEM, "speech", "out of memory");
    }
    if (eg_run_own(run, w, words_free)) {
        return NULL;
    }
    w->o = *o;
    eg_path unpacked = eg_path_in(folder ? folder : "", "unpacked");
    folder = folder && access(unpacked.text, F_OK) == 0 ? unpacked.text : folder;
    eg_status st = name_classes(w);
    st = st ? st : folder ? find_clips(w, folder) : make_clips(w);
    st = st ? st : fill_parts(w, (uint64_t)eg_run_settings_of(run)->seed);
    st = st ? st : load_noises(w, folder);
    st = st ? st : open_features(w);
    return eg_run_heed(run, st) ? NULL : w;
}

eg_status words_get(const char *folder, const char *url, void *user)
{
    (void)user;
    return download_get(
        &(download){
            .url =
                url ? url : "https://storage.googleapis.com/download.tensorflow.org/data/speech_commands_v0.02.tar.gz",
            .sha256 = "af14739ee7dc311471de98f5f9d2c9191b18aedfe957f4a6ff791c709868ff58",
            .bytes = url ? 0 : 2428923189,
            .unpack = "unpacked",
        },
        folder);
}
