/* icp.c - see icp.h. */
#include "icp.h"

enum { ROUNDS = 4 };

static eg_tensor *middle(eg_tensor *points)
{
    return eg_mean(points, .axes = EG_AXES(2), .keepdim = true);
}

/* Of each point the nearest of the others. */
static eg_tensor *neighbours(eg_tensor *points, eg_tensor *others)
{
    /* Far from 0 small distances would be lost in squares. */
    eg_tensor *centre = middle(others), *p = eg_sub(points, centre), *q = eg_sub(others, centre);
    eg_tensor *squares = eg_sum(eg_square(q), .axes = EG_AXES(1), .keepdim = true);
    eg_tensor *off = eg_sub(squares, eg_mul_scalar(eg_matmul(eg_transpose(p, 1, 2), q), 2));
    eg_tensor *nearest = eg_unsqueeze(eg_argmin(off, .axes = EG_AXES(2)), 1);
    return nearest ? eg_gather(others, 2, eg_expand(nearest, EG_SHAPE(eg_size(points, 0), 3, eg_size(points, 2))))
                   : NULL;
}

typedef struct rigid {
    eg_tensor *turn, *shift; /* [N, 3, 3], [N, 3, 1] */
} rigid;

static eg_tensor *moved(rigid by, eg_tensor *points)
{
    return eg_add(eg_matmul(by.turn, points), by.shift);
}

/* What brings points nearest to as many others (Kabsch 1976): a rotation, no reflection. */
static rigid best(eg_tensor *points, eg_tensor *to)
{
    eg_tensor *from_middle = middle(points), *to_middle = middle(to), *u, *s, *vh;
    eg_tensor *spread = eg_matmul(eg_sub(to, to_middle), eg_transpose(eg_sub(points, from_middle), 1, 2));
    if (eg_svd(spread, &u, &s, &vh)) {
        return (rigid){NULL, NULL};
    }
    eg_tensor *sign = eg_reshape(eg_det(eg_matmul(u, vh)), EG_SHAPE(eg_size(u, 0), 1, 1));
    eg_tensor *kept = eg_slice(u, 2, 0, 2, 1), *last = eg_mul(eg_slice(u, 2, 2, 3, 1), sign);
    eg_tensor *turn = eg_matmul(eg_concat((eg_tensor *[]){kept, last}, 2, 2), vh);
    return (rigid){turn, eg_sub(to_middle, eg_matmul(turn, from_middle))};
}

/* As six numbers: loss_rotations backwards. */
static eg_tensor *numbers(rigid r)
{
    eg_tensor *turn = eg_flatten(r.turn, 1, 2), *of[9];
    for (int i = 0; i < 9; i++) {
        of[i] = eg_slice(turn, 1, i, i + 1, 1);
    }
    eg_tensor *parts[4] = {eg_squeeze(r.shift, EG_AXES(2)), eg_neg(eg_atan2(of[5], of[8])),
                           eg_asin(eg_clamp(of[2], -1, 1)), eg_neg(eg_atan2(of[1], of[0]))};
    return eg_concat(parts, 4, 1);
}

icp_result icp_fit(eg_tensor *points, eg_tensor *others)
{
    eg_tensor *now = points;
    rigid r = {NULL, NULL};
    for (int i = 0; i < ROUNDS && now; i++) {
        r = best(points, neighbours(now, others));
        now = moved(r, points);
    }
    icp_result found = {numbers(r), eg_sub(neighbours(now, others), now)};
    return found.left ? found : (icp_result){NULL, NULL};
}
