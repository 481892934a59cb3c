/* test_log.c - eg_log_to: what the library would keep to itself. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>

#include "tests/egt.h"

typedef struct heard {
    int count;
    char topic[16], op[32], words[400];
} heard;

static void hear(const char *topic, const char *op, const char *words, void *user)
{
    heard *h = user;
    h->count++;
    snprintf(h->topic, sizeof h->topic, "%s", topic);
    snprintf(h->op, sizeof h->op, "%s", op);
    snprintf(h->words, sizeof h->words, "%s", words);
}

static void loop_without_scope(int n)
{
    EG_SCOPE {
        eg_tensor *x = eg_ones(EG_SHAPE(2), EG_F32);
        for (int i = 0; i < n; i++) {
            x = eg_relu(x);
        }
    }
}

/* In a thread of its own, so that what scopes hold was never more. */
static void *forgetful(void *user)
{
    (void)user;
    loop_without_scope(3000);
    loop_without_scope(20000);
    eg_thread_end();
    return NULL;
}

EGT(a_loop_without_a_scope)
{
    heard h = {0};
    pthread_t thread;
    EGT_OK(eg_log_to(hear, &h));
    EGT_EQ(pthread_create(&thread, NULL, forgetful, NULL), 0);
    pthread_join(thread, NULL);
    EGT_OK(eg_log_to(NULL, NULL));
    EGT_CHECK(h.count >= 1 && h.count <= 4); /* not once per tensor */
    EGT_STR(h.topic, "scope");
    EGT_CHECK(strstr(h.words, "EG_SCOPE") && strstr(h.words, " tensors"));
}

static void *careful(void *user)
{
    (void)user;
    for (int i = 0; i < 200; i++) {
        loop_without_scope(100);
    }
    eg_thread_end();
    return NULL;
}

EGT(loops_with_scopes_are_not_told_of)
{
    heard h = {0};
    pthread_t thread;
    EGT_OK(eg_log_to(hear, &h));
    EGT_EQ(pthread_create(&thread, NULL, careful, NULL), 0);
    pthread_join(thread, NULL);
    EGT_OK(eg_log_to(NULL, NULL));
    EGT_EQ(h.count, 0);
}

EGT(a_tape_that_never_ends)
{
    heard h = {0};
    eg_tensor *x = eg_parameter(eg_ones(EG_SHAPE(1), EG_F32));
    EGT_OK(eg_log_to(hear, &h));
    eg_tape tape = eg_tape_open();
    for (int i = 0; i < 210000; i++) {
        EG_SCOPE {
            eg_neg(x);
        }
    }
    EGT_OK(eg_tape_close(tape));
    EGT_OK(eg_log_to(NULL, NULL));
    EGT_EQ(h.count, 1);
    EGT_STR(h.topic, "tape");
    eg_release(x);
}

static void again(const char *topic, const char *op, const char *words, void *user)
{
    (void)topic, (void)op, (void)words;
    *(eg_status *)user = eg_log_to(NULL, NULL);
}

EGT(ops_and_calls_from_inside)
{
    heard h = {0};
    eg_status inside = EG_OK;
    eg_tensor *x = eg_ones(EG_SHAPE(2, 3), EG_F32);
    EGT_OK(eg_log_to(hear, &h));
    eg_relu(x);
    EGT_EQ(h.count, 0);
    EGT_OK(eg_debug("ops,scope,tape,slow,fallback"));
    eg_relu(x);
    EGT_EQ(h.count, 1);
    EGT_STR(h.topic, "ops");
    EGT_STR(h.op, "relu");
    EGT_CHECK(strstr(h.words, "f32[2, 3] -> f32[2, 3]"));
    EGT_OK(eg_log_to(again, &inside));
    eg_relu(x);
    EGT_EQ(inside, EG_ESTATE);
    EGT_OK(eg_log_to(NULL, NULL));
    EGT_OK(eg_debug(NULL));
    EGT_EQ(h.count, 1);
    eg_clear_error();
}

/* ---- EG_DEBUG in the environment ------------------------------------------------------------------- */

typedef struct reports {
    int count;
    char op[4][32], words[4][400];
} reports;

static void report(const char *topic, const char *op, const char *words, void *user)
{
    reports *r = user;
    if (strcmp(topic, "env") == 0 && r->count < 4) {
        snprintf(r->op[r->count], sizeof *r->op, "%s", op);
        snprintf(r->words[r->count++], sizeof *r->words, "%s", words);
    }
}

/* Checks that the thread starts without an error and that "nan" takes effect. */
static void *takes_nan(void *user)
{
    bool *ok = user;
    *ok = eg_last_error()->code == EG_OK;
    EG_SCOPE {
        *ok = *ok && !eg_log(eg_zeros(EG_SHAPE(2), EG_F32)) && eg_last_error()->code;
    }
    eg_thread_end();
    return NULL;
}

EGT(unknown_words_of_the_environment_are_reported_once)
{
    reports r = {0};
    EGT_OK(eg_log_to(report, &r));
    setenv("EG_DEBUG", "opps,nan,,slo", 1);
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        bool ok = false;
        EGT_EQ(pthread_create(&thread, NULL, takes_nan, &ok), 0);
        pthread_join(thread, NULL);
        EGT_CHECK(ok);
    }
    unsetenv("EG_DEBUG");
    EGT_OK(eg_log_to(NULL, NULL));
    EGT_EQ(r.count, 2);
    EGT_CHECK(strstr(r.words[0], "\"opps\"") && strstr(r.words[0], "ops, nan, ref") && strstr(r.words[0], "abort"));
    EGT_CHECK(strstr(r.words[1], "\"slo\""));
    EGT_STR(r.op[0], "EG_DEBUG");
}

EGT(debug_refuses_an_unknown_word)
{
    EGT_REFUSED(eg_debug("nan,opps"), EG_EINVAL, "\"opps\"");
    EGT_REFUSED(eg_debug("opps"), EG_EINVAL, "ops, nan");
    EGT_CHECK(eg_log(eg_zeros(EG_SHAPE(2), EG_F32))); /* nothing was set */
    EGT_OK(eg_debug("env"));
    EGT_OK(eg_debug(""));
}
