/* test_signals.c - handlers of signals run while ops compute: on the stack of the thread they interrupt, whatever the
 * ops' libraries do with its stack pointer. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "tests/egt.h"

/* The first rounds find and make what later ones only run. */
enum { FIRST = 24, ROUNDS = 400, INTERVAL_US = 50 };

static char *stack_low, *stack_high;
static volatile sig_atomic_t signals, elsewhere;

static void on_timer(int number)
{
    (void)number;
    char *here = __builtin_frame_address(0);
    signals++;
    elsewhere += here < stack_low || here >= stack_high;
}

static bool find_stack(void)
{
    pthread_attr_t attr;
    void *low = NULL;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attr)) {
        return false;
    }
    const bool found = !pthread_attr_getstack(&attr, &low, &bytes);
    pthread_attr_destroy(&attr);
    stack_low = low;
    stack_high = stack_low + bytes;
    return found;
}

static bool start_timer(void)
{
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, INTERVAL_US}, {0, INTERVAL_US}};
    sigemptyset(&action.sa_mask);
    return find_stack() && !sigaction(SIGALRM, &action, NULL) && !setitimer(ITIMER_REAL, &every, NULL);
}

static void stop_timer(void)
{
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    signal(SIGALRM, SIG_DFL);
}

/* A linear layer and its gradients: products of both operands as they lie and the other way round. The weight is a new
 * one each time, as behind an optimizer's step, and a part of a wider one, as those of recurrent layers are. */
static bool step(eg_tensor *wide, int64_t rows)
{
    eg_scope scope = eg_scope_push();
    eg_tape tape = eg_tape_open();
    eg_tensor *x = eg_ones(EG_SHAPE(rows, eg_size(wide, 0)), EG_F32), *of[2] = {x, wide}, *gradients[2];
    eg_tape_watch(tape, x);
    eg_tape_watch(tape, wide);
    eg_tensor *w = eg_slice(eg_abs(wide), 1, 0, eg_size(wide, 1) / 2, 1);
    eg_status st = eg_tape_gradients(tape, eg_sum(eg_square(eg_matmul(x, w))), of, 2, gradients);
    eg_scope_pop(scope, NULL);
    return !st;
}

/* Sums of few and of many terms, few and many rows. */
EGT(handlers_run_on_the_stack)
{
    enum { ROWS = 4, WEIGHTS = 2 };
    static const int64_t rows[ROWS] = {8, 64, 256, 704};
    eg_tensor *w[WEIGHTS] = {eg_full(EG_SHAPE(128, 128), 0.01, EG_F32), eg_full(EG_SHAPE(96, 600), 0.01, EG_F32)};
    bool good = true;
    for (int round = 0; round < ROUNDS && good; round++) {
        good = (round != FIRST || start_timer()) && step(w[round % WEIGHTS], rows[round / WEIGHTS % ROWS]);
    }
    stop_timer();
    EGT_CHECK(good);
    EGT_CHECK(signals > 0);
    EGT_EQ(elsewhere, 0);
}
