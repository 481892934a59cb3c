/* events.c - event files for TensorBoard. */
#define _POSIX_C_SOURCE 200809L
#include <egret/events.h>

#include <egret/data/image.h>
#include <egret/ops.h>

#include "run/record/appender.h"
#include "run/record/folder.h"
#include "run/record/histogram.h"

#ifdef EG_HAVE_PROTOBUF

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "lib/core/device.h"
#include "lib/io/crc32c.h"
#include "lib/io/file.h"
#include "lib/core/live.h"
#include "data/readers/protobuf.h"
#include "run/record/event.pb-c.h"

struct eg_events {
    eg__appender file;
};

typedef Eg__Pb__Event event;
typedef Eg__Pb__Summary__Value value;

/* ---- records --------------------------------------------------------------------------------- */

static void put_little(uint8_t *to, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        to[i] = (uint8_t)(v >> 8 * i);
    }
}

/* Length, its checksum, the event, its checksum. */
static eg_status write_event(eg_events *e, const char *op, event *v)
{
    enum { BEFORE = 12, AFTER = 4 };
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    v->wall_time = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    size_t n = eg__pb__event__get_packed_size(v), bytes = BEFORE + n + AFTER;
    uint8_t *record = eg__malloc(bytes);
    if (!record) {
        return eg__no_memory(op, (int64_t)bytes);
    }
    put_little(record, n, 8);
    put_little(record + 8, eg__crc32c_mask(eg__crc32c(0, record, 8)), 4);
    eg__pb__event__pack(v, record + BEFORE);
    put_little(record + BEFORE + n, eg__crc32c_mask(eg__crc32c(0, record + BEFORE, n)), 4);
    eg_status st = eg__appender_write(&e->file, op, record, bytes);
    free(record);
    return st;
}

static eg_status write_value(eg_events *e, const char *op, const char *tag, int64_t step, value *v)
{
    Eg__Pb__Summary summary = EG__PB__SUMMARY__INIT;
    event all = EG__PB__EVENT__INIT;
    v->tag = (char *)tag;
    summary.n_value = 1;
    summary.value = &v;
    all.step = step;
    all.what_case = EG__PB__EVENT__WHAT_SUMMARY;
    all.summary = &summary;
    return write_event(e, op, &all);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* A name nobody else has, whatever runs in the same second. */
static eg_status open_new(eg_events *e, const char *op, const char *folder)
{
    static _Atomic unsigned serial;
    char host[65] = "", name[160];
    gethostname(host, sizeof host - 1);
    for (char *c = host; *c; c++) {
        *c = *c == '/' ? '-' : *c;
    }
    for (;;) {
        snprintf(name, sizeof name, "events.out.tfevents.%010lld.%s.%ld.%u", (long long)time(NULL), host,
                 (long)getpid(), atomic_fetch_add(&serial, 1));
        char *path = eg__folder_path(op, folder, name);
        if (!path) {
            return EG_ENOMEM;
        }
        bool there = eg__file_exists(path);
        if (!there) {
            return eg__appender_open(&e->file, op, path, O_EXCL);
        }
        free(path);
    }
}

/* The first events: the version, and where the run goes on. */
static eg_status begin_file(eg_events *e, const char *op, int64_t purge_step)
{
    enum { START = 1 };
    event first = EG__PB__EVENT__INIT, start = EG__PB__EVENT__INIT;
    Eg__Pb__SessionLog session = EG__PB__SESSION_LOG__INIT;
    first.what_case = EG__PB__EVENT__WHAT_FILE_VERSION;
    first.file_version = (char[]){"brain.Event:2"};
    session.status = START;
    start.step = purge_step;
    start.what_case = EG__PB__EVENT__WHAT_SESSION_LOG;
    start.session_log = &session;
    eg_status st = write_event(e, op, &first);
    return st || !purge_step ? st : write_event(e, op, &start);
}

eg_events *eg_events_new_with(const char *folder, const eg_events_options *options)
{
    static const char op[] = "eg_events_new";
    if (!folder || !*folder) {
        return folder ? eg__fail_null(EG_EINVAL, op, "folder is empty") : (eg__null_argument(op, "folder"), NULL);
    }
    eg_events_options o;
    eg__options(&o, sizeof o, options);
    if (o.purge_step < 0) {
        return eg__fail_null(EG_EINVAL, op, "purge_step is %lld, must not be negative", (long long)o.purge_step);
    }
    if (eg__protobuf_open(op)) {
        return NULL;
    }
    eg_events *e = eg__handle_new(sizeof *e);
    if (!e) {
        return eg__no_memory(op, sizeof *e), NULL;
    }
    e->file = (eg__appender){NULL, -1};
    eg_status st = eg__folder_make(op, folder);
    st = st ? st : open_new(e, op, folder);
    st = st ? st : begin_file(e, op, o.purge_step);
    if (st) {
        eg_events_free(e);
        return NULL;
    }
    return e;
}

void eg_events_free(eg_events *events)
{
    if (eg__handle_ends(events, "eg_events_free")) {
        eg__appender_close(&events->file);
        free(events);
    }
}

eg_status eg_events_flush(eg_events *events)
{
    static const char op[] = "eg_events_flush";
    return events ? eg__appender_flush(&events->file, op) : eg__null_argument(op, "events");
}

/* ---- values ---------------------------------------------------------------------------------- */

static eg_status check_text(const char *op, const char *name, const char *text)
{
    int64_t left = text ? (int64_t)strlen(text) : 0;
    for (const char *s = text; left > 0;) {
        int n = eg__utf8_length(s, left);
        if (!n) {
            return eg__fail(EG_EINVAL, op, "%s is not UTF-8: \"%.120s\"", name, text);
        }
        s += n;
        left -= n;
    }
    return text ? EG_OK : eg__null_argument(op, name);
}

static eg_status check(const eg_events *events, const char *op, const char *tag)
{
    return events ? check_text(op, "tag", tag) : eg__null_argument(op, "events");
}

eg_status eg_events_scalar(eg_events *events, const char *tag, int64_t step, double scalar)
{
    static const char op[] = "eg_events_scalar";
    value v = EG__PB__SUMMARY__VALUE__INIT;
    eg_status st = check(events, op, tag);
    v.value_case = EG__PB__SUMMARY__VALUE__VALUE_SIMPLE_VALUE;
    v.simple_value = (float)scalar;
    return st ? st : write_value(events, op, tag, step, &v);
}

static eg_status write_image(eg_events *events, const char *op, const char *tag, int64_t step, eg_tensor *image)
{
    Eg__Pb__Image i = EG__PB__IMAGE__INIT;
    value v = EG__PB__SUMMARY__VALUE__INIT;
    eg_tensor *png = eg_png_encode(image);
    if (!png) {
        return eg__why();
    }
    i.colorspace = (int32_t)image->shape[0];
    i.height = (int32_t)image->shape[1];
    i.width = (int32_t)image->shape[2];
    i.encoded_image_string.data = (uint8_t *)eg__ptr(png);
    i.encoded_image_string.len = (size_t)png->n;
    v.value_case = EG__PB__SUMMARY__VALUE__VALUE_IMAGE;
    v.image = &i;
    return write_value(events, op, tag, step, &v);
}

eg_status eg_events_image(eg_events *events, const char *tag, int64_t step, eg_tensor *image)
{
    static const char op[] = "eg_events_image";
    eg_status st = check(events, op, tag);
    st = st ? st : eg__check(image, op, "image");
    if (!st && image->ndim != 3) {
        st = eg__fail(EG_ESHAPE, op, "image is %s, must be [C, H, W]", EG__SHAPE_OF(image));
    }
    eg_scope s = st ? (eg_scope){0} : eg_scope_push();
    st = st ? st : write_image(events, op, tag, step, image);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

static eg_status write_histogram(eg_events *events, const char *op, const char *tag, int64_t step,
                                 const eg_tensor *values, eg__histogram *h)
{
    Eg__Pb__Histogram p = EG__PB__HISTOGRAM__INIT;
    value v = EG__PB__SUMMARY__VALUE__INIT;
    eg__histogram_fill(h, values);
    p.min = h->least;
    p.max = h->most;
    p.num = h->count;
    p.sum = h->sum;
    p.sum_squares = h->squares;
    p.n_bucket_limit = p.n_bucket = (size_t)h->buckets;
    p.bucket_limit = h->limit;
    p.bucket = h->in;
    v.value_case = EG__PB__SUMMARY__VALUE__VALUE_HISTO;
    v.histo = &p;
    return write_value(events, op, tag, step, &v);
}

eg_status eg_events_histogram(eg_events *events, const char *tag, int64_t step, eg_tensor *values)
{
    static const char op[] = "eg_events_histogram";
    eg_status st = check(events, op, tag);
    st = st ? st : eg__check(values, op, "values");
    if (st) {
        return st;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *packed = s.depth ? eg_contiguous(eg_detach(values)) : NULL;
    const eg_tensor *dense = packed ? eg__on_host(packed, op) : NULL;
    eg__histogram *h = dense ? eg__malloc(sizeof *h) : NULL;
    st = h ? write_histogram(events, op, tag, step, dense, h) : dense ? eg__no_memory(op, sizeof *h) : eg__why();
    free(h);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

eg_status eg_events_text(eg_events *events, const char *tag, int64_t step, const char *text)
{
    static const char op[] = "eg_events_text";
    enum { TEXTS = 7 };
    eg_status st = check(events, op, tag);
    st = st ? st : check_text(op, "text", text);
    if (st) {
        return st;
    }
    Eg__Pb__TextTensor t = EG__PB__TEXT_TENSOR__INIT;
    Eg__Pb__TextTensor__Shape shape = EG__PB__TEXT_TENSOR__SHAPE__INIT;
    Eg__Pb__TextTensor__Axis axis = EG__PB__TEXT_TENSOR__AXIS__INIT, *axes = &axis;
    Eg__Pb__Metadata about = EG__PB__METADATA__INIT;
    Eg__Pb__Metadata__Plugin plugin = EG__PB__METADATA__PLUGIN__INIT;
    ProtobufCBinaryData bytes = {strlen(text), (uint8_t *)text};
    value v = EG__PB__SUMMARY__VALUE__INIT;
    axis.size = 1;
    shape.n_dim = 1;
    shape.dim = &axes;
    t.dtype = TEXTS;
    t.tensor_shape = &shape;
    t.n_string_val = 1;
    t.string_val = &bytes;
    plugin.plugin_name = (char[]){"text"};
    about.plugin_data = &plugin;
    v.metadata = &about;
    v.value_case = EG__PB__SUMMARY__VALUE__VALUE_TENSOR;
    v.tensor = &t;
    return write_value(events, op, tag, step, &v);
}

#else /* no protobuf-c: there can be no eg_events */

eg_events *eg_events_new_with(const char *folder, const eg_events_options *options)
{
    (void)folder, (void)options;
    return eg__fail_null(EG_ENOKERNEL, "eg_events_new", "this build has no protobuf-c");
}

void eg_events_free(eg_events *events)
{
    (void)events;
}

eg_status eg_events_flush(eg_events *events)
{
    (void)events;
    return eg__null_argument("eg_events_flush", "events");
}

eg_status eg_events_scalar(eg_events *events, const char *tag, int64_t step, double scalar)
{
    (void)events, (void)tag, (void)step, (void)scalar;
    return eg__null_argument("eg_events_scalar", "events");
}

eg_status eg_events_image(eg_events *events, const char *tag, int64_t step, eg_tensor *image)
{
    (void)events, (void)tag, (void)step, (void)image;
    return eg__null_argument("eg_events_image", "events");
}

eg_status eg_events_histogram(eg_events *events, const char *tag, int64_t step, eg_tensor *values)
{
    (void)events, (void)tag, (void)step, (void)values;
    return eg__null_argument("eg_events_histogram", "events");
}

eg_status eg_events_text(eg_events *events, const char *tag, int64_t step, const char *text)
{
    (void)events, (void)tag, (void)step, (void)text;
    return eg__null_argument("eg_events_text", "events");
}

#endif
