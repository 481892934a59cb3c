/* rnn.c - what the golden cases of recurrent layers stand for: several layers and directions are
 * made here of single ones. */
#include "tests/golden/golden.h"

typedef struct stack {
    const golden_case *c;
    bool lstm, bias, project, both;
    int next; /* the next weight */
    eg_tensor *lengths;
} stack;

static eg_tensor *take(stack *s, bool there)
{
    return there ? s->c->x[s->next++] : NULL;
}

/* One direction of one layer, with initial states number `lane`. */
static eg_rnn lane(stack *s, eg_tensor *x, int64_t number, bool reverse)
{
    eg_tensor *h0 = eg_select(s->c->x[1], 0, number);
    eg_tensor *w_ih = take(s, true), *w_hh = take(s, true);
    eg_tensor *b_ih = take(s, s->bias), *b_hh = take(s, s->bias);
    if (s->lstm) {
        return eg_lstm(x, w_ih, w_hh, .b_ih = b_ih, .b_hh = b_hh, .h0 = h0, .c0 = eg_select(s->c->x[2], 0, number),
                       .w_hr = take(s, s->project), .lengths = s->lengths, .reverse = reverse);
    }
    return eg_gru(x, w_ih, w_hh, .b_ih = b_ih, .b_hh = b_hh, .h0 = h0, .lengths = s->lengths, .reverse = reverse);
}

static bool layers(const golden_case *c, eg_tensor **out)
{
    int64_t lengths[GOLDEN_LIST];
    int n = golden_list(c, "lengths", lengths), count = (int)golden_number(c, "layers", 1);
    stack s = {.c = c,
               .lstm = !strcmp(c->op, "lstm"),
               .bias = golden_number(c, "bias", 1) != 0,
               .project = golden_number(c, "proj", 0) != 0,
               .both = golden_number(c, "bidirectional", 0) != 0};
    s.next = s.lstm ? 3 : 2;
    s.lengths = n ? eg_from(EG_SHAPE(n), EG_I64, lengths) : NULL;
    eg_tensor *x = c->x[0], *h[4], *cell[4];
    for (int l = 0; l < count; l++) {
        eg_rnn r = lane(&s, x, l * (s.both ? 2 : 1), false);
        if (s.both) {
            r = eg_rnn_join(r, lane(&s, x, 2 * l + 1, true));
        } else {
            r.h = eg_unsqueeze(r.h, 0);
            r.c = s.lstm ? eg_unsqueeze(r.c, 0) : NULL;
        }
        x = r.y;
        h[l] = r.h;
        cell[l] = r.c;
    }
    out[0] = x;
    out[1] = eg_concat(h, count, 0);
    out[2] = s.lstm ? eg_concat(cell, count, 0) : NULL;
    return out[0] && out[1] && (out[2] || !s.lstm);
}

static bool lstm_cell(const golden_case *c, eg_tensor **out)
{
    eg_rnn r = eg_lstm_cell(c->x[0], c->x[3], c->x[4], .h0 = c->x[1], .c0 = c->x[2], .b_ih = c->x[5], .b_hh = c->x[6]);
    out[0] = r.h;
    out[1] = r.c;
    return r.h;
}

static eg_tensor *gru_cell(const golden_case *c)
{
    return eg_gru_cell(c->x[0], c->x[2], c->x[3], .h0 = c->x[1], .b_ih = c->x[4], .b_hh = c->x[5]).h;
}

static bool gru_reset_before(const golden_case *c, eg_tensor **out)
{
    eg_rnn r = eg_gru(c->x[0], c->x[2], c->x[3], .h0 = c->x[1], .b_ih = c->x[4], .reset_before = true);
    out[0] = r.y;
    out[1] = r.h;
    return r.y;
}

static bool lstm_clipped(const golden_case *c, eg_tensor **out)
{
    eg_rnn r = eg_lstm(c->x[0], c->x[3], c->x[4], .h0 = c->x[1], .c0 = c->x[2], .b_hh = c->x[5],
                       .clip = golden_number(c, "clip", 0));
    out[0] = r.y;
    out[1] = r.h;
    out[2] = r.c;
    return r.y;
}

GOLDEN_ROWS(rnn, {.op = "lstm", .many = layers}, {.op = "gru", .many = layers}, {.op = "lstm_cell", .many = lstm_cell},
            {.op = "gru_cell", .one = gru_cell}, {.op = "gru_reset_before", .many = gru_reset_before},
            {.op = "lstm_clipped", .many = lstm_clipped})
