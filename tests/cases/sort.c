/* sort.c - order, places in sorted lines. */
#include "tests/cases.h"

/* Which: 0 the values, 1 the indices. */
#define CASE(name, call)                                           \
    static eg_tensor *name(eg_tensor *const *x, int n, void *user) \
    {                                                              \
        eg_tensor *v, *i;                                          \
        (void)n;                                                   \
        return call ? NULL : user ? i : v;                         \
    }
CASE(sort0, eg_sort(x[0], 0, false, &v, &i))
CASE(sort1, eg_sort(x[0], 1, true, &v, &i))
CASE(sort_last, eg_sort(x[0], -1, false, &v, &i))
CASE(top2, eg_topk(x[0], 2, -1, true, &v, &i))
CASE(least3, eg_topk(x[0], 3, 0, false, &v, &i))
CASE(top0, eg_topk(x[0], 0, 0, false, &v, &i))
CASE(top40, eg_topk(x[0], 40, -1, true, &v, &i))
CASE(median, eg_kthvalue(x[0], 3, 1, &v, &i))
CASE(unique, eg_unique(x[0], &v, &i, NULL))
CASE(unique_slices, eg_unique_slices(x[0], 0, &v, &i, NULL))

CASE_FUNCTION(argsort, eg_argsort(x[0], 1, false))
CASE_FUNCTION(in_topk, eg_in_topk(x[0], x[1], 2))
CASE_FUNCTION(bincount, eg_bincount(x[0], NULL, 3))
CASE_FUNCTION(weighted, eg_bincount(x[1], x[0], 3))
CASE_FUNCTION(histogram, eg_histogram(x[0], 7, -2, 2))

static eg_tensor *search(eg_tensor *const *x, int n, void *user)
{
    eg_tensor *line;
    (void)n;
    return eg_sort(x[0], -1, false, &line, NULL) ? NULL : eg_searchsorted(line, x[1], user != NULL);
}

#define IN(...)                     \
    {                               \
        DIMS(__VA_ARGS__), -3, 3, 0 \
    }
#define FEW(...)                   \
    {                              \
        DIMS(__VA_ARGS__), 0, 4, 0 \
    }
#define ID(n, ...)                          \
    {                                       \
        DIMS(__VA_ARGS__), 0, n, 1 + EG_I64 \
    }
static int indices;
enum { ALL = EGT_INTS | EGT_BOOL, PLAIN = EGT_INTS | EGT_NO_GRAD };

EGT_CASES(
    sort, {"sort", "first axis", sort0, {IN(5, 2, 3)}, .flags = ALL},
    {"sort", "falling", sort1, {IN(2, 7, 2)}, .flags = ALL}, {"sort", "last axis", sort_last, {IN(3, 8)}, .flags = ALL},
    {"sort", "numbers", sort_last, {{{0, {0}}, -3, 3, 0}}, .flags = ALL},
    {"sort", "nothing", sort_last, {IN(3, 0)}, .flags = ALL},
    {"sort", "indices", sort1, {IN(2, 7, 2)}, .flags = ALL | EGT_NO_GRAD, .user = &indices},
    {"sort", "rows of some", sort_last, {IN(40, 70)}, .flags = PLAIN},
    {"sort", "rows of many", sort_last, {IN(9, 900)}, .flags = PLAIN, .user = &indices},
    {"sort", "columns of many", sort0, {IN(600, 5)}, .flags = PLAIN, .user = &indices},
    {"sort", "argsort", argsort, {IN(3, 9)}, .flags = ALL | EGT_NO_GRAD},
    {"topk", "largest", top2, {IN(3, 7)}, .flags = ALL}, {"topk", "smallest", least3, {IN(5, 3)}, .flags = ALL},
    {"topk", "none", top0, {IN(5, 3)}, .flags = ALL},
    {"topk", "of many", top2, {IN(2, 2200)}, .flags = PLAIN, .user = &indices},
    {"topk", "some of many", top40, {IN(2, 2200)}, .flags = PLAIN, .user = &indices},
    {"topk", "kthvalue", median, {IN(2, 5, 2)}, .flags = ALL},
    {"gather sum", "in_topk", in_topk, {IN(6, 5), ID(5, 6)}, .flags = EGT_INTS | EGT_NO_GRAD},
    {"sort nonzero", "unique", unique, {FEW(3, 5)}, .flags = PLAIN | EGT_BOOL | EGT_NO_FLOAT},
    {"sort nonzero", "unique inverse", unique, {FEW(3, 5)}, .flags = PLAIN | EGT_BOOL | EGT_NO_FLOAT, .user = &indices},
    {"sort nonzero", "unique floats", unique, {IN(9)}, .flags = EGT_NO_GRAD},
    {"sort nonzero", "unique slices", unique_slices, {{DIMS(9, 2), 0, 2, 0}}, .flags = PLAIN | EGT_BOOL | EGT_NO_FLOAT},
    {"searchsorted", "one line", search, {IN(9), IN(2, 3)}, .flags = ALL | EGT_NO_GRAD},
    {"searchsorted", "one line, behind", search, {IN(10), IN(2, 3)}, .flags = ALL | EGT_NO_GRAD, .user = &indices},
    {"searchsorted", "a line each", search, {IN(2, 5), IN(2, 3)}, .flags = ALL | EGT_NO_GRAD},
    {"searchsorted", "an empty line", search, {IN(0), IN(4)}, .flags = ALL | EGT_NO_GRAD},
    {"index_add", "bincount", bincount, {ID(6, 9)}, .flags = EGT_NO_FLOAT | EGT_NO_GRAD | EGT_INTS},
    {"index_add", "bincount, weighted", weighted, {IN(9), ID(6, 9)}, .flags = EGT_INTS},
    {"searchsorted index_add", "histogram", histogram, {IN(40)}, .flags = EGT_INTS | EGT_NO_GRAD})
