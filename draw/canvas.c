/* canvas.c - see canvas.h. */
#include "canvas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <egret/error.h>
#include <stb/stb_truetype.h>

static const double widest_stroke = 64;

static int clamp_int(int64_t value, int least, int most)
{
    return (int)(value < least ? least : value > most ? most : value);
}

/* The nearest pixel index, safe for any finite or infinite value. */
static int clamp_pixel(double value, int most)
{
    return value < 0 ? 0 : value > most ? most : (int)value;
}

canvas *canvas_new(int width, int height, rgb paper)
{
    if (width < 1 || height < 1 || width > CANVAS_SIDE_MOST || height > CANVAS_SIDE_MOST) {
        eg_failf(EG_EINVAL, "canvas_new", "a picture of %d x %d pixels: each side must have 1 to %d", width, height,
                 CANVAS_SIDE_MOST);
        return NULL;
    }
    size_t area = (size_t)width * (size_t)height;
    canvas *c = calloc(1, sizeof *c);
    if (c) {
        *c = (canvas){width, height, calloc(area, 3), calloc(area, 1)};
    }
    if (!c || !c->pixels || !c->ink) {
        canvas_free(c);
        eg_failf(EG_ENOMEM, "canvas_new", "out of memory for a picture of %d x %d pixels", width, height);
        return NULL;
    }
    canvas_fill(c, paper);
    return c;
}

void canvas_free(canvas *c)
{
    if (c) {
        free(c->pixels);
        free(c->ink);
        free(c);
    }
}

static uint8_t *pixel_at(const canvas *c, int x, int y)
{
    return c->pixels + 3 * ((size_t)y * (size_t)c->width + (size_t)x);
}

/* Mixes a pixel with a colour; cover is 0 to 255. */
static void mix(uint8_t *pixel, rgb colour, int cover)
{
    pixel[0] = (uint8_t)(pixel[0] + (colour.r - pixel[0]) * cover / 255);
    pixel[1] = (uint8_t)(pixel[1] + (colour.g - pixel[1]) * cover / 255);
    pixel[2] = (uint8_t)(pixel[2] + (colour.b - pixel[2]) * cover / 255);
}

void canvas_fill(canvas *c, rgb colour)
{
    canvas_rectangle(c, 0, 0, c->width, c->height, colour);
}

void canvas_rectangle(canvas *c, int x, int y, int width, int height, rgb colour)
{
    canvas_tint(c, x, y, width, height, colour, 1);
}

void canvas_frame(canvas *c, int x, int y, int width, int height, int thickness, rgb colour)
{
    int t = thickness;
    canvas_rectangle(c, x - t, y - t, width + 2 * t, t, colour);
    canvas_rectangle(c, x - t, y + height, width + 2 * t, t, colour);
    canvas_rectangle(c, x - t, y, t, height, colour);
    canvas_rectangle(c, x + width, y, t, height, colour);
}

void canvas_tint(canvas *c, int x, int y, int width, int height, rgb colour, double opacity)
{
    int cover = clamp_pixel(opacity * 255 + 0.5, 255);
    int right = clamp_int((int64_t)x + width, 0, c->width);
    int bottom = clamp_int((int64_t)y + height, 0, c->height);
    for (int row = y < 0 ? 0 : y; row < bottom; row++) {
        for (int column = x < 0 ? 0 : x; column < right; column++) {
            mix(pixel_at(c, column, row), colour, cover);
        }
    }
}

/* ---- strokes ---- */

typedef struct box {
    int left, top, right, bottom; /* right and bottom are outside */
} box;

/* The pixels that a stroke between two points can touch. */
static box stroke_box(const canvas *c, double x0, double y0, double x1, double y1, double reach)
{
    return (box){
        clamp_pixel(fmin(x0, x1) - reach, c->width),
        clamp_pixel(fmin(y0, y1) - reach, c->height),
        clamp_pixel(fmax(x0, x1) + reach + 1, c->width),
        clamp_pixel(fmax(y0, y1) + reach + 1, c->height),
    };
}

/* Raises the ink of the pixels near a segment to their share of it: half where the pixel's centre
 * lies on the stroke's edge. */
static void ink_segment(canvas *c, double x0, double y0, double x1, double y1, double thickness)
{
    double half = thickness / 2, dx = x1 - x0, dy = y1 - y0, length2 = dx * dx + dy * dy;
    /* A stroke thinner than a pixel keeps the width of one and becomes fainter. */
    double strength = thickness < 1 ? thickness : 1, edge = (half > 0.5 ? half : 0.5) + 0.5;
    box b = stroke_box(c, x0, y0, x1, y1, edge);
    for (int y = b.top; y < b.bottom; y++) {
        uint8_t *ink = c->ink + (size_t)y * (size_t)c->width;
        for (int x = b.left; x < b.right; x++) {
            double px = x + 0.5 - x0, py = y + 0.5 - y0;
            double along = length2 > 0 ? (px * dx + py * dy) / length2 : 0;
            along = along < 0 ? 0 : along > 1 ? 1 : along;
            double away = hypot(px - along * dx, py - along * dy);
            double share = (edge - away) * strength;
            int cover = clamp_pixel(share * 255, 255);
            ink[x] = cover > ink[x] ? (uint8_t)cover : ink[x];
        }
    }
}

/* Pours the ink of a box onto the canvas and leaves none behind. */
static void pour_ink(canvas *c, box b, rgb colour, double opacity)
{
    for (int y = b.top; y < b.bottom; y++) {
        for (int x = b.left; x < b.right; x++) {
            uint8_t *ink = c->ink + (size_t)y * (size_t)c->width + (size_t)x;
            if (*ink) {
                mix(pixel_at(c, x, y), colour, (int)(*ink * opacity + 0.5));
                *ink = 0;
            }
        }
    }
}

static bool is_drawable(double x, double y)
{
    return isfinite(x) && isfinite(y) && fabs(x) < 1e6 && fabs(y) < 1e6;
}

void canvas_polyline(canvas *c, const double *xs, const double *ys, int count, double thickness, rgb colour,
                     double opacity)
{
    box all = {c->width, c->height, 0, 0};
    thickness = thickness < widest_stroke ? thickness : widest_stroke;
    opacity = opacity < 0 ? 0 : opacity > 1 ? 1 : opacity;
    for (int i = 0; i < count; i++) {
        if (!is_drawable(xs[i], ys[i])) {
            continue;
        }
        /* Back to the point before, or to itself where there is none. */
        int from = i > 0 && is_drawable(xs[i - 1], ys[i - 1]) ? i - 1 : i;
        ink_segment(c, xs[from], ys[from], xs[i], ys[i], thickness);
        box b = stroke_box(c, xs[from], ys[from], xs[i], ys[i], widest_stroke);
        all.left = b.left < all.left ? b.left : all.left;
        all.top = b.top < all.top ? b.top : all.top;
        all.right = b.right > all.right ? b.right : all.right;
        all.bottom = b.bottom > all.bottom ? b.bottom : all.bottom;
    }
    pour_ink(c, all, colour, opacity);
}

void canvas_line(canvas *c, double x0, double y0, double x1, double y1, double thickness, rgb colour)
{
    canvas_polyline(c, (double[]){x0, x1}, (double[]){y0, y1}, 2, thickness, colour, 1);
}

/* ---- text and images ---- */

/* Places are told along the line and across it, downwards from the base line; `up` turns them. */
static void draw_glyph(canvas *c, const font *f, float scale, int character, double along, double across, bool up,
                       rgb colour)
{
    double column = floor(along), row = floor(across);
    int width, height, left, top;
    unsigned char *cover =
        stbtt_GetCodepointBitmapSubpixel(font_info(f), scale, scale, (float)(along - column), (float)(across - row),
                                         character, &width, &height, &left, &top);
    if (!cover) {
        return; /* a space, or no memory for the letter */
    }
    for (int j = 0; j < height; j++) {
        for (int i = 0; i < width; i++) {
            int u = (int)column + left + i, v = (int)row + top + j;
            int px = up ? v : u, py = up ? -u - 1 : v;
            if (px >= 0 && py >= 0 && px < c->width && py < c->height) {
                mix(pixel_at(c, px, py), colour, cover[j * width + i]);
            }
        }
    }
    stbtt_FreeBitmap(cover, NULL);
}

static void draw_text(canvas *c, const font *f, double size, double along, double across, bool up, canvas_align align,
                      rgb colour, const char *text)
{
    if (!f || !text || !is_drawable(along, across)) {
        return;
    }
    const stbtt_fontinfo *info = font_info(f);
    float scale = stbtt_ScaleForMappingEmToPixels(info, (float)size);
    double width = align == CANVAS_LEFT ? 0 : font_width(f, size, text);
    along -= align == CANVAS_RIGHT ? width : width / 2;
    int before = 0, advance, bearing;
    for (int character; (character = font_next_character(&text)) != 0; before = character) {
        if (before) {
            along += (double)scale * stbtt_GetCodepointKernAdvance(info, before, character);
        }
        draw_glyph(c, f, scale, character, along, across, up, colour);
        stbtt_GetCodepointHMetrics(info, character, &advance, &bearing);
        along += (double)scale * advance;
    }
}

void canvas_text(canvas *c, const font *f, double size, double x, double y, canvas_align align, rgb colour,
                 const char *text)
{
    draw_text(c, f, size, x, y, false, align, colour, text);
}

void canvas_text_up(canvas *c, const font *f, double size, double x, double y, canvas_align align, rgb colour,
                    const char *text)
{
    draw_text(c, f, size, -y, x, true, align, colour, text);
}

void canvas_image(canvas *c, int x, int y, const uint8_t *pixels, int width, int height, int channels, int scale)
{
    for (int j = 0; j < height; j++) {
        for (int i = 0; i < width; i++, pixels += channels) {
            rgb colour =
                channels == 3 ? (rgb){pixels[0], pixels[1], pixels[2]} : (rgb){pixels[0], pixels[0], pixels[0]};
            canvas_rectangle(c, x + i * scale, y + j * scale, scale, scale, colour);
        }
    }
}
