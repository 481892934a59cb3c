/* schedule.c - learning rates as functions of the step. */
#include "optim/optim.h"
#include "optim/options.h"

static const char op[] = "eg_schedule";
static const double pi = 3.14159265358979323846;

/* ---- plans that make no sense -------------------------------------------------------------- */

static const char *const kinds[] = {
    "fixed",           "step",      "multi-step",   "piecewise", "exponential", "polynomial", "cosine",
    "cosine restarts", "one-cycle", "inverse sqrt", "luong5",    "luong10",     "luong234",
};

static int milestones(const eg_schedule *s)
{
    int n = 0;
    while (n < EG_MAX_MILESTONES && s->at[n]) {
        n++;
    }
    return n;
}

static bool has_milestones(const eg_schedule *s)
{
    return s->kind == EG_RATE_MULTI_STEP || s->kind == EG_RATE_PIECEWISE;
}

/* begin and period of the three plans named after Luong. */
static void luong(const eg_schedule *s, int64_t *begin, int64_t *period)
{
    bool late = s->kind == EG_RATE_LUONG234;
    *begin = late ? s->steps / 3 * 2 + s->steps % 3 * 2 / 3 : s->steps / 2;
    *period = (s->steps - *begin) / (late ? 4 : s->kind == EG_RATE_LUONG5 ? 5 : 10);
}

static eg_status check_times(const eg_schedule *s)
{
    const char *kind = kinds[s->kind];
    int n = milestones(s);
    if (s->kind != EG_RATE_FIXED && !has_milestones(s) && s->steps < 1) {
        return eg__fail(EG_EINVAL, op, "%s: steps is %lld, must be 1 or more", kind, (long long)s->steps);
    }
    if (has_milestones(s) && !n) {
        return eg__fail(EG_EINVAL, op, "%s: at[] is empty", kind);
    }
    for (int i = 0; i < n; i++) {
        if (s->at[i] < 1 || (i && s->at[i] <= s->at[i - 1])) {
            return eg__fail(EG_EINVAL, op, "%s: at[%d] is %lld; at[] must rise from 1 on", kind, i,
                            (long long)s->at[i]);
        }
    }
    if (s->kind >= EG_RATE_LUONG5) {
        int64_t begin, period;
        luong(s, &begin, &period);
        if (period < 1) {
            return eg__fail(EG_EINVAL, op, "%s: %lld steps are too few", kind, (long long)s->steps);
        }
    }
    return s->multiply < 1
               ? eg__fail(EG_EINVAL, op, "%s: multiply is %lld, must be 1 or more", kind, (long long)s->multiply)
               : EG_OK;
}

/* The rate and what scales it: above 0. */
static eg_status positive(const char *what, double v)
{
    return v > 0 && isfinite(v) ? EG_OK : eg__fail(EG_EINVAL, op, "%s is %g, must be finite and above 0", what, v);
}

static eg_status check_numbers(const eg_schedule *s)
{
    const double any = (double)INFINITY;
    if (positive("lr", s->lr) || positive("factor", s->factor) || positive("power", s->power) ||
        positive("divide", s->divide) || positive("final_divide", s->final_divide) || positive("width", s->width) ||
        eg__optim_number(op, "end", s->end, any) || eg__optim_number(op, "peak", s->peak, 1)) {
        return eg__why();
    }
    for (int i = 0; i < EG_MAX_MILESTONES; i++) {
        if (eg__optim_number(op, "a rate of rates[]", s->rates[i], any)) {
            return eg__why();
        }
    }
    return EG_OK;
}

/* The plan with its defaults, if it makes sense. */
static eg_status read_plan(const eg_schedule *given, eg_schedule *s)
{
    eg__options(s, sizeof *s, given);
    if (s->kind < 0 || s->kind >= EG_RATE_KINDS_) {
        return eg__fail(EG_EINVAL, op, "there is no kind %d", (int)s->kind);
    }
    if (s->warm_up < 0 || s->warm_up_kind < 0 || s->warm_up_kind >= EG_WARM_UP_KINDS_) {
        return eg__fail(EG_EINVAL, op, "warm_up is %lld of kind %d", (long long)s->warm_up, (int)s->warm_up_kind);
    }
    if (s->kind == EG_RATE_EXPONENTIAL) {
        s->steps = s->steps ? s->steps : 1;
        s->factor = eg__or(s->factor, 0); /* must be given */
    } else {
        s->factor = eg__or(s->factor, s->kind >= EG_RATE_LUONG5 ? 0.5 : 0.1);
    }
    s->multiply = s->multiply ? s->multiply : 1;
    s->power = eg__or(s->power, 1);
    s->peak = eg__or(s->peak, 0.3);
    s->divide = eg__or(s->divide, 25);
    s->final_divide = eg__or(s->final_divide, 1e4);
    s->width = eg__or(s->width, 1);
    eg_status st = check_times(s);
    return st ? st : check_numbers(s);
}

/* ---- the plans ----------------------------------------------------------------------------- */

static double half_cosine(double from, double to, double part)
{
    return to + (from - to) * (1 + cos(pi * part)) / 2;
}

static double one_cycle(const eg_schedule *s, double u)
{
    const double low = s->lr / s->divide, last = low / s->final_divide;
    const double top = s->peak * (double)s->steps - 1, end = (double)s->steps - 1;
    const bool up = u <= top;
    const double span = up ? top : end - top;
    const double part = span > 0 ? fmin((u - (up ? 0 : top)) / span, 1) : 1;
    const double from = up ? low : s->lr, to = up ? s->lr : last;
    return s->linear ? from + (to - from) * part : half_cosine(from, to, part);
}

/* Where u stands in its period of the restarts. */
static double within_period(const eg_schedule *s, double u)
{
    double period = (double)s->steps;
    if (s->multiply == 1) {
        return fmod(u, period) / period;
    }
    while (u >= period) {
        u -= period;
        period *= (double)s->multiply;
    }
    return u / period;
}

static double milestone(const eg_schedule *s, double u)
{
    int n = milestones(s), passed = 0;
    while (passed < n && u >= (double)s->at[passed]) {
        passed++;
    }
    if (s->kind == EG_RATE_MULTI_STEP) {
        return s->lr * pow(s->factor, passed);
    }
    return passed ? s->rates[passed - 1] : s->lr;
}

static double plan(const eg_schedule *s, double u)
{
    const double steps = (double)s->steps;
    int64_t begin, period;
    switch (s->kind) {
    case EG_RATE_STEP:
        return s->lr * pow(s->factor, floor(u / steps));
    case EG_RATE_MULTI_STEP:
    case EG_RATE_PIECEWISE:
        return milestone(s, u);
    case EG_RATE_EXPONENTIAL:
        return s->lr * pow(s->factor, u / steps);
    case EG_RATE_POLYNOMIAL:
        return (s->lr - s->end) * pow(1 - fmin(u, steps) / steps, s->power) + s->end;
    case EG_RATE_COSINE:
        return half_cosine(s->lr, s->end, s->cycle ? u / steps : fmin(u / steps, 1));
    case EG_RATE_COSINE_RESTARTS:
        return half_cosine(s->lr, s->end, within_period(s, u));
    case EG_RATE_ONE_CYCLE:
        return one_cycle(s, u);
    case EG_RATE_INVERSE_SQRT:
        return s->lr / sqrt(s->width) * fmin(1, u / steps) / sqrt(fmax(u, steps));
    case EG_RATE_LUONG5:
    case EG_RATE_LUONG10:
    case EG_RATE_LUONG234:
        luong(s, &begin, &period);
        return s->lr * pow(s->factor, fmax(floor((u - (double)begin) / (double)period), 0));
    case EG_RATE_FIXED:
    case EG_RATE_KINDS_:
        break;
    }
    return s->lr;
}

static double rate(const eg_schedule *s, int64_t t)
{
    const double now = (double)t, warm = (double)s->warm_up;
    const double front = s->warm_up_kind == EG_WARM_UP_FRONT ? warm : 0;
    const double u = fmax(now - (double)s->start - front, 0);
    if (t >= s->warm_up) {
        return plan(s, u);
    }
    return s->warm_up_kind == EG_WARM_UP_T2T ? plan(s, u) * pow(0.01, (warm - now) / warm) : plan(s, 0) * now / warm;
}

double eg_schedule_at(const eg_schedule *schedule, int64_t t)
{
    eg_schedule s;
    if (!schedule) {
        eg__null_argument(op, "schedule");
        return (double)NAN;
    }
    if (read_plan(schedule, &s)) {
        return (double)NAN;
    }
    if (t < 0) {
        eg__fail(EG_EINVAL, op, "step %lld asked for, the first is 0", (long long)t);
        return (double)NAN;
    }
    const double lr = rate(&s, t);
    if (!isfinite(lr)) {
        eg__fail(EG_EINVAL, op, "%s: the rate of step %lld is %g", kinds[s.kind], (long long)t, lr);
        return (double)NAN;
    }
    return lr;
}
