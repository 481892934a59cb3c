/* test_run_killed.c - whatever happens while a checkpoint is written, the one before is there. */
#define _XOPEN_SOURCE 700
#include "tests/egt.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <egret/saver.h>

EGT(a_full_disk)
{
    eg_tensor *big = eg_keep(eg_zeros(EG_SHAPE(100000), EG_F32));
    int64_t n = 1, step = 0;
    eg_saver *s = eg_saver_new(egt_folder(), .keep = 1);
    EGT_OK(eg_saver_number(s, "n", &n));
    EGT_OK(eg_saver_tensor(s, "big", big));
    EGT_OK(eg_saver_save(s, 1));
    n = 2;
    for (int64_t most = 0; most < 400000; most += 57000) {
        egt_limit_files(most);
        eg_status st = eg_saver_save(s, 2);
        egt_limit_files(-1);
        EGT_CHECK(st == EG_EIO && egt_said(EG_EIO, "write"));
    }
    EGT_OK(eg_saver_restore(s, &step));
    EGT_EQ(step + n, 2);
    eg_saver_free(s);
    eg_release(big);
    EGT_EQ(egt_files(""), 1);
}

/* A process that saves step after step until it is killed; returns its number. */
static pid_t spawn_saving(int64_t from, int64_t steps, int64_t keep)
{
    egt_folder(); /* the same on both sides */
    pid_t child = fork();
    EGT_CHECK(child >= 0);
    if (child) {
        return child;
    }
    int64_t step = from;
    eg_saver *s = eg_saver_new(egt_folder(), .keep = keep);
    eg_tensor *t = eg_keep(eg_zeros(EG_SHAPE(3000), EG_I64));
    bool ok = s && !eg_saver_number(s, "n", &step) && !eg_saver_tensor(s, "t", t) && !eg_saver_restore(s, &step);
    for (int64_t left = steps; ok && left; left--) {
        step++;
        int64_t *v = eg_data_mut(t);
        for (int i = 0; i < 3000; i++) {
            v[i] = step;
        }
        ok = !eg_saver_save(s, step);
    }
    if (!ok) {
        eg_error_print(stderr);
    }
    _exit(!ok);
}

/* Whether what lies there is whole; the step. */
static int64_t look(void)
{
    int64_t step = 0, n = -1;
    eg_saver *s = eg_saver_new(egt_folder());
    eg_tensor *t = eg_keep(eg_zeros(EG_SHAPE(3000), EG_I64));
    EGT_OK(eg_saver_number(s, "n", &n));
    EGT_OK(eg_saver_tensor(s, "t", t));
    EGT_OK(eg_saver_restore(s, &step));
    for (int i = 0; i < 3000 && step; i++) {
        EGT_EQ(eg_get(t, i), (double)step);
    }
    EGT_CHECK(!step || n == step);
    eg_saver_free(s);
    eg_release(t);
    return step;
}

static void nap(long milliseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = milliseconds * 1000000}, NULL);
}

EGT(killed_while_saving)
{
    int64_t step = 0;
    srand(7);
    for (int round = 0; round < 25; round++) {
        pid_t child = spawn_saving(0, -1, 2);
        nap(1 + rand() % 12);
        for (int i = 0; i < 20000 && egt_files("checkpoint") == egt_files(".tmp-"); i++) {
            nap(1); /* a slow machine: there is none yet */
        }
        kill(child, SIGKILL);
        EGT_CHECK(waitpid(child, NULL, 0) == child);
        int64_t now = look();
        EGT_CHECK(now >= step);
        step = now;
    }
    EGT_CHECK(step > 0);
    DIR *list = opendir(egt_folder()); /* what they left is swept up when it is old */
    for (struct dirent *e = readdir(list); e; e = readdir(list)) {
        if (strstr(e->d_name, ".tmp-")) {
            struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
            EGT_CHECK(!utimensat(AT_FDCWD, egt_path(e->d_name), old, 0));
        }
    }
    closedir(list);
    char mine[80];
    snprintf(mine, sizeof mine, "best.safetensors.tmp-%ld-1", (long)getpid());
    egt_write(egt_path(mine), "", 0); /* of a process that lives */
    egt_write(egt_path("best.safetensors.tmp-x"), "", 0);
    struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    EGT_CHECK(!utimensat(AT_FDCWD, egt_path(mine), old, 0));
    EGT_EQ(look(), step);
    EGT_EQ(egt_files(".tmp-"), 2);
}

/* A limit on the file's size kills the process at the write that passes it. */
EGT(killed_at_every_place_of_the_file)
{
    pid_t child = spawn_saving(0, 1, 1);
    EGT_CHECK(waitpid(child, NULL, 0) == child);
    struct stat about;
    EGT_CHECK(!stat(egt_path("checkpoint-0000000001.safetensors"), &about) && about.st_size > 24000);
    int died = 0;
    for (int64_t most = 0; most <= about.st_size; most += most < 600 ? 60 : 4000) {
        child = fork();
        EGT_CHECK(child >= 0);
        if (!child) {
            setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
            egt_limit_files(most);
            signal(SIGXFSZ, SIG_DFL);
            int64_t n = 2;
            eg_tensor *t = eg_keep(eg_ones(EG_SHAPE(3000), EG_I64));
            eg_saver *s = eg_saver_new(egt_folder(), .keep = 1);
            eg_saver_number(s, "n", &n);
            eg_saver_tensor(s, "t", t);
            _exit(eg_saver_save(s, 2) != EG_OK);
        }
        int how;
        EGT_CHECK(waitpid(child, &how, 0) == child);
        died += WIFSIGNALED(how) && WTERMSIG(how) == SIGXFSZ;
        EGT_EQ(look(), 1);
    }
    EGT_CHECK(died > 10);
}

/* What is old is removed by whoever saves, also between another one's look at the folder and its opening of a file. */
EGT(restored_while_another_saves)
{
    int how, times = 0;
    int64_t last = 0;
    pid_t a = spawn_saving(0, 1500, 1);
    while (!waitpid(a, &how, WNOHANG)) {
        int64_t now = look();
        EGT_CHECK(now >= last);
        last = now;
        times++;
    }
    EGT_CHECK(WIFEXITED(how) && !WEXITSTATUS(how));
    EGT_CHECK(times > 1 && look() == 1500);
}

EGT(two_processes_and_one_folder)
{
    pid_t a = spawn_saving(0, 60, 2), b = spawn_saving(0, 60, 2);
    int how_a, how_b;
    EGT_CHECK(waitpid(a, &how_a, 0) == a && waitpid(b, &how_b, 0) == b);
    EGT_CHECK(WIFEXITED(how_a) && !WEXITSTATUS(how_a));
    EGT_CHECK(WIFEXITED(how_b) && !WEXITSTATUS(how_b));
    EGT_CHECK(look() >= 60);
    EGT_EQ(egt_files(".tmp-"), 0);
}
