/* cvt_heads.c - taggers and parsers, and the views by which they learn from what nobody has marked (Clark et al. 2018).
 */
#include <math.h>

#include "nn/models/text/cvt.h"

enum { VIEWS = 6, PRIMARY = 0, NARROW = 128 };

typedef enum source { ALL, THERE, BACK } source;

/* What a view looks at: states of the word, of a parser also of what that may hang on; of a tagger the word it speaks
 * of may be the next one (1), or the one before (-1). */
typedef struct look {
    const char *name;
    source word, on;
    int shift;
    bool linear; /* no relu */
} look;

static const look tagger_looks[VIEWS] = {
    {.name = "primary"},
    {.name = "full", .linear = true},
    {.name = "forward", .word = THERE},
    {.name = "backward", .word = BACK},
    {.name = "future", .word = THERE, .shift = 1},
    {.name = "past", .word = BACK, .shift = -1},
};
static const look parser_looks[VIEWS] = {
    {.name = "primary"},
    {.name = "full"},
    {.name = "there_there", .word = THERE, .on = THERE},
    {.name = "there_back", .word = THERE, .on = BACK},
    {.name = "back_there", .word = BACK, .on = THERE},
    {.name = "back_back", .word = BACK, .on = BACK},
};

/* ---- arcs: one view of a parser ------------------------------------------------------------------ */

typedef struct arcs {
    eg_module base;
    eg_module *word, *on;   /* states to `width` columns: of what hangs, and of what it hangs on */
    eg_module *narrow;      /* of the former to NARROW */
    eg_module *root;        /* these to the score of being it */
    eg_tensor *own, *every; /* [relations, NARROW, width], [1, NARROW, width]: of each relation, and of all */
    eg_tensor *scale;       /* [1]: both sides are divided by it */
} arcs;

static eg_tensor *hidden(const arcs *a, eg_module *layer, eg_tensor *states, double dropout)
{
    return eg__dropped(eg_relu(eg_module_forward(layer, states)), dropout, &a->base);
}

/* 0 for words that there are, -100 behind the ends, [N, 1, T, 1]. */
static eg_tensor *beyond(eg_tensor *mask)
{
    return eg_unsqueeze(eg_unsqueeze(eg_mul_scalar(eg_sub_scalar(mask, 1), 100), 1), 3);
}

/* [N, T, 1 + T relations]. */
static eg_tensor *score(const arcs *a, eg_tensor *word, eg_tensor *on, eg_tensor *mask, double dropout)
{
    const int64_t n = eg_size(word, 0), steps = eg_size(word, 1), relations = eg_size(a->own, 0);
    eg_tensor *side = eg_div(eg_module_forward(a->narrow, hidden(a, a->word, word, dropout)), a->scale);
    eg_tensor *weight = eg_flatten(eg_add(a->own, a->every), 0, 1);
    eg_tensor *other = eg_div(eg_linear(hidden(a, a->on, on, dropout), weight, NULL), a->scale);
    other = eg_reshape(other, EG_SHAPE(n, steps * relations, NARROW));
    eg_tensor *scores = eg_matmul(side, eg_permute(other, EG_AXES(0, 2, 1)));
    scores = eg_add(eg_reshape(scores, EG_SHAPE(n, steps, steps, relations)), beyond(mask));
    eg_tensor *both[2] = {eg_module_forward(a->root, side), eg_flatten(scores, 2, 3)};
    return both[0] && both[1] ? eg_concat(both, 2, 2) : NULL;
}

static void arcs_members(eg_module *m, eg_members *walk)
{
    arcs *a = (arcs *)m;
    eg_member_child(walk, "word", &a->word);
    eg_member_child(walk, "on", &a->on);
    eg_member_child(walk, "narrow", &a->narrow);
    eg_member_child(walk, "root", &a->root);
    eg_member_parameter(walk, "own", &a->own);
    eg_member_parameter(walk, "every", &a->every);
    eg_member_parameter(walk, "scale", &a->scale);
}

static const eg_module_kind arcs_kind = {.size = sizeof(eg_module_kind), .name = "cvt_arcs", .members = arcs_members};

/* fan_in and fan_out as those of a matrix [width, relations, NARROW] of TensorFlow's are. */
static eg_tensor *weights_of(int64_t relations, int64_t width)
{
    const double most = sqrt(6 / ((double)relations * (double)width + (double)NARROW * (double)width));
    eg_tensor *t = NULL;
    EG_SCOPE {
        t = eg_parameter(eg_zeros(EG_SHAPE(relations, NARROW, width), EG_F32));
        if (t && eg_init(t, EG_UNIFORM, .low = -most, .high = most)) {
            eg_release(t);
            t = NULL;
        }
    }
    return t;
}

static eg_module *dense(int64_t in, int64_t out)
{
    return eg__begin(eg_linear_new(in, out), EG_GLOROT_UNIFORM);
}

static eg_module *arcs_new(const look *l, int64_t width, int64_t relations)
{
    arcs *a = eg_module_new(sizeof *a, &arcs_kind);
    if (!a) {
        return NULL;
    }
    a->word = dense(l->word == ALL ? 4 * width : width, width);
    a->on = a->word ? dense(l->on == ALL ? 4 * width : width, width) : NULL;
    a->narrow = a->on ? dense(width, NARROW) : NULL;
    a->root = a->narrow ? dense(NARROW, 1) : NULL;
    a->own = a->root ? weights_of(relations, width) : NULL;
    a->every = a->own ? weights_of(1, width) : NULL;
    EG_SCOPE {
        a->scale = a->every ? eg_parameter(eg_full(EG_SHAPE(1), pow(NARROW, 0.25), EG_F32)) : NULL;
    }
    return eg_module_finish(&a->base);
}

/* ---- heads --------------------------------------------------------------------------------------- */

typedef struct head {
    eg_module base;
    const look *looks;
    int64_t width, outputs; /* tags, or relations */
    eg_module *view[VIEWS];
} head;

static void members(eg_module *m, eg_members *walk)
{
    head *h = (head *)m;
    for (int i = 0; i < VIEWS; i++) {
        eg_member_child(walk, h->looks[i].name, &h->view[i]);
    }
}

static const eg_module_kind tagger_kind = {.size = sizeof(eg_module_kind), .name = "cvt_tagger", .members = members};
static const eg_module_kind parser_kind = {.size = sizeof(eg_module_kind), .name = "cvt_parser", .members = members};

static eg_tensor *from(eg_cvt_states s, source of)
{
    return of == ALL ? s.all : of == THERE ? s.there : s.back;
}

static eg_tensor *logits_of(head *h, int i, eg_cvt_states s, eg_tensor *mask, double dropout)
{
    const look *l = &h->looks[i];
    return h->base.kind == &tagger_kind ? eg_module_forward(h->view[i], from(s, l->word))
                                        : score((arcs *)h->view[i], from(s, l->word), from(s, l->on), mask, dropout);
}

/* 1 for words, 0 behind the ends, [N, T]. */
static eg_tensor *mask_of(eg_cvt_states s, eg_tensor *lengths)
{
    eg_tensor *ones = eg_ones_like(eg_select(eg_detach(s.there), 2, 0));
    if (!lengths || !ones) {
        return ones;
    }
    eg_tensor *at = eg_cumsum(eg_cast(ones, EG_F32), 1), *ends = eg_to(eg_cast(lengths, EG_F32), eg_device_of(ones));
    return eg_cast(eg_le(at, eg_unsqueeze(ends, 1)), eg_dtype_of(ones));
}

/* ---- what the views learn ------------------------------------------------------------------------ */

static eg_tensor *without_first(eg_tensor *t)
{
    return eg_slice(t, 1, 1, eg_size(t, 1), 1);
}

static eg_tensor *without_last(eg_tensor *t)
{
    return eg_slice(t, 1, 0, eg_size(t, 1) - 1, 1);
}

/* The mean over the words that count of their cross entropy by probabilities. */
static eg_tensor *distance(eg_tensor *logits, eg_tensor *taught, eg_tensor *mask)
{
    eg_tensor *each = eg_sum(eg_mul(taught, eg_log_softmax(logits, 2)), .axes = EG_AXES(2));
    eg_tensor *words = eg_clamp_min(eg_sum(mask), 1);
    return eg_neg(eg_div(eg_sum(eg_mul(each, mask)), words));
}

static eg_tensor *view_loss(head *h, int i, eg_cvt_states s, eg_tensor *taught, eg_tensor *mask, double dropout)
{
    const int shift = h->looks[i].shift;
    eg_tensor *logits = logits_of(h, i, s, mask, dropout);
    if (!logits || !shift) {
        return logits ? distance(logits, taught, mask) : NULL;
    }
    return shift > 0 ? distance(without_last(logits), without_first(taught), without_first(mask))
                     : distance(without_first(logits), without_last(taught), without_first(mask));
}

static eg_tensor *views_loss(head *h, eg_cvt_states s, eg_tensor *taught, const eg_cvt_options *o)
{
    eg_tensor *mask = mask_of(s, o->lengths), *sum = NULL;
    taught = eg_detach(taught);
    for (int i = PRIMARY + 1; i < VIEWS; i++) {
        eg_tensor *loss = view_loss(h, i, s, taught, mask, o->dropout);
        sum = sum ? eg_add(sum, loss) : loss;
        if (!sum) {
            return NULL;
        }
    }
    return sum;
}

/* ---- the public forwards ------------------------------------------------------------------------- */

static eg_status check(const char *op, const eg_module *m, eg_cvt_states s, const eg_cvt_options *o)
{
    const eg_tensor *states[3] = {s.all, s.there, s.back};
    if (!m || (m->kind != &tagger_kind && m->kind != &parser_kind)) {
        return eg_failf(EG_EINVAL, op, "a %s is no head of a cvt_encoder", m ? m->kind->name : "NULL");
    }
    for (int i = 0; i < 3; i++) {
        const int64_t width = ((const head *)m)->width * (i ? 1 : 4);
        if (!states[i]) {
            const eg_status before = eg_last_error()->code;
            return before ? before : eg_fail(EG_EINVAL, op, "states are NULL");
        }
        if (eg_ndim(states[i]) != 3 || eg_size(states[i], 2) != width || eg_size(states[i], 1) < 1 ||
            eg_size(states[i], 0) != eg_size(s.all, 0) || eg_size(states[i], 1) != eg_size(s.all, 1)) {
            return eg_failf(EG_ESHAPE, op, "states must be [N, T, %lld], as an encoder makes them", (long long)width);
        }
    }
    return eg__cvt_check_lengths(op, o->lengths, eg_size(s.all, 0));
}

eg_tensor *eg_cvt_logits_with(eg_module *m, eg_cvt_states states, const eg_cvt_options *given)
{
    eg_cvt_options o;
    eg__options(&o, sizeof o, given);
    if (check("eg_cvt_logits", m, states, &o)) {
        return NULL;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *logits = s.depth ? logits_of((head *)m, PRIMARY, states, mask_of(states, o.lengths), o.dropout) : NULL;
    return s.depth ? eg_scope_pop(s, logits) : NULL;
}

eg_tensor *eg_cvt_views_loss_with(eg_module *m, eg_cvt_states states, eg_tensor *taught, const eg_cvt_options *given)
{
    static const char op[] = "eg_cvt_views_loss";
    eg_cvt_options o;
    eg__options(&o, sizeof o, given);
    if (!taught || check(op, m, states, &o)) {
        if (!taught && !eg_last_error()->code) {
            eg_fail(EG_EINVAL, op, "taught is NULL");
        }
        return NULL;
    }
    const head *h = (head *)m;
    const int64_t steps = eg_size(states.all, 1);
    const int64_t outputs = m->kind == &tagger_kind ? h->outputs : 1 + steps * h->outputs;
    if (eg_ndim(taught) != 3 || eg_size(taught, 0) != eg_size(states.all, 0) || eg_size(taught, 1) != steps ||
        eg_size(taught, 2) != outputs) {
        eg_failf(EG_ESHAPE, op, "taught must have the shape of the logits, [%lld, %lld, %lld]",
                 (long long)eg_size(states.all, 0), (long long)steps, (long long)outputs);
        return NULL;
    }
    eg_scope s = eg_scope_push();
    eg_tensor *loss = s.depth ? views_loss((head *)m, states, taught, &o) : NULL;
    return s.depth ? eg_scope_pop(s, loss) : NULL;
}

/* ---- making -------------------------------------------------------------------------------------- */

static eg_module *tags_new(const look *l, int64_t width, int64_t tags)
{
    eg_module *first = dense(l->word == ALL ? 4 * width : width, width), *last = dense(width, tags);
    return l->linear ? eg_sequential_new(eg_named("hidden", first), eg_named("tags", last))
                     : eg_sequential_new(eg_named("hidden", first), eg_activation_new(eg_relu), eg_named("tags", last));
}

static eg_module *head_new(const eg_module_kind *kind, const look *looks, const eg_module *encoder, int64_t outputs)
{
    if (!encoder || encoder->kind != &eg__cvt_encoder_kind || outputs < 1) {
        if (encoder || !eg_last_error()->code) {
            eg_failf(EG_EINVAL, kind->name, "for a %s with %lld outputs: must be a cvt_encoder, with at least one",
                     encoder ? encoder->kind->name : "NULL", (long long)outputs);
        }
        return NULL;
    }
    head *h = eg_module_new(sizeof *h, kind);
    if (!h) {
        return NULL;
    }
    h->looks = looks;
    h->width = ((const eg__cvt_encoder *)encoder)->o.width;
    h->outputs = outputs;
    for (int i = 0; i < VIEWS && (!i || h->view[i - 1]); i++) {
        h->view[i] = (kind == &tagger_kind ? tags_new : arcs_new)(&looks[i], h->width, outputs);
    }
    return eg_module_finish(&h->base);
}

eg_module *eg_cvt_tagger_new(const eg_module *encoder, int64_t tags)
{
    return head_new(&tagger_kind, tagger_looks, encoder, tags);
}

eg_module *eg_cvt_parser_new(const eg_module *encoder, int64_t relations)
{
    return head_new(&parser_kind, parser_looks, encoder, relations);
}
