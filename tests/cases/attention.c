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

#define X(...)                      \
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

EGT_CASES(attention,
          CASE(
              "one head",
              {
                  X(5, 4)
                  , X(7, 4)
                  , X(7, 3)
              },
              .user = &plain),
          CASE(
              "heads",
              {
                  X(2, 2, 3, 8)
                  , X(2, 2, 4, 8)
                  , X(2, 2, 4, 8)
              },
              .user = &scaled),
          CASE(
              "causal",
              {
                  X(2, 5, 3)
                  , X(2, 5, 3)
                  , X(2, 5, 2)
              },
              .user = &causal),
          CASE(
              "causal, more keys",
              {
                  X(3, 2, 4)
                  , X(3, 6, 4)
                  , X(3, 6, 4)
              },
              .user = &causal),
          CASE(
              "shared keys",
              {
                  X(2, 2, 2, 3)
                  , X(2, 1, 4, 3)
                  , X(2, 1, 4, 3)
              },
              .user = &causal),
          CASE(
              "shared queries",
              {
                  X(1, 3, 2)
                  , X(2, 2, 3, 2)
                  , X(3, 2)
              },
              .user = &plain),
          CASE(
              "mask of more axes",
              {
                  X(5, 4)
                  , X(7, 4)
                  , X(7, 3)
                  , SEEN(1, 1, 5, 7)
              },
              .user = &plain),
          CASE(
              "added mask of more axes",
              {
                  X(2, 5, 4)
                  , X(2, 7, 4)
                  , X(2, 7, 3)
                  , ADDED(1, 1, 1, 7)
              },
              .user = &plain),
          CASE(
              "dropout",
              {
                  X(2, 3, 4)
                  , X(2, 5, 4)
                  , X(2, 5, 4)
              },
              .user = &dropped),
          CASE(
              "dropout, values repeated",
              {
                  X(3, 4)
                  , X(4, 4)
                  , X(2, 4, 3)
              },
              .user = &dropped),
          CASE(
              "causal dropout",
              {
                  X(2, 4, 2)
                  , X(2, 4, 2)
                  , X(2, 4, 2)
              },
              .user = &both),
          CASE(
              "seen",
              {
                  X(2, 2, 3, 4)
                  , X(2, 2, 5, 4)
                  , X(2, 2, 5, 4)
                  , SEEN(2, 1, 1, 5)
              },
              .user = &plain),
          CASE(
              "seen by each",
              {
                  X(2, 3, 4)
                  , X(2, 5, 4)
                  , X(2, 5, 4)
                  , SEEN(3, 5)
              },
              .user = &both),
          CASE(
              "added",
              {
                  X(2, 3, 4)
                  , X(2, 5, 4)
                  , X(2, 5, 4)
                  , ADDED(3, 5)
              },
              .user = &plain),
          CASE(
              "added to keys",
              {
                  X(2, 3, 4)
                  , X(2, 5, 4)
                  , X(2, 5, 4)
                  , ADDED(5)
              },
              .user = &dropped),
          CASE(
              "upper left",
              {
                  X(2, 3, 4)
                  , X(2, 5, 4)
                  , X(2, 5, 4)
              },
              .user = &corner),
          CASE(
              "more queries",
              {
                  X(2, 5, 2)
                  , X(2, 3, 2)
                  , X(2, 3, 3)
              },
              .user = &causal),
          CASE(
              "window",
              {
                  X(2, 4, 3)
                  , X(2, 5, 3)
                  , X(2, 5, 3)
              },
              .user = &window),
          CASE(
              "soft cap",
              {
                  X(2, 3, 4)
                  , X(2, 4, 4)
                  , X(2, 4, 4)
              },
              .user = &capped),
          CASE(
              "soft cap, added",
              {
                  X(3, 4)
                  , X(4, 4)
                  , X(4, 4)
                  , ADDED(3, 4)
              },
              .user = &capped),
          CASE(
              "window, seen",
              {
                  X(2, 6, 3)
                  , X(2, 4, 3)
                  , X(2, 4, 3)
                  , SEEN(6, 4)
              },
              .user = &all),
          CASE(
              "window, added",
              {
                  X(2, 6, 3)
                  , X(2, 4, 3)
                  , X(2, 4, 3)
                  , ADDED(4)
              },
              .user = &all),
          CASE(
              "no queries",
              {
                  X(2, 0, 4)
                  , X(2, 3, 4)
                  , X(2, 3, 4)
              },
              .user = &plain),
          CASE(
              "no keys",
              {
                  X(2, 3, 4)
                  , X(2, 0, 4)
                  , X(2, 0, 4)
              },
              .user = &plain),
          CASE(
              "no columns",
              {
                  X(3, 0)
                  , X(4, 0)
                  , X(4, 2)
              },
              .user = &plain),
          CASE(
              "no values",
              {
                  X(3, 2)
                  , X(4, 2)
                  , X(4, 0)
              },
              .user = &plain))
