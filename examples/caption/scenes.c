/* scenes.c - figures on a ground, and what is to be said of them (photos.h). */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/chance.h"
#include "photos.h"

enum { SAID = 3 }; /* captions of a scene */

typedef enum form { CIRCLE, SQUARE, TRIANGLE, RING, FORMS } form;
static const char *const forms[FORMS] = {"circle", "square", "triangle", "ring"};

typedef struct paint {
    const char *name;
    uint8_t rgb[3];
} paint;
static const paint paints[] = {{"red", {205, 50, 45}},     {"blue", {50, 90, 200}},    {"green", {50, 150, 70}},
                               {"yellow", {235, 200, 60}}, {"white", {240, 240, 240}}, {"purple", {130, 60, 160}}};
static const uint8_t grounds[][3] = {{120, 120, 120}, {150, 135, 115}, {105, 125, 140}, {60, 60, 70}};
static const char *const sizes[] = {"small", "large"};

typedef struct figure {
    form form;
    int paint, large;
    double x, y; /* of the middle, 0..1 */
} figure;

typedef struct scene {
    figure at[2];
    int count, ground;
    bool above; /* the first of two above the second, not left of it */
    chance luck;
} scene;

static scene scene_of(int64_t number)
{
    scene s = {.luck = {(uint64_t)number}};
    s.count = chance_of(&s.luck, 4) ? 2 : 1;
    s.above = chance_of(&s.luck, 2);
    s.ground = chance_of(&s.luck, 4);
    for (int i = 0; i < s.count; i++) {
        double along = s.count == 1 ? chance_between(&s.luck, 0.3, 0.7)
                       : i          ? chance_between(&s.luck, 0.68, 0.75)
                                    : chance_between(&s.luck, 0.25, 0.32);
        double across = chance_between(&s.luck, 0.35, 0.65);
        s.at[i] = (figure){.form = (form)chance_of(&s.luck, FORMS),
                           .paint = chance_of(&s.luck, (int)(sizeof paints / sizeof *paints)),
                           .large = chance_of(&s.luck, 2),
                           .x = s.above ? across : along,
                           .y = s.above ? along : across};
    }
    return s;
}

/* ---- drawing ------------------------------------------------------------------------------------- */

static bool covers(const figure *f, double x, double y)
{
    const double r = f->large ? 0.2 : 0.11, dx = x - f->x, dy = y - f->y, d = sqrt(dx * dx + dy * dy);
    switch (f->form) {
    case CIRCLE:
        return d < r;
    case SQUARE:
        return fabs(dx) < 0.88 * r && fabs(dy) < 0.88 * r;
    case TRIANGLE:
        return dy < 0.8 * r && dy > -r && fabs(dx) < 0.6 * (dy + r);
    default:
        return d < r && d > 0.55 * r;
    }
}

eg_tensor *photos_scene(int64_t number, int64_t side)
{
    scene s = scene_of(number);
    eg_device *before = eg_use_device(eg_cpu()); /* where photos come from files, too */
    eg_tensor *image = eg_zeros(EG_SHAPE(3, side, side), EG_U8);
    eg_use_device(before);
    uint8_t *to = image ? eg_data_mut(image) : NULL;
    for (int64_t i = 0; i < side * side && to; i++) {
        const double x = ((double)(i % side) + 0.5) / (double)side, y = ((double)(i / side) + 0.5) / (double)side;
        const uint8_t *colour = grounds[s.ground];
        for (int k = 0; k < s.count; k++) {
            colour = covers(&s.at[k], x, y) ? paints[s.at[k].paint].rgb : colour;
        }
        const double grain = chance_between(&s.luck, -8, 8);
        for (int c = 0; c < 3; c++) {
            to[c * side * side + i] = (uint8_t)fmin(255, fmax(0, colour[c] + grain));
        }
    }
    return to ? image : NULL;
}

/* ---- saying it ----------------------------------------------------------------------------------- */

static int name(const figure *f, bool sized, char *to, size_t size)
{
    return snprintf(to, size, "a %s%s%s %s", sized ? sizes[f->large] : "", sized ? " " : "", paints[f->paint].name,
                    forms[f->form]);
}

/* One of the ways to say it. */
static char *say(const scene *s, int way)
{
    char first[48], second[48], text[160];
    name(&s->at[0], way != 1, first, sizeof first);
    name(&s->at[1], way != 1 && s->count > 1, second, sizeof second);
    if (s->count == 1) {
        static const char *const places[] = {"%s .", "there is %s .", "%s on its own ."};
        snprintf(text, sizeof text, places[way], first);
    } else if (way == 2) {
        snprintf(text, sizeof text, "%s is %s %s .", second, s->above ? "below" : "to the right of", first);
    } else {
        snprintf(text, sizeof text, "%s %s %s .", first, s->above ? "above" : "to the left of", second);
    }
    return strdup(text);
}

eg_status photos_draw(photos *p, int64_t count)
{
    *p = (photos){.at = calloc((size_t)count + 1, sizeof *p->at)};
    bool whole = p->at != NULL;
    for (int64_t i = 0; i < count && whole; i++) {
        scene s = scene_of(i + 1);
        photo *to = &p->at[p->count++];
        char text[32];
        snprintf(text, sizeof text, "scene-%05lld", (long long)i + 1);
        *to = (photo){.name = strdup(text), .number = i + 1, .captions = calloc(SAID, sizeof(char *))};
        whole = to->name && to->captions;
        for (int way = 0; way < SAID && whole; way++) {
            to->captions[way] = say(&s, way);
            whole = to->captions[way] != NULL;
            to->count += whole;
        }
    }
    return whole ? EG_OK : eg_fail(EG_ENOMEM, "caption", "out of memory for the scenes");
}
