/* devices.c - see devices.h. */
#include "devices.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <egret/egret.h>
#include <egret/run/flags.h>

enum { MOST = 64 };

typedef struct device {
    pthread_t thread;
    eg_comm *comm;
    int (*main_of)(int argc, char **argv, eg_comm *comm);
    int argc, status;
    char **argv; /* a copy, which is rearranged */
} device;

/* The value of --num_gpus; 1 where the command line is wrong, which the run reports. */
static int count_devices(int argc, char **argv)
{
    int64_t count = 1;
    int status;
    const eg_flag table[] = {EG_FLAG_INTEGER("num_gpus", &count, "1", 1, MOST, "devices")};
    FILE *nowhere = fopen("/dev/null", "w");
    eg_flags line = {.program = "", .table = table, .count = 1, .known_only = true, .out = nowhere, .err = nowhere};
    eg_flags_parse(&line, argc, argv, &status);
    eg_flags_free(&line);
    if (nowhere) {
        fclose(nowhere);
    }
    return (int)count;
}

static void *run_device(void *user)
{
    device *d = user;
    d->status = d->main_of(d->argc, d->argv, d->comm);
    eg_comm_free(d->comm);
    eg_thread_end();
    return NULL;
}

static char **copy_of(int argc, char **argv)
{
    char **copy = calloc((size_t)argc + 1, sizeof *copy);
    if (copy) {
        memcpy(copy, argv, (size_t)argc * sizeof *copy);
    }
    return copy;
}

/* Those that could be begun, until they have ended. */
static int run_all(device *all, int count)
{
    int begun = 0, status = 0;
    while (begun < count && pthread_create(&all[begun].thread, NULL, run_device, &all[begun]) == 0) {
        begun++;
    }
    for (int i = begun; i < count; i++) { /* the others are told */
        eg_comm_free(all[i].comm);
        status = 1;
    }
    for (int i = 0; i < begun; i++) {
        pthread_join(all[i].thread, NULL);
        status = status ? status : all[i].status;
    }
    return status;
}

int on_devices(int argc, char **argv, int (*main_of)(int argc, char **argv, eg_comm *comm))
{
    static device all[MOST];
    const int count = eg_comm_launched().ranks > 1 ? 1 : count_devices(argc, argv);
    int ready = 0;
    if (count == 1) {
        return main_of(argc, argv, NULL);
    }
    eg_comm *comm = eg_comm_threads_new(count);
    for (; comm && ready < count; ready++) {
        device *d = &all[ready];
        *d = (device){.main_of = main_of, .argc = argc, .argv = copy_of(argc, argv)};
        d->comm = ready == 0 ? comm : d->argv ? eg_comm_other(comm, ready) : NULL;
        if (!d->argv || !d->comm) {
            break;
        }
    }
    int status = ready == count ? run_all(all, count) : eg_error_print(stderr);
    for (int i = 0; i < count; i++) {
        if (ready < count && i <= ready && all[i].comm) {
            eg_comm_free(all[i].comm);
        }
        free(all[i].argv);
    }
    return status;
}
