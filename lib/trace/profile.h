/* profile.h - what the parts that run ops tell the profile; only while one runs. */
#ifndef EGRET_LIB_PROFILE_H
#define EGRET_LIB_PROFILE_H

#include "lib/core/op.h"

/* Around the rule of one entry, while a tape is walked. */
typedef struct eg__profile_rule {
    const char *op, *outer;
    int64_t start;
} eg__profile_rule;
eg__profile_rule eg__profile_rule_begin(const char *op);
void eg__profile_rule_end(eg__profile_rule rule);

/* Around work on a device that is no op's: copies and fills. `what` is static. */
typedef struct eg__profile_work {
    const char *what;
    eg_device *device;
    int64_t bytes, start;
    struct eg__lap *lap;
} eg__profile_work;
eg__profile_work eg__profile_work_begin(eg__thread *T, eg_device *d, const char *what, int64_t bytes);
void eg__profile_work_end(eg__thread *T, const eg__profile_work *w);

#endif
