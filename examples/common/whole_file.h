/* whole_file.h - a file that is there whole or not at all.
 *
 * It is written under another name beside its place, flushed to the disk and then renamed, so
 * whoever looks finds the old file or the whole new one, and after a failure the old one. */
#ifndef EXAMPLES_WHOLE_FILE_H
#define EXAMPLES_WHOLE_FILE_H

#include <stdio.h>

#include <egret/error.h>

typedef struct whole_file {
    FILE *stream; /* to write to */
    char *path, *beside;
} whole_file;

/* Fails rather than follow a link or overwrite what somebody else put beside it. */
eg_status whole_file_open(whole_file *file, const char *path);

/* Puts it into its place if it was written, else, where `st` says why not, removes it, and frees either way. Returns
 * `st`, with the record as it was, or that the file could not be put there. */
eg_status whole_file_close(whole_file *file, eg_status st);

#endif
