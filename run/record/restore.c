/* restore.c - putting the parts of a run back: everything is checked before anything changes.
 *
 * Modules, tensors and numbers are checked at once and written last, which cannot fail. The other parts know
 * themselves whether they accept their state; those that have are put back if a later one refuses. */
#include <stdlib.h>
#include <unistd.h>

#include <egret/ops.h>

#include "lib/io/assign.h"
#include "lib/io/checked.h"
#include "run/record/folder.h"
#include "run/record/saver.h"

typedef struct plan {
    const eg_saver *saver;
    const char *op, *path;
    eg_restore_options options;
    const eg_tensors *file;
    eg_tensors *mine, *theirs; /* of modules, tensors and numbers: what there is, what shall be */
    eg_tensors **state, **old; /* of other parts: what shall be; what there was */
    int64_t step;
    eg_random_state random;
} plan;

/* ---- what the file says ---------------------------------------------------------------------- */

static eg_status bad(const plan *p, const char *words, const char *value)
{
    size_t n = strlen(p->path);
    return eg__fail(EG_EFORMAT, p->op, "%s%s: %s%.80s; nothing was loaded", n > 80 ? "..." : "",
                    p->path + (n > 80 ? n - 77 : 0), words, value);
}

static bool read_count(const char *text, int64_t *v)
{
    char *end;
    *v = text ? strtoll(text, &end, 10) : -1;
    return text && *text && !*end && *v >= 0;
}

static eg_status read_random(plan *p)
{
    const char *algorithm = eg_tensors_text(p->file, EG__KEY_RANDOM);
    const eg_tensor *t = eg_tensors_has(p->file, EG__RANDOM) ? eg_tensors_get(p->file, EG__RANDOM) : NULL;
    if (!algorithm || strcmp(algorithm, EG__ALGORITHM)) {
        return bad(p, "its random sequence is not of " EG__ALGORITHM " but of ", algorithm ? algorithm : "none");
    }
    if (!t || t->dtype != EG_I64 || t->n != 2) {
        return bad(p, "the state of its random sequence is missing", "");
    }
    const uint64_t *v = (const uint64_t *)eg__ptr(t);
    p->random = (eg_random_state){v[0], v[1]};
    return EG_OK;
}

static eg_status read_texts(plan *p)
{
    const char *format = eg_tensors_text(p->file, EG__KEY_FORMAT);
    const char *step = eg_tensors_text(p->file, EG__KEY_STEP);
    int64_t version;
    if (!read_count(format, &version)) {
        return bad(p, "it is no checkpoint", "");
    }
    if (version != EG__SAVER_FORMAT) {
        return bad(p, "this library reads format 1 of checkpoints, it is of format ", format);
    }
    if (!read_count(step, &p->step)) {
        return bad(p, "its step is missing", "");
    }
    return p->options.allow_others ? EG_OK : read_random(p);
}

/* ---- sorting --------------------------------------------------------------------------------- */

/* Gives a tensor of the file to the part it belongs to. */
static eg_status sort_one(plan *p, const char *name, eg_tensor *t)
{
    const char *rest;
    if (!strcmp(name, EG__RANDOM) || !strcmp(name, EG__SCORE)) {
        return EG_OK;
    }
    for (uint32_t i = 0; i < p->saver->count; i++) {
        if (eg__part_has(&p->saver->parts[i], name, &rest)) {
            bool other = p->saver->parts[i].kind == EG__PART_OTHER;
            return other ? eg_tensors_set(p->state[i], rest, t) : eg_tensors_set(p->theirs, name, t);
        }
    }
    return eg_tensors_set(p->theirs, name, t); /* unexpected: the comparison will say so */
}

static eg_status sort_tensors(plan *p)
{
    eg_status st = EG_OK;
    p->mine = eg_tensors_new();
    p->theirs = eg_tensors_new();
    st = p->mine && p->theirs ? EG_OK : eg__why();
    for (uint32_t i = 0; i < p->saver->count && !st; i++) {
        const eg__part *part = &p->saver->parts[i];
        if (part->kind == EG__PART_OTHER) {
            st = (p->state[i] = eg_tensors_new()) ? EG_OK : eg__why();
        } else {
            st = eg__part_collect(p->op, part, p->mine);
        }
    }
    for (int64_t i = 0; i < eg_tensors_count(p->file) && !st; i++) {
        st = sort_one(p, eg_tensors_name(p->file, i), eg_tensors_at(p->file, i));
    }
    for (uint32_t i = 0; i < p->saver->count && !st; i++) {
        if (p->state[i] && !eg_tensors_count(p->state[i])) {
            st = bad(p, "it lacks the part ", p->saver->parts[i].name);
        }
    }
    return st ? st : eg__tensors_check(p->op, p->mine, p->theirs, false, p->options.allow_others);
}

/* ---- other parts ----------------------------------------------------------------------------- */

/* The state of a part as it is now, in memory of its own. */
static eg_tensors *copy_state(const plan *p, const eg__part *part)
{
    eg_tensors *now = eg__part_state(p->op, part), *copy = now ? eg_tensors_new() : NULL;
    eg_status st = copy ? EG_OK : eg__why();
    for (int64_t i = 0; i < eg_tensors_count(now) && !st; i++) {
        eg_scope s = eg_scope_push();
        eg_tensor *t = eg_copy(eg_detach(eg_tensors_at(now, i)));
        st = t ? eg_tensors_set(copy, eg_tensors_name(now, i), t) : eg__why();
        eg_scope_pop(s, NULL);
    }
    eg_tensors_free(now);
    if (st) {
        eg_tensors_free(copy);
        return NULL;
    }
    return copy;
}

static eg_status load_part(const plan *p, const eg__part *part, const eg_tensors *state)
{
    eg_status st = part->is.other.load(part->is.other.user, state);
    if (st && eg_last_error()->code == EG_OK) {
        st = eg__fail(EG_EUSER, p->op, "the part \"%s\" does not accept its state", part->name);
    }
    return st;
}

static eg_status load_others(plan *p)
{
    const eg__part *parts = p->saver->parts;
    int64_t last = -1;
    eg_status st = EG_OK;
    for (uint32_t i = 0; i < p->saver->count; i++) {
        last = p->state[i] ? (int64_t)i : last;
    }
    for (int64_t i = 0; i < last && !st; i++) {
        if (p->state[i]) {
            st = (p->old[i] = copy_state(p, &parts[i])) ? EG_OK : eg__why();
        }
    }
    for (int64_t i = 0; i <= last && !st; i++) {
        if (!p->state[i]) {
            continue;
        }
        st = load_part(p, &parts[i], p->state[i]);
        if (st) {
            eg_error first = *eg_last_error();
            for (int64_t k = 0; k < i; k++) {
                if (p->old[k]) {
                    load_part(p, &parts[k], p->old[k]);
                }
            }
            eg__fail(first.code, first.op, "%s", first.message);
        }
    }
    return st;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static eg_status write_all(plan *p)
{
    eg_status st = eg__tensors_write(p->op, p->mine, p->theirs);
    for (uint32_t i = 0; i < p->saver->count && !st; i++) {
        const eg__part *part = &p->saver->parts[i];
        if (part->kind == EG__PART_NUMBER) {
            memcpy(part->is.number, eg__ptr(eg_tensors_get(p->mine, part->name)), sizeof(int64_t));
        } else if (part->kind == EG__PART_REAL) {
            memcpy(part->is.real, eg__ptr(eg_tensors_get(p->mine, part->name)), sizeof(double));
        }
    }
    if (!st && !p->options.allow_others) {
        eg_random_set_state(p->random);
    }
    return st;
}

static eg_status restore_map(plan *p)
{
    size_t n = p->saver->count, bytes = 2 * n * sizeof *p->state;
    p->state = eg__malloc(bytes);
    if (!p->state) {
        return eg__no_memory(p->op, (int64_t)bytes);
    }
    memset(p->state, 0, bytes);
    p->old = p->state + n;
    eg_status st = read_texts(p);
    st = st ? st : sort_tensors(p);
    st = st ? st : load_others(p);
    st = st ? st : write_all(p);
    for (size_t i = 0; i < 2 * n; i++) {
        eg_tensors_free(p->state[i]);
    }
    free(p->state);
    eg_tensors_free(p->mine);
    eg_tensors_free(p->theirs);
    return st;
}

eg_status eg__restore_file(eg_saver *s, const char *op, char *path, int64_t *step, const eg_restore_options *options,
                           bool *damaged)
{
    eg_tensors *file = eg__checked_load(op, path);
    plan p = {.saver = s, .op = op, .path = path, .file = file};
    eg__options(&p.options, sizeof p.options, options);
    eg_status st = file ? restore_map(&p) : eg__why();
    *damaged = !file && (st == EG_EFORMAT || st == EG_EIO);
    eg_tensors_free(file);
    if (st) {
        free(path);
        return st;
    }
    eg__saver_used(s, path);
    if (step) {
        *step = p.step;
    }
    return EG_OK;
}

/* Who else saves to the folder removes what has become old: then it is looked at again, this often. */
enum { LISTINGS = 100 };

static bool is_gone(const eg_saver *s, const char *op, int64_t step)
{
    char *path = eg__folder_checkpoint(op, s->folder, step);
    bool gone = path && access(path, F_OK);
    free(path);
    return gone;
}

/* From the newest checkpoint of those that are there now; gone: one of them no longer is. */
static eg_status restore_newest(eg_saver *s, const char *op, int64_t *step, const eg_restore_options *o, bool *gone)
{
    int64_t *steps, count;
    eg_status st = eg__folder_steps(op, s->folder, &steps, &count);
    *gone = false;
    for (int64_t i = count; i-- > 0 && !st && !*gone;) {
        bool damaged = false;
        char *path = eg__folder_checkpoint(op, s->folder, steps[i]);
        st = path ? eg__restore_file(s, op, path, step, o, &damaged) : EG_ENOMEM;
        if (!st) {
            break;
        }
        *gone = damaged && is_gone(s, op, steps[i]);
        st = o->fall_back && damaged && i && !*gone ? EG_OK : st;
    }
    free(steps);
    return st;
}

eg_status eg_saver_restore_with(eg_saver *s, int64_t *step, const eg_restore_options *options)
{
    static const char op[] = "eg_saver_restore";
    eg_restore_options o;
    if (!s) {
        return eg__null_argument(op, "s");
    }
    eg__options(&o, sizeof o, options);
    if (eg__saver_shared(s)) {
        return eg__restore_from_first(s, op, NULL, step, &o);
    }
    eg_error was = *eg_last_error();
    bool gone = true;
    eg_status st = EG_OK;
    for (int i = 0; i < LISTINGS && gone; i++) {
        st = restore_newest(s, op, step, &o, &gone);
    }
    if (!st) {
        eg__thread_get()->error = was;
    }
    return st;
}

int64_t eg_saver_latest(const eg_saver *s)
{
    int64_t *steps, count, latest = -1;
    if (s && !eg__folder_steps("eg_saver_latest", s->folder, &steps, &count)) {
        latest = count ? steps[count - 1] : -1;
        free(steps);
    }
    return latest;
}

eg_status eg_saver_restore_from_with(eg_saver *s, const char *path, int64_t *step, const eg_restore_options *options)
{
    static const char op[] = "eg_saver_restore_from";
    bool damaged;
    if (!s || !path) {
        return eg__null_argument(op, s ? "path" : "s");
    }
    size_t bytes = strlen(path) + 1;
    char *copy = eg__malloc(bytes);
    if (!copy) {
        return eg__no_memory(op, (int64_t)bytes);
    }
    memcpy(copy, path, bytes);
    if (eg__saver_shared(s)) {
        eg_restore_options o;
        eg__options(&o, sizeof o, options);
        return eg__restore_from_first(s, op, copy, step, &o);
    }
    return eg__restore_file(s, op, copy, step, options, &damaged);
}
