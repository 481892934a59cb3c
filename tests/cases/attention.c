/* attention.c - scaled dot-product attention: with masks of all kinds, heads that share keys, sizes that no tile
 * has. */
#include "tests/cases.h"

typedef struct how {
    bool causal;
    double dropout, scale, softcap;
    int64_t window;
    eg_attention_corner corner;
} how;

/* With a seed of their own. */
static eg_tensor *attention(eg_tensor *const *x, int n, void *user)
{
    const how *h = user;
    eg_random_state back = eg_random_get_state();
    eg_seed(5);
    eg_tensor *y =
        eg_attention(x[0], x[1], x[2], .mask = n > 3 ? x[3] : NULL, .causal = h->causal, .dropout = h->dropout,
                     .scale = h->scale, .softcap = h->softcap, .window = h->window, .corner = h->corner);
    eg_random_set_state(back);
    return y;
}

static how plain = {0}, causal = {.causal = true}, scaled = {.scale = 0.7}, dropped = {.dropout = 0.3},
           both = {.causal = true, .dropout = 0.4}, corner = {.causal = true, .corner = EG_UPPER_LEFT},
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
          CASE("no queries", {IN(2, 0, 4), IN(2, 3, 4), IN(2, 3, 4)}, .user = &plain),
          CASE("no keys", {IN(2, 3, 4), IN(2, 0, 4), IN(2, 0, 4)}, .user = &plain),
          CASE("no columns", {IN(3, 0), IN(4, 0), IN(4, 2)}, .user = &plain),
          CASE("no values", {IN(3, 2), IN(4, 2), IN(4, 0)}, .user = &plain))
