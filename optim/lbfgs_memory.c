/* lbfgs_memory.c - what L-BFGS has seen of the curvature, the direction it makes of that, and both in files. */
#include <stdlib.h>

#include <egret/precision.h>

#include "lib/core/device.h"
#include "optim/lbfgs.h"

/* ---- vectors ------------------------------------------------------------------------------- */

/* The CPU adds up in f64 as it is, and only the sum is rounded. */
eg_tensor *eg__dot(eg_tensor *a, eg_tensor *b)
{
    if (!a || !b || a->device) {
        return eg_sum(eg_mul(eg_cast(a, EG_F64), eg_cast(b, EG_F64)));
    }
    eg_autocast_block full = eg_autocast_begin(EG_F32);
    eg_tensor *y = eg_dot(a, b);
    eg_autocast_end(&full);
    return eg_cast(y, EG_F64);
}

eg_status eg__number(eg_tensor *t, double *value)
{
    t = eg_cast(t, EG_F64);
    return t ? eg_copy_out(t, value, sizeof *value) : eg__why();
}

eg_status eg__hold(eg_tensor **there, eg_tensor *t)
{
    if (!t) {
        return eg__why();
    }
    eg_tensor *had = *there;
    *there = eg_keep(t);
    eg_release(had);
    return EG_OK;
}

eg_shape eg__lbfgs_shape(const eg_optim *o)
{
    int64_t n = 0;
    for (int i = 0; i < o->count; i++) {
        n += o->names[i] ? o->in[i * EG__OPTIM_SLOTS]->n : 0;
    }
    return EG_SHAPE(n);
}

eg_dtype eg__lbfgs_dtype(const eg_optim *o)
{
    for (int i = 0; i < o->count; i++) {
        if (o->in[i * EG__OPTIM_SLOTS]->dtype == EG_F64) {
            return EG_F64;
        }
    }
    return EG_F32;
}

/* ---- the memory ---------------------------------------------------------------------------- */

eg_status eg__memory_room(const char *op, eg__memory *m, int most)
{
    const size_t bytes = (size_t)most * sizeof *m->pair;
    m->pair = eg__malloc(bytes);
    m->most = most;
    return m->pair ? EG_OK : eg__no_memory(op, (int64_t)bytes);
}

eg_status eg__memory_copy(const char *op, const eg__memory *from, eg__memory *to)
{
    *to = *from;
    if (eg__memory_room(op, to, from->most)) {
        *to = (eg__memory){0};
        return eg__why();
    }
    eg_keep(to->direction);
    eg_keep(to->gradient);
    for (int i = 0; i < from->pairs; i++) {
        to->pair[i] = from->pair[i];
        eg_keep(to->pair[i].y);
        eg_keep(to->pair[i].s);
    }
    return EG_OK;
}

void eg__memory_free(eg__memory *m)
{
    for (int i = 0; i < m->pairs; i++) {
        eg_release(m->pair[i].y);
        eg_release(m->pair[i].s);
    }
    eg_release(m->direction);
    eg_release(m->gradient);
    free(m->pair);
    *m = (eg__memory){0};
}

eg_status eg__memory_beside(eg__memory *m, const eg_tensor *t)
{
    eg_status st = eg__beside(&m->direction, t);
    st = st ? st : eg__beside(&m->gradient, t);
    for (int i = 0; i < m->pairs && !st; i++) {
        st = eg__beside(&m->pair[i].y, t);
        st = st ? st : eg__beside(&m->pair[i].s, t);
    }
    return st;
}

/* Behind the others, of which the oldest goes if there is no room. */
static void remember(eg__memory *m, eg_tensor *y, eg_tensor *s, double inverse)
{
    if (m->pairs == m->most) {
        eg_release(m->pair[0].y);
        eg_release(m->pair[0].s);
        memmove(m->pair, m->pair + 1, (size_t)--m->pairs * sizeof *m->pair);
    }
    m->pair[m->pairs++] = (eg__pair){eg_keep(y), eg_keep(s), inverse};
}

eg_status eg__memory_learn(eg__memory *m, eg_tensor *gradient)
{
    static const double least = 1e-10; /* curvature that is less, or negative, is not to be trusted */
    double ys, yy;
    eg_tensor *y = eg_sub(gradient, m->gradient), *s = eg_mul_scalar(m->direction, m->t);
    eg_status st = eg__number(eg__dot(y, s), &ys);
    if (st || !(ys > least)) {
        return st;
    }
    st = eg__number(eg__dot(y, y), &yy);
    if (!st) {
        remember(m, y, s, 1 / ys);
        m->scale = ys / yy;
    }
    return st;
}

/* r += (a - inverse v r) w; gives inverse v r. Without an a it is 0. */
static eg_tensor *fold(eg_tensor *r, eg_tensor *v, eg_tensor *w, double inverse, eg_tensor *a)
{
    eg_scope scope = eg_scope_push();
    if (!scope.depth) {
        return NULL;
    }
    eg_tensor *share = eg_mul_scalar(eg__dot(v, r), inverse);
    eg_tensor *by = a ? eg_sub(a, share) : eg_neg(share);
    eg_tensor *done = eg_add_(r, eg_mul(w, by));
    return eg_scope_pop(scope, done ? share : NULL);
}

/* Nocedal and Wright 2006, algorithm 7.4; the numbers stay where the vectors are, so that nobody waits for them. */
eg_tensor *eg__memory_direction(const char *op, const eg__memory *m, eg_tensor *gradient)
{
    eg_tensor *r = eg_neg(gradient);
    const size_t bytes = ((size_t)m->pairs + 1) * sizeof(eg_tensor *);
    eg_tensor **share = r ? eg__malloc(bytes) : NULL;
    if (!share) {
        return r ? (eg__no_memory(op, (int64_t)bytes), NULL) : NULL;
    }
    for (int i = m->pairs - 1; i >= 0 && r; i--) {
        share[i] = fold(r, m->pair[i].s, m->pair[i].y, m->pair[i].inverse, NULL);
        r = share[i] ? r : NULL;
    }
    r = m->pairs ? eg_mul_scalar(r, m->scale) : r;
    for (int i = 0; i < m->pairs && r; i++) {
        r = fold(r, m->pair[i].y, m->pair[i].s, m->pair[i].inverse, share[i]) ? r : NULL;
    }
    free(share);
    return r;
}

/* ---- in files ------------------------------------------------------------------------------ */

static eg_status put_vector(eg_tensors *map, const char *name, int i, eg_tensor *t)
{
    char numbered[32];
    snprintf(numbered, sizeof numbered, "%s.%d", name, i);
    return eg_tensors_set(map, numbered, t);
}

static eg_status put_pairs(const eg__memory *m, eg_tensors *map)
{
    double *inverse = eg__malloc((size_t)m->pairs * sizeof *inverse);
    if (!inverse) {
        return eg__no_memory("eg_optim_state", m->pairs * (int64_t)sizeof *inverse);
    }
    eg_status st = EG_OK;
    for (int i = 0; i < m->pairs && !st; i++) {
        inverse[i] = m->pair[i].inverse;
        st = put_vector(map, "old_dirs", i, m->pair[i].y);
        st = st ? st : put_vector(map, "old_stps", i, m->pair[i].s);
    }
    eg_tensor *ro = st ? NULL : eg__numbers_on(0, inverse, m->pairs);
    st = st ? st : ro ? eg_tensors_set(map, "ro", ro) : eg__why();
    eg_release(ro);
    free(inverse);
    return st;
}

eg_status eg__lbfgs_put(const eg_optim *o, eg_tensors *map)
{
    const eg__memory *m = &((const eg__lbfgs *)o)->memory;
    eg_status st = eg__put_number(map, "n_iter", (double)m->iterations, EG_I64);
    st = st ? st : eg__put_number(map, "func_evals", (double)m->evaluations, EG_I64);
    if (st || !m->direction) {
        return st;
    }
    st = eg__put_number(map, "t", m->t, EG_F64);
    st = st ? st : eg__put_number(map, "H_diag", m->scale, EG_F64);
    st = st ? st : eg_tensors_set(map, "d", m->direction);
    st = st ? st : eg_tensors_set(map, "prev_flat_grad", m->gradient);
    return st || !m->pairs ? st : put_pairs(m, map);
}

/* Room for a vector that a map holds under this name. */
static eg_status room_for(const char *op, const eg_optim *o, const eg_tensors *map, const char *name, eg_tensor **to)
{
    const eg_shape shape = eg__lbfgs_shape(o);
    const eg_tensor *t = eg_tensors_has(map, name) ? eg_tensors_get(map, name) : NULL;
    if (!t) {
        return eg__fail(EG_EFORMAT, op, "missing: \"%s\"; nothing was loaded", name);
    }
    if (t->ndim != 1 || t->n != shape.dim[0]) {
        return eg__fail(EG_ESHAPE, op, "\"%s\" is %s there and %s here; nothing was loaded", name, EG__SHAPE_OF(t),
                        eg__shape_text(shape.ndim, shape.dim).s);
    }
    *to = eg_keep(eg__empty_on(eg__optim_device(o), shape, eg__lbfgs_dtype(o)));
    return *to ? EG_OK : eg__why();
}

static eg_status room_for_pairs(const char *op, const eg_optim *o, const eg_tensors *map, eg__memory *m)
{
    char y[32], s[32];
    for (eg_status st = EG_OK; m->pairs < m->most; m->pairs++) {
        snprintf(y, sizeof y, "old_dirs.%d", m->pairs);
        snprintf(s, sizeof s, "old_stps.%d", m->pairs);
        if (!eg_tensors_has(map, y) || !eg_tensors_has(map, s)) {
            return EG_OK;
        }
        eg__pair *p = &m->pair[m->pairs];
        *p = (eg__pair){0};
        st = room_for(op, o, map, y, &p->y);
        st = st ? st : room_for(op, o, map, s, &p->s);
        if (st) {
            eg_release(p->y);
            return st;
        }
    }
    return EG_OK;
}

/* A memory as large as the one in the map, with its numbers. */
static eg_status room_for_all(const char *op, const eg_optim *o, const eg_tensors *map, eg__memory *m)
{
    double iterations = 0, evaluations = 0;
    eg_status st = eg__memory_room(op, m, ((const eg__lbfgs *)o)->o.history_size);
    st = st ? st : eg__get_number(op, map, "n_iter", 0, eg__most_steps, &iterations);
    st = st ? st : eg__get_number(op, map, "func_evals", 0, eg__most_steps, &evaluations);
    m->iterations = (int64_t)iterations;
    m->evaluations = (int64_t)evaluations;
    m->scale = 1;
    if (st || !iterations) {
        return st;
    }
    st = eg__get_number(op, map, "t", 0, (double)INFINITY, &m->t);
    st = st ? st : eg__get_number(op, map, "H_diag", 0, (double)INFINITY, &m->scale);
    st = st ? st : room_for(op, o, map, "d", &m->direction);
    st = st ? st : room_for(op, o, map, "prev_flat_grad", &m->gradient);
    return st ? st : room_for_pairs(op, o, map, m);
}

static eg_status load_inverses(const char *op, const eg_tensors *map, eg__memory *m)
{
    const eg_tensor *ro = m->pairs ? eg_tensors_get(map, "ro") : NULL;
    for (int i = 0; i < m->pairs; i++) {
        const double v = ro ? eg_get(ro, i) : (double)NAN;
        if (!(v > 0) || !isfinite(v)) {
            return eg__fail(EG_EFORMAT, op, "\"ro\" has a %g; nothing was loaded", v);
        }
        m->pair[i].inverse = v;
    }
    return EG_OK;
}

/* What was read takes the memory's place, for eg_optim_state to show it, and gives it back if it does not fit. */
eg_status eg__lbfgs_load(const char *op, eg_optim *o, const eg_tensors *map)
{
    eg__memory *own = &((eg__lbfgs *)o)->memory, had = *own, got = {0};
    eg_scope s = eg_scope_push();
    eg_status st = s.depth ? room_for_all(op, o, map, &got) : eg__why();
    if (!st) {
        *own = got;
        st = eg__put_back(op, eg_optim_state(o), map);
        *own = had;
    }
    st = st ? st : load_inverses(op, map, &got);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    if (!st) {
        *own = got;
        got = had;
    }
    eg__memory_free(&got);
    return st;
}
