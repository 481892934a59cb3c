/* rotary.c - pairs of columns turned by angles: of both pairings, of some columns, for tables of each sequence. */
#include "tests/cases.h"

typedef struct how {
    int64_t width;
    bool interleaved;
} how;

/* By tables, or for positions where there are no more inputs. */
static eg_tensor *rotary(eg_tensor *const *x, int n, void *user)
{
    const how *h = user;
    eg_tensor *cos = n > 2 ? x[1] : NULL, *sin = n > 2 ? x[2] : NULL;
    if (n == 2 && eg_rotary_tables(x[1], h->width, &cos, &sin, .base = 10,
                                   .dtype = eg_dtype_of(x[0]) == EG_F64 ? EG_F64 : EG_F32)) {
        return NULL;
    }
    return eg_rotary_embedding(x[0], cos, sin, .interleaved = h->interleaved);
}

static how halves = {.width = 4}, beside = {.width = 4, .interleaved = true}, whole = {.width = 8};

#define IN(...)                     \
    {                               \
        DIMS(__VA_ARGS__), -1, 1, 0 \
    }
#define AT(...)                               \
    {                                         \
        DIMS(__VA_ARGS__), -3, 20, 1 + EG_I64 \
    }
EGT_CASES(rotary, {"rotary", "halves", rotary, {IN(2, 3, 5, 4), AT(5)}, .user = &halves},
          {"rotary", "halves of some columns", rotary, {IN(3, 2, 7), AT(2)}, .user = &halves},
          {"rotary", "neighbours", rotary, {IN(2, 3, 2, 4), AT(2, 2)}, .user = &beside},
          {"rotary", "neighbours of some columns", rotary, {IN(2, 3, 6), AT(3)}, .user = &beside},
          {"rotary", "many columns", rotary, {IN(3, 8), AT(3)}, .user = &whole},
          {"rotary", "one position", rotary, {IN(2, 3, 4), AT(1)}, .user = &halves},
          {"rotary", "tables", rotary, {IN(2, 3, 5), IN(3, 2), IN(3, 2)}, .user = &halves},
          {"rotary", "tables of neighbours", rotary, {IN(2, 3, 3, 4), IN(2, 3, 2), IN(2, 3, 2)}, .user = &beside},
          {"rotary", "no rows", rotary, {IN(2, 0, 4), AT(0)}, .user = &halves},
          {"rotary", "no pairs", rotary, {IN(2, 3, 4), IN(3, 0), IN(3, 0)}, .user = &halves})
