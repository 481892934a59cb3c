/* match.c - which found box has found which object, on one photo. */
#include <math.h>
#include <stdlib.h>

#include "lib/core/memory.h"
#include "run/record/detection/scores.h"

bool eg__detection_in_range(const eg_detection_scores *s, int a, double area)
{
    static const double low[EG__AREAS] = {0, 0, 32 * 32, 96 * 96};
    static const double high[EG__AREAS] = {1e10, 32 * 32, 96 * 96, 1e10};
    return s->areas == 1 || (area >= low[a] && area <= high[a]);
}

/* What is looked at together: the boxes of a class, by score, and its objects, those that count first. */
typedef struct group {
    const eg__judged *p;
    eg__ranked *found;
    int64_t *there; /* numbers in the photo */
    bool *taken;    /* of each object of the group */
    int64_t n, m;
    int64_t label;
} group;

static bool ignored(const eg_detection_scores *s, const group *g, int a, int64_t object)
{
    return (g->p->flags && g->p->flags[object] & (EG_OBJECT_DIFFICULT | EG_OBJECT_CROWD)) ||
           !eg__detection_in_range(s, a, g->p->area[object]);
}

/* Those that count first, each kind in its order. */
static void order_objects(const eg_detection_scores *s, group *g, int a)
{
    int64_t n = 0;
    for (int late = 0; late < 2; late++) {
        for (int64_t i = 0; i < g->p->there; i++) {
            if (g->p->true_label[i] == g->label && ignored(s, g, a, i) == late) {
                g->there[n++] = i;
            }
        }
    }
    g->m = n;
}

static double overlap(const group *g, int64_t box, int64_t k)
{
    return g->p->overlap[box * g->p->there + g->there[k]];
}

/* COCO's way: the object that is overlapped most of those still to be had; one that counts rather than one that does
 * not. */
static int64_t best_left(const eg_detection_scores *s, const group *g, int a, int64_t box, double threshold)
{
    double least = fmin(threshold, 1 - 1e-10);
    int64_t best = -1;
    for (int64_t k = 0; k < g->m; k++) {
        if (g->taken[k] && !eg__is_crowd(g->p, g->there[k])) {
            continue;
        }
        if (best >= 0 && !ignored(s, g, a, g->there[best]) && ignored(s, g, a, g->there[k])) {
            break;
        }
        if (overlap(g, box, k) >= least) {
            least = overlap(g, box, k);
            best = k;
        }
    }
    return best;
}

/* VOC's way: the object that is overlapped most, whoever has it. */
static int64_t best_of_all(const group *g, int64_t box, double threshold)
{
    int64_t best = -1;
    for (int64_t k = 0; k < g->m; k++) {
        if (best < 0 || overlap(g, box, k) > overlap(g, box, best)) {
            best = k;
        }
    }
    return best >= 0 && overlap(g, box, best) >= threshold ? best : -1;
}

static void match(eg_detection_scores *s, group *g, eg__found *to, int a, int t)
{
    const uint64_t bit = (uint64_t)1 << (a * EG__THRESHOLDS + t);
    const bool coco = s->kind == EG_DETECTION_COCO;
    memset(g->taken, 0, (size_t)g->m * sizeof *g->taken);
    for (int64_t i = 0; i < g->n; i++) {
        const int64_t box = g->found[i].at;
        const int64_t k = coco ? best_left(s, g, a, box, s->threshold[t]) : best_of_all(g, box, s->threshold[t]);
        const bool counts = k < 0 || !ignored(s, g, a, g->there[k]);
        if (k >= 0 && (coco || !counts || !g->taken[k])) {
            to[i].hit |= counts ? bit : 0;
            to[i].off |= counts ? 0 : bit;
            g->taken[k] = true;
        } else if (k < 0 && !eg__detection_in_range(s, a, g->p->found_area[box])) {
            to[i].off |= bit;
        }
    }
}

static int by_score(const void *a, const void *b)
{
    const eg__ranked *x = a, *y = b;
    return x->score != y->score ? (x->score < y->score) - (x->score > y->score) : (x->at > y->at) - (x->at < y->at);
}

void eg__rank(eg__ranked *all, int64_t n)
{
    qsort(all, (size_t)n, sizeof *all, by_score);
}

static void match_class(eg_detection_scores *s, group *g)
{
    g->n = 0;
    for (int64_t i = 0; i < g->p->found; i++) {
        if (g->p->label[i] == g->label) {
            g->found[g->n++] = (eg__ranked){g->p->score[i], i};
        }
    }
    eg__rank(g->found, g->n);
    g->n = eg__min(g->n, s->most);
    eg__found *to = s->found + s->count;
    for (int64_t i = 0; i < g->n; i++) {
        to[i] = (eg__found){.score = g->found[i].score, .label = (int32_t)g->label, .rank = (int32_t)i};
    }
    for (int a = 0; a < s->areas; a++) {
        order_objects(s, g, a);
        for (int t = 0; t < s->thresholds; t++) {
            match(s, g, to, a, t);
        }
        for (int64_t k = 0; k < g->m; k++) {
            s->there[g->label * EG__AREAS + a] += !ignored(s, g, a, g->there[k]);
        }
    }
    s->count += (uint32_t)g->n;
}

/* Whether a class was not looked at yet: it comes first at this box or object. */
static bool is_new(const eg__judged *p, int64_t i)
{
    const int64_t label = i < p->found ? p->label[i] : p->true_label[i - p->found];
    for (int64_t k = 0; k < i; k++) {
        if ((k < p->found ? p->label[k] : p->true_label[k - p->found]) == label) {
            return false;
        }
    }
    return true;
}

eg_status eg__detection_match(eg_detection_scores *s, const eg__judged *p)
{
    const size_t bytes =
        (size_t)p->found * sizeof(eg__ranked) + (size_t)p->there * (sizeof(int64_t) + sizeof(bool)) + 1;
    eg__ranked *memory = eg__malloc(bytes);
    if (!memory) {
        return eg__no_memory("eg_detection_scores_add", (int64_t)bytes);
    }
    group g = {.p = p, .found = memory, .there = (int64_t *)(memory + p->found)};
    g.taken = (bool *)(g.there + p->there);
    for (int64_t i = 0; i < p->found + p->there; i++) {
        if (is_new(p, i)) {
            g.label = i < p->found ? p->label[i] : p->true_label[i - p->found];
            match_class(s, &g);
        }
    }
    free(memory);
    return EG_OK;
}
