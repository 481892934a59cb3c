/* journal.c - lines of JSON. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <egret/events.h>
#include <egret/json.h>

#include "lib/io/buffer.h"
#include "lib/io/file.h"
#include "lib/core/live.h"
#include "run/record/appender.h"

struct eg_journal {
    eg__appender file;
};

/* A process that died may have left half a line. */
static eg_status end_line(eg__appender *file, const char *op)
{
    char last = '\n';
    off_t size = lseek(file->fd, 0, SEEK_END);
    if (size > 0 && pread(file->fd, &last, 1, size - 1) == 1 && last != '\n') {
        return eg__appender_write(file, op, "\n", 1);
    }
    return EG_OK;
}

/* Returns whether a row is kept: its step is at most `last`, or it has none. */
static bool row_stays(const char *row, size_t bytes, int64_t last)
{
    int64_t step = 0;
    eg_json *tree = eg_json_parse(row, bytes), *field = tree ? eg_json_get(tree, "step") : NULL;
    bool later = field && eg_json_is_integer(field) && !eg_json_integer(field, &step) && step > last;
    eg_json_free(tree);
    eg_clear_error(); /* what is no JSON stays */
    return !later;
}

/* Writes the file without its rows behind the step, and without half a row at its end; it need not be there. */
static eg_status cut_rows(const char *op, const char *path, int64_t last)
{
    if (!eg__file_exists(path)) {
        return EG_OK;
    }
    eg_scope scope = eg_scope_push();
    eg_tensor *bytes = eg__file_bytes(op, path);
    char *text = bytes && bytes->n ? eg__ptr(bytes) : NULL, *end = text ? text + bytes->n : NULL, *to = text;
    for (char *row = text, *next; row < end; row = next) {
        const char *line_end = memchr(row, '\n', (size_t)(end - row));
        next = line_end ? row + (line_end - row) + 1 : end;
        if (line_end && row_stays(row, (size_t)(line_end - row), last)) {
            memmove(to, row, (size_t)(next - row));
            to += next - row;
        }
    }
    eg_status st = bytes ? EG_OK : eg__why();
    st = st || to == end ? st : eg__file_write(op, path, text, (size_t)(to - text));
    eg_scope_pop(scope, NULL);
    return st;
}

eg_journal *eg_journal_new_with(const char *path, const eg_journal_options *options)
{
    static const char op[] = "eg_journal_new";
    eg_journal_options o;
    eg__options(&o, sizeof o, options);
    if (!path) {
        return eg__null_argument(op, "path"), NULL;
    }
    size_t bytes = strlen(path) + 1;
    char *copy = eg__malloc(bytes);
    eg_journal *j = copy ? eg__handle_new(sizeof *j) : NULL;
    if (!j) {
        free(copy);
        return eg__no_memory(op, (int64_t)bytes), NULL;
    }
    memcpy(copy, path, bytes);
    eg_status st = o.append && o.last_step > 0 ? cut_rows(op, path, o.last_step) : EG_OK;
    if (st) {
        free(copy);
        j->file = (eg__appender){NULL, -1};
    }
    st = st ? st : eg__appender_open(&j->file, op, copy, o.append ? 0 : O_TRUNC);
    st = st ? st : end_line(&j->file, op);
    if (st) {
        eg_journal_free(j);
        return NULL;
    }
    return j;
}

void eg_journal_free(eg_journal *journal)
{
    if (eg__handle_ends(journal, "eg_journal_free")) {
        eg__appender_close(&journal->file);
        free(journal);
    }
}

static void put_field(eg__buffer *b, const eg_field *f)
{
    eg__put_string(b, f->name);
    eg__put_word(b, ": ");
    if (f->kind == EG_FIELD_INTEGER) {
        eg__put_int(b, f->integer);
    } else if (f->kind == EG_FIELD_REAL) {
        eg__put_real(b, f->real);
    } else if (f->text) {
        eg__put_string(b, f->text);
    } else {
        eg__put_word(b, "null");
    }
}

eg_status eg_journal_row_with(eg_journal *journal, const eg_field *fields, int count)
{
    static const char op[] = "eg_journal_row";
    eg__buffer b = {0};
    if (!journal || (!fields && count)) {
        return eg__null_argument(op, journal ? "fields" : "journal");
    }
    for (int i = 0; i < count; i++) {
        if (!fields[i].name || (unsigned)fields[i].kind > EG_FIELD_TEXT) {
            return eg__fail(EG_EINVAL, op, "field %d has no %s", i, fields[i].name ? "such kind" : "name");
        }
    }
    eg__put_word(&b, "{");
    for (int i = 0; i < count; i++) {
        eg__put_word(&b, i ? ", " : "");
        put_field(&b, &fields[i]);
    }
    eg__put_word(&b, "}\n");
    eg_status st = b.full ? eg__no_memory(op, b.n) : eg__appender_write(&journal->file, op, b.s, b.n);
    eg__buffer_free(&b);
    return st;
}

eg_status eg_journal_flush(eg_journal *journal)
{
    static const char op[] = "eg_journal_flush";
    return journal ? eg__appender_flush(&journal->file, op) : eg__null_argument(op, "journal");
}
