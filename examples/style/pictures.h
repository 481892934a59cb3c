/* pictures.h - pictures as files have them, and as a net is shown them.
 *
 * A picture is u8 [3, H, W]; a canvas f32 [1, 3, H, W] of B, G, R, each minus the mean it has in photos, as the VGG
 * nets were trained ("caffe"). */
#ifndef EXAMPLES_STYLE_PICTURES_H
#define EXAMPLES_STYLE_PICTURES_H

#include <egret/run.h>

#define CANVAS_RED   123.68
#define CANVAS_GREEN 116.779
#define CANVAS_BLUE  103.939

/* A file's, with its longer side of so many pixels, by Lanczos. */
eg_tensor *picture_load(const char *path, int64_t side);
/* The first file of the folder that matches; NULL, with EG_EIO, if none does. */
eg_tensor *picture_load_first(const char *folder, const char *pattern, int64_t side);

/* Without a file: a landscape with a house, other ones for other numbers, and whirls of paint. */
eg_tensor *picture_draw_scene(int64_t height, int64_t width, int64_t number);
eg_tensor *picture_draw_paint(int64_t height, int64_t width);

eg_tensor *picture_to_canvas(eg_tensor *picture);
/* What of it a picture can have. */
eg_tensor *picture_of_canvas(eg_tensor *canvas);
/* In place: each channel within what a picture can have. */
eg_status canvas_clip(eg_tensor *canvas);

/* Pictures beside each other, each made to fit the first. */
eg_tensor *picture_row(eg_tensor *const *pictures, int count);

#endif
