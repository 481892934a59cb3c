/* signs.c - see signs.h. */
#include "signs.h"

#include <stdlib.h>
#include <string.h>

#include "plate.h"
#include "view.h"

static const char *const faces[] = {
    "DejaVuSans.ttf",           "DejaVuSans-Bold.ttf",
    "DejaVuSansCondensed.ttf",  "DejaVuSansCondensed-Bold.ttf",
    "DejaVuSerif-Bold.ttf",     "LiberationSans-Regular.ttf",
    "LiberationSans-Bold.ttf",  "LiberationSansNarrow-Bold.ttf",
    "LiberationSerif-Bold.ttf", "FreeSansBold.ttf",
    "NotoSans-Bold.ttf",
};

enum { FACES = sizeof faces / sizeof faces[0] };

struct signs {
    sign_options o;
    font *fonts[FACES];
    int count;
};

signs *signs_new(const sign_options *o)
{
    signs *s = calloc(1, sizeof *s);
    if (!s) {
        eg_fail(EG_ENOMEM, "ocr", "out of memory");
        return NULL;
    }
    s->o = *o;
    char path[FONT_PATH_SIZE];
    for (int i = 0; i < FACES; i++) {
        s->fonts[s->count] = font_find(faces[i], path) ? font_open(path) : NULL;
        s->count += s->fonts[s->count] != NULL;
    }
    if (s->count == 0) {
        s->fonts[0] = font_open(NULL);
        s->count = s->fonts[0] != NULL;
    } else {
        eg_clear_error(); /* of a font that cannot be read */
    }
    if (s->count == 0) {
        signs_free(s);
        return NULL;
    }
    return s;
}

void signs_free(signs *s)
{
    for (int i = 0; s && i < s->count; i++) {
        font_free(s->fonts[i]);
    }
    free(s);
}

/* The sequences of signs that are to be learned from, and of others, lie far apart. */
static chance chance_for(int64_t number, bool others)
{
    chance c = {(uint64_t)number * 2 + others};
    c.state = chance_bits(&c);
    return c;
}

void signs_name(const signs *s, int64_t number, bool others, char name[NAME_BYTES])
{
    chance c = chance_for(number, others);
    name_make(&c, (int)s->o.letters, others, name);
}

eg_tensor *signs_draw(const signs *s, int64_t number, bool others)
{
    const int side = (int)s->o.side, views = (int)s->o.views;
    chance c = chance_for(number, others);
    char name[NAME_BYTES];
    name_make(&c, (int)s->o.letters, others, name);
    plate *p = plate_new(name, s->fonts[chance_of(&c, s->count)], side, (int)s->o.lines, &c);
    eg_tensor *image = p ? eg_to(eg_zeros(EG_SHAPE(side, views * side, 3), EG_U8), eg_cpu()) : NULL;
    uint8_t *to = eg_data_mut(image);
    eg_status st = to ? EG_OK : eg_last_error()->code;
    for (int v = 0; v < views && !st; v++) {
        st = view_draw(p, side, views > 1, &c, to + 3 * v * side, 3 * views * side);
    }
    plate_free(p);
    return st ? NULL : eg_permute(image, EG_AXES(2, 0, 1));
}
