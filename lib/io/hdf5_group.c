/* hdf5_group.c - the links of HDF5's groups: in tables of symbols, in the header, or apart from it (HDF5 File Format
 * Specification 3.0: III.B to D, IV.A.2.c, g and r). */
#include "lib/io/hdf5.h"
#include "lib/core/counted.h"

#include <stdlib.h>

typedef struct group {
    eg__hdf5 *h;
    eg__hdf5_visit_link *visit;
    void *user;
    const char *names; /* of symbols */
    uint64_t bytes;
} group;

static eg_status bad(const group *g)
{
    return eg__hdf5_bad(g->h, "damaged is a link in");
}

/* ---- tables of symbols ------------------------------------------------------------------------------------ */

/* The name there, with a zero behind it; NULL: there is none. */
static const char *name_at(const group *g, uint64_t at, size_t *length)
{
    const char *end = at < g->bytes ? memchr(g->names + at, 0, g->bytes - at) : NULL;
    *length = end ? (size_t)(end - (g->names + at)) : 0;
    return end ? g->names + at : NULL;
}

static eg_status visit_table(void *user, eg__hdf5_bytes record)
{
    enum { SYMBOL = 40, SOFT = 2 };
    const group *g = user;
    eg__hdf5_head k;
    eg__hdf5_bytes b;
    eg__hdf5_take(&record, 8);
    const uint64_t at = eg__hdf5_number(&record, 8);
    eg_status st = eg__hdf5_look(g->h, at, 8, "SNOD", &k);
    eg__hdf5_take(&k.b, 2);
    const uint64_t n = eg__hdf5_number(&k.b, 2);
    uint8_t *all = st ? NULL : eg__hdf5_load(g->h, at + 8, n * SYMBOL, NULL, &b);
    st = all ? EG_OK : eg__why();
    for (uint64_t i = 0; i < n && !st; i++) {
        eg__hdf5_link l = {0};
        l.name = name_at(g, eg__hdf5_number(&b, 8), &l.length);
        l.object = eg__hdf5_number(&b, 8);
        const bool soft = eg__hdf5_number(&b, 4) == SOFT;
        eg__hdf5_take(&b, 4);
        const uint64_t target = eg__hdf5_number(&b, 4);
        eg__hdf5_take(&b, 12);
        if (soft) {
            l.object = EG__HDF5_NOWHERE;
            l.target = name_at(g, target, &l.target_length);
        }
        st = !l.name || (soft && !l.target) ? bad(g) : g->visit(g->user, &l);
    }
    eg__counted_free(all);
    return st;
}

static eg_status visit_tables(group *g, eg__hdf5_bytes m)
{
    const uint64_t tree = eg__hdf5_number(&m, 8), heap = eg__hdf5_number(&m, 8);
    eg__hdf5_head k;
    eg__hdf5_bytes b;
    eg_status st = eg__hdf5_look(g->h, heap, 32, "HEAP", &k);
    eg__hdf5_take(&k.b, 4);
    g->bytes = eg__hdf5_number(&k.b, 8);
    eg__hdf5_take(&k.b, 8);
    uint8_t *all = st ? NULL : eg__hdf5_load(g->h, eg__hdf5_number(&k.b, 8), g->bytes, NULL, &b);
    g->names = (const char *)all;
    st = all ? eg__hdf5_tree(g->h, tree, 0, 8, visit_table, g) : eg__why();
    eg__counted_free(all);
    return st;
}

/* ---- messages ---------------------------------------------------------------------------------------------- */

static eg_status visit_message(void *user, eg__hdf5_bytes m)
{
    enum { HARD, SOFT };
    const group *g = user;
    eg__hdf5_take(&m, 1);
    const uint64_t flags = eg__hdf5_number(&m, 1), type = flags & 8 ? eg__hdf5_number(&m, 1) : HARD;
    eg__hdf5_take(&m, (flags & 4 ? 8 : 0) + (flags & 16 ? 1 : 0)); /* which it was, and the name's encoding */
    eg__hdf5_link l = {.object = EG__HDF5_NOWHERE, .length = eg__hdf5_number(&m, 1 << (flags & 3))};
    l.name = (const char *)eg__hdf5_take(&m, l.length);
    if (type == HARD) {
        l.object = eg__hdf5_number(&m, 8);
    } else if (type == SOFT) {
        l.target_length = eg__hdf5_number(&m, 2);
        l.target = (const char *)eg__hdf5_take(&m, l.target_length);
    }
    return m.ended ? bad(g) : g->visit(g->user, &l);
}

/* Where links are that are apart from the header, if they are. */
static eg__hdf5_dense dense_of(eg__hdf5_bytes m)
{
    eg__hdf5_dense d = {.type = 5, .skip = 4};
    eg__hdf5_take(&m, 1);
    eg__hdf5_take(&m, eg__hdf5_number(&m, 1) & 1 ? 8 : 0);
    d.heap = eg__hdf5_number(&m, 8);
    d.tree = eg__hdf5_number(&m, 8);
    return m.ended ? (eg__hdf5_dense){.heap = EG__HDF5_NOWHERE} : d;
}

eg_status eg__hdf5_links(eg__hdf5 *h, const eg__hdf5_header *d, eg__hdf5_visit_link *visit, void *user)
{
    group g = {.h = h, .visit = visit, .user = user};
    eg_status st = EG_OK;
    for (uint32_t i = 0; i < d->count && !st; i++) {
        const eg__hdf5_message *m = &d->message[i];
        if (m->type == EG__HDF5_SYMBOLS) {
            st = visit_tables(&g, m->bytes);
        } else if (m->type == EG__HDF5_LINK) {
            st = visit_message(&g, m->bytes);
        } else if (m->type == EG__HDF5_LINK_INFO) {
            const eg__hdf5_dense apart = dense_of(m->bytes);
            st = apart.heap == EG__HDF5_NOWHERE ? EG_OK : eg__hdf5_objects(h, &apart, visit_message, &g);
        }
    }
    return st;
}
