/* signals.c - see signals.h. */
#define _POSIX_C_SOURCE 200809L
#include "run/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

enum { COUNT = 2 };

static const int numbers[COUNT] = {SIGINT, SIGTERM};
static struct sigaction before[COUNT];
static atomic_int noted; /* by whichever thread the kernel gave the signal to */
static atomic_bool holding;

/* In a signal handler too: sigaction may be called there. */
static void put_back(void)
{
    for (int i = 0; i < COUNT; i++) {
        sigaction(numbers[i], &before[i], NULL);
    }
}

static void note(int number)
{
    int error = errno;
    atomic_store(&noted, number);
    put_back();
    errno = error;
}

bool signals_hold(void)
{
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    if (atomic_exchange(&holding, true)) {
        return false;
    }
    atomic_store(&noted, 0);
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < COUNT; i++) {
        sigaddset(&action.sa_mask, numbers[i]);
        sigaction(numbers[i], NULL, &before[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        if (before[i].sa_handler != SIG_IGN) {
            sigaction(numbers[i], &action, NULL);
        }
    }
    return true;
}

int signals_take(void)
{
    return atomic_exchange(&noted, 0);
}

void signals_release(void)
{
    if (atomic_load(&holding)) {
        put_back();
        int number = signals_take();
        atomic_store(&holding, false);
        if (number) {
            raise(number);
        }
    }
}
