/* loss.c - cross entropy of labels. */
#include "tests/cases.h"

static eg_tensor *cross_entropy(eg_tensor *const *x, int n, void *user)
{
    const eg_cross_entropy_options *o = user;
    return eg_cross_entropy(x[0], x[1], .reduction = EG_NONE, .label_smoothing = o->label_smoothing,
                            .ignore = o->ignore, .ignore_index = o->ignore_index, .weight = n > 2 ? x[2] : NULL);
}

static eg_cross_entropy_options bare = {0}, smooth = {.label_smoothing = 0.2},
                                holes = {.ignore = true, .ignore_index = 1},
                                all = {.label_smoothing = 0.1, .ignore = true, .ignore_index = 2};

#define LOGITS(...)                 \
    {                               \
        DIMS(__VA_ARGS__), -4, 4, 0 \
    }
#define LABELS(n, ...)                      \
    {                                       \
        DIMS(__VA_ARGS__), 0, n, 1 + EG_I64 \
    }
#define WEIGHT(n)          \
    {                      \
        DIMS(n), 0.5, 2, 0 \
    }
#define CASE(name, ...)                                                                 \
    {                                                                                   \
        "cross_entropy cross_entropy_grad", name, cross_entropy, __VA_ARGS__, .skip = 6 \
    }

EGT_CASES(loss, CASE("short rows", {LOGITS(21, 5), LABELS(5, 21)}, .user = &bare),
          CASE("long rows", {LOGITS(5, 75), LABELS(75, 5)}, .user = &bare),
          CASE("a class", {LOGITS(5, 1), LABELS(1, 5)}, .user = &bare),
          CASE("vectors", {LOGITS(20, 32), LABELS(32, 20)}, .user = &bare),
          CASE("ignored", {LOGITS(19, 3), LABELS(3, 19)}, .user = &holes),
          CASE("smoothed", {LOGITS(4, 40), LABELS(40, 4)}, .user = &smooth),
          CASE("weighted", {LOGITS(4, 40), LABELS(40, 4), WEIGHT(40)}, .user = &bare),
          CASE("everything", {LOGITS(18, 7), LABELS(7, 18), WEIGHT(7)}, .user = &all),
          CASE("everything, long", {LOGITS(6, 37), LABELS(37, 6), WEIGHT(37)}, .user = &all),
          CASE("images", {LOGITS(2, 3, 3, 4), LABELS(3, 2, 3, 4)}, .user = &bare),
          CASE("lines", {LOGITS(2, 3, 5), LABELS(3, 2, 5), WEIGHT(3)}, .user = &holes),
          CASE("one row", {{DIMS(4), -4, 4, 0}, {{0, {0}}, 0, 4, 1 + EG_I64}}, .user = &bare),
          CASE("empty", {LOGITS(0, 3), LABELS(3, 0)}, .user = &bare))
