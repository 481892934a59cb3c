/* static.c - a program that has the library inside, and of it what it calls. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <egret/egret.h>

static bool alone(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    bool shared = false;
    while (maps && fgets(line, sizeof line, maps)) {
        shared |= strstr(line, "libegret") != NULL;
    }
    if (maps) {
        fclose(maps);
    }
    return !shared;
}

static bool computes(void)
{
    eg_scope s = eg_scope_push();
    bool right = eg_item(eg_sum(eg_square(eg_arange(0, 4, 1, EG_F32)))) == 14;
    eg_scope_pop(s, NULL);
    eg_thread_end(); /* so that the next one begins under locks */
    return right;
}

static bool early;

__attribute__((constructor)) static void before_main(void)
{
    early = computes();
}

static bool computed_before_main(void)
{
    return early;
}

static atomic_bool stop;

static void *keep_busy(void *user)
{
    while (!stop && computes()) {
    }
    return user;
}

/* Whatever the other thread holds at that moment. */
static bool forks(void)
{
    pthread_t busy;
    int status = 0;
    if (pthread_create(&busy, NULL, keep_busy, NULL)) {
        return false;
    }
    for (int i = 0; i < 500 && status == 0; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            _exit(!computes());
        }
        status = child < 0 || waitpid(child, &status, 0) != child ? -1 : status;
    }
    stop = true;
    pthread_join(busy, NULL);
    return status == 0;
}

int main(void)
{
    const struct {
        const char *what;
        bool (*holds)(void);
    } cases[] = {{"no shared library is loaded", alone},
                 {"it computes in a constructor", computed_before_main},
                 {"it computes", computes},
                 {"children compute", forks}};
    int passed = 0, n = sizeof cases / sizeof cases[0];
    for (int i = 0; i < n; i++) {
        bool holds = cases[i].holds();
        passed += holds;
        if (!holds) {
            printf("FAIL %s\n", cases[i].what);
        }
    }
    printf("%d passed, %d failed, 0 skipped\n", passed, n - passed);
    return passed < n;
}
