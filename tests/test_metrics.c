/* test_metrics.c - sums over batches are those of all batches as one. */
#include <egret/saver.h>

#include "tests/egt.h"

/* Logits of four classes for seven labels, two of which count nowhere. */
static eg_tensor *logits(void)
{
    return eg_from_values(EG_SHAPE(7, 4), EG_F32, (double[]){9, 1, 2,      3, /**/ 1, 9, 8,      7, /**/ 1, 5,
                                                             6, 7, /**/ 4, 3, 2,      1, /**/ 0, 0, 0,      1, /**/
                                                             5, 4, 3,      2, /**/ 1, 2, 9,      8});
}

static eg_tensor *labels(void)
{
    return eg_from_values(EG_SHAPE(7), EG_I64, (double[]){0, 2, 3, -1, -100, 1, 3});
}

static eg_tensor *part(eg_tensor *t, int64_t from, int64_t to)
{
    return eg_slice(t, 0, from, to, 1);
}

static void all_of(eg_metrics *m, int64_t from, int64_t to)
{
    eg_tensor *x = part(logits(), from, to), *y = part(labels(), from, to);
    eg_tensor *p = eg_sigmoid(eg_sub_scalar(eg_select(x, 1, 1), 3)), *t = eg_eq_scalar(y, 1);
    EGT_OK(eg_metrics_accuracy(m, "accuracy", x, y));
    EGT_OK(eg_metrics_top_k(m, "top2", x, y, 2));
    EGT_OK(eg_metrics_confusion(m, "classes", x, y));
    EGT_OK(eg_metrics_mean(m, "mean", x));
    EGT_OK(eg_metrics_perplexity(m, "words", eg_mean(x), eg_numel(x)));
    EGT_OK(eg_metrics_binary(m, "first", p, t, 0.5));
    EGT_OK(eg_metrics_auc(m, "auc", p, t));
    EGT_OK(eg_metrics_dice(m, "dice", p, eg_cast(t, EG_F32)));
}

EGT(batches_are_as_one)
{
    eg_metrics *whole = eg_metrics_new(), *cut = eg_metrics_new();
    all_of(whole, 0, 7);
    all_of(cut, 0, 2);
    all_of(cut, 2, 6);
    all_of(cut, 6, 7);
    EGT_EQ(eg_metrics_count(whole), 8);
    for (int i = 0; i < 8; i++) {
        const char *name = eg_metrics_name(whole, i);
        EGT_NEAR(eg_metrics_value(cut, name), eg_metrics_value(whole, name), 1e-7);
    }
    /* Of the labels 0 2 3 . . 1 3 the classes 0 1 3 . . 0 2 were taken. */
    EGT_NEAR(eg_metrics_value(whole, "accuracy"), 2.0 / 5, 0);
    EGT_NEAR(eg_metrics_value(whole, "classes"), 2.0 / 5, 0);
    EGT_NEAR(eg_metrics_value(whole, "top2"), 5.0 / 5, 0);
    double mean = eg_item(eg_mean(logits()));
    EGT_NEAR(eg_metrics_value(whole, "mean"), mean, 1e-6);
    EGT_NEAR(eg_metrics_value(whole, "words"), exp(mean), 1e-4);
    eg_metrics_free(whole);
    eg_metrics_free(cut);
}

EGT(scores_of_classes)
{
    eg_metrics *m = eg_metrics_new();
    all_of(m, 0, 7);
    eg_tensor *matrix = eg_metrics_matrix(m, "classes");
    eg_tensor *want = eg_from_values(EG_SHAPE(4, 4), EG_I64,
                                     (double[]){1, 0, 0, 0, /**/ 1, 0, 0, 0, /**/ 0, 1, 0, 0, /**/ 0, 0, 1, 1});
    EGT_EQ(egt_distance(matrix, want), 0);
    EGT_EQ(eg_metrics_of(m, "classes", EG_PRECISION, 0), 0.5);
    EGT_EQ(eg_metrics_of(m, "classes", EG_RECALL, 0), 1);
    EGT_NEAR(eg_metrics_of(m, "classes", EG_F1, 0), 2.0 / 3, 1e-15);
    EGT_EQ(eg_metrics_of(m, "classes", EG_IOU, 3), 0.5);
    EGT_EQ(eg_metrics_of(m, "classes", EG_IOU, -1), (0.5 + 0 + 0 + 0.5) / 4);
    EGT_EQ(eg_metrics_of(m, "classes", EG_RECALL, -1), (1 + 0 + 0 + 0.5) / 4);
    /* Above 3 in the second column: rows 1, 2 and 5; row 5 alone is of class 1. */
    EGT_NEAR(eg_metrics_of(m, "first", EG_PRECISION, 1), 1.0 / 3, 1e-15);
    EGT_EQ(eg_metrics_of(m, "first", EG_RECALL, 1), 1);
    EGT_REFUSED(eg_metrics_of(m, "accuracy", EG_F1, 0), EG_EINVAL, "eg_metrics_accuracy");
    EGT_REFUSED(eg_metrics_of(m, "classes", (eg_class_score)9, 0), EG_EINVAL, "score 9");
    EGT_REFUSED(eg_metrics_of(m, "classes", EG_F1, 4), EG_EINVAL, "class 4");
    EGT_REFUSED(eg_metrics_matrix(m, "auc"), EG_EINVAL, "eg_metrics_auc");
    eg_metrics_free(m);
}

EGT(classes_of_places)
{
    eg_metrics *m = eg_metrics_new();
    eg_tensor *x = egt_random(EG_SHAPE(2, 3, 4, 5), EG_F32, -1, 1), *y = eg_randint(EG_SHAPE(2, 4, 5), 0, 3, EG_I32);
    eg_tensor *right = eg_cast(eg_eq(eg_argmax(x, .axes = EG_AXES(1)), eg_cast(y, EG_I64)), EG_F64);
    EGT_OK(eg_metrics_accuracy(m, "a", x, y));
    EGT_OK(eg_metrics_confusion(m, "c", x, y));
    EGT_OK(eg_metrics_top_k(m, "all", x, y, 3));
    EGT_NEAR(eg_metrics_value(m, "a"), eg_item(eg_mean(right)), 1e-15);
    EGT_NEAR(eg_metrics_value(m, "c"), eg_item(eg_mean(right)), 1e-15);
    EGT_EQ(eg_metrics_value(m, "all"), 1);
    eg_metrics_free(m);
}

/* The share of pairs of a positive and a negative that are in order, ties by halves. */
static double pairs_in_order(const double *score, const double *of, int n)
{
    double order = 0, all = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            if (of[i] > of[j]) {
                order += score[i] > score[j] ? 1 : score[i] == score[j] ? 0.5 : 0;
                all++;
            }
        }
    }
    return order / all;
}

EGT(areas_and_overlaps)
{
    enum { N = 500 };
    double score[N], of[N];
    eg_seed(3);
    eg_tensor *t = eg_cast(eg_bernoulli(EG_SHAPE(N), 0.3, EG_U8), EG_F64);
    eg_tensor *p = eg_sigmoid(eg_add(eg_normal(EG_SHAPE(N), 0, 1, EG_F64), t));
    eg_metrics *m = eg_metrics_new();
    EGT_OK(eg_to_values(p, score));
    EGT_OK(eg_to_values(t, of));
    EGT_OK(eg_metrics_auc(m, "auc", p, t));
    EGT_NEAR(eg_metrics_value(m, "auc"), pairs_in_order(score, of, N), 5e-4);
    EGT_OK(eg_metrics_auc(m, "sure", t, t));
    EGT_EQ(eg_metrics_value(m, "sure"), 1);
    EGT_OK(eg_metrics_dice(m, "dice", p, t));
    EGT_NEAR(eg_metrics_value(m, "dice"),
             (2 * eg_item(eg_sum(eg_mul(p, t))) + 1) / (eg_item(eg_sum(p)) + eg_item(eg_sum(t)) + 1), 1e-12);
    EGT_REFUSED(eg_metrics_auc(m, "auc", eg_mul_scalar(p, 3), t), EG_EINVAL, "outside 0..1");
    EGT_REFUSED(eg_metrics_auc(m, "auc", eg_full(EG_SHAPE(N), (double)NAN, EG_F32), t), EG_EINVAL, "outside 0..1");
    eg_metrics_free(m);
}

EGT(whole_sequences)
{
    const double said[] = {1, 2, 3, /**/ 1, 2, 4, /**/ 5, 6, 0, /**/ 7, 7, 7};
    const double there[] = {1, 2, 3, /**/ 1, 2, 3, /**/ 5, 6, -1, /**/ -1, -1, -1};
    eg_tensor *ids = eg_from_values(EG_SHAPE(4, 3), EG_I64, said), *of = eg_from_values(EG_SHAPE(4, 3), EG_I32, there);
    eg_metrics *m = eg_metrics_new();
    EGT_OK(eg_metrics_sequences(m, "s", part(ids, 0, 2), part(of, 0, 2)));
    EGT_EQ(eg_metrics_value(m, "s"), 0.5);
    EGT_OK(eg_metrics_sequences(m, "s", part(ids, 2, 4), part(of, 2, 4)));
    EGT_EQ(eg_metrics_value(m, "s"), 0.75);
    EGT_REFUSED(eg_metrics_sequences(m, "s", ids, part(of, 0, 2)), EG_ESHAPE, "alike");
    EGT_REFUSED(eg_metrics_sequences(m, "s", ids, eg_cast(of, EG_F32)), EG_EDTYPE, "f32");
    eg_metrics_free(m);
}

/* The scores of one photo, of what counts, in a loop. */
static void depth_loop(const double *d, const double *t, int n, double scale, double *sums)
{
    double s[7] = {0};
    int known = 0;
    for (int i = 0; i < n; i++) {
        if (t[i] > 0.5 && t[i] < 20) {
            double x = fmin(20, fmax(0.5, d[i] * scale)), off = fmax(x / t[i], t[i] / x), e = x - t[i];
            s[0] += fabs(e) / t[i];
            s[1] += e * e / t[i];
            s[2] += e * e;
            s[3] += pow(log(x / t[i]), 2);
            s[4] += off < 1.25;
            s[5] += off < 1.25 * 1.25;
            s[6] += off < 1.25 * 1.25 * 1.25;
            known++;
        }
    }
    for (int k = 0; k < 7; k++) {
        sums[k] += k == 2 || k == 3 ? sqrt(s[k] / known) : s[k] / known;
    }
}

static double middle(const double *v, const double *t, int n)
{
    double all[64];
    int known = 0;
    for (int i = 0; i < n; i++) {
        if (t[i] > 0.5 && t[i] < 20) {
            int k = known++;
            for (; k && all[k - 1] > v[i]; k--) {
                all[k] = all[k - 1];
            }
            all[k] = v[i];
        }
    }
    return (all[(known - 1) / 2] + all[known / 2]) / 2;
}

EGT(depths)
{
    enum { N = 3, PIXELS = 4 * 15 };
    double d[N][PIXELS], t[N][PIXELS], sums[2][7] = {{0}};
    eg_tensor *depth = egt_random(EG_SHAPE(N, 1, 4, 15), EG_F64, 0.2, 25);
    eg_tensor *truth = eg_mul(depth, egt_random(EG_SHAPE(N, 1, 4, 15), EG_F64, 0.6, 1.7));
    EGT_OK(eg_to_values(depth, d[0]));
    EGT_OK(eg_to_values(truth, t[0]));
    eg_metrics *m = eg_metrics_new();
    for (int i = 0; i < N; i++) {
        depth_loop(d[i], t[i], PIXELS, 1, sums[0]);
        depth_loop(d[i], t[i], PIXELS, middle(t[i], t[i], PIXELS) / middle(d[i], t[i], PIXELS), sums[1]);
    }
    EGT_OK(eg_metrics_depth(m, "d", part(depth, 0, 1), part(truth, 0, 1), .least = 0.5, .most = 20));
    EGT_OK(eg_metrics_depth(m, "d", part(depth, 1, N), part(truth, 1, N), .least = 0.5, .most = 20));
    EGT_OK(eg_metrics_depth(m, "d", depth, eg_zeros_like(truth))); /* nothing is known */
    EGT_OK(eg_metrics_depth(m, "m", eg_mul_scalar(depth, 3), truth, .least = 0.5, .most = 20, .median = true));
    for (int k = 0; k < 7; k++) {
        EGT_NEAR(eg_metrics_depth_score(m, "d", (eg_depth_score)k), sums[0][k] / N, 1e-12);
        EGT_NEAR(eg_metrics_depth_score(m, "m", (eg_depth_score)k), sums[1][k] / N, 1e-12);
    }
    EGT_NEAR(eg_metrics_value(m, "d"), sums[0][0] / N, 1e-12);
    EGT_REFUSED(eg_metrics_depth(m, "d", depth, part(truth, 0, 1)), EG_ESHAPE, "alike");
    EGT_REFUSED(eg_metrics_depth(m, "d", depth, eg_cast(truth, EG_I64)), EG_EDTYPE, "i64");
    EGT_REFUSED(eg_metrics_depth(m, "d", depth, truth, .least = 3, .most = 2), EG_EINVAL, "from 3 to 2");
    EGT_CHECK(isnan(eg_metrics_depth_score(m, "d", (eg_depth_score)7)) && egt_said(EG_EINVAL, "score 7"));
    EGT_CHECK(isnan(eg_metrics_depth_score(m, "x", EG_DEPTH_RMSE)) && egt_said(EG_EINDEX, "x"));
    eg_metrics_free(m);
}

/* Beside tests/golden/trajectory.py. */
EGT(trajectories)
{
    static const char *const names[] = {"similarity", "rigid", "scale"};
    eg_tensors *file = eg_tensors_open("tests/golden/trajectory.safetensors");
    eg_tensor *path = eg_tensors_get(file, "path"), *truth = eg_tensors_get(file, "truth");
    eg_metrics *m = eg_metrics_new();
    for (int i = 0; i < 3; i++) {
        char name[40];
        snprintf(name, sizeof name, "%s/error", names[i]);
        eg_tensor *fitted = eg_trajectory_fitted(path, truth, (eg_path_fit)i);
        EGT_NEAR(eg_item(eg_max(eg_abs(eg_sub(fitted, eg_tensors_get(file, names[i]))))), 0, 1e-12);
        EGT_OK(eg_metrics_trajectory(m, names[i], part(path, 0, 3), part(truth, 0, 3), .fit = (eg_path_fit)i));
        EGT_OK(eg_metrics_trajectory(m, names[i], part(path, 3, 4), part(truth, 3, 4), .fit = (eg_path_fit)i));
        EGT_NEAR(eg_metrics_value(m, names[i]), eg_item(eg_tensors_get(file, name)), 1e-12);
    }
    EGT_OK(eg_metrics_trajectory(m, "still", eg_zeros_like(path), truth)); /* of no size that could be another */
    EGT_CHECK(isfinite(eg_metrics_value(m, "still")));
    EGT_OK(eg_metrics_trajectory(m, "same", truth, truth));
    EGT_NEAR(eg_metrics_value(m, "same"), 0, 1e-12);
    EGT_REFUSED(eg_metrics_trajectory(m, "same", path, part(truth, 0, 1)), EG_ESHAPE, "alike");
    EGT_REFUSED(eg_metrics_trajectory(m, "same", path, eg_cast(truth, EG_I64)), EG_EDTYPE, "i64");
    EGT_REFUSED(eg_metrics_trajectory(m, "same", path, truth, .fit = (eg_path_fit)3), EG_EINVAL, "fit 3");
    EGT_REFUSED(eg_trajectory_fitted(path, NULL, EG_FIT_RIGID), EG_EINVAL, "truth");
    eg_metrics_free(m);
    eg_tensors_free(file);
}

EGT(tapes_see_nothing)
{
    eg_metrics *m = eg_metrics_new();
    eg_tensor *w = eg_parameter(logits()), *dw;
    for (int i = 0; i < 2; i++) {
        eg_tape tape = eg_tape_open();
        eg_tensor *loss = eg_sum(eg_square(w));
        EGT_OK(eg_metrics_mean(m, "loss", loss));
        EGT_OK(eg_metrics_accuracy(m, "accuracy", w, labels()));
        EGT_OK(eg_metrics_dice(m, "dice", eg_sigmoid(w), eg_sigmoid(w)));
        EGT_OK(eg_tape_gradients(tape, loss, &w, 1, &dw));
    }
    EGT_NEAR(eg_metrics_value(m, "loss"), eg_item(eg_sum(eg_square(w))), 1e-3);
    eg_release(w);
    eg_metrics_free(m);
}

EGT(metrics_are_part_of_a_checkpoint)
{
    eg_metrics *m = eg_metrics_new(), *again = eg_metrics_new();
    eg_saver *saver = eg_saver_new(egt_path("metrics"));
    EGT_OK(eg_saver_metrics(saver, "valid", m));
    EGT_OK(eg_saver_save(saver, 0)); /* of none */
    all_of(m, 0, 3);
    EGT_OK(eg_saver_save(saver, 1));
    all_of(m, 3, 7);
    eg_saver *other = eg_saver_new(egt_path("metrics"));
    EGT_OK(eg_saver_metrics(other, "valid", again));
    int64_t step = 0;
    EGT_OK(eg_saver_restore(other, &step));
    all_of(again, 3, 7);
    for (int i = 0; i < 8; i++) {
        EGT_EQ(eg_metrics_value(again, eg_metrics_name(m, i)), eg_metrics_value(m, eg_metrics_name(m, i)));
    }
    eg_tensors *state = eg_metrics_state(m);
    EGT_OK(eg_tensors_set(state, "dice.more", eg_zeros(EG_SHAPE(2), EG_F64)));
    EGT_REFUSED(eg_metrics_load_state(again, state), EG_EFORMAT, "dice.more");
    EGT_OK(eg_tensors_set(state, "dice.more", eg_zeros(EG_SHAPE(3), EG_F64)));
    EGT_REFUSED(eg_metrics_load_state(again, state), EG_EFORMAT, "9 metrics");
    EGT_EQ(eg_metrics_count(again), 8);
    eg_tensors_free(state);
    state = eg_tensors_new();
    EGT_REFUSED(eg_metrics_load_state(again, state), EG_EINDEX, "count");
    eg_tensors_free(state);
    EGT_OK(eg_metrics_reset(m));
    EGT_CHECK(isnan(eg_metrics_value(m, "accuracy")) && eg_metrics_count(m) == 8);
    eg_saver_free(saver);
    eg_saver_free(other);
    eg_metrics_free(m);
    eg_metrics_free(again);
}

static bool gather_some(void *user)
{
    eg_metrics *m = eg_metrics_new();
    eg_tensor *x = ((eg_tensor **)user)[0], *y = ((eg_tensor **)user)[1];
    bool good = m && eg_metrics_accuracy(m, "a", x, y) == EG_OK && eg_metrics_confusion(m, "b", x, y) == EG_OK &&
                eg_metrics_confusion(m, "b", x, y) == EG_OK && !isnan(eg_metrics_value(m, "b"));
    eg_metrics_free(m);
    return good;
}

EGT(metrics_refuse)
{
    eg_metrics *m = eg_metrics_new();
    eg_tensor *x = logits(), *y = labels(), *given[2] = {x, y};
    EGT_CHECK(isnan(eg_metrics_value(m, "accuracy")) && egt_said(EG_EINDEX, "accuracy"));
    EGT_OK(eg_metrics_accuracy(m, "a", x, y));
    EGT_REFUSED(eg_metrics_mean(m, "a", x), EG_EINVAL, "eg_metrics_accuracy");
    EGT_REFUSED(eg_metrics_accuracy(m, "a", x, x), EG_ESHAPE, "[7, 4]");
    EGT_REFUSED(eg_metrics_accuracy(m, "a", x, eg_cast(y, EG_F32)), EG_EDTYPE, "f32");
    EGT_REFUSED(eg_metrics_accuracy(m, "", x, y), EG_EINVAL, "name");
    EGT_REFUSED(eg_metrics_accuracy(m, "a/b", x, y), EG_EINVAL, "name");
    EGT_REFUSED(eg_metrics_accuracy(m, NULL, x, y), EG_EINVAL, "name");
    EGT_REFUSED(eg_metrics_accuracy(NULL, "a", x, y), EG_EINVAL, "m is NULL");
    EGT_REFUSED(eg_metrics_accuracy(m, "a", NULL, y), EG_EINVAL, "first");
    EGT_REFUSED(eg_metrics_top_k(m, "k", x, y, 0), EG_EINVAL, "k is 0");
    EGT_REFUSED(eg_metrics_perplexity(m, "p", x, 3), EG_EINVAL, "one element");
    EGT_OK(eg_metrics_confusion(m, "c", x, y));
    EGT_REFUSED(eg_metrics_confusion(m, "c", part(x, 0, 7), eg_full(EG_SHAPE(7), 4, EG_I64)), EG_EINDEX, "");
    EGT_REFUSED(eg_metrics_confusion(m, "c", eg_slice(x, 1, 0, 3, 1), eg_zeros(EG_SHAPE(7), EG_I64)), EG_ESHAPE,
                "classes");
    EGT_REFUSED(eg_metrics_binary(m, "b", x, y, 0), EG_ESHAPE, "[7]");
    EGT_REFUSED(eg_metrics_dice(m, "d", x, y), EG_ESHAPE, "alike");
    EGT_NEAR(eg_metrics_value(m, "c"), 0.4, 1e-15); /* nothing of what was refused */
    EGT_REFUSED(eg_metrics_name(m, 2), EG_EINDEX, "2");
    EGT_CHECK(egt_fail_allocations(gather_some, given) > 0);
    eg_metrics_free(m);
    eg_metrics_free(NULL);
}

EGT(added_to_others)
{
    eg_metrics *m = eg_metrics_new(), *others = eg_metrics_new();
    EGT_OK(eg_metrics_mean(m, "loss", eg_from_values(EG_SHAPE(3), EG_F32, (double[]){1, 2, 3})));
    EGT_OK(eg_metrics_mean(others, "loss", eg_from_values(EG_SHAPE(1), EG_F32, (double[]){10})));
    EGT_OK(eg_metrics_mean(others, "more", eg_from_values(EG_SHAPE(1), EG_F32, (double[]){5})));
    EGT_OK(eg_metrics_add(m, others));
    EGT_EQ(eg_metrics_value(m, "loss"), 4);
    EGT_EQ(eg_metrics_value(m, "more"), 5);
    EGT_EQ(eg_metrics_value(others, "loss"), 10);
    EGT_REFUSED(eg_metrics_add(m, NULL), EG_EINVAL, "others");
    eg_metrics_free(m);
    eg_metrics_free(others);
}
