/* signals.c - see signals.h. pthread_sigmask leaves out glibc's signals, by which setuid reaches all threads; so this
 * asks the kernel, whose sets have 64 bits. */
#define _GNU_SOURCE
#include "lib/cpu/dnnl/signals.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Thread_local bool held;

static uint64_t wait_for(uint64_t signals)
{
    uint64_t before = 0;
#ifdef SYS_rt_sigprocmask
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &signals, &before, sizeof signals);
#endif
    return before;
}

uint64_t eg__signals_hold(void)
{
    held = true;
    return wait_for(UINT64_MAX);
}

void eg__signals_release(uint64_t before)
{
    held = false;
    wait_for(before);
}

bool eg__signals_held(void)
{
    return held;
}
