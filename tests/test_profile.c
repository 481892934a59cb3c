/* test_profile.c - a profile holds what ran, is JSON, and costs nothing when it is over. */
#define _POSIX_C_SOURCE 200809L
#include "tests/egt.h"

#include <pthread.h>
#include <unistd.h>

#include "tests/trace.h"

/* ---- tests ----------------------------------------------------------------------------------- */

static void step(eg_module *net, eg_optim *adam)
{
    EG_SCOPE {
        eg_profile_push("step");
        eg_tape tape = eg_tape_open();
        eg_tensor *x = eg_ones(EG_SHAPE(4, 3), EG_F32);
        eg_tensor *loss = eg_mean(eg_square(eg_relu(eg_module_forward(net, x))));
        EGT_OK(eg_optim_minimize(adam, tape, loss));
        eg_profile_pop();
    }
}

EGT(a_training_step)
{
    eg_module *net = eg_linear_new(3, 5);
    eg_optim *adam = eg_adam_new(eg_module_parameters(net));
    EGT_OK(eg_profile_begin(.memory = true));
    eg_profile_mark("epoch 1");
    step(net, adam);
    step(net, adam);
    EGT_OK(eg_profile_end(egt_path("trace.json")));
    step(net, adam);
    eg_optim_free(adam);
    eg_module_free(net);
    read_trace(egt_path("trace.json"));
    EGT_EQ(dropped, 0);
    int mark = find("epoch 1", "mark"), span = find("step", "span"), linear = find("linear", "forward");
    EGT_CHECK(mark >= 0 && !strcmp(events[mark].ph, "i"));
    EGT_CHECK(span >= 0 && linear >= 0 && within(&events[linear], &events[span]));
    EGT_STR(events[linear].in, "f32 [4, 3], f32 [5, 3], f32 [5]");
    EGT_CHECK(events[linear].live >= 4 * (12 + 20));
    EGT_CHECK(find("adam_update", "forward") >= 0);
    int rule = find("linear backward", "gradient"), inside = 0, curve = 0, spans = 0;
    EGT_CHECK(rule >= 0);
    for (int i = 0; i < count; i++) {
        const event *e = &events[i];
        spans += !strcmp(e->cat, "span");
        curve += !strcmp(e->ph, "C") && !strcmp(e->name, "memory cpu") && e->live >= 0;
        if (!strcmp(e->of, "linear") && within(e, &events[rule])) {
            EGT_STR(e->cat, "backward");
            inside++;
        }
        for (int k = 0; k < i; k++) { /* what overlaps is nested */
            const event *d = &events[k];
            bool apart = e->ts >= d->ts + d->dur - 0.002 || d->ts >= e->ts + e->dur - 0.002;
            EGT_CHECK(apart || within(e, d) || within(d, e) || strcmp(e->ph, "X") || strcmp(d->ph, "X"));
        }
    }
    EGT_CHECK(inside >= 1 && curve >= 2);
    EGT_EQ(spans, 2);
}

EGT(states_and_refusals)
{
    EGT_REFUSED(eg_profile_end(egt_path("trace.json")), EG_ESTATE, "no profile");
    EGT_CHECK(access(egt_path("trace.json"), F_OK) != 0);
    EGT_REFUSED(eg_profile_begin(.most_bytes = -1), EG_EINVAL, "-1");
    eg_profile_mark("nothing");
    eg_profile_push("nothing");
    eg_profile_pop();
    EGT_OK(eg_profile_begin_with(NULL));
    EGT_REFUSED(eg_profile_begin(.memory = true), EG_ESTATE, "already");
    eg_relu(eg_ones(EG_SHAPE(3), EG_F32));
    EGT_REFUSED(eg_profile_end("/absent/trace.json"), EG_EIO, "absent");
    eg_relu(eg_ones(EG_SHAPE(3), EG_F32));
    eg_profile_mark(NULL);
    eg_profile_push(NULL);
    eg_profile_pop();
    eg_profile_pop();
    EGT_OK(eg_profile_end(egt_path("trace.json")));
    read_trace(egt_path("trace.json"));
    int relus = 0;
    for (int i = 0; i < count; i++) {
        relus += !strcmp(events[i].name, "relu");
        EGT_CHECK(events[i].live == -1 && strcmp(events[i].ph, "C"));
    }
    EGT_EQ(relus, 2);
    EGT_EQ(find("nothing", NULL), -1);
}

EGT(texts_are_text)
{
    char deep[3000];
    memset(deep, 'd', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    EGT_OK(eg_profile_begin());
    eg_profile_push("%s%n \"quoted\" \\ \n\x01 \xc3\xbc \xff");
    eg_profile_push("never closed");
    for (int i = 0; i < 100; i++) {
        eg_profile_push("deep");
    }
    for (int i = 0; i < 100; i++) {
        eg_profile_pop();
    }
    eg_profile_mark(deep);
    EGT_OK(eg_profile_end(egt_path("trace.json")));
    read_trace(egt_path("trace.json"));
    int odd = find("%s%n \"quoted\" \\ \n\x01 \xc3\xbc \xef\xbf\xbd", "span"), open = find("never closed", "span");
    EGT_CHECK(odd >= 0 && open >= 0 && within(&events[open], &events[odd]));
    int shown = 0;
    for (int i = 0; i < count; i++) {
        shown += !strcmp(events[i].name, "deep");
    }
    EGT_EQ(shown, 30);
}

EGT(records_are_bounded_and_totals_are_not)
{
    eg_profile_total t[4];
    EGT_OK(eg_profile_begin(.most_bytes = 150000));
    eg_tensor *x = eg_ones(EG_SHAPE(3), EG_F32);
    for (int i = 0; i < 3000; i++) {
        EG_SCOPE {
            eg_relu(x);
        }
    }
    eg_exp(x);
    EGT_EQ(eg_profile_totals(t, 4), 2);
    EGT_OK(eg_profile_end(egt_path("trace.json")));
    eg_relu(x);
    read_trace(egt_path("trace.json"));
    EGT_CHECK(dropped > 1000 && count > 500);
    EGT_EQ(dropped + count, 3002); /* and the process's name */
    EGT_EQ(eg_profile_totals(t, 4), 2);
    EGT_CHECK(t[0].seconds >= t[1].seconds && t[1].seconds > 0 && !t[0].backward);
    EGT_CHECK(t[0].device_seconds == 0 && t[1].device_seconds == 0);
    const eg_profile_total *relu = &t[strcmp(t[0].name, "relu") != 0];
    EGT_STR(relu->name, "relu");
    EGT_EQ(relu->calls, 3000);
    t[1].calls = -7;
    EGT_EQ(eg_profile_totals(t, 1), 2);
    EGT_EQ(t[1].calls, -7);
    EGT_EQ(eg_profile_totals(NULL, 4), 2);
}

EGT(without_memory_records_are_dropped)
{
    EGT_OK(eg_profile_begin());
    eg_tensor *x = eg_ones(EG_SHAPE(3), EG_F32);
    EGT_OK(eg_profile_end(NULL));
    EGT_OK(eg_profile_begin());
    eg_debug_fail_alloc(1);
    eg_profile_mark("lost");
    eg_profile_mark("there");
    eg_neg_(x);
    EGT_OK(eg_profile_end(egt_path("trace.json")));
    read_trace(egt_path("trace.json"));
    EGT_EQ(dropped, 1);
    EGT_CHECK(find("there", "mark") >= 0 && find("lost", NULL) < 0 && find("neg", "forward") >= 0);
}

static pthread_barrier_t gate;

static void *work(void *unused)
{
    (void)unused;
    eg_relu(eg_ones(EG_SHAPE(2), EG_F32));
    pthread_barrier_wait(&gate); /* the profile begins */
    pthread_barrier_wait(&gate);
    EG_SCOPE {
        eg_exp(eg_ones(EG_SHAPE(2), EG_F32));
    }
    eg_thread_end();
    return NULL;
}

static void *late(void *unused)
{
    (void)unused;
    EG_SCOPE {
        eg_sin(eg_ones(EG_SHAPE(2), EG_F32));
    }
    eg_thread_end();
    return NULL;
}

EGT(all_threads)
{
    pthread_t old, fresh;
    pthread_barrier_init(&gate, NULL, 2);
    EGT_CHECK(!pthread_create(&old, NULL, work, NULL));
    pthread_barrier_wait(&gate);
    EGT_OK(eg_profile_begin());
    pthread_barrier_wait(&gate);
    EGT_CHECK(!pthread_create(&fresh, NULL, late, NULL));
    eg_cos(eg_ones(EG_SHAPE(2), EG_F32));
    pthread_join(old, NULL);
    pthread_join(fresh, NULL);
    EGT_OK(eg_profile_end(egt_path("trace.json")));
    pthread_barrier_destroy(&gate);
    read_trace(egt_path("trace.json"));
    int a = find("exp", "forward"), b = find("sin", "forward"), c = find("cos", "forward");
    EGT_CHECK(a >= 0 && b >= 0 && c >= 0);
    EGT_CHECK(events[a].tid != events[b].tid && events[b].tid != events[c].tid && events[a].tid != events[c].tid);
    EGT_EQ(find("relu", NULL), -1);
}

EGT(it_leaves_the_debug_words_alone)
{
    EGT_OK(eg_debug("nan"));
    EGT_OK(eg_profile_begin());
    eg_tensor *zero = eg_zeros(EG_SHAPE(1), EG_F32);
    EGT_REFUSED(eg_log(zero), EG_EUSER, "non-finite");
    EGT_OK(eg_debug(NULL));
    EGT_CHECK(eg_log(zero));
    EGT_OK(eg_profile_end(egt_path("trace.json")));
    read_trace(egt_path("trace.json"));
    int logs = 0;
    for (int i = 0; i < count; i++) {
        logs += !strcmp(events[i].name, "log");
    }
    EGT_EQ(logs, 2);
}
