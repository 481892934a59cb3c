/* assign.c - see assign.h. */
#include "lib/io/assign.h"

#include "lib/core/device.h"
#include "lib/ops/options.h"
#include "lib/ops/optable.h"

/* Names of `a` that `b` lacks, as many as fit into words. */
static eg_status compare_names(const char *op, const eg_tensors *a, const eg_tensors *b, const char *what)
{
    char list[160] = "";
    size_t length = 0;
    int64_t left_out = 0, count = 0;
    for (int64_t i = 0; i < eg_tensors_count(a); i++) {
        const char *name = eg_tensors_name(a, i);
        if (eg_tensors_has(b, name)) {
            continue;
        }
        size_t room = sizeof list - length, n = strlen(name) + 4;
        count++;
        if (left_out || n >= room) {
            left_out++;
            continue;
        }
        length += (size_t)snprintf(list + length, room, "%s\"%s\"", length ? ", " : "", name);
    }
    if (!count) {
        return EG_OK;
    }
    char more[40] = "";
    if (left_out) {
        snprintf(more, sizeof more, "%s%lld more", length ? " and " : "", (long long)left_out);
    }
    return eg__fail(EG_EFORMAT, op, "%s: %s%s; nothing was loaded", what, list, more);
}

static eg_status check_fit(const char *op, const char *name, const eg_tensor *to, const eg_tensor *from)
{
    if (!eg__same_shape(to, from)) {
        return eg__fail(EG_ESHAPE, op, "\"%.80s\" is %s there and %s here; nothing was loaded", name,
                        EG__SHAPE_OF(from), EG__SHAPE_OF(to));
    }
    if (to->dtype != from->dtype && !(eg__is_float(to->dtype) && eg__is_float(from->dtype))) {
        return eg__fail(EG_EDTYPE, op, "\"%.80s\" is %s there and %s here; nothing was loaded", name,
                        eg_dtype_name((eg_dtype)from->dtype), eg_dtype_name((eg_dtype)to->dtype));
    }
    eg__thread *T = eg__thread_get();
    if (T->record->recording && eg__tracked(T, to)) {
        return eg__fail(EG_ESTATE, op, "an open tape follows \"%.80s\": close it before loading", name);
    }
    return EG_OK;
}

static eg_status write_over(eg_tensor *to, eg_tensor *from)
{
    bool same = to->dtype == from->dtype;
    const eg__copy_opts keep = {EG__KEEP_LAYOUT};
    const eg__cast_opts convert = {to->dtype};
    return eg__run(same ? &eg__op_copy : &eg__op_cast, &from, 1, same ? (const void *)&keep : (const void *)&convert,
                   to);
}

/* Between devices, values as they are; dense tensors take no memory on the way. */
static eg_status transfer(const char *op, eg_tensor *to, eg_tensor *from)
{
    eg__thread *T = eg__thread_get();
    const size_t bytes = (size_t)to->n * eg__esize(to);
    if (!bytes) {
        return EG_OK;
    }
    if (from->dtype == to->dtype && from->flags & to->flags & EG__DENSE && !from->device) {
        return eg__upload(op, T, to, eg__ptr(from), bytes);
    }
    if (from->dtype == to->dtype && from->flags & to->flags & EG__DENSE && !to->device) {
        return eg__download(op, T, from, eg__ptr(to), bytes);
    }
    eg_scope s = eg_scope_push();
    eg_tensor *here = s.depth ? eg_to(from, eg__device(to)) : NULL;
    eg_status st = here ? write_over(to, here) : eg__why();
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

eg_status eg__overwrite(const char *op, eg_tensor *to, eg_tensor *from)
{
    eg_status st = eg__begin_write(to, op);
    return st ? st : to->device == from->device ? write_over(to, from) : transfer(op, to, from);
}

/* Does one or the other for all pairs. */
static eg_status each_pair(const char *op, const eg_tensors *to, const eg_tensors *from, bool write)
{
    eg_status st = EG_OK;
    for (int64_t i = 0; i < eg_tensors_count(to) && !st; i++) {
        const char *name = eg_tensors_name(to, i);
        eg_tensor *mine = eg_tensors_at(to, i);
        const bool has = eg_tensors_has(from, name);
        eg_tensor *theirs = has ? eg_tensors_get(from, name) : mine;
        if (!theirs) {
            st = eg__why();
        } else if (theirs != mine) {
            st = write ? eg__overwrite(op, mine, theirs) : check_fit(op, name, mine, theirs);
        }
    }
    return st;
}

eg_status eg__tensors_check(const char *op, const eg_tensors *to, const eg_tensors *from, bool allow_missing,
                            bool allow_unexpected)
{
    eg_status st = allow_unexpected ? EG_OK : compare_names(op, from, to, "unexpected");
    if (!st && !allow_missing) {
        st = compare_names(op, to, from, "missing");
    }
    return st ? st : each_pair(op, to, from, false);
}

eg_status eg__tensors_write(const char *op, const eg_tensors *to, const eg_tensors *from)
{
    return each_pair(op, to, from, true);
}

eg_status eg__tensors_assign(const char *op, const eg_tensors *to, const eg_tensors *from, bool allow_missing,
                             bool allow_unexpected)
{
    eg_status st = eg__tensors_check(op, to, from, allow_missing, allow_unexpected);
    return st ? st : eg__tensors_write(op, to, from);
}
