/* generate.c - one row after each prompt: the likeliest id at each step, or one drawn. */
#include <stdlib.h>

#include "nn/decode/decode.h"

/* Rows that go on come first in `live`; what rows have said is in the order of the prompts. */
typedef struct saying {
    eg__decoding d;
    int64_t *live, lives; /* numbers of prompts */
    int64_t at;           /* ids that rows have, of the prompt and said */
    int64_t *all;         /* [n, longest + steps]: them */
    int64_t *last, *keep; /* [n]: ids said last by those that go on, and their rows */
    float *gain;          /* [n]: log-probabilities */
    float *scores;        /* [n] */
    int64_t *said;        /* [n]: how many */
} saying;

static int64_t width(const saying *y)
{
    return y->d.longest + y->d.o.steps;
}

static eg_status begin(saying *y)
{
    const int64_t n = y->d.n, room = eg__max(n, 1);
    int64_t *all = width(y) <= INT64_MAX / 8 / room ? calloc((size_t)(room * width(y)), sizeof *all) : NULL;
    int64_t *rest = calloc((size_t)room * 4, sizeof *rest);
    float *floats = calloc((size_t)room * 2, sizeof *floats);
    y->all = all;
    y->live = rest;
    y->gain = floats;
    if (!all || !rest || !floats) {
        return eg__fail(EG_ENOMEM, y->d.op, "no memory for %lld rows of %lld ids", (long long)n, (long long)width(y));
    }
    y->last = rest + room;
    y->keep = rest + 2 * room;
    y->said = rest + 3 * room;
    y->scores = floats + room;
    y->lives = n;
    y->at = n ? INT64_MAX : 0;
    for (int64_t i = 0; i < n; i++) {
        y->live[i] = i;
        y->at = eg__min(y->at, y->d.lengths[i]);
        memcpy(all + i * width(y), y->d.prompts + i * y->d.longest, (size_t)y->d.longest * sizeof *all);
    }
    return EG_OK;
}

static void end(saying *y)
{
    free(y->all);
    free(y->live);
    free(y->gain);
    eg__decoding_end(&y->d);
}

/* What rows that go on have so far, [lives, at]. */
static eg_tensor *history(const saying *y)
{
    eg_tensor *t = eg_empty(EG_SHAPE(y->lives, y->at), EG_I64);
    int64_t *to = t ? eg_data_mut(t) : NULL;
    for (int64_t i = 0; to && i < y->lives; i++) {
        memcpy(to + i * y->at, y->all + y->live[i] * width(y), (size_t)y->at * sizeof *to);
    }
    return to || (t && !eg_numel(t)) ? eg_to(t, y->d.device) : NULL;
}

/* Fills y->last and y->gain. */
static eg_status choose(saying *y, eg_tensor *logits)
{
    const eg_decode_options *o = &y->d.o;
    const bool penalised = o->repetition_penalty > 0 && o->repetition_penalty != 1;
    eg_scope s = eg_scope_push();
    eg_tensor *seen = s.depth && penalised ? eg__penalise(logits, history(y), o->repetition_penalty) : logits;
    eg_tensor *ids = NULL;
    if (s.depth && o->sample) {
        seen = eg_filter_logits(seen, .temperature = o->temperature, .top_k = o->top_k, .top_p = o->top_p);
        ids = eg_categorical(seen, 1, .logits = true);
    } else if (s.depth) {
        ids = eg_argmax(seen, .axes = EG_AXES(1), .keepdim = true);
    }
    eg_tensor *full = ids ? eg_cast(logits, EG_F32) : NULL;
    eg_tensor *gain =
        full ? eg_sub(eg_gather(full, 1, ids), eg_logsumexp(full, .axes = EG_AXES(1), .keepdim = true)) : NULL;
    eg_status st = gain ? eg__decoding_fetch(ids, EG_I64, y->last, y->lives) : eg__why();
    st = st ? st : eg__decoding_fetch(gain, EG_F32, y->gain, y->lives);
    eg_scope_pop(s, NULL);
    return st;
}

/* Writes what was chosen where the prompt has ended, and finds which rows go on. */
static int64_t write(saying *y, int64_t *told)
{
    const int64_t last = eg__decoding_end_id(&y->d);
    int64_t goes_on = 0;
    for (int64_t i = 0; i < y->lives; i++) {
        const int64_t row = y->live[i];
        int64_t *here = y->all + row * width(y) + y->at;
        bool done = false;
        if (y->at >= y->d.lengths[row]) {
            *here = told[row] = y->last[i];
            y->scores[row] += y->gain[i];
            done = ++y->said[row] == y->d.o.steps || *here == last;
        }
        if (!done) {
            y->keep[goes_on] = i;
            y->live[goes_on] = row;
            y->last[goes_on++] = *here;
        }
    }
    return goes_on;
}

/* One step of all rows that go on; *watched becomes false where the watcher has seen enough. */
static eg_status step(saying *y, eg_tensor *logits, int64_t number, bool *watched)
{
    const eg_decode_options *o = &y->d.o;
    eg_scope s = eg_scope_push();
    eg_tensor *told = s.depth ? eg_full_int(EG_SHAPE(y->d.n), -1, EG_I64) : NULL;
    int64_t *said = told ? eg_data_mut(told) : NULL;
    eg_status st = said ? choose(y, logits) : eg__why();
    if (!st) {
        const int64_t goes_on = write(y, said);
        st = goes_on < y->lives && goes_on ? eg__cache_select(y->d.cache, y->keep, goes_on, false) : EG_OK;
        y->lives = goes_on;
        y->at++;
    }
    if (!st && o->watch) {
        *watched = o->watch(o->watch_user, number, told);
    }
    eg_scope_pop(s, NULL);
    return st;
}

static eg_status say(saying *y)
{
    bool watched = true;
    int64_t *first = NULL;
    eg_status st = EG_OK;
    if (y->lives) {
        first = calloc((size_t)(y->lives * y->at), sizeof *first);
        st = first ? EG_OK : eg__fail(EG_ENOMEM, y->d.op, "no memory for prompts");
    }
    for (int64_t i = 0; first && i < y->lives; i++) {
        memcpy(first + i * y->at, y->d.prompts + i * y->d.longest, (size_t)y->at * sizeof *first);
    }
    for (int64_t number = 0; !st && y->lives && watched; number++) {
        eg_scope s = eg_scope_push();
        eg_tensor *logits = !s.depth ? NULL
                            : number ? eg__decoding_ask(&y->d, y->last, y->lives, 1)
                                     : eg__decoding_ask(&y->d, first, y->lives, y->at);
        st = logits ? step(y, logits, number, &watched) : eg__why();
        eg_scope_pop(s, NULL);
    }
    free(first);
    return st;
}

/* What was said, with `pad` behind. */
static eg_decoded results(const saying *y)
{
    const int64_t n = y->d.n;
    int64_t longest = 0;
    for (int64_t i = 0; i < n; i++) {
        longest = eg__max(longest, y->said[i]);
    }
    eg_tensor *ids = eg_full_int(EG_SHAPE(n, longest), y->d.o.pad, EG_I64);
    int64_t *to = ids ? eg_data_mut(ids) : NULL;
    for (int64_t i = 0; to && i < n; i++) {
        memcpy(to + i * longest, y->all + i * width(y) + y->d.lengths[i], (size_t)y->said[i] * sizeof *to);
    }
    eg_tensor *lengths = ids ? eg__decoding_ids(&y->d, EG_SHAPE(n), y->said) : NULL;
    eg_tensor *scores = lengths ? eg_to(eg_from(EG_SHAPE(n), EG_F32, y->scores), y->d.device) : NULL;
    return (eg_decoded){scores ? eg_to(ids, y->d.device) : NULL, lengths, scores};
}

eg_decoded eg_generate_with(eg_decode_fn next, void *user, eg_tensor *prompts, const eg_decode_options *options)
{
    saying y = {.live = NULL};
    eg_decoded r = {NULL, NULL, NULL};
    eg_scope s = eg_scope_push();
    eg_status st = s.depth ? eg__decoding_begin(&y.d, "eg_generate", next, user, prompts, options) : eg__why();
    st = st ? st : begin(&y);
    st = st ? st : say(&y);
    if (!st) {
        r = results(&y);
        st = r.ids ? EG_OK : eg__why();
    }
    end(&y);
    eg_tensor *out[3] = {r.ids, r.lengths, r.scores};
    return eg_scope_pop_n(s, out, st ? 0 : 3) || st ? (eg_decoded){NULL, NULL, NULL} : r;
}
