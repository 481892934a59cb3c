/* decode.h - what a net says next, step by step: the likeliest, by beams, or drawn.
 *
 *     static eg_tensor *next(void *user, eg_tensor *ids, eg_cache *cache)
 *     {
 *         return eg_gpt2_next(user, ids, cache);                // logits [rows, words] of what comes after ids
 *     }
 *
 *     eg_decoded said = eg_generate(next, net, prompt, .end = 50256, .steps = 100, .temperature = 0.8, .top_p = 0.95);
 *     eg_decoded best = eg_beam_search(next, net, begin, .end = 1, .steps = 50, .beams = 4, .length_power = 0.6);
 *
 * A net is a function of the ids that were said since it was asked last, which are [rows, T]: all of the prompt at
 * first, one step each later. What it has to remember of a row it keeps in the cache. Open no tape around it: nothing
 * that is said here has a gradient. */
#ifndef EGRET_NN_DECODE_H
#define EGRET_NN_DECODE_H

#include <egret/tensor.h>

EG_BEGIN_DECLS

/* ---- what is remembered of rows -------------------------------------------------------------- */

/* Tensors by name, axis 0 of each of which is the rows that are decoded: states of recurrent layers, keys and values of
 * attention, an encoder's memory with its mask. Rows come and go while beams part and sentences end; the cache is told
 * of it, so that nothing of a row may be kept elsewhere. One thread at a time. */
typedef struct eg_cache eg_cache;

/* Without a tensor; the caller frees it. */
EG_API eg_cache *eg_cache_new(void);
/* NULL is fine. */
EG_API void eg_cache_free(eg_cache *c);

/* What is kept under a name, borrowed until it is put or appended anew or rows change; NULL without a failure where
 * there is nothing yet. */
EG_API eg_tensor *eg_cache_get(const eg_cache *c, const char *name);
/* Keeps t in place of what was there. Gradients stop here. EG_ESHAPE: as many rows as the other tensors have. */
EG_API eg_status eg_cache_put(eg_cache *c, const char *name, eg_tensor *t);
/* The same of what all rows of a sentence have in common and no step changes, as an encoder's memory is, so that it is
 * not moved when its beams part. */
EG_API eg_status eg_cache_hold(eg_cache *c, const char *name, eg_tensor *t);
/* Adds t behind what is kept, along an axis from 1 on, and returns all of it, as a view: the keys so far. Room is made
 * ahead, so that n steps cost O(n) copies. Gradients stop here. EG_ESHAPE, EG_EDTYPE for what does not go behind it. */
EG_API eg_tensor *eg_cache_append(eg_cache *c, const char *name, eg_tensor *t, int axis);

/* Row i becomes a copy of row rows[i]; rows is integers [m]. EG_EINDEX for one that there is not; then nothing has
 * changed. */
EG_API eg_status eg_cache_select(eg_cache *c, eg_tensor *rows);
/* How many steps the rows have come: where the next id stands. A net adds those it was given when it has read them. */
EG_API int64_t eg_cache_steps(const eg_cache *c);
EG_API eg_status eg_cache_advance(eg_cache *c, int64_t steps);

/* ---- decoding -------------------------------------------------------------------------------- */

/* Logits [rows, words], floats, of what comes after ids, i64 [rows, T]; NULL after a failure. */
typedef eg_tensor *(*eg_decode_fn)(void *user, eg_tensor *ids, eg_cache *cache);

/* Told what was said in a step, i64 [rows], -1 where a row had ended before; false ends the decoding there. */
typedef bool (*eg_decode_watch)(void *user, int64_t step, eg_tensor *ids);

typedef struct eg_decode_options {
    size_t size;
    int64_t steps;      /* at most so many ids are said; must be given */
    int64_t end;        /* the id a row ends with; 0: none, EG_ZERO: 0 */
    int64_t pad;        /* what stands behind an end */
    eg_cache *cache;    /* what the net shall find there before the first step; NULL: nothing. Used up */
    eg_tensor *lengths; /* ids of each prompt that count, integers [N], at least 1; NULL: all */
    /* eg_generate: */
    bool sample;        /* draw (eg_categorical); else the likeliest */
    double temperature; /* these as eg_filter_logits has them */
    int64_t top_k;
    double top_p;
    double repetition_penalty; /* logits of ids that the row has are divided by it where positive, else times it (Keskar
                                  et al. 2019); 0: 1 */
    eg_decode_watch watch;     /* NULL: nobody */
    void *watch_user;
    /* eg_beam_search: */
    int64_t beams;       /* 0: 4 */
    int64_t best;        /* of them are given; 0: 1 */
    double length_power; /* p: a row of n ids, its end among them, is worth its log-probability over ((5 + n) / 6)^p (Wu
                            et al. 2016); 0: the log-probability */
} eg_decode_options;

/* What was said, without the prompts; all NULL after a failure. */
typedef struct eg_decoded {
    eg_tensor *ids;     /* i64 [N, T], of beams [N, best, T]: T as the longest needs */
    eg_tensor *lengths; /* i64 [N] or [N, best]: ids that count, with the end; 0 where there is no such beam */
    eg_tensor *scores; /* f32, in their shape: log-probabilities of the net's own logits, over the length's power; of no
                          beam -infinity */
} eg_decoded;

/* The likeliest id at each step, or with .sample one drawn, of N prompts, integers [N, T]. Shorter prompts are read
 * with the others up to their end, then go on while the others are still read: no row has anything in front. Rows that
 * have ended are given to the net no more. EG_EINVAL: no steps, and options out of order; EG_ESHAPE for logits that are
 * none.
 */
EG_API eg_decoded eg_generate_with(eg_decode_fn next, void *user, eg_tensor *prompts, const eg_decode_options *options);
#define eg_generate(...) EG_DECODE_(eg_generate_with, __VA_ARGS__, )
#define EG_DECODE_(function, next, user, prompts, ...) \
    function(next, user, prompts, EG_OPTIONS_(eg_decode_options, __VA_ARGS__))

/* Beam search with two lists, as tensor2tensor has it: of the 2 beams likeliest continuations those without an end go
 * on, those with one come to the finished ones of their sentence, which is done when none that goes on can be worth
 * more than the worst of them. A sentence where none has finished gives those that go on. Prompts are of one length. */
EG_API eg_decoded eg_beam_search_with(eg_decode_fn next, void *user, eg_tensor *prompts,
                                      const eg_decode_options *options);
#define eg_beam_search(...) EG_DECODE_(eg_beam_search_with, __VA_ARGS__, )

/* ---- logits ------------------------------------------------------------------------------------ */

typedef struct eg_filter_options {
    size_t size;
    double temperature; /* logits are divided by it; 0: 1 */
    int64_t top_k;      /* the k largest stay (Fan et al. 2018), and what equals the last of them; 0: all */
    double top_p;       /* the fewest that come to this probability stay (Holtzman et al. 2019), at least one; 0: all */
} eg_filter_options;

/* Logits [..., words] with -infinity for what shall not be drawn, in this order; no gradient. EG_EINVAL: a temperature
 * or top_k below 0, a top_p outside 0..1. */
EG_API eg_tensor *eg_filter_logits_with(eg_tensor *logits, const eg_filter_options *options);
#define eg_filter_logits(...)          EG_FILTER_LOGITS_(__VA_ARGS__, )
#define EG_FILTER_LOGITS_(logits, ...) eg_filter_logits_with(logits, EG_OPTIONS_(eg_filter_options, __VA_ARGS__))

EG_END_DECLS

#endif
