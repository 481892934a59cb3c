/* scores.h - average precision from inside: what is remembered of each box that was found. */
#ifndef EGRET_RECORD_DETECTION_H
#define EGRET_RECORD_DETECTION_H

#include <egret/detection.h>

#include "lib/core/tensor.h"

enum { EG__AREAS = 4, EG__THRESHOLDS = 10 }; /* all, small, medium, large */

/* Of a box: bit area * EG__THRESHOLDS + threshold of `hit`: it has found something; of `off`: it counts nowhere. */
typedef struct eg__found {
    double score;
    uint64_t hit, off;
    int32_t label;
    int32_t rank; /* among those of its photo and class, by score; from 0 */
} eg__found;

struct eg_detection_scores {
    eg_detection_kind kind;
    int64_t classes;
    int areas, thresholds, most; /* most: of a photo and class */
    double threshold[EG__THRESHOLDS];
    eg__found *found; /* in the order of photos, of a photo by class and score */
    uint32_t count, room;
    int64_t *there; /* [classes][areas]: objects that count */
};

/* A photo on the host. */
typedef struct eg__judged {
    int64_t found, there;
    const double *box, *score, *true_box, *area; /* [.][4], [.]; area of true ones */
    const int64_t *label, *true_label;
    const uint8_t *flags;
    const double *overlap; /* [found][there] */
    const double *found_area;
} eg__judged;

/* A box to be sorted: by score from above, of equal ones the first first. */
typedef struct eg__ranked {
    double score;
    int64_t at;
} eg__ranked;
void eg__rank(eg__ranked *all, int64_t n);

static inline bool eg__is_crowd(const eg__judged *p, int64_t object)
{
    return p->flags && p->flags[object] & EG_OBJECT_CROWD;
}

/* ---- match.c ---- */

/* Adds what was found on a photo; its room has been made. */
eg_status eg__detection_match(eg_detection_scores *s, const eg__judged *p);
/* Whether an area belongs to range `a`. */
bool eg__detection_in_range(const eg_detection_scores *s, int a, double area);

#endif
