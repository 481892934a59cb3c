/* distribute.c - one chain for several ranks: a link that deals out steps is put where they are still single and cheap
 * to pass over, so that each rank makes only what it has, in the order and with the random numbers it would have had.
 */
#include <stdlib.h>

#include "data/chain/dataset.h"
#include "lib/core/live.h"

/* Of each ranks * block steps rank r has the r-th block. What is left over in the end is dealt out evenly, but for less
 * than one for each; where the end cannot be foreseen nobody has it. */
typedef struct dealer {
    eg_dataset d;
    int64_t block;
    int64_t rank, ranks;
    int64_t given, at; /* steps given, and taken of what is before */
    /* of an end that cannot be foreseen: the steps of a turn, read ahead */
    eg__sample *turn;
    eg_error *failed; /* code EG_OK: the sample */
    int64_t held;
    bool over;
} dealer;

static void forget_turn(dealer *l)
{
    for (int64_t i = 0; l->turn && i < l->block; i++) {
        eg__sample_release(&l->turn[i]);
    }
    l->held = 0;
}

static eg_status dealer_start(eg_dataset *d, uint64_t epoch)
{
    dealer *l = (dealer *)d;
    forget_turn(l);
    l->given = l->at = 0;
    l->over = false;
    return eg__start(d->from, epoch);
}

/* Steps this rank has in full turns, and behind them. */
static void shares(const dealer *l, int64_t count, int64_t *full, int64_t *rest)
{
    const int64_t all = l->block * l->ranks;
    *full = count / all * l->block;
    *rest = count % all / l->ranks;
}

static int64_t place_of(const dealer *l, int64_t number, int64_t count)
{
    int64_t full = INT64_MAX, rest = 0;
    if (count >= 0) {
        shares(l, count, &full, &rest);
    }
    return number < full ? number / l->block * l->block * l->ranks + l->rank * l->block + number % l->block
                         : full * l->ranks + l->rank * rest + number - full;
}

int64_t eg__dealt_number(const eg_dataset *dealt, int64_t number)
{
    return place_of((const dealer *)dealt, number, eg_dataset_count(dealt->from));
}

static int64_t dealer_count(const eg_dataset *d)
{
    const dealer *l = (const dealer *)d;
    int64_t full, rest, count = eg_dataset_count(d->from);
    shares(l, count < 0 ? 0 : count, &full, &rest);
    return count < 0 ? count : full + rest;
}

/* ---- with an end that cannot be foreseen ------------------------------------------------------- */

/* The step as it comes, its failure without words on record. Fails with EG_ENOMEM only. */
static eg_status read_step(dealer *l, int64_t i, bool *end)
{
    eg_error was = *eg_last_error();
    eg_status st = eg__next(l->d.from, &l->turn[i]);
    *end = !st && l->turn[i].n == 0;
    l->failed[i] = (eg_error){.code = EG_OK};
    if (st && st != EG_ENOMEM) {
        l->failed[i] = *eg_last_error();
        eg__thread_get()->error = was;
    }
    return st == EG_ENOMEM ? st : EG_OK;
}

static eg_status make_room(dealer *l)
{
    if (!l->turn) {
        l->turn = eg__malloc((size_t)l->block * sizeof *l->turn);
        l->failed = eg__malloc((size_t)l->block * sizeof *l->failed);
        if (!l->turn || !l->failed) {
            free(l->turn);
            free(l->failed);
            l->turn = NULL;
            l->failed = NULL;
            return eg__no_memory(l->d.is->name, l->block * (int64_t)sizeof *l->failed);
        }
        memset(l->turn, 0, (size_t)l->block * sizeof *l->turn);
    }
    return EG_OK;
}

/* A turn counts only if all ranks have theirs. */
static eg_status read_turn(dealer *l)
{
    const int64_t before = l->rank * l->block, after = (l->ranks - 1 - l->rank) * l->block;
    int64_t done;
    eg_status st = make_room(l);
    st = st ? st : eg__skip(l->d.from, before, &done);
    l->over = l->over || st || done < before;
    for (int64_t i = 0; i < l->block && !l->over; i++) {
        st = read_step(l, i, &l->over);
        l->over = l->over || st;
    }
    if (!l->over) {
        st = eg__skip(l->d.from, after, &done);
        l->over = st || done < after;
    }
    if (l->over) {
        forget_turn(l);
    }
    l->held = l->over ? 0 : l->block;
    return st;
}

static eg_status next_of_turn(dealer *l, eg__sample *s)
{
    eg_status st = l->held || l->over ? EG_OK : read_turn(l);
    if (st || !l->held) {
        return st;
    }
    const int64_t i = l->block - l->held--;
    const eg_error *e = &l->failed[i];
    *s = l->turn[i];
    l->turn[i].n = 0;
    l->given++;
    return e->code ? eg__fail(e->code, e->op, "%s", e->message) : EG_OK;
}

/* ---- the link ---------------------------------------------------------------------------------- */

static eg_status dealer_next(eg_dataset *d, eg__sample *s)
{
    dealer *l = (dealer *)d;
    const int64_t count = eg_dataset_count(d->from);
    if (count < 0) {
        return next_of_turn(l, s);
    }
    if (l->given >= dealer_count(d)) {
        return EG_OK;
    }
    const int64_t to = place_of(l, l->given++, count), gap = to - l->at;
    int64_t done = 0;
    eg_status st = eg__skip(d->from, gap, &done);
    l->at = to + 1;
    return st || done < gap ? st : eg__next(d->from, s);
}

static eg_status dealer_skip(eg_dataset *d, int64_t n, int64_t *done)
{
    dealer *l = (dealer *)d;
    const int64_t count = dealer_count(d);
    if (count < 0) {
        return eg__skip_by_next(d, n, done);
    }
    *done = eg__min(n, count - l->given);
    l->given += *done;
    return EG_OK;
}

static void dealer_free(eg_dataset *d)
{
    dealer *l = (dealer *)d;
    forget_turn(l);
    free(l->turn);
    free(l->failed);
}

static const eg__dataset_class dealer_class = {.name = "eg_dataset_distribute",
                                               .start = dealer_start,
                                               .next = dealer_next,
                                               .skip = dealer_skip,
                                               .count = dealer_count,
                                               .free = dealer_free};

/* ---- putting it in ----------------------------------------------------------------------------- */

eg_status eg__deal_out(eg_dataset **link, eg__deal *deal)
{
    eg_dataset *d = *link;
    if (d->is_dealt) {
        return EG_OK;
    }
    if (d->is->deal) {
        return d->is->deal(d, deal);
    }
    dealer *l = eg__handle_new(sizeof *l);
    if (!l) {
        return eg__no_memory(dealer_class.name, sizeof *l);
    }
    *l = (dealer){.d = {.is = &dealer_class, .from = d, .owner = d->owner, .callbacks = d->callbacks},
                  .block = deal->block,
                  .rank = deal->rank,
                  .ranks = deal->ranks};
    d->owner = dealer_class.name;
    deal->dealt = &l->d;
    *link = &l->d;
    return EG_OK;
}

eg_status eg__deal_from(eg_dataset *d, eg__deal *deal)
{
    eg_status st = eg__deal_out(&d->from, deal);
    d->dealt = deal->dealt;
    return st;
}

eg_dataset *eg_dataset_distribute(eg_dataset *d, int rank, int ranks)
{
    static const char op[] = "eg_dataset_distribute";
    eg__deal deal = {.block = 1, .rank = rank, .ranks = ranks};
    if (eg__check_dataset(op, d)) {
        return NULL;
    }
    if (rank < 0 || rank >= ranks) {
        eg_dataset_free(d);
        return eg__fail_null(EG_EINVAL, op, "rank %d of %d", rank, ranks);
    }
    d->under_way = false;
    d->status = EG_OK;
    d->scope = (eg_scope){0, 0};
    eg_dataset *head = d;
    if (ranks > 1 && eg__deal_out(&head, &deal)) {
        eg_dataset_free(head);
        return NULL;
    }
    return head;
}
