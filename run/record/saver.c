/* saver.c - the parts of a run and the files they are written to. */
#include "run/record/saver.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <egret/ops.h>

#include "lib/io/checked.h"
#include "lib/io/file.h"
#include "lib/core/live.h"
#include "run/record/folder.h"

static const char best_file[] = "best.safetensors";

/* ---- the saver ------------------------------------------------------------------------------- */

/* The score of the best file there is. */
static eg_status read_best(eg_saver *s, const char *op)
{
    char *path = eg__folder_path(op, s->folder, best_file);
    if (!path) {
        return EG_ENOMEM;
    }
    eg_status st = EG_OK;
    if (eg__file_exists(path)) {
        eg_tensors *map = eg__checked_load(op, path);
        bool has = map && eg_tensors_has(map, EG__SCORE);
        if (has) {
            s->best = eg_get(eg_tensors_get(map, EG__SCORE), 0);
        } else {
            st = map ? eg__fail(EG_EFORMAT, op, "%.140s holds no score", path) : eg__why();
        }
        eg_tensors_free(map);
    }
    free(path);
    return st;
}

/* Rank 0's score is everybody's. */
static eg_status share_score(const eg_saver *s, double *score)
{
    eg_scope scope = eg_scope_push();
    eg_tensor *told = scope.depth ? eg__from_on(0, EG_SHAPE(1), EG_F64, score) : NULL;
    eg_status st = told ? eg_comm_broadcast(s->options.comm, &told, 1, 0) : eg__why();
    if (!st) {
        *score = *(const double *)eg__ptr(told);
    }
    eg_scope_pop(scope, NULL);
    return st;
}

eg_saver *eg_saver_new_with(const char *folder, const eg_saver_options *options)
{
    static const char op[] = "eg_saver_new";
    eg_saver_options o;
    eg__options(&o, sizeof o, options);
    if (!folder || !*folder) {
        return folder ? eg__fail_null(EG_EINVAL, op, "folder is empty") : (eg__null_argument(op, "folder"), NULL);
    }
    if (o.keep < 0) {
        return eg__fail_null(EG_EINVAL, op, "keep is %lld", (long long)o.keep);
    }
    eg_saver *s = eg__handle_new(sizeof *s);
    if (!s) {
        return eg__no_memory(op, sizeof *s), NULL;
    }
    *s = (eg_saver){.options = o, .best = NAN, .folder = eg__folder_path(op, folder, "")};
    eg_status st = s->folder ? EG_OK : eg__why();
    if (!st && eg__saver_writes(s)) {
        st = eg__folder_make(op, s->folder);
        if (!st) {
            eg__folder_clean(s->folder);
            st = read_best(s, op);
        }
    }
    st = eg__saver_agree(s, st);
    st = st || !eg__saver_shared(s) ? st : share_score(s, &s->best);
    if (st) {
        eg_saver_free(s);
        return NULL;
    }
    return s;
}

void eg_saver_free(eg_saver *s)
{
    if (eg__handle_ends(s, "eg_saver_free")) {
        free(s->folder);
        free(s->path);
        free(s->parts);
        free(s);
    }
}

void eg__saver_used(eg_saver *s, char *path)
{
    free(s->path);
    s->path = path;
}

const char *eg_saver_path(const eg_saver *s)
{
    return s && s->path ? s->path : "";
}

double eg_saver_best_score(const eg_saver *s)
{
    return s ? s->best : NAN;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static eg_status check_name(const eg_saver *s, const char *op, const char *name)
{
    size_t n = strlen(name);
    if (!n || n >= EG__PART_NAME || strchr(name, '/') || !strcmp(name, EG__RANDOM) || !strcmp(name, EG__SCORE) ||
        !strcmp(name, "checksums") || !strcmp(name, "__metadata__")) {
        return eg__fail(EG_EINVAL, op, "no part can be named \"%.120s\"", name);
    }
    for (size_t at = 0, length; at < n; at += length) {
        length = (size_t)eg__utf8_length(name + at, (int64_t)(n - at));
        if (!length) {
            return eg__fail(EG_EINVAL, op, "the name of a part is not UTF-8: \"%.120s\"", name);
        }
    }
    for (uint32_t i = 0; i < s->count; i++) {
        if (!strcmp(s->parts[i].name, name)) {
            return eg__fail(EG_EINVAL, op, "there is a part named \"%.120s\" already", name);
        }
    }
    return EG_OK;
}

eg_status eg__saver_add(eg_saver *s, const char *op, const char *name, const void *what, const eg__part *part)
{
    if (!s || !name || !what) {
        return eg__null_argument(op, !s ? "s" : !name ? "name" : "the part");
    }
    eg_status st = check_name(s, op, name);
    if (!st && s->count == s->capacity && !eg__grow(&s->parts, &s->capacity, sizeof *s->parts)) {
        st = eg__no_memory(op, s->capacity);
    }
    if (!st) {
        eg__part *p = &s->parts[s->count++];
        *p = *part;
        snprintf(p->name, sizeof p->name, "%s", name);
    }
    return st;
}

eg_status eg_saver_module(eg_saver *s, const char *name, eg_module *m)
{
    return eg__saver_add(s, "eg_saver_module", name, m, &(eg__part){.kind = EG__PART_MODULE, .is.module = m});
}

eg_status eg_saver_number(eg_saver *s, const char *name, int64_t *number)
{
    return eg__saver_add(s, "eg_saver_number", name, number, &(eg__part){.kind = EG__PART_NUMBER, .is.number = number});
}

eg_status eg_saver_real(eg_saver *s, const char *name, double *number)
{
    return eg__saver_add(s, "eg_saver_real", name, number, &(eg__part){.kind = EG__PART_REAL, .is.real = number});
}

eg_status eg_saver_tensor(eg_saver *s, const char *name, eg_tensor *t)
{
    static const char op[] = "eg_saver_tensor";
    eg_status st = t ? eg__check(t, op, "t") : EG_OK;
    return st ? st : eg__saver_add(s, op, name, t, &(eg__part){.kind = EG__PART_TENSOR, .is.tensor = t});
}

eg_status eg_saver_add(eg_saver *s, const char *name, const eg_saver_part *part)
{
    static const char op[] = "eg_saver_add";
    eg__part p = {.kind = EG__PART_OTHER};
    eg__options(&p.is.other, sizeof p.is.other, part);
    if (part && (!part->state || !part->load)) {
        return eg__null_argument(op, part->state ? "load" : "state");
    }
    return eg__saver_add(s, op, name, part, &p);
}

/* ---- collecting ------------------------------------------------------------------------------ */

static bool has_members(const eg__part *p)
{
    return p->kind == EG__PART_MODULE || p->kind == EG__PART_OTHER;
}

bool eg__part_has(const eg__part *p, const char *name, const char **rest)
{
    size_t n = strlen(p->name);
    *rest = name + n + 1;
    return !strncmp(name, p->name, n) && name[n] == (has_members(p) ? '/' : 0);
}

eg_tensors *eg__part_state(const char *op, const eg__part *p)
{
    if (p->kind == EG__PART_MODULE) {
        return eg_module_state(p->is.module);
    }
    eg_tensors *map = p->is.other.state(p->is.other.user);
    if (!map && eg_last_error()->code == EG_OK) {
        eg__fail(EG_EUSER, op, "the state of \"%s\" is NULL", p->name);
    }
    return map;
}

/* All tensors of a map, behind the part's name. */
static eg_status collect_map(const char *op, const eg__part *p, eg_tensors *map)
{
    eg_tensors *state = eg__part_state(op, p);
    eg_status st = state ? EG_OK : eg__why();
    for (int64_t i = 0; i < eg_tensors_count(state) && !st; i++) {
        const char *name = eg_tensors_name(state, i);
        size_t bytes = sizeof p->name + strlen(name) + 2;
        char *full = eg__malloc(bytes);
        if (!full) {
            st = eg__no_memory(op, (int64_t)bytes);
        } else {
            snprintf(full, bytes, "%s/%s", p->name, name);
            st = eg_tensors_set(map, full, eg_tensors_at(state, i));
        }
        free(full);
    }
    eg_tensors_free(state);
    return st;
}

eg_status eg__part_collect(const char *op, const eg__part *p, eg_tensors *map)
{
    if (has_members(p)) {
        return collect_map(op, p, map);
    }
    eg_scope s = eg_scope_push();
    eg_tensor *t = p->kind == EG__PART_TENSOR   ? p->is.tensor
                   : p->kind == EG__PART_NUMBER ? eg__from_on(0, EG_SCALAR, EG_I64, p->is.number)
                                                : eg__from_on(0, EG_SCALAR, EG_F64, p->is.real);
    eg_status st = t ? eg_tensors_set(map, p->name, t) : eg__why();
    eg_scope_pop(s, NULL);
    return st;
}

static eg_status collect_random(eg_tensors *map)
{
    eg_random_state now = eg_random_get_state();
    eg_scope s = eg_scope_push();
    eg_tensor *t = eg__from_on(0, EG_SHAPE(2), EG_I64, (uint64_t[2]){now.seed, now.offset});
    eg_status st = t ? eg_tensors_set(map, EG__RANDOM, t) : eg__why();
    eg_scope_pop(s, NULL);
    return st ? st : eg_tensors_set_text(map, EG__KEY_RANDOM, EG__ALGORITHM);
}

static eg_tensors *collect(const eg_saver *s, const char *op, int64_t step)
{
    char text[32];
    eg_tensors *map = eg_tensors_new();
    if (!map) {
        return NULL;
    }
    snprintf(text, sizeof text, "%d", EG__SAVER_FORMAT);
    eg_status st = eg_tensors_set_text(map, EG__KEY_FORMAT, text);
    snprintf(text, sizeof text, "%lld", (long long)step);
    st = st ? st : eg_tensors_set_text(map, EG__KEY_STEP, text);
    st = st ? st : collect_random(map);
    for (uint32_t i = 0; i < s->count && !st; i++) {
        st = eg__part_collect(op, &s->parts[i], map);
    }
    if (st) {
        eg_tensors_free(map);
        return NULL;
    }
    return map;
}

/* ---- saving ---------------------------------------------------------------------------------- */

static eg_status check_step(const eg_saver *s, const char *op, int64_t step)
{
    if (!s) {
        return eg__null_argument(op, "s");
    }
    return step < 0 ? eg__fail(EG_EINVAL, op, "step is %lld", (long long)step) : EG_OK;
}

eg_status eg_saver_save(eg_saver *s, int64_t step)
{
    static const char op[] = "eg_saver_save";
    eg_status st = check_step(s, op, step);
    if (st) {
        return st;
    }
    char *path = eg__folder_checkpoint(op, s->folder, step);
    eg_tensors *map = path ? collect(s, op, step) : NULL;
    st = !map ? eg__why() : eg__saver_writes(s) ? eg__checked_save(op, map, path) : EG_OK;
    st = eg__saver_agree(s, st);
    eg_tensors_free(map);
    if (st) {
        free(path);
        return st;
    }
    eg__saver_used(s, path);
    return s->options.keep && eg__saver_writes(s) ? eg__folder_prune(op, s->folder, step, s->options.keep) : EG_OK;
}

static eg_status add_score(eg_tensors *map, double score)
{
    eg_scope s = eg_scope_push();
    eg_tensor *t = eg_scalar(score, EG_F64);
    eg_status st = t ? eg_tensors_set(map, EG__SCORE, t) : eg__why();
    eg_scope_pop(s, NULL);
    return st;
}

eg_status eg_saver_save_best(eg_saver *s, int64_t step, double score)
{
    static const char op[] = "eg_saver_save_best";
    eg_status st = check_step(s, op, step);
    st = st || !eg__saver_shared(s) ? st : share_score(s, &score);
    if (st) {
        return st;
    }
    bool better = isnan(s->best) || (s->options.highest ? score > s->best : score < s->best);
    if (isnan(score) || !better) {
        return EG_OK;
    }
    char *path = eg__folder_path(op, s->folder, best_file);
    eg_tensors *map = path ? collect(s, op, step) : NULL;
    st = map ? add_score(map, score) : eg__why();
    st = st || !eg__saver_writes(s) ? st : eg__checked_save(op, map, path);
    st = eg__saver_agree(s, st);
    eg_tensors_free(map);
    if (st) {
        free(path);
        return st;
    }
    s->best = score;
    eg__saver_used(s, path);
    return EG_OK;
}
