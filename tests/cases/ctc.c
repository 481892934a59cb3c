/* ctc.c - connectionist temporal classification. */
#include "tests/cases.h"

static eg_tensor *loss(eg_tensor *const *x, int n, void *user)
{
    const eg_ctc_options *o = user;
    return eg_ctc_loss(eg_log_softmax(x[0], 2), x[1], .input_lengths = n > 2 ? x[2] : NULL,
                       .target_lengths = n > 3 ? x[3] : NULL, .reduction = o->reduction, .blank = o->blank,
                       .zero_infinity = o->zero_infinity);
}

/* Rows of lengths 2, 0, 3 end to end, in 4 frames that some are too long for. */
static eg_tensor *joined(eg_tensor *const *x, int n, void *user)
{
    const eg_ctc_options *o = user;
    eg_device *there = eg_device_of(x[0]);
    eg_tensor *lengths = eg_to(eg_from(EG_SHAPE(3), EG_I32, (int32_t[]){2, 0, 3}), there);
    return n && lengths ? eg_ctc_loss(eg_log_softmax(x[0], 2), x[1], .target_lengths = lengths, .blank = o->blank,
                                      .reduction = o->reduction, .zero_infinity = o->zero_infinity)
                        : NULL;
}

static eg_tensor *greedy(eg_tensor *const *x, int n, void *user)
{
    eg_tensor *labels, *lengths;
    (void)user;
    if (eg_ctc_greedy(x[0], n > 1 ? x[1] : NULL, 1, &labels, &lengths)) {
        return NULL;
    }
    return eg_add(eg_mul_scalar(labels, 100), eg_unsqueeze(lengths, 1));
}

static eg_ctc_options each = {.reduction = EG_NONE, .zero_infinity = true}, mean = {.zero_infinity = true},
                      last = {.reduction = EG_SUM, .blank = 4, .zero_infinity = true};

#define LOGITS(...)                 \
    {                               \
        DIMS(__VA_ARGS__), -3, 3, 0 \
    }
#define IDS(low, high, ...)                      \
    {                                            \
        DIMS(__VA_ARGS__), low, high, 1 + EG_I64 \
    }
#define CASE(name, f, ...)                                                                                    \
    {                                                                                                         \
        "ctc_loss ctc_loss_grad", name, f, __VA_ARGS__, .flags = EGT_NO_SECOND, .skip = 14, .tolerance = 2e-5 \
    }

EGT_CASES(ctc, CASE("all of it", loss, {LOGITS(7, 3, 5), IDS(1, 5, 3, 2)}, .user = &each),
          CASE("lengths", loss, {LOGITS(9, 4, 6), IDS(1, 6, 4, 5), IDS(6, 10, 4), IDS(0, 4, 4)}, .user = &each),
          CASE("repeats", loss, {LOGITS(12, 2, 2), IDS(1, 2, 2, 5)}, .user = &mean),
          CASE("mean", loss, {LOGITS(20, 2, 4), IDS(1, 4, 2, 9), IDS(19, 21, 2), IDS(1, 10, 2)}, .user = &mean),
          CASE("last is blank", loss, {LOGITS(6, 3, 5), IDS(0, 4, 3, 3), IDS(0, 7, 3), IDS(0, 4, 3)}, .user = &last),
          CASE("too short", loss, {LOGITS(3, 2, 4), IDS(1, 4, 2, 6)}, .user = &mean),
          CASE("end to end", joined, {LOGITS(4, 3, 5), IDS(0, 4, 5)}, .user = &last),
          CASE("no labels", loss, {LOGITS(3, 2, 4), IDS(1, 4, 2, 0)}, .user = &each),
          CASE("many labels", loss, {LOGITS(60, 1, 30), IDS(1, 30, 1, 25)}, .user = &mean),
          CASE("no rows", loss, {LOGITS(3, 0, 4), IDS(1, 4, 0, 2)}, .user = &mean),
          {"ctc_collapse", "frames", greedy, {LOGITS(40, 3, 3)}, .flags = EGT_NO_GRAD},
          {"ctc_collapse", "lengths", greedy, {LOGITS(11, 4, 2), IDS(0, 12, 4)}, .flags = EGT_NO_GRAD},
          {"ctc_collapse", "long", greedy, {LOGITS(700, 2, 2)}, .flags = EGT_NO_GRAD})
