/* objects.c - see objects.h. */
#include "objects.h"

#include <math.h>
#include <stddef.h>

static const rgb black = {0, 0, 0}, white = {255, 255, 255};

/* Colours that are far from each other, whatever number comes next: hues a golden section apart. */
static rgb colour_of(int64_t label)
{
    if (label < 0) {
        return (rgb){150, 150, 150};
    }
    uint8_t part[3];
    const double hue = 6 * fmod(0.02 + 0.61803398874989485 * (double)(label % 10007), 1);
    for (int i = 0; i < 3; i++) { /* full within 1 of its own hue: red 0, green 2, blue 4; nothing 2 away */
        const double from = fabs(hue - 2 * i), away = fmin(from, 6 - from);
        part[i] = (uint8_t)(255 * (0.16 + 0.84 * fmin(fmax(2 - away, 0), 1)));
    }
    return (rgb){part[0], part[1], part[2]};
}

/* Whether letters on it are better seen in black. */
static bool is_light(rgb c)
{
    return 299 * c.r + 587 * c.g + 114 * c.b > 140000;
}

static void draw_mask(canvas *c, const object_sheet *s, const uint8_t *mask, rgb colour)
{
    for (int y = 0; y < s->height; y++) {
        for (int x = 0; x < s->width;) {
            int end = x;
            while (end < s->width && mask[y * s->width + end]) {
                end++;
            }
            if (end > x) {
                canvas_tint(c, x * s->scale, y * s->scale, (end - x) * s->scale, s->scale, colour, 0.45);
            }
            x = end + (end < s->width && !mask[y * s->width + end]);
        }
    }
}

/* A side in dashes, so that what is true can be told from what was found. */
static void draw_side(canvas *c, const double *from, const double *to, double thickness, rgb colour, bool dashed)
{
    const double length = hypot(to[0] - from[0], to[1] - from[1]), dash = dashed ? 4 * thickness : length;
    for (double at = 0; at < length || at == 0; at += 2 * dash) {
        const double a = length > 0 ? at / length : 0, b = length > 0 ? fmin((at + dash) / length, 1) : 0;
        canvas_line(c, from[0] + a * (to[0] - from[0]), from[1] + a * (to[1] - from[1]),
                    from[0] + b * (to[0] - from[0]), from[1] + b * (to[1] - from[1]), thickness, colour);
        if (!(dash > 0)) {
            return;
        }
    }
}

static void draw_box(canvas *c, const double *b, double thickness, rgb colour, bool dashed)
{
    const double corner[5][2] = {{b[0], b[1]}, {b[2], b[1]}, {b[2], b[3]}, {b[0], b[3]}, {b[0], b[1]}};
    for (int i = 0; i < 4; i++) {
        draw_side(c, corner[i], corner[i + 1], thickness, colour, dashed);
    }
}

/* Where a point is, in pixels of the canvas; false: it is not there, or far outside. */
static bool place(const canvas *c, const object_sheet *s, const object_mark *m, int i, double *at)
{
    const double *p = m->points + 3 * i;
    at[0] = p[0] * s->scale;
    at[1] = p[1] * s->scale;
    return p[2] > 0 && at[0] > -c->width && at[0] < 2 * c->width && at[1] > -c->height && at[1] < 2 * c->height;
}

/* Lines first, so that points lie on them; each point has a colour of its own. */
static void draw_points(canvas *c, const object_sheet *s, const object_mark *m, double thickness)
{
    double a[2], b[2];
    for (int i = 0; i < s->link_count; i++) {
        if (place(c, s, m, s->links[2 * i], a) && place(c, s, m, s->links[2 * i + 1], b)) {
            canvas_line(c, a[0], a[1], b[0], b[1], thickness, colour_of(m->label));
        }
    }
    for (int i = 0; i < s->points; i++) {
        if (place(c, s, m, i, a)) {
            canvas_line(c, a[0], a[1], a[0], a[1], 4 * thickness, white);
            canvas_line(c, a[0], a[1], a[0], a[1], 3 * thickness, colour_of(i));
        }
    }
}

/* Above the box, or in it where there is no room. */
static void draw_words(canvas *c, const double *b, const char *words, double size, rgb colour, const font *f)
{
    const double high = 1.5 * size, wide = font_width(f, size, words) + 0.7 * size;
    const double x = fmax(0, fmin(b[0], c->width - wide)), y = b[1] >= high ? b[1] - high : fmax(b[1], 0);
    canvas_rectangle(c, (int)x, (int)y, (int)ceil(wide), (int)high, colour);
    canvas_text(c, f, size, x + 0.35 * size, y + (high + font_capital_height(f, size)) / 2, CANVAS_LEFT,
                is_light(colour) ? black : white, words);
}

canvas *objects_draw(const object_sheet *s, const font *f)
{
    canvas *c = canvas_new(s->width * s->scale, s->height * s->scale, black);
    if (!c) {
        return NULL;
    }
    const double side = fmin(c->width, c->height), thickness = fmin(fmax(side / 250, 1.5), 8);
    canvas_image(c, 0, 0, s->pixels, s->width, s->height, s->channels, s->scale);
    for (int i = 0; i < s->count; i++) {
        if (s->marks[i].mask) {
            draw_mask(c, s, s->marks[i].mask, colour_of(s->marks[i].label));
        }
    }
    for (int i = 0; i < s->count; i++) {
        const object_mark *m = &s->marks[i];
        double box[4];
        for (int k = 0; k < 4; k++) { /* what lies far outside is not worth a line */
            box[k] = fmin(fmax(m->box[k] * s->scale, -thickness), (k % 2 ? c->height : c->width) + thickness);
        }
        if (m->boxed) {
            draw_box(c, box, thickness, colour_of(m->label), m->dashed);
        }
    }
    for (int i = 0; i < s->count && s->points; i++) {
        draw_points(c, s, &s->marks[i], thickness);
    }
    for (int i = 0; i < s->count; i++) {
        const object_mark *m = &s->marks[i];
        if (f && *m->words && m->boxed) {
            const double at[4] = {m->box[0] * s->scale, m->box[1] * s->scale, 0, 0};
            draw_words(c, at, m->words, fmin(fmax(side / 36, 10), 40), colour_of(m->label), f);
        }
    }
    return c;
}
