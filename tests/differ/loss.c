/* loss.c - losses of elements, of classes, of sequences. */
#include "tests/differ/differ.h"

#define REDUCTIONS EG_MEAN, EG_SUM, EG_NONE, EG_BATCH_MEAN
OPTIONS(eg_loss_options, INT32(eg_loss_options, reduction, REDUCTIONS), DOUBLE(eg_loss_options, delta, 0, 0.5, 1, 3),
        DOUBLE(eg_loss_options, beta, 0, EG_ZERO, 0.5, 1, 3), DOUBLE(eg_loss_options, alpha, 0, 0.5, 0.9, 1, -1),
        DOUBLE(eg_loss_options, gamma, 0, EG_ZERO, 0.5, 2, 3), BOOL(eg_loss_options, log_target),
        TENSOR(eg_loss_options, weight), TENSOR(eg_loss_options, pos_weight))

/* Options of other losses are refused: mostly they are left out. */
enum { DELTA = 1, BETA = 2, FOCAL = 4, LOG_TARGET = 8, POS_WEIGHT = 16 };
static void keep_own(draw *d, eg_loss_options *o, int own)
{
    if (chance(d, 95)) {
        o->delta = own & DELTA ? o->delta : 0;
        o->beta = own & BETA ? o->beta : 0;
        o->alpha = own & FOCAL ? o->alpha : 0;
        o->gamma = own & FOCAL ? o->gamma : 0;
        o->log_target = own & LOG_TARGET && o->log_target;
    }
}

static void elements(draw *d, double xlow, double xhigh, double ylow, double yhigh, int own)
{
    eg_shape s = draw_shape(d, 0, 4);
    eg_dtype t = draw_float(d);
    ranged(d, chance(d, 15) ? draw_partner(d, s) : s, t, xlow, xhigh);
    ranged(d, chance(d, 15) ? draw_partner(d, s) : s, chance(d, 90) ? t : draw_float(d), ylow, yhigh);
    eg_loss_options *o = DRAW_OPTIONS(d, eg_loss_options);
    keep_own(d, o, own);
    if (chance(d, 30)) {
        o->weight = slot(ranged(d, draw_partner(d, s), t, 0.25, 2));
    }
    if (own & POS_WEIGHT ? chance(d, 40) : chance(d, 2)) {
        o->pos_weight = slot(ranged(d, draw_partner(d, s), t, 0.25, 2));
    }
}
static void two_values(draw *d)
{
    elements(d, -2, 2, -2, 2, 0);
}
static void huber_values(draw *d)
{
    elements(d, -2, 2, -2, 2, DELTA);
}
static void smooth_values(draw *d)
{
    elements(d, -2, 2, -2, 2, BETA);
}
static void logits(draw *d)
{
    elements(d, -4, 4, 0, 1, POS_WEIGHT);
}
static void focal_logits(draw *d)
{
    elements(d, -4, 4, 0, 1, FOCAL);
}
static void probabilities(draw *d)
{
    elements(d, 0.02, 0.98, 0, 1, 0);
}
static void divergence(draw *d)
{
    elements(d, -3, 0, 0.05, 1, LOG_TARGET);
}
DIFFER(l1_loss, two_values, 0, 5, eg_l1_loss_with(T0, T1, O0))
DIFFER(mse_loss, two_values, 0, 5, eg_mse_loss_with(T0, T1, O0))
DIFFER(huber_loss, huber_values, 0, 5, eg_huber_loss_with(T0, T1, O0))
DIFFER(smooth_l1_loss, smooth_values, 0, 5, eg_smooth_l1_loss_with(T0, T1, O0))
DIFFER(bce_with_logits, logits, 0, 5, eg_bce_with_logits_with(T0, T1, O0))
DIFFER(sigmoid_focal_loss, focal_logits, 0, 10, eg_sigmoid_focal_loss_with(T0, T1, O0))
DIFFER(bce, probabilities, 0, 20, eg_bce_with(T0, T1, O0))
DIFFER(kl_div, divergence, 0, 10, eg_kl_div_with(T0, T1, O0))

/* ---- of classes ------------------------------------------------------------------------------- */

OPTIONS(eg_cross_entropy_options, INT32(eg_cross_entropy_options, reduction, REDUCTIONS),
        DOUBLE(eg_cross_entropy_options, label_smoothing, 0, 0, 0.1, 1), BOOL(eg_cross_entropy_options, ignore),
        INT(eg_cross_entropy_options, ignore_index, -1, 0, 1, -100), TENSOR(eg_cross_entropy_options, weight))

static void classes(draw *d, bool labels, bool nll)
{
    eg_shape s = draw_shape(d, 1, 4), rows = s;
    if (s.ndim > 1) {
        s.dim[1] = chance(d, 1) ? 0 : pick(d, 1, 20);
        memmove(rows.dim + 1, rows.dim + 2, 6 * sizeof *rows.dim);
        rows.ndim--;
    } else {
        rows = EG_SCALAR;
    }
    int64_t count = s.dim[s.ndim > 1];
    eg_dtype t = draw_float(d);
    ranged(d, s, t, nll ? -3 : -2, nll ? 0 : 2);
    if (labels) {
        int k = indices(d, rows, count, false);
        d->t[k].dtype = chance(d, 80) ? d->t[k].dtype : EG_U8;
    } else {
        ranged(d, s, t, 0, 1);
    }
    eg_cross_entropy_options *o = DRAW_OPTIONS(d, eg_cross_entropy_options);
    o->label_smoothing = nll && chance(d, 95) ? 0 : o->label_smoothing;
    o->ignore = labels && o->ignore;
    o->ignore_index = o->ignore || chance(d, 2) ? o->ignore_index : 0;
    if (chance(d, 35)) {
        o->weight = slot(ranged(d, EG_SHAPE(count), chance(d, 70) ? t : draw_float(d), 0.25, 2));
        d->t[2].fixed = labels; /* which says it has no gradient */
    }
}
static void by_labels(draw *d)
{
    classes(d, true, false);
}
static void by_probabilities(draw *d)
{
    classes(d, false, false);
}
static void nll(draw *d)
{
    classes(d, true, true);
}
DIFFER(cross_entropy, by_labels, 0, 8, eg_cross_entropy_with(T0, T1, O0))
DIFFER(cross_entropy_soft, by_probabilities, 0, 8, eg_cross_entropy_with(T0, T1, O0))
DIFFER(nll_loss, nll, 0, 8, eg_nll_loss_with(T0, T1, O0))

/* ---- of sequences ----------------------------------------------------------------------------- */

OPTIONS(eg_ctc_options, TENSOR(eg_ctc_options, input_lengths), TENSOR(eg_ctc_options, target_lengths),
        INT(eg_ctc_options, blank, 0), INT32(eg_ctc_options, reduction, REDUCTIONS),
        BOOL(eg_ctc_options, zero_infinity))
OPTIONS(eg_ctc_beam_options, TENSOR(eg_ctc_beam_options, input_lengths), INT(eg_ctc_beam_options, blank, 0, 1),
        INT(eg_ctc_beam_options, width, 0, 1, 4, 100), FUNCTION(eg_ctc_beam_options, language),
        FUNCTION(eg_ctc_beam_options, user))

/* Likes neighbours, and texts of three labels. */
static double some_language(void *user, const int64_t *labels, int64_t n, int64_t next)
{
    (void)user;
    return next < 0 ? (n == 3 ? 0.5 : 0) : n && labels[n - 1] + 1 == next ? 0.25 : -0.125;
}

static eg_tensor *lengths(draw *d, int64_t n, int64_t most)
{
    int k = indices(d, EG_SHAPE(n), most + 1, false);
    return slot(k);
}

/* The gradient is that of the log_softmax in front of it, no derivative of its own. */
static void draw_ctc(draw *d)
{
    int64_t t = pick(d, 1, 12), n = chance(d, 2) ? 0 : pick(d, 1, 5), c = pick(d, 2, 8), s = pick(d, 0, 5);
    ranged(d, EG_SHAPE(t, n, c), draw_float(d), -3, -0.1);
    int k = ranged(d, EG_SHAPE(n, s), PICK(d, eg_dtype, EG_I64, EG_I32, EG_U8), 1, (double)c + chance(d, 3));
    d->t[k].fixed = true;
    eg_ctc_options *o = DRAW_OPTIONS(d, eg_ctc_options);
    o->blank = d->no_options || chance(d, 50) ? 0 : pick(d, 1, c - 1) + chance(d, 2);
    if (o->blank && chance(d, 97)) { /* labels below it or above */
        bool above = o->blank + 1 < c && chance(d, 50);
        d->t[k].low = above ? (double)o->blank + 1 : 0;
        d->t[k].high = above ? (double)c : (double)o->blank;
    }
    if (chance(d, 40)) {
        o->input_lengths = lengths(d, n, t);
    }
    if (chance(d, 40)) {
        o->target_lengths = lengths(d, n, s);
    }
}
DIFFER(ctc_loss, draw_ctc, KINKS, 10, eg_ctc_loss_with(T0, T1, O0))

static void draw_greedy(draw *d)
{
    int64_t t = pick(d, 1, 12), n = chance(d, 2) ? 0 : pick(d, 1, 5), c = pick(d, 2, 8);
    ranged(d, EG_SHAPE(t, n, c), draw_float(d), -3, -0.1);
    if (chance(d, 50)) {
        lengths(d, n, t);
    } else {
        absent(d);
    }
    d->i[0] = pick(d, 0, c - 1) + chance(d, 2);
}
DIFFER(ctc_greedy, draw_greedy, 0, 1, eg_ctc_greedy(T0, T1, I0, Y0, Y1))

static void draw_beam(draw *d)
{
    int64_t t = pick(d, 1, 6), n = pick(d, 1, 3), c = pick(d, 2, 4);
    ranged(d, EG_SHAPE(t, n, c), draw_real(d), -3, -0.1);
    d->t[0].values = UNIFORM;
    eg_ctc_beam_options *o = DRAW_OPTIONS(d, eg_ctc_beam_options);
    o->language = chance(d, 30) ? some_language : NULL;
    o->user = NULL;
    if (chance(d, 50)) {
        o->input_lengths = lengths(d, n, t);
    }
}
DIFFER(ctc_beam, draw_beam, 0, 1, eg_ctc_beam_with(T0, Y0, Y1, Y2, O0))
