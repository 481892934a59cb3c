/* prune.c - the smallest weights become zero: of each parameter, of all together, or n of every m. */
#include <stdlib.h>

#include <egret/pruning.h>

#include "lib/io/assign.h"
#include "optim/optim.h"
#include "optim/options.h"
#include "optim/prune.h"

/* The parameters meant, and what becomes of them. */
typedef struct meant {
    eg_tensor **p, **left;
    int count;
} meant;

bool eg__prune_means(const eg_tensor *t, const char *name, const eg_prune_options *o)
{
    return t->n && t->ndim >= (o->min_axes ? o->min_axes : 2) && (!o->max_axes || t->ndim <= o->max_axes) &&
           (!o->name || (name && strstr(name, o->name))) &&
           (!o->m || (o->axis < t->ndim && t->shape[o->axis] % o->m == 0));
}

/* Tied weights count once. */
static bool before(eg_parameters p, int i)
{
    int k = 0;
    while (p.tensors[k] != p.tensors[i]) {
        k++;
    }
    return k < i;
}

static eg_status choose(const char *op, eg_parameters p, const eg_prune_options *o, meant *m)
{
    if (eg__check_parameters(op, p)) {
        return eg__why();
    }
    const size_t bytes = (size_t)p.count * 2 * sizeof *m->p;
    m->p = eg__malloc(bytes);
    if (!m->p) {
        return eg__no_memory(op, (int64_t)bytes);
    }
    m->left = m->p + p.count;
    for (int i = 0; i < p.count; i++) {
        if (eg__prune_means(p.tensors[i], p.names ? p.names[i] : NULL, o) && !before(p, i)) {
            m->p[m->count++] = p.tensors[i];
        }
    }
    return m->count ? EG_OK
                    : eg__fail(EG_EINVAL, op, "none of the %d parameters is meant: name %s, %d axes and more%s",
                               p.count, o->name ? o->name : "any", o->min_axes ? o->min_axes : 2,
                               o->m ? ", with an axis that m divides" : "");
}

/* ---- which elements go ----------------------------------------------------------------------- */

/* The smallest of a vector. */
static eg_tensor *smallest(eg_tensor *sizes, double density)
{
    if (!sizes) {
        return NULL;
    }
    const int64_t k = (int64_t)nearbyint((1 - density) * (double)sizes->n);
    eg_tensor *none = eg__full_on(sizes->device, EG_SHAPE(sizes->n), 0, EG_BOOL), *least, *at;
    return eg_topk(sizes, k, 0, false, &least, &at) ? NULL : eg_index_fill(none, 0, at, 1);
}

static eg_tensor *sizes_of(eg_tensor *p)
{
    return eg_reshape(eg_abs(p), EG_SHAPE(p->n));
}

static eg_tensor *of_one(eg_tensor *p, const eg_prune_options *o)
{
    return eg_reshape(smallest(sizes_of(p), o->density), eg_shape_of(p));
}

/* All but n of every m, which lie along the last axis while they are looked at. */
static eg_tensor *of_groups(eg_tensor *p, const eg_prune_options *o)
{
    eg_tensor *sizes = eg_transpose(eg_abs(p), o->axis, -1), *least, *at;
    eg_tensor *rows = sizes ? eg_reshape(sizes, EG_SHAPE(-1, o->m)) : NULL;
    if (!rows || eg_topk(rows, o->m - o->n, 1, false, &least, &at)) {
        return NULL;
    }
    eg_tensor *none = eg__full_on(p->device, eg_shape_of(rows), 0, EG_BOOL);
    eg_tensor *ones = eg__full_on(p->device, eg_shape_of(at), 1, EG_BOOL);
    return eg_transpose(eg_reshape(eg_scatter(none, 1, at, ones), eg_shape_of(sizes)), o->axis, -1);
}

/* Of all in one vector, on the device of the first. */
static eg_tensor *of_all(const meant *m, double density)
{
    eg_tensor *all = NULL;
    eg_tensor **sizes = eg__malloc((size_t)m->count * sizeof *sizes);
    if (!sizes) {
        eg__no_memory("eg_prune", m->count * (int64_t)sizeof *sizes);
        return NULL;
    }
    eg_dtype dtype = EG_F32;
    for (int i = 0; i < m->count; i++) {
        dtype = m->p[i]->dtype == EG_F64 ? EG_F64 : dtype;
    }
    for (int i = 0; i < m->count; i++) {
        sizes[i] = eg_to(eg_cast(sizes_of(m->p[i]), dtype), eg__device(m->p[0]));
    }
    all = smallest(eg_concat(sizes, m->count, 0), density);
    free(sizes);
    return all;
}

/* What each parameter is without what goes. */
static eg_status find(meant *m, const eg_prune_options *o)
{
    eg_tensor *all = o->global ? of_all(m, o->density) : NULL;
    int64_t at = 0;
    for (int i = 0; i < m->count; i++) {
        eg_tensor *p = m->p[i], *part = all ? eg_slice(all, 0, at, at + p->n, 1) : NULL;
        eg_tensor *gone = o->global ? eg_to(eg_reshape(part, eg_shape_of(p)), eg__device(p))
                          : o->m    ? of_groups(p, o)
                                    : of_one(p, o);
        m->left[i] = eg_masked_fill(eg_detach(p), gone, 0);
        at += p->n;
        if (!m->left[i]) {
            return eg__why();
        }
    }
    return EG_OK;
}

eg_status eg__prune_check(const char *op, const eg_prune_options *o)
{
    if (o->m || o->n) {
        return o->density != 0 || o->global || o->n < 1 || o->n >= o->m
                   ? eg__fail(EG_EINVAL, op, "%d of %d stay, density %g%s: 0 < n < m, and nothing else", o->n, o->m,
                              o->density, o->global ? ", global" : "")
               : o->axis < 0 ? eg__fail(EG_EINVAL, op, "axis is %d, must be 0 or more", o->axis)
                             : EG_OK;
    }
    return o->density > 0 && o->density <= 1
               ? EG_OK
               : eg__fail(EG_EINVAL, op, "density is %g, must be above 0 and at most 1", o->density);
}

static eg_status prune(const char *op, eg_parameters p, const eg_prune_options *o)
{
    meant m = {0};
    eg_status st = choose(op, p, o, &m);
    st = st ? st : find(&m, o);
    for (int i = 0; i < m.count && !st; i++) {
        st = eg__overwrite(op, m.p[i], m.left[i]);
    }
    free(m.p);
    return st;
}

eg_status eg_prune_with(eg_parameters parameters, const eg_prune_options *options)
{
    static const char op[] = "eg_prune";
    eg_prune_options o;
    eg__options(&o, sizeof o, options);
    o.axis = (int)eg__or(o.axis, 1);
    if (eg__prune_check(op, &o)) {
        return eg__why();
    }
    if (eg__thread_get()->record->recording) {
        return eg__fail(EG_ESTATE, op, "a tape records: ask or close it first");
    }
    eg_scope s = eg_scope_push();
    eg_status st = s.depth ? prune(op, parameters, &o) : eg__why();
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return st;
}

/* ---- how many there are ---------------------------------------------------------------------- */

static double density(const meant *m)
{
    double left = 0, all = 0;
    for (int i = 0; i < m->count; i++) {
        left += eg_get(eg_count_nonzero(eg_detach(m->p[i])), 0);
        all += (double)m->p[i]->n;
    }
    return left / all;
}

double eg_density_with(eg_parameters parameters, const eg_density_options *options)
{
    eg_density_options o;
    meant m = {0};
    eg__options(&o, sizeof o, options);
    const eg_prune_options which = {.name = o.name, .min_axes = o.min_axes, .max_axes = o.max_axes};
    eg_scope s = eg_scope_push();
    const bool fine = s.depth && !choose("eg_density", parameters, &which, &m);
    const double share = fine ? density(&m) : (double)NAN;
    free(m.p);
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    return share;
}
