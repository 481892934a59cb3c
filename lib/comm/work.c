/* work.c - what a work does: which bytes are moved, and what is made of those that have come.
 *
 * A sum is made of parts that everybody sends to everybody, each rank adding up one, and of what they gather then: as
 * many bytes on the wire as any way needs, 2 (ranks - 1) / ranks of the tensor from each rank, and the order of the sum
 * is nobody's but ours. Few bytes are gathered whole, which takes one turn instead of two. */
#include "lib/comm/comm.h"
#include "lib/core/memory.h"
#include "lib/io/assign.h"

#ifdef EG_TINY_LIMITS
enum { PIECE = 1000, DEVICES_PIECE = 3000, WHOLE = 64 };
#else
/* Bytes: of a rank under way at a time, by a device, which is waited for between two; of all, to be gathered whole. */
enum { PIECE = 8 << 20, DEVICES_PIECE = 64 << 20, WHOLE = 16384 };
#endif

static bool gathered_whole(const eg_work *w)
{
    return w->kind == EG__WORK_ALL_REDUCE && w->comm->ranks * eg__bytes_of(w->count, w->dtype) <= WHOLE;
}

/* The most elements of a rank that go on their way together. */
static int64_t most(const eg_work *w)
{
    const bool part_of_each = w->kind >= EG__WORK_ALL_GATHER && w->kind <= EG__WORK_ALL_TO_ALL;
    const int64_t bytes = w->carrier ? DEVICES_PIECE : PIECE;
    return gathered_whole(w) ? w->count
                             : eg__max(1, bytes / eg__dtype_sizes[w->dtype] / (part_of_each ? w->comm->ranks : 1));
}

/* Memory for what is under way. */
static eg_status room(eg_work *w)
{
    const int ranks = w->comm->ranks;
    const int64_t piece = eg__min(most(w), w->count);
    const bool dealt = w->kind == EG__WORK_ALL_REDUCE && !gathered_whole(w);
    const bool adds =
        w->kind == EG__WORK_ALL_REDUCE || w->kind == EG__WORK_REDUCE_SCATTER || w->kind == EG__WORK_BARRIER;
    const size_t list = (size_t)ranks * 2 * sizeof *w->sent;
    w->sent = eg__malloc(list);
    if (!w->sent) {
        return eg__no_memory(w->op, (int64_t)list);
    }
    w->received = w->sent + ranks;
    if (adds) {
        w->sums = eg__work_memory(eg__work_home(w), (dealt ? piece / ranks + 1 : piece) * ranks, w->dtype);
        w->parts = w->sums ? eg__ptr(w->sums) : NULL;
    }
    return adds && !w->parts ? eg__why() : EG_OK;
}

/* ---- by the CPU, or by a device's carrier -------------------------------------------------------- */

static eg_status copy(const eg_work *w, char *to, const char *from, int64_t bytes)
{
    if (w->carrier) {
        return eg__carriers_of(w->carrier)->copy(w->carrier, to, w->carrier, from, bytes);
    }
    memcpy(to, from, (size_t)bytes);
    return EG_OK;
}

static eg_status reduce(const eg_work *w, int64_t apart, int64_t count, char *out)
{
    if (w->carrier) {
        return eg__carriers_of(w->carrier)
            ->reduce(w->carrier, w->dtype, w->how, w->comm->ranks, w->parts, apart, count, out);
    }
    eg__comm_reduce(w->dtype, w->how, w->comm->ranks, w->parts, apart, count, out);
    return EG_OK;
}

/* Whether the device has done what the work waits for. */
static eg_status settled(eg_work *w, bool *yes)
{
    *yes = true;
    eg_status st = w->ready ? eg__carriers_of(w->carrier)->happened(w->ready, yes) : EG_OK;
    return st || !*yes || !w->carrier ? st : eg__carriers_of(w->carrier)->settled(w->carrier, yes);
}

static void exchange(eg_work *w, const char *send, char *receive)
{
    w->move =
        (eg__move){.send = send, .receive = receive, .carrier = w->carrier, .sent = w->sent, .received = w->received};
    w->move.of_two = eg__work_of_two(w);
    w->move.number = w->move.of_two ? 0 : w->comm->moves++;
}

/* This rank's part stays with it. */
static eg_status keep_own(eg_work *w, const char *send, char *receive)
{
    const eg__part mine = w->sent[w->comm->rank];
    return copy(w, receive + w->received[w->comm->rank].at, send + mine.at, mine.bytes);
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

static eg_status all_reduce_whole(eg_work *w, bool *over)
{
    const int64_t bytes = w->count * eg__dtype_sizes[w->dtype];
    parts_in_line(w, w->received, bytes);
    *over = w->stage > 0;
    if (*over) {
        return reduce(w, bytes, w->count, w->to);
    }
    gather(w, w->parts);
    return copy(w, w->parts + w->comm->rank * bytes, w->from, bytes);
}

static eg_status all_reduce(eg_work *w, bool *over)
{
    const int64_t size = eg__dtype_sizes[w->dtype];
    const char *from = w->from + w->finished * size;
    char *to = w->to + w->finished * size;
    if (gathered_whole(w)) {
        return all_reduce_whole(w, over);
    }
    parts_dealt(w, w->sent);
    const eg__part mine = w->sent[w->comm->rank];
    eg_status st = EG_OK;
    switch (w->stage) {
    case 0:
        parts_in_line(w, w->received, mine.bytes);
        st = keep_own(w, from, w->parts);
        exchange(w, from, w->parts);
        break;
    case 1:
        st = reduce(w, mine.bytes, mine.bytes / size, to + mine.at);
        parts_dealt(w, w->received);
        gather(w, to);
        break;
    default:
        *over = true;
    }
    return st;
}

static eg_status reduce_scatter(eg_work *w, bool *over)
{
    const int64_t size = eg__dtype_sizes[w->dtype], bytes = w->piece * size;
    *over = w->stage > 0;
    if (*over) {
        return reduce(w, bytes, w->piece, w->to + w->finished * size);
    }
    parts_apart(w, w->sent);
    parts_in_line(w, w->received, bytes);
    exchange(w, w->from, w->parts);
    return keep_own(w, w->from, w->parts);
}

static eg_status all_to_all(eg_work *w, bool *over)
{
    parts_apart(w, w->sent);
    parts_apart(w, w->received);
    *over = w->stage > 0;
    if (*over) {
        return EG_OK;
    }
    exchange(w, w->from, w->to);
    return keep_own(w, w->from, w->to);
}

static eg_status all_gather(eg_work *w, bool *over)
{
    parts_apart(w, w->received);
    const eg__part mine = w->received[w->comm->rank];
    *over = w->stage > 0;
    if (*over) {
        return EG_OK;
    }
    gather(w, w->to);
    return copy(w, w->to + mine.at, w->from + w->finished * eg__dtype_sizes[w->dtype], mine.bytes);
}

/* The root deals the piece out and all gather it, so that it sends it once and not to each; little is sent to each. */
static eg_status broadcast(eg_work *w, bool *over)
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
    return EG_OK;
}

/* Each tells one that is 1, 2, 4, ... ranks on: then all have heard of all (Hensgen, Finkel and Manber 1988). */
static eg_status barrier(eg_work *w, bool *over)
{
    const int ranks = w->comm->ranks, me = w->comm->rank, on = w->stage < 30 ? (1 << w->stage) : ranks;
    const eg__part one = {0, 1};
    *over = on >= ranks;
    if (!*over) {
        same_for(w, w->sent, (me + on) % ranks, one);
        same_for(w, w->received, (me + ranks - on) % ranks, one);
        if (!w->carrier) {
            w->parts[1] = 0;
        }
        exchange(w, w->parts + 1, w->parts);
    }
    return EG_OK;
}

static eg_status message(eg_work *w, bool *over)
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
    return EG_OK;
}

/* The next move of a piece, or *over: there is none. */
static eg_status (*const next[])(eg_work *w, bool *over) = {
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

/* Carries the move on that is under way; *over: it no longer is. */
static eg_status go_on(eg_work *w, bool *over)
{
    eg__transport *t = w->comm->transport;
    *over = false;
    eg_status st = t->is->poll(t, &w->move, over);
    if (st || !*over) {
        return st ? st : eg__seconds() > w->deadline ? late(w) : EG_OK;
    }
    w->moving = false;
    w->stage++;
    return EG_OK;
}

/* The next move, or the end of a piece. */
static eg_status plan(eg_work *w)
{
    bool over = false;
    if (w->stage == 0) {
        w->piece = eg__min(most(w), w->count - w->finished);
    }
    eg_status st = next[w->kind](w, &over);
    w->planned = !over;
    if (over) {
        w->finished += w->piece;
        w->stage = 0;
    }
    return st;
}

static eg_status set_out(eg_work *w)
{
    eg__transport *t = w->comm->transport;
    w->planned = false;
    w->moving = true;
    w->deadline = eg__seconds() + w->comm->timeout;
    return t->is->begin(t, &w->move);
}

/* While it waits for its own device. */
static eg_status listen(const eg_work *w)
{
    return w->comm->transport->is->heard(w->comm->transport);
}

eg_status eg__work_step(eg_work *w, bool *done)
{
    for (;;) {
        bool on = true;
        eg_status st = w->moving ? go_on(w, &on) : EG_OK;
        if (st || !on) {
            return st;
        }
        st = settled(w, &on);
        if (st || !on) {
            return st ? st : listen(w);
        }
        if (!w->planned && w->finished == w->count) {
            *done = true;
            return EG_OK;
        }
        st = w->planned ? set_out(w) : plan(w);
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
    w->done = true;
    return w->y ? eg__overwrite(w->op, w->y, w->x[0]) : EG_OK;
}

eg_status eg__work_begin(eg_work *w)
{
    if (!w->comm->transport) {
        return alone(w);
    }
    eg_status st = room(w);
    st = st || !w->ready ? st : eg_event_record(w->ready);
    return st ? st : eg__comm_line_up(w);
}
