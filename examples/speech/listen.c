/* listen.c - see listen.h. */
#include "listen.h"

#include <egret/data/audio.h>
#include <math.h>

enum { CHUNK = 64 };

/* What is known so far of a recording that is walked through. */
typedef struct ear {
    const listen_options *o;
    const double *scores; /* [clips, classes] */
    int64_t clips;
    int classes;
    int64_t from;  /* the first clip of the average */
    int last;      /* the word before, or silence */
    double before; /* when it was heard, ms */
} ear;

/* ---- scores ---------------------------------------------------------------------------------- */

/* Of clips that begin `every` frames from each other, [clips, classes], kept. */
static eg_tensor *score(eg_run *run, eg_module *net, const words *w, eg_tensor *features, int64_t every)
{
    int64_t frames = words_frames(w), n = (eg_size(features, 0) - frames) / every + 1;
    eg_tensor *all = NULL;
    EG_RUN_COMPUTES(run)
    {
        for (int64_t i = 0; i < n && !eg_run_status(run); i += CHUNK) {
            eg_tensor *clips[CHUNK], *made = NULL;
            int count = 0;
            EG_SCOPE {
                for (; count < CHUNK && i + count < n; count++) {
                    int64_t from = (i + count) * every;
                    clips[count] = eg_unsqueeze(eg_slice(features, 0, from, from + frames, 1), 0);
                }
                eg_tensor *x = eg_run_here(run, eg_stack(clips, count, 0));
                made = eg_keep(eg_to(eg_softmax(eg_cast(eg_module_forward(net, x), EG_F32), 1), eg_cpu()));
            }
            eg_tensor *more = all ? eg_keep(eg_concat((eg_tensor *[]){all, made}, 2, 0)) : eg_keep(made);
            eg_run_heed(run, more ? EG_OK : eg_last_error()->code);
            eg_release(all);
            eg_release(made);
            all = more;
        }
    }
    return all;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* The average of the scores up to clip i, and how many it has. */
static int64_t average(ear *e, int64_t i, double *mean)
{
    while ((i - e->from) * e->o->stride > e->o->window) {
        e->from++;
    }
    for (int k = 0; k < e->classes; k++) {
        mean[k] = 0;
        for (int64_t c = e->from; c <= i; c++) {
            mean[k] += e->scores[c * e->classes + k] / (double)(i - e->from + 1);
        }
    }
    return i - e->from + 1;
}

/* The word that is heard at clip i; WORDS_SILENCE: none, or still the same. */
static int hear(ear *e, int64_t i, double *mean)
{
    int64_t n = average(e, i, mean);
    double now = (double)(i * e->o->stride);
    int best = 0;
    for (int k = 1; k < e->classes; k++) {
        best = mean[k] > mean[best] ? k : best;
    }
    if (n < e->o->least || (double)(i - e->from) * (double)e->o->stride < (double)e->o->window / 4) {
        return WORDS_SILENCE;
    }
    bool quiet = e->last == WORDS_SILENCE || now - e->before > (double)e->o->suppression;
    if (!(mean[best] > e->o->threshold) || best == e->last || !quiet) {
        return WORDS_SILENCE;
    }
    e->last = best;
    e->before = now;
    return best >= WORDS_WANTED ? best : WORDS_SILENCE;
}

static void say_words(eg_run *run, const words *w, ear *e, double *means)
{
    int n = 0, heard = 0;
    const char *const *labels = words_labels(w, &n);
    for (int64_t i = 0; i < e->clips; i++) {
        double *mean = means + i * e->classes;
        int word = hear(e, i, mean);
        if (word != WORDS_SILENCE) {
            eg_run_say(run, "%8.2f s  %-12s %.2f", (double)(i * e->o->stride) / 1000, labels[word], mean[word]);
            heard++;
        }
    }
    eg_run_say(run, "%d words in %.2f s", heard, (double)(e->clips * e->o->stride) / 1000);
}

/* The averages over time of the words that were likeliest once. */
static void draw_heard(eg_run *run, const words *w, const ear *e, eg_tensor *means)
{
    int n = 0, drawn = 0;
    const char *const *labels = words_labels(w, &n);
    eg_draw_series series[EG_DRAW_SERIES_MAX];
    eg_tensor *most = NULL, *order = NULL;
    eg_run_heed(run, eg_sort(eg_max(means, .axes = EG_AXES(0)), 0, true, &most, &order));
    eg_tensor *seconds = eg_mul_scalar(eg_arange(0, (double)e->clips, 1, EG_F64), (double)e->o->stride / 1000);
    for (int i = 0; order && i < n && drawn < EG_DRAW_SERIES_MAX; i++) {
        int64_t k = (int64_t)eg_get(order, i);
        if (k >= WORDS_WANTED && eg_get(most, i) > e->o->threshold / 2) {
            series[drawn++] = (eg_draw_series){.name = labels[k], .x = seconds, .y = eg_select(means, 1, k)};
        }
    }
    if (drawn) {
        eg_run_picture(run, "heard",
                       eg_draw_plot(series, drawn, .title = "What was heard", .x_label = "seconds", .height = 480));
    }
}

eg_status listen(eg_run *run, eg_module *net, const words *w, const listen_options *o)
{
    int classes = 0;
    words_labels(w, &classes);
    int64_t half = words_samples(w) / 2;
    eg_tensor *sound = eg_pad(words_load(w, o->recording), .before = {half}, .after = {half});
    eg_tensor *features = words_features(w, sound);
    if (!features || eg_module_eval(net)) {
        return eg_run_heed(run, eg_last_error()->code);
    }
    int64_t every = (int64_t)((double)o->stride / words_hop(w));
    if (every < 1 || (double)every * words_hop(w) != (double)o->stride) {
        return eg_run_refuse(run, "--clip-stride-ms is a multiple of --window-stride-ms");
    }
    if (eg_size(features, 0) < words_frames(w)) {
        return eg_run_heed(run, eg_failf(EG_ESHAPE, "speech", "%.200s is shorter than a clip", o->recording));
    }
    eg_tensor *scores = eg_scope_adopt(score(run, net, w, features, every));
    eg_tensor *exact = eg_cast(scores, EG_F64), *means = eg_zeros_like(exact);
    ear e = {.o = o, .classes = classes, .clips = exact ? eg_size(exact, 0) : 0, .scores = eg_data(exact)};
    double *at = eg_data_mut(means);
    if (!e.scores || !at) {
        return eg_run_heed(run, eg_last_error()->code);
    }
    say_words(run, w, &e, at);
    draw_heard(run, w, &e, means);
    return eg_run_status(run);
}
