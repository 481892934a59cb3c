/* sort.c - order, places in sorted lines. */
#include "tests/cases.h"

/* Which: 0 the values, 1 the indices. */
#define CASE(name, call)                                                                           \
    static eg_tensor *name(eg_tensor *const *x, int n, void *user)                                 \
    {                                                                                              \
        eg_tensor *v, *i;                                                                          \
        (void)n;                                                                                   \
        return call ? NULL : user ? i : v;                                                         \
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

#define X(...)                                                                                     \
    {                                                                                              \
        DIMS(__VA_ARGS__), -3, 3, 0                                                                \
    }
#define FEW(...)                                                                                   \
    {                                                                                              \
        DIMS(__VA_ARGS__), 0, 4, 0                                                                 \
    }
#define ID(n, ...)                                                                                 \
    {                                                                                              \
        DIMS(__VA_ARGS__), 0, n, 1 + EG_I64                                                        \
    }
static int indices;
enum { ALL = EGT_INTS | EGT_BOOL, PLAIN = EGT_INTS | EGT_NO_GRAD };

#define ROW(ops, name, f, n, flags, ...)                                                           \
    {                                                                                              \
        ops, name, f, {__VA_ARGS__}, n, flags, 0, 0, NULL                                          \
    }
#define PLACES(ops, name, f, n, flags, ...)                                                        \
    {                                                                                              \
        ops, name, f, {__VA_ARGS__}, n, flags, 0, 0, &indices                                      \
    }

EGT_CASES(
    sort, ROW("sort", "first axis", sort0, 1, ALL, X(5, 2, 3)),
    ROW("sort", "falling", sort1, 1, ALL, X(2, 7, 2)),
    ROW("sort", "last axis", sort_last, 1, ALL, X(3, 8)),
    ROW("sort", "numbers", sort_last, 1, ALL, {{0, {0}}, -3, 3, 0}),
    ROW("sort", "nothing", sort_last, 1, ALL, X(3, 0)),
    PLACES("sort", "indices", sort1, 1, ALL | EGT_NO_GRAD, X(2, 7, 2)),
    ROW("sort", "rows of some", sort_last, 1, PLAIN, X(40, 70)),
    PLACES("sort", "rows of many", sort_last, 1, PLAIN, X(9, 900)),
    PLACES("sort", "columns of many", sort0, 1, PLAIN, X(600, 5)),
    ROW("sort", "argsort", argsort, 1, ALL | EGT_NO_GRAD, X(3, 9)),
    ROW("topk", "largest", top2, 1, ALL, X(3, 7)), ROW("topk", "smallest", least3, 1, ALL, X(5, 3)),
    ROW("topk", "none", top0, 1, ALL, X(5, 3)),
    PLACES("topk", "of many", top2, 1, PLAIN, X(2, 2200)),
    PLACES("topk", "some of many", top40, 1, PLAIN, X(2, 2200)),
    ROW("topk", "kthvalue", median, 1, ALL, X(2, 5, 2)),
    ROW("gather sum", "in_topk", in_topk, 2, EGT_INTS | EGT_NO_GRAD, X(6, 5), ID(5, 6)),
    ROW("sort nonzero", "unique", unique, 1, PLAIN | EGT_BOOL | EGT_NO_FLOAT, FEW(3, 5)),
    PLACES("sort nonzero", "unique inverse", unique, 1, PLAIN | EGT_BOOL | EGT_NO_FLOAT, FEW(3, 5)),
    ROW("sort nonzero", "unique floats", unique, 1, EGT_NO_GRAD, X(9)),
    ROW("sort nonzero", "unique slices", unique_slices, 1, PLAIN | EGT_BOOL | EGT_NO_FLOAT,
        {DIMS(9, 2), 0, 2, 0}),
    ROW("searchsorted", "one line", search, 2, ALL | EGT_NO_GRAD, X(9), X(2, 3)),
    PLACES("searchsorted", "one line, behind", search, 2, ALL | EGT_NO_GRAD, X(10), X(2, 3)),
    ROW("searchsorted", "a line each", search, 2, ALL | EGT_NO_GRAD, X(2, 5), X(2, 3)),
    ROW("searchsorted", "an empty line", search, 2, ALL | EGT_NO_GRAD, X(0), X(4)),
    ROW("index_add", "bincount", bincount, 1, EGT_NO_FLOAT | EGT_NO_GRAD | EGT_INTS, ID(6, 9)),
    ROW("index_add", "bincount, weighted", weighted, 2, EGT_INTS, X(9), ID(6, 9)),
    ROW("searchsorted index_add", "histogram", histogram, 1, EGT_INTS | EGT_NO_GRAD, X(40)))
