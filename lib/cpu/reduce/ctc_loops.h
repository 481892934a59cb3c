/* ctc_loops.h - rows of connectionist temporal classification of an element type T; ctc.c includes it per type. */

/* One row: its states, and columns of as many numbers. */
typedef struct FN(place) {
    eg__ctc_row row;
    const T *x; /* frame 0 */
    int64_t step, side, blank;
    T *alpha; /* [frames, width] */
    int64_t width;
    T *skip, *here, *beta, *next; /* skip: 0, or never; here: log_probs of the states; next: spare */
} FN(place);

static FN(place) FN(place_of)(const job *j, int64_t r)
{
    const int64_t *step = j->x->strides, width = j->alpha->shape[2];
    FN(place)
    p = {.row = eg__ctc_row_of(j->o, j->x, j->targets, j->frames, j->lengths, r),
         .x = (const T *)eg__ptr(j->x) + r * step[1],
         .step = step[0],
         .side = step[2],
         .blank = j->o->blank,
         .alpha = (T *)eg__ptr(j->alpha) + r * j->alpha->shape[1] * width,
         .width = width,
         .skip = (T *)j->columns + r * COLUMNS * width};
    p.here = p.skip + width;
    p.beta = p.here + width;
    p.next = p.beta + width;
    for (int64_t s = 0; s < p.row.states; s++) {
        p.skip[s] = eg__ctc_skips(&p.row, s) ? 0 : (T)EG__CTC_NEVER;
    }
    return p;
}

static inline T FN(bounded)(T v)
{
    return v < (T)EG__CTC_NEVER ? (T)EG__CTC_NEVER : v;
}

/* log_probs of all states in frame t. */
static void FN(look)(const FN(place) * p, int64_t t)
{
    const T *x = p->x + t * p->step, blank = FN(bounded)(x[p->blank * p->side]);
    for (int64_t i = 0; i < p->row.states / 2; i++) {
        p->here[2 * i] = blank;
        p->here[2 * i + 1] = FN(bounded)(x[p->row.labels[i] * p->side]);
    }
    p->here[p->row.states - 1] = blank;
}

/* log (e^a + e^b + e^c): of the three the largest counts 1. */
static inline T FN(sum_of)(T a, T b, T c)
{
    const T high = a > b ? a : b, low = a > b ? b : a;
    const T top = high > c ? high : c, middle = high > c ? c : high;
    return top + FN(log_of)(1 + FN(e_to)(low - top) + FN(e_to)(middle - top));
}

static void FN(first)(const FN(place) * p, T *restrict a)
{
    for (int64_t s = 0; s < p->row.states; s++) {
        a[s] = s < 2 ? p->here[s] : (T)EG__CTC_NEVER;
    }
}

static void FN(forth)(int64_t n, const T *restrict from, const T *restrict skip, const T *restrict here, T *restrict to)
{
    const T never = (T)EG__CTC_NEVER;
    to[0] = from[0] + here[0];
    if (n > 1) {
        to[1] = FN(sum_of)(from[1], from[0], never) + here[1];
    }
    for (int64_t s = 2; s < n; s++) {
        to[s] = FN(sum_of)(from[s], from[s - 1], from[s - 2] + skip[s]) + here[s];
    }
}

/* The same backwards: from[s] with its own log_prob. */
static void FN(back)(int64_t n, const T *restrict from, const T *restrict skip, T *restrict to)
{
    const T never = (T)EG__CTC_NEVER;
    for (int64_t s = 0; s + 2 < n; s++) {
        to[s] = FN(sum_of)(from[s], from[s + 1], from[s + 2] + skip[s + 2]);
    }
    if (n > 1) {
        to[n - 2] = FN(sum_of)(from[n - 2], from[n - 1], never);
    }
    to[n - 1] = from[n - 1];
}

static double FN(loss_of)(const FN(place) * p)
{
    const int64_t frames = p->row.frames, n = p->row.states;
    if (!frames || !n) {
        return n == 1 ? 0 : (double)INFINITY;
    }
    const T *end = p->alpha + (frames - 1) * p->width + n;
    const T loss = -FN(sum_of)(end[-1], n > 1 ? end[-2] : (T)EG__CTC_NEVER, (T)EG__CTC_NEVER);
    return EG__CTC_POSSIBLE(loss) ? (double)loss : (double)INFINITY;
}

static void FN(loss_row)(const job *j, int64_t r)
{
    const FN(place) p = FN(place_of)(j, r);
    const int64_t frames = p.row.states ? p.row.frames : 0, n = p.row.states;
    for (int64_t t = 0; t < j->alpha->shape[1]; t++) {
        T *a = p.alpha + t * p.width;
        if (t < frames) {
            FN(look)(&p, t);
        }
        if (t == 0 && t < frames) {
            FN(first)(&p, a);
        } else if (t < frames) {
            FN(forth)(n, a - p.width, p.skip, p.here, a);
        }
        for (int64_t s = t < frames ? n : 0; s < p.width; s++) {
            a[s] = (T)EG__CTC_NEVER;
        }
    }
    const double loss = FN(loss_of)(&p);
    const bool never = loss > 0 && isinf(loss);
    ((T *)eg__ptr(j->loss))[r] = (T)(never && j->o->zero_infinity ? 0 : loss * p.row.share);
}

/* dx = a e^x */
static void FN(powers)(int64_t n, const T *restrict x, int64_t side, T a, T *restrict dx, int64_t out)
{
    if (side == 1 && out == 1) {
        for (int64_t i = 0; i < n; i++) {
            dx[i] = FN(e_to)(x[i]) * a;
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        dx[i * out] = FN(e_to)(x[i * side]) * a;
    }
}

/* here = e^(alpha + beta + loss): the share of the paths through each state; next = beta and the log_prob. */
static void FN(shares)(int64_t n, const T *restrict alpha, const T *restrict beta, T loss, T *restrict here,
                       T *restrict next)
{
    for (int64_t s = 0; s < n; s++) {
        next[s] = beta[s] + here[s];
        here[s] = FN(e_to)(alpha[s] + beta[s] + loss);
    }
}

static void FN(slope_row)(const job *j, int64_t r)
{
    const FN(place) p = FN(place_of)(j, r);
    const int64_t *to = j->dx->strides, frames = p.row.frames, n = p.row.states;
    const double loss = FN(loss_of)(&p);
    const bool never = loss > 0 && isinf(loss), counts = !(never && j->o->zero_infinity);
    const T dy = (T)(((const T *)eg__ptr(j->dy))[r * j->dy->strides[0]] * p.row.share);
    const T scale = !never ? dy : counts ? (T)NAN : 0;
    for (int64_t s = 0; s < n; s++) {
        p.beta[s] = s + 2 < n ? (T)EG__CTC_NEVER : 0;
    }
    for (int64_t t = j->dx->shape[0]; t-- > 0;) {
        T *dx = (T *)eg__ptr(j->dx) + t * to[0] + r * to[1];
        if (t >= frames || !counts) {
            for (int64_t k = 0; k < j->dx->shape[2]; k++) {
                dx[k * to[2]] = 0;
            }
            continue;
        }
        FN(powers)(j->dx->shape[2], p.x + t * p.step, p.side, scale, dx, to[2]);
        if (never) {
            continue;
        }
        FN(look)(&p, t);
        FN(shares)(n, p.alpha + t * p.width, p.beta, (T)loss, p.here, p.next);
        T blank = 0;
        for (int64_t s = 0; s < n; s++) {
            blank += s % 2 ? 0 : p.here[s];
        }
        dx[p.blank * to[2]] -= scale * blank;
        for (int64_t i = 0; i < p.row.count; i++) {
            dx[p.row.labels[i] * to[2]] -= scale * p.here[2 * i + 1];
        }
        FN(back)(n, p.next, p.skip, p.beta);
    }
}
