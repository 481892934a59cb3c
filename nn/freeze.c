/* freeze.c - freezing modules. */
#include "nn/nn.h"

typedef struct freezer {
    eg_members walk;
    bool frozen;
} freezer;

static void freeze_member(eg_members *walk, const eg__member *member)
{
    if (member->kind == EG__CHILD) {
        eg__members(*member->child, walk);
    } else if (member->kind == EG__PARAMETER) {
        uint8_t *flags = &(*member->tensor)->flags;
        *flags = (uint8_t)(((freezer *)walk)->frozen ? *flags & ~EG__PARAM : *flags | EG__PARAM);
    }
}

static eg_status set_frozen(eg_module *m, bool frozen, const char *op)
{
    if (!m) {
        return eg__null_argument(op, "m");
    }
    if (eg__thread_get()->record->recording) {
        return eg__fail(EG_ESTATE, op, "a tape records: ask or close it first");
    }
    freezer f = {{freeze_member, 0}, frozen};
    return eg__walk_members(m, &f.walk, op);
}

eg_status eg_module_freeze(eg_module *m)
{
    return set_frozen(m, true, "eg_module_freeze");
}

eg_status eg_module_unfreeze(eg_module *m)
{
    return set_frozen(m, false, "eg_module_unfreeze");
}
