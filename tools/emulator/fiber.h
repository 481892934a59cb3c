/* fiber.h - stacks that take turns on one host thread. */
#ifndef EGRET_EMULATOR_FIBER_H
#define EGRET_EMULATOR_FIBER_H

#include <stddef.h>

#ifndef __x86_64__
#include <ucontext.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define EG__ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EG__ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define EG__TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define EG__TSAN 1
#endif
#endif

struct eg__fiber {
#ifdef __x86_64__
    void *sp;
#else
    ucontext_t context;
#endif
    char *stack; /* NULL: the host thread's own */
    void (*run)(void *user);
    void *user;
    /* of the sanitizers: */
    const void *bottom;
    size_t bytes;
    void *fake_stack, *tsan;
};

/* A fiber that starts run(user) when it first gets its turn; run never returns. The number makes
 * stacks of different fibers start in different cache sets. False: no memory. */
bool eg__fiber_make(eg__fiber *f, void (*run)(void *user), void *user, int number);
void eg__fiber_free(eg__fiber *f);
/* The stack of the host thread, which runs now. */
void eg__fiber_host(eg__fiber *f);
void eg__fiber_switch(eg__fiber *from, eg__fiber *to);

#endif
