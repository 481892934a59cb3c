/* write_ops.c - the table of ops and how a call goes through it; formulas of pointwise ops: write_pointwise.c. */
#include <stdio.h>
#include <string.h>

#include <egret/error.h>
#include <egret/ops.h>

#include "nn/onnx/write_rows.h"

static eg_status node(eg__onnx_writer *w, const eg_op_call *c, const char *op)
{
    eg__val in[3];
    for (int i = 0; i < c->nin && i < 3; i++) {
        in[i] = eg__of(w, c->in[i]);
    }
    eg__set_output(w, c->out[0], eg__put_node(w, op, in, c->nin));
    return EG_OK;
}

static const eg__write_row rows[] = {
#define NODE(row, operator)                        {#row, node, NULL, operator, EG__BATCH_EACH, EG__WRITTEN},
#define POINT(row, function, options)              {#row, NULL, eg__point_##function, "", EG__BATCH_EACH, EG__WRITTEN},
#define WRITE(row, function, told, batch, options) {#row, eg__write_##function, NULL, told, EG__##batch, EG__WRITTEN},
#define NONE(row, why)                             {#row, NULL, NULL, "", EG__BATCH_NEVER, EG__##why},
#include "nn/onnx/write.def"
#undef NODE
#undef POINT
#undef WRITE
#undef NONE
};

enum { ROWS = sizeof rows / sizeof *rows };

/* ---- refusals ----------------------------------------------------------------------------------------- */

eg_status eg__onnx_cannot(const eg_op_call *c, const char *why)
{
    return eg_failf(EG_ENOKERNEL, eg__onnx_save_name, "%.60s cannot be written: %s", c->op, why);
}

static eg_status unwritten(const eg_op_call *c, eg__unwritten why)
{
    static const char *const words[] = {
        [EG__OF_GRADIENT] = "it computes gradients",
        [EG__OF_UPDATE] = "it is a step of an optimizer",
        [EG__OF_CHANCE] = "it draws random numbers: eg_module_eval switches layers that do to inference",
        [EG__WITHOUT] = "it has no inputs",
        [EG__NO_OPERATOR] = "ONNX has no operator for it, and no short composition is exact enough",
        [EG__TO_DO] = "operators of version 20 do not compute it"};
    return eg__onnx_cannot(c, words[why]);
}

/* ---- the batch ---------------------------------------------------------------------------------------- */

static eg_status batch_refused(const eg_op_call *c, const char *why)
{
    return eg_failf(EG_ENOKERNEL, eg__onnx_save_name, "%.60s cannot be written with .any_batch: %s", c->op, why);
}

eg_status eg__not_along_batch(const eg__onnx_writer *w, const eg_op_call *c, int axis)
{
    const int from_end = eg__batch_of(w, c->in[0]).from_end;
    return from_end && axis == eg_ndim(c->in[0]) - from_end
               ? batch_refused(c, "it works along the batch, whose size the nodes would have to know")
               : EG_OK;
}

/* Inputs that are broadcast with each other have the axis in the same place, or one row there. */
static eg_status batch_of_each(const eg__onnx_writer *w, const eg_op_call *c, eg__batch *b)
{
    for (int i = 0; i < c->nin; i++) {
        const eg__batch here = eg__batch_of(w, c->in[i]);
        if (here.from_end && b->from_end && (here.from_end != b->from_end || here.times != b->times)) {
            return batch_refused(c, "its inputs have the batch in different axes");
        }
        *b = here.from_end ? here : *b;
    }
    for (int i = 0; i < c->nin && b->from_end; i++) {
        const bool has = c->in[i] && !eg__batch_of(w, c->in[i]).from_end && eg_ndim(c->in[i]) >= b->from_end;
        if (has && eg_size(c->in[i], -b->from_end) != 1) {
            return batch_refused(c, "an input that is not of the batch has as many rows as the example");
        }
    }
    return EG_OK;
}

static eg_status batch_of_result(const eg__onnx_writer *w, const eg_op_call *c, eg__batch_rule rule, eg__batch *b)
{
    if (rule == EG__BATCH_EACH) {
        return batch_of_each(w, c, b);
    }
    for (int i = 0; i < c->nin && rule != EG__BATCH_OWN; i++) {
        const eg__batch here = eg__batch_of(w, c->in[i]);
        if (here.from_end && (i || rule == EG__BATCH_NEVER)) {
            return batch_refused(c, i ? "an input that is shared by all rows has the batch"
                                      : "its results do not grow row by row");
        }
        *b = here.from_end ? here : *b;
    }
    return EG_OK;
}

/* ---- a call ------------------------------------------------------------------------------------------- */

static eg_status write_call(eg__onnx_writer *w, const eg_op_call *c, const eg__write_row *row)
{
    if (row->why) {
        return unwritten(c, row->why);
    }
    if (!row->point) {
        return row->write(w, c, row->told);
    }
    eg__val in[2] = {eg__none(), eg__none()};
    for (int i = 0; i < c->nin && i < 2; i++) {
        in[i] = eg__put_wide(w, eg__of(w, c->in[i]));
    }
    eg__set_output(w, c->out[0], row->point(w, c, in[0], in[1]));
    return EG_OK;
}

/* Results that no node gives must not be taken for constants. */
static eg_status finish(eg__onnx_writer *w, const eg_op_call *c, const eg__write_row *row, eg__batch batch)
{
    for (int j = 0; j < c->nout && !w->status; j++) {
        char name[80];
        snprintf(name, sizeof name, "output %d of %.40s", j, c->op);
        if (!c->out[j]) {
            continue;
        }
        if (!eg__onnx_seen_of(w, c->out[j])) {
            eg__onnx_see(w, c->out[j], name, EG__ONNX_UNWRITTEN);
        } else if (row->batch != EG__BATCH_OWN) {
            eg__batch_set(w, c->out[j], batch);
        }
        const eg__batch b = eg__batch_of(w, c->out[j]);
        if (b.from_end && (b.from_end > eg_ndim(c->out[j]) || eg_size(c->out[j], -b.from_end) != b.times * w->batch)) {
            return batch_refused(c, "its result has other rows");
        }
    }
    return w->status;
}

eg_status eg__onnx_write_op(eg__onnx_writer *w, const eg_op_call *c)
{
    for (int i = 0; i < ROWS; i++) {
        if (!strcmp(rows[i].op, c->op)) {
            eg__batch batch = {0, 0};
            eg_status st = w->batch >= 0 ? batch_of_result(w, c, rows[i].batch, &batch) : EG_OK;
            st = st ? st : write_call(w, c, &rows[i]);
            return st ? st : finish(w, c, &rows[i], batch);
        }
    }
    return eg__onnx_cannot(c, "it is not in the table of ops that are written");
}
