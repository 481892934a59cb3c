/* scan.c - the host side of running sums, products and extremes, and of recurrences. */
#include "lib/cuda/reduce/scan.h"
#include "lib/cuda/common/launches.h"
#include "lib/ops/options.h"

/* ---- sharing out ------------------------------------------------------------------------------------- */

/* Cut into parts where lines are too few to keep the device busy: `least` elements each, a multiple of `unit`,
 * as many as make `threads` busy together. */
static void cut(eg__lines *l, int64_t threads, int64_t least, int64_t unit)
{
    const int64_t busy = l->at.n * l->lanes;
    if (busy * 2 > threads || l->n < 4 * least) {
        return;
    }
    const int64_t parts = eg__min(eg__min(threads / busy, l->n / least), 65535);
    l->part = ((l->n + parts - 1) / parts + unit - 1) / unit * unit;
    l->parts = (unsigned)((l->n + l->part - 1) / l->part);
}

/* Quads of elements are read and written as such where all lines begin at whole ones. */
static bool whole_quads(const eg__lines *l)
{
    for (int k = 0; k < l->nops; k++) {
        const int64_t bytes = eg__min(16, 4 * l->size[k]);
        int64_t off = (int64_t)(uintptr_t)l->p[k] % bytes;
        for (int d = 0; d < l->at.ndim; d++) {
            off |= l->at.stride[k][d] % bytes;
        }
        if (off || l->step[k] != l->size[k]) {
            return false;
        }
    }
    return true;
}

static eg_status scan(const eg__call *c, eg__lines *l, eg__scanner how)
{
    const int64_t processors = eg__cuda_at(c->device)->processors;
    eg__block *scratch = NULL;
    eg_status st = EG_OK;
    if (!c->out[0]->n) {
        return EG_OK;
    }
    l->along |= l->at.n < 32; /* too few for a warp across them */
    if (l->along) {
        l->side = whole_quads(l);
        l->lanes = (unsigned)eg__power((l->n + 7) / 8, l->n <= 1024 ? 32 : 256);
        cut(l, processors * 1024, 8192, 1024);
    } else {
        l->lanes = 1;
        cut(l, processors * 1024, 64, 4);
    }
    if (l->parts > 1) {
        st = eg__cuda_scratch(c, (size_t)l->at.n * l->parts * EG__SCAN_BYTES, &scratch);
        l->parts_at = st ? NULL : scratch->data;
    }
    st = st ? st : eg__launched(c, eg__launch_scan(l, how, eg__stream_of(c)));
    eg__cuda_scratch_end(scratch);
    return st;
}

/* ---- the ops ----------------------------------------------------------------------------------------- */

static eg_status running(const eg__call *c, eg__scanner how, int nops)
{
    eg__lines l;
    eg__lines_make(&l, (eg_tensor *[]){c->in[0], c->out[0], c->out[1]}, nops, ((const eg__scan_opts *)c->opts)->axis);
    return scan(c, &l, how);
}

eg_status eg__cuda_cumsum(const eg__call *c)
{
    return running(c, EG__SCAN_SUM, 2);
}

eg_status eg__cuda_cumprod(const eg__call *c)
{
    return running(c, EG__SCAN_PRODUCT, 2);
}

eg_status eg__cuda_cummax(const eg__call *c)
{
    return running(c, EG__SCAN_MAX, 3);
}

eg_status eg__cuda_cummin(const eg__call *c)
{
    return running(c, EG__SCAN_MIN, 3);
}

/* y_j is of a_j and b_j; the other way round of a_(j+1) and b_j, from the last on. */
eg_status eg__cuda_recurrence(const eg__call *c)
{
    const eg__scan_opts *o = c->opts;
    eg__lines l;
    eg__lines_make(&l, (eg_tensor *[]){c->in[0], c->in[1], c->out[0]}, 3, o->axis);
    for (int k = 0; k < 3 && o->reverse; k++) {
        l.p[k] += (l.n - (k > 0)) * l.step[k];
        l.step[k] = -l.step[k];
    }
    return scan(c, &l, EG__SCAN_RECURRENCE);
}
