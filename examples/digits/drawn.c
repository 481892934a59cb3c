/* drawn.c - see drawn.h.
 *
 * What is kept of a glyph is not its outline but a field of distances to it. Any pixel of a new
 * digit is then a look-up: where would this point be on the undistorted glyph, and how far is it
 * from the edge there? Moving the edge makes the stroke thicker, softening it makes it blurred. */
#include "drawn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <egret/error.h>
#include <stb/stb_truetype.h>

#include "draw/font.h"

enum {
    DIGITS = 10,
    GLYPH_HEIGHT = 44, /* field pixels */
    GLYPH_AROUND = 10, /* the field goes on so far beyond the outline */
    EDGE = 128,        /* the field's value on the outline, more is inside, */
    STEPS = 12,        /* by so much for each field pixel of distance */
    HULL = 24,         /* directions in which a glyph's reach is known */
    KNOTS = 7,         /* the bending field has so many random values along each side, */
    SPAN = 7,          /* so many pixels apart */
    BENDS = 3,         /* and three layers: across, down, and stroke width */
    BOX = 20,          /* the digit's longer side in pixels */
};

typedef struct glyph {
    int width, height;
    uint8_t *field;
    float centre_x, centre_y;         /* its centre of mass, in field pixels */
    float hull_x[HULL], hull_y[HULL]; /* its outermost points, seen from there */
    float half_stroke;                /* half the usual thickness of its strokes */
} glyph;

/* Faces whose digits a hand might write: no zero with a dot inside, no old-style figures. */
static const char *const face_files[] = {
    "BecauseWeBuild-Regular.otf",
    "BecauseWeConnect-Regular.otf",
    "BecauseWeCreate-Regular.otf",
    "BecauseWeLearn-Regular.otf",
    "BecauseWeMentor-Regular.otf",
    "BecauseWeOrganize-Regular.otf",
    "Breip.ttf",
    "ComicNeue-Italic.otf",
    "ComicNeue-Regular.otf",
    "Delphine.ttf",
    "dkg.ttf",
    "dkgIt.ttf",
    "Humor-Sans.ttf",
    "SteveHand.ttf",
    "DejaVuSans-ExtraLight.ttf",
    "DejaVuSans-Oblique.ttf",
    "DejaVuSans.ttf",
    "DejaVuSans-Bold.ttf",
    "DejaVuSansCondensed.ttf",
    "DejaVuSerif-Italic.ttf",
    "DejaVuSerif.ttf",
    "DejaVuSerif-Bold.ttf",
    "LiberationSans-Regular.ttf",
    "LiberationSans-Italic.ttf",
    "LiberationSerif-Italic.ttf",
    "FreeSans.ttf",
    "FreeSansOblique.ttf",
    "FreeSerifItalic.ttf",
    "NotoSans-Regular.ttf",
    "NotoSans-Italic.ttf",
    "Helvetica.ttc",
    "Arial.ttf",
};

enum { FACE_FILES = sizeof face_files / sizeof face_files[0] };

struct drawn_fonts {
    int count; /* of faces */
    glyph faces[FACE_FILES][DIGITS];
    float weights[DRAWN_SIDE][4]; /* of the four knots about a pixel, the same along both sides */
};

/* ---- glyphs ---- */

/* Distance to the outline in field pixels, positive inside. */
static float distance_at(const glyph *g, int x, int y)
{
    return (float)(g->field[y * g->width + x] - EDGE) / STEPS;
}

/* Learns where the glyph's mass lies, how far it reaches and how thick its strokes are. */
static bool measure(glyph *g)
{
    double area = 0, edge = 0, sum_x = 0, sum_y = 0;
    for (int y = 0; y < g->height; y++) {
        for (int x = 0; x < g->width; x++) {
            float d = distance_at(g, x, y);
            area += d > 0;
            edge += fabsf(d) < 0.5f;
            sum_x += d > 0 ? x : 0;
            sum_y += d > 0 ? y : 0;
        }
    }
    if (area < 1 || edge < 1) {
        return false;
    }
    g->centre_x = (float)(sum_x / area);
    g->centre_y = (float)(sum_y / area);
    /* A stroke of length l and width w has area l * w and an edge 2 * l long. */
    g->half_stroke = (float)(area / edge);
    for (int k = 0; k < HULL; k++) {
        float along_x = cosf(6.2831853f * (float)k / HULL), most = -1;
        float along_y = sinf(6.2831853f * (float)k / HULL);
        for (int i = 0; i < g->width * g->height; i++) {
            float x = (float)(i % g->width) - g->centre_x, y = (float)(i / g->width) - g->centre_y;
            if (g->field[i] >= EDGE && x * along_x + y * along_y > most) {
                most = x * along_x + y * along_y;
                g->hull_x[k] = x;
                g->hull_y[k] = y;
            }
        }
    }
    return true;
}

/* The field in the making: from every pixel the square of the way to the nearest piece of outline,
 * and how often outlines pass from there to the next pixel on the left, upwards less downwards. */
typedef struct survey {
    int width, height;
    float *nearest;
    int8_t *passes;
} survey;

/* Adds one straight piece of outline, in field pixels. */
static void survey_piece(survey *v, float x0, float y0, float x1, float y1)
{
    float dx = x1 - x0, dy = y1 - y0, length2 = dx * dx + dy * dy;
    int left = (int)fmaxf(fminf(x0, x1) - GLYPH_AROUND, 0);
    int top = (int)fmaxf(fminf(y0, y1) - GLYPH_AROUND, 0);
    int right = (int)fminf(fmaxf(x0, x1) + GLYPH_AROUND, (float)(v->width - 1));
    int bottom = (int)fminf(fmaxf(y0, y1) + GLYPH_AROUND, (float)(v->height - 1));
    for (int y = top; y <= bottom; y++) {
        float *nearest = v->nearest + y * v->width, py = (float)y - y0;
        for (int x = left; x <= right; x++) {
            float px = (float)x - x0, along = length2 > 0 ? (px * dx + py * dy) / length2 : 0;
            along = along < 0 ? 0 : along > 1 ? 1 : along;
            float away_x = px - along * dx, away_y = py - along * dy;
            nearest[x] = fminf(nearest[x], away_x * away_x + away_y * away_y);
        }
        if ((y0 <= (float)y) != (y1 <= (float)y)) {
            int x = (int)ceilf(x0 + py * dx / dy);
            v->passes[y * v->width + x] = (int8_t)(v->passes[y * v->width + x] + (dy > 0 ? 1 : -1));
        }
    }
}

/* Adds a line or a curve of the outline, straightened into short pieces, and moves on to its end. A
 * line is a curve whose control points lie on it, a quadratic one can be written as a cubic. */
static void survey_curve(survey *v, const stbtt_vertex *to, float at[2], const float shift[2], float scale)
{
    float end[2] = {shift[0] + scale * to->x, shift[1] - scale * to->y};
    float a[2] = {shift[0] + scale * to->cx, shift[1] - scale * to->cy};
    float b[2] = {shift[0] + scale * to->cx1, shift[1] - scale * to->cy1};
    int pieces = to->type == STBTT_vline ? 1 : 8;
    float x = at[0], y = at[1];
    for (int i = 1; i <= pieces; i++) {
        float t = (float)i / (float)pieces, u = 1 - t, next[2];
        for (int k = 0; k < 2; k++) {
            next[k] = to->type == STBTT_vcubic
                          ? u * u * u * at[k] + 3 * u * t * (u * a[k] + t * b[k]) + t * t * t * end[k]
                      : to->type == STBTT_vcurve ? u * u * at[k] + 2 * u * t * a[k] + t * t * end[k]
                                                 : end[k];
        }
        survey_piece(v, x, y, next[0], next[1]);
        x = next[0];
        y = next[1];
    }
    at[0] = end[0];
    at[1] = end[1];
}

/* Turns the survey into bytes: inside is where outlines go round at least once. */
static void finish_survey(const survey *v, uint8_t *field)
{
    for (int y = 0; y < v->height; y++) {
        int turns = 0;
        for (int x = 0; x < v->width; x++) {
            int i = y * v->width + x;
            turns += v->passes[i];
            float d = sqrtf(v->nearest[i]) * (turns ? STEPS : -STEPS);
            field[i] = (uint8_t)fmaxf(0, fminf(255, EDGE + d + 0.5f));
        }
    }
}

/* False if the font has no such digit, or there was no memory. */
static bool prepare_glyph(glyph *g, const stbtt_fontinfo *info, int character)
{
    int x0, y0, x1, y1, index = stbtt_FindGlyphIndex(info, character);
    if (index == 0 || !stbtt_GetGlyphBox(info, index, &x0, &y0, &x1, &y1) || y1 <= y0 || x1 <= x0 ||
        x1 - x0 > 4 * (y1 - y0)) {
        return false;
    }
    float scale = (float)GLYPH_HEIGHT / (float)(y1 - y0);
    g->width = (int)ceilf(scale * (float)(x1 - x0)) + 2 * GLYPH_AROUND;
    g->height = GLYPH_HEIGHT + 2 * GLYPH_AROUND;
    size_t size = (size_t)g->width * (size_t)g->height;
    stbtt_vertex *outline = NULL;
    int count = stbtt_GetGlyphShape(info, index, &outline);
    survey v = {g->width, g->height, malloc(size * sizeof(float)), calloc(size, 1)};
    g->field = malloc(size);
    bool ready = count > 0 && v.nearest && v.passes && g->field;
    if (ready) {
        float at[2] = {0, 0};
        float shift[2] = {GLYPH_AROUND - scale * (float)x0, GLYPH_AROUND + scale * (float)y1};
        for (size_t i = 0; i < size; i++) {
            v.nearest[i] = GLYPH_AROUND * GLYPH_AROUND;
        }
        for (int i = 0; i < count; i++) {
            if (outline[i].type == STBTT_vmove) {
                at[0] = shift[0] + scale * outline[i].x;
                at[1] = shift[1] - scale * outline[i].y;
            } else {
                survey_curve(&v, &outline[i], at, shift, scale);
            }
        }
        finish_survey(&v, g->field);
    }
    free(v.nearest);
    free(v.passes);
    stbtt_FreeShape(info, outline);
    return ready && measure(g);
}

static void free_face(glyph *face)
{
    for (int digit = 0; digit < DIGITS; digit++) {
        free(face[digit].field);
    }
}

/* Adds the font if it has all ten digits. */
static bool add_face(drawn_fonts *fonts, const font *f)
{
    glyph *face = fonts->faces[fonts->count];
    for (int digit = 0; digit < DIGITS; digit++) {
        if (!prepare_glyph(&face[digit], font_info(f), '0' + digit)) {
            free_face(face);
            memset(face, 0, DIGITS * sizeof *face);
            return false;
        }
    }
    fonts->count++;
    return true;
}

static void add_listed_faces(drawn_fonts *fonts)
{
    char path[FONT_PATH_SIZE];
    for (int i = 0; i < FACE_FILES; i++) {
        font *f = font_find(face_files[i], path) ? font_open(path) : NULL;
        if (f) {
            add_face(fonts, f);
            font_free(f);
        } else {
            eg_clear_error(); /* it goes without */
        }
    }
}

/* Adds the font of that name, or, where it is NULL, any that is installed. */
static eg_status add_named_face(drawn_fonts *fonts, const char *name)
{
    font *f = font_open(name);
    if (!f) {
        return eg_last_error()->code;
    }
    eg_status st = EG_OK;
    if (!add_face(fonts, f)) {
        st = eg_failf(EG_EFORMAT, "drawn_fonts_open", "%s does not have all ten digits", font_path(f));
    }
    font_free(f);
    return st;
}

/* The four uniform cubic B-spline weights about each pixel's centre. */
static void make_weights(drawn_fonts *fonts)
{
    for (int i = 0; i < DRAWN_SIDE; i++) {
        float t = (float)(i % SPAN) / SPAN + 0.5f / SPAN, u = 1 - t;
        fonts->weights[i][0] = u * u * u / 6;
        fonts->weights[i][1] = (3 * t * t * t - 6 * t * t + 4) / 6;
        fonts->weights[i][2] = (3 * u * u * u - 6 * u * u + 4) / 6;
        fonts->weights[i][3] = t * t * t / 6;
    }
}

drawn_fonts *drawn_fonts_open(const char *name)
{
    drawn_fonts *fonts = calloc(1, sizeof *fonts);
    if (!fonts) {
        eg_fail(EG_ENOMEM, "drawn_fonts_open", "out of memory for the digits of the fonts");
        return NULL;
    }
    make_weights(fonts);
    if (!name) {
        add_listed_faces(fonts);
    }
    if (fonts->count == 0 && add_named_face(fonts, name)) {
        drawn_fonts_free(fonts);
        return NULL;
    }
    return fonts;
}

void drawn_fonts_free(drawn_fonts *fonts)
{
    for (int i = 0; fonts && i < fonts->count; i++) {
        free_face(fonts->faces[i]);
    }
    free(fonts);
}

int drawn_fonts_count(const drawn_fonts *fonts)
{
    return fonts->count;
}

/* ---- random numbers ---- */

/* The mixing function of splitmix64 (Steele, Lea and Flood, 2014), counted by its golden ratio. */
static uint64_t mixed(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint64_t next_bits(uint64_t *state)
{
    return mixed(*state += 0x9e3779b97f4a7c15u);
}

static float uniform(uint64_t *state, float least, float most)
{
    return least + (most - least) * (float)(next_bits(state) >> 40) * 0x1p-24f;
}

/* Between -1 and 1, mostly near 0. */
static float middling(uint64_t *state)
{
    return uniform(state, -0.5f, 0.5f) + uniform(state, -0.5f, 0.5f);
}

static int choose(uint64_t *state, int count)
{
    return (int)((next_bits(state) >> 32) * (uint64_t)count >> 32);
}

/* ---- drawing ---- */

/* How one digit differs from the font's. */
typedef struct style {
    float back[4];                     /* from pixels, seen from the middle, to the glyph's field */
    float scale;                       /* pixels for each field pixel */
    float grow;                        /* pixels added to each side of a stroke */
    float softness;                    /* pixels from black to white */
    float bends[BENDS][KNOTS * KNOTS]; /* pixels */
    float rough, haze;                 /* noise on the ink and beside it, gray levels */
} style;

static void choose_style(style *s, const glyph *g, uint64_t *state)
{
    float angle = 0.24f * middling(state), slant = uniform(state, -0.2f, 0.38f);
    float wide = expf(0.24f * middling(state));
    float forth[4] = {wide * cosf(angle), -slant * cosf(angle) - sinf(angle), wide * sinf(angle),
                      cosf(angle) - slant * sinf(angle)};
    float left = 0, right = 0, top = 0, bottom = 0;
    for (int k = 0; k < HULL; k++) {
        float x = forth[0] * g->hull_x[k] + forth[1] * g->hull_y[k];
        float y = forth[2] * g->hull_x[k] + forth[3] * g->hull_y[k];
        left = fminf(left, x);
        right = fmaxf(right, x);
        top = fminf(top, y);
        bottom = fmaxf(bottom, y);
    }
    float reach = fmaxf(right - left, bottom - top), box = BOX * uniform(state, 0.94f, 1.02f);
    float half = g->half_stroke * box / reach, wanted = uniform(state, 0.9f, 1.9f);
    s->grow = fmaxf(wanted - half, -0.4f * half);
    s->scale = (box - 2 * s->grow) / reach;
    float determinant = (forth[0] * forth[3] - forth[1] * forth[2]) * s->scale;
    s->back[0] = forth[3] / determinant;
    s->back[1] = -forth[1] / determinant;
    s->back[2] = -forth[2] / determinant;
    s->back[3] = forth[0] / determinant;
    s->softness = uniform(state, 0.8f, 1.4f);
    float far = uniform(state, 0.5f, 2.8f);
    for (int layer = 0; layer < BENDS; layer++) {
        for (int i = 0; i < KNOTS * KNOTS; i++) {
            s->bends[layer][i] = (layer < 2 ? far : 0.7f) * uniform(state, -1, 1);
        }
    }
    s->rough = 30 * powf(uniform(state, 0, 1), 3);
    s->haze = fmaxf(0, uniform(state, -60, 8));
}

/* The glyph's distance between field pixels; far outside beyond the field. */
static float sample(const glyph *g, float x, float y)
{
    if (!(x >= 0 && y >= 0 && x < (float)(g->width - 1) && y < (float)(g->height - 1))) {
        return -(float)EDGE / STEPS;
    }
    int column = (int)x, row = (int)y;
    const uint8_t *f = g->field + row * g->width + column;
    float u = x - (float)column, v = y - (float)row;
    float above = f[0] + u * (float)(f[1] - f[0]);
    float below = f[g->width] + u * (float)(f[g->width + 1] - f[g->width]);
    return (above + v * (below - above) - EDGE) / STEPS;
}

/* Draws one row of ink, from 0 to 1. */
static void draw_row(const drawn_fonts *fonts, const style *s, const glyph *g, int row, float *ink)
{
    float knots[BENDS][KNOTS];
    const float *down = fonts->weights[row];
    for (int layer = 0; layer < BENDS; layer++) {
        const float *from = s->bends[layer] + row / SPAN * KNOTS;
        for (int i = 0; i < KNOTS; i++) {
            knots[layer][i] = down[0] * from[i] + down[1] * from[i + KNOTS] + down[2] * from[i + 2 * KNOTS] +
                              down[3] * from[i + 3 * KNOTS];
        }
    }
    for (int column = 0; column < DRAWN_SIDE; column++) {
        const float *across = fonts->weights[column];
        float bend[BENDS];
        for (int layer = 0; layer < BENDS; layer++) {
            const float *k = knots[layer] + column / SPAN;
            bend[layer] = across[0] * k[0] + across[1] * k[1] + across[2] * k[2] + across[3] * k[3];
        }
        float x = (float)column + 0.5f - DRAWN_SIDE / 2 + bend[0];
        float y = (float)row + 0.5f - DRAWN_SIDE / 2 + bend[1];
        float d =
            sample(g, s->back[0] * x + s->back[1] * y + g->centre_x, s->back[2] * x + s->back[3] * y + g->centre_y);
        float share = 0.5f + (d * s->scale + s->grow + bend[2]) / s->softness;
        ink[column] = share < 0 ? 0 : share > 1 ? 1 : share;
    }
}

/* By how many pixels the ink's centre of mass is off the middle. */
static void find_offset(const float *ink, int *right, int *down)
{
    float sum = 1e-6f, sum_x = 0, sum_y = 0;
    for (int i = 0; i < DRAWN_PIXELS; i++) {
        sum += ink[i];
        sum_x += ink[i] * ((float)(i % DRAWN_SIDE) + 0.5f - DRAWN_SIDE / 2);
        sum_y += ink[i] * ((float)(i / DRAWN_SIDE) + 0.5f - DRAWN_SIDE / 2);
    }
    *right = (int)lrintf(sum_x / sum);
    *down = (int)lrintf(sum_y / sum);
}

int drawn_digit(const drawn_fonts *fonts, uint64_t seed, int64_t index, uint8_t pixels[DRAWN_PIXELS])
{
    uint64_t state = mixed(mixed(seed + 0x9e3779b97f4a7c15u) + (uint64_t)index);
    int digit = choose(&state, DIGITS), right, down;
    const glyph *g = &fonts->faces[choose(&state, fonts->count)][digit];
    float ink[DRAWN_PIXELS];
    style s;
    choose_style(&s, g, &state);
    for (int row = 0; row < DRAWN_SIDE; row++) {
        draw_row(fonts, &s, g, row, ink + row * DRAWN_SIDE);
    }
    find_offset(ink, &right, &down);
    uint64_t bits = 0;
    for (int i = 0; i < DRAWN_PIXELS; i++, bits >>= 8) {
        bits = i % 8 ? bits : next_bits(&state);
        int x = i % DRAWN_SIDE + right, y = i / DRAWN_SIDE + down;
        bool inside = x >= 0 && y >= 0 && x < DRAWN_SIDE && y < DRAWN_SIDE;
        float gray = 255 * (inside ? ink[y * DRAWN_SIDE + x] : 0);
        float noise = (float)(bits & 255) / 255;
        gray += gray > 0 ? -s.rough * noise * gray / 255 : s.haze * noise;
        pixels[i] = (uint8_t)(gray < 0 ? 0 : gray);
    }
    return digit;
}
