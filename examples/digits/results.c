/* results.c - see results.h. */
#include "results.h"

#include <stdio.h>
#include <string.h>

#include <egret/draw.h>

enum { CELLS = RESULTS_FIRST + RESULTS_WRONG, PIXELS = RESULTS_SIDE * RESULTS_SIDE };

static void note(results *r, const float *image, int label, int guess)
{
    bool right = label == guess;
    result *to = r->first_count < RESULTS_FIRST             ? &r->first[r->first_count++]
                 : !right && r->wrong_count < RESULTS_WRONG ? &r->wrong[r->wrong_count++]
                                                            : NULL;
    r->seen++;
    r->right += right;
    if (to) {
        to->label = label;
        to->guess = guess;
        for (int i = 0; i < PIXELS; i++) {
            to->pixels[i] = (uint8_t)(image[i] * 255 + 0.5F);
        }
    }
}

eg_status results_collect(results *r, eg_module *net, eg_dataset *digits, eg_device *device)
{
    *r = (results){0};
    eg_status status = eg_module_eval(net);
    if (status) {
        return status;
    }
    EG_FOR_EACH(sample, digits) {
        eg_tensor *logits = eg_module_forward(net, eg_to(sample[0], device));
        eg_tensor *guess = eg_to(eg_argmax(logits, .axes = EG_AXES(1)), eg_cpu());
        const float *images = eg_data(eg_contiguous(sample[0]));
        if (!guess || !images) {
            return eg_last_error()->code;
        }
        if (eg_numel(sample[0]) != eg_numel(guess) * PIXELS) {
            return eg_failf(EG_ESHAPE, "results_collect", "an image of a digit has %d pixels", PIXELS);
        }
        for (int64_t i = 0; i < eg_numel(guess); i++) {
            note(r, images + i * PIXELS, (int)eg_get(sample[1], i), (int)eg_get(guess, i));
        }
    }
    return eg_dataset_status(digits);
}

double results_accuracy(const results *r)
{
    return r->seen ? 100 * (double)r->right / (double)r->seen : 0;
}

/* ---- pictures ------------------------------------------------------------------------------ */

eg_status results_grid(const results *r, const char *path)
{
    uint8_t pixels[CELLS][PIXELS];
    char captions[CELLS][16], title[120];
    const char *words[CELLS];
    bool wrong[CELLS];
    int count = r->first_count + r->wrong_count;
    for (int i = 0; i < count; i++) {
        const result *d = i < r->first_count ? &r->first[i] : &r->wrong[i - r->first_count];
        wrong[i] = d->label != d->guess;
        snprintf(captions[i], sizeof captions[i], wrong[i] ? "%d, not %d" : "%d", d->guess, d->label);
        words[i] = captions[i];
        memcpy(pixels[i], d->pixels, PIXELS);
    }
    snprintf(title, sizeof title, "%lld of %lld digits read right (%.2f %%)", (long long)r->right, (long long)r->seen,
             results_accuracy(r));
    eg_status st = EG_OK;
    EG_SCOPE {
        eg_tensor *images = eg_from(EG_SHAPE(count, 1, RESULTS_SIDE, RESULTS_SIDE), EG_U8, pixels);
        eg_tensor *sheet = eg_draw_grid(images, .title = title, .captions = words, .wrong = wrong, .columns = 12);
        st = sheet ? eg_png_save(sheet, path) : eg_last_error()->code;
    }
    return st;
}
