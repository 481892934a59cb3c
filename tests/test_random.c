/* test_random.c - published vectors, the same numbers everywhere, the distributions, what is refused. */
#include <pthread.h>

#include "lib/math/philox.h"
#include "tests/egt.h"

EGT(philox_matches_the_published_vectors)
{
    /* From the known-answer file of the authors' library, philox 4x32, 10 rounds. */
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } v[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (int i = 0; i < 3; i++) {
        uint32_t c[4];
        memcpy(c, v[i].counter, sizeof c);
        eg__philox((uint64_t)v[i].key[1] << 32 | v[i].key[0], c);
        EGT_CHECK(!memcmp(c, v[i].out, sizeof c));
    }
}

EGT(bits_come_from_the_stream_as_documented)
{
    /* seed 0, block 0 is the first published vector; bernoulli(p) is "upper 24 bits below p 2^24" */
    static const uint32_t words[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    eg_seed(0);
    eg_tensor *u = eg_uniform(EG_SHAPE(4), 0, 1, EG_F32);
    for (int i = 0; i < 4; i++) {
        EGT_EQ(eg_get(u, i), (double)(words[i] >> 8) * 0x1p-24);
    }
    eg_seed(0);
    eg_tensor *d = eg_uniform(EG_SHAPE(1), 0, 1, EG_F64);
    EGT_EQ(eg_item(d), (double)(((uint64_t)words[0] << 32 | words[1]) >> 11) * 0x1p-53);
    eg_seed(0);
    eg_tensor *b = eg_bernoulli(EG_SHAPE(4), 0.5, EG_BOOL);
    for (int i = 0; i < 4; i++) {
        EGT_EQ(eg_get(b, i), words[i] < 0x80000000u);
    }
}

/* ---- the same numbers everywhere ------------------------------------------------------------- */

static const int64_t sizes[] = {0, 1, 3, 4, 5, 63, 1023, 1024, 1025, 40000};
enum { KINDS = 16 };

static eg_tensor *kind(int k, int64_t n)
{
    eg_shape s = EG_SHAPE(n);
    eg_tensor *x = k >= 12 && k < 15 ? eg_ones(s, k == 12 ? EG_F32 : k == 13 ? EG_F64 : EG_BF16) : NULL;
    switch (k) {
    case 0:
        return eg_uniform(s, -3, 7, EG_F32);
    case 1:
        return eg_uniform(s, 0.1, 0.3, EG_F64);
    case 2:
        return eg_uniform(s, 0, 1, EG_F16);
    case 3:
        return eg_normal(s, 1, 2, EG_F32);
    case 4:
        return eg_normal(s, 1, 2, EG_F64);
    case 5:
        return eg_normal(s, 0, 1, EG_BF16);
    case 6:
        return eg_truncated_normal(s, 1, 3, EG_F32);
    case 7:
        return eg_truncated_normal(s, 0, 1, EG_F64);
    case 8:
        return eg_bernoulli(s, 0.3, EG_BOOL);
    case 9:
        return eg_bernoulli(s, 0.7, EG_F32);
    case 10:
        return eg_randint(s, -5, 1000, EG_I64);
    case 11:
        return eg_randint(s, 0, 256, EG_U8);
    case 15:
        return eg_permutation(n);
    default:
        return eg_dropout(x, 0.4, true);
    }
}

EGT(numbers_are_the_same_on_every_instruction_set_and_for_any_threads)
{
    const char *best = eg_cpu_isa(), *isas[] = {"avx512", "avx2", "base"};
    int threads = eg_threads();
    for (int k = 0; k < KINDS; k++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            snprintf(egt_case, sizeof egt_case, "kind %d, %d numbers", k, (int)sizes[i]);
            eg_scope s = eg_scope_push();
            eg_random_set_state((eg_random_state){77, 0xfffffffff0});
            eg_debug("ref");
            eg_tensor *want = kind(k, sizes[i]);
            eg_random_state after = eg_random_get_state();
            eg_debug(NULL);
            for (int j = 0; j < 6; j++) {
                if (eg_debug_isa(isas[j / 2])) {
                    eg_clear_error();
                    continue;
                }
                eg_set_threads(j % 2 ? 1 : threads);
                eg_random_set_state((eg_random_state){77, 0xfffffffff0});
                EGT_CHECK(egt_same_bits(kind(k, sizes[i]), want));
                EGT_CHECK(eg_random_get_state().offset == after.offset);
            }
            eg_debug_isa(best);
            eg_set_threads(threads);
            eg_scope_pop(s, NULL);
        }
    }
}

EGT(the_state_moves_by_the_words_used)
{
    eg_seed(5);
    eg_uniform(EG_SHAPE(5), 0, 1, EG_F32);
    EGT_EQ(eg_random_get_state().offset, 2);
    eg_normal(EG_SHAPE(5), 0, 1, EG_F64);
    EGT_EQ(eg_random_get_state().offset, 2 + 3);
    eg_random_state here = eg_random_get_state();
    eg_tensor *a = eg_normal(EG_SHAPE(7), 0, 1, EG_F32);
    eg_random_set_state(here);
    EGT_CHECK(egt_same_bits(a, eg_normal(EG_SHAPE(7), 0, 1, EG_F32)));
    EGT_CHECK(!egt_same_bits(a, eg_normal(EG_SHAPE(7), 0, 1, EG_F32)));
    here = eg_random_get_state();
    EGT_REFUSED(eg_normal(EG_SHAPE(7), 0, -1, EG_F32), EG_EINVAL, "std");
    EGT_EQ(eg_random_get_state().offset, here.offset);
    eg_seed(6);
    EGT_CHECK(!egt_same_bits(a, eg_normal(EG_SHAPE(7), 0, 1, EG_F32)));
    eg_seed(0);
}

/* ---- distributions --------------------------------------------------------------------------- */

/* Mean and variance of n numbers with the given ones and fourth central moment, within 5 sigma. */
static void check_moments(const char *name, eg_tensor *x, double mean, double variance, double fourth)
{
    int64_t n = eg_numel(x);
    double s = 0, q = 0;
    snprintf(egt_case, sizeof egt_case, "moments of %s", name);
    for (int64_t i = 0; i < n; i++) {
        double d = eg_get(x, i) - mean;
        s += d;
        q += d * d;
    }
    EGT_CHECK(fabs(s / (double)n) <= 5 * sqrt(variance / (double)n));
    EGT_CHECK(fabs(q / (double)n - variance) <= 5 * sqrt((fourth - variance * variance) / (double)n));
}

EGT(distributions_have_their_moments)
{
    const eg_shape s = EG_SHAPE(300000);
    /* of a standard normal cut at 2: variance 1 - 4 phi(2) / (2 Phi(2) - 1), fourth moment 3 v - 16 phi / .. */
    double cut = 2 * exp(-2.0) / sqrt(2 * acos(-1.0)) / erf(sqrt(2.0));
    double v = 1 - 2 * cut, f = 3 * v - 8 * cut;
    eg_seed(2024);
    for (int dt = 0; dt < 2; dt++) {
        check_moments("uniform", eg_uniform(s, -1, 3, (eg_dtype)dt), 1, 16.0 / 12, 256.0 / 80);
        check_moments("normal", eg_normal(s, -2, 3, (eg_dtype)dt), -2, 9, 3 * 81);
        check_moments("truncated", eg_truncated_normal(s, 1, 2, (eg_dtype)dt), 1, 4 * v, 16 * f);
    }
    check_moments("bernoulli", eg_bernoulli(s, 0.2, EG_F32), 0.2, 0.16, 0.2 * 0.4096 + 0.8 * 0.0016);
    check_moments("randint", eg_randint(s, 0, 10, EG_I32), 4.5, 8.25, 120.8625);
    check_moments("normal f16", eg_normal(s, 0, 1, EG_F16), 0, 1, 3);
    eg_seed(0);
}

EGT(neighbours_are_independent)
{
    eg_seed(3);
    eg_tensor *x = eg_normal(EG_SHAPE(200000), 0, 1, EG_F32);
    for (int lag = 1; lag <= 4; lag++) {
        double s = 0;
        for (int i = 0; i + lag < 200000; i++) {
            s += eg_get(x, i) * eg_get(x, i + lag);
        }
        EGT_CHECK(fabs(s / 200000) < 5 / sqrt(200000.0));
    }
    eg_seed(0);
}

EGT(numbers_stay_in_their_bounds)
{
    eg_seed(11);
    eg_tensor *u = eg_uniform(EG_SHAPE(100000), 1, 1.0000003, EG_F32);
    eg_tensor *t = eg_truncated_normal(EG_SHAPE(100000), 0, 1, EG_F32);
    eg_tensor *r = eg_randint(EG_SHAPE(100000), INT64_MIN, INT64_MAX, EG_I64);
    bool negative = false, positive = false;
    for (int i = 0; i < 100000; i++) {
        EGT_CHECK(eg_get(u, i) >= 1 && eg_get(u, i) < (double)1.0000003f);
        EGT_CHECK(fabs(eg_get(t, i)) <= 2);
        negative |= eg_get(r, i) < -0x1p62;
        positive |= eg_get(r, i) > 0x1p62;
    }
    EGT_CHECK(negative && positive);
    eg_tensor *z = eg_normal(EG_SHAPE(10), 3, 0, EG_F32);
    EGT_EQ(eg_get(z, 7), 3);
    eg_seed(0);
}

EGT(bernoulli_knows_its_ends)
{
    eg_tensor *none = eg_bernoulli(EG_SHAPE(5000), 0, EG_U8), *all = eg_bernoulli(EG_SHAPE(5000), 1, EG_I64);
    for (int i = 0; i < 5000; i++) {
        EGT_EQ(eg_get(none, i), 0);
        EGT_EQ(eg_get(all, i), 1);
    }
}

EGT(permutations_hold_everything_once)
{
    static const int64_t n[] = {0, 1, 2, 1000};
    for (int k = 0; k < 4; k++) {
        eg_tensor *p = eg_permutation(n[k]);
        char seen[1000] = {0};
        EGT_EQ(eg_numel(p), n[k]);
        for (int64_t i = 0; i < n[k]; i++) {
            int64_t v = (int64_t)eg_get(p, i);
            EGT_CHECK(v >= 0 && v < n[k] && !seen[v]);
            seen[v] = 1;
        }
    }
    /* all six orders of three, evenly */
    int count[27] = {0};
    for (int i = 0; i < 6000; i++) {
        eg_scope s = eg_scope_push();
        eg_tensor *p = eg_permutation(3);
        count[(int)(eg_get(p, 0) * 9 + eg_get(p, 1) * 3 + eg_get(p, 2))]++;
        eg_scope_pop(s, NULL);
    }
    static const int orders[] = {0 * 9 + 1 * 3 + 2, 0 * 9 + 2 * 3 + 1, 1 * 9 + 0 * 3 + 2,
                                 1 * 9 + 2 * 3 + 0, 2 * 9 + 0 * 3 + 1, 2 * 9 + 1 * 3 + 0};
    for (int i = 0; i < 6; i++) {
        EGT_CHECK(abs(count[orders[i]] - 1000) < 5 * 29);
    }
}

/* Pairs drawn one after the other without the first: 12 of them, 11 degrees of freedom, 1 in 1000 lies above 31.3. */
EGT(multinomial_draws_what_is_left)
{
    enum { ROWS = 20000 };
    static const double w[] = {1, 0, 2, 3, 4};
    double count[5][5] = {{0}}, chi = 0;
    eg_seed(11);
    eg_tensor *rows = eg_expand(eg_from_values(EG_SHAPE(5), EG_F32, w), EG_SHAPE(ROWS, 5));
    eg_tensor *y = eg_multinomial(rows, 2);
    for (int i = 0; i < ROWS; i++) {
        count[(int)eg_get(y, 2 * i)][(int)eg_get(y, 2 * i + 1)]++;
    }
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < 5; k++) {
            double want = i == k ? 0 : ROWS * w[i] / 10 * w[k] / (10 - w[i]);
            EGT_CHECK(want > 0 || count[i][k] == 0);
            chi += want > 0 ? (count[i][k] - want) * (count[i][k] - want) / want : 0;
        }
    }
    EGT_CHECK(chi < 31.3);
    eg_seed(3);
    eg_tensor *again = eg_multinomial(rows, 3, .replacement = true);
    eg_seed(3);
    EGT_EQ(egt_distance(again, eg_categorical(rows, 3)), 0);
    EGT_EQ(eg_numel(eg_multinomial(eg_zeros(EG_SHAPE(2, 0), EG_F32), 0)), 0);
    eg_seed(0);
}

/* What f32 draws in a range it cannot hold would all be the upper end. */
EGT(ranges_wider_than_f32)
{
    const eg_dtype narrow[] = {EG_F32, EG_BF16};
    const double most = 0x1.fffffep127;
    for (int i = 0; i < 2; i++) {
        EGT_REFUSED(eg_uniform(EG_SHAPE(4), -3e38, 3e38, narrow[i]), EG_EINVAL, "f32 holds");
        EGT_REFUSED(eg_uniform(EG_SHAPE(4), -2e38, 2e38, narrow[i]), EG_EINVAL, "2e+38");
        eg_tensor *y = eg_uniform(EG_SHAPE(1000), -1.7e38, 1.7e38, narrow[i]);
        EGT_CHECK(eg_item(eg_min(y)) < -1e38 && eg_item(eg_max(y)) > 1e38);
    }
    EGT_REFUSED(eg_uniform(EG_SHAPE(4), -0x1p103, most, EG_F32), EG_EINVAL, "f32 holds"); /* rounds to infinity */
    EGT_CHECK(eg_item(eg_min(eg_uniform(EG_SHAPE(1000), 0, most, EG_F32))) < 1e38);
    EGT_CHECK(eg_item(eg_min(eg_uniform(EG_SHAPE(1000), -3e38, 3e38, EG_F64))) < -2e38);
}

EGT(refused_multinomial)
{
    eg_random_state before = eg_random_get_state();
    eg_tensor *w = eg_from_values(EG_SHAPE(3), EG_F32, (double[]){1, 0, 2});
    EGT_REFUSED(eg_multinomial(w, 3), EG_EINVAL, "3 of every row");
    EGT_REFUSED(eg_multinomial(w, 4), EG_EINVAL, "4 of every row");
    EGT_REFUSED(eg_multinomial(w, -1), EG_EINVAL, "k -1");
    EGT_REFUSED(eg_multinomial(eg_neg(w), 1), EG_EINVAL, "not negative");
    EGT_REFUSED(eg_multinomial(eg_full(EG_SHAPE(3), NAN, EG_F32), 1), EG_EINVAL, "finite");
    EGT_REFUSED(eg_multinomial(eg_full(EG_SHAPE(3), INFINITY, EG_F64), 1), EG_EINVAL, "finite");
    EGT_REFUSED(eg_multinomial(eg_cast(w, EG_I64), 1), EG_EDTYPE, "i64");
    EGT_REFUSED(eg_multinomial(eg_scalar(1, EG_F32), 1), EG_ESHAPE, "[]");
    EGT_CHECK(eg_random_get_state().offset == before.offset);
}

EGT(categorical_draws_by_weight)
{
    eg_seed(8);
    eg_tensor *p = eg_from_values(EG_SHAPE(2, 3), EG_BF16, (double[]){1, 0, 3, 2, 2, 4});
    eg_tensor *logits =
        eg_from_values(EG_SHAPE(2, 3), EG_F32, (double[]){0, -INFINITY, log(3), 500, 500, 500 + log(2)});
    for (int form = 0; form < 2; form++) {
        eg_tensor *y = form ? eg_categorical(logits, 40000, .logits = true) : eg_categorical(p, 40000);
        EGT_EQ(eg_size(y, 0), 2);
        EGT_EQ(eg_size(y, 1), 40000);
        EGT_EQ(eg_dtype_of(y), EG_I64);
        int count[2][3] = {{0}};
        for (int i = 0; i < 80000; i++) {
            count[i / 40000][(int)eg_get(y, i)]++;
        }
        EGT_EQ(count[0][1], 0);
        EGT_CHECK(abs(count[0][0] - 10000) < 5 * 87);
        EGT_CHECK(abs(count[1][0] - 10000) < 5 * 87);
    }
    EGT_EQ(eg_numel(eg_categorical(p, 0)), 0);
    EGT_EQ(eg_numel(eg_categorical(eg_zeros(EG_SHAPE(0, 4), EG_F32), 3)), 0);
    eg_seed(0);
}

EGT(bad_random_arguments_are_refused)
{
    const eg_shape s = EG_SHAPE(4);
    EGT_REFUSED(eg_uniform(s, 1, 1, EG_F32), EG_EINVAL, "low 1");
    EGT_REFUSED(eg_uniform(s, 2, 1, EG_F32), EG_EINVAL, "low 2");
    EGT_REFUSED(eg_uniform(s, (double)NAN, 1, EG_F32), EG_EINVAL, "uniform");
    EGT_REFUSED(eg_uniform(s, -1e308, 1e308, EG_F64), EG_EINVAL, "finite");
    EGT_REFUSED(eg_uniform(s, 0, 1, EG_I64), EG_EDTYPE, "i64");
    EGT_REFUSED(eg_normal(s, 0, -1, EG_F32), EG_EINVAL, "std -1");
    EGT_REFUSED(eg_normal(s, 0, (double)NAN, EG_F32), EG_EINVAL, "std");
    EGT_REFUSED(eg_truncated_normal(s, (double)INFINITY, 1, EG_F32), EG_EINVAL, "mean inf");
    EGT_REFUSED(eg_bernoulli(s, 1.1, EG_F32), EG_EINVAL, "p 1.1");
    EGT_REFUSED(eg_bernoulli(s, (double)NAN, EG_F32), EG_EINVAL, "bernoulli");
    EGT_REFUSED(eg_randint(s, 3, 3, EG_I64), EG_EINVAL, "low 3");
    EGT_REFUSED(eg_randint(s, -1, 3, EG_U8), EG_EINVAL, "within u8");
    EGT_REFUSED(eg_randint(s, 0, 2, EG_BOOL), EG_EDTYPE, "bool");
    EGT_REFUSED(eg_randint(s, 0, (1 << 24) + 2, EG_F32), EG_EINVAL, "within f32");
    EGT_REFUSED(eg_permutation(-1), EG_ESHAPE, "permutation");
    EGT_REFUSED(eg_normal(EG_SHAPE(INT64_MAX / 2, 8), 0, 1, EG_F32), EG_ESHAPE, "normal");
    EGT_REFUSED(eg_normal(EG_SHAPE(1ll << 50), 0, 1, EG_F32), EG_ENOMEM, "bytes");
    eg_tensor *p = eg_from_values(EG_SHAPE(1, 3), EG_F32, (double[]){1, -2, 3});
    EGT_REFUSED(eg_categorical(p, 3), EG_EINVAL, "class 1: -2");
    EGT_REFUSED(eg_categorical(eg_zeros(EG_SHAPE(2, 3), EG_F32), 3), EG_EINVAL, "row 0");
    EGT_REFUSED(eg_categorical(p, -3), EG_EINVAL, "n -3");
    EGT_REFUSED(eg_categorical(eg_scalar(1, EG_F32), 3), EG_ESHAPE, "classes");
    EGT_REFUSED(eg_categorical(NULL, 3), EG_EINVAL, "x");
}

/* ---- dropout --------------------------------------------------------------------------------- */

EGT(dropout_drops_and_scales)
{
    eg_seed(4);
    eg_tensor *x = eg_full(EG_SHAPE(100, 1000), 3, EG_F32), *y = eg_dropout(x, 0.25, true);
    int zeros = 0;
    for (int i = 0; i < 100000; i++) {
        zeros += eg_get(y, i) == 0;
        EGT_CHECK(eg_get(y, i) == 0 || eg_get(y, i) == 4);
    }
    EGT_CHECK(abs(zeros - 25000) < 5 * 137);
    EGT_CHECK(eg_dropout(x, 0.25, false) == x);
    EGT_CHECK(eg_dropout(x, 0, true) == x);
    eg_tensor *inf = eg_full(EG_SHAPE(8), (double)INFINITY, EG_F32), *none = eg_dropout(inf, 1, true);
    for (int i = 0; i < 8; i++) {
        EGT_EQ(eg_get(none, i), 0);
    }
    EGT_REFUSED(eg_dropout(x, -0.1, true), EG_EINVAL, "p -0.1");
    EGT_REFUSED(eg_dropout(x, 1.5, false), EG_EINVAL, "p 1.5");
    EGT_REFUSED(eg_dropout(x, (double)NAN, true), EG_EINVAL, "dropout");
    EGT_REFUSED(eg_dropout(eg_ones(EG_SHAPE(3), EG_I64), 0.5, true), EG_EDTYPE, "i64");
    eg_seed(0);
}

/* The gradient repeats the mask whatever the layouts of x and dy are. */
EGT(the_gradient_of_dropout_repeats_the_mask)
{
    for (int layout = 0; layout < 4; layout++) {
        snprintf(egt_case, sizeof egt_case, "mask, layout %d", layout);
        eg_scope s = eg_scope_push();
        eg_tensor *x = eg_ones(EG_SHAPE(3, 5, 7, 4), EG_F32), *dy = eg_full(EG_SHAPE(3, 5, 7, 4), 2, EG_F32), *dx;
        x = layout & 1 ? eg_channels_last(x) : x;
        dy = layout & 2 ? eg_channels_last(dy) : dy;
        eg_tape tape = eg_tape_open();
        eg_tape_watch(tape, x);
        eg_tensor *y = eg_dropout(x, 0.5, true);
        EGT_CHECK(eg_is_channels_last(y) == !!(layout & 1));
        eg_normal(EG_SHAPE(9), 0, 1, EG_F32); /* the stream has moved on */
        EGT_OK(eg_tape_gradients(tape, y, &x, 1, &dx, .dy = dy));
        for (int i = 0; i < 3 * 5 * 7 * 4; i++) {
            EGT_EQ(eg_get(dx, i), 2 * eg_get(y, i));
        }
        eg_scope_pop(s, NULL);
    }
}

static eg_tensor *dropped_cube(eg_tensor *const *x, int n, void *user)
{
    (void)n, (void)user;
    eg_seed(21);
    return eg_mul(eg_dropout(x[0], 0.3, true), eg_square(x[0]));
}

EGT(dropout_is_twice_differentiable)
{
    eg_tensor *x = egt_random(EG_SHAPE(4, 6), EG_F64, -1, 1);
    EGT_OK(eg_gradcheck(dropped_cube, &x, 1, NULL, .second = true));
    eg_seed(0);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void *draw(void *user)
{
    eg_scope s = eg_scope_push();
    eg_seed(99);
    eg_tensor *x = eg_normal(EG_SHAPE(1000), 0, 1, EG_F32);
    eg_copy_out(x, user, 4000);
    eg_scope_pop(s, NULL);
    eg_thread_end();
    return NULL;
}

EGT(every_thread_has_a_stream_of_its_own)
{
    float a[1000], b[1000];
    pthread_t other;
    eg_seed(99);
    eg_tensor *x = eg_normal(EG_SHAPE(500), 0, 1, EG_F32);
    EGT_CHECK(pthread_create(&other, NULL, draw, b) == 0);
    EGT_CHECK(pthread_join(other, NULL) == 0);
    eg_tensor *rest = eg_normal(EG_SHAPE(500), 0, 1, EG_F32);
    EGT_OK(eg_copy_out(x, a, 2000));
    EGT_OK(eg_copy_out(rest, a + 500, 2000));
    EGT_CHECK(!memcmp(a, b, sizeof a));
    eg_seed(0);
}
