/* rates.c - see rates.h. Steps are cut off where the original cuts them off. */
#include "rates.h"

#include <math.h>
#include <stdlib.h>

enum { IMAGENET = 1281167, CIFAR10 = 50000 };

bool rates_read(const char *text, rates_pieces *pieces)
{
    char *end;
    *pieces = (rates_pieces){.rates = {strtod(text, &end)}};
    bool good = end != text && pieces->rates[0] > 0;
    while (good && *end == ';' && pieces->count < RATES_PIECES) {
        const char *epoch = end + 1;
        int64_t before = pieces->count ? pieces->epochs[pieces->count - 1] : 0;
        pieces->epochs[pieces->count++] = strtoll(epoch, &end, 10);
        good = end != epoch && pieces->epochs[pieces->count - 1] > before && *end == ';';
        if (good) {
            const char *rate = end + 1;
            pieces->rates[pieces->count] = strtod(rate, &end);
            good = end != rate && pieces->rates[pieces->count] > 0;
        }
    }
    return good && !*end;
}

/* Before the first step, or at the same one, two rates cannot change. */
static eg_status add(eg_schedule *plan, int n, int64_t at, double rate)
{
    if (at < 1 || (n > 0 && at <= plan->at[n - 1])) {
        return eg_failf(EG_EINVAL, "cnn-bench", "an epoch has too few batches for the rate to change to %g", rate);
    }
    plan->at[n] = at;
    plan->rates[n] = rate;
    return EG_OK;
}

static eg_status plan_pieces(const char *text, double per_epoch, eg_schedule *plan)
{
    rates_pieces pieces;
    eg_status st = rates_read(text, &pieces) ? EG_OK : eg_fail(EG_EINVAL, "cnn-bench", "not a schedule");
    *plan = EG_SCHEDULE(.kind = EG_RATE_PIECEWISE, .lr = pieces.rates[0]);
    for (int i = 0; i < pieces.count && !st; i++) {
        st = add(plan, i, (int64_t)((double)pieces.epochs[i] * per_epoch), pieces.rates[i + 1]);
    }
    return st;
}

/* The model's own. Epochs in it are those of the data set it was made for. */
static eg_status plan_of(const model *m, int64_t batch, eg_schedule *plan)
{
    static const int resnet[] = {30, 60, 80, 90}, cifar[] = {82, 123, 300};
    static const double cifar_rates[] = {0.01, 0.001, 0.0002};
    double rate = m->per ? m->rate * (double)batch / (double)m->per : m->rate, share = 1;
    double per_epoch = (double)IMAGENET / (double)batch;
    eg_status st = EG_OK;
    *plan = EG_SCHEDULE(.kind = EG_RATE_FIXED, .lr = rate);
    if (m->plan == PLAN_RESNET || m->plan == PLAN_OFFICIAL) {
        plan->kind = EG_RATE_PIECEWISE;
        for (int i = 0; i < 4 && !st; i++) {
            st = add(plan, i, (int64_t)(per_epoch * resnet[i]) + 1, rate * (share *= 0.1));
        }
        plan->warm_up = m->plan == PLAN_RESNET ? (int64_t)(per_epoch * 5) : 0;
        plan->warm_up_kind = EG_WARM_UP_OVER;
    } else if (m->plan == PLAN_CIFAR) {
        plan->kind = EG_RATE_PIECEWISE;
        for (int i = 0; i < 3 && !st; i++) {
            st = add(plan, i, CIFAR10 / batch * cifar[i] + 1, cifar_rates[i]);
        }
    } else if (m->plan == PLAN_ALEXNET) {
        plan->kind = EG_RATE_STEP;
        plan->steps = 100 * CIFAR10 / batch;
    }
    return st;
}

eg_status rates_make(const options *o, const model *m, int64_t batch, int64_t examples, rates *out)
{
    double per_epoch = (double)examples / (double)batch;
    eg_schedule *plan = &out->plan;
    out->least = 0;
    if (!o->piecewise_learning_rate_schedule && o->init_learning_rate <= 0) {
        return plan_of(m, batch, plan);
    }
    eg_status st = EG_OK;
    if (o->piecewise_learning_rate_schedule) {
        st = plan_pieces(o->piecewise_learning_rate_schedule, per_epoch, plan);
    } else {
        *plan = EG_SCHEDULE(.kind = EG_RATE_FIXED, .lr = o->init_learning_rate);
    }
    if (o->num_epochs_per_decay > 0) {
        plan->kind = EG_RATE_STEP;
        plan->steps = (int64_t)(per_epoch * o->num_epochs_per_decay);
        plan->factor = o->learning_rate_decay_factor;
        out->least = o->minimum_learning_rate;
    }
    plan->warm_up = (int64_t)(per_epoch * o->num_learning_rate_warmup_epochs);
    plan->warm_up_kind = EG_WARM_UP_OVER;
    return st;
}

double rates_at(const rates *r, int64_t t)
{
    double rate = eg_schedule_at(&r->plan, t);
    return t < r->plan.warm_up || isnan(rate) ? rate : fmax(rate, r->least);
}
