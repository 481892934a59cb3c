/* optim_loops.h - the optimizers' rules for an element type T; optim.c includes it per type. x
 * holds the parameter, its gradient and its state, NULL where there is none; what rules do is in
 * lib/ref/optim.c. */

/* The group's numbers in T, and what several rules make of them. */
typedef struct FN(numbers) {
    T scale, limit, decay, lr, beta1, rest1, beta2, rest2, eps, inside, gain, fresh, shrink;
    T low, high;
} FN(numbers);

static inline FN(numbers) FN(numbers_of)(const eg__optim_group *o)
{
    return (FN(numbers)){.scale = (T)o->scale, .limit = (T)o->limit, .decay = (T)o->decay,
                         .lr = (T)o->lr, .beta1 = (T)o->beta1, .rest1 = (T)(1 - o->beta1),
                         .beta2 = (T)o->beta2, .rest2 = (T)(1 - o->beta2), .eps = (T)o->eps,
                         .inside = (T)o->inside, .gain = (T)o->gain, .fresh = (T)o->fresh,
                         .shrink = (T)o->shrink, .low = (T)o->low, .high = (T)o->high};
}

/* The gradient as rules see it. Comparisons so that NaN passes. */
static inline T FN(slope)(const FN(numbers) *k, T g, T p)
{
    g *= k->scale;
    g = g > k->limit ? k->limit : g;
    g = g < -k->limit ? -k->limit : g;
    return g + k->decay * p;
}

#define OPERANDS                                                                                   \
    const FN(numbers) k = FN(numbers_of)(o);                                                       \
    T *restrict p = (T *)x[0];                                                                     \
    const T *restrict g = (const T *)x[1];

static void FN(sgd)(const eg__optim_group *o, char *const *x, int64_t n)
{
    OPERANDS
    if (!x[2]) {
        for (int64_t i = 0; i < n; i++) {
            p[i] -= k.lr * FN(slope)(&k, g[i], p[i]);
        }
        return;
    }
    T *restrict b = (T *)x[2];
    const T old = o->nesterov ? 1 : 0, fresh = o->nesterov ? k.beta1 : 1;
    for (int64_t i = 0; i < n; i++) {
        T d = FN(slope)(&k, g[i], p[i]), m = k.beta1 * b[i] + k.gain * d;
        b[i] = m;
        p[i] -= k.lr * (old * d + fresh * m);
    }
}

static void FN(adam)(const eg__optim_group *o, char *const *x, int64_t n)
{
    OPERANDS
    T *restrict m = (T *)x[2], *restrict s = (T *)x[3];
    for (int64_t i = 0; i < n; i++) {
        T d = FN(slope)(&k, g[i], p[i]);
        m[i] = k.beta1 * m[i] + k.rest1 * d;
        s[i] = k.beta2 * s[i] + k.rest2 * d * d;
        p[i] = k.shrink * p[i] - (k.lr * m[i] + k.fresh * d) / (FN(root)(s[i]) * k.gain + k.eps);
    }
}

static void FN(adamax)(const eg__optim_group *o, char *const *x, int64_t n)
{
    OPERANDS
    T *restrict m = (T *)x[2], *restrict s = (T *)x[3];
    for (int64_t i = 0; i < n; i++) {
        T d = FN(slope)(&k, g[i], p[i]), size = FN(size)(d) + k.eps, old = k.beta2 * s[i];
        m[i] = k.beta1 * m[i] + k.rest1 * d;
        s[i] = size < old ? old : size;
        p[i] -= k.lr * m[i] / s[i];
    }
}

/* Inlined with constants, so that each combination is a loop of its own. */
static inline void FN(rmsprop_of)(const eg__optim_group *o, char *const *x, int64_t n,
                                  bool momentum, bool centered)
{
    OPERANDS
    T *restrict s = (T *)x[2], *restrict b = (T *)x[3], *restrict a = (T *)x[4];
    for (int64_t i = 0; i < n; i++) {
        T d = FN(slope)(&k, g[i], p[i]), spread, step;
        s[i] = spread = k.beta2 * s[i] + k.rest2 * d * d;
        if (centered) {
            a[i] = k.beta2 * a[i] + k.rest2 * d;
            spread -= a[i] * a[i];
            spread = spread < 0 ? 0 : spread;
        }
        step = k.gain * d / (FN(root)(spread + k.inside) + k.eps);
        if (momentum) {
            b[i] = step = k.beta1 * b[i] + step;
        }
        p[i] -= k.lr * step;
    }
}

static void FN(rmsprop)(const eg__optim_group *o, char *const *x, int64_t n)
{
    if (x[3] && x[4]) {
        FN(rmsprop_of)(o, x, n, true, true);
    } else if (x[3]) {
        FN(rmsprop_of)(o, x, n, true, false);
    } else if (x[4]) {
        FN(rmsprop_of)(o, x, n, false, true);
    } else {
        FN(rmsprop_of)(o, x, n, false, false);
    }
}

static void FN(adagrad)(const eg__optim_group *o, char *const *x, int64_t n)
{
    OPERANDS
    T *restrict s = (T *)x[2];
    for (int64_t i = 0; i < n; i++) {
        T d = FN(slope)(&k, g[i], p[i]);
        s[i] += d * d;
        p[i] -= k.lr * d / (FN(root)(s[i]) + k.eps);
    }
}

static void FN(adadelta)(const eg__optim_group *o, char *const *x, int64_t n)
{
    OPERANDS
    T *restrict s = (T *)x[2], *restrict u = (T *)x[3];
    for (int64_t i = 0; i < n; i++) {
        T d = FN(slope)(&k, g[i], p[i]);
        s[i] = k.beta2 * s[i] + k.rest2 * d * d;
        T step = FN(root)((u[i] + k.eps) / (s[i] + k.eps)) * d;
        u[i] = k.beta2 * u[i] + k.rest2 * step * step;
        p[i] -= k.lr * step;
    }
}

/* The usual power is a root; others cost a call per element. */
static inline void FN(ftrl_of)(const eg__optim_group *o, char *const *x, int64_t n, bool root)
{
    OPERANDS
    T *restrict s = (T *)x[2], *restrict z = (T *)x[3];
    const T power = (T)o->power, per_rate = (T)(1 / o->lr), twice = 2 * k.high;
    for (int64_t i = 0; i < n; i++) {
        T d = FN(slope)(&k, g[i], p[i]), squares = s[i] + d * d;
        T before = root ? FN(root)(s[i]) : FN(raise)(s[i], power);
        T after = root ? FN(root)(squares) : FN(raise)(squares, power);
        T sum = z[i] + d - (after - before) * per_rate * p[i], cut = sum > 0 ? k.low : -k.low;
        T moved = (cut - sum) / (after * per_rate + twice);
        s[i] = squares;
        z[i] = sum;
        p[i] = FN(size)(sum) <= k.low ? 0 : moved;
    }
}

static void FN(ftrl)(const eg__optim_group *o, char *const *x, int64_t n)
{
    if (o->power == 0.5) {
        FN(ftrl_of)(o, x, n, true);
    } else {
        FN(ftrl_of)(o, x, n, false);
    }
}

static void FN(rprop)(const eg__optim_group *o, char *const *x, int64_t n)
{
    OPERANDS
    T *restrict last = (T *)x[2], *restrict size = (T *)x[3];
    for (int64_t i = 0; i < n; i++) {
        T d = FN(slope)(&k, g[i], p[i]), turn = d * last[i];
        T step = size[i] * (turn > 0 ? k.beta2 : turn < 0 ? k.beta1 : 1);
        step = step < k.low ? k.low : step;
        step = step > k.high ? k.high : step;
        d = turn < 0 ? 0 : d;
        last[i] = d;
        size[i] = step;
        p[i] -= d > 0 ? step : d < 0 ? -step : 0;
    }
}
#undef OPERANDS

/* Whether n elements are all zero; most rows that are not show it soon. */
static bool FN(zeros)(const char *data, int64_t n)
{
    const T *restrict x = (const T *)data;
    for (int64_t at = 0; at < n; at += STRETCH) {
        const int64_t end = eg__min(at + STRETCH, n);
        int other = 0;
        for (int64_t i = at; i < end; i++) {
            other |= x[i] != 0;
        }
        if (other) {
            return false;
        }
    }
    return true;
}
