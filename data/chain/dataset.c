/* dataset.c - links, and walking a chain of them. */
#include "data/chain/dataset.h"

#include <stdlib.h>

#include "lib/core/live.h"

/* ---- links -------------------------------------------------------------------------------------- */

eg_dataset *eg__dataset_new(const eg__dataset_class *is, size_t size, eg_dataset *from)
{
    eg_dataset *d = eg__handle_new(size);
    if (!d) {
        eg_dataset_free(from);
        return eg__no_memory(is->name, (int64_t)size), NULL;
    }
    if (from) {
        from->owner = is->name;
    }
    d->is = is;
    d->from = from;
    d->callbacks = from ? from->callbacks : 0;
    return d;
}

eg_status eg__check_dataset(const char *op, eg_dataset *d)
{
    if (!d) {
        return eg__null_argument(op, "d");
    }
    if (!eg__handle_lives(d)) {
        return eg__fail(EG_ESTATE, op, "there is no dataset at %p: it was freed before, or never made", (void *)d);
    }
    return d->owner ? eg__fail(EG_ESTATE, op, "the dataset was given to %s, which owns it", d->owner) : EG_OK;
}

void eg__dataset_drop(eg_dataset *d)
{
    if (d && eg__handle_lives(d) && !d->owner) {
        eg_dataset_free(d);
    }
}

void eg_dataset_free(eg_dataset *d)
{
    if (d && eg__check_dataset("eg_dataset_free", d)) {
        return;
    }
    while (d && eg__handle_ends(d, "eg_dataset_free")) {
        if (d->is->free) {
            d->is->free(d);
        }
        eg_dataset *from = d->from;
        free(d);
        d = from;
    }
}

int eg_dataset_width(const eg_dataset *d)
{
    return d ? d->width : 0;
}

int64_t eg_dataset_count(const eg_dataset *d)
{
    return !d ? 0 : d->is->count ? d->is->count(d) : eg_dataset_count(d->from);
}

int64_t eg_dataset_count_before(const eg_dataset *d)
{
    int64_t n = eg_dataset_count(d);
    return n || !d || !d->from ? n : eg_dataset_count_before(d->from);
}

eg_status eg__start(eg_dataset *d, uint64_t epoch)
{
    return d->is->start ? d->is->start(d, epoch) : eg__start(d->from, epoch);
}

eg_status eg__next(eg_dataset *d, eg__sample *s)
{
    s->n = 0;
    s->file = NULL;
    s->at = -1;
    return d->is->next(d, s);
}

void eg__left_out(const eg_dataset *d, eg_left_out *sum)
{
    for (; d; d = d->from) {
        if (d->is->left_out) {
            d->is->left_out(d, sum);
        }
    }
}

eg_left_out eg_dataset_left_out(const eg_dataset *d)
{
    eg_left_out sum = {.first = {.op = ""}};
    eg__left_out(d, &sum);
    return sum;
}

eg_status eg__skip_by_next(eg_dataset *d, int64_t n, int64_t *done)
{
    eg_error was = *eg_last_error();
    for (*done = 0; *done < n; ++*done) {
        eg__sample s;
        eg_status st = eg__next(d, &s);
        if (st == EG_ENOMEM) {
            return st;
        }
        if (!st && s.n == 0) {
            break;
        }
        eg__sample_release(&s);
    }
    eg__thread_get()->error = was;
    return EG_OK;
}

eg_status eg__skip(eg_dataset *d, int64_t n, int64_t *done)
{
    *done = 0;
    return n < 1 ? EG_OK : d->is->skip ? d->is->skip(d, n, done) : eg__skip_by_next(d, n, done);
}

/* ---- samples ------------------------------------------------------------------------------------- */

void eg__sample_release(eg__sample *s)
{
    while (s->n) {
        eg_release(s->t[--s->n]);
    }
}

eg_status eg__sample_keep(const char *op, eg__sample *s, eg_tensor *const *t, int n)
{
    s->n = 0;
    if (n < 1 || n > EG_SAMPLE_MAX) {
        return eg__fail(EG_EINVAL, op, "a sample of %d tensors, 1..%d are possible", n, EG_SAMPLE_MAX);
    }
    for (int i = 0; i < n; i++) {
        if (eg__check(t[i], op, "a tensor of the sample")) {
            eg__sample_release(s);
            return eg__why();
        }
        s->t[s->n++] = eg_keep(t[i]);
    }
    return EG_OK;
}

void eg__sample_origin(eg__sample *s, const eg__sample *from)
{
    s->file = from->file;
    s->at = from->at;
}

eg_status eg__sample_blame(const eg__sample *s)
{
    char origin[128];
    eg_error *e = &eg__thread_get()->error;
    if (s->file) {
        size_t n = strlen(s->file), cut = n > 80 ? n - 80 : 0;
        snprintf(origin, sizeof origin, " (%s%s, offset %lld)", cut ? "..." : "", s->file + cut, (long long)s->at);
    } else {
        snprintf(origin, sizeof origin, " (sample %lld)", (long long)s->at);
    }
    if (s->file || s->at >= 0) {
        size_t room = sizeof e->message - 1 - strlen(origin), end = strlen(e->message);
        strcpy(e->message + (end < room ? end : room), origin);
    }
    return e->code;
}

/* ---- the user's functions -------------------------------------------------------------------------- */

eg_status eg__callback_enter(eg__callback *g, const eg_dataset *d, uint64_t seed, uint64_t epoch, int64_t number)
{
    g->random = eg_random_get_state();
    g->scope = eg_scope_push();
    if (!g->scope.depth) {
        return eg__why();
    }
    seed = eg__draw(&seed) ^ (uint64_t)d->callbacks;
    seed = eg__draw(&seed) ^ epoch;
    seed = eg__draw(&seed) ^ (uint64_t)(d->dealt ? eg__dealt_number(d->dealt, number) : number);
    eg_random_set_state((eg_random_state){.seed = eg__draw(&seed)});
    eg__user_begin(&g->before);
    return EG_OK;
}

eg_status eg__callback_leave(eg__callback *g, eg_status st, const char *op, const eg__sample *s)
{
    if (!g->scope.depth) {
        return eg__sample_blame(s); /* it was not called */
    }
    eg__user_end(&g->before, st, op, "function");
    eg_scope_pop(g->scope, NULL);
    eg_random_set_state(g->random);
    return st ? eg__sample_blame(s) : EG_OK;
}

/* ---- walking ------------------------------------------------------------------------------------- */

static eg_tensor *const *stop(eg_dataset *d, eg_status st)
{
    eg_scope_pop(d->scope, NULL);
    d->scope = (eg_scope){0, 0};
    d->status = st;
    return NULL;
}

eg_tensor *const *eg_dataset_next(eg_dataset *d)
{
    eg__sample s;
    if (!d || d->status || !d->scope.depth) {
        return NULL;
    }
    eg_scope_pop(d->scope, NULL);
    d->scope = eg_scope_push();
    if (!d->scope.depth) {
        d->status = eg__why();
        return NULL;
    }
    eg_status st = eg__next(d, &s);
    if (!st && s.n == 0) {
        d->at = (eg_dataset_position){d->at.epoch + 1, 0};
        d->under_way = false;
    }
    if (st || s.n == 0) {
        return stop(d, st);
    }
    for (int i = 0; i < s.n; i++) {
        if (!(d->sample[i] = eg_scope_adopt(s.t[i]))) {
            while (i < s.n) {
                eg_release(s.t[i++]);
            }
            return stop(d, eg__why());
        }
    }
    d->at.sample++;
    d->width = s.n;
    return d->sample;
}

/* Starts a pass and passes over what was given of it before. */
static eg_status begin(eg_dataset *d)
{
    int64_t done;
    eg_status st = eg__start(d, (uint64_t)d->at.epoch);
    st = st ? st : eg__skip(d, d->at.sample, &done);
    if (!st && done < d->at.sample) {
        st = eg__fail(EG_EINVAL, "eg_dataset_seek", "sample %lld of a pass that has %lld", (long long)d->at.sample,
                      (long long)done);
    }
    return st;
}

eg_tensor *const *eg_dataset_first(eg_dataset *d)
{
    if (!d) {
        return eg__null_argument("eg_dataset_first", "dataset"), NULL;
    }
    if (d->under_way) {
        d->at = (eg_dataset_position){d->at.epoch + 1, 0};
    }
    bool again = d->at.sample > 0;
    d->under_way = true;
    d->status = begin(d);
    d->scope = d->status ? (eg_scope){0, 0} : eg_scope_push();
    if (!d->status && !d->scope.depth) {
        d->status = eg__why();
    }
    eg_tensor *const *sample = eg_dataset_next(d);
    bool ended = !sample && !d->status;
    return ended && again ? eg_dataset_first(d) : sample;
}

eg_status eg_dataset_pass(eg_dataset *d, int64_t n)
{
    static const char op[] = "eg_dataset_pass";
    int64_t done = 0;
    if (!d || n < 0) {
        return d ? eg__fail(EG_EINVAL, op, "n is %lld, must be 0 or more", (long long)n) : eg__null_argument(op, "d");
    }
    if (!d->under_way || d->status) {
        return d->status ? d->status : eg__fail(EG_ESTATE, op, "no pass is under way");
    }
    eg_status st = eg__skip(d, n, &done);
    d->at.sample += done;
    return st;
}

eg_status eg_dataset_status(const eg_dataset *d)
{
    return d ? d->status : eg__why();
}

/* ---- positions ----------------------------------------------------------------------------------- */

eg_dataset_position eg_dataset_position_of(const eg_dataset *d)
{
    if (d && d->at.sample && d->at.sample == eg_dataset_count(d)) {
        return (eg_dataset_position){d->at.epoch + 1, 0};
    }
    return d ? d->at : (eg_dataset_position){0, 0};
}

eg_status eg_dataset_seek(eg_dataset *d, eg_dataset_position p)
{
    static const char name[] = "eg_dataset_seek";
    if (!d) {
        return eg__null_argument(name, "d");
    }
    int64_t count = eg_dataset_count(d);
    if (p.epoch < 0 || p.sample < 0 || (count >= 0 && p.sample > count)) {
        return eg__fail(EG_EINVAL, name, "epoch %lld, sample %lld, of a dataset with %lld samples (-1: not known)",
                        (long long)p.epoch, (long long)p.sample, (long long)count);
    }
    d->at = p.sample && p.sample == count ? (eg_dataset_position){p.epoch + 1, 0} : p;
    d->under_way = false;
    d->status = EG_OK;
    d->scope = (eg_scope){0, 0};
    return EG_OK;
}
