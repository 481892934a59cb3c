/* formats.c - opening and saving named tensors in whatever format. */
#include "lib/io/formats.h"
#include "lib/io/sparse.h"

#include <stdlib.h>

static const eg__format *const formats[] = {
#define F(name) &eg__format_##name,
#include "lib/io/formats.def"
#undef F
};

int eg_file_format_count(void)
{
    return EG__COUNT(formats);
}

eg_file_format eg_file_format_at(int i)
{
    if (i < 0 || i >= EG__COUNT(formats)) {
        eg__fail(EG_EINDEX, "eg_file_format_at", "there are %d, so no %d", EG__COUNT(formats), i);
        return (eg_file_format){0};
    }
    return formats[i]->about;
}

bool eg__ends_with(const char *path, const char *ending)
{
    const size_t n = strlen(path), m = strlen(ending);
    return n > m && !strcmp(path + n - m, ending);
}

bool eg__source_begins(const eg__source *s, const char *bytes, int n)
{
    char head[64];
    return s->size >= n && !eg__source_read(s, 0, head, n) && !memcmp(head, bytes, (size_t)n);
}

/* The format of a name; NULL with words that name them all. */
static const eg__format *named(const char *op, const char *name, bool to_write)
{
    char all[400] = "";
    for (int i = 0; i < EG__COUNT(formats); i++) {
        const bool can = to_write ? formats[i]->save != NULL : formats[i]->open != NULL;
        if (can && !strcmp(formats[i]->about.name, name)) {
            return formats[i];
        }
        const size_t n = strlen(all);
        snprintf(all + n, sizeof all - n, "%s%s", can && n ? ", " : "", can ? formats[i]->about.name : "");
    }
    return eg__fail_null(EG_EINVAL, op, "no format \"%.40s\" is %s; there are %s", name, to_write ? "written" : "read",
                         all);
}

/* ---- reading ------------------------------------------------------------------------------------ */

static const eg__format *shown(const eg__source *s)
{
    for (int i = 0; i < EG__COUNT(formats); i++) {
        if (formats[i]->is && formats[i]->is(s)) {
            return formats[i];
        }
    }
    return eg__source_bad(s, 0, "of no format known for named tensors"), NULL;
}

eg_tensors *eg__format_open(eg__backing *b, const char *format)
{
    const eg__format *f = format ? named(b->source.op, format, false) : shown(&b->source);
    if (!f) {
        eg__backing_release(b);
        return NULL;
    }
    return f->open(b);
}

/* A path where no file is may be the first part of the names of several, of which one is the index. */
static eg__backing *open_file(const char *op, const char *path, bool copy)
{
    if (!path || eg__file_exists(path)) {
        return eg__backing_open(op, path, copy);
    }
    const size_t room = strlen(path) + sizeof ".index";
    char *index = eg__malloc(room);
    if (!index) {
        return eg__no_memory(op, (int64_t)room), NULL;
    }
    snprintf(index, room, "%s.index", path);
    eg__backing *b = eg__backing_open(op, eg__file_exists(index) ? index : path, copy);
    free(index);
    return b;
}

eg_tensors *eg_tensors_open_with(const char *path, const eg_open_options *options)
{
    eg_open_options o;
    eg__options(&o, sizeof o, options);
    static const char op[] = "eg_tensors_open";
    eg__backing *b = open_file(op, path, o.copy);
    return eg__sparse_opened(op, b ? eg__format_open(b, o.format) : NULL);
}

eg_tensors *eg_tensors_parse_with(const void *data, size_t bytes, const eg_open_options *options)
{
    eg_open_options o;
    eg__options(&o, sizeof o, options);
    static const char op[] = "eg_tensors_parse";
    eg__backing *b = eg__backing_memory(op, "memory", data, bytes);
    if (b) {
        b->copy = o.copy;
    }
    return eg__sparse_opened(op, b ? eg__format_open(b, o.format) : NULL);
}

/* ---- writing ------------------------------------------------------------------------------------ */

/* Whether the path has one of these endings. */
static bool fits(const char *path, const char *endings)
{
    char ending[32];
    int n = 0;
    for (; sscanf(endings, " %31s%n", ending, &n) == 1; endings += n) {
        if (eg__ends_with(path, ending)) {
            return true;
        }
    }
    return false;
}

static const eg__format *by_ending(const char *op, const char *path)
{
    for (int i = 0; i < EG__COUNT(formats); i++) {
        if (formats[i]->save && fits(path, formats[i]->about.endings)) {
            return formats[i];
        }
    }
    return eg__fail_null(EG_EINVAL, op, "the ending of \"%.140s\" is of no format that is written", path);
}

static eg_status save_told(const char *op, const eg__format *f, const eg_tensors *map, const char *path,
                           const eg_save_options *o)
{
    if (!o->told) {
        return f->save(op, map, path, o);
    }
    eg__telling telling = {o->told, o->user, 0, 0};
    for (int64_t i = 0; i < eg_tensors_count(map); i++) {
        const eg_tensor_about about = eg_tensors_about(map, i);
        telling.all += eg__about_bytes(&about);
    }
    eg__lazy_tell(map, &telling);
    eg_status st = f->save(op, map, path, o);
    eg__lazy_tell(map, NULL);
    return st;
}

eg_status eg_tensors_save_with(const eg_tensors *map, const char *path, const eg_save_options *options)
{
    static const char op[] = "eg_tensors_save";
    eg_save_options o;
    eg__options(&o, sizeof o, options);
    if (!map || !path) {
        return eg__null_argument(op, map ? "path" : "map");
    }
    if (o.shard_bytes < 0) {
        return eg__fail(EG_EINVAL, op, "shard_bytes is %lld, must be 0 or more", (long long)o.shard_bytes);
    }
    const eg__format *f = o.format ? named(op, o.format, true) : by_ending(op, path);
    if (!f || !o.sparse) {
        return f ? save_told(op, f, map, path, &o) : eg__why();
    }
    if (f != &eg__format_safetensors) {
        return eg__fail(EG_EINVAL, op, "zeros are left out of safetensors, not of %s", f->about.words);
    }
    eg_tensors *packed = eg__sparse_packed(op, map);
    eg_status st = packed ? save_told(op, f, packed, path, &o) : eg__why();
    eg_tensors_free(packed);
    return st;
}
