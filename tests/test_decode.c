/* test_decode.c - caches, sampling and beams over nets that are small functions. */
#include "tests/egt.h"

/* ---- caches -------------------------------------------------------------------------------------- */

EGT(caches_keep_tensors_by_name)
{
    eg_cache *c = eg_cache_new();
    EGT_CHECK(!eg_cache_get(c, "h") && !eg_last_error()->code);
    EGT_OK(eg_cache_put(c, "h", eg_full(EG_SHAPE(2, 3), 1, EG_F32)));
    EGT_OK(eg_cache_put(c, "h", eg_full(EG_SHAPE(2, 4), 2, EG_F32)));
    EGT_EQ(eg_size(eg_cache_get(c, "h"), 1), 4);
    EGT_REFUSED(eg_cache_put(c, "c", eg_ones(EG_SHAPE(3, 1), EG_F32)), EG_ESHAPE, "3 rows");
    EGT_REFUSED(eg_cache_put(c, "c", eg_scalar(1, EG_F32)), EG_ESHAPE, "no rows");
    EGT_REFUSED(eg_cache_put(c, NULL, eg_ones(EG_SHAPE(2), EG_F32)), EG_EINVAL, "name");
    EGT_REFUSED(eg_cache_advance(c, -1), EG_EINVAL, "-1");
    EGT_OK(eg_cache_advance(c, 3));
    EGT_EQ(eg_cache_steps(c), 3);
    EGT_EQ(eg_cache_steps(NULL), 0);
    eg_cache_free(c);
}

EGT(what_is_appended_is_all_there_was)
{
    eg_cache *c = eg_cache_new();
    eg_tensor *all = egt_random(EG_SHAPE(2, 3, 200, 4), EG_F32, -1, 1);
    for (int64_t at = 0; at < 200;) {
        const int64_t more = at % 3 + 1 < 200 - at ? at % 3 + 1 : 200 - at;
        eg_scope s = eg_scope_push();
        eg_tensor *so_far = eg_cache_append(c, "keys", eg_slice(all, 2, at, at + more, 1), 2);
        at += more;
        EGT_CHECK(so_far && egt_same_bits(eg_contiguous(so_far), eg_contiguous(eg_slice(all, 2, 0, at, 1))));
        eg_scope_pop(s, NULL);
    }
    EGT_CHECK(egt_same_bits(eg_contiguous(eg_cache_get(c, "keys")), all));
    EGT_REFUSED(eg_cache_append(c, "keys", eg_ones(EG_SHAPE(2, 3, 1, 5), EG_F32), 2), EG_ESHAPE, "axis 2");
    EGT_REFUSED(eg_cache_append(c, "keys", eg_ones(EG_SHAPE(2, 3, 1, 4), EG_F64), 2), EG_EDTYPE, "f64");
    EGT_REFUSED(eg_cache_append(c, "keys", eg_ones(EG_SHAPE(2, 1, 200, 4), EG_F32), 1), EG_ESHAPE, "axis 1");
    EGT_REFUSED(eg_cache_append(c, "new", eg_ones(EG_SHAPE(2, 3), EG_F32), 0), EG_ESHAPE, "axis 0");
    EGT_REFUSED(eg_cache_append(c, "new", eg_ones(EG_SHAPE(1, 3), EG_F32), 1), EG_ESHAPE, "1 rows");
    eg_cache_free(c);
}

EGT(what_was_put_can_be_appended_to)
{
    eg_cache *c = eg_cache_new();
    EGT_OK(eg_cache_put(c, "x", eg_zeros(EG_SHAPE(1, 2), EG_I64)));
    eg_tensor *all = eg_cache_append(c, "x", eg_ones(EG_SHAPE(1, 1), EG_I64), 1);
    EGT_EQ(eg_numel(all), 3);
    EGT_EQ(eg_get(all, 1), 0);
    EGT_EQ(eg_get(all, 2), 1);
    eg_cache_free(c);
}

EGT(rows_come_and_go)
{
    eg_cache *c = eg_cache_new();
    eg_tensor *numbers = eg_reshape(eg_arange(0, 6, 1, EG_F32), EG_SHAPE(3, 2));
    EGT_OK(eg_cache_put(c, "put", numbers));
    EGT_OK(eg_cache_hold(c, "held", numbers));
    EGT_CHECK(eg_cache_append(c, "grown", numbers, 1));
    EGT_OK(eg_cache_select(c, eg_from_values(EG_SHAPE(4), EG_I32, (double[]){2, 0, 0, 1})));
    const char *const names[] = {"put", "held", "grown"};
    for (int i = 0; i < 3; i++) {
        eg_tensor *t = eg_cache_get(c, names[i]);
        EGT_EQ(eg_size(t, 0), 4);
        EGT_EQ(eg_size(t, 1), 2);
        EGT_EQ(eg_get(t, 0), 4);
        EGT_EQ(eg_get(t, 5), 1);
    }
    EGT_REFUSED(eg_cache_select(c, eg_full(EG_SHAPE(1), 4, EG_I64)), EG_EINDEX, "rows[0] is 4");
    EGT_REFUSED(eg_cache_select(c, eg_ones(EG_SHAPE(1, 1), EG_I64)), EG_ESHAPE, "rows");
    EGT_REFUSED(eg_cache_select(c, eg_ones(EG_SHAPE(1), EG_F32)), EG_ESHAPE, "f32");
    EGT_EQ(eg_size(eg_cache_get(c, "put"), 0), 4);
    EGT_OK(eg_cache_select(c, eg_zeros(EG_SHAPE(0), EG_I64)));
    EGT_EQ(eg_size(eg_cache_get(c, "grown"), 0), 0);
    eg_cache_free(c);
}

/* ---- logits -------------------------------------------------------------------------------------- */

EGT(logits_are_filtered)
{
    eg_tensor *x = eg_from_values(EG_SHAPE(2, 4), EG_F32, (double[]){1, 3, 2, 0, 5, 5, 5, 1});
    eg_tensor *y = eg_filter_logits(x, .top_k = 2);
    EGT_EQ(eg_get(y, 0), -(double)INFINITY);
    EGT_EQ(eg_get(y, 1), 3);
    EGT_EQ(eg_get(y, 2), 2);
    EGT_EQ(eg_get(y, 6), 5); /* as large as the last of two */
    EGT_EQ(eg_get(eg_filter_logits(x, .temperature = 0.5), 1), 6);
    /* Shares are 0.087, 0.644, 0.237, 0.032. */
    y = eg_filter_logits(x, .top_p = 0.6);
    EGT_EQ(eg_get(y, 2), -(double)INFINITY);
    EGT_EQ(eg_get(y, 1), 3);
    y = eg_filter_logits(x, .top_p = 0.7);
    EGT_EQ(eg_get(y, 2), 2);
    EGT_EQ(eg_get(y, 0), -(double)INFINITY);
    EGT_EQ(eg_get(eg_filter_logits(x, .top_p = 1e-9), 1), 3);
    EGT_CHECK(egt_same_bits(eg_filter_logits(x), x) && egt_same_bits(eg_filter_logits(x, .top_k = 9), x));
    EGT_EQ(eg_numel(eg_filter_logits(eg_zeros(EG_SHAPE(0, 4), EG_F32), .top_k = 2, .top_p = 0.5)), 0);
    EGT_REFUSED(eg_filter_logits(x, .top_p = 1.5), EG_EINVAL, "top_p");
    EGT_REFUSED(eg_filter_logits(x, .temperature = -1), EG_EINVAL, "temperature");
    EGT_REFUSED(eg_filter_logits(eg_ones(EG_SHAPE(2), EG_I64)), EG_ESHAPE, "i64");
}

/* ---- saying -------------------------------------------------------------------------------------- */

/* Says the id behind the last one; remembers how many rows it was asked of, and all ids of each row. */
static eg_tensor *count_on(void *user, eg_tensor *ids, eg_cache *cache)
{
    int64_t *asked = user;
    *asked += eg_size(ids, 0);
    eg_tensor *all = eg_cache_append(cache, "ids", ids, 1), *last = eg_select(ids, 1, -1);
    if (!all || eg_cache_advance(cache, eg_size(ids, 1)) || eg_size(all, 1) != eg_cache_steps(cache)) {
        return NULL;
    }
    return eg_one_hot(eg_remainder_scalar(eg_add_scalar(last, 1), 8), 8, .on = 3);
}

EGT(rows_end_each_at_its_own_time)
{
    int64_t asked = 0;
    eg_tensor *prompts = eg_from_values(EG_SHAPE(3, 2), EG_I32, (double[]){0, 1, 0, 4, 0, 6});
    eg_decoded r = eg_generate(count_on, &asked, prompts, .steps = 5, .end = 6, .pad = 9);
    EGT_CHECK(r.ids);
    EGT_EQ(eg_size(r.ids, 1), 5);
    const double wanted[15] = {2, 3, 4, 5, 6, 5, 6, 9, 9, 9, 7, 0, 1, 2, 3};
    for (int i = 0; i < 15; i++) {
        EGT_EQ(eg_get(r.ids, i), wanted[i]);
    }
    EGT_EQ(eg_get(r.lengths, 1), 2);
    EGT_EQ(asked, 3 + 3 + 2 + 2 + 2);
    /* 7 words of e^0 beside e^3, at each step. */
    EGT_CHECK(fabs(eg_get(r.scores, 1) - 2 * (3 - log(exp(3) + 7))) < 1e-5);
}

EGT(an_end_may_be_0)
{
    int64_t asked = 0;
    eg_tensor *prompts = eg_full(EG_SHAPE(1, 1), 6, EG_I64);
    eg_decoded r = eg_generate(count_on, &asked, prompts, .steps = 9, .end = EG_ZERO);
    EGT_EQ(eg_get(r.lengths, 0), 2);
    r = eg_generate(count_on, &asked, prompts, .steps = 9);
    EGT_EQ(eg_get(r.lengths, 0), 9);
}

EGT(shorter_prompts_begin_earlier)
{
    int64_t asked = 0;
    eg_tensor *prompts = eg_from_values(EG_SHAPE(2, 4), EG_I64, (double[]){1, 7, 7, 7, 3, 3, 3, 5});
    eg_tensor *lengths = eg_from_values(EG_SHAPE(2), EG_I64, (double[]){1, 4});
    eg_decoded r = eg_generate(count_on, &asked, prompts, .steps = 3, .lengths = lengths);
    const double wanted[6] = {2, 3, 4, 6, 7, 0};
    for (int i = 0; i < 6; i++) {
        EGT_EQ(eg_get(r.ids, i), wanted[i]);
    }
    lengths = eg_from_values(EG_SHAPE(2), EG_I64, (double[]){0, 4});
    EGT_REFUSED(eg_generate(count_on, &asked, prompts, .steps = 3, .lengths = lengths).ids, EG_EINDEX,
                "lengths[0] is 0");
    EGT_REFUSED(eg_generate(count_on, &asked, prompts, .steps = 3, .lengths = prompts).ids, EG_ESHAPE, "lengths");
    EGT_REFUSED(eg_beam_search(count_on, &asked, prompts, .steps = 3, .lengths = eg_ones(EG_SHAPE(2), EG_I64)).ids,
                EG_EINVAL, "one length");
}

/* The same logits always. */
static eg_tensor *always(void *user, eg_tensor *ids, eg_cache *cache)
{
    (void)cache;
    return eg_expand(user, EG_SHAPE(eg_size(ids, 0), eg_numel(user)));
}

EGT(draws_are_of_what_is_left)
{
    eg_tensor *shares = eg_log(eg_from_values(EG_SHAPE(1, 4), EG_F32, (double[]){0.1, 0.5, 0.3, 0.1}));
    eg_tensor *prompts = eg_zeros(EG_SHAPE(50, 1), EG_I64);
    eg_seed(3);
    eg_decoded r = eg_generate(always, shares, prompts, .steps = 100, .sample = true, .top_k = 2);
    eg_tensor *often = eg_bincount(eg_flatten(r.ids, 0, -1), NULL, 4);
    EGT_EQ(eg_get(often, 0), 0);
    EGT_EQ(eg_get(often, 3), 0);
    EGT_CHECK(fabs(eg_get(often, 1) / 5000 - 0.625) < 0.03);
    eg_seed(3);
    eg_decoded again = eg_generate(always, shares, prompts, .steps = 100, .sample = true, .top_k = 2);
    EGT_CHECK(egt_same_bits(r.ids, again.ids));
    r = eg_generate(always, shares, prompts, .steps = 2, .repetition_penalty = 100);
    EGT_EQ(eg_get(r.ids, 0), 1); /* the logarithm of 0.5, times 100 once it was said */
    EGT_EQ(eg_get(r.ids, 1), 2);
}

static bool two_steps(void *user, int64_t step, eg_tensor *ids)
{
    double *seen = user;
    seen[step] = eg_get(ids, 0);
    return step < 1;
}

EGT(who_watches_can_end_it)
{
    int64_t asked = 0;
    double seen[4] = {-9, -9, -9, -9};
    eg_decoded r = eg_generate(count_on, &asked, eg_zeros(EG_SHAPE(1, 1), EG_I64), .steps = 4, .watch = two_steps,
                               .watch_user = seen);
    EGT_EQ(eg_get(r.lengths, 0), 2);
    EGT_EQ(seen[0], 1);
    EGT_EQ(seen[1], 2);
    EGT_EQ(seen[2], -9);
}

/* ---- beams --------------------------------------------------------------------------------------- */

/* After 0: 1 (0.6) or 2 (0.4); after 1 three words of 1/3 each, after 2 the end, 5, for sure. */
static eg_tensor *tempting(void *user, eg_tensor *ids, eg_cache *cache)
{
    (void)user;
    static const float after[3][6] = {{0, 0.6f, 0.4f, 0, 0, 0}, {0, 0, 0, 0.34f, 0.33f, 0.33f}, {0, 0, 0, 0, 0, 1}};
    eg_tensor *table = eg_log(eg_from(EG_SHAPE(3, 6), EG_F32, after)), *last = eg_select(ids, 1, -1);
    return eg_cache_advance(cache, 1) ? NULL : eg_index_select(table, 0, eg_minimum(last, eg_scalar_int(2, EG_I64)));
}

EGT(beams_find_what_the_likeliest_step_misses)
{
    eg_tensor *begin = eg_zeros(EG_SHAPE(2, 1), EG_I64);
    eg_decoded greedy = eg_generate(tempting, NULL, begin, .steps = 3, .end = 5);
    EGT_EQ(eg_get(greedy.ids, 0), 1);
    eg_decoded best = eg_beam_search(tempting, NULL, begin, .steps = 3, .end = 5, .beams = 2, .best = 2);
    EGT_EQ(eg_get(best.ids, 0), 2);
    EGT_EQ(eg_get(best.ids, 1), 5);
    EGT_EQ(eg_get(best.lengths, 0), 2);
    EGT_CHECK(fabs(eg_get(best.scores, 0) - log(0.4)) < 1e-5);
    /* 1 5 is worth more than 1 3 5, 0.6 * 0.33 to 0.6 * 0.34. */
    EGT_EQ(eg_get(best.ids, 3), 1);
    EGT_CHECK(egt_same_bits(eg_select(best.ids, 0, 0), eg_select(best.ids, 0, 1)));
    /* Longer ones are worth more with a power. */
    best = eg_beam_search(tempting, NULL, begin, .steps = 3, .end = 5, .beams = 2, .length_power = 1);
    EGT_CHECK(fabs(eg_get(best.scores, 0) - log(0.4) * 6 / 7) < 1e-5);
}

EGT(without_an_end_those_that_go_on_are_given)
{
    eg_decoded best =
        eg_beam_search(tempting, NULL, eg_zeros(EG_SHAPE(1, 1), EG_I64), .steps = 1, .end = 4, .beams = 3, .best = 3);
    EGT_EQ(eg_get(best.ids, 0), 1);
    EGT_EQ(eg_get(best.ids, 1), 2);
    EGT_EQ(eg_get(best.lengths, 2), 0); /* there is no third */
    EGT_EQ(eg_get(best.scores, 2), -(double)INFINITY);
}

/* Memory that is held stays where beams part, and follows where a sentence leaves. */
static eg_tensor *of_memory(void *user, eg_tensor *ids, eg_cache *cache)
{
    (void)user;
    eg_tensor *own = eg_cache_get(cache, "memory");
    if (!own || eg_size(own, 0) != eg_size(ids, 0)) {
        return NULL;
    }
    /* Sentence k ends, by 0, after k + 1 steps. */
    const int64_t steps = eg_cache_steps(cache);
    eg_tensor *end = eg_cast(eg_le_scalar(own, (double)steps), EG_F32);
    eg_tensor *other = eg_add_scalar(eg_neg(end), 1);
    eg_tensor *both[3] = {eg_mul_scalar(end, 20), eg_mul_scalar(other, 20), eg_mul_scalar(other, 19)};
    return eg_cache_advance(cache, 1) ? NULL : eg_concat(both, 3, 1);
}

EGT(sentences_leave_with_their_memory)
{
    eg_cache *cache = eg_cache_new();
    EGT_OK(eg_cache_hold(cache, "memory", eg_from_values(EG_SHAPE(3, 1), EG_F32, (double[]){2, 0, 1})));
    eg_decoded best = eg_beam_search(of_memory, NULL, eg_zeros(EG_SHAPE(3, 1), EG_I64), .cache = cache, .steps = 9,
                                     .end = EG_ZERO, .beams = 2);
    EGT_CHECK(best.ids);
    EGT_EQ(eg_get(best.lengths, 0), 3);
    EGT_EQ(eg_get(best.lengths, 1), 1);
    EGT_EQ(eg_get(best.lengths, 2), 2);
    eg_cache_free(cache);
}

/* ---- refusals ------------------------------------------------------------------------------------ */

static eg_tensor *of_other_rows(void *user, eg_tensor *ids, eg_cache *cache)
{
    (void)ids;
    (void)cache;
    return user ? eg_ones(EG_SHAPE(7, 3), EG_F32) : NULL;
}

EGT(what_is_out_of_order_is_refused)
{
    int64_t asked = 0;
    eg_tensor *ids = eg_zeros(EG_SHAPE(2, 1), EG_I64);
    EGT_REFUSED(eg_generate(count_on, &asked, ids).ids, EG_EINVAL, "steps is 0");
    EGT_REFUSED(eg_generate(NULL, NULL, ids, .steps = 1).ids, EG_EINVAL, "next");
    EGT_REFUSED(eg_generate(count_on, &asked, NULL, .steps = 1).ids, EG_EINVAL, "prompts");
    EGT_REFUSED(eg_generate(count_on, &asked, eg_zeros(EG_SHAPE(2, 0), EG_I64), .steps = 1).ids, EG_ESHAPE, "prompts");
    EGT_REFUSED(eg_generate(count_on, &asked, eg_zeros(EG_SHAPE(2, 1), EG_F32), .steps = 1).ids, EG_ESHAPE, "f32");
    EGT_REFUSED(eg_generate(count_on, &asked, ids, .steps = 1, .repetition_penalty = -1).ids, EG_EINVAL, "penalty");
    EGT_REFUSED(eg_generate(count_on, &asked, ids, .steps = 1, .sample = true, .top_p = 2).ids, EG_EINVAL, "top_p");
    EGT_REFUSED(eg_generate(of_other_rows, ids, ids, .steps = 1).ids, EG_ESHAPE, "[7, 3]");
    EGT_REFUSED(eg_generate(of_other_rows, NULL, ids, .steps = 1).ids, EG_EUSER, "without a word");
    EGT_REFUSED(eg_beam_search(count_on, &asked, ids, .steps = 1, .best = 5).ids, EG_EINVAL, "best");
    EGT_REFUSED(eg_beam_search(of_other_rows, ids, ids, .steps = 1).ids, EG_ESHAPE, "[7, 3]");
    eg_decoded none = eg_generate(count_on, &asked, eg_zeros(EG_SHAPE(0, 1), EG_I64), .steps = 2);
    EGT_CHECK(none.ids && !eg_numel(none.ids) && !eg_numel(none.lengths));
    none = eg_beam_search(tempting, NULL, eg_zeros(EG_SHAPE(0, 1), EG_I64), .steps = 2);
    EGT_CHECK(none.ids && !eg_numel(none.ids));
}

static bool decode(void *user)
{
    int64_t asked = 0;
    eg_scope s = eg_scope_push();
    eg_tensor *ids = s.depth ? eg_zeros(EG_SHAPE(2, 1), EG_I64) : NULL;
    bool good = ids && (user ? eg_beam_search(count_on, &asked, ids, .steps = 3, .beams = 2, .end = 7).ids
                             : eg_generate(count_on, &asked, ids, .steps = 3, .sample = true).ids);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return good;
}

EGT(memory_that_runs_out_is_said)
{
    EGT_CHECK(egt_fail_allocations(decode, NULL) > 10);
    EGT_CHECK(egt_fail_allocations(decode, "beams") > 10);
}
