/* views.c - copies, casts, views, slices. */
#include "tests/cases.h"

#define ALL_TYPES EGT_INTS | EGT_BOOL

CASE_FUNCTION(copy, eg_copy(x[0]))
CASE_FUNCTION(channels_last, eg_channels_last(x[0]))
CASE_FUNCTION(to_f64, eg_cast(x[0], EG_F64))
CASE_FUNCTION(to_i32, eg_cast(x[0], EG_I32))
CASE_FUNCTION(reshape, eg_reshape(x[0], EG_SHAPE(3, -1)))
CASE_FUNCTION(expand, eg_expand(x[0], EG_SHAPE(2, 3, 4)))
CASE_FUNCTION(permute, eg_permute(x[0], EG_AXES(2, 0, -2)))
CASE_FUNCTION(slice, eg_slice(x[0], 1, -1, 0, -2))
CASE_FUNCTION(expression, eg_index(x[0], "1:, ..., None, ::2"))
CASE_FUNCTION(select_last, eg_select(x[0], -1, -1))
CASE_FUNCTION(flatten, eg_flatten(x[0], 0, 1))
CASE_FUNCTION(detach, eg_detach(x[0]))
CASE_FUNCTION(alias, eg_alias(x[0]))
CASE_FUNCTION(strided, eg_as_strided(x[0], EG_SHAPE(2, 2, 2), (int64_t[]){1, 3, 2}, 1))
CASE_FUNCTION(where, eg_where(x[0], x[1], x[2]))
CASE_FUNCTION(lerp, eg_lerp(x[0], x[1], x[2]))

EGT_CASES(
    views, {"copy", "keeps the layout", copy, {{DIMS(2, 3, 4), -2, 2, 0}}, .flags = ALL_TYPES},
    {"copy", "channels-last", channels_last, {{DIMS(2, 3, 2, 4), -2, 2, 0}}, .flags = ALL_TYPES},
    {"cast", "to f64", to_f64, {{DIMS(3, 4), -2, 2, 0}}, .flags = ALL_TYPES},
    {"cast", "to i32", to_i32, {{DIMS(3, 4), -2, 2, 0}}, .flags = ALL_TYPES | EGT_NO_GRAD},
    {"reshape", "-1", reshape, {{DIMS(2, 3, 4), -2, 2, 0}}, .flags = ALL_TYPES},
    {"expand", "two axes", expand, {{DIMS(3, 1), -2, 2, 0}}, .flags = ALL_TYPES},
    {"permute", "three axes", permute, {{DIMS(2, 3, 4), -2, 2, 0}}, .flags = ALL_TYPES},
    {"slice slice_grad", "backwards", slice, {{DIMS(2, 5, 3), -2, 2, 0}}, .flags = ALL_TYPES},
    {"slice", "expression", expression, {{DIMS(3, 2, 5), -2, 2, 0}}, .flags = ALL_TYPES},
    {"slice", "select", select_last, {{DIMS(3, 2, 5), -2, 2, 0}}, .flags = ALL_TYPES},
    {"slice", "empty", expression, {{DIMS(1, 2, 0), -2, 2, 0}}, .flags = ALL_TYPES},
    {"reshape", "flatten", flatten, {{DIMS(3, 2, 5), -2, 2, 0}}, .flags = ALL_TYPES},
    {"detach", "any", detach, {{DIMS(3, 2), -2, 2, 0}}, .flags = ALL_TYPES | EGT_NO_GRAD},
    {"alias", "any", alias, {{DIMS(3, 2), -2, 2, 0}}, .flags = ALL_TYPES},
    {"as_strided", "overlapping", strided, {{DIMS(3, 4), -2, 2, 0}}, .flags = ALL_TYPES | EGT_NO_GRAD | EGT_NO_LAYOUT},
    {"where",
     "broadcast",
     where,
     {{DIMS(3, 1), 0, 2, 1 + EG_BOOL}, {DIMS(3, 4), -2, 2, 0}, {DIMS(2, 1, 4), -2, 2, 0}},
     .flags = ALL_TYPES},
    {"lerp", "broadcast weight", lerp, {{DIMS(3, 4), -2, 2, 0}, {DIMS(3, 4), -2, 2, 0}, {DIMS(4), 0, 1, 0}}})
