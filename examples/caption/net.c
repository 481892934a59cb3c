/* net.c - see net.h. */
#include "net.h"

typedef struct captioner {
    eg_module base;
    int64_t units;
    bool remembers;
    eg_module *see, *embedding, *attention, *gru, *hidden, *word;
} captioner;

/* ---- one word ------------------------------------------------------------------------------------ */

/* What it makes of a photo: places to read from, and to ask. */
typedef struct seen {
    eg_tensor *places, *keys;
} seen;

static seen see(captioner *c, eg_tensor *features)
{
    eg_tensor *places = eg_relu(eg_module_forward(c->see, features));
    return (seen){places, places ? eg_additive_attention_keys(c->attention, places) : NULL};
}

static eg_tensor *no_state(captioner *c, eg_tensor *like)
{
    eg_tensor *first = eg_slice(eg_select(like, 1, 0), 1, 0, 1, 1);
    return first ? eg_mul_scalar(eg_expand(eg_detach(first), EG_SHAPE(eg_size(like, 0), c->units)), 0) : NULL;
}

/* Behind a word, now [N, embedding]: the next state [N, units], and where it looked. */
static eg_tensor *step(captioner *c, eg_tensor *before, eg_tensor *state, seen s, eg_tensor **weights)
{
    eg_attended at = eg_additive_attention_forward(c->attention, state, s.places, s.keys, NULL);
    eg_tensor *x = at.context ? eg_concat((eg_tensor *[]){at.context, before}, 2, 1) : NULL;
    *weights = at.weights;
    eg_tensor *h0 = c->remembers ? eg_unsqueeze(state, 0) : NULL;
    return x ? eg_squeeze(eg_rnn_forward(c->gru, eg_unsqueeze(x, 0), .h0 = h0).h, EG_AXES(0)) : NULL;
}

static eg_tensor *say(captioner *c, eg_tensor *state)
{
    return eg_module_forward(c->word, eg_module_forward(c->hidden, state));
}

/* ---- whole captions ------------------------------------------------------------------------------ */

enum { WORDS_MOST = 512 };

typedef struct walked {
    eg_tensor *states, *weights; /* [N, T - 1, units], [N, T - 1, places] */
} walked;

static walked walk(captioner *c, eg_tensor *features, eg_tensor *captions)
{
    const int64_t steps = eg_size(captions, 1) - 1;
    eg_tensor *states[WORDS_MOST], *weights[WORDS_MOST];
    if (steps < 1 || steps > WORDS_MOST) {
        eg_failf(EG_ESHAPE, "caption", "a caption of %lld words: must be 2 to %d", (long long)steps + 1,
                 WORDS_MOST + 1);
        return (walked){NULL, NULL};
    }
    seen s = see(c, features);
    eg_tensor *known = eg_module_forward(c->embedding, eg_slice(captions, 1, 0, steps, 1));
    eg_tensor *state = s.keys ? no_state(c, s.places) : NULL;
    for (int64_t t = 0; t < steps && state; t++) {
        states[t] = state = step(c, eg_select(known, 1, t), state, s, &weights[t]);
    }
    return state ? (walked){eg_stack(states, (int)steps, 1), eg_stack(weights, (int)steps, 1)} : (walked){NULL, NULL};
}

eg_tensor *captioner_forward(eg_module *net, eg_tensor *features, eg_tensor *captions)
{
    walked w = walk((captioner *)net, features, captions);
    return w.states ? say((captioner *)net, w.states) : NULL;
}

eg_tensor *captioner_look(eg_module *net, eg_tensor *features, eg_tensor *captions)
{
    return walk((captioner *)net, features, captions).weights;
}

eg_tensor *captioner_loss(eg_tensor *logits, eg_tensor *captions)
{
    eg_tensor *words = eg_slice(captions, 1, 1, eg_size(captions, 1), 1);
    eg_tensor *sum =
        eg_cross_entropy(eg_flatten(logits, 0, 1), eg_flatten(words, 0, 1), .ignore = true, .reduction = EG_SUM);
    return eg_div_scalar(sum, (double)eg_size(captions, 0));
}

eg_tensor *captioner_words(eg_tensor *captions)
{
    eg_tensor *there = eg_slice(captions, 1, 1, eg_size(captions, 1), 1);
    return eg_sum(eg_cast(eg_ne_int(there, 0), EG_F32));
}

eg_tensor *captioner_word_loss(eg_tensor *loss, eg_tensor *captions)
{
    return eg_div(eg_mul_scalar(eg_detach(loss), (double)eg_size(captions, 0)), captioner_words(captions));
}

/* ---- writing ------------------------------------------------------------------------------------- */

eg_status captioner_see(eg_module *net, eg_tensor *features, eg_cache *cache)
{
    seen s = see((captioner *)net, features);
    eg_tensor *state = s.keys ? no_state((captioner *)net, s.places) : NULL;
    eg_status st = state ? eg_cache_hold(cache, "places", s.places) : eg_last_error()->code;
    st = st ? st : eg_cache_hold(cache, "keys", s.keys);
    return st ? st : eg_cache_put(cache, "state", state);
}

eg_tensor *captioner_next(void *net, eg_tensor *ids, eg_cache *cache)
{
    captioner *c = net;
    seen s = {eg_cache_get(cache, "places"), eg_cache_get(cache, "keys")};
    eg_tensor *weights, *before = eg_module_forward(c->embedding, eg_select(ids, 1, -1));
    eg_tensor *state = before ? step(c, before, eg_cache_get(cache, "state"), s, &weights) : NULL;
    return state && !eg_cache_put(cache, "state", state) ? say(c, state) : NULL;
}

/* ---- the module ---------------------------------------------------------------------------------- */

static void members(eg_module *m, eg_members *walk_)
{
    captioner *c = (captioner *)m;
    eg_member_child(walk_, "see", &c->see);
    eg_member_child(walk_, "embedding", &c->embedding);
    eg_member_child(walk_, "attention", &c->attention);
    eg_member_child(walk_, "gru", &c->gru);
    eg_member_child(walk_, "hidden", &c->hidden);
    eg_member_child(walk_, "word", &c->word);
}

static const eg_module_kind kind = {.size = sizeof(eg_module_kind), .name = "captioner", .members = members};

eg_module *captioner_new(const captioner_sizes *s)
{
    captioner *c = eg_module_new(sizeof *c, &kind);
    if (!c) {
        return NULL;
    }
    c->units = s->units;
    c->remembers = s->remembers;
    c->see = eg_linear_new(s->channels, s->embedding);
    c->embedding = eg_embedding_new(s->words, s->embedding);
    c->attention = eg_additive_attention_new(s->units, s->embedding, s->units);
    c->gru = eg_gru_new(2 * s->embedding, s->units);
    c->hidden = eg_linear_new(s->units, s->units);
    c->word = eg_linear_new(s->units, s->words);
    eg_module *net = eg_module_finish(&c->base);
    if (net && (eg_module_init(net, EG_GLOROT_UNIFORM) ||
                eg_module_init(eg_module_find(net, "embedding"), EG_UNIFORM, .low = -0.05, .high = 0.05))) {
        eg_module_free(net);
        return NULL;
    }
    return net;
}
