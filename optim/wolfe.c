/* wolfe.c - see wolfe.h. Steps, limits and their order are PyTorch's, so that paths are the same. */
#include "optim/wolfe.h"

#include <math.h>
#include <stdbool.h>

static const double enough = 1e-4; /* of the decrease that the first slope promises */
static const double flat = 0.9;    /* of the first slope: at most that is left */

typedef struct search {
    const eg__line *line;
    const eg__point *from;
    eg__point end[2]; /* a good point is between them */
    int low;          /* which of them has the lower loss */
    int tries;        /* evaluations behind the first */
    bool done;        /* the lower one is a good point itself */
} search;

static bool too_high(const search *s, const eg__point *p)
{
    return p->loss > s->from->loss + enough * p->t * s->from->slope;
}

static bool is_flat(const search *s, const eg__point *p)
{
    return fabs(p->slope) <= -flat * s->from->slope;
}

static void bracket(search *s, const eg__point *a, const eg__point *b)
{
    const eg__point first = *a, second = *b; /* which may be ends */
    s->end[0] = first;
    s->end[1] = second;
    s->low = !(first.loss <= second.loss);
}

/* Where the cubic through two points with their slopes is least, within least..most; halfway if there is none. */
static double cubic(const eg__point *a, const eg__point *b, double least, double most)
{
    const eg__point *left = a->t <= b->t ? a : b, *right = a->t <= b->t ? b : a;
    const double d = left->slope + right->slope - 3 * (left->loss - right->loss) / (left->t - right->t);
    const double root = sqrt(d * d - left->slope * right->slope); /* NaN: there is none */
    const double share = (right->slope + root - d) / (right->slope - left->slope + 2 * root);
    const double t = right->t - (right->t - left->t) * share;
    return isnan(t) ? (least + most) / 2 : fmin(fmax(t, least), most);
}

/* Goes farther until a good point is behind it. */
static eg_status reach_out(search *s, double t)
{
    eg__point before = *s->from, now = {.t = t};
    eg_status st = s->line->look(s->line->user, &now);
    for (; !st && s->tries < s->line->most; s->tries++) {
        const bool rises = too_high(s, &now) || (s->tries > 1 && now.loss >= before.loss);
        if (!rises && is_flat(s, &now)) {
            s->done = true;
            bracket(s, &now, &now);
            return EG_OK;
        }
        if (rises || now.slope >= 0) {
            bracket(s, &before, &now);
            return EG_OK;
        }
        const double next = cubic(&before, &now, now.t + 0.01 * (now.t - before.t), now.t * 10);
        before = now;
        now = (eg__point){.t = next};
        st = s->line->look(s->line->user, &now);
    }
    bracket(s, s->from, &now);
    return st;
}

/* The next place inside of the bracket; one that is near an end, and was so before, moves inwards. */
static double inside(const search *s, bool *near)
{
    const double least = fmin(s->end[0].t, s->end[1].t), most = fmax(s->end[0].t, s->end[1].t);
    const double t = cubic(&s->end[0], &s->end[1], least, most), margin = 0.1 * (most - least);
    if (!(fmin(most - t, t - least) < margin)) {
        *near = false;
        return t;
    }
    if (!*near && t < most && t > least) {
        *near = true;
        return t;
    }
    *near = false;
    return fabs(t - most) < fabs(t - least) ? most - margin : least + margin;
}

static void narrow(search *s, const eg__point *now)
{
    eg__point *low = &s->end[s->low], *high = &s->end[1 - s->low];
    if (too_high(s, now) || now->loss >= low->loss) {
        *high = *now;
        bracket(s, &s->end[0], &s->end[1]);
        return;
    }
    if (is_flat(s, now)) {
        s->done = true;
    } else if (now->slope * (high->t - low->t) >= 0) {
        *high = *low;
    }
    *low = *now;
}

eg_status eg__wolfe(const eg__line *line, const eg__point *from, double t, eg__point *found)
{
    search s = {.line = line, .from = from};
    bool near = false;
    eg_status st = reach_out(&s, t);
    while (!st && !s.done && s.tries < line->most && fabs(s.end[1].t - s.end[0].t) * line->reach >= line->tolerance) {
        eg__point now = {.t = inside(&s, &near)};
        st = line->look(line->user, &now);
        s.tries++;
        if (!st) {
            narrow(&s, &now);
        }
    }
    *found = s.end[s.low];
    return st;
}
