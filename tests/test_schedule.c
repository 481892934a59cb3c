/* test_schedule.c - schedules where the golden files do not reach: warm-up, the plans of
 * TensorFlow's tutorials, what comes after the end, and plans that make no sense. */
#include "tests/egt.h"

static double at(eg_schedule s, int64_t t)
{
    return eg_schedule_at(&s, t);
}

static const eg_schedule falling = EG_SCHEDULE(.kind = EG_RATE_EXPONENTIAL, .lr = 1, .factor = 0.5, .steps = 1);

#define AT(t, ...) at(EG_SCHEDULE(__VA_ARGS__), t)

EGT(a_plan_that_only_has_a_rate_keeps_it)
{
    EGT_EQ(AT(0, .lr = 0.25), 0.25);
    EGT_EQ(AT(1000000000000, .lr = 0.25), 0.25);
    eg_schedule plain = {.lr = 0.5}; /* without its size: all of it */
    EGT_EQ(eg_schedule_at(&plain, 3), 0.5);
    EGT_EQ(eg_schedule_at(&falling, 2), 0.25);
}

EGT(plans_end)
{
    EGT_EQ(AT(99, .kind = EG_RATE_COSINE, .lr = 1, .end = 0.25, .steps = 10), 0.25);
    EGT_NEAR(AT(20, .kind = EG_RATE_COSINE, .lr = 1, .steps = 10, .cycle = true), 1, 1e-12);
    EGT_EQ(AT(99, .kind = EG_RATE_POLYNOMIAL, .lr = 1, .end = 0.25, .steps = 10, .power = 3), 0.25);
    EGT_NEAR(AT(99, .kind = EG_RATE_ONE_CYCLE, .lr = 1, .steps = 10), 1 / 25.0 / 1e4, 1e-12);
    EGT_NEAR(AT(0, .kind = EG_RATE_ONE_CYCLE, .lr = 1, .steps = 1), 1 / 25.0 / 1e4, 1e-12);
    EGT_EQ(AT(0, .kind = EG_RATE_ONE_CYCLE, .lr = 1, .steps = 2, .divide = 4, .peak = 1), 0.25);
}

EGT(piecewise)
{
    eg_schedule s = EG_SCHEDULE(.kind = EG_RATE_PIECEWISE, .lr = 0.1, .at = {400, 600}, .rates = {0.01, 0.001});
    EGT_EQ(at(s, 0), 0.1);
    EGT_EQ(at(s, 399), 0.1);
    EGT_EQ(at(s, 400), 0.01);
    EGT_EQ(at(s, 599), 0.01);
    EGT_EQ(at(s, 600), 0.001);
    EGT_EQ(at(s, 60000), 0.001);
}

EGT(periods_that_grow)
{
    eg_schedule s = EG_SCHEDULE(.kind = EG_RATE_COSINE_RESTARTS, .lr = 1, .steps = 2, .multiply = 3);
    EGT_EQ(at(s, 0), 1);
    EGT_NEAR(at(s, 1), 0.5, 1e-12);
    EGT_EQ(at(s, 2), 1);
    EGT_NEAR(at(s, 5), 0.5, 1e-12); /* 6 steps */
    EGT_EQ(at(s, 8), 1);
    EGT_NEAR(at(s, 17), 0.5, 1e-12); /* 18 */
    EGT_EQ(at(s, 26), 1);
}

EGT(exponential_in_longer_steps)
{
    EGT_NEAR(AT(5, .kind = EG_RATE_EXPONENTIAL, .lr = 2, .factor = 0.5, .steps = 10), sqrt(2), 1e-12);
    EGT_NEAR(AT(5, .kind = EG_RATE_EXPONENTIAL, .lr = 2, .factor = 0.5), 2 / 32.0, 1e-12);
    EGT_NEAR(AT(25, .kind = EG_RATE_STEP, .lr = 2, .factor = 0.5, .steps = 10), 0.5, 1e-12);
    EGT_NEAR(AT(25, .kind = EG_RATE_STEP, .lr = 2, .steps = 10, .start = 6), 0.2, 1e-12);
}

/* The rate of the Transformer's tutorial, and the paper's, which counts from 1. */
EGT(inverse_square_root)
{
    const double d = 512, w = 16000;
    eg_schedule s = EG_SCHEDULE(.kind = EG_RATE_INVERSE_SQRT, .lr = 2, .width = d, .steps = 16000);
    for (int64_t t = 0; t < 70000; t += 999) {
        double n = (double)t;
        EGT_NEAR(at(s, t), 2 / sqrt(d) * fmin(1, n / w) / sqrt(fmax(n, w)), 1e-12);
        s.start = -1;
        EGT_NEAR(at(s, t), 2 / sqrt(d) * fmin(1 / sqrt(n + 1), (n + 1) * pow(w, -1.5)), 1e-12);
        s.start = 0;
    }
}

EGT(warm_up_in_front)
{
    eg_schedule s = EG_SCHEDULE(.kind = EG_RATE_COSINE, .lr = 1, .steps = 100, .warm_up = 10);
    EGT_EQ(at(s, 0), 0);
    EGT_NEAR(at(s, 5), 0.5, 1e-12);
    EGT_EQ(at(s, 10), 1);
    EGT_NEAR(at(s, 60), 0.5, 1e-12);
    EGT_NEAR(at(s, 110), 0, 1e-12);
}

/* BERT's: linear up for a tenth of the steps, and under it linear down over all of them. */
EGT(warm_up_over_the_plan)
{
    eg_schedule s = EG_SCHEDULE(.kind = EG_RATE_POLYNOMIAL, .lr = 2e-5, .steps = 100, .warm_up = 10,
                                .warm_up_kind = EG_WARM_UP_OVER);
    EGT_EQ(at(s, 0), 0);
    EGT_NEAR(at(s, 9) / 2e-5, 0.9, 1e-12);
    EGT_NEAR(at(s, 10) / 2e-5, 0.9, 1e-12);
    EGT_NEAR(at(s, 50) / 2e-5, 0.5, 1e-12);
}

EGT(warm_up_of_tensor2tensor)
{
    eg_schedule s = EG_SCHEDULE(.lr = 0.5, .warm_up = 20, .warm_up_kind = EG_WARM_UP_T2T);
    for (int64_t t = 0; t < 20; t++) {
        EGT_NEAR(at(s, t), 0.5 * pow(exp(log(0.01) / 20), 20 - (double)t), 1e-12);
    }
    EGT_EQ(at(s, 20), 0.5);
}

/* Where decay begins and how long its periods are, for 100 steps. */
EGT(luongs_plans)
{
    static const struct {
        eg_rate_kind kind;
        int64_t begin, period;
    } plans[] = {{EG_RATE_LUONG5, 50, 10}, {EG_RATE_LUONG10, 50, 5}, {EG_RATE_LUONG234, 66, 8}};
    for (int i = 0; i < 3; i++) {
        for (int64_t t = 0; t < 100; t++) {
            double halvings = t < plans[i].begin ? 0 : (double)((t - plans[i].begin) / plans[i].period);
            EGT_EQ(AT(t, .kind = plans[i].kind, .lr = 1, .steps = 100), pow(0.5, halvings));
            EGT_EQ(AT(t, .kind = plans[i].kind, .lr = 1, .steps = 100, .factor = 0.94), pow(0.94, halvings));
        }
    }
    int64_t huge = INT64_MAX; /* two thirds of it without overflow */
    EGT_EQ(AT(huge / 3 * 2 - 1000, .kind = EG_RATE_LUONG234, .lr = 1, .steps = huge), 1);
}

EGT(plans_that_make_no_sense)
{
    static const struct {
        eg_schedule s;
        const char *word;
    } bad[] = {
        {{.lr = 0}, "lr is 0"},
        {{.lr = -1}, "lr is -1"},
        {{.lr = (double)NAN}, "lr is"},
        {{.lr = 1, .kind = EG_RATE_KINDS_}, "no kind 13"},
        {{.lr = 1, .kind = EG_RATE_STEP}, "step: steps is 0"},
        {{.lr = 1, .kind = EG_RATE_STEP, .steps = -1}, "steps is -1"},
        {{.lr = 1, .kind = EG_RATE_STEP, .steps = 1, .factor = -1}, "factor"},
        {{.lr = 1, .kind = EG_RATE_MULTI_STEP}, "at[] is empty"},
        {{.lr = 1, .kind = EG_RATE_MULTI_STEP, .at = {3, 3}}, "at[1] is 3"},
        {{.lr = 1, .kind = EG_RATE_PIECEWISE, .at = {-3}}, "at[0] is -3"},
        {{.lr = 1, .kind = EG_RATE_PIECEWISE, .at = {3}, .rates = {-1}}, "rates"},
        {{.lr = 1, .kind = EG_RATE_EXPONENTIAL}, "factor is 0"},
        {{.lr = 1, .kind = EG_RATE_POLYNOMIAL, .steps = 1, .power = -1}, "power"},
        {{.lr = 1, .kind = EG_RATE_POLYNOMIAL, .steps = 1, .end = -1}, "end"},
        {{.lr = 1, .kind = EG_RATE_COSINE_RESTARTS, .steps = 1, .multiply = -2}, "multiply"},
        {{.lr = 1, .kind = EG_RATE_ONE_CYCLE, .steps = 9, .peak = 2}, "peak"},
        {{.lr = 1, .kind = EG_RATE_ONE_CYCLE, .steps = 9, .divide = -2}, "divide"},
        {{.lr = 1, .kind = EG_RATE_INVERSE_SQRT, .steps = 9, .width = -2}, "width"},
        {{.lr = 1, .kind = EG_RATE_LUONG10, .steps = 19, .factor = 0.5}, ""},
        {{.lr = 1, .kind = EG_RATE_LUONG10, .steps = 18}, "luong10: 18 steps are too few"},
        {{.lr = 1, .warm_up = -1}, "warm_up"},
        {{.lr = 1, .warm_up_kind = EG_WARM_UP_KINDS_}, "warm_up"},
    };
    for (int i = 0; i < (int)(sizeof bad / sizeof *bad); i++) {
        if (bad[i].word[0]) {
            EGT_CHECK(isnan(eg_schedule_at(&bad[i].s, 0)));
            EGT_REFUSED(eg_schedule_at(&bad[i].s, 0), EG_EINVAL, bad[i].word);
        } else {
            EGT_EQ(eg_schedule_at(&bad[i].s, 0), 1);
        }
    }
    EGT_REFUSED(AT(-1, .lr = 1), EG_EINVAL, "step -1");
    EGT_REFUSED(eg_schedule_at(NULL, 1), EG_EINVAL, "schedule");
}

EGT(an_optimizer_follows)
{
    eg_tensor *p = eg_parameter(eg_zeros(EG_SHAPE(1), EG_F64)), *g = eg_ones(EG_SHAPE(1), EG_F64);
    eg_optim *o = eg_sgd_new(((eg_parameters){&p, NULL, 1}), .lr = 7);
    eg_schedule s = EG_SCHEDULE(.kind = EG_RATE_STEP, .lr = 1, .steps = 1, .factor = 0.5);
    EGT_OK(eg_optim_follow(o, &s));
    EGT_EQ(eg_optim_rate(o), 1);
    for (int t = 0; t < 5; t++) {
        EGT_OK(eg_optim_step(o, &g));
        EGT_EQ(eg_optim_rate(o), pow(0.5, t));
    }
    EGT_EQ(eg_get(p, 0), -(1 + 0.5 + 0.25 + 0.125 + 0.0625));
    EGT_REFUSED(eg_optim_set_rate(o, 1), EG_ESTATE, "schedule");
    s.steps = 0;
    EGT_REFUSED(eg_optim_follow(o, &s), EG_EINVAL, "steps");
    EGT_OK(eg_optim_follow(o, NULL));
    EGT_OK(eg_optim_set_rate(o, 3));
    EGT_OK(eg_optim_step(o, &g));
    EGT_EQ(eg_get(p, 0), -4.9375);
    eg_schedule grows = EG_SCHEDULE(.kind = EG_RATE_EXPONENTIAL, .lr = 1, .factor = 1e60);
    EGT_OK(eg_optim_set_rate(o, 0));
    for (int t = 0; t < 3; t++) {
        EGT_OK(eg_optim_step(o, &g));
    }
    EGT_EQ(eg_optim_steps(o), 9);
    grows.start = 3;
    EGT_REFUSED(eg_optim_follow(o, &grows), EG_EINVAL, "the rate of step 9 is inf");
    grows.start = 9;
    EGT_OK(eg_optim_follow(o, &grows));
    EGT_REFUSED(eg_optim_follow(NULL, &grows), EG_EINVAL, "optim");
    eg_optim_free(o);
    eg_release(p);
}
