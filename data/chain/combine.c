/* combine.c - several datasets as one: one after the other, in turns, side by side. */
#include "data/chain/dataset.h"

#include <stdlib.h>

typedef struct many {
    eg_dataset d;
    int n;
    eg_dataset **of;
    /* one after the other and in turns */
    int64_t block, left; /* steps of a turn, and of this one */
    int at, alive;       /* whose turn it is; how many have not ended */
    bool *ended;
    /* side by side */
    bool over, equal; /* equal: all must end together */
    int64_t steps;    /* that all have taken */
} many;

enum { MOST_DATASETS = 4096 };

static bool given_before(eg_dataset *const *datasets, int i)
{
    for (int k = 0; k < i; k++) {
        if (datasets[k] == datasets[i]) {
            return true;
        }
    }
    return false;
}

static eg_status check_datasets(const char *op, eg_dataset *const *datasets, int n)
{
    if (n < 1 || n > MOST_DATASETS) {
        return eg__fail(EG_EINVAL, op, "n is %d, must be 1..%d", n, MOST_DATASETS);
    }
    if (!datasets) {
        return eg__null_argument(op, "datasets");
    }
    for (int i = 0; i < n; i++) {
        char name[24];
        snprintf(name, sizeof name, "datasets[%d]", i);
        if (!datasets[i]) {
            return eg__null_argument(op, name);
        }
        if (given_before(datasets, i)) {
            return eg__fail(EG_EINVAL, op, "%s is there twice", name);
        }
        if (eg__check_dataset(op, datasets[i])) {
            return eg__why();
        }
    }
    return EG_OK;
}

static many *many_new(const eg__dataset_class *is, eg_dataset *const *datasets, int n)
{
    bool fits = !check_datasets(is->name, datasets, n);
    many *m = fits ? (many *)eg__dataset_new(is, sizeof *m, NULL) : NULL;
    if (m) {
        m->of = eg__malloc((size_t)n * sizeof *m->of);
        m->ended = eg__malloc((size_t)n * sizeof *m->ended);
    }
    if (!m || !m->of || !m->ended) {
        for (int i = 0; datasets && i < n; i++) {
            if (!given_before(datasets, i)) {
                eg__dataset_drop(datasets[i]);
            }
        }
        eg_dataset_free(m ? &m->d : NULL);
        return fits ? eg__no_memory(is->name, n), NULL : NULL;
    }
    memcpy(m->of, datasets, (size_t)n * sizeof *m->of);
    m->n = n;
    for (int i = 0; i < n; i++) {
        m->d.callbacks += datasets[i]->callbacks;
        datasets[i]->owner = is->name;
    }
    return m;
}

static void many_free(eg_dataset *d)
{
    many *m = (many *)d;
    for (int i = 0; i < m->n; i++) {
        m->of[i]->owner = NULL;
        eg_dataset_free(m->of[i]);
    }
    free(m->of);
    free(m->ended);
}

static void many_left_out(const eg_dataset *d, eg_left_out *sum)
{
    const many *m = (const many *)d;
    for (int i = 0; i < m->n; i++) {
        eg__left_out(m->of[i], sum);
    }
}

static eg_status many_start(eg_dataset *d, uint64_t epoch)
{
    many *m = (many *)d;
    eg_status st = EG_OK;
    for (int i = 0; i < m->n && !st; i++) {
        m->ended[i] = false;
        st = eg__start(m->of[i], epoch);
    }
    m->at = 0;
    m->alive = m->n;
    m->left = m->block;
    m->over = false;
    m->steps = 0;
    return st;
}

/* The sum, or -1 if one is not known or it is too large. */
static int64_t sum_count(const eg_dataset *d)
{
    const many *m = (const many *)d;
    int64_t sum = 0;
    for (int i = 0; i < m->n; i++) {
        int64_t n = eg_dataset_count(m->of[i]);
        if (n < 0 || __builtin_add_overflow(sum, n, &sum)) {
            return -1;
        }
    }
    return sum;
}

/* All classes here but for how they walk. */
#define MANY(its_name, its_next, its_skip, its_count, its_deal)                                        \
    {                                                                                                  \
        .name = its_name, .start = many_start, .next = its_next, .skip = its_skip, .count = its_count, \
        .deal = its_deal, .left_out = many_left_out, .free = many_free                                 \
    }

/* ---- concat and interleave: concat has turns without end ------------------------------------------------ */

/* Whose turn it is, or NULL when all have ended. */
static eg_dataset *whose_turn(many *m)
{
    while (m->alive && (m->left == 0 || m->ended[m->at])) {
        m->at = (m->at + 1) % m->n;
        m->left = m->block;
    }
    return m->alive ? m->of[m->at] : NULL;
}

static void note_end(many *m)
{
    m->ended[m->at] = true;
    m->alive--;
}

static eg_status turns_next(eg_dataset *d, eg__sample *s)
{
    many *m = (many *)d;
    eg_dataset *one;
    while ((one = whose_turn(m))) {
        eg_status st = eg__next(one, s);
        if (st || s->n) {
            m->left--;
            return st;
        }
        note_end(m);
    }
    return EG_OK;
}

static eg_status turns_skip(eg_dataset *d, int64_t n, int64_t *done)
{
    many *m = (many *)d;
    eg_dataset *one;
    while (*done < n && (one = whose_turn(m))) {
        int64_t steps, want = eg__min(n - *done, m->left);
        eg_status st = eg__skip(one, want, &steps);
        *done += steps;
        m->left -= steps;
        if (st) {
            return st;
        }
        if (steps < want) {
            note_end(m);
        }
    }
    return EG_OK;
}

static const eg__dataset_class concat_class = MANY("eg_dataset_concat", turns_next, turns_skip, sum_count, NULL);
static const eg__dataset_class interleave_class =
    MANY("eg_dataset_interleave", turns_next, turns_skip, sum_count, NULL);

eg_dataset *eg_dataset_concat(eg_dataset *const *datasets, int n)
{
    many *m = many_new(&concat_class, datasets, n);
    if (!m) {
        return NULL;
    }
    m->block = INT64_MAX;
    return &m->d;
}

eg_dataset *eg_dataset_interleave(eg_dataset *const *datasets, int n, int64_t block)
{
    many *m = many_new(&interleave_class, datasets, n);
    if (!m) {
        return NULL;
    }
    m->block = block;
    if (block < 1) {
        eg_dataset_free(&m->d);
        return eg__fail_null(EG_EINVAL, interleave_class.name, "block is %lld, must be 1 or more", (long long)block);
    }
    return &m->d;
}

/* ---- zip ------------------------------------------------------------------------------------------------ */

/* Moves the tensors of `part` behind those of `s`. */
static eg_status join(many *m, eg__sample *s, eg__sample *part)
{
    if (s->n + part->n > EG_SAMPLE_MAX) {
        eg__fail(EG_EINVAL, m->d.is->name, "the samples joined have %d tensors or more, %d are possible",
                 s->n + part->n, EG_SAMPLE_MAX);
        return eg__sample_blame(part);
    }
    if (s->n == 0) {
        eg__sample_origin(s, part);
    }
    memcpy(s->t + s->n, part->t, (size_t)part->n * sizeof *s->t);
    s->n += part->n;
    part->n = 0;
    return EG_OK;
}

/* Every dataset takes its step, also beside one that fails or, where all must end together, has ended. */
static eg_status zip_next(eg_dataset *d, eg__sample *s)
{
    many *m = (many *)d;
    eg_error was = *eg_last_error(), bad = {.code = EG_OK};
    const bool before = m->over;
    int ended = 0;
    for (int i = 0; i < m->n && (!m->over || (m->equal && !before)); i++) {
        eg__sample part;
        eg_status st = eg__next(m->of[i], &part);
        const bool end = !st && part.n == 0;
        m->over = m->over || end;
        ended += end;
        st = st ? st : join(m, s, &part);
        eg__sample_release(&part);
        if (st && !bad.code) {
            bad = *eg_last_error();
        }
    }
    if (m->over || bad.code) {
        eg__sample_release(s);
        eg__thread_get()->error = m->over ? was : bad;
    }
    if (m->equal && ended && ended < m->n) {
        return eg__fail(EG_EFORMAT, d->is->name, "one text ends behind %lld lines, another goes on",
                        (long long)m->steps);
    }
    m->steps++;
    return m->over ? EG_OK : bad.code;
}

/* Where all must end together, that they do not is a step more. */
static eg_status zip_skip(eg_dataset *d, int64_t n, int64_t *done)
{
    many *m = (many *)d;
    int64_t least = m->over ? 0 : n, most = 0;
    for (int i = 0; i < m->n && !m->over && (least || m->equal); i++) {
        int64_t steps;
        eg_status st = eg__skip(m->of[i], m->equal ? n : least, &steps);
        if (st) {
            return st;
        }
        least = eg__min(least, steps);
        most = eg__max(most, steps);
    }
    m->over = m->over || least < n;
    m->steps += least;
    *done = least + (m->equal && least < most);
    return EG_OK;
}

static int64_t zip_count(const eg_dataset *d)
{
    const many *m = (const many *)d;
    int64_t least = INT64_MAX;
    for (int i = 0; i < m->n; i++) {
        least = eg__min(least, eg_dataset_count(m->of[i]));
    }
    return least;
}

/* Each takes the same steps as before. */
static eg_status zip_deal(eg_dataset *d, eg__deal *deal)
{
    many *m = (many *)d;
    eg_status st = EG_OK;
    const eg__deal same = *deal;
    for (int i = 0; i < m->n && !st; i++) {
        *deal = same;
        st = eg__deal_out(&m->of[i], deal);
    }
    deal->dealt = NULL;
    return st;
}

static const eg__dataset_class zip_class = MANY("eg_dataset_zip", zip_next, zip_skip, zip_count, zip_deal);

eg_dataset *eg_dataset_zip(eg_dataset *const *datasets, int n)
{
    many *m = many_new(&zip_class, datasets, n);
    return m ? &m->d : NULL;
}

static const eg__dataset_class parallel_class = MANY("eg_parallel_text_new", zip_next, zip_skip, zip_count, NULL);

eg_dataset *eg_parallel_text_new(const char *first, const char *second)
{
    eg_dataset *texts[2] = {eg_text_lines_new(first), NULL};
    texts[1] = texts[0] ? eg_text_lines_new(second) : NULL;
    if (!texts[1]) {
        eg__dataset_drop(texts[0]);
        return NULL;
    }
    many *m = many_new(&parallel_class, texts, 2);
    if (m) {
        m->equal = true;
    }
    return m ? &m->d : NULL;
}
