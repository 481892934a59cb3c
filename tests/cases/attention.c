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
    eg_tensor *y = eg_attention(x[0], x[1], x[2], .mask = n > 3 ? x[3] : NULL, .causal = h->causal,
                                .dropout = h->dropout, .scale = h->scale, .softcap = h->softcap,
                                .window = h->window, .corner = h->corner);
    eg_random_set_state(back);
    return y;
}

static const how plain = {0}, causal = {.causal = true}, scaled = {.scale = 0.7},
                 dropped = {.dropout = 0.3}, both = {.causal = true, .dropout = 0.4},
                 corner = {.causal = true, .corner = EG_UPPER_LEFT}, window = {.window = 1}, capped = {.softcap = 0.8},
                 all = {.causal = true, .dropout = 0.2, .softcap = 1.5, .window = 2, .corner = EG_UPPER_LEFT};

#define X(...)      {DIMS(__VA_ARGS__), -1, 1, 0}
#define SEEN(...)   {DIMS(__VA_ARGS__), -0.6, 1.9, 1 + EG_BOOL}
#define ADDED(...)  {DIMS(__VA_ARGS__), -2, 2, 0}
#define CASE(what, options, count, ...)                                                            \
    {.ops = "attention attention_grad", .name = what, .f = attention, .in = {__VA_ARGS__},         \
     .n = count, .user = (void *)&options}

EGT_CASES(attention, CASE("one head", plain, 3, X(5, 4), X(7, 4), X(7, 3)),
          CASE("heads", scaled, 3, X(2, 2, 3, 8), X(2, 2, 4, 8), X(2, 2, 4, 8)),
          CASE("causal", causal, 3, X(2, 5, 3), X(2, 5, 3), X(2, 5, 2)),
          CASE("causal, more keys", causal, 3, X(3, 2, 4), X(3, 6, 4), X(3, 6, 4)),
          CASE("shared keys", causal, 3, X(2, 2, 2, 3), X(2, 1, 4, 3), X(2, 1, 4, 3)),
          CASE("shared queries", plain, 3, X(1, 3, 2), X(2, 2, 3, 2), X(3, 2)),
          CASE("mask of more axes", plain, 4, X(5, 4), X(7, 4), X(7, 3), SEEN(1, 1, 5, 7)),
          CASE("added mask of more axes", plain, 4, X(2, 5, 4), X(2, 7, 4), X(2, 7, 3), ADDED(1, 1, 1, 7)),
          CASE("dropout", dropped, 3, X(2, 3, 4), X(2, 5, 4), X(2, 5, 4)),
          CASE("dropout, values repeated", dropped, 3, X(3, 4), X(4, 4), X(2, 4, 3)),
          CASE("causal dropout", both, 3, X(2, 4, 2), X(2, 4, 2), X(2, 4, 2)),
          CASE("seen", plain, 4, X(2, 2, 3, 4), X(2, 2, 5, 4), X(2, 2, 5, 4), SEEN(2, 1, 1, 5)),
          CASE("seen by each", both, 4, X(2, 3, 4), X(2, 5, 4), X(2, 5, 4), SEEN(3, 5)),
          CASE("added", plain, 4, X(2, 3, 4), X(2, 5, 4), X(2, 5, 4), ADDED(3, 5)),
          CASE("added to keys", dropped, 4, X(2, 3, 4), X(2, 5, 4), X(2, 5, 4), ADDED(5)),
          CASE("upper left", corner, 3, X(2, 3, 4), X(2, 5, 4), X(2, 5, 4)),
          CASE("more queries", causal, 3, X(2, 5, 2), X(2, 3, 2), X(2, 3, 3)),
          CASE("window", window, 3, X(2, 4, 3), X(2, 5, 3), X(2, 5, 3)),
          CASE("soft cap", capped, 3, X(2, 3, 4), X(2, 4, 4), X(2, 4, 4)),
          CASE("soft cap, added", capped, 4, X(3, 4), X(4, 4), X(4, 4), ADDED(3, 4)),
          CASE("window, seen", all, 4, X(2, 6, 3), X(2, 4, 3), X(2, 4, 3), SEEN(6, 4)),
          CASE("window, added", all, 4, X(2, 6, 3), X(2, 4, 3), X(2, 4, 3), ADDED(4)),
          CASE("no queries", plain, 3, X(2, 0, 4), X(2, 3, 4), X(2, 3, 4)),
          CASE("no keys", plain, 3, X(2, 3, 4), X(2, 0, 4), X(2, 0, 4)),
          CASE("no columns", plain, 3, X(3, 0), X(4, 0), X(4, 2)),
          CASE("no values", plain, 3, X(3, 2), X(4, 2), X(4, 0)))
