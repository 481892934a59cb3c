/* test_language.c - language models of LSTM layers: sizes, PyTorch's numbers (golden/lstm_lm.py), states that go on
 * from window to window, every kind of dropout, what is refused. */
#include <egret/models.h>

#include "tests/egt.h"

static eg_tensor *member(eg_module *net, const char *name)
{
    eg_tensors *state = eg_module_state(net);
    eg_tensor *t = eg_tensors_get(state, name);
    EGT_CHECK(t);
    eg_tensors_free(state);
    return t;
}

/* ---- sizes ---------------------------------------------------------------------------------------- */

EGT(sizes_have_as_many_weights_as_published)
{
    static const struct {
        const char *name;
        int64_t one, two; /* biases per layer */
    } card[] = {{"small", 4651600, 4653200},
                {"medium", 19775200, 19780400},
                {"large", 66022000, 66034000},
                {"test", 50040, 50048}};
    EGT_EQ(eg_lstm_lm_count(), 4);
    for (int i = 0; i < 4; i++) {
        eg_lstm_lm_info info = eg_lstm_lm_at(i);
        EGT_STR(info.name, card[i].name);
        EGT_CHECK(eg_lstm_lm_find(info.name).name == info.name && *info.source);
        EGT_EQ(info.parameters, card[i].one);
        for (int two = 0; two < 2; two++) {
            eg_module *net = eg_lstm_lm_new(info.name, .two_biases = two);
            EGT_EQ(eg_module_numel(net), two ? card[i].two : card[i].one);
            EGT_OK(eg_module_free(net));
        }
    }
    eg_module *net = eg_lstm_lm_new("small", .tied = true);
    EGT_EQ(eg_module_numel(net), 4651600 - 10000 * 200);
    EGT_OK(eg_module_free(net));
}

EGT(weights_begin_within_the_scale)
{
    eg_module *net = eg_lstm_lm_new("medium", .words = 50, .width = 30);
    eg_parameters p = eg_module_parameters(net);
    for (int i = 0; i < p.count; i++) {
        double most = eg_item(eg_max(eg_abs(p.tensors[i])));
        EGT_CHECK(strstr(p.names[i], "bias_ih") ? most == 0 : most > 0.04 && most <= 0.05);
    }
    EGT_OK(eg_module_free(net));
}

/* ---- PyTorch's numbers ---------------------------------------------------------------------------- */

typedef struct golden {
    eg_tensors *file;
    const char *name; /* of the case */
    double tolerance;
} golden;

static eg_tensor *want(const golden *g, const char *format, const char *what, int step)
{
    char name[128];
    int n = snprintf(name, sizeof name, "%s/", g->name);
    snprintf(name + n, sizeof name - (size_t)n, format, what, step);
    eg_tensor *t = eg_tensors_get(g->file, name);
    EGT_CHECK(t);
    return t;
}

static eg_tensor *of_step(const golden *g, const char *what, int step)
{
    char format[32];
    snprintf(format, sizeof format, "step/%d/%%s", step);
    return want(g, format, what, 0);
}

static void compare(const golden *g, eg_tensor *have, eg_tensor *wanted)
{
    EGT_CHECK(egt_distance(eg_cast(have, EG_F64), wanted) <= g->tolerance);
}

static void replay_step(const golden *g, eg_module *net, eg_optim *sgd, int step, eg_tensor *states[2])
{
    eg_parameters p = eg_module_parameters(net);
    eg_tensor *x = of_step(g, "x", step), *y = of_step(g, "y", step), *gradients[32];
    eg_tape tape = eg_tape_open();
    eg_lm r = eg_lstm_lm_forward(net, x, states[0], states[1]);
    eg_tensor *loss = eg_cross_entropy(eg_flatten(r.logits, 0, 1), eg_flatten(y, 0, 1));
    loss = eg_mul_scalar(loss, (double)eg_size(x, 0));
    EGT_OK(eg_tape_gradients(tape, loss, p.tensors, p.count, gradients));
    compare(g, r.logits, of_step(g, "logits", step));
    EGT_NEAR(eg_item(loss), eg_item(of_step(g, "loss", step)), 10 * g->tolerance);
    for (int i = 0; i < p.count && step == 0; i++) {
        compare(g, gradients[i], want(g, "grads/%s", p.names[i], 0));
    }
    EGT_OK(eg_optim_step(sgd, gradients));
    EGT_NEAR(eg_optim_grad_norm(sgd), eg_item(of_step(g, "norm", step)), 10 * g->tolerance);
    eg_release(states[0]);
    eg_release(states[1]);
    states[0] = eg_keep(r.h);
    states[1] = eg_keep(r.c);
}

static void replay(const char *name, int layers, bool tied, bool two, double clip, eg_dtype dtype)
{
    golden g = {eg_safetensors_load("tests/golden/lstm_lm.safetensors"), name, dtype == EG_F64 ? 1e-12 : 2e-6};
    eg_module *net =
        eg_lstm_lm_new("small", .words = 11, .width = 5, .layers = layers, .tied = tied, .two_biases = two);
    eg_tensor *states[2] = {NULL, NULL};
    EGT_OK(eg_module_to(net, dtype));
    eg_parameters p = eg_module_parameters(net);
    EGT_EQ(p.count, 2 + (!tied) + layers * (3 + two));
    for (int i = 0; i < p.count; i++) {
        EGT_CHECK(eg_copy_(p.tensors[i], want(&g, "weights/%s", p.names[i], 0)));
    }
    eg_optim *sgd = eg_sgd_new(p, .lr = 1);
    EGT_OK(eg_optim_clip_norm(sgd, clip));
    for (int step = 0; step < 3; step++) {
        EG_SCOPE {
            replay_step(&g, net, sgd, step, states);
        }
    }
    p = eg_module_parameters(net);
    for (int i = 0; i < p.count; i++) {
        compare(&g, p.tensors[i], want(&g, "after/%s", p.names[i], 0));
    }
    compare(&g, states[0], want(&g, "h", "", 0));
    compare(&g, states[1], want(&g, "c", "", 0));
    eg_release(states[0]);
    eg_release(states[1]);
    eg_optim_free(sgd);
    EGT_OK(eg_module_free(net));
    eg_tensors_free(g.file);
}

EGT(three_steps_as_pytorch_has_them)
{
    for (int i = 0; i < 2; i++) {
        eg_dtype dtype = i ? EG_F32 : EG_F64;
        replay("plain", 2, false, false, 0.1, dtype);
        replay("tied", 1, true, false, 0.1, dtype);
        replay("two", 3, false, true, 100, dtype);
    }
}

/* ---- windows -------------------------------------------------------------------------------------- */

static eg_tensor *text(int64_t steps, int64_t rows, int64_t words)
{
    return eg_randint(EG_SHAPE(steps, rows), 0, words, EG_I64);
}

EGT(states_go_on_from_window_to_window)
{
    eg_module *net = eg_lstm_lm_new("small", .words = 20, .width = 6, .scale = 1);
    eg_tensor *ids = text(7, 3, 20);
    eg_lm whole = eg_lstm_lm_forward(net, ids, NULL, NULL);
    eg_lm a = eg_lstm_lm_forward(net, eg_slice(ids, 0, 0, 3, 1), NULL, NULL);
    eg_lm b = eg_lstm_lm_forward(net, eg_slice(ids, 0, 3, 7, 1), a.h, a.c);
    EGT_CHECK(egt_distance(eg_concat((eg_tensor *[]){a.logits, b.logits}, 2, 0), whole.logits) < 1e-5);
    EGT_CHECK(egt_distance(b.h, whole.h) < 1e-6 && egt_distance(b.c, whole.c) < 1e-6);
    EGT_CHECK(egt_distance(eg_module_forward(net, ids), whole.logits) == 0);
    /* Layouts and dtypes of ids, and one text alone. */
    eg_tensor *turned = eg_transpose(eg_contiguous(eg_transpose(ids, 0, 1)), 0, 1);
    EGT_CHECK(egt_distance(eg_lstm_lm_forward(net, eg_cast(turned, EG_U8), NULL, NULL).logits, whole.logits) == 0);
    eg_lm alone = eg_lstm_lm_forward(net, eg_select(ids, 1, 1), NULL, NULL);
    EGT_CHECK(eg_ndim(alone.logits) == 2 && eg_ndim(alone.h) == 2);
    EGT_CHECK(egt_distance(alone.logits, eg_select(whole.logits, 1, 1)) < 1e-6);
    EGT_OK(eg_module_free(net));
}

EGT(no_text_has_no_logits)
{
    eg_module *net = eg_lstm_lm_new("test", .words = 5);
    eg_lm none = eg_lstm_lm_forward(net, text(0, 3, 5), NULL, NULL);
    EGT_CHECK(none.logits && eg_numel(none.logits) == 0 && eg_size(none.logits, 2) == 5);
    none = eg_lstm_lm_forward(net, text(4, 0, 5), NULL, NULL);
    EGT_CHECK(none.logits && eg_numel(none.logits) == 0 && eg_size(none.logits, 0) == 4);
    EGT_OK(eg_module_free(net));
}

EGT(copies_and_files_are_the_same_net)
{
    eg_module *net = eg_lstm_lm_new("small", .words = 9, .width = 4, .tied = true), *copy = eg_module_copy(net);
    eg_module *other = eg_lstm_lm_new("small", .words = 9, .width = 4, .tied = true);
    eg_tensor *ids = text(3, 2, 9);
    const char *path = egt_path("net.safetensors");
    EGT_OK(eg_module_save(net, path));
    EGT_OK(eg_module_load(other, path));
    eg_tensor *logits = eg_module_forward(net, ids);
    EGT_CHECK(egt_distance(eg_module_forward(copy, ids), logits) == 0);
    EGT_CHECK(egt_distance(eg_module_forward(other, ids), logits) == 0);
    EGT_OK(eg_module_free(copy));
    EGT_OK(eg_module_free(other));
    EGT_OK(eg_module_free(net));
}

/* ---- dropout -------------------------------------------------------------------------------------- */

static bool is_dropped(const eg_lm *r, int64_t t, int64_t row, int64_t column)
{
    return eg_get(r->dropped, (t * eg_size(r->dropped, 1) + row) * eg_size(r->dropped, 2) + column) == 0;
}

/* How many numbers are dropped at step 0 and not at step 1, or the other way round. */
static int64_t changes(const eg_lm *r)
{
    int64_t n = 0;
    for (int64_t row = 0; row < eg_size(r->dropped, 1); row++) {
        for (int64_t k = 0; k < eg_size(r->dropped, 2); k++) {
            n += is_dropped(r, 0, row, k) != is_dropped(r, 1, row, k);
        }
    }
    return n;
}

EGT(dropout_is_drawn_per_step_or_per_window)
{
    eg_tensor *ids = text(2, 4, 30);
    for (int variational = 0; variational < 2; variational++) {
        eg_module *net = eg_lstm_lm_new("medium", .words = 30, .width = 40, .variational = variational);
        eg_lm r = eg_lstm_lm_forward(net, ids, NULL, NULL);
        double share = eg_item(eg_mean(eg_cast(eg_eq_scalar(r.dropped, 0), EG_F64)));
        EGT_CHECK(share > 0.35 && share < 0.65);
        EGT_CHECK(variational ? changes(&r) == 0 : changes(&r) > 40);
        EGT_CHECK(egt_distance(r.dropped, eg_mul_scalar(eg_masked_fill(r.y, eg_eq_scalar(r.dropped, 0), 0), 2)) < 1e-6);
        EGT_CHECK(egt_distance(eg_lstm_lm_forward(net, ids, NULL, NULL).y, r.y) > 0); /* in front of layers, too */
        EGT_OK(eg_module_eval(net));
        r = eg_lstm_lm_forward(net, ids, NULL, NULL);
        EGT_CHECK(egt_distance(r.dropped, r.y) == 0);
        EGT_CHECK(egt_distance(eg_module_forward(net, ids), r.logits) == 0);
        EGT_OK(eg_module_free(net));
    }
    eg_module *net = eg_lstm_lm_new("medium", .words = 30, .width = 4, .dropout = EG_ZERO);
    EGT_CHECK(egt_distance(eg_module_forward(net, ids), eg_module_forward(net, ids)) == 0);
    EGT_OK(eg_module_free(net));
}

/* A word that is dropped reads as zeros wherever it stands, and the others are larger by as much. */
EGT(embedding_dropout_drops_words)
{
    enum { WORDS = 64 };
    eg_module *net = eg_lstm_lm_new("small", .words = WORDS, .width = 6, .scale = 1, .embedding_dropout = 0.5);
    eg_tensor *each = eg_arange_int(0, WORDS, 1, EG_I64);
    eg_tensor *ids = eg_reshape(eg_concat((eg_tensor *[]){each, each}, 2, 0), EG_SHAPE(1, 2 * WORDS));
    eg_tensor *y = eg_select(eg_lstm_lm_forward(net, ids, NULL, NULL).y, 0, 0);
    EGT_CHECK(egt_distance(eg_slice(y, 0, 0, WORDS, 1), eg_slice(y, 0, WORDS, 2 * WORDS, 1)) < 1e-6);
    EGT_OK(eg_module_eval(net));
    eg_tensor *embedding = member(net, "embedding.weight");
    EGT_CHECK(eg_mul_scalar_(embedding, 2));
    eg_tensor *doubled = eg_select(eg_lstm_lm_forward(net, ids, NULL, NULL).y, 0, 0);
    EGT_CHECK(eg_mul_scalar_(embedding, 0));
    eg_tensor *zero = eg_select(eg_lstm_lm_forward(net, ids, NULL, NULL).y, 0, 0);
    int dropped = 0;
    for (int i = 0; i < WORDS; i++) {
        eg_tensor *row = eg_select(y, 0, i);
        bool gone = egt_distance(row, eg_select(zero, 0, i)) < 1e-6;
        EGT_CHECK(gone || egt_distance(row, eg_select(doubled, 0, i)) < 1e-5);
        dropped += gone;
    }
    EGT_CHECK(dropped > WORDS / 5 && dropped < 4 * WORDS / 5);
    EGT_OK(eg_module_free(net));
}

EGT(weight_dropout_cuts_steps_apart)
{
    eg_module *net = eg_lstm_lm_new("small", .words = 9, .width = 6, .layers = 1, .scale = 1, .weight_dropout = 1);
    eg_tensor *ids = text(4, 2, 9);
    eg_tensor *y = eg_lstm_lm_forward(net, ids, NULL, NULL).y;
    EGT_OK(eg_module_eval(net));
    EGT_CHECK(egt_distance(eg_lstm_lm_forward(net, ids, NULL, NULL).y, y) > 1e-3);
    EGT_CHECK(eg_mul_scalar_(member(net, "layers.0.rnn.weight_hh_l0"), 0));
    EGT_CHECK(egt_distance(eg_lstm_lm_forward(net, ids, NULL, NULL).y, y) < 1e-6);
    EGT_OK(eg_module_free(net));
}

/* ---- refusals and memory -------------------------------------------------------------------------- */

EGT(what_is_out_of_order_is_refused)
{
    EGT_REFUSED(eg_lstm_lm_at(-1).name, EG_EINDEX, "-1");
    EGT_REFUSED(eg_lstm_lm_at(4).name, EG_EINDEX, "0..3");
    EGT_REFUSED(eg_lstm_lm_find("huge").name, EG_EINDEX, "small medium large test");
    EGT_REFUSED(eg_lstm_lm_new("huge"), EG_EINDEX, "huge");
    EGT_REFUSED(eg_lstm_lm_new(NULL), EG_EINVAL, "name");
    EGT_REFUSED(eg_lstm_lm_new("small", .words = -1), EG_EINVAL, "-1 words");
    EGT_REFUSED(eg_lstm_lm_new("small", .width = -2), EG_EINVAL, "width -2");
    EGT_REFUSED(eg_lstm_lm_new("small", .layers = 65), EG_EINVAL, "65 layers");
    EGT_REFUSED(eg_lstm_lm_new("small", .dropout = 1.5), EG_EINVAL, "dropout is 1.5");
    EGT_REFUSED(eg_lstm_lm_new("small", .embedding_dropout = -1), EG_EINVAL, "embedding_dropout is -1");
    EGT_REFUSED(eg_lstm_lm_new("small", .weight_dropout = (double)NAN), EG_EINVAL, "weight_dropout is");
    EGT_REFUSED(eg_lstm_lm_new("small", .scale = -0.1), EG_EINVAL, "scale is -0.1");
    EGT_REFUSED(eg_lstm_lm_new("small", .words = INT64_MAX / 2), EG_ESHAPE, "");
    eg_module *net = eg_lstm_lm_new("test", .words = 5), *other = eg_linear_new(2, 2);
    eg_tensor *ids = text(3, 2, 5), *h = eg_zeros(EG_SHAPE(1, 2, 2), EG_F32);
    EGT_REFUSED(eg_lstm_lm_forward(NULL, ids, NULL, NULL).logits, EG_EINVAL, "m is NULL");
    EGT_REFUSED(eg_lstm_lm_forward(net, NULL, NULL, NULL).logits, EG_EINVAL, "ids is NULL");
    EGT_REFUSED(eg_lstm_lm_forward(net, ids, h, NULL).logits, EG_EINVAL, "both");
    EGT_REFUSED(eg_lstm_lm_forward(other, ids, NULL, NULL).logits, EG_EINVAL, "a linear is no");
    EGT_REFUSED(eg_lstm_lm_forward(net, eg_add_scalar(ids, 5), NULL, NULL).y, EG_EINDEX, "");
    EGT_REFUSED(eg_lstm_lm_forward(net, ids, eg_ones(EG_SHAPE(2, 2, 2), EG_F32), h).c, EG_ESHAPE, "h0");
    EGT_OK(eg_module_free(other));
    EGT_OK(eg_module_free(net));
}

static bool make_and_run(void *user)
{
    eg_module *net = eg_lstm_lm_new("medium", .words = 7, .width = 3, .variational = true, .embedding_dropout = 0.1,
                                    .weight_dropout = 0.1);
    eg_lm r = net ? eg_lstm_lm_forward(net, user, NULL, NULL) : (eg_lm){NULL, NULL, NULL, NULL, NULL};
    bool none = !r.logits && !r.h && !r.c && !r.y && !r.dropped;
    bool whole = r.logits && r.h && r.c && r.y && r.dropped;
    EGT_CHECK(none || whole);
    eg_module_free(net);
    return whole;
}

EGT(memory_runs_out)
{
    EGT_CHECK(egt_fail_allocations(make_and_run, text(2, 2, 7)) > 40);
}
