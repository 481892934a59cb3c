/* attention.c - scaled dot-product attention: with masks of all kinds, heads that share keys, sizes that no tile
 * has. */
#include "tests/cases.h"

typedef struct how {
    bool causal;
    double dropout, scale, softcap;
    int64_t window;
    eg_attention_corner corner;
    bool slopes; /* the last of the inputs */
} how;

/* With a seed of their own. */
static eg_tensor *attention(eg_tensor *const *x, int n, void *user)
{
    const how *h = user;
    eg_random_state back = eg_random_get_state();
    eg_seed(5);
    eg_tensor *slopes = h->slopes ? x[n - 1] : NULL, *mask = n - h->slopes > 3 ? x[3] : NULL;
    eg_tensor *y =
        eg_attention(x[0], x[1], x[2], .mask = mask, .slopes = slopes, .causal = h->causal, .dropout = h->dropout,
                     .scale = h->scale, .softcap = h->softcap, .window = h->window, .corner = h->corner);
    eg_random_set_state(back);
    return y;
}

static how plain = {0}, causal = {.causal = true}, scaled = {.scale = 0.7}, dropped = {.dropout = 0.3},
           both = {.causal = true, .dropout = 0.4}, corner = {.causal = true, .corner = EG_UPPER_LEFT},
           leant = {.slopes = true}, leant_causal = {.causal = true, .dropout = 0.3, .slopes = true},
           leant_all = {.causal = true, .softcap = 1.5, .window = 3, .corner = EG_UPPER_LEFT, .slopes = true},
           window = {.window = 1}, capped = {.softcap = 0.8},
           all = {.causal = true, .dropout = 0.2, .softcap = 1.5, .window = 2, .corner = EG_UPPER_LEFT};

#define IN(...)                     \
    {                               \
        DIMS(__VA_ARGS__), -1, 1, 0 \
    }
#define SEEN(...)                                 \
    {                                             \
        DIMS(__VA_ARGS__), -0.6, 1.9, 1 + EG_BOOL \
    }
#define ADDED(...)                  \
    {                               \
        DIMS(__VA_ARGS__), -2, 2, 0 \
    }
#define CASE(name, ...)                                          \
    {                                                            \
        "attention attention_grad", name, attention, __VA_ARGS__ \
    }

EGT_CASES(attention, CASE("one head", {IN(5, 4), IN(7, 4), IN(7, 3)}, .user = &plain),
          CASE("heads", {IN(2, 2, 3, 8), IN(2, 2, 4, 8), IN(2, 2, 4, 8)}, .user = &scaled),
          CASE("causal", {IN(2, 5, 3), IN(2, 5, 3), IN(2, 5, 2)}, .user = &causal),
          CASE("causal, more keys", {IN(3, 2, 4), IN(3, 6, 4), IN(3, 6, 4)}, .user = &causal),
          CASE("shared keys", {IN(2, 2, 2, 3), IN(2, 1, 4, 3), IN(2, 1, 4, 3)}, .user = &causal),
          CASE("shared queries", {IN(1, 3, 2), IN(2, 2, 3, 2), IN(3, 2)}, .user = &plain),
          CASE("mask of more axes", {IN(5, 4), IN(7, 4), IN(7, 3), SEEN(1, 1, 5, 7)}, .user = &plain),
          CASE("added mask of more axes", {IN(2, 5, 4), IN(2, 7, 4), IN(2, 7, 3), ADDED(1, 1, 1, 7)}, .user = &plain),
          CASE("dropout", {IN(2, 3, 4), IN(2, 5, 4), IN(2, 5, 4)}, .user = &dropped),
          CASE("dropout, values repeated", {IN(3, 4), IN(4, 4), IN(2, 4, 3)}, .user = &dropped),
          CASE("causal dropout", {IN(2, 4, 2), IN(2, 4, 2), IN(2, 4, 2)}, .user = &both),
          CASE("seen", {IN(2, 2, 3, 4), IN(2, 2, 5, 4), IN(2, 2, 5, 4), SEEN(2, 1, 1, 5)}, .user = &plain),
          CASE("seen by each", {IN(2, 3, 4), IN(2, 5, 4), IN(2, 5, 4), SEEN(3, 5)}, .user = &both),
          CASE("added", {IN(2, 3, 4), IN(2, 5, 4), IN(2, 5, 4), ADDED(3, 5)}, .user = &plain),
          CASE("added to keys", {IN(2, 3, 4), IN(2, 5, 4), IN(2, 5, 4), ADDED(5)}, .user = &dropped),
          CASE("upper left", {IN(2, 3, 4), IN(2, 5, 4), IN(2, 5, 4)}, .user = &corner),
          CASE("more queries", {IN(2, 5, 2), IN(2, 3, 2), IN(2, 3, 3)}, .user = &causal),
          CASE("window", {IN(2, 4, 3), IN(2, 5, 3), IN(2, 5, 3)}, .user = &window),
          CASE("soft cap", {IN(2, 3, 4), IN(2, 4, 4), IN(2, 4, 4)}, .user = &capped),
          CASE("soft cap, added", {IN(3, 4), IN(4, 4), IN(4, 4), ADDED(3, 4)}, .user = &capped),
          CASE("window, seen", {IN(2, 6, 3), IN(2, 4, 3), IN(2, 4, 3), SEEN(6, 4)}, .user = &all),
          CASE("window, added", {IN(2, 6, 3), IN(2, 4, 3), IN(2, 4, 3), ADDED(4)}, .user = &all),
          CASE("keys of groups", {IN(2, 6, 3, 4), IN(2, 2, 5, 4), IN(2, 2, 5, 3)}, .user = &causal),
          CASE("keys of groups, values of one", {IN(4, 3, 2), IN(2, 4, 2), IN(1, 4, 3), SEEN(4, 1, 4)}, .user = &plain),
          CASE("keys of groups, dropout", {IN(2, 4, 2, 3), IN(2, 5, 3), IN(2, 5, 3), ADDED(2, 1, 2, 5)},
               .user = &dropped),
          CASE("one query of groups", {IN(1, 4, 1, 8), IN(1, 2, 9, 8), IN(1, 2, 9, 8)}, .user = &plain),
          CASE("slopes", {IN(2, 3, 4), IN(2, 5, 4), IN(2, 5, 4), ADDED(2)}, .user = &leant),
          CASE("slopes of one query", {IN(2, 1, 4), IN(2, 5, 4), IN(2, 5, 4), ADDED(2)}, .user = &leant),
          CASE("slopes of groups", {IN(2, 4, 3, 4), IN(2, 2, 3, 4), IN(2, 2, 3, 4), ADDED(4)}, .user = &leant_causal),
          CASE("slopes, seen", {IN(2, 6, 3), IN(2, 4, 3), IN(2, 4, 3), SEEN(6, 4), ADDED(1)}, .user = &leant_all),
          CASE("slopes, added", {IN(2, 6, 3), IN(2, 4, 3), IN(2, 4, 3), ADDED(4), ADDED(2)}, .user = &leant_all),
          CASE("a tile and more", {IN(70, 3), IN(137, 3), IN(137, 2)}, .user = &causal),
          CASE("no queries", {IN(2, 0, 4), IN(2, 3, 4), IN(2, 3, 4)}, .user = &plain),
          CASE("no keys", {IN(2, 3, 4), IN(2, 0, 4), IN(2, 0, 4)}, .user = &plain),
          CASE("no columns", {IN(3, 0), IN(4, 0), IN(4, 2)}, .user = &plain),
          CASE("no values", {IN(3, 2), IN(4, 2), IN(4, 0)}, .user = &plain))
