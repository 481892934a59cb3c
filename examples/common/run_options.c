/* run_options.c - see run_options.h. */
#include "run_options.h"

#include <stdio.h>
#include <string.h>

#include <egret/egret.h>

static bool is_cuda(const char *device)
{
    if (strncmp(device, "cuda", 4) != 0) {
        return false;
    }
    const char *number = device + 4 + (device[4] == ':');
    return !device[4] || (device[4] == ':' && *number && number[strspn(number, "0123456789")] == '\0');
}

static bool check_device(const char *device, problem *why)
{
    if (strcmp(device, "cpu") == 0) {
        return true;
    }
    return is_cuda(device) ? problem_say(why, "--device %s: Egret computes on the CPU only so far", device)
                           : problem_say(why, "--device is cpu, cuda or cuda:N, not '%.60s'", device);
}

static bool egret_says(problem *why)
{
    const eg_error *e = eg_last_error();
    return problem_say(why, "%s: %s", e->op, e->message);
}

bool run_begin(const run_options *run, const char *program, run_folder *folder, problem *why)
{
    if (!check_device(run->device, why) || !run_folder_open(folder, run->out, program, why)) {
        return false;
    }
    if (run->threads && eg_set_threads((int)run->threads) != EG_OK) {
        return egret_says(why);
    }
    eg_seed((uint64_t)run->seed);
    return !run->profile || eg_profile_begin(.memory = true) == EG_OK || egret_says(why);
}

bool run_end(const run_options *run, const run_folder *folder, problem *why)
{
    enum { MOST = 12 };
    eg_profile_total totals[MOST];
    if (!run->profile) {
        return true;
    }
    run_path trace = run_folder_path(folder, "trace.json");
    if (eg_profile_end(trace.text) != EG_OK) {
        return egret_says(why);
    }
    int count = eg_profile_totals(totals, MOST);
    printf("profile %s\n%10s %10s  op\n", trace.text, "seconds", "calls");
    for (int i = 0; i < count && i < MOST; i++) {
        const eg_profile_total *t = &totals[i];
        printf("%10.3f %10lld  %s%s\n", t->seconds, (long long)t->calls, t->name,
               t->backward ? ", backward" : "");
    }
    return true;
}
