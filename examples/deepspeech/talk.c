/* talk.c - see talk.h. */
#define _POSIX_C_SOURCE 200809L
#include "talk.h"

#include <egret/data/audio.h>
#include <egret/nn/audio.h>
#include <ctype.h>
#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- texts ------------------------------------------------------------------------------------ */

static const char letters[LETTERS + 1] = "abcdefghijklmnopqrstuvwxyz' ";

int talk_letter(char c)
{
    const char *at = c ? strchr(letters, c) : NULL;
    return at ? (int)(at - letters) : -1;
}

/* Nothing but letters, in lower case, and single blanks between words. */
static char *cleaned(const char *from, size_t n)
{
    char *text = malloc(n + 1);
    size_t at = 0;
    for (size_t i = 0; text && i < n; i++) {
        char c = (char)tolower((unsigned char)from[i]);
        if (talk_letter(c) >= 0 && c != ' ') {
            text[at++] = c;
        } else if ((c == ' ' || c == '-' || c == '\t') && at && text[at - 1] != ' ') {
            text[at++] = ' ';
        }
    }
    while (text && at && text[at - 1] == ' ') {
        at--;
    }
    if (text) {
        text[at] = '\0';
    }
    return text;
}

char *talk_text(const int64_t *of, int64_t n)
{
    char *text = malloc((size_t)n + 1);
    int64_t at = 0;
    for (int64_t i = 0; text && i < n; i++) {
        if (of[i] >= 0 && of[i] < LETTERS) {
            text[at++] = letters[of[i]];
        }
    }
    if (text) {
        text[at] = '\0';
    }
    return text;
}

/* ---- lists ------------------------------------------------------------------------------------ */

static eg_status no_memory(void)
{
    return eg_fail(EG_ENOMEM, "deepspeech", "out of memory");
}

void talk_free(talk *t)
{
    for (int64_t i = 0; i < t->count; i++) {
        free(t->all[i].path);
        free(t->all[i].text);
    }
    free(t->all);
    *t = (talk){.features = t->features};
}

static eg_status add(talk *t, utterance u)
{
    if (t->count == t->room) {
        int64_t room = 2 * t->room + 64;
        utterance *all = realloc(t->all, (size_t)room * sizeof *all);
        t->room = all ? room : t->room;
        t->all = all ? all : t->all;
    }
    if (!u.text || t->count == t->room) {
        free(u.path);
        free(u.text);
        return no_memory();
    }
    t->all[t->count++] = u;
    return EG_OK;
}

static int by_length(const void *a, const void *b)
{
    const utterance *x = a, *y = b;
    int order = x->path && y->path ? strcmp(x->path, y->path) : strcmp(x->text, y->text);
    return x->length != y->length ? (x->length > y->length ? 1 : -1) : order;
}

static void sort(talk *t)
{
    qsort(t->all, (size_t)t->count, sizeof *t->all, by_length);
}

eg_status talk_split(talk *t, int64_t every, talk *others)
{
    int64_t kept = 0;
    eg_status st = EG_OK;
    for (int64_t i = 0; i < t->count; i++) {
        if (!st && i % every == every - 1) {
            st = add(others, t->all[i]);
        } else {
            t->all[kept++] = t->all[i];
        }
    }
    t->count = kept;
    return st;
}

/* ---- files ------------------------------------------------------------------------------------ */

/* FOLDER/NAME of an utterance, with what was said. */
static eg_status add_file(talk *t, const char *folder, const char *name, const char *text, size_t n)
{
    struct stat s;
    eg_path path = eg_path_in(folder, name);
    if (stat(path.text, &s) != 0) {
        return eg_failf(EG_EIO, "deepspeech", "%.300s is not there", path.text);
    }
    return add(t, (utterance){.path = strdup(path.text), .text = cleaned(text, n), .length = (int64_t)s.st_size});
}

/* "ID|as written|as spoken", the last of them counts. */
static eg_status read_table(talk *t, const char *folder)
{
    eg_status st = EG_OK;
    eg_dataset *lines = eg_text_lines_new(eg_path_in(folder, "metadata.csv").text, .skip_empty = true);
    EG_FOR_EACH(x, lines) {
        const char *line = eg_data(x[0]);
        int64_t n = eg_numel(x[0]), id = 0, last = 0;
        char name[256];
        for (int64_t i = 0; i < n; i++) {
            id = line[i] == '|' && !id ? i : id;
            last = line[i] == '|' ? i + 1 : last;
        }
        if (!st && (!id || id > 200)) {
            st = eg_failf(EG_EFORMAT, "deepspeech", "%.200s/metadata.csv: no line ID|TEXT: %.*s", folder,
                          (int)(n < 60 ? n : 60), line);
        }
        snprintf(name, sizeof name, "wavs/%.*s.wav", (int)id, line);
        st = st ? st : add_file(t, folder, name, line + last, (size_t)(n - last));
    }
    st = st ? st : lines ? eg_dataset_status(lines) : eg_last_error()->code;
    eg_dataset_free(lines);
    return st;
}

/* "ID TEXT" beside ID.flac. */
static eg_status read_chapter(talk *t, const char *path)
{
    eg_status st = EG_OK;
    char folder[1024], name[256];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    eg_dataset *lines = eg_text_lines_new(path, .skip_empty = true);
    EG_FOR_EACH(x, lines) {
        const char *line = eg_data(x[0]), *blank = memchr(line, ' ', (size_t)eg_numel(x[0]));
        int64_t n = eg_numel(x[0]), id = blank ? blank - line : n;
        snprintf(name, sizeof name, "%.*s.flac", (int)(id < 200 ? id : 200), line);
        st = st ? st : add_file(t, folder, name, line + id, (size_t)(n - id));
    }
    st = st ? st : lines ? eg_dataset_status(lines) : eg_last_error()->code;
    eg_dataset_free(lines);
    return st;
}

static eg_status read_chapters(talk *t, const char *folder)
{
    static const char *const patterns[] = {"*.trans.txt", "*/*.trans.txt", "*/*/*.trans.txt", "*/*/*/*.trans.txt"};
    eg_status st = EG_OK;
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0] && !st; i++) {
        glob_t found;
        bool any = glob(eg_path_in(folder, patterns[i]).text, 0, NULL, &found) == 0;
        for (size_t k = 0; any && k < found.gl_pathc && !st; k++) {
            EG_SCOPE {
                st = read_chapter(t, found.gl_pathv[k]);
            }
        }
        globfree(&found);
    }
    return st;
}

eg_status talk_read(talk *t, const char *folder)
{
    struct stat s;
    bool table = stat(eg_path_in(folder, "metadata.csv").text, &s) == 0;
    eg_status st = EG_OK;
    EG_SCOPE {
        st = table ? read_table(t, folder) : read_chapters(t, folder);
    }
    if (!st && !t->count) {
        return eg_failf(EG_EIO, "deepspeech", "%.200s has neither metadata.csv nor *.trans.txt", folder);
    }
    sort(t);
    return st;
}

/* ---- made up ---------------------------------------------------------------------------------- */

/* Sentences "the red fish sees a bird". */
static void make_text(uint64_t i, char *text, size_t size)
{
    static const char *const which[] = {"a", "the", "my", "one"}, *const how[] = {"red", "big", "old", "wet"};
    static const char *const who[] = {"fish", "bird", "dog", "cat", "man", "hen"}, *const does[] = {"sees", "has",
                                                                                                    "got"};
    uint64_t r = (i + 1) * 0x9e3779b97f4a7c15u;
    r ^= r >> 29;
    r *= 0xbf58476d1ce4e5b9u;
    r ^= r >> 32;
    snprintf(text, size, "%s %s%s%s %s %s %s", which[r & 3], r >> 2 & 1 ? how[r >> 3 & 3] : "", r >> 2 & 1 ? " " : "",
             who[(r >> 5) % 6], does[(r >> 13) % 3], which[r >> 21 & 3], who[(r >> 23) % 6]);
}

eg_status talk_make(talk *t, int64_t count, bool others)
{
    eg_status st = EG_OK;
    for (int64_t i = 0; i < count && !st; i++) {
        char text[128];
        make_text((uint64_t)i + (others ? 1u << 20 : 0), text, sizeof text);
        st = add(t, (utterance){.text = strdup(text), .length = (int64_t)strlen(text)});
    }
    sort(t);
    return st;
}

/* Each letter is a chord of its own of two tones, in a voice's pitch; a blank is nothing. */
static eg_tensor *say(const char *text, int64_t seed)
{
    double c[2];
    int64_t n = (int64_t)strlen(text), each = 0;
    eg_seed(0x5a1d + (uint64_t)seed);
    if (eg_to_values(eg_uniform(EG_SHAPE(2), 0, 1, EG_F64), c)) {
        return NULL;
    }
    each = (int64_t)((0.06 + 0.03 * c[0]) * RATE);
    eg_tensor *sound = eg_normal(EG_SHAPE((n + 2) * each), 0, 0.01, EG_F32);
    float *x = eg_data_mut(sound);
    for (int64_t i = 0; x && i < n * each; i++) {
        int k = talk_letter(text[i / each]);
        double t = (double)i / RATE, pitch = 0.95 + 0.1 * c[1],
               edge = sin(3.14159265 * (double)(i % each) / (double)each);
        double low = pitch * (300 + 150 * (k % 6)), high = pitch * (1500 + 400 * (k / 6));
        x[i + each] +=
            k == LETTERS - 1 ? 0 : (float)(0.2 * edge * (sin(6.2831853 * low * t) + sin(6.2831853 * high * t)));
    }
    return x ? sound : NULL;
}

/* ---- features --------------------------------------------------------------------------------- */

eg_module *talk_features(void)
{
    return eg_audio_features_new(RATE, .frame = 320, .hop = 160, .n_fft = 320, .bands = EG_ZERO, .floor = 1e-14,
                                 .offset = 1e-14);
}

static eg_tensor *normalised(eg_module *features, eg_tensor *sound)
{
    eg_tensor *x = eg_module_forward(features, sound);
    eg_tensor *mean = eg_mean(x, .axes = EG_AXES(0), .keepdim = true), *off = eg_sub(x, mean);
    eg_tensor *std = eg_sqrt(eg_mean(eg_square(off), .axes = EG_AXES(0), .keepdim = true));
    return eg_div(off, eg_add_scalar(std, 1e-6));
}

eg_tensor *talk_load(eg_module *features, const char *path)
{
    int64_t rate = 0;
    eg_tensor *x = eg_mean(eg_audio_load(path, &rate), .axes = EG_AXES(0));
    return normalised(features, x && rate != RATE ? eg_audio_resample(x, rate, RATE) : x);
}

/* ---- batches ---------------------------------------------------------------------------------- */

enum { BATCH_MOST = 1024 };

static eg_tensor *letters_of(const char *text)
{
    int64_t n = (int64_t)strlen(text);
    eg_tensor *t = eg_zeros(EG_SHAPE(n), EG_I64);
    int64_t *to = eg_data_mut(t);
    for (int64_t i = 0; to && i < n; i++) {
        to[i] = talk_letter(text[i]);
    }
    return t;
}

/* Tensors of one or two axes as one, filled up with zeros; and how long each was. */
static eg_tensor *padded(eg_tensor **each, int64_t n, eg_tensor **lengths)
{
    int64_t most = 0, sizes[BATCH_MOST];
    for (int64_t i = 0; i < n; i++) {
        if (!each[i]) {
            return NULL;
        }
        sizes[i] = eg_size(each[i], 0);
        most = sizes[i] > most ? sizes[i] : most;
    }
    for (int64_t i = 0; i < n; i++) {
        each[i] = sizes[i] < most ? eg_pad(each[i], .after = {most - sizes[i]}) : each[i];
    }
    *lengths = eg_from(EG_SHAPE(n), EG_I64, sizes);
    return eg_stack(each, (int)n, 0);
}

/* Numbers of utterances become a batch. */
static eg_status load(eg_tensor *const *in, int k, eg_tensor **out, int *m, void *user)
{
    const talk *t = user;
    const int64_t n = eg_numel(in[0]);
    eg_tensor *x[BATCH_MOST], *y[BATCH_MOST];
    (void)k;
    if (n > BATCH_MOST) {
        return eg_failf(EG_EINVAL, "deepspeech", "a batch of %lld, at most %d", (long long)n, BATCH_MOST);
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = (int64_t)eg_get(in[0], i);
        const utterance *u = &t->all[at];
        x[i] = u->path ? talk_load(t->features, u->path) : normalised(t->features, say(u->text, at));
        y[i] = letters_of(u->text);
    }
    out[0] = padded(x, n, &out[1]);
    out[2] = out[0] ? padded(y, n, &out[3]) : NULL;
    *m = 4;
    return out[2] && out[1] && out[3] ? EG_OK : eg_last_error()->code;
}

static eg_status number(int64_t index, eg_tensor **sample, int *n, void *user)
{
    (void)user;
    sample[0] = eg_full_int(EG_SCALAR, index, EG_I64);
    *n = 1;
    return sample[0] ? EG_OK : eg_last_error()->code;
}

static eg_dataset *numbers(const talk *t, int64_t batch, bool learned, uint64_t seed)
{
    eg_dataset *d = eg_dataset_batch(eg_dataset_from(number, t->count, NULL, NULL), batch, .drop_last = learned);
    return learned ? eg_dataset_shuffle(d, t->count / batch + 1, .seed = seed, .ordered = 1) : d;
}

eg_dataset *talk_batches(const talk *t, int64_t batch, bool learned, uint64_t seed)
{
    eg_dataset *d = numbers(t, batch, learned, seed);
    return eg_dataset_prefetch(eg_dataset_map(d, load, (void *)t, .workers = 1, .seed = seed), 2);
}

static eg_status sentence(int64_t index, eg_tensor **sample, int *n, void *user)
{
    const talk *t = user;
    const char *text = t->all[index].text;
    sample[0] = eg_from(EG_SHAPE((int64_t)strlen(text)), EG_U8, text);
    *n = 1;
    return sample[0] ? EG_OK : eg_last_error()->code;
}

eg_dataset *talk_sentences(const talk *t)
{
    return eg_dataset_from(sentence, t->count, (void *)t, NULL);
}
