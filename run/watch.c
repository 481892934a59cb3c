/* watch.c - where a number first was none. */
#include <stdio.h>

#include "run/run.h"

/* Whether all of it is finite, as a tensor; NULL for tensors that cannot be otherwise. */
static eg_tensor *finite(eg_tensor *t)
{
    eg_dtype d = eg_dtype_of(t);
    bool is_float = d == EG_F32 || d == EG_F64 || d == EG_F16 || d == EG_BF16;
    return is_float && eg_numel(t) ? eg_all(eg_isfinite(eg_detach(t))) : NULL;
}

/* The i-th tensor of the module's state that is not; -1: none. One wait for all. */
static int64_t first_bad(const eg_tensors *state)
{
    int64_t n = eg_tensors_count(state), bad = -1;
    for (int64_t i = 0; i < n && bad < 0; i++) {
        EG_SCOPE {
            eg_tensor *all = finite(eg_tensors_at(state, i));
            bad = all && eg_item(eg_cast(all, EG_F32)) == 0 ? i : -1;
        }
    }
    return bad;
}

/* Whether there is a bad one at all. */
static bool all_are_fine(const eg_tensors *state)
{
    double fine = 1;
    EG_SCOPE {
        eg_tensor *both = NULL;
        for (int64_t i = 0; i < eg_tensors_count(state); i++) {
            eg_tensor *all = finite(eg_tensors_at(state, i));
            both = both && all ? eg_logical_and(both, all) : all ? all : both;
        }
        fine = both ? eg_item(eg_cast(both, EG_F32)) : 1;
    }
    return fine != 0;
}

void run_find_bad(eg_run *run, char *name, size_t size)
{
    *name = '\0';
    for (int i = 0; i < run->part_count && !*name; i++) {
        const run_part *p = &run->parts[i];
        eg_tensors *state = p->kind == RUN_MODULE ? eg_module_state(p->module) : NULL;
        if (state && !all_are_fine(state)) {
            int64_t bad = first_bad(state);
            snprintf(name, size, "%s/%s", p->name, bad < 0 ? "?" : eg_tensors_name(state, bad));
        }
        eg_tensors_free(state);
    }
}

eg_status run_watch(eg_run *run)
{
    char name[160];
    if (run->status) {
        return run->status;
    }
    run_find_bad(run, name, sizeof name);
    return *name ? eg_failf(EG_ESTATE, "eg_run", "%s is not finite behind step %lld", name, (long long)run->step)
                 : EG_OK;
}
