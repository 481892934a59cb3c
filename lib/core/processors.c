/* processors.c - processors that are there for this process: by the environment, affinity and control groups. */
#define _GNU_SOURCE
#include "lib/core/processors.h"

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/core/environment.h"
#include "lib/core/error.h"
#include "lib/core/thread.h"

enum { PATH = 1024 };

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int by_environment(void)
{
    const char *s = eg__getenv("OMP_NUM_THREADS"); /* or a list, whose first is for the outermost */
    char *end = NULL;
    const long n = s && *s ? strtol(s, &end, 10) : INT_MAX;
    if (n > 0 && n < INT_MAX && (!*end || *end == ',')) {
        return (int)n;
    }
    if (s && *s) {
        eg__log(EG__DEBUG_ENV, "OMP_NUM_THREADS", "\"%.40s\" is ignored, expected a number of at least 1", s);
    }
    return INT_MAX;
}

static int by_affinity(void)
{
    int n = (int)sysconf(_SC_NPROCESSORS_ONLN);
#ifdef __linux__
    cpu_set_t set; /* of 1024; where there are more the system says so and all count */
    n = sched_getaffinity(0, sizeof set, &set) ? n : CPU_COUNT(&set);
#endif
    return n > 0 ? n : 1;
}

/* The two numbers of a file; "max" for the first is none. */
static int read_numbers(const char *path, double *v, int n)
{
    FILE *f = fopen(path, "re");
    int got = 0;
    while (f && got < n && fscanf(f, "%lf", &v[got]) == 1) {
        got++;
    }
    if (f) {
        fclose(f);
    }
    return got;
}

static int processors_of(double quota, double period)
{
    double n = quota > 0 && period > 0 ? quota / period : INT_MAX;
    return n >= INT_MAX ? INT_MAX : (int)n + (n > (int)n);
}

/* The limit of one group, of either version of control groups. */
static int by_group(const char *root, const char *group, bool first)
{
    char path[PATH + 64];
    double v[2];
    if (!first) {
        snprintf(path, sizeof path, "%s/sys/fs/cgroup%s/cpu.max", root, group);
        return read_numbers(path, v, 2) == 2 ? processors_of(v[0], v[1]) : INT_MAX;
    }
    snprintf(path, sizeof path, "%s/sys/fs/cgroup/cpu%s/cpu.cfs_quota_us", root, group);
    int got = read_numbers(path, &v[0], 1);
    snprintf(path, sizeof path, "%s/sys/fs/cgroup/cpu%s/cpu.cfs_period_us", root, group);
    return got + read_numbers(path, &v[1], 1) == 2 ? processors_of(v[0], v[1]) : INT_MAX;
}

/* A group's and those it is in. A container may see its own group as the root: that one is asked last. */
static int by_groups(const char *root, char *group, bool first)
{
    int n = INT_MAX;
    for (;;) {
        n = least(n, by_group(root, group, first));
        char *slash = strrchr(group, '/');
        if (!slash) {
            return n;
        }
        *slash = 0;
    }
}

/* Lines of proc/self/cgroup: "0::/user.slice" of version 2, "4:cpu,cpuacct:/user.slice" of version 1. */
static int by_quota(const char *root)
{
    char path[PATH], line[PATH];
    int n = INT_MAX;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
        if (!group) {
            continue;
        }
        *group++ = 0;
        group[strcspn(group, "\n")] = 0;
        bool second = !strcmp(names, ":"), first = false;
        for (char *rest = names + 1, *name; (name = strtok_r(rest, ",", &rest));) {
            first |= !strcmp(name, "cpu");
        }
        n = second || first ? least(n, by_groups(root, group, first)) : n;
    }
    if (f) {
        fclose(f);
    }
    return n;
}

int eg__processors(const char *root)
{
    int n = least(by_environment(), by_affinity());
    n = least(n, by_quota(root));
    return n < 1 ? 1 : n;
}
