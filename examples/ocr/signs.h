/* signs.h - street signs that are drawn: plates on walls, each seen from several sides, with something in the way. */
#ifndef EXAMPLES_OCR_SIGNS_H
#define EXAMPLES_OCR_SIGNS_H

#include <egret/egret.h>

#include "names.h"

typedef struct sign_options {
    int64_t side, views;    /* of a view in pixels, beside each other in the image */
    int64_t letters, lines; /* of a name and of a sign, at most */
} sign_options;

typedef struct signs signs;

/* With fonts that are installed; NULL if there is none. */
signs *signs_new(const sign_options *o);
void signs_free(signs *s);

/* The name on sign `number`, one to learn from or of the others, and the sign, u8 [3, side, views side]. */
void signs_name(const signs *s, int64_t number, bool others, char name[NAME_BYTES]);
eg_tensor *signs_draw(const signs *s, int64_t number, bool others);

#endif
