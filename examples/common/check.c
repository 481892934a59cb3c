/* check.c - what check.py runs to see that the parts of this folder work. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <egret/egret.h>

#include "download.h"
#include "draw/heatmap.h"
#include "progress.h"
#include "run.h"
#include "write_png.h"
#ifdef EXAMPLES_GIF
#include "gif.h"
#endif

static int explain(eg_status st)
{
    return st ? eg_error_print(stderr) : 0;
}

/* What a translator might look at. */
static int draw_heatmap(const char *path)
{
    static const char *const rows[] = {"hace", "mucho", "frío", "aquí", ".", "<end>"};
    static const char *const columns[] = {"<start>", "it", "is", "very", "cold", "here", ".", "<end>"};
    enum { ROWS = 6, COLUMNS = 8 };
    double values[ROWS * COLUMNS];
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++) {
            values[i * COLUMNS + j] = exp(-pow(j - 1.3 * i - 0.8, 2) / 1.5);
        }
    }
    values[3] = (double)NAN;
    font *f = font_if_any();
    canvas *c = heatmap_draw(&(heatmap){.title = "hace mucho frío aquí .",
                                        .values = values,
                                        .rows = ROWS,
                                        .columns = COLUMNS,
                                        .row_words = rows,
                                        .column_words = columns,
                                        .least = 0,
                                        .most = 1},
                             f);
    eg_status st = write_png(c, path);
    canvas_free(c);
    font_free(f);
    return explain(st);
}

#ifdef EXAMPLES_GIF

/* Frame k of a film, by a formula that check.py knows too. */
static void fill(uint8_t *pixels, int width, int height, int channels, int k)
{
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            for (int c = 0; c < channels; c++) {
                *pixels++ = (uint8_t)(x * (c + 1) * 3 + y * (c == 1 ? 5 : 2) + 40 * k);
            }
        }
    }
}

static int write_film(const char *path, const char *kind)
{
    enum { WIDTH = 90, HEIGHT = 61, FRAMES = 3 };
    uint8_t pixels[WIDTH * HEIGHT * 3];
    int channels = strcmp(kind, "gray") == 0 ? 1 : 3;
    gif *g = gif_new(path, WIDTH, HEIGHT, 0.25);
    eg_status st = g ? EG_OK : eg_last_error()->code;
    for (int k = 0; k < FRAMES && !st && strcmp(kind, "none") != 0; k++) {
        fill(pixels, WIDTH, HEIGHT, channels, k);
        if (strcmp(kind, "few") == 0) {
            for (int i = 0; i < WIDTH * HEIGHT * 3; i++) {
                pixels[i] = pixels[i] / 64 * 64;
            }
        }
        st = gif_add(g, pixels, strcmp(kind, "wrong") == 0 ? 2 : channels);
    }
    eg_status closed = gif_close(g);
    return explain(st ? st : closed);
}

#else

static int write_film(const char *path, const char *kind)
{
    (void)path, (void)kind;
    return 77;
}

#endif

static int get(int count, char **word)
{
    bool sized = strncmp(word[1], "bytes=", 6) == 0;
    download d = {.url = word[0], .unpack = count > 3 ? word[3] : NULL};
    d.sha256 = sized ? NULL : word[1];
    d.bytes = sized ? atoll(word[1] + 6) : 0;
    d.member = count > 5 ? word[4] : NULL;
    d.member_sha256 = count > 5 ? word[5] : NULL;
    return explain(download_get(&d, word[2]));
}

/* A run that counts its steps. */
static bool count_steps(run *r)
{
    int64_t step = 0, sum = 0;
    bool good = eg_saver_number(r->saver, "sum", &sum) == EG_OK && run_resume(r, &step);
    while (good && step < r->options->steps) {
        eg_exp(eg_ones(EG_SHAPE(3), EG_F32));
        sum += ++step;
        good = run_log(r, step, EG_REAL("half", (double)step / 2), EG_TEXT("word", "so"), EG_INTEGER("sum", sum)) &&
               run_checkpoint(r, step, true);
    }
    printf("sum %lld\n", (long long)sum);
    return good;
}

/* Waits until there is a file of that name in the run's folder. */
static void wait_for(const run *r, const char *name)
{
    while (access(run_folder_path(&r->folder, name).text, F_OK) != 0) {
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
}

/* A run whose steps, and what comes behind them, end when check.py says so. Every third is saved, step 13 fails. */
static bool pace_steps(run *r)
{
    int64_t step = 0, sum = 0, steps = r->options->steps;
    bool good = eg_saver_number(r->saver, "sum", &sum) == EG_OK && run_resume(r, &step);
    while (good && run_goes_on(step, steps)) {
        char name[32];
        snprintf(name, sizeof name, "step-%lld", (long long)step + 1);
        wait_for(r, name);
        sum += ++step;
        good = run_log(r, step, EG_INTEGER("sum", sum)) &&
               (step != 13 || eg_fail(EG_EUSER, "check", "13 is no step") == EG_OK) &&
               run_checkpoint(r, step, step % 3 == 0 || step == steps);
    }
    if (good) {
        wait_for(r, "report");
        printf("sum %lld\n", (long long)sum);
    }
    return good;
}

/* A run whose numbers are computed on its device. */
static bool note_steps(run *r)
{
    int64_t step = 0;
    bool good = run_resume(r, &step);
    while (good && step < r->options->steps) {
        EG_SCOPE {
            RUN_COMPUTES(r) {
                step++;
                eg_tensor *whole = eg_full(EG_SCALAR, (double)step, EG_F32);
                good = run_note(r, step, RUN_SHARE("half", whole, 2), RUN_NUMBER("step again", (double)step));
            }
        }
        good = good && run_checkpoint(r, step, step == 7);
    }
    return good;
}

/* An optimizer by a name that is taken, and a number that could not be computed, are refused. */
static bool refuse_steps(run *r)
{
    eg_module *net = eg_linear_new(2, 1);
    eg_optim *sgd = eg_sgd_new(eg_module_parameters(net));
    bool good = run_optim(r, "sgd", sgd);
    printf("again %d\n", run_optim(r, "sgd", sgd));
    printf("nothing %d\n", run_note(r, 1, RUN_VALUE("nothing", NULL)));
    eg_clear_error();
    eg_optim_free(sgd);
    eg_module_free(net);
    return good;
}

static int try_run(int argc, char **argv, bool (*work)(run *), char *const *words)
{
    run_options o;
    const arg table[] = {RUN_OPTIONS(&o, "a folder", "3", "64")};
    args line = {.program = "common-check run", .about = "Counts steps.", .table = table, .count = ARG_COUNT(table)};
    int status;
    if (!args_parse(&line, argc, argv, &status)) {
        return status;
    }
    run r;
    return run_end(&r, run_begin(&r, &o, "check", words) && work(&r));
}

/* What a log gets, were each update `seconds` later than the one before. */
static int try_progress(double seconds)
{
    progress bar;
    progress_start(&bar, "counting", 4, "sheep");
    for (int i = 1; i <= 4; i++) {
        bar.started -= seconds;
        bar.painted -= seconds;
        progress_update(&bar, i, "loss %g", 0.5 * i);
    }
    progress_clear(&bar);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *verb;
        bool (*work)(run *);
    } runs[] = {{"run", count_steps}, {"pace", pace_steps}, {"note", note_steps}, {"refuse", refuse_steps}};
    const char *verb = argc > 1 ? argv[1] : "";
    if (strcmp(verb, "heatmap") == 0 && argc == 3) {
        return draw_heatmap(argv[2]);
    }
    if (strcmp(verb, "film") == 0 && argc == 4) {
        return write_film(argv[2], argv[3]);
    }
    if (strcmp(verb, "get") == 0 && (argc == 5 || argc == 6 || argc == 8)) {
        return get(argc - 2, argv + 2);
    }
    if (strcmp(verb, "progress") == 0 && argc == 3) {
        return try_progress(atof(argv[2]));
    }
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        if (strcmp(verb, runs[i].verb) == 0) {
            return try_run(argc - 1, argv + 1, runs[i].work, argv);
        }
    }
    fprintf(stderr, "usage: common-check heatmap PNG | film GIF gray|few|many|none|wrong | "
                    "get URL SHA256|bytes=N FOLDER [UNPACK [MEMBER SHA256]] | progress SECONDS | "
                    "run|pace|note|refuse OPTIONS\n");
    return 2;
}
