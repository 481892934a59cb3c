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

#endif
