/* nasnet.c - NASNet-A (Zoph et al. 2017) and PNASNet-5 (Liu et al. 2017), as TF-Slim has them: what the searches have
 * found. */
#include "nn/models/vision/nasnet.h"

/* ---- cells -------------------------------------------------------------------------------------- */

#define NONE EG__CELL_NONE
#define AVG  EG__CELL_AVG
#define MAX  EG__CELL_MAX
#define SEP3 EG__CELL_SEP3
#define SEP5 EG__CELL_SEP5
#define SEP7 EG__CELL_SEP7
static const eg__cell_plan normal = {{{{SEP5, 0}, {SEP3, 1}},
                                      {{SEP5, 1}, {SEP3, 1}},
                                      {{AVG, 0}, {NONE, 1}},
                                      {{AVG, 1}, {AVG, 1}},
                                      {{SEP3, 0}, {NONE, 0}}},
                                     {true, false, false, false, false, false, false}};
static const eg__cell_plan reduction = {{{{SEP5, 0}, {SEP7, 1}},
                                         {{MAX, 0}, {SEP7, 1}},
                                         {{AVG, 0}, {SEP5, 1}},
                                         {{NONE, 3}, {AVG, 2}},
                                         {{SEP3, 2}, {MAX, 0}}},
                                        {true, true, true, false, false, false, false}};
/* With a stride where places are halved. */
static const eg__cell_plan progressive = {{{{SEP5, 1}, {MAX, 1}},
                                           {{SEP7, 0}, {MAX, 0}},
                                           {{SEP5, 0}, {SEP3, 0}},
                                           {{SEP3, 4}, {MAX, 0}},
                                           {{SEP3, 1}, {NONE, 0}}},
                                          {true, true, false, false, false, false, false}};

/* ---- sizes -------------------------------------------------------------------------------------- */

#define FOUND &normal, &reduction
static const eg__nasnet nasnets[] = {
    [EG_NASNET_CIFAR] = {"nasnet_cifar", FOUND, 10, 32, 96, 18, 0, 0.4, 0.1, 1e-5, false, true, 4},
    [EG_NASNET_MOBILE] = {"nasnet_mobile", FOUND, 1001, 44, 32, 12, 0.5, 0, 1 - 0.9997, 1e-3, false, false, 4},
    [EG_NASNET_LARGE] = {"nasnet_large", FOUND, 1001, 168, 96, 18, 0.5, 0.3, 1 - 0.9997, 1e-3, true, false, 6},
};
#undef FOUND
#define FOUND &progressive, NULL
static const eg__nasnet pnasnets[] = {
    [EG_NASNET_CIFAR] = {.name = NULL},
    [EG_NASNET_MOBILE] = {"pnasnet_mobile", FOUND, 1001, 54, 32, 9, 0.5, 0, 1 - 0.9997, 1e-3, true, false, 4},
    [EG_NASNET_LARGE] = {"pnasnet_large", FOUND, 1001, 216, 96, 12, 0.5, 0.4, 1 - 0.9997, 1e-3, true, false, 6},
};

eg_module *eg_nasnet_new_with(eg_nasnet_size of, const eg_model_options *options)
{
    if ((int)of < EG_NASNET_CIFAR || of > EG_NASNET_LARGE) {
        eg_failf(EG_EINVAL, "nasnet", "there is no size %d", (int)of);
        return NULL;
    }
    return eg__nasnet_new(&nasnets[of], options);
}

eg_module *eg_pnasnet_new_with(eg_nasnet_size of, const eg_model_options *options)
{
    if (of != EG_NASNET_MOBILE && of != EG_NASNET_LARGE) {
        eg_failf(EG_EINVAL, "pnasnet", "there is no size %d: mobile or large", (int)of);
        return NULL;
    }
    return eg__nasnet_new(&pnasnets[of], options);
}
