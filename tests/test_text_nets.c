/* test_text_nets.c - the translator, BERT and GPT-2: the same numbers as PyTorch's, and what they refuse. */
#include <egret/models.h>

#include "tests/egt.h"

#define NUMBERS "tests/golden/text_nets.safetensors"

static eg_tensors *numbers(void)
{
    eg_tensors *all = eg_safetensors_load(NUMBERS);
    EGT_CHECK(all);
    return all;
}

static eg_tensor *number(const eg_tensors *all, const char *net, const char *part, const char *name)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s/%s", net, part, name);
    eg_tensor *t = eg_tensors_get(all, path);
    EGT_CHECK(t);
    return t;
}

/* The weights of a net under their names, in f64. */
static void load(eg_module *m, const eg_tensors *all, const char *net, const char *names, const char *prefix)
{
    char before[80];
    snprintf(before, sizeof before, "%s/weight/", net);
    EGT_CHECK(m);
    EGT_OK(eg_module_to(m, EG_F64));
    eg_tensors *theirs = eg_tensors_new();
    for (int64_t i = 0; i < eg_tensors_count(all); i++) {
        const char *name = eg_tensors_name(all, i);
        if (!strncmp(name, before, strlen(before))) {
            EGT_OK(eg_tensors_set(theirs, name + strlen(before), eg_tensors_at(all, i)));
        }
    }
    eg_tensors *ours = names ? eg_tensors_renamed(theirs, names) : theirs;
    EGT_CHECK(ours);
    EGT_OK(eg_module_load_state(m, ours, .allow_unexpected = true, .allow_missing = prefix != NULL, .prefix = prefix));
    if (names) {
        eg_tensors_free(ours);
    }
    eg_tensors_free(theirs);
}

static void same(const eg_tensor *made, const eg_tensor *theirs)
{
    EGT_CHECK(made);
    const double off = egt_distance(made, theirs);
    if (!(off < 1e-9)) {
        egt_fail(__FILE__, __LINE__, "%s: off by %g", egt_case, off);
    }
}

/* The gradient of a weight of ours, as the map has theirs. */
static void same_gradients(eg_module *m, eg_tape tape, eg_tensor *loss, const eg_tensors *all, const char *net,
                           const char *names, int wanted)
{
    char before[80];
    snprintf(before, sizeof before, "%s/grad/", net);
    eg_tensors *theirs = eg_tensors_new();
    for (int64_t i = 0; i < eg_tensors_count(all); i++) {
        const char *name = eg_tensors_name(all, i);
        if (!strncmp(name, before, strlen(before))) {
            EGT_OK(eg_tensors_set(theirs, name + strlen(before), eg_tensors_at(all, i)));
        }
    }
    eg_tensors *ours = names ? eg_tensors_renamed(theirs, names) : theirs;
    EGT_CHECK(ours);
    eg_parameters p = eg_module_parameters(m);
    eg_tensor *gradients[200];
    EGT_CHECK(p.count > 0 && p.count < 200);
    EGT_OK(eg_tape_gradients(tape, loss, p.tensors, p.count, gradients));
    int compared = 0;
    for (int i = 0; i < p.count; i++) {
        if (eg_tensors_has(ours, p.names[i])) {
            snprintf(egt_case, sizeof egt_case, "%s %s", net, p.names[i]);
            same(gradients[i], eg_tensors_get(ours, p.names[i]));
            compared++;
        }
    }
    EGT_EQ(compared, wanted);
    if (names) {
        eg_tensors_free(ours);
    }
    eg_tensors_free(theirs);
}

/* ---- BERT ---------------------------------------------------------------------------------------- */

static eg_module *small_bert(eg_tensor *(*activation)(eg_tensor *x))
{
    return eg_bert_new(EG_BERT_TINY, .vocabulary = 37, .width = 12, .layers = 2, .heads = 3, .hidden = 20,
                       .positions = 9, .activation = activation);
}

EGT(bert_is_that_of_transformers)
{
    eg_tensors *all = numbers();
    eg_module *net = eg_bert_pretraining_new(small_bert(NULL));
    load(net, all, "bert", eg_bert_names(), NULL);
    EGT_OK(eg_module_eval(net));
    eg_tensor *ids = number(all, "bert", "in", "ids"), *types = number(all, "bert", "in", "types");
    eg_tensor *mask = number(all, "bert", "in", "mask"), *labels = number(all, "bert", "in", "labels");
    eg_tensors *taps = eg_tensors_new();
    eg_tape tape = eg_tape_open();
    eg_bert_made made = eg_bert_forward(net, ids, .types = types, .mask = mask);
    same(made.logits, number(all, "bert", "out", "logits"));
    same(made.next, number(all, "bert", "out", "next"));
    same(made.hidden, number(all, "bert", "out", "hidden2"));
    eg_tensor *words =
        eg_cross_entropy(eg_permute(made.logits, EG_AXES(0, 2, 1)), labels, .ignore = true, .ignore_index = -100);
    eg_tensor *loss = eg_add(words, eg_cross_entropy(made.next, number(all, "bert", "in", "follows")));
    same(loss, number(all, "bert", "out", "loss"));
    same_gradients(net, tape, loss, all, "bert", eg_bert_names(), 15);
    eg_tensors_free(taps);
    EGT_OK(eg_module_free(net));
    eg_tensors_free(all);
}

/* What the authors' checkpoints call a tensor of transformers, and whether it lies there as [in, out]. */
static bool name_of_authors(const char *theirs, char *to, size_t size)
{
    static const char *const words[][2] = {
        {".LayerNorm.weight", "/LayerNorm/gamma"},
        {".LayerNorm.bias", "/LayerNorm/beta"},
        {"cls.predictions.bias", "cls/predictions/output_bias"},
        {"cls.seq_relationship.weight", "cls/seq_relationship/output_weights"},
        {"cls.seq_relationship.bias", "cls/seq_relationship/output_bias"},
        {"_embeddings.weight", "_embeddings"},
        {".weight", "/kernel"},
        {".layer.", "/layer_"},
    };
    bool turned = false;
    snprintf(to, size, "%s", theirs);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char *at = strstr(to, words[i][0]), rest[160];
        if (at) {
            snprintf(rest, sizeof rest, "%s", at + strlen(words[i][0]));
            snprintf(at, size - (size_t)(at - to), "%s%s", words[i][1], rest);
            turned |= strcmp(words[i][1], "/kernel") == 0;
        }
    }
    for (char *c = to; *c; c++) {
        *c = *c == '.' ? '/' : *c;
    }
    return turned;
}

EGT(bert_goes_by_its_authors_names)
{
    eg_tensors *all = numbers(), *theirs = eg_tensors_new();
    eg_module *net = eg_bert_pretraining_new(small_bert(NULL));
    EGT_OK(eg_module_to(net, EG_F64));
    for (int64_t i = 0; i < eg_tensors_count(all); i++) {
        static const char before[] = "bert/weight/";
        char name[160];
        const char *of = eg_tensors_name(all, i);
        if (!strncmp(of, before, strlen(before)) && !strstr(of, "decoder")) {
            const bool turned = name_of_authors(of + strlen(before), name, sizeof name);
            eg_tensor *t = eg_tensors_at(all, i);
            EGT_OK(eg_tensors_set(theirs, name, turned ? eg_contiguous(eg_transpose(t, 0, 1)) : t));
        }
    }
    EGT_CHECK(eg_tensors_has(theirs, "bert/encoder/layer_1/attention/self/query/kernel"));
    EGT_CHECK(eg_tensors_has(theirs, "bert/encoder/layer_0/output/LayerNorm/gamma"));
    eg_tensors *ours = eg_tensors_renamed(theirs, eg_bert_names());
    EGT_OK(eg_module_load_state(net, ours, .allow_unexpected = true));
    EGT_OK(eg_module_eval(net));
    eg_bert_made made =
        eg_bert_forward(net, number(all, "bert", "in", "ids"), .types = number(all, "bert", "in", "types"),
                        .mask = number(all, "bert", "in", "mask"));
    same(made.logits, number(all, "bert", "out", "logits"));
    same(made.next, number(all, "bert", "out", "next"));
    eg_tensors_free(ours);
    eg_tensors_free(theirs);
    EGT_OK(eg_module_free(net));
    eg_tensors_free(all);
}

EGT(words_are_asked_for_at_places)
{
    eg_tensors *all = numbers();
    eg_module *net = eg_bert_pretraining_new(small_bert(NULL));
    load(net, all, "bert", eg_bert_names(), NULL);
    EGT_OK(eg_module_eval(net));
    eg_tensor *ids = number(all, "bert", "in", "ids"), *types = number(all, "bert", "in", "types");
    eg_tensor *places = eg_from_values(EG_SHAPE(3, 2), EG_I64, (double[]){6, 0, 3, 3, 1, 2});
    eg_bert_made made =
        eg_bert_forward(net, ids, .types = types, .mask = number(all, "bert", "in", "mask"), .places = places);
    eg_tensor *there = number(all, "bert", "out", "logits");
    EGT_EQ(eg_size(made.logits, 1), 2);
    same(eg_select(eg_select(made.logits, 0, 0), 0, 0), eg_select(eg_select(there, 0, 0), 0, 6));
    same(eg_select(eg_select(made.logits, 0, 2), 0, 1), eg_select(eg_select(there, 0, 2), 0, 2));
    EGT_OK(eg_module_free(net));
    eg_tensors_free(all);
}

EGT(encoders_alone_load_by_a_prefix)
{
    eg_tensors *all = numbers();
    eg_module *bert = small_bert(NULL);
    load(bert, all, "bert", eg_bert_names(), "bert.");
    EGT_OK(eg_module_eval(bert));
    eg_bert_made made =
        eg_bert_forward(bert, number(all, "bert", "in", "ids"), .types = number(all, "bert", "in", "types"),
                        .mask = number(all, "bert", "in", "mask"));
    same(made.hidden, number(all, "bert", "out", "hidden2"));
    EGT_CHECK(made.pooled && !made.logits && !made.next);
    EGT_OK(eg_module_free(bert));
    eg_tensors_free(all);
}

EGT(heads_are_those_of_transformers)
{
    eg_tensors *all = numbers();
    static const char *const names[] = {"classifier", "tagger", "spans", "chooser"};
    for (int i = 0; i < 4; i++) {
        eg_module *bert = small_bert(eg_gelu);
        eg_module *net = i == 0   ? eg_bert_classifier_new(bert, 3)
                         : i == 1 ? eg_bert_tagger_new(bert, 3)
                         : i == 2 ? eg_bert_spans_new(bert)
                                  : eg_bert_chooser_new(bert);
        /* Taggers and spans have no pooler there. */
        load(net, all, names[i], eg_bert_names(), i == 1 || i == 2 ? "" : NULL);
        EGT_OK(eg_module_eval(net));
        eg_bert_made made =
            eg_bert_forward(net, number(all, names[i], "in", "ids"), .types = number(all, names[i], "in", "types"),
                            .mask = number(all, names[i], "in", "mask"));
        snprintf(egt_case, sizeof egt_case, "%s", names[i]);
        same(made.logits, number(all, names[i], "out", "logits"));
        EGT_OK(eg_module_free(net));
    }
    eg_tensors_free(all);
}

/* ---- GPT-2 --------------------------------------------------------------------------------------- */

static eg_module *small_gpt2(const eg_tensors *all)
{
    eg_module *net =
        eg_gpt2_new(EG_GPT2_SMALL, .vocabulary = 37, .positions = 16, .width = 12, .layers = 2, .heads = 3);
    load(net, all, "gpt2", eg_gpt2_names(), NULL);
    EGT_OK(eg_module_eval(net));
    return net;
}

EGT(gpt2_is_that_of_transformers)
{
    eg_tensors *all = numbers();
    eg_module *net = small_gpt2(all);
    eg_tensor *ids = number(all, "gpt2", "in", "ids");
    eg_tape tape = eg_tape_open();
    eg_tensor *logits = eg_module_forward(net, ids);
    same(logits, number(all, "gpt2", "out", "logits"));
    eg_tensor *said = eg_permute(eg_slice(logits, 1, 0, -1, 1), EG_AXES(0, 2, 1));
    eg_tensor *loss = eg_cross_entropy(said, eg_slice(ids, 1, 1, EG_END, 1));
    same(loss, number(all, "gpt2", "out", "loss"));
    same_gradients(net, tape, loss, all, "gpt2", eg_gpt2_names(), 12);
    EGT_OK(eg_module_free(net));
    eg_tensors_free(all);
}

EGT(gpt2_says_what_transformers_says)
{
    eg_tensors *all = numbers();
    eg_module *net = small_gpt2(all);
    eg_tensor *ids = number(all, "gpt2", "in", "ids");
    eg_decoded said = eg_generate(eg_gpt2_next, net, ids, .steps = 8, .end = 36);
    EGT_CHECK(said.ids && egt_same_bits(said.ids, number(all, "gpt2", "out", "likeliest")));
    said = eg_generate(eg_gpt2_next, net, ids, .steps = 8, .end = 36, .repetition_penalty = 1.7);
    EGT_CHECK(said.ids && egt_same_bits(said.ids, number(all, "gpt2", "out", "penalised")));
    EGT_OK(eg_module_free(net));
    eg_tensors_free(all);
}

EGT(steps_by_steps_are_steps_at_once)
{
    eg_tensors *all = numbers();
    eg_module *net = small_gpt2(all);
    eg_tensor *ids = number(all, "gpt2", "in", "ids"), *logits = number(all, "gpt2", "out", "logits");
    eg_cache *cache = eg_cache_new();
    for (int64_t at = 0; at < 6;) {
        const int64_t more = at == 2 ? 2 : 1;
        eg_tensor *made = eg_gpt2_next(net, eg_slice(ids, 1, at, at + more, 1), cache);
        at += more;
        same(made, eg_select(logits, 1, at - 1));
        EGT_EQ(eg_cache_steps(cache), at);
    }
    eg_cache_free(cache);
    EGT_OK(eg_module_free(net));
    eg_tensors_free(all);
}

/* ---- the translator ------------------------------------------------------------------------------ */

static eg_module *small_transformer(const eg_tensors *all)
{
    eg_module *net =
        eg_transformer_new(EG_TRANSFORMER_TINY, .vocabulary = 23, .width = 8, .heads = 2, .hidden = 12, .layers = 2);
    load(net, all, "transformer", NULL, NULL);
    EGT_OK(eg_module_eval(net));
    return net;
}

EGT(translators_are_those_of_the_official_models)
{
    eg_tensors *all = numbers();
    eg_module *net = small_transformer(all);
    eg_tensor *source = number(all, "transformer", "in", "source"),
              *targets = number(all, "transformer", "in", "targets");
    eg_tape tape = eg_tape_open();
    eg_tensor *logits = eg_transformer_forward(net, source, targets);
    same(logits, number(all, "transformer", "out", "logits"));
    /* 0.9 at the label and 0.1 / 22 elsewhere. */
    eg_tensor *loss = eg_cross_entropy(eg_permute(logits, EG_AXES(0, 2, 1)), targets, .ignore = true,
                                       .label_smoothing = 0.1 * 23 / 22);
    same(loss, number(all, "transformer", "out", "loss"));
    same_gradients(net, tape, loss, all, "transformer", NULL, 4);
    EGT_OK(eg_module_free(net));
    eg_tensors_free(all);
}

EGT(heads_can_be_looked_at)
{
    eg_tensors *all = numbers();
    eg_module *net = small_transformer(all);
    eg_tensor *source = number(all, "transformer", "in", "source"),
              *targets = number(all, "transformer", "in", "targets");
    eg_transformer_heads seen = eg_transformer_look(net, source, targets);
    EGT_CHECK(seen.encoder && seen.decoder && seen.between);
    const int64_t sizes[5] = {2, 3, 2, 5, 6};
    for (int d = 0; d < 5; d++) {
        EGT_EQ(eg_size(seen.between, d), sizes[d]);
    }
    EGT_CHECK(egt_distance(eg_sum(seen.between, .axes = EG_AXES(4)), eg_ones(EG_SHAPE(2, 3, 2, 5), EG_F64)) < 1e-9);
    eg_tensor *padding = eg_slice(eg_select(seen.between, 1, 1), -1, 4, 6, 1), *future = eg_triu(seen.decoder, 1);
    EGT_EQ(eg_item(eg_sum(padding)), 0);
    EGT_EQ(eg_item(eg_sum(future)), 0);
    EGT_OK(eg_module_free(net));
    eg_tensors_free(all);
}

EGT(beams_are_those_of_tensor2tensor)
{
    eg_tensors *all = numbers();
    eg_module *net = small_transformer(all);
    eg_cache *cache = eg_cache_new();
    EGT_OK(eg_transformer_read(net, number(all, "transformer", "in", "source"), cache));
    eg_decoded best = eg_beam_search(eg_transformer_next, net, eg_zeros(EG_SHAPE(3, 1), EG_I64), .cache = cache,
                                     .end = 1, .steps = 12, .beams = 3, .best = 2, .length_power = 0.6);
    EGT_CHECK(best.ids && egt_same_bits(best.ids, number(all, "transformer", "out", "beams")));
    EGT_CHECK(egt_distance(best.scores, number(all, "transformer", "out", "beam_scores")) < 1e-5);
    EGT_EQ(eg_get(best.lengths, 0), 1);
    eg_cache_free(cache);
    EGT_OK(eg_module_free(net));
    eg_tensors_free(all);
}

/* ---- sizes, and what is refused ------------------------------------------------------------------ */

static int64_t parameters(eg_module *m)
{
    const int64_t n = eg_module_numel(m);
    EGT_OK(eg_module_free(m));
    return n;
}

EGT(sizes_are_those_of_the_papers)
{
    EGT_EQ(parameters(eg_transformer_new(EG_TRANSFORMER_TINY)), 1354496);
    EGT_EQ(parameters(eg_transformer_new(EG_TRANSFORMER_BASE)), 61362176);
    EGT_EQ(parameters(eg_bert_new(EG_BERT_BASE)), 109482240);
    EGT_EQ(parameters(eg_bert_classifier_new(eg_bert_new(EG_BERT_BASE), 2)), 109482240 + 1538);
    EGT_EQ(parameters(eg_gpt2_new(EG_GPT2_SMALL)), 124439808);
}

EGT(norms_may_be_last)
{
    eg_module *net = eg_transformer_new(EG_TRANSFORMER_TINY, .vocabulary = 11, .layers = 1, .norm_last = true);
    eg_tensor *ids = eg_ones(EG_SHAPE(1, 3), EG_I64);
    eg_tensor *logits = eg_transformer_forward(net, ids, ids);
    EGT_EQ(eg_size(logits, 2), 11);
    EGT_CHECK(!eg_module_find(net, "encoder_norm") && egt_said(EG_EINDEX, "encoder_norm"));
    EGT_OK(eg_module_free(net));
}

EGT(what_is_out_of_order_is_refused)
{
    EGT_REFUSED(eg_bert_new(EG_BERT_TINY, .heads = 5), EG_EINVAL, "heads");
    EGT_REFUSED(eg_bert_new((eg_bert_size)6), EG_EINVAL, "size 6");
    EGT_REFUSED(eg_gpt2_new(EG_GPT2_SMALL, .dropout = 2), EG_EINVAL, "dropout");
    EGT_REFUSED(eg_transformer_new(EG_TRANSFORMER_TINY, .vocabulary = -1), EG_EINVAL, "vocabulary -1");
    EGT_REFUSED(eg_bert_classifier_new(eg_identity_new(), 2), EG_EINVAL, "identity");
    eg_module *net = small_bert(NULL);
    EGT_REFUSED(eg_bert_forward(net, eg_zeros(EG_SHAPE(1, 10), EG_I64)).hidden, EG_ESHAPE, "[9, 12]");
    EGT_REFUSED(eg_bert_forward(net, eg_full(EG_SHAPE(1, 4), 37, EG_I64)).hidden, EG_EINDEX, "37");
    EGT_REFUSED(eg_bert_forward(net, eg_zeros(EG_SHAPE(4), EG_I64)).hidden, EG_ESHAPE, "axes");
    EGT_REFUSED(
        eg_bert_forward(net, eg_zeros(EG_SHAPE(1, 4), EG_I64), .types = eg_zeros(EG_SHAPE(1, 3), EG_I64)).hidden,
        EG_ESHAPE, "types");
    EGT_REFUSED(
        eg_bert_forward(net, eg_zeros(EG_SHAPE(1, 4), EG_I64), .places = eg_zeros(EG_SHAPE(1, 1), EG_I64)).hidden,
        EG_EINVAL, "pretraining");
    eg_cache *cache = eg_cache_new();
    EGT_REFUSED(eg_gpt2_next(net, eg_zeros(EG_SHAPE(1, 4), EG_I64), cache), EG_EINVAL, "bert is no gpt2");
    EGT_OK(eg_module_free(net));
    net = eg_transformer_new(EG_TRANSFORMER_TINY, .vocabulary = 11, .layers = 1);
    EGT_REFUSED(eg_transformer_next(net, eg_zeros(EG_SHAPE(1, 1), EG_I64), cache), EG_ESTATE, "no source");
    eg_cache_free(cache);
    EGT_OK(eg_module_free(net));
}

static bool speak(void *user)
{
    bool good = false;
    eg_seed(1);
    eg_module *net = eg_gpt2_new(EG_GPT2_SMALL, .vocabulary = 7, .positions = 8, .width = 4, .layers = 1, .heads = 2);
    eg_scope s = eg_scope_push();
    if (net && s.depth) {
        eg_tensor *ids = eg_zeros(EG_SHAPE(2, 2), EG_I64);
        good = user ? eg_beam_search(eg_gpt2_next, net, ids, .steps = 3, .beams = 2).ids
                    : eg_generate(eg_gpt2_next, net, ids, .steps = 3, .sample = true, .top_k = 3, .top_p = 0.9,
                                  .repetition_penalty = 1.2)
                          .ids;
    }
    if (s.depth) {
        eg_scope_pop(s, NULL);
    }
    eg_module_free(net);
    return good;
}

EGT(memory_that_runs_out_is_said)
{
    EGT_CHECK(egt_fail_allocations(speak, NULL) > 20);
    EGT_CHECK(egt_fail_allocations(speak, "beams") > 20);
}
