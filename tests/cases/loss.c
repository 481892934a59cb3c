/* loss.c - cross entropy of labels. */
#include "tests/cases.h"

static eg_tensor *cross_entropy(eg_tensor *const *x, int n, void *user)
{
    const eg_cross_entropy_options *o = user;
    return eg_cross_entropy(x[0], x[1], .reduction = EG_NONE, .label_smoothing = o->label_smoothing,
                            .ignore = o->ignore, .ignore_index = o->ignore_index,
                            .weight = n > 2 ? x[2] : NULL);
}

static const eg_cross_entropy_options bare = {0}, smooth = {.label_smoothing = 0.2},
                                      holes = {.ignore = true, .ignore_index = 1},
                                      all = {.label_smoothing = 0.1, .ignore = true,
                                             .ignore_index = 2};

#define LOGITS(...)    {DIMS(__VA_ARGS__), -4, 4, 0}
#define LABELS(n, ...) {DIMS(__VA_ARGS__), 0, n, 1 + EG_I64}
#define WEIGHT(n)      {DIMS(n), 0.5, 2, 0}
#define CASE(what, count, options, ...)                                                            \
    {.ops = "cross_entropy cross_entropy_grad", .name = what, .f = cross_entropy,                  \
     .in = {__VA_ARGS__}, .n = count, .skip = 6, .user = (void *)&options}

EGT_CASES(loss, CASE("short rows", 2, bare, LOGITS(21, 5), LABELS(5, 21)),
          CASE("long rows", 2, bare, LOGITS(5, 75), LABELS(75, 5)),
          CASE("a class", 2, bare, LOGITS(5, 1), LABELS(1, 5)),
          CASE("vectors", 2, bare, LOGITS(20, 32), LABELS(32, 20)),
          CASE("ignored", 2, holes, LOGITS(19, 3), LABELS(3, 19)),
          CASE("smoothed", 2, smooth, LOGITS(4, 40), LABELS(40, 4)),
          CASE("weighted", 3, bare, LOGITS(4, 40), LABELS(40, 4), WEIGHT(40)),
          CASE("everything", 3, all, LOGITS(18, 7), LABELS(7, 18), WEIGHT(7)),
          CASE("everything, long", 3, all, LOGITS(6, 37), LABELS(37, 6), WEIGHT(37)),
          CASE("images", 2, bare, LOGITS(2, 3, 3, 4), LABELS(3, 2, 3, 4)),
          CASE("lines", 3, holes, LOGITS(2, 3, 5), LABELS(3, 2, 5), WEIGHT(3)),
          CASE("one row", 2, bare, {DIMS(4), -4, 4, 0}, {{0, {0}}, 0, 4, 1 + EG_I64}),
          CASE("empty", 2, bare, LOGITS(0, 3), LABELS(3, 0)))
