/* pictures.c - see pictures.h. */
#include "pictures.h"

#include <glob.h>
#include <math.h>

static const char op[] = "style";

/* ---- files ------------------------------------------------------------------------------------------- */

/* So that neither side is longer than there is room, in the same proportions. */
static eg_tensor *fitted(eg_tensor *picture, int64_t height, int64_t width)
{
    double h = (double)eg_size(picture, 1), w = (double)eg_size(picture, 2);
    double scale = fmin((double)height / h, (double)width / w);
    int64_t rows = llround(h * scale), columns = llround(w * scale);
    return eg_image_resize(picture, rows > 0 ? rows : 1, columns > 0 ? columns : 1, .mode = EG_RESIZE_LANCZOS3,
                           .antialias = true);
}

eg_tensor *picture_load(const char *path, int64_t side)
{
    eg_tensor *picture = eg_image_load(path, .channels = 3, .other_formats = true);
    return picture ? fitted(picture, side, side) : NULL;
}

eg_tensor *picture_load_first(const char *folder, const char *pattern, int64_t side)
{
    glob_t found = {.gl_pathc = 0};
    eg_tensor *picture = NULL;
    if (glob(eg_path_in(folder, pattern).text, 0, NULL, &found) == 0) {
        picture = picture_load(found.gl_pathv[0], side);
    } else {
        eg_failf(EG_EIO, op, "%.200s has no %s", folder, pattern);
    }
    globfree(&found);
    return picture;
}

/* ---- drawn ------------------------------------------------------------------------------------------- */

typedef struct colour {
    double part[3];
} colour;

static colour rgb(unsigned hex)
{
    return (colour){{(hex >> 16 & 255) / 255.0, (hex >> 8 & 255) / 255.0, (hex & 255) / 255.0}};
}

/* b where share is 1, a where it is 0. */
static colour mixed(colour a, colour b, double share)
{
    share = fmin(1, fmax(0, share));
    for (int c = 0; c < 3; c++) {
        a.part[c] += share * (b.part[c] - a.part[c]);
    }
    return a;
}

/* b inside, where `depth` is positive, with an edge that is as soft as a pixel. */
static colour laid(colour a, colour b, double depth, double pixel)
{
    return mixed(a, b, 0.5 + depth / pixel);
}

static double box(double x, double y, double x0, double y0, double width, double height)
{
    return fmin(width / 2 - fabs(x - x0), height / 2 - fabs(y - y0));
}

/* x from the left and y from the top, both in heights; c: chances. */
static colour scene(double x, double y, double pixel, const double *c)
{
    double sun = 0.2 + 0.9 * c[0], house = 0.35 + 0.6 * c[1], floor = 0.62 + 0.1 * c[2], size = 0.24 + 0.1 * c[3];
    colour at = mixed(mixed(rgb(0x2f6fb5), rgb(0x7d4f9e), c[4]), rgb(0xf6d9a8), 1.5 * y);
    at = laid(at, rgb(0xfff1b0), 0.07 + 0.04 * c[5] - hypot(x - sun, y - 0.2), pixel);
    double peaks = 0.44 - 0.12 * fabs(sin(5 * x + 6 * c[6])) - 0.03 * sin(23 * x);
    at = laid(at, mixed(rgb(0x5c6f8f), rgb(0xe9eef5), 9 * (peaks + 0.05 - y)), y - peaks, pixel);
    double hill = floor - 0.07 * sin(4 * x + 6 * c[7]);
    at = laid(at, mixed(rgb(0x6fae45), rgb(0x25521f), 1.6 * (y - hill) + 0.15 * sin(60 * x) * sin(90 * y)), y - hill,
              pixel);
    at = laid(at, rgb(0xe6d8c0), box(x, y, house, floor, 1.2 * size, 0.7 * size), pixel);
    double roof = fmin(floor - 0.3 * size - y, 0.55 * (y - floor + 1.05 * size) - 0.6 * fabs(x - house));
    at = laid(at, rgb(0xa8402c), roof, pixel);
    at = laid(at, rgb(0x4b3324), box(x, y, house - 0.3 * size, floor + 0.12 * size, 0.2 * size, 0.45 * size), pixel);
    at = laid(at, rgb(0x84c5e8), box(x, y, house + 0.25 * size, floor - 0.02 * size, 0.3 * size, 0.25 * size), pixel);
    double tree = house > 0.65 ? house - 0.42 : house + 0.45;
    at = laid(at, rgb(0x5a3b22), box(x, y, tree, floor + 0.04, 0.03, 0.26), pixel);
    double leaves = 0.11 + 0.012 * sin(9 * atan2(y - floor + 0.14, x - tree)) - hypot(x - tree, y - floor + 0.14);
    return laid(at, mixed(rgb(0x2c6b2f), rgb(0x8fc35a), 4 * leaves + 0.2 * sin(70 * x + 50 * y)), leaves, pixel);
}

/* Strokes that go round a few places, of the colours of night. */
static colour paint(double x, double y)
{
    static const double whirls[][3] = {
        {0.3, 0.3, 1}, {0.95, 0.35, -1}, {0.62, 0.72, 1}, {1.2, 0.85, -1}, {0.1, 0.85, -1}};
    double along = 34 * y + 3 * sin(5 * x) + 2 * sin(11 * x + 7 * y), wave = sin(along), glow = 0;
    for (int i = 0; i < 5; i++) {
        double dx = x - whirls[i][0], dy = y - whirls[i][1], r = hypot(dx, dy);
        wave += exp(-r * r / 0.035) * (sin(60 * r + 3 * whirls[i][2] * atan2(dy, dx)) - wave);
        glow += exp(-r * r / 0.004);
    }
    double stroke = 0.5 + 0.5 * wave, grain = 0.5 + 0.5 * sin(2.3 * wave + 40 * x + 9 * sin(31 * y));
    colour at = mixed(rgb(0x0b1f4e), rgb(0x3f7fc4), stroke);
    at = mixed(at, rgb(0xbfd8e6), pow(stroke, 6) * grain);
    at = mixed(at, rgb(0x123a2a), 0.7 * pow(1 - stroke, 4) * grain);
    return mixed(at, mixed(rgb(0xe8902a), rgb(0xfbe98a), stroke), glow + 0.9 * pow(stroke * grain, 8));
}

/* chance NULL: paint. */
static eg_tensor *drawn(int64_t height, int64_t width, const double *chance)
{
    eg_tensor *picture = eg_empty(EG_SHAPE(3, height, width), EG_U8);
    uint8_t *pixels = eg_data_mut(picture);
    for (int64_t i = 0; pixels && i < height * width; i++) {
        double pixel = 1.0 / (double)height, x = ((double)(i % width) + 0.5) * pixel,
               y = ((double)(i / width) + 0.5) * pixel;
        colour at = chance ? scene(x, y, pixel, chance) : paint(x, y);
        for (int c = 0; c < 3; c++) {
            pixels[c * height * width + i] = (uint8_t)lround(255 * at.part[c]);
        }
    }
    return pixels ? picture : NULL;
}

eg_tensor *picture_draw_scene(int64_t height, int64_t width, int64_t number)
{
    double chance[8];
    eg_random_state before = eg_random_get_state();
    eg_seed(0x5ce4e + (uint64_t)number);
    eg_status st = eg_to_values(eg_uniform(EG_SHAPE(8), 0, 1, EG_F64), chance);
    eg_random_set_state(before);
    return st ? NULL : drawn(height, width, chance);
}

eg_tensor *picture_draw_paint(int64_t height, int64_t width)
{
    return drawn(height, width, NULL);
}

/* ---- canvases ---------------------------------------------------------------------------------------- */

/* Of B, G, R, where the canvas is. */
static eg_tensor *means_for(const eg_tensor *canvas)
{
    static const double means[] = {CANVAS_BLUE, CANVAS_GREEN, CANVAS_RED};
    return eg_to(eg_from_values(EG_SHAPE(3, 1, 1), EG_F32, means), eg_device_of(canvas));
}

eg_tensor *picture_to_canvas(eg_tensor *picture)
{
    return eg_contiguous(eg_unsqueeze(eg_image_preprocess(picture, EG_KERAS_CAFFE), 0));
}

eg_tensor *picture_of_canvas(eg_tensor *canvas)
{
    eg_tensor *shown = eg_flip(eg_add(eg_cast(eg_select(canvas, 0, 0), EG_F32), means_for(canvas)), EG_AXES(0));
    return eg_image_to_u8(eg_mul_scalar(eg_to(shown, eg_cpu()), 1 / 255.0));
}

eg_status canvas_clip(eg_tensor *canvas)
{
    eg_tensor *low = eg_neg(means_for(canvas));
    return eg_minimum_(eg_maximum_(canvas, low), eg_add_scalar(low, 255)) ? EG_OK : eg_last_error()->code;
}

eg_tensor *picture_row(eg_tensor *const *pictures, int count)
{
    enum { MOST = 16 };
    eg_tensor *all[MOST];
    int64_t height = eg_size(pictures[0], 1), width = eg_size(pictures[0], 2);
    if (count > MOST) {
        eg_failf(EG_EINVAL, op, "a row has at most %d pictures", MOST);
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        all[i] = eg_image_crop_or_pad(fitted(pictures[i], height, width), height, width);
    }
    return eg_draw_grid(eg_stack(all, count, 0), .columns = count);
}
