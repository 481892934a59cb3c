/* work.c - what a work does: which bytes are moved, and what is made of those that have come.
 *
 * A sum is made of parts that everybody sends to everybody, each rank adding up one, and of what they gather then: as
 * many bytes on the wire as any way needs, 2 (ranks - 1) / ranks of the tensor from each rank, and the order of the sum
 * is nobody's but ours. Few bytes are gathered whole, which takes one turn instead of two. */
#include "lib/comm/comm.h"
#include "lib/core/memory.h"

#ifdef EG_TINY_LIMITS
enum { PIECE = 1000, WHOLE = 64 };
#else
enum { PIECE = 8 << 20, WHOLE = 16384 }; /* bytes: of a rank under way at a time; of all, to be gathered whole */
#endif

static bool gathered_whole(const eg_work *w)
{
    return w->kind == EG__WORK_ALL_REDUCE && w->comm->ranks * eg__bytes_of(w->count, w->dtype) <= WHOLE;
}

/* The most elements of a rank that go on their way together. */
static int64_t most(const eg_work *w)
{
    const bool part_of_each = w->kind >= EG__WORK_ALL_GATHER && w->kind <= EG__WORK_ALL_TO_ALL;
    return gathered_whole(w) ? w->count
                             : eg__max(1, PIECE / eg__dtype_sizes[w->dtype] / (part_of_each ? w->comm->ranks : 1));
}

/* Memory for what is under way. */
static eg_status room(eg_work *w)
{
    const int ranks = w->comm->ranks;
    const int64_t piece = eg__min(most(w), w->count);
    const bool dealt = w->kind == EG__WORK_ALL_REDUCE && !gathered_whole(w);
    const bool adds =
        w->kind == EG__WORK_ALL_REDUCE || w->kind == EG__WORK_REDUCE_SCATTER || w->kind == EG__WORK_BARRIER;
    const size_t bytes = (size_t)((dealt ? piece / ranks + 1 : piece) * ranks) * eg__dtype_sizes[w->dtype];
    w->sent = eg__malloc((size_t)ranks * 2 * sizeof *w->sent);
    w->received = w->sent ? w->sent + ranks : NULL;
    w->parts = adds && w->sent ? eg__block_alloc(eg__thread_get(), bytes + 1, &w->parts_class) : NULL;
    return !w->sent || (adds && !w->parts) ? eg__no_memory(w->op, (int64_t)bytes) : EG_OK;
}

static void exchange(eg_work *w, const char *send, char *receive)
{
    w->move = (eg__move){.send = send, .receive = receive, .sent = w->sent, .received = w->received};
    w->move.of_two = eg__work_of_two(w);
    w->move.number = w->move.of_two ? 0 : w->comm->moves++;
}

/* This rank's part stays with it. */
static void keep_own(eg_work *w, const char *send, char *receive)
{
    const eg__part mine = w->sent[w->comm->rank];
    if (mine.bytes) {
        memcpy(receive + w->received[w->comm->rank].at, send + mine.at, (size_t)mine.bytes);
    }
}

/* ---- parts ---------------------------------------------------------------------------------- */

/* The piece of each rank's part. */
static void parts_apart(const eg_work *w, eg__part *parts)
{
    const int64_t size = eg__dtype_sizes[w->dtype];
    for (int r = 0; r < w->comm->ranks; r++) {
        parts[r] = (eg__part){(r * w->count + w->finished) * size, w->piece * size};
    }
}

/* The piece, dealt out to the ranks. */
static void parts_dealt(const eg_work *w, eg__part *parts)
{
    const int64_t size = eg__dtype_sizes[w->dtype], ranks = w->comm->ranks;
    for (int r = 0; r < ranks; r++) {
        const int64_t at = w->piece * r / ranks;
        parts[r] = (eg__part){at * size, (w->piece * (r + 1) / ranks - at) * size};
    }
}

/* As much from each rank, one behind the other. */
static void parts_in_line(const eg_work *w, eg__part *parts, int64_t bytes)
{
    for (int r = 0; r < w->comm->ranks; r++) {
        parts[r] = (eg__part){r * bytes, bytes};
    }
}

/* The same for all, or for one of them. */
static void same_for(const eg_work *w, eg__part *parts, int only, eg__part part)
{
    for (int r = 0; r < w->comm->ranks; r++) {
        parts[r] = only < 0 || r == only ? part : (eg__part){0, 0};
    }
}

/* What each rank has of the received goes to all. */
static void gather(eg_work *w, char *receive)
{
    same_for(w, w->sent, -1, w->received[w->comm->rank]);
    exchange(w, receive, receive);
}

/* ---- works ----------------------------------------------------------------------------------- */

static void all_reduce_whole(eg_work *w, bool *over)
{
    const int64_t bytes = w->count * eg__dtype_sizes[w->dtype];
    parts_in_line(w, w->received, bytes);
    if (w->stage == 0) {
        memcpy(w->parts + w->comm->rank * bytes, w->from, (size_t)bytes);
        gather(w, w->parts);
    } else {
        eg__comm_reduce(w->dtype, w->how, w->comm->ranks, w->parts, bytes, w->count, w->to);
        *over = true;
    }
}

static void all_reduce(eg_work *w, bool *over)
{
    const int64_t size = eg__dtype_sizes[w->dtype];
    const char *from = w->from + w->finished * size;
    char *to = w->to + w->finished * size;
    if (gathered_whole(w)) {
        all_reduce_whole(w, over);
        return;
    }
    parts_dealt(w, w->sent);
    const eg__part mine = w->sent[w->comm->rank];
    switch (w->stage) {
    case 0:
        parts_in_line(w, w->received, mine.bytes);
        keep_own(w, from, w->parts);
        exchange(w, from, w->parts);
        break;
    case 1:
        eg__comm_reduce(w->dtype, w->how, w->comm->ranks, w->parts, mine.bytes, mine.bytes / size, to + mine.at);
        parts_dealt(w, w->received);
        gather(w, to);
        break;
    default:
        *over = true;
    }
}

static void reduce_scatter(eg_work *w, bool *over)
{
    const int64_t size = eg__dtype_sizes[w->dtype], bytes = w->piece * size;
    if (w->stage == 0) {
        parts_apart(w, w->sent);
        parts_in_line(w, w->received, bytes);
        keep_own(w, w->from, w->parts);
        exchange(w, w->from, w->parts);
    } else {
        eg__comm_reduce(w->dtype, w->how, w->comm->ranks, w->parts, bytes, w->piece, w->to + w->finished * size);
        *over = true;
    }
}

static void all_to_all(eg_work *w, bool *over)
{
    parts_apart(w, w->sent);
    parts_apart(w, w->received);
    if (w->stage == 0) {
        keep_own(w, w->from, w->to);
        exchange(w, w->from, w->to);
    }
    *over = w->stage > 0;
}

static void all_gather(eg_work *w, bool *over)
{
    parts_apart(w, w->received);
    const eg__part mine = w->received[w->comm->rank];
    if (w->stage == 0) {
        memcpy(w->to + mine.at, w->from + w->finished * eg__dtype_sizes[w->dtype], (size_t)mine.bytes);
        gather(w, w->to);
    }
    *over = w->stage > 0;
}

/* The root deals the piece out and all gather it, so that it sends it once and not to each; little is sent to each. */
static void broadcast(eg_work *w, bool *over)
{
    const int64_t size = eg__dtype_sizes[w->dtype], bytes = w->piece * size;
    const bool root = w->comm->rank == w->peer, whole = w->comm->ranks * bytes <= WHOLE;
    const eg__part none = {0, 0}, all = {0, bytes};
    char *to = w->to + w->finished * size;
    if (w->stage == 0) {
        parts_dealt(w, w->sent);
        same_for(w, w->received, w->peer, root ? none : whole ? all : w->sent[w->comm->rank]);
        if (whole || !root) {
            same_for(w, w->sent, -1, root ? all : none);
        }
        exchange(w, to, to);
    } else if (w->stage == 1 && !whole) {
        parts_dealt(w, w->received);
        gather(w, to);
    } else {
        *over = true;
    }
}

/* Each tells one that is 1, 2, 4, ... ranks on: then all have heard of all (Hensgen, Finkel and Manber 1988). */
static void barrier(eg_work *w, bool *over)
{
    static const char byte = 0;
    const int ranks = w->comm->ranks, me = w->comm->rank, on = w->stage < 30 ? (1 << w->stage) : ranks;
    const eg__part one = {0, 1};
    *over = on >= ranks;
    if (!*over) {
        same_for(w, w->sent, (me + on) % ranks, one);
        same_for(w, w->received, (me + ranks - on) % ranks, one);
        exchange(w, &byte, w->parts);
    }
}

static void message(eg_work *w, bool *over)
{
    const bool sends = w->kind == EG__WORK_SEND;
    const int64_t size = eg__dtype_sizes[w->dtype];
    const eg__part none = {0, 0}, piece = {w->finished * size, w->piece * size};
    if (w->stage == 0) {
        same_for(w, w->sent, w->peer, sends ? piece : none);
        same_for(w, w->received, w->peer, sends ? none : piece);
        exchange(w, w->from, w->to);
    }
    *over = w->stage > 0;
}

/* The next move of a piece, or *over: there is none. */
static void (*const next[])(eg_work *w, bool *over) = {
    [EG__WORK_ALL_REDUCE] = all_reduce, [EG__WORK_BROADCAST] = broadcast,
    [EG__WORK_ALL_GATHER] = all_gather, [EG__WORK_REDUCE_SCATTER] = reduce_scatter,
    [EG__WORK_ALL_TO_ALL] = all_to_all, [EG__WORK_BARRIER] = barrier,
    [EG__WORK_SEND] = message,          [EG__WORK_RECEIVE] = message,
};

static eg_status late(eg_work *w)
{
    const eg_comm *c = w->comm;
    const int missing = c->transport->is->missing(c->transport, &w->move);
    if (missing < 0) {
        return eg__fail(EG_EIO, w->op, "not all ranks have come within %g s", c->timeout);
    }
    return eg__fail(EG_EIO, w->op, "rank %d has not come within %g s", missing, c->timeout);
}

eg_status eg__work_step(eg_work *w, bool *done)
{
    eg__transport *t = w->comm->transport;
    for (;;) {
        bool over = false;
        if (w->moving) {
            eg_status st = t->is->poll(t, &w->move, &over);
            if (st || !over) {
                return st ? st : eg__seconds() > w->deadline ? late(w) : EG_OK;
            }
            w->moving = false;
            w->stage++;
        } else if (w->finished == w->count) {
            *done = true;
            return EG_OK;
        } else {
            w->piece = eg__min(most(w), w->count - w->finished);
        }
        over = false;
        next[w->kind](w, &over);
        if (over) {
            w->finished += w->piece;
            w->stage = 0;
            continue;
        }
        w->moving = true;
        w->deadline = eg__seconds() + w->comm->timeout;
        eg_status st = t->is->begin(t, &w->move);
        if (st) {
            return st;
        }
    }
}

/* ---- of a single rank ---------------------------------------------------------------------- */

static eg_status alone(eg_work *w)
{
    if (eg__work_of_two(w)) {
        return eg__fail(EG_EINVAL, w->op, "there is no other rank");
    }
    if (w->from && w->to != w->from) {
        memcpy(w->to, w->from, (size_t)eg__bytes_of(w->count, w->dtype));
    }
    w->done = true;
    return EG_OK;
}

eg_status eg__work_begin(eg_work *w)
{
    eg_comm *c = w->comm;
    if (!c->transport) {
        return alone(w);
    }
    eg_status st = room(w);
    return st ? st : eg__comm_line_up(w);
}
