/* picture.c - what is drawn, as tensors; see egret/draw.h. */
#include <math.h>
#include <stdlib.h>

#include <egret/egret.h>
#include <egret/draw.h>

#include "grid.h"
#include "heatmap.h"
#include "lib/core/base.h"
#include "plot.h"
#include "sound.h"

/* ---- canvases ------------------------------------------------------------------------------------ */

#ifdef DRAW_PICTURES

/* Frees the canvas; NULL becomes what is on record. */
static eg_tensor *picture_of(canvas *c)
{
    eg_tensor *t = c ? eg_from(EG_SHAPE(c->height, c->width, 3), EG_U8, c->pixels) : NULL;
    canvas_free(c);
    return eg_permute(eg_to(t, eg_cpu()), EG_AXES(2, 0, 1));
}

/* f64, on the CPU, contiguous, of so many axes; its numbers as well. NULL stays NULL without a failure. */
static const double *numbers(const char *op, eg_tensor *t, int ndim)
{
    if (t && eg_ndim(t) != ndim) {
        eg_failf(EG_ESHAPE, op, "numbers of %d axes are wanted, not of %d", ndim, eg_ndim(t));
        return NULL;
    }
    static const double none;
    const double *all = eg_data(eg_contiguous(eg_cast(eg_to(eg_detach(t), eg_cpu()), EG_F64)));
    return t && eg_numel(t) == 0 ? &none : all;
}

static canvas *draw_series(const eg_draw_series *given, int n, const eg_draw_plot_options *o)
{
    static const char op[] = "eg_draw_plot";
    plot_series series[EG_DRAW_SERIES_MAX];
    for (int i = 0; i < n; i++) {
        const eg_draw_series *s = &given[i];
        series[i] = (plot_series){.name = s->name, .count = (int)eg_numel(s->y), .smooth = s->smooth};
        series[i].y = numbers(op, s->y, 1);
        series[i].x = s->x ? numbers(op, s->x, 1) : NULL;
        if (!series[i].y || (s->x && !series[i].x)) {
            return NULL;
        }
        if (s->x && eg_numel(s->x) != eg_numel(s->y)) {
            eg_failf(EG_ESHAPE, op, "series %d has %lld x and %lld y", i, (long long)eg_numel(s->x),
                     (long long)eg_numel(s->y));
            return NULL;
        }
    }
    const plot p = {.title = o->title,
                    .x_label = o->x_label,
                    .y_label = o->y_label,
                    .series = series,
                    .count = n,
                    .log_x = o->log_x,
                    .log_y = o->log_y,
                    .width = o->width,
                    .height = o->height,
                    .equal = o->equal};
    font *words = font_if_any();
    canvas *c = plot_draw(&p, words);
    font_free(words);
    return c;
}

eg_tensor *eg_draw_plot_with(const eg_draw_series *series, int n, const eg_draw_plot_options *options)
{
    eg_draw_plot_options o;
    eg__options(&o, sizeof o, options);
    if (n < 1 || n > EG_DRAW_SERIES_MAX) {
        eg_failf(EG_EINVAL, "eg_draw_plot", "there are 1 to %d series, not %d", EG_DRAW_SERIES_MAX, n);
        return NULL;
    }
    if (o.equal && (o.log_x || o.log_y)) {
        eg_fail(EG_EINVAL, "eg_draw_plot", "units of log axes have no length that could be equal");
        return NULL;
    }
    eg_scope s = eg_scope_push();
    return eg_scope_pop(s, picture_of(draw_series(series, n, &o)));
}

eg_tensor *eg_draw_heatmap_with(eg_tensor *values, const eg_draw_heatmap_options *options)
{
    eg_draw_heatmap_options o;
    eg__options(&o, sizeof o, options);
    eg_scope s = eg_scope_push();
    const double *all = numbers("eg_draw_heatmap", values, 2);
    if (!all) {
        return eg_scope_pop(s, NULL);
    }
    font *words = font_if_any();
    canvas *c = heatmap_draw(&(heatmap){.title = o.title,
                                        .values = all,
                                        .rows = (int)eg_size(values, 0),
                                        .columns = (int)eg_size(values, 1),
                                        .row_words = o.row_words,
                                        .column_words = o.column_words,
                                        .least = o.least,
                                        .most = o.most},
                             words);
    font_free(words);
    return eg_scope_pop(s, picture_of(c));
}

/* Of a waveform, [samples] or [channels, samples], or a spectrogram, [frames, bins]. */
static eg_tensor *draw_sound(const char *op, eg_tensor *x, bool wave, const eg_draw_sound_options *o)
{
    eg_scope s = eg_scope_push();
    const double *all = numbers(op, wave && x && eg_ndim(x) == 1 ? eg_unsqueeze(x, 0) : x, 2);
    if (!all) {
        return eg_scope_pop(s, NULL);
    }
    bool one = eg_ndim(x) == 1;
    sound_sheet sheet = {.title = o->title,
                         .values = all,
                         .rows = one ? 1 : (int)eg_size(x, 0),
                         .columns = (int)eg_size(x, one ? 0 : 1),
                         .hertz = o->hertz,
                         .least = o->least,
                         .most = o->most,
                         .width = o->width,
                         .height = o->height};
    sheet.seconds = o->rate > 0 ? (wave ? sheet.columns : sheet.rows) / o->rate : 0;
    font *words = font_if_any();
    canvas *c = wave ? waveform_draw(&sheet, words) : spectrogram_draw(&sheet, words);
    font_free(words);
    return eg_scope_pop(s, picture_of(c));
}

eg_tensor *eg_draw_waveform_with(eg_tensor *x, const eg_draw_sound_options *options)
{
    eg_draw_sound_options o;
    eg__options(&o, sizeof o, options);
    return draw_sound("eg_draw_waveform", x, true, &o);
}

eg_tensor *eg_draw_spectrogram_with(eg_tensor *values, const eg_draw_sound_options *options)
{
    eg_draw_sound_options o;
    eg__options(&o, sizeof o, options);
    return draw_sound("eg_draw_spectrogram", values, false, &o);
}

/* A sheet with words: images are u8 [N, H, W, C] in memory. */
static eg_tensor *captioned(eg_tensor *bytes, const eg_draw_grid_options *o)
{
    int n = (int)eg_size(bytes, 0), height = (int)eg_size(bytes, 1), width = (int)eg_size(bytes, 2);
    int channels = (int)eg_size(bytes, 3);
    const uint8_t *pixels = eg_data(bytes);
    grid_cell *cells = pixels ? calloc((size_t)(n ? n : 1), sizeof *cells) : NULL;
    if (pixels && !cells) {
        eg_fail(EG_ENOMEM, "eg_draw_grid", "out of memory");
    }
    for (int i = 0; cells && i < n; i++) {
        cells[i] = (grid_cell){.pixels = pixels + (size_t)i * (size_t)(height * width * channels),
                               .caption = o->captions ? o->captions[i] : NULL,
                               .wrong = o->wrong && o->wrong[i]};
    }
    const grid g = {.title = o->title,
                    .cells = cells,
                    .count = n,
                    .columns = o->columns,
                    .width = width,
                    .height = height,
                    .channels = channels,
                    .scale = o->scale};
    font *words = font_if_any();
    eg_tensor *made = cells ? picture_of(grid_draw(&g, words)) : NULL;
    font_free(words);
    free(cells);
    return made;
}

#else

static eg_tensor *no_letters(const char *op)
{
    eg_fail(EG_ENOKERNEL, op, "this build has no stb_truetype to draw with");
    return NULL;
}

eg_tensor *eg_draw_plot_with(const eg_draw_series *series, int n, const eg_draw_plot_options *options)
{
    (void)series, (void)n, (void)options;
    return no_letters("eg_draw_plot");
}

eg_tensor *eg_draw_heatmap_with(eg_tensor *values, const eg_draw_heatmap_options *options)
{
    (void)values, (void)options;
    return no_letters("eg_draw_heatmap");
}

eg_tensor *eg_draw_waveform_with(eg_tensor *x, const eg_draw_sound_options *options)
{
    (void)x, (void)options;
    return no_letters("eg_draw_waveform");
}

eg_tensor *eg_draw_spectrogram_with(eg_tensor *values, const eg_draw_sound_options *options)
{
    (void)values, (void)options;
    return no_letters("eg_draw_spectrogram");
}

static eg_tensor *captioned(eg_tensor *bytes, const eg_draw_grid_options *o)
{
    (void)bytes, (void)o;
    return no_letters("eg_draw_grid");
}

#endif

/* ---- sheets -------------------------------------------------------------------------------------- */

/* Of any numbers u8 [N, H, W, C], contiguous. */
static eg_tensor *bytes_of(eg_tensor *images, const eg_draw_grid_options *o)
{
    eg_tensor *x = eg_to(eg_detach(images), eg_cpu());
    bool own = o->low == 0 && o->high == 0;
    if (!own || eg_dtype_of(x) != EG_U8) {
        double low = o->low, high = own ? 1 : o->high;
        x = eg_mul_scalar(eg_sub_scalar(eg_cast(x, EG_F32), low), 255 / (high - low));
        x = eg_cast(eg_round(eg_clamp(x, 0, 255)), EG_U8);
    }
    return eg_contiguous(eg_permute(x, EG_AXES(0, 2, 3, 1)));
}

/* Rows of images without anything between them. */
static eg_tensor *plain(eg_tensor *bytes, int64_t columns, int64_t scale)
{
    int64_t n = eg_size(bytes, 0), h = eg_size(bytes, 1), w = eg_size(bytes, 2), c = eg_size(bytes, 3);
    int64_t rows = (n + columns - 1) / columns;
    eg_tensor *rest = eg_to(eg_zeros(EG_SHAPE(rows * columns - n, h, w, c), EG_U8), eg_cpu());
    eg_tensor *all = eg_concat((eg_tensor *[]){bytes, rest}, 2, 0);
    eg_tensor *x = eg_permute(eg_reshape(all, EG_SHAPE(rows, columns, h, w, c)), EG_AXES(0, 2, 1, 3, 4));
    x = eg_reshape(x, EG_SHAPE(rows * h, columns * w, c));
    x = scale > 1 ? eg_repeat_interleave(eg_repeat_interleave(x, scale, 0), scale, 1) : x;
    return eg_permute(x, EG_AXES(2, 0, 1));
}

static eg_status check_images(const eg_tensor *images, const eg_draw_grid_options *o)
{
    int64_t c = images && eg_ndim(images) == 4 ? eg_size(images, 1) : 0;
    if (!images) {
        return eg_last_error()->code ? eg_last_error()->code : eg_fail(EG_EINVAL, "eg_draw_grid", "images is NULL");
    }
    if ((c != 1 && c != 3) || eg_numel(images) == 0 || eg_size(images, 0) > 1 << 20 || eg_size(images, 2) > 32768 ||
        eg_size(images, 3) > 32768) {
        return eg_fail(EG_ESHAPE, "eg_draw_grid", "images must be [N, C, H, W] with C of 1 or 3, and not empty");
    }
    if (o->columns < 0 || o->scale < 0 || o->scale > 64 || (o->low >= o->high && (o->low != 0 || o->high != 0)) ||
        !isfinite(o->high - o->low)) {
        return eg_failf(EG_EINVAL, "eg_draw_grid", "%d columns, scale %d, %g..%g: no such sheet", o->columns, o->scale,
                        o->low, o->high);
    }
    return EG_OK;
}

eg_tensor *eg_draw_grid_with(eg_tensor *images, const eg_draw_grid_options *options)
{
    eg_draw_grid_options o;
    eg__options(&o, sizeof o, options);
    if (check_images(images, &o)) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *bytes = bytes_of(images, &o);
    int64_t n = eg_size(images, 0), columns = o.columns ? eg__min(o.columns, n) : (int64_t)ceil(sqrt((double)n));
    bool words = o.title || o.captions || o.wrong;
    return eg_scope_pop(s, !bytes ? NULL : words ? captioned(bytes, &o) : plain(bytes, columns, o.scale));
}

eg_tensor *eg_draw_overlay(eg_tensor *image, eg_tensor *mask, unsigned colour, double opacity)
{
    const double paint[3] = {(double)(colour >> 16 & 255), (double)(colour >> 8 & 255), (double)(colour & 255)};
    eg_scope s = eg_scope_push();
    eg_tensor *here = eg_cast(eg_to(image, eg_cpu()), EG_F32);
    eg_tensor *share = eg_mul_scalar(eg_cast(eg_to(eg_detach(mask), eg_cpu()), EG_F32), opacity);
    if (here && eg_size(here, 0) == 1) {
        here = eg_expand(here, EG_SHAPE(3, -1, -1));
    }
    eg_tensor *over = eg_to(eg_reshape(eg_from_values(EG_SHAPE(3), EG_F32, paint), EG_SHAPE(3, 1, 1)), eg_cpu());
    eg_tensor *mixed = eg_add(here, eg_mul(share, eg_sub(over, here)));
    return eg_scope_pop(s, eg_cast(eg_round(eg_clamp(mixed, 0, 255)), EG_U8));
}
