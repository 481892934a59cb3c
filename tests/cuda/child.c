#define _XOPEN_SOURCE 700
#include "tests/cuda/child.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/egt.h"

bool dies_saying(void (*job)(int which), int which, const char *word)
{
    int ends[2], status;
    char words[4096];
    size_t n = 0;
    ssize_t got;
#ifdef __SANITIZE_THREAD__
    egt_skip("not under the thread sanitizer");
#endif
    fflush(NULL);
    if (pipe(ends)) {
        return false;
    }
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        dup2(ends[1], 2);
        close(ends[0]);
        job(which);
        _exit(0);
    }
    close(ends[1]);
    while (n < sizeof words - 1 && (got = read(ends[0], words + n, sizeof words - 1 - n)) > 0) {
        n += (size_t)got;
    }
    words[n] = 0;
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) != child) {
        return false;
    }
    bool died = WIFSIGNALED(status) || WEXITSTATUS(status);
    bool said = strstr(words, word);
    if (died && !said) {
        printf("  status %#x, said: %s\n", (unsigned)status, words);
    }
    return died && said;
}
