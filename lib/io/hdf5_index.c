/* hdf5_index.c - where the chunks of HDF5's datasets are: in trees, in one place, in a row, in arrays (HDF5 File Format
 * Specification 3.0: III.A, VII). */
#include "lib/io/hdf5.h"
#include "lib/core/counted.h"

#include <stdlib.h>

typedef struct indexed {
    eg__hdf5 *h;
    const eg__hdf5_entry *e;
    eg__hdf5_visit_chunk *visit;
    void *user;
    int element; /* of an array: bytes of an entry */
    int page;    /* and entries of a page, as a power of two */
    int first;   /* and the axis along which it grows, if any */
    int offset;  /* and bytes of the number of an entry in it */
} indexed;

static eg_status bad(const indexed *x)
{
    return eg__hdf5_bad(x->h, "damaged is the index of chunks of");
}

/* ---- trees ------------------------------------------------------------------------------------------------ */

/* Size and filters of a chunk, and where it begins, in elements; behind that its address. */
static eg_status visit_tree(void *user, eg__hdf5_bytes r)
{
    const indexed *x = user;
    eg__hdf5_chunk c = {.packed = eg__hdf5_number(&r, 4), .left_out = (uint32_t)eg__hdf5_number(&r, 4)};
    for (int d = 0; d < x->e->about.shape.ndim; d++) {
        const uint64_t begin = eg__hdf5_number(&r, 8), size = (uint64_t)x->e->chunk[d];
        c.which[d] = (int64_t)(begin / size);
        if (begin % size) {
            return bad(x);
        }
    }
    eg__hdf5_take(&r, 8);
    c.at = eg__hdf5_number(&r, 8);
    return x->visit(x->user, &c);
}

static eg_status visit_tree2(void *user, eg__hdf5_bytes r)
{
    const indexed *x = user;
    const int ndim = x->e->about.shape.ndim;
    const int64_t sizes = r.n - 8 - 8 * ndim - (x->e->filters ? 4 : 0);
    eg__hdf5_chunk c = {.at = eg__hdf5_number(&r, 8), .packed = (uint64_t)x->e->bytes};
    if (x->e->filters ? sizes < 1 || sizes > 8 : sizes != 0) {
        return bad(x);
    }
    if (x->e->filters) {
        c.packed = eg__hdf5_number(&r, (int)sizes);
        c.left_out = (uint32_t)eg__hdf5_number(&r, 4);
    }
    for (int d = 0; d < ndim; d++) {
        c.which[d] = (int64_t)(eg__hdf5_number(&r, 8) & INT64_MAX);
    }
    return x->visit(x->user, &c);
}

/* ---- in a row --------------------------------------------------------------------------------------------- */

/* Room for as many as there may ever be, row by row. */
static eg_status visit_row(const indexed *x)
{
    const eg__hdf5_entry *e = x->e;
    const eg_shape *s = &e->about.shape;
    eg__hdf5_chunk c = {.packed = (uint64_t)e->bytes};
    eg_status st = EG_OK;
    for (int d = 0; d >= 0 && !st;) {
        uint64_t place = 0;
        for (d = 0; d < s->ndim; d++) {
            place = place * (uint64_t)e->most[d] + (uint64_t)c.which[d];
        }
        c.at = e->at + place * c.packed;
        st = x->visit(x->user, &c);
        for (d = s->ndim - 1; d >= 0 && ++c.which[d] > (s->dim[d] - 1) / e->chunk[d]; d--) {
            c.which[d] = 0;
        }
    }
    return st;
}

/* ---- arrays ------------------------------------------------------------------------------------------------ */

enum { HEAD = 14 }; /* of all their blocks: word, version, kind, address of the array */

/* The i-th chunk, row by row, the axis first that the array grows along. */
static eg_status visit_entry(const indexed *x, eg__hdf5_bytes *b, uint64_t i)
{
    const int sizes = x->element - 12;
    eg__hdf5_chunk c = {.at = eg__hdf5_number(b, 8), .packed = (uint64_t)x->e->bytes};
    if (x->e->filters) {
        c.packed = eg__hdf5_number(b, sizes);
        c.left_out = (uint32_t)eg__hdf5_number(b, 4);
    }
    if (c.at == EG__HDF5_NOWHERE) {
        return EG_OK;
    }
    for (int d = x->e->about.shape.ndim; d-- > 0;) {
        if (d != x->first) {
            c.which[d] = (int64_t)(i % (uint64_t)x->e->most[d]);
            i /= (uint64_t)x->e->most[d];
        }
    }
    c.which[x->first] = (int64_t)(i & INT64_MAX);
    return x->visit(x->user, &c);
}

static eg_status visit_entries(const indexed *x, uint64_t at, uint64_t n, uint64_t i)
{
    eg__hdf5_bytes b;
    uint8_t *all = eg__hdf5_load(x->h, at, n < INT32_MAX ? n * (uint64_t)x->element : UINT64_MAX, NULL, &b);
    eg_status st = all ? EG_OK : eg__why();
    for (uint64_t k = 0; k < n && !st; k++) {
        st = visit_entry(x, &b, i + k);
    }
    eg__counted_free(all);
    return st;
}

/* Many entries are in pages with a checksum behind each; `written` has a bit for each page that is. */
static eg_status visit_pages(const indexed *x, uint64_t at, uint64_t n, uint64_t i, const uint8_t *written,
                             uint64_t bit)
{
    const uint64_t page = UINT64_C(1) << x->page, bytes = page * (uint64_t)x->element + 4;
    if (n <= page) {
        return visit_entries(x, at, n, i);
    }
    eg_status st = EG_OK;
    for (uint64_t k = 0; k < n && !st; k += page, at += bytes, bit++) {
        if (written[bit / 8] & 0x80 >> bit % 8) {
            st = visit_entries(x, at + 4, n - k < page ? n - k : page, i + k);
        }
    }
    return st;
}

/* Of n entries, how many bytes tell which of their pages were written. */
static uint64_t bytes_of_pages(const indexed *x, uint64_t n)
{
    return n > UINT64_C(1) << x->page ? ((n - 1) >> x->page) / 8 + 1 : 0;
}

/* What both arrays begin with. */
static bool begin_array(indexed *x, eg__hdf5_bytes *b)
{
    eg__hdf5_take(b, 1);
    const bool packed = eg__hdf5_number(b, 1) == 1;
    x->element = (int)eg__hdf5_number(b, 1);
    return packed == (x->e->filters > 0) && (packed ? x->element > 12 && x->element <= 20 : x->element == 8);
}

static eg_status visit_fixed(indexed *x)
{
    eg__hdf5_head k;
    eg__hdf5_bytes b;
    eg_status st = eg__hdf5_look(x->h, x->e->at, 24, "FAHD", &k);
    const bool good = begin_array(x, &k.b);
    x->page = (int)eg__hdf5_number(&k.b, 1);
    const uint64_t n = eg__hdf5_number(&k.b, 8), at = eg__hdf5_number(&k.b, 8);
    if (st || !good || x->page > 32) {
        return st ? st : bad(x);
    }
    if (at == EG__HDF5_NOWHERE) {
        return EG_OK;
    }
    const uint64_t pages = bytes_of_pages(x, n);
    uint8_t *all = eg__hdf5_load(x->h, at, HEAD + pages, "FADB", &b);
    st = all ? visit_pages(x, at + HEAD + pages, n, 0, all + HEAD, 0) : eg__why();
    eg__counted_free(all);
    return st;
}

/* ---- arrays that grow -------------------------------------------------------------------------------------- */

/* Behind entries of its own the index leads to blocks of them, in rows: 1 of n, 1 of 2n, 2 of 2n, 2 of 4n, 4 of 4n, and
 * so on. It has the addresses of the blocks of the first rows, and of each other row that of a block which has them. */
typedef struct growing {
    int bits, least, direct; /* of the number of an entry; n and a row in the index, as powers of two */
    uint64_t own, at;        /* entries in the index, and where it is */
} growing;

static eg_status visit_block(const indexed *x, uint64_t at, uint64_t n, uint64_t i, const uint8_t *written,
                             uint64_t bit)
{
    eg__hdf5_head k;
    if (at == EG__HDF5_NOWHERE) {
        return EG_OK;
    }
    eg_status st = eg__hdf5_look(x->h, at, HEAD, "EADB", &k);
    return st ? st : visit_pages(x, at + HEAD + (uint64_t)x->offset, n, i, written, bit);
}

/* A row of blocks of n, whose addresses come next; each has its part of what tells which pages were written. */
static eg_status visit_blocks(const indexed *x, eg__hdf5_bytes *b, uint64_t blocks, uint64_t n, uint64_t i,
                              const uint8_t *written)
{
    eg_status st = EG_OK;
    for (uint64_t k = 0; k < blocks && !st; k++) {
        const uint64_t at = eg__hdf5_number(b, 8);
        st = b->ended ? bad(x) : visit_block(x, at, n, i + k * n, written, k * (n >> x->page));
    }
    return st;
}

static eg_status visit_far_blocks(const indexed *x, uint64_t at, uint64_t blocks, uint64_t n, uint64_t i)
{
    eg__hdf5_bytes b;
    const uint64_t front = HEAD + (uint64_t)x->offset, bits = blocks * bytes_of_pages(x, n);
    if (at == EG__HDF5_NOWHERE) {
        return EG_OK;
    }
    uint8_t *all = eg__hdf5_load(x->h, at, front + bits + 8 * blocks, "EASB", &b);
    eg__hdf5_take(&b, front - 4 + bits);
    eg_status st = all ? visit_blocks(x, &b, blocks, n, i, all + front) : eg__why();
    eg__counted_free(all);
    return st;
}

static eg_status begin_growing(indexed *x, growing *g)
{
    eg__hdf5_head k;
    eg_status st = eg__hdf5_look(x->h, x->e->at, 68, "EAHD", &k);
    const bool good = begin_array(x, &k.b);
    g->bits = (int)eg__hdf5_number(&k.b, 1);
    g->own = eg__hdf5_number(&k.b, 1);
    g->least = eg__hdf5_power(eg__hdf5_number(&k.b, 1));
    g->direct = eg__hdf5_power(eg__hdf5_number(&k.b, 1));
    x->page = (int)eg__hdf5_number(&k.b, 1);
    x->offset = (g->bits + 7) / 8;
    eg__hdf5_take(&k.b, 48);
    g->at = eg__hdf5_number(&k.b, 8);
    return st                                                                                             ? st
           : !good || g->bits > 48 || g->least < 0 || g->least > g->bits || g->direct < 0 || x->page > 32 ? bad(x)
                                                                                                          : EG_OK;
}

static eg_status visit_growing(indexed *x)
{
    growing g = {0};
    eg__hdf5_bytes b;
    eg_status st = begin_growing(x, &g);
    if (st || g.at == EG__HDF5_NOWHERE) {
        return st;
    }
    const int rows = 1 + g.bits - g.least, near = 2 * g.direct < rows ? 2 * g.direct : rows;
    const uint64_t blocks = 2 * ((UINT64_C(1) << g.direct) - 1);
    uint64_t i = 0;
    uint8_t *all = eg__hdf5_load(
        x->h, g.at, HEAD + g.own * (uint64_t)x->element + 8 * (blocks + (uint64_t)(rows - near)), "EAIB", &b);
    st = all ? EG_OK : eg__why();
    eg__hdf5_take(&b, HEAD - 4);
    for (; i < g.own && !st; i++) {
        st = visit_entry(x, &b, i);
    }
    for (int row = 0; row < rows && !st; row++) {
        const uint64_t many = UINT64_C(1) << row / 2, n = UINT64_C(1) << ((row + 1) / 2 + g.least);
        if (row >= near) {
            st = visit_far_blocks(x, eg__hdf5_number(&b, 8), many, n, i);
        } else if (n > UINT64_C(1) << x->page) {
            st = bad(x);
        } else {
            st = visit_blocks(x, &b, many, n, i, NULL);
        }
        i += many * n;
    }
    eg__counted_free(all);
    return st;
}

/* ---- any ---------------------------------------------------------------------------------------------------- */

eg_status eg__hdf5_chunks(eg__hdf5 *h, const eg__hdf5_entry *e, eg__hdf5_visit_chunk *visit, void *user)
{
    indexed x = {.h = h, .e = e, .visit = visit, .user = user};
    const eg__hdf5_chunk single = {
        .at = e->at, .packed = e->packed ? e->packed : (uint64_t)e->bytes, .left_out = e->left_out};
    if (e->at == EG__HDF5_NOWHERE) {
        return EG_OK;
    }
    switch (e->index) {
    case EG__HDF5_TREE_1:
        return eg__hdf5_tree(h, e->at, 1, 16 + 8 * e->about.shape.ndim, visit_tree, &x);
    case EG__HDF5_SINGLE:
        return visit(user, &single);
    case EG__HDF5_IMPLICIT:
        return visit_row(&x);
    case EG__HDF5_FIXED:
        return visit_fixed(&x);
    case EG__HDF5_EXTENSIBLE:
        for (int d = 0; d < e->about.shape.ndim; d++) {
            x.first = e->most[d] < 0 ? d : x.first;
        }
        return visit_growing(&x);
    default:
        return eg__hdf5_tree2(h, e->at, e->filters ? 11 : 10, visit_tree2, &x);
    }
}
