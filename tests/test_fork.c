/* test_fork.c - what a child of the process can do: all but what was the parent's threads' and devices'. */
#define _DEFAULT_SOURCE
#include "tests/egt.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __SANITIZE_THREAD__
enum { TSAN = 1 };
#else
enum { TSAN = 0 };
#endif

enum { SECONDS = 60 };

/* Whether the job succeeds in a child within a minute. `leave` ends it: exit or _exit. */
static bool in_child(bool (*job)(void *user), void *user, void (*leave)(int))
{
    int status = 0;
    if (TSAN) {
        egt_skip("not under the thread sanitizer: it ends children of processes with threads");
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS);
        bool ok = job(user);
        if (!ok) {
            eg_error_print(stderr);
        }
        leave(ok ? 0 : 1);
    }
    EGT_CHECK(child > 0 && waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status)) {
        printf("  the child ended by signal %d\n", WTERMSIG(status));
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- ops ---------------------------------------------------------------------------------------- */

/* A sum over what several threads, oneDNN among them, have part in. */
static double work(void)
{
    double y = 0;
    EG_SCOPE {
        eg_seed(7);
        eg_tensor *x = eg_normal(EG_SHAPE(4, 16, 40, 40), 0, 1, EG_F32);
        eg_tensor *w = eg_normal(EG_SHAPE(32, 16, 3, 3), 0, 1, EG_F32);
        eg_tensor *a = eg_normal(EG_SHAPE(300, 300), 0, 1, EG_F32);
        eg_tensor *c = eg_conv2d(x, w, NULL, .padding = 1), *sorted;
        y = eg_item(eg_sum(eg_tanh(c))) + eg_item(eg_sum(eg_tanh(eg_matmul(a, a))));
        y += eg_sort(eg_reshape(x, EG_SHAPE(-1)), 0, false, &sorted, NULL) ? NAN : eg_get(sorted, 100);
    }
    return y;
}

static bool works(void *expected)
{
    eg_scope s = eg_scope_push();
    eg_tensor *t = eg_ones(EG_SHAPE(1000, 1000), EG_F32);
    bool ok = fabs(work() - *(double *)expected) < 1e-2 * fabs(*(double *)expected) && eg_item(eg_sum(t)) == 1e6;
    eg_scope_pop(s, NULL);
    eg_memory_trim();
    return ok;
}

EGT(ops_after_parallel_ops)
{
    double y = work();
    EGT_CHECK(in_child(works, &y, _exit));
    EGT_CHECK(in_child(works, &y, exit));
    EGT_NEAR(work(), y, 0);
}

static bool many_threads(void *expected)
{
    const int threads = *(int *)expected;
    bool ok = eg_threads() == threads && !eg_set_threads(5);
    for (int i = 0; i < 20; i++) {
        work();
    }
    return ok && eg_threads() == 5;
}

EGT(children_have_threads)
{
    int threads = eg_threads();
    work();
    EGT_CHECK(in_child(many_threads, &threads, _exit));
    EGT_EQ(eg_threads(), threads);
}

static void *thread_works(void *expected)
{
    return works(expected) ? expected : NULL;
}

static bool threads_work(void *expected)
{
    pthread_t thread;
    void *y = NULL;
    return !pthread_create(&thread, NULL, thread_works, expected) && !pthread_join(thread, &y) && y == expected &&
           works(expected);
}

EGT(threads_of_a_child)
{
    double y = work();
    EGT_CHECK(in_child(threads_work, &y, _exit));
}

static bool grandchild(void *expected)
{
    return works(expected) && in_child(works, expected, _exit);
}

EGT(children_of_children)
{
    double y = work();
    EGT_CHECK(in_child(grandchild, &y, _exit));
}

/* ---- other threads of the parent ------------------------------------------------------------------ */

static atomic_bool stop;

static void *keep_busy(void *user)
{
    (void)user;
    while (!stop) {
        EG_SCOPE {
            eg_sum(eg_add(eg_ones(EG_SHAPE(300), EG_F32), eg_zeros(EG_SHAPE(300), EG_F32)));
            eg_rfft(eg_ones(EG_SHAPE(64), EG_F32));
        }
    }
    return NULL;
}

EGT(beside_busy_threads)
{
    pthread_t thread[2];
    double y = work();
    stop = false;
    for (int i = 0; i < 2; i++) {
        EGT_EQ(pthread_create(&thread[i], NULL, keep_busy, NULL), 0);
    }
    bool ok = true;
    for (int i = 0; i < 20 && ok; i++) {
        ok = in_child(works, &y, _exit);
    }
    stop = true;
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
    }
    EGT_CHECK(ok);
}

/* ---- datasets --------------------------------------------------------------------------------------- */

static eg_status number(int64_t index, eg_tensor **sample, int *n, void *user)
{
    (void)user;
    sample[0] = eg_scalar((double)index, EG_F32);
    *n = 1;
    return EG_OK;
}

static eg_status slow(eg_tensor *const *in, int n, eg_tensor **out, int *m, void *user)
{
    (void)n;
    (void)user;
    usleep(2000);
    out[0] = eg_add(in[0], in[0]);
    *m = 1;
    return EG_OK;
}

static eg_dataset *chain(void)
{
    eg_dataset *d = eg_dataset_map(eg_dataset_from(number, 100, NULL, NULL), slow, NULL, .workers = 3);
    return eg_dataset_prefetch(eg_dataset_batch(eg_dataset_tolerate(d), 5), 4);
}

static bool walk_all(eg_dataset *d)
{
    double sum = 0;
    EG_FOR_EACH(sample, d) {
        sum += eg_item(eg_sum(sample[0]));
    }
    return !eg_dataset_status(d) && sum == 9900;
}

static bool free_it(void *d)
{
    eg_dataset_free(d);
    return true;
}

static bool walk_on(void *d)
{
    bool refused = !eg_dataset_next(d) && egt_said(EG_ESTATE, "threads of this dataset");
    refused = refused && !eg_dataset_first(d) && egt_said(EG_ESTATE, "threads of this dataset");
    eg_dataset_left_out(d);
    eg_dataset_free(d);
    eg_dataset *fresh = chain();
    bool ok = refused && walk_all(fresh);
    eg_dataset_free(fresh);
    return ok;
}

static bool walk(void *d)
{
    bool ok = walk_all(d) && walk_all(d);
    eg_dataset_free(d);
    return ok;
}

EGT(datasets_with_threads)
{
    eg_dataset *d = chain();
    for (int i = 0; i < 8; i++) {
        EGT_CHECK(i ? eg_dataset_next(d) : eg_dataset_first(d));
        EGT_CHECK(in_child(i % 2 ? free_it : walk_on, d, _exit));
    }
    EGT_CHECK(eg_dataset_next(d));
    EGT_CHECK(walk_all(d));
    eg_dataset_free(d);
}

EGT(datasets_not_begun)
{
    eg_dataset *d = chain();
    EGT_CHECK(in_child(walk, d, _exit));
    EGT_CHECK(walk_all(d));
    eg_dataset_free(d);
}

/* A link that goes on behind failures comes to an end. */
static bool tolerated(void *d)
{
    int64_t n = 0;
    while (eg_dataset_next(d)) {
        n++;
    }
    return n == 0;
}

EGT(failures_behind_a_fork_end)
{
    eg_dataset *d = eg_dataset_tolerate(eg_dataset_prefetch(eg_dataset_from(number, 100, NULL, NULL), 2));
    EGT_CHECK(eg_dataset_first(d));
    EGT_CHECK(in_child(tolerated, d, _exit));
    eg_dataset_free(d);
}
