/* ctc_rows.h - one row of a batch, as kernels of the CPU see it, and what all functions check. */
#ifndef EGRET_OPS_CTC_ROWS_H
#define EGRET_OPS_CTC_ROWS_H

#include "lib/ops/options.h"

/* [T, N, C] floats with such a class, or [T, C] if that is allowed. */
eg_status eg__ctc_check_probs(const char *op, const eg_tensor *x, int64_t blank, bool alone);

typedef struct eg__ctc_row {
    const int64_t *labels;
    int64_t count, frames, states; /* states: 0 if there are more labels than a path has frames */
    double share;                  /* of the loss that is the result's */
} eg__ctc_row;

/* Row r; frames and lengths are i64 or NULL. */
static inline eg__ctc_row eg__ctc_row_of(const eg__ctc_opts *o, const eg_tensor *x, const eg_tensor *targets,
                                         const eg_tensor *frames, const eg_tensor *lengths, int64_t r)
{
    const bool wide = targets->ndim == 2;
    const int64_t *all = (const int64_t *)eg__ptr(targets), *n = o->lengths ? (const int64_t *)eg__ptr(lengths) : NULL;
    int64_t at = wide ? r * targets->shape[1] : 0;
    for (int64_t i = 0; i < r && !wide; i++) {
        at += n[i];
    }
    eg__ctc_row row = {.labels = all + at, .count = n ? n[r] : targets->shape[targets->ndim - 1]};
    row.frames = o->frames ? ((const int64_t *)eg__ptr(frames))[r] : x->shape[0];
    row.states = row.count <= x->shape[0] ? 2 * row.count + 1 : 0;
    row.share = o->shares ? 1 / (double)eg__max(row.count, 1) : 1;
    return row;
}

static inline int64_t eg__ctc_label(const eg__ctc_row *row, int64_t blank, int64_t state)
{
    return state % 2 ? row->labels[state / 2] : blank;
}

/* Whether a path may come to the state from two before it. */
static inline bool eg__ctc_skips(const eg__ctc_row *row, int64_t state)
{
    return state % 2 && state > 2 && row->labels[state / 2] != row->labels[state / 2 - 1];
}

#endif
