/* font.c - see font.h. */
#define _POSIX_C_SOURCE 200809L
#include "font.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <egret/error.h>
#include <stb/stb_truetype.h>

enum { FONT_FILE_MOST = 64 << 20 };

static const char function[] = "font_open";

struct font {
    char path[FONT_PATH_SIZE];
    unsigned char *bytes;
    stbtt_fontinfo info;
};

/* Where systems keep fonts; those that begin with '~' are under $HOME. */
static const char *const roots[] = {
    "~/.local/share/fonts",   "~/.fonts",
    "/usr/local/share/fonts", "/usr/share/fonts/truetype",
    "/usr/share/fonts",       "/usr/share/fonts/opentype",
    "/Library/Fonts",         "/System/Library/Fonts",
};

static const char *const plain_fonts[] = {
    "DejaVuSans.ttf", "LiberationSans-Regular.ttf", "NotoSans-Regular.ttf", "FreeSans.ttf", "Helvetica.ttc",
    "Arial.ttf",
};

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* Whether root/folder/file can be read; then path is set to it. */
static bool is_there(const char *root, const char *folder, const char *file, char path[FONT_PATH_SIZE])
{
    int length = snprintf(path, FONT_PATH_SIZE, "%s/%s/%s", root, folder, file);
    return length < FONT_PATH_SIZE && access(path, R_OK) == 0;
}

/* Looks in a folder and in the folders in it. */
static bool find_under(const char *root, const char *file, char path[FONT_PATH_SIZE])
{
    bool found = is_there(root, ".", file, path);
    DIR *folders = found ? NULL : opendir(root);
    for (struct dirent *d; !found && folders && (d = readdir(folders));) {
        found = d->d_name[0] != '.' && is_there(root, d->d_name, file, path);
    }
    if (folders) {
        closedir(folders);
    }
    return found;
}

bool font_find(const char *file, char path[FONT_PATH_SIZE])
{
    const char *home = getenv("HOME");
    char root[FONT_PATH_SIZE];
    for (size_t i = 0; i < COUNT(roots); i++) {
        bool at_home = roots[i][0] == '~';
        int length = snprintf(root, sizeof root, "%s%s", at_home && home ? home : "", roots[i] + at_home);
        if (!(at_home && !home) && length < FONT_PATH_SIZE && find_under(root, file, path)) {
            return true;
        }
    }
    path[0] = '\0';
    return false;
}

static eg_status find_plain(char path[FONT_PATH_SIZE])
{
    for (size_t i = 0; i < COUNT(plain_fonts); i++) {
        if (font_find(plain_fonts[i], path)) {
            return EG_OK;
        }
    }
    return eg_fail(EG_EIO, function,
                   "no font is installed where fonts usually are; install DejaVu "
                   "(Debian: fonts-dejavu-core) or name a .ttf file");
}

static eg_status locate(const char *name, char path[FONT_PATH_SIZE])
{
    if (!name) {
        return find_plain(path);
    }
    if (strlen(name) >= FONT_PATH_SIZE) {
        return eg_failf(EG_EINVAL, function, "the name of the font is longer than %d bytes", FONT_PATH_SIZE - 1);
    }
    if (!strchr(name, '/') && access(name, R_OK) != 0 && font_find(name, path)) {
        return EG_OK;
    }
    snprintf(path, FONT_PATH_SIZE, "%s", name);
    return EG_OK;
}

static eg_status read_bytes(font *f)
{
    struct stat info;
    FILE *file = fopen(f->path, "rb");
    if (!file) {
        return eg_failf(EG_EIO, function, "cannot open the font %s: %s", f->path, strerror(errno));
    }
    bool fits = fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode) && info.st_size >= 12 &&
                info.st_size <= FONT_FILE_MOST;
    if (fits) {
        size_t size = (size_t)info.st_size;
        f->bytes = malloc(size);
        fits = f->bytes && fread(f->bytes, 1, size, file) == size;
    }
    fclose(file);
    return fits ? EG_OK : eg_failf(EG_EFORMAT, function, "cannot read %s as a font", f->path);
}

font *font_open(const char *name)
{
    font *f = calloc(1, sizeof *f);
    if (!f) {
        eg_fail(EG_ENOMEM, function, "out of memory for a font");
        return NULL;
    }
    if (locate(name, f->path) || read_bytes(f)) {
        font_free(f);
        return NULL;
    }
    int start = stbtt_GetFontOffsetForIndex(f->bytes, 0);
    if (start < 0 || !stbtt_InitFont(&f->info, f->bytes, start)) {
        eg_failf(EG_EFORMAT, function, "%s is not a TrueType or OpenType font", f->path);
        font_free(f);
        return NULL;
    }
    return f;
}

font *font_if_any(void)
{
    font *f = font_open(NULL);
    if (!f) {
        eg_clear_error(); /* it goes without */
    }
    return f;
}

void font_free(font *f)
{
    if (f) {
        free(f->bytes);
        free(f);
    }
}

const char *font_path(const font *f)
{
    return f->path;
}

const struct stbtt_fontinfo *font_info(const font *f)
{
    return &f->info;
}

int font_next_character(const char **text)
{
    const unsigned char *s = (const unsigned char *)*text;
    if (s[0] < 0x80) {
        *text += s[0] != 0;
        return s[0];
    }
    int more = s[0] >= 0xf0 ? 3 : s[0] >= 0xe0 ? 2 : s[0] >= 0xc0 ? 1 : 0;
    int character = more ? s[0] & (0x3f >> more) : 0xfffd;
    for (int i = 1; i <= more; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            *text += 1;
            return 0xfffd;
        }
        character = character << 6 | (s[i] & 0x3f);
    }
    *text += 1 + more;
    return character;
}

double font_width(const font *f, double size, const char *text)
{
    if (!f) {
        return 0;
    }
    double width = 0;
    int before = 0, advance, bearing;
    for (int c; (c = font_next_character(&text)) != 0; before = c) {
        stbtt_GetCodepointHMetrics(&f->info, c, &advance, &bearing);
        width += advance + (before ? stbtt_GetCodepointKernAdvance(&f->info, before, c) : 0);
    }
    return width * (double)stbtt_ScaleForMappingEmToPixels(&f->info, (float)size);
}

double font_capital_height(const font *f, double size)
{
    int x0, y0, x1, y1;
    if (!f || !stbtt_GetCodepointBox(&f->info, 'H', &x0, &y0, &x1, &y1)) {
        return 0;
    }
    return y1 * (double)stbtt_ScaleForMappingEmToPixels(&f->info, (float)size);
}
