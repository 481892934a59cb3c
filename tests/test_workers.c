/* test_workers.c - the threads of an op from inside, and how many of them a process should have. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/core/processors.h"
#include "lib/core/workers.h"
#include "tests/egt.h"

enum { MOST = 9, CALLS = 2000, PHASES = 50 };

/* ---- numbers -------------------------------------------------------------------------------------- */

typedef struct tally {
    atomic_int times[MOST], wrong;
    atomic_int phase[MOST];
    bool nested;
} tally;

static void count(void *ctx, int number, int n)
{
    tally *t = ctx;
    t->wrong += number < 0 || number >= n || n > MOST;
    t->times[number]++;
    if (t->nested && number == 0 && eg__workers_inside()) { /* not where another caller has the workers */
        tally inner = {.nested = false};
        eg__workers_run(n, count, &inner);
        for (int i = 0; i < n; i++) {
            t->wrong += inner.times[i] != 1;
        }
        eg__workers_run_together(n, count, &inner);
        t->wrong += inner.times[0] != 2 || inner.times[1] != 1 || !eg__workers_inside();
    }
}

static bool each_once(bool nested)
{
    for (int call = 0; call < CALLS; call++) {
        tally t = {.nested = nested};
        const int n = 2 + call % (MOST - 1);
        eg__workers_run(n, count, &t);
        for (int i = 0; i < MOST; i++) {
            t.wrong += t.times[i] != (i < n);
        }
        if (t.wrong || eg__workers_inside()) {
            return false;
        }
    }
    return true;
}

EGT(each_number_once)
{
    EGT_CHECK(each_once(false));
    EGT_CHECK(each_once(true));
    eg__workers_run(0, count, NULL);
}

/* ---- together ------------------------------------------------------------------------------------- */

static void in_step(void *ctx, int number, int n)
{
    tally *t = ctx;
    t->wrong += number != eg__workers_number() || n != eg__workers_size();
    for (int p = 1; p <= PHASES; p++) {
        t->phase[number] = p;
        eg__workers_barrier();
        for (int i = 0; i < n; i++) {
            t->wrong += t->phase[i] != p;
        }
        eg__workers_barrier();
    }
}

static bool all_in_step(void)
{
    for (int n = 1; n <= MOST; n++) {
        tally t = {.nested = false};
        int ready = eg__workers_ready(n);
        eg__workers_run_together(ready, in_step, &t);
        if (ready != n || t.wrong) {
            return false;
        }
    }
    return true;
}

EGT(barriers)
{
    EGT_CHECK(all_in_step());
    eg__workers_barrier();
    EGT_EQ(eg__workers_number(), 0);
    EGT_EQ(eg__workers_size(), 1);
}

static void *caller(void *failed)
{
    for (int i = 0; i < 5; i++) {
        if (!each_once(i % 2) || !all_in_step()) {
            return failed;
        }
    }
    return NULL;
}

EGT(several_callers)
{
    pthread_t t[4];
    void *failed;
    for (int i = 0; i < 4; i++) {
        EGT_CHECK(!pthread_create(&t[i], NULL, caller, t));
    }
    for (int i = 0; i < 4; i++) {
        EGT_CHECK(!pthread_join(t[i], &failed));
        EGT_CHECK(!failed);
    }
}

/* ---- ends ----------------------------------------------------------------------------------------- */

EGT(they_end_and_come_back)
{
    for (int i = 0; i < 20; i++) {
        EGT_CHECK(all_in_step());
        eg__workers_end();
    }
    EGT_CHECK(each_once(false));
}

EGT(a_child_has_its_own)
{
#ifdef __SANITIZE_THREAD__
    egt_skip("not under the thread sanitizer: it ends children of processes with threads");
#endif
    int status = 1;
    EGT_CHECK(all_in_step());
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit(all_in_step() && each_once(true) ? 0 : 1);
    }
    EGT_CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    EGT_CHECK(all_in_step());
}

/* ---- how many ------------------------------------------------------------------------------------- */

static void put(const char *root, const char *folders, const char *name, const char *text)
{
    char path[512];
    int n = snprintf(path, sizeof path, "%s/%s", root, folders);
    for (char *s = path + 1; (s = strchr(s, '/')); s++) {
        *s = 0;
        mkdir(path, 0777);
        *s = '/';
    }
    mkdir(path, 0777);
    snprintf(path + n, sizeof path - (size_t)n, "/%s", name);
    FILE *f = fopen(path, "w");
    EGT_CHECK(f && fputs(text, f) >= 0);
    if (f) {
        fclose(f);
    }
}

/* What it is with these limits, where affinity allows more. */
static void quota(const char *root, int expected)
{
    int most = eg__processors("/nowhere");
    EGT_EQ(eg__processors(root), expected < most ? expected : most);
}

EGT(control_groups)
{
    char root[300];
    snprintf(root, sizeof root, "%s", egt_path("two"));
    unsetenv("OMP_NUM_THREADS");
    put(root, "proc/self", "cgroup", "0::/work.slice/one\n");
    put(root, "sys/fs/cgroup/work.slice/one", "cpu.max", "max 100000\n");
    quota(root, 1 << 20);
    put(root, "sys/fs/cgroup/work.slice", "cpu.max", "50000 100000\n");
    quota(root, 1);
    put(root, "sys/fs/cgroup/work.slice", "cpu.max", "150000 100000\n");
    quota(root, 2);
    put(root, "sys/fs/cgroup/work.slice/one", "cpu.max", "5 100000\n");
    quota(root, 1);
    put(root, "proc/self", "cgroup", "0::/elsewhere/on/the/host\n"); /* seen from a container: the root is its own */
    quota(root, 1 << 20);
    put(root, "sys/fs/cgroup", "cpu.max", "100000 100000\n");
    quota(root, 1);
    put(root, "proc/self", "cgroup", "nonsense\n7\n::\n");
    quota(root, 1);
    snprintf(root, sizeof root, "%s", egt_path("one"));
    put(root, "proc/self", "cgroup", "5:memory:/box\n4:cpu,cpuacct:/box\n");
    put(root, "sys/fs/cgroup/cpu/box", "cpu.cfs_quota_us", "-1\n");
    put(root, "sys/fs/cgroup/cpu/box", "cpu.cfs_period_us", "100000\n");
    quota(root, 1 << 20);
    put(root, "sys/fs/cgroup/cpu/box", "cpu.cfs_quota_us", "20000\n");
    quota(root, 1);
}

static void keep_report(const char *topic, const char *op, const char *words, void *user)
{
    snprintf(user, 200, "%s: %s: %s", topic, op, words);
}

EGT(environment_and_affinity)
{
    int all = eg__processors("");
    cpu_set_t before, one;
    setenv("OMP_NUM_THREADS", "1,4", 1);
    EGT_EQ(eg__processors("/nowhere"), 1);
    char report[200] = "";
    setenv("OMP_NUM_THREADS", "many", 1);
    EGT_OK(eg_log_to(keep_report, report));
    EGT_CHECK(eg__processors("/nowhere") >= all);
    EGT_STR(report, "env: OMP_NUM_THREADS: \"many\" is ignored, expected a number of at least 1");
    *report = 0;
    setenv("OMP_NUM_THREADS", "2", 1);
    EGT_CHECK(eg__processors("/nowhere") <= 2 && !*report);
    EGT_OK(eg_log_to(NULL, NULL));
    unsetenv("OMP_NUM_THREADS");
    EGT_CHECK(!sched_getaffinity(0, sizeof before, &before));
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++) {
        if (CPU_ISSET(i, &before)) {
            CPU_SET(i, &one);
        }
    }
    EGT_CHECK(!sched_setaffinity(0, sizeof one, &one));
    EGT_EQ(eg__processors(""), 1);
    EGT_CHECK(!sched_setaffinity(0, sizeof before, &before));
}
