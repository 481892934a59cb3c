/* beam.c - beam search with a list of rows that go on and one of those that have ended, after tensor2tensor's.
 *
 * A sentence's rows stand side by side, the likeliest first; sentences that are done leave. */
#include <math.h>
#include <stdlib.h>

#include "nn/decode/decode.h"

/* A row, in either list. */
typedef struct row {
    double gain;      /* its log-probability */
    double score;     /* of those that have ended: what it is worth */
    int64_t from, id; /* of those that go on: the row it comes from, and what it says next */
    int64_t count;
    int64_t *ids; /* said */
} row;

typedef struct sentence {
    int64_t number; /* of the prompt */
    row *on, *next; /* [beams]: that go on, now and after this step */
    row *ended;     /* [beams], the best first */
    int64_t ons, ends;
} sentence;

typedef struct search {
    eg__decoding d;
    int64_t beams, best, said;
    sentence *all;       /* [n] */
    sentence **live;     /* [n]: those that are not done come first */
    int64_t lives, rows; /* rows that the net was asked of */
    row *pool;
    int64_t *ids;  /* what pool's rows have said */
    int64_t *keep; /* [n beams]: rows, and what they say, for the next question */
    int64_t *last;
    float *gains;    /* [n, 2 beams]: the likeliest continuations of each sentence */
    int64_t *places; /* their row among the sentence's, times words, and id */
    int64_t words;
} search;

static double power(const search *s, int64_t count)
{
    return pow((5 + (double)count) / 6, s->d.o.length_power);
}

/* ---- memory -------------------------------------------------------------------------------------- */

static eg_status begin(search *s)
{
    const int64_t n = eg__max(s->d.n, 1), steps = s->d.o.steps;
    s->beams = s->d.o.beams ? s->d.o.beams : 4;
    s->best = s->d.o.best ? s->d.o.best : 1;
    const bool fits = steps <= INT64_MAX / 64 / n / s->beams;
    const size_t rows = (size_t)(3 * n * s->beams);
    s->all = calloc((size_t)n, sizeof *s->all);
    s->live = calloc((size_t)n, sizeof *s->live);
    s->pool = calloc(rows, sizeof *s->pool);
    s->ids = fits ? calloc(rows * (size_t)steps, sizeof *s->ids) : NULL;
    s->keep = calloc((size_t)(n * s->beams), sizeof *s->keep);
    s->last = calloc((size_t)(n * s->beams), sizeof *s->last);
    s->gains = calloc((size_t)(2 * n * s->beams), sizeof *s->gains);
    s->places = calloc((size_t)(2 * n * s->beams), sizeof *s->places);
    if (!s->all || !s->live || !s->pool || !s->ids || !s->keep || !s->last || !s->gains || !s->places) {
        return eg__fail(EG_ENOMEM, s->d.op, "no memory for %lld beams of %lld ids", (long long)(n * s->beams),
                        (long long)steps);
    }
    for (size_t i = 0; i < rows; i++) {
        s->pool[i].ids = s->ids + i * (size_t)steps;
    }
    for (int64_t i = 0; i < s->d.n; i++) {
        row *first = s->pool + 3 * i * s->beams;
        s->all[i] = (sentence){i, first, first + s->beams, first + 2 * s->beams, 1, 0};
        s->live[i] = &s->all[i];
    }
    s->lives = s->rows = s->d.n;
    return EG_OK;
}

static void end(search *s)
{
    free(s->all);
    free(s->live);
    free(s->pool);
    free(s->ids);
    free(s->keep);
    free(s->last);
    free(s->gains);
    free(s->places);
    eg__decoding_end(&s->d);
}

/* ---- a step -------------------------------------------------------------------------------------- */

/* Log-probabilities of the rows so far, [rows, 1]; each sentence has as many rows as the others. */
static eg_tensor *so_far(const search *s)
{
    const int64_t each = s->rows / s->lives;
    eg_tensor *t = eg_empty(EG_SHAPE(s->rows, 1), EG_F32);
    float *to = t ? eg_data_mut(t) : NULL;
    for (int64_t i = 0; to && i < s->rows; i++) {
        const sentence *x = s->live[i / each];
        to[i] = i % each < x->ons ? (float)x->on[i % each].gain : -INFINITY;
    }
    return to ? eg_to(t, s->d.device) : NULL;
}

/* Fills s->gains and s->places with the likeliest continuations; how many of a sentence, -1 after a failure. */
static int64_t look(search *s, eg_tensor *logits)
{
    eg_scope scope = eg_scope_push();
    const int64_t words = s->words = eg_size(logits, 1), each = s->rows / s->lives;
    const int64_t count = eg__min(2 * s->beams, words * each);
    eg_tensor *values = NULL, *places = NULL;
    eg_tensor *shares = scope.depth ? eg_log_softmax(eg_cast(logits, EG_F32), -1) : NULL;
    eg_tensor *all = shares ? eg_reshape(eg_add(shares, so_far(s)), EG_SHAPE(s->lives, each * words)) : NULL;
    eg_status st = all ? eg_topk(all, count, -1, true, &values, &places) : eg__why();
    st = st ? st : eg__decoding_fetch(values, EG_F32, s->gains, s->lives * count);
    st = st ? st : eg__decoding_fetch(places, EG_I64, s->places, s->lives * count);
    eg_scope_pop(scope, NULL);
    return st ? -1 : count;
}

/* A row that is another one and an id. */
static void write(row *to, const row *from, int64_t id)
{
    memcpy(to->ids, from->ids, (size_t)from->count * sizeof *to->ids);
    to->ids[from->count] = id;
    to->count = from->count + 1;
}

/* Puts one that has ended among the best, if it is one of them. */
static void finish(search *s, sentence *x, const row *from, int64_t id, double gain)
{
    const double score = gain / power(s, from->count + 1);
    int64_t at = x->ends;
    if (at == s->beams && !(score > x->ended[at - 1].score)) {
        return;
    }
    at = eg__min(at, s->beams - 1);
    row free_one = x->ended[at];
    for (; at > 0 && score > x->ended[at - 1].score; at--) {
        x->ended[at] = x->ended[at - 1];
    }
    write(&free_one, from, id);
    free_one.gain = gain;
    free_one.score = score;
    x->ended[at] = free_one;
    x->ends = eg__min(x->ends + 1, s->beams);
}

/* Parts a sentence's continuations: `gains` and `places` are its `count` likeliest. */
static void part(search *s, sentence *x, const float *gains, const int64_t *places, int64_t count)
{
    const int64_t last = eg__decoding_end_id(&s->d);
    int64_t ons = 0;
    for (int64_t i = 0; i < count && !(gains[i] == -INFINITY); i++) {
        const row *from = &x->on[places[i] / s->words];
        const int64_t id = places[i] % s->words;
        if (id == last) {
            finish(s, x, from, id, gains[i]);
        } else if (ons < s->beams) {
            row *to = &x->next[ons++];
            write(to, from, id);
            to->gain = gains[i];
            to->from = places[i] / s->words;
            to->id = id;
        }
    }
    row *now = x->on;
    x->on = x->next;
    x->next = now;
    x->ons = ons;
}

/* Whether no row that goes on can come to more than the worst that has ended. */
static bool done(const search *s, const sentence *x)
{
    const double limit = power(s, s->d.o.steps);
    if (!x->ons || s->said == s->d.o.steps) {
        return true;
    }
    return x->ends >= s->best && x->ended[x->ends - 1].score >= x->on[0].gain / limit;
}

/* Which rows the next question is of, and what they said last. Sentences have `beams` rows each, of which those that
 * are none are the first one's copies, worth nothing. */
static eg_status go_on(search *s)
{
    const int64_t each = s->rows / s->lives;
    int64_t lives = 0, rows = 0;
    for (int64_t i = 0; i < s->lives; i++) {
        sentence *x = s->live[i];
        for (int64_t b = 0; !done(s, x) && b < s->beams; b++) {
            const row *r = &x->on[b < x->ons ? b : 0];
            s->keep[rows] = i * each + r->from;
            s->last[rows++] = r->id;
        }
        if (rows > lives * s->beams) {
            s->live[lives++] = x;
        }
    }
    const bool within = lives == s->lives;
    s->lives = lives;
    s->rows = rows;
    return rows ? eg__cache_select(s->d.cache, s->keep, rows, within) : EG_OK;
}

static eg_status run(search *s)
{
    eg_status st = EG_OK;
    while (!st && s->lives) {
        eg_scope scope = eg_scope_push();
        eg_tensor *logits = !scope.depth ? NULL
                            : s->said    ? eg__decoding_ask(&s->d, s->last, s->rows, 1)
                                         : eg__decoding_ask(&s->d, s->d.prompts, s->rows, s->d.longest);
        const int64_t count = logits ? look(s, logits) : -1;
        for (int64_t i = 0; i < s->lives && count >= 0; i++) {
            part(s, s->live[i], s->gains + i * count, s->places + i * count, count);
        }
        s->said++;
        st = count < 0 ? eg__why() : go_on(s);
        eg_scope_pop(scope, NULL);
    }
    return st;
}

/* ---- results ------------------------------------------------------------------------------------- */

/* The i-th best of a sentence: one that has ended, or where none has one that goes on; NULL: there is no such. */
static const row *place(const search *s, const sentence *x, int64_t i, double *score)
{
    const bool ended = x->ends > 0;
    if (i >= (ended ? x->ends : x->ons)) {
        return NULL;
    }
    const row *r = ended ? &x->ended[i] : &x->on[i];
    *score = ended ? r->score : r->gain / power(s, r->count);
    return r;
}

static eg_decoded results(const search *s)
{
    const int64_t n = s->d.n, best = s->best;
    int64_t longest = 0;
    double score;
    for (int64_t i = 0; i < n * best; i++) {
        const row *r = place(s, &s->all[i / best], i % best, &score);
        longest = r ? eg__max(longest, r->count) : longest;
    }
    eg_tensor *ids = eg_full_int(EG_SHAPE(n, best, longest), s->d.o.pad, EG_I64);
    eg_tensor *lengths = eg_zeros(EG_SHAPE(n, best), EG_I64);
    eg_tensor *scores = eg_full(EG_SHAPE(n, best), -(double)INFINITY, EG_F32);
    const bool made = ids && lengths && scores;
    int64_t *to = made ? eg_data_mut(ids) : NULL, *length = made ? eg_data_mut(lengths) : NULL;
    float *worth = made ? eg_data_mut(scores) : NULL;
    for (int64_t i = 0; i < n * best && made; i++) {
        const row *r = place(s, &s->all[i / best], i % best, &score);
        if (r) {
            memcpy(to + i * longest, r->ids, (size_t)r->count * sizeof *to);
            length[i] = r->count;
            worth[i] = (float)score;
        }
    }
    eg_tensor *all[3] = {ids, lengths, scores};
    for (int i = 0; i < 3 && made; i++) {
        all[i] = eg_to(all[i], s->d.device);
    }
    return made && all[0] && all[1] && all[2] ? (eg_decoded){all[0], all[1], all[2]} : (eg_decoded){NULL, NULL, NULL};
}

static eg_status check(const search *s)
{
    for (int64_t i = 0; i < s->d.n; i++) {
        if (s->d.lengths[i] != s->d.longest) {
            return eg__fail(EG_EINVAL, s->d.op, "prompt %lld has %lld ids of %lld: all must be of one length",
                            (long long)i, (long long)s->d.lengths[i], (long long)s->d.longest);
        }
    }
    return EG_OK;
}

eg_decoded eg_beam_search_with(eg_decode_fn next, void *user, eg_tensor *prompts, const eg_decode_options *options)
{
    search s = {.beams = 0};
    eg_decoded r = {NULL, NULL, NULL};
    eg_scope scope = eg_scope_push();
    eg_status st = scope.depth ? eg__decoding_begin(&s.d, "eg_beam_search", next, user, prompts, options) : eg__why();
    st = st ? st : check(&s);
    st = st ? st : begin(&s);
    st = st ? st : run(&s);
    if (!st) {
        r = results(&s);
        st = r.ids ? EG_OK : eg__why();
    }
    end(&s);
    eg_tensor *out[3] = {r.ids, r.lengths, r.scores};
    return eg_scope_pop_n(scope, out, st ? 0 : 3) || st ? (eg_decoded){NULL, NULL, NULL} : r;
}
