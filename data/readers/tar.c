/* tar.c - the files inside tar archives, through libarchive. */
#include "data/chain/dataset.h"
#include "data/readers/stream.h"

#include <egret/data/readers.h>

static const char me[] = "eg_tar_new";

#ifdef EG_HAVE_ARCHIVE
#include <archive.h>
#include <archive_entry.h>

#include "lib/core/library.h"

#define FUNCTIONS(X)                     \
    X(archive_entry_filetype)            \
    X(archive_entry_pathname)            \
    X(archive_error_string)              \
    X(archive_read_data)                 \
    X(archive_read_free)                 \
    X(archive_read_header_position)      \
    X(archive_read_new)                  \
    X(archive_read_next_header)          \
    X(archive_read_open_fd)              \
    X(archive_read_support_filter_bzip2) \
    X(archive_read_support_filter_gzip)  \
    X(archive_read_support_filter_xz)    \
    X(archive_read_support_filter_zstd)  \
    X(archive_read_support_format_tar)
EG__LIBRARY(lib, FUNCTIONS, .title = "libarchive", .files = {EG_SO_ARCHIVE}, .package = "libarchive13");

enum { PIECE = 1 << 16 };

typedef struct tar {
    eg_dataset d;
    eg__names files;
    uint32_t next; /* file to open */
    eg__source source;
    struct archive *archive; /* NULL: none is open */
    eg__bytes data;
} tar;

static void shut(tar *t)
{
    if (t->archive) {
        lib.archive_read_free(t->archive);
        eg__source_close(&t->source);
        t->archive = NULL;
    }
}

/* libarchive's reason; it can read no further. */
static eg_status complain(tar *t)
{
    const char *words = lib.archive_error_string(t->archive);
    eg_status st =
        eg__source_bad(&t->source, lib.archive_read_header_position(t->archive), "libarchive: %s", words ? words : "?");
    shut(t);
    return st;
}

static eg_status open_next(tar *t)
{
    const char *path = t->files.name[t->next++];
    eg_status st = eg__source_open(&t->source, me, path);
    if (st) {
        return st;
    }
    t->archive = lib.archive_read_new();
    if (!t->archive) {
        eg__source_close(&t->source);
        return eg__no_memory(me, 0);
    }
    lib.archive_read_support_format_tar(t->archive);
    lib.archive_read_support_filter_gzip(t->archive);
    lib.archive_read_support_filter_bzip2(t->archive);
    lib.archive_read_support_filter_xz(t->archive);
    lib.archive_read_support_filter_zstd(t->archive);
    return lib.archive_read_open_fd(t->archive, t->source.fd, PIECE) == ARCHIVE_OK ? EG_OK : complain(t);
}

/* The next regular file's header; NULL entry at the end. */
static eg_status next_entry(tar *t, eg__sample *s, struct archive_entry **e)
{
    *e = NULL;
    while (t->archive || t->next < t->files.n) {
        s->file = t->files.name[t->next - (t->archive != NULL)];
        s->at = 0;
        eg_status st = t->archive ? EG_OK : open_next(t);
        if (st) {
            return st;
        }
        int r = lib.archive_read_next_header(t->archive, e);
        s->at = lib.archive_read_header_position(t->archive);
        if (r == ARCHIVE_EOF) {
            shut(t);
        } else if (r != ARCHIVE_OK && r != ARCHIVE_WARN) {
            return complain(t);
        } else if (lib.archive_entry_filetype(*e) == AE_IFREG && lib.archive_entry_pathname(*e)) {
            return EG_OK;
        }
        *e = NULL;
    }
    return EG_OK;
}

/* The sizes of headers are not believed: memory grows with what is there. */
static eg_status read_data(tar *t)
{
    t->data.n = 0;
    for (;;) {
        if (t->data.n > INT32_MAX - PIECE) {
            return eg__source_bad(&t->source, lib.archive_read_header_position(t->archive),
                                  "a member has more than 2^31 - 1 bytes");
        }
        if (!eg__bytes_room(&t->data, PIECE)) {
            return eg__no_memory(me, t->data.n);
        }
        la_ssize_t n = lib.archive_read_data(t->archive, t->data.p + t->data.n, PIECE);
        if (n < 0) {
            return complain(t);
        }
        if (n == 0) {
            return EG_OK;
        }
        t->data.n += n;
        eg_status st =
            eg__source_unpacks(&t->source, lib.archive_read_header_position(t->archive), "a member has", t->data.n);
        if (st) {
            return st;
        }
    }
}

static eg_status tar_next(eg_dataset *d, eg__sample *s)
{
    tar *t = (tar *)d;
    struct archive_entry *e;
    eg_status st = next_entry(t, s, &e);
    if (st || !e || (st = read_data(t))) {
        return st;
    }
    eg_scope scope = eg_scope_push();
    const char *name = lib.archive_entry_pathname(e);
    eg_tensor *out[2] = {NULL, NULL};
    out[0] = scope.depth ? eg__bytes_tensor(name, (int64_t)strlen(name)) : NULL;
    out[1] = out[0] ? eg__bytes_tensor(t->data.p, t->data.n) : NULL;
    st = out[1] ? eg__sample_keep(me, s, out, 2) : eg__why();
    eg_scope_pop(scope, NULL);
    return st;
}

static eg_status tar_start(eg_dataset *d, uint64_t epoch)
{
    (void)epoch;
    shut((tar *)d);
    ((tar *)d)->next = 0;
    return EG_OK;
}

static int64_t tar_count(const eg_dataset *d)
{
    (void)d;
    return -1;
}

static void tar_free(eg_dataset *d)
{
    tar *t = (tar *)d;
    shut(t);
    eg__names_free(&t->files);
    eg__bytes_free(&t->data);
}

static const eg__dataset_class tar_class = {
    .name = me, .start = tar_start, .next = tar_next, .count = tar_count, .free = tar_free};

eg_dataset *eg_tar_new(const char *pattern)
{
    if (eg__library_open(&lib_library, me)) {
        return NULL;
    }
    tar *t = (tar *)eg__dataset_new(&tar_class, sizeof *t, NULL);
    if (t && eg__names_match(&t->files, me, pattern)) {
        eg_dataset_free(&t->d);
        return NULL;
    }
    return t ? &t->d : NULL;
}

#else

eg_dataset *eg_tar_new(const char *pattern)
{
    (void)pattern;
    return eg__fail_null(EG_ENOKERNEL, me, "this build has no libarchive");
}

#endif
