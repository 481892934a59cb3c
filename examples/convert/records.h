/* records.h - writing labelled images one after the other, into one file or several. */
#ifndef EXAMPLES_CONVERT_RECORDS_H
#define EXAMPLES_CONVERT_RECORDS_H

#include <egret/egret.h>
#include <egret/run/folder.h>
#include <egret/run/progress.h>

/* The files of one part of a set, of which each is begun when the one before is full. */
typedef struct records {
    const char *folder, *name; /* "mnist_train": mnist_train.tfrecord, or mnist_train_00000-of-00005.tfrecord */
    int64_t count, shards;     /* images there will be, and files of them; 0: a single one with a plain name */
    int64_t written, file;     /* images so far, and the number of the file under way */
    eg_tfrecord_writer *writer;
    eg_progress bar;
} records;

void records_begin(records *r, const char *folder, const char *name, int64_t count, int64_t shards);
/* Appends an image: the bytes of a file of that format. */
eg_status records_add(records *r, eg_tensor *bytes, const char *format, int64_t label, int64_t height, int64_t width);
/* Puts the last file in its place, unless st is a failure, in which case what is unfinished goes. Returns st, or what
 * went wrong here. */
eg_status records_end(records *r, eg_status st);

/* labels.txt in the folder: a line "0:NAME" for each of the names. */
eg_status labels_write(const char *folder, const char *const *names, int64_t n);

#endif
