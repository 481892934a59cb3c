/* formats.h - what a format of named tensors is to eg_tensors_open and eg_tensors_save. */
#ifndef EGRET_FORMATS_H
#define EGRET_FORMATS_H

#include "lib/io/backing.h"
#include "lib/io/lazy.h"

typedef struct eg__format {
    eg_file_format about;
    /* Whether a file, by its first bytes or its name, means to be of it; without words. NULL: it is not read. */
    bool (*is)(const eg__source *s);
    /* The map; it has the backing from now on, also after a failure. */
    eg_tensors *(*open)(eg__backing *b);
    /* NULL: it is not written. */
    eg_status (*save)(const char *op, const eg_tensors *map, const char *path, const eg_save_options *o);
} eg__format;

#define F(name) extern const eg__format eg__format_##name;
#include "lib/io/formats.def"
#undef F

/* Opens what the backing is, by what it shows or by the name of a format; it has the backing from now on. */
eg_tensors *eg__format_open(eg__backing *b, const char *format);
/* Whether a path ends so. */
bool eg__ends_with(const char *path, const char *ending);
/* Whether the source begins with these bytes, without words. */
bool eg__source_begins(const eg__source *s, const char *bytes, int n);

#endif
