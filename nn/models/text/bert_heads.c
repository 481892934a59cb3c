/* bert_heads.c - what is put on top of BERT for a task. */
#include "nn/models/text/bert.h"

typedef enum task { CLASSIFIER, TAGGER, SPANS, CHOOSER, PRETRAINING } task;

typedef struct head {
    eg_module base;
    task task;
    eg_module *bert, *out;       /* out: of the pooled step, or of all steps */
    eg_module *transform, *norm; /* PRETRAINING: in front of the table */
    eg_tensor *bias;             /* behind it */
} head;

/* ---- forward ------------------------------------------------------------------------------------- */

/* The steps at these places, [N, M, width]. */
static eg_tensor *steps_at(eg_tensor *hidden, eg_tensor *places)
{
    eg_shape wide = {.ndim = 3, .dim = {eg_size(places, 0), eg_size(places, 1), eg_size(hidden, 2)}};
    return eg_gather(hidden, 1, eg_expand(eg_unsqueeze(places, 2), wide));
}

/* Logits of words. */
static eg_tensor *words_of(head *h, eg_tensor *hidden)
{
    eg__bert *b = (eg__bert *)h->bert;
    eg_tensor *x = eg_module_forward(h->norm, b->activation(eg_module_forward(h->transform, hidden)));
    return eg_linear(x, b->words, h->bias);
}

static void add_logits(head *h, eg_bert_made *r, const eg_bert_options *o, int64_t rows)
{
    const double dropout = ((eg__bert *)h->bert)->dropout;
    const bool pooled = h->task == CLASSIFIER || h->task == CHOOSER;
    if (h->task == PRETRAINING) {
        r->logits = words_of(h, o->places ? steps_at(r->hidden, o->places) : r->hidden);
        r->next = r->logits ? eg_module_forward(h->out, r->pooled) : NULL;
        r->logits = r->next ? r->logits : NULL;
        return;
    }
    eg_tensor *x = pooled ? r->pooled : r->hidden;
    x = h->task == SPANS ? x : eg__dropped(x, dropout, &h->base);
    r->logits = eg_module_forward(h->out, x);
    if (h->task == CHOOSER) {
        r->logits = eg_reshape(r->logits, EG_SHAPE(rows, -1));
    }
}

static eg_tensor *flat(eg_tensor *t)
{
    return t ? eg_reshape(t, EG_SHAPE(eg_size(t, 0) * eg_size(t, 1), eg_size(t, 2))) : NULL;
}

static eg_bert_made run(eg_module *m, eg_tensor *ids, eg_bert_options o)
{
    head *h = m->kind == &eg__bert_kind ? NULL : (head *)m;
    const int64_t rows = eg_size(ids, 0);
    if (h && h->task == CHOOSER) {
        ids = flat(ids);
        o.types = flat(o.types);
        o.mask = flat(o.mask);
    }
    eg_bert_made r = eg__bert_run((eg__bert *)(h ? h->bert : m), ids, &o);
    if (h && r.hidden) {
        add_logits(h, &r, &o, rows);
    }
    return !h || r.logits ? r : (eg_bert_made){NULL, NULL, NULL, NULL};
}

static eg_tensor *forward(eg_module *m, eg_tensor *ids)
{
    return eg_bert_forward(m, ids).logits;
}

/* ---- the module ---------------------------------------------------------------------------------- */

static void members(eg_module *m, eg_members *walk)
{
    head *h = (head *)m;
    eg_member_child(walk, "bert", &h->bert);
    if (h->task == PRETRAINING) {
        eg_member_child(walk, "transform", &h->transform);
        eg_member_child(walk, "norm", &h->norm);
        eg_member_parameter(walk, "bias", &h->bias);
    }
    eg_member_child(walk, h->task == PRETRAINING ? "next" : "head", &h->out);
}

#define KIND(task_, name_) \
    [task_] = {.size = sizeof(eg_module_kind), .name = name_, .forward = forward, .members = members}
static const eg_module_kind kinds[] = {KIND(CLASSIFIER, "bert_classifier"), KIND(TAGGER, "bert_tagger"),
                                       KIND(SPANS, "bert_spans"), KIND(CHOOSER, "bert_chooser"),
                                       KIND(PRETRAINING, "bert_pretraining")};

static bool is_head(const eg_module *m)
{
    return m->kind >= kinds && m->kind <= &kinds[PRETRAINING];
}

static eg_module *begun(eg_module *m)
{
    return eg__begin(m, EG_TRUNCATED_NORMAL, .std = 0.02);
}

static eg_module *head_new(task of, eg_module *bert, int64_t outputs)
{
    if (!bert || bert->kind != &eg__bert_kind || outputs < 1) {
        if (bert || !eg_last_error()->code) {
            eg_failf(EG_EINVAL, kinds[of].name, "%s with %lld outputs: must be a bert, with at least one",
                     bert ? bert->kind->name : "NULL", (long long)outputs);
        }
        eg_module_free(bert);
        return NULL;
    }
    const eg__bert *b = (eg__bert *)bert;
    head *h = eg_module_new(sizeof *h, &kinds[of]);
    if (!h) {
        eg_module_free(bert);
        return NULL;
    }
    h->task = of;
    h->bert = bert;
    h->out = begun(eg_linear_new(b->width, outputs));
    if (of == PRETRAINING) {
        h->transform = begun(eg_linear_new(b->width, b->width));
        h->norm = eg_layer_norm_new(EG_SHAPE(b->width), .eps = b->eps);
        EG_SCOPE {
            h->bias = eg_parameter(eg_zeros(EG_SHAPE(eg_size(b->words, 0)), EG_F32));
        }
    }
    return eg_module_finish(&h->base);
}

eg_module *eg_bert_classifier_new(eg_module *bert, int64_t classes)
{
    return head_new(CLASSIFIER, bert, classes);
}

eg_module *eg_bert_tagger_new(eg_module *bert, int64_t tags)
{
    return head_new(TAGGER, bert, tags);
}

eg_module *eg_bert_spans_new(eg_module *bert)
{
    return head_new(SPANS, bert, 2);
}

eg_module *eg_bert_chooser_new(eg_module *bert)
{
    return head_new(CHOOSER, bert, 1);
}

eg_module *eg_bert_pretraining_new(eg_module *bert)
{
    return head_new(PRETRAINING, bert, 2);
}

/* ---- the public forward -------------------------------------------------------------------------- */

eg_bert_made eg_bert_forward_with(eg_module *m, eg_tensor *ids, const eg_bert_options *given)
{
    static const char op[] = "eg_bert_forward";
    const eg_bert_made failed = {NULL, NULL, NULL, NULL};
    eg_bert_options o;
    eg__options(&o, sizeof o, given);
    if (!m || !ids) {
        if (!eg_last_error()->code) {
            eg_failf(EG_EINVAL, op, "%s is NULL", m ? "ids" : "m");
        }
        return failed;
    }
    if (m->kind != &eg__bert_kind && !is_head(m)) {
        eg_failf(EG_EINVAL, op, "a %s is no bert", m->kind->name);
        return failed;
    }
    const bool chooser = m->kind == &kinds[CHOOSER], pretraining = m->kind == &kinds[PRETRAINING];
    if (eg__bert_check(op, ids, &o, chooser ? 3 : 2)) {
        return failed;
    }
    if (o.places && (!pretraining || eg_ndim(o.places) != 2 || eg_size(o.places, 0) != eg_size(ids, 0))) {
        eg_failf(pretraining ? EG_ESHAPE : EG_EINVAL, op,
                 pretraining ? "places have %d axes, must be [N, M]" : "places, of %d axes, are for pretraining",
                 eg_ndim(o.places));
        return failed;
    }
    eg_scope s = eg_scope_push();
    eg_bert_made r = s.depth ? run(m, ids, o) : failed;
    eg_tensor *out[4] = {r.hidden, r.pooled, r.logits, r.next};
    return eg_scope_pop_n(s, out, 4) || !r.hidden ? failed : r;
}
