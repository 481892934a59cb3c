/* wire.c - see wire.h. */
#define _GNU_SOURCE
#include "wire.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "complain.h"
#include "stream.h"

enum {
    MOST_BYTES = 256 << 20, /* of a frame from outside */
    MOST_WAITING = 10000,   /* messages for a frontend that does not read them */
    TURN = 64,              /* messages taken from a socket before the others have their turn */
    LINGER = 1000,          /* milliseconds for last messages to leave */
};
static const double pace = 0.010;    /* seconds between pieces of output, which grow instead */
static const double look = 0.5;      /* from one look at the parent process to the next */
static const double hurry = 0.05;    /* from one interrupt to the next, when leaving */
static const double overtaken = 0.5; /* that a request is on its way, at most */
static const double patience = 3;    /* until a cell that does not end is left behind */

typedef struct queue {
    message *first, *last;
} queue;

struct wire {
    void *context, *sockets[CHANNELS], *heartbeat;
    signer *signer;
    pthread_t thread, lua;
    bool running;
    int wake; /* readable: something below has changed */

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    queue requests, answers, outgoing;
    unsigned long synced, sync_asked;
    bool leaving, stopped;
    double failed, abort_until; /* when a request failed; until when others of before arrive */

    stream streams[2]; /* of the wire alone, as all below */
    json_t *output_parent;
    double quiet_until, leave_by;
    bool complained;
    pid_t parent_process; /* 0: nobody to look for */
};

static double time_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double now(void)
{
    return time_of(CLOCK_MONOTONIC);
}

/* ---- queues ---- */

static void put(queue *q, message *m)
{
    m->next = NULL;
    if (q->first) {
        q->last->next = m;
    } else {
        q->first = m;
    }
    q->last = m;
}

static message *take(queue *q)
{
    message *m = q->first;
    if (m) {
        q->first = m->next;
    }
    return m;
}

static void drop(queue *q)
{
    for (message *m = take(q); m; m = take(q)) {
        message_free(m);
    }
}

static void wake(wire *w)
{
    uint64_t one = 1;
    if (write(w->wake, &one, sizeof one) < 0) {
        /* It is full of ones: the other side wakes anyway. */
    }
}

/* ---- the wire's own side: sending ---- */

static void say(wire *w, message *m)
{
    if (m && !message_send(w->sockets[m->where], m, w->signer)) {
        json_decref(m->content); /* somebody may wait for an answer */
        m->content = message_refusal("not enough memory to send it");
        message_send(w->sockets[m->where], m, w->signer);
    }
    message_free(m);
}

static void say_output(wire *w, stream *s, bool end)
{
    json_t *content = stream_take(s, end);
    if (content) {
        say(w, message_new(IOPUB, "stream", w->output_parent, content));
        w->quiet_until = now() + pace;
    }
}

/* Sends what waits in the pipes now, and no more: a child may write without end. */
static void drain(wire *w)
{
    for (int i = 0; i < 2; i++) {
        stream *s = &w->streams[i];
        size_t waiting = stream_waiting(s), n = 1;
        for (; waiting > 0 && n > 0; waiting -= n < waiting ? n : waiting) {
            n = stream_read(s);
            say_output(w, s, false);
        }
        say_output(w, s, true);
    }
}

/* Messages of type "output_parent" stay here: they say whose the output behind them is. */
static void say_all(wire *w)
{
    pthread_mutex_lock(&w->lock);
    queue q = w->outgoing;
    w->outgoing = (queue){NULL, NULL};
    unsigned long asked = w->sync_asked;
    bool drained = asked == w->synced;
    pthread_mutex_unlock(&w->lock);
    for (message *m = take(&q); m; m = take(&q)) {
        drain(w);
        if (strcmp(m->type, "output_parent") == 0) {
            json_decref(w->output_parent);
            w->output_parent = json_incref(m->parent);
            message_free(m);
        } else {
            say(w, m);
        }
    }
    if (!drained) {
        drain(w);
        pthread_mutex_lock(&w->lock);
        w->synced = asked;
        pthread_cond_broadcast(&w->changed);
        pthread_mutex_unlock(&w->lock);
    }
}

/* ---- receiving ---- */

static void leave(wire *w)
{
    w->leave_by = w->leave_by > 0 ? w->leave_by : now() + patience;
    pthread_mutex_lock(&w->lock);
    w->leaving = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

static void say_state(wire *w, const message *request, const char *state)
{
    say(w, message_new(IOPUB, "status", request->header, json_pack("{s:s}", "execution_state", state)));
}

static void shut_down(wire *w, const message *request)
{
    json_t *restart = json_object_get(request->content, "restart");
    json_t *content = json_pack("{s:s, s:b}", "status", "ok", "restart", json_is_true(restart));
    say(w, message_new(IOPUB, "shutdown_reply", request->header, json_incref(content)));
    say(w, message_reply(request, "shutdown_reply", content));
    leave(w);
}

/* What is answered whatever Lua does. */
static void control(wire *w, message *request)
{
    say_state(w, request, "busy");
    if (strcmp(request->type, "interrupt_request") == 0) {
        pthread_kill(w->lua, SIGINT);
        say(w, message_reply(request, "interrupt_reply", json_pack("{s:s}", "status", "ok")));
    } else if (strcmp(request->type, "kernel_info_request") == 0) {
        say(w, message_reply(request, "kernel_info_reply", wire_kernel_info()));
    } else if (strcmp(request->type, "shutdown_request") == 0) {
        shut_down(w, request);
    }
    say_state(w, request, "idle");
    message_free(request);
}

/* What Lua waits for. All cells of a notebook may be sent at once: where one fails that takes no
 * time, the others are still on their way. Clocks may differ, so nothing is dropped for its date
 * later on. */
static void pass_on(wire *w, queue *q, message *m)
{
    pthread_mutex_lock(&w->lock);
    if (now() < w->abort_until && strcmp(m->type, "execute_request") == 0) {
        double made = message_date(m);
        m->aborted = made > 0 && made < w->failed;
    }
    put(q, m);
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

static void complain_of_message(wire *w)
{
    if (!w->complained) {
        w->complained = true;
        dprintf(w->streams[1].saved, "egret kernel: dropped a message that was malformed or not signed with our key\n");
    }
}

static void receive(wire *w, channel where)
{
    bool more = true;
    for (int i = 0; more && i < TURN; i++) {
        message *m = message_receive(w->sockets[where], where, w->signer, &more);
        if (!m) {
            if (more) {
                complain_of_message(w);
            }
        } else if (where == CONTROL || strcmp(m->type, "shutdown_request") == 0) {
            control(w, m);
        } else {
            pass_on(w, where == INPUT ? &w->answers : &w->requests, m);
        }
    }
}

/* Sends back what comes, whom it is from before it. */
static void beat(wire *w)
{
    for (int i = 0; i < TURN; i++) {
        zmq_msg_t m;
        zmq_msg_init(&m);
        if (zmq_msg_recv(&m, w->heartbeat, ZMQ_DONTWAIT) < 0 ||
            zmq_msg_send(&m, w->heartbeat, ZMQ_DONTWAIT | (zmq_msg_more(&m) ? ZMQ_SNDMORE : 0)) < 0) {
            zmq_msg_close(&m);
            return;
        }
    }
}

/* ---- the loop ---- */

/* A frontend that ended without a word takes its kernel with it. */
static void look_after_parent(wire *w)
{
    if (w->parent_process && getppid() != w->parent_process) {
        leave(w);
    }
}

static void give_up_on_lua(wire *w)
{
    for (int i = 0; i < CHANNELS; i++) {
        zmq_close(w->sockets[i]);
    }
    zmq_close(w->heartbeat);
    zmq_ctx_term(w->context);
    _exit(0);
}

/* How long to wait for something to happen, in milliseconds. */
static long wait_for(const wire *w, double time)
{
    double wait = w->leave_by > 0 ? hurry : look;
    if (time < w->quiet_until) {
        wait = w->quiet_until - time;
    }
    return (long)(1000 * wait) + 1;
}

static bool turn(wire *w)
{
    double time = now();
    zmq_pollitem_t items[] = {
        {NULL, w->wake, ZMQ_POLLIN, 0},
        {w->sockets[CONTROL], 0, ZMQ_POLLIN, 0},
        {w->heartbeat, 0, ZMQ_POLLIN, 0},
        {w->sockets[INPUT], 0, ZMQ_POLLIN, 0},
        {w->sockets[SHELL], 0, ZMQ_POLLIN, 0},
        {NULL, w->streams[0].pipe, ZMQ_POLLIN, 0},
        {NULL, w->streams[1].pipe, ZMQ_POLLIN, 0},
    };
    int n = zmq_poll(items, time < w->quiet_until ? 5 : 7, wait_for(w, time));
    uint64_t count;
    if (n < 0 && errno != EINTR) {
        leave(w);
    }
    if (items[0].revents && read(w->wake, &count, sizeof count) < 0) {
        /* Another turn took the count. */
    }
    receive(w, CONTROL);
    beat(w);
    receive(w, INPUT);
    receive(w, SHELL);
    for (int i = 0; i < 2; i++) {
        if (items[5 + i].revents && stream_read(&w->streams[i]) > 0) {
            say_output(w, &w->streams[i], false);
        }
    }
    say_all(w);
    look_after_parent(w);
    pthread_mutex_lock(&w->lock);
    bool stopped = w->stopped;
    pthread_mutex_unlock(&w->lock);
    if (w->leave_by > 0 && !stopped) {
        pthread_kill(w->lua, SIGINT);
        if (now() > w->leave_by) {
            give_up_on_lua(w);
        }
    }
    return !stopped;
}

static void *serve(void *user)
{
    wire *w = user;
    while (turn(w)) {
    }
    say_all(w);
    drain(w); /* what was written when Lua was closed */
    return NULL;
}

/* ---- what Lua calls ---- */

message *wire_request(wire *w)
{
    pthread_mutex_lock(&w->lock);
    while (!w->requests.first && !w->leaving) {
        pthread_cond_wait(&w->changed, &w->lock);
    }
    message *m = w->leaving ? NULL : take(&w->requests);
    pthread_mutex_unlock(&w->lock);
    return m;
}

void wire_send(wire *w, message *m)
{
    if (m) {
        pthread_mutex_lock(&w->lock);
        put(&w->outgoing, m);
        pthread_mutex_unlock(&w->lock);
        wake(w);
    }
}

void wire_tell(wire *w, const char *type, json_t *parent_header, json_t *content)
{
    wire_send(w, message_new(IOPUB, type, parent_header, content));
    wire_sync(w);
}

void wire_set_parent(wire *w, json_t *header)
{
    wire_tell(w, "output_parent", header, json_object());
}

void wire_ask(wire *w, message *question)
{
    pthread_mutex_lock(&w->lock);
    drop(&w->answers);
    pthread_mutex_unlock(&w->lock);
    wire_send(w, question);
}

message *wire_answer(wire *w, bool (*give_up)(void))
{
    pthread_mutex_lock(&w->lock);
    while (!w->answers.first && !w->leaving && !give_up()) {
        struct timespec soon;
        clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_nsec += 100000000;
        soon.tv_sec += soon.tv_nsec / 1000000000;
        soon.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&w->changed, &w->lock, &soon);
    }
    message *m = take(&w->answers);
    pthread_mutex_unlock(&w->lock);
    return m;
}

void wire_sync(wire *w)
{
    if (pthread_equal(pthread_self(), w->thread)) {
        return;
    }
    pthread_mutex_lock(&w->lock);
    unsigned long mine = ++w->sync_asked;
    wake(w);
    while (w->synced < mine && !w->stopped) {
        pthread_cond_wait(&w->changed, &w->lock);
    }
    pthread_mutex_unlock(&w->lock);
}

void wire_abort(wire *w)
{
    pthread_mutex_lock(&w->lock);
    w->failed = time_of(CLOCK_REALTIME);
    w->abort_until = now() + overtaken;
    for (message *m = w->requests.first; m; m = m->next) {
        m->aborted = strcmp(m->type, "execute_request") == 0;
    }
    pthread_mutex_unlock(&w->lock);
}

/* ---- start and end ---- */

static void *listen_at(wire *w, int type, const char *address)
{
    void *s = zmq_socket(w->context, type);
    int64_t most_bytes = MOST_BYTES;
    int most_waiting = MOST_WAITING, linger = LINGER, one = 1;
    if (!s || zmq_setsockopt(s, ZMQ_LINGER, &linger, sizeof linger) < 0 ||
        zmq_setsockopt(s, ZMQ_MAXMSGSIZE, &most_bytes, sizeof most_bytes) < 0 ||
        zmq_setsockopt(s, ZMQ_SNDHWM, &most_waiting, sizeof most_waiting) < 0 ||
        (type == ZMQ_ROUTER && zmq_setsockopt(s, ZMQ_ROUTER_HANDOVER, &one, sizeof one) < 0) ||
        zmq_bind(s, address) < 0) {
        kernel_complain("cannot listen at %s: %s", address, zmq_strerror(zmq_errno()));
        if (s) {
            zmq_close(s);
        }
        return NULL;
    }
    return s;
}

static bool listen_everywhere(wire *w, const connection *c)
{
    w->context = zmq_ctx_new();
    return w->context && (w->sockets[SHELL] = listen_at(w, ZMQ_ROUTER, c->shell)) &&
           (w->sockets[CONTROL] = listen_at(w, ZMQ_ROUTER, c->control)) &&
           (w->sockets[INPUT] = listen_at(w, ZMQ_ROUTER, c->input)) &&
           (w->sockets[IOPUB] = listen_at(w, ZMQ_PUB, c->iopub)) &&
           (w->heartbeat = listen_at(w, ZMQ_ROUTER, c->heartbeat));
}

/* Signals are Lua's thread's. */
static bool start_thread(wire *w)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    w->lua = pthread_self();
    w->running = pthread_create(&w->thread, NULL, serve, w) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return w->running;
}

wire *wire_start(const connection *c)
{
    json_object_seed(0); /* before there are threads */
    wire *w = calloc(1, sizeof *w);
    if (!w || !(w->signer = signer_new(c->key))) {
        kernel_complain("out of memory");
        free(w);
        return NULL;
    }
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    const char *parent = getenv("JPY_PARENT_PID");
    w->parent_process = parent && atol(parent) == getppid() ? getppid() : 0;
    if (!listen_everywhere(w, c)) {
        wire_stop(w);
        return NULL;
    }
    if (w->wake < 0 || !stream_open(&w->streams[0], "stdout", STDOUT_FILENO) ||
        !stream_open(&w->streams[1], "stderr", STDERR_FILENO) || !start_thread(w)) {
        const char *words = strerror(errno);
        wire_stop(w);
        kernel_complain("cannot start: %s", words);
        return NULL;
    }
    return w;
}

void wire_stop(wire *w)
{
    if (w->running) {
        pthread_mutex_lock(&w->lock);
        w->stopped = true;
        pthread_mutex_unlock(&w->lock);
        wake(w);
        pthread_join(w->thread, NULL);
    }
    for (int i = 0; i < CHANNELS; i++) {
        if (w->sockets[i]) {
            zmq_close(w->sockets[i]);
        }
    }
    if (w->heartbeat) {
        zmq_close(w->heartbeat);
    }
    if (w->context) {
        zmq_ctx_term(w->context);
    }
    for (int i = 0; i < 2; i++) {
        stream_close(&w->streams[i]);
    }
    if (w->wake >= 0) {
        close(w->wake);
    }
    drop(&w->requests);
    drop(&w->answers);
    drop(&w->outgoing);
    json_decref(w->output_parent);
    signer_free(w->signer);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
