/* draw.h - curves, tables and sheets of images as pictures, and pictures as films.
 *
 *     eg_tensor *sheet = eg_draw_grid(digits, .low = -1, .high = 1, .columns = 8, .scale = 4);
 *     eg_png_save(sheet, "digits.png");
 *
 * A picture is a tensor as image.h has them, u8 [3, H, W] with rows as files have them, in the scope; eg_png_save,
 * eg_events_image and a film take it. Words are drawn with the first plain font that is installed, and left out where
 * there is none; EG_ENOKERNEL where this was built without stb_truetype. Nothing of it is recorded on tapes. */
#ifndef EGRET_DRAW_H
#define EGRET_DRAW_H

#include <egret/base.h>
#include <egret/named.h>
#include <egret/tensor.h>

EG_BEGIN_DECLS

/* ---- curves ------------------------------------------------------------------------------------- */

enum { EG_DRAW_SERIES_MAX = 8 }; /* as many as there are colours to tell apart */

typedef struct eg_draw_series {
    const char *name; /* in the legend; NULL: not there */
    eg_tensor *x;     /* numbers [n]; NULL: 1, 2, 3, ... */
    eg_tensor *y;     /* numbers [n]; what is not finite, or not positive on a log axis, leaves a gap */
    double smooth;    /* from 0, not at all, towards 1: a moving average before the pale values */
} eg_draw_series;

typedef struct eg_draw_plot_options {
    size_t size;
    const char *title, *x_label, *y_label; /* each may be NULL */
    bool log_x, log_y;
    int width, height; /* 0: 1200 x 720; letters and lines grow with the height */
    bool equal;        /* a unit is as long on both axes, as on a map; not with log axes */
} eg_draw_plot_options;

/* Up to EG_DRAW_SERIES_MAX curves. EG_EINVAL where there is not one point to draw or options contradict each other,
 * EG_ESHAPE for x and y of different lengths. */
EG_API eg_tensor *eg_draw_plot_with(const eg_draw_series *series, int n, const eg_draw_plot_options *options);
#define eg_draw_plot(...)             EG_DRAW_PLOT_(__VA_ARGS__, )
#define EG_DRAW_PLOT_(series, n, ...) eg_draw_plot_with(series, n, EG_OPTIONS_(eg_draw_plot_options, __VA_ARGS__))

/* ---- images ------------------------------------------------------------------------------------- */

typedef struct eg_draw_grid_options {
    size_t size;
    double low, high;            /* what becomes 0 and 255; both 0: 0..255 of u8, 0..1 of floats */
    int columns;                 /* images beside each other; 0: about as many as rows */
    int scale;                   /* screen pixels per image pixel; 0: 1, or with words as is seen well */
    const char *title;           /* NULL for none */
    const char *const *captions; /* a line under each of the N images, which may be NULL; NULL for none */
    const bool *wrong;           /* of each whether it is framed and captioned in red; NULL: none is */
} eg_draw_grid_options;

/* images [N, C, H, W], C of 1 or 3, on any device, on one sheet; its places behind the last are black, or, with words,
 * paper. */
EG_API eg_tensor *eg_draw_grid_with(eg_tensor *images, const eg_draw_grid_options *options);
#define eg_draw_grid(...)          EG_DRAW_GRID_(__VA_ARGS__, )
#define EG_DRAW_GRID_(images, ...) eg_draw_grid_with(images, EG_OPTIONS_(eg_draw_grid_options, __VA_ARGS__))

/* image, u8 [3, H, W] or [1, H, W], with a colour (0xrrggbb) laid over it where mask, [H, W] or [1, H, W], is 1, as
 * much of it as the mask is, times opacity 0..1. */
EG_API eg_tensor *eg_draw_overlay(eg_tensor *image, eg_tensor *mask, unsigned colour, double opacity);

typedef struct eg_draw_objects_options {
    size_t size;
    eg_tensor *labels,
        *scores;      /* [k]: the classes, integers, which tell colours, and how likely they are; NULL: none */
    eg_tensor *masks; /* u8 or bool [k, H, W], laid over the photo; NULL: none */
    const char *const *classes; /* their names, over the boxes with the scores; NULL: none */
    int classes_count;
    double least;         /* boxes with a lower score are left out */
    bool dashed;          /* as for what is true, beside what was found */
    int scale;            /* screen pixels per pixel; 0: 1 */
    eg_tensor *keypoints; /* [k, P, 2], x and y of P points of each object, or [k, P, 3]: of those above 0 there; each
                             has a colour of its own; NULL: none */
    eg_tensor *links;     /* integers [L, 2]: keypoints with a line between them; NULL: none */
} eg_draw_objects_options;

/* image, u8 [3, H, W] or [1, H, W], with frames around boxes [k, 4], x and y of the left upper and the right lower
 * corner, the likeliest on top, or without scores the last; NULL where keypoints are enough. What is drawn can be drawn
 * on again. EG_ESHAPE, EG_EDTYPE, EG_EINDEX. */
EG_API eg_tensor *eg_draw_objects_with(eg_tensor *image, eg_tensor *boxes, const eg_draw_objects_options *options);
#define eg_draw_objects(...) EG_DRAW_OBJECTS_(__VA_ARGS__, )
#define EG_DRAW_OBJECTS_(image, boxes, ...) \
    eg_draw_objects_with(image, boxes, EG_OPTIONS_(eg_draw_objects_options, __VA_ARGS__))

/* ---- tables ------------------------------------------------------------------------------------- */

typedef struct eg_draw_heatmap_options {
    size_t size;
    const char *title;                                  /* NULL for none */
    const char *const *row_words, *const *column_words; /* one for each; each may be NULL */
    double least, most; /* what the ends of the colour scale stand for; both 0: the values' own range */
} eg_draw_heatmap_options;

/* values, numbers [rows, columns], as colours beside their scale; what is not finite is left white. */
EG_API eg_tensor *eg_draw_heatmap_with(eg_tensor *values, const eg_draw_heatmap_options *options);
#define eg_draw_heatmap(...)          EG_DRAW_HEATMAP_(__VA_ARGS__, )
#define EG_DRAW_HEATMAP_(values, ...) eg_draw_heatmap_with(values, EG_OPTIONS_(eg_draw_heatmap_options, __VA_ARGS__))

/* ---- sounds ------------------------------------------------------------------------------------- */

typedef struct eg_draw_sound_options {
    size_t size;
    const char *title;  /* NULL for none */
    double rate;        /* samples, or frames, a second; 0: they are counted */
    double hertz;       /* of a spectrogram: where the last bin is; 0: bins are counted */
    double least, most; /* of a spectrogram: what the ends of the colour scale stand for; both 0: the values' range */
    int width, height;  /* 0: 1200 x 360 */
} eg_draw_sound_options;

/* x, numbers [samples] or [channels, samples], over time: from the lowest to the highest value in each column of
 * pixels, channels below each other on one scale; what is not finite is left out. */
EG_API eg_tensor *eg_draw_waveform_with(eg_tensor *x, const eg_draw_sound_options *options);
#define eg_draw_waveform(...)     EG_DRAW_WAVEFORM_(__VA_ARGS__, )
#define EG_DRAW_WAVEFORM_(x, ...) eg_draw_waveform_with(x, EG_OPTIONS_(eg_draw_sound_options, __VA_ARGS__))

/* Features of frames, numbers [frames, bins], as colours: time to the right, bins upwards, in each pixel the mean of
 * what falls into it. For spectra of eg_spectrogram take eg_decibels (ops/audio.h) first. */
EG_API eg_tensor *eg_draw_spectrogram_with(eg_tensor *values, const eg_draw_sound_options *options);
#define eg_draw_spectrogram(...) EG_DRAW_SPECTROGRAM_(__VA_ARGS__, )
#define EG_DRAW_SPECTROGRAM_(values, ...) \
    eg_draw_spectrogram_with(values, EG_OPTIONS_(eg_draw_sound_options, __VA_ARGS__))

/* ---- films -------------------------------------------------------------------------------------- */

/* Pictures one after the other, as an animated GIF that repeats. Each has at most 256 colours: gray pictures and those
 * with few colours are exact; of others the colours are the means of 256 boxes, mixed by dots. */
typedef struct eg_film eg_film;

/* Each picture is shown for so many seconds, in steps of 0.01. EG_ENOKERNEL where this was built without giflib. */
EG_API eg_film *eg_film_new(const char *path, double seconds);
/* Adds a picture, u8 [1, H, W] or [3, H, W], as large as the first. After a failure only closing is left. */
EG_API eg_status eg_film_add(eg_film *film, eg_tensor *picture);
/* Puts the file into its place, unless something failed or there is no picture, and frees. Returns the first failure;
 * given NULL, what is on record. */
EG_API eg_status eg_film_close(eg_film *film);

EG_END_DECLS

#endif
