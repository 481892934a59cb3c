/* resize.c - resizing and its adjoint, one axis after the other: rows are resized along themselves
 * when the first result needs them and summed across while they are in the cache. */
#include <egret/ops/resize.h>

#include "lib/cpu/pointwise/convert.h"
#include "lib/ops/resize.h"

eg__kernel ISA(eg__cpu_resize), ISA(eg__cpu_resize_grad);

/* Two axes of a picture: `units` pictures of rows_in rows of row_in elements. */
typedef struct job {
    const eg__band *across, *along; /* of rows, of the places in a row; NULL: as they are */
    char *x, *y;
    size_t element;
    int dtype;
    int64_t units, rows_in, rows_out, row_in, row_out, inner; /* inner: elements of a place */
    void *table; /* `along` spread for gathering; NULL: places are summed as rows */
    int32_t *table_first;
    int64_t parts, ring;
    char *buffers;
    size_t buffer_bytes;
} job;

#define T       float
#define LANE(x) x##_f32
#include "lib/cpu/image/resize_rows.h"
#undef T
#undef LANE

#define T       double
#define LANE(x) x##_f64
#include "lib/cpu/image/resize_rows.h"
#undef T
#undef LANE

/* ---- nearest: elements are copied, whatever they are ----------------------------------------- */

#define PICK(bits)                                                            \
    case bits / 8:                                                            \
        for (int64_t i = 0; i < n; i++) {                                     \
            ((uint##bits##_t *)y)[i] = ((const uint##bits##_t *)x)[first[i]]; \
        }                                                                     \
        break;

static void pick(int64_t n, const int32_t *restrict first, size_t bytes, const char *restrict x, char *restrict y)
{
    switch (bytes) {
        PICK(8)
        PICK(16)
        PICK(32)
        PICK(64)
    default:
        for (int64_t i = 0; i < n; i++) {
            memcpy(y + (size_t)i * bytes, x + (size_t)first[i] * bytes, bytes);
        }
    }
}

static void nearest_part(const job *j, int64_t begin, int64_t end)
{
    size_t bytes = (size_t)j->row_out * j->element;
    int64_t last = -1;
    for (int64_t item = begin; item < end; item++) {
        int64_t unit = item / j->rows_out, o = item % j->rows_out;
        int64_t at = unit * j->rows_in + (j->across ? j->across->first[o] : o);
        char *to = j->y + (size_t)item * bytes;
        const char *from = j->x + (size_t)(at * j->row_in) * j->element;
        if (at == last) {
            memcpy(to, to - bytes, bytes);
        } else if (j->along) {
            pick(j->along->n, j->along->first, (size_t)j->inner * j->element, from, to);
        } else {
            memcpy(to, from, bytes);
        }
        last = at;
    }
}

/* ---- a job ----------------------------------------------------------------------------------- */

static void run_parts(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    int64_t items = j->units * j->rows_out;
    for (int64_t part = begin; part < end; part++) {
        int64_t from = items * part / j->parts, to = items * (part + 1) / j->parts;
        if (!j->buffers) {
            nearest_part(j, from, to);
        } else if (j->dtype == EG_F64) {
            part_f64(j, part, from, to);
        } else {
            part_f32(j, part, from, to);
        }
    }
}

enum { SHORT_PLACE = 16 }; /* elements of a place up to which gathering is better */

/* Sums bands over j's pictures; `copies` means nearest, forwards. */
static eg_status run_job(const eg__call *c, job *j, bool copies)
{
    size_t wide = j->dtype == EG_F64 ? 8 : 4, table = 0;
    const eg__band *b = j->along;
    int64_t work = j->units * eg__max(j->rows_out * j->row_out, j->rows_in * j->row_in);
    j->parts = eg__max(1, eg__min(eg_threads(), work / EG__GRAIN));
    j->parts = eg__min(j->parts, eg__max(1, j->units * j->rows_out));
    if (copies) {
        eg__parallel(j->parts, 1, run_parts, j);
        return EG_OK;
    }
    if (b && j->inner < SHORT_PLACE && b->source * j->inner <= INT32_MAX) {
        table = (size_t)j->row_out * ((size_t)b->width * wide + sizeof(int32_t));
    }
    table = (table + 63) & ~(size_t)63;
    j->ring = j->across ? j->across->width : 1;
    j->buffer_bytes = (size_t)((j->ring + 1) * j->row_out + j->row_in) * wide;
    j->buffer_bytes = (j->buffer_bytes + (size_t)j->ring * sizeof(int64_t) + 127) & ~(size_t)63;
    eg__scratch s;
    eg_status st = eg__scratch_get(c, table + (size_t)j->parts * j->buffer_bytes, &s);
    if (st) {
        return st;
    }
    j->buffers = (char *)s.data + table;
    if (table) {
        j->table = s.data;
        j->table_first = (int32_t *)((char *)s.data + (size_t)(b->width * j->row_out) * wide);
        if (wide == 8) {
            fill_table_f64(b, j->inner, j->table, j->table_first);
        } else {
            fill_table_f32(b, j->inner, j->table, j->table_first);
        }
    }
    eg__parallel(j->parts, 1, run_parts, j);
    eg__scratch_put(c, &s);
    return EG_OK;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Geometry of a whole call: pictures of up to three axes, each place of `inner` elements. */
typedef struct picture {
    int64_t units, inner, from[3], to[3];
    eg__band band[3];
} picture;

static const eg__band *band_of(const picture *p, int axis)
{
    return p->band[axis].identity ? NULL : &p->band[axis];
}

/* The last two axes, of `depth` slices each. */
static eg_status resize_slices(const eg__call *c, const picture *p, char *x, char *y, int64_t depth, bool copies)
{
    job j = {.across = band_of(p, 1),
             .along = band_of(p, 2),
             .x = x,
             .y = y,
             .element = eg__esize(c->out[0]),
             .dtype = c->out[0]->dtype,
             .units = p->units * depth,
             .rows_in = p->from[1],
             .rows_out = p->to[1],
             .row_in = p->from[2] * p->inner,
             .row_out = p->to[2] * p->inner,
             .inner = p->inner};
    return run_job(c, &j, copies);
}

/* The first axis; slices of rows x cols places are its rows. */
static eg_status resize_depth(const eg__call *c, const picture *p, char *x, char *y, const int64_t *size, bool copies)
{
    int64_t slice = size[1] * size[2] * p->inner;
    job j = {.across = band_of(p, 0),
             .x = x,
             .y = y,
             .element = eg__esize(c->out[0]),
             .dtype = c->out[0]->dtype,
             .units = p->units,
             .rows_in = p->from[0],
             .rows_out = p->to[0],
             .row_in = slice,
             .row_out = slice,
             .inner = 1};
    return run_job(c, &j, copies);
}

static eg_status resize(const eg__call *c, const picture *p, char *x, char *y, bool copies)
{
    if (p->band[0].identity) {
        return resize_slices(c, p, x, y, p->from[0], copies);
    }
    if (p->band[1].identity && p->band[2].identity) {
        return resize_depth(c, p, x, y, p->from, copies);
    }
    /* Fewer slices first. */
    bool depth_first = p->to[0] <= p->from[0];
    const int64_t *size = depth_first ? p->from : p->to;
    int64_t slices = depth_first ? p->to[0] : p->from[0];
    eg__scratch s;
    eg_status st =
        eg__scratch_get(c, (size_t)(p->units * slices * size[1] * size[2] * p->inner) * eg__esize(c->out[0]), &s);
    if (st) {
        return st;
    }
    if (depth_first) {
        st = resize_depth(c, p, x, s.data, p->from, copies);
        st = st ? st : resize_slices(c, p, s.data, y, slices, copies);
    } else {
        st = resize_slices(c, p, x, s.data, slices, copies);
        st = st ? st : resize_depth(c, p, s.data, y, p->to, copies);
    }
    eg__scratch_put(c, &s);
    return st;
}

static eg_status run(const eg__call *c, bool adjoint)
{
    extern const eg__op eg__op_copy;
    const eg__resize_opts *o = c->opts;
    eg_tensor *x = c->in[0];
    bool channels_last = !(x->flags & EG__DENSE) && eg_is_channels_last(x);
    eg_status st = EG_OK;
    if (!(x->flags & EG__DENSE) && !channels_last) {
        eg__desc d = {.dtype = x->dtype, .ndim = x->ndim};
        memcpy(d.shape, x->shape, sizeof d.shape);
        eg__desc_dense(&d);
        eg_tensor *dense = eg__new(&d, c->op->name, c->op->id);
        st = dense ? eg__run(&eg__op_copy, &x, 1, &(eg__copy_opts){EG__TO_DENSE}, dense) : EG_ENOMEM;
        x = dense;
    }
    if (st || !c->out[0]->n) {
        return st;
    }
    picture p = {.units = x->shape[0] * (channels_last ? 1 : x->shape[1]), .inner = channels_last ? x->shape[1] : 1};
    for (int k = 0, a = o->naxes - 3; k < 3 && !st; k++, a++) {
        p.band[k].identity = true;
        p.from[k] = p.to[k] = 1;
        if (a >= 0) {
            p.from[k] = adjoint ? o->out[a] : o->in[a];
            p.to[k] = adjoint ? o->in[a] : o->out[a];
            st = eg__band_make(c, o, a, adjoint, &p.band[k]);
        }
    }
    bool nearest = o->mode == EG_RESIZE_NEAREST || o->mode == EG_RESIZE_NEAREST_EXACT;
    st = st ? st : resize(c, &p, eg__ptr(x), eg__ptr(c->out[0]), nearest && !adjoint);
    for (int k = 0; k < 3; k++) {
        eg__scratch_put(c, &p.band[k].memory);
    }
    return st;
}

eg_status ISA(eg__cpu_resize)(const eg__call *c)
{
    return run(c, false);
}

eg_status ISA(eg__cpu_resize_grad)(const eg__call *c)
{
    return run(c, true);
}
