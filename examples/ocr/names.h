/* names.h - what is on street signs: names of streets, some of which nobody has heard of. */
#ifndef EXAMPLES_OCR_NAMES_H
#define EXAMPLES_OCR_NAMES_H

#include <stdbool.h>

#include "../common/chance.h"

enum { NAME_BYTES = 96, NAME_LEAST = 8 };

/* A name of at most so many letters, NAME_LEAST or more, UTF-8. Those to learn from and the others have none in common:
 * which it is, the letters say. */
void name_make(chance *c, int letters, bool others, char name[NAME_BYTES]);

#endif
