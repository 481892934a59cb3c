/* text_lines.c - the lines of text files. */
#include "data/readers/lines.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- shared by sources of lines ------------------------------------------------------------- */

void eg__lines_leave(eg__lines *l)
{
    eg__stream_close(&l->stream);
    l->open = false;
}

bool eg__lines_blank(const eg__lines *l)
{
    return (int64_t)strspn((const char *)l->line.p, " \t\r") == l->line.n;
}

eg_status eg__lines_bad(const eg__lines *l, const char *format, ...)
{
    char words[160];
    const char *file = l->files.name[l->next - 1];
    size_t n = strlen(file);
    va_list ap;
    va_start(ap, format);
    vsnprintf(words, sizeof words, format, ap);
    va_end(ap);
    return eg__fail(EG_EFORMAT, l->d.is->name, "%s%s, line %lld: %s", n > 60 ? "..." : "", file + (n > 60 ? n - 57 : 0),
                    (long long)l->number, words);
}

/* What is no UTF-8 is refused or replaced. */
static eg_status clean(eg__lines *l)
{
    static const char unknown[] = "\xef\xbf\xbd";
    const char *s = (const char *)l->line.p;
    bool replaced = false;
    l->clean.n = 0;
    for (int64_t i = 0, from = 0; i <= l->line.n;) {
        int n = i < l->line.n ? eg__utf8_length(s + i, l->line.n - i) : 0;
        if (n) {
            i += n;
            continue;
        }
        if (i < l->line.n && l->invalid == EG_UTF8_REFUSE) {
            return eg__lines_bad(l, "byte %lld, 0x%02x, is no UTF-8", (long long)(i + 1), (unsigned)(uint8_t)s[i]);
        }
        if (i == l->line.n && !replaced) {
            return EG_OK;
        }
        if (!eg__bytes_add(&l->clean, s + from, i - from) ||
            !eg__bytes_add(&l->clean, unknown, i < l->line.n ? 3 : 1)) {
            return eg__no_memory(l->d.is->name, l->clean.n);
        }
        replaced = true;
        from = ++i;
    }
    l->clean.n--; /* what was added at the end only stands for the final 0 */
    l->clean.p[l->clean.n] = 0;
    eg__bytes was = l->line;
    l->line = l->clean;
    l->clean = was;
    return EG_OK;
}

static void drop_mark(eg__bytes *line)
{
    if (line->n >= 3 && !memcmp(line->p, "\xef\xbb\xbf", 3)) {
        line->n -= 3;
        memmove(line->p, line->p + 3, (size_t)line->n + 1);
    }
}

eg_status eg__lines_next(eg__lines *l, eg__sample *s, bool *more, bool *fresh)
{
    *more = *fresh = false;
    while (l->open || l->next < l->files.n) {
        eg_status st = EG_OK;
        *fresh = !l->open;
        if (*fresh) {
            s->file = l->files.name[l->next++];
            s->at = 0;
            l->number = 0;
            st = eg__stream_open(&l->stream, l->d.is->name, s->file, EG_COMPRESSION_AUTO);
            l->open = !st;
            l->stream.any_end = l->any_end;
        }
        s->file = l->files.name[l->next - 1];
        s->at = l->open ? l->stream.offset : 0;
        if (!st) {
            st = eg__stream_line(&l->stream, &l->line, EG__MOST_LINE, more);
            l->number++;
        }
        if (st) {
            if (!*more) {
                eg__lines_leave(l);
            }
            return st;
        }
        if (*more) {
            if (*fresh) {
                drop_mark(&l->line);
            }
            return l->invalid == EG_UTF8_KEEP ? EG_OK : clean(l);
        }
        eg__lines_leave(l);
        if (l->stay) {
            break;
        }
    }
    return EG_OK;
}

eg_status eg__lines_start(eg_dataset *d, uint64_t epoch)
{
    eg__lines *l = (eg__lines *)d;
    (void)epoch;
    eg__lines_leave(l);
    l->next = 0;
    return EG_OK;
}

int64_t eg__lines_count(const eg_dataset *d)
{
    (void)d;
    return -1;
}

void eg__lines_free(eg_dataset *d)
{
    eg__lines *l = (eg__lines *)d;
    eg__lines_leave(l);
    eg__names_free(&l->files);
    eg__bytes_free(&l->line);
    eg__bytes_free(&l->clean);
}

eg_dataset *eg__lines_new(const eg__dataset_class *is, size_t size, const char *pattern, eg_utf8_policy invalid)
{
    if ((unsigned)invalid > EG_UTF8_KEEP) {
        return eg__fail_null(EG_EINVAL, is->name, "no policy %d", invalid);
    }
    eg__lines *l = (eg__lines *)eg__dataset_new(is, size, NULL);
    if (!l) {
        return NULL;
    }
    l->invalid = invalid;
    if (eg__names_match(&l->files, is->name, pattern)) {
        eg_dataset_free(&l->d);
        return NULL;
    }
    return &l->d;
}

/* ---- lines as samples ----------------------------------------------------------------------- */

typedef struct text_lines {
    eg__lines l;
    bool skip_empty;
} text_lines;

static eg_status text_next(eg_dataset *d, eg__sample *s)
{
    text_lines *t = (text_lines *)d;
    bool more, fresh;
    eg_status st;
    do {
        st = eg__lines_next(&t->l, s, &more, &fresh);
    } while (!st && more && t->skip_empty && !t->l.line.n);
    if (st || !more) {
        return st;
    }
    eg_scope scope = eg_scope_push();
    eg_tensor *line = scope.depth ? eg__bytes_tensor(t->l.line.p, t->l.line.n) : NULL;
    st = line ? eg__sample_keep(d->is->name, s, &line, 1) : eg__why();
    eg_scope_pop(scope, NULL);
    return st;
}

static const eg__dataset_class text_class = {.name = "eg_text_lines_new",
                                             .start = eg__lines_start,
                                             .next = text_next,
                                             .count = eg__lines_count,
                                             .free = eg__lines_free};

eg_dataset *eg_text_lines_new_with(const char *pattern, const eg_text_lines_options *options)
{
    eg_text_lines_options o;
    eg__options(&o, sizeof o, options);
    text_lines *t = (text_lines *)eg__lines_new(&text_class, sizeof *t, pattern, o.invalid);
    if (t) {
        t->skip_empty = o.skip_empty;
    }
    return t ? &t->l.d : NULL;
}
