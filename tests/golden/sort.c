/* sort.c - what the golden cases of sorting, searching and counting stand for. */
#include "tests/golden/golden.h"

static int number(const golden_case *c, const char *key)
{
    return (int)golden_number(c, key, 0);
}

static bool sort(const golden_case *c, eg_tensor **out)
{
    return eg_sort(c->x[0], number(c, "axis"), number(c, "descending"), &out[0], &out[1]) == EG_OK;
}

static eg_tensor *argsort(const golden_case *c)
{
    return eg_argsort(c->x[0], number(c, "axis"), number(c, "descending"));
}

static bool topk(const golden_case *c, eg_tensor **out)
{
    return eg_topk(c->x[0], number(c, "k"), number(c, "axis"), number(c, "largest"), &out[0], &out[1]) == EG_OK;
}

static bool kthvalue(const golden_case *c, eg_tensor **out)
{
    return eg_kthvalue(c->x[0], number(c, "k"), number(c, "axis"), &out[0], &out[1]) == EG_OK;
}

static bool unique(const golden_case *c, eg_tensor **out)
{
    if (golden_has(c, "axis")) {
        return eg_unique_slices(c->x[0], number(c, "axis"), &out[0], &out[1], &out[2]) == EG_OK;
    }
    return eg_unique(c->x[0], &out[0], &out[1], &out[2]) == EG_OK;
}

static bool unique_consecutive(const golden_case *c, eg_tensor **out)
{
    return eg_unique_consecutive(c->x[0], &out[0], &out[1], &out[2]) == EG_OK;
}

static eg_tensor *searchsorted(const golden_case *c)
{
    return eg_searchsorted(c->x[0], c->x[1], number(c, "right"));
}

static eg_tensor *bincount(const golden_case *c)
{
    return eg_bincount(c->x[0], c->x[1], number(c, "minlength"));
}

static eg_tensor *histogram(const golden_case *c)
{
    return eg_histogram(c->x[0], number(c, "bins"), golden_number(c, "min", 0), golden_number(c, "max", 0));
}

GOLDEN_ROWS(sort, {.op = "sort", .many = sort}, {.op = "argsort", .one = argsort}, {.op = "topk", .many = topk},
            {.op = "kthvalue", .many = kthvalue}, {.op = "unique", .many = unique},
            {.op = "unique_consecutive", .many = unique_consecutive}, {.op = "searchsorted", .one = searchsorted},
            {.op = "bincount", .one = bincount}, {.op = "histogram", .one = histogram})
