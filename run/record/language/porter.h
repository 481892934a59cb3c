/* porter.h - words of English without their endings. */
#ifndef EGRET_LANGUAGE_PORTER_H
#define EGRET_LANGUAGE_PORTER_H

#include <stdint.h>

/* The stem of a word of n lower-case letters and digits, in its place; its length, which is not above n. */
int64_t eg__stem(char *letters, int64_t n);

#endif
