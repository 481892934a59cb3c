/* yolo.c - objects as Darknet has them: a text beside each photo, a line for each object. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/photos/photos.h"
#include "lib/io/file.h"
#include "lib/io/number.h"

static const eg__dataset_class yolo_class = {.name = "eg_yolo_new", EG__PHOTOS_CLASS};

enum { MOST_LINE = 1 << 16, MOST_CLASSES = 1 << 20 };

/* ---- names of classes ---------------------------------------------------------------------------- */

static eg_status read_names(eg__photos *p, const char *path)
{
    eg__stream s = {0};
    eg__bytes line = {0};
    bool more = true;
    eg_status st = eg__stream_open(&s, yolo_class.name, path, EG_COMPRESSION_NONE);
    while (!st && more) {
        st = eg__stream_line(&s, &line, MOST_LINE, &more);
        if (!st && more && line.n && !eg__names_add(&p->classes, (const char *)line.p, (size_t)line.n)) {
            st = eg__no_memory(yolo_class.name, line.n);
        }
    }
    eg__bytes_free(&line);
    eg__stream_close(&s);
    return st;
}

/* Names for numbers up to this one, where there is no list. */
static eg_status name_up_to(eg__photos *p, int64_t label)
{
    char name[24];
    while (p->classes.n <= label) {
        const int n = snprintf(name, sizeof name, "%u", p->classes.n);
        if (!eg__names_add(&p->classes, name, (size_t)n)) {
            return eg__no_memory(yolo_class.name, label);
        }
    }
    return EG_OK;
}

/* ---- objects ---------------------------------------------------------------------------------------- */

/* The next word of a line, and what is behind it; NULL: there is none. */
static const char *word(const char **at, int64_t *bytes)
{
    const char *s = *at + strspn(*at, " \t\r");
    *bytes = (int64_t)strcspn(s, " \t\r");
    *at = s + *bytes;
    return *bytes ? s : NULL;
}

static eg_status add_line(eg__photos *p, const eg__stream *s, const char *line, bool named)
{
    eg__object o = {.area = -1};
    double v[4];
    int64_t label = 0, bytes;
    const char *at = line, *first = word(&at, &bytes);
    if (!first) {
        return EG_OK;
    }
    if (!eg__parse_integer(first, bytes, &label) || label < 0 || label >= (named ? p->classes.n : MOST_CLASSES)) {
        return eg__stream_bad(s, s->offset, "\"%.*s\" is no class", (int)eg__min(bytes, 40), first);
    }
    for (int i = 0; i < 4; i++) {
        const char *text = word(&at, &bytes);
        if (!text || !eg__parse_real(text, bytes, EG_F64, &v[i]) || !(v[i] > -64 && v[i] < 64)) {
            return eg__stream_bad(s, s->offset, "\"%.*s\" is no share of a side", text ? (int)eg__min(bytes, 40) : 0,
                                  text ? text : "");
        }
    }
    for (int i = 0; i < 2; i++) {
        o.box[i] = (float)(v[i] - v[2 + i] / 2);
        o.box[2 + i] = (float)(v[i] + v[2 + i] / 2);
    }
    o.label = (int32_t)label;
    eg_status st = named ? EG_OK : name_up_to(p, label);
    return st ? st : eg__photos_add_object(p, &o);
}

/* The text of a photo, in the other folder if that is there, else beside it. false: a path is too long. */
static bool text_of(const char *photo, char *path, size_t room)
{
    const char *slash = strrchr(photo, '/'), *images = NULL;
    const char *name = slash ? slash + 1 : photo, *dot = strrchr(name, '.');
    const int stem = dot && dot > name ? (int)(dot - name) : (int)strlen(name);
    for (const char *s = photo; (s = strstr(s, "images/")); s++) {
        images = s == photo || s[-1] == '/' ? s : images;
    }
    if (images) {
        const int n = snprintf(path, room, "%.*slabels/%.*s%.*s.txt", (int)(images - photo), photo,
                               (int)(name - images - 7), images + 7, stem, name);
        if (n >= (int)room) {
            return false;
        }
        if (eg__file_exists(path)) {
            return true;
        }
    }
    return snprintf(path, room, "%.*s%.*s.txt", (int)(name - photo), photo, stem, name) < (int)room;
}

static eg_status read_photo(eg__photos *p, const char *photo, int64_t number, bool named)
{
    char path[4096];
    eg__stream s = {0};
    eg__bytes line = {0};
    bool more = true;
    eg_status st = eg__photos_add(p, photo, number, 0, 0);
    if (!st && !text_of(photo, path, sizeof path)) {
        return eg__fail(EG_EIO, yolo_class.name, "the path \"%.140s\" is too long", photo);
    }
    if (st || !eg__file_exists(path)) {
        return st;
    }
    st = eg__stream_open(&s, yolo_class.name, path, EG_COMPRESSION_NONE);
    while (!st && more) {
        st = eg__stream_line(&s, &line, MOST_LINE, &more);
        st = st || !more ? st : add_line(p, &s, (const char *)line.p, named);
    }
    eg__bytes_free(&line);
    eg__stream_close(&s);
    return st;
}

eg_dataset *eg_yolo_new_with(const char *pattern, const char *names, const eg_photos_options *options)
{
    eg__names files = {0};
    if (options && (options->masks || options->classes_count)) {
        return eg__fail_null(EG_EINVAL, yolo_class.name, "there are no %s here",
                             options->masks ? "masks" : "classes by name");
    }
    eg__photos *p = eg__photos_new(&yolo_class, options);
    if (!p) {
        return NULL;
    }
    p->shares = true;
    eg_status st = eg__names_match(&files, yolo_class.name, pattern);
    st = st || !names ? st : read_names(p, names);
    for (uint32_t i = 0; i < files.n && !st; i++) {
        st = read_photo(p, files.name[i], i, names);
    }
    eg__names_free(&files);
    if (st) {
        eg_dataset_free(&p->d);
        return NULL;
    }
    return &p->d;
}
