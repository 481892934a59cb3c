/* records.c - see records.h. */
#include "records.h"

#include <stdlib.h>
#include <string.h>

static const char function[] = "convert";

void records_begin(records *r, const char *folder, const char *name, int64_t count, int64_t shards)
{
    *r = (records){.folder = folder, .name = name, .count = count, .shards = shards};
    eg_progress_start(&r->bar, stderr, name, count, "images");
}

/* How many images there are up to the end of the file under way. */
static int64_t to_the_end(const records *r)
{
    return r->shards ? (r->file + 1) * r->count / r->shards : r->count;
}

static eg_status begin_file(records *r)
{
    char name[128];
    if (r->shards) {
        snprintf(name, sizeof name, "%s_%05lld-of-%05lld.tfrecord", r->name, (long long)r->file, (long long)r->shards);
    } else {
        snprintf(name, sizeof name, "%s.tfrecord", r->name);
    }
    r->writer = eg_tfrecord_writer_new(eg_path_in(r->folder, name).text);
    return r->writer ? EG_OK : eg_last_error()->code;
}

static eg_status end_file(records *r)
{
    eg_tfrecord_writer *w = r->writer;
    r->writer = NULL;
    r->file++;
    return w ? eg_tfrecord_writer_close(w) : EG_OK;
}

static eg_status set_number(eg_example *e, const char *name, int64_t value)
{
    return eg_example_set(e, name, eg_from(EG_SHAPE(1), EG_I64, &value));
}

static eg_status write_example(records *r, eg_example *e)
{
    eg_tensor *bytes = eg_example_encode(e);
    return bytes ? eg_tfrecord_write(r->writer, eg_data(bytes), (size_t)eg_numel(bytes)) : eg_last_error()->code;
}

eg_status records_add(records *r, eg_tensor *bytes, const char *format, int64_t label, int64_t height, int64_t width)
{
    eg_status st = r->writer ? EG_OK : begin_file(r);
    eg_example *e = st ? NULL : eg_example_new();
    st = st ? st : e ? EG_OK : eg_last_error()->code;
    st = st ? st : eg_example_set(e, "image/encoded", bytes);
    st = st ? st : eg_example_set_bytes(e, "image/format", format, strlen(format));
    st = st ? st : set_number(e, "image/class/label", label);
    st = st ? st : set_number(e, "image/height", height);
    st = st ? st : set_number(e, "image/width", width);
    st = st ? st : write_example(r, e);
    eg_example_free(e);
    eg_progress_update(&r->bar, ++r->written, "%s", "");
    return !st && r->written == to_the_end(r) ? end_file(r) : st;
}

eg_status records_end(records *r, eg_status st)
{
    eg_progress_clear(&r->bar);
    if (st) {
        eg_tfrecord_writer_free(r->writer);
        r->writer = NULL;
        return st;
    }
    st = r->writer ? end_file(r) : EG_OK;
    if (!st && r->written != r->count) {
        st = eg_failf(EG_ESTATE, function, "%s has %lld images, %lld were counted", r->name, (long long)r->written,
                      (long long)r->count);
    }
    return st;
}

eg_status labels_write(const char *folder, const char *const *names, int64_t n)
{
    size_t room = 1;
    for (int64_t i = 0; i < n; i++) {
        room += strlen(names[i]) + 24;
    }
    char *text = malloc(room), *end = text;
    if (!text) {
        return eg_fail(EG_ENOMEM, function, "out of memory");
    }
    for (int64_t i = 0; i < n; i++) {
        end += snprintf(end, room - (size_t)(end - text), "%lld:%s\n", (long long)i, names[i]);
    }
    eg_status st = eg_file_write(eg_path_in(folder, "labels.txt").text, text, (size_t)(end - text));
    free(text);
    return st;
}
