/* folder.h - a folder of a test program's own, gone with it; for programs that write files. */
#ifndef EGRET_TESTS_FOLDER_H
#define EGRET_TESTS_FOLDER_H

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/egt.h"

/* In memory if possible: there a sync costs nothing. */
static inline const char *folder(void)
{
    static char path[64];
    if (!path[0]) {
        snprintf(path, sizeof path, "%s/egret-test-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
        EGT_CHECK(mkdtemp(path));
    }
    return path;
}

/* Valid until the fourth call from now. */
static inline const char *in_folder(const char *name)
{
    static char path[4][400];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder(), name);
    return path[turn];
}

/* How many files have names with this word in them; removes them too if asked to. */
static inline int files(const char *word, bool remove)
{
    int n = 0;
    DIR *list = opendir(folder());
    EGT_CHECK(list);
    for (struct dirent *e = readdir(list); e; e = readdir(list)) {
        if (e->d_name[0] != '.' && strstr(e->d_name, word)) {
            n++;
            if (remove) {
                unlink(in_folder(e->d_name));
            }
        }
    }
    closedir(list);
    return n;
}

__attribute__((destructor)) static void folder_clean(void)
{
    files("", true);
    rmdir(folder());
}

static inline void spill(const char *path, const char *data, size_t bytes)
{
    FILE *f = fopen(path, "wb");
    EGT_CHECK(f && fwrite(data, 1, bytes, f) == bytes && fclose(f) == 0);
}

#endif
