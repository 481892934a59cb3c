/* recipe.h - a recipe is what is looked at of an image, what its colours go through, and what becomes of its numbers:
 * recipes.c says that for each, preprocess.c does it. */
#ifndef EGRET_RECIPE_H
#define EGRET_RECIPE_H

#include <egret/data/preprocess.h>

#include "data/dice.h"
#include "data/image/sampler.h"
#include "data/image/tones.h"

/* An image on its way. */
typedef struct eg__preparation {
    const char *op;
    const struct eg__recipe *by;
    eg_preprocess_options o;             /* checked, sizes and channels filled in */
    int64_t rows, columns;               /* of the image */
    eg__view view;                       /* to be filled in; width and height are */
    eg__change change[EG__MOST_CHANGES]; /* of values times the recipe's unit */
    int changes;
} eg__preparation;

typedef eg_status eg__recipe_fn(eg__preparation *p);

typedef struct eg__recipe {
    eg_preprocess_info info;
    eg__recipe_fn *train, *evaluate;
    double mean[3], std[3]; /* of values 0..255: what becomes of them is (x - mean) / std */
    double unit;            /* colours are changed in these */
    bool limited;           /* and then limited to 0..1 */
    bool standardise;
} eg__recipe;

extern const eg__recipe eg__recipes[];
extern const int eg__recipe_count;

#endif
