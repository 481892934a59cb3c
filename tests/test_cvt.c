/* test_cvt.c - cross-view taggers and parsers: PyTorch's numbers (golden/cvt.py), the paper's size, what lies behind
 * the ends of sentences, dropout, what is refused. */
#include <egret/models.h>

#include "tests/egt.h"

enum { WORDS = 9, LETTERS = 7, TAGS = 4, RELATIONS = 2 };

typedef struct net {
    eg_module *encoder, *tagger, *parser;
} net;

static net small(void)
{
    net n = {.encoder = eg_cvt_encoder_new(WORDS, LETTERS, .word_width = 4, .letter_width = 3, .filters = 2, .cells = 6,
                                           .deep_cells = 5, .width = 3)};
    n.tagger = n.encoder ? eg_cvt_tagger_new(n.encoder, TAGS) : NULL;
    n.parser = n.tagger ? eg_cvt_parser_new(n.encoder, RELATIONS) : NULL;
    return n;
}

static void forget(net *n)
{
    EGT_OK(eg_module_free(n->parser));
    EGT_OK(eg_module_free(n->tagger));
    EGT_OK(eg_module_free(n->encoder));
}

/* ---- PyTorch's numbers ---------------------------------------------------------------------------- */

static eg_tensor *want(const eg_tensors *file, const char *part, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s%s", part, name);
    eg_tensor *t = eg_tensors_get(file, path);
    EGT_CHECK(t);
    return t;
}

static void load(eg_module *m, const eg_tensors *file, const char *prefix, eg_dtype dtype)
{
    EGT_OK(eg_module_to(m, dtype));
    EGT_OK(eg_module_load_state(m, file, .prefix = prefix, .allow_unexpected = true));
}

static eg_tensor *labelled(eg_tensor *logits, eg_tensor *labels)
{
    return eg_cross_entropy(eg_flatten(logits, 0, 1), eg_flatten(labels, 0, 1), .ignore = true, .ignore_index = -1);
}

static void same(const eg_tensor *made, const eg_tensor *wanted, double tolerance)
{
    EGT_CHECK(made && egt_distance(eg_cast((eg_tensor *)made, EG_F64), wanted) <= tolerance);
}

static void same_gradients(eg_module *m, const char *part, const eg_tensors *file, eg_tape tape, eg_tensor *loss,
                           double tolerance)
{
    eg_tensor *gradients[128];
    eg_parameters p = eg_module_parameters(m);
    EGT_CHECK(p.count > 20 && p.count < 128);
    EGT_OK(eg_tape_gradients(tape, loss, p.tensors, p.count, gradients));
    for (int i = 0; i < p.count; i++) {
        EGT_CHECK(gradients[i]);
        same(gradients[i], want(file, part, p.names[i]), tolerance);
    }
}

static void replay(eg_dtype dtype, double tolerance)
{
    net n = small();
    eg_tensors *file = eg_safetensors_load("tests/golden/cvt.safetensors");
    load(n.encoder, file, "weights/encoder.", dtype);
    load(n.tagger, file, "weights/tagger.", dtype);
    load(n.parser, file, "weights/parser.", dtype);
    const eg_cvt_options o = {.size = sizeof o, .lengths = want(file, "lengths", "")};
    eg_tape tape = eg_tape_open(.persistent = true);
    eg_cvt_states s = eg_cvt_encode_with(n.encoder, want(file, "words", ""), want(file, "letters", ""), &o);
    same(s.there, want(file, "there", ""), tolerance);
    same(s.back, want(file, "back", ""), tolerance);
    same(s.all, want(file, "all", ""), tolerance);
    eg_tensor *loss = NULL;
    for (int i = 0; i < 2; i++) {
        eg_module *head = i ? n.parser : n.tagger;
        const char *what = i ? "arcs" : "tags";
        eg_tensor *logits = eg_cvt_logits_with(head, s, &o);
        same(logits, want(file, what, ""), 10 * tolerance);
        eg_tensor *views = eg_cvt_views_loss_with(head, s, eg_cast(want(file, "taught/", what), dtype), &o);
        same(views, want(file, "loss/", what), 10 * tolerance);
        views = eg_add(views, labelled(logits, want(file, "labels/", what)));
        loss = loss ? eg_add(loss, views) : views;
    }
    same_gradients(n.encoder, "grads/encoder.", file, tape, loss, 10 * tolerance);
    same_gradients(n.tagger, "grads/tagger.", file, tape, loss, 10 * tolerance);
    same_gradients(n.parser, "grads/parser.", file, tape, loss, 10 * tolerance);
    eg_tape_close(tape);
    eg_tensors_free(file);
    forget(&n);
}

EGT(numbers_are_those_of_pytorch)
{
    replay(EG_F64, 1e-12);
    replay(EG_F32, 1e-5);
}

/* ---- sizes ---------------------------------------------------------------------------------------- */

EGT(the_paper_s_size)
{
    eg_module *encoder = eg_cvt_encoder_new(10, 20), *tagger = eg_cvt_tagger_new(encoder, 3);
    EGT_EQ(eg_module_numel(encoder), 17031412 + 10 * 300 + 20 * 50 + 1);
    EGT_EQ(eg_module_numel(tagger), 2 * (2048 * 512 + 512) + 4 * (512 * 512 + 512) + 6 * (512 * 3 + 3));
    eg_parameters p = eg_module_parameters(encoder);
    for (int i = 0; i < p.count; i++) {
        double most = eg_item(eg_max(eg_abs(p.tensors[i])));
        EGT_CHECK(!strstr(p.names[i], "bias") ? most > 0 : most == (strncmp(p.names[i], "conv", 4) ? 1 : 0));
    }
    EGT_OK(eg_module_free(tagger));
    EGT_OK(eg_module_free(encoder));
}

/* ---- sentences ------------------------------------------------------------------------------------ */

static eg_tensor *ids(eg_shape shape, int64_t below)
{
    return eg_randint(shape, 0, below, EG_I64);
}

EGT(nothing_behind_the_ends_counts)
{
    net n = small();
    eg_tensor *words = ids(EG_SHAPE(2, 4), WORDS), *letters = ids(EG_SHAPE(2, 4, 5), LETTERS);
    eg_tensor *lengths = eg_from_values(EG_SHAPE(2), EG_I32, (double[]){2, 4});
    eg_cvt_states s = eg_cvt_encode(n.encoder, words, letters, .lengths = lengths);
    eg_cvt_states alone = eg_cvt_encode(n.encoder, eg_slice(eg_slice(words, 0, 0, 1, 1), 1, 0, 2, 1),
                                        eg_slice(eg_slice(letters, 0, 0, 1, 1), 1, 0, 2, 1));
    EGT_CHECK(egt_distance(eg_slice(eg_slice(s.all, 0, 0, 1, 1), 1, 0, 2, 1), alone.all) < 1e-6);
    EGT_CHECK(eg_item(eg_max(eg_abs(eg_slice(eg_select(s.all, 0, 0), 0, 2, 4, 1)))) == 0);
    eg_tensor *arcs = eg_softmax(eg_cvt_logits(n.parser, s, .lengths = lengths), 2);
    EGT_CHECK(egt_distance(eg_slice(eg_slice(eg_slice(arcs, 0, 0, 1, 1), 1, 0, 2, 1), 2, 0, 1 + 2 * RELATIONS, 1),
                           eg_softmax(eg_cvt_logits(n.parser, alone), 2)) < 1e-6);
    /* A sentence of one word has no word in front or behind that views could speak of. */
    eg_cvt_states one = eg_cvt_encode(n.encoder, ids(EG_SHAPE(1, 1), WORDS), ids(EG_SHAPE(1, 1, 4), LETTERS));
    eg_tensor *loss = eg_cvt_views_loss(n.tagger, one, eg_softmax(eg_cvt_logits(n.tagger, one), 2));
    EGT_CHECK(isfinite(eg_item(loss)) && eg_item(loss) > 0);
    forget(&n);
}

EGT(states_look_one_way)
{
    net n = small();
    eg_tensor *letters = ids(EG_SHAPE(1, 4, 5), LETTERS);
    eg_tensor *a = eg_from_values(EG_SHAPE(1, 4), EG_I64, (double[]){1, 2, 3, 4}),
              *b = eg_from_values(EG_SHAPE(1, 4), EG_I64, (double[]){1, 2, 5, 4});
    eg_cvt_states x = eg_cvt_encode(n.encoder, a, letters), y = eg_cvt_encode(n.encoder, b, letters);
    for (int t = 0; t < 4; t++) {
        EGT_EQ(egt_distance(eg_select(x.there, 1, t), eg_select(y.there, 1, t)) == 0, t < 2);
        EGT_EQ(egt_distance(eg_select(x.back, 1, t), eg_select(y.back, 1, t)) == 0, t > 2);
    }
    forget(&n);
}

EGT(dropout_is_for_training)
{
    net n = small();
    eg_tensor *words = ids(EG_SHAPE(2, 4), WORDS), *letters = ids(EG_SHAPE(2, 4, 5), LETTERS);
    eg_cvt_states a = eg_cvt_encode(n.encoder, words, letters), b = eg_cvt_encode(n.encoder, words, letters);
    EGT_CHECK(egt_distance(a.all, b.all) == 0);
    b = eg_cvt_encode(n.encoder, words, letters, .dropout = 0.5);
    EGT_CHECK(egt_distance(a.all, b.all) > 0);
    EGT_CHECK(egt_distance(eg_cvt_logits(n.tagger, a, .dropout = 0.5), eg_cvt_logits(n.tagger, a)) == 0);
    EGT_CHECK(egt_distance(eg_cvt_logits(n.parser, a, .dropout = 0.5), eg_cvt_logits(n.parser, a)) > 0);
    EGT_OK(eg_module_eval(n.encoder));
    EGT_OK(eg_module_eval(n.parser));
    b = eg_cvt_encode(n.encoder, words, letters, .dropout = 0.5);
    EGT_CHECK(egt_distance(a.all, b.all) == 0);
    EGT_CHECK(egt_distance(eg_cvt_logits(n.parser, a, .dropout = 0.5), eg_cvt_logits(n.parser, a)) == 0);
    forget(&n);
}

EGT(what_teaches_learns_nothing)
{
    net n = small();
    eg_tensor *words = ids(EG_SHAPE(2, 4), WORDS), *letters = ids(EG_SHAPE(2, 4, 5), LETTERS), *gradient = NULL;
    eg_tape tape = eg_tape_open();
    eg_cvt_states s = eg_cvt_encode(n.encoder, words, letters);
    eg_tensor *taught = eg_softmax(eg_cvt_logits(n.tagger, s), 2);
    eg_tensor *loss = eg_cvt_views_loss(n.tagger, s, taught);
    eg_parameters p = eg_module_parameters(n.tagger);
    EGT_STR(p.names[0], "primary.hidden.weight");
    EGT_OK(eg_tape_gradients(tape, loss, p.tensors, 1, &gradient));
    EGT_CHECK(eg_item(eg_max(eg_abs(gradient))) == 0);
    forget(&n);
}

/* ---- refusals ------------------------------------------------------------------------------------- */

EGT(what_is_out_of_order_is_refused)
{
    net n = small();
    eg_tensor *words = ids(EG_SHAPE(2, 4), WORDS), *letters = ids(EG_SHAPE(2, 4, 5), LETTERS);
    eg_cvt_states s = eg_cvt_encode(n.encoder, words, letters), none = {NULL, NULL, NULL};
    EGT_REFUSED(eg_cvt_encoder_new(0, 5), EG_EINVAL, "0 words");
    EGT_REFUSED(eg_cvt_encoder_new(5, 5, .cells = -1), EG_EINVAL, "at least 1");
    EGT_REFUSED(eg_cvt_tagger_new(NULL, 3), EG_EINVAL, "NULL");
    EGT_REFUSED(eg_cvt_tagger_new(n.tagger, 3), EG_EINVAL, "cvt_tagger");
    EGT_REFUSED(eg_cvt_parser_new(n.encoder, 0), EG_EINVAL, "0 outputs");
    EGT_REFUSED(eg_cvt_encode(n.tagger, words, letters).all, EG_EINVAL, "cvt_tagger is no cvt_encoder");
    EGT_REFUSED(eg_cvt_encode(n.encoder, NULL, letters).all, EG_EINVAL, "words");
    EGT_REFUSED(eg_cvt_encode(n.encoder, words, eg_slice(letters, 2, 0, 3, 1)).all, EG_ESHAPE, "at least 4");
    EGT_REFUSED(eg_cvt_encode(n.encoder, eg_add_scalar(words, WORDS), letters).all, EG_EINDEX, "");
    EGT_REFUSED(eg_cvt_encode(n.encoder, words, letters, .lengths = eg_ones(EG_SHAPE(3), EG_I64)).all, EG_ESHAPE,
                "[N]");
    EGT_REFUSED(eg_cvt_logits(n.encoder, s), EG_EINVAL, "no head");
    EGT_REFUSED(eg_cvt_logits(n.tagger, none), EG_EINVAL, "states are NULL");
    EGT_REFUSED(eg_cvt_logits(n.tagger, ((eg_cvt_states){s.all, s.all, s.all})), EG_ESHAPE, "[N, T, 3]");
    EGT_REFUSED(eg_cvt_views_loss(n.tagger, s, eg_ones(EG_SHAPE(2, 4, TAGS + 1), EG_F32)), EG_ESHAPE, "[2, 4, 4]");
    EGT_REFUSED(eg_cvt_views_loss(n.tagger, s, NULL), EG_EINVAL, "taught");
    forget(&n);
}

static bool make_and_run(void *user)
{
    net n = small();
    eg_tensor **in = user;
    eg_cvt_states s = n.parser ? eg_cvt_encode(n.encoder, in[0], in[1]) : (eg_cvt_states){NULL, NULL, NULL};
    eg_tensor *logits = s.all ? eg_cvt_logits(n.parser, s) : NULL;
    eg_tensor *loss = logits ? eg_cvt_views_loss(n.parser, s, eg_softmax(logits, 2)) : NULL;
    eg_module_free(n.parser);
    eg_module_free(n.tagger);
    eg_module_free(n.encoder);
    return loss != NULL;
}

EGT(memory_runs_out)
{
    eg_tensor *in[2] = {ids(EG_SHAPE(2, 4), WORDS), ids(EG_SHAPE(2, 4, 5), LETTERS)};
    EGT_CHECK(egt_fail_allocations(make_and_run, in) > 30);
}
