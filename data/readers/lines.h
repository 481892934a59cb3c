/* lines.h - a source made of the lines of files: what text_lines.c, csv.c and ndjson.c share. */
#ifndef EGRET_LINES_H
#define EGRET_LINES_H

#include <egret/data/readers.h>

#include "data/chain/dataset.h"
#include "data/readers/stream.h"

enum { EG__MOST_LINE = 100000000 };

typedef struct eg__lines {
    eg_dataset d;
    eg__names files;
    uint32_t next; /* file to open */
    eg__stream stream;
    bool open, stay; /* stay: a file's end is the end */
    bool any_end;    /* a lone CR ends a line too */
    int64_t number;  /* of the latest line, from 1 */
    eg_utf8_policy invalid;
    eg__bytes line, clean;
} eg__lines;

/* The next line into l->line, opening files as needed, in valid UTF-8 as the policy asks; *more
 * false: none is left. *fresh: it is the first of its file. Fills s->file and s->at. */
eg_status eg__lines_next(eg__lines *l, eg__sample *s, bool *more, bool *fresh);
/* Returns whether the line has only spaces, tabs and CRs. */
bool eg__lines_blank(const eg__lines *l);
/* Nothing more of this file. */
void eg__lines_leave(eg__lines *l);
/* Fails with EG_EFORMAT naming file and line. */
eg_status eg__lines_bad(const eg__lines *l, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
eg_status eg__lines_start(eg_dataset *d, uint64_t epoch);
int64_t eg__lines_count(const eg_dataset *d);
void eg__lines_free(eg_dataset *d);
/* A source of `size` bytes whose struct begins with eg__lines. */
eg_dataset *eg__lines_new(const eg__dataset_class *is, size_t size, const char *pattern, eg_utf8_policy invalid);

#endif
