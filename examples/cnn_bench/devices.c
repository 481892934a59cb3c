/* devices.c - see devices.h. */
#include "devices.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <egret/egret.h>

enum { MOST = 64 };

typedef struct device {
    pthread_t thread;
    eg_comm *comm;
    int (*main_of)(int argc, char **argv, eg_comm *comm);
    int argc, status;
    char **argv; /* a copy, which is rearranged */
} device;

/* As the flags will be read; what is no number of devices they refuse. */
static int count_devices(int argc, char **argv)
{
    static const char flag[] = "--num_gpus";
    for (int i = 1; i < argc; i++) {
        const size_t n = sizeof flag - 1;
        const bool dash = strncmp(argv[i], "--num-gpus", n) == 0;
        if (strncmp(argv[i], flag, n) == 0 || dash) {
            const char *value = argv[i][n] == '=' ? argv[i] + n + 1 : !argv[i][n] && i + 1 < argc ? argv[i + 1] : "1";
            const int count = atoi(value);
            return count < 1 || count > MOST ? 1 : count;
        }
    }
    return 1;
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
