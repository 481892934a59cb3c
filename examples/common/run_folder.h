/* run_folder.h - the folder where one run of a program leaves its pictures, logs and models. */
#ifndef EXAMPLES_RUN_FOLDER_H
#define EXAMPLES_RUN_FOLDER_H

#include <egret/error.h>

enum { RUN_PATH_SIZE = 4096, RUN_NAME_MOST = 255 };

/* A path as a value, made to be used at once: write_png(c, run_folder_path(&f, "loss.png").text). */
typedef struct run_path {
    char text[RUN_PATH_SIZE];
} run_path;

typedef struct run_folder {
    run_path path; /* without a slash at its end, unless it is "/" */
} run_folder;

/* Makes the folder `out`, or "egret-out/<program>" where out is NULL, with the folders above it, if
 * it is not there yet, and sees that files can be made in it: better refused now than after an hour
 * of training. */
eg_status run_folder_open(run_folder *folder, const char *out, const char *program);

/* The path of a file of that name (at most RUN_NAME_MOST bytes) in the folder. */
run_path run_folder_path(const run_folder *folder, const char *name);

#endif
