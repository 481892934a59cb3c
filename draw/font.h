/* font.h - outline fonts that are installed on this machine, found by file name. */
#ifndef DRAW_FONT_H
#define DRAW_FONT_H

#include <stdbool.h>

enum { FONT_PATH_SIZE = 1024 };

typedef struct font font;
struct stbtt_fontinfo;

/* Looks for a file such as "DejaVuSans.ttf" where systems keep their fonts. False, and the path
 * empty, if it is not there. */
bool font_find(const char *file, char path[FONT_PATH_SIZE]);

/* Opens the font `name`: a path if it has a slash in it or is a file here, else a file name to
 * find. NULL opens the first plain sans-serif font that is installed. Free with font_free. NULL
 * if there is none or it cannot be read. */
font *font_open(const char *name);

/* The first plain one; NULL, and nothing on record, where there is none: pictures then have no words. */
font *font_if_any(void);
void font_free(font *f);

/* The path it was read from. */
const char *font_path(const font *f);

/* What stb_truetype wants to know about it; valid as long as the font. */
const struct stbtt_fontinfo *font_info(const font *f);

/* How far the text reaches to the right, and how high a capital letter is, in pixels at `size`
 * pixels per em. 0 for a NULL font. */
double font_width(const font *f, double size, const char *text);
double font_capital_height(const font *f, double size);

/* Reads one character of UTF-8 and moves *text behind it; a byte that is no UTF-8 reads as U+FFFD.
 * 0 at the end of the text, where it stays. */
int font_next_character(const char **text);

#endif
