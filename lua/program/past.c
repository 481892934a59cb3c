/* past.c - see past.h. */
#define _DEFAULT_SOURCE
#include "past.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PLACE_SIZE = 4096 };

/* Makes the folders above a file. */
static void make_folders(char *path)
{
    for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(path, 0700); /* may be there; if it cannot be made, opening the file says so */
        *at = '/';
    }
}

static bool find_place(char place[PLACE_SIZE])
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int length = -1;
    if (state && *state == '/') {
        length = snprintf(place, PLACE_SIZE, "%s/egret/history", state);
    } else if (home && *home == '/') {
        length = snprintf(place, PLACE_SIZE, "%s/.local/state/egret/history", home);
    }
    return length > 0 && length < PLACE_SIZE;
}

/* Adds a copy of a line; false: out of memory. */
static bool append(past *h, const char *line, size_t length)
{
    if (h->count % 256 == 0) {
        char **more = realloc(h->line, (h->count + 256) * sizeof *more);
        if (!more) {
            return false;
        }
        h->line = more;
    }
    char *copy = strndup(line, length);
    if (copy) {
        h->line[h->count++] = copy;
    }
    return copy != NULL;
}

/* Adds the lines of a file; false if that is not all there are. */
static bool read_lines(const char *place, past *h)
{
    FILE *file = fopen(place, "r");
    if (!file) {
        return errno == ENOENT;
    }
    char *line = NULL;
    size_t room = 0;
    bool good = true;
    for (ssize_t n; good && (n = getline(&line, &room, file)) > 0;) {
        size_t length = (size_t)n - (line[n - 1] == '\n');
        good = length == 0 || append(h, line, length);
    }
    good = feof(file) && good;
    fclose(file);
    free(line);
    return good;
}

past past_load(void)
{
    past h = {0};
    char place[PLACE_SIZE];
    if (find_place(place)) {
        read_lines(place, &h);
    }
    return h;
}

void past_free(past *h)
{
    for (size_t i = 0; i < h->count; i++) {
        free(h->line[i]);
    }
    free(h->line);
    *h = (past){0};
}

static bool write_lines(const char *place, const past *h)
{
    FILE *file = fopen(place, "w");
    if (!file) {
        return false;
    }
    bool good = fchmod(fileno(file), 0600) == 0;
    for (size_t i = h->count > PAST_MOST ? h->count - PAST_MOST : 0; i < h->count; i++) {
        good = fprintf(file, "%s\n", h->line[i]) > 0 && good;
    }
    return fclose(file) == 0 && good;
}

/* Holds the folder of a file for this process, so that of two sessions that read, add and replace none loses the
 * other's line. Where folders cannot be held it goes on without. */
static int hold_folder(char *path)
{
    char *end = strrchr(path, '/');
    *end = '\0';
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *end = '/';
    while (folder >= 0 && flock(folder, LOCK_EX) != 0 && errno == EINTR) {
    }
    return folder;
}

void past_add(const char *line)
{
    char place[PLACE_SIZE], beside[PLACE_SIZE + 32];
    if (!find_place(place)) {
        return;
    }
    make_folders(place);
    int folder = hold_folder(place);
    past h = {0};
    bool whole = read_lines(place, &h);
    bool again = h.count > 0 && strcmp(h.line[h.count - 1], line) == 0;
    if (whole && !again && append(&h, line, strlen(line))) {
        snprintf(beside, sizeof beside, "%s.%ld", place, (long)getpid());
        if (!write_lines(beside, &h) || rename(beside, place) != 0) {
            unlink(beside);
        }
    }
    past_free(&h);
    if (folder >= 0) {
        close(folder);
    }
}
