/* mask_tokens.c - ids that are hidden, for nets that guess them. */
#include <egret/data/corpora.h>

#include <math.h>
#include <stdlib.h>

#include "data/dice.h"
#include "data/text/text.h"
#include "lib/core/device.h"

enum { BEGINS, GOES_ON, SPECIAL };

/* ---- what words are ------------------------------------------------------------------------- */

static eg_status mark_special(const eg_vocabulary *v, uint8_t *to, const char *const *special, int n)
{
    static const char op[] = "eg_vocabulary_pieces";
    eg_status st = EG_OK;
    for (int i = 0; i < n && !st; i++) {
        const int64_t id = special[i] ? eg_vocabulary_id(v, special[i], strlen(special[i])) : -1;
        st = !special[i] ? eg__null_argument(op, "a special word")
             : id < 0    ? eg__fail(EG_EINVAL, op, "\"%.60s\" is not in the vocabulary", special[i])
                         : EG_OK;
        if (!st) {
            to[id] = SPECIAL;
        }
    }
    return st;
}

eg_tensor *eg_vocabulary_pieces(const eg_vocabulary *v, const char *prefix, const char *const *special, int n)
{
    static const char op[] = "eg_vocabulary_pieces";
    if (!v || !prefix || (n > 0 && !special)) {
        return eg__null_argument(op, v ? prefix ? "special" : "prefix" : "v"), NULL;
    }
    if (n < 0 || !*prefix) {
        return eg__fail_null(EG_EINVAL, op, "%d special words, prefix \"%s\": none below 0, and not empty", n, prefix);
    }
    eg_scope scope = eg_scope_push();
    const int64_t words = eg_vocabulary_size(v);
    eg_tensor *t = scope.depth ? eg__empty_on(0, EG_SHAPE(words), EG_U8) : NULL;
    for (int64_t i = 0; t && i < words; i++) {
        const char *word = eg_vocabulary_word(v, i);
        ((uint8_t *)eg__ptr(t))[i] = strncmp(word, prefix, strlen(prefix)) ? BEGINS : GOES_ON;
    }
    if (t && mark_special(v, (uint8_t *)eg__ptr(t), special, n)) {
        t = NULL;
    }
    return scope.depth ? eg_scope_pop(scope, t) : NULL;
}

/* ---- hiding --------------------------------------------------------------------------------- */

static const char op[] = "eg_mask_tokens";

typedef struct masking {
    int64_t n, words;
    const uint8_t *pieces;
    int64_t mask, most; /* most: ids that may be hidden */
    int64_t *ids, *labels;
    uint32_t *group, *first; /* of each id, 0: none, and where each begins, from 1; */
    uint32_t *order, groups; /* of groups, drawn */
    eg__dice dice;
} masking;

static eg_status check(eg_tensor *ids, eg_tensor *pieces, const eg_mask_tokens_options *o)
{
    eg_status st = eg__check(ids, op, "ids");
    st = st ? st : eg__check(pieces, op, "pieces");
    st = st ? st : eg__host_only(ids, op, "ids");
    st = st ? st : eg__host_only(pieces, op, "pieces");
    if (st) {
        return st;
    }
    if (ids->dtype != EG_I64 || ids->ndim != 1 || pieces->dtype != EG_U8 || pieces->ndim != 1) {
        return eg__fail(EG_ESHAPE, op, "ids are %s %s, pieces %s %s: must be i64 [n] and u8 [words]",
                        eg_dtype_name((eg_dtype)ids->dtype), EG__SHAPE_OF(ids), eg_dtype_name((eg_dtype)pieces->dtype),
                        EG__SHAPE_OF(pieces));
    }
    return o->share >= 0 && o->share <= 1 && o->most >= 0
               ? EG_OK
               : eg__fail(EG_EINVAL, op, "share is %g, must be 0..1; most is %lld, must not be negative", o->share,
                          (long long)o->most);
}

/* A piece goes with the word before it, if one is there, even over special ones. */
static eg_status find_groups(masking *m, bool whole)
{
    for (int64_t i = 0; i < m->n; i++) {
        const int64_t id = m->ids[i];
        if (id < 0 || id >= m->words) {
            return eg__fail(EG_EINDEX, op, "id %lld at %lld, there are %lld words", (long long)id, (long long)i,
                            (long long)m->words);
        }
        m->group[i] = 0;
        if (m->pieces[id] == SPECIAL) {
            continue;
        }
        if (!whole || !m->groups || m->pieces[id] != GOES_ON) {
            m->first[m->groups++] = (uint32_t)i;
        }
        m->group[i] = m->groups;
    }
    return EG_OK;
}

static void draw_order(masking *m)
{
    for (uint32_t k = 0; k < m->groups; k++) {
        m->order[k] = k;
    }
    for (uint32_t k = m->groups; k > 1; k--) {
        const uint32_t other = (uint32_t)eg__dice_below(&m->dice, k), was = m->order[other];
        m->order[other] = m->order[k - 1];
        m->order[k - 1] = was;
    }
}

static void hide(masking *m, int64_t i)
{
    const double luck = eg__dice_between(&m->dice, 0, 1);
    const int64_t any = eg__dice_below(&m->dice, m->words);
    m->labels[i] = m->ids[i];
    m->ids[i] = luck < 0.8 ? m->mask : luck < 0.9 ? m->ids[i] : any;
}

/* Groups as they were drawn, but for those that are too many now. */
static void hide_groups(masking *m)
{
    int64_t hidden = 0;
    for (uint32_t k = 0; k < m->groups && hidden < m->most; k++) {
        const uint32_t g = m->order[k] + 1, end = g < m->groups ? m->first[g] : (uint32_t)m->n;
        int64_t size = 0;
        for (uint32_t i = m->first[g - 1]; i < end; i++) {
            size += m->group[i] == g;
        }
        if (hidden + size > m->most) {
            continue;
        }
        hidden += size;
        for (uint32_t i = m->first[g - 1]; i < end; i++) {
            if (m->group[i] == g) {
                hide(m, i);
            }
        }
    }
}

static eg_tensor *mask_tokens(eg_tensor *ids, eg_tensor *pieces, int64_t mask, const eg_mask_tokens_options *o,
                              eg_tensor **labels)
{
    const int64_t n = ids->n;
    eg_tensor *to = eg_copy(eg_contiguous(ids)), *kinds = eg_contiguous(pieces);
    *labels = to && kinds ? eg__full_on(0, EG_SHAPE(n), -1, EG_I64) : NULL;
    uint32_t *memory = *labels ? eg__malloc((3 * (size_t)n + 1) * sizeof *memory) : NULL;
    if (!memory) {
        return *labels ? (eg__no_memory(op, n), NULL) : NULL;
    }
    const double share = o->share * (double)n;
    const int64_t wanted = o->share > 0 ? eg__max(1, (int64_t)rint(share)) : 0; /* halves to even, as Python rounds */
    masking m = {.n = n,
                 .words = kinds->n,
                 .pieces = (const uint8_t *)eg__ptr(kinds),
                 .mask = mask,
                 .most = o->most ? eg__min(o->most, wanted) : wanted,
                 .ids = (int64_t *)eg__ptr(to),
                 .labels = (int64_t *)eg__ptr(*labels),
                 .group = memory,
                 .first = memory + n,
                 .order = memory + 2 * n};
    eg_status st = find_groups(&m, o->whole);
    if (!st) {
        m.dice = eg__dice_take(op, 3 * n);
        draw_order(&m);
        hide_groups(&m);
    }
    free(memory);
    return st ? NULL : to;
}

eg_status eg_mask_tokens_with(eg_tensor *ids, eg_tensor *pieces, int64_t mask, eg_tensor **hidden, eg_tensor **labels,
                              const eg_mask_tokens_options *options)
{
    eg_mask_tokens_options o;
    eg_tensor *made[2] = {NULL, NULL};
    eg__options(&o, sizeof o, options);
    o.share = eg__or(o.share, 0.15);
    if (!hidden || !labels) {
        return eg__null_argument(op, hidden ? "labels" : "hidden");
    }
    *hidden = *labels = NULL;
    eg_status st = check(ids, pieces, &o);
    if (st) {
        return st;
    }
    eg_scope scope = eg_scope_push();
    made[0] = scope.depth ? mask_tokens(ids, pieces, mask, &o, &made[1]) : NULL;
    st = made[0] ? EG_OK : eg__why();
    if (st) {
        eg_scope_pop(scope, NULL);
        return st;
    }
    st = eg_scope_pop_n(scope, made, 2);
    if (!st) {
        *hidden = made[0];
        *labels = made[1];
    }
    return st;
}
